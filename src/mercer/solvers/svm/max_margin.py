"""Widest margin between two classes: the hard margin, and nu-classification over reduced convex hulls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.points import evenly_spaced
from mercer.solvers.svm.bias import settled_solution
from mercer.solvers.svm.compiled_sums import fits_sums
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.dual import Infeasible
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.two_constraints import refine_sums, solve_sums

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual, Solution
    from mercer.solvers.svm.rows import FusedRows
    from mercer.solvers.svm.workspace import Workspace

# Number of points of each class in the first guess of a margin.
_SAMPLE = 500
# Margins are compared with that of the classes' means: one below this share of it is solved for more closely.
_COARSE = 1e-2
# Margins below these shares count as 0, for the hard margin and for nu; nu-classification then takes the last one.
_TOUCHING_HARD, _TOUCHING_NU, _KEPT = 1e-9, 1e-4, 1e-2


def solve_hard_margin(rows: FusedRows, dual: Dual, workspace: Workspace) -> Solution:
    """Return the solution of a classifier with infinite bounds, or raise `Infeasible` if there is no margin."""
    # weights of a mean: a bound of 2 is never met
    bounded = replace(dual, lower=np.maximum(dual.lower, -2.0), upper=np.minimum(dual.upper, 2.0))
    found, margin, unit = widest_margin(rows, bounded, 1.0, _TOUCHING_HARD, workspace)
    if margin > _TOUCHING_HARD * unit:
        return _in_margins(found, margin)
    squared = max(0.0, float(found.coef @ (margin * dual.target - found.gradient)))
    raise Infeasible(dual, found.coef, distance=np.sqrt(squared), unit=np.sqrt(unit))


def solve_nu_svc(rows: FusedRows, dual: Dual, workspace: Workspace) -> Solution:
    r"""Return the solution of a classifier with ``total`` in units of its margin, which is stored with it.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad 0 \le y_i b_i \le w_i,\ \sum_i b_i = 0,\ \sum_i |b_i| = s

    If there is no margin, a small one is prescribed instead of ``total``.

    Crisp, Burges, *A geometric interpretation of nu-SVM classifiers* (2000).
    """
    half = 0.5 * dual.total
    solution, margin, unit = widest_margin(rows, dual, half, _TOUCHING_NU, workspace)
    if margin <= _TOUCHING_NU * unit:
        margin, n_iter = _KEPT * unit, solution.n_iter
        own = replace(dual, target=margin * dual.target, coef=solution.coef)
        limits = replace(workspace, tol=margin * workspace.tol).of_type(rows.dtype)
        solution = refine(rows, own, solve(rows, own, limits), limits.tol)
        solution = settled_solution(replace(solution, n_iter=n_iter + solution.n_iter), own)
    elif half >= (1 - 1e-12) * min(dual.upper.sum(), -dual.lower.sum()):
        solution, margin = _place(solution, dual, margin)
    return _in_margins(solution, margin)


def widest_margin(
    rows: FusedRows, dual: Dual, half: float, touching: float, workspace: Workspace
) -> tuple[Solution, float, float]:
    r"""Return the closest points of the reduced convex hulls of two classes.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad l \le b \le u,\ \sum_+ b_i = s = -\sum_- b_i

    Return the solution, whose gradient contains the margin times the target; the margin, |w|^2 = 2 s margin if no bound
    is met; and twice the margin of the classes' means, the unit of margins. ``tol`` of the workspace is a share of the
    margin, and of ``touching`` units at least.
    """
    tol = workspace.tol
    order = np.argsort(dual.target < 0, kind="stable")
    split = int((dual.target > 0).sum())
    sorted_dual = replace(dual.take(order), target=np.zeros(len(order)), coef=np.zeros(len(order)), total=None)
    unit = half * _distance(rows, dual)

    def solved(rows, start, share):
        own = replace(sorted_dual, coef=start)
        # each class has its own bias: their violations add up
        limits = replace(workspace, tol=lambda margin: 0.5 * tol * max(margin, share * unit))
        return solve_sums(rows, own, split, half, limits.of_type(rows.dtype))

    # small margins are solved for closely only if they count
    solution, margin = solved(rows, sorted_dual.coef, _COARSE)
    if margin + solution.violation > touching * unit and solution.violation > tol * max(margin, touching * unit):
        if rows.dtype == np.float32:
            rows = rows_of(rows.kernel, rows.points, 0.0)
        finer, margin = solved(rows, solution.coef, touching)
        solution = replace(finer, n_iter=finer.n_iter + solution.n_iter)
    # no point is inside of a hard margin, whatever the tolerance; other small ones are refined where it takes little
    if touching == _TOUCHING_HARD or not fits_sums(rows, len(order), workspace.of_type(rows.dtype)):
        allowed = tol * max(margin, touching * unit)
        solution, margin = refine_sums(rows, sorted_dual, split, half, solution, margin, allowed)
    back = np.argsort(order)
    return replace(solution, coef=solution.coef[back], gradient=solution.gradient[back]), margin, unit


def _in_margins(solution, margin):
    """Return a solution in units of its margin, in which the points at the margin have the decision values 1 and -1."""
    names = "coef", "gradient", "bias", "violation"
    return replace(solution, margin=margin, **{name: getattr(solution, name) / margin for name in names})


def _place(solution, dual, margin):
    """Return a solution and margin if one class is at its bounds: every margin from half the distance on is optimal.

    The distance is divided in the proportion of the classes' factors, and halved if that of the other class is smaller.
    """
    sign = dual.target
    raw = solution.gradient - margin * sign
    factors = dict(zip((1.0, -1.0), dual.factors, strict=True))
    edges, closed = {}, {}
    for label in (1.0, -1.0):
        own = sign == label
        closed[label] = bool((np.abs(solution.coef[own]) == (dual.upper - dual.lower)[own]).all())
        edge = raw[own].min() if label > 0 else raw[own].max()
        edges[label] = float(edge) if closed[label] else solution.bias - margin * label
    distance = edges[-1.0] - edges[1.0]
    if distance <= 0:
        return solution, margin
    share = 0.5
    for label in (1.0, -1.0):
        if closed[-label] and not closed[label]:
            share = max(0.5, factors[label] / (factors[label] + factors[-label]))
            fixed = label
    wider = share * distance
    bias = 0.5 * (edges[1.0] + edges[-1.0]) if share == 0.5 else edges[fixed] + fixed * wider
    return replace(solution, gradient=raw + wider * sign, bias=bias), wider


def smallest_margin(rows: Any, dual: Dual) -> float:
    """Return the margin of a nu-classifier of classes that have none, see `solve_nu_svc`."""
    return _KEPT * 0.5 * dual.total * _distance(rows, dual)


def _distance(rows, dual):
    """Return about the squared distance of the classes' means, on a few points; bounds are their weights."""
    few = np.concatenate([_some(np.flatnonzero(dual.target > 0)), _some(np.flatnonzero(dual.target < 0))])
    bounds = dual.lower[few] + dual.upper[few]
    weights = bounds / np.where(bounds > 0, bounds[bounds > 0].sum(), -bounds[bounds < 0].sum())
    squared = float(weights @ rows.product(dual.points[few], dual.points[few], weights))
    return max(squared, 1e-6 * float(np.abs(rows.diagonal[dual.points]).max()), 1e-300)


def _some(places):
    return places[evenly_spaced(len(places), _SAMPLE)]
