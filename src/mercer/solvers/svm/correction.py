"""Correction of solutions of float32 kernel rows: the gradient is computed in float64, and steps go on from it."""

from dataclasses import replace

import numpy as np

from mercer.solvers.svm.bias import bias_of, violation_of
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.rows import exact_product

# Variables whose gradients are compared with float64, and the largest rounding of all as a multiple of theirs.
_SAMPLE, _TAIL = 64, 2.0
# Violations below this share of the tolerance are those of Newton steps with float64 kernel values.
_EXACT = 0.01
# Gradients that are computed again at most; each change of the coefficients is rounded less than the one before.
_REPEATS = 3


def corrected(rows, dual, solution, workspace):
    """Return a solution that violates by at most ``tol`` for the exact gradient, unless ``max_iter`` ends it.

    Rounding of float32 kernel values is measured on some gradients, O(n_sv d). Where it may hide a violation, K b is
    computed in float64, O(n n_sv d), and steps continue from there; only their change is rounded then.
    """
    tol = workspace.tol
    if rows.dtype != np.float32 or not _EXACT * tol < solution.violation <= tol:
        return solution
    solution = _measured(rows, dual, solution)
    for _ in range(_REPEATS):
        if not is_doubtful(solution, tol) or solution.n_iter >= workspace.max_iter:
            break
        gradient = _exact_gradient(rows, dual, solution.coef, np.arange(len(solution.coef)))
        violation = violation_of(gradient, solution.coef, dual)
        if violation <= tol:
            bias = bias_of(gradient, solution.coef, dual)
            return replace(solution, gradient=gradient, bias=bias, violation=violation, noise=0.0)
        own = replace(workspace, max_iter=workspace.max_iter - solution.n_iter)
        found = solve(rows, replace(dual, coef=solution.coef), own, gradient=gradient)
        solution = _measured(rows, dual, replace(found, n_iter=solution.n_iter + found.n_iter))
    return solution


def is_doubtful(solution, tol):
    """Whether rounding of the gradient may hide a violation above the tolerance."""
    return solution.violation <= tol < solution.violation + 2 * _TAIL * solution.noise


def _measured(rows, dual, solution):
    """Return a solution with the largest rounding of the gradients of some variables, of free ones if there are any."""
    free = np.flatnonzero((solution.coef > dual.lower) & (solution.coef < dual.upper))
    free = free if len(free) else np.arange(len(solution.coef))
    some = free[np.linspace(0, len(free) - 1, min(len(free), _SAMPLE)).astype(int)]
    rounding = _exact_gradient(rows, dual, solution.coef, some) - solution.gradient[some]
    return replace(solution, noise=float(np.abs(rounding).max()))


def _exact_gradient(rows, dual, coef, variables):
    """Return t - K b of some variables, with float64 kernel values of the points as given."""
    used = np.flatnonzero(coef)
    product = exact_product(rows, dual.points[variables], dual.points[used], coef[used])
    return dual.target[variables] - product
