"""Regularisation by kernels: spectral densities, penalties and energies of functions, and penalties of other norms."""

import math
from functools import cache, singledispatch
from numbers import Integral

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.polynomial import Polynomial
from scipy.spatial.distance import cdist
from scipy.special import betaln, eval_genlaguerre, gammaln, kve, xlogy

from mercer._common import (
    LARGEST,
    TINY,
    Array,
    ArrayLike,
    PointsLike,
    as_float64,
    check_integer,
    check_positive,
    refuse_large,
    shown,
    warn,
)
from mercer._compute.memory import blocks
from mercer._compute.points import as_columns, as_dense_rows, as_rows, count_points
from mercer.expansion import Expansion, require_expansion
from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.base import Kernel, require_kernel, require_resolved, rule_of
from mercer.kernels.coordinatewise import Laplacian
from mercer.kernels.feature_map import EmpiricalMap
from mercer.kernels.mapped import Mapped, map_rows
from mercer.kernels.precomputed import transpose_gap
from mercer.kernels.radial import Cauchy, Gaussian, Matern, RationalQuadratic
from mercer.linalg.operators import ROUNDINGS, epsilon

__all__ = [
    "energy",
    "null_space",
    "penalise",
    "penalty",
    "spectral_density",
    "transform",
    "with_penalty",
]

# Largest order of a derivative: polynomials of the double degree lose their digits beyond.
_MOST_DERIVATIVES = 8
# Order of a Bessel function above which its expansion for large orders is exact up to rounding, and an argument beyond
# which densities underflow and SciPy's functions return NaN at last.
_LARGE_ORDER = 30
_FAR = 1e4


def spectral_density(kernel: Kernel, frequencies: ArrayLike) -> Array:
    r"""Return the Fourier transform of a translation-invariant kernel, which is nonnegative (Bochner).

    .. math:: \hat k(w) = \int_{\mathbb R^d} k(x) e^{-i w'x} dx, \qquad
              k(x - z) = (2 \pi)^{-d} \int \hat k(w) e^{i w'(x - z)} dw

    With r = |w|:

    ==================  ============================================================================================
    Gaussian            (pi / gamma)^(d/2) exp(-r^2 / (4 gamma))
    Laplacian           prod_j 2 gamma / (gamma^2 + w_j^2)
    Matern              c (2 nu / length^2 + r^2)^-(nu + d/2), c so that the integral over (2 pi)^d is 1
    RationalQuadratic   2 (pi c)^(d/2) u^p K_p(2 u) / Gamma(alpha), c = 2 alpha length^2, p = alpha - d/2,
                        u = r sqrt(c) / 2
    Cauchy              the same with alpha = 1, c = 1 / gamma
    ==================  ============================================================================================

    A sum has the sum of the densities, a multiple the multiple; k(A x, A z) has :math:`\hat k(A'^{-1} w) / |\det A|`.

    Parameters
    ----------
    kernel : Gaussian, Laplacian, Matern, RationalQuadratic or Cauchy, or their sums, multiples and invertible maps
        Resolved.
    frequencies : array (n, d)
        Angular frequencies for points with d features.

    Returns
    -------
    array (n,)
        Infinite at w = 0 when the integral of the kernel diverges: RationalQuadratic with 2 alpha <= d, Cauchy with
        d >= 2.

    Raises
    ------
    TypeError
        For a kernel that is not a function of x - z, or has no known closed form.
    ValueError
        When the kernel is not resolved, or maps its inputs by a singular matrix.

    References
    ----------
    Schoelkopf, *Support vector methods in learning and feature extraction*, GMD-Bericht (1998), eqs. (33) to (35);
    Smola, Schoelkopf, Mueller, *The connection between regularization operators and support vector kernels*, Neural
    Networks 11 (1998).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.regularisation.spectral_density(mc.Laplacian(2.0), np.array([[0.0], [2.0]]))
    array([1. , 0.5])
    """
    return _exp(_log_density(kernel, _frequencies(kernel, frequencies)))


def penalty(kernel: Kernel, frequencies: ArrayLike) -> Array:
    r"""Return the weight :math:`1 / \hat k(w)` of a frequency in the squared norm of a function.

    .. math:: \|f\|^2 = \|P f\|^2 = (2 \pi)^{-d} \int \frac{|\hat f(w)|^2}{\hat k(w)} dw

    The norm of the feature space penalises rough functions; the faster the density decays, the stronger.

    Parameters
    ----------
    kernel, frequencies
        As in `spectral_density`.

    Returns
    -------
    array (n,)
        Infinite where it overflows, 0 where the density is infinite.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.regularisation.penalty(mc.Laplacian(2.0), np.array([[0.0], [2.0], [20.0]]))
    array([  1.,   2., 101.])
    """
    return _exp(-_log_density(kernel, _frequencies(kernel, frequencies)))


def transform(psi: Expansion, frequencies: ArrayLike) -> Array:
    r"""Return the Fourier transforms of the functions x -> psi_j(x).

    .. math:: \hat{f_j}(w) = \hat k(w) \sum_i C_{ij} e^{-i w'x_i}

    Parameters
    ----------
    psi : Expansion
        m vectors over n points.
    frequencies : array (q, d)

    Returns
    -------
    complex array (q, m)

    Notes
    -----
    O(q n (d + m)).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> f = mc.mean(mc.features(mc.Laplacian(2.0), np.array([[0.0], [np.pi]])))
    >>> mc.regularisation.transform(f, np.array([[0.0], [1.0]])).round(9).real
    array([[1.],
           [0.]])
    """
    points, frequencies, density = _terms(psi, frequencies)
    return _exp(density)[:, None] * _spectrum(points, psi.coef, frequencies)


def energy(psi: Expansion, frequencies: ArrayLike) -> Array:
    r"""Return the contribution of each frequency to the squared norms of vectors of the feature space.

    .. math:: e_j(w) = (2 \pi)^{-d} \frac{|\hat{f_j}(w)|^2}{\hat k(w)}, \qquad \int e_j(w) dw = \|\psi_j\|^2

    Parameters
    ----------
    psi : Expansion
        m vectors over n points.
    frequencies : array (q, d)

    Returns
    -------
    array (q, m)

    Notes
    -----
    O(q n (d + m)). Computed as :math:`\hat k |\sum_i C_{ij} e^{-i w'x_i}|^2` of points about their mean (sparse ones as
    they are), without division by a small density.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> f = mc.features(mc.Gaussian(0.5), np.array([[0.0], [1.0]])) @ np.array([[1.0], [-1.0]])
    >>> w = np.linspace(-12, 12, 2001)
    >>> e = mc.regularisation.energy(f, w[:, None])[:, 0]
    >>> bool(abs(e.sum() * (w[1] - w[0]) - f.norms()[0] ** 2) < 1e-12)
    True
    """
    points, frequencies, density = _terms(psi, frequencies)
    density = _exp(density - frequencies.shape[1] * np.log(2 * np.pi))
    # a shift of all points changes phases only, which are small, and accurate, about the mean; sparse rows stay
    points = points if sp.issparse(points) else points - points.mean(axis=0)
    return density[:, None] * np.abs(_spectrum(points, psi.coef, frequencies)) ** 2


def penalise(kernel: Kernel, values: ArrayLike, spacing: float) -> Array:
    r"""Apply the operator P*P, whose Green's function is the kernel, to a function sampled on a periodic grid.

    .. math:: \widehat{P^*P f}(w) = \hat f(w) / \hat k(w), \qquad P^*P\, k(\cdot - z) = \delta_z

    For the Gaussian kernel P*P is :math:`\sum_n (-\Delta)^n / ((4 \gamma)^n n!)` times a constant, for the
    Laplacian one in one variable :math:`(\gamma^2 - d^2/dx^2) / (2 \gamma)`.

    Parameters
    ----------
    kernel : Kernel
        As in `spectral_density`.
    values : array (n_1, ..., n_d)
        Samples on a grid of d variables, of a function that is periodic over the grid or vanishes at its edges.
    spacing : float
        Distance between neighbours on the grid, the same along every axis.

    Returns
    -------
    array (n_1, ..., n_d)

    Raises
    ------
    ValueError
        When the largest penalty on the grid is above 1e12 times the smallest one above 0, so that the result would be
        rounding.

    Notes
    -----
    O(n log n) by fast Fourier transforms. Exact, up to rounding times the largest penalty, for functions without
    frequencies above pi / spacing; other functions are aliased.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> x = np.arange(64) / 64 * 2 * np.pi
    >>> np.allclose(mc.regularisation.penalise(mc.Laplacian(2.0), np.cos(2 * x), x[1]), 2 * np.cos(2 * x))
    True
    """
    values = as_float64(as_columns(values, "values"))
    if not (values.ndim and values.size):
        raise ValueError(
            f"values must be an array of numbers on a grid, one or more, got shape {values.shape}."
        )
    refuse_large("values", values)
    check_positive("spacing", spacing)
    if spacing < 1 / LARGEST:
        raise ValueError(
            f"spacing = {shown(spacing)} must be at least {1 / LARGEST}: squares of frequencies overflow."
        )
    axes = [2 * np.pi * np.fft.fftfreq(n, spacing) for n in values.shape]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, values.ndim)
    weights = penalty(kernel, grid).reshape(values.shape)
    # the penalty of a constant function is 0 where the integral of the kernel diverges
    least = weights.min(where=weights > 0, initial=np.inf)
    if not (np.isfinite(weights).all() and weights.max() <= 1e12 * least):
        raise ValueError(
            f"spacing = {shown(spacing)} gives penalties from {least:.3g} to {weights.max():.3g}, a ratio above 1e12, "
            "so that the result would be rounding; use a larger spacing."
        )
    return np.fft.ifftn(np.fft.fftn(values) * weights).real


def with_penalty(kernel: Kernel, X: PointsLike, D: ArrayLike | float) -> Kernel:
    r"""Return the kernel with which models minimise another penalty |P f|^2 over sums of given kernel functions.

    .. math:: k'(x, z) = k(x, X)\, D^+ k(X, z), \qquad D_{ij} = \langle P k(x_i, \cdot), P k(x_j, \cdot) \rangle

    The feature space of k' has the functions :math:`f = \sum_i a_i k(x_i, \cdot)` with the squared norm
    :math:`a' D a = \|P f\|^2`. Any model with the kernel k', such as a support vector machine or kernel ridge
    regression, thus minimises its loss plus this penalty.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : points (n)
        Training points, over whose kernel functions the sums are.
    D : array (n, n) or int
        Positive semidefinite matrix; or the order r of derivatives, for a Gaussian kernel: D_ij is then the integral of
        the inner product of the tensors of r-th derivatives of k(x_i, .) and k(x_j, .), or of |w|^(2 r) times their
        spectra. The order 2 penalises :math:`\int \sum_{ab} (\partial_a \partial_b f(x))^2 dx`, as thin plate splines
        do, the order 0 the integral of f^2.

    Returns
    -------
    Kernel
        An ``EmpiricalMap``, with gradients if the kernel has them. With D = K it has the values of ``kernel`` on X.

    Raises
    ------
    TypeError
        For an order of derivative with another kernel than a Gaussian.
    ValueError
        If D has another shape, is not symmetric up to rounding, has a negative eigenvalue or is 0.

    Warns
    -----
    UserWarning
        If directions of D are left out whose functions may matter.

    Notes
    -----
    O(n^3). Directions of D with eigenvalues up to those of `null_space` are left out: they are rounding, or functions
    without penalty, which `null_space` returns for ``KernelRidge(free=)``. Other classifiers and regression refuse the
    kernel if functions without penalty were left out: they cost nothing, and the model could not have them. Values cost
    n kernel values of k per point and O(n r).

    References
    ----------
    Schoelkopf, *Support vector methods in learning and feature extraction*, GMD-Bericht (1998), eq. (33).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> x = np.linspace(0, 3, 30)[:, None]
    >>> rough = mc.KernelRidge(1e-3, kernel=mc.Gaussian(2.0)).fit(x, np.sin(2 * x[:, 0]))
    >>> D = np.diag(np.linspace(0.5, 2.0, 30))
    >>> bent = mc.KernelRidge(1e-3, kernel=mc.regularisation.with_penalty(mc.Gaussian(2.0), x, D))
    >>> bent.fit(x, np.sin(2 * x[:, 0])).kernel_.F.shape[0]
    30
    """
    points, values, vectors, kept = _spectrum_of_penalty(kernel, X, D)
    free = 0 if kept.all() else _count_free(kernel, points, vectors[:, ~kept])
    return EmpiricalMap(kernel, points, vectors[:, kept] / np.sqrt(values[kept]), free)


def _count_free(kernel, points, cut):
    """Return how many functions with coefficients ``cut`` are no rounding; warn of those that may be either."""
    K = as_float64(kernel(points))
    # relative to the largest squared norm of a function with coefficients of length 1
    norms = np.linalg.eigvalsh(cut.T @ K @ cut) / np.linalg.eigvalsh(K)[-1]
    eps = epsilon(points)
    free = int(np.sum(norms > np.sqrt(eps)))
    doubtful = np.sum(norms > len(K) * eps) - free
    if doubtful:
        most = norms[norms <= np.sqrt(eps)].max()
        warn(
            f"{doubtful} of the {len(norms)} directions of D that are left out as rounding have functions with a "
            f"squared norm up to {most:.1e} of the largest; KernelRidge fits them too with "
            "free=mercer.regularisation.null_space(kernel, X, D)."
        )
    return free


def null_space(kernel: Kernel, X: PointsLike, D: ArrayLike | float) -> Expansion:
    r"""Return the functions that a penalty leaves free, which `with_penalty` leaves out.

    .. math:: f_j = \sum_i V_{ij} k(x_i, \cdot), \qquad D V = 0

    ``KernelRidge(kernel=with_penalty(kernel, X, D), free=null_space(kernel, X, D))`` minimises its loss plus alpha
    |P f|^2 over all sums of kernel functions; functions without penalty cost nothing.

    Parameters
    ----------
    kernel, X, D
        As in `with_penalty`.

    Returns
    -------
    Expansion
        As many vectors as eigenvalues of D are at most max(n, 32) eps of the largest; orthonormal coefficients.

    Notes
    -----
    O(n^3). Eigenvalues cut as rounding may belong to functions with a small penalty, below alpha max(n, 32) eps of the
    largest.

    References
    ----------
    Schoelkopf, *Support vector methods in learning and feature extraction*, GMD-Bericht (1998), eqs. (33), (34).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> x, D = np.array([[0.0], [1.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> mc.regularisation.null_space(mc.Gaussian(1.0), x, D).shape
    (2, 1)
    """
    points, _, vectors, kept = _spectrum_of_penalty(kernel, X, D)
    return Expansion(kernel, points, vectors[:, ~kept])


def _spectrum_of_penalty(kernel, X, D):
    """Return the points, and the eigenvalues and eigenvectors of a penalty with a mask of those above rounding."""
    require_kernel(kernel)
    require_resolved(kernel)
    points = kernel.admit(X, "X")
    n = count_points(points)
    eps = epsilon(points)
    D = (
        _derivative_products(kernel, points, D)
        if isinstance(D, (Integral, float))
        else _penalty_matrix(D, n)
    )
    values, vectors = scipy.linalg.eigh((D + D.T) / 2)
    if not values[-1] > 0 or values[0] < -np.sqrt(eps) * values[-1]:
        raise ValueError(
            f"D must be positive semidefinite and not 0, but its eigenvalues reach from {values[0]:.3g} to "
            f"{values[-1]:.3g}; give inner products of P k(x_i, .)."
        )
    return points, values, vectors, values > max(n, ROUNDINGS) * eps * values[-1]


def _penalty_matrix(D, n):
    """Return a validated matrix of a penalty for n points, in float64."""
    D = as_float64(as_dense_rows(D, "D"))
    if D.shape != (n, n):
        raise ValueError(
            f"D has shape {D.shape}, but X has {n} points; it must have shape {(n, n)}."
        )
    refuse_large("D", D)
    gap = transpose_gap(D)
    most = 1e-6 * np.abs(D).max()
    if gap > most:
        raise ValueError(
            f"D must be symmetric: max |D - D'| = {gap:.3g} exceeds {most:.3g}; pass (D + D.T) / 2."
        )
    return D


def _derivative_products(kernel, points, order):
    """Return the integrals of products of derivatives of Gaussian functions, summed over directions (n, n)."""
    check_integer("D", order, least=0, most=_MOST_DERIVATIVES)
    if type(kernel) is not Gaussian:
        raise TypeError(
            f"D = {order} is an order of derivative, which needs a Gaussian kernel, got {shown(kernel)}; give D."
        )
    X = as_float64(as_dense_rows(points, "X"))
    d = X.shape[1]
    # (-Laplacian)^r of the convolution, a Gaussian of the double square width; beyond the least s with exp(-s) = 0
    # powers may overflow
    s = np.minimum(kernel.gamma * cdist(X, X, "sqeuclidean") / 2, -2 * np.log(TINY))
    scale = (np.pi / (2 * kernel.gamma)) ** (d / 2) * (2 * kernel.gamma) ** order
    factor = scale * math.factorial(order)
    return factor * eval_genlaguerre(order, d / 2 - 1, s) * np.exp(-s)


def _frequencies(kernel, frequencies):
    require_kernel(kernel)
    require_resolved(kernel)
    frequencies = as_float64(as_dense_rows(frequencies, "frequencies"))
    refuse_large("frequencies", frequencies)
    return frequencies


def _terms(psi, frequencies):
    """Return the rows of an expansion (n, d) and frequencies (q, d), in float64, and logarithms of densities (q,)."""
    require_expansion("psi", psi)
    frequencies = _frequencies(psi.kernel, frequencies)
    points = psi.points
    # the densities of other kernels are not known
    if psi.kernel.tags.points == "rows":
        points = as_rows(points, "points", np.float64)
        d = points.shape[1]
        if frequencies.shape[1] != d:
            raise ValueError(
                f"frequencies has {frequencies.shape[1]} columns, but the points have {d} features."
            )
    return points, frequencies, _log_density(psi.kernel, frequencies)


def _spectrum(points, coef, frequencies):
    """Return sum_i C_ij exp(-i w'x_i) (q, m), in blocks of frequencies."""
    parts = blocks(len(frequencies), points.shape[0])
    waves = (np.exp(-1j * (frequencies[rows] @ points.T)) for rows in parts)
    return np.concatenate([wave if coef is None else wave @ coef for wave in waves])


def _exp(logs):
    with np.errstate(over="ignore"):
        return np.exp(logs)


def _log_density(kernel, frequencies):
    """Return the logarithms of densities (q,), whose factors overflow in many dimensions."""
    return rule_of(_by_class, kernel)(kernel, frequencies)


@singledispatch
def _by_class(kernel, frequencies):  # noqa: ARG001
    raise TypeError(
        f"the spectral density of {type(kernel).__name__} is not known; use a Gaussian, Laplacian, Matern, "
        "RationalQuadratic or Cauchy kernel, or a sum, a multiple or a Mapped form of these."
    )


@_by_class.register
def _(kernel: Gaussian, frequencies):
    d = frequencies.shape[1]
    squares = np.sum(frequencies**2, axis=1)
    with np.errstate(over="ignore"):
        return d / 2 * (np.log(np.pi) - np.log(kernel.gamma)) - squares / (4 * kernel.gamma)


@_by_class.register
def _(kernel: Laplacian, frequencies):
    return np.sum(np.log(2 * kernel.gamma / (kernel.gamma**2 + frequencies**2)), axis=1)


@_by_class.register
def _(kernel: Matern, frequencies):
    d = frequencies.shape[1]
    nu = kernel.nu
    a = 2 * nu / kernel.length**2
    log = d * np.log(2) + d / 2 * np.log(np.pi) + gammaln(nu + d / 2) - gammaln(nu) + nu * np.log(a)
    return log - (nu + d / 2) * np.log(a + np.sum(frequencies**2, axis=1))


@_by_class.register
def _(kernel: RationalQuadratic, frequencies):
    return _log_student(kernel.alpha, 2 * kernel.alpha * kernel.length**2, frequencies)


@_by_class.register
def _(kernel: Cauchy, frequencies):
    return _log_student(1.0, 1 / kernel.gamma, frequencies)


@_by_class.register
def _(kernel: Sum, frequencies):
    return np.logaddexp(
        _log_density(kernel.left, frequencies), _log_density(kernel.right, frequencies)
    )


@_by_class.register
def _(kernel: Scaled, frequencies):
    return np.log(kernel.factor) + _log_density(kernel.kernel, frequencies)


@_by_class.register
def _(kernel: Mapped, frequencies):
    d = frequencies.shape[1]
    A = map_rows(kernel.A, kernel.admit(np.eye(d), "frequencies")).T
    if A.shape != (d, d) or np.linalg.matrix_rank(A) < d:
        raise ValueError(
            f"A has rank {np.linalg.matrix_rank(A)} for {d} features, so the kernel has no spectral density: it does "
            "not decay in all directions; use an invertible square matrix."
        )
    return (
        _log_density(kernel.kernel, np.linalg.solve(A.T, frequencies.T).T)
        - np.linalg.slogdet(A).logabsdet
    )


def _log_student(alpha, c, frequencies):
    """Return the logarithm of the transform of (1 + |x|^2 / c)^-alpha."""
    d = frequencies.shape[1]
    order = alpha - d / 2
    u = np.sqrt(c * np.sum(frequencies**2, axis=1)) / 2
    # u^p K_p = u^(p - |p|) u^|p| K_|p|, whose last factors have a finite product at 0
    p = abs(order)
    log = d / 2 * np.log(np.pi * c) + xlogy(order - p, u)
    if order > _LARGE_ORDER:
        # the difference of the logarithms of two large gamma functions would lose digits
        log += betaln(order, d / 2) - gammaln(d / 2) + _log_large_order(p, u)
    elif p > _LARGE_ORDER:
        log += gammaln(p) - gammaln(alpha) + _log_large_order(p, u)
    else:
        with np.errstate(invalid="ignore"):
            values = kve(p, 2 * np.minimum(u, _FAR))
            # it overflows only where the product equals its limit up to rounding
            log += np.where(
                np.isinf(values), gammaln(p), np.log(2 * values) + xlogy(p, u) - 2 * u
            ) - gammaln(alpha)
    return log


def _log_large_order(p, u):
    """Return the logarithm of 2 u^p K_p(2 u) / Gamma(p) by the expansion that is uniform in u, DLMF 10.41.4."""
    z = 2 * u / p
    s = np.hypot(1, z)
    excess = z * (z / (1 + s))
    series = [
        sum(U(t) / (-p) ** k for k, U in enumerate(_debye_polynomials())) for t in (1 / s, 1.0)
    ]
    # at u = 0 the series is that of Gamma(p)
    return p * (np.log1p(excess / 2) - excess) - np.log(s) / 2 + np.log(series[0] / series[1])


@cache
def _debye_polynomials():
    """Return the polynomials U_k of the expansion, DLMF 10.41.9, as many as double precision takes."""
    t = Polynomial([0, 1])
    found = [Polynomial([1.0])]
    for _ in range(9):
        found.append(
            t**2 * (1 - t**2) / 2 * found[-1].deriv() + ((1 - 5 * t**2) * found[-1]).integ() / 8
        )
    return found
