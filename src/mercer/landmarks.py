"""Selection of landmarks: uniform, cluster centres, pivots of the kernel matrix, and ridge leverage scores.

Each rule takes a number m from 1 to the number of points, as `mercer.maps.select_landmarks` makes sure of.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import Array, PointsLike, Seed, as_float64
from mercer._compute.costs import BLOCK, ROWS
from mercer._compute.memory import blocks
from mercer._compute.points import as_rows, count_points
from mercer._compute.routes import Route, Size, Work, beyond_tiles
from mercer._compute.threads import serial_blas, serial_openmp
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.linalg import cholesky
from mercer.linalg.generator import generator, without_generator
from mercer.linalg.operators import NOISE, epsilon

# Operations for n m^2 of the linear system over m landmarks.
SYSTEM = 3.0
# Remedies that take less memory.
FEWER = "fewer landmarks, rule='uniform', or a larger memory="


def needs(rule: str, n: int, m: int) -> tuple[int, Work]:
    """Return the bytes and the work of the selection of m of n points by a rule, none where landmarks are given."""
    match rule:
        case "randomly_pivoted":
            # a factor, and values of a tenth of its columns at some points for each of a few threads
            return 8 * (n * m + min(n * m // 10, 4 * cholesky.VALUES)), Work(
                float(n * m), 2.0 * n * m * m
            )
        case "greedy" | "pivoted":
            # products with one vector wait for memory
            return 8 * n * m, Work(float(n * m), 13.0 * n * m * m)
        case "leverage":
            return 16 * min(n * m, BLOCK), Work(2.0 * n * m, 4.0 * n * m * m)
        case "k_means":
            return 16 * n, Work(20.0 * n * m)
        case _:
            return 0, Work()


def route(
    run: Callable[..., Any],
    size: Size,
    m: int,
    rule: str,
    matrices: float,
    work: Work,
    tiles: int = 0,
) -> Route:
    """Return the route of a model over m landmarks that a rule selects, beside which there is some work.

    So many ``matrices`` of order m are in memory, and ``tiles`` arrays of the coordinates of some points.
    """
    held, selection = needs(rule, size.n, m)
    own = int(8 * matrices * m * m)
    n_bytes = max(own + 8 * m * tiles * min(size.n, ROWS), held)
    reason = f"{m} landmarks span the solution"
    limited = max(own, beyond_tiles(n_bytes))
    return Route("landmarks", reason, n_bytes, selection + work, run, limited, (ROWS, m), FEWER)


def sums(n: int, m: int, flops: float) -> Work:
    """Return the work of sums over n points of coordinates on m landmarks, and of two eigenproblems of order m.

    ``flops`` are operations for n m^2.
    """
    return Work(float(n) * m, flops * n * m * m, 2.0 * m**3)


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
    oversampling = max(1.0, float(np.log(m)))
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
    size = min(m, int(np.count_nonzero(scores)))
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
    tail = float(values[:-k].sum())
    # a score is a share of a mean difference above rounding
    least = NOISE * len(rows) * floor
    ridge = tail / k if tail > least else least
    scale = V * (root / np.sqrt(values.clip(0) + ridge))
    for part in blocks(len(rows), len(sample)):
        rest[part] -= np.sum((as_float64(gram[np.ix_(rows[part], sample)]) @ scale) ** 2, axis=1)
    # differences within rounding are not scores
    return np.where(rest > floor, np.minimum(rest / ridge, 1.0), 0.0)
