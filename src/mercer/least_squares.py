"""Ridge regression on the vectors of an expansion, with the residual of the linear system."""

import logging
from functools import partial

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._common import (
    EPS,
    TINY,
    Array,
    ArrayLike,
    Memory,
    Seed,
    as_float64,
    check_nonnegative,
    record,
    refuse_large,
    shown,
    warn,
)
from mercer._compute.devices import anywhere
from mercer._compute.memory import (
    SMALL_MEMORY,
    Route,
    Size,
    Work,
    beyond_tiles,
    first_that_fits,
    parse_memory,
)
from mercer._compute.points import as_columns
from mercer.expansion import Expansion, require_symmetric
from mercer.kernels.base import Kernel
from mercer.linalg import cg, cholesky, eigh
from mercer.linalg.convexity import on_sample, warn_nonconvex
from mercer.linalg.generator import check_seed
from mercer.linalg.operators import (
    INACCURATE,
    NOISE,
    InnerProducts,
    Operator,
    Shifted,
    Weighted,
    epsilon,
)

_logger = logging.getLogger(__name__)

# Tolerances of the relative residual |Y - (M + ridge) A| / |Y|.
_TOL = {"float64": 1e-8, "float32": 1e-4}
# Negative eigenvalues within this share of the largest, times the number of vectors, may be rounding.
_NEGATIVE = NOISE * float(np.finfo(np.float32).eps)
# Largest number of pivots of the preconditioner over the square root of the number of vectors.
_PIVOTS = 10
# Bytes of the factor for each vector and pivot, and of triangles of the order of the pivots.
_COLUMN = 8
_TRIANGLES = 24
# Bytes of a step of conjugate gradients, for each vector and each column of Y.
_STEP_BYTES = 48
_FITS = "the matrix fits memory = {memory}"
_EXCEEDS = "the matrix exceeds memory = {memory}"
# Operations in whose time an entry of the matrices of a Cholesky factor is written.
_WRITTEN = 500


@record
class Solved:
    """The solution A (m, p) of (M + ridge I) A = Y in float64, and |Y - (M + ridge I) A| / |Y|.

    ``fitted`` is Y, and the projection of Y onto the range of M where the ridge is rounding, see `is_rounding`; the
    residual is then that of the projection.
    """

    coef: np.ndarray
    residual: float
    fitted: np.ndarray


@anywhere
def lstsq(
    phi: Expansion, Y: ArrayLike, ridge: float, *, memory: Memory = "1GB", random_state: Seed = None
) -> Expansion:
    r"""Return the vectors psi that minimise sum_i (<psi, phi_i> - Y_i)^2 + ridge |psi|^2, one for each column of Y.

    .. math:: \psi = \Phi A, \qquad (M + \mathrm{ridge}\, I) A = Y, \qquad M = \Phi'\Phi

    Parameters
    ----------
    phi : Expansion
        m vectors.
    Y : array (m,) or (m, p)
    ridge : float
        At least 0. At 0 the solution has minimum norm, over the eigenvalues of M above m eps lambda_max; negative
        ones cause a warning.
    memory : str or int
        Memory limit of a stored matrix M and its factor; beyond it conjugate gradients use lazy products.
    random_state : int, RandomState, Generator or None
        Pivots of the preconditioner.

    Returns
    -------
    Expansion
        p vectors (one for Y of shape (m,)) over the points of phi.

    Raises
    ------
    ValueError
        When ``ridge`` is negative, Y has another length or is not finite, or M + ridge I is indefinite.
    MemoryError
        When ``ridge`` is 0, or below m eps |phi|^2, and M exceeds the limit.

    Warns
    -----
    ConvergenceWarning
        When the relative residual exceeds 1e-8, of Cholesky where that is above the rounding of products, eps tr(M)
        |A| / |Y| (float32, and over eigenvalues: 1e-4, and never more). Otherwise it is logged. When the eigenvalues
        that count as rounding may be those of differences of vectors, such as points far from the origin.
    UserWarning
        When M has negative eigenvalues above -ridge: the solution of the linear system is then a saddle point.

    Notes
    -----
    Cholesky with one step of refinement, O(m^3), where an m x m matrix fits into the limit. Otherwise conjugate
    gradients, m^2 kernel values per step, preconditioned by a randomly pivoted Cholesky factor of rank 10 sqrt(m), or
    of as many pivots as the limit (at least 16 MB) holds.

    References
    ----------
    Saunders, Gammerman, Vovk, *Ridge regression learning algorithm in dual variables*, ICML (1998).
    Diaz, Epperly, Frangella, Tropp, Webber, *Robust, randomized preconditioning for kernel ridge regression* (2023).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.least_squares import lstsq
    >>> X = np.array([[1.0], [2.0]])
    >>> lstsq(mc.features(mc.Linear(), X), np.array([2.0, 4.0]), 0.0)(np.array([[10.0]]))
    array([[20.]])
    """
    require_symmetric("phi", phi)
    inner = InnerProducts(phi, memory)
    Y = _targets(Y, len(phi))
    check_nonnegative("ridge", ridge)
    # not every route uses it
    check_seed(random_state)
    solved = solve(
        inner, Y, ridge, name=MatrixName(phi.kernel), memory=memory, random_state=random_state
    )
    if not is_rounding(ridge, inner) and not phi.kernel.tags.positive_semidefinite:
        name = "the matrix of inner products of {} vectors"
        evidence = on_sample(lambda rows: phi[:, rows].inner(phi[:, rows]), len(phi), name).evidence
        if evidence:
            warn_nonconvex("lstsq", evidence)
    return phi @ solved.coef.astype(inner.dtype)


@record
class MatrixName:
    """The name in errors of the matrix of inner products with a kernel, a text only where one shows it."""

    kernel: Kernel

    def __str__(self) -> str:
        name = f"the matrix of inner products with the kernel {shown(self.kernel)}"
        if self.kernel.tags.conditional == 1:
            return f'{name}, which KernelRidge takes with free="constant",'
        return name


def solve(
    inner: Operator,
    Y: Array,
    ridge: float,
    *,
    name: object = "the matrix",
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Solved:
    """Solve (M + ridge I) A = Y for a matrix of inner products or another operator with the protocol of operators.py.

    Routes and warnings of ``lstsq`` for finite numbers Y (m, p); ``name`` stands for M in errors.
    """
    budget = parse_memory(memory)
    route = first_that_fits(routes(Size(inner.shape[0], budget), False), budget)
    return route.run(inner, Y, ridge, name, random_state)


def routes(size: Size, minimum_norm: bool) -> list[Route]:
    """Return the routes to least squares on some vectors: the solution of minimum norm, or that of a ridge.

    ``run(inner, Y, ridge, name, random_state)`` returns the solution.
    """
    m = size.n
    if minimum_norm:
        work = Work(2.0 * m * m) + eigh.dense_work(m, m)
        reason = "alpha = 0 needs all eigenvectors"
        return [Route("dense", reason, eigh.dense_bytes(m, m), work, _dense, block=(m, m))]
    rank = preconditioner_rank(m, size.budget)
    steps = Work(
        (cg.TYPICAL + 1.0) * m * m / 2 + m * rank,
        6.0 * m * rank * rank,
        assumed=f"{cg.TYPICAL} steps",
    )
    factor = Work(1.0 * m * m, _WRITTEN * m * m + m**3 / 3)
    needed = (_COLUMN * m + _TRIANGLES * rank) * rank + _STEP_BYTES * m
    iterative = partial(_iterative, size.budget)
    return [
        Route("dense", _FITS, 8 * m * m, factor, _dense, block=(m, m)),
        Route("lazy", _EXCEEDS, needed, steps, iterative, beyond_tiles(needed), block=(m, m)),
    ]


def is_rounding(ridge: float, inner: Operator) -> bool:
    """Return whether a ridge counts as none: at most m eps |phi|^2, where the solution of minimum norm is returned.

    ``inner`` is a matrix or an operator.
    """
    return ridge <= inner.shape[0] * EPS * float(np.max(inner.diagonal()))


def _targets(Y, m):
    Y = as_float64(as_columns(Y, "Y"))
    if Y.ndim not in (1, 2) or Y.shape[0] != m:
        raise ValueError(
            f"Y must have shape ({m},) or ({m}, p), one row for each vector, got {Y.shape}."
        )
    refuse_large("Y", Y)
    return Y[:, None] if Y.ndim == 1 else Y


def warn_if_hidden(lost: float, squares: Array, spread: float, name: str) -> None:
    """Warn if eigenvalues with the sum ``lost``, which count as rounding, may be those of differences of vectors.

    ``squares`` are the squared norms of the vectors, ``spread`` is the sum of squared distances to their mean.
    """
    if len(squares) > 1 and lost > INACCURATE * spread:
        warn(
            f"{name} has entries up to {np.max(squares):.1g}, and the rounding of its eigenvalues, {lost:.1g}, "
            f"hides differences of the vectors, whose squares have the sum {max(spread, 0.0):.1g}: features far from "
            "the origin, or equal points, cause this; subtract their mean (StandardScaler), or use a larger ridge.",
            ConvergenceWarning,
        )


def warn_if_ignored(
    ridge: float, squares: Array, spread: float, unexplained: float, name: str
) -> None:
    """Warn if a ridge counts as 0 for vectors far from the origin, and a share of the targets is not explained.

    Directions that are left out may explain it. ``squares`` and ``spread`` are those of ``warn_if_hidden``, which warns
    of vectors that are even farther.
    """
    total = np.sum(squares)
    far = len(squares) * EPS * total <= INACCURATE * spread < INACCURATE**2 * total
    if ridge > 0 and far and unexplained > INACCURATE:
        warn(
            f"{name} has entries up to {np.max(squares):.1g}, whose rounding hides a ridge of {ridge:.3g} and "
            f"all directions of small eigenvalues, which may explain more of the targets; a share of {unexplained:.1g} "
            "is left: subtract the mean of the features (StandardScaler), or use a larger ridge.",
            ConvergenceWarning,
        )


def _of_unequal_weights(M, Y, ridge):
    """Solve by a Cholesky factor, whose rounding is relative to the norm of each vector; None if M is nearly singular.

    Eigenvalues are rounded relative to the largest one, which vectors of small weight are far below.
    """
    diagonal = M.diagonal() + ridge
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))[:, None]
    scaled = M / root / root.T
    np.fill_diagonal(scaled, 1.0)
    L, failed = scipy.linalg.lapack.dpotrf(scaled, lower=1)
    # squared distances to the span of the vectors before, as shares of squared norms
    if failed or L.diagonal().min() ** 2 * INACCURATE < len(M) * epsilon(M):
        return None
    scaled_Y = Y / root
    A = scipy.linalg.cho_solve((L, True), scaled_Y)
    residual = _certify(scaled_Y - scaled @ A, scaled_Y, _TOL["float32"], "Cholesky")
    return Solved(A / root, residual, Y)


def _dense(inner, Y, ridge, name, _random_state):
    """Solve by a Cholesky factor of the matrix, or in the span of its eigenvectors where the ridge is rounding."""
    M = inner.dense()
    if is_rounding(ridge, M):
        scale = inner.scale if isinstance(inner, Weighted) else np.ones(len(M))
        return _without_ridge(M, Y, ridge, name, scale)
    np.fill_diagonal(M, M.diagonal() + ridge)
    # the sum may overflow
    mean = float(np.sum(M.diagonal() / len(M)))
    factored = cholesky.Factored(M, name)
    A = factored.solve(Y)
    # one step of refinement also corrects for jitter
    A += factored.solve(Y - factored @ A)
    # SciPy's norm of a vector is that of BLAS, whose squares neither overflow nor underflow
    size = scipy.linalg.norm(A.ravel()) / max(scipy.linalg.norm(Y.ravel()), TINY)
    rounding = EPS * size * mean * len(M)
    tol = min(max(_TOL["float64"], rounding), _TOL["float32"])
    return Solved(A, _certify(Y - factored @ A, Y, tol, "Cholesky"), Y)


def _without_ridge(M, Y, ridge, name, scale):
    """Solve in the span of the eigenvectors above rounding, or, of weights far apart, by a Cholesky factor."""
    squares = M.diagonal().copy()
    spread = squares.sum() - scale @ M @ scale / (scale @ scale)
    # the rounding of vectors times the largest number hides those times the smallest, 0 left out
    weights = scale[scale > 0] ** 2
    unequal = len(M) * EPS * weights.max() > INACCURATE * weights.min()
    solved = _of_unequal_weights(M, Y, ridge) if unequal else None
    if solved is not None:
        return solved
    warn_if_hidden(len(M) * epsilon(M) * squares.sum(), squares, spread, name)
    solved = _minimum_norm(M, Y, ridge, name, unequal)
    warn_if_ignored(ridge, squares, spread, relative(Y - solved.fitted, Y), name)
    return solved


def _minimum_norm(M, Y, ridge, name, unequal):
    """Solve in the span of the eigenvectors with eigenvalues above m eps lambda_max; the others are rounding.

    Warn about negative eigenvalues beyond the rounding of kernel values, which may be float32, and about vectors of
    small weight outside of the span, where weights are ``unequal``.
    """
    pairs = eigh.dense(M, len(M))
    largest = float(pairs.values[0])
    least = float(pairs.values[-1])
    kept = pairs.values > len(M) * epsilon(M) * max(largest, 0.0)
    if least < -_NEGATIVE * len(M) * max(largest, -least):
        warn(
            f"{name} is indefinite: its eigenvalues are between {least:.3g} and {largest:.3g}, and negative ones are "
            "not used; use mercer.make_positive, or a positive semidefinite kernel."
        )
    V = pairs.vectors[:, kept]
    if unequal:
        _warn_if_outside(M, V, pairs.values[kept], name)
    projected = V.T @ Y
    A = V @ (projected / (pairs.values[kept, None] + ridge))
    error = projected - V.T @ (M @ A + ridge * A)
    # the smallest eigenvalues that are kept multiply the rounding of M by up to 1 / (m eps)
    residual = _certify(error, Y, _TOL["float32"], f"{kept.sum()} of {len(M)} eigenvalues")
    return Solved(A, residual, V @ projected)


def _warn_if_outside(M, V, values, name):
    """Warn if weighted vectors have a part outside of the span of the eigenvectors that are used."""
    squares = M.diagonal()
    inside = np.sum((M @ V) ** 2 / values, axis=1)
    outside = np.count_nonzero(squares - inside > INACCURATE * squares)
    if outside:
        warn(
            f"{name} is weighted by numbers so far apart that the rounding of the largest hides {outside} of {len(M)} "
            "points, which are not fitted: give weights closer to each other, or a larger ridge.",
            ConvergenceWarning,
        )


def preconditioner_rank(m: int, memory: int, columns: int = 1) -> int:
    """Return the number of pivots of the preconditioner of m vectors: 10 sqrt(m), or as many as the memory holds."""
    # no limit forbids a small factor; the tiles of a product take as many bytes
    rest = max(memory - SMALL_MEMORY, SMALL_MEMORY) - _STEP_BYTES * m * columns
    if rest <= 0:
        return 1
    half = _COLUMN * m / 2
    held = int(((half**2 + _TRIANGLES * rest) ** 0.5 - half) / _TRIANGLES)
    return max(1, min(int(_PIVOTS * m**0.5), held))


def _iterative(budget, inner, Y, ridge, name, random_state):
    if is_rounding(ridge, inner):
        # the matrix may exceed the memory, which is an error
        return _dense(inner, Y, ridge, name, random_state)
    rank = preconditioner_rank(len(Y), budget, Y.shape[1])
    part = cholesky.randomly_pivoted(inner, rank, random_state)
    shifted = Shifted(inner, ridge)
    tol = _TOL["float32" if inner.dtype == np.float32 else "float64"]
    # squares of small targets are 0; powers of 2 change no digit
    unit = powers_of_two(Y)
    A, steps = cg.solve(shifted, Y / unit, cg.low_rank_plus_ridge(part.factor, ridge), tol=tol / 2)
    A *= unit
    route = f"{steps} steps of conjugate gradients"
    direct = ", or a larger memory= for the direct solver"
    return Solved(A, _certify(Y - shifted @ A, Y, tol, route, direct), Y)


def _certify(error, Y, tol, route, instead=""):
    """Return the size of an error relative to the targets, and warn if it exceeds the tolerance."""
    residual = relative(error, Y)
    _logger.info("least squares by %s: relative residual %.1e", route, residual)
    if residual > tol:
        warn(
            f"least squares by {route} left a relative residual of {residual:.1e}, tol = {tol:.0e}; use a larger "
            f"ridge{instead}.",
            ConvergenceWarning,
        )
    return residual


def powers_of_two(Y: Array) -> Array:
    """Return powers of 2 near the largest size of each column of Y (p,), 1 for columns of zeros."""
    largest = np.max(np.abs(Y), axis=0, initial=0.0)
    return np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)


def relative(error: Array, Y: Array) -> float:
    """Return |error| / |Y| of all entries together."""
    return float(relative_columns(error.reshape(-1, 1), Y.reshape(-1, 1))[0])


def relative_columns(error: Array, Y: Array) -> Array:
    """Return |error| / |Y| of each column (p,)."""
    # squares of large numbers overflow, those of small ones are 0
    unit = powers_of_two(Y)
    return np.linalg.norm(error / unit, axis=0) / np.linalg.norm(Y / unit, axis=0).clip(TINY)
