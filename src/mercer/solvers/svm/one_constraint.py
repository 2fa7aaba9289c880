"""Duals between bounds with one sum: rounds of SMO and Newton steps take turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.solvers.svm.correction import EXACT, corrected
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.divide_and_conquer import LARGE, divide
from mercer.solvers.svm.dual import objective
from mercer.solvers.svm.low_rank import solve_low_rank
from mercer.solvers.svm.newton import cross, refine
from mercer.solvers.svm.whole import fits, solve_whole, wide_values

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual, Solution
    from mercer.solvers.svm.workspace import Workspace

# Steps per variable, and at least, after which a round of SMO ends and Newton steps are tried.
_PATIENCE, _LEAST = 100, 100_000
# A round that raises the objective and lowers the violation by less than these shares has stalled.
_GAIN, _FALL = 1e-4, 0.1

# Number of variables up to which solutions are refined whatever that takes, unless compiled code has done so.
REFINED = 500


def solve_one_constraint(rows: Any, dual: Dual, workspace: Workspace, found: Solution | None = None) -> Solution:
    """Return the solution of a dual whose violation is at most ``tol`` in float64, or the point where steps ended.

    ``found`` is the point where a first round of SMO ended before ``tol``, if there was one.
    """
    return corrected(rows, [dual], [_optimum(rows, dual, workspace, found)], workspace)[0]


def _optimum(rows, dual, workspace, found):
    """Return the solution of a dual to its last digits; a first round of SMO solves most problems."""
    if found is None:
        budget = min(steps_of_a_round(len(dual.coef)), workspace.max_iter)
        found, unfinished = _first_round(rows, dual, replace(workspace, max_iter=budget))
        if not unfinished or found.n_iter >= workspace.max_iter:
            return found

    def take_steps(start, limit):
        return solve(rows, replace(dual, coef=start.coef), replace(workspace, max_iter=limit))

    return finish(rows, dual, found, workspace, take_steps)


def finish(rows: Any, dual: Dual, found: Solution, workspace: Workspace, take_steps: Callable[..., Any]) -> Solution:
    """Return the solution of a dual from the point ``found`` that a first round of SMO left.

    Where the kernel matrix has few eigenvalues above rounding, as that of a polynomial, Newton steps on its factor
    solve it, unless rounding alone violates by more than ``tol``: more steps would not help. ``take_steps(start,
    limit)`` returns the solution after more steps of SMO.
    """
    # the following steps overwrite the cache
    found = replace(found, cache=None)
    direct = solve_low_rank(rows, dual, workspace)
    if direct is not None and direct.violation <= found.violation:
        found = replace(direct, n_iter=found.n_iter + direct.n_iter)
    if found.violation <= workspace.tol or found.gain == 0:
        return refine(rows, dual, found, workspace.tol) if len(dual.coef) <= REFINED else found
    return _more_rounds(rows, dual, workspace, found, take_steps)


def _first_round(rows, dual, workspace):
    """Return the point after the first round of SMO, refined if that ended it, and whether there is more to gain."""
    tol, n_iter = workspace.tol, 0
    if fits(rows, [dual], len(workspace.buffer)):
        values = wide_values(rows, dual, workspace)
        found = solve_whole(rows, [dual], workspace, workspace.max_iter, values)[0]
        exact = found.violation <= EXACT * tol or len(dual.coef) > REFINED
        return (found if exact else refine(rows, dual, found, tol)), found.violation > tol
    if len(dual.coef) > LARGE and not dual.coef.any() and not workspace.shared:
        coef, n_iter = divide(rows, dual, workspace)
        dual = replace(dual, coef=coef)
    found = solve(rows, dual, workspace)
    unfinished = found.violation > tol and found.n_iter >= workspace.max_iter
    found = replace(found, n_iter=n_iter + found.n_iter)
    return (found if unfinished else refine(rows, dual, found, tol)), unfinished


def _more_rounds(rows, dual, workspace, found, take_steps):
    """Return the solution of a dual from the point after a first round.

    Newton steps and rounds of SMO, each twice as long, alternate until ``tol``, ``max_iter``, or a round that gains
    almost nothing; ``gain`` is then its gain.
    """
    tol = workspace.tol
    budget = steps_of_a_round(len(dual.coef))
    best = None
    while True:
        # SMO moves slowly along narrow valleys of the objective, which Newton steps cross; the next round overwrites
        # the cache
        found, n_iter = replace(cross(rows, dual, found), cache=None), found.n_iter
        if found.violation <= tol:
            return found
        if best is not None:
            value = objective(dual, found.coef, found.gradient)
            stuck = found.violation > (1 - _FALL) * best.violation
            change = value - objective(dual, best.coef, best.gradient)
            # rounding of large kernel values may move the objective by more
            gain = 0.0 if abs(change) <= _rounding(rows, found) else change / max(abs(value), np.finfo(float).tiny)
            # the rest is rounding, or a kernel that is not positive semidefinite
            if gain < -_GAIN or (gain < _GAIN and stuck):
                return replace(best if best.violation < found.violation else found, n_iter=n_iter, gain=gain)
        best, budget = found, 2 * budget
        allowed = min(budget, workspace.max_iter - n_iter)
        found = take_steps(found, allowed)
        unfinished = found.violation > tol and found.n_iter >= allowed
        found = replace(found, n_iter=n_iter + found.n_iter)
        if not unfinished or found.n_iter >= workspace.max_iter:
            found = refine(rows, dual, found, tol)
            return found if found.violation <= best.violation else replace(best, n_iter=found.n_iter)


def _rounding(rows, found):
    """Return how far the rounding of kernel values and of their sums moves the objective."""
    largest = float(np.abs(rows.diagonal).max())
    return float(np.finfo(np.float64).eps) * largest * float(np.abs(found.coef).sum()) ** 2


def steps_of_a_round(n: int) -> int:
    """Return the number of steps after which a first round of SMO over n variables ends."""
    return max(_LEAST, _PATIENCE * n)
