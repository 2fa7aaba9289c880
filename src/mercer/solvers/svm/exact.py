"""Refinement of small solutions in compiled code: Newton steps with float64 kernel values of the raw points."""

from __future__ import annotations

import functools

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.indirect import call_loop
from mercer._compute.intrinsics import empty, small, smaller, wide
from mercer.solvers.svm.compiled_active_set import newton_steps
from mercer.solvers.svm.on_demand import DEPTH, add_rows
from mercer.solvers.svm.smo import VECTORS, offsets, subtract


@compiled
def near_first(f, coef, lower, upper, epsilon, bias, group, reach, order):
    """Write the places of variables within ``reach`` of their bias, then of others that are not 0; count both."""
    small()
    near, last = 0, order.size
    for t in range(order.size):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        level = bias[group[t]]
        if f[t] + rise > level - reach or f[t] - fall < level + reach:
            order[near] = t
            near += 1
        elif coef[t] != 0:
            last -= 1
            order[last] = t
    for a in range(last, order.size):
        order[near + a - last] = order[a]
    return near, near + order.size - last


@functools.partial(compiled, flags=VECTORS)
def exact_scalars(raw, places, radial, out):
    """Write squared distances, from differences, or inner products of the first points with all to ``out``.

    Return the transposed points.
    """
    wide()
    tile = empty((raw.shape[1], places.size), np.float64)
    for a in range(places.size):
        row = raw[places[a]]
        for k in range(row.size):
            tile[k, a] = row[k]
    for first in range(0, raw.shape[1], DEPTH):
        for a in range(out.shape[0]):
            to = out[a]
            if first == 0:
                for c in range(to.size):
                    to[c] = 0
            for k in range(first, smaller(first + DEPTH, raw.shape[1])):
                x, other = tile[k, a], tile[k]
                if radial:
                    for c in range(to.size):
                        to[c] += (x - other[c]) * (x - other[c])
                else:
                    for c in range(to.size):
                        to[c] += x * other[c]
    return tile


@functools.partial(compiled, flags=VECTORS)
def refine(points, exact, own, K, slots, used, target, f, coef, lower, upper, epsilon, bias, group, reach, operations):
    """Refine a solution if the number of ``operations`` suffices; return whether it did.

    ``exact`` are the address of the loop of the profile in float64, the points as given, whether it takes distances,
    parameters, the diagonal, and all kernel values or none; ``own`` are the points of the variables, ``bias`` and
    ``group`` as in `newton_steps`, the others as in `add_rows`.
    """
    small()
    finish, raw, radial, parameters, diagonal, values = exact
    order = empty(own.size, np.int64)
    near, count = near_first(f, coef, lower, upper, epsilon, bias, group, reach, order)
    operations -= 2.0 * near * count * (raw.shape[1] + 10) + near * near * near / 3.0
    if near == 0 or operations < 0:
        return False
    places, moved = empty(count, np.int64), empty(near, np.int64)
    for a in range(count):
        places[a] = own[order[a]]
    M, gradient, b = empty((near, count), np.float64), empty(near, np.float64), empty(near, np.float64)
    low, high, groups = empty(near, np.float64), empty(near, np.float64), empty(near, np.int64)
    if values.size == 0:
        tile = exact_scalars(raw, places, radial, M)
        call_loop(finish, tile, tile, M, 0, parameters)
    for a in range(near):
        t, row = order[a], M[a]
        for c in range(count if values.size else 0):
            row[c] = values[places[a], places[c]]
        row[a] = diagonal[own[t]]
        gradient[a], b[a], low[a], high[a], groups[a] = target[t], coef[t], lower[t], upper[t], group[t]
        for c in range(count):
            gradient[a] -= row[c] * coef[order[c]]
    newton_steps(M, gradient, b, low, high, epsilon, bias, groups, operations)
    change, count = empty(near, np.float64), 0
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
