"""Leading eigenpairs, and the smallest eigenvalue, of a symmetric operator: block Lanczos, LAPACK for small orders."""

import logging
import math
import warnings
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._common import Array, Memory, Seed, as_float64, record
from mercer._compute.array import times
from mercer._compute.costs import FEW_PAIRS, LEAST_COLUMNS, MANY_PAIRS, MOST_COLUMNS, ROWS
from mercer._compute.memory import parse_memory
from mercer._compute.saved import Saved
from mercer._compute.threads import run_on_rows, serial_blas
from mercer._progress import notify
from mercer.linalg import eigh, lapack
from mercer.linalg.eigh import Eigenpairs
from mercer.linalg.generator import check_seed, generator
from mercer.linalg.operators import Operator, Shifted, epsilon

_logger = logging.getLogger(__name__)

# Columns of a block beyond the number of eigenpairs.
_MORE = 8
# Lanczos stops when this many products have not halved the sum of the residuals.
_PATIENCE = 24
# Arrays of residuals in a step.
_RESIDUALS = 3
# Blocks of columns in a step.
_BLOCKS = 5


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
        operator = operator if isinstance(operator, np.ndarray) else operator.dense()
        return operator, eigh.dense(operator, k)
    return operator, lanczos(operator, k, random_state=random_state)


def is_dense(n: int, k: int, memory: Memory = "1GB") -> bool:
    """Return whether k eigenpairs of an operator of order n are those of the dense solver.

    They are for n <= 2 000, or n < 1 500 if k <= n / 64, and for k >= n / 8, or k >= n / 20 if the memory holds it.
    """
    least = 3 * eigh.DENSE_ORDER // 4 if FEW_PAIRS * k <= n else eigh.DENSE_ORDER + 1
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
    """Return the number of products with a block that is typical, twice those that fill the basis; the data decide."""
    return 2 * basis_size(k) / block_width(k)


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


class Basis:
    """Orthonormal columns Q (n, m) and the computed W = K Q, so that residuals of Ritz pairs cost no product.

    It starts as the span of the columns of ``start`` (n, p) and has room for ``most`` columns.
    """

    values: Any
    _image: Any

    def __init__(self, start: Array, most: int) -> None:
        self._new = orthonormal(start)
        # the sum of the columns of the start, which has no sign or rotation that depends on rounding
        self._sum = self._new.T @ start.sum(axis=1, keepdims=True)
        # columns are contiguous, so that those of the future take no memory
        self._columns = [np.empty((most, len(start))) for _ in "QW"]
        self._H = np.empty((0, 0))
        self.values = self._Y = self._image = None

    @property
    def state(self) -> dict[str, Array]:
        """The arrays of the basis, for `resumed`."""
        return {"Q": self._Q, "W": self._W, "H": self._H, "new": self._new, "image": self._image}

    def resumed(self, state: dict[str, Array], operator: Operator) -> bool:
        """Take the arrays of a saved basis; return whether it has the image of the start under the operator.

        Another machine or number of threads changes its last digits: half of them are compared.
        """
        names = "Q", "W", "H", "new", "image"
        Q, W, H, new, self._image = (state[name] for name in names)
        if any(each.dtype != np.float64 for each in (Q, W, H, new, self._image)):
            return False
        if (
            Q.shape[0] != self._new.shape[0]
            or new.shape[:-1] != Q.shape[:-1]
            or H.shape != 2 * Q.shape[1:]
        ):
            return False
        error = np.linalg.norm(operator @ (self._new @ self._sum) - self._image)
        self._H = self._H[:0, :0]
        self._new = new
        self._append(Q, W)
        self._H = H
        self.values, self._Y = ritz(H)
        return bool(error <= epsilon(operator) ** 0.5 * np.linalg.norm(self._image))

    @property
    def size(self) -> int:
        """Number of columns m."""
        return self._H.shape[0]

    @property
    def _Q(self):
        return self._columns[0][: self.size].T

    @property
    def _W(self):
        return self._columns[1][: self.size].T

    def _append(self, *images):
        """Store columns of Q and of W behind those that are there."""
        m = self.size
        for stored, image in zip(self._columns, images, strict=True):
            stored[m : m + image.shape[1]] = image.T

    def multiply(self, operator: Operator) -> None:
        """Multiply the newest columns by the operator, one product, and compute the Ritz pairs."""
        new = self._new
        image = as_float64(operator @ new)
        corner = _inner(new, image)
        if not np.isfinite(corner).all():
            raise ValueError(
                "a product of the operator contains NaN or infinity; check the points and the kernel."
            )
        if self.size == 0:
            self._image = image @ self._sum
        across = _inner(self._Q, image)
        self._append(new, image)
        self._H = np.block([[self._H, across], [across.T, (corner + corner.T) / 2]])
        self.values, self._Y = ritz(self._H)

    def residuals(self, count: int) -> Array:
        """Return K v - theta v of the leading Ritz pairs (n, at most count)."""
        Y = self._Y[:, :count]
        R = times(self._W, Y)
        R -= times(self._Q, Y * self.values[:count])
        return R

    def pairs(self, count: int) -> tuple[Array, Array, Array]:
        """Return the leading Ritz values, their vectors V and K V."""
        Y = self._Y[:, :count]
        return self.values[:count], times(self._Q, Y), times(self._W, Y)

    def restart(self, count: int) -> None:
        """Keep only the leading Ritz vectors."""
        self.values, V, W = self.pairs(count)
        self._H = self._H[:0, :0]
        self._append(V, W)
        self._Y = np.eye(V.shape[1])
        self._H = self._Y * self.values

    def extend(self, R: Array) -> bool:
        """Add the directions of R outside the subspace; return whether there are any."""
        # the second projection removes the rounding errors of the first
        for _ in range(2):
            R = _orthonormal_once(R - times(self._Q, _inner(self._Q, R)))
        self._new = R
        return R.shape[1] > 0


def ritz(H: Array) -> tuple[Array, Array]:
    """Return the eigenvalues, descending, and eigenvectors of a small matrix that is symmetric up to rounding."""
    values, Y = np.linalg.eigh((H + H.T) / 2)
    return values[::-1], Y[:, ::-1]


def orthonormal(V: Array) -> Array:
    """Return an orthonormal basis (n, r) of the columns of V (n, p), without directions below 1e-6 of the largest.

    From the eigenvectors of V'V with columns of unit norm, twice: only matrix products, faster than a tall QR.
    Stathopoulos, Wu, SIAM J. Sci. Comput. 23 (2002).
    """
    return _orthonormal_once(_orthonormal_once(V))


def _orthonormal_once(V):
    norms = np.linalg.norm(V, axis=0)
    V = V[:, norms > 0] / norms[norms > 0]
    if V.shape[1] == 0:
        return V
    squares, Y = ritz(_inner(V, V))
    kept = squares > 1e-12 * squares[0]
    return times(V, Y[:, kept] / np.sqrt(squares[kept]))


def _inner(A, B):
    """Return A'B of tall arrays, some rows at a time on each thread; the order of the sum is fixed."""
    parts = {}

    def task(rows):
        parts[rows.start] = A[rows].T @ B[rows]

    run_on_rows(task, len(A), ROWS)
    first, *others = (parts[start] for start in sorted(parts))
    return sum(others, first)


@record
class Smallest:
    """An estimate of the smallest eigenvalue.

    Attributes
    ----------
    value : float
        A Rayleigh quotient, at least the smallest eigenvalue up to rounding. Below ``-error`` the operator is
        indefinite.
    error : float
        An eigenvalue lies within this of ``value``. It includes n eps |K| for rounding of the values of K.
    vector : array (n,)
        Unit vector with the Rayleigh quotient ``value``.
    """

    value: float
    error: float
    vector: np.ndarray


def smallest(operator: Operator, *, max_products: int = 20, random_state: Seed = None) -> Smallest:
    """Return the smallest eigenvalue of a symmetric operator: dense and O(n^3) below order 2 000, else by Lanczos.

    Lanczos takes at most ``max_products`` products with blocks of 16 columns; ``error`` includes its residual. Below
    order 2 000 the symmetric part of the operator is used.
    """
    n = eigh.order(operator, 1)
    rounding = n * epsilon(operator)
    if n < eigh.DENSE_ORDER:
        K = as_float64(operator if isinstance(operator, np.ndarray) else operator @ np.eye(n))
        values, vectors = lapack.eigenvectors((K + K.T) / 2, 0, 0)
        # SciPy's norm of a vector is that of BLAS, whose squares neither overflow nor underflow
        return Smallest(
            float(values[0]), rounding * float(scipy.linalg.norm(K.ravel())), vectors[:, 0]
        )
    with warnings.catch_warnings():
        # the error bound reports missing convergence
        warnings.simplefilter("ignore", ConvergenceWarning)
        pairs = lanczos(
            Shifted(operator, 0.0, -1.0),
            1,
            tol=1e-6,
            max_products=max_products,
            random_state=random_state,
        )
    return Smallest(
        -float(pairs.values[0]),
        (float(pairs.residuals[0]) + rounding) * pairs.norm,
        pairs.vectors[:, 0],
    )
