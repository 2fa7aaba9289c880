"""The compiled SMO loop: choose the pair of variables of largest second-order gain, move it, update the gradient.

Coefficients b_i are signed, y_i alpha_i for a classifier. ``f`` is the gradient t - K b of the smooth part of the dual
objective, which is maximised. A coefficient may rise while b_i < upper_i and fall while b_i > lower_i. With
epsilon |b_i| in the objective, it rises with slope f_i - epsilon and falls with slope f_i + epsilon at 0; above 0 both
are f_i - epsilon, below 0 both are f_i + epsilon. The loop keeps the slopes of rises and minus those of falls, -inf at
a bound: ``rising`` and ``falling``. They are float32 or float64.
"""

import functools

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.costs import PIECE, SEARCHED
from mercer._compute.intrinsics import empty, larger, small, smaller, wide

# Least squared distance of a pair in feature space, relative to its squared norms: bounds the step.
_FLAT = 1e-12
# No compared number is a NaN; this flag lets comparisons run on vector registers.
_VECTORS = frozenset({"contract", "reassoc", "nsz", "nnan"})
compiled_vectors = functools.partial(compiled, flags=_VECTORS)


@compiled_vectors
def take_steps(
    K,
    slots,
    diagonal,
    rising,
    falling,
    coef,
    lower,
    upper,
    epsilon,
    groups,
    source,
    places,
    held,
    tol,
    max_iter,
):
    """Take SMO steps, changing slopes and ``coef`` (m,) in place, until ``tol``, ``max_iter`` or a missing row of K.

    Variables ``groups[k]`` to ``groups[k + 1]``, multiples of ``LANES``, keep their sum. ``slots`` are the rows of K
    that belong to the variables, negative if missing; ``lower == upper`` marks padding.

    Returns (n_iter, variable whose row is missing or -1, largest violation of the last search).

    Each step takes the variable i of largest slope among those that may rise and, of those that may fall, the j with
    the largest gain (f_i - f_j)^2 / (K_ii + K_jj - 2 K_ij). It moves both until the pair is optimal or a bound is met.
    O(m) per step. A missing row of K is copied from the columns ``places`` of the row ``held`` of ``source`` if that
    is not negative. Fan, Chen, Lin, *Working set selection using second order information*, JMLR 6 (2005), WSS 2.
    """
    wide()
    gains = empty(rising.size, np.float32)
    row_i = row_j = K[0]
    zero = rising.dtype.type(0)
    n_iter = 0
    step = zero
    while True:
        # of the types that they have later: each further type is compiled apart
        start = groups[0]
        stop = groups[0]
        top = zero
        bottom = zero
        widest = -np.inf
        for k in range(groups.size - 1):
            own = slice(groups[k], groups[k + 1])
            high, low = _update(rising[own], falling[own], row_i[own], row_j[own], step)
            violation = np.float64(high) + np.float64(low)
            if violation > widest:
                start = groups[k]
                stop = groups[k + 1]
                top = high
                bottom = low
                widest = violation
        step = zero
        if not widest > tol or n_iter >= max_iter:
            return n_iter, -1, widest
        i = start + _first(rising[start:stop], top)
        if slots[i] < 0 and not _copied(i, K, slots, source, places, held):
            return n_iter, i, widest
        row_i = K[slots[i]]
        scale = rising.dtype.type(1.0 / widest)
        own = slice(start, stop)
        won = _gains(row_i[own], falling[own], diagonal[own], gains[own], diagonal[i], top, scale)
        # if all gains underflow: the pair of largest violation
        j = start + (_first(gains[own], won) if won > 0 else _first(falling[own], bottom))
        if slots[j] < 0 and not _copied(j, K, slots, source, places, held):
            return n_iter, j, widest
        row_j = K[slots[j]]
        floor = _FLAT * (abs(diagonal[i]) + abs(diagonal[j])) + 1e-300
        curvature = larger(diagonal[i] + diagonal[j] - 2 * np.float64(row_i[j]), floor)
        step = rising.dtype.type(
            _move(i, j, curvature, rising, falling, coef, lower, upper, epsilon)
        )
        n_iter += 1


@compiled
def _copied(i, K, slots, source, places, held):
    """Copy a missing row to the first free one of K if it is known; return whether it is."""
    small()
    if held[i] < 0:
        return False
    free = 0
    for t in range(places.size):
        free = larger(free, slots[t] + 1)
    row = source[held[i]]
    to = K[free]
    for t in range(to.size):
        # padding takes any number
        to[t] = row[places[t]]
    slots[i] = free
    return True


@functools.partial(compiled, inline=True)
def _move(i, j, curvature, rising, falling, coef, lower, upper, epsilon):
    """Raise coefficient i and lower j until the pair is optimal or meets a bound or 0; return by how much."""
    end_i = 0.0 if epsilon > 0 and coef[i] < 0 else upper[i]
    end_j = 0.0 if epsilon > 0 and coef[j] > 0 else lower[j]
    room_i = end_i - coef[i]
    room_j = coef[j] - end_j
    move = smaller(
        (np.float64(rising[i]) + np.float64(falling[j])) / curvature, smaller(room_i, room_j)
    )
    f_i = np.float64(rising[i]) - offsets(coef[i], lower[i], upper[i], epsilon)[0]
    f_j = offsets(coef[j], lower[j], upper[j], epsilon)[1] - np.float64(falling[j])
    # bounds and 0 are met exactly
    coef[i] = end_i if move == room_i else coef[i] + move
    coef[j] = end_j if move == room_j else coef[j] - move
    rise, fall = offsets(coef[i], lower[i], upper[i], epsilon)
    rising[i] = f_i + rise
    falling[i] = fall - f_i
    rise, fall = offsets(coef[j], lower[j], upper[j], epsilon)
    rising[j] = f_j + rise
    falling[j] = fall - f_j
    return move


@functools.partial(compiled, inline=True)
def offsets(coef, lower, upper, epsilon):
    """Return the offsets of the slopes: f + rise is that of a rise, f - fall that of a fall; -inf at the bound."""
    rise = (epsilon if coef < 0 else -epsilon) if coef < upper else -np.inf
    fall = (epsilon if coef > 0 else -epsilon) if coef > lower else -np.inf
    return rise, fall


@compiled_vectors
def load(f, coef, lower, upper, epsilon, rising, falling):
    """Write the slopes of a gradient; return the largest of each kind in float64."""
    top = bottom = -np.inf
    for t in range(f.size):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        up = f[t] + rise
        down = fall - f[t]
        rising[t] = up
        falling[t] = down
        top = larger(top, up)
        bottom = larger(bottom, down)
    return top, bottom


@functools.partial(compiled_vectors, inline=True)
def _update(rising, falling, row_i, row_j, step):
    """Update the slopes by a step; return the largest of each kind."""
    number = rising.dtype.type
    top = bottom = number(-np.inf)
    for t in range(rising.size):
        change = step * (number(row_i[t]) - number(row_j[t]))
        up = rising[t] - change
        down = falling[t] + change
        rising[t] = up
        falling[t] = down
        top = larger(top, up)
        bottom = larger(bottom, down)
    return top, bottom


@functools.partial(compiled, flags=_VECTORS | {"arcp", "ninf"}, inline=True)
def _quotient(a, b):
    """Return about a / b of finite numbers: loops multiply by the processor's estimate of 1 / b."""
    return a / b


@functools.partial(compiled_vectors, inline=True)
def _gains(row, falling, diagonal, gains, own, top, scale):
    """Write the gain of each variable that may fall as a partner, in float32; return the largest."""
    floor = np.float32(_FLAT * abs(own) + 1e-37)
    zero = np.float32(0.0)
    best = np.float32(-1.0)
    for t in range(row.size):
        drop = larger(np.float32((top + falling[t]) * scale), zero)
        curvature = larger(np.float32(own + diagonal[t] - (row[t] + row[t])), floor)
        # an estimate suffices to choose a partner
        gain = _quotient(drop * drop, curvature)
        gains[t] = gain
        best = larger(best, gain)
    return best


@functools.partial(compiled_vectors, inline=True)
def _first(values, value):
    """Return the first place of a value that is among the values."""
    for a in range(0, values.size, SEARCHED):
        block = values[a : a + SEARCHED]
        highest = block[0]
        # no constant number of passes: the loop would be unrolled, and then use no vector registers
        for t in range(block.size):
            highest = larger(highest, block[t])
        if highest == value:
            for t in range(block.size):
                if block[t] == value:
                    return a + t
    return 0


@compiled
def subtract(K, rows, weights, f):
    """Subtract weights (k,) @ K[rows] from ``f`` (m,), in float64."""
    wide()
    for start in range(0, f.size, PIECE):
        g = f[start : start + PIECE]
        k = 0
        while k + 4 <= rows.size:
            a = weights[k]
            b = weights[k + 1]
            c = weights[k + 2]
            d = weights[k + 3]
            p = K[rows[k], start : start + PIECE]
            q = K[rows[k + 1], start : start + PIECE]
            r = K[rows[k + 2], start : start + PIECE]
            s = K[rows[k + 3], start : start + PIECE]
            for t in range(g.size):
                g[t] -= (
                    a * np.float64(p[t])
                    + b * np.float64(q[t])
                    + (c * np.float64(r[t]) + d * np.float64(s[t]))
                )
            k += 4
        while k < rows.size:
            w = weights[k]
            row = K[rows[k], start : start + PIECE]
            for t in range(g.size):
                g[t] -= w * np.float64(row[t])
            k += 1


@compiled
def subtract_changes(s, before):
    """Subtract the products of K with the changes of the coefficients of a state from its gradient, in float64."""
    small()
    count = 0
    rows = empty(s.f.size, np.int64, s.arena)
    change = empty(s.f.size, np.float64, s.arena)
    for t in range(s.f.size):
        if s.coef[t] != before[t]:
            rows[count] = s.slots[t]
            change[count] = s.coef[t] - before[t]
            count += 1
    subtract(s.K, rows[:count], change[:count], s.f)
