"""EmpiricalMap, the inner product of kernel values with given points: the empirical kernel map of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import Points, as_dense_rows, count_points
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, admit_beside, brief, refuse_infinite
from mercer.kernels.mapped import like

if TYPE_CHECKING:
    from mercer.kernels.base import Tags


@dataclass(frozen=True, eq=False)
class EmpiricalMap(Composite):
    r"""Kernel of the empirical kernel map of another kernel, positive semidefinite whatever that kernel is.

    .. math:: k'(x, z) = \langle f(x), f(z) \rangle, \qquad f(x) = (k(x, p_1), \dots, k(x, p_m))\, F

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : points (m)
    F : array (m, r)
        Columns that combine the kernel values.

    References
    ----------
    Schölkopf et al., *Input space versus feature space in kernel-based methods*, IEEE Transactions on Neural Networks
    10 (1999), section II-A, definition of the empirical kernel map.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> P = np.array([[0.0], [1.0]])
    >>> mc.EmpiricalMap(mc.Linear(), P, np.eye(2))(np.array([[2.0]]))
    array([[4.]])
    """

    kernel: Kernel
    points: Any
    F: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        points = self.kernel.admit(self.points, "points")
        F = np.asarray(as_dense_rows(self.F, "F"))
        if len(F) != count_points(points):
            raise ValueError(f"F must have a row for each of {count_points(points)} points, got shape {F.shape}.")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "F", F)

    def __repr__(self) -> str:
        return f"EmpiricalMap(kernel={self.kernel!r}, {len(self.F)} points, F={brief(self.F)})"

    @property
    def tags(self) -> Tags:
        """Positive semidefinite and symmetric, on the points that the inner kernel takes."""
        return replace(super().tags, positive_semidefinite=True, symmetric=True)

    def evaluate(self, tile: Tile) -> Array:
        X = self._features(tile.X)
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_infinite(self, X @ (X if tile.Z is tile.X else self._features(tile.Z)).T)

    def diagonal(self, points: Points) -> Array:
        features = self._features(points)
        with np.errstate(over="ignore"):
            return refuse_infinite(self, points.xp.sum(features * features, axis=1))

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self._pull_back(tile.X, W @ self._features(tile.Z))

    def diagonal_gradient(self, points: Any, w: Array) -> Array:
        return self._pull_back(points, 2 * w[:, None] * self._features(points))

    def _features(self, points):
        """Return f(x) (n, r), computed once."""
        return points.memo(self, lambda: self._values(points))

    def _values(self, points):
        values = self.kernel.evaluate(self._beside(points))
        with np.errstate(over="ignore", invalid="ignore"):
            return values @ _beside(self.F, values)

    def _pull_back(self, points, G):
        """Return the gradients (n, d) of sum_k G_ik f_k(x_i) in x_i."""
        return self.kernel.gradient(self._beside(points), G @ _beside(self.F, G).T)

    def _beside(self, points):
        """Return the tile of points with those of the map, in their type."""
        own, X = self.points, points.container
        if isinstance(own, np.ndarray) and own.dtype.kind == "f" and not hasattr(X, "tocsr"):
            own = _beside(own, X)
        return Tile(*admit_beside(self.kernel, X, Points(own)))


def _beside(array, X):
    """Return an array in the library, type and device of X."""
    return array.astype(X.dtype, copy=False) if isinstance(X, np.ndarray) else like(array, X, X.dtype)
