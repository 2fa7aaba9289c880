"""Duals whose two groups of variables keep a sum each: nu-classification and the hard margin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from mercer._common import Array
from mercer._compute.points import evenly_spaced
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.bias import middle, settled, violation_of
from mercer.solvers.svm.compiled_sums import SmallSums, fits_sums
from mercer.solvers.svm.correction import EXACT, exact_gradient, is_doubtful, rounding_of_gradients
from mercer.solvers.svm.dual import Solution, feasible_start
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.row_cache import RowCache
from mercer.solvers.svm.smo import LANES, optimise

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.rows import FusedRows
    from mercer.solvers.svm.workspace import Workspace

# Number of variables of a group in the sample that places most of the others.
_SAMPLE = 1000
# Number of variables up to which all are solved for at once, and fewest of a sweep over a part.
_WHOLE, _SWEEP = 16_384, 8192
# A sweep over a part reduces the violation by this factor before the others are checked again.
_REDUCTION = 0.1
# Variables times steps between two checks for interrupts: about 0.1 s.
_WORK = 100_000_000
# Number of checks without so much progress after which rounding is assumed.
_PATIENCE, _PROGRESS = 4, 0.9
# Number of rows computed together with one that a step needs, of variables that violate by this share of the most.
_BATCH, _RELEVANT = 64, 0.5
# Tolerances below this share of the largest gradient are small for the rounding of float32 rows of close points.
_FINE = 3e-4
# Relative accuracy of the sums after refinement, and the number of refinements to reach it.
_ACCURACY, _REFINED = 1e-10, 30


def solve_sums(rows: FusedRows, dual: Dual, split: int, total: float, workspace: Workspace) -> tuple[Solution, float]:
    r"""Return the solution of a dual whose first ``split`` variables have the sum ``total``, the others its negative.

    .. math:: \min_b \tfrac12 b'Kb - t'b \quad\text{s.t.}\quad l \le b \le u,\
        \sum_{i < k} b_i = s,\ \sum_{i \ge k} b_i = -s

    Variables of the first group are at least 0, those of the second at most 0; ``dual.coef`` is the start, 0 for a
    default. ``workspace.tol`` is a function of the multiplier that returns the violation allowed.

    Return the solution of the dual `with_multiplier`, which has one sum, and the multiplier: half the bias of the
    second group minus that of the first, the margin of a classifier. The violation stays above ``tol`` if rounding
    stops progress.

    Chang, Lin, *Training nu-support vector classifiers: theory and algorithms*, Neural Computation 13 (2001).
    """
    n, tol = len(dual.points), workspace.tol
    groups = np.arange(split), np.arange(split, n)
    coef = dual.coef.copy() if dual.coef.any() else _start(rows, dual, groups, total, workspace)
    n_iter, stopped = 0, False
    gradient = dual.target - _image(rows, dual.points, dual.points, coef)
    if fits_sums(rows, n, workspace):
        return placed(_solve_small(rows, dual, groups, gradient, coef, workspace), dual, split)
    biases, violation = _state(gradient, coef, dual, groups)
    while violation > tol(_multiplier(biases)) and n_iter < workspace.max_iter and not stopped:
        chosen = _choose(gradient, coef, dual, groups, biases, int(np.sqrt(len(workspace.buffer))))
        whole = sum(map(len, chosen)) == n
        sweep = _Sweep(rows, dual, chosen, gradient, coef, workspace)
        # the multiplier is known better after every sweep
        aim = tol(_multiplier(biases)) if whole else max(0.5 * tol(_multiplier(biases)), _REDUCTION * violation)
        steps, stopped = sweep.run(aim, workspace.max_iter - n_iter)
        own = np.concatenate(chosen)
        change = sweep.coef[sweep.live] - coef[own]
        coef[own], gradient[own] = sweep.coef[sweep.live], sweep.gradient[sweep.live]
        moved = np.flatnonzero(change)
        if not whole and len(moved):
            rest = np.ones(n, bool)
            rest[own] = False
            gradient[rest] -= _image(rows, dual.points[rest], dual.points[own[moved]], change[moved])
        biases, violation = _state(gradient, coef, dual, groups)
        n_iter, stopped = n_iter + steps, stopped or steps == 0
    return placed(Solution(coef, gradient, 0.0, violation, n_iter), dual, split)


def _solve_small(rows, dual, groups, gradient, coef, workspace):
    """Return the solution of a dual in compiled code, refined; its bias is not known yet."""
    state = SmallSums(rows, dual, [len(own) for own in groups], gradient, coef, workspace.buffer)
    n_iter, steps, limit = 0, 1, max(1, _WORK // len(coef))
    while True:
        check_cancelled()
        biases, violation = _state(state.gradient, state.coef, dual, groups)
        aim = workspace.tol(_multiplier(biases))
        if violation <= aim or n_iter >= workspace.max_iter or steps == 0:
            break
        # slopes have the type of the rows during a round
        steps = state.take_steps(max(0.5 * aim, _REDUCTION * violation), min(limit, workspace.max_iter - n_iter))
        n_iter += steps
        if workspace.callback is not None and workspace.callback(violation):
            break
    found = Solution(state.coef, state.gradient, 0.0, violation, n_iter)
    if violation > aim:
        return found
    state.refine(biases, aim)
    _, violation = _state(state.gradient, state.coef, dual, groups)
    refined = replace(found, coef=state.coef, gradient=state.gradient, violation=violation)
    found = refined if refined.violation <= found.violation else found
    return _checked(rows, dual, groups, found, aim)


def _checked(rows, dual, groups, found, tol):
    """Return a solution with the exact gradient if rounding of float32 rows may hide a violation above ``tol``."""
    if rows.dtype != np.float32 or found.violation <= EXACT * tol:
        return found
    # a sample tells the rounding of most values, not that of the few of close points
    fine = tol < _FINE * float(np.abs(found.gradient).max())
    if not fine and not is_doubtful(found.violation, rounding_of_gradients(rows, [dual], [found])[0], tol):
        return found
    gradient = exact_gradient(rows, dual, found.coef)
    return replace(found, gradient=gradient, violation=_state(gradient, found.coef, dual, groups)[1])


def placed(solution: Solution, dual: Dual, split: int) -> tuple[Solution, float]:
    """Return a solution with its bias and its multiplier, which its gradient does not contain yet but then does.

    Coefficients that only rounding keeps from a bound would fix the bias of a group that is open.
    """
    n, coef = len(solution.coef), settled(solution.coef, dual)
    biases, _ = _state(solution.gradient, coef, dual, (np.arange(split), np.arange(split, n)))
    multiplier = _multiplier(biases)
    gradient = solution.gradient + multiplier * _sign(n, split)
    # those of two groups add up
    violation = violation_of(gradient, coef, dual)
    return replace(solution, coef=coef, gradient=gradient, bias=float(np.mean(biases)), violation=violation), multiplier


def with_multiplier(dual: Dual, split: int, multiplier: float) -> Dual:
    """Return a dual with the target t + multiplier on the first group and t - multiplier on the second."""
    return replace(dual, target=dual.target + multiplier * _sign(len(dual.points), split))


def refine_sums(
    rows: FusedRows, dual: Dual, split: int, total: float, solution: Solution, multiplier: float, tol: float
) -> tuple[Solution, float]:
    """Return a solution of `solve_sums` and its multiplier, refined by Newton steps while both sums are kept.

    For a multiplier the refined optimum is piecewise linear in it: a line search over multipliers, one factorisation
    each. Both are returned unchanged if the solution violates by more than ``tol``, if too many variables are free, or
    if the sums would not be met.
    """
    if solution.violation > tol:
        return solution, multiplier
    sign, tried = _sign(len(dual.points), split), {}

    def excess(other):
        if other not in tried:
            moved = abs(other - multiplier)
            own = replace(
                solution,
                gradient=solution.gradient + (other - multiplier) * sign,
                violation=solution.violation + 2 * moved,
            )
            found = refine(rows, with_multiplier(dual, split, other), own, tol + 2 * moved)
            beyond = 0.5 * float(sign @ found.coef) - total
            tried[other] = (0.0 if abs(beyond) <= _ACCURACY * total else beyond), found
        return tried[other][0]

    low = high = multiplier
    step = max(solution.violation, 1e-12 * abs(multiplier), 1e-300)
    first = excess(multiplier)
    while first * excess(high if first < 0 else low) > 0 and len(tried) < _REFINED:
        low, high, step = (low, high + step, 4 * step) if first < 0 else (low - step, high, 4 * step)
    if excess(low) < 0 < excess(high):
        brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=_REFINED, disp=False)
    best = min(tried, key=lambda other: abs(tried[other][0]))
    beyond, found = tried[best]
    # where no variable is free the sum does not depend on the multiplier: the solution has it to rounding
    if beyond != 0.0 or found.violation > max(solution.violation, tol):
        return solution, multiplier
    own = replace(found, gradient=found.gradient - best * sign, n_iter=solution.n_iter)
    return placed(own, dual, split)


class _Sweep:
    """Variables of two groups that are solved for while all others stay, each group in whole lanes."""

    def __init__(
        self,
        rows: FusedRows,
        dual: Dual,
        chosen: tuple[Array, Array],
        gradient: Array,
        coef: Array,
        workspace: Workspace,
    ) -> None:
        sizes = [-(-len(group) // LANES) * LANES for group in chosen]
        own = np.concatenate([np.resize(group, size) for group, size in zip(chosen, sizes, strict=True)])
        self._groups = np.array([0, sizes[0], sum(sizes)])
        self.live = np.zeros(len(own), bool)
        for start, group in zip(self._groups, chosen, strict=False):
            self.live[start : start + len(group)] = True
        self.gradient = gradient[own]
        self.coef = np.where(self.live, coef[own], 0.0)
        self._lower = np.where(self.live, dual.lower[own], 0.0)
        self._upper = np.where(self.live, dual.upper[own], 0.0)
        self.diagonal = rows.diagonal[dual.points[own]]
        self._cache = RowCache(rows, dual.points[own], workspace.buffer)
        self._callback = workspace.callback

    def run(self, tol: float, max_iter: int) -> tuple[int, bool]:
        """Take steps until ``tol``; return their number and whether to stop."""
        cache, n_iter, seen = self._cache, 0, []
        limit = max(1, _WORK // len(self.coef))
        cache.ensure(np.flatnonzero((self.coef > self._lower) & (self.coef < self._upper)))
        while n_iter < max_iter:
            check_cancelled()
            steps, missing, violation = optimise(
                *(cache.values, cache.slots, self.diagonal, self.gradient, self.coef, self._lower, self._upper),
                *(0.0, self._groups, tol, min(limit, max_iter - n_iter)),
            )
            n_iter += steps
            if violation <= tol:
                break
            if missing >= 0:
                cache.ensure(self._wanted(missing))
            else:
                seen.append(violation)
                if len(seen) > _PATIENCE and min(seen[-_PATIENCE:]) > _PROGRESS * min(seen[:-_PATIENCE]):
                    return n_iter, True
            if self._callback is not None and self._callback(violation):
                return n_iter, True
        return n_iter, False

    def _wanted(self, missing):
        """Return the variables whose rows to compute together with a missing one: those that violate most."""
        k = int(missing >= self._groups[1])
        own = np.arange(self._groups[k], self._groups[k + 1])
        rise = self.coef[own] < self._upper[own]
        fall = self.coef[own] > self._lower[own]
        gradient = self.gradient[own]
        bias = np.mean(_interval(gradient, rise, fall))
        worth = np.where(rise, gradient - bias, np.where(fall, bias - gradient, -np.inf))
        worth[self._cache.slots[own] >= 0] = -np.inf
        worth[worth < _RELEVANT * worth.max()] = -np.inf
        best = np.argsort(-worth)[: _BATCH - 1]
        return np.unique(np.append(own[best[worth[best] > -np.inf]], missing))


def _sign(n, split):
    return np.where(np.arange(n) < split, 1.0, -1.0)


def _multiplier(biases):
    return 0.5 * (biases[1] - biases[0])


def _image(rows, points, others, coef):
    """Return K[points, others] @ coef, each point evaluated once."""
    used = np.flatnonzero(coef)
    distinct, place = np.unique(points, return_inverse=True)
    if not len(used):
        return np.zeros(len(points))
    support, where = np.unique(others[used], return_inverse=True)
    return rows.product(distinct, support, np.bincount(where, coef[used]))[place]


def _interval(gradient, rise, fall):
    """Return the largest gradient of what may rise and the smallest of what may fall."""
    return np.max(gradient, where=rise, initial=-np.inf), np.min(gradient, where=fall, initial=np.inf)


def _state(gradient, coef, dual, groups):
    """Return the bias of each group and the largest violation."""
    biases, violation = [], 0.0
    for own in groups:
        f, b = gradient[own], coef[own]
        rise, fall = b < dual.upper[own], b > dual.lower[own]
        top, bottom = _interval(f, rise, fall)
        free = rise & fall
        biases.append(float(f[free].mean()) if free.any() else middle(top, bottom))
        violation = max(violation, float(top - bottom))
    return biases, violation


def _choose(gradient, coef, dual, groups, biases, most):
    """Return the variables of each group in the next sweep: free, violating or nearest to the margin."""
    n, room = len(coef), most // LANES * LANES - LANES * len(groups)
    bias = np.repeat(biases, [len(own) for own in groups])
    rise, fall = coef < dual.upper, coef > dual.lower
    room = max(room, LANES)
    size = min(room, max(_SWEEP, 2 * int((rise & fall).sum())))
    if n <= min(room, max(size, _WHOLE)):
        return groups
    worth = np.maximum(np.where(rise, gradient - bias, -np.inf), np.where(fall, bias - gradient, -np.inf))
    worth[rise & fall] += np.ptp(biases)
    for own in groups:
        # the pair that violates most always takes part, so that every sweep gains
        worth[own[np.argmax(np.where(rise[own], gradient[own], -np.inf))]] = np.inf
        worth[own[np.argmin(np.where(fall[own], gradient[own], np.inf))]] = np.inf
    best = np.sort(np.argpartition(-worth, size)[:size])
    first = np.searchsorted(best, len(groups[0]))
    return best[:first], best[first:]


def _start(rows, dual, groups, total, workspace):
    """Return coefficients of the right sums: at their bounds those that a model of a few points finds worst."""
    bounds = dual.upper - dual.lower
    sign = _sign(len(bounds), len(groups[0]))
    few = [own[evenly_spaced(len(own), _SAMPLE)] for own in groups]
    sizes = [float(bounds[own].sum()) for own in groups]
    if max(map(len, groups)) <= _SAMPLE:
        coef = sign * bounds * np.repeat([total / size for size in sizes], [len(own) for own in groups])
    else:
        own = np.concatenate(few)
        factor = [size / bounds[part].sum() for size, part in zip(sizes, few, strict=True)]
        factor = np.repeat(factor, [len(part) for part in few])
        small = dual.take(own)
        small = replace(small, lower=factor * small.lower, upper=factor * small.upper)
        limits = replace(workspace, max_iter=2 * len(own), callback=None)
        coef = np.zeros(len(bounds))
        coef[own] = solve_sums(rows, small, len(few[0]), total, limits)[0].coef
    gradient = sign * (dual.target - _image(rows, dual.points, dual.points, coef))
    for own in groups:
        order = own[np.argsort(-gradient[own], kind="stable")]
        coef[order] = sign[order] * feasible_start(bounds[order], total)
    return coef
