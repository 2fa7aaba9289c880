"""Nu-regression: the dual whose sum of sizes |b_i| is given, and whose epsilon follows from it."""

from dataclasses import replace

import numpy as np

from mercer.solvers.svm.bias import bias_of, slopes, violation_of
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.one_constraint import solve_one_constraint

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
# First step from one exact solution to the next, as a share of epsilon; how many of them; when two are equal.
_STEP, _EXACT_TRIALS, _EXACT = 0.01, 20, 1e-9
# Number of corrections of a solution within the tolerance.
_CORRECTIONS = 50


def solve_nu_svr(rows, dual, workspace):
    r"""Return the solution of a dual of regression with ``total``, its ``epsilon`` included.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l \le b \le u,\ \sum_i b_i = 0,\ \sum_i |b_i| \le s

    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural Computation 12 (2000), section 3.
    """
    total, line = dual.total, replace(dual, total=None, epsilon=0.0)
    solution = find_epsilon(rows, line, total, workspace)
    if solution.epsilon <= workspace.tol:
        # with epsilon = 0 the sum may be smaller
        exact = solve_one_constraint(rows, replace(line, coef=solution.coef), workspace)
        exact = replace(exact, n_iter=exact.n_iter + solution.n_iter)
        solution = exact if _sum(exact) <= total * (1 + 1e-12) else solution
    return refine_epsilon(rows, line, total, solution, workspace) if solution.epsilon > 0 else solution


def find_epsilon(rows, dual, total, workspace):
    """Return a solution whose sum of sizes is about ``total``: sweeps of SMO and corrections of epsilon take turns.

    The sum falls as epsilon grows, and piecewise linearly: a secant method, whose first slope counts the points near
    the tube.
    """
    guess = _GUESS * _spread(dual, total)
    n = len(dual.target)
    if n > 2 * _SAMPLE:
        few = np.linspace(0, n - 1, _SAMPLE).astype(int)
        part = replace(dual.take(few), epsilon=guess)
        enough = max(workspace.tol, _SAME * guess)
        search = _EpsilonSearch(total / dual.upper.sum() * part.upper.sum(), enough)
        guess = solve(rows, part, replace(workspace, tol=enough), search.correct).epsilon
    search = _EpsilonSearch(total, workspace.tol)
    solution = solve(rows, replace(dual, epsilon=guess), workspace, search.correct)
    mixed = search.mixed(dual, solution)
    return mixed if mixed.violation <= workspace.tol else solution


def refine_epsilon(rows, dual, total, solution, workspace):
    """Return a solution to its last digits: of the sum ``total``, or of its epsilon if none is found for the sum.

    Newton steps find the epsilon if it is near. Otherwise exact solutions for some values lead nearer.
    """
    known, tol = {}, workspace.tol
    for count in range(_EXACT_TRIALS):
        own = replace(dual, epsilon=solution.epsilon)
        found = refine(rows, own, solution, tol, total)
        if found is not solution:
            return found
        found = refine(rows, own, solution, tol)
        if found is solution:
            break
        solution, excess = found, _sum(found) - total
        known[excess > 0] = solution
        if len(known) < 2:
            epsilon = solution.epsilon * (1 + np.copysign(_STEP * 2**count, excess))
        else:
            low, high = known[True].epsilon, known[False].epsilon
            part = 0.5 if count % 2 else (_sum(known[True]) - total) / (_sum(known[True]) - _sum(known[False]))
            epsilon = low + part * (high - low)
            if not low * (1 + _EXACT) < epsilon < high * (1 - _EXACT):
                return _mean(known, dual, total)
        if epsilon <= 0:
            break
        found = solve_one_constraint(rows, replace(dual, epsilon=epsilon, coef=solution.coef), workspace)
        solution = replace(found, n_iter=solution.n_iter + found.n_iter, epsilon=epsilon)
    return solution


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

    def __init__(self, total, tol):
        self._total, self._tol = total, tol
        self._low, self._high = 0.0, np.inf
        # solutions with too large (True) and too small a sum, and all corrections
        self._known, self._past = {}, []
        self._settled, self._due, self._steps = 0, np.inf, -1

    def correct(self, dual, solution):
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

    def mixed(self, dual, solution):
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
