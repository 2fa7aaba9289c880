"""Training of several binary classifiers over shared points, on several threads."""

from __future__ import annotations

import itertools
import math
import queue
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.points import count_points
from mercer._compute.threads import count_threads, limit_threads, run_in_single_threads
from mercer.solvers.svm._solve_dual import solve_dual
from mercer.solvers.svm.correction import corrected
from mercer.solvers.svm.dual import joined, stops_of
from mercer.solvers.svm.known_rows import KnownRows, shared_blocks
from mercer.solvers.svm.linear import any_fits_linear
from mercer.solvers.svm.one_constraint import REFINED, steps_of_a_round
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.rows import THREADED
from mercer.solvers.svm.several import Solutions
from mercer.solvers.svm.whole import fits, solve_whole, wide_values, with_values
from mercer.solvers.svm.workspace import Workspace, buffer_size

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.pairs import Subproblem
    from mercer.solvers.svm.workspace import Options

# Shares of the last small duals that workers take one after the other: short tasks at the end wait little.
_SHARES = 1 / 2, 1 / 2
# Variables that are solved for at a time, more or less: arrays of a task are a small part of those of all duals.
_LONGEST = 1 << 16
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
    solutions = Solutions.empty(stops_of(duals))
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
        found = solve_whole(rows, own, workspace, limit, known)
        for k in np.flatnonzero((found.violation > workspace.tol) & (found.n_iter < workspace.max_iter)):
            found[k] = solve_dual(rows, replace(own[k], coef=found[k].coef), workspace, found[k])
        solutions[part] = found
        workspaces.put(workspace)

    # some duals show how many kernel rows a dual needs, and whether all kernel values, computed once, cost less
    trials = _trials(len(duals))
    _run(train, trials, workers)
    if reserved and _sharing_pays(rows, Solutions.joined([solutions[part] for part in trials]), sizes):
        values = rows.square(np.arange(len(rows.points)))
    _run(train, _others(trials, sizes, workers), workers)
    return corrected(rows, duals, solutions, workspaces.get())


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
    rounds = max(len(shares), math.ceil(sizes[first:last].sum() / (workers * _LONGEST)))
    shares = shares if rounds == len(shares) else [1 / rounds] * rounds
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
