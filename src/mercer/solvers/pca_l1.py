"""PCA-L1: orthonormal directions of largest L1 dispersion, one after another or all together."""

from typing import Any

import numpy as np
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from mercer._common import EPS, TINY, Array, Seed, as_float64, check_integer, record, warn
from mercer._compute.points import sum_squares
from mercer._compute.threads import threaded_blas
from mercer._progress import notify
from mercer.linalg.generator import generator
from mercer.linalg.operators import NOISE

# Operations of an ascent for each entry of X and component, about.
_PRODUCTS = 100


@record
class Directions:
    """Orthonormal directions (d, m) with their dispersions sum_i |w_k'x_i| (m,), and evidence of a fixed point.

    ``residuals`` (m,) are |w - X'p / |X'p|| with p = sign(X w), recomputed at the end; for joint directions the lengths
    of the columns of W - U V' with X' sign(X W) = U Sigma V';
    ``ties`` counts projections w_k'x_i = 0 of rows that are not 0: without any, a fixed point is a local maximum;
    ``history`` is the objective after every step of the best start, one array for each search.
    """

    vectors: np.ndarray
    dispersions: np.ndarray
    residuals: np.ndarray
    ties: int
    history: list[Any]
    converged: bool


def directions(
    X: Array,
    widths: list[int],
    *,
    size: float = 0.0,
    start: Array | None = None,
    n_init: int = 10,
    max_iter: int = 1000,
    random_state: Seed = None,
) -> Directions:
    """Return directions of centred rows (n, d) by searches for so many each, in the rows that earlier ones deflate.

    Those of one search have the largest sum of dispersions, by W <- U V' with X' sign(X W) = U Sigma V'. Stops at the
    rank; ``size`` is the largest entry before centring, which rounded them, and ``start`` (m, d) the first starts.
    One at a time: Kwak, *Principal component analysis based on L1-norm maximization*, IEEE TPAMI 30 (2008), sec. 3;
    together: Nie et al., *Robust principal component analysis with non-greedy L1-norm maximization*, IJCAI (2011),
    algorithm 2.
    """
    rows, floor, rng = _prepared(X, size, n_init, max_iter, random_state)
    runs = []
    for k, width in enumerate(widths):
        if runs:
            W = np.hstack([run.W for run in runs])
            # twice: the rest of a row can be far shorter than the row, and one deflation leaves rounding of the row
            rows = _deflated(_deflated(rows, W), W)
        rest = np.where(_norms(rows)[:, None] > floor, rows, 0.0)
        if not rest.any():
            break
        if width > 1:
            width = min(width, np.linalg.matrix_rank(rest), np.linalg.matrix_rank(rest, floor))
        longest = rest[np.argsort(-_norms(rest), kind="stable")[:width]]
        starts = _starts(rest, longest if start is None else start[k : k + width], n_init, rng)
        with threaded_blas(_PRODUCTS * rest.size * width):
            ascents = (ascend(rest, W, rng, max_iter) for W in starts)
            runs.append(max(ascents, key=lambda run: run.history[-1]))
    if not runs:
        raise ValueError(
            f"no dispersion beyond rounding: entries of X, up to {size:.3g}, are rounded by more than rows differ; "
            "subtract the mean of the rows before they are rounded."
        )
    return _result(X, runs)


@record
class _Run:
    """The result of one start."""

    W: np.ndarray
    history: np.ndarray
    residuals: np.ndarray
    ties: int
    converged: bool


def residuals(X: Array, mean: Array, W: Array, greedily: bool, eps: float) -> Array:
    """Return |w_k - X'p / |X'p|| with p = sign(X w_k) for rows about a mean (m,), deflated by earlier directions.

    Joint directions have the columns of W - U V' with X' sign(X W) = U Sigma V'. Scores of at most NOISE ``eps`` |x_i|
    have no sign: theirs are those in [-1, 1] that fit best. A mean that shifts scores by more than the residual counts.
    """
    W = as_float64(W)
    mean = as_float64(mean)
    rows = X - mean
    rows /= np.abs(rows).max() or 1.0
    shift = np.abs(rows.mean(axis=0) @ W) / np.maximum(np.abs(rows @ W).mean(axis=0), TINY)
    found = np.array(list(_changes(rows, W, eps))) if greedily else _change(rows, W, eps)
    return np.maximum(found, shift)


def _changes(rows, W, eps):
    """Yield the change of each direction by one more step in the rows that the earlier ones deflate."""
    for k in range(W.shape[1]):
        yield _change(rows, W[:, k : k + 1], eps)[0]
        rows = _deflated(_deflated(rows, W[:, : k + 1]), W[:, : k + 1])


def _change(X, W, eps):
    """Return the length of the change of each column of W by one more step, the best for the signs at zero scores.

    Where X'P has fewer dimensions than W, any orthonormal columns complete its factor: here those nearest to W.
    """
    X = X[X.any(axis=1)]
    Y = X @ W
    P = np.sign(Y)
    i, k = np.nonzero(np.abs(Y) <= NOISE * eps * np.sqrt(len(W)) * _norms(X)[:, None])
    P[i, k] = 0
    P[i, k] = _best_signs(X, W, P, i, k)
    step = X.T @ P
    if not step.any():
        return np.full(W.shape[1], np.inf)
    U, s, Vt = np.linalg.svd(step, full_matrices=False)
    kept = s > NOISE * EPS * _norms(X).sum()
    nearest = U[:, kept] @ Vt[kept]
    V = Vt[~kept].T
    if V.size:
        rest = W @ V
        A, _, Bt = np.linalg.svd(rest - U[:, kept] @ (U[:, kept].T @ rest), full_matrices=False)
        nearest += A @ Bt @ V.T
    return np.linalg.norm(W - nearest, axis=0)


def _best_signs(X, W, P, i, k):
    """Return signs in [-1, 1] of zero scores (i, k) for which X'P is nearest to W times a symmetric matrix.

    Row i adds x_i p e_k' to G = X'P; the part of G outside of the span of W and the skew part of W'G are least.
    """
    if not len(i):
        return np.zeros(0)
    units = np.eye(W.shape[1])[k]

    def defect(G):
        inner = np.einsum("dj,ndm->njm", W, G)
        outside = G - np.einsum("dj,njm->ndm", W, inner)
        skew = inner - inner.transpose(0, 2, 1)
        return np.concatenate([outside.reshape(len(G), -1), skew.reshape(len(G), -1)], axis=1)

    columns = defect(X[i][:, :, None] * units[:, None, :]).T
    return lsq_linear(columns, -defect((X.T @ P)[None])[0], (-1, 1)).x


def ascend(X: Array, W: Array, rng: Any, max_iter: int = 1000) -> _Run:
    """Return the fixed point that the steps W <- orthonormal factor of X' sign(X W) reach from given columns (d, m).

    Zero projections take the signs of a random direction: a step from there cannot decrease the objective, and for one
    direction increases it by at least |sum_i (p_i - p_i') x_i|^2 / (2 |X'p|), so that no signs come twice. (The printed
    algorithm stops where it should go on: its step 4a reads "does not change".)
    """
    width = NOISE * EPS * np.sqrt(X.shape[1]) * _norms(X)[:, None]
    nonzero = width > 0
    P = np.where(X @ W < 0, -1.0, 1.0)
    history = []
    converged = False
    reference = -np.inf
    for _ in range(max_iter):
        W = _orthonormal(X.T @ P)
        Y = X @ W
        history.append(np.abs(Y).sum())
        ties = nonzero & (np.abs(Y) <= width)
        if notify("steps", objective=float(history[-1])):
            break
        signs = np.where(ties | ~nonzero, P, np.where(Y < 0, -1.0, 1.0))
        if (signs != P).any():
            P = signs
            continue
        # a perturbation that gained nothing is not repeated, or the iteration would not end
        converged = not ties.any() or history[-1] <= reference * (1 + NOISE * EPS)
        if converged:
            break
        reference = history[-1]
        P = _perturbed(X, P, ties, rng)
    down = np.argsort(-np.abs(Y).sum(axis=0), kind="stable")
    residuals = _residuals(X, W, P)[down]
    return _Run(W[:, down], np.array(history), residuals, int(ties.sum()), converged)


def _perturbed(X, P, ties, rng):
    """Return the signs with those at zero projections replaced by the signs along a random direction."""
    step = X @ rng.standard_normal((X.shape[1], P.shape[1]))
    signs = np.where(step < 0, -1.0, 1.0)
    # where the direction changes no sign, its opposite changes all
    signs = np.where(((signs == P) | ~ties).all(axis=0), -signs, signs)
    return np.where(ties, signs, P)


def _prepared(X, size, n_init, max_iter, random_state):
    """Return rows with entries up to 1 in float64, the length below which a row is zero, and the generator.

    A projection of at most NOISE eps |x_i| has no sign, and a row of at most NOISE eps sum |x_j| is zero.
    """
    check_integer("n_init", n_init, most=10**6)
    check_integer("max_iter", max_iter)
    X = as_float64(X)
    largest = np.abs(X).max(initial=0.0)
    if largest <= NOISE * EPS * size:
        raise ValueError(
            f"no dispersion: all {len(X)} centred rows are 0; the points must not be constant."
        )
    rows = X / largest
    floor = NOISE * EPS * (_norms(rows).sum() + size / largest * np.sqrt(rows.shape[1]))
    return rows, floor, generator(random_state)


def _deflated(X, W):
    return X - (X @ W) @ W.T


def _starts(X, first, n_init, rng):
    """Yield the first start, then random combinations of rows."""
    yield _orthonormal(first.T)
    for _ in range(n_init - 1):
        yield _orthonormal(X.T @ rng.standard_normal((len(X), len(first))))


def _result(X, runs):
    """Return the directions, largest entries positive; warn when a run stopped at its last step."""
    W = np.hstack([run.W for run in runs])
    W *= np.where(W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])] < 0, -1.0, 1.0)
    X = as_float64(X)
    largest = np.abs(X).max()
    residuals = np.concatenate([run.residuals for run in runs])
    converged = all(run.converged for run in runs)
    if not converged:
        warn(
            f"PCA-L1 has no fixed point yet, residual {residuals.max():.1e}; raise max_iter.",
            ConvergenceWarning,
        )
    return Directions(
        W,
        np.abs(X @ W).sum(axis=0),
        residuals,
        sum(run.ties for run in runs),
        [run.history * largest for run in runs],
        converged,
    )


def _residuals(X, W, P):
    """Return the length of the change of each column of W by one more step; P gives the signs of zero projections."""
    signs = np.sign(X @ W)
    return np.linalg.norm(W - _orthonormal(X.T @ np.where(signs == 0, P, signs)), axis=0)


def _orthonormal(M):
    """Return the matrix with orthonormal columns nearest to M, U V' of its singular value decomposition."""
    if M.shape[1] == 1:
        return M / np.linalg.norm(M)
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def _norms(X):
    return np.sqrt(sum_squares(X))
