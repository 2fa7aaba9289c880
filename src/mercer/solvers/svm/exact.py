"""Refinement of small solutions in compiled code: Newton steps with float64 kernel values of the raw points."""

from __future__ import annotations

import functools

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.indirect import call_filler
from mercer._compute.intrinsics import empty, small, smaller
from mercer.solvers.svm.compiled_active_set import newton_steps
from mercer.solvers.svm.on_demand import add_rows
from mercer.solvers.svm.smo import VECTORS, offsets, subtract


@compiled
def near_first(f, coef, lower, upper, epsilon, bias, reach, order):
    """Write the places of variables within ``reach`` of the bias, then of others that are not 0; count both."""
    small()
    near = 0
    for t in range(order.size):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        if f[t] + rise > bias - reach or f[t] - fall < bias + reach:
            order[near] = t
            near += 1
    count = near
    for t in range(order.size):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        if coef[t] != 0 and not (f[t] + rise > bias - reach or f[t] - fall < bias + reach):
            order[count] = t
            count += 1
    return near, count


@compiled
def exact_tile(raw, places, centre, factor):
    """Return factor (x - centre) of some points as one tile (1, d, points), and their |x - centre|^2, in float64."""
    small()
    tiles, squares = empty((1, raw.shape[1], places.size), np.float64), empty(places.size, np.float64)
    tile = tiles[0]
    for a in range(places.size):
        row, total = raw[places[a]], 0.0
        for k in range(row.size):
            x = row[k] - centre[k]
            tile[k, a] = factor * x
            total += x * x
        squares[a] = total
    return tiles, squares


@functools.partial(compiled, flags=VECTORS)
def refine(points, exact, own, K, slots, used, target, f, coef, lower, upper, epsilon, bias, reach, operations):
    """Refine a solution if the number of ``operations`` suffices; return whether it did.

    ``exact`` are the address of the loop that fills float64 rows, the points as given, the centre, the factor of
    coordinates, the parameters and the diagonal; ``own`` are the points of the variables, the others as in `add_rows`.
    """
    small()
    fill, raw, centre, factor, parameters, diagonal = exact
    order = empty(own.size, np.int64)
    near, count = near_first(f, coef, lower, upper, epsilon, bias, reach, order)
    operations -= 2.0 * near * count * (raw.shape[1] + 10) + near * near * near / 3.0
    if near == 0 or operations < 0:
        return False
    places, wanted = empty(count, np.int64), empty(near, np.int64)
    for a in range(count):
        places[a] = own[order[a]]
        wanted[smaller(a, near - 1)] = smaller(a, near - 1)
    tiles, squares = exact_tile(raw, places, centre, factor)
    M, gradient, b = empty((near, count), np.float64), empty(near, np.float64), empty(near, np.float64)
    low, high = empty(near, np.float64), empty(near, np.float64)
    call_filler(fill, tiles, squares, parameters, wanted, M)
    for a in range(near):
        t, row = order[a], M[a]
        row[a] = diagonal[own[t]]
        gradient[a], b[a], low[a], high[a] = target[t], coef[t], lower[t], upper[t]
        for c in range(count):
            gradient[a] -= row[c] * coef[order[c]]
    newton_steps(M, gradient, b, low, high, epsilon, bias, operations)
    moved, change, count = wanted, empty(near, np.float64), 0
    for a in range(near):
        t = order[a]
        if b[a] != coef[t]:
            used = add_rows(points, K, slots, used, order[a : a + 1]) if slots[t] < 0 else used
            moved[count], change[count] = slots[t], b[a] - coef[t]
            count += 1
    subtract(K, moved[:count], change[:count], f)
    for a in range(near):
        coef[order[a]], f[order[a]] = b[a], gradient[a]
    return True
