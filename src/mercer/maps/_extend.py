"""Coordinates extended by new points: each one outside the span adds the axis of its residual."""

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._common import (
    ArrayLike,
    PointsLike,
    as_float64,
    check_instance,
    check_integer,
    refuse_large,
    relative_tolerance,
)
from mercer._compute.points import as_vector, join_points, take_points
from mercer.expansion import Expansion, features
from mercer.linalg import cholesky
from mercer.maps.coordinates import Coordinates


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
