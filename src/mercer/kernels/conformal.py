"""Conformal, the kernel c(x) k(x, z) c(z) with a factor for each point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array, shown
from mercer._compute.devices import moved, place_of
from mercer._compute.points import as_columns
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, refuse_infinite

if TYPE_CHECKING:
    from mercer._compute.points import Points
    from mercer._compute.tile import Tile
    from mercer.kernels.base import Tags


@dataclass(frozen=True, eq=False)
class Conformal(Composite):
    """Conformal kernel, c(x) k(x, z) c(z), which multiplies the metric by about c(x)^2 (Amari and Wu).

    Parameters
    ----------
    kernel : Kernel
    c : callable
        Function of points that returns values (n,) or (n, 1). Gradients of the kernel need ``c.gradient(X)`` with n d
        values, which an ``Expansion`` of one vector has.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Conformal(mc.Linear(), lambda X: 1 / (1 + X[:, 0] ** 2))(np.array([[1.0]]))
    array([[0.25]])
    """

    kernel: Kernel
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
    def tags(self) -> Tags:
        """Properties of the inner kernel, dense rows, differentiable only if c has a gradient."""
        tags = super().tags
        return replace(tags, differentiable=tags.differentiable and hasattr(self.c, "gradient"), sparse=False)

    def _forms(self, points, name):
        # c gets the points as they are
        return [*super()._forms(points, name), points]

    def _slope(self, points):
        X, xp = points.container, points.xp
        return points.memo((self, "slope"), lambda: xp.reshape(_factor_at(self, points).gradient(X), tuple(X.shape)))

    def evaluate(self, tile: Tile) -> Array:
        X, Z = evaluate_factor(self, tile.X), evaluate_factor(self, tile.Z)
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_infinite(self, (X[:, None] * Z[None, :]) * self.kernel.evaluate(tile))

    def diagonal(self, points: Any) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_infinite(self, evaluate_factor(self, points) ** 2 * self.kernel.diagonal(points))

    def gradient(self, tile: Tile, W: Array) -> Array:
        X, Z = evaluate_factor(self, tile.X), evaluate_factor(self, tile.Z)
        w = tile.xp.sum(W * self.kernel.evaluate(tile) * Z[None, :], axis=1)
        return self.kernel.gradient(tile, W * X[:, None] * Z[None, :]) + w[:, None] * self._slope(tile.X)

    def diagonal_gradient(self, points: Any, w: Array) -> Array:
        c = evaluate_factor(self, points)
        of_factor = 2 * w * c * self.kernel.diagonal(points)
        return self.kernel.diagonal_gradient(points, w * c**2) + of_factor[:, None] * self._slope(points)


def evaluate_factor(kernel: Kernel, points: Points) -> Array:
    """Return the factors c(x) (n,) of ``Points``, computed once."""
    return points.memo((kernel, "c"), lambda: _compute_factor(kernel, points))


def _compute_factor(kernel, points):
    xp, n = points.xp, len(points)
    values = xp.asarray(as_columns(_factor_at(kernel, points)(points.container), "c(X)"))
    if tuple(values.shape) not in ((n,), (n, 1)):
        raise ValueError(f"c must return one value per point, ({n},), got shape {tuple(values.shape)}.")
    return xp.astype(xp.reshape(values, (n,)), points.dtype)


def _factor_at(kernel, points):
    """Return the function c, an expansion with its points in the library and on the device of others."""
    place = place_of(points.container)
    return kernel.c if place_of(kernel.c) == place else moved(kernel.c, place)
