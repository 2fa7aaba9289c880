"""Duals whose variables keep two sums: machines of a prescribed share of errors, and the distance of two hulls."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.duals import filled
from mercer.solvers.svm.newton import polish
from mercer.solvers.svm.rows import Square
from mercer.solvers.svm.smo import Dual, Solution
from mercer.solvers.svm.working_set import LANES, optimise

# Variables of a group in the sample that tells most of the others where they belong.
_SAMPLE = 1000
# Variables of which all are solved for at once, and that a sweep over a part solves for at least.
_WHOLE, _SWEEP = 16_384, 8192
# A sweep over a part reduces the violation by this factor before it looks at the rest again.
_REDUCTION = 0.1
# Variables times steps between two looks at the world: a tenth of a second.
_WORK = 100_000_000
# Looks without so much progress after which rounding is taken for its cause.
_PATIENCE, _PROGRESS = 4, 0.9
# Rows computed together with one that a step needs, of variables that violate at least so much of the most.
_BATCH, _RELEVANT = 64, 0.5
# Accuracy of the sums after the last digits, and duals polished at most to reach it.
_ACCURACY, _POLISHED = 1e-10, 30


def solve_sums(rows, dual, split, total, *, tol, max_iter, memory, report=None):
    r"""Solve a dual in which two groups of variables have a sum each.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l \le b \le u,\
        \sum_{i < k} b_i = s,\ \sum_{i \ge k} b_i = -s

    Parameters
    ----------
    rows : FusedRows or PlainRows
    dual : Dual
        Variables of the first group lie between 0 and an upper bound, those of the second between a lower one and 0;
        ``coef`` is where to start, with the right sums, or 0 for a start of our own.
    split : int
        k, the size of the first group.
    total : float
        s, above 0 and at most the sum of either group's bounds.
    tol : callable (price) -> float
        The violation that is allowed at a price of the sum.
    max_iter : int
        Pairs optimised at most.
    memory : array
        One-dimensional, of the type of the rows, at least (2 * `LANES`)^2 long: what kernel values may take.
    report : callable (violation), optional
        Called about ten times a second; the solver stops when it returns True.

    Returns
    -------
    solution : Solution
        That of the dual with the price in its target, see `priced`: with one sum only it has the same solution.
    price : float
        Half the difference of the levels of the second and of the first group: the margin of a classifier.

    Notes
    -----
    A pair of one group is moved at a time, that with the largest violation over both, among those variables that are
    free, violate or are nearest to the margin; O(n) a step. Ends above ``tol`` when rounding stops all progress.

    References
    ----------
    Chang, Lin, *Training nu-support vector classifiers: theory and algorithms*, Neural Computation 13 (2001).
    """
    n = len(dual.points)
    groups = np.arange(split), np.arange(split, n)
    coef = dual.coef.copy() if dual.coef.any() else _start(rows, dual, groups, total, tol, memory)
    n_iter, stopped = 0, False
    scores = dual.target - _image(rows, dual.points, dual.points, coef)
    levels, violation = _state(scores, coef, dual, groups)
    while violation > tol(_price(levels)) and n_iter < max_iter and not stopped:
        chosen = _choose(scores, coef, dual, groups, levels, int(np.sqrt(len(memory))))
        whole = sum(map(len, chosen)) == n
        sweep = _Sweep(rows, dual, chosen, scores, coef, memory)
        # the price is known better with every sweep
        aim = tol(_price(levels)) if whole else max(0.5 * tol(_price(levels)), _REDUCTION * violation)
        steps, stopped = sweep.run(aim, max_iter - n_iter, report)
        own = np.concatenate(chosen)
        change = sweep.coef[sweep.live] - coef[own]
        coef[own], scores[own] = sweep.coef[sweep.live], sweep.scores[sweep.live]
        moved = np.flatnonzero(change)
        if not whole and len(moved):
            rest = np.ones(n, bool)
            rest[own] = False
            scores[rest] -= _image(rows, dual.points[rest], dual.points[own[moved]], change[moved])
        levels, violation = _state(scores, coef, dual, groups)
        n_iter, stopped = n_iter + steps, stopped or steps == 0
    price = _price(levels)
    return Solution(coef, scores + price * _sign(n, split), float(np.mean(levels)), violation, n_iter, 0), price


def priced(dual, split, price):
    """Return a dual with a price of its second sum in the target: t + price on the first group, t - price on the other.

    Parameters
    ----------
    dual : Dual
    split : int
    price : float

    Returns
    -------
    Dual
    """
    return replace(dual, target=dual.target + price * _sign(len(dual.points), split))


def settle(kernel, points, rows, dual, split, total, solution, price, tol):
    """Return a solution and price whose free variables are solved for directly while both sums are kept.

    Parameters
    ----------
    kernel : Kernel
    points : points (n)
    rows, dual, split, total :
        As for `solve_sums`.
    solution : Solution
    price : float
        What `solve_sums` returned.
    tol : float
        What the solution violates at most.

    Returns
    -------
    solution : Solution
    price : float
        As they were, where too many variables are free or the sums would not be met.

    Notes
    -----
    At a price the polished optimum is linear in it between changes of the active set: a line search over prices near
    that of the solution, each step one factorisation.
    """
    if solution.violation > tol:
        return solution, price
    sign, tried = _sign(len(dual.points), split), {}

    def excess(other):
        if other not in tried:
            moved = abs(other - price)
            own = replace(
                solution, scores=solution.scores + (other - price) * sign, violation=solution.violation + 2 * moved
            )
            found = polish(kernel, points, rows, priced(dual, split, other), own, tol + 2 * moved)
            beyond = 0.5 * float(sign @ found.coef) - total
            tried[other] = (0.0 if abs(beyond) <= _ACCURACY * total else beyond), found
        return tried[other][0]

    low = high = price
    step = max(solution.violation, 1e-12 * abs(price), 1e-300)
    first = excess(price)
    while first * excess(high if first < 0 else low) > 0 and len(tried) < _POLISHED:
        low, high, step = (low, high + step, 4 * step) if first < 0 else (low - step, high, 4 * step)
    if excess(low) < 0 < excess(high):
        brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=_POLISHED, disp=False)
    best = min(tried, key=lambda other: abs(tried[other][0]))
    beyond, found = tried[best]
    # in ranges of prices with no free variable at all the sum is constant: the solution has it to rounding
    if beyond != 0.0 or found.violation > max(solution.violation, tol):
        return solution, price
    return replace(found, n_iter=solution.n_iter), best


class _Sweep:
    """Variables of two groups that are solved for while all others stay, each group in whole lanes."""

    def __init__(self, rows, dual, chosen, scores, coef, memory):
        sizes = [-(-len(group) // LANES) * LANES for group in chosen]
        own = np.concatenate([np.resize(group, size) for group, size in zip(chosen, sizes, strict=True)])
        self._groups, self.live = np.array([0, sizes[0], sum(sizes)]), np.zeros(len(own), bool)
        for start, group in zip(self._groups, chosen, strict=False):
            self.live[start : start + len(group)] = True
        self.scores, self.coef = scores[own], np.where(self.live, coef[own], 0.0)
        self._lower = np.where(self.live, dual.lower[own], 0.0)
        self._upper = np.where(self.live, dual.upper[own], 0.0)
        self.diagonal = rows.diagonal[dual.points[own]]
        self._square = Square(rows, dual.points[own], memory, LANES)

    def run(self, tol, max_iter, report):
        """Solve to ``tol``; return the number of steps and whether to stop."""
        square, n_iter, seen = self._square, 0, []
        limit = max(1, _WORK // len(self.coef))
        square.ensure(np.flatnonzero((self.coef > self._lower) & (self.coef < self._upper)))
        while n_iter < max_iter:
            check_cancelled()
            steps, missing, violation = optimise(
                *(square.values, square.slot, self.diagonal, self.scores, self.coef, self._lower, self._upper),
                *(0.0, self._groups, tol, min(limit, max_iter - n_iter)),
            )
            n_iter += steps
            if violation <= tol:
                break
            if missing >= 0:
                square.ensure(self._wanted(missing))
            else:
                seen.append(violation)
                if len(seen) > _PATIENCE and min(seen[-_PATIENCE:]) > _PROGRESS * min(seen[:-_PATIENCE]):
                    return n_iter, True
            if report is not None and report(violation):
                return n_iter, True
        return n_iter, False

    def _wanted(self, missing):
        """Return the variables whose rows to compute together with a missing one: those that violate most."""
        k = int(missing >= self._groups[1])
        own = np.arange(self._groups[k], self._groups[k + 1])
        rise, fall, scores = self.coef[own] < self._upper[own], self.coef[own] > self._lower[own], self.scores[own]
        level = np.mean(_bounds(scores, rise, fall))
        worth = np.where(rise, scores - level, np.where(fall, level - scores, -np.inf))
        worth[self._square.slot[own] >= 0] = -np.inf
        worth[worth < _RELEVANT * worth.max()] = -np.inf
        best = np.argpartition(-worth, _BATCH - 1)[: _BATCH - 1]
        return np.unique(np.append(own[best[worth[best] > -np.inf]], missing))


def _sign(n, split):
    return np.where(np.arange(n) < split, 1.0, -1.0)


def _price(levels):
    return 0.5 * (levels[1] - levels[0])


def _image(rows, points, others, coef):
    """Return K[points, others] @ coef, each point once."""
    used = np.flatnonzero(coef)
    distinct, place = np.unique(points, return_inverse=True)
    if not len(used):
        return np.zeros(len(points))
    support, where = np.unique(others[used], return_inverse=True)
    return rows.product(distinct, support, np.bincount(where, coef[used]))[place]


def _bounds(scores, rise, fall):
    """Return the largest score of what may rise and the smallest of what may fall."""
    return np.max(scores, where=rise, initial=-np.inf), np.min(scores, where=fall, initial=np.inf)


def _state(scores, coef, dual, groups):
    """Return the level of each group and the largest violation."""
    levels, violation = [], 0.0
    for own in groups:
        f, b = scores[own], coef[own]
        rise, fall = b < dual.upper[own], b > dual.lower[own]
        top, bottom = _bounds(f, rise, fall)
        free = rise & fall
        if free.any():
            level = f[free].mean()
        elif np.isinf(top) or np.isinf(bottom):
            level = bottom if np.isinf(top) else top
        else:
            level = 0.5 * (top + bottom)
        levels.append(float(level))
        violation = max(violation, float(top - bottom))
    return levels, violation


def _choose(scores, coef, dual, groups, levels, side):
    """Return the variables of each group that the next sweep is about: free, violating or nearest to the margin."""
    n, room = len(coef), side // LANES * LANES - LANES * len(groups)
    level = np.repeat(levels, [len(own) for own in groups])
    rise, fall = coef < dual.upper, coef > dual.lower
    room = max(room, LANES)
    size = min(room, max(_SWEEP, 2 * int((rise & fall).sum())))
    if n <= min(room, max(size, _WHOLE)):
        return groups
    worth = np.maximum(np.where(rise, scores - level, -np.inf), np.where(fall, level - scores, -np.inf))
    worth[rise & fall] += np.ptp(levels)
    for own in groups:
        # the pair that violates most is always there, so that every sweep gains
        worth[own[np.argmax(np.where(rise[own], scores[own], -np.inf))]] = np.inf
        worth[own[np.argmin(np.where(fall[own], scores[own], np.inf))]] = np.inf
    best = np.sort(np.argpartition(-worth, size)[:size])
    first = np.searchsorted(best, len(groups[0]))
    return best[:first], best[first:]


def _start(rows, dual, groups, total, tol, memory):
    """Return coefficients of the right sums: at their bounds those that a machine of a few points finds worst."""
    bounds = dual.upper - dual.lower
    sign = _sign(len(bounds), len(groups[0]))
    few = [own[_spread(len(own))] for own in groups]
    sizes = [float(bounds[own].sum()) for own in groups]
    if max(map(len, groups)) <= _SAMPLE:
        coef = sign * bounds * np.repeat([total / size for size in sizes], [len(own) for own in groups])
    else:
        own = np.concatenate(few)
        factor = [size / bounds[part].sum() for size, part in zip(sizes, few, strict=True)]
        factor = np.repeat(factor, [len(part) for part in few])
        small = Dual(
            dual.target[own], factor * dual.lower[own], factor * dual.upper[own], dual.coef[own], dual.points[own]
        )
        found, _ = solve_sums(rows, small, len(few[0]), total, tol=tol, max_iter=2 * len(own), memory=memory)
        coef = np.zeros(len(bounds))
        coef[own] = found.coef
    scores = sign * (dual.target - _image(rows, dual.points, dual.points, coef))
    for own in groups:
        order = own[np.argsort(-scores[own], kind="stable")]
        coef[order] = sign[order] * filled(bounds[order], total)
    return coef


def _spread(n):
    """Return some of n places, evenly."""
    return np.linspace(0, n - 1, min(n, _SAMPLE)).astype(int)
