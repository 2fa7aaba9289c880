"""Directions of largest L1 dispersion: PCA-L1, one direction after another or all at once."""

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._common import check_integer, warn
from mercer.linalg.generator import generator

# A projection of at most this many eps |x_i| has no sign, and a row of at most this many eps sum |x_j| is zero.
_NOISE = 8


@dataclass(frozen=True)
class Directions:
    """Orthonormal directions with their dispersions and the certificate of a fixed point.

    Attributes
    ----------
    vectors : array (d, m)
        The largest entry of each column is positive.
    dispersions : array (m,)
        sum_i |w_k'x_i|, of the rows as they were given.
    residuals : array (m,)
        |w - X'p / |X'p|| with p = sign(X w): how far each w is from the fixed point, recomputed at the end; of all
        directions at once it is one number, repeated.
    ties : int
        Projections w_k'x_i = 0 of rows that are not 0: where there are none, a fixed point is a local maximum.
    history : list of arrays
        The objective after every step of the best start, which never decreases; one array for each direction that
        was sought by itself.
    converged : bool
        Whether no step changes any direction.
    """

    vectors: np.ndarray
    dispersions: np.ndarray
    residuals: np.ndarray
    ties: int
    history: list
    converged: bool


def greedy(X, m, *, n_init=10, max_iter=1000, random_state=None):
    r"""Return m directions of largest L1 dispersion, each in what the earlier ones leave of the rows.

    .. math:: w_k = \arg\max_{|w| = 1} \sum_i |w'x_i|, \qquad x_i \leftarrow x_i - w_k (w_k'x_i)

    Parameters
    ----------
    X : array (n, d)
        Centred by the caller.
    m : int
        At most min(n, d); fewer directions are returned where the rows have a smaller rank.
    n_init : int
        Starts for each direction: the longest row, and random combinations of rows. The best result is kept.
    max_iter : int
        Steps of each start.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Directions

    Raises
    ------
    ValueError
        When all rows are 0.

    Warns
    -----
    ConvergenceWarning
        With the residual, when ``max_iter`` steps did not reach a fixed point.

    Notes
    -----
    O(n d) per step, m n_init runs of usually fewer than 20 steps; float64 throughout. The objective is neither convex
    nor concave: a fixed point is a local maximum.

    References
    ----------
    Kwak, *Principal component analysis based on L1-norm maximization*, IEEE TPAMI 30 (2008), section 3.
    Kwak, *Nonlinear projection trick in kernel methods*, IEEE TNNLS 24 (2013), algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> found = greedy(np.array([[3.0, 0.0], [-3.0, 0.0], [1.0, 1.0]]), 2, random_state=0)
    >>> found.vectors[:, 0].round(2), bool(found.residuals.max() < 1e-15)
    (array([0.99, 0.14]), True)
    """
    rows, floor, rng = _prepared(X, m, n_init, max_iter, random_state)
    found = []
    for _ in range(m):
        rest = np.where(_norms(rows)[:, None] > floor, rows, 0.0)
        if not rest.any():
            break
        best = _best(rest, 1, n_init, max_iter, rng)
        found.append(best)
        W = np.hstack([run.W for run in found])
        # twice: what is left of a row can be far shorter than the row, and once leaves rounding of the row
        rows = _deflated(_deflated(rows, W), W)
    return _result(X, W, found)


def joint(X, m, *, n_init=10, max_iter=1000, random_state=None):
    r"""Return m orthonormal directions that together have the largest L1 dispersion: the non-greedy form.

    .. math:: \max_{W'W = I} \sum_i |W'x_i|_1, \qquad W \leftarrow U V' \;\text{where}\; X' \mathrm{sign}(X W) =
        U \Sigma V'

    Parameters, result, errors and warnings are those of ``greedy``; m may not exceed the rank of the rows.

    Parameters
    ----------
    X : array (n, d)
    m : int
    n_init, max_iter : int
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Directions
        Sorted by dispersion.

    Notes
    -----
    O(n d m + d m^2) per step.

    References
    ----------
    Nie, Huang, Ding, Luo, Wang, *Robust principal component analysis with non-greedy L1-norm maximization*, IJCAI
    (2011), algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 0.0], [-3.0, 0.1], [0.0, 1.0]])
    >>> bool(joint(X, 2).dispersions.sum() >= greedy(X, 2).dispersions.sum() - 1e-12)
    True
    """
    rows, floor, rng = _prepared(X, m, n_init, max_iter, random_state)
    rows = np.where(_norms(rows)[:, None] > floor, rows, 0.0)
    m = min(m, np.linalg.matrix_rank(rows))
    best = _best(rows, m, n_init, max_iter, rng)
    order = np.argsort(-np.abs(rows @ best.W).sum(axis=0), kind="stable")
    return _result(X, best.W[:, order], [best])


@dataclass(frozen=True)
class _Run:
    """Where one start ended; the rows were divided by their largest entry."""

    W: np.ndarray
    history: np.ndarray
    residual: float
    ties: int
    converged: bool


def ascend(X, W, rng, max_iter=1000):
    """Climb from given directions to a fixed point: polarity, flipping and maximisation, perturbation at zeros.

    A step is W <- the orthonormal factor of X'P, P = sign(X W), and is repeated while a sign changes (step 4a of the
    printed algorithm reads "does not change"). A zero projection is perturbed by an infinitely small random vector,
    which changes the signs at zeros only: a step from there cannot decrease the objective, and for one direction
    increases it by at least |sum_i (p_i - p_i') x_i|^2 / (2 |X'p|), so that no polarity comes twice.

    Parameters
    ----------
    X : array (n, d)
    W : array (d, m)
        Orthonormal columns, or any column when m is 1.
    rng : RandomState or Generator
    max_iter : int

    Returns
    -------
    run with ``W``, ``history`` (the objective after every step), ``residual``, ``ties`` and ``converged``

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0]])
    >>> run = ascend(X, np.array([[1.0], [0.0]]), np.random.default_rng(0))
    >>> run.ties, bool(run.history[-1] > np.abs(X[:, 0]).sum())
    (0, True)
    """
    width = _NOISE * np.finfo(float).eps * np.sqrt(X.shape[1]) * _norms(X)[:, None]
    live = width > 0
    P = np.where(X @ W < 0, -1.0, 1.0)
    history, converged, reference = [], False, -np.inf
    for _ in range(max_iter):
        W = _orthonormal(X.T @ P)
        Y = X @ W
        history.append(np.abs(Y).sum())
        ties = live & (np.abs(Y) <= width)
        signs = np.where(ties | ~live, P, np.where(Y < 0, -1.0, 1.0))
        if (signs != P).any():
            P = signs
            continue
        # perturbing again where it gained nothing would go round for ever
        converged = not ties.any() or history[-1] <= reference * (1 + _NOISE * np.finfo(float).eps)
        if converged:
            break
        reference, P = history[-1], _perturbed(X, P, ties, rng)
    return _Run(W, np.array(history), _residual(X, W, P), int(ties.sum()), converged)


def _perturbed(X, P, ties, rng):
    """Return the signs after a small random step: those at zero projections are the signs along that step."""
    step = X @ rng.standard_normal((X.shape[1], P.shape[1]))
    signs = np.where(step < 0, -1.0, 1.0)
    # a step to the side the signs are on already changes none; the opposite one changes all
    signs = np.where(((signs == P) | ~ties).all(axis=0), -signs, signs)
    return np.where(ties, signs, P)


def _prepared(X, m, n_init, max_iter, random_state):
    """Return rows of entries up to 1 in float64, the length below which a row is zero, and the generator."""
    for name, value in {"n_init": n_init, "max_iter": max_iter, "m": m}.items():
        check_integer(name, value)
    X = np.asarray(X, np.float64)
    largest = np.abs(X).max(initial=0.0)
    if largest == 0:
        raise ValueError(f"no dispersion: all {len(X)} rows are 0 once centred; the points are constant.")
    rows = X / largest
    return rows, _NOISE * np.finfo(float).eps * _norms(rows).sum(), generator(random_state)


def _deflated(X, W):
    return X - (X @ W) @ W.T


def _best(X, m, n_init, max_iter, rng):
    """Return the run with the largest objective."""
    runs = (ascend(X, W, rng, max_iter) for W in _starts(X, m, n_init, rng))
    return max(runs, key=lambda run: run.history[-1])


def _starts(X, m, n_init, rng):
    """Yield the longest rows, then random combinations of rows."""
    yield _orthonormal(X[np.argsort(-_norms(X), kind="stable")[:m]].T)
    for _ in range(n_init - 1):
        yield _orthonormal(X.T @ rng.standard_normal((len(X), m)))


def _result(X, W, runs):
    """Return the directions with signs fixed, and warn when a run did not end by itself."""
    W = W * np.where(W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])] < 0, -1.0, 1.0)
    X = np.asarray(X, np.float64)
    largest, m = np.abs(X).max(), W.shape[1]
    residuals = np.array([run.residual for run in runs])
    converged = all(run.converged for run in runs)
    if not converged:
        warn(
            f"PCA-L1 did not reach a fixed point, residual {residuals.max():.1e}: raise max_iter.",
            ConvergenceWarning,
        )
    return Directions(
        W,
        np.abs(X @ W).sum(axis=0),
        residuals if len(residuals) == m else np.repeat(residuals, m),
        sum(run.ties for run in runs),
        [run.history * largest for run in runs],
        converged,
    )


def _residual(X, W, P):
    """Return the distance of W from the directions that the polarities of its projections give."""
    signs = np.sign(X @ W)
    return float(np.abs(W - _orthonormal(X.T @ np.where(signs == 0, P, signs))).max())


def _orthonormal(M):
    """Return the matrix with orthonormal columns nearest to M, U V' of its singular value decomposition."""
    if M.shape[1] == 1:
        return M / np.linalg.norm(M)
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def _norms(X):
    return np.sqrt(np.einsum("ij,ij->i", X, X))
