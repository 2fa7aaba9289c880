"""Structured, the base class of kernels on strings, sets, graphs and sequences; features and loops over pairs."""

import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer._common import AnyFunction, Array, PointsLike, array_record, shown
from mercer._compute.compile import compiled
from mercer._compute.loops import mirror
from mercer._compute.memory import blocks, cut
from mercer._compute.objects import Objects, as_objects
from mercer._compute.points import Points
from mercer._compute.threads import run_tasks
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, kernel_class, require_rows

# Elementary steps of a compiled call, about 0.1 s, after which Ctrl-C is noticed.
_STEPS = 30_000_000
# Features of two blocks are multiplied as dense matrices if the product of their shares of nonzero entries is at least
# this, and if they have at most so many entries: a step of BLAS takes a twentieth of a step of the sparse loop.
_DENSE_SHARE = 0.05
_DENSE_ENTRIES = 1 << 24


@kernel_class
class Structured(Kernel):
    """Base class of kernels on objects; subclasses state ``_checked``, ``_compute_features`` and ``_values``."""

    # The remedy for points of different kinds, for errors.
    _remedy = ""

    positive_semidefinite = True
    _tagged = {"points": "objects"}

    def admit(self, points: PointsLike, name: str) -> PointsLike:
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
        return self._values(tile, *self._both(tile.X, tile.Z))

    def _both(self, X, Z):
        """Return the features of two blocks of points, or raise unless they are of one kind."""
        # a composite may keep points in the form of another part
        left = self._checked(X.container[0], "X[0]")
        right = self._checked(Z.container[0], "Z[0]")
        self._require_one_kind("X[0]", self._kind(left), "Z[0]", self._kind(right))
        return self._features(X), self._features(Z)

    def _values(self, tile, X, Z):
        """Return the values of a tile of points of one kind, with these features."""
        raise NotImplementedError

    def _features(self, points):
        """Return the features of ``Points``, computed once for a block and the points taken from it."""
        return points.per_point(
            (self, "features"),
            lambda block: self._compute_features(self.admit(block.container, "X")),
        )

    def _compute_features(self, points):
        """Return features of a list of objects, in a form with ``take_rows``."""
        raise NotImplementedError


@kernel_class
class OverVectors(Structured):
    """Base class of kernels on objects with vectors, which have a kernel; subclasses state ``_vectors``."""

    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel of {type(self).__name__} must be a Kernel, got {shown(self.kernel)}."
            )
        require_rows(self)

    @property
    def positive_semidefinite(self) -> bool | None:
        """Whether the kernel of the vectors is positive semidefinite."""
        return self.kernel.tags.positive_semidefinite

    # the kernel may have rules
    unresolved = Kernel.unresolved

    def _resolved(self, X, sample_weight):
        vectors = [self._vectors(point) for point in self.admit(X, "X")]
        weights = None
        if sample_weight is not None:
            # that of a repeated object is the weight of each of its vectors
            weights = np.repeat(np.asarray(sample_weight, np.float64), list(map(len, vectors)))
        return {"kernel": self.kernel.resolve(np.concatenate(vectors), weights)}

    def _vectors(self, point):
        """Return the vectors of an object as rows."""
        raise NotImplementedError


@kernel_class
class Counting(Structured):
    """Base class of kernels <phi(x), phi(z)> with sparse features, which ``_compute_features`` returns."""

    explicit = True

    def _values(self, tile, X, Z):
        return inner_products(X, Z)

    def diagonal(self, points: Points) -> Array:
        return squared_norms(self._features(points).matrix)

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        X, Z = self._both(X, Z)
        return multiply_columns([X.in_columns_of(Z), Z.matrix.T], V)


@kernel_class
class Paired(Structured):
    """Base class of kernels whose values a compiled loop writes; subclasses state ``_work`` and ``_filler``."""

    def _values(self, tile, X, Z):
        return fill_pairs(tile, self._work(X, Z), self._filler(X, Z))

    def diagonal(self, points: Points) -> Array:
        X = self._features(points)
        return fill_diagonal(len(points), self._filler(X, X))

    def _work(self, X, Z):
        """Return the number of elementary steps of a pair of objects with these features."""
        raise NotImplementedError

    def _filler(self, X, Z):
        """Return the function of i, j and a block that ``fill_pairs`` takes."""
        raise NotImplementedError


def require_hashable(members: Iterable[object], name: str) -> None:
    """Raise a TypeError that names the first member which is not hashable."""
    bad = next(
        ((i, member) for i, member in enumerate(members) if not isinstance(member, Hashable)), None
    )
    if bad is not None:
        raise TypeError(
            f"{name}[{bad[0]}] must be hashable, got {shown(bad[1])} of type {type(bad[1]).__name__}; use tuples or "
            "strings."
        )


def as_members(point: object, name: str, kinds: type | tuple[type, ...], wanted: str) -> Any:
    """Return an object of hashable members, a one-dimensional array as a list, or raise unless it is of some kinds."""
    if isinstance(point, np.ndarray) and point.ndim == 1:
        if point.dtype.kind in "fc":
            raise TypeError(
                f"{name} is an array of dtype {point.dtype}, a row of numbers, but must hold tokens; give one array of "
                "all rows to a kernel on rows, such as mercer.Gaussian or mercer.sets.MinMax, or whole numbers."
            )
        point = point.tolist()
    if not isinstance(point, kinds):
        raise TypeError(
            f"{name} must be {wanted}, got {shown(point)} of type {type(point).__name__}."
        )
    if isinstance(point, (list, tuple)):
        require_hashable(point, name)
    return point


class Vocabulary(dict[Any, int]):
    """Columns of features by their keys."""

    @classmethod
    def of(cls, keys: Iterable[Any]) -> Self:
        """Return the columns of keys, which may repeat, in the order of their first places."""
        return cls(zip(dict.fromkeys(keys), itertools.count()))

    def columns_of(self, other: Iterable[Any]) -> Array:
        """Return the column here of each column of another vocabulary; -1 for unknown keys."""
        return np.fromiter((self.get(key, -1) for key in other), np.int64, len(other))


@array_record
class Joined:
    """Arrays of the objects of a block, one after the other: object i has ``values[ends[i] : ends[i + 1]]``."""

    values: np.ndarray
    ends: np.ndarray

    @cached_property
    def sizes(self) -> Array:
        """Sizes of the objects."""
        return np.diff(self.ends)

    @cached_property
    def longest(self) -> int:
        """Size of the largest object."""
        return int(self.sizes.max())

    def take_rows(self, rows: Array | slice) -> Self:
        """Return some of the objects."""
        bounds = zip(self.ends[:-1][rows].tolist(), self.ends[1:][rows].tolist(), strict=True)
        parts = [self.values[start:end] for start, end in bounds]
        return replace(self, values=np.concatenate(parts), ends=ends_of(parts))


def ends_of(parts: Iterable[Any]) -> Array:
    """Return where the first of several sequences starts, and where each of them ends, one after the other."""
    return np.cumsum([0, *map(len, parts)])


@array_record
class Coded(Joined):
    """Sequences of hashable members as the columns of the members in a vocabulary."""

    vocabulary: Vocabulary

    @classmethod
    def of(cls, sequences: Iterable[Iterable[Any]]) -> Self:
        """Return sequences with a vocabulary of their own."""
        vocabulary = defaultdict(itertools.count().__next__)
        values = []
        ends = [0]
        for sequence in sequences:
            values.extend(map(vocabulary.__getitem__, sequence))
            ends.append(len(values))
        return cls(np.array(values, np.int64), np.array(ends), Vocabulary(vocabulary))

    def recoded(self, other: "Coded") -> Self:
        """Return the sequences in the vocabulary of another block, with -1 for unknown members."""
        if self.vocabulary is other.vocabulary:
            return self
        values = other.vocabulary.columns_of(self.vocabulary)[self.values]
        return replace(self, values=values, vocabulary=other.vocabulary)


@array_record
class Features:
    """Sparse features of a block of objects.

    Parameters
    ----------
    matrix : CSR array (n, D)
        With sorted columns.
    vocabulary : Vocabulary
        Of another block, to which the columns are compared.
    """

    matrix: Any
    vocabulary: Any

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def take_rows(self, rows: Array | slice) -> Self:
        """Return the features of some of the objects."""
        return replace(self, matrix=self.matrix[rows])

    @cached_property
    def transposed(self) -> sp.csr_array:
        """The transposed matrix (D, n) in CSR."""
        return self.matrix.T.tocsr()

    def in_columns_of(self, other: "Features") -> sp.csr_array:
        """Return the matrix of these features in the columns of other features; unknown features are left out."""
        if self.vocabulary is other.vocabulary or self.vocabulary == other.vocabulary:
            return self.matrix
        columns = other.vocabulary.columns_of(self.vocabulary)
        known = np.flatnonzero(columns >= 0)
        shape = len(self.vocabulary), len(other.vocabulary)
        selection = sp.csr_array((np.ones(len(known)), (known, columns[known])), shape)
        matrix = (self.matrix @ selection).tocsr()
        matrix.sort_indices()
        return matrix


def count_features(bags: Iterable[Iterable[Hashable]]) -> Features:
    """Return the features of objects, given as the keys of each: the number of times that a key occurs."""
    coded = Coded.of(bags)
    return add_up(np.ones(len(coded.values)), coded)


def weigh_features(mappings: Sequence[Mapping[Hashable, float]]) -> Features:
    """Return the features of objects, given as mappings from keys to weights."""
    weights = np.array([weight for mapping in mappings for weight in mapping.values()], np.float64)
    return add_up(weights, Coded.of(mappings))


def add_up(weights: Array, coded: Coded) -> Features:
    """Return the features of coded sequences: the sums of the weights of equal members."""
    shape = len(coded.ends) - 1, len(coded.vocabulary)
    matrix = sp.csr_array((weights, coded.values, coded.ends.astype(np.int64)), shape)
    matrix.sum_duplicates()
    return Features(matrix, coded.vocabulary)


def inner_products(X: Features, Z: Features) -> Array:
    """Return the inner products (n, m) of two blocks of features, exactly symmetric for one block."""
    return multiply_features(X.in_columns_of(Z), Z)


def multiply_features(rows: sp.csr_array, Z: Features) -> Array:
    """Return rows Z' (n, m) for a CSR matrix of rows in the columns of the features Z; exactly symmetric for Z."""
    whole = rows is Z.matrix
    if (
        _share(rows) * _share(Z.matrix) >= _DENSE_SHARE
        and max(rows.shape[0], len(Z)) * rows.shape[1] <= _DENSE_ENTRIES
    ):
        dense = Z.matrix.toarray()
        return (dense if whole else rows.toarray()) @ dense.T
    out = np.zeros((rows.shape[0], len(Z)))
    other = Z.transposed
    steps = np.concatenate([[0], np.cumsum(np.diff(other.indptr)[rows.indices])])[rows.indptr[1:]]
    arrays = (*csr_arrays(rows), *csr_arrays(other))
    run_rows(steps, lambda start, stop: _add_products(*arrays, start, stop, whole, out))
    return mirrored(out) if whole else out


def run_rows(steps: Array, compute: Callable[[int, int], Any]) -> None:
    """Call a compiled function for parts of rows, from a start to a stop; ``steps`` are those up to each row's end."""
    cuts = np.searchsorted(steps, np.arange(_STEPS, steps[-1], _STEPS), side="right")
    ends = np.unique([0, *cuts, len(steps)])
    run_tasks(lambda i: compute(ends[i], ends[i + 1]), len(ends) - 1)


def multiply_columns(matrices: list[Any], V: Array) -> Array:
    """Return the product of sparse matrices and a block V (m, p), with intermediates of a block."""
    parts = blocks(max(1, V.shape[1]), max(matrix.shape[0] for matrix in matrices))
    return np.concatenate(
        [functools.reduce(lambda B, A: A @ B, reversed(matrices), V[:, part]) for part in parts],
        axis=1,
    )


def mirrored(values: Array) -> Array:
    """Return values (n, n) with the lower triangle copied to the upper one, in place."""
    mirror(values, 0, len(values))
    return values


def squared_norms(matrix: sp.csr_array) -> Array:
    """Return the squared norms of the rows of a sparse matrix."""
    return matrix.power(2).sum(axis=1)


def _share(matrix):
    """Return the share of nonzero entries of a matrix."""
    return matrix.nnz / max(1, matrix.shape[0] * matrix.shape[1])


def csr_arrays(matrix: sp.csr_array) -> tuple[Array, Array, Array]:
    """Return the ends of rows, the columns and the values of a matrix in CSR, for compiled loops."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


@compiled
def _add_products(x_ptr, x_columns, x_values, z_ptr, z_columns, z_values, start, stop, below, out):
    """Add the products of rows start .. stop of a CSR matrix with a transposed one, or those up to the diagonal."""
    for i in range(start, stop):
        last = i if below else out.shape[1]
        for a in range(x_ptr[i], x_ptr[i + 1]):
            row = x_columns[a]
            value = x_values[a]
            for b in range(z_ptr[row], z_ptr[row + 1]):
                if z_columns[b] > last:
                    break
                out[i, z_columns[b]] += value * z_values[b]


def fill_pairs(tile: Tile, work: float, fill: AnyFunction) -> Array:
    """Return the values (n, m) of a tile, of which ``fill(i, j, block)`` writes a block, on several threads.

    The points of a block are i, i + 1, ... of X and j, j + 1, ... of Z; ``work`` is the number of elementary steps of a
    pair. For one block of points with itself only blocks on and below the diagonal are filled, and mirrored.
    """
    n = len(tile.X)
    m = len(tile.Z)
    out = np.empty((n, m))
    side = int(max(1, min(1024, (_STEPS / max(1, work)) ** 0.5)))
    whole = tile.X is tile.Z
    pairs = itertools.product(cut(n, side), cut(m, side))
    pairs = [(i, j) for i, j in pairs if not whole or j.start <= i.start]
    run_tasks(lambda b: fill(*(part.start for part in pairs[b]), out[pairs[b]]), len(pairs))
    return mirrored(out) if whole else out


def fill_diagonal(n: int, fill: AnyFunction) -> Array:
    """Return the values (n,) of points with themselves, written by ``fill`` as in ``fill_pairs``."""
    out = np.empty(n)
    run_tasks(lambda i: fill(i, i, out[i : i + 1, None]), n)
    return out
