"""Rules that turn data into a bandwidth: ``"scale"`` and ``"median"``."""

import warnings

import numpy as np
import scipy.sparse as sp

from mercer import _points, _validate
from mercer._tiles import Side, Tile

_MEDIAN_ROWS = 1000


def check(name, value):
    """Raise unless a bandwidth parameter is a positive number or the name of a rule.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : float or {"scale", "median"}

    Raises
    ------
    ValueError
        For another string, or a number that is not above 0.
    """
    if isinstance(value, str):
        if value not in _RULES:
            raise ValueError(f'{name} = {value!r} is no bandwidth rule; use "scale", "median" or a positive number.')
        return
    _validate.positive(name, value)


def gamma(value, X, sample_weight=None):
    """Return an inverse squared width: the number itself, or what a rule gives on X.

    Parameters
    ----------
    value : float or {"scale", "median"}
    X : rows (n, d)
    sample_weight : array (n,), optional

    Returns
    -------
    float
        ``"scale"``: 1 / (d var X), the variance over all entries; ``"median"``: 1 / median |x_i - x_j|^2 over pairs of
        at most 1 000 evenly spaced rows. 1.0, with a warning, when all features are constant.
    """
    if not isinstance(value, str):
        return float(value)
    X = _points.rows(X)
    spread = _RULES[value](X, sample_weight)
    if not (spread > 0 and np.isfinite(1 / spread)):
        warnings.warn(f'bandwidth rule "{value}": all features are constant; 1.0 is used.', UserWarning, stacklevel=2)
        return 1.0
    return float(1 / spread)


def length(value, X, sample_weight=None):
    """Return a length scale: the number itself, or the inverse square root of what a rule gives as ``gamma``."""
    return float(value) if not isinstance(value, str) else gamma(value, X, sample_weight) ** -0.5


def _variance(X, sample_weight):
    """Return d times the variance of all entries of X, by two passes, about a mean subtracted first."""
    n, d = X.shape
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
    weights = weights / weights.sum()
    if sp.issparse(X):
        X = X.astype(np.float64)
        mean = (weights @ X).sum() / d
        # zeros that are not stored are mean away from the mean too
        stored = sp.csr_matrix(((X.data - mean) ** 2, X.indices, X.indptr), X.shape)
        counts = sp.csr_matrix((np.ones_like(X.data), X.indices, X.indptr), X.shape)
        return float((weights @ stored).sum() + mean**2 * (d - (weights @ counts).sum()))
    X = _numpy(X)
    mean = (weights @ X).mean()
    return float(weights @ ((X - mean) ** 2).sum(axis=1))


def _median(X, sample_weight):
    n = X.shape[0]
    rows = np.unique(np.linspace(0, n - 1, min(n, _MEDIAN_ROWS)).astype(int))
    side = Side(X[rows] if sp.issparse(X) else _numpy(X)[rows])
    i, j = np.triu_indices(len(rows), 1)
    distances = Tile(side, side, 0).sqdist[i, j]
    if sample_weight is None:
        return float(np.median(distances)) if len(distances) else 0.0
    weights = np.asarray(sample_weight, np.float64)[rows]
    return _weighted_median(distances, weights[i] * weights[j])


def _weighted_median(values, weights):
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)]) if len(values) and total[-1] > 0 else 0.0


def _numpy(X):
    """Return rows as a float64 NumPy array, fetched from another device where they live on one."""
    X = X.detach().cpu() if hasattr(X, "detach") else X
    return np.asarray(X.get() if hasattr(X, "get") else X, np.float64)


_RULES = {"scale": _variance, "median": _median}
