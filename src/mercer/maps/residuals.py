"""Residuals of the equations that orthonormal axes satisfy, as shares of the largest axis, from vectors in float64."""

from typing import Any

import numpy as np

from mercer._common import Array, as_float64
from mercer._compute.threads import threaded_blas
from mercer.expansion import Expansion
from mercer.gram import Gram


def of_eigenpairs(axes: Expansion, intercept: Array, weights: Array | None = None) -> Array:
    """Return |y_k - lambda_k a_k| / |a_k| as shares of the largest lambda (m,), with lambda_k = 1 / |a_k|^2.

    y_k are the coordinates of the points of the axes; the residuals are those of H K H v_k = lambda_k v_k. With
    positive weights w, y_k is multiplied by w_i^(1/2) and a_k divided by it.
    """
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    coef = axes.coef / root
    lengths = np.linalg.norm(coef, axis=0)
    inverse = 1 / np.where(lengths > 0, lengths, np.inf)
    errors = root * (axes(axes.points) + intercept) - coef * inverse**2
    return _shares(np.linalg.norm(errors, axis=0), inverse, lengths)


def of_projections(
    axes: Expansion,
    intercept: Array,
    points: Any,
    values: Array | None = None,
    weights: Array | None = None,
) -> Array:
    """Return |K_zx y_k - |y_k|^2 K_zz a_k| / |a_k| as shares of the largest |K_zx y_k| / |a_k| (m,).

    y_k are the coordinates of points x along axes a_k over landmarks z. The residuals vanish where the axes are
    orthonormal principal axes of the projections onto the span of the landmarks. With eigenvalues lambda_k they are at
    least ||y_k|^2 - lambda_k| as a share of the largest lambda. Weights (n,) multiply the terms of all sums over x.
    """
    Y = axes(points) + intercept
    w = np.ones(len(Y)) if weights is None else weights
    means = w @ Y / w.sum() if np.any(intercept) else np.zeros(len(axes))
    Y = Y - means
    given = Gram(axes.kernel, axes.points, points) @ (w[:, None] * Y)
    squares = w @ Y**2
    found = axes(axes.points) * squares
    shares = _shares(
        np.linalg.norm(given - found, axis=0), np.linalg.norm(given, axis=0), _lengths(axes)
    )
    shares = np.maximum(
        shares, np.abs(means) * np.sqrt(w.sum() / (np.max(squares, initial=0.0) or 1.0))
    )
    return (
        shares if values is None else np.maximum(shares, np.abs(squares - values) / np.max(values))
    )


def of_inner_products(axes: Expansion, intercept: Array, origin: Array) -> Array:
    """Return |<a_k, (a_l, mu)> - (delta_kl, -b_k)|, each divided by the lengths of its coefficients and |K| (m,)."""
    lengths = _lengths(axes)
    images = axes(axes.points)
    units = np.append(lengths, np.linalg.norm(origin) or 1.0)
    wanted = np.column_stack([np.eye(len(axes)), -as_float64(intercept)])
    with threaded_blas(2 * images.size * wanted.shape[1]):
        errors = images.T @ np.column_stack([axes.coef, origin]) - wanted
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(units > 0, errors / units, 0.0)
    return _shares(np.linalg.norm(errors, axis=1), np.linalg.norm(images, axis=0), lengths)


def of_features(axes: Expansion) -> Array:
    """Return |k_j - Z z_j| / max_i |k_i| for each column k_j of K, with the features Z = K A of the points (n,)."""
    K = axes.kernel(axes.points)
    Z = K @ axes.coef
    return np.linalg.norm(K - Z @ Z.T, axis=0) / np.max(np.linalg.norm(K, axis=0))


def _lengths(axes):
    return np.linalg.norm(axes.coef, axis=0)


def _shares(errors, sizes, lengths):
    """Return errors / lengths divided by the largest size / length; infinity for an axis without coefficients."""
    used = lengths > 0
    shares = np.full(len(lengths), np.inf)
    shares[used] = errors[used] / lengths[used] / np.max(sizes[used] / lengths[used], initial=0.0)
    return shares
