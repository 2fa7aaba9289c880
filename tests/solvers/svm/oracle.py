"""An oracle for duals of support vector machines: solved by definition, dense, in extended precision.

Steps over pairs of variables and Newton steps over the free ones take turns until no pair violates. Nothing is shared
with the solvers: neither code nor accuracy.
"""

from dataclasses import dataclass, replace

import numpy as np

LONG = np.longdouble
# Violation at which a solution ends, as a share of the largest gradient.
ROUNDING = 1e-15


@dataclass(frozen=True)
class Optimum:
    """The optimum of a dual.

    Attributes
    ----------
    coef, gradient : longdouble array (n,)
        Coefficients, of which there may be several, and t - K b, which is unique.
    low, high : float
        Ends of the interval of the bias.
    value : float
        The dual objective, of the sum of sizes if it is prescribed: without epsilon.
    epsilon : float
        Of the dual, or that which belongs to a prescribed sum of sizes, in the middle of where it may be.
    margin : float
        Of a classifier with a prescribed sum of sizes: the coefficients are not divided by it.
    """

    coef: np.ndarray
    gradient: np.ndarray
    low: float
    high: float
    value: float
    epsilon: float = 0.0
    margin: float = np.nan


def matrix_of(dual, K):
    """Return the matrix of the variables of a dual, ridge included, from the kernel values between all points."""
    K = np.asarray(K, LONG)[np.ix_(dual.points, dual.points)]
    return K if dual.ridge is None else K + np.diag(np.asarray(dual.ridge, LONG))


def optimum(dual, K):
    """Return the optimum of a dual from the kernel values between all points."""
    K, n = matrix_of(dual, K), len(dual.target)
    if dual.total is not None and dual.one_sided:
        return _two_classes(dual, K)
    if dual.total is not None:
        free = optimum(replace(dual, total=None, epsilon=0.0, points=np.arange(n), ridge=None), K)
        return free if np.abs(free.coef).sum() <= dual.total else _given_sum(dual, K)
    if dual.epsilon == 0:
        b = minimise(K, dual.target, dual.lower, dual.upper, dual.coef, np.zeros(n, int))
    else:
        b = _joined(_minimise_parts(dual, K, np.zeros(2 * n, int)))
    gradient = dual.target - K @ b
    low, high = interval(dual, b, gradient)
    value = 0.5 * b @ (dual.target + gradient) - dual.epsilon * np.abs(b).sum()
    return Optimum(b, gradient, low, high, float(value), dual.epsilon)


def interval(dual, coef, gradient):
    """Return the largest slope of a rise and the smallest of a fall: the bias is between them at an optimum."""
    coef, gradient, epsilon = np.asarray(coef, LONG), np.asarray(gradient, LONG), LONG(dual.epsilon)
    rise = gradient[coef < dual.upper] + np.where(coef < 0, epsilon, -epsilon)[coef < dual.upper]
    fall = gradient[coef > dual.lower] - np.where(coef > 0, epsilon, -epsilon)[coef > dual.lower]
    return float(rise.max(initial=-np.inf)), float(fall.min(initial=np.inf))


def violation(dual, coef, K):
    """Return the violation of some coefficients, from kernel values in extended precision."""
    low, high = interval(dual, coef, dual.target - matrix_of(dual, K) @ np.asarray(coef, LONG))
    return max(0.0, low - high)


def loss_of(dual, coef, K, bias):
    """Return the primal objective at K b + bias by the definition of the losses."""
    b, K = np.asarray(coef, LONG), matrix_of(dual, K)
    rho = np.zeros(len(b)) if dual.ridge is None else dual.ridge
    residual = dual.target - (K @ b - rho * b) - bias
    best = np.full(len(b), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        stationary = [np.where(rho > 0, (residual + s * dual.epsilon) / rho, 0.0) for s in (-1, 1)]
    for a in (dual.lower, dual.upper, np.zeros(len(b)), *stationary):
        a = np.clip(a, dual.lower, dual.upper)
        a = np.where(np.isfinite(a), a, 0.0)
        best = np.maximum(best, a * residual - dual.epsilon * np.abs(a) - 0.5 * rho * a**2)
    total = float(dual.coef.sum())
    bias = float(np.squeeze(bias))
    return float(0.5 * b @ (K @ b - rho * b) + best.sum() + bias * total)


def gaussian(X, gamma):
    """Return exp(-gamma |x - z|^2) between rows in extended precision."""
    X = np.asarray(X, LONG)
    return np.exp(-LONG(gamma) * ((X[:, None] - X) ** 2).sum(axis=2))


# --- the two kinds of problems with two sums --------------------------------------------------------------------------


def _two_classes(dual, K):
    """Return the closest points of two reduced convex hulls, each class of half the sum."""
    sign = np.sign(dual.upper + dual.lower)
    group, half = (sign < 0).astype(int), LONG(0.5) * dual.total
    bound = np.abs(dual.upper + dual.lower)
    start = sign * bound * (half / np.bincount(group, bound))[group]
    b = minimise(K, np.zeros(len(sign)), dual.lower, dual.upper, start, group)
    raw = -K @ b
    (low, high), (down, up) = (_open(dual, b, raw, group == g) for g in (0, 1))
    margin = 0.5 * (0.5 * (down + up) - 0.5 * (low + high))
    f = raw + margin * sign
    return Optimum(
        b,
        f,
        *interval(replace(dual, epsilon=0.0), b, f),
        float(-0.5 * b @ K @ b),
        margin=float(margin),
    )


def _given_sum(dual, K):
    """Return the optimum of a regression whose sizes |b_i| have a sum, half of it of each sign."""
    n = len(dual.target)
    group, half = np.repeat([0, 1], n), LONG(0.5) * dual.total
    line = replace(dual, epsilon=0.0)
    parts = _minimise_parts(line, K, group, half)
    b = _joined(parts)
    gradient = dual.target - K @ b
    twice = np.tile(gradient, 2)
    bounds = replace(dual, lower=_ends(dual)[0], upper=_ends(dual)[1], epsilon=0.0)
    (low, high), (down, up) = (_open(bounds, parts, twice, group == g) for g in (0, 1))
    epsilon = max(0.0, 0.25 * (low + high - down - up))
    value = 0.5 * b @ (dual.target + gradient)
    found = interval(replace(dual, epsilon=epsilon), b, gradient)
    return Optimum(b, gradient, *found, float(value), float(epsilon))


def _ends(dual):
    zeros = np.zeros(len(dual.target))
    return np.concatenate([zeros, dual.lower]), np.concatenate([dual.upper, zeros])


def _minimise_parts(dual, K, group, half=None):
    """Return the coefficients above 0, then those below, of a dual whose epsilon is linear in them."""
    low, high = _ends(dual)
    p = np.concatenate([dual.target - dual.epsilon, dual.target + dual.epsilon])
    if half is None:
        start = np.concatenate([np.maximum(dual.coef, 0), np.minimum(dual.coef, 0)])
    else:
        start = np.concatenate(
            [half * dual.upper / dual.upper.sum(), -half * dual.lower / dual.lower.sum()]
        )
    return minimise(np.tile(K, (2, 2)), p, low, high, start, group)


def _joined(parts):
    n = len(parts) // 2
    return parts[:n] + parts[n:]


def _open(dual, coef, gradient, own):
    """Return the ends of the interval of the bias of a group, twice the one that is finite."""
    rise, fall = gradient[own & (coef < dual.upper)], gradient[own & (coef > dual.lower)]
    low, high = rise.max(initial=-np.inf), fall.min(initial=np.inf)
    return (high, high) if np.isinf(low) else (low, low) if np.isinf(high) else (low, high)


# --- quadratic programs between bounds with the sum of each group kept ------------------------------------------------


def minimise(Q, p, lower, upper, start, group):
    """Return the minimum of x'Qx / 2 - p'x between bounds; the variables of each group keep the sum of the start."""
    Q, p, x = (np.array(each, LONG) for each in (Q, p, start))
    groups = [np.flatnonzero(group == g) for g in np.unique(group)]
    f = p - Q @ x
    for step in range(200_000):
        i, j, widest = _worst(f, x, lower, upper, groups)
        if widest <= ROUNDING * max(np.abs(f).max(), np.abs(p).max(), np.finfo(float).tiny):
            return x
        direction = np.zeros(len(x), LONG)
        direction[i], direction[j] = 1, -1
        if step % 20 == 19:
            direction = _newton(Q, f, (x > lower) & (x < upper), groups)
        _move(Q, f, x, direction, lower, upper)
        if step % 20 == 19:
            f = p - Q @ x
    raise AssertionError(f"the oracle did not end: violation {float(widest):.3g}")


def _worst(f, x, lower, upper, groups):
    """Return the pair of variables of a group that violates most, by its largest rise and smallest fall."""
    best = 0, 0, -np.inf
    for own in groups:
        rise, fall = own[x[own] < upper[own]], own[x[own] > lower[own]]
        if len(rise) and len(fall):
            i, j = rise[np.argmax(f[rise])], fall[np.argmin(f[fall])]
            best = max(best, (i, j, f[i] - f[j]), key=lambda each: each[2])
    return best


def _move(Q, f, x, direction, lower, upper):
    """Go along a direction of descent to the minimum or to the first bound, which is met exactly."""
    image, moved = Q @ direction, np.flatnonzero(direction)
    slope, curvature = f @ direction, direction @ image
    if slope <= 0:
        return
    ends = np.where(direction > 0, upper, lower)[moved]
    with np.errstate(over="ignore"):
        room = (ends - x[moved]) / direction[moved]
    size = slope / curvature if curvature > 0 else LONG(np.inf)
    first = np.argmin(room)
    size = min(size, room[first])
    x[moved] += size * direction[moved]
    if size == room[first]:
        x[moved[first]] = ends[first]
    f -= size * image


def _newton(Q, f, free, groups):
    """Return the step to the minimum over free variables that keeps the sum of each group."""
    places = np.flatnonzero(free)
    rows = [np.isin(places, own) for own in groups]
    rows = np.array([row for row in rows if row.any()], LONG).reshape(-1, len(places))
    m, k = len(places), len(rows)
    system = np.zeros((m + k, m + k + 1), LONG)
    system[:m, :m], system[:m, m : m + k], system[m : m + k, :m] = (
        Q[np.ix_(places, places)],
        rows.T,
        rows,
    )
    # equal points make it singular
    system[np.arange(m), np.arange(m)] += LONG(1e-17) * np.abs(np.diagonal(Q)).max()
    system[:m, -1] = f[places]
    direction = np.zeros(len(free), LONG)
    direction[places] = _eliminated(system)[:m]
    for row in rows:
        own = places[row > 0]
        direction[own] -= direction[own].mean()
    return direction


def _eliminated(system):
    """Return the solution of a linear system [A, b] by elimination with the largest pivot of each column."""
    n = len(system)
    for k in range(n):
        pivot = k + np.argmax(np.abs(system[k:, k]))
        system[[k, pivot]] = system[[pivot, k]]
        if system[k, k] != 0:
            system[k] /= system[k, k]
            others = np.arange(n) != k
            system[others] -= system[others, k, None] * system[k]
    return system[:, -1]
