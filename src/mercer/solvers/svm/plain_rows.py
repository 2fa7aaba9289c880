"""Kernel rows of any kernel on any points, and the float32 rounding of kernel values on a sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import euclidean_distances

from mercer._common import Array
from mercer._compute.points import count_points, evenly_spaced, sum_squares, take_points, widened
from mercer.gram import Gram

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

# Number of points up to which values are float64: float32 would save too little.
FEW = 256
# Number of points of the sample on which rounding is measured.
_SAMPLE = 64
# Rows whose median may be the centre, and by how much their squared norms about the mean are larger then.
_CENTRED, _FAR = 32, 16.0


def plain_rows_of(kernel: Kernel, points: Any, accuracy: float) -> PlainRows:
    """Return rows without a compiled loop; a sum or product of kernels may round distances more than values."""
    rows = PlainRows(kernel, points)
    if rows.dtype != np.float32:
        return rows
    if count_points(points) > FEW:
        sample = take_points(points, _with_neighbours(points))
        rows.error = max(rows.error, rounding_of(*(kernel(each) for each in (sample, widened(sample)))))
        if rows.error <= accuracy:
            return rows
    return PlainRows(kernel, widened(points))


def sample_of(points: Any) -> Any:
    """Return evenly spaced points."""
    n = count_points(points)
    return take_points(points, evenly_spaced(n, _SAMPLE))


def centre_of(points: Array) -> Array:
    """Return the mean row, or the median of some rows where few far rows move the mean away from most of the others."""
    mean = points.mean(axis=0, dtype=np.float64)
    some = points[evenly_spaced(len(points), _CENTRED)].astype(np.float64)
    # np.median takes ten times as long
    middle = np.sort(some, axis=0)[len(some) // 2]
    with np.errstate(over="ignore"):
        about_mean, about_middle = (np.sort(sum_squares(some - each))[len(some) // 2] for each in (mean, middle))
    return middle if about_mean > _FAR * about_middle else mean


def _with_neighbours(points):
    """Return the numbers of some rows and of their nearest ones, at whose values distances are rounded most."""
    n = count_points(points)
    few = evenly_spaced(n, _SAMPLE // 2)
    X = widened(points)
    distances = euclidean_distances(X[few], X)
    distances[np.arange(len(few)), few] = np.inf
    return np.unique(np.concatenate([few, distances.argmin(axis=1)]))


def rounding_of(values: Array, exact: Array) -> float:
    """Return the root mean square difference of two blocks of kernel values between the same points."""
    difference = np.asarray(values, np.float64) - exact
    np.fill_diagonal(difference, 0)
    return float(np.sqrt(np.mean(np.square(difference))))


class PlainRows:
    """Kernel rows of any kernel on any points.

    Attributes
    ----------
    kernel : Kernel
    points : points (n)
    dtype : dtype
        Of the values.
    diagonal : float64 array (n,)
    width : int
        Multiplications for a kernel value, if known; otherwise 1.
    error : float
        Root mean square error of a value, in float32 that of rounding the largest; NaN if it was not measured.
    held : int
        Bytes of stored kernel values.
    """

    kernel: Kernel
    points: Any
    width: int

    error = np.nan
    held = 0

    def __init__(self, kernel: Kernel, points: Any) -> None:
        self._gram = Gram(kernel, points)
        self.kernel, self.points, self.width = kernel, points, 1
        self.dtype: Any = np.dtype(self._gram.dtype)
        self.diagonal: Array = np.asarray(self._gram.diagonal(), np.float64)
        if self.dtype == np.float32:
            self.error: float = float(np.finfo(np.float32).eps * np.abs(self.diagonal).max())

    def columns(self, J: Array) -> Callable[..., Any]:
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``."""

        def write(R, out):
            out[:] = self._gram[R, J]

        return write

    def square(self, J: Array | slice) -> Array:
        """Return the kernel values between points J, exactly symmetric."""
        return np.ascontiguousarray(self._gram[J, J], self.dtype)

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, in float64; K is never stored."""
        return product_of(self.kernel, self.points, R, J, weights.astype(self.dtype))

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values of the points as given; K is never stored."""
        return product_of(self.kernel, widened(self.points), R, J, weights)


def product_of(kernel: Kernel, points: Any, R: Array, J: Array, weights: Array) -> Array:
    """Return K[R, J] @ weights in float64."""
    return np.asarray(Gram(kernel, take_points(points, R), take_points(points, J)) @ weights, np.float64)
