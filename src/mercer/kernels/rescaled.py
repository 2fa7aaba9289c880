"""Kernels c(x) k(x, z) c(z) with a factor for each point: Rescaled, and Normalized, whose values are cosines."""

from typing import Any

import scipy.sparse as sp

from mercer._common import Array, shown
from mercer._compute.devices import moved, place_of
from mercer._compute.points import Points, as_columns
from mercer._compute.register import storable_as
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, finite, kernel_class, storable_kernel


@kernel_class
class Factored(Composite):
    """Base class of kernels c(x) k(x, z) c(z); subclasses state c, ``_factors``, and its gradients, ``_pull_back``."""

    kernel: Kernel

    def _factors(self, points):
        """Return the factors c(x) (n,) of ``Points``, computed once."""
        raise NotImplementedError

    def _pull_back(self, w, points):
        """Return the gradients (n, d) of sum_i w_i c(x_i) in x_i."""
        raise NotImplementedError

    def gradient(self, tile: Tile, W: Array) -> Array:
        X = self._factors(tile.X)
        Z = self._factors(tile.Z)
        w = tile.xp.sum(W * self.kernel.evaluate(tile) * Z[None, :], axis=1)
        return self.kernel.gradient(tile, W * X[:, None] * Z[None, :]) + self._pull_back(w, tile.X)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        c = self._factors(points)
        of_factors = self._pull_back(2 * w * c * self.kernel.diagonal(points), points)
        return self.kernel.diagonal_gradient(points, w * c**2) + of_factors


@storable_as("Conformal")
@kernel_class
class Rescaled(Factored):
    """Rescaled kernel, c(x) k(x, z) c(z), which multiplies the metric by about c(x)^2 (Amari and Wu).

    Parameters
    ----------
    kernel : Kernel
    c : callable
        Function of points that returns values (n,) or (n, 1). Gradients of the kernel need ``c.gradient(X)`` with n d
        values, which an ``Expansion`` of one vector has.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Rescaled(mc.Linear(), lambda X: 1 / (1 + X[:, 0] ** 2))(np.array([[1.0]]))
    array([[0.25]])
    """

    c: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.c, Kernel):
            raise TypeError(
                f"c must be a function of points, got the kernel {shown(self.c)}, a function of two points; give an "
                "Expansion, or fix one point."
            )
        if not callable(self.c):
            raise TypeError(f"c must be a function of points, got {shown(self.c)}.")

    @property
    def _tagged(self):
        smooth = self.kernel.tags.differentiable and hasattr(self.c, "gradient")
        return {"differentiable": smooth, "sparse": False}

    def _forms(self, points, name):
        # c gets the points as they are
        return [*super()._forms(points, name), points]

    def _factors(self, points):
        return points.memo((self, "c"), lambda: _compute_factor(self, points))

    def _pull_back(self, w, points):
        X = points.container
        xp = points.xp
        slope = points.memo(
            (self, "slope"),
            lambda: xp.reshape(_factor_at(self, points).gradient(X), tuple(X.shape)),
        )
        return w[:, None] * slope

    @finite
    def evaluate(self, tile: Tile) -> Array:
        X = self._factors(tile.X)
        Z = self._factors(tile.Z)
        return (X[:, None] * Z[None, :]) * self.kernel.evaluate(tile)

    @finite
    def diagonal(self, points: Points) -> Array:
        return self._factors(points) ** 2 * self.kernel.diagonal(points)


def _compute_factor(kernel, points):
    xp = points.xp
    n = len(points)
    values = xp.asarray(as_columns(_factor_at(kernel, points)(points.container), "c(X)"))
    if tuple(values.shape) not in ((n,), (n, 1)):
        raise ValueError(
            f"c must return one value per point, ({n},), got shape {tuple(values.shape)}."
        )
    return xp.astype(xp.reshape(values, (n,)), points.dtype)


def _factor_at(kernel, points):
    """Return the function c, an expansion with its points in the library and on the device of others."""
    place = place_of(points.container)
    return kernel.c if place_of(kernel.c) == place else moved(kernel.c, place)


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


def unit_rows(kernel: Normalized, X: Array) -> Array:
    """Return rows times their factors: of length 1 if the kernel is linear, rows of zeros as they are."""
    factors = kernel._factors(Points(X))  # noqa: SLF001
    return sp.diags(factors) @ X if sp.issparse(X) else factors[:, None] * X
