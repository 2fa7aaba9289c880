"""Numerical evidence on points: symmetry, the smallest eigenvalue, and a vector of negative square if there is one."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer._compute.points import count_points, take_points
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.linalg import eigh
from mercer.linalg.extreme import smallest

# Of more points than a dense solver takes, so many evenly spaced ones are tried pair by pair.
_TRIED = 1_000
# Products of the Gram matrix of many points.
_PRODUCTS = 40
# A kernel value computed twice differs by no more than this times its size in its type's precision.
_ROUNDINGS = 32


@dataclass(frozen=True)
class Pairs:
    """Kernel values of all pairs of some points, computed once for all that is asked of them.

    Attributes
    ----------
    rows : array (m,)
        Which points: all where fewer than 2 000 are given, else 1 000 evenly spaced ones.
    K : array (m, m)
        As the kernel gives them, in its type.
    """

    rows: np.ndarray
    K: np.ndarray


def try_pairs(kernel, X):
    """Return the kernel values of all pairs, or, of 2 000 points or more, of pairs of 1 000 evenly spaced ones.

    Parameters
    ----------
    kernel : Kernel
    X : points (n)

    Returns
    -------
    Pairs
    """
    n = count_points(X)
    if n < eigh.DENSE_ORDER:
        return Pairs(np.arange(n), np.asarray(kernel(X)))
    rows = np.linspace(0, n - 1, _TRIED).astype(int)
    return Pairs(rows, np.asarray(kernel(take_points(X, rows))))


def asymmetry(pairs):
    """Return the largest ``|k(x, z) - k(z, x)|`` and the largest ``|k|``.

    Parameters
    ----------
    pairs : Pairs

    Returns
    -------
    difference, size : float
    """
    K = pairs.K.astype(np.float64, copy=False)
    return float(np.max(np.abs(K - K.T))), float(np.max(np.abs(K)))


def smallest_eigenpair(kernel, X, pairs):
    """Return the smallest eigenvalue of the symmetrised Gram matrix of all points, its error, and its vector.

    Parameters
    ----------
    kernel : Kernel
    X : points (n)
    pairs : Pairs

    Returns
    -------
    Smallest

    Notes
    -----
    O(n^3) below 2 000 points, whose matrix is there; from there on, Lanczos on products that never keep the matrix,
    O(n^2) each.
    """
    operator = pairs.K if len(pairs.rows) == count_points(X) else Gram(kernel, X)
    return smallest(operator, max_products=_PRODUCTS, random_state=0)


def find_witness(kernel, X, pairs, vector):
    """Return few points and coefficients whose sum in feature space has a negative square beyond rounding.

    One point where k(x, x) < 0, else two that break the Cauchy-Schwarz inequality, else as few of the points with the
    largest entries of ``vector`` as will do.

    Parameters
    ----------
    kernel : Kernel
    X : points (n)
    pairs : Pairs
    vector : array (n,)
        Of a negative eigenvalue, or nearly.

    Returns
    -------
    witness : Expansion or None
    square : float or None
        Recomputed in extended precision from the coefficients and the kernel's values.
    """
    for rows in _candidates(kernel, X, pairs, vector):
        points = take_points(X, rows)
        points = points.toarray() if sp.issparse(points) else points
        values = np.asarray(kernel(points))
        K = values.astype(np.float64)
        K = (K + K.T) / 2
        coef = scipy.linalg.eigh(K, subset_by_index=[0, 0])[1]
        coef = coef / coef[np.argmax(np.abs(coef))]
        square, bound = _square(K, coef[:, 0], np.finfo(values.dtype).eps)
        if square < -bound:
            return Expansion(kernel, points, coef), square
    return None, None


def _candidates(kernel, X, pairs, vector):
    diagonal = np.asarray(kernel.diag(X), np.float64)
    yield np.array([np.argmin(diagonal)])
    rows, K = pairs.rows, pairs.K.astype(np.float64, copy=False)
    excess = K**2 - np.multiply.outer(diagonal[rows], diagonal[rows])
    np.fill_diagonal(excess, -np.inf)
    if len(rows) > 1:
        yield rows[np.sort(np.unravel_index(np.argmax(excess), excess.shape))]
    order = np.argsort(-np.abs(vector), kind="stable")
    size = 3
    while size < len(order):
        yield np.sort(order[:size])
        size = size + 1 if size < 12 else size * 3 // 2
    yield np.arange(len(order))


def _square(K, coef, eps):
    """Return c'Kc and what rounding of the values of K and of the sum may be."""
    wide = np.asarray(coef, np.longdouble)
    square = float(wide @ np.asarray(K, np.longdouble) @ wide)
    return square, _ROUNDINGS * float(eps) * float(np.abs(coef) @ np.abs(K) @ np.abs(coef))
