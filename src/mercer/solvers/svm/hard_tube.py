"""Regression without error: all points within epsilon, or the evidence that every such function is too steep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.points import evenly_spaced
from mercer.solvers.svm.dual import Infeasible
from mercer.solvers.svm.one_constraint import solve_one_constraint

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual, Solution
    from mercer.solvers.svm.workspace import Workspace

# Factor between the values of C tried; the first is in units of a coefficient that spans the targets.
_RAISED = 10.0
# A function this many times as steep as the targets are wide counts as impossible.
_STEEPEST = 1e4
# Number of points of the sample that gives the spread in feature space.
_SAMPLE = 500


def solve_hard_tube(rows: Any, dual: Dual, workspace: Workspace) -> Solution:
    r"""Return the solution of a dual of regression with infinite bounds.

    .. math:: \min_b \tfrac12 b'Kb - y'b + \epsilon |b|_1 \quad\text{s.t.}\quad \sum_i b_i = 0

    The penalty of errors is exact: the optimum for a C that no coefficient meets is that for every larger C. All
    functions without error obey, for every C,

    .. math:: |w| \ge \frac{y'b - \epsilon |b|_1}{|\Phi b|},

    which grows with C if there are none: the positive and the negative part of b are weighted means that approach each
    other while their targets stay more than 2 epsilon apart. `Infeasible` is raised with them as evidence.

    Bi, Bennett, *A geometric approach to support vector regression*, Neurocomputing 55 (2003).
    """
    spread = _spread(rows)
    unit = (float(np.ptp(dual.target)) or 1.0) / spread
    C, coef, n_iter = unit / spread, dual.coef, 0
    while True:
        bound = np.full(len(coef), C)
        solution = solve_one_constraint(rows, replace(dual, lower=-bound, upper=bound, coef=coef), workspace)
        coef, n_iter = solution.coef, n_iter + solution.n_iter
        if np.abs(coef).max() < C:
            return replace(solution, n_iter=n_iter)
        needed, apart = _steepness(rows, dual, solution)
        if needed > _STEEPEST * unit:
            size = float(np.abs(coef).sum())
            difference = 2 * float(dual.target @ coef) / size
            raise Infeasible(dual, coef, distance=2 * apart / size, difference=difference, needed=needed, unit=unit)
        if solution.violation > workspace.tol:
            return replace(solution, n_iter=n_iter)
        C *= _RAISED


def _spread(rows):
    """Return about the root mean square distance of the points from their mean."""
    n = len(rows.diagonal)
    few = evenly_spaced(n, _SAMPLE)
    weights = np.full(len(few), 1 / len(few))
    squared = float(rows.diagonal[few].mean()) - float(weights @ rows.product(few, few, weights))
    return np.sqrt(max(squared, 1e-12 * float(np.abs(rows.diagonal).max()), np.finfo(float).tiny))


def _steepness(rows, dual, solution):
    """Return the norm that every function without error exceeds, and |Phi b|."""
    b = solution.coef
    size = float(np.abs(b).sum())
    # |Phi b|^2 is a difference: nothing is known below its rounding
    rounding = np.finfo(float).eps * size**2 * float(rows.diagonal.max())
    apart = np.sqrt(max(float(b @ (dual.target - solution.gradient)), rounding))
    return (float(dual.target @ b) - dual.epsilon * size) / apart, apart
