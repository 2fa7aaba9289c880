"""Leading eigenpairs of a symmetric operator by the block Lanczos iteration, or by LAPACK where its order is small."""

import logging
import math

import numpy as np

from mercer._common import Memory, Seed, notify
from mercer._compute.costs import FEW_PAIRS, LEAST_COLUMNS, MANY_PAIRS, MOST_COLUMNS
from mercer._compute.memory import parse_memory
from mercer._compute.saved import Saved
from mercer._compute.threads import serial_blas
from mercer.linalg import eigh
from mercer.linalg.basis import Basis
from mercer.linalg.eigh import Eigenpairs
from mercer.linalg.generator import check_seed, generator
from mercer.linalg.operators import Operator

_logger = logging.getLogger(__name__)

# Columns of a block beyond the number of eigenpairs.
_MORE = 8
# Lanczos stops when this many products have not halved the sum of the residuals.
_PATIENCE = 24
# Arrays of residuals in a step.
_RESIDUALS = 3
# Blocks of columns in a step.
_BLOCKS = 5
# Products, for up to so many pairs.
_PRODUCTS = 16
_PAIRS = 50


def leading(
    operator: Operator,
    k: int,
    *,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> tuple[Operator, Eigenpairs]:
    """Return an operator, stored where the dense solver needs it, and its k leading eigenpairs.

    The dense solver where `is_dense` says so, otherwise Lanczos.
    """
    # the dense solver does not use it
    check_seed(random_state)
    if is_dense(operator.shape[0], k, memory):
        operator = operator.dense()
        return operator, eigh.dense(operator, k)
    return operator, lanczos(operator, k, random_state=random_state)


def is_dense(n: int, k: int, memory: Memory = "1GB") -> bool:
    """Return whether k eigenpairs of an operator of order n are those of the dense solver.

    They are for n <= 2 000, or n < 1 000 if k <= n / 64, and for k >= n / 8, or k >= n / 20 if the memory holds it.
    """
    least = eigh.DENSE_ORDER // 2 if FEW_PAIRS * k <= n else eigh.DENSE_ORDER + 1
    return (
        n < least
        or 8 * k >= n
        or (MANY_PAIRS * k >= n and eigh.dense_bytes(n, k) <= parse_memory(memory))
    )


def block_width(k: int) -> int:
    """Return the number of columns of a product for k eigenpairs."""
    return min(max(k + _MORE, LEAST_COLUMNS), MOST_COLUMNS)


def basis_size(k: int) -> int:
    """Return the largest number of vectors of the basis for k eigenpairs; their products with the operator are kept."""
    return max(8 * block_width(k), 2 * k + 4 * block_width(k))


def products(k: int) -> float:
    """Return the number of products with a block that is typical; the data decide it."""
    return _PRODUCTS * max(1.0, k / _PAIRS)


def basis_bytes(n: int, k: int) -> int:
    """Return the bytes of the basis and its image, of residuals, and of the block that is multiplied."""
    width = block_width(k)
    return 8 * n * (2 * basis_size(k) + _RESIDUALS * (k + width) + _BLOCKS * width)


def lanczos(
    operator: Operator,
    k: int,
    *,
    tol: float | None = None,
    max_products: int = 200,
    random_state: Seed = None,
) -> Eigenpairs:
    """Return the k leading eigenpairs of a symmetric operator, also indefinite, by block Lanczos with thick restarts.

    The basis Q of the block Krylov space stays orthonormal, and W = K Q is kept as computed: the Ritz pairs of Q'W have
    residuals W y - theta Q y that are exact up to rounding. Each step adds the residuals of the leading unconverged
    pairs; a full basis, m = max(8 block, 2 k + 4 block) vectors, is cut to its leading Ritz vectors. One product with a
    block of 16 to 48 columns per step, O(n m block) operations beside it, and 2 n m numbers.

    The first block is random. ``tol`` is relative to |K|, ``tolerance(n, dtype)`` by default. A ConvergenceWarning
    reports pairs above it; all k are returned. Where three blocks or 2 k vectors fill the space, the dense solver takes
    over. `checkpoint` saves the basis.

    References
    ----------
    Golub, Underwood, *The block Lanczos method for computing eigenvalues* (1977).
    Wu, Simon, *Thick-restart Lanczos method for large symmetric eigenvalue problems*, SIAM J. Matrix Anal. 22 (2000).
    """
    n = eigh.order(operator, k)
    if max(3 * block_width(k), 2 * k) >= n:
        _logger.info("%d eigenpairs of order %d: the dense solver takes over from Lanczos", k, n)
        return eigh.dense(operator @ np.eye(n), k)
    tol = eigh.tolerance(n, operator.dtype) if tol is None else tol
    # the products have threads of their own; those of BLAS would take their processors for a while
    with serial_blas:
        return _iterated(operator, k, tol, max_products, generator(random_state))


def _iterated(operator, k, tol, max_products, rng):
    """Return the eigenpairs of ``lanczos``."""
    n = operator.shape[0]
    width = block_width(k)
    limit = basis_size(k)
    saved = Saved(f"{k} eigenvectors of order {n} by Lanczos")
    # an eigenvalue is found as often as the first block has columns
    basis = Basis(rng.standard_normal((n, max(width, k + _MORE))), limit)
    history = _resumed(saved, basis, operator, k)
    for products in range(len(history) + 1, max_products + 1):
        if history:
            saved.write(basis.state | {"history": np.array(history)})
        basis.multiply(operator)
        scale = float(np.max(np.abs(basis.values)))
        if not math.isfinite(scale):
            raise ValueError("products of the operator must be finite; scale it.")
        unit = eigh.unit_of(scale)
        R = basis.residuals(k + width) / unit
        norms = np.linalg.norm(R, axis=0)
        large = norms > tol * (scale / unit)
        history.append(float(np.sum(norms[:k])))
        stopped = notify(
            "Lanczos products", residual=float(np.max(norms[:k])) / (scale / unit) if scale else 0.0
        )
        if not large[:k].any():
            break
        # rounding of the products limits the residuals
        stalled = min(history[-_PATIENCE:]) >= 0.5 * min(history[:-_PATIENCE], default=math.inf)
        if products == max_products or stalled or stopped:
            break
        if basis.size + width > limit:
            basis.restart(k + width)
        if not basis.extend(R[:, large][:, :width]):
            break
    if not stopped:
        saved.end()
    return eigh.warned(eigh.certified(*basis.pairs(k), scale, operator.dtype, tol, products))


def _resumed(saved, basis, operator, k):
    """Take a saved basis of the operator if there is one, and return the sums of residuals so far."""
    if saved.state is None:
        return []
    with saved.resuming():
        saved.require(basis.resumed(saved.state, operator) and basis.size >= k)
        return [float(each) for each in saved.state["history"]]
