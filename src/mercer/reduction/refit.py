"""Few vectors that give the scores of many on data: points and coefficients fitted to decision values, not to vectors.

The distance in feature space weighs directions in which no data lie. Here the squared difference of the scores on data
is made small instead, the coefficients eliminated by least squares; then, for classifiers, what is lost at the margins.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from mercer import _threads, _validate, landmarks
from mercer._tiles import Side, Tile

# Rows of a tile: with a few hundred vectors its values stay in cache.
_ROWS = 1024
# Kernel values that one pass over the data may take; beyond it rows are drawn.
_VALUES = 1 << 24
# Ridge on coefficients, as a share of the mean square of the kernel values: far above the rounding of float32 sums.
_RIDGE = 1e-6
# Price of a squared difference of scores against that of a squared violation of the margin.
_MATCH = 0.1
_MEMORY = 20
# Passes over the data of each descent: at most, at least, and the multiplications that they may take between these.
_MOST, _LEAST, _WORK = (120, 180), (16, 24), 4.0e11
# Kernel values of a pass beyond which a descent may take more multiplications, in proportion.
_LARGE = 1e7


@dataclass(frozen=True)
class Refit:
    """Scores over few points, ``kernel(X, points) @ coef + intercept``.

    Attributes
    ----------
    points : float64 array (p, d)
    coef : float64 array (p, m)
    intercept : float64 array (m,)
    objective : float
        The loss per row where the descent ended.
    n_iter : int
        Passes over the data.
    """

    points: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    n_iter: int


def refit(kernel, start, X, scores, signs=None, *, scale=None, passes=None, random_state=None, callback=None):
    r"""Return few points and coefficients whose scores on data are nearest to given ones.

    .. math:: \min_{Z, B, b} \sum_i |F_i - k(x_i, Z) B - b|^2 + \lambda |B|^2

    with B and b eliminated by least squares, by L-BFGS in Z. With signs, which say what side of a machine a row belongs
    to, a second descent, in Z, B and b, minimises

    .. math:: \sum_{ij} |U_{ij}| (\mu (F_{ij} - S_{ij})^2 + \max(0, 1 - U_{ij} S_{ij})^2), \quad S = k(X, Z) B + b,

    with mu = 0.1: scores count where they decide, and only for the rows that a machine was trained on.

    Parameters
    ----------
    kernel : Kernel
        With a gradient, its numbers resolved.
    start : array (p, d)
        The points to start from.
    X : array (n, d)
        Data, and neighbours of it.
    scores : array (n, m)
        The scores F to be met.
    signs : array (n, m), optional
        U, 1 and -1 for the sides of a machine, 0 for rows it does not concern.
    scale : array (m,), optional
        What differences in each column are divided by; ones when left out.
    passes : (int, int), optional
        Passes over the data at most, in the first and in the second descent; when left out 120 and 180 (or a pass for
        each point), and fewer where they would take more than 4e11 multiplications, or 4e11 for every 1e7 kernel values
        of a pass where these are more, but 16 and 24.
    random_state : int, RandomState, Generator or None
        Choice of rows where there are too many.
    callback : callable, optional
        ``callback(done, most)`` after every pass over the data, of how many at most.

    Returns
    -------
    Refit

    Raises
    ------
    TypeError
        When the kernel has no gradient.
    ValueError
        For arrays that do not fit each other.

    Notes
    -----
    A pass of the first descent costs n p (4 d + 2 p + 6 m) operations, one of the second n p (4 d + 6 c) with c the
    machines that concern a row, in float32, on all threads; sums over tiles and the equations for the coefficients are
    in float64. Beyond 2^24 kernel values the first descent draws rows; the second sees all. The ridge is 1e-6 of the
    mean square of the kernel values; the final coefficients of the first descent are solved for with a thousandth of
    it. The second descent moves L^T B, where L L^T is the mean product of the kernel values that it starts from.

    References
    ----------
    Golub, Pereyra, *The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate*, SIAM J. Numer. Anal. 10 (1973).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.refit import refit
    >>> X = np.linspace(-4, 4, 50)[:, None]
    >>> F = mc.Gaussian(1.0)(X, np.array([[0.3]]))
    >>> fit = refit(mc.Gaussian(1.0), np.array([[0.6]]), X, F)
    >>> fit.points.round(2), fit.coef.round(2)
    (array([[0.3]]), array([[1.]]))
    """
    kernel._require_gradient()
    start, X, scores = np.asarray(start, np.float64), np.asarray(X), np.asarray(scores, np.float64)
    if len(X) != len(scores) or X.shape[1] != start.shape[1]:
        raise ValueError(f"X {X.shape}, scores {scores.shape} and start {start.shape} do not fit each other.")
    for most in passes or ():
        _validate.integer("passes", most, 0)
    scale = np.ones(scores.shape[1]) if scale is None else np.asarray(scale, np.float64)
    rows, signs = _drawn(len(X), len(start), random_state), None if signs is None else np.asarray(signs)
    data = Data(kernel, X[rows], scores[rows] / scale)
    whole = None if signs is None else Data(kernel, X, scores / scale, signs)
    passes = _affordable(data, whole, start) if passes is None else passes
    done = itertools.count(1)

    def said():
        if callback is not None:
            callback(next(done), sum(passes))

    Z, n_first = data.matched(start, passes[0], said)
    B, b, objective = data.coefficients(Z)
    n_second = 0
    if whole is not None and passes[1]:
        Z, B, b, objective, n_second = whole.decided(Z, B, b, passes[1], said)
    return Refit(Z, B * scale, b * scale, objective, n_first + n_second)


def _drawn(n, p, random_state):
    most = max(_VALUES // p, 4 * p, 256)
    return slice(None) if n <= most else landmarks.uniform(np.empty((n, 1)), most, random_state)


def _affordable(data, whole, start):
    """Return the passes of both descents."""
    (n, m), (p, d) = data.shape, start.shape
    each = 2 * d + p + 3 * m
    if whole is None:  # the work of both
        return _passes(n * p, each / 2, sum(_LEAST), sum(_MOST)), 0
    return _passes(n * p, each, _LEAST[0], _MOST[0]), _passes(
        whole.shape[0] * p, 2 * d + 3 * whole.concerned, _LEAST[1], max(_MOST[1], p)
    )


def _passes(values, each, least, most):
    """Return the passes of a descent that takes some number of kernel values, and multiplications for each."""
    return int(np.clip(_WORK * max(1.0, values / _LARGE) / (values * each), least, most))


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
        self._columns = [np.flatnonzero(concerned[rows[0]]) for rows in cuts]
        self._wide = [np.asarray(X[rows], np.float64) for rows in cuts]
        self._sides = [Side(np.ascontiguousarray(X[rows], np.float32)) for rows in cuts]
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
        found, taken = descend(lambda z: self.least_squares(z.reshape(Z.shape), ridge)[:2], Z.ravel(), passes, callback)
        return found.reshape(Z.shape), taken

    def decided(self, Z, B, b, passes, callback=None):
        """Return points and coefficients that make the objective with margins small.

        Parameters
        ----------
        Z : float64 array (p, d)
        B : float64 array (p, m)
        b : float64 array (m,)
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

        def apart(v):
            C = v[p * d : p * (d + m)].reshape(p, m)
            return v[: p * d].reshape(p, d), solve_triangular(L, C, lower=True, trans="T"), v[p * (d + m) :]

        def objective(v):
            value, slope, slope_B, slope_b = self.margins(*apart(v), ridge)
            return value, np.concatenate([slope.ravel(), solve_triangular(L, slope_B, lower=True).ravel(), slope_b])

        found, taken = descend(objective, np.concatenate([Z.ravel(), (L.T @ B).ravel(), b]), passes, callback)
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
            tiles[i] = Tile(Side(narrow), self._sides[i])
            K = self.kernel._evaluate(tiles[i])
            # equations that are solved need sums in float64: their condition is the square of that of the values
            wide = K.astype(np.float64)
            parts[i] = K, wide @ wide.T, wide.sum(axis=1), wide @ self._exact[i]

        _threads.run(evaluate, len(tiles))
        n, p, total = self.shape[0], len(Z), np.sum([F.sum(axis=0) for F in self._exact], axis=0)
        gram, mass, right = (_total(part[k] for part in parts) for k in (1, 2, 3))
        B, b = _solve(gram, mass, right, total, n, ridge)
        narrow_B, narrow_b = B.astype(np.float32), b.astype(np.float32)
        sums = [None] * len(self._sides)

        def differentiate(i):
            D = parts[i][0].T @ narrow_B + narrow_b - self._scores[i]
            sums[i] = np.sum(D * D, dtype=np.float64), self.kernel._vjp(tiles[i], 2 * narrow_B @ D.T)

        _threads.run(differentiate, len(tiles))
        value = _total(each[0] for each in sums) + n * ridge * np.sum(B * B)
        gradient = _total(each[1] for each in sums)
        return float(value) / n, gradient.reshape(p, -1) / n, B, b

    def margins(self, Z, B, b, ridge):
        """Return the objective with margins per row, and its gradients in Z, B and b.

        Parameters
        ----------
        Z : float64 array (p, d)
        B : float64 array (p, m)
        b : float64 array (m,)
        ridge : float

        Returns
        -------
        float, array (p, d), array (p, m), array (m,)
        """
        narrow, narrow_B, narrow_b = (each.astype(np.float32) for each in (Z, B, b))
        sums = [None] * len(self._sides)

        def task(i):
            tile, among = Tile(Side(narrow), self._sides[i]), self._columns[i]
            K, part, U = self.kernel._evaluate(tile), narrow_B[:, among], self._signs[i][:, among]
            S = K.T @ part + narrow_b[among]
            apart = S - self._scores[i][:, among]
            short = np.maximum(1 - U * S, 0)
            D = 2 * (_MATCH * apart - U * short)
            value = _MATCH * np.sum(apart * apart, dtype=np.float64) + np.sum(short * short, dtype=np.float64)
            sums[i] = value, self.kernel._vjp(tile, part @ D.T), K @ D, D.sum(axis=0, dtype=np.float64)

        _threads.run(task, len(sums))
        n, value, slope = self.shape[0], *(_total(each[k] for each in sums) for k in range(2))
        slope_B, slope_b = np.zeros(B.shape), np.zeros(b.shape)
        for i, among in enumerate(self._columns):
            slope_B[:, among] += sums[i][2]
            slope_b[among] += sums[i][3]
        return float(value) / n + ridge * np.sum(B * B), slope / n, slope_B / n + 2 * ridge * B, slope_b / n

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


def descend(objective, start, passes, callback=None):
    """Return the lowest point that L-BFGS finds, and how often it asked for the objective.

    Parameters
    ----------
    objective : callable
        Value and gradient of a point.
    start : float64 array (k,)
    passes : int
        Evaluations at most, after each of which ``callback()`` is called; 0 returns the start.
    callback : callable, optional

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
    found = minimize(watched, start, jac=True, method="L-BFGS-B", options=options)
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
