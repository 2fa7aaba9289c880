"""Objectives of reduced set construction over one point: the part of the residuals that a feature captures."""

from typing import Any

import numpy as np

from mercer._common import ROUNDING, Array
from mercer._compute.array import tiles
from mercer._compute.points import Points
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.forms import evaluate_form
from mercer.preimages.fixed_point import steps, weighted_sums
from mercer.preimages.objective import quotients, spread


class Residual:
    r"""f(z) = -sum_j <rho_j, phi(z)>^2 / k(z, z) of the residuals rho_j = psi_j - psi'_j, and its gradient in z.

    It is the sum of squared distances of the residuals to the line of phi(z), minus a constant (Schoelkopf et al.
    1999, sections V-A and V-D). ``chi`` is the approximation of psi or None, ``squares`` is sum_j |psi_j|^2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.residual import Residual
    >>> phi = mc.features(mc.Linear(), np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> Residual(phi, None, 26.0)(np.array([[0.0, 2.0]]), np.array([0]))[0]
    array([-17.])
    """

    kernel: Kernel
    squares: float

    def __init__(self, psi: Expansion, chi: Expansion | None, squares: float) -> None:
        self.kernel = psi.kernel
        self.squares = squares
        coef = np.eye(len(psi)) if psi.coef is None else psi.coef
        self.parts: list[Any] = [(psi.prepared, coef)] + (
            [] if chi is None else [(chi.prepared, -chi.coef)]
        )
        self.width: float = spread(psi)

    def size(self, start: Array) -> Array:
        """Return the size of the values (r,) for starts (r, d)."""
        return np.full(len(start), self.squares)

    def inner(self, z: Array) -> Any:
        """Return <rho_j, phi(z)> (r, m)."""
        return self._inner(self._tiles(Points(z)))

    def __call__(self, z: Array, columns: Array) -> tuple[Array, Array, Array]:  # noqa: ARG002
        """Return values (r,), gradients (r, d), and whether the value exceeds rounding (r,)."""
        kernel = self.kernel
        points = Points(z)
        parts = self._tiles(points)
        inner = self._inner(parts)
        squares = kernel.diagonal(points)
        # phi(z) has no direction where k(z, z) <= 0
        scale = quotients(inner, squares[:, None])
        values = np.einsum("ij,ij->i", scale, inner)
        gradient = kernel.diagonal_gradient(points, np.einsum("ij,ij->i", scale, scale))
        for tile, coef in parts:
            gradient -= 2 * kernel.gradient(tile, scale @ coef.T)
        return -values, gradient, (squares > 0) & (values > ROUNDING * self.squares)

    def _tiles(self, points):
        # one tile each, for the points are few
        return [(next(tiles(points, part))[1], coef) for part, coef in self.parts]

    def _inner(self, parts):
        return sum(self.kernel.evaluate(tile) @ coef for tile, coef in parts)


class ResidualMean(Residual):
    r"""The same objective for smooth radial kernels, with steps to the weighted mean instead of gradients.

    .. math:: z = \frac{\sum_i w_i k'(|z - x_i|^2) x_i}{\sum_i w_i k'(|z - x_i|^2)},
              \qquad w_i = \sum_j \langle \rho_j, \phi(z) \rangle C_{ij}

    over the points of psi and of its approximation. For the Gaussian kernel the denominator is proportional to the
    objective, so its sign is always right.
    """

    def __call__(self, z: Array, columns: Array) -> tuple[Array, Array, Array]:  # noqa: ARG002
        """Return values (r,), steps (r, d), and whether they are valid (r,)."""
        parts = self._tiles(Points(z))
        inner = self._inner(parts)
        values = np.einsum("ij,ij->i", inner, inner)
        sums = []
        for tile, coef in parts:
            Q = evaluate_form(self.kernel, tile.sqdist, order=1)
            Q *= inner @ coef.T
            sums.append(weighted_sums(tile, Q))
        force, total, weight = map(sum, zip(*sums, strict=True))
        step, valid = steps(force, -total, weight, np.zeros(len(z)))
        top = evaluate_form(self.kernel, np.zeros(1))[0]
        return -values / top, step, valid & (values > ROUNDING * top * self.squares)


def smooth(kernel: Kernel) -> bool:
    """Return whether a radial kernel has a finite slope in |x - z|^2 at 0, as weighted means need."""
    return bool(np.isfinite(evaluate_form(kernel, np.zeros(1), order=1)[0]))
