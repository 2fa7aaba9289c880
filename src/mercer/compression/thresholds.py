"""Intercepts of a reduced set that are the best ones on given rows."""

import numpy as np
from scipy.optimize import brentq
from sklearn.base import is_outlier_detector, is_regressor

from mercer._common import Array, as_float64
from mercer.estimators._base import KernelEstimator


def fitted_intercepts(
    model: KernelEstimator,
    values: Array,
    outputs: Array | None,
    y: Array | None = None,
    signs: Array | None = None,
) -> Array:
    """Return intercepts (m,) for the values (n, m) of a reduced set on rows with outputs (n, m) of the model.

    Classifiers have ``signs`` (n, m) and get the least squared hinge loss in each column. An outlier detector rejects
    as many rows as the model does. Others get least squares, regressors on ``y`` if given, else on the outputs; a
    quantile with ``y`` the least loss, which is that of a quantile.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.thresholds import fitted_intercepts
    >>> fitted_intercepts(mc.SVR(), np.array([[1.0], [2.0]]), np.zeros((2, 1)), np.array([1.5, 2.5]))
    array([0.5])
    """
    values = as_float64(values)
    if signs is not None:
        return np.array([hinge_intercept(v, s) for v, s in zip(values.T, signs.T, strict=True)])
    if is_outlier_detector(model):
        return np.array([-_edge(values[:, 0], int(np.sum(outputs < 0)))])
    if y is None or not is_regressor(model):
        return np.mean(outputs - values, axis=0)
    residuals = np.reshape(y, (len(values), -1)) - values
    if not hasattr(model, "quantile"):
        return np.mean(residuals, axis=0)
    levels = zip(residuals.T, np.ravel(model.quantile), strict=True)
    return np.array([np.quantile(own, tau, method="inverted_cdf") for own, tau in levels])


def hinge_intercept(values: Array, signs: Array) -> float:
    r"""Return the constant b that minimises :math:`\sum_i \max(0, 1 - s_i (v_i + b))^2`; the middle of several.

    ``signs`` (n,) are 1 or -1, or 0 for rows that do not count. One sign only gives the nearest constant without loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compression.thresholds import hinge_intercept
    >>> hinge_intercept(np.array([-3.0, 5.0]), np.array([-1.0, 1.0]))
    -1.0
    """
    values = values[signs != 0]
    signs = signs[signs != 0]
    if not len(signs):
        return 0.0
    kinks = signs - values
    # without loss from the largest kink of positive rows to the smallest of negative ones
    low = kinks[signs > 0].max(initial=-np.inf)
    high = kinks[signs < 0].min(initial=np.inf)
    if low <= high:
        return (
            float((low + high) / 2)
            if np.isfinite(low) and np.isfinite(high)
            else float(np.clip(0.0, low, high))
        )

    def slope(constant):
        return -np.sum(signs * np.maximum(0, 1 - signs * (values + constant)))

    return float(brentq(slope, kinks.min(), kinks.max(), xtol=1e-15))


def _edge(values, outside):
    """Return the value below which a number of rows lie."""
    values = np.sort(values)
    if outside >= len(values):
        return values[-1] + max(
            1e-3 * max(np.ptp(values), abs(values[-1])), np.finfo(np.float32).tiny
        )
    return (
        values[[max(outside - 1, 0), min(outside, len(values) - 1)]].mean()
        if outside
        else values[0]
    )
