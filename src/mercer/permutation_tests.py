"""Permutation tests with kernels: do two samples have one distribution, are two variables independent?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from mercer._common import Array, Memory, PointsLike, Seed, as_float64, check_integer, shown
from mercer._compute.compile import compiled
from mercer._compute.devices import anywhere
from mercer._compute.memory import parse_memory
from mercer._compute.objects import holds_rows
from mercer._compute.points import Points, count_points, join_points, take_points
from mercer._compute.readable import refuse_container
from mercer._compute.threads import check_cancelled, run_tasks
from mercer.gram import Gram
from mercer.kernels import bandwidth
from mercer.kernels.base import matched
from mercer.kernels.pairwise import check_pairwise
from mercer.kernels.radial import Gaussian, Matern
from mercer.kernels.shorthand import KernelLike, as_kernel, takes_kernels
from mercer.linalg.generator import generator
from mercer.linalg.operators import centred, epsilon

Kernels = KernelLike | Sequence[KernelLike]

# Largest number of permutations: more resolve p-values that no data support.
_MOST = 1_000_000
# Weights of permutations that are in memory at once.
_WEIGHTS = 1 << 24
# Values this many roundings apart are equal.
_ROUNDINGS = 64
# Lengths of Gaussian and of Laplace kernels for "aggregate", in units of the median distance of points.
_LENGTHS = tuple(2.0**k for k in range(-5, 3))
# Those of each variable of a pair, whose kernels are all combined.
_FEW = 2.0**-4, 2.0**-2, 1.0
# Fewest points of a sample, or pairs, in a block.
_LEAST = 8


@dataclass(frozen=True)
class KernelTest:
    """Result of a test: ``statistic, pvalue = result`` unpacks it, as the results of SciPy's tests.

    Attributes
    ----------
    statistic : float
        Statistic of the given data with the kernel that decided.
    pvalue : float
        Share of the permutations or bootstrap samples, the given data included, whose statistic is at least
        ``statistic``, or, of several kernels, whose smallest p-value is at most that of the given data.
    kernel : Kernel, or (Kernel, Kernel)
        The resolved kernel, or pair of kernels of the two variables, with the smallest p-value.
    """

    statistic: float
    pvalue: float
    kernel: Any

    def __getitem__(self, place: int) -> float:
        """Return the statistic or the p-value."""
        return (self.statistic, self.pvalue)[place]


@takes_kernels
@anywhere
def mmd_test(
    X: PointsLike,
    Z: PointsLike,
    kernel: Kernels = "aggregate",
    *,
    n_permutations: int = 500,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> KernelTest:
    r"""Test whether two samples have one distribution, by the maximum mean discrepancy.

    .. math:: \mathrm{MMD}^2 = \Bigl|\frac1m \sum_i \phi(x_i) - \frac1n \sum_j \phi(z_j)\Bigr|^2 = w'Kw

    over the pooled points, w = 1/m for those of X and -1/n for those of Z. Under the hypothesis of one distribution all
    assignments of the pooled points to the samples are equally likely, so that the level of the test is exact for any
    sample sizes and any kernel.

    Parameters
    ----------
    X : points (m)
    Z : points (n)
    kernel : "aggregate", Kernel, str, callable or list of these
        "aggregate" are Gaussian kernels exp(-|x - z|^2 / l^2) and Laplace kernels exp(-|x - z| / l), the lengths l
        from 1/32 to 4 times the median distance of the pooled points. Bandwidth rules are resolved on these points. The
        test detects every difference of distributions if a kernel is characteristic, as Gaussian, Laplacian and
        Matern are. Several kernels are combined: the smallest of their p-values is compared with those of the other
        assignments, so that the level stays exact and no data are split.
    n_permutations : int
        Number of random assignments, at most 10^6.
    memory : str or int
        Bytes. Where the kernel values of all pairs need more, points are divided at random into blocks whose kernel
        values fit, and the statistic is the mean over the blocks; assignments are within blocks.
    random_state : int, RandomState, Generator or None
        None is 0.

    Returns
    -------
    KernelTest
        With ``.statistic``, the biased discrepancy MMD, not squared, as `mmd` computes it (of blocks the root of the
        mean of MMD^2), ``.pvalue``, and ``.kernel``, the one with the smallest p-value.

    Raises
    ------
    ValueError
        If X and Z differ in their features, or hold one point each.

    Notes
    -----
    (m + n)^2 kernel values and n_permutations (m + n)^2 operations for each kernel, of which "aggregate" has 16, a tile
    at a time: the kernel matrix is not stored. With blocks (m + n) b, for blocks of b points. Statistics that
    differ by rounding count as equal. Blocks make a test of many points possible, and weaker than one of all pairs.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola, *A kernel two-sample test*, JMLR 13 (2012), eq. (5) and section 5.

    Schrab, Kim, Albert, Laurent, Guedj, Gretton, *MMD aggregated two-sample test*, JMLR 24 (2023); here with equal
    weights, and the rank of the smallest p-value in place of a corrected level.

    Zaremba, Gretton, Blaschko, *B-test: a non-parametric, low variance kernel two-sample test*, NIPS 26 (2013).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> result = mc.mmd_test(rng.uniform(size=(300, 1)), rng.uniform(size=(300, 1)) ** 1.5)
    >>> result.pvalue < 0.01, result.kernel
    (True, Gaussian(gamma=...))
    """
    n_permutations, rng = _checked(n_permutations, random_state)
    shape = getattr(Z, "shape", ())
    if holds_rows(X) and len(shape) == 1:
        raise ValueError(
            f"Z must hold points as X does, got shape {tuple(shape)}; for labels y of the rows of X write "
            "mmd_test(X[y == 0], X[y == 1])."
        )
    listed = _listed(kernel, "kernel", X)
    X, Z = matched(listed[0], listed[0].admit(X, "X"), Points(listed[0].admit(Z, "Z")))
    m = len(X)
    n = len(Z)
    if m + n < 3:
        raise ValueError(
            "X and Z have one point each, and no permutation differs from the data; give more points."
        )
    pooled = join_points([X.container, Z.container])
    kernels = _resolved(kernel, listed, pooled, _LENGTHS)
    number = _n_blocks(m + n, 8, memory, min(m, n))
    values = np.zeros((len(kernels), 1 + n_permutations))
    rounding = np.zeros(len(kernels))
    for first, second in zip(_parts(m, number, rng), _parts(n, number, rng), strict=True):
        part = pooled if number == 1 else take_points(pooled, np.concatenate([first, m + second]))
        weights = np.repeat([1 / len(first), -1 / len(second)], [len(first), len(second)])
        grams = [Gram(each, part) for each in kernels]
        for drawn in gen_batches(1 + n_permutations, max(1, _WEIGHTS // len(weights))):
            # the first column of all is the given assignment
            W = np.stack(
                [
                    rng.permutation(weights) if b else weights
                    for b in range(drawn.start, drawn.stop)
                ],
                axis=1,
            )
            for k, gram in enumerate(grams):
                values[k, drawn] += _squares(gram, W) / number
        sizes = [np.abs(as_float64(gram.diagonal())).max() * epsilon(gram) for gram in grams]
        rounding = np.maximum(rounding, sizes)
    return _result(values, rounding, kernels, root=True)


@takes_kernels
@anywhere
def hsic_test(
    X: PointsLike,
    Y: PointsLike,
    kernel_x: Kernels = "aggregate",
    kernel_y: Kernels = "aggregate",
    *,
    n_permutations: int = 500,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> KernelTest:
    r"""Test whether two paired variables are independent, by the Hilbert-Schmidt independence criterion.

    .. math:: \mathrm{HSIC} = \frac1{n^2} \operatorname{tr}(K H L H), \qquad H = I - \tfrac1n 11'

    the squared norm of the cross-covariance of the features of X and Y, with the matrices K of X and L of Y. Under the
    hypothesis of independence all pairings of the points are equally likely, so that the level of the test is exact.

    Parameters
    ----------
    X, Y : points (n)
        Pairs (x_i, y_i), of any two kinds: rows and strings, for example. Give one column as ``y.reshape(-1, 1)``.
    kernel_x, kernel_y : "aggregate", Kernel, str, callable or list of these
        As for `mmd_test`, resolved on X and on Y; "aggregate" has lengths of 1/16, 1/4 and 1 times the median distance.
        All pairs of a kernel of X and one of Y are combined. The test detects every dependence if both are
        characteristic, as Gaussian, Laplacian and Matern are.
    n_permutations : int
        Number of random pairings, at most 10^6.
    memory : str or int
        Bytes for the matrices of all kernels. Where they need more, pairs are divided at random into blocks whose
        matrices fit, and the statistic is the mean over the blocks; pairings are within blocks.
    random_state : int, RandomState, Generator or None
        None is 0.

    Returns
    -------
    KernelTest
        With ``.statistic``, the biased criterion, ``.pvalue``, and ``.kernel``, the pair with the smallest p-value.

    Raises
    ------
    ValueError
        If X and Y have different numbers of points, or fewer than 3.

    Notes
    -----
    n^2 kernel values for each kernel, and n_permutations n^2 / 2 operations for each pair of kernels, of which
    "aggregate" has 36, in compiled code, permutations on several threads. Statistics that differ by rounding count as
    equal.

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Schölkopf, Smola, *A kernel statistical test of independence*, NIPS 20
    (2008), eq. (4).

    Albert, Laurent, Marrel, Meynaoui, *Adaptive test of independence based on HSIC measures*, Annals of Statistics 50
    (2022).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> result = mc.hsic_test(X, X**2 + 0.3 * rng.normal(size=(100, 1)))
    >>> round(result.pvalue, 3), len(result.kernel)
    (0.002, 2)
    """
    n_permutations, rng = _checked(n_permutations, random_state)
    refuse_container(X, "X")
    refuse_container(Y, "Y")
    n = count_points(X)
    p = count_points(Y)
    if n != p and min(n, p):
        raise ValueError(
            f"X and Y must hold pairs of points, but X has {n} points and Y has {p}; give the points of equal rows."
        )
    kernels_x, X = _of_variable(X, kernel_x, "X", "kernel_x")
    kernels_y, Y = _of_variable(Y, kernel_y, "Y", "kernel_y")
    if n < 3:
        raise ValueError(
            f"X has {n} points, and a test of independence needs at least 3 pairs; give more points."
        )
    number = _n_blocks(n, 8 * (len(kernels_x) + len(kernels_y)), memory, n)
    values = np.zeros((1 + n_permutations, len(kernels_x), len(kernels_y)))
    rounding = np.zeros(values.shape[1:])
    for part in _parts(n, number, rng):
        K, error_x = _centred(kernels_x, X, part)
        L, error_y = _centred(kernels_y, Y, part)
        values += _of_pairings(K, L, n_permutations, rng) / number
        size = np.multiply.outer(
            *(np.abs(np.einsum("iik->ik", each)).max(axis=0) for each in (K, L))
        )
        rounding = np.maximum(rounding, size * max(error_x, error_y))
    return _result(
        values.reshape(len(values), -1).T, rounding.ravel(), list(product(kernels_x, kernels_y))
    )


def _checked(n_permutations, random_state):
    """Return the number of permutations and a generator."""
    return check_integer("n_permutations", n_permutations, most=_MOST), generator(random_state)


def _listed(given, name, X):
    """Return kernels that are not resolved: those of a list, one, or a Gaussian that stands for "aggregate"."""
    if isinstance(given, (list, tuple)):
        if not given:
            raise ValueError(f"{name} = {shown(given)} must hold at least one kernel.")
        return [as_kernel(each, f"{name}[{k}]") for k, each in enumerate(given)]
    if isinstance(given, str) and given == "aggregate":
        if not holds_rows(X):
            raise ValueError(
                f"{name} = 'aggregate' needs rows of numbers, such as numpy.reshape(column, (-1, 1)); give a kernel on "
                "these points, or several."
            )
        return [Gaussian()]
    return [as_kernel(given, name)]


def _resolved(given, listed, points, lengths):
    """Return resolved kernels; "aggregate" are Gaussian and Laplace kernels of lengths in units of the median."""
    if not (isinstance(given, str) and given == "aggregate"):
        found = [each.resolve(points) for each in listed]
        for each in found:
            check_pairwise(each, points)
        return found
    middle = bandwidth.length("median", points)
    gaussian = [Gaussian((middle * each) ** -2) for each in lengths]
    return gaussian + [Matern(middle * each, 0.5) for each in lengths]


def _of_variable(X, given, name, kernel_name):
    """Return the resolved kernels of a variable, and its points."""
    listed = _listed(given, kernel_name, X)
    if listed[0].tags.points == "rows" and len(getattr(X, "shape", (0, 0))) == 1:
        raise ValueError(
            f"{name} must have two dimensions, got shape {X.shape}; give np.reshape({name}, (-1, 1))."
        )
    points = listed[0].admit(X, name)
    return _resolved(given, listed, points, _FEW), points


def _centred(kernels, points, part):
    """Return the centred matrices of some points (b, b, number of kernels), and the rounding error of a value."""
    grams = [Gram(each, take_points(points, part)) for each in kernels]
    return np.stack([centred(gram.dense()) for gram in grams], axis=2), max(map(epsilon, grams))


def _of_pairings(K, L, n_permutations, rng):
    """Return the criterion of each pair of matrices for the given and for random pairings (1 + n_permutations, ...)."""
    n = len(K)
    orders = np.stack([np.arange(n), *(rng.permutation(n) for _ in range(n_permutations))])
    found = np.empty((len(orders), K.shape[2], L.shape[2]))

    def compare(b):
        check_cancelled()
        _permuted_products(K, L, orders[b], found[b])

    run_tasks(compare, len(orders))
    return found / n**2


def _n_blocks(n, per_pair, memory, most):
    """Return into how many blocks n points are divided, so that kernel values within all blocks fit into memory."""
    return int(np.clip(-(-(n * n * per_pair) // parse_memory(memory)), 1, max(1, most // _LEAST)))


def _parts(n, number, rng):
    """Return points in blocks of about equal size, in random order if they are several."""
    return np.array_split(rng.permutation(n) if number > 1 else np.arange(n), number)


def _squares(gram, W):
    """Return w'Kw for each column of W, summed in float64."""
    return np.sum(W * as_float64(gram @ W.astype(gram.dtype)), axis=0)


def _result(values: Array, rounding: Array, kernels: list[Any], root: bool = False) -> KernelTest:
    """Return the result of statistics (number of kernels, 1 + n_permutations), the given data first.

    The rank of a value is the number of assignments with no smaller one. The smallest rank over the kernels is a
    statistic that every assignment has, so that its own rank gives the p-value.
    """
    n = values.shape[1]
    ranks = np.empty(values.shape, int)
    for own, found, error in zip(values, ranks, rounding, strict=True):
        order = np.argsort(own)
        # values that rounding may have moved are equal
        group = np.concatenate([[0], np.cumsum(np.diff(own[order]) > _ROUNDINGS * error)])
        found[order] = n - np.searchsorted(group, group)
    # smallest ranks are whole numbers, of which many are equal: the sum of all ranks decides between them
    extreme = ranks.min(axis=0) * ranks.size * n + ranks.sum(axis=0)
    which = int(ranks[:, 0].argmin())
    statistic = max(float(values[which, 0]), 0.0)
    pvalue = int(np.count_nonzero(extreme <= extreme[0])) / n
    return KernelTest(statistic**0.5 if root else statistic, pvalue, kernels[which])


@compiled
def _permuted_products(K, L, order, found):
    """Write sum_ij K[i, j, p] L[order[i], order[j], q] into ``found`` (p, q) for symmetric matrices."""
    found[:] = 0.0
    for i in range(order.size):
        for j in range(i + 1):
            row = L[order[i], order[j]]
            twice = 2.0 if j < i else 1.0
            for p in range(K.shape[2]):
                value = twice * K[i, j, p]
                for q in range(row.size):
                    found[p, q] += value * row[q]
