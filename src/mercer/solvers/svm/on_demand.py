"""Kernel rows on demand in compiled code: one row at a time, by loops over the columns of transposed points."""

import functools

from mercer._compute import compile as _compile
from mercer._compute.compile import compiled, dispatcher, fingerprint, specialised, wide
from mercer.solvers.svm.smo import VECTORS

# Columns of a row that stay in the processor's cache while coordinates pass.
_TILE = 512
# Rows and columns of a tile that is transposed.
_SIDE = 16


def cached(profile, scalar):
    """Return the options under which compiled code for a profile is kept on disk."""
    # imported here: it imports Numba
    from mercer._compute import fastmath

    key = fingerprint(profile, 0, scalar, fastmath, _compile)
    return {"flags": VECTORS, "cache": key is not None, "key": key}


@functools.partial(compiled, flags=VECTORS)
def gather_columns(rows, points, out):
    """Copy the coordinates of some points to the columns of ``out`` (d, m), tile by tile; zeros to the rest."""
    for left in range(0, points.size, _SIDE):
        for top in range(0, out.shape[0], _SIDE):
            for t in range(left, min(left + _SIDE, points.size)):
                for k in range(top, min(top + _SIDE, out.shape[0])):
                    out[k, t] = rows[points[t], k]
    for k in range(out.shape[0]):
        for t in range(points.size, out.shape[1]):
            out[k, t] = 0


@functools.partial(compiled, flags=VECTORS, inline=True)
def _add_products(columns, i, start, out):
    """Add the inner products of column i with the columns from ``start`` on to ``out``, eight coordinates at a time."""
    stop, k = start + out.size, 0
    while k + 8 <= columns.shape[0]:
        a, b, c, d = columns[k, i], columns[k + 1, i], columns[k + 2, i], columns[k + 3, i]
        e, f, g, h = columns[k + 4, i], columns[k + 5, i], columns[k + 6, i], columns[k + 7, i]
        p, q = columns[k, start:stop], columns[k + 1, start:stop]
        r, s = columns[k + 2, start:stop], columns[k + 3, start:stop]
        v, w = columns[k + 4, start:stop], columns[k + 5, start:stop]
        x, y = columns[k + 6, start:stop], columns[k + 7, start:stop]
        for t in range(out.size):
            first = a * p[t] + b * q[t] + c * r[t] + d * s[t]
            out[t] += first + (e * v[t] + f * w[t] + g * x[t] + h * y[t])
        k += 8
    while k < columns.shape[0]:
        a, p = columns[k, i], columns[k, start:stop]
        for t in range(out.size):
            out[t] += a * p[t]
        k += 1


@functools.lru_cache(maxsize=64)
def row_filler(profile, scalar):
    """Return the compiled loop ``fill(columns, squares, parameters, i, out)``: kernel values of column i with all.

    ``columns`` (d, m) hold -2 (x - centre) for a kernel of distances, and ``squares`` |x - centre|^2.
    """
    from mercer._compute import fastmath

    value, xp, radial = specialised(profile, 0), fastmath, scalar == "radial"

    def fill(columns, squares, parameters, i, out):
        wide()
        own = squares[i]
        for start in range(0, out.size, _TILE):
            part, other = out[start : start + _TILE], squares[start : start + _TILE]
            for t in range(part.size):
                part[t] = 0
            _add_products(columns, i, start, part)
            for t in range(part.size):
                s = part[t]
                if radial:
                    # the factors -2 of both columns make 4 <x, z>
                    s = xp.maximum(own + other[t] - xp.const(s, 0.5) * s, xp.const(s, 0))
                part[t] = value(xp, s, *parameters)

    return dispatcher(fill, **cached(profile, scalar))


@functools.lru_cache(maxsize=64)
def row_adder(profile, scalar):
    """Return the compiled function ``add(points, K, slots, used, t)``: row t of K, in slot ``used``.

    ``points`` are the columns, their squares, the parameters and the diagonal. The number of slots in use is returned.
    """
    fill = row_filler(profile, scalar)

    def add(points, K, slots, used, t):
        columns, squares, parameters, diagonal = points
        fill(columns, squares, parameters, t, K[used])
        K[used, t] = diagonal[t]
        slots[t] = used
        return used + 1

    return dispatcher(add, **cached(profile, scalar))
