"""Problems with two sums or infinite bounds: nu-classification, nu-regression, hard margins, regression without error.

A group of variables, a class or a sign, keeps a sum of its own and has a bias of its own: half their difference is the
multiplier of the second sum, the margin of a classifier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import evenly_spaced
from mercer.solvers.svm.dual import Dual, Infeasible, feasible_start
from mercer.solvers.svm.fused_rows import rows_of
from mercer.solvers.svm.large import solve_between
from mercer.solvers.svm.linear import shifted, steps_before_newton
from mercer.solvers.svm.verify import (
    bias_of,
    exact_gradient,
    measured,
    settled,
    settled_solution,
    violation_of,
)

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Solution
    from mercer.solvers.svm.options import Limits
    from mercer.solvers.svm.rows import Rows

# Points of a group in the sample that places most of the others, and in one that gives means and spreads.
_PLACED = 1000
_SAMPLE = 500
# Points of a group whose mean tells which points are near the other group.
_MEAN = 100
# Margins are compared with that of the classes' means: one below this share of it is solved for more closely.
_COARSE = 1e-2
# Margins below these shares count as 0, for the hard margin and for nu; nu-classification then takes the last one.
_TOUCHING_HARD = 1e-9
_TOUCHING_NU = 1e-4
_KEPT = 1e-2
# Largest sum of coefficients, as a share of their sizes, that counts as 0.
_DRIFT = 1e-13
# Factor between the values of C tried; the first is in units of a coefficient that spans the targets.
_RAISED = 10.0
# A function this many times as steep as the targets are wide counts as impossible.
_STEEPEST = 1e4


# --- two sums --------------------------------------------------------------------------------------------------------


def _solve_sums(rows, dual, total, limits):
    r"""Return the solution of a dual whose variables before ``split`` have the sum ``total``, the others its negative.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l \le b \le u,\
        \sum_{i < k} b_i = s,\ \sum_{i \ge k} b_i = -s

    Variables of the first group are at least 0, those of the second at most 0; ``dual.coef`` is the start, 0 for a
    default. The bias is the mean of those of the groups; the second result is the multiplier, times whose sign the
    gradient is that of a dual with one sum.

    Chang, Lin, *Training nu-support vector classifiers: theory and algorithms*, Neural Computation 13 (2001).
    """
    if not dual.coef.any():
        start = (
            _start(rows, dual, total, limits)
            if steps_before_newton(rows, dual)
            else _even_start(dual, total)
        )
        dual = replace(dual, coef=start)
    found = solve_between(rows, dual, limits)
    # coefficients that only rounding keeps from a bound would fix the bias of a group that is open
    coef = settled(found.coef, dual)
    (first, second), _ = measured(found.gradient, coef, dual)
    multiplier = float(0.5 * (second - first))
    gradient = found.gradient + multiplier * _sign(dual)
    # the violations of two groups add up
    violation = violation_of(gradient, coef, replace(dual, split=None))
    own = replace(
        found, coef=coef, gradient=gradient, bias=float(0.5 * (first + second)), violation=violation
    )
    return own, multiplier


def _sign(dual):
    """Return 1 for the variables of the first group and -1 for those of the second."""
    return np.where(np.arange(len(dual.coef)) < dual.split, 1.0, -1.0)


def _even_start(dual, total):
    """Return coefficients of the right sums, all at the same share of their bounds in a group."""
    bounds = dual.upper - dual.lower
    shares = [total / float(own.sum()) for own in np.split(bounds, [dual.split])]
    return _sign(dual) * bounds * np.repeat(shares, np.diff(dual.groups))


def _start(rows, dual, total, limits):
    """Return coefficients of the right sums: at their bounds those that a model of a few points finds worst."""
    bounds = dual.upper - dual.lower
    sign = _sign(dual)
    groups = np.split(np.arange(len(bounds)), [dual.split])
    placed = max(map(len, groups)) > _PLACED
    few = [own[evenly_spaced(len(own), _PLACED if placed else _MEAN)] for own in groups]
    own = np.concatenate(few)
    if placed:
        factors = [
            bounds[all_of].sum() / bounds[part].sum()
            for all_of, part in zip(groups, few, strict=True)
        ]
        factor = np.repeat(factors, [len(part) for part in few])
        small = dual.take(own)
        small = replace(small, lower=factor * small.lower, upper=factor * small.upper)
        guess = _solve_sums(
            rows, small, total, replace(limits, max_iter=2 * len(own), callback=None)
        )[0].coef
    else:
        guess = np.concatenate(
            [sign[part] * bounds[part] * total / bounds[part].sum() for part in few]
        )
    sketch = np.zeros(len(bounds))
    sketch[own] = guess
    # coefficients of both signs at a point cancel exactly
    gradient = sign * exact_gradient(rows, dual, sketch)
    coef = np.zeros(len(bounds))
    for group in groups:
        order = group[np.argsort(-gradient[group], kind="stable")]
        coef[order] = sign[order] * feasible_start(bounds[order], total)
    return coef


def _limits_of_sums(rows, limits, n, tol, **goal):
    """Return limits for n variables in two groups, each of which may violate by half of a tolerance."""
    # a refinement takes no longer than all kernel rows
    operations = float(n) ** 2 * (rows.width + 10)
    return replace(
        limits,
        goal=limits.goal._replace(tol=0.5 * tol, coarse=np.inf, operations=operations, **goal),
    )


# --- classification --------------------------------------------------------------------------------------------------


def solve_hard_margin(rows: Rows, dual: Dual, limits: Limits) -> Solution:
    """Return the solution of a classifier with infinite bounds, or raise `Infeasible` if there is no margin."""
    # weights of a mean: a bound of 2 is never met
    bounded = replace(dual, lower=np.maximum(dual.lower, -2.0), upper=np.minimum(dual.upper, 2.0))
    found, margin, unit = _widest_margin(rows, bounded, 1.0, _TOUCHING_HARD, limits)
    if margin > _TOUCHING_HARD * unit:
        return _in_margins(found, margin)
    squared = max(0.0, float(found.coef @ (margin * dual.target - found.gradient)))
    raise Infeasible(dual, found.coef, distance=np.sqrt(squared), unit=np.sqrt(unit))


def solve_nu_svc(rows: Rows, dual: Dual, limits: Limits) -> Solution:
    r"""Return the solution of a classifier with ``total`` in units of its margin, which is stored with it.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad 0 \le y_i b_i \le w_i,\ \sum_i b_i = 0,\ \sum_i |b_i| = s

    If there is no margin, a small one is prescribed instead of ``total``.

    Crisp, Burges, *A geometric interpretation of nu-SVM classifiers* (2000).
    """
    half = 0.5 * dual.total
    solution, margin, unit = _widest_margin(rows, dual, half, _TOUCHING_NU, limits)
    if margin <= _TOUCHING_NU * unit:
        margin = _KEPT * unit
        own = replace(dual, target=margin * dual.target, coef=solution.coef, total=None)
        found = settled_solution(
            solve_between(rows, own, limits.with_tol(margin * limits.tol)), own
        )
        solution = replace(found, n_iter=solution.n_iter + found.n_iter)
    elif half >= (1 - 1e-12) * min(dual.upper.sum(), -dual.lower.sum()):
        solution, margin = _place(solution, dual, margin)
    return _in_margins(solution, margin)


def _widest_margin(rows, dual, half, touching, limits):
    r"""Return the closest points of the reduced convex hulls of two classes.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad l \le b \le u,\ \sum_+ b_i = s = -\sum_- b_i

    Return the solution, whose gradient contains the margin times the target; the margin, |w|^2 = 2 s margin if no bound
    is met; and twice the margin of the classes' means, the unit of margins. ``tol`` of the limits is a share of the
    margin, and of ``touching`` units at least.
    """
    n = len(dual.coef)
    tol = limits.tol
    order = np.argsort(dual.target < 0, kind="stable")
    split = int((dual.target > 0).sum())
    own = replace(dual.take(order), target=np.zeros(n), coef=np.zeros(n), total=None, split=split)
    unit = half * _distance(rows, dual)

    def solved(rows, start, share):
        own_limits = _limits_of_sums(rows, limits, n, tol, per_margin=1.0, least=share * unit)
        if touching == _TOUCHING_HARD:
            # no point is inside of a hard margin, whatever the tolerance
            own_limits = replace(own_limits, goal=own_limits.goal._replace(operations=np.inf))
        return _solve_sums(rows, replace(own, coef=start), half, own_limits)

    # small margins are solved for closely only if they count
    solution, margin = solved(rows, own.coef, _COARSE)
    if margin + solution.violation > touching * unit and solution.violation > tol * max(
        margin, touching * unit
    ):
        if rows.dtype == np.float32:
            rows = rows_of(rows.kernel, rows.points, 0.0)
        finer, margin = solved(rows, solution.coef, touching)
        solution = replace(finer, n_iter=finer.n_iter + solution.n_iter)
    back = np.argsort(order)
    return (
        replace(solution, coef=solution.coef[back], gradient=solution.gradient[back]),
        margin,
        unit,
    )


def _in_margins(solution, margin):
    """Return a solution in units of its margin, in which the points at the margin have the decision values 1 and -1."""
    names = "coef", "gradient", "bias", "violation"
    return replace(
        solution, margin=margin, **{name: getattr(solution, name) / margin for name in names}
    )


def _place(solution, dual, margin):
    """Return a solution and margin if one class is at its bounds: every margin from half the distance on is optimal.

    The distance is divided in the proportion of the classes' factors, and halved if that of the other class is smaller.
    """
    sign = dual.target
    raw = solution.gradient - margin * sign
    factors = dict(zip((1.0, -1.0), dual.factors, strict=True))
    edges = {}
    closed = {}
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


def smallest_margin(rows: Rows, dual: Dual) -> float:
    """Return the margin of a nu-classifier of classes that have none, see `solve_nu_svc`."""
    return _KEPT * 0.5 * dual.total * _distance(rows, dual)


def _distance(rows, dual):
    """Return about the squared distance of the classes' means, on a few points; bounds are their weights."""
    few = np.concatenate(
        [_some(np.flatnonzero(dual.target > 0)), _some(np.flatnonzero(dual.target < 0))]
    )
    bounds = dual.lower[few] + dual.upper[few]
    weights = bounds / np.where(bounds > 0, bounds[bounds > 0].sum(), -bounds[bounds < 0].sum())
    squared = float(weights @ rows.product(dual.points[few], dual.points[few], weights))
    return max(squared, 1e-6 * float(np.abs(rows.diagonal[dual.points]).max()), 1e-300)


def _some(places):
    return places[evenly_spaced(len(places), _SAMPLE)]


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
    n = len(line.target)
    own = _limits_of_sums(rows, limits, 2 * n, limits.tol)
    solution = _merged(rows, line, *_solve_sums(rows, _doubled(line), 0.5 * dual.total, own))
    if solution.epsilon <= limits.tol:
        # with epsilon = 0 the sum may be smaller
        left = replace(limits, max_iter=limits.max_iter - solution.n_iter)
        exact = solve_between(rows, replace(line, coef=solution.coef), left)
        if float(np.abs(exact.coef).sum()) <= dual.total * (1 + 1e-12):
            solution = replace(exact, n_iter=exact.n_iter + solution.n_iter)
    return solution


def _doubled(dual):
    """Return the dual of one variable of each sign for each point, which begins at 0."""
    zeros = np.zeros_like(dual.coef)
    lower = np.concatenate([zeros, dual.lower])
    upper = np.concatenate([dual.upper, zeros])
    target = np.tile(dual.target, 2)
    points = np.tile(dual.points, 2)
    return Dual(target, lower, upper, np.zeros(len(target)), points, split=len(zeros))


def _merged(rows, dual, found, multiplier):
    """Return the solution of one variable for each point, from that of one variable of each sign."""
    n = len(dual.target)
    epsilon = max(0.0, -multiplier)
    own = replace(dual, epsilon=epsilon)
    coef = found.coef[:n] + found.coef[n:]
    gradient = found.gradient[:n] - multiplier
    # millions of steps lose digits of the sum; rows may be centred, and their products then count on it
    drift = float(coef.sum())
    inside = (coef > dual.lower) & (coef < dual.upper) & (coef != 0)
    if abs(drift) > _DRIFT * float(np.abs(coef).sum()) and inside.any():
        coef[inside] = shifted(coef[inside], -drift, dual.lower[inside], dual.upper[inside])
        used = np.flatnonzero(coef)
        gradient = dual.target - rows.exact_product(dual.points, dual.points[used], coef[used])
    violation = violation_of(gradient, coef, own)
    bias = found.bias
    if ((coef > dual.lower) & (coef < dual.upper) & (coef != 0)).any():
        bias = bias_of(gradient, coef, own)
    return replace(
        found, coef=coef, gradient=gradient, bias=bias, violation=violation, epsilon=epsilon
    )


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
        solution = solve_between(rows, replace(dual, lower=-bound, upper=bound, coef=coef), limits)
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
    few = evenly_spaced(len(rows.diagonal), _SAMPLE)
    weights: Array = np.full(len(few), 1 / len(few))
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
