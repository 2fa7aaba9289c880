"""Kernel rows on demand in compiled code: a few rows at a time, by loops over tiles of transposed points."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.costs import AT_ONCE, DEPTH, LANES, ROW_TILE, ROW_TILE_COORDINATES, TOGETHER
from mercer._compute.distances import recompute_row
from mercer._compute.intrinsics import call_loop, empty, larger, small, smaller, wide
from mercer.solvers.svm.smo import compiled_vectors, subtract_changes

# Places of the counts of a state: rows in use, steps taken, rows wanted.
USED, TAKEN, WANTED = range(3)
# Rows are wanted of variables that violate by this share of the most.
_RELEVANT = 0.5


class Terms(NamedTuple):
    """The terms of a kernel: addresses of the loops of profiles (q,), their factors and a constant (q + 1,).

    Row k of ``parameters`` begins with those of profile k.
    """

    loops: Any
    factors: Any
    parameters: Any


class RawRows(NamedTuple):
    """All points of kernel rows, as compiled code takes them; ``scale`` and what follows have the type of the rows.

    ``terms`` make kernel values of scalars, ``coordinates`` (n, d) are the points as given in float64. For
    a kernel of distances their products about a ``centre`` (d,) have the factor ``scale`` -2, otherwise 1; distances
    below a ``share`` of the norms are computed again (0: none). ``values`` are all kernel values (n, n) where they are
    known, otherwise (0, 0).
    """

    terms: Terms
    coordinates: Any
    centre: Any
    scale: Any
    share: Any
    diagonal: Any
    values: Any

    @classmethod
    def without_points(cls, values: Any, diagonal: Any) -> RawRows:
        """Return rows of known values, or without any, of which compiled code computes none."""
        dtype = values.dtype
        one = dtype.type(1)
        coordinates = np.empty((len(diagonal), 0))
        terms = Terms(np.empty(0, int), np.empty(0, dtype), np.empty((0, 0), dtype))
        return cls(terms, coordinates, np.empty(0), one, one, diagonal, values)


class Tiles(NamedTuple):
    """The points of some variables in tiles, their squared norms, and what `RawRows` has of them.

    ``values`` are the kernel values between all points, of which ``own`` are those of the variables, or none.
    """

    terms: Terms
    tiles: Any
    squares: Any
    scale: Any
    share: Any
    diagonal: Any
    values: Any
    own: Any


@compiled_vectors
def picked(values, places, arena):
    """Return the values at some places, 0 for padding."""
    small()
    out = empty(places.size, values.dtype, arena)
    for t in range(places.size):
        out[t] = values[places[t]] if places[t] >= 0 else 0
    return out


@compiled_vectors
def tiles_of_points(rows, own, K, arena=None):
    """Return the tiles of the points ``own`` of variables, padded to the width of K."""
    small()
    m = K.shape[1]
    diagonal = empty(m, K.dtype, arena)
    squares = empty(m, np.float64, arena)
    rounded = empty(m, K.dtype, arena)
    for t in range(m):
        diagonal[t] = rows.diagonal[own[t]] if t < own.size else 0
        squares[t] = 0
    tiles = tiles_of(rows.coordinates, rows.centre, own, K, arena)
    for b in range(tiles.shape[0] if rows.scale < 0 else 0):
        tile = tiles[b]
        part = squares[b * tile.shape[1] : (b + 1) * tile.shape[1]]
        for k in range(tile.shape[0]):
            for t in range(part.size):
                part[t] += np.float64(tile[k, t]) * np.float64(tile[k, t])
    for t in range(m):
        rounded[t] = squares[t]
    return Tiles(
        rows.terms,
        tiles,
        rounded,
        rows.scale,
        rows.share,
        diagonal,
        rows.values,
        own,
    )


@compiled_vectors
def tiles_of(rows, centre, points, K, arena=None):
    """Return the coordinates of some points about a centre (d,), padded to the width of K, as tiles (k, d, width)."""
    small()
    d = centre.size
    m = K.shape[1]
    width = smaller(
        smaller(ROW_TILE, m), larger(LANES, ROW_TILE_COORDINATES // (larger(d, 1) * LANES) * LANES)
    )
    tiles = empty((-(-m // width), d, width), K.dtype, arena)
    for b in range(tiles.shape[0]):
        own = points[b * width : (b + 1) * width]
        tile = tiles[b]
        for left in range(0, width, LANES):
            for k in range(d):
                for t in range(left, smaller(left + LANES, width)):
                    tile[k, t] = rows[own[t], k] - centre[k] if t < own.size else 0
    return tiles


@functools.partial(compiled_vectors, inline=True)
def _add_products(own, tile, left, k, stop, out):
    """Add the inner products of a point with those of a tile from ``left`` on: coordinates k to stop, by eights."""
    while k + 8 <= stop:
        a = own[k]
        b = own[k + 1]
        c = own[k + 2]
        d = own[k + 3]
        e = own[k + 4]
        f = own[k + 5]
        g = own[k + 6]
        h = own[k + 7]
        # two at a time: Python makes tuples of more, which take longer to compile
        p = tile[k, left:]
        q = tile[k + 1, left:]
        r = tile[k + 2, left:]
        s = tile[k + 3, left:]
        v = tile[k + 4, left:]
        w = tile[k + 5, left:]
        x = tile[k + 6, left:]
        y = tile[k + 7, left:]
        for t in range(out.size):
            first = a * p[t] + b * q[t] + c * r[t] + d * s[t]
            out[t] += first + (e * v[t] + f * w[t] + g * x[t] + h * y[t])
        k += 8
    while k < stop:
        a = own[k]
        p = tile[k, left:]
        for t in range(out.size):
            out[t] += a * p[t]
        k += 1


@compiled_vectors
def fill_rows(points, wanted, out, left):
    """Write kernel values of the points ``wanted`` with all from ``left`` on to the rows of ``out``; see `Tiles`."""
    wide()
    terms = points.terms
    # most kernels are one profile
    plain = terms.loops.size == 1 and terms.factors[0] == 1 and terms.factors[1] == 0
    parameters = terms.parameters[0]
    tiles = points.tiles
    squares = points.squares
    scale = points.scale
    factor = squares.dtype.type(-0.5) * scale
    width = tiles.shape[2]
    own = empty((wanted.size, tiles.shape[1]), tiles.dtype)
    for r in range(wanted.size):
        t = wanted[r]
        for k in range(tiles.shape[1]):
            own[r, k] = tiles[t // width, k, t % width]
    for b in range(left // width, tiles.shape[0]):
        tile = tiles[b]
        start = larger(left, b * width)
        first = start - b * width
        other = squares[start : (b + 1) * width]
        for k in range(0, own.shape[1], DEPTH):
            for r in range(wanted.size):
                part = out[r, start : (b + 1) * width]
                if k == 0:
                    for t in range(part.size):
                        part[t] = 0
                _add_products(own[r], tile, first, k, smaller(k + DEPTH, own.shape[1]), part)
        for r in range(wanted.size):
            part = out[r, start : (b + 1) * width]
            square = squares[wanted[r]]
            for t in range(part.size):
                part[t] = square + other[t] + scale * part[t]
            if points.share > 0:
                recompute_row(own[r], tile[:, first:].T, square, other, points.share, factor, part)
        # loops over known scalars need only the number of columns
        columns = out[:, start : (b + 1) * width]
        if plain:
            call_loop(terms.loops[0], own, columns, out, start, parameters)
        else:
            _add_terms(terms, own, columns, out, start)


@compiled_vectors
def _add_terms(terms, own, columns, out, start):
    """Replace the scalars in some columns of ``out`` by the sum of the terms."""
    small()
    q = terms.loops.size
    scalars = empty((own.shape[0], columns.shape[1]), out.dtype)
    part = empty((own.shape[0], columns.shape[1]), out.dtype)
    for r in range(own.shape[0]):
        row = out[r, start : start + columns.shape[1]]
        for t in range(row.size):
            scalars[r, t] = row[t]
            row[t] = terms.factors[q]
    for k in range(q):
        for r in range(own.shape[0]):
            for t in range(columns.shape[1]):
                part[r, t] = scalars[r, t]
        call_loop(terms.loops[k], own, part, part, 0, terms.parameters[k])
        factor = terms.factors[k]
        for r in range(own.shape[0]):
            row = out[r, start : start + columns.shape[1]]
            for t in range(row.size):
                row[t] += factor * part[r, t]


@compiled
def _copy_rows(values, own, wanted, out):
    """Copy the kernel values of the points ``own[wanted]`` with the points ``own`` to the rows of ``out``."""
    small()
    for a in range(wanted.size):
        row = values[own[wanted[a]]]
        to = out[a]
        for b in range(to.size):
            to[b] = row[own[b]] if b < own.size else 0


@compiled
def add_rows(points, K, slots, used, wanted):
    """Write rows of K from slot ``used`` on; return the number of slots in use."""
    small()
    for start in range(0, wanted.size, TOGETHER):
        few = wanted[start : start + TOGETHER]
        rows = K[used : used + few.size]
        if points.values.size:
            _copy_rows(points.values, points.own, few, rows)
        else:
            # columns of rows that are known, in whole lanes: a look at many rows takes longer than values
            left = 0
            while left < slots.size <= AT_ONCE and slots[left] >= 0:
                left += 1
            left = left // LANES * LANES
            fill_rows(points, few, rows, left)
            for a in range(few.size):
                for t in range(left):
                    rows[a, t] = K[slots[t], few[a]]
        for a in range(few.size):
            t = few[a]
            K[used, t] = points.diagonal[t]
            slots[t] = used
            used += 1
    return used


@compiled_vectors
def add_changes(points, s, before):
    """Subtract the products of K with changes of coefficients from f; of few variables all rows are computed."""
    small()
    m = s.coef.size
    wanted = empty(m, np.int64, s.arena)
    count = 0
    for t in range(m):
        if (m <= AT_ONCE or s.coef[t] != before[t]) and s.slots[t] < 0 and s.lower[t] < s.upper[t]:
            wanted[count] = t
            count += 1
    s.counts[USED] = add_rows(points, s.K, s.slots, s.counts[USED], wanted[:count])
    subtract_changes(s, before)


@compiled_vectors
def wanted_rows(groups, middle, rising, falling, slots, missing, wanted):
    """Write the variable whose row is missing, if there is one, and those without a row that violate most; count all.

    ``middle`` has one value for each group.
    """
    small()
    worth = empty(wanted.size, np.float64)
    count = 0
    if missing >= 0:
        wanted[0] = missing
        worth[0] = np.inf
        count = 1
    if count == wanted.size:
        return count
    worst = 0.0
    for g in range(groups.size - 1):
        for t in range(groups[g], groups[g + 1]):
            if slots[t] < 0:
                worst = larger(worst, larger(rising[t] - middle[g], falling[t] + middle[g]))
    for g in range(groups.size - 1):
        for t in range(groups[g], groups[g + 1]):
            excess = larger(rising[t] - middle[g], falling[t] + middle[g])
            least = worth[count - 1] if count == wanted.size else 0.0
            if slots[t] < 0 and t != missing and excess > larger(least, _RELEVANT * worst):
                # insertion into the descending list
                place = smaller(count, wanted.size - 1)
                while place > 0 and worth[place - 1] < excess:
                    worth[place] = worth[place - 1]
                    wanted[place] = wanted[place - 1]
                    place -= 1
                worth[place] = excess
                wanted[place] = t
                count = smaller(count + 1, wanted.size)
    return count
