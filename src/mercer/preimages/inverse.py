"""Pre-images by the inverse of a monotone profile: exact ones, and those at the distances of neighbours."""

import numpy as np

from mercer._common import (
    EPS,
    HALVINGS,
    LARGEST,
    TINY,
    Array,
    as_float64,
    check_integer,
    check_positive,
    record,
    shown,
)
from mercer._compute.memory import blocks
from mercer._compute.register import storable
from mercer._progress import notify
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.forms import evaluate_form, flat_kernel, form_of
from mercer.preimages.base import Found, behind_maps
from mercer.preimages.descent import Distance, dense_rows, nearest, spread
from mercer.preimages.fixed_point import normalised


@storable
@record
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
    >>> from mercer.preimages.inverse import Exact
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
    products, _ = invert(kernel, psi(t * basis), s)
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
    half, _ = invert(kernel, (top + far) / 2, spread(psi) ** 2)
    t = float(np.sqrt(half[0]))
    steps = t * np.concatenate([-np.eye(d), np.eye(d)])
    values = np.array([psi[:, j](a + steps)[:, 0] for j, a in enumerate(start)])
    squares, inside = invert(kernel, values, half[0])
    # a value below the range of the profile corresponds to an infinite distance, one above it to the distance 0
    before, after = np.split(np.where(inside | (squares == 0), squares, np.nan), 2, axis=1)
    return start + (before - after) / (4 * t)


@storable
@record
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
    >>> from mercer.preimages.inverse import Distances
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
            rows = dense_rows(psi, order[:, block].T.ravel())
            points[block] = _place(
                rows.reshape(-1, len(order), start.shape[1]), squares[:, block].T
            )
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
        squares, inside = invert(kernel, values, spread(psi) ** 2)
        # values above the range of the profile: distance 0; below it: twice that of the farthest neighbour
        farthest = np.max(np.where(inside, squares, 0), axis=0)
        return np.where(inside | (squares == 0), squares, 4 * farthest), inside.all(axis=0)
    own = np.asarray(psi.prepared.sqnorms())
    size = float(np.mean(own)) or 1.0
    products, inside = invert(kernel, values, size)
    length, there = invert(kernel, psi.norms() ** 2, size)
    # |z|^2 is the same for all neighbours
    squares = own[order] - 2 * products
    return squares, inside.all(axis=0) & there & (length >= 0)


def _place(neighbours, squares):
    """Return the points in the spans of neighbours (m, k, d) at squared distances (m, k), by least squares."""
    mean = neighbours.mean(axis=1, keepdims=True)
    U, size, V = np.linalg.svd(neighbours - mean, full_matrices=False)
    own = np.einsum("mkd,mkd->mk", neighbours - mean, neighbours - mean)
    kept = size > EPS**0.5 * size[:, :1]
    along = -0.5 * np.einsum("mkr,mk->mr", U, squares - own)
    along = np.where(kept, along / np.where(kept, size, 1), 0)
    return mean[:, 0] + np.einsum("mr,mrd->md", along, V)


# --- from a kernel value to the squared distance or inner product of its points --------------------------------------


def require_invertible(method: object, kernel: Kernel) -> None:
    """Raise a TypeError unless a kernel is a monotone function of the distance or of the inner product."""
    name = type(method).__name__
    kernel = flat_kernel(kernel)
    form = form_of(kernel)
    if form not in ("radial", "dot"):
        raise TypeError(
            f"{name} needs a Radial or Dot kernel; got {shown(kernel)}. Use method='gradient'."
        )
    s = np.geomspace(1e-8, 1e8, 401)
    s = np.concatenate([-s[::-1], s]) if form == "dot" else s
    slope = evaluate_form(kernel, s, order=1)
    if not ((slope >= 0).all() or (slope <= 0).all()):
        kind = "inner products" if form == "dot" else "distances"
        raise TypeError(
            f"{name} needs a monotone profile, but {shown(kernel)} has the same value at several {kind}, as "
            "polynomials of even degree do. Use method='gradient'."
        )


def invert(kernel: Kernel, values: Array, scale: float) -> tuple[Array, Array]:
    """Return s with profile(s) = value, and whether the profile attains the value, by bracketed Newton steps.

    ``scale`` is the size of s to try first; inner products may be negative. Where the profile does not attain the
    value, s is the nearest end of its range.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.inverse import invert
    >>> s, inside = invert(mc.Gaussian(2.0), np.array([np.exp(-6.0), 1.5]), 1.0)
    >>> s.round(12), inside
    (array([3., 0.]), array([ True, False]))
    """
    values = as_float64(values)
    negative = form_of(kernel) == "dot"
    ends = evaluate_form(kernel, np.array([-scale if negative else 0.0, scale]))
    sign = np.sign(ends[1] - ends[0])

    def gap(s):
        # increasing in s, 0 at the solution
        return sign * (evaluate_form(kernel, s) - values)

    high, above = _bracket(gap, np.full(values.shape, float(scale)), 1)
    if negative:
        low, below = _bracket(gap, np.full(values.shape, -float(scale)), -1)
    else:
        low = np.zeros(values.shape)
        # a value that exceeds the one at 0 by rounding only is the value at 0
        below = gap(low) <= 1e-13 * np.abs(values)
    s = _root(kernel, gap, sign, low, high)
    return np.where(below, np.where(above, s, high), low), above & below


def _bracket(gap, s, direction):
    """Double s until the solution lies between s and 0; return s, and whether it does."""
    outside = direction * gap(s) <= 0
    for _ in range(2 * HALVINGS):
        if not outside.any():
            break
        s = np.where(outside, 2 * s, s)
        outside = direction * gap(s) <= 0
    return s, ~outside


def _root(kernel, gap, sign, low, high):
    s = 0.5 * (low + high)
    for step in range(4 * HALVINGS):
        value = gap(s)
        low = np.where(value < 0, s, low)
        high = np.where(value > 0, s, high)
        with np.errstate(all="ignore"):
            newton = s - value / (sign * evaluate_form(kernel, s, order=1))
        inside = np.isfinite(newton) & (newton >= low) & (newton <= high)
        # every third step bisects: Newton steps alone may converge slowly towards one end
        following = np.where(inside & (step % 3 < 2), newton, 0.5 * (low + high))
        following = np.where(value == 0, s, following)
        done = np.abs(following - s) <= 2 * EPS * np.abs(s)
        s = following
        if done.all():
            break
    return s
