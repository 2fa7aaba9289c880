"""Scores on data as objectives over few points: least squares, and margins, with their gradients and descents.

The sums over tiles are in float32 on all threads, the equations for coefficients in float64.
"""

import numpy as np
import scipy.linalg
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, minimize

from mercer._compute.points import Points
from mercer._compute.threads import run_tasks
from mercer._compute.tile import Tile

# Rows of a tile: with a few hundred vectors its values stay in cache.
_ROWS = 1024
# Ridge on coefficients, as a share of the mean square of the kernel values: far above the rounding of float32 sums.
_RIDGE = 1e-6
_MEMORY = 20
# Share of the mean square of the steepness of points that the least steep one is taken to have.
_FLAT = 1e-3


class Data:
    """Rows with the scores they should have, in tiles, and the two objectives over points and coefficients.

    Parameters
    ----------
    kernel : Kernel
    X : array (n, d)
    scores : float64 array (n, m)
    signs : array (n, m) or None
    """

    def __init__(self, kernel, X, scores, signs=None):
        self.kernel, self.shape = kernel, scores.shape
        concerned = np.ones((len(X), 1), bool) if signs is None else signs != 0
        self.concerned = concerned.sum(axis=1).mean()
        # rows that concern the same columns share tiles, so that other columns cost nothing
        _, codes = np.unique(np.packbits(concerned, axis=1), axis=0, return_inverse=True)
        order = np.argsort(codes.ravel(), kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(codes.ravel()[order])) + 1)
        cuts = [rows[i : i + _ROWS] for rows in groups for i in range(0, len(rows), _ROWS)]
        self._rows = cuts
        self._columns = [np.flatnonzero(concerned[rows[0]]) for rows in cuts]
        self._wide = [np.asarray(X[rows], np.float64) for rows in cuts]
        self._sides = [Points(np.ascontiguousarray(X[rows], np.float32)) for rows in cuts]
        self._scores = [scores[rows].astype(np.float32) for rows in cuts]
        self._exact = [scores[rows] for rows in cuts]
        self._signs = None if signs is None else [np.asarray(signs[rows], np.float32) for rows in cuts]

    def matched(self, Z, passes, callback=None):
        """Return points that make the least-squares objective small, and the passes it took.

        Parameters
        ----------
        Z : float64 array (p, d)
        passes : int
        callback : callable, optional

        Returns
        -------
        array (p, d), int
        """
        ridge = self._ridge(Z)
        found, taken = descend(
            lambda z: self.least_squares(z.reshape(Z.shape), ridge)[:2], Z.ravel(), passes, callback, self._least(Z, 0)
        )
        return found.reshape(Z.shape), taken

    def decided(self, Z, B, b, match, passes, callback=None):
        """Return points and coefficients that make the objective with margins small.

        Parameters
        ----------
        Z : float64 array (p, d)
        B : float64 array (p, m)
        b : float64 array (m,)
        match : float
        passes : int
        callback : callable, optional

        Returns
        -------
        array (p, d), array (p, m), array (m,), float, int
        """
        (p, d), m = Z.shape, len(b)
        # coefficients by what they do to scores: those of neighbouring points would need opposite steps
        gram = self._products(Z)[0] / self.shape[0]
        ridge = max(_RIDGE * np.trace(gram) / p, np.finfo(np.float64).tiny)
        L = scipy.linalg.cholesky(gram + ridge * np.eye(p), lower=True)
        steep = self._steepness(Z, B)[:, None]

        def apart(v):
            C = v[p * d : p * (d + m)].reshape(p, m)
            return v[: p * d].reshape(p, d) / steep, solve_triangular(L, C, lower=True, trans="T"), v[p * (d + m) :]

        def objective(v):
            value, slope, slope_B, slope_b = self.margins(*apart(v), match, ridge)
            return value, np.concatenate(
                [(slope / steep).ravel(), solve_triangular(L, slope_B, lower=True).ravel(), slope_b]
            )

        first = np.concatenate([(steep * Z).ravel(), (L.T @ B).ravel(), b])
        found, taken = descend(objective, first, passes, callback, self._least(Z, len(first) - Z.size))
        return *apart(found), objective(found)[0], taken

    def least_squares(self, Z, ridge):
        """Return the least-squares objective per row with the best coefficients, its gradient in Z, and these.

        Parameters
        ----------
        Z : float64 array (p, d)
        ridge : float

        Returns
        -------
        float, array (p, d), array (p, m), array (m,)
        """
        narrow = Z.astype(np.float32)
        tiles = [None] * len(self._sides)
        parts = [None] * len(self._sides)

        def evaluate(i):
            tiles[i] = Tile(Points(narrow), self._sides[i])
            K = self.kernel.evaluate(tiles[i])
            # equations that are solved need sums in float64: their condition is the square of that of the values
            wide = K.astype(np.float64)
            parts[i] = K, wide @ wide.T, wide.sum(axis=1), wide @ self._exact[i]

        run_tasks(evaluate, len(tiles))
        n, p, total = self.shape[0], len(Z), np.sum([F.sum(axis=0) for F in self._exact], axis=0)
        gram, mass, right = (_total(part[k] for part in parts) for k in (1, 2, 3))
        B, b = _solve(gram, mass, right, total, n, ridge)
        narrow_B, narrow_b = B.astype(np.float32), b.astype(np.float32)
        sums = [None] * len(self._sides)

        def differentiate(i):
            D = parts[i][0].T @ narrow_B + narrow_b - self._scores[i]
            sums[i] = np.sum(D * D, dtype=np.float64), self.kernel.gradient(tiles[i], 2 * narrow_B @ D.T)

        run_tasks(differentiate, len(tiles))
        value = _total(each[0] for each in sums) + n * ridge * np.sum(B * B)
        gradient = _total(each[1] for each in sums)
        return float(value) / n, gradient.reshape(p, -1) / n, B, b

    def margins(self, Z, B, b, match, ridge):
        """Return the objective with margins per row, and its gradients in Z, B and b.

        Parameters
        ----------
        Z : float64 array (p, d)
        B : float64 array (p, m)
        b : float64 array (m,)
        match : float
            Price of a squared difference of scores against that of a squared violation of the margin.
        ridge : float

        Returns
        -------
        float, array (p, d), array (p, m), array (m,)
        """
        narrow, narrow_B, narrow_b = (each.astype(np.float32) for each in (Z, B, b))
        sums = [None] * len(self._sides)

        def task(i):
            tile, among = Tile(Points(narrow), self._sides[i]), self._columns[i]
            K, part, U = self.kernel.evaluate(tile), narrow_B[:, among], self._signs[i][:, among]
            S = K.T @ part + narrow_b[among]
            apart = S - self._scores[i][:, among]
            short = np.maximum(1 - U * S, 0)
            D = 2 * (match * apart - U * short)
            value = match * np.sum(apart * apart, dtype=np.float64) + np.sum(short * short, dtype=np.float64)
            sums[i] = value, self.kernel.gradient(tile, part @ D.T), K @ D, D.sum(axis=0, dtype=np.float64)

        run_tasks(task, len(sums))
        n, value, slope = self.shape[0], *(_total(each[k] for each in sums) for k in range(2))
        slope_B, slope_b = np.zeros(B.shape), np.zeros(b.shape)
        for i, among in enumerate(self._columns):
            slope_B[:, among] += sums[i][2]
            slope_b[among] += sums[i][3]
        return float(value) / n + ridge * np.sum(B * B), slope / n, slope_B / n + 2 * ridge * B, slope_b / n

    def wrong(self, Z, B, b):
        """Return how many of the machines that concern a row take it for the wrong side.

        Parameters
        ----------
        Z : float64 array (p, d)
        B : float64 array (p, m)
        b : float64 array (m,)

        Returns
        -------
        integer array (n,)
        """
        narrow, narrow_B, narrow_b = (each.astype(np.float32) for each in (Z, B, b))
        counts = np.empty(self.shape[0], int)

        def task(i):
            K, among = self.kernel.evaluate(Tile(Points(narrow), self._sides[i])), self._columns[i]
            S = K.T @ narrow_B[:, among] + narrow_b[among]
            counts[self._rows[i]] = np.sum(self._signs[i][:, among] * S < 0, axis=1)

        run_tasks(task, len(self._rows))
        return counts

    def coefficients(self, Z):
        """Return the best coefficients over points in float64, and the objective per row.

        Parameters
        ----------
        Z : float64 array (p, d)

        Returns
        -------
        array (p, m), array (m,), float
        """
        (gram, mass, right), square = self._products(Z), 0.0
        n, total = self.shape[0], np.sum([F.sum(axis=0) for F in self._exact], axis=0)
        B, b = _solve(gram, mass, right, total, n, _RIDGE * 1e-3 * np.trace(gram) / (n * len(Z)))
        for X, F in zip(self._wide, self._exact, strict=True):
            square += float(np.sum((np.asarray(self.kernel(X, Z), np.float64) @ B + b - F) ** 2))
        return B, b, square / n

    def _least(self, Z, others):
        """Return what points, and so many coefficients after them, are at least; None where that is no bound."""
        if not self.kernel.tags.nonnegative:
            return None
        return np.concatenate([np.zeros(Z.size), np.full(others, -np.inf)])

    def _steepness(self, Z, B):
        """Return how much scores change with each point (p,), half way in proportion from the mean of all points."""
        narrow, squares = Z.astype(np.float32), [None] * len(self._sides)

        def task(i):
            # the expected square of a sum with random signs is the sum of squares
            signs = np.random.default_rng(i).choice(np.array([-1, 1], np.float32), (1, len(self._sides[i])))
            slope = self.kernel.gradient(Tile(Points(narrow), self._sides[i]), np.repeat(signs, len(Z), axis=0))
            squares[i] = np.sum(slope * slope, axis=1)

        run_tasks(task, len(squares))
        curvature = _total(squares) / self.shape[0] * np.sum(B * B, axis=1) * self.concerned / B.shape[1]
        typical = max(curvature.mean(), np.finfo(np.float64).tiny)
        return np.sqrt(typical * np.sqrt(np.maximum(curvature / typical, _FLAT)))

    def _products(self, Z):
        """Return K^T K, K^T 1 and K^T F in float64."""
        gram, mass, right = 0.0, 0.0, 0.0
        for X, F in zip(self._wide, self._exact, strict=True):
            K = np.asarray(self.kernel(X, Z), np.float64)
            gram, mass, right = gram + K.T @ K, mass + K.sum(axis=0), right + K.T @ F
        return gram, mass, right

    def _ridge(self, Z):
        """Return the ridge per row, a share of the mean square of the kernel values at the start."""
        K = np.asarray(self.kernel(self._wide[0], Z), np.float64)
        return _RIDGE * float(np.mean(K * K))


def descend(objective, start, passes, callback=None, least=None):
    """Return the lowest point that L-BFGS finds, and how often it asked for the objective.

    Parameters
    ----------
    objective : callable
        Value and gradient of a point.
    start : float64 array (k,)
    passes : int
        Evaluations at most, after each of which ``callback()`` is called; 0 returns the start.
    callback : callable, optional
    least : float64 array (k,), optional
        Lower bounds.

    Returns
    -------
    array (k,), int
    """
    if not passes:
        return start, 0
    best = [np.inf, start]

    def watched(v):
        value, gradient = objective(v)
        if value < best[0]:
            best[:] = value, v.copy()
        if callback is not None:
            callback()
        return value, gradient.ravel()

    options = {"maxiter": passes, "maxfun": passes, "maxcor": _MEMORY, "ftol": 1e-12, "gtol": 1e-12}
    bounds = None if least is None else Bounds(least, np.inf)
    found = minimize(watched, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return best[1], int(found.nfev)


def _solve(gram, mass, right, total, n, ridge):
    """Return coefficients and constants of ridge regression from sums over n rows; constants are not penalised."""
    # rows about their mean: the normal equations without the constant are the better conditioned ones
    A = gram.astype(np.float64) - np.outer(mass, mass) / n
    A[np.diag_indices_from(A)] += n * max(ridge, np.finfo(np.float64).tiny)
    rhs = right - np.outer(mass, total) / n
    try:
        B = scipy.linalg.solve(A, rhs, assume_a="pos", check_finite=False)
    except np.linalg.LinAlgError:
        B = scipy.linalg.lstsq(A, rhs, check_finite=False)[0]
    return B, (total - mass @ B) / n


def _total(parts):
    """Return a sum in float64, in order, so that it does not depend on threads."""
    return sum(np.asarray(part, np.float64) for part in parts)
