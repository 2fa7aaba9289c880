"""Newton steps on the free variables of a small dual in compiled code: `active_set` without the interpreter."""

import functools

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
    """Return the Newton direction of sum 0 for some variables, its bias, and whether their K is definite."""
    small()
    k, mean = places.size, 0.0
    for a in range(k):
        mean += K[places[a], places[a]] / k
    factor, right = empty((k, k), np.float64), empty((2, k), np.float64)
    for a in range(k):
        t = places[a]
        for c in range(a + 1):
            # a constant added to K changes no step of sum 0, and makes K definite
            factor[a, c] = K[t, places[c]] + mean
        factor[a, a] += 1e-13 * k * mean
        right[0, a], right[1, a] = gradient[t] - epsilon * _sign(gradient[t], coef[t], bias), 1.0
    definite = _cholesky_solve(factor, right)
    first = second = total = 0.0
    for a in range(k):
        first += right[0, a]
        second += right[1, a]
    direction = right[0]
    for a in range(k):
        direction[a] -= first / second * right[1, a]
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
def _cholesky_solve(A, B):
    """Solve A x = b for the rows b of B in place, A by its lower triangle; return whether A is definite."""
    wide()
    n = len(A)
    for j in range(n):
        for i in range(j, n):
            total = A[i, j]
            for t in range(j):
                total -= A[i, t] * A[j, t]
            A[i, j] = total
        if not A[j, j] > 0:
            return False
        root = np.sqrt(A[j, j])
        for i in range(j, n):
            A[i, j] /= root
    for r in range(len(B)):
        b = B[r]
        for j in range(n):
            total = b[j]
            for t in range(j):
                total -= A[j, t] * b[t]
            b[j] = total / A[j, j]
        for j in range(n - 1, -1, -1):
            b[j] /= A[j, j]
            for t in range(j):
                b[t] -= b[j] * A[j, t]
    return True
