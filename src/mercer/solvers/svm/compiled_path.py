"""Solutions of a dual for many C in one compiled call: stored kernel values, warm starts, an end by relative gap."""

from __future__ import annotations

import functools

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.intrinsics import empty, larger, small, smaller
from mercer.solvers.svm.rounds import PART, bias_and_violation, settle, take_round
from mercer.solvers.svm.smo import VECTORS, subtract_changes

# A round lowers the violation to a share between these, after which the gap is checked.
_LEAST, _MOST = 0.25, 0.9
# Least number of pairs that move to their bounds at once.
_PAIRS = 8
# Coefficients within this share of the distance between their bounds count as being at the bound.
_AT_BOUND = 1e-9
# Largest share of variables with copies where steps are few.
_FEW = 0.2
# Overhead of a step, in variables.
_OVERHEAD = 1000
# Largest rounding of gradients that multiples of earlier ones may have, as a share of the tolerance.
_GROWN = 1e-3 / np.finfo(np.float64).eps


@compiled
def neighbour_start(target, epsilon, before, gradient, lower, upper, ratio, coef, f):
    r"""Write the best multiple of a neighbour's solution within new bounds, ``ratio`` times the old, and its gradient.

    .. math:: s = \min(C'/C, (t'b - \epsilon |b|_1) / b'Kb), \qquad f = t - s K b

    Return the factor s, which multiplies the rounding of the gradient too.
    """
    gain, curvature = 0.0, 0.0
    for t in range(coef.size):
        gain += target[t] * before[t] - epsilon * abs(before[t])
        curvature += before[t] * (target[t] - gradient[t])
    s = min(ratio, gain / curvature) if curvature > 0 else ratio
    for t in range(coef.size):
        b, slack = s * before[t], _AT_BOUND * (upper[t] - lower[t]) if s == ratio else 0.0
        coef[t] = upper[t] if upper[t] - b <= slack else (lower[t] if b - lower[t] <= slack else b)
        f[t] = target[t] - s * (target[t] - gradient[t])
    return s


@functools.partial(compiled, flags=VECTORS)
def start_at_bounds(points, K, slots, coef, f, lower, upper, epsilon):
    """Move coefficients from 0 to their bounds while many pairs at a time surely get there, and update the gradient f.

    A rise and a fall whose slopes exceed the middle by a quarter of the violation raise the objective as long as other
    moves change these slopes by no more. At a small C this replaces most steps, which read the rows one by one.
    """
    small()
    m, bound, diagonal = f.size, 0.0, 0.0
    for t in range(m):
        bound = larger(bound, larger(upper[t], -lower[t]))
        diagonal = larger(diagonal, abs(np.float64(points[6][t])))
    before, rising, falling = empty(m, np.float64), empty(m, np.int64), empty(m, np.int64)
    while True:
        top = bottom = -np.inf
        for t in range(m):
            if coef[t] == 0:
                top = larger(top, f[t] - epsilon if upper[t] > 0 else -np.inf)
                bottom = larger(bottom, -f[t] - epsilon if lower[t] < 0 else -np.inf)
        middle, quarter = 0.5 * (top - bottom), 0.25 * (top + bottom)
        # each of as many pairs changes a slope by at most twice the bound times the largest kernel value
        most = quarter / (2 * bound * diagonal) if quarter > 0 else 0.0
        if not most >= _PAIRS:
            return
        up = down = 0
        for t in range(m):
            before[t] = coef[t]
            if coef[t] == 0 and upper[t] > 0 and f[t] - epsilon > middle + quarter and up < most:
                rising[up] = t
                up += 1
            elif coef[t] == 0 and lower[t] < 0 and -f[t] - epsilon > quarter - middle and down < most:
                falling[down] = t
                down += 1
        if up == 0 or down == 0:
            return
        _move_pairs(rising[:up], falling[:down], coef, lower, upper)
        subtract_changes(K, slots, coef, before, f)


@compiled
def _move_pairs(rising, falling, coef, lower, upper):
    """Raise coefficients to their upper bounds, and lower as many others, until the first kind is used up."""
    small()
    a = b = 0
    while a < rising.size and b < falling.size:
        i, j = rising[a], falling[b]
        step = smaller(upper[i] - coef[i], coef[j] - lower[j])
        coef[i] = upper[i] if step == upper[i] - coef[i] else coef[i] + step
        coef[j] = lower[j] if step == coef[j] - lower[j] else coef[j] - step
        a, b = a + (coef[i] == upper[i]), b + (coef[j] == lower[j])


@compiled
def relative_gap(target, f, coef, lower, upper, epsilon, bias):
    """Return the duality gap of a point between finite bounds as a share of the primal objective of the function 0."""
    gap, loss = 0.0, 0.0
    for t in range(coef.size):
        above, below = max(coef[t], 0.0), min(coef[t], 0.0)
        right, left = f[t] - bias - epsilon, f[t] - bias + epsilon
        rise, fall = (upper[t] - above) * right - below * left, (lower[t] - below) * left - above * right
        gap += max(rise, fall, -below * left - above * right)
        loss += max(upper[t] * (target[t] - epsilon), lower[t] * (target[t] + epsilon), 0.0)
    return gap / loss if loss > 0 else np.inf


@functools.partial(compiled, flags=VECTORS)
def solve_for_all(K, points, spare, slots, problem, found, position, growth, tol, gap, max_iter, work):
    """Solve from ``position[0]`` on until all C are solved or the work is done.

    ``problem`` are targets, bounds for C = 1 (m,), epsilon and ascending C (k,); ``found`` are coefficients and
    gradients (k, m), biases, violations and numbers of steps (k,). All rows of K (n, m) are known. A solution ends at a
    violation of ``tol``, or at a relative gap of ``gap``, which sets its violation to at most ``tol``. ``growth[0]`` is
    the factor by which multiples of gradients have grown since a solution started from 0; if it is large, one does.
    """
    target, low, high, epsilon, Cs = problem
    all_coef, all_gradient, all_bias, violation, n_iter = found
    m = K.shape[1]
    while position[0] < Cs.size and work > 0:
        k = position[0]
        coef, f, lower, upper = all_coef[k], all_gradient[k], Cs[k] * low, Cs[k] * high
        if position[1] == 0 and k > 0:
            near = all_coef[k - 1], all_gradient[k - 1]
            factor = neighbour_start(target, epsilon, near[0], near[1], lower, upper, Cs[k] / Cs[k - 1], coef, f)
            growth[0] = max(1.0, growth[0] * factor)
        if position[1] == 0 and (k == 0 or growth[0] > _GROWN * tol):
            coef[:] = 0.0
            f[:] = target
            growth[0] = 1.0
            start_at_bounds(points, K, slots, coef, f, lower, upper, epsilon)
        # copies pay where rows are read several times
        share = PART if k > 0 and n_iter[k - 1] > m else _FEW
        position[1], steps = 1, 1
        while True:
            all_bias[k], violation[k] = bias_and_violation(f, coef, lower, upper, epsilon, m)
            reached = relative_gap(target, f, coef, lower, upper, epsilon, all_bias[k])
            if reached <= gap:
                violation[k] = min(violation[k], tol)
            if violation[k] <= tol or n_iter[k] >= max_iter or steps == 0:
                settle(coef, lower, upper, m)
                all_bias[k], _ = bias_and_violation(f, coef, lower, upper, epsilon, m)
                position[0], position[1] = k + 1, 0
                break
            if work <= 0:
                break
            limit = min(max_iter - n_iter[k], max(1, work // (m + _OVERHEAD)))
            # the gap falls about as the violation
            least = max(0.5 * tol, min(max(_LEAST, gap / reached), _MOST) * violation[k])
            dual = f, coef, lower, upper, epsilon
            steps, _ = take_round(points, K, spare, slots, m, dual, tol, least, limit, share)
            n_iter[k] += steps
            work -= (steps + 1) * (m + _OVERHEAD)
