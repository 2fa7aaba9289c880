"""Structured, the base class of kernels on strings, sets, graphs and sequences; features and loops over pairs."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, ArrayLike, shown
from mercer._compute.compile import compiled
from mercer._compute.loops import mirror
from mercer._compute.objects import Objects, as_objects
from mercer._compute.threads import run_tasks
from mercer.kernels.base import Kernel, Tags

if TYPE_CHECKING:
    from mercer._compute.points import Points
    from mercer._compute.tile import Tile

# Elementary steps of a compiled call, about 0.1 s, after which Ctrl-C is noticed.
_STEPS = 30_000_000
# Features of two blocks are multiplied as dense matrices if the product of their shares of nonzero entries is at least
# this, and if they have at most so many entries: a step of BLAS takes a twentieth of a step of the sparse loop.
_DENSE_SHARE, _DENSE_ENTRIES = 0.05, 1 << 24


@dataclass(frozen=True, eq=False)
class Structured(Kernel):
    """Base class of kernels on objects; subclasses state ``_checked``, ``_compute_features`` and ``_values``."""

    # The remedy for points of different kinds, for errors.
    _remedy: ClassVar[str] = ""

    @property
    def tags(self) -> Tags:
        """Positive semidefinite, on objects, without gradient."""
        return Tags(positive_semidefinite=True, points="objects", differentiable=False)

    def admit(self, points: Any, name: str) -> Any:
        points = as_objects(points, name)
        key = type(self), self, "admitted"
        if key not in points.memo:
            # points taken from admitted ones have their values of each point, and are not copied again
            admitted = points if key in points.values else self._admitted(points, name)
            admitted.values[key] = np.ones(len(points), bool)
            points.memo[key] = admitted
        return points.memo[key]

    def _admitted(self, points, name):
        checked = [self._checked(point, f"{name}[{i}]") for i, point in enumerate(points)]
        kinds = list(map(self._kind, checked))
        other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), 0)
        self._require_one_kind(f"{name}[{other}]", kinds[other], f"{name}[0]", kinds[0])
        return points if all(map(operator.is_, checked, points)) else Objects(checked)

    def _checked(self, point, name):
        """Return an object in the form that the kernel computes with, or raise an error that starts with ``name``.

        It shares nothing with the object that the user may change.
        """
        raise NotImplementedError

    def _kind(self, point):
        """Return a description that all points must share, such as "of type str"."""
        return ""

    def _require_one_kind(self, left, left_kind, right, right_kind):
        if left_kind != right_kind:
            raise ValueError(f"{left} is {left_kind}, but {right} is {right_kind}; {self._remedy}.")

    def unresolved(self) -> tuple[str, Any] | None:
        # strings among the parameters are values, not rules
        return None

    def evaluate(self, tile: Tile) -> Array:
        self._require_comparable(tile.X, tile.Z)
        return self._values(tile)

    def _require_comparable(self, X, Z):
        # a composite may keep points in the form of another part
        left, right = self._checked(X.container[0], "X[0]"), self._checked(Z.container[0], "Z[0]")
        self._require_one_kind("X[0]", self._kind(left), "Z[0]", self._kind(right))

    def _values(self, tile):
        """Return the values of a tile of points of one kind."""
        raise NotImplementedError

    def _features(self, points):
        """Return the features of ``Points``, computed once for a block and the points taken from it."""
        return points.per_point(
            (self, "features"), lambda block: self._compute_features(self.admit(block.container, "X"))
        )

    def _compute_features(self, points):
        """Return features of a list of objects, in a form with ``take_rows``."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Counting(Structured):
    """Base class of kernels <phi(x), phi(z)> with sparse features, which ``_compute_features`` returns."""

    explicit: ClassVar[bool] = True

    def _values(self, tile):
        return inner_products(self._features(tile.X), self._features(tile.Z))

    def diagonal(self, points: Points) -> Array:
        return squared_norms(self._features(points).matrix)

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        self._require_comparable(X, Z)
        X, Z = self._features(X), self._features(Z)
        return multiply_columns([X.in_columns_of(Z), Z.matrix.T], V)


def require_hashable(members: Any, name: str) -> None:
    """Raise a TypeError that names the first member which is not hashable."""
    bad = next(((i, member) for i, member in enumerate(members) if not isinstance(member, Hashable)), None)
    if bad is not None:
        raise TypeError(
            f"{name}[{bad[0]}] must be hashable, got {shown(bad[1])} of type {type(bad[1]).__name__}; use tuples or "
            "strings."
        )


def as_tokens(point: Any, name: str) -> Any:
    """Return a one-dimensional array as a list of tokens, or raise a TypeError for floats; other points unchanged."""
    if not (isinstance(point, np.ndarray) and point.ndim == 1):
        return point
    if point.dtype.kind in "fc":
        raise TypeError(
            f"{name} is an array of dtype {point.dtype}, a row of numbers, but must hold tokens; use a kernel on rows, "
            "such as mercer.Gaussian, or an array of whole numbers."
        )
    return point.tolist()


class Vocabulary(dict[Any, int]):
    """Columns of features by their keys."""

    def columns_of(self, other: Iterable[Any]) -> Array:
        """Return the column here of each column of another vocabulary; -1 for unknown keys."""
        return np.fromiter((self.get(key, -1) for key in other), np.int64, len(other))


class Features:
    """Sparse features of a block of objects.

    Parameters
    ----------
    matrix : CSR array (n, D)
        With sorted columns.
    vocabulary : Vocabulary
        Of another block, to which the columns are compared.
    """

    matrix: Array
    vocabulary: Any

    def __init__(self, matrix: ArrayLike, vocabulary: Any) -> None:
        self.matrix, self.vocabulary = matrix, vocabulary

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def take_rows(self, rows: Array | slice) -> Features:
        """Return the features of some of the objects."""
        return Features(self.matrix[rows], self.vocabulary)

    @cached_property
    def transposed(self) -> Any:
        """The transposed matrix (D, n) in CSR."""
        return self.matrix.T.tocsr()

    def in_columns_of(self, other: Features) -> Any:
        """Return the matrix of these features in the columns of other features; unknown features are left out."""
        if self.vocabulary is other.vocabulary:
            return self.matrix
        columns = other.vocabulary.columns_of(self.vocabulary)
        known = np.flatnonzero(columns >= 0)
        shape = len(self.vocabulary), len(other.vocabulary)
        selection = sp.csr_array((np.ones(len(known)), (known, columns[known])), shape)
        matrix = (self.matrix @ selection).tocsr()
        matrix.sort_indices()
        return matrix


def count_features(bags: Any) -> Features:
    """Return the features of objects, given as the keys of each: the number of times that a key occurs."""
    counter = itertools.count()
    vocabulary = defaultdict(counter.__next__)
    indices, ends = [], [0]
    for keys in bags:
        indices.extend(map(vocabulary.__getitem__, keys))
        ends.append(len(indices))
    return Features(add_up(np.ones(len(indices)), indices, ends, len(vocabulary)), Vocabulary(vocabulary))


def weigh_features(mappings: Any) -> Features:
    """Return the features of objects, given as mappings from keys to weights."""
    counted = count_features(mappings)
    # each key of a mapping is one entry, in the order of the mappings
    columns = counted.vocabulary.columns_of([key for mapping in mappings for key in mapping])
    weights = np.array([weight for mapping in mappings for weight in mapping.values()], np.float64)
    ends = np.cumsum([0, *map(len, mappings)])
    return Features(add_up(weights, columns, ends, len(counted.vocabulary)), counted.vocabulary)


def add_up(values: Array, indices: ArrayLike, ends: ArrayLike, width: int) -> Any:
    """Return a CSR matrix with sorted columns; values of row i at one column, up to ``ends[i + 1]``, are added."""
    matrix = sp.csr_array((values, np.array(indices, np.int64), np.array(ends, np.int64)), (len(ends) - 1, width))
    matrix.sum_duplicates()
    return matrix


def inner_products(X: Features, Z: Features) -> Array:
    """Return the inner products (n, m) of two blocks of features, exactly symmetric for one block."""
    return multiply_features(X.in_columns_of(Z), Z)


def multiply_features(rows: Any, Z: Features) -> Array:
    """Return rows Z' (n, m) for a CSR matrix of rows in the columns of the features Z; exactly symmetric for Z."""
    whole = rows is Z.matrix
    if _share(rows) * _share(Z.matrix) >= _DENSE_SHARE and max(rows.shape[0], len(Z)) * rows.shape[1] <= _DENSE_ENTRIES:
        dense = Z.matrix.toarray()
        return (dense if whole else rows.toarray()) @ dense.T
    out, other = np.zeros((rows.shape[0], len(Z))), Z.transposed
    # steps up to the end of each row
    steps = np.concatenate([[0], np.cumsum(np.diff(other.indptr)[rows.indices])])[rows.indptr[1:]]
    cuts = np.searchsorted(steps, np.arange(_STEPS, steps[-1], _STEPS), side="right")
    ends = np.unique([0, *cuts, len(out)])
    arrays = (*_arrays(rows), *_arrays(other))
    run_tasks(lambda i: _add_products(*arrays, ends[i], ends[i + 1], whole, out), len(ends) - 1)
    return mirrored(out) if whole else out


def multiply_columns(matrices: list[Any], V: Array) -> Array:
    """Return the product of sparse matrices and a block V (m, p), with intermediates of at most 2^24 entries."""
    step = max(1, _DENSE_ENTRIES // max(matrix.shape[0] for matrix in matrices))
    blocks = (V[:, j : j + step] for j in range(0, max(1, V.shape[1]), step))
    return np.concatenate([functools.reduce(lambda B, A: A @ B, reversed(matrices), B) for B in blocks], axis=1)


def mirrored(values: Array) -> Array:
    """Return values (n, n) with the lower triangle copied to the upper one, in place."""
    mirror(values, 0, len(values))
    return values


def squared_norms(matrix: Any) -> Array:
    """Return the squared norms of the rows of a sparse matrix."""
    squares = sp.csr_array((matrix.data**2, matrix.indices, matrix.indptr), matrix.shape)
    return squares @ np.ones(matrix.shape[1])


def _share(matrix):
    """Return the share of nonzero entries of a matrix."""
    return matrix.nnz / max(1, matrix.shape[0] * matrix.shape[1])


def _arrays(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


@compiled
def _add_products(x_ptr, x_columns, x_values, z_ptr, z_columns, z_values, start, stop, below, out):
    """Add the products of rows start .. stop of a CSR matrix with a transposed one, or those up to the diagonal."""
    for i in range(start, stop):
        last = i if below else out.shape[1]
        for a in range(x_ptr[i], x_ptr[i + 1]):
            row, value = x_columns[a], x_values[a]
            for b in range(z_ptr[row], z_ptr[row + 1]):
                if z_columns[b] > last:
                    break
                out[i, z_columns[b]] += value * z_values[b]


def fill_pairs(tile: Tile, work: float, fill: Callable[..., Any]) -> Array:
    """Return the values (n, m) of a tile, of which ``fill(rows, columns, block)`` writes a block, on several threads.

    ``work`` is the number of elementary steps of a pair. For one block of points with itself only blocks on and below
    the diagonal are filled, and mirrored.
    """
    n, m = len(tile.X), len(tile.Z)
    out = np.empty((n, m))
    side = int(max(1, min(1024, (_STEPS / max(1, work)) ** 0.5)))
    whole = tile.X is tile.Z
    blocks = [
        (slice(i, min(i + side, n)), slice(j, min(j + side, m)))
        for i in range(0, n, side)
        for j in range(0, m, side)
        if not whole or j <= i
    ]
    run_tasks(lambda b: fill(*blocks[b], out[blocks[b]]), len(blocks))
    return mirrored(out) if whole else out


def fill_diagonal(n: int, fill: Callable[..., Any]) -> Array:
    """Return the values (n,) of points with themselves, written by ``fill`` as in ``fill_pairs``."""
    out = np.empty(n)
    run_tasks(lambda i: fill(slice(i, i + 1), slice(i, i + 1), out[i : i + 1, None]), n)
    return out
