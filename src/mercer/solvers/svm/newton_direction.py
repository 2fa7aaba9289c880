"""Newton directions of the linear kernel: systems in the free variables, in the columns, or by conjugate gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from mercer._compute.memory import allocate

if TYPE_CHECKING:
    from mercer._common import Array, PointsLike

# Unknowns up to which a system is solved by factorisation, in free variables or columns, and up to which where it takes
# no longer than products with the rows: entries of these count so many times, since memory delivers them.
_DIRECT, _MOST, _SLOWER = 1000, 2000, 10
# Relative residual of conjugate gradients, and their most products.
_RELATIVE, _PRODUCTS = 1e-2, 200


def newton_direction(
    products: Products, free: Array, curvature: Array, pull: Array, missing: float
) -> tuple[Array, float]:
    """Return the Newton direction of normal and bias, for free variables and their curvature.

    It solves (I + X'D X) w + X'd b = -pull and d'X w + (sum d) b = -missing, for the free rows X and d = ``curvature``.
    """
    X = products.X[free]
    total = curvature.sum()
    mean = X.T @ curvature / total
    # the bias is eliminated: rows about their mean
    right = mean * missing - pull
    k, d = X.shape
    direct = _solves_directly(min(k, d), X.nnz if sp.issparse(X) else X.size)
    if direct and k < d:
        normal = _solve_in_variables(X, products.of(free), np.sqrt(curvature), mean, right)
    elif direct:
        normal = _solve_in_columns(X, curvature, mean, right)
    else:
        normal = _solve_by_steps(X, curvature, mean, right)
    return normal, -missing / total - float(mean @ normal)


def _solves_directly(unknowns, entries):
    """Whether a factorisation takes less time than conjugate gradients on rows of so many entries."""
    return unknowns <= _DIRECT or (unknowns <= _MOST and unknowns**3 <= _SLOWER * _PRODUCTS * entries)


class Products:
    """Inner products of the rows that have been free, each computed once while memory lasts."""

    def __init__(self, X: PointsLike) -> None:
        self.X = X
        self._known = np.empty(0, int)
        self._place = np.full(X.shape[0], -1)
        self._values = np.empty((0, 0))

    def of(self, free: Array) -> Array:
        """Return the inner products between some rows (k, k)."""
        room = 2 * (_DIRECT if len(free) <= _DIRECT else _MOST)
        new = free[self._place[free] < 0]
        if len(self._values) < room or len(self._known) + len(new) > len(self._values):
            self._place[self._known] = -1
            self._known, new = self._known[:0], free
        if len(self._values) < room:
            self._values = allocate((room, room), np.float64)
        if len(new):
            self._add(new)
        places = self._place[free]
        return self._values[np.ix_(places, places)]

    def _add(self, new):
        start = len(self._known)
        self._known = np.concatenate([self._known, new])
        stop = len(self._known)
        self._place[new] = np.arange(start, stop)
        block = self.X[new] @ self.X[self._known].T
        self._values[start:stop, :stop] = block.toarray() if sp.issparse(block) else block
        self._values[:start, start:stop] = self._values[start:stop, :start].T


def _solve_in_variables(X, K, roots, mean, right):
    """Return x with (I + Z' Z) x = right for the rows Z = roots (X - mean), from the inner products K of rows of X."""
    shift = X @ mean
    K -= shift[:, None] + (shift - float(mean @ mean))
    K *= roots[:, None] * roots
    solved = roots * cho_solve(_factor(K), roots * (X @ right - float(mean @ right)))
    return right - X.T @ solved + mean * float(solved.sum())


def _solve_in_columns(X, curvature, mean, right):
    """Return x with (I + Z' Z) x = right, from the inner products of columns."""
    if sp.issparse(X):
        G = (X.T @ sp.diags(curvature) @ X).toarray() - float(curvature.sum()) * np.outer(mean, mean)
    else:
        Z = np.sqrt(curvature)[:, None] * (X - mean)
        G = Z.T @ Z
    return cho_solve(_factor(G), right)


def _factor(G):
    """Return the Cholesky factor of I + G, which is overwritten."""
    # rounding may make a sum of squares negative
    diagonal, jitter = 1 + np.maximum(np.diagonal(G), 0), 0.0
    while True:
        np.fill_diagonal(G, diagonal * (1 + jitter))
        try:
            return cho_factor(G, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter = max(10 * jitter, 1e-14)


def _solve_by_steps(X, curvature, mean, right):
    """Return about x with (I + Z' Z) x = right, by conjugate gradients."""
    squares = X.multiply(X) if sp.issparse(X) else np.square(X)
    scale = 1 + squares.T @ curvature

    def times(v):
        values = curvature * (X @ v - float(mean @ v))
        return v + X.T @ values - mean * float(values.sum())

    shape = (len(right), len(right))
    operator = LinearOperator(shape, times, dtype=float)
    inverse = LinearOperator(shape, lambda v: v / scale, dtype=float)
    return cg(operator, right, rtol=_RELATIVE, maxiter=_PRODUCTS, M=inverse)[0]
