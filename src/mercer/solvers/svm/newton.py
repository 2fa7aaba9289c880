"""Last digits: Newton steps on the free variables in float64, which keep the sum of each group and meet bounds exactly.

A step solves for the free variables by a Cholesky factor of their kernel matrix. The factor loses a row where a
variable meets a bound and gains one where a variable is freed, in O(k^2) each.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky

from mercer._compute.compile import compiled
from mercer._compute.costs import LANES, NEWTON_PAUSES, NEWTON_VARIABLES, NEWTON_WORK
from mercer._compute.intrinsics import empty, larger, small, smaller, wide
from mercer._compute.threads import check_cancelled, threaded_blas
from mercer.solvers.svm.certificates import DRIFT, ROUNDED, exact_gradient, measure_state
from mercer.solvers.svm.on_demand import add_changes, add_rows, picked, tiles_of_points
from mercer.solvers.svm.smo import compiled_vectors, offsets

# Largest number of steps of a solution, beside one for each variable here.
NEWTON_STEPS = 100
# Number of steps, of rounds, or of exact gradients, without a smaller residual after which rounding prevents one.
PATIENCE = 3
# Residual relative to the largest gradient that later steps need not lower.
_NOISE = 1e-10
# Violations below this share of the tolerance are those of Newton steps with float64 kernel values.
NEWTON_SHARE = 0.01
# Variables at a bound whose slopes are within this many tolerances of their bias take part.
NEAR = 10
# Part of the mean diagonal that is added to each entry of it, times the number of variables, and the factor by which it
# rises where the matrix is not definite.
_JITTER = 1e-13
_RAISED = 100.0
# Largest number of variables that take part.
MOST = 2 * NEWTON_VARIABLES


class Free(NamedTuple):
    """Variables that Newton steps may move, and the factor L of the kernel matrix of those that are free now.

    K is (n, at least n), its first columns symmetric; ``group`` (n,) is the number of the group of a variable, ``bias``
    and ``sums`` have one value for each. ``places[:count[0]]`` are the free variables in the order of the rows of L.
    """

    K: Any
    gradient: Any
    coef: Any
    lower: Any
    upper: Any
    epsilon: float
    bias: Any
    sums: Any
    group: Any
    L: Any
    places: Any
    count: Any
    arena: Any


# --- compiled --------------------------------------------------------------------------------------------------------


@compiled
def newton_steps(s, operations):
    """Take Newton steps, changing gradient, coefficients and biases in place; return whether there are more to take.

    A step is whole or ends where the first variable meets a bound, which is fixed there. After a whole step, variables
    that violate at the biases are freed. There are no more at the optimum and where rounding hides it; steps pause
    after so many ``operations``.
    """
    small()
    n = s.coef.size
    largest = 1.0
    shift = 0.0
    free = empty(n, np.bool_, s.arena)
    known = empty(n, np.bool_, s.arena)
    for t in range(n):
        rise, fall = offsets(s.coef[t], s.lower[t], s.upper[t], s.epsilon)
        free[t] = s.gradient[t] + rise == s.gradient[t] - fall
        known[t] = False
        largest = larger(largest, abs(s.gradient[t]))
        shift += s.K[t, t] / n
    for t in range(n):
        # the diagonal of a conditionally positive definite kernel may be 0; points of other groups get no constant
        for r in range(t):
            shift = larger(shift, -s.bias.size * s.K[t, r])
    for a in range(s.count[0]):
        free[s.places[a]] = known[s.places[a]] = True
    slack = ROUNDED * largest
    least = np.inf
    vain = 0
    jitter = _JITTER * n
    mark = s.arena[0]
    for _ in range(NEWTON_STEPS + n):
        s.arena[0] = mark
        while not _extend(s, free, known, shift, jitter):
            # not definite to rounding
            jitter *= _RAISED
            s.count[0] = 0
            for t in range(n):
                known[t] = False
            if jitter > 1:
                return False
        k = s.count[0]
        operations -= 8.0 * k * k + 2.0 * n * k
        if operations < 0:
            return True
        if k and not _whole_step(s, _direction(s), free, known):
            continue
        if _free_violators(s, free, slack):
            least = np.inf
            continue
        residual = _residual(s)
        vain = vain + 1 if residual >= least else 0
        if residual <= _NOISE * largest or vain >= PATIENCE:
            return False
        least = smaller(least, residual)
    return False


@compiled
def _extend(s, free, known, shift, jitter):
    """Add the free variables that are not known to the factor; return whether the kernel matrix is definite."""
    small()
    for t in range(free.size):
        if free[t] and not known[t]:
            if not _append(s, t, shift, jitter):
                return False
            known[t] = True
    return True


@compiled
def _append(s, t, shift, jitter):
    """Add a variable to the factor; return whether the kernel matrix stays definite."""
    wide()
    k = s.count[0]
    row = s.L[s.count[0]]
    square = 0.0
    for a in range(k):
        # a constant added to K within a group changes no step of a given sum, and makes K definite
        same = s.group[t] == s.group[s.places[a]]
        total = s.K[t, s.places[a]] + (shift if same else 0.0)
        other = s.L[a]
        for c in range(a):
            total -= row[c] * other[c]
        row[a] = total / other[a]
    for a in range(k):
        square += row[a] * row[a]
    pivot = s.K[t, t] + shift + jitter * shift - square
    if not pivot > 0:
        return False
    row[k] = math.sqrt(pivot)
    s.places[k] = t
    s.count[0] = k + 1
    return True


@compiled
def copy_of(values, arena):
    """Return a copy of a vector of float64 numbers."""
    small()
    copy = empty(values.size, np.float64, arena)
    for t in range(values.size):
        copy[t] = values[t]
    return copy


@compiled
def _remove(s, a):
    """Remove the variable of row a from the factor: rotations of columns make the rows below triangular again."""
    wide()
    k = s.count[0]
    cosines = empty(k, np.float64, s.arena)
    sines = empty(k, np.float64, s.arena)
    for r in range(a, k - 1):
        row = s.L[r + 1]
        to = s.L[r]
        for c in range(a):
            to[c] = row[c]
        carried = row[a]
        for c in range(a, r):
            to[c] = cosines[c] * carried + sines[c] * row[c + 1]
            carried = cosines[c] * row[c + 1] - sines[c] * carried
        length = math.hypot(carried, row[r + 1])
        cosines[r] = carried / length
        sines[r] = row[r + 1] / length
        to[r] = length
        s.places[r] = s.places[r + 1]
    s.count[0] = k - 1


@compiled
def _direction(s):
    """Return the Newton direction that gives each group its sum; the bias of a group with places becomes that of it.

    With K = L L', p = L^-1 slopes and Q = L^-1 E, E the indicators of the groups, the direction is L'^-1 of p moved
    along Q to products with Q that are what the sums miss: many steps lose digits of them.
    """
    wide()
    k = s.count[0]
    many = s.bias.size
    solved = empty((many + 1, k), np.float64, s.arena)
    slope = empty(k, np.float64, s.arena)
    missing = empty(many + 1, np.float64, s.arena)
    sizes = empty(many + 1, np.float64, s.arena)
    for g in range(many):
        missing[g] = s.sums[g]
        sizes[g] = 0.0
    for t in range(s.coef.size):
        missing[s.group[t]] -= s.coef[t]
        sizes[s.group[t]] += abs(s.coef[t])
    for g in range(many):
        missing[g] = missing[g] if abs(missing[g]) > DRIFT * sizes[g] else 0.0
    wanted = copy_of(missing, s.arena)
    for a in range(k):
        t = s.places[a]
        row = s.L[a]
        slope[a] = _slope(s, t)
        for g in range(many + 1):
            total = slope[a] if g == many else (1.0 if s.group[t] == g else 0.0)
            known = solved[g]
            for c in range(a):
                total -= row[c] * known[c]
            known[a] = total / row[a]
    for g in range(1, many + 1):
        for h in range(g):
            share = _move_along(solved[g], solved[h], wanted[h] if g == many else 0.0)
            wanted[g] -= share * wanted[h]
    direction = solved[many]
    for a in range(k - 1, -1, -1):
        row = s.L[a]
        direction[a] /= row[a]
        for c in range(a):
            direction[c] -= direction[a] * row[c]
    for g in range(many):
        _place_group(s, direction, slope, g, missing[g])
    return direction


@compiled
def _move_along(p, q, product):
    """Subtract a multiple of q from p so that their product is a given one, and return it; 0 if q is 0."""
    small()
    across = -product
    square = 0.0
    for a in range(p.size):
        across += p[a] * q[a]
        square += q[a] * q[a]
    share = across / square if square > 0 else 0.0
    for a in range(p.size):
        p[a] -= share * q[a]
    return share


@compiled
def _place_group(s, direction, slope, g, missing):
    """Give the direction of a group exactly the sum that is missing, and set its bias if it has places."""
    small()
    k = s.count[0]
    count = 0
    total = -missing
    level = 0.0
    for a in range(k):
        if s.group[s.places[a]] == g:
            count += 1
            total += direction[a]
            level += slope[a]
            for c in range(k):
                level -= s.K[s.places[a], s.places[c]] * direction[c]
    for a in range(k):
        if s.group[s.places[a]] == g:
            direction[a] -= total / count
    if count:
        s.bias[g] = level / count


@compiled
def _whole_step(s, direction, free, known):
    """Take a step as far as the bounds allow, fix the variable that meets one; return whether the step was whole."""
    wide()
    k = s.count[0]
    step = 1.0
    met = k
    ends = empty(k, np.float64, s.arena)
    for a in range(k):
        t = s.places[a]
        ends[a] = s.upper[t] if direction[a] > 0 else s.lower[t]
        if s.epsilon > 0 and _is_positive(s, t) != (direction[a] > 0):
            ends[a] = 0.0
        room = abs(ends[a] - s.coef[t])
        if abs(direction[a]) * step > room:
            step = room / abs(direction[a])
            met = a
    for a in range(k):
        t = s.places[a]
        change = ends[a] - s.coef[t] if a == met else step * direction[a]
        s.coef[t] = ends[a] if a == met else s.coef[t] + change
        row = s.K[t]
        for r in range(s.gradient.size):
            s.gradient[r] -= change * row[r]
    if met < k:
        free[s.places[met]] = known[s.places[met]] = False
        _remove(s, met)
    return met == k


@compiled
def _free_violators(s, free, slack):
    """Free the variables that violate the optimality conditions at the biases; return whether there are any."""
    small()
    found = False
    for t in range(s.coef.size):
        level = s.bias[s.group[t]]
        rise, fall = offsets(s.coef[t], s.lower[t], s.upper[t], s.epsilon)
        if not free[t] and (
            s.gradient[t] + rise > level + slack or s.gradient[t] - fall < level - slack
        ):
            free[t] = found = True
    return found


@compiled
def _residual(s):
    """Return the largest difference of the slope of a free variable from its bias."""
    small()
    largest = 0.0
    for a in range(s.count[0]):
        t = s.places[a]
        largest = larger(largest, abs(_slope(s, t) - s.bias[s.group[t]]))
    return largest


@functools.partial(compiled, inline=True)
def _is_positive(s, t):
    """Whether a coefficient is positive, or will be when it leaves 0."""
    return s.coef[t] > 0 or (s.coef[t] == 0 and s.gradient[t] > s.bias[s.group[t]])


@functools.partial(compiled, inline=True)
def _slope(s, t):
    """Return the slope of the objective along a coefficient that is free."""
    return s.gradient[t] - s.epsilon if _is_positive(s, t) else s.gradient[t] + s.epsilon


# --- small problems --------------------------------------------------------------------------------------------------


@compiled
def _near_first(s, bias, group, reach, order):
    """Write the places of variables within ``reach`` of their bias, then of others that are not 0; count both."""
    small()
    near = 0
    last = order.size
    for t in range(order.size):
        rise, fall = offsets(s.coef[t], s.lower[t], s.upper[t], s.epsilon)
        level = bias[group[t]]
        if s.f[t] + rise > level - reach or s.f[t] - fall < level + reach:
            order[near] = t
            near += 1
        elif s.coef[t] != 0:
            last -= 1
            order[last] = t
    for a in range(last, order.size):
        order[near + a - last] = order[a]
    return near, near + order.size - last


@compiled_vectors
def refine(points, exact, s, own, target, bias, sums, reach, operations):
    """Refine the solution of a small problem if the number of ``operations`` suffices, and its violation falls.

    ``own`` are the points of the variables, ``bias`` and ``sums`` have one value for each group.
    """
    small()
    order = empty(own.size, np.int64, s.arena)
    group = empty(own.size, np.int64, s.arena)
    for g in range(bias.size):
        for t in range(s.groups[g], s.groups[g + 1]):
            group[t] = g
    near, count = _near_first(s, bias, group, reach, order)
    operations -= 2.0 * near * count * (exact.centre.size + 10) + near * near * near / 3.0
    if near == 0 or operations < 0:
        return
    kept = copy_of(sums, s.arena)
    for a in range(near, count):
        kept[group[order[a]]] -= s.coef[order[a]]
    chosen = order[:near]
    M = empty((near, -(-count // LANES) * LANES), np.float64, s.arena)
    places = empty(near, np.int64, s.arena)
    slots = empty(near, np.int64, s.arena)
    # rows in float64 have their last digits if close pairs are computed again
    known = s.K.itemsize == M.itemsize and points.share == exact.share
    for a in range(near):
        places[a] = a
        slots[a] = -1
        known &= s.slots[order[a]] >= 0
    for a in range(near if known else 0):
        row = s.K[s.slots[order[a]]]
        for c in range(count):
            M[a, c] = row[order[c]]
    if not known:
        tiles = tiles_of_points(exact, picked(own, order[:count], s.arena), M, s.arena)
        add_rows(tiles, M, slots, 0, places)
    used = picked(s.coef, order[:count], s.arena)
    gradient = picked(target, chosen, s.arena)
    for a in range(near):
        row = M[a]
        for c in range(count):
            gradient[a] -= row[c] * used[c]
    coef = picked(s.coef, chosen, s.arena)
    number = empty(1, np.int64, s.arena)
    number[0] = 0
    free = Free(
        M,
        gradient,
        coef,
        picked(s.lower, chosen, s.arena),
        picked(s.upper, chosen, s.arena),
        s.epsilon,
        bias,
        kept,
        picked(group, chosen, s.arena),
        empty((near, near), np.float64, s.arena),
        places,
        number,
        s.arena,
    )
    newton_steps(free, operations)
    f = copy_of(s.f, s.arena)
    before = copy_of(s.coef, s.arena)
    largest = 1.0
    for t in range(f.size):
        largest = larger(largest, abs(f[t]))
    violation = measure_state(s, bias)
    for a in range(near):
        s.coef[order[a]] = coef[a]
    add_changes(points, s, before)
    for a in range(near):
        s.f[order[a]] = gradient[a]
    after = measure_state(s, bias)
    if not after <= larger(violation, ROUNDED * largest):
        # sums of huge coefficients that cancel are rounded by more
        for t in range(f.size):
            s.f[t] = f[t]
            s.coef[t] = before[t]


# --- large problems --------------------------------------------------------------------------------------------------


def refine_point(
    rows: Any, point: Any, reach: float, gaining: bool = False, most: int = MOST
) -> bool:
    """Solve for the free variables of a point and those within ``reach`` of violating, if there are at most ``most``.

    Return whether the point moved: its violation falls or, if ``gaining``, its objective rises.
    """
    dual = point.dual
    rising, falling = point.slopes()
    free = rising == falling
    near = np.flatnonzero(free | (np.maximum(rising, -falling) > -reach))
    if not 0 < len(near) <= most or np.count_nonzero(free) > NEWTON_VARIABLES:
        return False
    own = dual.take(near, coef=point.coef[near])
    K = rows.exact_square(own.points)
    if own.ridge is not None:
        K[np.diag_indices(len(near))] += own.ridge
    gradient = exact_gradient(rows, dual, point.coef, near)
    others = dual.coef - point.coef
    others[near] = dual.coef[near]
    sums = np.bincount(point.group, others)
    s = Free(
        K,
        gradient,
        own.coef,
        own.lower,
        own.upper,
        float(dual.epsilon),
        point.bias.copy(),
        sums,
        point.group[near],
        np.empty(K.shape),
        np.empty(len(near), np.int64),
        np.zeros(1, np.int64),
        # memory for arrays is allocated
        np.ones(1, np.int64),
    )
    _factorise(s, np.flatnonzero(free[near]))
    for _ in range(NEWTON_PAUSES):
        if not newton_steps(s, NEWTON_WORK):
            break
        check_cancelled()
    return point.move(rows, near, own.coef, gradient, gaining)


def _factorise(s, free):
    """Write the factor of the kernel matrix of free variables, if that is definite."""
    k = len(free)
    # that of `newton_steps`
    shift = float(np.maximum(np.mean(np.diagonal(s.K)), -len(s.bias) * s.K.min()))
    group = s.group[free]
    block = s.K[np.ix_(free, free)] + np.where(group[:, None] == group, shift, 0.0)
    block[np.arange(k), np.arange(k)] += _JITTER * len(s.K) * shift
    try:
        with threaded_blas(k**3 / 3):
            # the transpose is in the order of LAPACK: no copy
            s.L[:k, :k] = cholesky(block.T, overwrite_a=True, check_finite=False).T if k else 0
    except np.linalg.LinAlgError:
        return
    s.places[:k] = free
    s.count[0] = k
