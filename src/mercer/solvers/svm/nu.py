"""Problems with two sums or infinite bounds: nu-classification, nu-regression, hard margins, regression without error.

A group of variables, a class or a sign, keeps a sum of its own and has a bias of its own: half their difference is the
multiplier of the second sum, the margin of a classifier.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._common import EPS, TINY, Array
from mercer._compute.points import evenly_spaced
from mercer.solvers.svm.bounded import MEANS, distance_of_means, solve_each
from mercer.solvers.svm.certificates import (
    DRIFT,
    certified,
    exact_gradient,
    measured,
    measured_each,
)
from mercer.solvers.svm.dual import Dual, Goal, Infeasible, Limits, Solution
from mercer.solvers.svm.linear import shifted
from mercer.solvers.svm.rows import Rows

# Margins below this share of that of the classes' means are solved for more closely, and nu-classification without a
# margin takes that one.
_COARSE = 1e-2
# Those below these shares count as 0, for the hard margin and for nu.
_TOUCHING_HARD = 1e-9
_TOUCHING_NU = 1e-4
# Factor between the values of C tried; the first is in units of a coefficient that spans the targets.
_RAISED = 10.0
# A function this many times as steep as the targets are wide counts as impossible.
_STEEPEST = 1e4


def _goal_of_sums(rows, tol, n, **goal):
    """Return the goal for n variables in two groups, each of which may violate by half of a tolerance."""
    found = Goal(0.5 * tol, coarse=np.inf, **goal)
    # a refinement takes no longer than all kernel rows
    return found._replace(operations=max(found.operations, float(n) ** 2 * (rows.width + 10)))


# --- classification --------------------------------------------------------------------------------------------------


def solve_hard_margins(rows: Rows, duals: Dual, limits: Limits) -> Solution:
    """Return the solutions of classifiers with infinite bounds, or raise `Infeasible` if one has no margin."""
    # weights of a mean: a bound of 2 is never met
    bounded = replace(
        duals, lower=np.maximum(duals.lower, -2.0), upper=np.minimum(duals.upper, 2.0)
    )
    found = _widest_margins(rows, bounded, np.ones(len(duals)), _TOUCHING_HARD, limits)
    for k in np.flatnonzero(found.margin <= _TOUCHING_HARD * found.unit).tolist():
        own = found[k]
        error = own.margin * duals[k].target - own.gradient
        squared = max(0.0, float(own.coef @ error))
        unit = np.sqrt(own.unit.item())
        raise Infeasible(duals[k], own.coef, distance=np.sqrt(squared), unit=unit)
    return _in_margins(duals, found)


def solve_nu_svcs(rows: Rows, duals: Dual, limits: Limits) -> Solution:
    r"""Return the solutions of classifiers with ``total`` in units of their margins, which are stored with them.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad 0 \le y_i b_i \le w_i,\ \sum_i b_i = 0,\ \sum_i |b_i| = s

    If there is no margin, a small one is prescribed instead of ``total``.

    Crisp, Burges, *A geometric interpretation of nu-SVM classifiers* (2000).
    """
    half = 0.5 * duals.total
    found = _widest_margins(rows, duals, half, _TOUCHING_NU, limits)
    touching = found.margin <= _TOUCHING_NU * found.unit
    closed = half >= (1 - 1e-12) * np.minimum(duals.sums(duals.upper), -duals.sums(duals.lower))
    for k in np.flatnonzero(touching | closed).tolist():
        own = found[k]
        found[k] = (
            _with_small_margin(rows, duals[k], own, limits)
            if touching[k]
            else _place(duals[k], own)
        )
    return _in_margins(duals, found)


def _with_small_margin(rows, dual, solution, limits):
    """Return the solution for a small margin that is prescribed."""
    margin = smallest_margin(rows, dual)
    own = replace(dual, target=margin * dual.target, coef=solution.coef, total=None)
    found = solve_each(rows, own, limits._replace(goal=Goal(margin * limits.tol)))
    return replace(found, n_iter=solution.n_iter + found.n_iter, margin=margin)


def _widest_margins(rows, duals, half, touching, limits):
    r"""Return the closest points of the reduced convex hulls of two classes, for each of several classifiers.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad l \le b \le u,\ \sum_+ b_i = s = -\sum_- b_i

    A class is a group of variables, with a bias of its own: half their difference is the multiplier of the second sum,
    the margin, |w|^2 = 2 s margin if no bound is met. Gradients contain the margin times the target. Units of margins
    are twice the margin of the classes' means. The tolerance is a share of the margin, and of ``touching`` units at
    least.

    Chang, Lin, *Training nu-support vector classifiers: theory and algorithms*, Neural Computation 13 (2001).
    """
    order = np.lexsort((duals.target < 0, duals.number))
    sign = duals.target[order]
    bound = (duals.upper - duals.lower)[order]
    split = duals.sums((duals.target > 0).astype(int))
    own = Dual(
        np.zeros(len(order)),
        duals.lower[order],
        duals.upper[order],
        bound,
        duals.points[order],
        split=split,
        sums_only=True,
        stops=duals.stops,
    )
    sums = np.add.reduceat(bound, own.groups[:, :2].ravel())
    shares = np.repeat(half, 2) / sums
    own.coef[:] *= sign * np.repeat(shares, np.diff(own.groups).ravel())
    goal = _goal_of_sums(
        rows, limits.tol, own.largest, per_margin=1.0, least=_COARSE, touching=touching
    )
    if touching == _TOUCHING_HARD:
        # no point is inside of a hard margin, whatever the tolerance
        goal = goal._replace(operations=np.inf)
    found = solve_each(rows, own, limits._replace(goal=goal))
    # with one sum: gradients contain the margins, the violations of two groups add up
    found.gradient[:] += sign * found.margin[own.number]
    found.violation[:] = measured_each(own, found.coef, found.gradient, found.bias)[0]
    back = np.argsort(order)
    return replace(found, coef=found.coef[back], gradient=found.gradient[back])


def _in_margins(duals, found):
    """Return solutions divided by their margins, certified: points at the margin have the decision values 1 and -1."""
    return certified(found.in_units(1 / found.margin), duals)


def _place(dual, solution):
    """Return a solution if one class is at its bounds: every margin from half the distance on is optimal.

    The distance is divided in the proportion of the classes' factors, and halved if that of the other class is smaller.
    """
    sign = dual.target
    margin = solution.margin
    raw = solution.gradient - margin * sign
    at_bound = np.abs(solution.coef) == dual.upper - dual.lower
    positive_closed = at_bound[sign > 0].all()
    negative_closed = at_bound[sign < 0].all()
    upper_edge = raw[sign > 0].min() if positive_closed else solution.bias - margin
    lower_edge = raw[sign < 0].max() if negative_closed else solution.bias + margin
    distance = lower_edge - upper_edge
    if distance <= 0:
        return solution
    share = 0.5
    if positive_closed != negative_closed:
        of_positive, of_negative = dual.factors[0]
        open_factor = of_negative if positive_closed else of_positive
        share = max(0.5, open_factor / (of_positive + of_negative))
    wider = share * distance
    bias = lower_edge - wider if positive_closed else upper_edge + wider
    return replace(solution, gradient=raw + wider * sign, bias=bias, margin=wider)


def smallest_margin(rows: Rows, dual: Dual) -> float:
    """Return the margin of a nu-classifier of classes that have none, see `solve_nu_svcs`."""
    return _COARSE * 0.5 * dual.total.item() * distance_of_means(rows, dual)


# --- regression ------------------------------------------------------------------------------------------------------


def solve_nu_svr(rows: Rows, dual: Dual, limits: Limits) -> Solution:
    r"""Return the solution of a dual of regression with ``total``, its ``epsilon`` included.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l \le b \le u,\ \sum_i b_i = 0,\ \sum_i |b_i| \le s

    A point has one variable of each sign, and those of a sign keep half of s. An edge of the tube without a free
    variable is in the middle of where it may be.

    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural Computation 12 (2000), section 3;
    Chang, Lin, *Training nu-support vector regression: theory and algorithms*, Neural Computation 14 (2002).
    """
    line = replace(dual, total=None, epsilon=0.0)
    if not np.ptp(line.target):
        # a constant has no error, and huge coefficients of both signs would not cancel
        return solve_each(rows, line, limits)
    n = len(line.target)
    own = limits._replace(goal=_goal_of_sums(rows, limits.tol, 2 * n))
    found = solve_each(rows, _doubled(line, 0.5 * dual.total), own)
    solution = _merged(rows, line, found)
    if solution.epsilon <= limits.tol:
        # with epsilon = 0 the sum may be smaller
        left = limits._replace(max_iter=limits.max_iter - solution.n_iter.item())
        exact = solve_each(rows, replace(line, coef=solution.coef), left)
        if float(np.abs(exact.coef).sum()) <= dual.total * (1 + 1e-12):
            solution = replace(exact, n_iter=exact.n_iter + solution.n_iter)
    return solution


def _doubled(dual, total):
    """Return the dual of one variable of each sign for each point, whose sums are a total and its negative."""
    zeros = np.zeros_like(dual.coef)
    lower = np.concatenate([zeros, dual.lower])
    upper = np.concatenate([dual.upper, zeros])
    target = np.tile(dual.target, 2)
    points = np.tile(dual.points, 2)
    coef = np.concatenate(
        [each * (total / abs(float(each.sum()))) for each in (dual.upper, dual.lower)]
    )
    return Dual(target, lower, upper, coef, points, split=len(zeros), sums_only=True)


def _merged(rows, dual, found):
    """Return the solution of one variable for each point, from that of one variable of each sign."""
    n = len(dual.target)
    # half the difference of the biases of both signs
    epsilon = max(0.0, -found.margin.item())
    own = replace(dual, epsilon=epsilon)
    coef = found.coef[:n] + found.coef[n:]
    # of the variable that moves, which may be exact where that of the other one is rounded
    gradient = np.where(coef < 0, found.gradient[n:], found.gradient[:n])
    # millions of steps lose digits of the sum; rows may be centred, and their products then count on it
    drift = float(coef.sum())
    inside = (coef > dual.lower) & (coef < dual.upper) & (coef != 0)
    if abs(drift) > DRIFT * float(np.abs(coef).sum()) and inside.any():
        coef[inside] = shifted(coef[inside], -drift, dual.lower[inside], dual.upper[inside])
        gradient = exact_gradient(rows, dual, coef)
    (own_bias,), violation = measured(gradient, coef, own)
    bias = found.bias
    if inside.any():
        bias = own_bias
    moved = {"coef": coef, "gradient": gradient, "bias": bias, "violation": violation}
    return replace(found, epsilon=epsilon, margin=1.0, stops=None, **moved)


def solve_hard_tube(rows: Any, dual: Dual, limits: Limits) -> Solution:
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
    C = unit / spread
    coef = dual.coef
    n_iter = 0
    while True:
        bound = np.full(len(coef), C)
        solution = solve_each(rows, replace(dual, lower=-bound, upper=bound, coef=coef), limits)
        coef = solution.coef
        n_iter = n_iter + solution.n_iter
        if np.abs(coef).max() < C:
            return replace(solution, n_iter=n_iter)
        needed, apart = _steepness(rows, dual, solution)
        if needed > _STEEPEST * unit:
            size = float(np.abs(coef).sum())
            difference = 2 * float(dual.target @ coef) / size
            raise Infeasible(
                dual,
                coef,
                distance=2 * apart / size,
                difference=difference,
                needed=needed,
                unit=unit,
            )
        if solution.violation > limits.tol:
            return replace(solution, n_iter=n_iter)
        C *= _RAISED


def _spread(rows):
    """Return about the root mean square distance of the points from their mean."""
    few = evenly_spaced(len(rows.diagonal), MEANS)
    weights: Array = np.full(len(few), 1 / len(few))
    squared = float(rows.diagonal[few].mean()) - float(weights @ rows.product(few, few, weights))
    return np.sqrt(max(squared, 1e-12 * float(np.abs(rows.diagonal).max()), TINY))


def _steepness(rows, dual, solution):
    """Return the norm that every function without error exceeds, and |Phi b|."""
    b = solution.coef
    size = float(np.abs(b).sum())
    # |Phi b|^2 is a difference: nothing is known below its rounding
    rounding = EPS * size**2 * float(rows.diagonal.max())
    apart = np.sqrt(max(float(b @ (dual.target - solution.gradient)), rounding))
    return (float(dual.target @ b) - dual.epsilon * size) / apart, apart
