"""Leading eigenpairs of a symmetric operator, by LAPACK or block Lanczos, each with its residual."""

import logging
import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._common import check_integer, warn
from mercer._compute.namespace import namespace_of
from mercer.linalg.basis import Basis, orthonormal, ritz
from mercer.linalg.generator import generator

logger = logging.getLogger(__name__)

# Up to here a dense factorisation takes seconds.
DENSE_ORDER = 2_000
# With 32-bit integers LAPACK cannot count the entries of a larger matrix; some drivers then return zeros without a
# word.
_LAPACK_ORDER = 46_340
# Entries within this share of the largest count as equal to it, so that rounding does not choose the sign.
_SIGN_TIE = 1e-4
# One product with this many columns costs little more than with one: the values of the kernel dominate.
_LEAST_BLOCK, _MOST_BLOCK = 16, 48
# Lanczos gives up when so many products have not halved the sum of the residuals.
_PATIENCE = 24


@dataclass(frozen=True)
class Eigenpairs:
    """Algebraically largest eigenvalues of a symmetric operator, with a certificate for each.

    Attributes
    ----------
    values : array (k,)
        Descending.
    vectors : array (n, k)
        Orthonormal columns, the largest entry of each positive (the first of those that tie). Vectors of equal
        eigenvalues are any orthonormal basis of their eigenspace.
    residuals : array (k,)
        |K v - lambda v| / |K| in float64: an eigenvalue lies within this times |K| of each value.
    norm : float
        The |K| of the residuals, the largest absolute eigenvalue or column norm seen.
    tol : float
        What the residuals were to reach.
    products : int
        Products of the operator with a block that were computed.
    """

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    norm: float
    tol: float
    products: int

    @property
    def converged(self):
        """Which pairs reached ``tol`` (k,)."""
        return self.residuals <= self.tol


def tolerance(n, dtype):
    """Return the residual that a solver is held to: 1e-13 sqrt(n) in float64, 2 eps sqrt(n) in float32.

    Parameters
    ----------
    n : int
    dtype : dtype
        Of the values of the operator.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.eigh import tolerance
    >>> tolerance(100, np.float64)
    1e-12
    """
    return (2 * float(np.finfo(np.float32).eps) if "float32" in str(dtype) else 1e-13) * n**0.5


def dense(K, k):
    """Return the k leading eigenpairs of a symmetric matrix by LAPACK, in float64.

    O(n^3) and two copies of the matrix. The driver is the one for a subset, whose workspace stays linear in n; where
    its vectors are not orthogonal or its residuals too large, the QR iteration has the last word.

    Parameters
    ----------
    K : symmetric array (n, n)
        The lower triangle is read.
    k : int
        At most n.

    Returns
    -------
    Eigenpairs
        Vectors in the type of K.

    Raises
    ------
    ValueError
        When k is not between 1 and n, n is beyond what LAPACK can count, or the matrix is not finite.

    Warns
    -----
    ConvergenceWarning
        When residuals are above ``tolerance(n, float64)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import eigh
    >>> pairs = eigh.dense(np.diag([1.0, 3.0, 2.0]), 2)
    >>> pairs.values, pairs.vectors[:, 0]
    (array([3., 2.]), array([0., 1., 0.]))
    """
    n = order(K, k)
    if n > _LAPACK_ORDER:
        raise ValueError(
            f"a matrix of order {n} has more entries than LAPACK counts (order {_LAPACK_ORDER}); "
            "ask for fewer eigenpairs by lanczos, which needs products only."
        )
    xp = namespace_of(K)
    wide = xp.astype(K, xp.float64)
    norm, pairs = float(xp.max(xp.linalg.vector_norm(wide, axis=0))), None
    if not math.isfinite(norm):
        raise ValueError("the matrix contains NaN or infinity, or is too large to have a norm; check the points.")
    for solve in (_lapack_subset, _lapack_qr) if isinstance(wide, np.ndarray) else (_library,):
        # vectors of a driver that lost their orthogonality are mended here, and the Ritz values follow
        Q = orthonormal(solve(wide, k))
        if Q.shape[1] < k:
            continue
        W = wide @ Q
        values, Y = ritz(Q.T @ W)
        norm = max(norm, float(xp.max(xp.abs(values))))
        pairs = _certified(values, Q @ Y, W @ Y, norm, K.dtype, tolerance(n, xp.float64), 1)
        if bool(xp.all(pairs.converged)):
            return pairs
        logger.info("a dense eigensolver left residuals up to %.1e", float(xp.max(pairs.residuals)))
    if pairs is None:
        raise np.linalg.LinAlgError(f"no eigensolver found {k} independent eigenvectors of a matrix of order {n}.")
    return _warned(pairs)


def lanczos(operator, k, *, start=None, block=None, tol=None, max_products=200, random_state=None):
    """Return the k leading eigenpairs of a symmetric operator by block Lanczos with thick restarts, from products only.

    The basis Q of the block Krylov space of the start is kept orthonormal, and so is W = K Q kept as it was computed:
    the Ritz pairs of Q'W have residuals W y - theta Q y that are exact up to rounding. Each step adds the residuals
    of the leading unconverged pairs; a full basis is cut to its leading Ritz vectors. One product with a block per
    step, O(n m block) beside it and 2 n m numbers for a basis of m = max(8 block, 2 k + 4 block) vectors.

    Parameters
    ----------
    operator : symmetric operator (n, n)
        Anything with ``shape``, ``dtype`` and ``@``. Leading means algebraically largest; it may be indefinite.
    k : int
    start : array (n, p), optional
        Approximate leading eigenvectors; random vectors fill up the block.
    block : int, optional
        Columns of a product; k + 8 between 16 and 48 when left out.
    tol : float, optional
        Residual to reach, relative to |K|; ``tolerance(n, dtype)`` when left out.
    max_products : int
    random_state : int, RandomState, Generator or None
        Random columns of the start.

    Returns
    -------
    Eigenpairs
        All k, converged or not.

    Warns
    -----
    ConvergenceWarning
        When a pair is above ``tol``, with how many and by how much.

    Notes
    -----
    Where three blocks or 2 k vectors fill the space, the dense solver takes over, which is logged.

    References
    ----------
    Golub, Underwood, *The block Lanczos method for computing eigenvalues* (1977).
    Wu, Simon, *Thick-restart Lanczos method for large symmetric eigenvalue problems*, SIAM J. Matrix Anal. 22 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import eigh
    >>> pairs = eigh.lanczos(np.diag(1.0 / np.arange(1, 401)), 3)
    >>> pairs.values, bool(pairs.converged.all())
    (array([1.  , 0.5 , 0.333]), True)
    """
    n = order(operator, k)
    check_integer("max_products", max_products)
    width = min(max(k + 8, _LEAST_BLOCK), _MOST_BLOCK) if block is None else block
    check_integer("block", width)
    xp = namespace_of(np.empty(0) if start is None else start)
    if max(3 * width, 2 * k) >= n:
        logger.info("%d eigenpairs of order %d: the dense solver takes over from Lanczos", k, n)
        return dense(operator @ xp.eye(n), k)
    tol = tolerance(n, operator.dtype) if tol is None else tol
    draw = generator(random_state).standard_normal
    first = xp.asarray(draw((n, width)), dtype=xp.float64)
    if start is not None:
        # a few random columns remain, lest the start be orthogonal to what is sought
        first = xp.concat([xp.astype(start, xp.float64), first[:, : max(4, width - start.shape[1])]], axis=1)
    basis = Basis(first)
    limit = max(8 * width, 2 * k + 4 * width)
    history = []
    for products in range(1, max_products + 1):
        basis.multiply(operator)
        scale = float(xp.max(xp.abs(basis.values)))
        R = basis.residuals(k + width)
        norms = xp.linalg.vector_norm(R, axis=0)
        large = norms > tol * scale
        history.append(float(xp.sum(norms[:k])))
        if basis.size >= k and not bool(xp.any(large[:k])):
            break
        # rounding of the products bounds what can be reached
        if products == max_products or min(history[-_PATIENCE:]) >= 0.5 * min(history[:-_PATIENCE], default=math.inf):
            break
        if basis.size + width > limit:
            basis.restart(k + width)
        R = R[:, large][:, :width]
        if basis.size < k:
            R = xp.concat([R, xp.asarray(draw((n, width)), dtype=xp.float64)], axis=1)[:, :width]
        if not basis.extend(R):
            break
    pairs = _certified(*basis.pairs(k), scale, operator.dtype, tol, products)
    return _warned(pairs)


def leading(operator, k, start=None, *, random_state=None):
    """Return an operator, stored where the dense solver needs it, and its k leading eigenpairs.

    The dense solver for order at most 2 000 or k >= n / 8, otherwise Lanczos from the vectors that ``start()`` returns.
    """
    if operator.shape[0] <= DENSE_ORDER or 8 * k >= operator.shape[0]:
        operator = operator.dense()
        return operator, dense(operator, k)
    start = None if start is None else start()
    return operator, lanczos(operator, k, start=start, random_state=random_state)


def order(operator, k):
    """Return the order of a symmetric operator of which k eigenpairs are asked."""
    n = operator.shape[0]
    if operator.shape[1] != n:
        raise ValueError(f"eigenpairs need a square operator, got shape {tuple(operator.shape)}.")
    check_integer("k", k)
    if k > n:
        raise ValueError(f"k = {k} eigenpairs must be at most {n}, the order of the operator.")
    return n


def _lapack_subset(K, k):
    n = K.shape[0]
    return scipy.linalg.eigh(K, subset_by_index=[n - k, n - 1], driver="evr", check_finite=False)[1][:, ::-1]


def _lapack_qr(K, k):
    return scipy.linalg.eigh(K, driver="ev", check_finite=False)[1][:, ::-1][:, :k]


def _library(K, k):
    xp = namespace_of(K)
    return xp.flip(xp.linalg.eigh(K)[1], axis=1)[:, :k]


def _certified(values, V, W, norm, dtype, tol, products):
    """Return pairs with their residuals |W - V diag(values)| / norm, signs chosen, vectors in the type of the
    operator.
    """
    xp = namespace_of(V)
    residuals = xp.linalg.vector_norm(W - V * values, axis=0)
    if norm > 0:
        residuals = residuals / norm
    size = xp.abs(V)
    # argmax of a boolean array is its first True
    first = xp.argmax(xp.astype(size >= (1 - _SIGN_TIE) * xp.max(size, axis=0, keepdims=True), xp.int8), axis=0)
    signs = xp.sign(xp.take_along_axis(V, first[None, :], axis=0))
    V = xp.astype(V * signs, xp.float32 if "float32" in str(dtype) else xp.float64)
    return Eigenpairs(values, V, residuals, float(norm), float(tol), products)


def _warned(pairs):
    """Return the pairs, after a warning when some residuals are above the tolerance."""
    xp = namespace_of(pairs.residuals)
    missed = int(xp.sum(xp.astype(~pairs.converged, xp.int64)))
    if missed:
        warn(
            f"{missed} of {pairs.values.shape[0]} eigenpairs did not converge in {pairs.products} products: residuals "
            f"reach {float(xp.max(pairs.residuals)):.1e} |K|, tol = {pairs.tol:.1e}; raise max_products or tol,"
            " or give points whose kernel values differ by more than rounding.",
            ConvergenceWarning,
        )
    return pairs
