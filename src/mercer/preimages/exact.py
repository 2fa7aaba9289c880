"""Exact pre-images from the values of psi at the points of an orthonormal basis, for vectors that are some phi(z)."""

from dataclasses import dataclass

import numpy as np

from mercer._common import LARGEST, TINY, Array, check_positive, notify
from mercer._compute.storable import storable
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.forms import evaluate_form, form_of
from mercer.preimages.base import Found, behind_maps
from mercer.preimages.inverse import invert, require_invertible
from mercer.preimages.objective import Distance, spread


@storable
@dataclass(frozen=True)
class Exact:
    r"""Pre-image of a vector that is phi(z), by the inverse profile at the points of an orthonormal basis b_i.

    For k(x, z) = f(<x, z>), and for k(x, z) = g(|x - z|^2) by polarisation about the start a,

    .. math::
        z = \sum_i \tfrac1t f^{-1}(\psi(t b_i)) b_i, \qquad
        z = a + \sum_i \tfrac1{4t} [g^{-1}(\psi(a - t b_i)) - g^{-1}(\psi(a + t b_i))] b_i,

    with psi(x) = <psi, phi(x)>. The length t keeps the values where the profile is neither flat nor vanishing. The
    formula always gives a point; its distance shows whether it is a pre-image, and the result reports it.

    Parameters
    ----------
    tol : float
        The point is a pre-image when |psi - phi(z)|^2 is at most ``tol`` times |psi|^2 + k(z, z).

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section IV-A.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.exact import Exact
    >>> phi = mc.features(mc.Polynomial(degree=3), np.array([[1.0, -2.0]]))
    >>> Exact().find(phi, np.zeros((1, 2))).points.round(10)
    array([[ 1., -2.]])
    """

    tol: float = 1e-10

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)

    def require(self, kernel: Kernel) -> None:
        """Raise a TypeError unless the kernel is a monotone function of the distance or of the inner product."""
        require_invertible(self, kernel)

    @behind_maps
    def find(self, psi: Expansion, start: Array) -> Found:
        """Return a point for every vector; d n m kernel values for inner products, 2 d n each for distances."""
        points = (_from_distances if form_of(psi.kernel) == "radial" else _from_products)(
            psi, start
        )
        notify("points", done=len(points), most=len(points))
        failed = ~np.isfinite(points).all(axis=1)
        points[failed] = start[failed]
        squares = psi.norms() ** 2
        distance = Distance(psi, 0.0, points)(points, np.arange(len(points)))[0] + squares
        bound = self.tol * (squares + np.abs(psi.kernel.diag(points)))
        # under an indefinite kernel the squared distance may be negative
        exact = np.abs(distance) <= bound
        reasons = tuple(
            ""
            if good
            else f"no exact pre-image: |psi - phi(z)|^2 = {far:.3g} exceeds the tolerance {limit:.3g}"
            for good, far, limit in zip(exact, distance, bound, strict=True)
        )
        return Found(points, exact, np.zeros(len(points), int), reasons)


def _from_products(psi, start):
    kernel = psi.kernel
    points = psi.prepared
    size = float(np.mean(points.sqnorms())) or 1.0
    s = _steep(kernel, size)
    t = s / np.sqrt(size)
    basis = _general_basis(start.shape[1])
    products, _ = invert(kernel, psi(t * basis), s, negative=True)
    # values outside the range of the profile give the ends of the range; the distance shows the failure
    return np.clip(products / t, -1e3 * np.sqrt(size), 1e3 * np.sqrt(size)).T @ basis


def _steep(kernel, size):
    """Return the largest size / 2^j within which the slope is at least a quarter of that at 0."""
    while True:
        slopes = np.abs(evaluate_form(kernel, np.array([-size, 0.0, size]), order=1))
        if min(slopes[0], slopes[2]) >= slopes[1] / 4:
            return size
        size /= 2


def _general_basis(d):
    """Return an orthonormal basis (d, d), the reflection of the first axis to the diagonal."""
    # a profile that is flat at 0 does not tell 0 from a small coordinate; images have no zeros in this basis
    u = np.full(d, -1 / np.sqrt(d))
    u[0] += 1
    return np.eye(d) - 2 * np.outer(u, u) / max(u @ u, TINY)


def _from_distances(psi, start):
    kernel = psi.kernel
    d = start.shape[1]
    top = kernel.diag(start[:1])
    # the limit of the profile
    far = np.fmax(evaluate_form(kernel, np.array([LARGEST])), 0)
    # the distance at which the profile is midway between its maximum and its limit; the spread of the points if none is
    half, _ = invert(kernel, (top + far) / 2, spread(psi) ** 2, negative=False)
    t = float(np.sqrt(half[0]))
    points = np.empty(start.shape)
    for j, a in enumerate(start):
        values = psi[:, j](np.concatenate([a - t * np.eye(d), a + t * np.eye(d)]))[:, 0]
        squares, inside = invert(kernel, values, half[0], negative=False)
        # a value below the range of the profile corresponds to an infinite distance, one above it to the distance 0
        before, after = np.where(inside | (squares == 0), squares, np.nan).reshape(2, d)
        points[j] = a + (before - after) / (4 * t)
    return points
