"""Several binary classifiers over shared points: layout of their coefficients, votes, and parallel training.

Points are sorted by class. Two classes have one binary classifier, in which class 1 is positive. Several classes have
one for each pair i < j, in which i is positive, or one for each class against the rest. The coefficients of pairs are
packed: a point of class i is in c - 1 pairs, and column k of its coefficients belongs to the k-th other class.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.threads import serial_blas, threaded_blas
from mercer.solvers.svm.dual import Dual, Duals, place_of_item


@dataclass(frozen=True)
class Subproblem:
    """A binary classifier over points sorted by class.

    Attributes
    ----------
    points : int array (k,)
        The points it sees.
    sign : float64 array (k,)
        1 for its positive class, -1 otherwise.
    parts : tuple of slice
        Runs of consecutive points among its own that other classifiers see as well.
    """

    points: np.ndarray
    sign: np.ndarray
    parts: tuple[Any, ...]

    def span(self, part: slice) -> tuple[int, int]:
        """Return the first point of a part, and the one after its last."""
        points = self.points[part]
        return int(points[0]), int(points[-1]) + 1

    def dual(self, C: Array, **options: Any) -> Dual:
        """Return the dual for upper bounds C (n,) of all points, starting from 0."""
        bound = C[self.points] * self.sign
        start = np.zeros(len(bound))
        return Dual(self.sign, np.minimum(bound, 0), np.maximum(bound, 0), start, self.points, **options)


# --- layout ----------------------------------------------------------------------------------------------------------


def is_paired(n_classes: int, multi_class: str) -> bool:
    """Whether there is a binary classifier for each pair of classes."""
    return multi_class == "ovo" and n_classes > 2


def is_packed(n_classes: int, multi_class: str, n_columns: int) -> bool:
    """Whether coefficients with so many columns are packed: those of pairs that are not have a column for each."""
    return is_paired(n_classes, multi_class) and n_columns != n_classes * (n_classes - 1) // 2


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs i < j of classes in the order of their binary classifiers."""
    return list(itertools.combinations(range(n_classes), 2))


@functools.lru_cache(maxsize=8)
def class_signs(n_classes: int, multi_class: str) -> Array:
    """Return the sign of each class in each binary classifier (c, m): 1, -1, or 0 if the class does not take part."""
    if n_classes == 2:
        signs = np.array([[-1.0], [1.0]])
    elif multi_class == "ovr":
        signs = 2 * np.eye(n_classes) - 1
    else:
        first, second = _pairs(n_classes)
        signs = np.zeros((n_classes, len(first)))
        signs[first, np.arange(len(first))] = 1
        signs[second, np.arange(len(first))] = -1
    # one array for all callers
    signs.flags.writeable = False
    return signs


@functools.lru_cache(maxsize=8)
def _pairs(n_classes):
    return np.triu_indices(n_classes, 1)


class Subproblems(Sequence[Subproblem]):
    """Binary classifiers over points sorted by class; one is made when it is taken.

    Attributes
    ----------
    points, sign : int and float64 array (sum of sizes,)
        Those of all classifiers, one after the other.
    stops : int array (m + 1,)
        Variables of classifier k are ``stops[k]`` to ``stops[k + 1]``.
    """

    def __init__(self, points: Array, sign: Array, sizes: Array) -> None:
        """Take the sizes (m, p) of the parts of each classifier."""
        self.points, self.sign, self._sizes = points, sign, sizes
        self.stops: Array = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])

    def __len__(self) -> int:
        return len(self._sizes)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(len(self))[k]]
        own = place_of_item(self, k)
        ends = np.cumsum(self._sizes[k]).tolist()
        parts = tuple(slice(*pair) for pair in itertools.pairwise([0, *ends]))
        return Subproblem(self.points[own], self.sign[own], parts)


def subproblems(counts: Array, multi_class: str) -> Subproblems:
    """Return the binary classifiers of classes with so many points each (c,)."""
    counts, n = np.asarray(counts), int(np.sum(counts))
    if not is_paired(len(counts), multi_class):
        signs = np.repeat(class_signs(len(counts), multi_class), counts, axis=0)
        m = signs.shape[1]
        return Subproblems(np.tile(np.arange(n), m), signs.T.ravel(), np.full((m, 1), n))
    pairs = np.column_stack(_pairs(len(counts)))
    sizes = counts[pairs]
    sign = np.repeat(np.tile([1.0, -1.0], len(pairs)), sizes.ravel())
    return Subproblems(_runs((np.cumsum(counts) - counts)[pairs.ravel()], sizes.ravel()), sign, sizes)


def _runs(starts, sizes):
    """Return consecutive numbers from each start on, one run after the other."""
    return np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def class_slices(counts: Array) -> list[slice]:
    """Return the points of each class as slices, from their numbers."""
    stops = np.cumsum(counts)
    return [slice(int(stop - count), int(stop)) for stop, count in zip(stops, counts, strict=True)]


def pack(coef: Array, counts: Array, multi_class: str) -> Array:
    """Return the coefficients of all binary classifiers, one after the other, as one block.

    It is (n, c - 1) for pairs, (n, m) otherwise.
    """
    counts, n = np.asarray(counts), int(np.sum(counts))
    if not is_paired(len(counts), multi_class):
        return np.ascontiguousarray(coef.reshape(-1, n).T)
    first, second = _pairs(len(counts))
    packed = np.zeros((n, len(counts) - 1))
    sizes = counts[np.column_stack([first, second])].ravel()
    columns = np.repeat(np.column_stack([second - 1, first]), sizes)
    packed[subproblems(counts, multi_class).points, columns] = coef
    return packed


def pair_columns(n_classes: int) -> Array:
    """Return the pairs that the packed columns of each class belong to (c, c - 1)."""
    pair = {pair: k for k, pair in enumerate(class_pairs(n_classes))}
    return np.array([[pair[min(i, j), max(i, j)] for j in range(n_classes) if j != i] for i in range(n_classes)])


def unpack(packed: Array, counts: Array) -> Array:
    """Return packed coefficients (n, c - 1) with one column for each pair, for classes with so many points each."""
    c = len(counts)
    full = np.zeros((len(packed), c * (c - 1) // 2), packed.dtype)
    np.put_along_axis(full, np.repeat(pair_columns(c), counts, axis=0), packed, axis=1)
    return full


def pair_values(products: Array, n_classes: int) -> Array:
    """Return the decision values of all pairs (n, c (c - 1) / 2), without bias.

    ``products`` (n, c (c - 1)) are those of each class with all columns of its packed coefficients: each pair adds two
    columns. That costs n n_sv (2 d + 2 c) operations, where unpacked coefficients cost n n_sv (2 d + c^2).
    """
    i, j = _pairs(n_classes)
    width = n_classes - 1
    return np.take(products, i * width + j - 1, axis=1) + np.take(products, j * width + i, axis=1)


# --- votes -----------------------------------------------------------------------------------------------------------


def votes(values: Array, n_classes: int) -> Array:
    """Return how many pairs each class wins (n, c), from the decision values of all pairs."""
    return _count(values > 0, n_classes)


def class_values(values: Array, n_classes: int) -> Array:
    """Return one decision value for each class (n, c): votes of pairs, and their values scaled to break equal votes."""
    sums = _product(np.asarray(values, np.float64), class_signs(n_classes, "ovo").T)
    return (_count(values >= 0, n_classes) + sums / (3 * (np.abs(sums) + 1))).astype(values.dtype)


def _count(won, n_classes):
    """Return the votes for each class: a pair that its first class does not win is a vote for the second."""
    signs = class_signs(n_classes, "ovo").T.astype(np.float32)
    # a class takes part in c - 1 pairs, and each is worth 1/2 more or less than 1/2; halves are exact
    return (_product(won - np.float32(0.5), signs) + (n_classes - 1) / 2).astype(int)


def _product(values, signs):
    with serial_blas(), threaded_blas(2 * values.size * signs.shape[1]):
        return values @ signs


def decide(values: Array, n_classes: int, multi_class: str, break_ties: bool = False) -> Array:
    """Return the index of the class that the decision values of all binary classifiers (n, m) are for."""
    if n_classes == 2:
        return (values[:, 0] > 0).astype(int)
    if not is_paired(n_classes, multi_class):
        return values.argmax(axis=1)
    return (class_values if break_ties else votes)(values, n_classes).argmax(axis=1)


def duals_of(problems: Subproblems, C: Array) -> Duals:
    """Return the duals of classifiers for upper bounds C (n,) of all points, starting from 0."""
    bound = C[problems.points] * problems.sign
    lower, upper = np.minimum(bound, 0), np.maximum(bound, 0)
    return Duals(problems.sign, lower, upper, np.zeros(len(bound)), problems.points, problems.stops)
