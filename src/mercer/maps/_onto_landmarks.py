"""Coordinates of many vectors in the span of landmarks, along the principal axes of their projections."""

import logging

import numpy as np
from sklearn.utils import gen_batches

from mercer._common import check_flag, relative_tolerance
from mercer._compute.points import take_points
from mercer.expansion import require_same_kernel
from mercer.linalg import eigh
from mercer.linalg.operators import InnerProducts, epsilon
from mercer.maps.coordinates import coordinates_about, spectral

logger = logging.getLogger(__name__)

# Points whose coordinates are in memory at a time.
_ROWS = 4096


def onto_landmarks(onto, phi, centre=True, tol=None, *, memory="1GB", random_state=None):
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
    require_same_kernel(onto, phi, ("onto", "phi"))
    check_flag("centre", centre)
    tol = relative_tolerance(tol)
    basis = spectral(onto, False, memory=memory, random_state=random_state).basis
    average, scatter = _moments(basis, phi, centre)
    pairs = eigh.dense(scatter, len(scatter))
    values, axes = pairs.values, pairs.vectors
    inner = InnerProducts(phi)
    # rounding errors of inner products are not variance
    norm = float(np.max(np.asarray(phi.norms(), np.float64) ** 2))
    floor = max(tol * values[0], len(phi) * epsilon(inner) * max(values[0], 8 * norm))
    kept = values > floor
    if not kept.any():
        raise ValueError(
            f"no variance: the projections of the {len(phi)} points onto the span of {len(onto)} landmarks are equal "
            "up to rounding; give other landmarks or a smaller bandwidth."
        )
    logger.info("%d coordinates of %d vectors over %d landmarks", int(kept.sum()), len(phi), len(onto))
    return coordinates_about(basis @ average.astype(inner.dtype), basis @ axes[:, kept].astype(inner.dtype))


def _moments(basis, phi, centre):
    """Return the mean (r, 1) and the scatter (r, r) of the coordinates of vectors, _ROWS points at a time."""
    # subtracting the mean of the landmarks first avoids cancellation
    n, r = len(phi), len(basis)
    shift = np.asarray(basis(basis.points), np.float64).mean(axis=0) if centre else np.zeros(r)
    total, scatter = np.zeros(r), np.zeros((r, r))
    for rows in gen_batches(n, _ROWS):
        C = np.asarray(basis(take_points(phi.points, rows)), np.float64) - shift
        total += C.sum(axis=0)
        scatter += C.T @ C
    if not centre:
        return np.zeros((r, 1)), scatter
    total /= n
    return (shift + total)[:, None], scatter - n * np.outer(total, total)
