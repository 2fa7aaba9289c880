"""Leading eigenpairs of a symmetric operator by the block Lanczos iteration, or by LAPACK where its order is small."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array, Memory, Seed, notify
from mercer._compute.costs import FEW_PAIRS, LEAST_COLUMNS, MANY_PAIRS, MOST_COLUMNS
from mercer._compute.memory import parse_memory
from mercer._compute.namespace import namespace_of
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
    start: Callable[..., Any] | None = None,
    *,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> tuple[Operator, Eigenpairs]:
    """Return an operator, stored where the dense solver needs it, and its k leading eigenpairs.

    The dense solver where `is_dense` says so, otherwise Lanczos from the vectors ``start(k)``.
    """
    # the dense solver does not use it
    check_seed(random_state)
    if is_dense(operator.shape[0], k, memory):
        operator = operator.dense()
        return operator, eigh.dense(operator, k)
    start = None if start is None else start(k)
    return operator, lanczos(operator, k, start=start, random_state=generator(random_state))


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
    start: Array | None = None,
    tol: float | None = None,
    max_products: int = 200,
    random_state: Seed = None,
) -> Eigenpairs:
    """Return the k leading eigenpairs of a symmetric operator, also indefinite, by block Lanczos with thick restarts.

    The basis Q of the block Krylov space stays orthonormal, and W = K Q is kept as computed: the Ritz pairs of Q'W have
    residuals W y - theta Q y that are exact up to rounding. Each step adds the residuals of the leading unconverged
    pairs; a full basis, m = max(8 block, 2 k + 4 block) vectors, is cut to its leading Ritz vectors. One product with a
    block of 16 to 48 columns per step, O(n m block) operations beside it, and 2 n m numbers.

    ``start`` (n, p) holds approximate eigenvectors; random columns fill up the block. ``tol`` is relative to |K|,
    ``tolerance(n, dtype)`` by default. A ConvergenceWarning reports pairs above it; all k are returned. Where three
    blocks or 2 k vectors fill the space, the dense solver takes over. `checkpoint` saves the basis.

    References
    ----------
    Golub, Underwood, *The block Lanczos method for computing eigenvalues* (1977).
    Wu, Simon, *Thick-restart Lanczos method for large symmetric eigenvalue problems*, SIAM J. Matrix Anal. 22 (2000).
    """
    n = eigh.order(operator, k)
    if max(3 * block_width(k), 2 * k) >= n:
        _logger.info("%d eigenpairs of order %d: the dense solver takes over from Lanczos", k, n)
        return eigh.dense(operator @ _namespace(start).eye(n), k)
    tol = eigh.tolerance(n, operator.dtype) if tol is None else tol
    # the products have threads of their own; those of BLAS would take their processors for a while
    with serial_blas:
        return _iterated(operator, k, start, tol, max_products, random_state)


def _namespace(start):
    return namespace_of(np.empty(0) if start is None else start)


def _iterated(operator, k, start, tol, max_products, random_state):
    """Return the eigenpairs of ``lanczos``."""
    n = operator.shape[0]
    width = block_width(k)
    limit = basis_size(k)
    xp = _namespace(start)
    draws = _Draws(xp, generator(random_state), n)
    saved = Saved(f"{k} eigenvectors of order {n} by Lanczos")
    # an eigenvalue is found as often as the first block has columns
    first = draws.next(max(width, k + _MORE) if start is None else width)
    basis = Basis(first if start is None else _beside(xp, start, first, width), limit)
    history = _resumed(saved, basis, operator, draws, width)
    for products in range(len(history) + 1, max_products + 1):
        if history:
            saved.write(
                basis.state | {"history": np.array(history), "draws": np.array(draws.count)}
            )
        basis.multiply(operator)
        scale = float(xp.max(xp.abs(basis.values)))
        if not math.isfinite(scale):
            raise ValueError("products of the operator must be finite; scale it.")
        unit = eigh.unit_of(scale)
        R = basis.residuals(k + width) / unit
        norms = xp.linalg.vector_norm(R, axis=0)
        large = norms > tol * (scale / unit)
        history.append(float(xp.sum(norms[:k])))
        stopped = notify(
            "Lanczos products", residual=float(xp.max(norms[:k])) / (scale / unit) if scale else 0.0
        )
        if basis.size >= k and not bool(xp.any(large[:k])):
            break
        # rounding of the products limits the residuals
        stalled = min(history[-_PATIENCE:]) >= 0.5 * min(history[:-_PATIENCE], default=math.inf)
        if products == max_products or stalled or (stopped and basis.size >= k):
            break
        if basis.size + width > limit:
            basis.restart(k + width)
        R = R[:, large][:, :width]
        if basis.size < k:
            R = xp.concat([R, draws.next(width)], axis=1)[:, :width]
        if not basis.extend(R):
            break
    if not stopped:
        saved.end()
    return eigh.warned(eigh.certified(*basis.pairs(k), scale, operator.dtype, tol, products))


def _resumed(saved, basis, operator, draws, width):
    """Take a saved basis of the operator if there is one, and return the sums of residuals so far."""
    if saved.state is None:
        return []
    with saved.resuming():
        saved.require(basis.resumed(saved.state, operator))
        history = [float(each) for each in saved.state["history"]]
        count = int(saved.state["draws"])
        # a product draws one block at most
        saved.require(count <= len(history) + 1)
        draws.skip(count, width)
        return history


@dataclass
class _Draws:
    """Blocks of random columns of length n, counted."""

    xp: Any
    random: Any
    n: int
    count: int = 0

    def next(self, width: int) -> Array:
        """Return the next block."""
        self.count += 1
        return self.xp.asarray(self.random.standard_normal((self.n, width)), dtype=self.xp.float64)

    def skip(self, count: int, width: int) -> None:
        """Draw blocks until there were so many."""
        while self.count < count:
            self.next(width)


def _beside(xp, start, first, width):
    """Return the start beside at least four random columns, in case it is orthogonal to a leading eigenvector."""
    return xp.concat(
        [xp.astype(start, xp.float64), first[:, : max(4, width - start.shape[1])]], axis=1
    )
