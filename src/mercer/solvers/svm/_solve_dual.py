"""solve_dual: the entrance to the solvers of support vector machines. The dual decides which solver is used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.solvers.svm.bias import settled_solution
from mercer.solvers.svm.dual import certificate
from mercer.solvers.svm.hard_tube import solve_hard_tube
from mercer.solvers.svm.linear import fits_linear, solve_linear
from mercer.solvers.svm.max_margin import solve_hard_margin, solve_nu_svc
from mercer.solvers.svm.nu_svr import solve_nu_svr
from mercer.solvers.svm.one_constraint import solve_one_constraint
from mercer.solvers.svm.whole import COARSE, FINEST, with_values
from mercer.solvers.svm.workspace import Workspace

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Solution


def solve_dual(rows: Any, dual: Any, options: Any, found: Solution | None = None) -> Solution:
    """Return the solution of a dual, with its certificate.

    Parameters
    ----------
    rows : FusedRows or PlainRows
        Kernel rows of the points; `Options.rows` makes them as accurate as the solution needs.
    dual : Dual
    options : Options or Workspace
        A workspace is what is used; it is made from options if they are given.
    found : Solution, optional
        Of a dual between finite bounds the point where a first round of SMO ended before ``tol``.

    Returns
    -------
    Solution

    Raises
    ------
    Infeasible
        If bounds are infinite and no function is without error.
    """
    solve = solve_linear if fits_linear(rows, dual) else _solver(dual)
    if isinstance(options, Workspace):
        workspace = options
    else:
        rows = with_values(rows, [dual], options) if solve is solve_one_constraint else rows
        # small duals of nu-regression have two variables for each point
        workspace = Workspace.allocate(rows, len(dual.coef) * (2 if solve is solve_nu_svr else 1), options)
    solution = _certified(solve, rows, dual, workspace, *([] if found is None else [found]))
    share = _gap_share(solution) if solve is solve_one_constraint and solution.violation <= workspace.tol else 0.0
    if share > COARSE and solution.n_iter < workspace.max_iter:
        finer = workspace.tol * max(FINEST, 0.5 * COARSE / share)
        limits = replace(workspace, tol=finer, max_iter=workspace.max_iter - solution.n_iter)
        again = _certified(solve, rows, replace(dual, coef=solution.coef), limits)
        solution = replace(again, n_iter=solution.n_iter + again.n_iter)
    return solution


def _certified(solve, rows, dual, workspace, *found):
    """Return the solution of a dual by a solver, with its certificate."""
    solution = solve(rows, _bounded(dual), workspace, *found)
    if solve in (solve_linear, solve_one_constraint):
        solution = settled_solution(solution, replace(dual, epsilon=solution.epsilon))
    found = certificate(replace(dual, epsilon=solution.epsilon), solution.coef, solution.gradient, solution.bias)
    # the cache lies in a buffer that the next dual takes
    return replace(solution, certificate=found, cache=None)


def _gap_share(solution):
    """Return the gap of a solution as a share of its primal objective, 0 if that is not positive."""
    found = solution.certificate
    return found.gap / found.primal if found.primal > 0 else 0.0


def _solver(dual):
    if dual.total is not None:
        return solve_nu_svc if dual.one_sided else solve_nu_svr
    if dual.unbounded and dual.ridge is None:
        return solve_hard_margin if dual.one_sided else solve_hard_tube
    return solve_one_constraint


def _bounded(dual):
    """Return a dual whose infinite bounds are finite if it has a ridge, by bounds that no coefficient meets.

    The loss at the optimum is at most that of a constant, which bounds every coefficient.
    """
    if dual.ridge is None or not dual.unbounded:
        return dual
    C = 1 / dual.ridge
    error = dual.target - np.average(dual.target, weights=C)
    # roots first: the product of two large C overflows
    bound = np.sqrt(C) * np.linalg.norm(np.sqrt(C) * error) + C * dual.epsilon + np.finfo(float).tiny
    return replace(dual, lower=-2 * bound, upper=2 * bound)
