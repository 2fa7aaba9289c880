"""Permutation tests with kernels: do two samples have one distribution, are two variables independent?"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from mercer._common import PointsLike, Seed, as_float64, check_integer
from mercer._compute.compile import compiled
from mercer._compute.devices import anywhere
from mercer._compute.memory import require_memory
from mercer._compute.points import Points, join_points
from mercer._compute.threads import check_cancelled, run_tasks
from mercer.gram import Gram
from mercer.kernels.base import matched
from mercer.kernels.pairwise import check_pairwise
from mercer.kernels.shorthand import KernelLike, as_kernel, takes_kernels
from mercer.linalg.generator import generator
from mercer.linalg.operators import centred, epsilon

# Largest number of permutations: more resolve p-values that no data support.
_MOST = 1_000_000
# Weights of permutations that are in memory at once.
_WEIGHTS = 1 << 24
# Permuted values this many roundings below the observed one are equal to it.
_ROUNDINGS = 64
# Bytes for the two centred matrices of `hsic_test`.
_MEMORY = "2GB"


@dataclass(frozen=True)
class PermutationTest:
    """Result of a permutation test.

    Attributes
    ----------
    statistic : float
        Statistic of the given data.
    pvalue : float
        (1 + number of permutations whose statistic is at least ``statistic``) / (1 + number of permutations): at least
        1 / (1 + n_permutations).
    """

    statistic: float
    pvalue: float


@anywhere
@takes_kernels
def mmd_test(
    X: PointsLike, Z: PointsLike, kernel: KernelLike = "rbf", *, n_permutations: int = 500, random_state: Seed = None
) -> PermutationTest:
    r"""Test whether two samples have one distribution, by the maximum mean discrepancy.

    .. math:: \mathrm{MMD}^2 = \Bigl|\frac1m \sum_i \phi(x_i) - \frac1n \sum_j \phi(z_j)\Bigr|^2 = w'Kw

    over the pooled points, w = 1/m for those of X and -1/n for those of Z. Under the hypothesis of one distribution all
    assignments of the pooled points to the samples are equally likely, so that the level of the test is exact for any
    sample sizes and any kernel.

    Parameters
    ----------
    X : points (m)
    Z : points (n)
    kernel : Kernel, str or callable
        Bandwidth rules are resolved on the pooled points. The test detects every difference of distributions if the
        kernel is characteristic, as Gaussian, Laplacian and Matern are.
    n_permutations : int
        Number of random assignments, at most 10^6.
    random_state : int, RandomState, Generator or None
        None is 0.

    Returns
    -------
    PermutationTest
        With ``.statistic``, the biased discrepancy MMD, not squared, as `mmd` computes it, and ``.pvalue``.

    Raises
    ------
    ValueError
        If X and Z differ in their features, or hold one point each.

    Notes
    -----
    (m + n)^2 kernel values and n_permutations (m + n)^2 operations, a tile at a time: the kernel matrix is not stored.
    Statistics that differ by rounding count as equal.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola, *A kernel two-sample test*, JMLR 13 (2012), eq. (5) and section 5.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> result = mc.mmd_test(rng.normal(size=(60, 2)), rng.normal(0.8, 1, size=(50, 2)))
    >>> bool(result.pvalue < 0.01)
    True
    """
    rng = _checked(n_permutations, random_state)
    kernel = as_kernel(kernel)
    X, Z = matched(kernel, kernel.admit(X, "X"), Points(kernel.admit(Z, "Z")))
    m = len(X)
    n = len(Z)
    if m + n < 3:
        raise ValueError("X and Z have one point each, and no permutation differs from the data; give more points.")
    pooled = join_points([X.container, Z.container])
    gram = _gram(pooled, kernel, "X")
    weights = np.repeat([1 / m, -1 / n], [m, n])
    observed = _squares(gram, weights[:, None])[0]
    step = max(1, _WEIGHTS // (m + n))
    permuted = np.concatenate(
        [
            _squares(gram, np.stack([rng.permutation(weights) for _ in range(part.start, part.stop)], axis=1))
            for part in gen_batches(n_permutations, step)
        ]
    )
    size = np.abs(as_float64(gram.diagonal())).max()
    return _result(observed, permuted, size * epsilon(gram), np.sqrt(max(observed, 0.0)))


@anywhere
@takes_kernels
def hsic_test(
    X: PointsLike,
    Y: PointsLike,
    kernel_x: KernelLike = "rbf",
    kernel_y: KernelLike = "rbf",
    *,
    n_permutations: int = 500,
    random_state: Seed = None,
) -> PermutationTest:
    r"""Test whether two paired variables are independent, by the Hilbert-Schmidt independence criterion.

    .. math:: \mathrm{HSIC} = \frac1{n^2} \operatorname{tr}(K H L H), \qquad H = I - \tfrac1n 11'

    the squared norm of the cross-covariance of the features of X and Y, with the matrices K of X and L of Y. Under the
    hypothesis of independence all pairings of the points are equally likely, so that the level of the test is exact.

    Parameters
    ----------
    X, Y : points (n)
        Pairs (x_i, y_i), of any two kinds: rows and strings, for example. Give one column as ``y.reshape(-1, 1)``.
    kernel_x, kernel_y : Kernel, str or callable
        Bandwidth rules are resolved on X and on Y. The test detects every dependence if both are characteristic, as
        Gaussian, Laplacian and Matern are.
    n_permutations : int
        Number of random pairings, at most 10^6.
    random_state : int, RandomState, Generator or None
        None is 0.

    Returns
    -------
    PermutationTest
        With ``.statistic``, the biased criterion, and ``.pvalue``.

    Raises
    ------
    ValueError
        If X and Y have different numbers of points, or fewer than 3.
    MemoryError
        If the two matrices, 16 n^2 bytes, need more than 2 GB: beyond about 11 000 points.

    Notes
    -----
    2 n^2 kernel values and n_permutations n^2 / 2 operations in compiled code, permutations on several threads.
    Statistics that differ by rounding count as equal.

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Schölkopf, Smola, *A kernel statistical test of independence*, NIPS 20
    (2008), eq. (4).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> result = mc.hsic_test(X, X**2 + 0.3 * rng.normal(size=(100, 1)))
    >>> bool(result.pvalue < 0.01)
    True
    """
    rng = _checked(n_permutations, random_state)
    grams = [_gram(X, as_kernel(kernel_x, "kernel_x"), "X"), _gram(Y, as_kernel(kernel_y, "kernel_y"), "Y")]
    n, p = (len(gram.diagonal()) for gram in grams)
    if n != p:
        raise ValueError(f"X and Y must hold pairs of points, but X has {n} points and Y has {p}.")
    if n < 3:
        raise ValueError(f"X has {n} points, and a test of independence needs at least 3 pairs; give more points.")
    require_memory(16 * n * n, _MEMORY, f"a pair of {n} x {n} kernel matrices", "fewer pairs, drawn at random")
    K, L = (centred(gram.dense()) for gram in grams)
    orders = np.stack([np.arange(n), *(rng.permutation(n) for _ in range(n_permutations))])
    found = np.empty(len(orders))

    def compare(b):
        check_cancelled()
        found[b] = _permuted_product(K, L, orders[b]) / n**2

    run_tasks(compare, len(orders))
    size = np.abs(np.diag(K)).max() * np.abs(np.diag(L)).max()
    return _result(found[0], found[1:], size * max(map(epsilon, grams)), max(found[0], 0.0))


def _checked(n_permutations, random_state):
    check_integer("n_permutations", n_permutations, most=_MOST)
    return generator(random_state)


def _gram(X, kernel, name):
    if kernel.tags.points == "rows" and len(getattr(X, "shape", (0, 0))) == 1:
        raise ValueError(f"{name} must have two dimensions, got shape {X.shape}; give np.reshape({name}, (-1, 1)).")
    X = kernel.admit(X, name)
    kernel = kernel.resolve(X)
    check_pairwise(kernel, X)
    return Gram(kernel, X)


def _squares(gram, W):
    """Return w'Kw for each column of W, summed in float64."""
    return np.sum(W * as_float64(gram @ W.astype(gram.dtype)), axis=0)


def _result(observed, permuted, rounding, statistic):
    at_least = int(np.count_nonzero(permuted >= observed - _ROUNDINGS * rounding))
    return PermutationTest(float(statistic), (1 + at_least) / (1 + len(permuted)))


@compiled
def _permuted_product(K, L, order):
    """Return sum_ij K[i, j] L[order[i], order[j]] for symmetric matrices."""
    total = 0.0
    for i in range(order.size):
        row = K[i]
        other = L[order[i]]
        part = 0.0
        for j in range(i):
            part += row[j] * other[order[j]]
        total += 2.0 * part + row[i] * other[order[i]]
    return total
