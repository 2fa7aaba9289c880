"""The compiled SMO loop: choose the pair of variables of largest second-order gain, move it, update the gradient.

Coefficients b_i are signed, y_i alpha_i for a classifier. ``f`` is the gradient t - K b of the smooth part of the dual
objective, which is maximised. A coefficient may rise while b_i < upper_i and fall while b_i > lower_i. With
epsilon |b_i| in the objective, it rises with slope f_i - epsilon and falls with slope f_i + epsilon at 0; above 0 both
are f_i - epsilon, below 0 both are f_i + epsilon. The loop keeps the slopes of rises and minus those of falls, -inf at
a bound: ``rising`` and ``falling``. They are float32 or float64.
"""

import functools

import numpy as np

from mercer._compute.compile import compiled, wide

# The number of variables is a multiple of this, so that maxima are taken lane by lane on vector registers.
LANES = 64
# Least squared distance of a pair in feature space, relative to its squared norms: bounds the step.
_FLAT = 1e-12
# Entries of the gradient that stay in the processor's cache while rows pass.
_PIECE = 1024
# No compared number is a NaN; this flag lets comparisons run on vector registers.
VECTORS = frozenset({"contract", "reassoc", "nsz", "nnan"})


@functools.partial(compiled, flags=VECTORS)
def optimise(K, slots, diagonal, f, coef, lower, upper, epsilon, groups, tol, max_iter):
    """Take SMO steps, changing ``f`` and ``coef`` (m,) in place, until ``tol``, ``max_iter`` or a missing row of K.

    Variables ``groups[k]`` to ``groups[k + 1]``, multiples of ``LANES``, keep their sum. ``slots`` are the rows of K
    that belong to the variables, negative if missing; ``lower == upper`` marks padding.

    Returns (n_iter, variable whose row is missing or -1, largest violation of the last search).
    """
    rising, falling, before = np.empty(f.size), np.empty(f.size), coef.copy()
    load(f, coef, lower, upper, epsilon, rising, falling)
    found = take_steps(K, slots, diagonal, rising, falling, coef, lower, upper, epsilon, groups, tol, max_iter)
    for t in range(f.size):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        if fall > -np.inf:
            f[t] = fall - falling[t]
        elif rise > -np.inf:
            f[t] = rising[t] - rise
    fixed = np.flatnonzero(lower == upper)
    for j in range(f.size):
        change = coef[j] - before[j]
        if change != 0:
            for t in fixed:
                f[t] -= change * np.float64(K[slots[j], t])
    return found


@functools.partial(compiled, flags=VECTORS)
def take_steps(K, slots, diagonal, rising, falling, coef, lower, upper, epsilon, groups, tol, max_iter):
    """Take SMO steps as `optimise` does, on slopes: ``rising`` and ``falling`` change in place.

    Each step takes the variable i of largest slope among those that may rise and, of those that may fall, the j with
    the largest gain (f_i - f_j)^2 / (K_ii + K_jj - 2 K_ij). It moves both until the pair is optimal or a bound is met.
    O(m) per step. Fan, Chen, Lin, *Working set selection using second order information*, JMLR 6 (2005), WSS 2.
    """
    wide()
    m = rising.size
    gains = np.empty(m, np.float32)
    highs, lows, best = np.empty(LANES, rising.dtype), np.empty(LANES, rising.dtype), np.empty(LANES, np.float32)
    row_i = row_j = K[0]
    step, n_iter = rising.dtype.type(0), 0
    while True:
        start, stop, top, bottom, widest = 0, 0, step * 0, step * 0, -np.inf
        for k in range(groups.size - 1):
            high, low = _update(rising, falling, row_i, row_j, step, highs, lows, groups[k], groups[k + 1])
            violation = np.float64(high) + np.float64(low)
            if violation > widest:
                start, stop, top, bottom, widest = groups[k], groups[k + 1], high, low, violation
        step = rising.dtype.type(0)
        if not widest > tol or n_iter >= max_iter:
            return n_iter, -1, widest
        i = _first(rising, top, start, stop)
        if slots[i] < 0:
            return n_iter, i, widest
        row_i = K[slots[i]]
        scale = rising.dtype.type(1.0 / widest)
        won = _gains(row_i, falling, diagonal, gains, best, start, stop, diagonal[i], top, scale)
        # if all gains underflow: the pair of largest violation
        j = _first(gains, won, start, stop) if won > 0 else _first(falling, bottom, start, stop)
        if slots[j] < 0:
            return n_iter, j, widest
        row_j = K[slots[j]]
        floor = _FLAT * (abs(diagonal[i]) + abs(diagonal[j])) + 1e-300
        curvature = max(diagonal[i] + diagonal[j] - 2 * np.float64(row_i[j]), floor)
        step = rising.dtype.type(_move(i, j, curvature, rising, falling, coef, lower, upper, epsilon))
        n_iter += 1


@functools.partial(compiled, inline=True)
def _move(i, j, curvature, rising, falling, coef, lower, upper, epsilon):
    """Raise coefficient i and lower j until the pair is optimal or meets a bound or 0; return by how much."""
    end_i = 0.0 if epsilon > 0 and coef[i] < 0 else upper[i]
    end_j = 0.0 if epsilon > 0 and coef[j] > 0 else lower[j]
    room_i, room_j = end_i - coef[i], coef[j] - end_j
    move = min((np.float64(rising[i]) + np.float64(falling[j])) / curvature, min(room_i, room_j))
    f_i = np.float64(rising[i]) - offsets(coef[i], lower[i], upper[i], epsilon)[0]
    f_j = offsets(coef[j], lower[j], upper[j], epsilon)[1] - np.float64(falling[j])
    # bounds and 0 are met exactly
    coef[i] = end_i if move == room_i else coef[i] + move
    coef[j] = end_j if move == room_j else coef[j] - move
    rise, fall = offsets(coef[i], lower[i], upper[i], epsilon)
    rising[i], falling[i] = f_i + rise, fall - f_i
    rise, fall = offsets(coef[j], lower[j], upper[j], epsilon)
    rising[j], falling[j] = f_j + rise, fall - f_j
    return move


@functools.partial(compiled, inline=True)
def offsets(coef, lower, upper, epsilon):
    """Return the offsets of the slopes: f + rise is that of a rise, f - fall that of a fall; -inf at the bound."""
    rise = (epsilon if coef < 0 else -epsilon) if coef < upper else -np.inf
    fall = (epsilon if coef > 0 else -epsilon) if coef > lower else -np.inf
    return rise, fall


@functools.partial(compiled, flags=VECTORS)
def load(f, coef, lower, upper, epsilon, rising, falling):
    """Write the slopes of a gradient; return the largest of each kind in float64."""
    top = bottom = -np.inf
    for t in range(f.size):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        up, down = f[t] + rise, fall - f[t]
        rising[t], falling[t] = up, down
        top = up if up > top else top
        bottom = down if down > bottom else bottom
    return top, bottom


@functools.partial(compiled, flags=VECTORS, inline=True)
def _update(rising, falling, row_i, row_j, step, highs, lows, start, stop):
    """Update the slopes by a step; return the largest of each kind."""
    for t in range(LANES):
        highs[t] = lows[t] = -np.inf
    number = rising.dtype.type
    for a in range(start, stop, LANES):
        up, down, p, q = (
            rising[a : a + LANES],
            falling[a : a + LANES],
            row_i[a : a + LANES],
            row_j[a : a + LANES],
        )
        for t in range(LANES):
            change = step * (number(p[t]) - number(q[t]))
            y, z = up[t] - change, down[t] + change
            up[t], down[t] = y, z
            highs[t] = y if y > highs[t] else highs[t]
            lows[t] = z if z > lows[t] else lows[t]
    return _largest(highs), _largest(lows)


@functools.partial(compiled, flags=VECTORS, inline=True)
def _gains(row, falling, diagonal, gains, best, start, stop, own, top, scale):
    """Write the gain of each variable that may fall as a partner, in float32; return the largest."""
    floor = np.float32(_FLAT * abs(own) + 1e-37)
    for t in range(LANES):
        best[t] = -1.0
    for a in range(start, stop, LANES):
        p, d, down, out = (
            row[a : a + LANES],
            diagonal[a : a + LANES],
            falling[a : a + LANES],
            gains[a : a + LANES],
        )
        for t in range(LANES):
            drop = np.float32((top + down[t]) * scale)
            drop = drop if drop > np.float32(0.0) else np.float32(0.0)
            curvature = np.float32(own + d[t] - (p[t] + p[t]))
            gain = drop * drop / (curvature if curvature > floor else floor)
            out[t] = gain
            best[t] = gain if gain > best[t] else best[t]
    return _largest(best)


@functools.partial(compiled, flags=VECTORS, inline=True)
def _largest(lanes):
    """Return the largest lane by halving; the lanes are overwritten."""
    half = LANES // 2
    while half > 0:
        left, right = lanes[:half], lanes[half : 2 * half]
        for t in range(half):
            left[t] = left[t] if left[t] >= right[t] else right[t]
        half //= 2
    return lanes[0]


@functools.partial(compiled, flags=VECTORS, inline=True)
def _first(values, value, start, stop):
    """Return the first place of a value that is among the values."""
    for a in range(start, stop, LANES):
        g = values[a : a + LANES]
        found = 0
        for t in range(LANES):
            found += g[t] == value
        if found:
            for t in range(LANES):
                if g[t] == value:
                    return a + t
    return start


@compiled
def subtract(K, rows, weights, f):
    """Subtract weights (k,) @ K[rows] from ``f`` (m,), in float64."""
    wide()
    for start in range(0, f.size, _PIECE):
        g = f[start : start + _PIECE]
        k = 0
        while k + 4 <= rows.size:
            a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            p, q = K[rows[k], start : start + _PIECE], K[rows[k + 1], start : start + _PIECE]
            r, s = K[rows[k + 2], start : start + _PIECE], K[rows[k + 3], start : start + _PIECE]
            for t in range(g.size):
                g[t] -= a * np.float64(p[t]) + b * np.float64(q[t]) + (c * np.float64(r[t]) + d * np.float64(s[t]))
            k += 4
        while k < rows.size:
            w, row = weights[k], K[rows[k], start : start + _PIECE]
            for t in range(g.size):
                g[t] -= w * np.float64(row[t])
            k += 1


@compiled
def gather(K, rows, columns, out):
    """Copy K[rows][:, columns] to the first columns of ``out`` (rows, at least columns), zeros to the rest."""
    for i in range(rows.size):
        row, to = K[rows[i]], out[i]
        for j in range(columns.size):
            to[j] = row[columns[j]]
        to[columns.size :] = 0
