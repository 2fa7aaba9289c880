"""Coordinates of many vectors in the span of landmarks, along the principal axes of their projections."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import gen_batches

from mercer._common import Array, Memory, Seed, check_flag, notify, relative_tolerance
from mercer._compute.points import count_points, take_points, widened
from mercer.expansion import Expansion, require_same_kernel
from mercer.linalg import eigh
from mercer.linalg.operators import InnerProducts, epsilon
from mercer.maps.coordinates import Coordinates, coordinates_about, spectral

if TYPE_CHECKING:
    from mercer.linalg.eigh import Eigenpairs

_logger = logging.getLogger(__name__)

# Points whose coordinates are in memory at a time.
_ROWS = 4096


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
        Memory budget of the m x m matrix.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Coordinates
        At most m axes, over the points of ``onto``.

    Raises
    ------
    ValueError
        When all projections are equal up to rounding.
    MemoryError
        When the m x m matrix exceeds the budget.

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
        Memory budget of the m x m matrix.

    Returns
    -------
    float
        From 0 to 1; differences below n eps are rounding.

    Raises
    ------
    MemoryError
        When the m x m matrix exceeds the budget.

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


@dataclass(frozen=True)
class Sums:
    """Sums over n points: of their coordinates minus a shift, ``total`` (r,), and of the products, ``scatter`` (r, r).

    ``square`` and ``largest`` are the sum and the maximum of k(x_i, x_i).
    """

    n: int
    total: np.ndarray
    scatter: np.ndarray
    square: float
    largest: float

    def __add__(self, other: Any) -> Any:
        return Sums(
            self.n + other.n,
            self.total + other.total,
            self.scatter + other.scatter,
            self.square + other.square,
            max(self.largest, other.largest),
        )


@dataclass(frozen=True)
class Frame:
    """Orthonormal vectors in the span of landmarks, from which the coordinates of points are measured.

    Attributes
    ----------
    onto : Expansion
        The features of landmarks.
    basis : Expansion
        r vectors in their span, in float64: the constant part of a kernel cancels, and with it the digits of float32.
    shift : array (r,)
        The coordinates of the mean of the landmarks, which avoids cancellation; 0 when not centred.
    centre : bool
    """

    onto: Expansion
    basis: Expansion
    shift: np.ndarray
    centre: bool

    def sums(self, points: Any) -> Any:
        """Return the sums over points, _ROWS at a time."""
        r = len(self.basis)
        found = Sums(0, np.zeros(r), np.zeros((r, r)), 0.0, 0.0)
        for rows in gen_batches(count_points(points), _ROWS):
            part = take_points(points, rows)
            C = np.asarray(self.basis(widened(part)), np.float64) - self.shift
            squares = np.asarray(self.basis.kernel.diag(part), np.float64)
            found += Sums(len(C), C.sum(axis=0), C.T @ C, float(squares.sum()), float(squares.max()))
            notify("rows", done=found.n, most=count_points(points))
        return found


@dataclass(frozen=True)
class Moments:
    """Mean, scatter and variance of the projections of points onto the span of landmarks, from their sums."""

    frame: Frame
    sums: Sums

    @property
    def n(self) -> Any:
        """The number of points."""
        return self.sums.n

    @property
    def mean(self) -> Array:
        """The mean of the coordinates (r,), 0 when not centred."""
        return self.frame.shift + self.sums.total / self.n if self.frame.centre else self.frame.shift

    @property
    def about_mean(self) -> Array:
        """The scatter about the mean (r, r)."""
        total, scatter = self.sums.total, self.sums.scatter
        return scatter - np.outer(total, total) / self.n if self.frame.centre else scatter

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
        return float(np.trace(self.sums.scatter) + 2 * shift @ self.sums.total + self.n * (shift @ shift))

    def add(self, points: Any) -> Moments:
        """Return the moments with more points."""
        return Moments(self.frame, self.sums + self.frame.sums(points))


def frame_of(onto: Expansion, centre: bool = True, *, memory: Memory = "1GB", random_state: Seed = None) -> Any:
    """Return an orthonormal basis of the span of landmarks, and the coordinates of their mean."""
    wide, cut = Expansion(onto.kernel, widened(onto.points), onto.coef), len(onto) * epsilon(InnerProducts(onto))
    basis = spectral(wide, False, cut, memory=memory, random_state=random_state).basis
    at_landmarks = np.asarray(basis(basis.points), np.float64)
    return Frame(onto, basis, at_landmarks.mean(axis=0) if centre else np.zeros(len(basis)), centre)


def moments(
    onto: Expansion, phi: Expansion, centre: bool = True, *, memory: Memory = "1GB", random_state: Seed = None
) -> Moments:
    """Return the moments of the coordinates of vectors in the span of landmarks."""
    require_same_kernel(onto, phi, ("onto", "phi"))
    frame = frame_of(onto, centre, memory=memory, random_state=random_state)
    return Moments(frame, frame.sums(phi.points))


def principal_coordinates(found: Moments, tol: float = 0.0) -> tuple[Coordinates, Eigenpairs]:
    """Return coordinates along the principal axes of sums, and the eigenpairs of their scatter above rounding."""
    basis, onto = found.frame.basis, found.frame.onto
    pairs = eigh.dense(found.about_mean, len(basis))
    values, dtype = pairs.values, InnerProducts(onto).dtype
    # rounding errors of inner products are not variance
    rounding = found.n * float(np.finfo(dtype).eps)
    kept = values > max(tol * values[0], rounding * max(values[0], 8 * found.sums.largest))
    if not kept.any():
        raise ValueError(
            f"no variance: the projections of the {found.n} points onto the span of {basis.shape[0]} landmarks "
            "are equal up to rounding; give other landmarks or a smaller bandwidth."
        )
    _logger.info("%d coordinates of %d vectors over %d landmarks", int(kept.sum()), found.n, basis.shape[0])
    pairs = replace(pairs, values=values[kept], vectors=pairs.vectors[:, kept], residuals=pairs.residuals[kept])
    rounded = [(basis @ V).coef.astype(dtype) for V in (found.mean[:, None], pairs.vectors)]
    exact = coordinates_about(*(Expansion(onto.kernel, basis.points, coef) for coef in rounded))
    origin, axes = (Expansion(onto.kernel, onto.points, coef) for coef in rounded)
    return Coordinates(axes, origin, exact.intercept.astype(dtype), exact.square), pairs
