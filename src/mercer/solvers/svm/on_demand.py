"""Kernel rows on demand in compiled code: a few rows at a time, by loops over tiles of transposed points."""

import functools

import numpy as np

from mercer._compute import compile as _compile
from mercer._compute.compile import compiled, dispatcher, fingerprint, specialised, wide
from mercer.solvers.svm.smo import LANES, VECTORS

# Points of a tile, and coordinates of its points: several rows are computed while it stays in the processor's cache.
_TILE, _COORDINATES = 4 * LANES, 1 << 18
# Coordinates of a tile that stay in the fastest cache while rows pass.
_DEPTH = 16
# Points whose coordinates are copied together.
_SIDE = 16
# Rows computed together where products of coordinates take most of the time: from so many coordinates on.
TOGETHER, _WIDE = 8, 64


def cached(profile, scalar):
    """Return the options under which compiled code for a profile is kept on disk."""
    # imported here: they import Numba, or this module
    from mercer._compute import fastmath
    from mercer.solvers.svm import compiled_active_set, rounds, smo

    # an edited file of functions that machine code contains is compiled again
    key = fingerprint(profile, 0, scalar, fastmath, _compile, compiled_active_set, rounds, smo)
    return {"flags": VECTORS, "cache": key is not None, "key": key}


@functools.partial(compiled, flags=VECTORS)
def tiles_of(rows, points, m):
    """Return the coordinates of some points, and zeros up to m points, as tiles (k, d, points of a tile)."""
    d = rows.shape[1]
    width = min(_TILE, max(LANES, _COORDINATES // (d * LANES) * LANES), m)
    tiles = np.zeros((-(-m // width), d, width), rows.dtype)
    for b in range(tiles.shape[0]):
        own, tile = points[b * width : (b + 1) * width], tiles[b]
        for left in range(0, own.size, _SIDE):
            for k in range(d):
                for t in range(left, min(left + _SIDE, own.size)):
                    tile[k, t] = rows[own[t], k]
    return tiles


@functools.partial(compiled, flags=VECTORS, inline=True)
def _add_products(own, tile, k, stop, out):
    """Add the inner products of a point with those of a tile to ``out``: coordinates k to stop, eight at a time."""
    while k + 8 <= stop:
        a, b, c, d = own[k], own[k + 1], own[k + 2], own[k + 3]
        e, f, g, h = own[k + 4], own[k + 5], own[k + 6], own[k + 7]
        p, q, r, s = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]
        v, w, x, y = tile[k + 4], tile[k + 5], tile[k + 6], tile[k + 7]
        for t in range(out.size):
            first = a * p[t] + b * q[t] + c * r[t] + d * s[t]
            out[t] += first + (e * v[t] + f * w[t] + g * x[t] + h * y[t])
        k += 8
    while k < stop:
        a, p = own[k], tile[k]
        for t in range(out.size):
            out[t] += a * p[t]
        k += 1


@functools.lru_cache(maxsize=64)
def row_filler(profile, scalar):
    """Return the compiled loop ``fill(tiles, squares, parameters, wanted, out)``: kernel values of points with all.

    ``wanted`` are the points of the rows of ``out``. For a kernel of distances ``tiles`` hold -2 (x - centre), and
    ``squares`` |x - centre|^2.
    """
    from mercer._compute import fastmath

    value, xp, radial = specialised(profile, 0), fastmath, scalar == "radial"

    def fill(tiles, squares, parameters, wanted, out):
        wide()
        width = tiles.shape[2]
        own = np.empty((wanted.size, tiles.shape[1]), tiles.dtype)
        for r in range(wanted.size):
            t = wanted[r]
            for k in range(tiles.shape[1]):
                own[r, k] = tiles[t // width, k, t % width]
        for b in range(tiles.shape[0]):
            other = squares[b * width : (b + 1) * width]
            out[: wanted.size, b * width : b * width + other.size] = 0
            for k in range(0, own.shape[1], _DEPTH):
                for r in range(wanted.size):
                    part = out[r, b * width : (b + 1) * width]
                    _add_products(own[r], tiles[b], k, min(k + _DEPTH, own.shape[1]), part)
            for r in range(wanted.size):
                part, square = out[r, b * width : (b + 1) * width], squares[wanted[r]]
                for t in range(part.size):
                    s = part[t]
                    if radial:
                        # the factors -2 of both points make 4 <x, z>
                        s = xp.maximum(square + other[t] - xp.const(s, 0.5) * s, xp.const(s, 0))
                    part[t] = value(xp, s, *parameters)

    return dispatcher(fill, **cached(profile, scalar))


@compiled
def no_rows(_points, _K, _slots, used, _wanted):
    """Add no rows, where all are known."""
    return used


@functools.lru_cache(maxsize=64)
def row_adder(profile, scalar):
    """Return the compiled function ``add(points, K, slots, used, wanted)``: rows of K, from slot ``used`` on.

    ``points`` are tiles, squares, the parameters and the diagonal. The number of slots in use is returned. Without a
    profile all rows are known, and none is added.
    """
    if profile is None:
        return no_rows
    fill = row_filler(profile, scalar)

    def add(points, K, slots, used, wanted):
        tiles, squares, parameters, diagonal = points
        for start in range(0, wanted.size, TOGETHER):
            few = wanted[start : start + TOGETHER]
            fill(tiles, squares, parameters, few, K[used : used + few.size])
            for t in few:
                K[used, t] = diagonal[t]
                slots[t] = used
                used += 1
        return used

    return dispatcher(add, **cached(profile, scalar))


@compiled
def wanted_rows(d, missing, rising, falling, slots, wanted):
    """Write the variable whose row is missing, and those without a row that violate most; return how many.

    Rows of many coordinates d cost less if they are computed together, and most violating variables will need theirs.
    """
    wanted[0] = missing
    if d < _WIDE:
        return 1
    top = bottom = -np.inf
    for t in range(rising.size):
        top, bottom = max(top, rising[t]), max(bottom, falling[t])
    middle, count, least = 0.5 * (top - bottom), 1, 0.0
    worth = np.zeros(wanted.size)
    for t in range(rising.size):
        excess = max(rising[t] - middle, falling[t] + middle)
        if slots[t] < 0 and t != missing and excess > least:
            # insertion into the descending list
            place = min(count, wanted.size - 1)
            while place > 1 and worth[place - 1] < excess:
                worth[place], wanted[place] = worth[place - 1], wanted[place - 1]
                place -= 1
            worth[place], wanted[place] = excess, t
            count = min(count + 1, wanted.size)
            least = worth[count - 1] if count == wanted.size else 0.0
    return count
