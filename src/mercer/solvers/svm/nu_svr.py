"""Nu-regression: the dual whose sum of sizes |b_i| is given, and whose epsilon follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mercer._compute.points import evenly_spaced
from mercer.solvers.svm.bias import bias_of, slopes, violation_of
from mercer.solvers.svm.compiled_sums import fits_sums
from mercer.solvers.svm.correction import exact_gradient
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.linear import shifted
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.one_constraint import solve_one_constraint, steps_of_a_round
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.two_constraints import placed, solve_sums

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Solution
    from mercer.solvers.svm.rows import FusedRows
    from mercer.solvers.svm.workspace import Workspace

# Number of points of the sample on which epsilon is guessed, if there are more than twice as many.
_SAMPLE = 2000
# The first guess is this share of the epsilon that would suffice around a constant, so that coefficients are not 0.
_GUESS = 0.25
# Epsilon is corrected by solutions whose violation is at most this share of it.
_CLOSE = 0.7
# Values of epsilon this share of the tolerance apart are equal; differences count from this many violations on.
_SAME, _APART = 0.1, 2
# A correction divides or multiplies epsilon by this at most.
_STRETCH = 4
# Share of the variables at rest that are nearest to the tube: they tell how many enter it if it widens.
_NEAREST = 0.05
# A sum is nearly met within this share of it.
_NEARLY = 0.01
# A sum is met within this share of it.
_SAME_SUM = 1e-9
# Largest sum of coefficients, as a share of their sizes, that counts as 0.
_DRIFT = 1e-13
# Number of corrections of a solution within the tolerance.
_CORRECTIONS = 50


def solve_nu_svr(rows: FusedRows, dual: Dual, workspace: Workspace) -> Solution:
    r"""Return the solution of a dual of regression with ``total``, its ``epsilon`` included.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l \le b \le u,\ \sum_i b_i = 0,\ \sum_i |b_i| \le s

    Small duals are solved by two variables for each point, which keep the sum of each sign. For others a search for
    epsilon is faster, unless the sum jumps at an epsilon, as it does where kernel values have a small rank. An edge of
    the tube without a free variable is in the middle of where it may be.

    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural Computation 12 (2000), section 3.
    """
    total, line = dual.total, replace(dual, total=None, epsilon=0.0)
    if fits_sums(rows, 2 * len(dual.target), workspace):
        solution = solve_two_sums(rows, line, total, workspace)
    else:
        solution = _searched(rows, line, total, workspace)
    if solution.epsilon <= workspace.tol:
        # with epsilon = 0 the sum may be smaller
        exact = solve_one_constraint(rows, replace(line, coef=solution.coef), workspace)
        exact = replace(exact, n_iter=exact.n_iter + solution.n_iter)
        solution = exact if _sum(exact) <= total * (1 + 1e-12) else solution
    if solution.epsilon == 0:
        return solution
    solution = refine(rows, replace(line, epsilon=solution.epsilon), solution, workspace.tol, total)
    found = _placed(solution, line)
    return found if found.violation <= max(solution.violation, workspace.tol) else solution


def _searched(rows, dual, total, workspace):
    """Return the solution of a sum of sizes by a search for epsilon, or by two sums if the search does not end."""
    steps = min(steps_of_a_round(2 * len(dual.target)), workspace.max_iter)
    solution = find_epsilon(rows, dual, total, replace(workspace, max_iter=steps))
    stopped = solution.violation > workspace.tol and solution.n_iter < steps
    if stopped or _meets(solution, total, workspace):
        return solution
    found = solve_two_sums(rows, dual, total, replace(workspace, max_iter=workspace.max_iter - solution.n_iter))
    return replace(found, n_iter=solution.n_iter + found.n_iter)


def _placed(solution, dual):
    """Return a solution with the bias and the epsilon of its two edges, each as `placed` places the bias of a sign."""
    n, twice = len(solution.coef), _doubled(dual, solution.coef)
    edges = replace(solution, coef=twice.coef, gradient=np.tile(solution.gradient, 2))
    found, multiplier = placed(edges, twice, n)
    coef = found.coef[:n] + found.coef[n:]
    epsilon = max(0.0, -multiplier)
    violation = violation_of(solution.gradient, coef, replace(dual, epsilon=epsilon))
    return replace(solution, coef=coef, bias=found.bias, epsilon=epsilon, violation=violation)


def _doubled(dual, coef):
    """Return the dual of one variable of each sign for each point, at some coefficients."""
    zeros = np.zeros_like(coef)
    return Dual(
        np.tile(dual.target, 2),
        np.concatenate([zeros, dual.lower]),
        np.concatenate([dual.upper, zeros]),
        np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)]),
        np.tile(dual.points, 2),
    )


def _meets(solution, total, workspace):
    """Whether a solution is within the tolerance and has the sum, or has no tube and a smaller one."""
    excess = _sum(solution) - total
    met = abs(excess) <= _SAME_SUM * total or (excess < 0 and solution.epsilon <= workspace.tol)
    return met and solution.violation <= workspace.tol


def solve_two_sums(rows: FusedRows, dual: Dual, total: float | None, workspace: Workspace) -> Solution:
    """Return the solution of the sum ``total`` by one variable of each sign for each point, each sign of half the sum.

    Chang, Lin, *Training nu-support vector regression: theory and algorithms*, Neural Computation 14 (2002).
    """
    n = len(dual.target)
    twice = _doubled(dual, np.zeros(n))
    # each sign has its own bias: their violations add up
    limits = replace(workspace, tol=lambda _: 0.5 * workspace.tol)
    found, multiplier = solve_sums(rows, twice, n, 0.5 * total, limits)
    solution = _merged(rows, dual, found, multiplier)
    if solution.violation > workspace.tol and rows.dtype == np.float32:
        # the rounding of kernel values may be larger than the tolerance
        rows = rows_of(rows.kernel, rows.points, 0.0)
        limits = replace(limits, max_iter=limits.max_iter - found.n_iter).of_type(rows.dtype)
        finer, multiplier = solve_sums(rows, replace(twice, coef=found.coef), n, 0.5 * total, limits)
        solution = _merged(rows, dual, replace(finer, n_iter=found.n_iter + finer.n_iter), multiplier)
    return solution


def _merged(rows, dual, found, multiplier):
    """Return the solution of one variable for each point, from that of one variable of each sign."""
    n = len(dual.target)
    coef, gradient = found.coef[:n] + found.coef[n:], found.gradient[:n] - multiplier
    own = replace(dual, epsilon=max(0.0, -multiplier))
    # millions of steps lose digits of the sum; rows may be centred, and their products then count on it
    drift = float(coef.sum())
    drifted = abs(drift) > _DRIFT * float(np.abs(coef).sum())
    inside = (coef > dual.lower) & (coef < dual.upper) & (coef != 0)
    if drifted and inside.any():
        coef[inside] = shifted(coef[inside], -drift, dual.lower[inside], dual.upper[inside])
    if drifted or rows.dtype == np.float32:
        gradient = exact_gradient(rows, dual, coef)
    bias, violation = bias_of(gradient, coef, own), violation_of(gradient, coef, own)
    return replace(found, coef=coef, gradient=gradient, bias=bias, violation=violation, epsilon=own.epsilon)


def find_epsilon(rows: FusedRows, dual: Dual, total: float | None, workspace: Workspace) -> Solution:
    """Return a solution whose sum of sizes is about ``total``: sweeps of SMO and corrections of epsilon take turns.

    The sum falls as epsilon grows, and piecewise linearly: a secant method, whose first slope counts the points near
    the tube.
    """
    guess = _GUESS * _spread(dual, total)
    n = len(dual.target)
    if n > 2 * _SAMPLE:
        few = evenly_spaced(n, _SAMPLE)
        part = replace(dual.take(few), epsilon=guess)
        enough = max(workspace.tol, _SAME * guess)
        search = _EpsilonSearch(total / dual.upper.sum() * part.upper.sum(), enough)
        guess = solve(rows, part, replace(workspace, tol=enough), search.correct).epsilon
    search = _EpsilonSearch(total, workspace.tol)
    solution = solve(rows, replace(dual, epsilon=guess), workspace, search.correct)
    mixed = search.mixed(dual, solution)
    return mixed if mixed.violation <= workspace.tol else solution


def _sum(solution):
    return float(np.abs(solution.coef).sum())


def _mean(known, dual, total):
    """Return the mean of a solution with too large a sum (True) and one with too small a sum that has the sum.

    Where the sum jumps at an epsilon, all such means are optimal.
    """
    many, few = known[True], known[False]
    share = (total - _sum(few)) / (_sum(many) - _sum(few))
    coef, gradient, epsilon = (
        share * getattr(many, name) + (1 - share) * getattr(few, name) for name in ("coef", "gradient", "epsilon")
    )
    dual = replace(dual, epsilon=epsilon)
    bias, violation = bias_of(gradient, coef, dual), violation_of(gradient, coef, dual)
    return replace(few, coef=coef, gradient=gradient, epsilon=epsilon, bias=bias, violation=violation)


def _spread(dual, total):
    """Return the epsilon around a constant beyond which the bounds of the points sum to ``total``."""
    distance = np.abs(dual.target - np.median(dual.target))
    order = np.argsort(-distance, kind="stable")
    place = np.searchsorted(np.cumsum(dual.upper[order]), total)
    return float(distance[order[min(place, len(order) - 1)]])


class _EpsilonSearch:
    """Corrects epsilon by solutions of decreasing violation until their sum of sizes is ``total``."""

    def __init__(self, total: float, tol: float) -> None:
        self._total, self._tol = total, tol
        self._low, self._high = 0.0, np.inf
        # solutions with too large (True) and too small a sum, and all corrections
        self._known, self._past = {}, []
        self._settled, self._due, self._steps = 0, np.inf, -1

    def correct(self, dual: Dual, solution: Solution) -> float:
        """Return the epsilon to continue with."""
        epsilon, violation = dual.epsilon, solution.violation
        if violation > max(self._tol, min(_CLOSE * epsilon, self._due)):
            return epsilon
        # otherwise corrections by equally bad solutions might never end
        self._due = 0.5 * violation
        excess = _sum(solution) - self._total
        if solution.n_iter == self._steps and abs(excess) <= _NEARLY * self._total:
            return epsilon
        self._steps = solution.n_iter
        change = excess / self._slope(dual, solution, excess)
        self._past.append((epsilon, excess, violation))
        if violation <= self._tol:
            self._settled += 1
            self._low = max(self._low, epsilon) if excess > 0 else self._low
            self._high = min(self._high, epsilon) if excess <= 0 else self._high
            self._known[excess > 0] = replace(solution, coef=solution.coef.copy(), gradient=solution.gradient.copy())
        same_sign = all(np.sign(before) == np.sign(excess) for _, before, _ in self._past)
        if abs(excess) > _NEARLY * self._total and same_sign:
            # far from the sum, and never beyond it: far enough for a secant
            change = np.copysign(max(abs(change), 2 * _APART * self._tol), excess)
        wider = min(max(epsilon + change, epsilon / _STRETCH), _STRETCH * epsilon + self._tol)
        wider = 0.0 if wider <= self._tol and excess < 0 else wider
        if not self._low <= wider <= self._high:
            wider = 0.5 * (self._low + self._high) if np.isfinite(self._high) else _STRETCH * epsilon + self._tol
        same = min(abs(wider - epsilon), self._high - self._low) <= _SAME * self._tol
        return epsilon if same or self._settled > _CORRECTIONS else wider

    def mixed(self, dual: Dual, solution: Solution) -> Solution:
        """Return the mean of solutions with too large and too small a sum that has the sum, or the given one."""
        if len(self._known) < 2:
            return solution
        return replace(_mean(self._known, dual, self._total), n_iter=solution.n_iter)

    def _slope(self, dual, solution, excess):
        """Return how fast the sum falls as epsilon grows: as it did, or as points lie about the tube."""
        for epsilon, before, known in reversed(self._past):
            apart = dual.epsilon - epsilon
            if abs(apart) > _APART * max(known, solution.violation) and (before - excess) / apart > 0:
                return (before - excess) / apart
        rising, falling = slopes(solution.gradient, solution.coef, dual)
        # where a free variable would be without the tube is not known
        rest = np.flatnonzero((rising != falling) & (dual.upper > dual.lower))
        if not len(rest):
            rest = np.arange(len(rising))
        distance = np.abs(np.abs(solution.gradient[rest] - solution.bias) - dual.epsilon)
        k = int(np.ceil(_NEAREST * len(rest)))
        nearest = np.argpartition(distance, k - 1)[:k]
        return float(dual.upper[rest[nearest]].sum()) / max(2 * float(distance[nearest].max()), 1e-300)
