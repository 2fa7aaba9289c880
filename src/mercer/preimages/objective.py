"""Objectives over points of input space, one vector per point: distances and quotients, with their gradients."""

from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.array import tiles
from mercer._compute.points import Points, evenly_spaced
from mercer.expansion import Expansion, summands
from mercer.kernels.marked import Marked, kernel_of_data, without_marks
from mercer.preimages.descent import dense_rows, row_dot

# phi(z) counts as orthogonal to psi where value and slope of psi are below this share of |psi| |phi(z)|.
_ORTHOGONAL = 1e-6
# Points that show whether k(z, z) is constant.
_ROWS = 8


def quotients(a: Array, b: Array) -> Array:
    """Return a / b, 0 where b is not above 0."""
    positive = b > 0
    return np.where(positive, a, 0) / np.where(positive, b, 1)


def squared_norms(psi: Expansion, values: Array) -> Array:
    """Return |psi_j|^2 (m,) from ``values`` = psi(psi.points)."""
    return np.diagonal(values) if psi.coef is None else np.einsum("ij,ij->j", psi.coef, values)


def paired_values(psi: Expansion, z: Array) -> Array:
    """Return <psi_j, phi(z_j)> for every vector and its point (m,), without gradients.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import paired_values
    >>> paired_values(mc.features(mc.Linear(), np.array([[1.0], [2.0]])), np.array([[3.0], [4.0]]))
    array([3., 8.])
    """
    values = np.zeros(len(z))
    for rows, kernel, tile, W in _summed(psi, z, np.arange(len(z))):
        values[rows] += row_dot(W, kernel.evaluate(tile))
    return values


def paired(psi: Expansion, z: Array, columns: Array) -> tuple[Array, Array]:
    """Return <psi_j, phi(z_r)> (r,) and its gradient in z_r (r, d), where j = columns[r].

    Values and gradients share the tiles, so distances are computed once; no array (r, n, d) is formed.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import paired
    >>> phi = mc.features(mc.Linear(), np.array([[1.0], [2.0]]))
    >>> paired(phi, np.array([[3.0], [4.0]]), np.array([0, 1]))
    (array([3., 8.]), array([[1.],
           [2.]]))
    """
    values = np.zeros(len(z))
    gradient = np.zeros(z.shape)
    for rows, kernel, tile, W in _summed(psi, z, columns):
        values[rows] += row_dot(W, kernel.evaluate(tile))
        gradient[rows] += kernel.gradient(tile, W)
    return values, gradient


def _summed(psi, z, columns):
    """Yield rows of points z, and a kernel, a tile and weights (r, n) of each sum in which psi has values there."""
    for part in summands(psi):
        for rows, tile in tiles(Points(z), part.prepared):
            yield rows, part.kernel, tile, weights(part, columns[rows])


def weights(psi: Expansion, columns: Array) -> Array:
    """Return the coefficients of some vectors as rows (r, n)."""
    if psi.coef is None:
        W = np.zeros((len(columns), len(psi.prepared)))
        W[np.arange(len(columns)), columns] = 1
        return W
    return psi.coef.T[columns]


class _OfVectors:
    """Vectors psi_j of an objective, their norms, and the spread of their points."""

    def __init__(self, psi: Expansion) -> None:
        self.psi: Expansion = psi
        self.kernel: Any = kernel_of_data(psi.kernel)
        self.norms: Array = psi.norms()
        self.width: float = spread(psi)

    def _has_influence(self, columns, inner, gradient, squares):
        """Return whether value or slope exceeds rounding; where psi is flat, every point would be stationary."""
        negligible = _ORTHOGONAL * (self.norms[columns] * np.sqrt(np.abs(squares)))
        steep = np.linalg.norm(gradient, axis=1) * self.width > negligible
        return (np.abs(inner) > negligible) | steep


class Distance(_OfVectors):
    """f_j(z) = k(z, z) - 2 <psi_j, phi(z)> + pull |z - anchor_j|^2: the squared distance without |psi_j|^2.

    ``pull`` is the weight of the distance in input space (Abrahamsen and Hansen 2009).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import Distance
    >>> z = np.array([[2.0]])
    >>> f, gradient, valid = Distance(mc.features(mc.Linear(), z), 0.0, z)(z, np.array([0]))
    >>> f, gradient
    (array([-4.]), array([[0.]]))
    """

    def __init__(self, psi: Expansion, pull: float, anchor: Array) -> None:
        super().__init__(psi)
        self.pull: float = pull
        self.anchor: Array = anchor

    def size(self, start: Array) -> Array:
        """Return the size of the values (m,), positive also where psi = 0.

        |psi| max(|psi|, |phi(start)|): phi(z) grows as long as psi, but where k(z, z) is constant.
        """
        rows = dense_rows(self.psi, evenly_spaced(self.psi.prepared.n, _ROWS))
        grows = self.kernel.diagonal_gradient(Points(rows), np.ones(len(rows))).any()
        top = np.sqrt(np.abs(self.psi.kernel.diag(start)))
        longest = np.maximum(self.norms, top) if grows else top
        return np.maximum(self.norms, _ORTHOGONAL**2 * top) * longest

    def __call__(self, z: Array, columns: Array) -> tuple[Array, Array, Array]:
        """Return values (r,), gradients (r, d), and whether psi has an influence at each point (r,)."""
        points = Points(z)
        inner, slope = paired(self.psi, z, columns)
        offset = z - self.anchor[columns]
        squares = self.kernel.diagonal(points)
        values = squares - 2 * inner + self.pull * row_dot(offset, offset)
        own = self.kernel.diagonal_gradient(points, np.ones(len(z)))
        gradient = own - 2 * slope + 2 * self.pull * offset
        return values, gradient, self._has_influence(columns, inner, gradient, squares)


class Quotient(_OfVectors):
    """f_j(z) = -<psi_j, phi(z)>^2 / k(z, z): the squared distance of psi_j to the line of phi(z), without |psi_j|^2.

    See section V-A of Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 1999.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.objective import Quotient
    >>> phi = mc.features(mc.Linear(), np.array([[3.0, 4.0]]))
    >>> Quotient(phi)(np.array([[6.0, 8.0]]), np.array([0]))[0]
    array([-25.])
    """

    def size(self, start: Array) -> Any:
        """Return the size of the values (m,), |psi|^2."""
        return self.norms**2

    def __call__(self, z: Array, columns: Array) -> tuple[Array, Array, Array]:
        """Return values (r,), gradients (r, d), and whether psi has an influence at each point (r,)."""
        points = Points(z)
        inner, slope = paired(self.psi, z, columns)
        squares = self.kernel.diagonal(points)
        # phi(z) has no direction where k(z, z) <= 0
        scale = quotients(inner, squares)
        gradient = self.kernel.diagonal_gradient(points, scale**2) - 2 * scale[:, None] * slope
        valid = (squares > 0) & self._has_influence(columns, inner, slope, squares)
        return -scale * inner, gradient, valid


def data_of(psi: Expansion) -> Points:
    """Return the points of an expansion, without marks."""
    marked = isinstance(psi.kernel, Marked)
    return Points(without_marks(psi.kernel, psi.prepared.container)) if marked else psi.prepared


def spread(psi: Expansion) -> float:
    """Return the root mean squared distance of the points from their mean, the unit of tolerances; 1 if it is 0."""
    points = data_of(psi)
    # sparse rows are not centred: the squared norm of their mean is subtracted
    mean = np.asarray(points.container.mean(axis=0)).ravel() if points.sparse else np.zeros(1)
    total = float(np.mean(points.sqnorms(points.centre)) - mean @ mean)
    return total**0.5 if total > 0 else 1.0
