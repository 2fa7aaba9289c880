"""Ridge regression in feature space: over all points or landmarks, its posterior variance and leave-one-out residuals.

Weights w_i count repetitions: a weight of 2 equals a repeated point, a weight of 0 a point left out.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer import landmarks, least_squares
from mercer._common import (
    EPS,
    TINY,
    Array,
    ArrayLike,
    Memory,
    PointsLike,
    Seed,
    as_float64,
    check_nonnegative,
    record,
    shown,
)
from mercer._compute.costs import ROWS
from mercer._compute.devices import evaluating, product
from mercer._compute.loops import mirror
from mercer._compute.memory import Route, Size, beyond_tiles, cut, parse_memory, require_memory
from mercer._compute.normal import Totals, weighted_sums
from mercer._compute.points import count_points, owned, take_points
from mercer._compute.saved import part_of_fit
from mercer._compute.threads import threaded_blas
from mercer.distributed.blocks import Blocks
from mercer.expansion import Expansion, features
from mercer.factor import svd
from mercer.gram import Gram
from mercer.least_squares import (
    MatrixName,
    Solved,
    is_rounding,
    powers_of_two,
    relative,
    relative_columns,
    warn_if_hidden,
    warn_if_ignored,
)
from mercer.linalg import cholesky, eigh, lapack
from mercer.linalg.operators import (
    LARGEST_ERROR,
    InnerProducts,
    Projected,
    Weighted,
    in_float64,
    without,
)
from mercer.solvers import landmark_ridge

_logger = logging.getLogger(__name__)


@record
class Ridge:
    """Vectors psi with predictions <psi, phi(x)>, and the relative residual of their linear system.

    ``posterior`` is that of the function with this name where the solution contains it, otherwise None, and ``values``
    (m,) the eigenvalues of the normal equations; ``trace_error`` is the share of sum_i w_i k(x_i, x_i) outside of the
    span of other vectors.
    """

    expansion: Expansion
    residual: float
    posterior: Expansion | None = None
    trace_error: float | None = None
    values: Array | None = None


def ridge(
    solve: Callable[..., Solved],
    products: InnerProducts,
    Y: Array,
    alpha: float,
    weights: Array | None = None,
    random_state: Seed = None,
    free: Array | None = None,
) -> Ridge:
    r"""Return the vectors that minimise sum_i w_i (<psi, phi_i> - Y_i)^2 + alpha |psi|^2, for each column of Y.

    ``solve`` is the ``run`` of a route of `least_squares.routes`, and ``products`` are those of the phi_i.

    psi = Phi S B with (S M S + alpha I) B = S Y, M = Phi'Phi and S^2 = diag(w); alpha = 0 gives the minimum norm. With
    free columns P (n, q) it solves S M S B + alpha B + S P C = S Y, P'S B = 0, by H S M S H and H S Y, where H projects
    onto the complement of S P, so that M may be indefinite outside of it.
    """
    phi = products.vectors
    inner, root, Q = _weighted(products, weights, free)
    targets = without(Q, root * Y.reshape(len(Y), -1))
    solved = solve(inner, targets, alpha, MatrixName(phi.kernel), random_state)
    coef = without(Q, solved.coef)
    return Ridge(phi @ (root * coef).astype(inner.dtype), solved.residual)


def free_coefficients(
    psi: Expansion, X: PointsLike, Y: Array, weights: Array | None, free: Array
) -> Array:
    """Return the coefficients C (q, p) of free columns P: S (Y - psi(X) - P C) is orthogonal to S P."""
    root = _roots(weights, len(Y))
    return np.linalg.lstsq(root * free, root * (Y - in_float64(psi)(X)), rcond=None)[0]


def bordered_residuals(
    psi: Expansion, rest: Array, Y: Array, alpha: float | Array, weights: Array | None, free: Array
) -> Array:
    """Return the relative residuals (p,) of the bordered system of ``ridge``, given rest = Y - P C, in float64."""
    root = _roots(weights, len(Y))
    B = np.divide(psi.coef, root, out=np.zeros(psi.coef.shape), where=root > 0)
    upper = root * (rest - psi(psi.points)) - alpha * B
    lower = alpha * (scipy.linalg.orth(root * free).T @ B)
    return relative_columns(np.vstack([upper, lower]), root * Y)


def routes(size: Size, alpha: float | Array, chosen: tuple[int, str] | None) -> list[Route]:
    """Return the routes to ridge regression: over all points, or over m landmarks of a rule, directly or by steps.

    Each distinct alpha takes a solve; landmarks are selected once.
    """
    fits = len(np.unique(alpha))
    if chosen is None:
        found = least_squares.routes(size, not np.min(alpha))
        return [
            replace(each, work=each.work * fits, run=partial(ridge, each.run)) for each in found
        ]
    n = size.n
    (m, rule) = chosen
    direct = landmarks.sums(n, m) * fits
    steps = landmarks.route(over_landmarks, size, m, rule, 0.0, landmark_ridge.work(n, m) * fits)
    own = landmark_ridge.stored_bytes(m)
    n_bytes = max(own, steps.bytes)
    return [
        landmarks.route(over_landmarks, size, m, rule, eigh.ALL + 2.3, direct),
        replace(steps, bytes=n_bytes, limited=max(own, beyond_tiles(n_bytes))),
    ]


def for_each_alpha(solve: Callable[[Any, float], Ridge], Y: Array, alpha: float | Array) -> Ridge:
    """Return the solution for targets with an alpha each, from ``solve(columns of Y, alpha)`` for each distinct alpha.

    It has the largest residual, and no posterior, which depends on alpha. One alpha for all targets takes one solve.
    """
    if np.ndim(alpha) == 0:
        return solve(Y, float(alpha))
    distinct, which = np.unique(alpha, return_inverse=True)
    found = []
    for k, each in enumerate(distinct.tolist()):
        with part_of_fit(f" for alpha = {each}"):
            found.append(solve(Y[:, np.flatnonzero(which == k)], each))
    first = found[0].expansion
    coef = np.empty((first.shape[0], len(which)), first.coef.dtype)
    for k, part in enumerate(found):
        coef[:, which == k] = part.expansion.coef
    residual = max(part.residual for part in found)
    return Ridge(Expansion(first.kernel, first.points, coef), residual, None, found[0].trace_error)


def has_minimum_norm(phi: Expansion, alpha: float, weights: Array | None) -> bool:
    """Return whether alpha counts as 0, so that the solution of ``ridge`` uses positive eigenvalues only."""
    return is_rounding(alpha, _weighted(InnerProducts(phi), weights)[0])


def over_landmarks(
    blocks: Blocks,
    onto: Expansion,
    Y: ArrayLike,
    alpha: float,
    weights: Array | None = None,
    *,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Ridge:
    """Return the minimiser of ``ridge`` in the span of landmarks for blocks of points; stores nothing of size n.

    Directly, or by steps beyond the memory limit.
    With orthonormal Q and F = Q'Phi: psi = Q (N + alpha I)^-1 F S^2 Y, N = F S^2 F' = V diag(nu) V', and the posterior
    R = Q V diag(nu / (nu + alpha))^(1/2) (Quinonero-Candela and Rasmussen, JMLR 6, 2005, eq. 20). Steps have none.
    """
    check_nonnegative("alpha", alpha)
    m = len(onto)
    name = f"the kernel matrix of {len(onto)} landmarks"
    if restricted_bytes(m) <= parse_memory(memory):
        Q = orthonormal_basis(onto, memory)
        if InnerProducts(onto).dtype == np.float32:
            # the rounding of float64 sums, times the condition of Q, is below that of float32 values
            own = features(Q.kernel, Q.points)
            sums = along(blocks.total(normal_equations, own, Y, weights), Q.coef)
        else:
            sums = blocks.total(normal_equations, Q, Y, weights)
        found, unexplained = _direct(Q, sums, alpha)
        if alpha <= EPS * sums.square:
            warn_if_ignored(alpha, *_spread(onto, memory), unexplained, name)
        return found
    needed = landmark_ridge.stored_bytes(m)
    require_memory(
        needed, memory, f"ridge over {m} landmarks", "fewer landmarks, or a larger memory="
    )
    squares, spread = _spread(onto, memory)
    warn_if_hidden(m * EPS * float(squares.sum()), squares, spread, name)
    return Ridge(*landmark_ridge.solve(onto, blocks, Y, alpha, weights, random_state))


def _direct(Q, sums, alpha):
    """Return the solution of ``over_landmarks`` from its normal equations, and the share of targets not explained."""
    # squares of large numbers overflow, those of small ones are 0; a power of 2 changes no digit
    unit = powers_of_two(sums.right.reshape(-1, 1))
    N = sums.matrix
    right = sums.right / unit
    pairs = eigh.dense(N, len(N))
    kept = pairs.values > len(N) * EPS * max(pairs.values[0], 0.0)
    values = pairs.values[kept]
    V = pairs.vectors[:, kept]
    A = V @ ((V.T @ right) / (values + alpha)[:, None])
    residual = relative(N @ A + alpha * A - V @ (V.T @ right), right)
    _logger.info(
        "ridge over %d of %d landmarks: relative residual %.1e", len(Q), Q.shape[0], residual
    )
    dtype = InnerProducts(features(Q.kernel, Q.points)).dtype
    psi, posterior = (
        Expansion(Q.kernel, Q.points, product(Q.coef, B).astype(dtype))
        for B in (A * unit, V * np.sqrt(values / (values + alpha)))
    )
    targets = (sums.targets**0.5 / unit.item()) ** 2
    explained = float(np.sum(A * (2 * right - N @ A))) / max(targets, TINY)
    outside = float(np.clip(1 - np.trace(N) / sums.square, 0.0, 1.0)) if sums.square > 0 else 0.0
    return Ridge(psi, residual, posterior, outside, values), max(1 - explained, 0.0) ** 0.5


def require_posterior(m: int, memory: Memory) -> None:
    """Raise a MemoryError unless the memory holds the direct solution over m landmarks, which has the posterior."""
    needed = restricted_bytes(m)
    require_memory(
        needed,
        memory,
        f"the posterior over {m} landmarks",
        "fewer landmarks, or a larger memory= in fit",
    )


def restricted_bytes(m: int) -> int:
    """Return the largest number of bytes that the direct ``over_landmarks`` takes beyond the points of m landmarks.

    All eigenvectors of a matrix by LAPACK take seven matrices of order m, beside which there is a basis.
    """
    return 64 * m * m


def orthonormal_basis(onto: Expansion, memory: Memory) -> Expansion:
    """Return orthonormal vectors of a span, in float64, without the directions that rounding decides.

    Eigenvalues are cut below eps^(2/3) of the largest, of float32 points below eps: their kernel values are float32.
    Warn where those that are cut may be differences of the vectors.
    """
    exact = in_float64(onto)
    U, s = svd(exact, None, centre=False, memory=memory)
    single = InnerProducts(onto).dtype == np.float32
    least = np.finfo(np.float32).eps if single else EPS ** (2 / 3)
    kept = s**2 > least * s[0] ** 2
    squares, spread = _spread(onto, memory)
    lost = float(np.sum(s[~kept] ** 2) + len(onto) * EPS * squares.sum())
    warn_if_hidden(lost, squares, spread, f"the kernel matrix of {len(onto)} landmarks")
    return Expansion(onto.kernel, onto.points, U.coef[:, kept])


def _spread(phi, memory):
    """Return the squared norms of vectors (n,), and the sum of their squared distances to their mean, in float64."""
    inner = InnerProducts(in_float64(phi), memory)
    squares = as_float64(inner.diagonal())
    return squares, float(squares.sum() - np.sum(inner @ np.ones((len(phi), 1))) / len(phi))


def along(sums: Totals, coef: Array) -> Totals:
    """Return the sums for combinations of the vectors, a third of the operations of sums of their values."""
    with threaded_blas(2 * coef.size * len(coef)):
        matrix = product(product(coef.T, sums.matrix), coef)
    # symmetric to the last bit
    mirror(matrix, 0, len(matrix))
    return replace(sums, matrix=matrix, right=coef.T @ sums.right)


def normal_equations(
    Q: Expansion, points: PointsLike, Y: Array, weights: Array | None = None
) -> Totals:
    """Return the normal equations of ``over_landmarks``, summed over tiles of points."""
    Y = Y.reshape(len(Y), -1)
    return weighted_sums(evaluating(Q), Q.kernel, points, len(Q), Y.__getitem__, weights)


def posterior(
    phi: Expansion,
    alpha: float,
    weights: Array | None = None,
    *,
    memory: Memory = "1GB",
    free: Array | None = None,
) -> Expansion:
    """Return vectors R with posterior variance k(x, x) - |R(x)|^2 of a Gaussian process with noise alpha / w_i.

    R = Phi S L^-T with L L' = S M S + alpha I (Rasmussen and Williams 2006, algorithm 2.1). With free columns
    R = Phi S H L^-T, L L' = H S M S H + alpha I; R R' of its coefficients is a block of the inverse bordered matrix.
    """
    check_nonnegative("alpha", alpha)
    n = len(phi)
    instead = "landmarks=, whose posterior is of their number, or a larger memory="
    require_memory(8 * n * n, memory, f"the posterior of {n} points", instead)
    inner, root, Q = _weighted(InnerProducts(phi, memory), weights, free)
    M = inner.dense()
    np.fill_diagonal(M, M.diagonal() + alpha)
    R = cholesky.Factored(M, MatrixName(phi.kernel)).factor().T
    lapack.invert(R.T)
    R = without(Q, R)
    R *= root
    return phi @ R.astype(inner.dtype, copy=False)


class Border(NamedTuple):
    """Free columns P beside the posterior vectors R of a fit: S P = Q T for orthonormal Q (n, r) and T (r, q).

    A point x with free terms p has the coordinates z = T^+' p, and the rest phi(x) - U z beyond them, U = Phi S Q.
    ``along`` is U'R, ``square`` U'U + alpha I, and ``columns(X)`` are the free terms of points.
    """

    scaled: Array
    pseudo: Array
    U: Expansion
    along: Array
    square: Array
    columns: Callable[[Any], Array]


def border(
    R: Expansion,
    alpha: float,
    weights: Array | None,
    P: Array,
    columns: Callable[[Any], Array],
) -> Border:
    """Return the free columns P (n, q) beside ``posterior``, whose values at other points are ``columns(X)``."""
    root = _roots(weights, len(P))
    Q = scipy.linalg.orth(root * P)
    phi = in_float64(features(R.kernel, R.points))
    U = phi @ (root * Q)
    products = phi.inner(U)
    square = (root * Q).T @ products + alpha * np.eye(Q.shape[1])
    return Border(
        root * Q, np.linalg.pinv(Q.T @ (root * P)), U, products.T @ R.coef, square, columns
    )


def known(R: Expansion, X: PointsLike, free: Border | None) -> tuple[Array, Array, Array | None]:
    """Return R(x) (b, r), k(x, x) (b,) and None; with free terms those of phi(x) - U z, + alpha |z|^2, and z.

    The posterior variance is the second less the squared norm of the first, with free terms that of a flat prior on
    their coefficients (Rasmussen and Williams 2006, eq. 2.42).
    """
    F = R(X)
    prior = R.kernel.diag(X)
    if free is None:
        return F, prior, None
    z = free.columns(X) @ free.pseudo
    return F - z @ free.along, prior + np.sum((z @ free.square - 2 * free.U(X)) * z, axis=1), z


def variance(R: Expansion, X: PointsLike, free: Border | None = None) -> Array:
    """Return the posterior variance of points (n,), at least 0; without free terms k(x, x) - |R(x)|^2."""
    found = []
    for rows in cut(count_points(X), ROWS):
        F, prior, _ = known(R, take_points(X, rows), free)
        found.append(prior - np.sum(F**2, axis=1))
    return np.concatenate(found).clip(0)


def covariance(R: Expansion, X: PointsLike, free: Border | None = None) -> Array:
    """Return the posterior covariances of points (n, n) in float64, whose diagonal is ``variance``."""
    F, _, z = known(R, X, free)
    F = as_float64(F)
    found = as_float64(R.kernel(X)) - F @ F.T
    if free is None or z is None:
        return found
    beside = free.U(X) @ z.T
    return found - beside - beside.T + z @ free.square @ z.T


def loo_residuals(psi: Expansion, Y: Array, R: Expansion) -> Array:
    """Return the leave-one-out residuals Y_i - <psi_(-i), phi_i> (n, p) in float64, exactly and without refitting.

    They are A_i / sum_j R_ij^2 with the coefficients A of ``ridge`` and R of ``posterior``, equal alpha and weights
    (Rasmussen and Williams 2006, eq. 5.12); the sum is (M + alpha S^-2)^-1_ii. A weighted point is left out whole.
    Raises a ValueError if rounding, times about the condition number, is above a thousandth.
    """
    inverse = np.einsum("ij,ij->i", R.coef, R.coef, dtype=np.float64)
    first = psi.kernel(take_points(psi.points, np.arange(1)), psi.points)
    # kernels that are not positive definite may have the trace 0
    size = max(
        float(np.abs(each).sum(dtype=np.float64)) for each in (psi.kernel.diag(psi.points), first)
    )
    error = EPS * size * float(inverse.max())
    require_left_out(
        error, "points this near to each other; raise alpha, or remove repeated points"
    )
    used = inverse > 0
    residuals = np.empty(np.shape(Y))
    residuals[used] = as_float64(psi.coef)[used] / inverse[used, None]
    if not used.all():
        # points of weight 0 are outside of the fit already
        residuals[~used] = Y[~used] - psi(take_points(psi.points, np.flatnonzero(~used)))
    return residuals


def loo_path(
    phi: Expansion,
    Y: Array,
    alphas: Array,
    weights: Array | None,
    rows: Array,
    memory: Memory,
    free: Array | None,
) -> Array:
    """Return the leave-one-out residuals (q, m, p) of some points for each alpha, from one eigendecomposition.

    With S M S = V diag(l) V' they are those of ``loo_residuals``, A_i / (S_i sum_j V_ij^2 / (l_j + alpha)). With free
    columns it is that of H S M S H, and H V is V, see ``ridge``.
    """
    n = len(phi)
    require_memory(
        int(8 * eigh.ALL * n * n), memory, f"all eigenpairs of {n} points", "fewer points"
    )
    if free is not None:
        require_determined(free, weights)
    inner, root, Q = _weighted(InnerProducts(phi, memory), weights, free)
    M = inner.dense()
    trace = float(np.trace(M))
    pairs = eigh.dense(M, n)
    V = without(Q, pairs.vectors)
    shifted = pairs.values + alphas[:, None]
    inverse = (V[rows] ** 2 @ (1 / shifted).T).T
    rounding = EPS * trace * float(inverse.max())
    require_left_out(
        rounding if shifted.min() > 0 else 1.0, "these points; give larger numbers for alphas"
    )
    solved = V[rows] @ (V.T @ (root * Y) / shifted[:, :, None])
    return solved / (inverse[:, :, None] * root[rows])


def require_determined(free: Array, weights: Array | None) -> None:
    """Raise if the free terms (n, q) of a point are no combination of those of the other points."""
    Q = scipy.linalg.orth(_roots(weights, len(free)) * free)
    rest = 1 - np.einsum("ij,ij->i", Q, Q)
    i = rest.argmin()
    if rest[i] < EPS / LARGEST_ERROR:
        raise ValueError(
            f"point {i} cannot be left out, as no other points determine its free terms; remove it, or columns of free."
        )


def require_left_out(error: float, cause: str) -> None:
    """Raise if the rounding of leave-one-out residuals, a relative error, is too large; ``cause`` has the remedy."""
    if error > LARGEST_ERROR:
        raise ValueError(
            f"leave-one-out residuals have a relative error of about {min(error, 1.0):.1g}: alpha is too small for "
            f"{cause}."
        )


def normal_residuals(
    psi: Expansion, points: PointsLike, Y: Array, alpha: float | Array, weights: Array | None = None
) -> Array:
    """Return |K_zx W (Y - psi(x)) - alpha psi(z)| / |K_zx W Y| for each target, with z the points of psi."""
    w = 1.0 if weights is None else weights[:, None]
    onto = Gram(psi.kernel, psi.points, points)
    given = onto @ (w * Y)
    found = onto @ (w * psi(points)) + alpha * psi(psi.points)
    return relative_columns(given - found, given)


def check_alphas(alpha: float | ArrayLike) -> None:
    """Raise unless alpha is a finite number, at least 0, or an array of them."""
    values = np.asarray(alpha)
    if values.ndim == 0:
        check_nonnegative("alpha", alpha)
    elif values.ndim > 1 or not values.size or values.dtype.kind not in "iuf":
        raise TypeError(
            f"alpha = {shown(alpha)} must be a number, or an array of one number for each target."
        )
    else:
        check_nonnegative("alpha", values.min().item())
        check_nonnegative("alpha", values.max().item())


def for_targets(alpha: float | Array, n_targets: int) -> float | Array:
    """Return checked alpha as a number if all targets have the same, otherwise as an array (n_targets,)."""
    if np.ndim(alpha) == 0:
        return alpha
    values = owned(as_float64(alpha))
    if len(values) not in (1, n_targets):
        raise ValueError(
            f"alpha = {shown(alpha)} has {len(values)} values for {n_targets} targets; give a number, or a number for "
            "each target; tune='loo' of mercer.KernelRidge chooses one. The noise of single points is alpha / "
            "sample_weight."
        )
    return float(values[0]) if (values == values[0]).all() else values


def _weighted(products, weights, free=None):
    """Return the inner products of sqrt(w_i) phi_i, lazy, and the roots of the weights as a column (n, 1).

    Free terms (n, q) times the roots are projected out: those, orthonormal, are the third result, None without any.
    """
    root = _roots(weights, products.shape[0])
    inner = products if weights is None else Weighted(products, root[:, 0])
    if free is None:
        return inner, root, None
    Q = scipy.linalg.orth(root * free)
    return Projected(inner, Q), root, Q


def _roots(weights, n):
    """Return the roots of the weights as a column (n, 1), ones for None."""
    return np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]
