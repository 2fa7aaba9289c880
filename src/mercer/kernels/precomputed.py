"""Precomputed, a kernel given by its matrix; its points are row indices."""

import itertools
from typing import Any

import numpy as np

from mercer._common import Array, PointsLike, warn
from mercer._compute.costs import COLUMNS
from mercer._compute.devices import place_of
from mercer._compute.memory import cut
from mercer._compute.points import Points, as_dense_rows, consecutive
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, brief, require_resolved, storable_kernel


@storable_kernel
class Precomputed(Kernel):
    """Kernel given by its matrix on the training points.

    ``Precomputed().resolve(K)`` takes the square matrix K. The training points are then the indices 0 .. n-1; a new
    point is the row of its n kernel values with them, and ``k(rows, J)`` returns columns J of such rows.

    Parameters
    ----------
    matrix : array (n, n), optional
        Symmetric; not copied. Estimators take the matrix that ``fit(K, y)`` gets in its place.

    Raises
    ------
    ValueError
        If the matrix is not square, or differs from its transpose by more than sqrt(eps) of its largest entry.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> k = mc.Precomputed().resolve(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> k(np.array([1]), np.array([0, 1]))
    array([[1., 3.]])
    >>> k(np.array([[0.5, 0.25]]), np.array([1]))
    array([[0.25]])
    """

    _tagged = {"points": "indices"}

    matrix: np.ndarray | None = None

    def __repr__(self) -> str:
        return (
            "Precomputed()" if self.matrix is None else f"Precomputed(matrix={brief(self.matrix)})"
        )

    def __post_init__(self) -> None:
        if self.matrix is not None:
            object.__setattr__(self, "matrix", _symmetric(self.matrix))

    def _resolved(self, X, sample_weight):
        return {"matrix": X}

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        require_resolved(self)
        _require_numpy(points, name)
        n = len(self.matrix)
        if not hasattr(points, "shape"):
            points = np.asarray(points)
        if len(points.shape) == 2:
            points = as_dense_rows(points, name)
            if points.shape[1] != n:
                raise ValueError(
                    f"{name} has {points.shape[1]} features, but Precomputed is expecting {n} features as input; pass "
                    f"rows with the kernel values of a new point with the {n} training points, in order."
                )
            return points
        indices = len(points.shape) == 1 and points.dtype.kind in "iu"
        if not indices or (len(points) and not (-n <= points.min() and points.max() < n)):
            raise ValueError(
                f"{name} must be row indices between 0 and {n - 1}, or rows of {n} kernel values."
            )
        return points

    def unresolved(self) -> tuple[str, Any] | None:
        return ("matrix", None) if self.matrix is None else None

    def evaluate(self, tile: Tile) -> Array:
        if len(tile.Z.container.shape) == 2:
            raise ValueError(
                "Z must be training indices; Precomputed has no kernel values between two new points. Of the points of "
                "the matrix give the row numbers, such as np.arange(n)."
            )
        X = tile.X.container
        columns = consecutive(tile.Z.container)
        if len(X.shape) == 1 and isinstance(columns, slice):
            return self.matrix[X, columns]
        # whole rows first: they are contiguous
        rows = X if len(X.shape) == 2 else self.matrix[consecutive(X)]
        return tile.xp.take(rows, tile.Z.container, axis=1)

    def diagonal(self, points: Points) -> Array:
        X = points.container
        known = self.matrix.diagonal()
        if len(X.shape) == 1:
            return known[X]
        # equal up to rounding: new points have the same
        if np.ptp(known) <= 1e-6 * np.abs(known).max():
            return np.full(len(X), known[0])
        place = {row.tobytes(): i for i, row in enumerate(self.matrix)}
        found = [place.get(row.tobytes()) for row in np.asarray(X, self.matrix.dtype)]
        if None in found:
            raise ValueError(
                f"k(x, x) of row {found.index(None)} is not known: it is not a training row, and k(x, x) of those is "
                f"between {known.min():.6g} and {known.max():.6g}; use a kernel of constant k(x, x), or a kernel "
                "object instead of its matrix."
            )
        return known[found]


def row_numbers(kernel: Kernel, X: Any) -> Any:
    """Return the numbers of all rows for the given matrix of a resolved kernel on row numbers; other points as given.

    Raises a ValueError for rows of new points, which have no kernel values between them.
    """
    if kernel.tags.points != "indices" or np.ndim(X) != 2:
        return X
    rows, n = kernel.admit(X, "X").shape
    if rows != n:
        raise ValueError(
            f"X has shape {(rows, n)}; for a precomputed kernel it must be the training matrix, of shape "
            f"{(n, n)}, or row numbers."
        )
    return np.arange(n)


def transpose_gap(K: Array) -> float:
    """Return max |K - K'|, from blocks that stay in cache."""
    pairs = itertools.combinations_with_replacement(cut(len(K), COLUMNS), 2)
    return float(np.max([abs(K[a, b] - K[b, a].T).max() for a, b in pairs], initial=0.0))


def _symmetric(matrix):
    """Return a finite square matrix that is symmetric up to a few rounding errors, or raise."""
    _require_numpy(matrix, "matrix X")
    K = as_dense_rows(matrix, "matrix X")
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "matrix X must be the square matrix of kernel values between all training points, got shape "
            f"{tuple(K.shape)}{'; without a column of indices it is K[:, 1:]' * (K.shape[1] == len(K) + 1)}."
        )
    gap = transpose_gap(K)
    # a few roundings stay: a copy takes longer than some fits
    few = 4 * np.finfo(K.dtype).eps
    diagonal = abs(K.diagonal()).max(initial=0)
    if diagonal and gap <= few * diagonal:
        return K
    size = max(float(K.max()), -float(K.min()))
    tolerance = float(np.finfo(K.dtype).eps) ** 0.5 * size
    if gap > tolerance:
        raise ValueError(
            f"The precomputed matrix X must be symmetric: max |K - K'| = {gap:.3g} exceeds {tolerance:.3g}, the bound "
            "for rounding; pass (K + K.T) / 2 if the difference does not matter."
        )
    if len(K) > 1 and size > 0 and not diagonal and K.min() == 0:
        warn(
            "The precomputed matrix looks like a matrix of distances, zero on the diagonal and positive elsewhere; "
            "pass kernel values, for distances D for example exp(-gamma * D**2).",
        )
    return K if gap <= few * size else (K + K.T) / 2


def _require_numpy(values, name):
    if place := place_of(values):
        raise TypeError(
            f"{name} must be an array of NumPy for Precomputed, got {place}; estimators with kernel='precomputed' take "
            "matrices of other libraries."
        )
