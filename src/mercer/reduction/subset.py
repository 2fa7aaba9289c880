"""Shared by reduced set selection: the Gram matrix, its numerical null space, and its elimination."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer._common import Array, Memory
from mercer._compute.memory import parse_memory, require_memory
from mercer.gram import Gram
from mercer.linalg import cholesky
from mercer.reduction.base import Selection, Stage, Target


def gram(target: Target, memory: Memory, matrices: int = 1) -> Array:
    """Return the Gram matrix (n, n) of the points of a target; an indefinite one is refused with a ValueError.

    Raises a MemoryError before any computation if ``matrices`` arrays of this size exceed ``memory``.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.subset import gram
    >>> gram(Target(mc.features(mc.Linear(), np.array([[1.0], [2.0]]))), "1GB")
    array([[1., 2.],
           [2., 4.]])
    """
    lazy = Gram(target.kernel, target.points, memory=memory)
    n = lazy.shape[0]
    require_memory(
        8 * matrices * n * n,
        memory,
        f"{matrices} matrices of {n} x {n} points"
        if matrices > 1
        else f"the Gram matrix of {n} points",
        'method="pivoted" or "construct", which keep columns only, or a larger memory= of the record',
    )
    K = np.asarray(lazy.dense())
    if target.kernel.tags.positive_semidefinite is not True:
        _refuse_indefinite(target.kernel, K)
    return K


def _refuse_indefinite(kernel, K):
    n = len(K)
    least, largest = (
        scipy.linalg.eigvalsh((K + K.T) / 2, subset_by_index=[i, i], check_finite=False)[0]
        for i in (0, n - 1)
    )
    if least < -n * np.finfo(K.dtype).eps * max(largest, -least):
        raise ValueError(
            f"{type(kernel).__name__} is indefinite on these points: its eigenvalues reach from {least:.3g} to "
            f'{largest:.3g}; selection needs norms in feature space, so use method="construct".'
        )


class Independent(NamedTuple):
    """Linearly independent features that span all others, and the coordinates of the vectors in their span.

    ``rows`` (r,) are their points in pivot order, ``factor`` (r, r) is L with K[rows, rows] = L L', and
    ``coordinates`` (r, m) is T with |psi_j|^2 = |T_j|^2 and coefficients L'^-1 T_j.
    """

    rows: np.ndarray
    factor: np.ndarray
    coordinates: np.ndarray


def independent(K: Array, coef: Array) -> Independent:
    """Return independent features by pivoted Cholesky in O(n r^2); pivots below n eps of the largest are dropped.

    The condition of L is at most about (n eps)^(-1/2), so methods update L and not the inverse of K.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.subset import independent
    >>> basis = independent(np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[1.0], [1.0]]))
    >>> basis.rows, basis.coordinates
    (array([1]), array([[3.]]))
    """
    part = cholesky.pivoted(K)
    return Independent(part.pivots, np.tril(part.factor[part.pivots]), part.factor.T @ coef)


@dataclass(frozen=True)
class Elimination(Selection):
    """Reduced set selection that drops linearly independent terms one by one, in an ``order`` of its subclass."""

    memory: str | int = "1GB"

    def __post_init__(self) -> None:
        parse_memory(self.memory)

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Any]:
        """Yield nested sets of the remaining terms."""
        basis = independent(gram(target, self.memory, 5), target.coef)
        order = self.order(basis)[:n_vectors]
        for size in range(1, len(order) + 1):
            yield Stage(target.points, order[:size])
