"""Global alignment kernel of time series, and delay coordinates of one series."""

from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np

from mercer._common import (
    Array,
    ArrayLike,
    check_integer,
    check_positive,
    check_weights,
    record,
    shown,
)
from mercer._compute.points import Points, as_rows
from mercer._compute.register import storable
from mercer.kernels.bandwidth import length, weighted_median
from mercer.kernels.base import Kernel, storable_kernel
from mercer.kernels.structured import Joined, Paired, ends_of

__all__ = ["Embedding", "GlobalAlignment"]


@storable_kernel
class GlobalAlignment(Paired):
    """Global alignment kernel of series, the sum over all alignments of products of local similarities.

    An alignment pairs the times of two series, each of which may be repeated. The local similarity of two times is
    g / (2 - g) with g = exp(-|x - z|^2 / (2 width^2)); then the sum is a positive semidefinite kernel.

    Parameters
    ----------
    width : float or "median"
        Width of the local Gaussian, positive. "median" is the proposal of Cuturi: the median distance of the values at
        two times, over the pairs of at most 1 000 evenly spaced times of all series, times the root of the median
        length; he tries 0.1, 1 and 10 times this width.
    band : int, optional
        Alignments pair times i and j only if |i - j| < band, with local similarity w g / (2 - w g) and the weight
        w = 1 - |i - j| / band. Series whose lengths differ by ``band`` or more have the value 0.
    normalized : bool
        Return k(x, z) / sqrt(k(x, x) k(z, z)), the default: values themselves overflow, and k(x, x) exceeds all other
        values by many orders of magnitude.

    Notes
    -----
    Points are a list of series, arrays (length) or (length, d), of any lengths. Sums are computed in logarithms, in
    |x| |z| steps for a pair, or about 2 band |x|, in compiled code.

    References
    ----------
    Cuturi, *Fast global alignment kernels*, ICML (2011).

    Examples
    --------
    >>> import mercer as mc
    >>> mc.sequences.GlobalAlignment(1.0)([[0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0], [2.0, 0.0]]).round(4)
    array([[1.    , 0.76  , 0.0048],
           [0.76  , 1.    , 0.0014],
           [0.0048, 0.0014, 1.    ]])
    """

    _remedy = "all series must have equally many variables"

    width: float | str
    band: int | None = None
    normalized: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.width, str) and self.width != "median":
            raise ValueError(f'width = {shown(self.width)} must be "median" or a positive number.')
        if self.width != "median":
            check_positive("width", self.width)
            if not 1e-150 <= self.width <= 1e150:
                raise ValueError(
                    f"width = {shown(self.width)} must be between 1e-150 and 1e150; scale the series."
                )
        if self.band is not None:
            check_integer("band", self.band)

    # the width may be a rule
    unresolved = Kernel.unresolved

    def _resolved(self, X, sample_weight):
        series = self.admit(X, "X")
        sizes = np.array(list(map(len, series)))
        weights = check_weights("sample_weight", sample_weight, len(series))
        distance = length(
            "median",
            np.concatenate(series),
            None if sample_weight is None else weights.repeat(sizes),
        )
        return {"width": distance * weighted_median(sizes, weights) ** 0.5}

    def _checked(self, point, name):
        try:
            values = np.asarray(point)
        except ValueError:
            # rows of unequal length
            values = np.empty(len(point), object)
        if values.dtype.kind not in "fiub" or values.ndim not in (1, 2):
            raise TypeError(
                f"{name} must be a series, an array of numbers (length) or (length, d), got type "
                f"{type(point).__name__} with shape {values.shape} and dtype {values.dtype}."
            )
        if not values.size:
            raise ValueError(
                f"{name} is an empty series, of type {type(point).__name__}; remove empty series first."
            )
        return as_rows(values if values.ndim == 2 else values[:, None], name, np.float64).copy()

    def _kind(self, point):
        return f"a series with {point.shape[1]} variables"

    def _compute_features(self, points):
        return _Series(np.concatenate(points), ends_of(points))

    def _values(self, tile, X, Z):
        logs = super()._values(tile, X, Z)
        if self.normalized:
            logs -= (self._log_diagonal(tile.X)[:, None] + self._log_diagonal(tile.Z)[None, :]) / 2
            return tile.fill_diagonal(np.exp(logs), 1.0)
        return self._raised(logs)

    def diagonal(self, points: Points) -> Array:
        return np.ones(len(points)) if self.normalized else self._raised(self._log_diagonal(points))

    def _log_diagonal(self, points):
        return points.per_point((self, "log diagonal"), super().diagonal)

    def _work(self, X, Z):
        # eight elementary steps for each pair of times: three exponentials and two logarithms
        return 8 * X.longest * (Z.longest if self.band is None else min(2 * self.band, Z.longest))

    def _filler(self, X, Z):
        from mercer.kernels.global_alignment import fill_alignments

        numbers = 1 / (2 * float(self.width) ** 2), 0 if self.band is None else int(self.band)
        return partial(fill_alignments, (X.columns, X.ends), (Z.columns, Z.ends), *numbers)

    def _raised(self, logs):
        largest = float(logs.max())
        if largest > np.log(np.finfo(np.float64).max):
            raise ValueError(
                f"values of {shown(self)} overflow float64, up to exp({largest:.4g}); use normalized=True or a smaller "
                "width."
            )
        return np.exp(logs)


class _Series(Joined):
    """Series one after the other, times in rows."""

    @cached_property
    def columns(self) -> Array:
        """The transposed values, contiguous along time."""
        return np.ascontiguousarray(self.values.T)


@storable
@record
class Embedding:
    """Delay coordinates of a time series, the inputs and targets of a prediction from earlier values.

    Row t of ``transform(x)`` holds x[t - lag] for all lags, and its target is x[t + horizon - 1], for all t at which
    both are known.

    Parameters
    ----------
    lags : int or sequence of int
        Positive; a number stands for 1, 2, ..., lags.
    horizon : int
        Number of steps from the value at lag 1 to the target, at least 1.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> embedding = mc.sequences.Embedding(lags=[1, 3])
    >>> x = np.arange(6.0)
    >>> embedding.transform(x)
    array([[2., 0.],
           [3., 1.],
           [4., 2.]])
    >>> embedding.targets(x)
    array([3., 4., 5.])
    """

    lags: int | tuple[Any, ...]
    horizon: int = 1

    def __post_init__(self) -> None:
        check_integer("horizon", self.horizon)
        if not len(self._lags):
            raise ValueError(f"lags = {shown(self.lags)} must have at least one lag.")
        for lag in self._lags:
            check_integer("lags", lag)

    @property
    def _lags(self):
        if isinstance(self.lags, Integral):
            check_integer("lags", self.lags)
            return range(1, self.lags + 1)
        return np.atleast_1d(self.lags).tolist()

    def transform(self, x: ArrayLike) -> Array:
        """Return the delay coordinates.

        Parameters
        ----------
        x : array (n,)

        Returns
        -------
        array (n - max(lags) - horizon + 1, len(lags))
        """
        x, start, count = self._range(x)
        return np.stack([x[start - lag : start - lag + count] for lag in self._lags], axis=1)

    def targets(self, x: ArrayLike) -> Array:
        """Return the values that follow the rows of ``transform(x)``.

        Parameters
        ----------
        x : array (n,)

        Returns
        -------
        array (n - max(lags) - horizon + 1,)
        """
        x, start, count = self._range(x)
        return x[start + self.horizon - 1 :][:count]

    def _range(self, x):
        """Return the series, the first time of a row, and the number of rows."""
        x = np.asarray(x)
        if x.ndim != 1 or x.dtype.kind not in "fiub":
            raise ValueError(
                f"x must be one series of numbers, (n,), got shape {x.shape} and dtype {x.dtype}."
            )
        start = max(self._lags)
        count = len(x) - start - self.horizon + 1
        if count < 1:
            raise ValueError(
                f"x has {len(x)} values; max(lags) = {start} and horizon = {self.horizon} need at least "
                f"{start + self.horizon}."
            )
        return x, start, count
