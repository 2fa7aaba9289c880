"""Prediction intervals of ridge regression without refits: full conformal prediction and jackknife+."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._common import EPS, TINY, Array, PointsLike, as_float64, record
from mercer._compute.memory import blocks
from mercer._compute.points import count_points, take_points
from mercer.expansion import Expansion
from mercer.solvers.ridge import Border, known, require_left_out


@record
class Training:
    """Points (n) and targets (n, p) of a fit over landmarks, and the eigenvalues (m,) of its normal equations."""

    points: Any
    targets: Array
    values: Array


@record
class LeftOut:
    """What the predictions of a ridge regression owe to each training point, in closed form.

    With G = (K + alpha I)^-1, a = G y and t = G k_x the prediction without point i is <psi, phi(x)> - t_i a_i / G_ii,
    its leave-one-out residual a_i / G_ii. Over landmarks a, G_ii and s are multiplied by alpha: a are the residuals.

    Attributes
    ----------
    predict : callable (points) -> (b, p)
        The predictions.
    coef : float64 array (n, p)
        a, for p targets.
    inverse : float64 array (n,)
        G_ii.
    beside : callable (points) -> (t, s)
        t (b, n), and s = k(x, x) + alpha - k_x'G k_x (b,), the variance of a new target.
    """

    predict: Callable[[Any], Array]
    coef: Array
    inverse: Array
    beside: Callable[[Any], tuple[Array, Array]]


def over_all(
    predict: Callable[[Any], Array], psi: Expansion, R: Expansion, alpha: float, free: Border | None
) -> LeftOut:
    """Return the closed form for a model over all points; R are the vectors of its posterior, G = R R'.

    With free terms G is a block of the inverse bordered matrix, and t has the other block times the free terms.
    """
    coef = as_float64(R.coef)

    def beside(X):
        F, prior, z = known(R, X, free)
        F = as_float64(F)
        t = F @ coef.T
        if free is not None:
            t = t + z @ free.scaled.T
        return t, as_float64(prior) + alpha - np.sum(F**2, axis=1)

    return LeftOut(predict, as_float64(psi.coef), np.sum(coef**2, axis=1), beside)


def over_landmarks(psi: Expansion, R: Expansion, fitted: Training) -> LeftOut:
    """Return the closed form for a model over landmarks, from the vectors R of its posterior.

    t_i = L(x_i)'L(x) with L = R / sqrt(values).
    """
    root = np.sqrt(fitted.values)
    L = np.concatenate([as_float64(R(part)) / root for part in _parts(fitted.points, len(root))])
    inverse = 1 - np.sum(L**2, axis=1)
    error = len(root) * EPS / max(float(inverse.min()), TINY)
    require_left_out(
        error, "landmarks that follow single points; raise alpha, or take fewer landmarks"
    )

    def beside(X):
        F = as_float64(R(X)) / root
        return F @ L.T, 1 + np.sum(F**2, axis=1)

    predicted = [as_float64(psi(part)) for part in _parts(fitted.points, len(root))]
    return LeftOut(psi, fitted.targets - np.concatenate(predicted), inverse, beside)


def intervals(model: LeftOut, X: PointsLike, confidence: float, method: str, scaled: bool) -> Array:
    """Return the intervals of the targets of new points (n_test, 2, p).

    ``method`` is "conformal" or "jackknife+"; residuals are divided by their posterior deviations if ``scaled``.
    """
    n, p = model.coef.shape
    # so many of the n + 1 points may lie outside; (1 - 0.9) * 10 is below 1 in floating point
    outside = int(np.round((1 - confidence) * (n + 1), 9))
    if outside == 0:
        return np.tile([[-np.inf], [np.inf]], (count_points(X), 1, p))
    return np.concatenate([_of_part(model, part, outside, method, scaled) for part in _parts(X, n)])


def _of_part(model, X, outside, method, scaled):
    """Return the intervals of some points."""
    t, s = model.beside(X)
    # times the squared residual of the new point over s, what the squared residual of each other one is compared with
    weight = s[:, None] * model.inverse + t**2
    found = []
    for a in model.coef.T:
        if method == "conformal":
            ratio = np.sqrt(weight) if scaled else weight
            offsets = [-s * _farthest(a, -t, ratio, outside), s * _farthest(a, t, ratio, outside)]
        else:
            residual = a / model.inverse
            radius = np.abs(residual) * (np.sqrt(weight) if scaled else 1.0)
            moved = t * residual
            offsets = [_smallest(-moved - radius, outside), -_smallest(moved - radius, outside)]
        found.append(np.column_stack(offsets))
    return np.stack(found, axis=2) + as_float64(model.predict(X))[:, None]


def _smallest(values, k):
    """Return the k-th smallest number of each row, k at least 1."""
    return np.partition(values, k - 1, axis=1)[:, k - 1]


def _farthest(a, t, ratio, k):
    """Return, for each row, the largest u for which |a_i - t_i u| >= ratio_i u holds for at least k of the columns.

    The residual of the new point is u, and a_i - t_i u are those of the others, up to positive factors. The condition
    holds from 0 to a first root, and, where t_i exceeds the ratio, again from a second root on.
    """
    t = np.where(a < 0, -t, t)
    a = np.abs(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(t + ratio > 0, a / (t + ratio), np.inf)
        second = np.where(t > ratio, a / (t - ratio), np.inf)
    # from large u to small ones: a condition begins at a first root, and ends below a second one
    roots = np.hstack([first, second])
    change = np.hstack([np.isfinite(first).astype(int), -np.isfinite(second).astype(int)])
    at_infinity = np.sum(np.isinf(first) | np.isfinite(second), axis=1)
    order = np.argsort(-roots, axis=1, kind="stable")
    number = at_infinity[:, None] + np.cumsum(np.take_along_axis(change, order, axis=1), axis=1)
    reached = np.argmax(number >= k, axis=1)
    rows = np.arange(len(roots))
    return np.where(at_infinity >= k, np.inf, roots[rows, order[rows, reached]])


def _parts(points, width):
    """Yield points, so many at a time that arrays of a width take a part of the memory."""
    for rows in blocks(count_points(points), width):
        yield take_points(points, rows)
