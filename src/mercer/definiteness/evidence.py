"""Numerical evidence on points: symmetry, the smallest eigenvalue, and a vector of negative square if there is one."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer import _points
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.linalg import eigh
from mercer.linalg.extreme import Negated

# Pairs of which symmetry and Cauchy-Schwarz are tried: between evenly spaced points, this many squared.
_TRIED = 1_000
# A kernel value computed twice differs by no more than this times its size in its type's precision.
_ROUNDINGS = 32


def asymmetry(kernel, X):
    """Return the largest ``|k(x, z) - k(z, x)|`` between two disjoint parts of the points, and the largest ``|k|``.

    Parameters
    ----------
    kernel : Kernel
    X : points (n)

    Returns
    -------
    difference, size : float
    """
    rows = _sample(X)
    left, right = _points.take(X, rows[::2]), _points.take(X, rows[1::2] if len(rows) > 1 else rows)
    forth, back = np.asarray(kernel(left, right), np.float64), np.asarray(kernel(right, left), np.float64).T
    return float(np.max(np.abs(forth - back))), float(max(np.max(np.abs(forth)), np.max(np.abs(back))))


def smallest_eigenpair(kernel, X):
    """Return the smallest eigenvalue of the Gram matrix, its error, and its vector.

    Parameters
    ----------
    kernel : Kernel
    X : points (n)

    Returns
    -------
    value, error : float
        An eigenvalue lies within ``error`` of ``value``; the precision of the kernel's values is part of it.
    vector : array (n,)
        Of unit length.

    Notes
    -----
    O(n^3) and n^2 numbers up to 2 000 points; beyond, Lanczos on products that never keep the matrix, O(n^2) each.
    """
    gram = Gram(kernel, X)
    n = gram.shape[0]
    rounding = n * float(np.finfo(gram.dtype).eps)
    if n < eigh.DENSE_ORDER:
        K = np.asarray(gram.dense(), np.float64)
        K = (K + K.T) / 2
        values, vectors = scipy.linalg.eigh(K, subset_by_index=[0, 0])
        return float(values[0]), rounding * float(scipy.linalg.norm(K)), vectors[:, 0]
    pairs = eigh.lanczos(Negated(gram), 1, tol=1e-6, max_products=40, random_state=0)
    error = (float(pairs.residuals[0]) + rounding) * pairs.norm
    return -float(pairs.values[0]), error, pairs.vectors[:, 0]


def find_witness(kernel, X, vector):
    """Return few points and coefficients whose sum in feature space has a negative square beyond rounding.

    One point where k(x, x) < 0, else two that break the Cauchy-Schwarz inequality, else as few of the points with the
    largest entries of ``vector`` as will do.

    Parameters
    ----------
    kernel : Kernel
    X : points (n)
    vector : array (n,)
        Of a negative eigenvalue, or nearly.

    Returns
    -------
    witness : Expansion or None
    square : float or None
        Recomputed in extended precision from the coefficients and the kernel's values.
    """
    for rows in _candidates(kernel, X, vector):
        points = _points.take(X, rows)
        points = points.toarray() if sp.issparse(points) else points
        K = np.asarray(kernel(points), np.float64)
        K = (K + K.T) / 2
        coef = scipy.linalg.eigh(K, subset_by_index=[0, 0])[1]
        coef = coef / coef[np.argmax(np.abs(coef))]
        square, bound = _square(K, coef[:, 0], np.finfo(Gram(kernel, points).dtype).eps)
        if square < -bound:
            return Expansion(kernel, points, coef), square
    return None, None


def _candidates(kernel, X, vector):
    diagonal = np.asarray(kernel.diag(X), np.float64)
    yield np.array([np.argmin(diagonal)])
    rows = _sample(X)
    K = np.asarray(kernel(_points.take(X, rows)), np.float64)
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


def _sample(X):
    n = _points.count(X)
    return np.unique(np.linspace(0, n - 1, min(n, _TRIED)).astype(int))
