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
def newton_steps(K, gradient, coef, lower, upper, epsilon, bias, operations):
    """Take Newton steps, changing ``gradient`` and ``coef`` in place.

    Each step factorises anew, and fixes the first variable that meets a bound. Steps end at the optimum, or when the
    next factorisation would exceed the number of ``operations``. K is (n, at least n), its first columns symmetric.
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
        if whole and not _free_violators(free, gradient, coef, lower, upper, epsilon, bias, slack):
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
        direction, bias, definite = _direction(K, now, gradient, coef, epsilon, bias)
        if not definite:
            return
        whole = _whole_step(K, now, direction, free, gradient, coef, lower, upper, epsilon, bias)


@compiled
def _direction(K, places, gradient, coef, epsilon, bias):
    """Return the Newton direction of sum 0 for some variables, its bias, and whether their K is definite.

    With K = L L', p = L^-1 slopes and q = L^-1 1, the bias is p'q / q'q and the direction L'^-1 (p - bias q).
    """
    small()
    k, mean = places.size, 0.0
    for a in range(k):
        mean += K[places[a], places[a]] / k
    L, direction = empty((k + 2, k), np.float64), empty(k, np.float64)
    for a in range(k):
        t = places[a]
        for c in range(a + 1):
            # a constant added to K changes no step of sum 0, and makes K definite
            L[a, c] = K[t, places[c]] + mean
        L[a, a] += 1e-13 * k * mean
        L[k, a], L[k + 1, a] = gradient[t] - epsilon * _sign(gradient[t], coef[t], bias), 1.0
    definite, p, q = _eliminate(L), L[k], L[k + 1]
    first = second = total = 0.0
    for a in range(k):
        first += p[a] * q[a]
        second += q[a] * q[a]
    for a in range(k):
        direction[a] = p[a] - first / second * q[a]
    for a in range(k - 1, -1, -1):
        direction[a] /= L[a, a]
        for c in range(a):
            direction[c] -= direction[a] * L[a, c]
        total += direction[a] / k
    for a in range(k):
        direction[a] -= total
    return direction, first / second, definite


@compiled
def _whole_step(K, places, direction, free, gradient, coef, lower, upper, epsilon, bias):
    """Take a step as far as the bounds allow, fix the variable that meets one; return whether the step was whole."""
    small()
    step, met = 1.0, -1
    ends = empty(places.size, np.float64)
    for a in range(places.size):
        t = places[a]
        ends[a] = upper[t] if direction[a] > 0 else lower[t]
        if epsilon > 0 and (_sign(gradient[t], coef[t], bias) > 0) != (direction[a] > 0):
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
def _free_violators(free, gradient, coef, lower, upper, epsilon, bias, slack):
    """Free the variables that violate the optimality conditions at a bias; return whether there are any."""
    small()
    found = False
    for t in range(coef.size):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        if not free[t] and (gradient[t] + rise > bias + slack or gradient[t] - fall < bias - slack):
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
