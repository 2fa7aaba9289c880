"""Objectives of compression over few vectors: differences of outputs, and violations of the margin, on data.

Sums over tiles are in float32 on all threads, the equations for the coefficients in float64.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, minimize

from mercer._common import Array
from mercer._compute.threads import run_in_single_threads
from mercer.solvers.few_vectors.blocks import blocks

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

# Rows per tile: with a few hundred vectors its values fit in the cache. Smaller tiles cost more than unused columns.
_ROWS, _FEW = 1024, 256
# Rows for each vector that give the scales of coefficients in a descent.
_SAMPLED = 16
# Ridge on the coefficients as a share of the mean square of the kernel values, far above the rounding of float32 sums.
_RIDGE = 1e-6
# Share of k(z, z) below which values at all rows count as 0.
_UNSEEN = 1e-9
# Steps stored by L-BFGS.
_MEMORY = 20
# Relative decrease of the objective, whose sums are in float32, at which a descent ends.
_ROUNDING = 1e-6
# Largest coordinate or coefficient in a descent, relative to those at its start.
_FAR = 1e6
# Smallest curvature of a point, as a share of the mean.
_FLAT = 1e-3


class Objective:
    """Objectives over points and coefficients on rows with outputs F (n, m), and signs (n, m) or None, in tiles.

    Rows count with their ``weights`` (n,), 1 by default; "per row" means over the sum of the weights. With ``inside``
    outputs in (-1, 1) count fully: there `margins` asks for the outputs, elsewhere for the signs. The last ``still``
    coordinates of the points do not move.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        outputs: Array,
        signs: Array | None = None,
        inside: bool = False,
        weights: Array | None = None,
        still: int = 0,
    ) -> None:
        self.kernel: Kernel = kernel
        self._moving: Array = np.arange(X.shape[1]) < X.shape[1] - still
        self.shape: tuple[int, int] = outputs.shape
        concerned = np.ones((len(X), 1), bool) if signs is None else signs != 0
        self.concerned: float = float(concerned.sum(axis=1).mean())
        # many rows with signs in the same columns share tiles, where other columns are not computed
        _, codes = np.unique(np.packbits(concerned, axis=1), axis=0, return_inverse=True)
        codes = codes.ravel() if len(X) >= _FEW * (codes.max() + 1) else np.zeros(len(X), int)
        order = np.argsort(codes, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
        cuts = [rows[i : i + _ROWS] for rows in groups for i in range(0, len(rows), _ROWS)]
        self._rows = cuts
        self._columns = [np.flatnonzero(concerned[rows].any(axis=0)) for rows in cuts]
        self._X64 = [np.asarray(X[rows], np.float64) for rows in cuts]
        self._blocks = blocks(kernel, self._X64)
        self._F32 = [outputs[rows].astype(np.float32) for rows in cuts]
        self._F64 = [outputs[rows] for rows in cuts]
        self._signs: Any = None
        if signs is not None:
            # columns are gathered once, not in every pass
            parts = list(zip(cuts, self._columns, self._F32, strict=True))
            self._signs = [np.asarray(signs[rows][:, columns], np.float32) for rows, columns, _ in parts]
            self._concerned = [np.abs(U) for U in self._signs]
            self._targets = [F[:, columns] for _, columns, F in parts]
            # whether a violation of the margin counts
            self._counts = [np.float32(~((np.abs(F) < 1) & inside)) for F in self._targets]
        self.weights: Array = np.ones(len(X)) if weights is None else weights
        self._weights = [self.weights[rows] for rows in cuts]
        self._mass: float = float(np.sum(self.weights))

    def fit_outputs(self, Z: Array, passes: int, callback: Callable[..., Any] | None = None) -> Array:
        """Return points (p, d) that minimise the least-squares objective from Z."""
        ridge = self._ridge(Z)

        def objective(z):
            return self.least_squares(_near(z.reshape(Z.shape), Z), ridge)[:2]

        return descend(objective, Z.ravel(), passes, callback, self._lower(Z, 0)).reshape(Z.shape)

    def fit_margins(
        self, Z: Array, B: Array, b: Array, weight: float, passes: int, callback: Callable[..., Any] | None = None
    ) -> tuple[Array, Array, Array]:
        """Return points, coefficients and intercepts that minimise `margins` from Z, B and b."""
        (p, d), m = Z.shape, len(b)
        # L^T B and scaled points have curvatures of similar size: coefficients of near points are correlated
        gram = self._sampled_gram(Z)
        ridge = max(_RIDGE * np.trace(gram) / p, np.finfo(np.float64).tiny)
        L = scipy.linalg.cholesky(gram + ridge * np.eye(p), lower=True)
        steep = self._steepness(Z, B)[:, None]

        def split(v):
            C = v[p * d : p * (d + m)].reshape(p, m)
            return v[: p * d].reshape(p, d) / steep, solve_triangular(L, C, lower=True, trans="T"), v[p * (d + m) :]

        def objective(v):
            value, slope, slope_B, slope_b = self.margins(*map(_near, split(v), (Z, B, b)), weight, ridge)
            return value, np.concatenate(
                [(slope / steep).ravel(), solve_triangular(L, slope_B, lower=True).ravel(), slope_b]
            )

        first = np.concatenate([(steep * Z).ravel(), (L.T @ B).ravel(), b])
        return split(descend(objective, first, passes, callback, self._lower(Z, len(first) - Z.size)))

    def least_squares(self, Z: Array, ridge: float) -> tuple[float, Array, Array, Array]:
        """Return the least-squares objective per row, its gradient in Z, and the best coefficients B and b."""
        vectors = self._blocks[0].prepared(Z)
        gradients = [None] * len(self._blocks)
        parts = [None] * len(self._blocks)

        def evaluate(i):
            K, gradients[i] = self._blocks[i].at(vectors)
            roots = np.sqrt(self._weights[i], dtype=np.float32, casting="same_kind")
            # sums over tiles are in float64, because the condition of the equations is the square of that of the
            # values; a product with its own transpose takes half the time of others
            scaled = K * roots
            parts[i] = K, scaled @ scaled.T, scaled @ roots, scaled @ (roots[:, None] * self._F32[i])

        run_in_single_threads(evaluate, len(parts))
        n, p = self._mass, len(Z)
        gram, mass, right = (_total(part[k] for part in parts) for k in (1, 2, 3))
        B, b = _solve(gram, mass, right, self._sums(), n, ridge)
        B32, b32 = B.astype(np.float32), b.astype(np.float32)
        sums = [None] * len(self._blocks)

        def differentiate(i):
            D = parts[i][0].T @ B32 + b32 - self._F32[i]
            weighted = D * self._weights[i][:, None].astype(np.float32)
            sums[i] = np.sum(D * weighted, dtype=np.float64), gradients[i](2 * B32, weighted)

        run_in_single_threads(differentiate, len(parts))
        value = _total(each[0] for each in sums) + n * ridge * np.sum(B * B)
        gradient = _total(each[1] for each in sums)
        return float(value) / n, gradient.reshape(p, -1) * self._moving / n, B, b

    def margins(self, Z: Array, B: Array, b: Array, weight: float, ridge: float) -> tuple[float, Array, Array, Array]:
        """Return the margin objective per row, and its gradients in Z, B and b.

        ``weight`` is that of a squared difference of outputs against a squared violation of the margin; it is 1, and
        the violation does not count, at outputs that count fully.
        """
        vectors, B32, b32 = self._blocks[0].prepared(Z), B.astype(np.float32), b.astype(np.float32)
        sums = [None] * len(self._blocks)

        def task(i):
            K, gradient = self._blocks[i].at(vectors)
            part, U, concerned, counts = B32[:, self._columns[i]], self._signs[i], self._concerned[i], self._counts[i]
            S = K.T @ part
            S += b32[self._columns[i]]
            error = S - self._targets[i]
            error *= concerned
            violation = concerned - U * S
            np.maximum(violation, 0, out=violation)
            violation *= counts
            D = (1 - np.float32(1 - weight) * counts) * error
            counted = self._weights[i].astype(np.float32)
            value = np.sum((D * error + violation * violation).T @ counted, dtype=np.float64)
            D -= U * violation
            D *= 2 * counted[:, None]
            sums[i] = value, gradient(part, D), K @ D, D.sum(axis=0, dtype=np.float64)

        run_in_single_threads(task, len(sums))
        n, value, slope = self._mass, *(_total(each[k] for each in sums) for k in range(2))
        slope_B, slope_b = np.zeros(B.shape), np.zeros(b.shape)
        for i, columns in enumerate(self._columns):
            slope_B[:, columns] += sums[i][2]
            slope_b[columns] += sums[i][3]
        return (
            float(value) / n + ridge * np.sum(B * B),
            slope * self._moving / n,
            slope_B / n + 2 * ridge * B,
            slope_b / n,
        )

    def loss(self, Z: Any, B: Array, b: Array, weight: float) -> Any:
        """Return the margin objective per row without its ridge, or the squared differences if there are no signs."""
        if self._signs is not None:
            return self.margins(Z, B, b, weight, 0.0)[0]
        S = (np.asarray(self.kernel(X, Z)) @ B + b for X in self._X64)
        tiles = zip(S, self._F64, self._weights, strict=True)
        return _total(np.sum(w[:, None] * np.square(each - F)) for each, F, w in tiles) / self._mass

    def count_errors(self, Z: Array, B: Array, b: Array) -> Array:
        """Return how many binary classifiers that concern a row give it the wrong sign (n,)."""
        vectors, B32, b32 = self._blocks[0].prepared(Z), B.astype(np.float32), b.astype(np.float32)
        counts = np.empty(self.shape[0], int)

        def task(i):
            (K, _), columns = self._blocks[i].at(vectors), self._columns[i]
            S = K.T @ B32[:, columns] + b32[columns]
            counts[self._rows[i]] = np.sum(self._signs[i] * S < 0, axis=1)

        run_in_single_threads(task, len(self._rows))
        return counts

    def coefficients(self, Z: Array) -> tuple[Array, Array]:
        """Return the best coefficients (p, m) and intercepts (m,) over points, in float64."""
        gram, mass, right = self._products(Z)
        ridge = max(_RIDGE * 1e-3 * np.trace(gram) / (self._mass * len(Z)), self._floor(Z))
        return _solve(gram, mass, right, self._sums(), self._mass, ridge)

    def _sums(self):
        """Return the sum of the outputs (m,)."""
        return _total(w @ F for w, F in zip(self._weights, self._F64, strict=True))

    def _lower(self, Z, others):
        """Return lower bounds of the points followed by ``others`` coefficients; None without bounds."""
        if not self.kernel.tags.nonnegative:
            return None
        return np.concatenate([np.zeros(Z.size), np.full(others, -np.inf)])

    def _steepness(self, Z, B):
        """Return scales of the points (p,), proportional to the fourth root of their curvature (by random signs)."""
        vectors, squares = self._blocks[0].prepared(Z), [None] * len(self._blocks)

        def task(i):
            # the expected square of a sum with random signs is the sum of squares
            signs = np.random.default_rng(i).choice(np.array([-1, 1], np.float32), (len(self._rows[i]), 1))
            signs *= np.sqrt(self._weights[i], dtype=np.float32, casting="same_kind")[:, None]
            slope = self._blocks[i].at(vectors)[1](np.ones((len(Z), 1), np.float32), signs)
            # a matrix product may warn of overflow in memory beside its operands
            squares[i] = np.sum(np.square(slope[:, self._moving], dtype=np.float64), axis=1)

        run_in_single_threads(task, len(squares))
        curvature = _total(squares) / self._mass * np.sum(B * B, axis=1) * self.concerned / B.shape[1]
        typical = curvature.mean()
        if typical < np.finfo(np.float64).tiny:
            # one row says nothing about the scales
            return np.ones(len(Z))
        return np.sqrt(typical * np.sqrt(np.maximum(curvature / typical, _FLAT)))

    def _sampled_gram(self, Z):
        """Return K^T K per row from tiles spread over all rows, at least 16 rows for each vector."""
        tiles = range(0, len(self._blocks), max(1, self.shape[0] // max(_SAMPLED * len(Z), _ROWS)))
        vectors, parts = self._blocks[0].prepared(Z), [None] * len(tiles)

        def task(i):
            w = self._weights[tiles[i]]
            scaled = self._blocks[tiles[i]].at(vectors)[0] * np.sqrt(w)
            parts[i] = scaled @ scaled.T, w.sum()

        run_in_single_threads(task, len(parts))
        return _total(part[0] for part in parts) / _total(part[1] for part in parts)

    def _products(self, Z):
        """Return K^T K, K^T 1 and K^T F in float64."""
        gram, mass, right = 0.0, 0.0, 0.0
        for X, F, w in zip(self._X64, self._F64, self._weights, strict=True):
            K = np.asarray(self.kernel(X, Z), np.float64)
            weighted = K.T * w
            gram, mass, right = gram + weighted @ K, mass + weighted.sum(axis=1), right + weighted @ F
        return gram, mass, right

    def _ridge(self, Z):
        """Return the ridge per row, a share of the mean square of the kernel values at the start."""
        K = np.asarray(self.kernel(self._X64[0], Z), np.float64)
        return max(_RIDGE * float(np.mean(K * K)), self._floor(Z))

    def _floor(self, Z):
        """Return the least ridge per row: vectors with values far below k(z, z) at all rows get no coefficients."""
        # the smallest: where the kernel grows, the square of k(z, z) overflows for a vector far from all rows
        return _UNSEEN**2 * float(np.min(self.kernel.diag(Z))) ** 2


class _Spent(Exception):
    """All evaluations of a descent are used, or a step leaves the range of float32."""


def _near(values, start):
    """Return points or coefficients, unless a line search, as over few rows, has left the range of float32."""
    if not np.abs(values).max() < _FAR * max(1.0, np.abs(start).max()):
        raise _Spent
    return values


def descend(
    objective: Callable[..., Any],
    start: Array,
    passes: int,
    callback: Callable[..., Any] | None = None,
    least: Array | None = None,
) -> Array:
    """Return the lowest point that L-BFGS finds in ``passes`` evaluations; 0 returns the start.

    ``callback()`` is called after every evaluation; ``least`` (k,) are lower bounds.
    """
    if not passes:
        return start
    best, left = [np.inf, start], iter(range(passes))

    def watched(v):
        # a line search of scipy may go beyond its own limit, or beyond all numbers
        if next(left, None) is None or not np.isfinite(v).all():
            raise _Spent
        try:
            value, gradient = objective(v)
        except ValueError:
            if best[0] == np.inf:
                raise
            # a line search has left the points at which the kernel has finite values
            raise _Spent from None
        if value < best[0]:
            best[:] = value, v.copy()
        if callback is not None:
            callback()
        return value, gradient.ravel()

    options = {"maxiter": passes, "maxfun": passes, "maxcor": _MEMORY, "ftol": _ROUNDING, "gtol": 0.0}
    bounds = None if least is None else Bounds(least, np.inf)
    with contextlib.suppress(_Spent):
        minimize(watched, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return best[1]


def _solve(gram, mass, right, total, n, ridge):
    """Return coefficients and intercepts of ridge regression from sums over n rows; no ridge on intercepts."""
    # centred normal equations, which are better conditioned
    A = gram.astype(np.float64) - np.outer(mass, mass) / n
    A[np.diag_indices_from(A)] += n * max(ridge, np.finfo(np.float64).tiny)
    rhs = right - np.outer(mass, total) / n
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            B = scipy.linalg.solve(A, rhs, assume_a="pos", check_finite=False)
    except (np.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
        B = scipy.linalg.lstsq(A, rhs, check_finite=False)[0]
    return B, (total - mass @ B) / n


def _total(parts: Any) -> Any:
    """Return a sum in float64 in a fixed order, so that it does not depend on threads."""
    return sum(np.asarray(part, np.float64) for part in parts)
