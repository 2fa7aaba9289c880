"""Conformal kernels: a kernel times a factor of each of its points."""

from dataclasses import dataclass, replace

import numpy as np

from mercer.kernels.algebra import Composite, require_kernels
from mercer.kernels.base import Kernel, refuse_infinite


@dataclass(frozen=True, eq=False)
class Conformal(Composite):
    """Conformal kernel, c(x) k(x, z) c(z): the metric of the mapped surface scaled by c^2 (Amari and Wu).

    Parameters
    ----------
    kernel : Kernel
    c : callable
        Points to values (n,) or (n, 1). Gradients of the kernel need ``c.gradient(X)`` of n times d values, as an
        ``Expansion`` of one column has it.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Conformal(mc.Linear(), lambda X: 1 / (1 + X[:, 0] ** 2))(np.array([[1.0]]))
    array([[0.25]])
    """

    kernel: Kernel
    c: object

    def __post_init__(self):
        require_kernels(self, "kernel")
        if not callable(self.c):
            raise TypeError(f"c must be a function of points, got {self.c!r}.")

    @property
    def tags(self):
        """Those of the inner kernel; differentiable only if c has a gradient."""
        tags = super().tags
        return replace(tags, differentiable=tags.differentiable and hasattr(self.c, "gradient"), sparse=False)

    def _slope(self, points):
        return points.memo((self, "slope"), lambda: self.c.gradient(points.container).reshape(points.container.shape))

    def evaluate(self, tile):
        X, Z = evaluate_factor(self, tile.X), evaluate_factor(self, tile.Z)
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_infinite(self, (X[:, None] * Z[None, :]) * self.kernel.evaluate(tile))

    def diagonal(self, points):
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_infinite(self, evaluate_factor(self, points) ** 2 * self.kernel.diagonal(points))

    def gradient(self, tile, W):
        X, Z = evaluate_factor(self, tile.X), evaluate_factor(self, tile.Z)
        pulled = tile.xp.sum(W * self.kernel.evaluate(tile) * Z[None, :], axis=1)
        return self.kernel.gradient(tile, W * X[:, None] * Z[None, :]) + pulled[:, None] * self._slope(tile.X)

    def diagonal_gradient(self, points, w):
        c = evaluate_factor(self, points)
        pulled = 2 * w * c * self.kernel.diagonal(points)
        return self.kernel.diagonal_gradient(points, w * c**2) + pulled[:, None] * self._slope(points)


def evaluate_factor(kernel, points):
    """Return the factors c(x) (n,) of ``Points``, computed once."""
    return points.memo((kernel, "c"), lambda: _compute_factor(kernel, points))


def _compute_factor(kernel, points):
    xp, n = points.xp, len(points)
    values = xp.asarray(kernel.c(points.container))
    if tuple(values.shape) not in ((n,), (n, 1)):
        raise ValueError(f"c must return one value per point, ({n},), got shape {tuple(values.shape)}.")
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError("c returned NaN or infinity.")
    return xp.astype(xp.reshape(values, (n,)), points.dtype)
