"""Numerical evidence on points: symmetry, smallest eigenvalue, and a vector with negative squared norm (witness)."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, as_float64, record
from mercer._compute.points import SAMPLE, count_points, evenly_spaced, take_points
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.precomputed import transpose_gap
from mercer.linalg import eigh, lapack
from mercer.linalg.lanczos import Smallest, smallest
from mercer.linalg.operators import ROUNDINGS

# Products with the Gram matrix of many points.
_PRODUCTS = 40


@record
class Pairs:
    """Kernel values K (m, m) of all pairs of the points ``rows`` (m,), computed once."""

    rows: np.ndarray
    K: np.ndarray


def try_pairs(kernel: Kernel, X: Array) -> Pairs:
    """Return the kernel values of all pairs of points; of 1 000 evenly spaced points when n >= 2 000."""
    n = count_points(X)
    rows = evenly_spaced(n, n if n < eigh.DENSE_ORDER else SAMPLE)
    return Pairs(rows, np.asarray(kernel(take_points(X, rows))))


def largest_asymmetry(values: Array) -> float:
    """Return the largest asymmetry that counts as rounding, as a share of the largest kernel value: eps^(1/2)."""
    return float(np.finfo(values.dtype).eps) ** 0.5


def asymmetry(pairs: Pairs) -> tuple[float, float]:
    """Return the largest ``|k(x, z) - k(z, x)|`` and the largest ``|k|``."""
    K = as_float64(pairs.K)
    return transpose_gap(K), float(np.max(np.abs(K)))


def smallest_eigenpair(kernel: Kernel, X: Array, pairs: Pairs) -> Smallest:
    """Return the smallest eigenvalue of the symmetrised Gram matrix of all points, with its error and vector."""
    operator = pairs.K if len(pairs.rows) == count_points(X) else Gram(kernel, X)
    return smallest(operator, max_products=_PRODUCTS, random_state=0)


def find_witness(
    kernel: Kernel, X: Array, pairs: Pairs, vector: Array, most: int
) -> tuple[Any, ...]:
    """Return an expansion over few points with a negative squared norm, and that norm in extended precision, or None.

    ``vector`` (n,) is an eigenvector of the smallest eigenvalue; points with large entries are tried first. Sets of at
    most ``most`` points are tried, O(most^3).
    """
    for rows in _candidates(kernel, X, pairs, vector, most):
        points = take_points(X, rows)
        points = points.toarray() if sp.issparse(points) else points
        values = np.asarray(kernel(points))
        K = values.astype(np.float64)
        K = (K + K.T) / 2
        _, coef = lapack.eigenvectors(K, 0, 0)
        coef = coef / coef[np.argmax(np.abs(coef))]
        square, bound = _square(K, coef[:, 0], np.finfo(values.dtype).eps)
        if square < -bound:
            return Expansion(kernel, points, coef), square
    return None, None


def _candidates(kernel, X, pairs, vector, most):
    """Yield sets of points: one with k(x, x) < 0, two that violate Cauchy-Schwarz, then growing sets up to ``most``."""
    diagonal = as_float64(kernel.diag(X))
    yield np.array([np.argmin(diagonal)])
    rows = pairs.rows
    K = as_float64(pairs.K)
    # shares of the largest value, whose squares neither overflow nor underflow
    size = float(np.abs(K).max()) or 1.0
    K = K / size
    own = diagonal[rows] / size
    excess = K**2 - np.multiply.outer(own, own)
    np.fill_diagonal(excess, -np.inf)
    if len(rows) > 1:
        yield rows[np.sort(np.unravel_index(np.argmax(excess), excess.shape))]
    order = np.argsort(-np.abs(vector), kind="stable")
    size = 3
    while size < min(most, len(order)):
        yield np.sort(order[:size])
        size = size + 1 if size < 12 else size * 3 // 2
    if most >= len(order):
        yield np.arange(len(order))


def _square(K, coef, eps):
    """Return c'Kc and a bound of its rounding error."""
    wide = np.asarray(coef, np.longdouble)
    square = float(wide @ np.asarray(K, np.longdouble) @ wide)
    return square, ROUNDINGS * float(eps) * float(np.abs(coef) @ np.abs(K) @ np.abs(coef))
