"""Several binary classifiers over shared points: layout of their coefficients, votes, and parallel training.

Points are sorted by class. Two classes have one binary classifier, in which class 1 is positive. Several classes have
one for each pair i < j, in which i is positive, or one for each class against the rest. The coefficients of pairs are
packed: a point of class i is in c - 1 pairs, and column k of its coefficients belongs to the k-th other class.
"""

from __future__ import annotations

import functools
import itertools
import math
import queue
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import count_points
from mercer._compute.threads import count_threads, limit_threads, run_in_single_threads, serial_blas, threaded_blas
from mercer.solvers.svm._solve_dual import solve_dual
from mercer.solvers.svm.correction import corrected
from mercer.solvers.svm.dual import Dual, joined, stops_of
from mercer.solvers.svm.known_rows import KnownRows, shared_blocks
from mercer.solvers.svm.linear import any_fits_linear
from mercer.solvers.svm.one_constraint import REFINED, steps_of_a_round
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.rows import THREADED
from mercer.solvers.svm.several import Duals, Solutions, place_of_item
from mercer.solvers.svm.whole import fits, solve_whole, wide_values, with_values
from mercer.solvers.svm.workspace import Workspace, buffer_size

if TYPE_CHECKING:
    from mercer.solvers.svm.workspace import Options

# Shares of the last small duals that workers take one after the other: short tasks at the end wait little.
_SHARES = 1 / 2, 1 / 2
# Groups of small duals after which kernel values between all points may be computed: their largest number, the fewest
# duals for each, and their size as a share of all duals.
_TRIALS, _APART, _TRIED = 3, 9, 1 / 96
# Cost of a kernel value beside its inner product, in multiplications of a product with a single row.
_VALUE = 20
# Cost of a copied kernel value in the same unit, where all values take at most ``_CACHED`` bytes, and beyond.
_COPY, _FAR = 32, 72
# Bytes that the cache of a processor may hold.
_CACHED = 1 << 25
# How many times as fast as products with single rows products of blocks are.
_BLOCKED = 3


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


# --- training --------------------------------------------------------------------------------------------------------


def solve_duals(rows: Any, duals: Sequence[Dual], problems: Sequence[Subproblem], options: Options) -> Sequence[Any]:
    """Return the solutions of the duals of several binary classifiers, several at a time on the pool of threads.

    Small duals go to compiled code together, if all values of a kernel without compiled rows fit into memory; a single
    one that is refined whatever that takes does not. For large ones, kernel values between the points of a class are
    computed once for all of them if half of the memory holds them.
    """
    widest = int(np.diff(stops_of(duals)).max())
    workers = min(count_threads(), len(duals))
    linear, several = any_fits_linear(rows, duals), len(duals) > 1
    rows = with_values(rows, duals, options, workers)
    size = buffer_size(options.budget - rows.held, widest, rows.dtype.itemsize, workers)
    if not linear and (several or widest > REFINED) and fits(rows, duals, size):
        return _solve_together(rows, duals, options, workers)
    shared = {}
    if several and not linear and all(dual.total is None and not dual.unbounded for dual in duals):
        spans = sorted({each.span(part) for each in problems for part in each.parts})
        shared = shared_blocks(rows, [slice(*span) for span in spans], options.budget // 2)
    everything = shared.get((0, count_points(rows.points)))
    if everything is not None and isinstance(rows, PlainRows):
        # a solver for some of the variables would compute values again
        rows = KnownRows(rows.kernel, rows.points, everything, rows.diagonal, rows.error)
    reserved = sum(block.nbytes for block in shared.values())
    workspaces = queue.SimpleQueue()
    for _ in range(workers):
        workspaces.put(Workspace.allocate(rows, widest, options, workers, reserved))
    solutions = [None] * len(duals)

    def train(k):
        known = [(part, shared[problems[k].span(part)]) for part in problems[k].parts] if shared else ()
        workspace = workspaces.get()
        solutions[k] = solve_dual(rows, duals[k], replace(workspace, shared=known))
        workspaces.put(workspace)

    if workers == 1:
        for k in range(len(duals)):
            train(k)
    else:
        with limit_threads(workers):
            run_in_single_threads(train, len(duals))
    return solutions


def _solve_together(rows, duals, options, workers):
    """Return the solutions of small duals: each task solves several in compiled code, and finishes hard ones alone."""
    sizes = np.diff(stops_of(duals)).astype(float)
    found = {}
    values = None
    workers = workers if sizes @ sizes * (rows.width + _VALUE) >= THREADED else 1
    reserved = _shared_bytes(rows, duals, options, workers)
    workspaces = queue.SimpleQueue()
    for _ in range(workers):
        workspaces.put(Workspace.allocate(rows, int(sizes.max()), options, workers, reserved))

    def train(part):
        workspace = workspaces.get()
        limit = min(workspace.max_iter, steps_of_a_round(int(sizes.max())))
        own = duals[part]
        known = values if len(duals) > 1 else wide_values(rows, own[0], workspace)
        found[part.start] = solutions = solve_whole(rows, own, workspace, limit, known)
        for k in np.flatnonzero((solutions.violation > workspace.tol) & (solutions.n_iter < workspace.max_iter)):
            solutions[k] = solve_dual(rows, replace(own[k], coef=solutions[k].coef), workspace, solutions[k])
        workspaces.put(workspace)

    # some duals show how many kernel rows a dual needs, and whether all kernel values, computed once, cost less
    trials = _trials(len(duals))
    _run(train, trials, workers)
    if reserved and _sharing_pays(rows, Solutions.joined([found[k] for k in sorted(found)]), sizes):
        values = rows.square(np.arange(len(rows.points)))
    _run(train, _others(trials, sizes, workers), workers)
    return corrected(rows, duals, Solutions.joined([found[k] for k in sorted(found)]), workspaces.get())


def _shared_bytes(rows, duals, options, workers):
    """Return the bytes of the kernel values between all points, 0 if memory does not hold them or they save nothing."""
    if rows.held or len(duals) == 1:
        return 0
    needed = len(rows.points) ** 2 * rows.dtype.itemsize
    widest = int(np.diff(stops_of(duals)).max())
    left = buffer_size(max(options.budget - needed, 0), widest, rows.dtype.itemsize, workers)
    return needed if 2 * needed <= options.budget and fits(rows, duals, left) else 0


def _sharing_pays(rows, solutions, sizes):
    """Whether rows for the remaining duals, as many as the solutions needed, cost more than all kernel values."""
    own = np.diff(stops_of(solutions)).astype(float)
    used = joined(solutions, "n_rows")
    left, half = np.sum(sizes**2) - np.sum(own**2), 0.5 * len(rows.points) ** 2
    needed = left * np.sum(own * used) / np.sum(own**2)
    copy = _COPY if 2 * half * rows.dtype.itemsize <= _CACHED else _FAR
    return needed * (rows.width + _VALUE) > half * (rows.width / _BLOCKED + _VALUE) + left * copy


def _trials(n):
    """Return some of n duals as slices, evenly spaced: neighbours are pairs of the same class."""
    number = max(1, min(_TRIALS, n // _APART))
    length = math.ceil(_TRIED * n)
    starts = [(2 * k + 1) * n // (2 * number) for k in range(number)]
    return [slice(start, start + length) for start in starts]


def _others(trials, sizes, workers):
    """Return the duals between those that were tried as slices."""
    starts, stops = [0, *(each.stop for each in trials)], [*(each.start for each in trials), len(sizes)]
    gaps = list(zip(starts, stops, strict=True))
    # two gaps at a time keep all workers busy
    parts = [_parts(*gap, sizes, [1], (workers + 1) // 2) for gap in gaps[:-1]]
    return list(itertools.chain(*parts, _parts(*gaps[-1], sizes, [1] if workers == 1 else _SHARES, workers)))


def _parts(first, last, sizes, shares, workers):
    """Return duals ``first`` to ``last`` as slices, for each share of the work as many of equal work as workers."""
    work = np.cumsum(sizes[first:last] ** 2)
    ends = np.cumsum(np.repeat(shares, workers)) / workers
    cuts = first + np.searchsorted(work, ends[:-1] * work[-1:].sum()) + 1
    ends = [first, *np.minimum(cuts, last).tolist(), last]
    return [slice(start, stop) for start, stop in itertools.pairwise(ends) if start < stop]


def _run(train, parts, workers):
    """Call ``train`` for each of some parts, on several threads."""
    if workers == 1:
        for part in parts:
            train(part)
    else:
        with limit_threads(workers):
            run_in_single_threads(lambda k: train(parts[k]), len(parts))
