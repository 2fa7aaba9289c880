"""What is left of several vectors, as an objective over one point: how much of it all a feature takes away."""

import numpy as np

from mercer._compute.array import tiles
from mercer._compute.points import Points
from mercer._compute.profile import evaluate_profile
from mercer.preimages.fixed_point import steps
from mercer.preimages.objective import spread

# Below this share of the squares of all vectors a feature takes away nothing but rounding.
_ORTHOGONAL = 1e-14


class Residual:
    r"""f(z) = -sum_j <rho_j, phi(z)>^2 / k(z, z) of the residuals rho_j = psi_j - psi'_j, and its gradient in z.

    It is the joint squared distance of the residuals to the line of phi(z), less a constant.

    Parameters
    ----------
    psi, chi : Expansion
        m vectors and what they are approximated by, float64; ``chi`` may be None at the start.
    squares : float
        sum_j |psi_j|^2, the size of the values.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), sections V-A and V-D.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.residual import Residual
    >>> phi = mc.features(mc.Linear(), np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> Residual(phi, None, 26.0)(np.array([[0.0, 2.0]]), np.array([0]))[0]
    array([-17.])
    """

    def __init__(self, psi, chi, squares):
        self.kernel, self.squares = psi.kernel, squares
        coef = np.eye(len(psi)) if psi.coef is None else psi.coef
        self.parts = [(psi.prepared, coef)] + ([] if chi is None else [(chi.prepared, -chi.coef)])
        self.width = spread(psi)

    def size(self, start):
        """Return the size of the values (r,) for starts (r, d)."""
        return np.full(len(start), self.squares)

    def inner(self, z):
        """Return <rho_j, phi(z)> (r, m)."""
        return self._inner(self._tiles(Points(z)))

    def __call__(self, z, columns):  # noqa: ARG002
        """Return values (r,), gradients (r, d), and whether each point feels the residuals at all (r,)."""
        kernel, side = self.kernel, Points(z)
        tiles = self._tiles(side)
        inner = self._inner(tiles)
        squares = kernel.diagonal(side)
        # where k(z, z) <= 0 there is no direction to take multiples of
        there = squares > 0
        scale = np.where(there[:, None], inner, 0) / np.where(there, squares, 1)[:, None]
        values = np.einsum("ij,ij->i", scale, inner)
        gradient = kernel.diagonal_gradient(side, np.einsum("ij,ij->i", scale, scale))
        for tile, coef in tiles:
            gradient -= 2 * kernel.gradient(tile, scale @ coef.T)
        return -values, gradient, there & (values > _ORTHOGONAL * self.squares)

    def _tiles(self, side):
        # a few points against all: one tile each
        return [(next(tiles(side, part))[1], coef) for part, coef in self.parts]

    def _inner(self, tiles):
        return sum(self.kernel.evaluate(tile) @ coef for tile, coef in tiles)


class ResidualMean(Residual):
    r"""The same objective for smooth radial kernels, with the step to the weighted mean in place of the gradient.

    .. math:: z = \frac{\sum_i w_i k'(|z - x_i|^2) x_i}{\sum_i w_i k'(|z - x_i|^2)},
              \qquad w_i = \sum_j \langle \rho_j, \phi(z) \rangle C_{ij}

    over the points of psi and of its approximation alike. For the Gaussian kernel the denominator is proportional to
    the objective, and so is never of the wrong sign.

    Parameters
    ----------
    psi, chi : Expansion
    squares : float
    """

    def __call__(self, z, columns):  # noqa: ARG002
        """Return values (r,), steps (r, d), and whether they can be followed (r,)."""
        tiles = self._tiles(Points(z))
        inner = self._inner(tiles)
        values = np.einsum("ij,ij->i", inner, inner)
        force, denominator, weight = np.zeros(z.shape), np.zeros(len(z)), np.zeros(len(z))
        for tile, coef in tiles:
            Q = tile.radial(self.kernel, order=1)
            Q *= inner @ coef.T
            X, Z = tile.centred
            total = Q.sum(axis=1)
            force += 2 * (total[:, None] * X - Q @ Z)
            denominator -= 2 * total
            weight += 2 * np.abs(Q, out=Q).sum(axis=1)
        step, sound = steps(force, denominator, weight, np.zeros(len(z)))
        top = evaluate_profile(self.kernel, np.zeros(1))[0]
        return -values / top, step, sound & (values > _ORTHOGONAL * top * self.squares)


def smooth(kernel):
    """Return whether a radial kernel has a finite slope in |x - z|^2 at 0, so that weighted means are defined.

    Parameters
    ----------
    kernel : Radial

    Returns
    -------
    bool
    """
    return bool(np.isfinite(evaluate_profile(kernel, np.zeros(1), order=1)[0]))
