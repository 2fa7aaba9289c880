"""The compiled SMO loop: choose the pair of variables of largest second-order gain, move it, update the gradient.

Coefficients b_i are signed, y_i alpha_i for a classifier. ``f`` is the gradient t - K b of the smooth part of the dual
objective, which is maximised. A coefficient may rise while b_i < upper_i and fall while b_i > lower_i. With
epsilon |b_i| in the objective, it rises with slope f_i - epsilon and falls with slope f_i + epsilon at 0; above 0 both
are f_i - epsilon, below 0 both are f_i + epsilon.
"""

import functools

import numpy as np

from mercer._compute.compile import compiled, wide

# The number of variables is a multiple of this, so that maxima are taken lane by lane on vector registers.
LANES = 256
# Least squared distance of a pair in feature space, relative to its squared norms: bounds the step.
_FLAT = 1e-12
# Entries of the gradient that stay in the processor's cache while rows pass.
_PIECE = 2048
# No compared number is a NaN; this flag lets comparisons run on vector registers.
_VECTORS = frozenset({"contract", "reassoc", "nsz", "nnan"})


@functools.partial(compiled, flags=_VECTORS)
def optimise(K, slots, diagonal, f, coef, lower, upper, epsilon, groups, tol, max_iter):
    """Take SMO steps, changing ``f`` and ``coef`` (m,) in place, until ``tol``, ``max_iter`` or a missing row of K.

    Each step takes the variable i of largest slope among those that may rise and, of those that may fall, the j with
    the largest gain (f_i - f_j)^2 / (K_ii + K_jj - 2 K_ij). It moves both until the pair is optimal or a bound is met.
    Variables ``groups[k]`` to ``groups[k + 1]``, multiples of ``LANES``, keep their sum. ``slots`` are the rows of K
    that belong to the variables, negative if missing; ``lower == upper`` marks padding.

    Returns (n_iter, variable whose row is missing or -1, largest violation of the last search); O(m) per step.

    Fan, Chen, Lin, *Working set selection using second order information*, JMLR 6 (2005), WSS 2.
    """
    wide()
    m = f.size
    # added to f for the slope of a rise, to -f for that of a fall; -inf at the bound
    rise, fall, gains = np.empty(m), np.empty(m), np.empty(m, np.float32)
    highs, lows, best = np.empty(LANES), np.empty(LANES), np.empty(LANES, np.float32)
    for t in range(m):
        rise[t], fall[t] = _offsets(coef[t], lower[t], upper[t], epsilon)
    row_i = row_j = K[0]
    step, n_iter = 0.0, 0
    while True:
        start, stop, top, bottom, widest = 0, 0, 0.0, 0.0, -np.inf
        for k in range(groups.size - 1):
            high, low = _update(f, row_i, row_j, step, rise, fall, highs, lows, groups[k], groups[k + 1])
            if high + low > widest:
                start, stop, top, bottom, widest = groups[k], groups[k + 1], high, low, high + low
        step = 0.0
        if not widest > tol or n_iter >= max_iter:
            return n_iter, -1, widest
        i = _find(f, rise, 1.0, top, start, stop)
        if slots[i] < 0:
            return n_iter, i, widest
        row_i = K[slots[i]]
        won = _gains(row_i, f, fall, diagonal, gains, best, start, stop, diagonal[i], top, 1.0 / widest)
        # if all gains underflow: the pair of largest violation
        j = _first(gains, won, start, stop) if won > 0 else _find(f, fall, -1.0, bottom, start, stop)
        if slots[j] < 0:
            return n_iter, j, widest
        row_j = K[slots[j]]
        floor = _FLAT * (abs(diagonal[i]) + abs(diagonal[j])) + 1e-300
        step = (top - f[j] + fall[j]) / max(diagonal[i] + diagonal[j] - 2 * np.float64(row_i[j]), floor)
        end_i = 0.0 if epsilon > 0 and coef[i] < 0 else upper[i]
        end_j = 0.0 if epsilon > 0 and coef[j] > 0 else lower[j]
        room_i, room_j = end_i - coef[i], coef[j] - end_j
        step = min(step, min(room_i, room_j))
        # bounds and 0 are met exactly
        coef[i] = end_i if step == room_i else coef[i] + step
        coef[j] = end_j if step == room_j else coef[j] - step
        rise[i], fall[i] = _offsets(coef[i], lower[i], upper[i], epsilon)
        rise[j], fall[j] = _offsets(coef[j], lower[j], upper[j], epsilon)
        n_iter += 1


@functools.partial(compiled, inline=True)
def _offsets(coef, lower, upper, epsilon):
    """Return the offsets of the slopes: f + rise is that of a rise, f - fall that of a fall."""
    rise = (epsilon if coef < 0 else -epsilon) if coef < upper else -np.inf
    fall = (epsilon if coef > 0 else -epsilon) if coef > lower else -np.inf
    return rise, fall


@functools.partial(compiled, flags=_VECTORS, inline=True)
def _update(f, row_i, row_j, step, rise, fall, highs, lows, start, stop):
    """Update the gradient by a step; return the largest f + rise and the largest fall - f."""
    highs[:], lows[:] = -np.inf, -np.inf
    for a in range(start, stop, LANES):
        g, p, q, up, down = (
            f[a : a + LANES],
            row_i[a : a + LANES],
            row_j[a : a + LANES],
            rise[a : a + LANES],
            fall[a : a + LANES],
        )
        for t in range(LANES):
            x = g[t] - step * (np.float64(p[t]) - np.float64(q[t]))
            g[t] = x
            y, z = x + up[t], down[t] - x
            highs[t] = y if y > highs[t] else highs[t]
            lows[t] = z if z > lows[t] else lows[t]
    return _largest(highs), _largest(lows)


@functools.partial(compiled, flags=_VECTORS, inline=True)
def _gains(row, f, fall, diagonal, gains, best, start, stop, own, top, scale):
    """Write the gain of each variable that may fall as a partner, in float32; return the largest."""
    floor = np.float32(_FLAT * abs(own) + 1e-37)
    best[:] = np.float32(-1.0)
    for a in range(start, stop, LANES):
        g, p, d, down, out = (
            f[a : a + LANES],
            row[a : a + LANES],
            diagonal[a : a + LANES],
            fall[a : a + LANES],
            gains[a : a + LANES],
        )
        for t in range(LANES):
            drop = np.float32((top - g[t] + down[t]) * scale)
            drop = drop if drop > np.float32(0.0) else np.float32(0.0)
            curvature = np.float32(own + d[t] - 2 * np.float64(p[t]))
            gain = drop * drop / (curvature if curvature > floor else floor)
            out[t] = gain
            best[t] = gain if gain > best[t] else best[t]
    return _largest(best)


@functools.partial(compiled, flags=_VECTORS, inline=True)
def _largest(lanes):
    """Return the largest lane by halving; the lanes are overwritten."""
    half = LANES // 2
    while half > 0:
        left, right = lanes[:half], lanes[half : 2 * half]
        for t in range(half):
            left[t] = left[t] if left[t] >= right[t] else right[t]
        half //= 2
    return lanes[0]


@functools.partial(compiled, flags=_VECTORS, inline=True)
def _find(f, offset, sign, value, start, stop):
    """Return the first place where sign f + offset equals a value that is among them."""
    for a in range(start, stop, LANES):
        g, b = f[a : a + LANES], offset[a : a + LANES]
        found = 0
        for t in range(LANES):
            found += sign * g[t] + b[t] == value
        if found:
            for t in range(LANES):
                if sign * g[t] + b[t] == value:
                    return a + t
    return start


@functools.partial(compiled, flags=_VECTORS, inline=True)
def _first(gains, value, start, stop):
    """Return the first place of a value that is among the gains."""
    for a in range(start, stop, LANES):
        g = gains[a : a + LANES]
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
        for k in range(rows.size):
            w, row = weights[k], K[rows[k], start : start + _PIECE]
            for t in range(g.size):
                g[t] -= w * np.float64(row[t])


@compiled
def gather(K, rows, columns, out):
    """Copy K[rows][:, columns] to the first columns of ``out`` (rows, at least columns), zeros to the rest."""
    for i in range(rows.size):
        row, to = K[rows[i]], out[i]
        for j in range(columns.size):
            to[j] = row[columns[j]]
        to[columns.size :] = 0
