"""Regression in a tube as wide as a prescribed share of the points asks for."""

from dataclasses import replace

import numpy as np

from mercer.solvers.svm.shrinking import sides
from mercer.solvers.svm.smo import Dual, solve, threshold, violation

# Points of the sample on which the width is guessed, where there are more than twice as many.
_SAMPLE = 2000
# The first guess is this share of the width that would do around a constant, so that there is something to solve.
_GUESS = 0.25
# The guess, and every correction of it, takes a solution whose violation is this share of the width.
_CLOSE = 0.7
# Widths this share of the tolerance apart are the same; differences count from this many violations on.
_SAME, _APART = 0.1, 2
# A correction divides or multiplies the width by this at most.
_STRETCH = 4
# Variables at rest, as a share, that lie nearest to the tube and say how many enter it when it widens.
_NEAREST = 0.05
# A sum that is farther off than this share of it is not nearly met.
_NEARLY = 0.01
# The first step from one exact solution to the next, as a share of the width; how many of them, and from which share of
# the width on two are the same.
_STEP, _EXACT_WIDTHS, _EXACT = 0.01, 20, 1e-9
# Corrections of a solution within the tolerance.
_CORRECTIONS = 50


def solve_share(rows, dual, total, *, tol, max_iter, memory, report=None):
    r"""Solve the dual of a tube whose width is such that the coefficients have a given sum of sizes.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l \le b \le u,\ \sum_i b_i = 0,\ \sum_i |b_i| \le s

    The width is the multiplier of the last constraint: sweeps of SMO at one width take turns with corrections of it.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    dual : Dual
        Its tube does not matter.
    total : float
        s, above 0.
    tol, max_iter, memory, report
        As for `mercer.solvers.svm.smo.solve`.

    Returns
    -------
    Solution
        With ``tube``, the width; the sum is met as well as ``tol`` lets it be known.

    Notes
    -----
    The sum falls as the tube widens, and piece by piece in proportion: a secant finds its way, whose first slope counts
    the points near the tube.

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural Computation 12 (2000), section 3.
    """
    means = {"max_iter": max_iter, "memory": memory, "report": report}
    share, guess = total / dual.upper.sum(), _GUESS * _spread(dual, total)
    n = len(dual.target)
    if n > 2 * _SAMPLE:
        few = np.linspace(0, n - 1, _SAMPLE).astype(int)
        arrays = dual.target, dual.lower, dual.upper, dual.coef, dual.points
        small = Dual(*(each[few] for each in arrays), guess)
        enough = max(tol, _SAME * guess)
        part = share * small.upper.sum()
        guess = solve(rows, small, tol=enough, adjust=_Width(part, enough), **means).tube
    width = _Width(total, tol)
    solution = solve(rows, replace(dual, tube=guess), tol=tol, adjust=width, **means)
    mixed = width.mixed(dual, solution)
    return mixed if mixed.violation <= tol else solution


def settled(optimum, polish, dual, solution, total):
    """Return a solution to its last digits: of the sum, or of its tube where none is known to have that sum.

    Parameters
    ----------
    optimum : callable (dual) -> Solution
    polish : callable (dual, solution, total) -> Solution
        Gives the solution back where it fails.
    dual : Dual
        Its tube does not matter.
    solution : Solution
        Of about the sum, as `solve_share` finds it.
    total : float

    Returns
    -------
    Solution

    Notes
    -----
    Newton's method finds the tube where it is near. Where it fails, exact solutions for some tubes lead nearer.
    """
    known = {}
    for count in range(_EXACT_WIDTHS):
        own = replace(dual, tube=solution.tube)
        found = polish(own, solution, total)
        if found is not solution:
            return found
        found = polish(own, solution, None)
        if found is solution:
            break
        solution, excess = found, _sum(found) - total
        known[excess > 0] = solution
        if len(known) < 2:
            width = solution.tube * (1 + np.copysign(_STEP * 2**count, excess))
        else:
            narrow, wide = known[True].tube, known[False].tube
            part = 0.5 if count % 2 else (_sum(known[True]) - total) / (_sum(known[True]) - _sum(known[False]))
            width = narrow + part * (wide - narrow)
            if not narrow * (1 + _EXACT) < width < wide * (1 - _EXACT):
                return _mean(known, dual, total)
        if width <= 0:
            break
        found = optimum(replace(dual, tube=width, coef=solution.coef))
        solution = replace(found, n_iter=solution.n_iter + found.n_iter, tube=width)
    return solution


def _sum(solution):
    return float(np.abs(solution.coef).sum())


def _mean(known, dual, total):
    """Return the mean of solutions of too large (True) and too small a sum that has the sum.

    Where the sum jumps, at a width of its own, all means of its two sides are optimal.
    """
    many, few = known[True], known[False]
    share = (total - _sum(few)) / (_sum(many) - _sum(few))
    coef, scores, width = (
        share * getattr(many, name) + (1 - share) * getattr(few, name) for name in ("coef", "scores", "tube")
    )
    dual = replace(dual, tube=width)
    bias = threshold(scores, coef, dual)
    return replace(few, coef=coef, scores=scores, tube=width, bias=bias, violation=violation(scores, coef, dual))


def _spread(dual, total):
    """Return the width of the tube around a constant that the share leaves."""
    distance = np.abs(dual.target - np.median(dual.target))
    order = np.argsort(-distance, kind="stable")
    place = np.searchsorted(np.cumsum(dual.upper[order]), total)
    return float(distance[order[min(place, len(order) - 1)]])


class _Width:
    """Corrects the width of a tube from solutions that become better and better."""

    def __init__(self, total, tol):
        self._total, self._tol = total, tol
        self._low, self._high, self._sides = 0.0, np.inf, {}
        self._past, self._settled, self._due, self._known = [], 0, np.inf, -1

    def __call__(self, dual, solution):
        """Return the width to go on with."""
        width, violation = dual.tube, solution.violation
        if violation > max(self._tol, min(_CLOSE * width, self._due)):
            return width
        # corrections of solutions that are no better than the last one might go on for ever
        self._due = 0.5 * violation
        excess = _sum(solution) - self._total
        if solution.n_iter == self._known and abs(excess) <= _NEARLY * self._total:
            return width
        self._known = solution.n_iter
        change = excess / self._slope(dual, solution, excess)
        self._past.append((width, excess, violation))
        if violation <= self._tol:
            self._settled += 1
            self._low = max(self._low, width) if excess > 0 else self._low
            self._high = min(self._high, width) if excess <= 0 else self._high
            self._sides[excess > 0] = replace(solution, coef=solution.coef.copy(), scores=solution.scores.copy())
            if abs(excess) > _NEARLY * self._total and all(excess * before > 0 for _, before, _ in self._past):
                # far from the sum, and always on this side: far enough at least for a secant to tell
                change = np.copysign(max(abs(change), 2 * _APART * self._tol), excess)
        wider = min(max(width + change, width / _STRETCH), _STRETCH * width + self._tol)
        wider = 0.0 if wider <= self._tol and excess < 0 else wider
        if not self._low <= wider <= self._high:
            wider = 0.5 * (self._low + self._high) if np.isfinite(self._high) else _STRETCH * width + self._tol
        same = min(abs(wider - width), self._high - self._low) <= _SAME * self._tol
        return width if same or self._settled > _CORRECTIONS else wider

    def mixed(self, dual, solution):
        """Return the mean of solutions with too large and too small a sum that has the sum, or the solution given."""
        if len(self._sides) < 2:
            return solution
        return replace(_mean(self._sides, dual, self._total), n_iter=solution.n_iter, computed=solution.computed)

    def _slope(self, dual, solution, excess):
        """Return by how much the sum falls where the tube widens by 1: as it did, or as points lie about the tube."""
        for width, before, known in reversed(self._past):
            apart = dual.tube - width
            if abs(apart) > _APART * max(known, solution.violation) and (before - excess) / apart > 0:
                return (before - excess) / apart
        rising, falling = sides(solution.scores, solution.coef, dual)
        # where free variables would be without the tube nobody knows
        rest = np.flatnonzero((rising != falling) & (dual.upper > dual.lower))
        if not len(rest):
            rest = np.arange(len(rising))
        distance = np.abs(np.abs(solution.scores[rest] - solution.bias) - dual.tube)
        k = int(np.ceil(_NEAREST * len(rest)))
        nearest = np.argpartition(distance, k - 1)[:k]
        return float(dual.upper[rest[nearest]].sum()) / max(2 * float(distance[nearest].max()), 1e-300)
