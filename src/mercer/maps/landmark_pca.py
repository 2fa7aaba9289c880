"""Coordinates of many vectors in the span of landmarks, along the principal axes of their projections."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np

from mercer import landmarks
from mercer._common import (
    EPS,
    AnyFunction,
    Array,
    Memory,
    Seed,
    as_float64,
    check_flag,
    record,
    relative_tolerance,
)
from mercer._compute.devices import evaluating, product, there
from mercer._compute.memory import Route, Size
from mercer._compute.normal import Totals, weighted_sums, widely
from mercer._compute.points import count_points, widened
from mercer._compute.profile import namespace_of
from mercer._compute.threads import serial_blas, threaded_blas
from mercer.distributed import InMemory
from mercer.expansion import Expansion, features, require_same_kernel, squares
from mercer.linalg import eigh
from mercer.linalg.eigh import Eigenpairs
from mercer.linalg.operators import NOISE, InnerProducts, epsilon, in_float64
from mercer.maps.coordinates import Coordinates, coordinates_about, spectral

_logger = logging.getLogger(__name__)


def onto_landmarks(
    onto: Expansion,
    phi: Expansion,
    centre: bool = True,
    tol: float | None = None,
    *,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Coordinates:
    """Return coordinates in the span of landmarks, along the principal axes of the projections of many vectors.

    Origin and axes are those of the projections. Where the landmarks span all vectors these are the spectral
    coordinates. No n x n matrix is computed.

    Parameters
    ----------
    onto : Expansion
        m vectors, the features of landmarks.
    phi : Expansion
        n vectors without coefficients, the features of all points.
    centre : bool
        Take the mean of the projections as origin.
    tol : float, optional
        Axes whose eigenvalue is at most ``tol`` times the largest are cut; n eps by default and at least.
    memory : str or int
        Memory limit of the m x m matrix.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Coordinates
        At most m axes, over the points of ``onto``.

    Raises
    ------
    ValueError
        When all projections are equal up to rounding, or phi has coefficients.
    MemoryError
        When the m x m matrix exceeds the limit.

    Notes
    -----
    n m kernel values and O(n m^2 + m^3) operations.

    References
    ----------
    Williams, Seeger, *Using the Nystroem method to speed up kernel machines*, NIPS 13 (2001).
    Kwak (2013), theorem 2, with another set of points for the span.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import onto_landmarks
    >>> k, X = mc.Linear(), np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> onto_landmarks(mc.features(k, X[1:]), mc.features(k, X))(X).round(6)
    array([[-2.],
           [ 0.],
           [ 2.]])
    """
    check_flag("centre", centre)
    tol = relative_tolerance(tol)
    found = moments(onto, phi, centre, memory=memory, random_state=random_state)
    return principal_coordinates(found, tol)[0]


def trace_error(onto: Expansion, phi: Expansion, *, memory: Memory = "1GB") -> float:
    r"""Return the share of the squared norms of vectors that is outside of the span of landmarks.

    .. math:: \sum_i |\phi_i - P \phi_i|^2 \,/\, \sum_i |\phi_i|^2 = \mathrm{tr}(K - K_{nm} K_{mm}^{+} K_{mn}) \,/\,
       \mathrm{tr}\,K

    Parameters
    ----------
    onto : Expansion
        m vectors, the features of landmarks.
    phi : Expansion
        n vectors without coefficients, the features of all points.
    memory : str or int
        Memory limit of the m x m matrix.

    Returns
    -------
    float
        From 0 to 1; differences below n eps are rounding.

    Raises
    ------
    MemoryError
        When the m x m matrix exceeds the limit.
    ValueError
        When phi has coefficients.

    Notes
    -----
    n m kernel values and O(n m^2 + m^3) operations.

    References
    ----------
    Chen, Epperly, Tropp, Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 78 (2025).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import trace_error
    >>> phi = mc.features(mc.Linear(), np.array([[3.0, 0.0], [0.0, 1.0]]))
    >>> round(trace_error(phi[:, [0]], phi), 12)
    0.1
    """
    return moments(onto, phi, False, memory=memory).trace_error


# --- sums over points, which are added part by part -------------------------------------------------------------------


@record
class Frame:
    """Orthonormal vectors in the span of landmarks, from which the coordinates of points are measured.

    Attributes
    ----------
    onto : Expansion
        The features of landmarks.
    basis : Expansion
        r vectors in their span, in float64: the constant part of a kernel cancels, and with it the digits of float32.
    means : array (m,)
        The kernel values of the landmarks with their mean, which are subtracted against cancellation; 0 when not
        centred.
    centre : bool
    from_values : array (r,) of bool
        Axes whose sums follow from those of kernel values, a third of the operations; of others coordinates are summed.
    """

    onto: Expansion
    basis: Expansion
    means: np.ndarray
    centre: bool
    from_values: np.ndarray

    @property
    def shift(self) -> Any:
        """The coordinates of the mean of the landmarks (r,), 0 when not centred."""
        return self.means @ self.basis.dense_coef()

    def sums(self, points: Any, weights: Array | None = None) -> Any:
        """Return the weighted sums over points of the vectors of ``_vectors``, and of their products."""
        size = np.count_nonzero(~self.from_values) + self.from_values.any() * self.basis.shape[0]
        ones = np.ones((count_points(points), 1))
        # threads of NumPy's BLAS would wait while SciPy's sums products
        with serial_blas:
            return weighted_sums(
                self._vectors(), self.basis.kernel, points, size, ones.__getitem__, weights
            )

    def _vectors(self):
        """Return the function of points to kernel values with the landmarks and coordinates along other axes.

        Their shifts are subtracted.
        """
        if not self.from_values.any():
            basis = evaluating(self.basis)
            shift = self.shift
            return lambda points: widely(np.subtract, basis(widened(points)), shift)
        own = evaluating(features(self.basis.kernel, self.basis.points))
        coef = self.basis.dense_coef()[:, ~self.from_values]

        def vectors(points):
            values = widely(np.subtract, own(widened(points)), self.means)
            if not coef.size:
                return values
            with threaded_blas(2 * values.shape[0] * coef.size):
                return namespace_of(values).concat([values, values @ there(coef)], axis=1)

        return vectors

    def along(self, sums: Totals) -> Totals:
        """Return the sums of coordinates that follow from ``sums``."""
        S = sums.matrix
        if not self.from_values.any():
            return sums
        m = self.basis.shape[0]
        rest = np.flatnonzero(~self.from_values)
        T = np.where(self.from_values, self.basis.dense_coef(), 0.0)
        T = np.vstack([T, np.eye(len(self.from_values))[rest]])
        with threaded_blas(2 * T.size * m):
            scatter = product(T.T, product(S, T))
        growth = np.max(np.sum(T[:m] ** 2, axis=0))
        error = float(NOISE * EPS * sums.mass**0.5 * np.trace(S[:m, :m]) / m * growth)
        return replace(sums, right=T.T @ sums.right, matrix=(scatter + scatter.T) / 2, error=error)


@record
class Moments:
    """Mean, scatter and variance of the projections of points onto the span of landmarks, from their sums."""

    frame: Frame
    sums: Totals

    @property
    def n(self) -> Any:
        """The number of points, or the sum of their weights."""
        return self.sums.mass

    @property
    def total(self) -> Array:
        """The sum of the coordinates less the shift (r,)."""
        return self.sums.right[:, 0]

    @property
    def mean(self) -> Array:
        """The mean of the coordinates (r,), 0 when not centred."""
        return self.frame.shift + self.total / self.n if self.frame.centre else self.frame.shift

    @property
    def about_mean(self) -> Array:
        """The scatter about the mean (r, r)."""
        scatter = self.sums.matrix
        outer = np.outer(self.total, self.total) / self.n
        return scatter - outer if self.frame.centre else scatter

    @property
    def variance(self) -> float:
        """The sum of the squared distances of phi(x_i) to the mean of the projections."""
        # rounding leaves differences of either sign
        outside = max(self.sums.square - self._spanned, 0.0)
        return float(np.trace(self.about_mean)) + outside

    @property
    def trace_error(self) -> float:
        """The share of the sum of k(x_i, x_i) that is outside of the span, from 0 to 1."""
        square = self.sums.square
        return float(np.clip(1 - self._spanned / square, 0.0, 1.0)) if square > 0 else 0.0

    @property
    def _spanned(self):
        """The sum of the squared norms of the projections."""
        shift = self.frame.shift
        return float(np.trace(self.sums.matrix) + 2 * shift @ self.total + self.n * (shift @ shift))

    def add(self, blocks: Any) -> Moments:
        """Return the moments with more points, in blocks, see ``as_blocks``."""
        return Moments(
            self.frame, self.sums + self.frame.along(blocks.total(Frame.sums, self.frame))
        )


def route(run: AnyFunction, size: Size, m: int, rule: str) -> Route:
    """Return the route to principal coordinates over m landmarks that a rule selects."""
    return landmarks.route(run, size, m, rule, eigh.ALL + 2, landmarks.sums(size.n, m), 2)


def _from_values(Q, largest, n):
    """Return the axes of coefficients Q (m, r) whose sums over n points follow from those of kernel values (r,)."""
    m, r = Q.shape
    # the squared length of an axis multiplies rounding errors, which stay below the eigenvalues that are cut
    small = np.sum(Q**2, axis=0) * largest * NOISE <= n**0.5
    others = r - np.count_nonzero(small)
    # operations for each point
    worthwhile = 2 * m * others + (m + others) ** 2 < 2 * m * r + r**2
    return small & worthwhile


def moments(
    onto: Expansion,
    phi: Expansion,
    centre: bool = True,
    *,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Moments:
    """Return the moments of the coordinates of vectors in the span of landmarks."""
    require_same_kernel(onto, phi, ("onto", "phi"))
    if phi.coef is not None:
        raise ValueError(
            f"phi must be the features of points, got {len(phi)} combinations of them; give phi before @."
        )
    return block_moments(onto, InMemory(phi.points), centre, None, memory, random_state)


def block_moments(
    onto: Expansion,
    blocks: Any,
    centre: bool,
    weights: Array | None,
    memory: Memory,
    random_state: Seed,
) -> Moments:
    """Return the moments of the coordinates of blocks of weighted points, see ``as_blocks``, in a span of landmarks."""
    cut = len(onto) * epsilon(InnerProducts(onto))
    basis = spectral(in_float64(onto), False, cut, memory=memory, random_state=random_state).basis
    own = features(basis.kernel, basis.points)
    at_landmarks = as_float64(own(own.points))
    means = at_landmarks.mean(axis=0) if centre else np.zeros(len(own))
    largest = float(np.max(as_float64(squares(own))))
    from_values = _from_values(basis.dense_coef(), largest, blocks.shape[0])
    frame = Frame(onto, basis, means, centre, from_values)
    return Moments(frame, frame.along(blocks.total(Frame.sums, frame, weights)))


def principal_coordinates(found: Moments, tol: float = 0.0) -> tuple[Coordinates, Eigenpairs]:
    """Return coordinates along the principal axes of sums, and the eigenpairs of their scatter above rounding."""
    basis = found.frame.basis
    onto = found.frame.onto
    pairs = eigh.dense(found.about_mean, len(basis))
    values = pairs.values
    dtype = InnerProducts(onto).dtype
    # rounding errors of inner products are not variance
    rounding = found.n * float(np.finfo(dtype).eps)
    kept = values > max(
        tol * values[0], rounding * max(values[0], NOISE * found.sums.largest), found.sums.error
    )
    if not kept.any():
        raise ValueError(
            f"no variance: the projections of the {found.n} points onto the span of {basis.shape[0]} landmarks "
            "are equal up to rounding; give other landmarks or a smaller bandwidth."
        )
    _logger.info(
        "%d coordinates of %d vectors over %d landmarks", int(kept.sum()), found.n, basis.shape[0]
    )
    pairs = pairs.take(kept)
    coef = basis.dense_coef()
    rounded = [product(coef, V).astype(dtype) for V in (found.mean[:, None], pairs.vectors)]
    exact = coordinates_about(*(Expansion(onto.kernel, basis.points, coef) for coef in rounded))
    origin, axes = (Expansion(onto.kernel, onto.points, coef) for coef in rounded)
    return Coordinates(axes, origin, exact.intercept.astype(dtype), exact.square), pairs
