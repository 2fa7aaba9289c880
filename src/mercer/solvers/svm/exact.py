"""Refinement of small solutions in compiled code: Newton steps with float64 kernel values of the raw points."""

import functools

import numpy as np

from mercer._compute.compile import compiled, dispatcher
from mercer.solvers.svm.compiled_active_set import newton_steps
from mercer.solvers.svm.on_demand import cached, row_adder, row_filler, tiles_of
from mercer.solvers.svm.smo import offsets, subtract


@compiled
def near_first(f, coef, lower, upper, epsilon, bias, reach, order):
    """Write the places of variables within ``reach`` of the bias, then of others that are not 0; count both."""
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
def exact_points(rows, points, order, centre, factor):
    """Return factor (x - centre) of some points in float64 (n, d), and their |x - centre|^2."""
    own, squares = np.empty((order.size, rows.shape[1])), np.zeros(order.size)
    for a in range(order.size):
        for k in range(rows.shape[1]):
            x = np.float64(rows[points[order[a]], k]) - centre[k]
            own[a, k] = factor * x
            squares[a] += x * x
    return own, squares


@functools.lru_cache(maxsize=64)
def refiner(profile, scalar):
    """Return the compiled function that refines a solution if ``operations`` suffice, and tells whether it did.

    ``raw`` holds the points as given, the points of the variables, the centre, float64 parameters and the diagonal.
    """
    fill, add, factor = row_filler(profile, scalar), row_adder(profile, scalar), -2.0 if scalar == "radial" else 1.0

    def refine(points, raw, K, slots, used, target, f, coef, lower, upper, epsilon, bias, reach, operations):
        rows, own, centre, parameters, diagonal = raw
        order = np.empty(own.size, np.int64)
        near, count = near_first(f, coef, lower, upper, epsilon, bias, reach, order)
        operations -= 2.0 * near * count * (rows.shape[1] + 10) + near**3 / 3.0
        if near == 0 or operations < 0:
            return False
        exact, squares = exact_points(rows, own, order[:count], centre, factor)
        tiles = tiles_of(exact, np.arange(count), count)
        M, gradient, b = np.empty((near, count)), np.empty(near), np.empty(near)
        low, high = np.empty(near), np.empty(near)
        fill(tiles, squares, parameters, np.arange(near), M)
        for a in range(near):
            t = order[a]
            M[a, a] = diagonal[own[t]]
            gradient[a], b[a], low[a], high[a] = target[t], coef[t], lower[t], upper[t]
            for c in range(count):
                gradient[a] -= M[a, c] * coef[order[c]]
        newton_steps(M, gradient, b, low, high, epsilon, bias, operations)
        moved, change, count = np.empty(near, np.int64), np.empty(near), 0
        for a in range(near):
            t = order[a]
            if b[a] != coef[t]:
                used = add(points, K, slots, used, order[a : a + 1]) if slots[t] < 0 else used
                moved[count], change[count] = slots[t], b[a] - coef[t]
                count += 1
        subtract(K, moved[:count], change[:count], f)
        for a in range(near):
            coef[order[a]], f[order[a]] = b[a], gradient[a]
        return True

    return dispatcher(refine, **cached(profile, scalar))
