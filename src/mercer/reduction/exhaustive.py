"""Exhaustive: reduced set selection by a search over all subsets of the points."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import EPS, Array, check_positive, shown
from mercer._compute.compile import compiled
from mercer._compute.memory import parse_memory
from mercer.linalg import cholesky
from mercer.reduction.base import Selection, Stage, Target
from mercer.reduction.subset import gram


@dataclass(frozen=True)
class Exhaustive(Selection):
    r"""Reduced set selection (RSS): the best of all subsets of a size, for small problems and to judge other methods.

    .. math:: \max_{|S| = s} \; \sum_j |P_S \psi_j|^2

    with :math:`P_S` the projection onto the span of the selected features. With a ``tol`` of ``reduce`` the sizes 1, 2,
    ... are searched until one reaches it.

    Parameters
    ----------
    limit : float
        Largest number of subsets of one size that is searched.
    memory : str or int
        Bytes for s + 3 matrices of n x n numbers.

    Raises
    ------
    ValueError
        By ``reduce``, if there are more subsets; the message gives their number.

    Notes
    -----
    Subsets are visited in lexicographic order, and features are made orthogonal to the selected ones by rank-one
    updates, which a subset shares with all that start like it: O(n r) operations for each choice of the first s - 1
    points, r the rank of K, and O(r + m) for each subset. Of equal subsets the first is taken.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C: the search that selection by a penalty replaces.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[0.0], [0.1], [3.0], [3.2]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0], [1.0], [0.5], [0.6]]))
    >>> mc.reduce(psi, 2, method=mc.Exhaustive()).expansion.points.ravel().tolist()
    [0.0, 3.2]
    """

    limit: float = 1e6
    memory: str | int = "1GB"

    def __post_init__(self) -> None:
        check_positive("limit", self.limit)
        parse_memory(self.memory)

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Any]:
        """Yield the best set of ``n_vectors`` points, or with a tolerance the best set of every size."""
        n = len(target.values)
        sizes = range(1, n_vectors + 1) if tol else [n_vectors]
        self._require_few(n, sizes[0])
        part = cholesky.pivoted(gram(target, self.memory, sizes[-1] + 3))
        factor = np.ascontiguousarray(part.factor, np.float64)
        for size in sizes:
            self._require_few(n, size)
            yield Stage(target.points, best_subset(factor, factor.T @ target.coef, size))

    def _require_few(self, n, size):
        count = math.comb(n, size)
        if count > self.limit:
            raise ValueError(
                f"n_vectors = {size} of {n} points gives {count} subsets, more than limit = {shown(self.limit)}; use "
                "Exhaustive with a larger limit, fewer vectors, or method='greedy'."
            )


def best_subset(factor: Array, vectors: Array, size: int) -> Array:
    """Return the rows (size,) of a factor (n, r) whose span is nearest to some vectors (r, m).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.exhaustive import best_subset
    >>> best_subset(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[2.0], [2.0]]), 1)
    array([2])
    """
    n, r = factor.shape
    # rounding of the directions of features that the selected ones span
    floor = (n * EPS) ** 2 * float(np.einsum("ij,ij->i", factor, factor).max())
    left = np.empty((size, n, r))
    gains = np.empty(size)
    rows = np.empty(size, np.int64)
    best = np.array([-1.0])
    found = np.empty(size, np.int64)
    left[0] = factor
    # one call for each first point, so that Ctrl-C is answered between calls
    for first in range(n - size + 1):
        _search(left, np.ascontiguousarray(vectors), gains, rows, floor, first, best, found)
    return found


@compiled
def _search(left, vectors, gains, rows, floor, first, best, found):
    """Search the subsets that start with a point; ``best`` (1,) and ``found`` (size,) become those of a better one."""
    size, n, _ = left.shape
    last = size - 1
    gains[0] = 0.0
    level = 0
    rows[0] = first
    while level >= 0:
        i = rows[level]
        if i > n - size + level or (level == 0 and i > first):
            level -= 1
            if level >= 0:
                rows[level] += 1
        elif level == last:
            gain = gains[level] + _gain(left[level, i], vectors, floor)
            if gain > best[0]:
                best[0] = gain
                found[:] = rows
            rows[level] += 1
        else:
            gains[level + 1] = gains[level] + _gain(left[level, i], vectors, floor)
            _deflate(left, level, i, floor)
            rows[level + 1] = i + 1
            level += 1


@compiled
def _gain(direction, vectors, floor):
    """Return the squared projection of vectors (r, m) onto a direction (r,)."""
    square = 0.0
    total = 0.0
    for k in range(len(direction)):
        square += direction[k] * direction[k]
    if square <= floor:
        return 0.0
    for j in range(vectors.shape[1]):
        along = 0.0
        for k in range(len(direction)):
            along += direction[k] * vectors[k, j]
        total += along * along
    return total / square


@compiled
def _deflate(left, level, i, floor):
    """Write the later features without their parts along feature i to the next level."""
    n, r = left.shape[1:]
    square = 0.0
    for k in range(r):
        square += left[level, i, k] * left[level, i, k]
    for x in range(i + 1, n):
        along = 0.0
        if square > floor:
            for k in range(r):
                along += left[level, i, k] * left[level, x, k]
            along /= square
        for k in range(r):
            left[level + 1, x, k] = left[level, x, k] - along * left[level, i, k]
