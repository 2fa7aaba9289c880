"""Objectives of compression over few vectors, differences of outputs and violations of the margin, and their descents.

Sums over tiles are in float32 on all threads, the equations for the coefficients in float64.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, minimize

from mercer._common import TINY, AnyFunction, Array, as_float64, record
from mercer._compute.costs import ROWS
from mercer._compute.points import Points
from mercer._compute.threads import run_in_single_threads
from mercer._compute.tile import Tile
from mercer.kernels import Gaussian, Laplacian
from mercer.kernels.base import Kernel
from mercer.kernels.forms import form_of

# Rows for each set of columns from which on each set has tiles of its own: smaller tiles cost more than unused columns.
_FEW = 256
# Ridge on the coefficients as a share of the mean square of the kernel values, far above the rounding of float32 sums.
RIDGE = 1e-6
# The sum of numbers or arrays in float64, in a fixed order, so that it does not depend on threads.
_total = functools.partial(sum, start=np.float64(0))
# Rows that are many: among them all have near ones, and of more the products of all columns take longer than descents.
MANY = 4096


class Fit(NamedTuple):
    """Points (p, d), coefficients (p, m) and intercepts (m,) of ``kernel(X, points) @ coef + intercept``."""

    points: Array
    coef: Array
    intercept: Array


@record
class Rows:
    """Rows X (n, d) with the outputs F (n, m) of a model, and the signs of binary classifiers there: 1, -1 or 0.

    ``own`` (n, m) are the signs of the classes that the model predicts, ``labels`` (n, m) those of the true ones; None
    without them. Rows have ``weights`` (n,), 1 for None, outputs the units ``scale``, one or (m,). They are ``copies``
    stacked copies of the same rows.
    """

    X: Any
    outputs: Array
    own: Array | None = None
    labels: Array | None = None
    weights: Any = None
    scale: Any = 1.0
    copies: int = 1

    def __post_init__(self) -> None:
        if self.weights is None:
            object.__setattr__(self, "weights", np.ones(len(self.outputs)))

    def signs(self, labelled: bool) -> Array | None:
        """Return the signs of the labels, or those of the model."""
        return self.labels if labelled else self.own

    def take(self, places: Any) -> Rows:
        """Return some of the rows."""
        return replace(
            self,
            X=self.X[places],
            outputs=self.outputs[places],
            own=None if self.own is None else self.own[places],
            labels=None if self.labels is None else self.labels[places],
            weights=self.weights[places],
        )


@record
class _Margins:
    """The columns of the binary classifiers that concern a row of a tile, and their signs (r, c), 0 for other rows.

    ``targets`` are their outputs, and ``counts`` is 0 where a violation of the margin does not count.
    """

    columns: Array
    signs: Array
    concerned: Array
    targets: Array
    counts: Array


@record
class _Tile:
    """Some rows: their places, kernel values, outputs and weights; those in float32 serve the sums of descents."""

    places: Array
    points: Points
    block: Callable[[Array], Any]
    outputs: Array
    weights: Array
    outputs32: Array
    weights32: Array
    margins: _Margins | None


class Objective:
    """Objectives over points and coefficients on `Rows`, in tiles; "per row" means over the sum of the weights.

    Signs are those of the labels, or with ``labelled`` False those of the outputs, of which those in (-1, 1) count
    fully: there `margins` asks for the outputs, elsewhere for the signs. The last ``still`` coordinates of the points
    do not move.
    """

    def __init__(self, kernel: Kernel, rows: Rows, labelled: bool = True, still: int = 0) -> None:
        n, d = rows.X.shape
        signs = rows.signs(labelled)
        concerned = np.ones((n, 1), bool) if signs is None else signs != 0
        self.kernel: Kernel = kernel
        self.rows: Rows = rows
        self.shape: tuple[int, int] = rows.outputs.shape
        self.concerned: float = float(concerned.sum(axis=1).mean())
        self._moving: Array = np.arange(d) < d - still
        self._free: bool = not kernel.tags.nonnegative
        self._mass: float = float(np.sum(rows.weights))

        X = as_float64(rows.X)
        block_of = blocks(kernel, X)

        def tile(places):
            outputs = rows.outputs[places]
            weights = rows.weights[places]
            outputs32 = outputs.astype(np.float32)
            margins = None
            if signs is not None:
                # columns are gathered once, not in every pass
                columns = np.flatnonzero(concerned[places].any(axis=0))
                own = signs[places][:, columns].astype(np.float32)
                targets = outputs32[:, columns]
                counts = np.float32(labelled | (np.abs(targets) >= 1))
                margins = _Margins(columns, own, np.abs(own), targets, counts)
            return _Tile(
                places,
                Points(X[places]),
                block_of(places),
                outputs,
                weights,
                outputs32,
                weights.astype(np.float32),
                margins,
            )

        cuts = _cuts(concerned)
        self._tiles = list(map(tile, cuts))
        self._each: AnyFunction = map if len(cuts) == 1 else _on_threads
        self._sums = sum(tile.weights @ tile.outputs for tile in self._tiles)

    def fit_outputs(self, Z: Array, passes: int, callback: Any = None) -> Fit:
        """Return points (p, d) that minimise the least-squares objective from Z, with the best coefficients."""
        squares = np.square(self._tiles[0].block(Z)[0], dtype=np.float64)
        ridge = max(RIDGE * float(squares.mean()), self._floor(Z))
        objective = functools.partial(self.least_squares, ridge=ridge)
        found = descend(
            objective, Z.ravel(), passes, callback, reach(Z).ravel(), None if self._free else 0.0
        )
        Z = Z if found is None else found.points
        return Fit(Z, *self.coefficients(Z))

    def fit_margins(self, start: Fit, weight: float, passes: int, callback: Any = None) -> Fit:
        """Return points, coefficients and intercepts that minimise `margins` from others."""
        Z, B, b = start
        # L^T B and scaled points have curvatures of similar size: coefficients of near points are correlated
        gram = self._sampled_gram(Z)
        ridge = max(RIDGE * np.trace(gram) / len(Z), TINY)
        L = scipy.linalg.cholesky(gram + ridge * np.eye(len(Z)), lower=True)
        steep = self._steepness(Z, B)[:, None]
        C = L.T @ B
        objective = functools.partial(self.margins, steep=steep, L=L, weight=weight, ridge=ridge)
        first = np.concatenate([steep * Z, C, b], axis=None)
        most = np.concatenate([steep * reach(Z), reach(C), reach(b)], axis=None)
        least = None if self._free else np.repeat([0.0, -np.inf], [Z.size, C.size + b.size])
        return descend(objective, first, passes, callback, most, least) or start

    def least_squares(self, z: Array, ridge: float) -> tuple[float, Array, Fit]:
        """Return the least-squares objective per row, its gradient in points z (p d,), and these with the best B, b."""
        Z = z.reshape(-1, len(self._moving)).copy()

        def evaluate(tile):
            K, gradient = tile.block(Z)
            roots = np.sqrt(tile.weights32)
            # sums over tiles are in float64, because the condition of the equations is the square of that of the
            # values; a product with its own transpose takes half the time of others
            scaled = K * roots
            return (
                K,
                gradient,
                scaled @ scaled.T,
                scaled @ roots,
                scaled @ (roots[:, None] * tile.outputs32),
            )

        K, gradients, *products = zip(*self._each(evaluate, self._tiles), strict=True)
        B, b = self._solve(*map(_total, products), ridge)
        B32 = B.astype(np.float32)
        b32 = b.astype(np.float32)

        def differentiate(tile, K, gradient):
            D = K.T @ B32 + b32 - tile.outputs32
            weighted = D * tile.weights32[:, None]
            return np.sum(D * weighted, dtype=np.float64), gradient(2 * B32, weighted)

        values, slopes = zip(*self._each(differentiate, self._tiles, K, gradients), strict=True)
        n = self._mass
        slope = _total(slopes) * self._moving / n
        return float(_total(values) + n * ridge * np.sum(B * B)) / n, slope.ravel(), Fit(Z, B, b)

    def margins(
        self, v: Array, steep: Array, L: Array, weight: float, ridge: float
    ) -> tuple[float, Array, Fit]:
        """Return the margin objective per row, its gradient in v, and the fit whose steep Z, L^T B and b are in v.

        ``weight`` is that of a squared difference of outputs against a squared violation of the margin; it is 1, and
        the violation does not count, at outputs that count fully.
        """
        p = len(L)
        m = self.shape[1]
        points = p * len(self._moving)
        Z = v[:points].reshape(p, -1) / steep
        C = v[points : points + p * m].reshape(p, m)
        b = v[points + p * m :].copy()
        B = solve_triangular(L, C, lower=True, trans="T")
        B32 = B.astype(np.float32)
        b32 = b.astype(np.float32)

        def task(tile):
            K, gradient = tile.block(Z)
            seen = tile.margins
            part = B32[:, seen.columns]
            S = K.T @ part
            S += b32[seen.columns]
            error = S - seen.targets
            error *= seen.concerned
            violation = seen.concerned - seen.signs * S
            np.maximum(violation, 0, out=violation)
            violation *= seen.counts
            D = (1 - np.float32(1 - weight) * seen.counts) * error
            value = np.sum((D * error + violation * violation).T @ tile.weights32, dtype=np.float64)
            D -= seen.signs * violation
            D *= 2 * tile.weights32[:, None]
            return value, gradient(part, D), K @ D, D.sum(axis=0, dtype=np.float64)

        values, slopes, *others = zip(*self._each(task, self._tiles), strict=True)
        n = self._mass
        slope_B = np.zeros(B.shape)
        slope_b = np.zeros(b.shape)
        for tile, in_B, in_b in zip(self._tiles, *others, strict=True):
            slope_B[:, tile.margins.columns] += in_B
            slope_b[tile.margins.columns] += in_b
        slope_C = solve_triangular(L, slope_B / n + 2 * ridge * B, lower=True)
        slope_Z = _total(slopes) * self._moving / n / steep
        slope = np.concatenate([slope_Z, slope_C, slope_b / n], axis=None)
        return float(_total(values)) / n + ridge * np.sum(B * B), slope, Fit(Z, B, b)

    def loss(self, fit: Fit, weight: float) -> Any:
        """Return the margin objective per row without its ridge, or the squared differences if there are no signs."""
        if self._tiles[0].margins is not None:
            p = len(fit.points)
            v = np.concatenate(fit, axis=None)
            return self.margins(v, np.ones((p, 1)), np.eye(p), weight, 0.0)[0]

        def task(tile):
            errors = self._values(tile, fit.points) @ fit.coef + fit.intercept - tile.outputs
            return tile.weights @ np.sum(np.square(errors), axis=1)

        return sum(map(task, self._tiles)) / self._mass

    def count_errors(self, fit: Fit) -> Array:
        """Return how many binary classifiers that concern a row give it the wrong sign (n,)."""
        B = fit.coef.astype(np.float32)
        b = fit.intercept.astype(np.float32)
        counts = np.empty(self.shape[0], int)

        def task(tile):
            seen = tile.margins
            S = tile.block(fit.points)[0].T @ B[:, seen.columns] + b[seen.columns]
            counts[tile.places] = np.sum(seen.signs * S < 0, axis=1)

        list(self._each(task, self._tiles))
        return counts

    def coefficients(self, Z: Array) -> tuple[Array, Array]:
        """Return the best coefficients (p, m) and intercepts (m,) over points, in float64."""

        def products(tile):
            K = self._values(tile, Z)
            weighted = K.T * tile.weights
            return weighted @ K, weighted.sum(axis=1), weighted @ tile.outputs

        gram, *others = map(sum, zip(*map(products, self._tiles), strict=True))
        ridge = max(RIDGE * 1e-3 * np.trace(gram) / (self._mass * len(Z)), self._floor(Z))
        return self._solve(gram, *others, ridge)

    def _solve(self, gram, mass, right, ridge):
        """Return coefficients and intercepts of ridge regression from sums over rows; no ridge on intercepts."""
        n = self._mass
        # centred normal equations, which are better conditioned
        A = gram - np.outer(mass, mass) / n
        A[np.diag_indices_from(A)] += n * max(ridge, TINY)
        rhs = right - np.outer(mass, self._sums) / n
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
                B = scipy.linalg.solve(A, rhs, assume_a="pos", check_finite=False)
        except (np.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
            B = scipy.linalg.lstsq(A, rhs, check_finite=False)[0]
        return B, (self._sums - mass @ B) / n

    def _steepness(self, Z, B):
        """Return scales of the points (p,), proportional to the fourth root of their curvature (by random signs)."""

        def task(tile, seed):
            # the expected square of a sum with random signs is the sum of squares
            signs = np.random.default_rng(seed).choice(
                np.array([-1, 1], np.float32), (len(tile.places), 1)
            )
            signs *= np.sqrt(tile.weights32)[:, None]
            slope = tile.block(Z)[1](np.ones((len(Z), 1), np.float32), signs)
            # a matrix product may warn of overflow in memory beside its operands
            return np.sum(np.square(slope[:, self._moving], dtype=np.float64), axis=1)

        squares = sum(self._each(task, self._tiles, range(len(self._tiles))))
        curvature = squares / self._mass * np.sum(B * B, axis=1) * self.concerned / B.shape[1]
        typical = curvature.mean()
        if typical < TINY:
            # one row says nothing about the scales
            return np.ones(len(Z))
        return np.sqrt(typical * np.sqrt(np.maximum(curvature / typical, 1e-3)))

    def _sampled_gram(self, Z):
        """Return K^T K per row from tiles spread over all rows, at least 16 rows for each vector."""

        def task(tile):
            scaled = tile.block(Z)[0] * np.sqrt(tile.weights)
            return scaled @ scaled.T, tile.weights.sum()

        step = max(1, self.shape[0] // sampled(len(Z)))
        gram, mass = map(sum, zip(*self._each(task, self._tiles[::step]), strict=True))
        return gram / mass

    def _values(self, tile, Z):
        """Return the kernel values (r, p) in float64."""
        return as_float64(self.kernel.evaluate(Tile(tile.points, Points(Z))))

    def _floor(self, Z):
        """Return the least ridge per row: vectors with values far below k(z, z) at all rows get no coefficients."""
        # the smallest: where the kernel grows, the square of k(z, z) overflows for a vector far from all rows
        # values below this share of it count as 0
        return (1e-9 * float(np.min(self.kernel.diagonal(Points(Z))))) ** 2


def sampled(vectors: int) -> int:
    """Return how many rows show how much some vectors count: at least 16 for each."""
    return max(16 * vectors, ROWS)


def _cuts(concerned):
    """Return the places of the rows of each tile; many rows whose signs are in the same columns (mask) share tiles."""
    _, codes = np.unique(np.packbits(concerned, axis=1), axis=0, return_inverse=True)
    codes = codes.ravel()
    if len(codes) < _FEW * (codes.max() + 1):
        codes = np.zeros(len(codes), int)
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [places[i : i + ROWS] for places in groups for i in range(0, len(places), ROWS)]


def _on_threads(task, *columns):
    """Return ``list(map(task, *columns))``, computed on all threads; sums of it do not depend on their number."""
    arguments = list(zip(*columns, strict=True))
    found: list[Any] = [None] * len(arguments)

    def work(i):
        found[i] = task(*arguments[i])

    run_in_single_threads(work, len(found))
    return found


# --- descents of objectives in float32 by L-BFGS with a limited number of evaluations ---------------------------------


class _Spent(Exception):
    """All evaluations of a descent are used, or a step leaves the range of float32."""


def reach(start: Array) -> Array:
    """Return how far from 0 numbers may go, of which a line search, as over few rows, leaves the range of float32."""
    # far beyond what a descent needs, and in range
    return np.full(start.shape, 1e6 * max(1.0, np.abs(start).max()))


def descend(
    objective: Callable[[Array], tuple[float, Array, Any]],
    start: Array,
    passes: int,
    callback: Callable[[], Any] | None = None,
    most: Any = np.inf,
    least: Any = None,
) -> Any:
    """Return the third result of an objective at the lowest value that L-BFGS finds; None without ``passes``.

    ``objective(v)``, evaluated as often at most, returns a value, its gradient, and a third result. ``callback()`` is
    called after every evaluation. It ends where a number is ``most`` (k,) or more from 0; ``least`` (k,) are lower
    bounds.
    """
    left = iter(range(passes))
    best = np.inf
    found = None

    def watched(v):
        nonlocal best, found
        # a line search of scipy may go beyond its own limit, or beyond all numbers
        if next(left, None) is None or not (np.abs(v) < most).all():
            raise _Spent
        try:
            value, gradient, result = objective(v)
        except ValueError:
            if found is None:
                raise
            # a line search has left the points at which the kernel has finite values
            raise _Spent from None
        if value < best:
            best = value
            found = result
        if callback is not None:
            callback()
        return value, gradient

    options = {
        "maxiter": passes,
        "maxfun": passes,
        "maxcor": 20,
        # sums in float32 tell no smaller decrease
        "ftol": 1e-6,
        "gtol": 0.0,
    }
    bounds = None if least is None else Bounds(least, np.inf)
    with contextlib.suppress(_Spent):
        minimize(watched, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return found


# --- kernel values of vectors at a block of rows in float32, and their gradients in the vectors -----------------------


def blocks(kernel: Kernel, X: Array) -> Callable[[Any], Callable[[Array], Any]]:
    """Return a function of places in X, that of vectors Z (p, d) which gives kernel values (p, n) and their gradient.

    The gradient is a function of factors L (p, r) and R (n, r): that in Z of the sum of the values times L R^T. The
    exponents of a Gaussian kernel are one matrix product.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.few_vectors.objective import blocks
    >>> block = blocks(mc.Gaussian(1.0), np.array([[0.0], [1.0]]))(slice(None))
    >>> K, gradient = block(np.array([[0.0]]))
    >>> K.round(2), gradient(np.ones((1, 1), np.float32), np.ones((2, 1), np.float32)).round(2)
    (array([[1.  , 0.37]], dtype=float32), array([[0.74]], dtype=float32))
    """
    centre = X.mean(axis=0)
    if type(kernel) is Gaussian:
        root = np.sqrt(2 * kernel.gamma)
        scaled = root * (X - centre)
        # gamma |x - c|^2 below 1e3: exponents from inner products in float32 are exact to 1e-3
        if np.sum(scaled * scaled, axis=1).max() < 2e3:
            return lambda places: _gaussian(scaled[places], centre, root)
    shift = (
        centre
        if type(kernel) is Laplacian or form_of(kernel) == "radial"
        else np.zeros(len(centre))
    )
    return lambda places: _plain(kernel, X[places], shift)


def _plain(kernel, X, shift):
    """Return the block of any kernel that has a gradient, on rows less a shift that does not change its values."""
    rows = Points(np.ascontiguousarray(X - shift, np.float32))

    def block(Z):
        tile = Tile(Points((Z - shift).astype(np.float32)), rows)
        return kernel.evaluate(tile), lambda L, R: kernel.gradient(tile, L @ R.T)

    return block


def _gaussian(X, centre, root):
    """Return the block of k(x, z) = exp(<x, z> - |x|^2 / 2 - |z|^2 / 2): centred, and in units of the width."""
    halves = np.sum(X * X, axis=1, keepdims=True) / 2
    # one product with (z, -|z|^2 / 2, 1) gives the exponents
    rows = np.hstack([X, np.ones_like(halves), -halves]).astype(np.float32)

    def block(Z):
        Z = root * (Z - centre)
        halves = np.sum(Z * Z, axis=1, keepdims=True) / 2
        Z = np.hstack([Z, -halves, np.ones_like(halves)]).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            # the product may warn of values in memory beside its operands
            K = Z @ rows.T
        np.minimum(K, 0, out=K)
        np.exp(K, out=K)

        def gradient(L, R):
            # the column of ones gives the sums over rows
            if L.shape[1] == 1 and rows.shape[1] < 2 * len(L):
                # scaled rows are fewer numbers than a matrix of weights and its product with K
                moments = L * (K @ (R * rows[:, :-1]))
            else:
                W = L @ R.T
                W *= K
                moments = W @ rows[:, :-1]
            return np.float32(root) * (moments[:, :-1] - moments[:, -1:] * Z[:, :-2])

        return K, gradient

    return block
