"""What is minimised over points of input space, one vector per point: distances and quotients, with their gradients."""

import numpy as np

from mercer._compute.array import tiles
from mercer._compute.points import Points

# Where both value and slope of psi are below this share of |psi| |phi(z)|, phi(z) is as good as orthogonal to it.
_ORTHOGONAL = 1e-6


def paired_values(psi, z):
    """Return <psi_j, phi(z_j)> for every vector and its point; no gradient is asked of the kernel.

    Parameters
    ----------
    psi : Expansion
        m vectors over n points, float64.
    z : array (m, d)

    Returns
    -------
    array (m,)
        At the cost of m n kernel values.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import paired_values
    >>> paired_values(mc.features(mc.Linear(), np.array([[1.0], [2.0]])), np.array([[3.0], [4.0]]))
    array([3., 8.])
    """
    values = np.empty(len(z))
    for rows, tile in tiles(Points(z), psi.prepared):
        values[rows] = np.einsum("ij,ij->i", weights(psi, np.arange(len(z))[rows]), psi.kernel.evaluate(tile))
    return values


def paired(psi, z, columns):
    """Return <psi_j, phi(z_r)> and its gradient in z_r for pairs of a vector and a point.

    Values and gradients come from the same tiles, so that distances are computed once; nothing (r, n, d) is formed.

    Parameters
    ----------
    psi : Expansion
        m vectors over n points, float64.
    z : array (r, d)
    columns : integer array (r,)
        The vector that belongs to each point.

    Returns
    -------
    array (r,), array (r, d)
        At the cost of r n kernel values and gradients, in float64.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import paired
    >>> phi = mc.features(mc.Linear(), np.array([[1.0], [2.0]]))
    >>> paired(phi, np.array([[3.0], [4.0]]), np.array([0, 1]))
    (array([3., 8.]), array([[1.],
           [2.]]))
    """
    values, gradient = np.empty(len(z)), np.empty(z.shape)
    for rows, tile in tiles(Points(z), psi.prepared):
        W = weights(psi, columns[rows])
        values[rows] = np.einsum("ij,ij->i", W, psi.kernel.evaluate(tile))
        gradient[rows] = psi.kernel.gradient(tile, W)
    return values, gradient


def weights(psi, columns):
    """Return the coefficients of chosen vectors as rows (r, n)."""
    if psi.coef is None:
        W = np.zeros((len(columns), len(psi.prepared)))
        W[np.arange(len(columns)), columns] = 1
        return W
    return psi.coef.T[columns]


class Distance:
    """f_j(z) = k(z, z) - 2 <psi_j, phi(z)> + pull |z - anchor_j|^2: a squared distance less the constant |psi_j|^2.

    Parameters
    ----------
    psi : Expansion
        m vectors, float64, of a kernel with a gradient.
    pull : float
        Weight of the distance in input space (Abrahamsen and Hansen 2009).
    anchor : array (m, d)

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import Distance
    >>> z = np.array([[2.0]])
    >>> f, gradient, sound = Distance(mc.features(mc.Linear(), z), 0.0, z)(z, np.array([0]))
    >>> f, gradient
    (array([-4.]), array([[0.]]))
    """

    def __init__(self, psi, pull, anchor):
        self.psi, self.pull, self.anchor = psi, pull, anchor
        self.norms, self.width = psi.norms(), spread(psi)

    def size(self, start):
        """Return the size of the values (m,), |psi| max(|psi|, |phi(start)|), above 0 for a vector 0 as well."""
        top = np.sqrt(np.abs(self.psi.kernel.diag(start)))
        return np.maximum(self.norms, _ORTHOGONAL**2 * top) * np.maximum(self.norms, top)

    def __call__(self, z, columns):
        """Return values (r,), gradients (r, d), and whether each point feels psi at all (r,)."""
        kernel, side = self.psi.kernel, Points(z)
        inner, slope = paired(self.psi, z, columns)
        apart = z - self.anchor[columns]
        squares = kernel.diagonal(side)
        values = squares - 2 * inner + self.pull * np.einsum("ij,ij->i", apart, apart)
        gradient = kernel.diagonal_gradient(side, np.ones(len(z))) - 2 * slope + 2 * self.pull * apart
        return values, gradient, _felt(inner, gradient, self.norms[columns] * np.sqrt(np.abs(squares)), self.width)


class Quotient:
    """f_j(z) = -<psi_j, phi(z)>^2 / k(z, z): the squared distance from psi_j to the line of phi(z), less |psi_j|^2.

    Parameters
    ----------
    psi : Expansion
        m vectors, float64, of a kernel with a gradient.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-A.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import Quotient
    >>> phi = mc.features(mc.Linear(), np.array([[3.0, 4.0]]))
    >>> Quotient(phi)(np.array([[6.0, 8.0]]), np.array([0]))[0]
    array([-25.])
    """

    def __init__(self, psi):
        self.psi = psi
        self.norms, self.width = psi.norms(), spread(psi)

    def size(self, start):
        """Return the size of the values (m,), |psi|^2."""
        return self.norms**2

    def __call__(self, z, columns):
        """Return values (r,), gradients (r, d), and whether each point feels psi at all (r,)."""
        kernel, side = self.psi.kernel, Points(z)
        inner, slope = paired(self.psi, z, columns)
        squares = kernel.diagonal(side)
        # where k(z, z) <= 0 there is no direction to take multiples of
        there = squares > 0
        scale = np.where(there, inner, 0) / np.where(there, squares, 1)
        gradient = kernel.diagonal_gradient(side, scale**2) - 2 * scale[:, None] * slope
        size = self.norms[columns] * np.sqrt(np.abs(squares))
        return -scale * inner, gradient, there & _felt(inner, slope, size, self.width)


def _felt(inner, gradient, size, width):
    """Return whether psi reaches a point, rather than leave it on a plain where any point is stationary."""
    negligible = _ORTHOGONAL * size
    return (np.abs(inner) > negligible) | (np.linalg.norm(gradient, axis=1) * width > negligible)


def spread(psi):
    """Return the root mean squared distance of the points of an expansion from their mean, 1 when they coincide.

    Parameters
    ----------
    psi : Expansion
        Over dense or sparse rows.

    Returns
    -------
    float
        What steps and tolerances in input space are measured by, since it moves with the points.
    """
    side = psi.prepared
    # sparse rows have no centre, and are measured about their mean by the difference of two means
    mean = np.asarray(side.container.mean(axis=0)).ravel() if side.sparse else np.zeros(1)
    total = float(np.mean(side.sqnorms(side.centre)) - mean @ mean)
    return total**0.5 if total > 0 else 1.0
