"""Duals whose kernel matrix has few eigenvalues above rounding: the linear problem on the rows of a factor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.points import take_points, widened
from mercer._compute.threads import check_cancelled
from mercer.gram import Gram
from mercer.kernels.dot import Linear
from mercer.solvers.svm.linear import solve_linear, without_ridge
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.verify import bias_of, violation_of

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual, Solution
    from mercer.solvers.svm.workspace import Workspace

# Largest rank, and as a share of the number of variables.
_RANK, _PART = 600, 0.6
# Diagonal entries of the remainder within so many roundings of the largest of K are rounding.
_ROUNDINGS = 8
_ROUNDING = float(np.finfo(np.float64).eps)
# Most Newton steps.
_STEPS = 1000


def solve_low_rank(rows: Any, dual: Dual, workspace: Workspace) -> Solution | None:
    """Return the solution of a dual with its exact gradient, None if K has too many eigenvalues above rounding.

    K = L L' of r columns by pivoted Cholesky takes O(n r^2). Newton steps on L do not suffer from the range of the
    eigenvalues, where steps over pairs need millions. A violation above ``tol`` remains where kernel values are so
    large that their rounding exceeds it; ``gain`` is then 0.
    """
    L = _factor(*without_ridge(rows, dual), dual.points)
    if L is None:
        return None
    n = len(L)
    own = replace(dual, points=np.arange(n))
    found = solve_linear(rows_of(Linear(), L, np.inf, dual.ridge), own, replace(workspace, max_iter=_STEPS))
    used = np.flatnonzero(found.coef)
    gradient = dual.target - rows.exact_product(dual.points, dual.points[used], found.coef[used])
    violation = violation_of(gradient, found.coef, dual)
    noise = _ROUNDING * float(np.abs(rows.diagonal).max()) * float(np.linalg.norm(found.coef))
    bias = bias_of(gradient, found.coef, dual)
    gain = 0.0 if violation <= noise else np.inf
    return replace(found, gradient=gradient, bias=bias, violation=violation, noise=0.0, gain=gain)


def _factor(kernel, points, places):
    """Return L (n, r) with K = L L' up to rounding by pivoted Cholesky; None if r is too large."""
    # `mercer.linalg.cholesky.pivoted` ends sooner, at n roundings of the largest entry
    gram = Gram(kernel, take_points(widened(points), places))
    remainder = np.array(gram.diagonal(), np.float64)
    floor = _ROUNDINGS * _ROUNDING * remainder.max()
    rank = int(min(_RANK, _PART * len(remainder)))
    L = np.zeros((len(remainder), rank))
    for r in range(rank):
        check_cancelled()
        pivot = int(np.argmax(remainder))
        if not remainder[pivot] > floor:
            return L[:, :r]
        column = np.asarray(gram[:, [pivot]], np.float64)[:, 0] - L[:, :r] @ L[pivot, :r]
        L[:, r] = column / np.sqrt(remainder[pivot])
        remainder -= np.square(L[:, r])
        remainder[pivot] = 0
    return L if remainder.max() <= floor else None
