"""Layout and votes of several binary classifiers: pairs of classes, or each class against the rest.

Points are sorted by class. Two classes have one binary classifier, in which class 1 is positive. Several classes have
one for each pair i < j, in which i is positive, or one for each class against the rest. The coefficients of pairs are
packed: a point of class i is in c - 1 pairs, and column k of its coefficients belongs to the k-th other class. A table
of all points and all pairs, c / 2 times as large, is made for those who ask for it only.
"""

import functools
import itertools
from typing import Any

import numpy as np

from mercer._common import Array, record
from mercer._compute.compile import compiled
from mercer._compute.costs import TOGETHER_VARIABLES
from mercer.solvers.svm.dual import Dual, Joined, groups

# --- binary classifiers ----------------------------------------------------------------------------------------------


@record
class Subproblems(Joined):
    """Binary classifiers over points sorted by class, one or several.

    Coefficients of all classifiers are either joined, one after the other (sum of sizes,), or a block with a row for
    each point: of c - 1 columns for pairs, of one column for each classifier otherwise.

    Attributes
    ----------
    points : int array (sum of sizes,)
        The points that each classifier sees.
    sign : float64 array (sum of sizes,)
        1 for its positive class, -1 otherwise.
    runs, columns : int array (m, p)
        Numbers of its consecutive points that other classifiers see as well, and their column in a block.
    stops : int array (m + 1,)
        Points of classifier k are ``stops[k]`` to ``stops[k + 1]``.
    """

    _variables = "points", "sign"
    _numbers = "runs", "columns"

    points: np.ndarray
    sign: np.ndarray
    runs: np.ndarray
    columns: np.ndarray
    stops: np.ndarray

    def duals(self, C: Array) -> Dual:
        """Return the duals for upper bounds C (n,) of all points, starting from 0."""
        bound = C[self.points]
        bound *= self.sign
        lower = np.minimum(bound, 0)
        upper = np.maximum(bound, 0, out=bound)
        start = np.zeros(len(bound))
        return Dual(self.sign, lower, upper, start, self.points, stops=self.stops)

    def block(self, joined: Array) -> Array:
        """Return joined coefficients as a block."""
        if self.columns.shape[1] == 1:
            # each classifier sees all points in order
            return np.ascontiguousarray(joined.reshape(len(self), -1).T)
        found = np.zeros((int(self.points.max()) + 1, int(self.columns.max()) + 1))
        for own, columns in self._places():
            found[self.points[own], columns] = joined[own]
        return found

    def joined(self, block: Array) -> Array:
        """Return the coefficients in a block, or other numbers of the same layout, as joined ones."""
        return np.concatenate([block[self.points[own], columns] for own, columns in self._places()])

    def _places(self):
        """Yield some variables at a time, and their columns in a block."""
        for some in groups(self.stops, TOGETHER_VARIABLES):
            own = slice(self.stops[some.start], self.stops[some.stop])
            yield own, self.columns[some].ravel().repeat(self.runs[some].ravel())


def subproblems(counts: Array, multi_class: str) -> Subproblems:
    """Return the binary classifiers of classes with so many points each (c,)."""
    counts = np.asarray(counts)
    if is_paired(len(counts), multi_class):
        first, second = _pairs(len(counts))
        pairs = np.array([first, second]).T
        runs = counts[pairs]
        starts = (counts.cumsum() - counts)[pairs]
        points = _consecutive(starts.ravel(), runs.ravel())
        sign = np.tile([1.0, -1.0], len(pairs)).repeat(runs.ravel())
        # class i is among the others of j at place i, and class j among those of i at place j - 1
        columns = np.array([second - 1, first]).T
        stops = np.append(0, runs.sum(axis=1).cumsum())
    else:
        signs = class_signs(len(counts), multi_class).T.repeat(counts, axis=1)
        m, n = signs.shape
        points = np.arange(m * n) % n
        sign = signs.ravel()
        runs = np.full((m, 1), n)
        columns = np.arange(m)[:, None]
        stops = n * np.arange(m + 1)
    return Subproblems(points, sign, runs, columns, stops)


def _consecutive(starts, sizes):
    """Return consecutive numbers from each start on, one run after the other."""
    found = (starts - (sizes.cumsum() - sizes)).repeat(sizes)
    found += np.arange(len(found))
    return found


# --- layout ----------------------------------------------------------------------------------------------------------


def is_paired(n_classes: int, multi_class: str) -> bool:
    """Whether there is a binary classifier for each pair of classes."""
    return multi_class == "ovo" and n_classes > 2


def is_packed(n_classes: int, multi_class: str, n_columns: int) -> bool:
    """Whether coefficients with so many columns are packed: those of pairs that are not have a column for each."""
    return is_paired(n_classes, multi_class) and n_columns == n_classes - 1


@functools.lru_cache(maxsize=8)
def _pairs(n_classes):
    """Return the first and the second class of all pairs in the order of their binary classifiers."""
    return np.triu_indices(n_classes, 1)


def class_signs(n_classes: int, multi_class: str) -> Array:
    """Return the sign of each class in each binary classifier (c, m): 1, -1, or 0 if the class does not take part."""
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    if multi_class == "ovr":
        return 2 * np.eye(n_classes) - 1
    first, second = _pairs(n_classes)
    signs = np.zeros((n_classes, len(first)))
    signs[first, np.arange(len(first))] = 1
    signs[second, np.arange(len(first))] = -1
    return signs


def class_slices(counts: Array) -> list[slice]:
    """Return the points of each class as slices, from their numbers."""
    stops = np.cumsum(counts).tolist()
    return [slice(*pair) for pair in itertools.pairwise([0, *stops])]


def pair_columns(n_classes: int) -> Array:
    """Return the pairs that the packed columns of each class belong to (c, c - 1)."""
    first, second = _pairs(n_classes)
    columns = np.empty((n_classes, n_classes - 1), int)
    columns[first, second - 1] = columns[second, first] = np.arange(len(first))
    return columns


@functools.lru_cache(maxsize=8)
def pair_places(n_classes: int) -> tuple[Array, Array]:
    """Return the two columns of each pair among the packed columns of all classes side by side (c (c - 1),)."""
    first, second = _pairs(n_classes)
    width = n_classes - 1
    return first * width + second - 1, second * width + first


def unpack(packed: Array, counts: Array) -> Array:
    """Return packed coefficients (n, c - 1) with one column for each pair, for classes with so many points each."""
    c = len(counts)
    full = np.zeros((len(packed), c * (c - 1) // 2), packed.dtype)
    np.put_along_axis(full, np.repeat(pair_columns(c), counts, axis=0), packed, axis=1)
    return full


def coefficients_beside(packed: Array, codes: Array, own: int) -> Array:
    """Return the coefficients by which packed ones enter the pairs of the class ``own`` (n, c - 1), 0 in other pairs.

    ``codes`` (n,) are the classes of the points.
    """
    found = np.where((codes == own)[:, None], packed, 0)
    other = np.flatnonzero(codes != own)
    found[other, codes[other] - (codes[other] > own)] = packed[other, own - (codes[other] < own)]
    return found


# --- decision values and votes ---------------------------------------------------------------------------------------


def pair_values(products: Array, n_classes: int) -> Array:
    """Return the values of all pairs (n, m), m = c (c - 1) / 2, without biases.

    ``products`` (n, c (c - 1)) are those of each class with all columns of its packed coefficients: each pair adds two
    columns. That costs n n_sv (2 d + 2 c) operations, where unpacked coefficients cost n n_sv (2 d + c^2).
    """
    first, second = pair_places(n_classes)
    values = products.take(first, axis=1)
    values += products.take(second, axis=1)
    return values


def votes(values: Array, n_classes: int) -> Array:
    """Return how many pairs each class wins (n, c), from the decision values of all pairs."""
    return _count(values > 0, n_classes)


def class_values(values: Array, n_classes: int) -> Array:
    """Return one decision value for each class (n, c): votes of pairs, and their values scaled to break equal votes."""
    sums = _signed_sums(values.astype(np.float64, copy=False), n_classes)
    return (_count(values >= 0, n_classes) + sums / (3 * (np.abs(sums) + 1))).astype(values.dtype)


def decided(model: Any, values: Array) -> Array:
    """Return the indices of the classes that decision values of a fitted classifier, or signs, are for."""
    return decide(values, len(model.classes_), model.multi_class, model.break_ties)


def decide(values: Array, n_classes: int, multi_class: str, break_ties: bool = False) -> Array:
    """Return the index of the class that the decision values of all binary classifiers (n, m) are for."""
    if n_classes == 2:
        return (values[:, 0] > 0).astype(int)
    if not is_paired(n_classes, multi_class):
        return values.argmax(axis=1)
    return (class_values if break_ties else votes)(values, n_classes).argmax(axis=1)


def _count(won, n_classes):
    """Return the votes for each class: a pair that its first class does not win is a vote for the second."""
    # class i ends i pairs
    return (_signed_sums(won, n_classes) + np.arange(n_classes)).astype(int)


def _signed_sums(values, n_classes):
    """Return the sums of the values of pairs over those that a class begins minus those that it ends (n, c)."""
    sums = np.zeros((len(values), n_classes))
    _add_signed(np.ascontiguousarray(values), sums)
    return sums


@compiled
def _add_signed(values, sums):
    """Add the value of each pair to the sum of its first class, and subtract it from that of its second class."""
    n_classes = sums.shape[1]
    for t in range(values.shape[0]):
        k = 0
        for i in range(n_classes):
            total = 0.0
            for j in range(i + 1, n_classes):
                total += values[t, k]
                sums[t, j] -= values[t, k]
                k += 1
            sums[t, i] += total
