"""Rounds of SMO in compiled code: over all variables, or over those near the margin with copied kernel values."""

import functools

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.intrinsics import as_square, empty, larger, small, smaller, wide
from mercer.solvers.svm.bias import ROUNDED
from mercer.solvers.svm.on_demand import TOGETHER, add_rows, wanted_rows
from mercer.solvers.svm.smo import LANES, VECTORS, load, offsets, subtract_changes, take_steps

# A round solves for all variables, or for those near the margin if they are at most this share.
PART = 0.7
# A round lowers the violation by this factor before all variables are checked again.
_REDUCTION = 0.1


def copied_values(m: int) -> int:
    """Return how many kernel values a round copies at most for m variables."""
    return (int(PART * m) // LANES * LANES + LANES) ** 2


@compiled
def near_margin(rising, falling, top, bottom, places):
    """Write the places of variables that are free, or would violate if the bias moved by the violation; count them.

    ``top`` and ``bottom`` are the largest of the slopes.
    """
    small()
    violation, middle = top + bottom, 0.5 * (top - bottom)
    count = 0
    for t in range(rising.size):
        free = rising[t] > -np.inf and falling[t] > -np.inf
        if rising[t] > middle - violation or falling[t] > -middle - violation or free:
            places[count] = t
            count += 1
    return count


@compiled
def settle(coef, lower, upper, n):
    """Set coefficients of a solution that only rounding keeps from a bound or from 0 to it, as `settled` does."""
    small()
    near = 0.0
    for t in range(n):
        near = larger(near, ROUNDED * abs(coef[t]))
    for t in range(n):
        if abs(coef[t]) <= near:
            coef[t] = 0.0
        if abs(coef[t] - upper[t]) <= near:
            coef[t] = upper[t]
        if abs(coef[t] - lower[t]) <= near:
            coef[t] = lower[t]


@compiled
def bias_and_violation(f, coef, lower, upper, epsilon, n):
    """Return the mean slope of free variables, or the middle of the interval that others allow, and the violation."""
    small()
    top, bottom, total, count = -np.inf, np.inf, 0.0, 0
    for t in range(n):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        up, down = f[t] + rise, f[t] - fall
        top, bottom = larger(top, up), smaller(bottom, down)
        if up == down:
            total += up
            count += 1
    middle = 0.5 * (top + bottom)
    if top == -np.inf or bottom == np.inf:
        middle = bottom if top == -np.inf else top
    return (total / count if count else middle), larger(0.0, top - bottom)


@compiled
def gap_share(target, f, coef, lower, upper, epsilon, bias, n):
    """Return the gap of a solution as a share of its primal objective, 0 if that is not positive.

    The terms of the gap are those of `gap_between_bounds`.
    """
    small()
    gap, value = 0.0, 0.0
    for t in range(n):
        right, left = f[t] - bias - epsilon, f[t] - bias + epsilon
        above, below = larger(coef[t], 0.0), smaller(coef[t], 0.0)
        rise, fall = (upper[t] - above) * right - below * left, (lower[t] - below) * left - above * right
        gap += larger(larger(rise, fall), -below * left - above * right)
        value += 0.5 * coef[t] * (target[t] + f[t]) - epsilon * abs(coef[t])
    return gap / (value + gap) if value + gap > 0 else 0.0


@functools.partial(compiled, flags=VECTORS)
def _round(points, K, spare, slots, used, places, rising, falling, coef, lower, upper, epsilon, aim, limit):
    """Take steps over the variables ``places``; return the number of steps and of rows.

    Kernel values of a part of the variables are copied next to each other, into ``spare``.
    """
    wide()
    n, m, copied = places.size, coef.size, places.size < coef.size
    part, own, held = K, slots, slots
    up, down, diagonal = rising, falling, points[6]
    b, low, high = coef, lower, upper
    if copied:
        m = -(-n // LANES) * LANES
        part, own, held = as_square(spare, m), empty(m, np.int64), empty(m, np.int64)
        up, down, diagonal = empty(m, K.dtype), empty(m, K.dtype), empty(m, K.dtype)
        b, low, high = empty(m, np.float64), empty(m, np.float64), empty(m, np.float64)
        for t in range(m):
            part[0, t], own[t], held[t], up[t], down[t], diagonal[t] = 0, -1, -1, -np.inf, -np.inf, 0
            b[t], low[t], high[t] = 0, 0, 0
        for t in range(n):
            p = places[t]
            up[t], down[t], diagonal[t], held[t] = rising[p], falling[p], points[6][p], slots[p]
            b[t], low[t], high[t] = coef[p], lower[p], upper[p]
    n_iter, d = 0, points[1].shape[1]
    copies = places if copied else places[:0]
    whole, wanted = empty(2, np.int64), empty(TOGETHER, np.int64)
    whole[0], whole[1] = 0, m
    while True:
        steps, missing, _ = take_steps(
            *(part, own, diagonal, up, down, b, low, high, epsilon, whole),
            *(K, copies, held, aim, limit - n_iter),
        )
        n_iter += steps
        if missing < 0:
            break
        if held[missing] < 0:
            count = wanted_rows(d, missing, up, down, held, wanted)
            for a in range(count):
                held[wanted[a]], wanted[a] = used + a, places[wanted[a]]
            used = add_rows(points, K, slots, used, wanted[:count])
    for t in range(n if copied else 0):
        coef[places[t]] = b[t]
    return n_iter, used


@functools.partial(compiled, flags=VECTORS)
def take_round(points, K, spare, slots, used, dual, tol, least, limit, share=PART):
    """Lower a violation above ``tol`` to ``least``, or to a share if that is more; return numbers of steps and of rows.

    Slopes have the type of K; after the steps the gradient f is updated in float64. ``spare`` is memory for copies.
    ``points`` are those of `add_rows`, which is called for missing rows only. Variables near the margin have copies if
    they are at most a ``share`` of all, at most `PART`.
    """
    small()
    f, coef, lower, upper, epsilon = dual
    m = f.size
    rising, falling, before = empty(m, K.dtype), empty(m, K.dtype), empty(m, np.float64)
    places = empty(m, np.int64)
    top, bottom = load(f, coef, lower, upper, epsilon, rising, falling)
    if not top + bottom > tol:
        return 0, used
    aim, near = larger(least, _REDUCTION * (top + bottom)), near_margin(rising, falling, top, bottom, places)
    near = m if near > share * m else near
    for t in range(m):
        before[t], places[t] = coef[t], t if near == m else places[t]
    steps, used = _round(
        points, K, spare, slots, used, places[:near], rising, falling, coef, lower, upper, epsilon, aim, limit
    )
    subtract_changes(K, slots, coef, before, f)
    return steps, used


@functools.partial(compiled, flags=VECTORS)
def solve_rounds(points, K, spare, slots, used, f, coef, lower, upper, epsilon, tol, limit):
    """Solve by rounds, see `take_round`, which end at ``tol``, at ``limit`` steps, or after a round without any.

    Return the number of steps and of rows.
    """
    small()
    n_iter, steps, dual = 0, 1, (f, coef, lower, upper, epsilon)
    while n_iter < limit and steps > 0:
        steps, used = take_round(points, K, spare, slots, used, dual, tol, 0.5 * tol, limit - n_iter)
        n_iter += steps
    return n_iter, used
