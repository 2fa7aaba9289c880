"""Normalised kernels, whose values are cosines in feature space."""

from mercer._common import Array, shown
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.base import storable_kernel
from mercer.kernels.rescaled import Factored


class NegativeSquare(ValueError):
    """A kernel that is to be normalised has k(x, x) < 0, so that it is not positive semidefinite."""


@storable_kernel
class Normalized(Factored):
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

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        X_norms = self._factors(X)[:, None]
        Z_norms = self._factors(Z)[:, None]
        return X_norms * self.kernel.multiply(X, Z, Z_norms * V)

    def _factors(self, points):
        return points.per_point((self, "inverse norms"), self._compute_inverse_norms)

    def _compute_inverse_norms(self, points):
        xp = points.xp
        squares = self.kernel.diagonal(points)
        least = float(xp.min(squares))
        if least < 0:
            raise NegativeSquare(
                f"{shown(self)} needs k(x, x) of at least 0, got {least:.3g}; use another kernel."
            )
        positive = squares > 0
        roots = xp.sqrt(xp.where(positive, squares, xp.ones_like(squares)))
        return xp.where(positive, 1 / roots, xp.zeros_like(squares))

    def evaluate(self, tile: Tile) -> Array:
        X = self._factors(tile.X)
        Z = self._factors(tile.Z)
        # in this order, which is that of (z, x) too, no product overflows
        larger = tile.xp.maximum(X[:, None], Z[None, :])
        smaller = tile.xp.minimum(X[:, None], Z[None, :])
        values = (self.kernel.evaluate(tile) * larger) * smaller
        # exactly 1 on the diagonal, without rounding
        return tile.fill_diagonal(values, tile.xp.where(X > 0, tile.xp.ones_like(X), X))

    def diagonal(self, points: Points) -> Array:
        inverse = self._factors(points)
        return points.xp.where(inverse > 0, points.xp.ones_like(inverse), inverse)

    def _pull_back(self, w, points):
        # with h = k(x, x)^(-1/2): dh = -h^3 / 2 dk(x, x)
        h = self._factors(points)
        return self.kernel.diagonal_gradient(points, -w * h * h * h / 2)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return points.zeros()
