"""Newton steps on the free variables of a small dual in compiled code: `active_set` without the interpreter."""

import functools
import math

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.intrinsics import empty, larger, small, wide
from mercer.solvers.svm.smo import offsets

# Largest number of steps, and the accuracy relative to the largest gradient.
_STEPS, _ROUNDING = 100, 1e-12


@compiled
def newton_steps(K, gradient, coef, lower, upper, epsilon, bias, group, operations):
    """Take Newton steps, changing ``gradient``, ``coef`` and the bias of each group in place.

    Variables of a group, whose numbers ``group`` (n,) gives, keep their sum. Each step factorises anew, and fixes the
    first variable that meets a bound. Steps end at the optimum, or when the next factorisation would exceed the number
    of ``operations``. K is (n, at least n), its first columns symmetric.
    """
    small()
    n, count, largest = coef.size, 0, 1.0
    free, places = empty(n, np.bool_), empty(n, np.int64)
    for t in range(n):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        free[t] = gradient[t] + rise == gradient[t] - fall
        count += free[t]
        largest = larger(largest, abs(gradient[t]))
    slack, whole = _ROUNDING * largest, count == 0
    for _ in range(_STEPS):
        if whole and not _free_violators(free, gradient, coef, lower, upper, epsilon, bias, group, slack):
            return
        count = 0
        for t in range(n):
            if free[t]:
                places[count] = t
                count += 1
        operations -= count * count * count / 3 + 2.0 * n * count
        if count == 0 or operations < 0:
            return
        now = places[:count]
        direction, definite = _direction(K, now, gradient, coef, epsilon, bias, group)
        if not definite:
            return
        whole = _whole_step(K, now, direction, free, gradient, coef, lower, upper, epsilon, bias, group)


@compiled
def _direction(K, places, gradient, coef, epsilon, bias, group):
    """Return the Newton direction of sum 0 in each group, and whether the K of the places is definite.

    With K = L L', p = L^-1 slopes and Q = L^-1 E, E the indicators of the groups, the direction is L'^-1 of the part of
    p that is orthogonal to Q. The bias of a group with places becomes that of the step.
    """
    small()
    k, mean = places.size, 0.0
    for a in range(k):
        mean += K[places[a], places[a]] / k
    L, direction, slopes = empty((k + 1 + bias.size, k), np.float64), empty(k, np.float64), empty(k, np.float64)
    for a in range(k):
        t = places[a]
        for c in range(a + 1):
            # a constant added to K changes no step of sum 0, and makes K definite
            L[a, c] = K[t, places[c]] + mean
        L[a, a] += 1e-13 * k * mean
        slopes[a] = gradient[t] - epsilon * _sign(gradient[t], coef[t], bias[group[t]])
        L[k, a] = slopes[a]
        for g in range(bias.size):
            L[k + 1 + g, a] = 1.0 if group[t] == g else 0.0
    definite = _eliminate(L)
    for g in range(bias.size):
        for h in range(g):
            _subtract_projection(L[k + 1 + g], L[k + 1 + h])
        _subtract_projection(L[k], L[k + 1 + g])
    for a in range(k):
        direction[a] = L[k, a]
    for a in range(k - 1, -1, -1):
        direction[a] /= L[a, a]
        for c in range(a):
            direction[c] -= direction[a] * L[a, c]
    for g in range(bias.size):
        _place_group(K, places, direction, slopes, bias, group, g)
    return direction, definite


@compiled
def _subtract_projection(p, q):
    """Subtract the part of p along q, if q is not 0."""
    small()
    across = square = 0.0
    for a in range(p.size):
        across += p[a] * q[a]
        square += q[a] * q[a]
    for a in range(p.size if square > 0 else 0):
        p[a] -= across / square * q[a]


@compiled
def _place_group(K, places, direction, slopes, bias, group, g):
    """Remove the sum that rounding leaves from the direction of a group, and set its bias if it has places."""
    small()
    count, total, level = 0, 0.0, 0.0
    for a in range(places.size):
        if group[places[a]] == g:
            count += 1
            total += direction[a]
            level += slopes[a]
            for c in range(places.size):
                level -= K[places[a], places[c]] * direction[c]
    for a in range(places.size if count else 0):
        if group[places[a]] == g:
            direction[a] -= total / count
    if count:
        bias[g] = level / count


@compiled
def _whole_step(K, places, direction, free, gradient, coef, lower, upper, epsilon, bias, group):
    """Take a step as far as the bounds allow, fix the variable that meets one; return whether the step was whole."""
    small()
    step, met = 1.0, -1
    ends = empty(places.size, np.float64)
    for a in range(places.size):
        t = places[a]
        ends[a] = upper[t] if direction[a] > 0 else lower[t]
        if epsilon > 0 and (_sign(gradient[t], coef[t], bias[group[t]]) > 0) != (direction[a] > 0):
            ends[a] = 0.0
        room = abs(ends[a] - coef[t])
        if abs(direction[a]) * step > room:
            step, met = room / abs(direction[a]), a
    for a in range(places.size):
        t = places[a]
        change = ends[a] - coef[t] if a == met else step * direction[a]
        coef[t] = ends[a] if a == met else coef[t] + change
        for s in range(gradient.size):
            gradient[s] -= change * K[t, s]
    if met >= 0:
        free[places[met]] = False
    return met < 0


@compiled
def _free_violators(free, gradient, coef, lower, upper, epsilon, bias, group, slack):
    """Free the variables that violate the optimality conditions at the biases; return whether there are any."""
    small()
    found = False
    for t in range(coef.size):
        level = bias[group[t]]
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        if not free[t] and (gradient[t] + rise > level + slack or gradient[t] - fall < level - slack):
            free[t] = found = True
    return found


@functools.partial(compiled, inline=True)
def _sign(gradient, coef, bias):
    """Return the sign that a coefficient has, or will have when it leaves 0."""
    return 1.0 if coef > 0 or (coef == 0 and gradient > bias) else -1.0


@compiled
def _eliminate(A):
    """Replace a matrix, given by its lower triangle, by its factor L, and each row b below by L^-1 b.

    Return whether the matrix is definite.
    """
    wide()
    for j in range(A.shape[1]):
        for i in range(j, A.shape[0]):
            total = A[i, j]
            for t in range(j):
                total -= A[i, t] * A[j, t]
            A[i, j] = total
        if not A[j, j] > 0:
            return False
        root = math.sqrt(A[j, j])
        for i in range(j, A.shape[0]):
            A[i, j] /= root
    return True
