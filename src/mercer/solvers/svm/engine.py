"""The engine: rounds of SMO steps in compiled code, over all variables or over those near the margin, for any machine.

A problem keeps the sum of one group of variables, or of each of two. `advance` takes rounds until the violation is
allowed, steps run out, or a kernel row is missing that the caller has to compute.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer._common import Array
from mercer._compute.compile import compiled
from mercer._compute.costs import AT_ONCE, KNOWN_VALUE, REFINEMENT, SMALL_DUAL, STEP_OVERHEAD, STEP_WORK
from mercer._compute.intrinsics import as_square, empty, larger, small, smaller, wide
from mercer._compute.memory import allocate
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.dual import Dual, Duals, Solutions, joined, largest, stops_of
from mercer.solvers.svm.newton import copy_of, refine
from mercer.solvers.svm.on_demand import TOGETHER, add_rows, tiles_of_points, wanted_rows
from mercer.solvers.svm.options import FINEST, SHARE, Goal, Limits, copied_values
from mercer.solvers.svm.smo import LANES, VECTORS, load, subtract_changes, take_steps
from mercer.solvers.svm.verify import EXACT, exact_gradient, measure, objectives, settle

if TYPE_CHECKING:
    from mercer.solvers.svm.rows import Rows

# What `advance` returns.
DONE, ROWS_WANTED, STEPS, STALLED = range(4)
# Places of `State.counts`: rows in use, steps taken, rows wanted.
USED, TAKEN, WANTED = range(3)
# A round lowers the violation by this factor before all variables are checked again.
REDUCTION = 0.1
# Rows are wanted of variables that violate by this share of the most.
_RELEVANT = 0.5
# Passes that bisect for the violation above which few enough rows are wanted.
_PASSES = 12


class State(NamedTuple):
    """Variables, each group in whole lanes, and the rows that are known: variable t has row ``K[slots[t]]``.

    ``f``, ``coef``, ``lower`` and ``upper`` are float64 (m,); padding has bounds 0. ``spare`` is memory for copies of
    kernel values, ``wanted`` takes the variables whose rows the caller has to compute.
    """

    f: Any
    coef: Any
    lower: Any
    upper: Any
    groups: Any
    epsilon: float
    K: Any
    slots: Any
    spare: Any
    wanted: Any
    counts: Any


class Slopes(NamedTuple):
    """Slopes of rises and falls (m,) in the type of K, the middle of the interval of each group, and scratch memory."""

    rising: Any
    falling: Any
    middle: Any
    before: Any
    places: Any
    ends: Any


class Part(NamedTuple):
    """The variables that a round solves for: all of a state, or those at ``places``, whose rows of K are ``held``."""

    K: Any
    slots: Any
    held: Any
    places: Any
    diagonal: Any
    rising: Any
    falling: Any
    coef: Any
    lower: Any
    upper: Any
    groups: Any


class Problems(NamedTuple):
    """Duals in joined arrays; group g of dual k has the variables ``groups[k, g]`` to ``groups[k, g + 1]``.

    They keep the sum ``sums[k, g]``.
    """

    groups: Any
    sums: Any
    points: Any
    target: Any
    lower: Any
    upper: Any
    epsilon: float


class Found(NamedTuple):
    """Solutions of duals in joined arrays: ``bias`` is (k, groups), the other numbers are (k,)."""

    coef: Any
    gradient: Any
    bias: Any
    violation: Any
    value: Any
    gap: Any
    n_iter: Any
    n_rows: Any


@compiled
def allowed(goal, middle):
    """Return the violation that a goal allows at the biases of the groups."""
    small()
    margin = 0.5 * (middle[1] - middle[0]) if middle.size > 1 else 0.0
    return goal.tol * larger(goal.per_margin * margin, goal.least)


@compiled
def new_slopes(s):
    """Return memory for the slopes of a state."""
    small()
    m = s.coef.size
    rising = empty(m, s.K.dtype)
    falling = empty(m, s.K.dtype)
    middle = empty(s.groups.size - 1, np.float64)
    return Slopes(rising, falling, middle, empty(m, np.float64), empty(m, np.int64), empty(middle.size, np.int64))


@functools.partial(compiled, flags=VECTORS)
def load_slopes(s, w):
    """Write the slopes and the middle of the interval of each group; return the largest violation."""
    small()
    widest = 0.0
    for g in range(s.groups.size - 1):
        own = slice(s.groups[g], s.groups[g + 1])
        arrays = s.f[own], s.coef[own], s.lower[own], s.upper[own]
        top, bottom = load(*arrays, s.epsilon, w.rising[own], w.falling[own])
        w.middle[g] = 0.5 * (top - bottom)
        widest = larger(widest, top + bottom)
    return widest


@functools.partial(compiled, flags=VECTORS)
def _near_margin(s, w, reach, known):
    """Write the variables that are free or within reach of violating, of each group; only those with rows if known.

    Return their number and their own violation.
    """
    small()
    count = 0
    widest = 0.0
    for g in range(s.groups.size - 1):
        top = bottom = -np.inf
        for t in range(s.groups[g], s.groups[g + 1]):
            free = w.rising[t] > -np.inf and w.falling[t] > -np.inf
            close = w.rising[t] > w.middle[g] - reach or w.falling[t] > -w.middle[g] - reach
            if (close or free) and (s.slots[t] >= 0 or not known):
                w.places[count] = t
                count += 1
                top = larger(top, np.float64(w.rising[t]))
                bottom = larger(bottom, np.float64(w.falling[t]))
        w.ends[g] = count
        widest = larger(widest, top + bottom)
    return count, widest


@functools.partial(compiled, flags=VECTORS)
def _want(s, w, missing):
    """Write the variables without rows that violate most, the missing one first if there is one."""
    small()
    worst = 0.0
    count = 0
    worth = empty(w.rising.size, np.float64)
    for g in range(s.groups.size - 1):
        for t in range(s.groups[g], s.groups[g + 1]):
            worth[t] = -np.inf
            if s.slots[t] < 0:
                worth[t] = larger(w.rising[t] - w.middle[g], w.falling[t] + w.middle[g])
            worst = larger(worst, worth[t])
    if missing >= 0:
        s.wanted[0] = missing
        count = 1
        worth[missing] = -np.inf
    low = _RELEVANT * worst
    high = worst
    for _ in range(_PASSES):
        above = 0
        for t in range(worth.size):
            above += worth[t] >= low
        if above <= s.wanted.size or high <= low:
            break
        low = 0.5 * (low + high)
    for t in range(worth.size):
        if worth[t] >= low and worth[t] > 0 and count < s.wanted.size:
            s.wanted[count] = t
            count += 1
    s.counts[WANTED] = count


@compiled
def _whole(points, s, w):
    """Return all variables of a state as the part that a round solves for."""
    small()
    for t in range(w.places.size):
        w.places[t] = t
    arrays = w.rising, w.falling, s.coef, s.lower, s.upper
    return Part(s.K, s.slots, s.slots, w.places, points.diagonal, *arrays, s.groups)


@functools.partial(compiled, flags=VECTORS)
def _copied(points, s, w):
    """Return the variables ``w.places`` as a part of their own, with room for copies of kernel values."""
    small()
    groups = empty(s.groups.size, np.int64)
    groups[0] = 0
    for g in range(groups.size - 1):
        size = w.ends[g] - (w.ends[g - 1] if g else 0)
        groups[g + 1] = groups[g] + -(-size // LANES) * LANES
    m = groups[groups.size - 1]
    a = 0
    K = as_square(s.spare, m)
    slots = empty(m, np.int64)
    held = empty(m, np.int64)
    places = empty(m, np.int64)
    rising = empty(m, s.K.dtype)
    falling = empty(m, s.K.dtype)
    diagonal = empty(m, s.K.dtype)
    coef = empty(m, np.float64)
    lower = empty(m, np.float64)
    upper = empty(m, np.float64)
    for g in range(groups.size - 1):
        for c in range(groups[g], groups[g + 1]):
            K[0, c] = 0
            slots[c] = -1
            held[c] = -1
            places[c] = 0
            rising[c] = -np.inf
            falling[c] = -np.inf
            diagonal[c] = 0
            coef[c] = 0
            lower[c] = 0
            upper[c] = 0
            if a < w.ends[g]:
                t = w.places[a]
                places[c] = t
                held[c] = s.slots[t]
                diagonal[c] = points.diagonal[t]
                rising[c] = w.rising[t]
                falling[c] = w.falling[t]
                coef[c] = s.coef[t]
                lower[c] = s.lower[t]
                upper[c] = s.upper[t]
                a += 1
    return Part(K, slots, held, places, diagonal, rising, falling, coef, lower, upper, groups)


@functools.partial(compiled, flags=VECTORS)
def _take_steps(points, s, w, part, copies, aim, limit):
    """Take steps over the variables of a part and add the rows that they miss; return the number of steps."""
    wide()
    taken = 0
    few = empty(TOGETHER, np.int64)
    while True:
        steps, missing, _ = take_steps(
            *(part.K, part.slots, part.diagonal, part.rising, part.falling, part.coef, part.lower, part.upper),
            *(s.epsilon, part.groups, s.K, copies, part.held, aim, limit - taken),
        )
        taken += steps
        if missing < 0:
            return taken
        if points.tiles.size + points.values.size == 0:
            _want(s, w, missing)
            return taken
        count = wanted_rows(points.tiles.shape[1], missing, part.rising, part.falling, part.held, few)
        for a in range(count):
            place = few[a]
            part.held[place] = s.counts[USED] + a
            few[a] = part.places[place]
        s.counts[USED] = add_rows(points, s.K, s.slots, s.counts[USED], few[:count])


@functools.partial(compiled, flags=VECTORS)
def take_round(points, s, w, violation, aim, limit, share):
    """Lower a violation to ``aim`` by steps over the variables near the margin, or over all; return their number.

    Slopes have the type of K; after the steps the gradient f is updated in float64. ``points`` without tiles and values
    means that the caller computes rows: it is asked for some once the variables of known rows violate little.
    Variables near the margin have copies if they are at most a ``share`` of all.
    """
    small()
    m = s.coef.size
    for t in range(m):
        w.before[t] = s.coef[t]
    known = points.tiles.size + points.values.size == 0
    count, inner = _near_margin(s, w, violation, known)
    width = count + (s.groups.size - 1) * LANES
    copied = m > AT_ONCE and count <= share * m and width * width <= s.spare.size
    if copied and known and not inner > _RELEVANT * violation:
        _want(s, w, np.int64(-1))
        return 0
    part = _copied(points, s, w) if copied else _whole(points, s, w)
    copies = part.places if copied else part.places[:0]
    taken = _take_steps(points, s, w, part, copies, aim, limit)
    for c in range(part.coef.size if copied else 0):
        if part.lower[c] < part.upper[c]:
            s.coef[part.places[c]] = part.coef[c]
    subtract_changes(s.K, s.slots, s.coef, w.before, s.f)
    s.counts[TAKEN] += taken
    return taken


@functools.partial(compiled, flags=VECTORS)
def advance(points, s, goal, limit):
    """Take rounds until the violation is allowed, or about ``limit`` steps are taken; return the status."""
    small()
    w = new_slopes(s)
    taken = 0
    s.counts[WANTED] = 0
    while True:
        violation = load_slopes(s, w)
        tol = allowed(goal, w.middle)
        if not violation > tol:
            return DONE
        if taken >= limit:
            return STEPS
        aim = larger(0.5 * tol, REDUCTION * violation if s.coef.size > AT_ONCE else 0.0)
        steps = take_round(points, s, w, violation, aim, limit - taken, SHARE)
        taken += steps
        if s.counts[WANTED]:
            return ROWS_WANTED
        if steps == 0:
            return STALLED


# --- small duals, one after the other --------------------------------------------------------------------------------


@compiled
def _padded(values, groups, lanes):
    """Return the values of groups of variables, each in whole lanes that end in zeros."""
    small()
    out = empty(lanes[lanes.size - 1], values.dtype)
    for g in range(groups.size - 1):
        for t in range(lanes[g], lanes[g + 1]):
            place = groups[g] + t - lanes[g]
            out[t] = values[place] if place < groups[g + 1] else 0
    return out


@compiled
def _lanes(groups):
    """Return where groups of variables begin and end if each takes whole lanes."""
    small()
    lanes = empty(groups.size, np.int64)
    lanes[0] = 0
    for g in range(groups.size - 1):
        lanes[g + 1] = lanes[g] + -(-(groups[g + 1] - groups[g]) // LANES) * LANES
    return lanes


@compiled
def state_of(problems, found, k, buffer, slots, used):
    """Return the state of dual k, with K and its copies in ``buffer``."""
    small()
    groups = problems.groups[k]
    lanes = _lanes(groups)
    counts = empty(3, np.int64)
    m = lanes[lanes.size - 1]
    K = as_square(buffer, m)
    counts[USED] = used
    counts[TAKEN] = 0
    counts[WANTED] = 0
    f = _padded(found.gradient, groups, lanes)
    coef = _padded(found.coef, groups, lanes)
    lower = _padded(problems.lower, groups, lanes)
    upper = _padded(problems.upper, groups, lanes)
    return State(f, coef, lower, upper, lanes, problems.epsilon, K, slots[:m], buffer[m * m :], slots, counts)


@functools.partial(compiled, flags=VECTORS)
def _close_gap(points, s, target, goal, limit):
    """Take more steps if the violation is allowed but the gap is not small; return the status."""
    small()
    bias = empty(1, np.float64)
    measure(s.f, s.coef, s.lower, s.upper, s.epsilon, s.groups, bias)
    value, gap = objectives(target, s.f, s.coef, s.lower, s.upper, s.epsilon, bias[0])
    for t in range(s.coef.size):
        value += bias[0] * s.coef[t]
    if not (value + gap > 0 and gap > goal.coarse * (value + gap)):
        return DONE
    tol = goal.tol * larger(FINEST, 0.5 * goal.coarse * (value + gap) / gap)
    return advance(points, s, Goal(tol, goal.per_margin, goal.least, goal.coarse, goal.operations), limit)


@functools.partial(compiled, flags=VECTORS)
def solve_small(rows, exact, problems, found, position, slots, values, buffer, goal, max_iter):
    """Solve duals from ``position[0]`` on until all are solved or about `STEP_WORK` is done.

    ``position[1]`` is the number of rows that the first of them has in the buffer, negative before it begins. A dual
    is left unsolved after ``max_iter`` steps, and if no step lowers its violation.
    """
    small()
    work = STEP_WORK
    several = empty(AT_ONCE, np.int64)
    all_groups = problems.groups.shape[1] - 1
    while position[0] < problems.groups.shape[0] and work > 0:
        k = position[0]
        fresh = position[1] < 0
        s = state_of(problems, found, k, buffer, slots, 0 if fresh else position[1])
        m = s.coef.size
        target = _padded(problems.target, problems.groups[k], s.groups)
        own = _padded(problems.points, problems.groups[k], s.groups)
        points = tiles_of_points(rows, own, s.K, values)
        for t in range(m if fresh else 0):
            s.slots[t] = -1
            s.K[0, t] = 0
        if fresh and m <= AT_ONCE:
            count = 0
            for t in range(m):
                if s.lower[t] < s.upper[t]:
                    several[count] = t
                    count += 1
            s.counts[USED] = add_rows(points, s.K, s.slots, 0, several[:count])
        # the points where a dual pauses do not depend on the duals before it
        limit = smaller(max_iter - found.n_iter[k], larger(1, STEP_WORK // (m + STEP_OVERHEAD)))
        status = advance(points, s, goal, limit)
        if status == DONE and all_groups == 1 and goal.coarse < 1:
            status = _close_gap(points, s, target, goal, limit)
        found.n_iter[k] += s.counts[TAKEN]
        work -= (s.counts[TAKEN] + 1) * (m + STEP_OVERHEAD)
        bias = found.bias[k]
        if status == DONE:
            violation = measure(s.f, s.coef, s.lower, s.upper, s.epsilon, s.groups, bias)
            width = larger(exact.points.shape[1], KNOWN_VALUE if exact.values.size else 0)
            spent = 2.0 * s.counts[USED] * m * (width + 10) + 20.0 * found.n_iter[k] * m
            operations = larger(goal.operations, REFINEMENT * spent)
            f = copy_of(s.f)
            coef = copy_of(s.coef)
            largest = 1.0
            refine(points, exact, s, own, target, bias, problems.sums[k], allowed(goal, bias), operations)
            for t in range(m):
                largest = larger(largest, abs(f[t]))
            after = measure(s.f, s.coef, s.lower, s.upper, s.epsilon, s.groups, bias)
            if not after <= larger(violation, EXACT * largest):
                # sums of huge coefficients that cancel are rounded by more
                for t in range(m):
                    s.f[t] = f[t]
                    s.coef[t] = coef[t]
            settle(s.coef, s.lower, s.upper)
        violation = measure(s.f, s.coef, s.lower, s.upper, s.epsilon, s.groups, bias)
        found.violation[k] = violation
        found.n_rows[k] = s.counts[USED]
        found.value[k], found.gap[k] = objectives(target, s.f, s.coef, s.lower, s.upper, s.epsilon, bias[0])
        for g in range(all_groups):
            for t in range(problems.groups[k, g], problems.groups[k, g + 1]):
                place = s.groups[g] + t - problems.groups[k, g]
                found.gradient[t] = s.f[place]
                found.coef[t] = s.coef[place]
        if status == STEPS and found.n_iter[k] < max_iter:
            position[1] = s.counts[USED]
        else:
            position[0] = k + 1
            position[1] = -1


def buffer_values(n: int) -> int:
    """Return how many kernel values a small dual of n variables needs: all rows and copies."""
    width = -(-n // LANES) * LANES + LANES
    return width * width + copied_values(width)


def fits_small(rows: Rows, duals: Sequence[Dual], values: int) -> bool:
    """Whether duals are small and between finite bounds, with rows in compiled code and room for so many values."""
    n = largest(duals)
    if not rows.in_call or n > SMALL_DUAL or buffer_values(n) > values:
        return False
    if isinstance(duals, Duals):
        return bool(np.isfinite(duals.lower).all() and np.isfinite(duals.upper).all())
    return not any(dual.total is not None or dual.unbounded for dual in duals)


def solve_small_duals(
    rows: Rows, duals: Sequence[Dual], limits: Limits, buffer: Array | None = None, values: Array | None = None
) -> Solutions:
    """Return the solutions of several small duals of one epsilon, with certificates.

    ``buffer`` is memory for kernel values, ``values`` (n, n) are those between all points, if they are known. A dual
    that takes more steps than the limit, or whose slopes are beyond the accuracy of the rows, ends before its goal.
    Duals after a callback that returned True are left at their starts.
    """
    if limits.callback is not None and limits.callback.stopped:
        limits = replace(limits, max_iter=0)
    stops = stops_of(duals)
    epsilon = float(duals[0].epsilon)
    n = largest(duals)
    many = len(duals)
    groups = np.stack((stops[:-1], stops[1:]), axis=1) if duals[0].split is None else duals[0].groups[None]
    target, lower, upper, start, points = (
        joined(duals, name) for name in ("target", "lower", "upper", "coef", "points")
    )
    sums = np.zeros((many, groups.shape[1] - 1))
    if start.any():
        sums[:] = np.add.reduceat(start, groups[:, :-1].ravel()).reshape(sums.shape)
    problems = Problems(groups, sums, rows.places_of(points), target, lower, upper, epsilon)
    coef = start.copy()
    gradient = target.copy()
    for k in range(many if start.any() else 0):
        gradient[stops[k] : stops[k + 1]] = exact_gradient(rows, duals[k], duals[k].coef)
    numbers = np.zeros((3, many))
    found = Found(
        coef, gradient, np.zeros((many, groups.shape[1] - 1)), *numbers, np.zeros(many, int), np.zeros(many, int)
    )
    found.violation[:] = np.inf
    if values is None:
        values = getattr(rows, "values", np.empty((0, 0), rows.dtype))
    buffer = allocate(buffer_values(n), rows.dtype) if buffer is None else buffer
    # the dual that is being solved, and the number of its rows in the buffer, negative before it begins
    position = np.array([0, -1])
    slots = np.empty(n + 2 * LANES, np.int64)
    arrays = rows.raw(not values.size), rows.exact(), problems, found, position, slots, values, buffer
    while position[0] < many:
        check_cancelled()
        solve_small(*arrays, limits.goal, limits.max_iter)
        last = min(int(position[0]), many - 1)
        if limits.callback is not None and limits.max_iter and limits.callback(float(found.violation[last])):
            limits = replace(limits, max_iter=0)
    bias = found.bias[:, 0]
    # a bias may be large: the objective is about it
    value = found.value + bias * sums.sum(axis=1)
    noise = rows.error * np.sqrt(np.add.reduceat(np.square(coef), stops[:-1])) if rows.error else np.zeros(many)
    certified = value + found.gap, value, np.full(many, np.inf), noise, np.full(many, epsilon)
    return Solutions(coef, gradient, bias, found.violation, found.n_iter, found.n_rows, *certified, stops)
