"""Duals between bounds with one sum: rounds of SMO and Newton steps take turns."""

from dataclasses import replace

import numpy as np

from mercer.solvers.svm.correction import corrected
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.divide_and_conquer import LARGE, divide
from mercer.solvers.svm.dual import objective
from mercer.solvers.svm.newton import cross, refine
from mercer.solvers.svm.whole import fits, solve_whole

# Steps per variable, and at least, after which a round of SMO ends and Newton steps are tried.
_PATIENCE, _LEAST = 100, 100_000
# A round that raises the objective and lowers the violation by less than these shares has stalled.
_GAIN, _FALL = 1e-4, 0.1

# Small solutions that compiled code left at a violation above this share of the tolerance are refined here.
_FEW, _EXACT = 500, 0.01


def solve_one_constraint(rows, dual, workspace):
    """Return the solution of a dual whose violation is at most ``tol`` in float64, or the point where steps ended."""
    return corrected(rows, [dual], [_optimum(rows, dual, workspace)], workspace)[0]


def _optimum(rows, dual, workspace):
    """Return the solution of a dual to its last digits.

    Steps over pairs move slowly along narrow valleys of the objective, which Newton steps cross at once. Rounds of SMO,
    each twice as long, and Newton steps take turns until ``tol``, ``max_iter``, or a round that gains almost nothing:
    the rest is rounding, or a kernel that is not positive semidefinite. ``gain`` then tells the gain of that round.
    """
    tol, budget = workspace.tol, steps_of_a_round(len(dual.coef))
    start, n_iter, best = dual, 0, None
    if fits(rows, [dual], len(workspace.buffer)):
        found = solve_whole(rows, [dual], workspace, min(budget, workspace.max_iter))[0]
        if found.violation <= tol or found.n_iter >= workspace.max_iter:
            exact = found.violation <= _EXACT * tol or len(dual.coef) > _FEW
            return found if exact else refine(rows, dual, found, tol)
        n_iter = found.n_iter
        start = replace(dual, coef=found.coef)
    elif len(dual.coef) > LARGE and not dual.coef.any() and not workspace.shared:
        coef, n_iter = divide(rows, dual, workspace)
        start = replace(dual, coef=coef)
    while True:
        allowed = min(budget, workspace.max_iter - n_iter)
        found = solve(rows, start, replace(workspace, max_iter=allowed))
        unfinished = found.violation > tol and found.n_iter >= allowed
        n_iter += found.n_iter
        found = replace(found, n_iter=n_iter)
        if not unfinished or n_iter >= workspace.max_iter:
            found = refine(rows, dual, found, tol)
            return found if best is None or found.violation <= best.violation else replace(best, n_iter=n_iter)
        # the next round overwrites the cache
        found = replace(cross(rows, dual, found), cache=None)
        if found.violation <= tol:
            return found
        if best is not None:
            value = objective(dual, found.coef, found.gradient)
            gain = (value - objective(dual, best.coef, best.gradient)) / max(abs(value), np.finfo(float).tiny)
            # an objective that falls is limited by rounding
            if gain < -_GAIN or (gain < _GAIN and found.violation > (1 - _FALL) * best.violation):
                return replace(best if best.violation < found.violation else found, n_iter=n_iter, gain=gain)
        best, budget = found, 2 * budget
        start = replace(dual, coef=found.coef)


def steps_of_a_round(n):
    """Return the number of steps after which a first round of SMO over n variables ends."""
    return max(_LEAST, _PATIENCE * n)
