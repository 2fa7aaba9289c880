"""Sequential minimal optimisation: the quadratic programmes of support vector machines."""

import logging
from dataclasses import dataclass, replace

import numpy as np

from mercer._compute.threads import check_cancelled
from mercer.solvers.svm import shrinking
from mercer.solvers.svm.rows import Square
from mercer.solvers.svm.shrinking import Variables, sides
from mercer.solvers.svm.working_set import LANES

_log = logging.getLogger("mercer")

# Rows computed together with one that a step needs: few are wasted, and a matrix product is still worth it.
_BATCH = 64
_RELEVANT = 0.5
# Variables of the first sweep where not all fit: a sample that tells most of the others where they belong.
_FIRST = 4096
# A sweep over a part reduces the violation by this before it looks at the rest again, by that where it has nearly all.
_REDUCTION, _DEEP = 0.1, 0.01
# Columns per row of the block of kernel values where not all fit: not every variable needs its row.
_SHAPE = 1.2
# Kernel values that are held, and multiplications for those to compute, below which all rows come at once.
_SMALL, _QUICK = 4352**2, 1 << 31
# A sweep takes the free variables and some more, and at least this share of those that are free or violate: wide ones
# touch more memory for a row, narrow ones meet the rest more often.
_SPARE, _PART = 1.1, 0.5
# Steps of a sweep between two looks whether few variables are left near the margin, as a share of all.
_LOOK = 8
# Kernel values of variables near the margin that are copied, as a share of those that memory has room for.
BESIDE = 0.1
# Variables whose rows are there that are solved for before other rows are asked for.
_KNOWN = 2048
# Rows kept although the variables rest at their bounds.
_IDLE = 1024
# Rows of the widest kind that a solver can do with.
_LEAST = 16


@dataclass(frozen=True)
class Dual:
    r"""The family of duals of support vector machines, in signed coefficients.

    .. math:: \min_b \tfrac12 b'Kb - t'b + \epsilon \sum_i |b_i|
        \quad\text{s.t.}\quad l_i \le b_i \le u_i,\ \sum_i b_i = \text{const}

    A classifier has b_i = y_i alpha_i, t = y and the bounds 0 and C y_i; a one-class machine t = 0 and sum 1;
    regression t = y, the bounds -C and C and a tube; the smallest ball t = k(x_i, x_i) / 2.

    Parameters
    ----------
    target, lower, upper : float64 array (n,)
        0 lies between the bounds.
    coef : float64 array (n,)
        Where to start: within the bounds, with the sum that is to be kept.
    points : int array (n,)
        The point of each variable.
    tube : float
        Half its width, epsilon, at least 0.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray
    tube: float = 0.0


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
        Largest score at which a variable rises minus smallest at which one falls, at least 0.
    n_iter : int
        Pairs optimised.
    computed : int
        Kernel values computed.
    square : Square or None
        Kernel rows of all variables, where the memory held them.
    gain : float
        Relative gain of the objective in the last round, where the solver ended since that was next to nothing.
    tube : float
        Half its width.
    """

    coef: np.ndarray
    scores: np.ndarray
    bias: float
    violation: float
    n_iter: int
    computed: int
    square: Square | None = None
    gain: float = np.nan
    tube: float = 0.0


def solve(rows, dual, *, tol, max_iter, memory, shared=(), report=None, adjust=None):
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
        One-dimensional, of the type of the rows: what kernel values may take, at least 16 rows of 256. Values of
        variables near the margin, that are copied, take a tenth more.
    shared : list of (slice, array)
        Diagonal blocks of K that are known already.
    report : callable (violation), optional
        Called about ten times a second; the solver stops when it returns True.
    adjust : callable (dual, solution) -> float, optional
        Called between sweeps, which reduce the violation by parts then, and until it returns the tube as it is where
        a solution is one of other tubes, too: the tube to go on with.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        For less memory than that.

    Notes
    -----
    Rows are kept from one sweep to the next where most of its variables stay; those of variables at rest are given up
    before memory is taken that nothing was in yet.

    Platt, *Fast training of support vector machines using sequential minimal optimization* (1999); Joachims, *Making
    large-scale SVM learning practical* (1999), for setting variables aside.
    """
    if len(memory) < _LEAST * LANES:
        raise ValueError(f"memory holds {len(memory)} kernel values; the solver needs at least {_LEAST * LANES}.")
    coef, scores = dual.coef.copy(), dual.target.copy()
    support = np.flatnonzero(coef)
    n_iter = computed = 0
    bias, stopped, sweep, whole = None, False, None, False
    if len(support):
        scores -= rows.product(dual.points, dual.points[support], coef[support])
        computed += len(coef) * len(support)
        bias = threshold(scores, coef, dual)
    largest = _largest_sweep(len(coef), len(memory))
    worst = violation(scores, coef, dual)

    def state():
        return Solution(coef, scores, bias, worst, n_iter, computed, tube=dual.tube)

    while worst > tol and n_iter < max_iter and not stopped:
        chosen, covered = _choose(scores, coef, dual, bias, largest, 0 if sweep is None else len(sweep.chosen))
        whole = len(chosen) == len(coef)
        if sweep is None or not sweep.exchange(chosen, dual, scores, coef):
            computed += 0 if sweep is None else sweep.square.computed
            sweep = _Sweep(rows, dual, chosen, scores, coef, memory, shared if whole else ())
        chosen, before = sweep.chosen, coef[sweep.chosen]
        # a sweep that ends near the tolerance would be followed by one more, for little
        aim = worst * (_DEEP if covered and adjust is None else _REDUCTION)
        aim = 0.5 * tol if aim < 2 * tol else aim
        aim = tol if whole and adjust is None else aim
        steps, stopped = sweep.run(aim, max_iter - n_iter, report)
        coef[chosen], scores[chosen] = sweep.result()
        change = coef[chosen] - before
        moved = np.flatnonzero(change)
        if not whole and len(moved):
            rest = np.ones(len(coef), bool)
            rest[chosen] = False
            scores[rest] -= rows.product(dual.points[rest], dual.points[chosen[moved]], change[moved])
            computed += int(rest.sum()) * len(moved)
        n_iter += steps
        bias, worst = threshold(scores, coef, dual), violation(scores, coef, dual)
        _log.debug("smo: %d of %d variables, %d steps, violation %.3g", len(chosen), len(coef), n_iter, worst)
        while adjust is not None and not stopped and (tube := adjust(dual, state())) != dual.tube:
            dual = replace(dual, tube=tube)
            bias, worst = threshold(scores, coef, dual), violation(scores, coef, dual)
            if worst > tol:
                break
        stopped = stopped or steps == 0
    computed += 0 if sweep is None else sweep.square.computed
    bias = threshold(scores, coef, dual)
    return replace(state(), square=sweep.square if whole else None)


def threshold(scores, coef, dual):
    """Return b_0: the mean of free variables, or the middle of the interval that the others allow.

    Parameters
    ----------
    scores, coef : float64 array (n,)
    dual : Dual

    Returns
    -------
    float
    """
    rising, falling = sides(scores, coef, dual)
    free = rising == falling
    if free.any():
        return float(rising[free].mean())
    top, bottom = rising.max(), falling.min()
    if np.isinf(top) or np.isinf(bottom):
        return float(bottom if np.isinf(top) else top)
    return float(0.5 * (top + bottom))


def violation(scores, coef, dual):
    """Return the largest score that may rise minus the smallest that may fall, at least 0.

    Parameters
    ----------
    scores, coef : float64 array (n,)
    dual : Dual

    Returns
    -------
    float
    """
    rising, falling = sides(scores, coef, dual)
    return max(0.0, float(rising.max() - falling.min()))


def _largest_sweep(n, values):
    """Return for how many variables at most the rows of enough of them fit into so many values."""
    width = -(-n // LANES) * LANES
    return n if n * width <= values else min(n, max(LANES, int(np.sqrt(_SHAPE * values)) // LANES * LANES))


def _choose(scores, coef, dual, bias, largest, least):
    """Return the variables of the next sweep, and whether nearly all are among them that violate or are free.

    All variables, or those that violate most, are free or nearest to the margin.
    """
    n = len(coef)
    if bias is None and (n > 2 * _FIRST or n > largest):
        return np.unique(np.linspace(0, n - 1, min(largest, _FIRST)).astype(int)), False
    rising, falling = sides(scores, coef, dual)
    free, worth = rising == falling, shrinking.wrongness(rising, falling, bias or 0.0)
    concerned = np.count_nonzero((worth > 0) | free)
    wanted = int(max(_SPARE * np.count_nonzero(free), _PART * concerned))
    size = min(largest, max(_FIRST, least, wanted // LANES * LANES))
    if n <= max(size, 2 * _FIRST) and n <= largest:
        return np.arange(n), True
    if concerned <= size:
        worth[free] += 1
    else:
        # as many that should rise as should fall: one that has no partner stays
        half = size // 2
        worth[np.argpartition(-rising, half)[:half]] = np.inf
        worth[np.argpartition(falling, half)[:half]] = np.inf
    # the pair that violates most is always there, so that every sweep gains
    worth[[np.argmax(rising), np.argmin(falling)]] = np.inf
    return np.sort(np.argpartition(-worth, size)[:size]), concerned <= _SPARE * size


class _Sweep:
    """Variables that are solved for while all others stay, with their kernel values."""

    def __init__(self, rows, dual, chosen, scores, coef, memory, shared):
        self.chosen, self._rows, self._dual, self._beside = chosen, rows, dual, BESIDE * len(memory)
        self._load(scores, coef)
        self.square = Square(rows, dual.points[chosen], memory, LANES, shared)
        self._batch = int(min(_BATCH, max(1, len(self.square.values) // 2)))
        known = sum((part.stop - part.start) ** 2 for part, _ in shared)
        work = 0.5 * (len(chosen) ** 2 - known) * rows.width
        # from a start of its own a solver may need few rows
        started = coef[chosen].any()
        if not started and len(chosen) ** 2 <= _SMALL and work <= _QUICK and self.square.room == np.inf:
            self.square.complete()

    def exchange(self, chosen, dual, scores, coef):
        """Take other variables, where most are the same, or another tube; return whether that was done."""
        self._dual = dual
        if len(chosen) != len(self.chosen):
            return False
        kept = np.isin(self.chosen, chosen)
        places = np.flatnonzero(~kept)
        if len(places) > 0.5 * len(chosen):
            return False
        if len(places):
            self.chosen = self.chosen.copy()
            self.chosen[places] = np.setdiff1d(chosen, self.chosen)
            self.square.exchange(places, self._dual.points[self.chosen[places]])
        self._load(scores, coef)
        return True

    def result(self):
        """Return the coefficients and scores of the variables."""
        return self._variables.coef[: len(self.chosen)], self._variables.scores[: len(self.chosen)]

    def _load(self, scores, coef):
        c, dual = self.chosen, self._dual
        diagonal = self._rows.diagonal[dual.points[c]]
        arrays = diagonal, scores[c], coef[c], dual.lower[c], dual.upper[c]
        self._variables = Variables.padded(*arrays, tube=dual.tube)

    def run(self, tol, max_iter, report):
        """Solve to ``tol``, or as far as the memory goes; return the number of steps and whether to stop."""
        square, variables = self.square, self._variables
        n_iter, wide, pause = 0, 0, len(variables) // _LOOK
        free = variables.free()
        square.ensure(free[: int(max(0, min(len(free), square.room - 2 * _BATCH)))])
        while n_iter < max_iter:
            check_cancelled()
            left = max_iter - n_iter
            if wide >= pause:
                steps, pays, stopped = self._sweep_near(tol, left, report)
                n_iter += steps
                if stopped or variables.violation() <= tol:
                    return n_iter, stopped
                if pays:
                    continue
                wide, pause = 0, 2 * pause if steps else pause
            steps, missing, violation = variables.steps(square.values, square.slot, tol, min(left, len(variables)))
            n_iter, wide = n_iter + steps, wide + steps
            if report is not None and report(violation):
                return n_iter, True
            if violation <= tol:
                break
            if missing >= 0:
                self._make_room()
                square.ensure(self._wanted(missing))
                steps, stopped = self._sweep_known(tol, max_iter - n_iter, report)
                n_iter += steps
                if stopped:
                    return n_iter, True
        return n_iter, False

    def _sweep_near(self, tol, max_iter, report):
        """Solve for the variables near the margin, or those that violate most, where that costs less than for all.

        Return the number of steps, whether they were worth copying kernel values for, and whether to stop.
        """
        square, variables = self.square, self._variables
        near, all_of_them = shrinking.concerned(variables)
        # rows of violators are needed anyway, those of variables that only might violate may not be
        allowed = self._batch + len(near) // 8 if all_of_them else len(near)
        unknown = near[square.slot[near] < 0]
        if not shrinking.few(variables, near) or len(near) ** 2 > self._beside:
            return 0, False, False
        if len(unknown) > min(square.room, allowed):
            return 0, False, False
        square.ensure(unknown)
        steps, stopped = shrinking.solve_near(square.values, square.slot, variables, near, tol, max_iter, report)
        return steps, shrinking.pays(variables, near, steps), stopped

    def _sweep_known(self, tol, max_iter, report):
        """Solve for the variables near the margin whose rows are there, before others are asked for."""
        square, variables = self.square, self._variables
        known = variables.near()
        known = known[square.slot[known] >= 0]
        if len(known) > _KNOWN:
            return 0, False
        return shrinking.solve_near(square.values, square.slot, variables, known, tol, max_iter, report)

    def _make_room(self):
        """Give up rows that are not likely to be asked for again, before memory is taken that nothing was in yet."""
        square, variables = self.square, self._variables
        if square.spare >= self._batch:
            return
        there = np.flatnonzero(square.slot >= 0)
        full = square.room < self._batch
        if not full and len(there) < _IDLE:
            return
        # by violation alone: the first variable of the pair whose second is missing must stay
        worth = shrinking.wrongness(*variables.sides(), variables.middle())[there]
        idle = int(np.count_nonzero(worth < 0))
        many = len(there) // 2 if full else idle // 2
        if full or idle > len(there) // 2:
            square.forget(there[np.argpartition(worth, many)[: max(1, many)]])

    def _wanted(self, missing):
        """Return the variables whose rows to compute together with a missing one: those that violate most."""
        own, middle = slice(0, len(self.chosen)), self._variables.middle()
        rising, falling = (each[own] for each in self._variables.sides())
        worth = np.where(rising == falling, rising - middle, shrinking.wrongness(rising, falling, middle))
        # nearer to the middle than that they may well never be asked for
        worth[(self.square.slot[own] >= 0) | (worth < _RELEVANT * worth.max())] = -np.inf
        return np.unique(np.append(_largest(worth, self._batch - 1), missing))


def _largest(values, k):
    """Return where the k largest finite values are."""
    best = np.argpartition(-values, k)[:k] if k < len(values) else np.arange(len(values))
    return best[values[best] > -np.inf]
