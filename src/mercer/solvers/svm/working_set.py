"""The compiled loop of sequential minimal optimisation: two variables at a time, chosen by second-order gain.

Everything here speaks of signed coefficients b_i (y_i alpha_i for a classifier) and of the scores f = t - K b, the
negative gradient of the smooth part of the dual. A variable may rise while b_i < upper_i and fall while
b_i > lower_i. Where b_i = 0 has a price of its own, the tube times |b_i|, it rises by f_i - tube and falls by
f_i + tube at 0, and both are f_i - tube above and f_i + tube below.
"""

import functools

import numpy as np

from mercer._compute.compile import compiled, wide

# Variables come in whole lanes, so that maxima are taken lane by lane on the widest vectors.
LANES = 256
# A pair whose distance in feature space is below this share of its norms is moved as if it were this far apart.
_FLAT = 1e-12
# Scores that stay in cache while rows pass.
_PIECE = 2048
# Nothing compared is a NaN, and saying so lets comparisons run on vectors.
_VECTORS = frozenset({"contract", "reassoc", "nsz", "nnan"})


@functools.partial(compiled, flags=_VECTORS)
def optimise(K, slots, diagonal, f, coef, lower, upper, tube, groups, tol, max_iter):
    """Solve the dual by pairs of second-order gain, changing ``f`` and ``coef`` in place, until a row is missing.

    Each step takes the variable i of largest score among those that may rise, and of those that may fall the j with the
    largest gain (f_i - f_j)^2 / (K_ii + K_jj - 2 K_ij), and moves both until the pair is solved or a bound is met.

    Parameters
    ----------
    K : array (rows, m)
        Kernel rows, m a multiple of ``LANES``.
    slots : int array (m,)
        Which row of K belongs to a variable, negative where none does yet.
    diagonal, f, coef, lower, upper : float64 array (m,)
        A variable with ``lower == upper`` only fills up.
    tube : float
        Price of |b_i|, at least 0; where it is above, 0 lies between the bounds, and a step that meets it ends there.
    groups : int array (g + 1,)
        Variables ``groups[k]`` to ``groups[k + 1]``, multiples of ``LANES``, keep their sum: one group, or two in the
        nu form.
    tol : float
        Stop when no pair of a group violates by more.
    max_iter : int

    Returns
    -------
    n_iter : int
    missing : int
        The variable whose row is needed next, or -1.
    gap : float
        The largest violation found by the last search.

    Notes
    -----
    O(m) per step. Fan, Chen, Lin, *Working set selection using second order information*, JMLR 6 (2005), WSS 2.
    """
    wide()
    m = f.size
    # added to scores and to minus scores: the price of rising and of falling, -inf at the bound in question
    rise, fall, gains = np.empty(m), np.empty(m), np.empty(m, np.float32)
    highs, lows, best = np.empty(LANES), np.empty(LANES), np.empty(LANES, np.float32)
    for t in range(m):
        rise[t], fall[t] = _prices(coef[t], lower[t], upper[t], tube)
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
        # gains that underflow leave the pair that violates most
        j = _first(gains, won, start, stop) if won > 0 else _find(f, fall, -1.0, bottom, start, stop)
        if slots[j] < 0:
            return n_iter, j, widest
        row_j = K[slots[j]]
        floor = _FLAT * (abs(diagonal[i]) + abs(diagonal[j])) + 1e-300
        step = (top - f[j] + fall[j]) / max(diagonal[i] + diagonal[j] - 2 * np.float64(row_i[j]), floor)
        end_i = 0.0 if tube > 0 and coef[i] < 0 else upper[i]
        end_j = 0.0 if tube > 0 and coef[j] > 0 else lower[j]
        room_i, room_j = end_i - coef[i], coef[j] - end_j
        step = min(step, min(room_i, room_j))
        # bounds and 0 are met exactly: a coefficient is either there or inside
        coef[i] = end_i if step == room_i else coef[i] + step
        coef[j] = end_j if step == room_j else coef[j] - step
        rise[i], fall[i] = _prices(coef[i], lower[i], upper[i], tube)
        rise[j], fall[j] = _prices(coef[j], lower[j], upper[j], tube)
        n_iter += 1


@functools.partial(compiled, inline=True)
def _prices(coef, lower, upper, tube):
    """Return what is added to the score of a variable that rises, and to minus the score of one that falls."""
    rise = (tube if coef < 0 else -tube) if coef < upper else -np.inf
    fall = (tube if coef > 0 else -tube) if coef > lower else -np.inf
    return rise, fall


@functools.partial(compiled, flags=_VECTORS, inline=True)
def _update(f, row_i, row_j, step, rise, fall, highs, lows, start, stop):
    """Take a step in the scores; return the largest f that may rise and the largest -f that may fall."""
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
    """Write what each variable that may fall gains, and return the largest: float32 will do to compare."""
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
    """Return the largest of the lanes, which are overwritten: each round keeps the larger of two halves."""
    half = LANES // 2
    while half > 0:
        left, right = lanes[:half], lanes[half : 2 * half]
        for t in range(half):
            left[t] = left[t] if left[t] >= right[t] else right[t]
        half //= 2
    return lanes[0]


@functools.partial(compiled, flags=_VECTORS, inline=True)
def _find(f, bar, sign, value, start, stop):
    for a in range(start, stop, LANES):
        g, b = f[a : a + LANES], bar[a : a + LANES]
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
    """Subtract weighted rows of K from ``f``, in float64.

    Parameters
    ----------
    K : array (rows, m)
    rows : int array (k,)
    weights : float64 array (k,)
    f : float64 array (m,)
    """
    wide()
    for start in range(0, f.size, _PIECE):
        g = f[start : start + _PIECE]
        for k in range(rows.size):
            w, row = weights[k], K[rows[k], start : start + _PIECE]
            for t in range(g.size):
                g[t] -= w * np.float64(row[t])


@compiled
def gather(K, rows, columns, out):
    """Copy K[rows, columns] to the beginning of the rows of ``out``, and zeros to the rest.

    Parameters
    ----------
    K : array
    rows, columns : int array
    out : array (rows, at least columns)
    """
    for i in range(rows.size):
        row, to = K[rows[i]], out[i]
        for j in range(columns.size):
            to[j] = row[columns[j]]
        to[columns.size :] = 0
