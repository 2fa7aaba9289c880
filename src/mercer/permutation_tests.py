"""Tests with kernels: do samples have one distribution, are variables independent, do points have a given density?"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from typing import Any, NoReturn

import numpy as np
import scipy.linalg

from mercer._common import (
    TINY,
    Array,
    Memory,
    PointsLike,
    Seed,
    as_float64,
    check_integer,
    record,
    refuse_large,
    shown,
)
from mercer._compute.array import tiles
from mercer._compute.compile import compiled
from mercer._compute.costs import ROWS
from mercer._compute.devices import anywhere
from mercer._compute.memory import blocks, cut, parse_memory
from mercer._compute.objects import holds_rows
from mercer._compute.points import (
    Points,
    as_dense_rows,
    count_points,
    join_points,
    owned,
    refuse_nonfinite,
    take_points,
)
from mercer._compute.profile import evaluate_profile
from mercer._compute.readable import refuse_container
from mercer._compute.threads import check_cancelled, run_tasks
from mercer._elsewhere import explain_class
from mercer.gram import Gram
from mercer.kernels import bandwidth
from mercer.kernels.base import check_pairwise, matched
from mercer.kernels.radial import Gaussian, Matern, RationalQuadratic
from mercer.kernels.shorthand import KernelLike, as_kernel
from mercer.linalg.generator import generator, sorted_sample
from mercer.linalg.operators import ROUNDINGS, centred, epsilon

Kernels = KernelLike | Sequence[KernelLike]

# Largest number of permutations, and of random signs: more resolve p-values that no data support.
_MOST = 1_000_000
_MOST_SIGNS = 100_000
# Stands for the kernels of "aggregate", which the points decide.
_AGGREGATE = [Gaussian()]
# Lengths of Gaussian and of Laplace kernels for "aggregate", in units of the median distance of points.
_LENGTHS = tuple(2.0**k for k in range(-5, 3))
# Those of each variable of a pair, whose kernels are all combined: every second one between the ends.
_FEW = _LENGTHS[1:-1:2]
# Where kernel values of all pairs of points do not fit: least and largest number of landmarks of a kernel, and numbers
# of groups of points that are assigned together, of both samples and at least of the smaller one.
_LANDMARKS = 16, 256
_GROUPS = 2048, 32
# Coordinates of all kernels of a variable: pairings take the square of their number of operations for each pair.
_COORDINATES = 192


@explain_class
@record
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

    def __lt__(self, other: object) -> NoReturn:
        raise TypeError(
            "a result of a test has no order; compare its pvalue, as in result.pvalue < 0.05."
        )

    __gt__ = __le__ = __ge__ = __lt__


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
        Bytes. Where the kernel values of all pairs need more, the means are projected on the span of up to 256 random
        landmarks, and random groups of points of one sample are assigned together.
    random_state : int, RandomState, Generator or None
        None is 0.

    Returns
    -------
    KernelTest
        With ``.statistic``, the biased discrepancy MMD, not squared, as `mmd` computes it (over landmarks that of the
        projections), ``.pvalue``, and ``.kernel``, the one with the smallest p-value.

    Raises
    ------
    ValueError
        If X and Z differ in their features, or hold one point each.

    Notes
    -----
    (m + n)^2 kernel values and n_permutations (m + n)^2 operations for each kernel, of which "aggregate" has 16, a tile
    at a time: the kernel matrix is not stored. Over r landmarks (m + n) r kernel values and n_permutations g r
    operations for g groups, 2 048 of equal size or a few more. Statistics that differ by rounding count as equal.
    Landmarks and groups do not depend on which sample a point is from, or keep the points of a sample together, so that
    the level stays exact; differences outside of the span of the landmarks are not seen.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola, *A kernel two-sample test*, JMLR 13 (2012), eq. (5) and section 5.

    Schrab, Kim, Albert, Laurent, Guedj, Gretton, *MMD aggregated two-sample test*, JMLR 24 (2023); here with equal
    weights, and the rank of the smallest p-value in place of a corrected level.

    Domingo-Enrich, Dwivedi, Mackey, *Compress then test: powerful kernel testing in near-linear time*, AISTATS 206
    (2023), for groups; Chatalic, Schreuder, Rosasco, Rudi, *Nyström kernel mean embeddings*, ICML 162 (2022).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> result = mc.mmd_test(rng.uniform(size=(300, 1)), rng.uniform(size=(300, 1)) ** 1.5)
    >>> result.pvalue < 0.01, result.kernel
    (True, Gaussian(gamma=...))
    """
    n_permutations, rng = _checked(n_permutations, random_state)
    refuse_container(X, "X")
    refuse_container(Z, "Z")
    shape = getattr(Z, "shape", ())
    if holds_rows(X) and len(shape) == 1:
        raise ValueError(
            f"Z must hold points as X does, got shape {tuple(shape)}; for labels y of the rows of X write "
            "mmd_test(X[y == 0], X[y == 1]); numbers are columns, numpy.reshape(Z, (-1, 1)), and so those of X."
        )
    listed = _listed(kernel, "kernel", X)
    X, Z = matched(listed[0], listed[0].admit(X, "X"), Points(listed[0].admit(Z, "Z")))
    m = len(X)
    n = len(Z)
    if m + n < 3:
        raise ValueError(
            "X and Z have one point each, and no permutation differs from the data; give more points."
        )
    pooled = owned(join_points([X.container, Z.container]))
    kernels = _resolved(listed, pooled, _LENGTHS)
    grams = [Gram(each, pooled) for each in kernels]
    if _fits(m + n, 1, memory):
        weights = np.repeat([1 / m, -1 / n], [m, n])
        squares = [partial(_square, gram) for gram in grams]
    else:
        weights, squares = _of_groups(kernels, pooled, m, memory, rng)
    values = np.empty((len(kernels), 1 + n_permutations))
    for drawn in _together(1 + n_permutations, len(weights), memory):
        # the first column of all is the given assignment
        W = np.stack(
            [rng.permutation(weights) if b else weights for b in range(drawn.start, drawn.stop)],
            axis=1,
        )
        for own, square in zip(values, squares, strict=True):
            own[drawn] = square(W)
    return _result(values, map(_rounding, grams), kernels, root=True)


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
        Bytes for the matrices of all kernels. Where they need more, features are projected on the span of random
        landmarks, up to 192 of all kernels of a variable together.
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
    "aggregate" has 36, in compiled code, permutations on several threads. Over r landmarks n r kernel values and
    n_permutations n r^2 operations. Statistics that differ by rounding count as equal.

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
    variable = partial(_Coordinates, memory=memory, rng=rng)
    if _fits(n, len(kernels_x) + len(kernels_y), memory):
        variable = _Matrices
    x = variable(kernels_x, X)
    y = variable(kernels_y, Y)
    values = np.empty((1 + n_permutations, len(kernels_x), len(kernels_y)))
    for drawn in _together(1 + n_permutations, n, memory):
        # the first pairing of all is the given one
        orders = [rng.permutation(n) if b else np.arange(n) for b in range(drawn.start, drawn.stop)]
        run_tasks(partial(_compare, x, y, orders, values[drawn]), len(orders))
    rounding = np.multiply.outer(x.sizes, y.sizes).ravel() * max(epsilon(X), epsilon(Y))
    pairs = list(product(kernels_x, kernels_y))
    return _result(values.reshape(len(values), -1).T / n**2, rounding, pairs)


@anywhere
def ksd_test(
    X: PointsLike,
    score: Callable[[Array], Array],
    kernel: KernelLike | None = None,
    *,
    n_bootstrap: int = 500,
    random_state: Seed = None,
) -> KernelTest:
    r"""Test whether points come from a density p, of which only the gradient of log p is known.

    .. math:: \mathrm{KSD}^2 = \frac1{n^2} \sum_{ij} u(x_i, x_j), \qquad
        u(x, z) = s(x)'s(z)\, k + s(x)'\nabla_z k + s(z)'\nabla_x k + \operatorname{tr} \nabla_x \nabla_z' k

    with s the gradient of log p, which needs no normalising constant. Its distribution if p is right is that of
    :math:`\frac1{n^2} \sum_{ij} \epsilon_i \epsilon_j u(x_i, x_j)` with random signs, for n towards infinity: the level
    is asymptotic, not exact. Points must be independent.

    Parameters
    ----------
    X : rows (n, d)
    score : callable
        Takes rows (n, d) and returns the gradients of log p there (n, d).
    kernel : Kernel, str or callable, optional
        Radial and twice differentiable; bandwidth rules are resolved on X. None is the inverse multiquadric
        ``RationalQuadratic("median", 0.5)``, whose discrepancy detects points that escape to infinity.
    n_bootstrap : int
        Number of random sign vectors, at most 10^5.
    random_state : int, RandomState, Generator or None
        None is 0.

    Returns
    -------
    KernelTest
        With ``.statistic``, the squared discrepancy, ``.pvalue`` and ``.kernel``.

    Raises
    ------
    TypeError
        For a kernel that is not radial, not twice differentiable at x = z, or only conditionally positive definite.
    ValueError
        If ``score`` returns numbers that are not finite, or an array of another shape.

    Notes
    -----
    n^2 (d + n_bootstrap) operations in float64; no n x n matrix is stored.

    References
    ----------
    Chwialkowski, Strathmann, Gretton, *A kernel test of goodness of fit*, ICML (2016), equations (2) and (6).

    Gorham, Mackey, *Measuring sample quality with kernels*, ICML (2017), theorem 8.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(0.5, 1.0, (200, 2))
    >>> round(mc.ksd_test(X, lambda X: -X).pvalue, 3)
    0.002
    """
    n_bootstrap = check_integer("n_bootstrap", n_bootstrap, most=_MOST_SIGNS)
    rng = generator(random_state)
    # distributions of SciPy are called to freeze them
    if not callable(score) or hasattr(score, "pdf"):
        raise TypeError(
            f"score must be a function of rows, got an object of type {type(score).__name__}; for the normal density "
            "write lambda X: -X, for two samples mercer.mmd_test(X, Z)."
        )
    X = as_float64(as_dense_rows(X, "X"))
    refuse_large("X", X)
    kernel = as_kernel(RationalQuadratic("median", 0.5) if kernel is None else kernel).resolve(X)
    if (
        kernel.scalar != "radial"
        or not np.isfinite(evaluate_profile(kernel, np.zeros(1), order=2)).all()
    ):
        raise TypeError(
            f"kernel = {shown(kernel)} must be radial and twice differentiable; take Gaussian, RationalQuadratic or "
            "Cauchy."
        )
    if kernel.tags.conditional:
        raise TypeError(
            f"kernel = {shown(kernel)} is only conditionally positive definite, so that the discrepancy may be "
            'negative; take kernel=mercer.RationalQuadratic("median", 0.5).'
        )
    S = np.asarray(score(X), np.float64)
    if S.shape != X.shape:
        raise ValueError(
            f"score must return gradients of shape {X.shape}, one for each row of X, got {S.shape}."
        )
    refuse_nonfinite(S, "score(X)")
    refuse_large("score(X)", S)
    n = len(X)
    # the first column is the statistic of the points
    signs = np.column_stack([np.ones(n), rng.randint(0, 2, (n, n_bootstrap)) * 2.0 - 1.0])
    points = Points(X)
    found = np.zeros(1 + n_bootstrap)
    for rows, tile in tiles(points, points):
        check_cancelled()
        found += np.sum(signs[rows] * (_stein(kernel, tile, S, rows) @ signs), axis=0)
    at_least = int(np.count_nonzero(found >= found[0]))
    return KernelTest(float(found[0]) / n**2, at_least / (1 + n_bootstrap), kernel)


def _checked(n_permutations, random_state):
    """Return the number of permutations and a generator."""
    return check_integer("n_permutations", n_permutations, most=_MOST), generator(random_state)


def _listed(given, name, X):
    """Return kernels that are not resolved: those of a list, one, or `_AGGREGATE`."""
    if isinstance(given, (list, tuple)):
        if not given:
            raise ValueError(f"{name} = {shown(given)} must hold at least one kernel.")
        return [as_kernel(each, f"{name}[{k}]") for k, each in enumerate(given)]
    if isinstance(given, str) and given == "aggregate":
        if not holds_rows(X):
            raise ValueError(
                f"{name} = 'aggregate' needs rows of numbers, such as numpy.reshape(column, (-1, 1)), of labels "
                "labels[:, None] == numpy.unique(labels); or give a kernel on these points, or several."
            )
        return _AGGREGATE
    return [as_kernel(given, name)]


def _resolved(listed, points, lengths):
    """Return resolved kernels; "aggregate" are Gaussian and Laplace kernels of lengths in units of the median."""
    if listed is not _AGGREGATE:
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
    points = listed[0].admit(X, name)
    return _resolved(listed, points, _FEW), points


def _fits(n, number, memory):
    """Return whether so many matrices of the kernel values of n points fit."""
    return 8 * number * n * n <= parse_memory(memory)


def _together(number, n, memory):
    """Return the parts of some permutations of n points that take an eighth of the memory at once."""
    return blocks(number, n, parse_memory(memory) // (8 * 8))


def _rounding(gram):
    """Return the rounding error of w'Kw for weights of unit sum."""
    return float(np.abs(as_float64(gram.diagonal())).max()) * epsilon(gram)


def _square(gram, W):
    """Return w'Kw for each column of W, summed in float64."""
    return np.sum(W * as_float64(gram @ W.astype(gram.dtype)), axis=0)


def _of_groups(kernels, pooled, m, memory, rng):
    """Return the weights of groups of points, and for each kernel the function of weights that gives w'Kw.

    Groups have equal size and points of one sample, so that all assignments of them are equally likely. Points that are
    left over stay in their sample.
    """
    n = count_points(pooled) - m
    most, least = _GROUPS
    size = max(1, min((m + n) // most, min(m, n) // least))
    samples = rng.permutation(m), m + rng.permutation(n)
    whole = [len(each) // size for each in samples]
    cuts = [np.split(each, [k * size]) for each, k in zip(samples, whole, strict=True)]
    order, rest = map(np.concatenate, zip(*cuts, strict=True))
    shares = np.where(rest < m, 1 / m, -1 / n)
    rank = parse_memory(memory) // (16 * len(kernels) * sum(whole))
    parts = [order[part] for part in cut(len(order), size * max(1, ROWS // size))]

    def of(kernel):
        coordinates = _on_landmarks(kernel, pooled, rank, rng)
        sums = np.concatenate(
            [np.add.reduceat(coordinates(rows), np.arange(0, len(rows), size)) for rows in parts]
        )
        fixed = shares @ coordinates(rest) if len(rest) else 0.0
        return lambda W: np.sum((W.T @ sums + fixed) ** 2, axis=1)

    return np.repeat([1 / m, -1 / n], whole), [of(kernel) for kernel in kernels]


def _on_landmarks(kernel, points, rank, rng):
    """Return the function of row numbers that gives coordinates in the span of random landmarks about their mean.

    Inner products of sums with weights of sum 0 are those of the projections.
    """
    n = count_points(points)
    least, most = _LANDMARKS
    landmarks = take_points(points, sorted_sample(n, min(n, max(least, min(rank, most))), rng))
    gram = Gram(kernel, landmarks)
    variances, axes = scipy.linalg.eigh(centred(gram.dense()))
    # variances ascend; the statistic does not see smaller ones, and a constant kernel has one coordinate, about 0
    floor = max(epsilon(gram) ** 0.5 * variances[-1], len(axes) * _rounding(gram), TINY)
    kept = slice(min(np.searchsorted(variances, floor), len(axes) - 1), None)
    # centred again: division by a small number amplifies the mean that rounding leaves
    axes = (axes - axes.mean(axis=0))[:, kept] / np.sqrt(np.maximum(variances[kept], floor))
    scaled = axes.astype(gram.dtype)
    return lambda rows: as_float64(Gram(kernel, take_points(points, rows), landmarks) @ scaled)


class _Matrices:
    """Centred kernel matrices of a variable (number of kernels, n, n)."""

    def __init__(self, kernels, points):
        self.values = np.stack([centred(Gram(each, points).dense()) for each in kernels])
        self.sizes = np.abs(np.einsum("kii->ki", self.values)).max(axis=1)

    def compare(self, other, order, found):
        """Write n^2 times the criterion with the kernels of another variable, whose pairs have an order."""
        _permuted_products(self.values, other.values, order, found)


class _Coordinates:
    """Centred coordinates of a variable on landmarks, (n, r) for each kernel: what `_Matrices` does in less memory."""

    def __init__(self, kernels, points, memory, rng):
        n = count_points(points)
        rank = min(_COORDINATES, parse_memory(memory) // (32 * n)) // len(kernels)
        found = [_on_landmarks(each, points, rank, rng)(np.arange(n)) for each in kernels]
        self.values = np.hstack([each - each.mean(axis=0) for each in found])
        self.starts = np.cumsum([0, *(each.shape[1] for each in found[:-1])])
        self.sizes = np.add.reduceat(self.values**2, self.starts, axis=1).max(axis=0)

    def compare(self, other, order, found):
        """Write n^2 times the criterion with the kernels of another variable, whose pairs have an order."""
        parts = cut(len(order), ROWS)
        covariance = sum(self.values[part].T @ other.values[order[part]] for part in parts)
        rows = np.add.reduceat(covariance**2, self.starts, axis=0)
        found[:] = np.add.reduceat(rows, other.starts, axis=1)


def _compare(x, y, orders, found, b):
    """Write n^2 times the criteria of pairing b."""
    check_cancelled()
    x.compare(y, orders[b], found[b])


def _result(
    values: Array, rounding: Iterable[float], kernels: list[Any], root: bool = False
) -> KernelTest:
    """Return the result of statistics (number of kernels, 1 + n_permutations), the given data first.

    The rank of a value is the number of assignments with no smaller one, up to rounding. The smallest rank over the
    kernels is a statistic that every assignment has, so that its own rank gives the p-value.
    """
    n = values.shape[1]
    ranks = np.empty(values.shape, int)
    for own, found, error in zip(values, ranks, rounding, strict=True):
        # values that rounding may have moved are equal
        found[:] = n - np.searchsorted(np.sort(own), own - ROUNDINGS * error)
    # smallest ranks are whole numbers, of which many are equal: the sum of all ranks decides between them
    extreme = ranks.min(axis=0) * ranks.size * n + ranks.sum(axis=0)
    which = ranks[:, 0].argmin()
    statistic = max(float(values[which, 0]), 0.0)
    pvalue = int(np.count_nonzero(extreme <= extreme[0])) / n
    return KernelTest(statistic**0.5 if root else statistic, pvalue, kernels[which])


def _stein(kernel, tile, S, rows):
    """Return u(x_i, x_j) for the rows i of a tile and all j."""
    X, Z = tile.centred
    # (s(x) - s(z))'(x - z)
    own = np.sum(S * Z, axis=1)
    along = own[rows, None] + own - S[rows] @ Z.T - X @ S.T
    first = tile.radial(kernel, 1)
    trace = -4 * tile.sqdist * tile.radial(kernel, 2) - 2 * S.shape[1] * first
    return (S[rows] @ S.T) * tile.radial(kernel) - 2 * first * along + trace


@compiled
def _permuted_products(K, L, order, found):
    """Write sum_ij K[p, i, j] L[q, order[i], order[j]] into ``found`` (p, q) for symmetric matrices."""
    found[:] = 0.0
    rows = np.empty((L.shape[0], order.size))
    for i in range(order.size):
        for q in range(L.shape[0]):
            row = L[q, order[i]]
            for j in range(i):
                rows[q, j] = 2.0 * row[order[j]]
            rows[q, i] = row[order[i]]
        for p in range(K.shape[0]):
            for q in range(L.shape[0]):
                value = 0.0
                for j in range(i + 1):
                    value += K[p, i, j] * rows[q, j]
                found[p, q] += value
