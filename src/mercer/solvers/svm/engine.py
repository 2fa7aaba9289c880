"""The engine: rounds of SMO steps in compiled code, over all variables or over those near the margin, for any machine.

A problem keeps the sum of one group of variables, or of each of two. `advance` takes rounds until the violation is
allowed, steps run out, or a kernel row is missing that the caller has to compute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._common import EPS, HALVINGS, Array
from mercer._compute.compile import compiled
from mercer._compute.costs import (
    AT_ONCE,
    COORDINATES_OF_STEP,
    FLOAT64_VARIABLES,
    KNOWN_VALUE,
    LANES,
    NEWTON_WORK,
    REFINEMENT,
    STEP_OVERHEAD,
    STEP_WORK,
    TOGETHER,
    WIDE_ROWS,
)
from mercer._compute.intrinsics import as_square, empty, larger, small, smaller, wide
from mercer._compute.memory import allocate
from mercer._compute.points import PROBES
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.certificates import DRIFT, STORED, finer, measure_state, objectives, settle
from mercer.solvers.svm.dual import (
    SHARE,
    UNUSED,
    Dual,
    Limits,
    Solution,
    arena_of,
    copied_values,
    scaled,
    strict,
    width_of,
)
from mercer.solvers.svm.newton import NEAR, copy_of, refine
from mercer.solvers.svm.on_demand import (
    TAKEN,
    USED,
    WANTED,
    add_changes,
    add_rows,
    picked,
    tiles_of_points,
    wanted_rows,
)
from mercer.solvers.svm.rows import Rows
from mercer.solvers.svm.smo import compiled_vectors, load, subtract_changes, take_steps

# What `advance` returns.
DONE, ROWS_WANTED, STEPS, STALLED = range(4)
# Places of `position` in `solve_small`: the dual that is being solved, its rows in memory, whether it has begun.
DUAL, HELD, BEGUN = range(3)
# A round lowers the violation by this factor before all variables are checked again.
REDUCTION = 0.1
# A round towards a gap lowers it to a share between these.
_LEAST = 0.25
_MOST = 0.9
# Largest share of variables with copies where steps are few.
_FEW = 0.2
# Least unit of margins, as a share of the largest kernel value times the sum of a group.
LEAST_UNIT = 1e-6
# Largest rounding of gradients that multiples of earlier ones may have, as a share of the tolerance.
_GROWN = 1e-3 / EPS
# Steps for each variable after which Newton steps are tried, then after twice as many and so on: on the variables
# within this share of the violation, of so many operations as a share of those spent before.
_ROUND = 10
_CROSSED = 0.3
_CROSSING = 0.15
# Steps over the variables with rows go on while these violate by this share of the violation of all.
_KNOWN = 0.5


class State(NamedTuple):
    """Variables, each group in whole lanes, and the rows that are known: variable t has row ``K[slots[t]]``.

    ``f``, ``coef``, ``lower`` and ``upper`` are float64 (m,); padding has bounds 0. Copies of kernel values and other
    arrays are in the ``arena``, ``wanted`` takes the variables whose rows the caller has to compute.
    """

    f: Any
    coef: Any
    lower: Any
    upper: Any
    groups: Any
    epsilon: float
    K: Any
    slots: Any
    arena: Any
    wanted: Any
    counts: Any


class Slopes(NamedTuple):
    """Slopes of rises and falls (m,) in the type of K, the middle of the interval of each group, and scratch memory."""

    rising: Any
    falling: Any
    middle: Any
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
    """The arrays of a `Dual`; group g of dual k has the variables ``groups[k, g]`` to ``groups[k, g + 1]``.

    They keep the sum ``sums[k, g]``.
    """

    groups: Any
    sums: Any
    points: Any
    target: Any
    lower: Any
    upper: Any
    epsilon: float
    sums_only: bool


class Found(NamedTuple):
    """The arrays of a `Solution`, and the violations that were allowed (m,)."""

    coef: Any
    gradient: Any
    n_iter: Any
    bias: Any
    violation: Any
    primal: Any
    value: Any
    margin: Any
    unit: Any
    allowed: Any


class Chain(NamedTuple):
    """Duals of which dual k has the points of the one before, and bounds that are ``ratios[k]`` times as large.

    It starts near the solution before unless that is 0, and its steps also end at a gap of ``gaps[k]``. Multiples of
    gradients have grown by ``growth[k]`` since a solution started from 0.
    """

    ratios: Any
    gaps: Any
    growth: Any


class Buffers(NamedTuple):
    """Memory for the kernel rows of a dual (values,) and for its other arrays; variable t has row ``slots[t]``."""

    K: Any
    arena: Any
    slots: Any

    @classmethod
    def empty(cls, n: int, dtype: Any) -> Buffers:
        """Return memory for duals of at most n variables."""
        width = width_of(n)
        K = allocate(width**2, dtype)
        return cls(K, arena_of(width, copied_values(width), dtype), np.empty(width, np.int64))


@compiled
def allowed(goal, middle):
    """Return the violation that a goal allows at the biases of the groups."""
    small()
    margin = 0.5 * (middle[1] - middle[0]) if middle.size > 1 else 0.0
    # the margin at the optimum exceeds this one by at most the violation; those of two groups may add up
    nothing = 0.5 * (goal.touching - margin) if goal.touching > 0 else 0.0
    return larger(goal.tol * larger(goal.per_margin * margin, goal.least), nothing)


@compiled_vectors
def _load_slopes(s, w):
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


@compiled_vectors
def _near_margin(s, w, reach, known):
    """Write the variables within reach of violating, of each group; only those with rows if known.

    Return their number and their own violation.
    """
    small()
    count = 0
    widest = 0.0
    w.ends[0] = 0
    for g in range(s.groups.size - 1):
        top = bottom = -np.inf
        for t in range(s.groups[g], s.groups[g + 1]):
            close = w.rising[t] > w.middle[g] - reach or w.falling[t] > -w.middle[g] - reach
            if close and (s.slots[t] >= 0 or not known):
                w.places[count] = t
                count += 1
                top = larger(top, np.float64(w.rising[t]))
                bottom = larger(bottom, np.float64(w.falling[t]))
        w.ends[g + 1] = count
        widest = larger(widest, top + bottom)
    return count, widest


@compiled
def _whole(points, s, w):
    """Return all variables of a state as the part that a round solves for."""
    small()
    for t in range(w.places.size):
        w.places[t] = t
    arrays = w.rising, w.falling, s.coef, s.lower, s.upper
    return Part(s.K, s.slots, s.slots, w.places, points.diagonal, *arrays, s.groups)


@compiled
def in_lanes(groups, arena=None):
    """Return where groups of variables begin and end if each takes whole lanes."""
    small()
    lanes = empty(groups.size, np.int64, arena)
    lanes[0] = 0
    for g in range(groups.size - 1):
        lanes[g + 1] = lanes[g] + -(-(groups[g + 1] - groups[g]) // LANES) * LANES
    return lanes


@compiled
def _places(groups, lanes, arena):
    """Return the place of each variable of a state among those of groups, -1 for padding."""
    small()
    places = empty(lanes[lanes.size - 1], np.int64, arena)
    for g in range(groups.size - 1):
        for t in range(lanes[g], lanes[g + 1]):
            place = groups[g] + t - lanes[g]
            places[t] = place if place < groups[g + 1] else -1
    return places


@compiled_vectors
def _copied(points, s, w):
    """Return the variables ``w.places`` as a part of their own, with room for copies of kernel values."""
    small()
    groups = in_lanes(w.ends, s.arena)
    m = groups[groups.size - 1]
    K = empty((m, m), s.K.dtype, s.arena)
    slots = empty(m, np.int64, s.arena)
    for c in range(m):
        K[0, c] = 0
        slots[c] = -1
    places = _places(w.ends, groups, s.arena)
    for c in range(m):
        places[c] = w.places[places[c]] if places[c] >= 0 else -1
    f = picked(s.f, places, s.arena)
    coef = picked(s.coef, places, s.arena)
    lower = picked(s.lower, places, s.arena)
    upper = picked(s.upper, places, s.arena)
    rising = empty(m, s.K.dtype, s.arena)
    falling = empty(m, s.K.dtype, s.arena)
    load(f, coef, lower, upper, s.epsilon, rising, falling)
    return Part(
        K,
        slots,
        picked(s.slots, places, s.arena),
        places,
        picked(points.diagonal, places, s.arena),
        rising,
        falling,
        coef,
        lower,
        upper,
        groups,
    )


@compiled_vectors
def _take_steps(points, s, w, part, aim, limit):
    """Take steps over the variables of a part and add the rows that they miss; return the number of steps."""
    wide()
    taken = 0
    few = empty(TOGETHER if points.tiles.shape[1] >= WIDE_ROWS else 1, np.int64, s.arena)
    while True:
        steps, missing, _ = take_steps(
            *(
                part.K,
                part.slots,
                part.diagonal,
                part.rising,
                part.falling,
                part.coef,
                part.lower,
                part.upper,
            ),
            *(s.epsilon, part.groups, s.K, part.places, part.held, aim, limit - taken),
        )
        taken += steps
        if missing < 0:
            return taken
        if points.tiles.size + points.values.size == 0:
            s.counts[WANTED] = wanted_rows(
                s.groups, w.middle, w.rising, w.falling, s.slots, missing, s.wanted
            )
            return taken
        count = wanted_rows(
            part.groups, w.middle, part.rising, part.falling, part.held, missing, few
        )
        for a in range(count):
            place = few[a]
            part.held[place] = s.counts[USED] + a
            few[a] = part.places[place]
        s.counts[USED] = add_rows(points, s.K, s.slots, s.counts[USED], few[:count])
        limit -= count * _steps_of_row(points)
        if taken >= limit:
            return taken


@compiled
def _steps_of_row(points):
    """Return how many steps take as long as a kernel row."""
    return points.tiles.shape[1] // COORDINATES_OF_STEP


@compiled_vectors
def _take_round(points, s, w, violation, aim, limit, copied_share):
    """Lower a violation to ``aim`` by steps over the variables near the margin, or over all; return their number.

    Slopes have the type of K; after the steps the gradient f is updated in float64. ``points`` without tiles and values
    means that the caller computes rows: it is asked for some once the variables of known rows violate little.
    Variables near the margin have copies if they are at most ``copied_share`` of all.
    """
    small()
    m = s.coef.size
    before = copy_of(s.coef, s.arena)
    known = points.tiles.size + points.values.size == 0
    count, inner = _near_margin(s, w, violation, known)
    width = count + (s.groups.size - 1) * LANES
    copied = (
        m > AT_ONCE
        and count <= copied_share * m
        and s.K.itemsize * width * width <= 8 * s.arena.size - s.arena[0]
    )
    if copied and known and not inner > _KNOWN * violation:
        s.counts[WANTED] = wanted_rows(
            s.groups, w.middle, w.rising, w.falling, s.slots, np.int64(-1), s.wanted
        )
        return 0
    part = _copied(points, s, w) if copied else _whole(points, s, w)
    taken = _take_steps(points, s, w, part, aim, limit)
    for c in range(part.coef.size if copied else 0):
        if part.places[c] >= 0:
            s.coef[part.places[c]] = part.coef[c]
    subtract_changes(s, before)
    s.counts[TAKEN] += taken
    return taken


@compiled_vectors
def advance(points, s, goal, gap, limit, copied_share):
    """Take rounds until the violation is allowed, or for about as long as ``limit`` steps take; return the status.

    They also end at a positive ``gap`` of one group. The gap falls about as the violation.
    """
    small()
    m = s.coef.size
    rising = empty(m, s.K.dtype, s.arena)
    falling = empty(m, s.K.dtype, s.arena)
    middle = empty(s.groups.size - 1, np.float64, s.arena)
    places = empty(m, np.int64, s.arena)
    w = Slopes(rising, falling, middle, places, empty(s.groups.size, np.int64, s.arena))
    bias = empty(1, np.float64, s.arena)
    taken = 0
    s.counts[WANTED] = 0
    mark = s.arena[0]
    while True:
        s.arena[0] = mark
        violation = _load_slopes(s, w)
        tol = allowed(goal, w.middle)
        if not violation > tol:
            return DONE
        share = REDUCTION if m > AT_ONCE else 0.0
        if gap > 0:
            measure_state(s, bias)
            _, apart = objectives(s.f, s.f, s.coef, s.lower, s.upper, s.epsilon, bias[0])
            if apart <= gap:
                return DONE
            share = smaller(larger(_LEAST, gap / apart), _MOST)
        if taken >= limit:
            return STEPS
        aim = larger(0.5 * tol, share * violation)
        used = s.counts[USED]
        steps = _take_round(points, s, w, violation, aim, limit - taken, copied_share)
        taken += steps
        limit -= (s.counts[USED] - used) * _steps_of_row(points)
        if s.counts[WANTED]:
            return ROWS_WANTED
        if steps == 0 and s.counts[USED] == used:
            return STALLED


# --- small duals, one after the other --------------------------------------------------------------------------------


@compiled
def _state_of(problems, found, places, lanes, memory, used):
    """Return the state of the dual of variables ``places``, of whose rows so many are in memory."""
    small()
    counts = empty(3, np.int64, memory.arena)
    m = places.size
    K = as_square(memory.K, m)
    slots = memory.slots
    counts[USED] = used
    counts[TAKEN] = 0
    counts[WANTED] = 0
    f = picked(found.gradient, places, memory.arena)
    coef = picked(found.coef, places, memory.arena)
    lower = picked(problems.lower, places, memory.arena)
    upper = picked(problems.upper, places, memory.arena)
    return State(
        f, coef, lower, upper, lanes, problems.epsilon, K, slots[:m], memory.arena, slots, counts
    )


@compiled
def _start_near(problems, chain, found, k, s, target, tol):
    r"""Start at the best multiple of the solution before within the bounds, which are ``ratios[k]`` times as large.

    .. math:: s = \min(C'/C, (t'b - \epsilon |b|_1) / b'Kb), \qquad f = t - s K b

    The factor multiplies the rounding of the gradient too. If that has grown too much, the dual starts from 0. Return
    the growth of the rounding.
    """
    small()
    gain = 0.0
    curvature = 0.0
    n = problems.groups[k, 1] - problems.groups[k, 0]
    first = problems.groups[k - 1, 0]
    near = found.coef[first : first + n]
    gradient = found.gradient[first : first + n]
    for t in range(n):
        gain += target[t] * near[t] - s.epsilon * abs(near[t])
        curvature += near[t] * (target[t] - gradient[t])
    ratio = chain.ratios[k]
    factor = smaller(ratio, gain / curvature) if curvature > 0 else ratio
    growth = larger(1.0, chain.growth[k - 1] * factor)
    for t in range(n if growth <= _GROWN * tol else 0):
        s.coef[t] = smaller(larger(factor * near[t], s.lower[t]), s.upper[t])
        s.f[t] = target[t] - factor * (target[t] - gradient[t])
    settle(s.coef, s.lower, s.upper, 0.0, STORED * EPS)
    return growth if growth <= _GROWN * tol else 1.0


@compiled_vectors
def _mean_start(s, sums):
    """Spread the sum of each group over some of its variables, in proportion to their bounds."""
    small()
    for g in range(s.groups.size - 1):
        first = s.groups[g]
        stride = -(-(s.groups[g + 1] - first) // PROBES)
        total = 0.0
        for t in range(first, s.groups[g + 1], stride):
            total += s.upper[t] - s.lower[t]
        for t in range(first, s.groups[g + 1]):
            weight = s.upper[t] - s.lower[t] if (t - first) % stride == 0 else 0.0
            s.coef[t] = weight * (sums[g] / total) if total > 0 else 0.0


@compiled_vectors
def place_at_bounds(f, coef, lower, upper, total):
    """Give coefficients a sum, positive or negative: those of the largest slopes are at their bounds, others are 0."""
    small()
    sign = 1.0 if total > 0 else -1.0
    low = np.inf
    high = -np.inf
    for t in range(f.size):
        coef[t] = 0.0
        if lower[t] < upper[t]:
            low = smaller(low, sign * f[t])
            high = larger(high, sign * f[t])
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        above = 0.0
        for t in range(f.size):
            if sign * f[t] > middle:
                above += upper[t] - lower[t]
        if above < sign * total:
            high = middle
        else:
            low = middle
    left = sign * total
    # those above, then those that the passes do not tell apart
    for equal in (False, True):
        for t in range(f.size):
            if low <= sign * f[t] <= high if equal else sign * f[t] > high:
                step = smaller(upper[t] - lower[t], left)
                coef[t] = sign * step
                left -= step


@compiled_vectors
def _start(points, s, sums, sums_only, in_margins):
    """Compute the gradient of a start that is not 0; return twice the margin of the means of two groups, or 1."""
    small()
    m = s.coef.size
    before = empty(m, np.float64, s.arena)
    for t in range(m):
        before[t] = 0.0
        s.slots[t] = -1
        s.K[0, t] = 0
    unit = 1.0
    if sums_only:
        _mean_start(s, sums)
        add_changes(points, s, before)
        squared = 0.0
        largest = 0.0
        for t in range(m):
            # of targets 0
            squared -= s.coef[t] * s.f[t]
            largest = larger(largest, abs(np.float64(points.diagonal[t])))
            before[t] = s.coef[t]
        if in_margins:
            least = larger(LEAST_UNIT * largest, 1e-300)
            unit = abs(sums[0]) * larger(squared / (sums[0] * sums[0]), least)
        for g in range(s.groups.size - 1):
            own = slice(s.groups[g], s.groups[g + 1])
            place_at_bounds(s.f[own], s.coef[own], s.lower[own], s.upper[own], sums[g])
    add_changes(points, s, before)
    return unit


@compiled_vectors
def _share_of_goal(s, target, total, goal):
    """Return the share of the tolerance of one group that steps aim at next: 1 if the gap of the state is small."""
    small()
    bias = empty(1, np.float64, s.arena)
    measure_state(s, bias)
    value, gap = objectives(target, s.f, s.coef, s.lower, s.upper, s.epsilon, bias[0])
    return finer(gap, value + bias[0] * total + gap, goal.coarse)


@compiled_vectors
def solve_small(rows, exact, problems, chain, found, position, memory, goal, max_iter):
    """Solve duals from ``position[DUAL]`` on until all are solved or about `STEP_WORK` is done.

    Newton steps are tried in between: they cross the narrow valleys of the objective along which SMO moves slowly. A
    dual is left unsolved after ``max_iter`` steps, and if no step lowers its violation.
    """
    small()
    work = STEP_WORK
    all_groups = problems.groups.shape[1] - 1
    while position[DUAL] < problems.groups.shape[0] and work > 0:
        k = position[DUAL]
        arena = memory.arena
        arena[0] = UNUSED
        lanes = in_lanes(problems.groups[k], arena)
        places = _places(problems.groups[k], lanes, arena)
        s = _state_of(problems, found, places, lanes, memory, position[HELD])
        m = s.coef.size
        target = picked(problems.target, places, arena)
        own = picked(problems.points, places, arena)
        points = tiles_of_points(rows, own, s.K, arena)
        sums = problems.sums[k]
        if chain.ratios[k] and not position[BEGUN]:
            chain.growth[k] = _start_near(problems, chain, found, k, s, target, goal.tol)
        if not (position[BEGUN] or position[HELD]):
            in_margins = all_groups > 1 and goal.per_margin > 0
            found.unit[k] = _start(points, s, sums, problems.sums_only, in_margins)
            # a start at bounds counts as a step
            found.n_iter[k] = problems.sums_only
        own_goal = scaled(goal, 1.0, found.unit[k])
        # the points where a dual pauses do not depend on the duals before it
        limit = smaller(max_iter - found.n_iter[k], STEP_WORK // (m + STEP_OVERHEAD))
        if goal.operations >= 0:
            limit = smaller(limit, larger(_ROUND * m, found.n_iter[k]))
        # copies pay, and take memory, where rows are read several times
        few = chain.gaps[k] > 0 and (k == 0 or found.n_iter[k - 1] <= m)
        status = advance(points, s, own_goal, chain.gaps[k], limit, _FEW if few else SHARE)
        if status == DONE and all_groups == 1:
            share = _share_of_goal(s, target, sums[0], goal)
            if share < 1:
                status = advance(points, s, scaled(goal, share, 1.0), 0.0, limit, SHARE)
        found.n_iter[k] += s.counts[TAKEN]
        more = status == STEPS and found.n_iter[k] < max_iter
        computed = s.counts[USED] - position[HELD]
        work -= (s.counts[TAKEN] + 1 + computed * _steps_of_row(points)) * (m + STEP_OVERHEAD)
        bias = empty(all_groups, np.float64, arena)
        if (status == DONE or more) and goal.operations >= 0:
            violation = measure_state(s, bias)
            width = larger(exact.centre.size, KNOWN_VALUE if exact.values.size else 0)
            spent = 2.0 * s.counts[USED] * m * (width + 10) + 20.0 * found.n_iter[k] * m
            operations = larger(goal.operations, REFINEMENT * spent)
            reach = NEAR * allowed(own_goal, bias)
            if more:
                operations = smaller(_CROSSING * spent, 2 * NEWTON_WORK)
                reach = _CROSSED * violation
            refine(points, exact, s, own, target, bias, sums, reach, operations)
        if status == DONE:
            settle(s.coef, s.lower, s.upper, DRIFT, EPS)
        violation = measure_state(s, bias)
        # an allowed gap allows the violation
        close = status == DONE and chain.gaps[k] > 0
        found.violation[k] = smaller(violation, goal.tol) if close else violation
        found.allowed[k] = allowed(strict(goal, found.unit[k]), bias)
        found.bias[k] = 0.5 * (bias[0] + bias[all_groups - 1])
        found.margin[k] = 0.5 * (bias[1] - bias[0]) if all_groups > 1 else 1.0
        value, gap = objectives(target, s.f, s.coef, s.lower, s.upper, s.epsilon, found.bias[k])
        # a bias may be large: the objective is about it
        found.value[k] = value + found.bias[k] * (sums[0] + (sums[1] if all_groups > 1 else 0.0))
        found.primal[k] = found.value[k] + gap
        for t in range(m):
            if places[t] >= 0:
                found.gradient[places[t]] = s.f[t]
                found.coef[places[t]] = s.coef[t]
        kept = more or (k + 1 < chain.ratios.size and chain.ratios[k + 1])
        position[DUAL] = k if more else k + 1
        position[HELD] = s.counts[USED] if kept else 0
        position[BEGUN] = more


def solve_small_duals(
    rows: Rows,
    duals: Dual,
    limits: Limits,
    memory: Buffers,
    chain: Chain | None = None,
) -> tuple[Solution, Array]:
    """Return the solutions of several small duals, with certificates where they keep one sum, and what was allowed.

    The bias of two groups is the mean of both, their margin half the difference. The ``memory`` of a chain has all rows
    already. A dual that takes more steps than the limit, or whose slopes are beyond the accuracy of the rows, ends
    before its goal. Duals after a callback that returned True are left at their starts.
    """
    many = len(duals)
    callback = limits.callback
    max_iter = 0 if callback is not None and callback.stopped else limits.max_iter
    position = np.array([0, 0 if chain is None else duals.largest, 0])
    groups = duals.groups
    problems = Problems(
        groups,
        np.add.reduceat(duals.coef, groups[:, :-1].ravel()).reshape(many, -1),
        duals.points,
        duals.target,
        duals.lower,
        duals.upper,
        float(duals.epsilon),
        duals.sums_only,
    )
    numbers = np.zeros((7, many))
    found = Found(duals.coef.copy(), duals.target.copy(), np.zeros(many, int), *numbers)
    found.violation[:] = np.inf
    found.unit[:] = 1
    exact = rows.raw(exact=True)
    # of few variables all rows are exact, and not computed again for the last digits
    once = rows.dtype == np.float64 and duals.largest <= FLOAT64_VARIABLES and not rows.held
    arrays = (
        exact if once else rows.raw(),
        exact,
        problems,
        Chain(*np.zeros((3, many))) if chain is None else chain,
        found,
        position,
        memory,
    )
    while position[DUAL] < many:
        check_cancelled()
        solve_small(*arrays, limits.goal, max_iter)
        last = min(int(position[DUAL]), many - 1)
        if callback is not None and max_iter and callback(float(found.violation[last])):
            max_iter = 0
    noise = rows.error * np.sqrt(duals.sums(np.square(found.coef))) if rows.error else 0.0
    solved = found._asdict()
    tol = solved.pop("allowed")
    return Solution(**solved, noise=noise, epsilon=problems.epsilon, stops=duals.stops), tol
