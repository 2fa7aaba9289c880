"""Coordinates in a subspace of feature space: spectral, triangular and whitened ones, and their extension by points."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import (
    Array,
    ArrayLike,
    Memory,
    PointsLike,
    Seed,
    array_record,
    as_float64,
    check_flag,
    check_instance,
    check_integer,
    refuse_large,
    relative_tolerance,
    shown,
)
from mercer._compute.costs import ROWS
from mercer._compute.devices import anywhere, place_of
from mercer._compute.memory import Route, Size, Work, cut, require_memory
from mercer._compute.points import as_dense_rows, as_rows, as_vector, join_points, take_points
from mercer._compute.register import storable
from mercer.expansion import (
    Expansion,
    features,
    mean,
    over_points,
    require_symmetric,
    squares,
    with_intercept,
)
from mercer.factor import Wanted, eigenpairs, orthonormalised
from mercer.linalg import cholesky, eigh
from mercer.linalg.operators import NOISE
from mercer.preimages import preimage
from mercer.preimages.methods import with_regression

_logger = logging.getLogger(__name__)


@storable
@array_record
class Coordinates:
    r"""The map from points to coordinates in a subspace of feature space, y(x) = <phi(x) - mu, pi_k> for k = 1 .. r.

    .. math:: \phi(x) = \mu + \sum_k y_k \pi_k + \mathrm{rest}, \qquad |\phi(x) - \mu|^2 = |y|^2 + y_{r+1}^2

    Attributes
    ----------
    basis : Expansion
        r vectors pi_k, orthonormal (of ``whitened`` the rows of an isometry, where r may exceed the rank).
    origin : Expansion
        The vector mu in the span; 0 when not centred.
    intercept : array (r,)
        -<mu, pi_k>.
    square : float, optional
        The squared norm of mu; ``residual`` computes it when left out.
    variances : array (r,), optional
        For whitened coordinates y_k = <phi(x) - mu, pi_k> / s_k: the squares s_k^2, with ``basis`` and ``intercept``
        divided by s_k.

    References
    ----------
    Kwak, *Nonlinear projection trick in kernel methods*, IEEE TNNLS 24 (2013), theorem 2 and lemmas 5 and 6.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import spectral
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0]])
    >>> to_coordinates = spectral(mc.features(mc.Linear(), X))
    >>> to_coordinates(X), to_coordinates.residual(np.array([[5.0, 3.0]]))
    (array([[ 1.],
           [-1.]]), array([3.]))
    """

    basis: Expansion
    origin: Expansion
    intercept: np.ndarray
    square: float | None = None
    variances: np.ndarray | None = None

    def __mercer_place__(self) -> Any:
        return place_of(self.basis)

    def __call__(self, X: PointsLike) -> Array:
        """Return the coordinates of points.

        Parameters
        ----------
        X : points (n)

        Returns
        -------
        array (n, r)
        """
        return with_intercept(self.basis(X), self.intercept)

    @anywhere
    def residual(self, X: PointsLike) -> Array:
        """Return the residual coordinate of each point, the distance of phi(x) to the affine subspace (lemma 5).

        With it squared distances to points of the subspace are those of feature space. Each point has another residual
        axis, so the product of two residuals has no meaning.

        Parameters
        ----------
        X : points (n)

        Returns
        -------
        array (n,)
            At least 0; values below about eps^(1/2) |phi(x)| are rounding errors.

        Raises
        ------
        ValueError
            For rows of a precomputed kernel, which do not contain k(x, x).
        """
        diagonal = as_float64(self.basis.kernel.diag(X))
        square = diagonal - 2 * self.origin(X)[:, 0].astype(np.float64) + self.squared_origin
        coordinates = self(X)
        rest = square - np.einsum(
            "ij,ij->i", coordinates, self._along_axes(coordinates), dtype=np.float64
        )
        return np.sqrt(np.maximum(rest, 0)).astype(coordinates.dtype)

    @property
    def squared_origin(self) -> float:
        """The squared norm of mu."""
        return float(squares(self.origin)[0]) if self.square is None else self.square

    def of(self, psi: Expansion) -> Array:
        """Return the coordinates of vectors of feature space, <psi_j, pi_k>, without the origin (lemma 6).

        Parameters
        ----------
        psi : Expansion
            m vectors. For vectors psi, chi in the span, <psi, chi> is the dot product of their coordinates.

        Returns
        -------
        array (m, r)
        """
        return psi.inner(self.basis)

    @anywhere
    def vectors(self, Y: ArrayLike) -> Expansion:
        """Return the vectors of feature space with given coordinates, mu + sum_k y_k pi_k.

        Parameters
        ----------
        Y : array (m, k)
            Coordinates along the leading k <= r vectors of the basis; 0 along the others.

        Returns
        -------
        Expansion
            m vectors.

        Raises
        ------
        ValueError
            For more coordinates.
        """
        Y = as_coordinates(Y, "Y", len(self.basis))
        return self.basis @ self._along_axes(Y).T + self.origin

    @anywhere
    def preimages(
        self, Y: ArrayLike, method: Any = "auto", start: PointsLike | None = None
    ) -> Array:
        """Return points whose features are nearest to the vectors with given coordinates.

        Parameters
        ----------
        Y : array (m, k)
            As of `vectors`.
        method : str or method record
            As in ``mercer.preimage``.
        start : points (m), optional
            Where the searches start.

        Returns
        -------
        array (m, d) or list of m objects

        Raises
        ------
        TypeError
            For a precomputed kernel.
        """
        Y = as_coordinates(Y, "Y", len(self.basis))
        found = []
        method = with_regression(method, self.basis)
        # the coefficients of their vectors are a matrix (n, ROWS)
        for rows in cut(len(Y), ROWS):
            own = None if start is None else start[rows]
            found.append(preimage(self.vectors(Y[rows]), method, start=own).points)
        return join_points(found)

    def _along_axes(self, Y):
        """Return coordinates times s_k^2: the coefficients of ``basis`` in the vectors with these coordinates."""
        return Y if self.variances is None else Y * self.variances


def spectral(
    phi: Expansion,
    centre: bool = True,
    tol: float | None = None,
    *,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Coordinates:
    r"""Return coordinates in the whole span of a block of vectors, along its principal axes.

    .. math:: H K H = U \Lambda U', \qquad Y = \Lambda^{1/2} U', \qquad y = \Lambda^{-1/2} U' k(x)

    with the centred kernel vector k(x) and H = I - 11'/n, or H = I when not centred. The columns of Y are the
    coordinates of the vectors themselves, and dot products of them are the (centred) inner products.

    Parameters
    ----------
    phi : Expansion
        n vectors.
    centre : bool
        Take the mean of the vectors as origin.
    tol : float, optional
        Axes whose eigenvalue is at most ``tol`` times the largest are cut; n eps by default and at least.
    memory : str or int
        Memory limit of the n x n matrix of inner products.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Coordinates
        As many axes as the rank.

    Raises
    ------
    MemoryError
        When the matrix exceeds the limit.
    ValueError
        When ``tol`` is not from 0 to below 1, or all vectors are equal.

    Warns
    -----
    UserWarning
        When the kernel is indefinite on these points; negative eigenvalues are not used.

    Notes
    -----
    O(n^3), and n kernel values per new point. The last coordinates have errors of about eps^(1/2).

    References
    ----------
    Kwak (2013), lemma 1, theorem 2 and equation (7).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import spectral
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> kernel = mc.Gaussian(1.0)
    >>> Y = spectral(mc.features(kernel, X), centre=False)(X)
    >>> np.allclose(Y @ Y.T, kernel(X))
    True
    """
    require_symmetric("phi", phi)
    check_flag("centre", centre)
    return spectral_coordinates(phi, centre, relative_tolerance(tol), memory, random_state)


def spectral_coordinates(
    phi: Expansion,
    centre: bool,
    tol: float,
    memory: Memory,
    random_state: Seed,
    weights: Array | None = None,
) -> Coordinates:
    """Return coordinates as `spectral` does, of vectors whose kernel was tried; axes and origin may have weights."""
    pairs = _whole_spectrum(phi, centre, memory, random_state, weights)
    pairs = pairs.take(pairs.values > tol * pairs.values[0])
    vectors = pairs.vectors
    _logger.info("%d coordinates of %d vectors", len(pairs.values), len(phi))
    if weights is not None:
        vectors = vectors * np.sqrt(weights).astype(vectors.dtype)[:, None]
    basis = phi @ (vectors / np.sqrt(pairs.values).astype(vectors.dtype))
    return coordinates_about(_origin_of(phi, centre, weights), basis)


def spectral_route(run: Any, size: Size) -> Route:
    """Return the route to the spectral coordinates of some vectors."""
    n = size.n
    work = Work(2.0 * n * n) + eigh.dense_work(n, n)
    return Route(
        "dense",
        "landmarks = None needs all eigenvectors",
        eigh.dense_bytes(n, n),
        work,
        run,
        block=(n, n),
    )


def triangular(
    phi: Expansion,
    centre: bool = True,
    tol: float | None = None,
    *,
    pivot: bool = True,
    memory: Memory = "1GB",
) -> Coordinates:
    """Return coordinates in the span of a block by Cholesky, O(n r^2): a rotation of the spectral coordinates.

    The vectors are taken in the order of their distance to the span of those before, or as given; each adds the axis of
    its residual, so the first k axes span the first k vectors.

    Parameters
    ----------
    phi : Expansion
        n vectors.
    centre : bool
        Take the mean of the vectors as origin.
    tol : float, optional
        A vector whose squared distance to the span of those before is at most ``tol`` times the largest squared norm
        adds no axis; eps^(1/2) of the type by default. When centred at least the rounding of k(x, x), n eps 8 times its
        largest value.
    pivot : bool
        Take the farthest vector first. Otherwise vectors keep their order, and the coordinates of independent ones are
        Y, the upper triangular factor of K = Y'Y; rounding may be amplified.
    memory : str or int
        Memory limit of the inner products of centred vectors.

    Returns
    -------
    Coordinates

    Raises
    ------
    MemoryError
        When the inner products exceed the limit.
    ValueError
        When ``tol`` is not from 0 to below 1, or all vectors are equal up to rounding.

    References
    ----------
    Kwak (2013), footnote 3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import triangular
    >>> triangular(mc.features(mc.Linear(), np.array([[3.0, 4.0], [6.0, 8.0]])), centre=False)(np.array([[3.0, 4.0]]))
    array([[5.]])
    """
    require_symmetric("phi", phi)
    check_flag("centre", centre)
    check_flag("pivot", pivot)
    n = len(phi)
    centred = phi
    if centre:
        _require_matrix(n, memory)
        dtype = phi.prepared.dtype
        centred = phi @ (np.eye(n, dtype=dtype) - np.asarray(1 / n, dtype))
        tol = _above_rounding(
            phi, centred, relative_tolerance(tol, float(np.finfo(dtype).eps) ** 0.5)
        )
    factorise = cholesky.pivoted if pivot else cholesky.in_order
    basis, _ = orthonormalised(centred, tol, memory, "phi", factorise)
    return coordinates_about(_origin_of(phi, centre), basis)


def _above_rounding(phi, centred, tol):
    """Return a tolerance, relative to the largest squared norm of centred vectors, above the rounding of k(x, x)."""
    norm, largest = (float(np.max(as_float64(squares(block)))) for block in (phi, centred))
    rounding = NOISE * len(phi) * float(np.finfo(phi.prepared.dtype).eps) * norm
    if not largest > rounding:
        raise ValueError(
            f"no variance: the {len(phi)} vectors are equal up to rounding under the kernel {shown(phi.kernel)}, with "
            f"squared norms up to {norm:.1e}; give points that differ, a smaller bandwidth, or, for points far from "
            "the origin, subtract their mean."
        )
    return max(tol, rounding / largest)


def project_on(Y: ArrayLike, beta: ArrayLike) -> Array:
    """Return the coordinates of the projections onto the line along a vector, (y.beta / beta.beta) beta.

    Parameters
    ----------
    Y : array (n, r)
        Coordinates of points.
    beta : array (r,)
        Coordinates of the vector, from ``Coordinates.of``.

    Returns
    -------
    array (n, r)

    Raises
    ------
    ValueError
        When the vector is 0 or has another number of coordinates.

    References
    ----------
    Kwak (2013), corollary 7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import project_on
    >>> project_on(np.array([[3.0, 4.0]]), np.array([2.0, 0.0]))
    array([[3., 0.]])
    """
    Y = as_rows(Y, "Y")
    beta = as_vector(beta, "beta")
    if Y.shape[1] != len(beta):
        raise ValueError(
            f"Y must have shape (n, {len(beta)}), one column for each coordinate of beta, got {Y.shape}."
        )
    if not beta.any():
        raise ValueError("beta must not be 0; a line needs a direction.")
    # divided by the largest entry first, whose square may overflow or vanish
    unit = beta / np.abs(beta).max()
    unit /= np.linalg.norm(unit)
    return np.outer(Y @ unit, unit)


def as_coordinates(Y: ArrayLike, name: str, r: int) -> Array:
    """Return coordinates on the leading of r axes as an array (m, r) with finite squared lengths, or raise."""
    Y = np.asarray(as_dense_rows(Y, name))
    if Y.shape[1] > r:
        raise ValueError(
            f"{name} must have shape (m, {r}), or fewer columns for leading axes, got {Y.shape}; transform gives such "
            "coordinates of points, and denoise takes points."
        )
    Y = np.pad(Y, ((0, 0), (0, r - Y.shape[1])))
    largest = float(abs(Y).max())
    if not largest <= (float(np.finfo(Y.dtype).max) / (4 * r)) ** 0.5:
        raise ValueError(
            f"{name} has entries up to {largest:.3g}, whose squared lengths overflow {Y.dtype}; scale it."
        )
    return Y


def coordinates_about(origin: Expansion, basis: Expansion) -> Coordinates:
    """Return the coordinates with an origin, one vector, and a basis over the same points."""
    if not origin.coef.any():
        return Coordinates(basis, origin, np.zeros(len(basis), origin.prepared.dtype), 0.0)
    # a column of products; the vectors of the basis would take another matrix
    values = over_points(basis.kernel, basis.prepared).inner(origin)[:, 0]
    return Coordinates(basis, origin, -(values @ basis.coef), float(values @ origin.coef[:, 0]))


def _origin_of(phi, centre, weights=None):
    """Return the mean of the vectors of a block, or the vector 0 over its points."""
    return mean(phi, weights) if centre else phi @ np.zeros((len(phi), 1), dtype=phi.prepared.dtype)


def _whole_spectrum(phi, centre, memory, random_state, weights=None):
    """Return all eigenpairs of the (centred) inner products above rounding."""
    _require_matrix(len(phi), memory)
    return eigenpairs(
        phi, Wanted(None), centre, weights=weights, memory=memory, random_state=random_state
    )


def _require_matrix(n, memory):
    """Raise a MemoryError that names landmarks when an n x n matrix exceeds the memory limit."""
    require_memory(
        8 * n * n,
        memory,
        f"the kernel matrix of {n} points",
        "landmarks, such as KernelMap(landmarks=...), or a larger memory=",
    )


def whitened(
    phi: Expansion, centre: bool = False, *, memory: Memory = "1GB", random_state: Seed = None
) -> Coordinates:
    r"""Return the empirical kernel map of an evaluation set, whitened: K^(-1/2) k(x).

    .. math:: \Phi_m(x) = K^{-1/2} (k(x, z_1), \dots, k(x, z_m))', \qquad \Phi_m(z_i)'\Phi_m(z_j) = k(z_i, z_j)

    with the pseudo-inverse where K is singular, and with H K H and the centred k(x) when centred. The map without
    whitening, k(x, z_1), ..., k(x, z_m), is ``features(kernel, Z)(X)``; it is a feature map for the dot product
    <u, v> = u'A v with A = ``basis.coef @ basis.coef.T``, for which K A K = K.

    Parameters
    ----------
    phi : Expansion
        m vectors, the features of the evaluation set: the training points or landmarks.
    centre : bool
        Take their mean as origin.
    memory : str or int
        Memory limit of the m x m matrix.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Coordinates
        m coordinates, a rotation of the spectral coordinates with equal centring.

    Raises
    ------
    MemoryError
        When the m x m matrix exceeds the limit.

    Warns
    -----
    UserWarning
        When the kernel is indefinite on the evaluation set; negative eigenvalues are not used.

    Notes
    -----
    O(m^3), and m kernel values per new point. Eigenvalues below m eps lambda_max count as 0. Of other points, dot
    products are the inner products of the projections onto the span of the evaluation set.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section II-C.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import whitened
    >>> Z, kernel = np.array([[0.0], [1.0]]), mc.Gaussian(1.0)
    >>> values = whitened(mc.features(kernel, Z))(Z)
    >>> np.allclose(values @ values.T, kernel(Z))
    True
    """
    require_symmetric("phi", phi)
    check_flag("centre", centre)
    pairs = _whole_spectrum(phi, centre, memory, random_state)
    V = pairs.vectors
    root = (V / np.sqrt(pairs.values).astype(V.dtype)) @ V.T
    # V is an isometry, so all formulas of an orthonormal basis hold
    return coordinates_about(_origin_of(phi, centre), phi @ root)


def nonsymmetric_whitening(K: ArrayLike) -> Array:
    r"""Return the whitening matrix of a nonsymmetric kernel, (K K')^(-1/4).

    .. math:: W = (K K')^{-1/4}, \qquad (W K)'(W K) = (K'K)^{1/2}

    A symmetric positive semidefinite K gives W = K^(-1/2), as ``whitened``. The columns of ``W @ k(Z, X)`` are the
    images of new points.

    Parameters
    ----------
    K : array (m, n)
        Values k(z_i, x_j); the rows belong to the evaluation set.

    Returns
    -------
    array (m, m)
        Symmetric; singular values below max(m, n) eps of the largest count as 0.

    Raises
    ------
    ValueError
        When K is not finite, or 0.

    Notes
    -----
    One singular value decomposition, O(m n min(m, n)).

    References
    ----------
    Schoelkopf et al. (1999), section II-C: nonsymmetric kernels work with K'K.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import nonsymmetric_whitening
    >>> nonsymmetric_whitening(np.array([[4.0, 0.0], [0.0, -9.0]])).round(4)
    array([[0.5   , 0.    ],
           [0.    , 0.3333]])
    """
    K = as_rows(K, "K")
    left, s, _ = scipy.linalg.svd(K, full_matrices=False, check_finite=False)
    kept = s > max(K.shape) * np.finfo(K.dtype).eps * s[0]
    if not kept.any():
        raise ValueError("K must not be 0; it has no inverse root.")
    return (left[:, kept] / np.sqrt(s[kept])) @ left[:, kept].T


# --- coordinates extended by new points: each one outside the span adds the axis of its residual ----------------------


def extend(
    coordinates: Any, X: PointsLike, tol: float | None = None, most: int | None = None
) -> Coordinates:
    r"""Return coordinates with an additional axis for every direction of new points outside the span.

    .. math:: Y \leftarrow \begin{pmatrix} Y & y \\ 0 & y_{r+1} \end{pmatrix}

    The axes, the origin and the coordinates of earlier points do not change; the new coordinates of earlier points
    are 0. From an empty span this is a pivoted Cholesky factorisation.

    Parameters
    ----------
    coordinates : Coordinates
        r axes over n points.
    X : points (b)
    tol : float, optional
        Points whose squared residual is at most ``tol`` times the largest |phi(x)|^2 add no axis; eps^(1/2) of the type
        by default.
    most : int, optional
        Largest number of additional axes.

    Returns
    -------
    Coordinates
        r + p axes over n + p points.

    Raises
    ------
    TypeError
        For a precomputed kernel, whose rows do not contain the values between new points.
    ValueError
        For whitened coordinates, with ``variances``.

    Notes
    -----
    O(n b) kernel values and O(n b r) operations. The new axes are orthonormal to the others to about eps / tol.

    References
    ----------
    Zhao et al., *A two-phase incremental kernel PCA*, Complexity (2019): phase one.
    Kwak, *Nonlinear projection trick in kernel methods*, IEEE TNNLS 24 (2013), lemma 5.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import extend, triangular
    >>> start = triangular(mc.features(mc.Linear(), np.array([[2.0, 0.0]])), centre=False)
    >>> extend(start, np.array([[3.0, 4.0]]))(np.array([[3.0, 4.0]]))
    array([[3., 4.]])
    """
    _require_coordinates(coordinates)
    if most is not None:
        check_integer("most", most, least=0)
    kernel = coordinates.basis.kernel
    if kernel.tags.points == "indices":
        raise TypeError(
            f"coordinates of {type(kernel).__name__} cannot be extended: it has no kernel values between new points; "
            "fit on the matrix of all points, or use another kernel."
        )
    phi = features(kernel, X)
    norms = phi.norms()
    tol = relative_tolerance(tol, np.finfo(norms.dtype).eps ** 0.5)
    Y = as_float64(coordinates(X))
    rest = _residual_products(coordinates, phi, Y)
    # tol is relative to the norms of phi, not to those of the residuals
    norm = float(norms.max()) ** 2
    largest = float(rest.diagonal().max())
    if not largest > tol * norm or most == 0:
        return coordinates
    part = cholesky.pivoted(rest, most, tol * norm / largest)
    rows = part.pivots
    return _joined(
        coordinates, take_points(phi.points, rows), Y[rows], part.factor[rows], norms.dtype
    )


def recentred(coordinates: Any, shift: ArrayLike) -> Coordinates:
    """Return coordinates with the origin moved to the point of the subspace at ``shift``.

    Parameters
    ----------
    coordinates : Coordinates
        r orthonormal axes.
    shift : array (r,)

    Returns
    -------
    Coordinates
        Their values are the former ones minus ``shift``. No kernel values are computed.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import recentred, triangular
    >>> start = triangular(mc.features(mc.Linear(), np.array([[2.0]])), centre=False)
    >>> recentred(start, np.array([1.0]))(np.array([[3.0]]))
    array([[2.]])
    """
    _require_coordinates(coordinates)
    intercept = coordinates.intercept
    shift = as_vector(shift, "shift")
    if len(shift) != len(intercept):
        raise ValueError(
            f"shift has {len(shift)} numbers, but must have {len(intercept)}, one for each axis."
        )
    refuse_large("shift", shift)
    shift = shift.astype(intercept.dtype)
    return replace(
        coordinates,
        origin=coordinates.origin + coordinates.basis @ shift[:, None],
        intercept=intercept - shift,
        square=coordinates.squared_origin + float(shift @ shift - 2 * intercept @ shift),
    )


def _require_coordinates(value):
    check_instance(
        "coordinates", value, Coordinates, "Coordinates, such as mercer.maps.spectral returns"
    )
    if value.variances is not None:
        raise ValueError(
            "coordinates must be along axes of length 1, but these are divided by their standard deviations; use those "
            "of KernelPCA(whiten=False)."
        )


def _residual_products(coordinates, phi, Y):
    """Return the inner products of the residuals of new points with each other (b, b)."""
    centre = as_float64(coordinates.origin(phi.points))
    M = as_float64(phi.inner(phi)) - centre - centre.T + coordinates.squared_origin - Y @ Y.T
    # rounding can make a squared norm negative
    np.fill_diagonal(M, np.maximum(M.diagonal(), 0))
    return M


def _joined(coordinates, points, Y, L, dtype):
    """Return coordinates with the axes (phi(points) - mu - basis Y') L^-T after the others."""
    basis = coordinates.basis
    origin = coordinates.origin
    inverse = cholesky.inverse_transpose(L)
    new = -(origin.coef + basis.coef @ Y.T) @ inverse
    below = np.hstack([np.zeros((len(L), len(basis))), inverse])
    coef = np.vstack([np.hstack([basis.coef, new]), below]).astype(dtype)
    joined = join_points([basis.points, points])
    along = origin(points)[:, 0] - coordinates.squared_origin + Y @ coordinates.intercept
    return replace(
        coordinates,
        basis=Expansion(basis.kernel, joined, coef),
        origin=Expansion(
            basis.kernel, joined, np.vstack([origin.coef, np.zeros((len(L), 1), dtype)])
        ),
        intercept=np.concatenate([coordinates.intercept, -(along @ inverse)]).astype(dtype),
    )
