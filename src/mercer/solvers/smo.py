"""Sequential minimal optimisation: the quadratic programmes of support vector machines."""

import logging
from dataclasses import dataclass

import numpy as np

from mercer import _threads
from mercer.solvers.rows import Square
from mercer.solvers.working_set import LANES, optimise

_log = logging.getLogger("mercer")

# Rows computed together with one that a step needs: few are wasted, and a matrix product is still worth it.
_BATCH = 64
_RELEVANT = 0.5
# Variables of the first sweep where not all fit: a sample that tells most of the others where they belong.
_FIRST = 4096
# A sweep over a part reduces the violation by this factor before it looks at the rest again.
_REDUCTION = 0.1
# Variables times steps between two looks at the world: a tenth of a second.
_WORK = 100_000_000
# Columns per row of the block of kernel values where not all fit: not every variable needs its row.
_SHAPE = 1.2


@dataclass(frozen=True)
class Dual:
    r"""The family of duals of support vector machines, in signed coefficients.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l_i \le b_i \le u_i,\ \sum_i b_i = \text{const}

    A classifier has b_i = y_i alpha_i, t = y and the bounds 0 and C y_i; a one-class machine t = 0 and sum 1;
    regression two variables to a point, t = y - epsilon and y + epsilon; the smallest ball t = k(x_i, x_i) / 2.

    Parameters
    ----------
    target, lower, upper : float64 array (n,)
    coef : float64 array (n,)
        Where to start: within the bounds, with the sum that is to be kept.
    points : int array (n,)
        The point of each variable.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray


@dataclass(frozen=True)
class Solution:
    """A solved dual, or where the solver stopped.

    Attributes
    ----------
    coef : float64 array (n,)
    scores : float64 array (n,)
        f = t - K b.
    bias : float
        The threshold b_0 of f: the mean over free variables, or the middle of what the others allow.
    violation : float
        Largest f_i that may rise minus smallest that may fall, at least 0.
    n_iter : int
        Pairs optimised.
    computed : int
        Kernel values computed.
    square : Square or None
        Kernel rows of all variables, where the memory held them.
    """

    coef: np.ndarray
    scores: np.ndarray
    bias: float
    violation: float
    n_iter: int
    computed: int
    square: Square | None = None


def solve(rows, dual, *, tol, max_iter, memory, shared=(), report=None):
    """Solve a dual until no pair violates the optimality conditions by more than ``tol``.

    Sweeps solve for the variables that matter, all others at rest: all of them where the memory holds their kernel
    rows, otherwise those that violate most, the free ones and those nearest to the margin, until a look at all
    variables finds nothing left to do.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    dual : Dual
    tol : float
    max_iter : int
        Pairs optimised at most.
    memory : array
        One-dimensional, of the type of the rows: what kernel values may take.
    shared : list of (slice, array)
        Diagonal blocks of K that are known already.
    report : callable (violation), optional
        Called about ten times a second; the solver stops when it returns True.

    Returns
    -------
    Solution

    Notes
    -----
    Platt, *Fast training of support vector machines using sequential minimal optimization* (1999); Joachims, *Making
    large-scale SVM learning practical* (1999), for setting variables aside.
    """
    coef, scores = dual.coef.copy(), dual.target.copy()
    support = np.flatnonzero(coef)
    if len(support):
        scores -= rows.product(dual.points, dual.points[support], coef[support])
    n_iter = computed = 0
    bias, stopped, square = None, False, None
    largest = _largest_sweep(len(coef), len(memory))
    violation = _violation(scores, coef, dual)
    while violation > tol and n_iter < max_iter and not stopped:
        chosen = _choose(scores, coef, dual, bias, largest)
        whole = len(chosen) == len(coef)
        sweep = _Sweep(rows, dual, chosen, scores, coef, memory, shared if whole else ())
        aim = tol if whole else max(0.5 * tol, _REDUCTION * violation)
        steps, stopped = sweep.run(aim, max_iter - n_iter, report)
        change = sweep.coef[: len(chosen)] - coef[chosen]
        coef[chosen], scores[chosen] = sweep.coef[: len(chosen)], sweep.scores[: len(chosen)]
        moved = np.flatnonzero(change)
        if not whole and len(moved):
            rest = np.ones(len(coef), bool)
            rest[chosen] = False
            scores[rest] -= rows.product(dual.points[rest], dual.points[chosen[moved]], change[moved])
            computed += int(rest.sum()) * len(moved)
        square = sweep.square if whole else None
        n_iter, computed = n_iter + steps, computed + sweep.square.computed
        bias, violation = threshold(scores, coef, dual), _violation(scores, coef, dual)
        _log.debug("smo: %d of %d variables, %d steps, violation %.3g", len(chosen), len(coef), n_iter, violation)
        stopped = stopped or steps == 0
    return Solution(coef, scores, threshold(scores, coef, dual), violation, n_iter, computed, square)


def threshold(scores, coef, dual):
    """Return b_0: the mean score of free variables, or the middle of the interval that the others allow.

    Parameters
    ----------
    scores, coef : float64 array (n,)
    dual : Dual

    Returns
    -------
    float
    """
    free = (coef > dual.lower) & (coef < dual.upper)
    if free.any():
        return float(scores[free].mean())
    top, bottom = _bounds(scores, coef, dual)
    if np.isinf(top) or np.isinf(bottom):
        return float(bottom if np.isinf(top) else top)
    return 0.5 * (top + bottom)


def _bounds(scores, coef, dual):
    """Return the largest score of what may rise and the smallest of what may fall."""
    top = np.max(scores, where=coef < dual.upper, initial=-np.inf)
    bottom = np.min(scores, where=coef > dual.lower, initial=np.inf)
    return float(top), float(bottom)


def _violation(scores, coef, dual):
    top, bottom = _bounds(scores, coef, dual)
    return max(0.0, top - bottom)


def _largest_sweep(n, values):
    """Return for how many variables at most the rows of enough of them fit into so many values."""
    width = -(-n // LANES) * LANES
    return n if n * width <= values else min(n, max(LANES, int(np.sqrt(_SHAPE * values)) // LANES * LANES))


def _choose(scores, coef, dual, bias, largest):
    """Return the variables of the next sweep: all, or those that violate most, are free or nearest to the margin."""
    n = len(coef)
    if bias is None and (n > 2 * _FIRST or n > largest):
        return np.unique(np.linspace(0, n - 1, min(largest, _FIRST)).astype(int))
    rise, fall = coef < dual.upper, coef > dual.lower
    largest = min(largest, max(2 * _FIRST, 2 * int((rise & fall).sum())))
    if n <= largest:
        return np.arange(n)
    worth = np.maximum(np.where(rise, scores - bias, -np.inf), np.where(fall, bias - scores, -np.inf))
    worth[rise & fall] += 1
    # the pair that violates most is always there, so that every sweep gains
    worth[[np.argmax(np.where(rise, scores, -np.inf)), np.argmin(np.where(fall, scores, np.inf))]] = np.inf
    return np.sort(np.argpartition(-worth, largest)[:largest])


class _Sweep:
    """Variables that are solved for while all others stay, with their kernel values."""

    def __init__(self, rows, dual, chosen, scores, coef, memory, shared):
        self._size, points = len(chosen), dual.points[chosen]
        self._lower, self._upper = _padded(dual.lower[chosen]), _padded(dual.upper[chosen])
        self._diagonal = _padded(rows.diagonal[points])
        self.scores, self.coef = _padded(scores[chosen]), _padded(coef[chosen])
        self.square = Square(rows, points, memory, LANES, shared)

    def run(self, tol, max_iter, report):
        """Solve to ``tol``, or as far as the memory goes; return the number of steps and whether to stop."""
        square, groups = self.square, np.array([0, len(self.coef)])
        limit, n_iter = max(1, _WORK // len(self.coef)), 0
        free = np.flatnonzero((self.coef > self._lower) & (self.coef < self._upper))
        square.ensure(free[: int(min(len(free), square.room - 2 * _BATCH))])
        while n_iter < max_iter:
            _threads.checkpoint()
            steps, missing, violation = optimise(
                *(square.values, square.slot, self._diagonal, self.scores, self.coef, self._lower, self._upper),
                *(groups, tol, min(limit, max_iter - n_iter)),
            )
            n_iter += steps
            if violation <= tol:
                break
            if missing >= 0:
                if square.room < _BATCH:
                    self._make_room()
                square.ensure(self._wanted(missing))
            if report is not None and report(violation):
                return n_iter, True
        return n_iter, False

    def _make_room(self):
        """Give up half of the rows of variables at bounds, of all where those are few: the farthest from the margin."""
        known = self.square.slot >= 0
        bound = known & ((self.coef == self._lower) | (self.coef == self._upper))
        there = np.flatnonzero(bound if bound.sum() >= 4 * _BATCH else known)
        distance = np.abs(self.scores[there] - self._middle())
        self.square.forget(there[_largest(distance, -(-len(there) // 2))])

    def _middle(self):
        """Return the score between what may rise and what may fall, where they violate most."""
        rise, fall = self.coef < self._upper, self.coef > self._lower
        top = np.max(self.scores, where=rise, initial=-np.inf)
        return 0.5 * (top + np.min(self.scores, where=fall, initial=np.inf))

    def _wanted(self, missing):
        """Return the variables whose rows to compute together with a missing one: those that violate most."""
        own = slice(0, self._size)
        unknown, scores, coef = self.square.slot[own] < 0, self.scores[own], self.coef[own]
        middle = self._middle()
        worth = np.where(coef < self._upper[own], scores - middle, middle - scores)
        # nearer to the middle than that they may well never be asked for
        worth[~unknown | (worth < _RELEVANT * worth.max())] = -np.inf
        return np.unique(np.append(_largest(worth, _BATCH - 1), missing))


def _padded(values):
    """Return a copy that fills up whole lanes with zeros."""
    return np.pad(values, (0, -len(values) % LANES))


def _largest(values, k):
    """Return where the k largest finite values are."""
    best = np.argpartition(-values, k)[:k] if k < len(values) else np.arange(len(values))
    return best[values[best] > -np.inf]
