"""Cholesky factors of positive semidefinite matrices: partial with greedy or random pivots, and complete with
jitter.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mercer._common import check_integer, check_number, warn
from mercer.linalg.generator import generator
from mercer.linalg.operators import epsilon

# Largest share of the mean diagonal that `jittered` adds.
_MOST_JITTER = 1e-6


@dataclass(frozen=True)
class PartialCholesky:
    """A low-rank factor of a positive semidefinite matrix, K = F F' + remainder.

    Attributes
    ----------
    factor : array (n, r)
        F, in float64. Rows ``pivots`` of it are lower triangular.
    pivots : integer array (r,)
        The chosen rows, in order.
    error : float
        trace(K - F F') / trace(K): the share of the trace left out. It bounds the largest eigenvalue of the remainder
        over the trace.
    """

    factor: np.ndarray
    pivots: np.ndarray
    error: float


def pivoted(gram, rank=None, tol=None):
    """Return a partial Cholesky factor, each pivot the largest diagonal entry of what remains (the lowest index of
    equals).

    n r values of the matrix and O(n r^2) operations.

    Parameters
    ----------
    gram : positive semidefinite matrix (n, n)
        With ``shape``, ``dtype``, ``diagonal()`` and ``[I, J]``: a ``Gram`` or an array.
    rank : int, optional
        Most pivots; n when left out.
    tol : float, optional
        Stop when the largest diagonal entry of the remainder is at most ``tol`` times the largest of K; n eps of the
        type of K when left out, and never less.

    Returns
    -------
    PartialCholesky

    Raises
    ------
    ValueError
        For a negative or non-finite diagonal, which no positive semidefinite matrix has.

    References
    ----------
    Harbrecht, Peters, Schneider, *On the low-rank approximation by the pivoted Cholesky decomposition* (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import cholesky
    >>> part = cholesky.pivoted(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> part.pivots, part.factor, part.error
    (array([1]), array([[1.], [2.]]), 0.0)
    """
    partial = _Partial(gram, rank, tol)
    while partial.open:
        partial.add(np.array([np.argmax(partial.diagonal)]), np.zeros(1))
    return partial.result()


def randomly_pivoted(gram, rank, rng=None, tol=None):
    """Return a partial Cholesky factor, pivots drawn with probability proportional to the diagonal of what remains.

    Pivots are proposed a block at a time and accepted by rejection sampling, so that they are distributed as if drawn
    one by one while the matrix is evaluated in blocks of columns. n r values of the matrix and O(n r^2) operations.
    The expected error of the trace is near that of the best approximation of a somewhat smaller rank.

    Parameters
    ----------
    gram : positive semidefinite matrix (n, n)
        With ``shape``, ``dtype``, ``diagonal()`` and ``[I, J]``: a ``Gram`` or an array.
    rank : int
        Most pivots.
    rng : int, RandomState, Generator or None
    tol : float, optional
        As in ``pivoted``.

    Returns
    -------
    PartialCholesky

    Raises
    ------
    ValueError
        For a negative or non-finite diagonal.

    References
    ----------
    Chen, Epperly, Tropp, Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 78 (2025), algorithm 2.1.
    Epperly, Tropp, Webber, *Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky*
    (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import cholesky
    >>> part = cholesky.randomly_pivoted(np.diag([3.0, 0.0, 1.0]), 3, rng=0)
    >>> sorted(part.pivots.tolist()), part.error
    ([0, 2], 0.0)
    """
    rng = generator(rng)
    partial = _Partial(gram, rank, tol)
    size = max(1, -(-partial.rank // 10))
    while partial.open:
        weights = partial.diagonal / partial.diagonal.sum()
        proposed = rng.choice(len(weights), size=min(size, partial.rank - partial.size), p=weights)
        partial.add(proposed, rng.uniform(size=len(proposed)) * partial.diagonal[proposed])
    return partial.result()


class _Partial:
    """A partial Cholesky factor that grows by blocks of pivots."""

    def __init__(self, gram, rank, tol):
        n = gram.shape[0]
        if rank is not None:
            check_integer("rank", rank)
        if tol is not None:
            check_number("tol", tol)
        self.gram, self.rank = gram, n if rank is None else min(rank, n)
        self.diagonal = np.array(gram.diagonal(), dtype=np.float64)
        if not (np.isfinite(self.diagonal).all() and self.diagonal.min() >= 0):
            raise ValueError(
                f"the diagonal reaches {self.diagonal.min():.3g}: a partial Cholesky factor needs a positive "
                "semidefinite matrix; an indefinite kernel has none."
            )
        self.trace, self.lost = self.diagonal.sum(), 0.0
        self.floor = max(n * epsilon(gram), tol or 0.0) * self.diagonal.max()
        # columns of the factor are kept as rows, so that a block of them lies together
        self._rows = np.empty((min(self.rank, 64), n))
        self.pivots = np.empty(0, dtype=np.intp)
        self._forget_noise()

    @property
    def size(self):
        return len(self.pivots)

    @property
    def open(self):
        return self.size < self.rank and self.diagonal.max() > 0

    @property
    def factor(self):
        return self._rows[: self.size].T

    def add(self, proposed, thresholds):
        """Add the proposed pivots of which more than the threshold remains when their turn comes; the first one
        always.
        """
        F = self.factor
        H = np.asarray(self.gram[np.ix_(proposed, proposed)], np.float64) - F[proposed] @ F[proposed].T
        # nothing remains, to the last bit, of a repeated proposal once it is accepted; if rejected it may come again
        same = proposed[:, None] == proposed
        H[same] = (same * self.diagonal[proposed])[same]
        kept, L = _eliminate(H, np.maximum(thresholds, self.floor))
        pivots = proposed[kept]
        columns = np.asarray(self.gram[:, pivots], np.float64) - F @ F[pivots].T
        rows = scipy.linalg.solve_triangular(L, columns.T, lower=True, check_finite=False)
        rows[:, self.pivots], rows[:, pivots] = 0, L.T
        self._reserve(self.size + len(pivots))
        self._rows[self.size : self.size + len(pivots)] = rows
        self.pivots = np.append(self.pivots, pivots)
        self.diagonal -= np.einsum("ij,ij->j", rows, rows)
        self.diagonal[self.pivots] = 0
        self._forget_noise()

    def _reserve(self, size):
        if size > len(self._rows):
            more = np.empty((min(self.rank, 2 * size) - len(self._rows), self._rows.shape[1]))
            self._rows = np.concatenate([self._rows, more])

    def _forget_noise(self):
        # what is below the floor is rounding; as a pivot it would spoil the factor
        noise = self.diagonal <= self.floor
        self.lost += self.diagonal[noise].clip(0).sum()
        self.diagonal[noise] = 0

    def result(self):
        left = self.diagonal.sum() + self.lost
        return PartialCholesky(self.factor.copy(), self.pivots, float(left / self.trace) if self.trace > 0 else 0.0)


def _eliminate(H, thresholds):
    """Return the rows of H whose pivot exceeds its threshold when its turn comes, and their Cholesky factor."""
    columns, kept = [], []
    for j in range(len(H)):
        if H[j, j] > thresholds[j]:
            columns.append(H[:, j] / np.sqrt(H[j, j]))
            kept.append(j)
            H = H - np.outer(columns[-1], columns[-1])
    return kept, np.tril(np.column_stack(columns)[kept])


def jittered(K):
    """Return the Cholesky factor of a symmetric matrix that is positive definite up to rounding, and the jitter it
    took.

    L L' = K + jitter I, with the first jitter of 0, then eps trace(K) / n times 1, 10, 100, ... up to 1e-6 trace(K) / n
    that succeeds. O(n^3).

    Parameters
    ----------
    K : symmetric array (n, n)
        The lower triangle is read.

    Returns
    -------
    L : array (n, n)
        Lower triangular.
    jitter : float

    Raises
    ------
    ValueError
        When the largest jitter is not enough: the matrix is indefinite.

    Warns
    -----
    UserWarning
        When jitter was added, with the amount.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import cholesky
    >>> L, jitter = cholesky.jittered(np.array([[4.0, 2.0], [2.0, 2.0]]))
    >>> L, jitter
    (array([[2., 0.], [1., 1.]]), 0.0)
    """
    mean = float(np.trace(K, dtype=np.float64)) / len(K)
    jitter, least, most = 0.0, float(np.finfo(K.dtype).eps) * mean, _MOST_JITTER * mean
    # float32 starts near the top of the ladder: it takes at least the first step
    while jitter <= max(most, least):
        try:
            L = K.copy()
            np.fill_diagonal(L, L.diagonal() + np.asarray(jitter, K.dtype))
            L = scipy.linalg.cholesky(L, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter = jitter * 10 if jitter else least
            if jitter <= 0:
                break
        else:
            if jitter:
                warn(
                    f"the matrix is not positive definite to working precision; jitter {jitter:.1e}, a share of "
                    f"{jitter / mean:.0e} of its mean diagonal, was added. Repeated points or a tiny ridge cause this.",
                )
            return L, jitter
    raise ValueError(
        f"the matrix is indefinite: adding {most:.1e} (1e-6 of its mean diagonal) does not make it positive definite; "
        "use a positive definite kernel or a larger ridge."
    )
