"""Leading eigenpairs of a symmetric array by LAPACK, each with its residual."""

import logging
import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from mercer._common import EPS, Array, as_float64, check_integer, record, warn
from mercer._compute.costs import ARPACK_ORDER, ARPACK_PAIRS, DEVICE_ORDER
from mercer._compute.costs import DENSE_ORDER as DENSE_ORDER
from mercer._compute.devices import is_elsewhere, moved, there
from mercer._compute.memory import Work
from mercer._compute.profile import namespace_of
from mercer._compute.threads import check_cancelled, run_interruptible, threaded_blas
from mercer._progress import notify
from mercer.linalg import lapack
from mercer.linalg.operators import INACCURATE, NOISE

_logger = logging.getLogger(__name__)

# Matrices of the order that the dense solver takes, and of as many columns as eigenpairs.
_MATRICES = 1.85
_VECTORS = 3.55
# Share of the time of all eigenvectors that none would take.
_REDUCED = 0.3
# Matrices of the order for all eigenvectors, the given one included.
ALL = _MATRICES + _VECTORS
# LAPACK with 32-bit integers cannot index the entries of a larger matrix; some drivers then return zeros silently.
_LAPACK_ORDER = math.isqrt(np.iinfo(np.int32).max)
# Restarts of ARPACK, more of which take as long as LAPACK.
_RESTARTS = 10


@record
class Eigenpairs:
    """Algebraically largest eigenvalues of a symmetric operator, with a residual for each.

    Attributes
    ----------
    values : array (k,)
        Descending.
    vectors : array (n, k)
        Orthonormal columns; the largest entry of each is positive (the first one of ties).
    residuals : array (k,)
        |K v - lambda v| / |K| in float64; an eigenvalue lies within this times |K| of each value.
    norm : float
        The |K| of the residuals: the largest absolute eigenvalue or column norm found.
    tol : float
        Tolerance of the residuals.
    products : int
        Number of products of the operator with a block.
    """

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    norm: float
    tol: float
    products: int

    @property
    def converged(self) -> Array:
        """Whether each residual is at most ``tol`` (k,)."""
        return self.residuals <= self.tol

    def take(self, kept: Any) -> Self:
        """Return some of the pairs."""
        return replace(
            self,
            values=self.values[kept],
            vectors=self.vectors[:, kept],
            residuals=self.residuals[kept],
        )


def tolerance(n: int, dtype: type[Any]) -> float:
    """Return the tolerance of residuals for an operator of a type: 1e-13 sqrt(n), in float32 2 eps sqrt(n)."""
    return (2 * float(np.finfo(np.float32).eps) if "float32" in str(dtype) else 1e-13) * n**0.5


def dense_bytes(n: int, k: int) -> int:
    """Return the bytes of the matrices of `dense`, the given one included."""
    return int(8 * n * (_MATRICES * n + _VECTORS * k))


def dense_work(n: int, k: int) -> Work:
    """Return the work of `dense`."""
    return Work(cubes=(_REDUCED + (1 - _REDUCED) * k / n) * n**3)


def dense(K: Array, k: int) -> Eigenpairs:
    """Return the k leading eigenpairs of a symmetric array in float64, O(n^3) and `dense_bytes`.

    By LAPACK, whose driver for a subset has a workspace linear in n, or for few eigenpairs by ARPACK. Where vectors are
    not orthogonal or residuals exceed ``tolerance(n, float64)``, the QR iteration follows. Large arrays are put on the
    device where blocks are evaluated. A ConvergenceWarning reports residuals that remain above.
    """
    n = order(K, k)
    if n > _LAPACK_ORDER:
        raise ValueError(
            f"a matrix of order {n} has more entries than LAPACK can index (order {_LAPACK_ORDER}); ask for fewer "
            "eigenpairs, below a twentieth of the order."
        )
    wide = as_float64(K)
    with np.errstate(over="ignore", invalid="ignore"):
        norm = math.sqrt(np.einsum("ij,ij->i", wide, wide).max())
    if not math.isfinite(norm):
        largest = float(np.abs(wide).max())
        if not math.isfinite(largest):
            raise ValueError("the matrix contains NaN or infinity; check the points.")
        raise ValueError(
            f"the matrix of kernel values of X has entries up to {largest:.3g}, and its norm must not overflow; scale "
            "X (StandardScaler) first, or the kernel."
        )
    if n >= DEVICE_ORDER and is_elsewhere():
        pairs = moved(_best(there(wide), k, norm, K.dtype, (_library,)), None)
    else:
        # half a second and more for large matrices
        with threaded_blas(2 * n**3):
            few = (_arpack,) if n >= ARPACK_ORDER and ARPACK_PAIRS * k <= n else ()
            solvers = *few, _lapack_subset, _lapack_qr
            pairs = run_interruptible(_best, wide, k, norm, K.dtype, solvers, operations=9 * n**3)
    notify("eigenvectors", order=n)
    if pairs is None:
        raise np.linalg.LinAlgError(
            f"no eigensolver found {k} independent eigenvectors of a matrix of order {n}."
        )
    return warned(pairs)


def _best(wide, k, norm, dtype, solvers):
    """Return the eigenpairs of the first solver whose residuals are small, of the last one otherwise; None if none."""
    xp = namespace_of(wide)
    pairs = None
    tol = tolerance(wide.shape[0], np.float64)
    for solve in solvers:
        V = solve(wide, k)
        V = None if V is None else _straightened(V, tol)
        if V is None:
            continue
        W = wide @ V
        values = xp.sum(V * W, axis=0)
        # rounding may exchange neighbours
        down = xp.argsort(values, descending=True)
        values = xp.take(values, down)
        V = xp.take(V, down, axis=1)
        W = xp.take(W, down, axis=1)
        check_cancelled()
        norm = max(norm, float(xp.max(xp.abs(values))))
        pairs = certified(values, V, W, norm, dtype, tol, 1)
        if bool(xp.all(pairs.converged)):
            break
        _logger.info(
            "a dense eigensolver left residuals up to %.1e", float(xp.max(pairs.residuals))
        )
    return pairs


def _straightened(V, tol):
    """Return unit vectors, after Newton's step where they are nearly orthonormal; None unless they are orthonormal."""
    xp = namespace_of(V)
    oblique = math.inf
    for _ in range(2):
        check_cancelled()
        E = V.T @ V - xp.eye(V.shape[1], dtype=V.dtype, device=V.device)
        oblique = float(xp.max(xp.abs(E)))
        if oblique <= tol:
            break
        # the step towards the nearest orthonormal vectors squares their inner products
        V -= V @ (E / 2)
    return V if oblique <= tol else None


def order(operator: Array, k: int) -> int:
    """Return the order n of an operator; raise unless it is square and k is from 1 to n."""
    n = operator.shape[0]
    if operator.shape[1] != n:
        raise ValueError(f"eigenpairs need a square operator, got shape {tuple(operator.shape)}.")
    check_integer("k", k)
    if k > n:
        raise ValueError(f"k = {k} eigenpairs must be at most {n}, the order of the operator.")
    return n


def _arpack(K, k):
    """Return the leading eigenvectors, or None where they converge slowly or one is missing.

    One vector at a time misses directions of multiple eigenvalues that rounding does not show. Then the largest
    eigenvalue of K - V diag(values) V', which another start gives, is above the least one found.
    """
    rng = np.random.default_rng(0)

    def largest(product, number, tol):
        # of an array it would make matrices of one column at each step
        operator = LinearOperator(K.shape, product, dtype=K.dtype)
        start = rng.standard_normal(len(K))
        return eigsh(operator, number, which="LA", v0=start, maxiter=_RESTARTS, tol=tol)

    try:
        values, V = largest(K.dot, k, 0.0)
        # a multiple of I changes no vector: errors are relative to the least value found
        least = abs(values[0])
        (rest,), _ = largest(
            lambda v: K @ v - V @ (values * (V.T @ v)) + least * v, 1, math.sqrt(EPS)
        )
    except ArpackError as error:
        _logger.info("LAPACK takes over from ARPACK: %s", error)
        return None
    if rest - least > values[0] + NOISE * len(K) * EPS * np.abs(values).max():
        _logger.info("LAPACK takes over from ARPACK: an eigenvalue is missing")
        return None
    return V[:, ::-1]


def _lapack_subset(K, k):
    n = K.shape[0]
    if k == n:
        # divide and conquer takes a fifth less
        return np.linalg.eigh(K)[1][:, ::-1]
    return lapack.eigenvectors(K, n - k, n - 1)[1][:, ::-1]


def _lapack_qr(K, k):
    return scipy.linalg.eigh(K, driver="ev", check_finite=False)[1][:, ::-1][:, :k]


def _library(K, k):
    xp = namespace_of(K)
    return xp.flip(xp.linalg.eigh(K)[1], axis=1)[:, :k]


def certified(
    values: Array, V: Array, W: Array, norm: float, dtype: Any, tol: float, products: int
) -> Eigenpairs:
    """Return eigenpairs with residuals |W - V diag(values)| / norm and signs, vectors in the type of the operator."""
    xp = namespace_of(V)
    unit = unit_of(norm)
    residuals = xp.linalg.vector_norm((W - V * values) / unit, axis=0)
    if norm > 0:
        residuals = residuals / (norm / unit)
    V = xp.astype(V * signs(V), xp.float32 if "float32" in str(dtype) else xp.float64, copy=False)
    return Eigenpairs(values, V, residuals, float(norm), float(tol), products)


def unit_of(size: float) -> float:
    """Return a power of 2 near a size, 1 for 0: division by it is exact, and squares of the quotients are numbers."""
    return 2.0 ** math.floor(math.log2(size)) if size > 0 else 1.0


def signs(V: Array) -> Array:
    """Return the sign (1, k) of the first of the largest entries of each column."""
    xp = namespace_of(V)
    size = xp.abs(V)
    # the first of ties, so that rounding does not decide; argmax of a boolean array is its first True
    first = xp.argmax(
        xp.astype(size >= (1 - INACCURATE) * xp.max(size, axis=0, keepdims=True), xp.int8), axis=0
    )
    return xp.sign(xp.take_along_axis(V, first[None, :], axis=0))


def warned(pairs: Eigenpairs) -> Eigenpairs:
    """Return the eigenpairs; warn when residuals are above the tolerance."""
    missed = int(np.count_nonzero(~pairs.converged))
    if missed:
        warn(
            f"{missed} of {pairs.values.shape[0]} eigenpairs did not converge in {pairs.products} products: residuals "
            f"reach {float(np.max(pairs.residuals)):.1e} |K|, tol = {pairs.tol:.1e}; raise max_products or tol,"
            " or give points whose kernel values differ by more than rounding.",
            ConvergenceWarning,
        )
    return pairs
