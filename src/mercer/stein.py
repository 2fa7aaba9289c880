"""ksd_test: do points come from a distribution of which only the gradient of the log density is known?"""

from collections.abc import Callable

import numpy as np

from mercer._common import Array, PointsLike, Seed, as_float64, check_integer, refuse_large, shown
from mercer._compute.array import tiles
from mercer._compute.devices import anywhere
from mercer._compute.points import Points, as_dense_rows, refuse_nonfinite
from mercer._compute.profile import evaluate_profile
from mercer._compute.threads import check_cancelled
from mercer.kernels.radial import RationalQuadratic
from mercer.kernels.shorthand import KernelLike, as_kernel
from mercer.linalg.generator import generator
from mercer.permutation_tests import KernelTest

# Largest number of bootstrap samples.
_MOST = 100_000


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
    n_bootstrap = check_integer("n_bootstrap", n_bootstrap, most=_MOST)
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


def _stein(kernel, tile, S, rows):
    """Return u(x_i, x_j) for the rows i of a tile and all j."""
    X, Z = tile.centred
    # (s(x) - s(z))'(x - z)
    own = np.sum(S * Z, axis=1)
    along = own[rows, None] + own - S[rows] @ Z.T - X @ S.T
    first = tile.radial(kernel, 1)
    trace = -4 * tile.sqdist * tile.radial(kernel, 2) - 2 * S.shape[1] * first
    return (S[rows] @ S.T) * tile.radial(kernel) - 2 * first * along + trace
