"""Pre-images by multidimensional scaling (Kwok and Tsang): distances to neighbours determine the point."""

from dataclasses import dataclass

import numpy as np

from mercer._common import EPS, Array, check_integer, notify, shown
from mercer._compute.memory import blocks
from mercer._compute.storable import storable
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.forms import flat_kernel, form_of
from mercer.preimages.base import Found, behind_maps
from mercer.preimages.descent import dense_rows, nearest
from mercer.preimages.fixed_point import normalised
from mercer.preimages.inverse import invert, require_invertible
from mercer.preimages.objective import spread


@storable
@dataclass(frozen=True)
class Distances:
    r"""Pre-image by multidimensional scaling among the nearest points of psi, the method of Kwok and Tsang (2004).

    If psi were phi(z), its values <psi, phi(x_i)> = k(x_i, z) would give the distances from z to its neighbours x_i by
    the inverse profile (a logarithm for the Gaussian kernel); z is the point of their affine span with these distances,

    .. math:: z = \bar x + U \hat z, \qquad \hat z = -\tfrac12 \Lambda^{-1} V' (d^2 - d_0^2),

    where U Lambda V' are the centred neighbours and d_0 their distances from their mean. For kernels of the inner
    product the profile gives <x_i, z>, and the common term |z|^2 cancels. Only linear algebra, no iteration.

    Parameters
    ----------
    neighbours : int
        Number of points of psi, nearest in feature space, from which each z is computed.
    normalise : bool
        Scale psi to the sphere of the features, |psi|^2 = k(z, z), first (radial kernels only). For the Gaussian kernel
        this adds the same constant to all squared distances and changes no point.

    References
    ----------
    Kwok, Tsang, *The pre-image problem in kernel methods*, IEEE TNN 15 (2004), section III;
    Arias, Randall, Sapiro, *Connecting the out-of-sample and pre-image problems in kernel methods*, CVPR 2007.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.distances import Distances
    >>> phi = mc.features(mc.Gaussian(0.5), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]))
    >>> Distances(neighbours=3).find(phi[:, 0], np.zeros((1, 2))).points.round(6) + 0.0
    array([[0., 0.]])
    """

    neighbours: int = 10
    normalise: bool = False

    def __post_init__(self) -> None:
        check_integer("neighbours", self.neighbours)

    def require(self, kernel: Kernel) -> None:
        """Raise a TypeError unless the kernel is a monotone function of the distance or of the inner product."""
        require_invertible(self, kernel)
        if self.normalise and form_of(flat_kernel(kernel)) != "radial":
            raise TypeError(
                f"normalise=True needs a Radial kernel, whose features lie on a sphere; got {shown(kernel)}."
            )

    @behind_maps
    def find(self, psi: Expansion, start: Array) -> Found:
        """Return a point for every vector; O(n^2 m) for the values of psi, then a small SVD each."""
        if self.normalise:
            psi = normalised(psi)
        values = psi(psi.points)
        order = nearest(psi, values, self.neighbours)
        squares, inside = _squared_distances(psi, order, np.take_along_axis(values, order, axis=0))
        points = np.empty(start.shape)
        for block in blocks(len(start), len(order) * start.shape[1]):
            points[block] = _place(_neighbours(psi, order[:, block]), squares[:, block].T)
            notify("points", done=block.stop, most=len(start))
        reason = "psi has values at its neighbours that no feature has there"
        return Found(
            points,
            inside,
            np.zeros(len(start), int),
            tuple("" if ok else reason for ok in np.ravel(inside)),
        )


def _squared_distances(psi, order, values):
    """Return squared input distances to the neighbours (k, m) up to a constant, and whether all values are attained."""
    kernel = psi.kernel
    if form_of(kernel) == "radial":
        squares, inside = invert(kernel, values, spread(psi) ** 2, negative=False)
        # values above the range of the profile: distance 0; below it: twice that of the farthest neighbour
        farthest = np.max(np.where(inside, squares, 0), axis=0)
        return np.where(inside | (squares == 0), squares, 4 * farthest), inside.all(axis=0)
    own = np.asarray(psi.prepared.sqnorms())
    size = float(np.mean(own)) or 1.0
    products, inside = invert(kernel, values, size, negative=True)
    length, there = invert(kernel, psi.norms() ** 2, size, negative=True)
    # |z|^2 is the same for all neighbours
    squares = own[order] - 2 * products
    return squares, inside.all(axis=0) & there & (length >= 0)


def _neighbours(psi, order):
    """Return the neighbours of each vector (m, k, d)."""
    k, m = order.shape
    return dense_rows(psi, order.T.ravel()).reshape(m, k, -1)


def _place(neighbours, squares):
    """Return the points in the spans of neighbours (m, k, d) at squared distances (m, k), by least squares."""
    mean = neighbours.mean(axis=1, keepdims=True)
    U, size, V = np.linalg.svd(neighbours - mean, full_matrices=False)
    own = np.einsum("mkd,mkd->mk", neighbours - mean, neighbours - mean)
    kept = size > EPS**0.5 * size[:, :1]
    along = -0.5 * np.einsum("mkr,mk->mr", U, squares - own)
    along = np.where(kept, along / np.where(kept, size, 1), 0)
    return mean[:, 0] + np.einsum("mr,mrd->md", along, V)
