"""Bandwidth rules "scale", "auto" and "median", checks of bandwidths, and the warning for unsuitable ones."""

import math

import numpy as np
import scipy.sparse as sp

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    check_positive,
    check_weights,
    refuse_large,
    shown,
    warn,
)
from mercer._compute.costs import TILE
from mercer._compute.devices import in_main_memory
from mercer._compute.memory import blocks
from mercer._compute.points import (
    PAIRED,
    SAMPLE,
    Points,
    as_rows,
    count_points,
    evenly_spaced,
    sum_squares,
    take_points,
)
from mercer._compute.profile import at_zero, evaluate_profile
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, admit_pair, inner_kernels

# Step of the part of the points that is compared first.
_PART = 4


def check(name: str, value: float | str) -> None:
    """Raise unless the parameter is a positive number or a rule."""
    if isinstance(value, str):
        if value not in _RULES:
            raise ValueError(
                f'{name} = {shown(value)} must be "scale", "auto", "median" or a positive number.'
            )
        return
    check_positive(name, value)


def gamma(value: float | str, X: Array, sample_weight: ArrayLike | None = None) -> float:
    """Return an inverse squared width: a number as it is, or the result of a rule on rows X (n, d).

    "scale" is 1 / (d var X) over all entries, "auto" is 1 / d, and "median" is 1 / median |x_i - x_j|^2 over the pairs
    of at most 1 000 evenly spaced rows, a weight w counting as w copies. If all features are constant, 1.0 with a
    warning. X may also be vectors without coordinates, with ``sqdist(rows)``, for "median".
    """
    if not isinstance(value, str):
        return float(value)
    if hasattr(X, "sqdist"):
        if value != "median":
            raise ValueError(
                f'the rule "{value}" needs coordinates, which the feature vectors of a kernel do not have; use '
                '"median" or a number.'
            )
    else:
        X = as_rows(X)
    sample_weight = in_main_memory(sample_weight)
    spread = _RULES[value](X, sample_weight)
    if not math.isfinite(spread):
        raise ValueError(
            f'X must not be so large that the rule "{value}" overflows; scale X (StandardScaler) first.'
        )
    if not (spread > 0 and math.isfinite(1 / spread)):
        equal = f"all features are constant up to {spread**0.5:.1g}; 1.0 is used."
        varies = hasattr(X, "sqdist") or _variance(X, sample_weight) > spread
        if value == "median" and varies and count_points(X) > 1:
            equal = (
                f"half of the pairs of points or more are equal up to {spread**0.5:.1g}; 1.0 is used, give a number, "
                'or for rows the rule "scale".'
            )
        warn(f'bandwidth rule "{value}": {equal}')
        return 1.0
    return float(1 / spread)


def length(value: float | str, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return a length scale: a number as it is, or gamma^(-1/2) for a rule."""
    return float(value) if not isinstance(value, str) else gamma(value, X, sample_weight) ** -0.5


def warn_degenerate(kernel: Kernel, X: PointsLike) -> None:
    """Warn if the bandwidth of a kernel makes over 99 % of the pairs of at most 64 points X unrelated or equal.

    Unrelated: |k(x, z)| < 1e-300 sqrt(k(x, x) k(z, z)). Equal: |phi(x) - phi(z)|^2 <= 1e-12 max(k(x, x), k(z, z)), 1e-6
    for float32. Kernels without rules cause no warning, but those on objects do if k(x, x) = 0 for all points.
    """
    n = count_points(X)
    if n < 2:
        return
    if kernel.tags.points == "objects":
        # of most kernels the first value tells
        first = take_points(X, np.arange(1))
        if kernel.tags.order == 0 and not (kernel.diag(first).any() or kernel.diag(X).any()):
            warn(
                f"all points have the feature vector 0, k(x, x) = 0, with {shown(kernel)}; use another kernel or other "
                "features."
            )
    ruled = _ruled(kernel)
    if not ruled:
        return
    rows = evenly_spaced(n, PAIRED)
    pairs = len(rows) * (len(rows) - 1)
    points = take_points(X, rows)
    # other pairs of neighbours, or of a part of the points, may be enough
    if kernel.scalar is not None and isinstance(points, np.ndarray):
        unrelated, coincident = _compared(*_neighbours(kernel, points), 1e-6)
        enough = 2 * np.count_nonzero(~(unrelated | coincident)) >= 0.01 * pairs
    else:
        part = _degenerate(kernel, take_points(X, rows[::_PART]), 1e-6)
        enough = all(_count_pairs(~found) >= 0.01 * pairs for found in part)
    if enough:
        return
    single = "float32" in str(getattr(points, "dtype", ""))
    unrelated, coincident = _degenerate(kernel, points, 1e-6 if single else 1e-12)
    for found, what, change in (
        (unrelated, "are unrelated, k(x, z) = 0,", "wider"),
        (coincident, "have equal feature vectors, k(x, z) = k(x, x),", "narrower"),
    ):
        share = _count_pairs(found) / pairs
        if share > 0.99:
            # a function of inner products has no width
            remedy = (
                f"a {change} kernel{_range(points)}"
                if any(each.scalar != "dot" for each in ruled)
                else "another kernel or other features"
            )
            warn(
                f"{share:.0%} of the pairs of points {what} with {shown(kernel)}; use {remedy}.",
            )


def _neighbours(kernel, points):
    """Return k(x, z), k(x, x) and k(z, z) of each of some dense rows x and the next one z, for a kernel of one scalar.

    A tile of kernel values takes several times as long.
    """
    x = points[:-1]
    z = points[1:]
    if kernel.scalar == "radial":
        own = at_zero(kernel)
        return evaluate_profile(kernel, sum_squares(x - z)), own, own
    products = np.einsum("ij,ij->i", x, z, dtype=np.float64)
    values = evaluate_profile(kernel, np.concatenate([sum_squares(points), products]))
    n = len(points)
    return values[n:], values[: n - 1], values[1:n]


def _degenerate(kernel, points, rounding):
    """Return which pairs of points are unrelated, and which are equal in feature space."""
    K = _numpy(kernel.evaluate(Tile(*admit_pair(kernel, points, points), 0)))
    return _compared(K, K.diagonal()[:, None], K.diagonal(), rounding)


def _compared(K, left, right, rounding):
    """Return where kernel values are those of unrelated points, and of equal ones, by k(x, x) of both."""
    with np.errstate(all="ignore"):
        unrelated = abs(K) < 1e-300 * np.sqrt(left * right)
        return unrelated, ~(left + right - 2 * K > rounding * np.maximum(left, right))


def _count_pairs(found):
    """Return the number of pairs of different points."""
    return np.sum(found) - np.sum(found.diagonal())


def _ruled(kernel):
    """Return a kernel and those within it, as far as they have a rule for a bandwidth."""
    found = [kernel] if kernel.rules else []
    for part in inner_kernels(kernel).values():
        found += _ruled(part)
    return found


def _range(points):
    """Return bandwidths to try, as the end of a sentence; empty if the points have no distances or are all equal."""
    if len(getattr(points, "shape", ())) != 2:
        return ""
    spread = _median(as_rows(points), None)
    if not (spread > 0 and math.isfinite(1 / spread)):
        return ""
    low = 0.1 / spread
    high = 10 / spread
    return f", such as gamma from {low:.2g} to {high:.2g}, which is length from {high**-0.5:.2g} to {low**-0.5:.2g}"


def _columns(X, _sample_weight):
    return float(X.shape[1])


def _variance(X, sample_weight):
    """Return d times the variance of all entries of X, computed in two passes."""
    n, d = X.shape
    weights = check_weights("sample_weight", sample_weight, n)
    weights = weights / weights.sum()
    if sp.issparse(X):
        return _sparse_variance(X.astype(np.float64), weights)
    X = _numpy(X)
    parts = blocks(n, 8 * d, TILE)
    with np.errstate(over="ignore", invalid="ignore"):
        # subtracting an entry first: equal entries then have no rounding error
        mean = sum(weights[rows] @ (X[rows] - X[0, 0]) for rows in parts).mean()
        return float(sum(weights[rows] @ sum_squares(X[rows] - X[0, 0] - mean) for rows in parts))


def _sparse_variance(X, weights):
    d = X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(weights @ np.ravel(X.sum(axis=1))) / d
        # zeros that are not stored differ from the mean by the mean
        stored = sp.csr_matrix(((X.data - mean) ** 2, X.indices, X.indptr), X.shape)
        missing = d - np.diff(X.indptr)
        return float(weights @ (np.ravel(stored.sum(axis=1)) + mean**2 * missing))


def _median(X, sample_weight):
    rows, weights = _sampled(count_points(X), sample_weight)
    i, j = np.triu_indices(len(rows), 1)
    distances = _sqdist(X, rows)[i, j]
    if weights is None:
        return float(np.median(distances)) if len(distances) else 0.0
    # w copies of a row make w (w - 1) / 2 pairs at distance 0
    copies = np.maximum(weights * (weights - 1) / 2, 0)
    return weighted_median(
        np.concatenate([np.zeros(len(rows)), distances]),
        np.concatenate([copies, weights[i] * weights[j]]),
    )


def _sampled(n, sample_weight):
    """Return the numbers of some rows and their weights, or None where each of these rows counts once."""
    if sample_weight is None:
        return evenly_spaced(n, SAMPLE), None
    weights = check_weights("sample_weight", sample_weight, n)
    refuse_large("sample_weight", weights)
    rows = np.flatnonzero(weights)
    weights = weights[rows]
    total = np.ceil(weights.sum())
    if total <= SAMPLE:
        places = evenly_spaced(len(rows), SAMPLE)
        return rows[places], weights[places]
    # evenly spaced among the rows that whole weights repeat
    spaced = np.floor(np.arange(SAMPLE) * (total - 1) / (SAMPLE - 1))
    places = np.minimum(np.searchsorted(np.cumsum(weights), spaced, "right"), len(rows) - 1)
    return rows[places], None


def _sqdist(X, rows):
    """Return the squared distances between some of the points."""
    if hasattr(X, "sqdist"):
        return _numpy(X.sqdist(rows))
    points = Points(X[rows] if sp.issparse(X) else _numpy(X)[rows])
    return Tile(points, points, 0).sqdist


def weighted_median(values: Array, weights: Array) -> float:
    """Return the weighted median, the mean of the two middle values if there are two."""
    order = np.argsort(values)
    values = values[order]
    total = np.cumsum(weights[order])
    if not (len(values) and total[-1] > 0):
        return 0.0
    # the sums of weights are rounded
    half = total[-1] / 2
    slack = 1e-12 * total[-1]
    low = np.searchsorted(total, half - slack)
    high = np.searchsorted(total, half + slack, side="right")
    return float((values[low] + values[high]) / 2)


def _numpy(X):
    """Return rows as a float64 NumPy array in the main memory."""
    return np.asarray(in_main_memory(X), np.float64)


_RULES = {"scale": _variance, "auto": _columns, "median": _median}
