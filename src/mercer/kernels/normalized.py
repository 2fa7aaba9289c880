"""Normalised kernels, whose values are cosines in feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mercer._common import Array, shown
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel

if TYPE_CHECKING:
    from mercer._compute.points import Points
    from mercer._compute.tile import Tile


class NegativeSquare(ValueError):
    """A kernel that is to be normalised has k(x, x) < 0, so that it is not positive semidefinite."""


@dataclass(frozen=True, eq=False)
class Normalized(Composite):
    """Normalised kernel, k(x, z) / sqrt(k(x, x) k(z, z)), the cosine in feature space; 0 if k(x, x) or k(z, z) is 0.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Normalized(mc.Linear())(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """

    kernel: Kernel

    @property
    def explicit(self) -> bool:
        """Whether the kernel has explicit features."""
        return self.kernel.explicit

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        X_norms = self._inverse_norms(X)[:, None]
        Z_norms = self._inverse_norms(Z)[:, None]
        return X_norms * self.kernel.multiply(X, Z, Z_norms * V)

    def _inverse_norms(self, points):
        return points.per_point((self, "inverse norms"), self._compute_inverse_norms)

    def _compute_inverse_norms(self, points):
        xp = points.xp
        squares = self.kernel.diagonal(points)
        least = float(xp.min(squares))
        if least < 0:
            raise NegativeSquare(f"{shown(self)} needs k(x, x) of at least 0, got {least:.3g}; use another kernel.")
        positive = squares > 0
        roots = xp.sqrt(xp.where(positive, squares, xp.ones_like(squares)))
        return xp.where(positive, 1 / roots, xp.zeros_like(squares))

    def evaluate(self, tile: Tile) -> Array:
        X, Z = self._inverse_norms(tile.X), self._inverse_norms(tile.Z)
        # in this order, which is that of (z, x) too, no product overflows
        larger = tile.xp.maximum(X[:, None], Z[None, :])
        smaller = tile.xp.minimum(X[:, None], Z[None, :])
        values = (self.kernel.evaluate(tile) * larger) * smaller
        # exactly 1 on the diagonal, without rounding
        return tile.fill_diagonal(values, tile.xp.where(X > 0, tile.xp.ones_like(X), X))

    def diagonal(self, points: Points) -> Array:
        inverse = self._inverse_norms(points)
        return points.xp.where(inverse > 0, points.xp.ones_like(inverse), inverse)

    def gradient(self, tile: Tile, W: Array) -> Array:
        X, Z = self._inverse_norms(tile.X), self._inverse_norms(tile.Z)
        # with h = k(x, x)^(-1/2): dh = -h^3 / 2 dk(x, x)
        weighted = W * X[:, None] * Z[None, :]
        w = tile.xp.sum(weighted * self.kernel.evaluate(tile), axis=1) * X**2 / 2
        return self.kernel.gradient(tile, weighted) - self.kernel.diagonal_gradient(tile.X, w)

    def diagonal_gradient(self, points: Any, w: Array) -> Array:
        return points.zeros()
