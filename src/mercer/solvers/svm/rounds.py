"""Rounds of SMO in compiled code: over all variables, or over those near the margin with copied kernel values."""

import functools

import numpy as np

from mercer._compute.compile import compiled, dispatcher
from mercer.solvers.svm.on_demand import TOGETHER, cached, row_adder, wanted_rows
from mercer.solvers.svm.smo import LANES, load, offsets, subtract, take_steps

# A round solves for all variables, or for those near the margin if they are at most this share.
_PART = 0.7
# A round lowers the violation by this factor before all variables are checked again.
_REDUCTION = 0.1


def copied_values(m):
    """Return how many kernel values a round copies at most for m variables."""
    return (int(_PART * m) // LANES * LANES + LANES) ** 2


@compiled
def near_margin(rising, falling, top, bottom, places):
    """Write the places of variables that are free, or would violate if the bias moved by the violation; count them.

    ``top`` and ``bottom`` are the largest of the slopes.
    """
    violation, middle = top + bottom, 0.5 * (top - bottom)
    count = 0
    for t in range(rising.size):
        free = rising[t] > -np.inf and falling[t] > -np.inf
        if rising[t] > middle - violation or falling[t] > -middle - violation or free:
            places[count] = t
            count += 1
    return count


@compiled
def bias_and_violation(f, coef, lower, upper, epsilon, n):
    """Return the mean slope of free variables, or the middle of the interval that others allow, and the violation."""
    top, bottom, total, count = -np.inf, np.inf, 0.0, 0
    for t in range(n):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        up, down = f[t] + rise, f[t] - fall
        top, bottom = max(top, up), min(bottom, down)
        if up == down:
            total += up
            count += 1
    middle = 0.5 * (top + bottom)
    if np.isinf(top) or np.isinf(bottom):
        middle = bottom if np.isinf(top) else top
    return (total / count if count else middle), max(0.0, top - bottom)


@functools.lru_cache(maxsize=64)
def _all_round(profile, scalar):
    """Return the compiled round over all variables: it returns the number of steps and of rows."""
    add = row_adder(profile, scalar)

    def solve(points, K, slots, used, rising, falling, coef, lower, upper, epsilon, aim, limit):
        diagonal, everything, n_iter = points[3], np.array([0, coef.size]), 0
        d, wanted = points[0].shape[1], np.empty(TOGETHER, np.int64)
        while True:
            steps, missing, _ = take_steps(
                K, slots, diagonal, rising, falling, coef, lower, upper, epsilon, everything, aim, limit - n_iter
            )
            n_iter += steps
            if missing < 0:
                return n_iter, used
            count = wanted_rows(d, missing, rising, falling, slots, wanted)
            used = add(points, K, slots, used, wanted[:count])

    return dispatcher(solve, **cached(profile, scalar))


@functools.lru_cache(maxsize=64)
def _near_round(profile, scalar):
    """Return the compiled round over some variables, whose kernel values it copies next to each other."""
    add = row_adder(profile, scalar)

    def solve(points, K, spare, slots, used, places, rising, falling, coef, lower, upper, epsilon, aim, limit):
        n = places.size
        m = -(-n // LANES) * LANES
        part, own = np.reshape(spare[: m * m], (m, m)), np.full(m, -1)
        up, down, diagonal = np.empty(m, K.dtype), np.empty(m, K.dtype), np.zeros(m, K.dtype)
        b, low, high = np.zeros(m), np.zeros(m), np.zeros(m)
        d, held, wanted = points[0].shape[1], np.zeros(m, np.int64), np.empty(TOGETHER, np.int64)
        for t in range(m):
            part[0, t], up[t], down[t] = 0, -np.inf, -np.inf
        for t in range(n):
            p = places[t]
            up[t], down[t], diagonal[t] = rising[p], falling[p], points[3][p]
            b[t], low[t], high[t], held[t] = coef[p], lower[p], upper[p], slots[p]
        n_iter, known, everything = 0, 0, np.array([0, m])
        while True:
            steps, missing, _ = take_steps(
                part, own, diagonal, up, down, b, low, high, epsilon, everything, aim, limit - n_iter
            )
            n_iter += steps
            if missing < 0:
                break
            if held[missing] < 0:
                count = wanted_rows(d, missing, up, down, held, wanted)
                first, used = used, add(points, K, slots, used, places[wanted[:count]])
                for a in range(count):
                    held[wanted[a]] = first + a
            row = K[held[missing]]
            for t in range(m):
                part[known, t] = row[places[t]] if t < n else 0
            own[missing] = known
            known += 1
        for t in range(n):
            coef[places[t]] = b[t]
        return n_iter, used

    return dispatcher(solve, **cached(profile, scalar))


@functools.lru_cache(maxsize=64)
def round_solver(profile, scalar):
    """Return the compiled loop over rounds: it ends at ``tol``, at ``limit`` steps, or after a round without any.

    Slopes have the type of K; after each round the gradient f is updated in float64. ``spare`` is memory for copies.
    """
    all_round, near_round = _all_round(profile, scalar), _near_round(profile, scalar)

    def solve(points, K, spare, slots, used, f, coef, lower, upper, epsilon, tol, limit):
        m = f.size
        rising, falling, before = np.empty(m, K.dtype), np.empty(m, K.dtype), np.empty(m)
        places, rows, change = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
        n_iter, last = 0, -1
        while True:
            top, bottom = load(f, coef, lower, upper, epsilon, rising, falling)
            if not top + bottom > tol or n_iter >= limit or n_iter == last:
                return n_iter, used
            last = n_iter
            for t in range(m):
                before[t] = coef[t]
            aim, near = max(0.5 * tol, _REDUCTION * (top + bottom)), near_margin(rising, falling, top, bottom, places)
            if near > _PART * m:
                steps, used = all_round(
                    points, K, slots, used, rising, falling, coef, lower, upper, epsilon, aim, limit - n_iter
                )
            else:
                steps, used = near_round(
                    points, K, spare, slots, used, places[:near], rising, falling, coef, lower, upper, epsilon, aim,
                    limit - n_iter,
                )  # fmt: skip
            n_iter += steps
            count = 0
            for t in range(m):
                if coef[t] != before[t]:
                    rows[count], change[count] = slots[t], coef[t] - before[t]
                    count += 1
            subtract(K, rows[:count], change[:count], f)

    return dispatcher(solve, **cached(profile, scalar))
