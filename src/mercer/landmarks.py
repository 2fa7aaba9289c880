"""Landmarks: points that are given, or a number that a rule selects: pivots, leverage scores, means, a uniform draw."""

import math
from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import (
    AnyFunction,
    Array,
    PointsLike,
    Seed,
    as_float64,
    check_choice,
    check_integer,
    shown,
)
from mercer._compute.costs import BLOCK, ROWS, TASK
from mercer._compute.memory import Route, Size, Work, beyond_tiles, blocks
from mercer._compute.points import as_rows, count_points, take_points
from mercer._compute.readable import refuse_container
from mercer._compute.threads import serial_blas, serial_openmp
from mercer.gram import Gram
from mercer.kernels.base import Kernel, check_pairwise, refuse_conditional, require_kernel
from mercer.linalg import cholesky
from mercer.linalg.generator import check_seed, generator, without_generator
from mercer.linalg.operators import NOISE, epsilon

RULES = ("randomly_pivoted", "greedy", "leverage", "k_means", "uniform")
# The name of "greedy" in earlier model files.
_EARLIER = "pivoted"
# Operations for n m^2 of the sums over n points, of a scatter or a linear system over m landmarks: 1 to 3.
_SUMS = 3.0
# Matrices of 8 to 32 MB that the C library keeps beside those in use.
_KEPT = 3.35
# Remedies that take less memory.
FEWER = "fewer landmarks, rule='uniform', or a larger memory="


def select_landmarks(
    kernel: Kernel,
    X: PointsLike,
    landmarks: int | PointsLike,
    rule: str = "randomly_pivoted",
    random_state: Seed = None,
) -> Any:
    """Return landmarks, a few points whose features span most of what the features of all points span.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : points (n)
    landmarks : int or points
        A number m, of which ``rule`` selects; or the landmarks themselves (row indices for a precomputed kernel).
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects m points, not used for given points: pivots of a Cholesky factorisation of the kernel matrix,
        drawn by their distance to the span of those before or the farthest one; a draw by ridge leverage scores; the
        centres of k-means; a uniform draw. "pivoted" is an earlier name of "greedy".
    random_state : int, RandomState, Generator or None

    Returns
    -------
    points (at most m)
        In the floating type of X. All points where m exceeds n; fewer than m where pivots reach the numerical rank.
        Given points are copied.

    Raises
    ------
    ValueError
        For an unknown rule, m below 1, given points with another number of features than X, or points whose features
        are all 0.
    TypeError
        For "k_means" on points that are not rows of numbers.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import select_landmarks
    >>> select_landmarks(mc.Linear(), np.array([[1.0], [3.0]]), 1, "greedy")
    array([[3.]])
    >>> select_landmarks(mc.Linear(), np.ones((3, 2)), [[1.0, 2.0]])
    array([[1., 2.]])
    """
    check_seed(random_state)
    require_kernel(kernel)
    X = kernel.admit(X, "X")
    if kernel.tags.points == "indices" and np.ndim(X) == 2:
        raise ValueError(
            f"X has shape {X.shape}, rows of kernel values, which have none between them; give the row numbers of the "
            "points of the matrix, such as np.arange(n)."
        )
    check_pairwise(kernel, X)
    return selected(kernel, X, landmarks, rule, random_state)


def selected(
    kernel: Kernel, X: PointsLike, landmarks: int | PointsLike, rule: str, random_state: Seed
) -> Any:
    """Return landmarks as `select_landmarks` does, of admitted points whose kernel was tried."""
    refuse_conditional(
        kernel, "landmarks", "give landmarks=None, or a kernel such as mercer.Matern"
    )
    if not np.isscalar(landmarks):
        return given_landmarks(kernel, X, landmarks)
    m = min(check_integer("landmarks", landmarks), count_points(X))
    check_rule("rule", rule)
    match rule:
        case "randomly_pivoted":
            rows = randomly_pivoted(kernel, X, m, random_state)
        case "greedy" | "pivoted":
            rows = greedy(kernel, X, m)
        case "leverage":
            rows = leverage(kernel, X, m, random_state)
        case "k_means" if _are_rows(X):
            return k_means(X, m, random_state)
        case "k_means":
            raise TypeError(
                "rule = 'k_means' needs rows of numbers, which the points of "
                f"{type(kernel).__name__} are not; use 'uniform' or 'greedy'."
            )
        case _:  # "uniform"
            rows = uniform(X, m, random_state)
    if not len(rows):
        raise ValueError(
            f"no landmarks: k(x, x) of all {count_points(X)} points is 0 up to rounding under the kernel "
            f"{shown(kernel)}; give other points or another kernel."
        )
    return take_points(X, rows)


def given_landmarks(kernel, X, landmarks):
    """Return a copy of landmarks in the type of the points X, or raise unless they are points of the same kind."""
    refuse_container(landmarks, "landmarks")
    if kernel.tags.points == "indices":
        rows = np.array(landmarks)
        if rows.ndim != 1:
            raise ValueError(
                f"landmarks must be row indices, of one dimension, got shape {rows.shape}."
            )
        return kernel.admit(rows, "landmarks")
    if not _are_rows(X):
        return kernel.admit(landmarks, "landmarks")
    points = as_rows(landmarks, "landmarks", X.dtype)
    if points.shape[1] != X.shape[1]:
        raise ValueError(
            f"landmarks have {points.shape[1]} features, but X has {X.shape[1]}; they must be equal."
        )
    # a model never keeps the arrays of its caller
    return points.copy()


def check_rule(name: str, rule: str) -> None:
    """Raise unless a parameter is the name of a rule."""
    if not (isinstance(rule, str) and rule == _EARLIER):
        check_choice(name, rule, RULES)


def _are_rows(X):
    return len(getattr(X, "shape", ())) == 2


# --- rules, for a number m from 1 to the number of points ------------------------------------------------------------


def uniform(X: PointsLike, m: int, random_state: Seed = None) -> Array:
    """Return m different row numbers (m,), drawn uniformly without replacement, sorted."""
    return np.sort(generator(random_state).choice(count_points(X), size=m, replace=False))


def k_means(X: Array, m: int, random_state: Seed = None) -> Array:
    """Return the m centres of k-means in input space (m, d): new points, for smooth kernels of Euclidean distance.

    One start of scikit-learn's Lloyd iteration, O(n m d) per step, in one thread: its threads add their sums as they
    end, so that the rounding of the centres would depend on them. Zhang, Tsang, Kwok, *Improved Nystroem low-rank
    approximation and error analysis*, ICML (2008).
    """
    from sklearn.cluster import KMeans

    X = as_rows(X)
    model = KMeans(m, n_init=1, random_state=without_generator(random_state))
    with serial_blas, serial_openmp():
        model.fit(X)
    return model.cluster_centers_.astype(X.dtype, copy=False)


def greedy(kernel: Kernel, X: PointsLike, m: int) -> Array:
    """Return the row numbers of pivoted Cholesky: each point is the farthest from the span of those before it.

    At most m, in the order selected; fewer at a smaller numerical rank. n m kernel values and O(n m^2) operations.
    Fine, Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).
    """
    return cholesky.pivoted(Gram(kernel, X), m).pivots


def randomly_pivoted(kernel: Kernel, X: PointsLike, m: int, random_state: Seed = None) -> Array:
    """Return the row numbers of randomly pivoted Cholesky, drawn by squared distance to the span of those before.

    At most m, as for ``greedy``. Chen, Epperly, Tropp, Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 78
    (2025).
    """
    return cholesky.randomly_pivoted(Gram(kernel, X), m, random_state).pivots


def leverage(kernel: Kernel, X: PointsLike, m: int, random_state: Seed = None) -> Array:
    r"""Return m row numbers drawn by ridge leverage scores, sorted; fewer where fewer rows have a positive score.

    The scores l_i = (K (K + ridge I)^-1)_ii say how much a point adds to the others. They are estimated from a sample
    of half of the points, whose scores are estimated from a sample of half of these, and so on; each ridge is the mean
    over k = m / (4 log m) of the eigenvalues beyond the k leading ones. About 2 n m kernel values, O(n m^2) operations.

    References
    ----------
    Musco, Musco, *Recursive sampling for the Nystroem method*, NIPS 30 (2017), algorithm 3.
    Rudi, Calandriello, Carratino, Rosasco, *On fast leverage score sampling and optimal learning*, NIPS 31 (2018).
    """
    n = count_points(X)
    rng = generator(random_state)
    gram = Gram(kernel, X)
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] > m:
        sizes.append(-(-sizes[-1] // 2))
    oversampling = max(1.0, np.log(m))
    k = math.ceil(m / (4 * oversampling))
    # the smallest part is its own sample
    sample = order[: sizes.pop()]
    weights = np.ones(len(sample))
    while len(sizes) > 1:
        rows = order[: sizes.pop()]
        # one point more keeps weights finite where all scores are 0
        likely = np.clip(
            oversampling * ridge_leverage(gram, rows, sample, weights, k), 1 / len(rows), 1.0
        )
        kept = rng.uniform(size=len(rows)) < likely
        kept[np.argmax(likely)] = True
        sample = rows[kept]
        weights = 1 / likely[kept]
    if not sizes:
        return np.sort(sample)
    scores = ridge_leverage(gram, np.arange(n), sample, weights, k)
    if not scores.any():
        return order[:0]
    size = min(m, np.count_nonzero(scores))
    return np.sort(rng.choice(n, size=size, replace=False, p=scores / scores.sum()))


def ridge_leverage(gram: Gram, rows: Array, sample: Array, weights: Array, k: int) -> Array:
    """Return the leverage scores of some rows, estimated from a weighted sample: between 0 and 1.

    (k_ii - k_i' (K_ss + ridge diag(1 / w))^-1 k_i) / ridge, which is (K (K + ridge I)^-1)_ii where all points are the
    sample. The ridge is the sum of the eigenvalues of the weighted K_ss beyond the k leading ones, over k. A sum that
    makes the mean difference a rounding error, as at a rank of k or below, gives way to the least one that does not.
    """
    rest = as_float64(gram.diagonal())[rows]
    largest = float(rest.max())
    if largest <= 0:
        return np.zeros(len(rows))
    root = np.sqrt(weights)[:, None]
    values, V = scipy.linalg.eigh(root * as_float64(gram[np.ix_(sample, sample)]) * root.T)
    floor = len(rows) * epsilon(gram) * largest
    tail = values[:-k].sum()
    # a score is a share of a mean difference above rounding
    least = NOISE * len(rows) * floor
    ridge = tail / k if tail > least else least
    scale = V * (root / np.sqrt(values.clip(0) + ridge))
    for part in blocks(len(rows), len(sample)):
        rest[part] -= np.sum((as_float64(gram[np.ix_(rows[part], sample)]) @ scale) ** 2, axis=1)
    # differences within rounding are not scores
    return np.where(rest > floor, np.minimum(rest / ridge, 1.0), 0.0)


# --- routes and costs -----------------------------------------------------------------------------------------------


def needs(rule: str, n: int, m: int) -> tuple[int, Work]:
    """Return the bytes and the work of the selection of m of n points by a rule, none where landmarks are given."""
    match rule:
        case "randomly_pivoted":
            # a factor, and values of a tenth of its columns at some points for each of four threads
            return 8 * n * m + min(8 * n * m // 10, 4 * TASK), Work(n * m, 2.0 * n * m * m)
        case "greedy" | "pivoted":
            # products with one vector wait for memory
            return 8 * n * m, Work(n * m, 13.0 * n * m * m)
        case "leverage":
            return 16 * min(n * m, BLOCK), Work(2.0 * n * m, 4.0 * n * m * m)
        case "k_means":
            return 16 * n, Work(20.0 * n * m)
        case _:
            return 0, Work()


def route(
    run: AnyFunction,
    size: Size,
    m: int,
    rule: str,
    matrices: float,
    work: Work,
    tiles: int = 0,
) -> Route:
    """Return the route of a model over m landmarks that a rule selects, beside which there is some work.

    So many ``matrices`` of order m are in memory, and ``tiles`` arrays of the coordinates of some points or landmarks.
    """
    held, selection = needs(rule, size.n, m)
    if BLOCK // 2 <= m * m < 2 * BLOCK:
        matrices += _KEPT
    own = int(8 * matrices * m * m)
    n_bytes = max(own + 8 * m * tiles * min(max(size.n, m), ROWS), held)
    reason = f"{m} landmarks span the solution"
    limited = max(own, beyond_tiles(n_bytes))
    return Route("landmarks", reason, n_bytes, selection + work, run, limited, instead=FEWER)


def sums(n: int, m: int) -> Work:
    """Return the work of sums over n points of coordinates on m landmarks, and of two eigenproblems of order m."""
    return Work(n * m, _SUMS * n * m * m, 2.0 * m**3)
