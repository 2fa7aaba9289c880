"""Cholesky factors of positive semidefinite matrices: partial, with greedy or random pivots; complete, with jitter."""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer._common import Array, Seed, as_float64, record, warn
from mercer._compute.costs import PIVOTS, TASK
from mercer._compute.memory import allocate, blocks
from mercer._compute.threads import run_in_single_threads, serial_blas
from mercer._progress import notify
from mercer.gram import Gram
from mercer.linalg import lapack
from mercer.linalg.generator import generator
from mercer.linalg.operators import epsilon

# Largest jitter, as a share of the mean diagonal.
_MOST_JITTER = 1e-6
# Share of the mean diagonal that is added to a Gram matrix of features that may be dependent: without it, coefficients
# of points that approach each other diverge. It changes minima by the square of this share.
RIDGE = 1e-10


@record
class PartialCholesky:
    """A low-rank factor of a positive semidefinite matrix, K = F F' + remainder.

    Attributes
    ----------
    factor : array (n, r)
        F, in float64. Its rows ``pivots`` are lower triangular.
    pivots : integer array (r,)
        Row numbers in the order selected.
    error : float
        trace(K - F F') / trace(K), a bound on the largest eigenvalue of the remainder over the trace.
    """

    factor: np.ndarray
    pivots: np.ndarray
    error: float


def pivoted(gram: Gram, rank: int | None = None, tol: float | None = None) -> PartialCholesky:
    """Return a partial Cholesky factor; each pivot is the largest diagonal entry of the remainder, the first of ties.

    ``gram`` is an operator or array (n, n). Stops after ``rank`` pivots (n by default), or when no diagonal entry of
    the remainder exceeds ``tol`` times the largest of K (n eps by default, and at least). n r values of the matrix and
    O(n r^2) operations. Harbrecht, Peters, Schneider, *On the low-rank approximation by the pivoted Cholesky
    decomposition* (2012).
    """
    partial = Partial(gram, _definite(gram), rank, tol)
    with serial_blas:
        while partial.open:
            partial.add_one(np.argmax(partial.diagonal))
    return partial.result()


def in_order(gram: Gram, tol: float | None = None) -> PartialCholesky:
    """Return the partial Cholesky factor of ``pivoted`` whose pivots have the order of the points."""
    partial = Partial(gram, _definite(gram), None, tol)
    with serial_blas:
        for first in range(len(partial.diagonal)):
            if partial.diagonal[first] > 0:
                partial.add_one(first)
    return partial.result()


def randomly_pivoted(
    gram: Gram, rank: int, random_state: Seed = None, tol: float | None = None
) -> PartialCholesky:
    """Return a partial Cholesky factor, pivots drawn with probability proportional to the diagonal of the remainder.

    Arguments as for ``pivoted``. Pivots are proposed in blocks and accepted by rejection sampling, which gives the
    distribution of drawing them one by one, while the matrix is evaluated in blocks of columns.

    References
    ----------
    Chen, Epperly, Tropp, Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 78 (2025), algorithm 2.1.
    Epperly, Tropp, Webber, *Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky*
    (2024).
    """
    rng = generator(random_state)
    partial = Partial(gram, _definite(gram), rank, tol)
    size = max(1, -(-partial.rank // 10))
    with serial_blas:
        while partial.open:
            weights = partial.diagonal / partial.diagonal.sum()
            proposed = rng.choice(
                len(weights), size=min(size, partial.rank - partial.size), p=weights
            )
            partial.add(proposed, rng.uniform(size=len(proposed)) * partial.diagonal[proposed])
    return partial.result()


def _definite(gram):
    """Return the diagonal of a matrix, or raise unless it is that of a positive semidefinite one."""
    diagonal = np.asarray(gram.diagonal())
    if not (np.isfinite(diagonal).all() and diagonal.min() >= 0):
        raise ValueError(
            f"the diagonal must be finite and at least 0 for a Cholesky factor, its minimum is "
            f"{diagonal.min():.3g}; use a positive semidefinite kernel."
        )
    return diagonal


class Partial:
    """A partial Cholesky factor that grows by blocks of pivots."""

    def __init__(
        self,
        gram: Gram,
        diagonal: Array,
        rank: int | None,
        tol: float | None,
        roundings: int | None = None,
    ) -> None:
        """``roundings`` of the largest entry, n by default, count as 0."""
        n = gram.shape[0]
        self.gram = gram
        self.rank = n if rank is None else min(rank, n)
        self.diagonal = np.array(diagonal, np.float64)
        self.trace = self.diagonal.sum()
        self.lost = 0.0
        self.floor = max((roundings or n) * epsilon(gram), tol or 0.0) * self.diagonal.max()
        # columns of the factor are stored as rows, so that a block of them is contiguous
        # a given rank is usually reached: no second array while it grows, and no page before it is written
        self._rows = (
            np.empty((min(self.rank, 64), n))
            if rank is None
            else allocate((self.rank, n), np.float64)
        )
        self.pivots = np.empty(0, dtype=np.intp)
        self._drop_rounding()

    @property
    def size(self) -> int:
        """Number of pivots."""
        return len(self.pivots)

    @property
    def open(self) -> bool:
        """Whether there are more pivots."""
        return self.size < self.rank and self.diagonal.max() > 0

    @property
    def factor(self) -> Array:
        """F (n, r)."""
        return self._rows[: self.size].T

    def add_one(self, row: Any) -> None:
        """Add a row whose remaining diagonal is above 0."""
        pivots = np.array([row])
        self._append(pivots, self.factor[pivots], np.sqrt(self.diagonal[pivots])[:, None])

    def add(self, proposed: Array, bounds: Array) -> None:
        """Add those proposed pivots whose remaining diagonal exceeds their bound; always the first one."""
        known = self.factor[proposed]
        H = as_float64(self.gram[np.ix_(proposed, proposed)]) - known @ known.T
        # equal entries for a repeated proposal: exactly 0 remains once it is accepted
        same = proposed[:, None] == proposed
        H[same] = (same * self.diagonal[proposed])[same]
        kept, L = _eliminate(H, np.maximum(bounds, self.floor))
        self._append(proposed[kept], known[kept], L)

    def _append(self, pivots, known, L):
        """Append columns of the factor at pivots with known rows of it, whose block of the remainder is L L'."""
        n = len(self.diagonal)
        size = self.size
        self._reserve(size + len(pivots))
        F = self._rows[:size]
        new = self._rows[size : size + len(pivots)]
        strips = blocks(n, 8 * max(len(pivots), PIVOTS), TASK)

        def task(i):
            part = new[:, strips[i]]
            part[:] = np.asarray(self.gram[strips[i], pivots]).T
            part -= known @ F[:, strips[i]]
            lapack.solve_lower(L, part)
            self.diagonal[strips[i]] -= np.einsum("ij,ij->j", part, part)

        # the matrix evaluates its values on the thread of the task
        run_in_single_threads(task, len(strips))
        new[:, self.pivots] = 0
        new[:, pivots] = L.T
        self.pivots = np.append(self.pivots, pivots)
        self.diagonal[self.pivots] = 0
        self._drop_rounding()
        notify("pivots", done=self.size, most=self.rank)

    def _reserve(self, size):
        if size > len(self._rows):
            more = np.empty((min(self.rank, 2 * size) - len(self._rows), len(self.diagonal)))
            self._rows = np.concatenate([self._rows, more])

    def _drop_rounding(self):
        # entries below the floor are rounding errors and no pivots
        noise = self.diagonal <= self.floor
        self.lost += self.diagonal[noise].clip(0).sum()
        self.diagonal[noise] = 0

    def result(self) -> PartialCholesky:
        """Return the factor."""
        left = self.diagonal.sum() + self.lost
        return PartialCholesky(
            self.factor, self.pivots, float(left / self.trace) if self.trace > 0 else 0.0
        )


def _eliminate(H, bounds):
    """Return the rows of H whose remaining pivot exceeds its bound, in order, and their Cholesky factor; H is lost."""
    kept = []
    for j in range(len(H)):
        if H[j, j] > bounds[j]:
            H[j:, j] /= np.sqrt(H[j, j])
            H[j + 1 :, j + 1 :] -= np.outer(H[j + 1 :, j], H[j + 1 :, j])
            kept.append(j)
    return kept, np.asfortranarray(np.tril(H[np.ix_(kept, kept)]))


def inverse_transpose(L: Array) -> Array:
    """Return the inverse of the transpose of a lower triangular matrix."""
    return scipy.linalg.solve_triangular(
        L, np.eye(len(L)), lower=True, trans="T", check_finite=False
    )


def jittered(K: Array, name: str = "the matrix") -> tuple[Array, float]:
    """Return L and the jitter of L L' = K + jitter I for an array that is positive definite up to rounding, O(n^3)."""
    # rows and columns of a symmetric array are the same; a copy in other order takes four times as long
    found = Factored((K if K.flags.f_contiguous else K.T).copy(order="F"), name)
    return found.factor(), found.jitter


class Factored:
    """K + jitter I = L L' in the memory of a symmetric contiguous array K: L on and below the diagonal, K above it.

    The jitter is the first of 0 and eps trace(K) / n times 1, 10, 100, ... up to 1e-6 trace(K) / n that succeeds; a
    UserWarning reports a positive one. O(n^3).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.cholesky import Factored
    >>> found = Factored(np.array([[4.0, 2.0], [2.0, 2.0]]))
    >>> found @ np.ones((2, 1)), found.solve(np.array([[6.0], [4.0]])), found.factor()
    (array([[6.],
           [4.]]), array([[1.],
           [1.]]), array([[2., 0.],
           [1., 1.]]))
    """

    jitter: float

    def __init__(self, K: Array, name: str = "the matrix") -> None:
        n = len(K)
        self._L: Array = K if K.flags.f_contiguous else K.T
        self._diagonal: Array = K.diagonal().copy()
        mean = float(np.sum(self._diagonal / n, dtype=np.float64))
        most = _MOST_JITTER * mean
        jitters = np.append(0.0, epsilon(K) * mean * 10.0 ** np.arange(10))
        # none where the mean is NaN, which LAPACK may not find
        found = lapack.factorise_shifted(self._L, jitters[jitters <= most])
        if found is None:
            raise ValueError(
                f"{name} is indefinite: adding {most:.1e} (1e-6 of its mean diagonal) does not make it positive "
                "definite; use a positive definite kernel or a larger ridge."
            )
        self.jitter = found
        notify("Cholesky factor", order=n)
        if found:
            warn(
                f"{name} is not positive definite to working precision; jitter {found:.1e}, a share of "
                f"{found / mean:.0e} of its mean diagonal, was added. Repeated points or a tiny ridge cause "
                "this."
            )

    def __matmul__(self, V: Array) -> Array:
        """Return the product of K, without jitter, with V (n, p)."""
        (symm,) = scipy.linalg.get_blas_funcs(("symm",), (self._L,))
        own = self._L.diagonal().copy()
        # the root of a small diagonal is far larger: a difference of products with both would be rounding
        np.fill_diagonal(self._L, self._diagonal)
        product = symm(1.0, self._L, V, lower=0)
        np.fill_diagonal(self._L, own)
        return product

    def solve(self, B: Array) -> Array:
        """Return X (n, p) with L L' X = B."""
        return scipy.linalg.cho_solve((self._L, True), B, check_finite=False)

    def factor(self) -> Array:
        """Return L, lower triangular in Fortran order, in place of K."""
        lapack.clear_upper(self._L)
        return self._L


class LeftOut(NamedTuple):
    """Residuals y_i - f_(-i)(x_i) (m, p) of fits without point i, and the coefficients (n, p) of the fit to all."""

    residuals: Array
    coef: Array


def leave_one_out(K: Array, ridge: float | Array, Y: Array, first: int = 0) -> LeftOut:
    r"""Return the solution A of (K + diag(ridge)) A = Y, and its leave-one-out residuals without cancellation.

    Residuals are those of the points from ``first`` on, whose part of L^-1 is the inverse of that part of L.

    .. math:: r_i = a_i / (C^{-1})_{ii}, \qquad (C^{-1})_{ii} = \sum_j (L^{-1})_{ji}^2, \qquad C = K + \rho = L L'

    (Rasmussen and Williams 2006, eq. 5.12). (n^3 + m^3) / 3 operations for m residuals, and copies of K and of their
    part. Raises a LinAlgError unless C is positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.cholesky import leave_one_out
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])                  # without the first point f(x) = k(x, x_2) / 2
    >>> leave_one_out(K, 1.0, np.array([[1.0], [1.0]])).residuals[0]
    array([0.75])
    """
    L = K.T.copy(order="F")
    L[np.diag_indices_from(L)] += ridge
    with serial_blas:
        lapack.factorise(L)
        coef = scipy.linalg.cho_solve((L, True), Y, check_finite=False)
        own = np.asfortranarray(L[first:, first:])
        lapack.invert(own)
    lapack.clear_upper(own)
    return LeftOut(coef[first:] / np.einsum("ij,ij->j", own, own)[:, None], coef)
