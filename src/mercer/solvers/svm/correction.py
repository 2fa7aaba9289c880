"""Correction of solutions of float32 kernel rows: gradients that may violate are computed in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import evenly_spaced
from mercer.solvers.svm.bias import bias_of, slopes, violation_of
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.dual import certificate, joined
from mercer.solvers.svm.rows import rows_of

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.workspace import Workspace

# Points at which gradients are compared with float64, and the largest rounding of all as a multiple of that found.
_SAMPLE, _TAIL = 64, 2.0
# Violations below this share of the tolerance are those of Newton steps with float64 kernel values.
EXACT = 0.01
# Gradients that are computed again at most; each change of the coefficients is rounded less than the one before.
_REPEATS = 3


def corrected(rows: Any, duals: Sequence[Dual], solutions: Any, workspace: Workspace) -> Any:
    """Return the solutions, those changed in place that violate by more than ``tol`` for the exact gradients.

    Rounding of float32 kernel values is measured on some gradients, O(n_sv d). Where it may hide a violation, the
    gradients of the k variables that it lets violate most are computed in float64, O(k n_sv d): those of free variables
    and few others. Steps continue from there if they violate, unless ``max_iter`` ends them; ``noise`` 0 says that no
    rounding hides a violation.
    """
    tol, violation = workspace.tol, joined(solutions, "violation")
    coarse = np.flatnonzero((violation > EXACT * tol) & (violation <= tol)).tolist()
    if rows.dtype != np.float32 or not coarse:
        return solutions
    noise = rounding_of_gradients(rows, [duals[k] for k in coarse], [solutions[k] for k in coarse])
    for k, found in zip(coarse, noise, strict=True):
        solution, dual = replace(solutions[k], noise=found), duals[k]
        if is_doubtful(solution.violation, solution.noise, tol):
            solution = _corrected(rows, dual, solution, workspace)
            own = certificate(dual, solution.coef, solution.gradient, solution.bias)
            solution = replace(solution, certificate=own)
        solutions[k] = solution
    return solutions


def exact_gradient(rows: Any, dual: Dual, coef: Array, places: Any = slice(None)) -> Array:
    """Return the gradient t - K b of a dual at some coefficients, or some of it, with float64 kernel values."""
    used = np.flatnonzero(coef)
    return dual.target[places] - rows.exact_product(dual.points[places], dual.points[used], coef[used])


def _corrected(rows, dual, solution, workspace):
    tol, least = workspace.tol, np.inf
    for _ in range(_REPEATS):
        if not is_doubtful(solution.violation, solution.noise, tol) or solution.n_iter >= workspace.max_iter:
            break
        gradient = solution.gradient.copy()
        near = _extreme(dual, solution)
        gradient[near] = exact_gradient(rows, dual, solution.coef, near)
        violation = violation_of(gradient, solution.coef, dual)
        if violation <= tol:
            bias = bias_of(gradient, solution.coef, dual)
            return replace(solution, gradient=gradient, bias=bias, violation=violation, noise=0.0)
        own = replace(workspace, max_iter=workspace.max_iter - solution.n_iter)
        if violation >= least:
            # steps along rounded values led away
            return _in_float64(rows, dual, solution, own)
        least = violation
        found = solve(rows, replace(dual, coef=solution.coef), own, gradient=gradient)
        # other gradients keep their rounding
        noise = solution.noise + rounding_of_gradients(rows, [dual], [found])[0]
        solution = replace(found, n_iter=solution.n_iter + found.n_iter, noise=noise)
    return solution


def _in_float64(rows, dual, solution, workspace):
    """Return the solution of float64 kernel rows, from a solution of float32 ones."""
    rows = rows_of(rows.kernel, rows.points, 0.0)
    found = solve(rows, replace(dual, coef=solution.coef), workspace.of_type(rows.dtype))
    noise = rounding_of_gradients(rows, [dual], [found])[0]
    return replace(found, n_iter=solution.n_iter + found.n_iter, noise=noise, cache=None)


def _extreme(dual, solution):
    """Return the variables whose exact slope may be the largest of a rise or the smallest of a fall (int array)."""
    rising, falling = slopes(solution.gradient, solution.coef, dual)
    reach = 2 * _TAIL * solution.noise
    return np.flatnonzero((rising >= rising.max() - reach) | (falling <= falling.min() + reach))


def is_doubtful(violation: Any, noise: Any, tol: float) -> Any:
    """Whether rounding of a gradient, or of several, may hide a violation above the tolerance."""
    return (violation <= tol) & (violation + 2 * _TAIL * noise > tol)


def rounding_of_gradients(rows: Any, duals: Sequence[Dual], solutions: Sequence[Any]) -> Any:
    """Return the largest rounding of the gradient of each solution at some points, where coefficients are free."""
    number = np.repeat(np.arange(len(duals)), [len(dual.coef) for dual in duals])
    points, target, lower, upper = (joined(duals, name) for name in ("points", "target", "lower", "upper"))
    coef, gradient = (joined(solutions, name) for name in ("coef", "gradient"))
    free, used = (coef > lower) & (coef < upper), coef != 0
    candidates = np.unique(points[free] if free.any() else points)
    some = candidates[evenly_spaced(len(candidates), _SAMPLE)]
    support, row = np.unique(points[used], return_inverse=True)
    weights = np.zeros((len(support), len(duals)))
    weights[row, number[used]] = coef[used]
    values = rows.exact_product(some, support, weights)
    place = np.full(points.max() + 1, -1)
    place[some] = np.arange(len(some))
    seen = np.flatnonzero(place[points] >= 0)
    rounding = np.abs(target[seen] - values[place[points[seen]], number[seen]] - gradient[seen])
    # a dual without any of these points takes the largest of the others
    found = np.full(len(duals), -np.inf)
    np.maximum.at(found, number[seen], rounding)
    return np.where(np.isinf(found), rounding.max(), found)
