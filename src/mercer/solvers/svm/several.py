"""Several duals over shared points: small ones in few compiled calls, shared kernel values, threads."""

from __future__ import annotations

import itertools
import math
import queue
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.costs import (
    BLOCKED,
    COPIED_VALUE,
    FAR_VALUE,
    KERNEL_VALUE,
    SHARED_CACHE,
    THREADED,
    TOGETHER_VARIABLES,
)
from mercer._compute.threads import count_threads, limit_threads, run_in_single_threads
from mercer.solvers.svm.dual import Duals, Solutions
from mercer.solvers.svm.engine import Memory, fits_small
from mercer.solvers.svm.large import solve_alone, solve_several
from mercer.solvers.svm.linear import steps_before_newton
from mercer.solvers.svm.options import Limits

if TYPE_CHECKING:
    from mercer.solvers.svm.options import Goal, Options
    from mercer.solvers.svm.rows import Rows

# Shares of the last small duals that workers take one after the other: short tasks at the end wait little.
_SHARES = 1 / 2, 1 / 2
# Groups of small duals after which kernel values between all points may be computed: their largest number, the fewest
# duals for each, and their size as a share of all duals.
_TRIALS = 3
_APART = 9
_TRIED = 1 / 96


def solve_each(rows: Rows, duals: Duals, options: Options, goal: Goal | None = None) -> Solutions:
    """Return the solutions of several duals between finite bounds, on threads where they take long.

    Small ones are solved together: each task solves several in one compiled call.
    """
    sizes = np.diff(duals.stops).astype(float)
    threaded = _is_long(rows, sizes)
    workers = min(count_threads(), len(sizes)) if threaded else 1
    largest = duals.largest
    limits = Limits.of(options, rows, largest, workers, goal=goal)
    if len(sizes) == 1:
        return solve_alone(rows, duals, limits)
    steps = steps_before_newton(rows, duals[int(sizes.argmax())])
    solutions = Solutions.empty(duals.stops)
    if not (steps and fits_small(rows, duals, limits.values)):

        def alone(k):
            solutions[k : k + 1] = solve_alone(rows, duals[k : k + 1], limits)

        _run(alone, range(len(sizes)), workers)
        return solutions
    # trials take longer than they may save in short work, whose duals need most of their rows
    if not (threaded or _sharing_pays(rows, sizes @ sizes, 1.0)):
        return solve_several(rows, duals, limits, steps)
    reserved = _shared_bytes(rows, duals, options, workers)
    limits = Limits.of(options, rows, largest, workers, reserved, goal)
    if not threaded:
        values = rows.square(np.arange(len(rows.points))) if reserved else None
        return solve_several(rows, duals, limits, steps, values=values)
    memories: queue.SimpleQueue[Memory] = queue.SimpleQueue()
    for _ in range(workers):
        memories.put(Memory.empty(largest, rows.dtype))
    values = None

    def train(part):
        memory = memories.get()
        solutions[part] = solve_several(rows, duals[part], limits, steps, memory, values)
        memories.put(memory)

    # some duals show how many kernel rows a dual needs, and whether all kernel values, computed once, cost less
    trials = _trials(len(duals))
    _run(train, trials, workers)
    tried = np.concatenate([np.arange(part.start, part.stop) for part in trials])
    own = sizes[tried]
    share = own @ solutions.n_rows[tried] / (own @ own)
    if reserved and _sharing_pays(rows, sizes @ sizes - own @ own, share):
        values = rows.square(np.arange(len(rows.points)))
    _run(train, _others(trials, sizes, workers), workers)
    return solutions


def _is_long(rows, sizes):
    """Whether duals of these sizes take longer than threads do to begin and to wait for each other."""
    return sizes @ sizes * (rows.width + KERNEL_VALUE) >= THREADED


def _shared_bytes(rows, duals, options, workers):
    """Return the bytes of the kernel values between all points, 0 if memory does not hold them or they save nothing."""
    if rows.held:
        return 0
    needed = len(rows.points) ** 2 * rows.dtype.itemsize
    left = Limits.of(options, rows, duals.largest, workers, needed).values
    return needed if 2 * needed <= options.budget and fits_small(rows, duals, left) else 0


def _sharing_pays(rows, work, share):
    """Whether a share of the kernel rows of some duals, of ``work`` values, costs more than all kernel values."""
    half = 0.5 * len(rows.points) ** 2
    copy = COPIED_VALUE if 2 * half * rows.dtype.itemsize <= SHARED_CACHE else FAR_VALUE
    value = rows.width + KERNEL_VALUE
    return share * work * value > half * (rows.width / BLOCKED + KERNEL_VALUE) + work * copy


def _trials(n):
    """Return some of n duals as slices, evenly spaced: neighbours are pairs of the same class."""
    number = max(1, min(_TRIALS, n // _APART))
    length = math.ceil(_TRIED * n)
    starts = [(2 * k + 1) * n // (2 * number) for k in range(number)]
    return [slice(start, start + length) for start in starts]


def _others(trials, sizes, workers):
    """Return the duals between those that were tried as slices."""
    starts = [0, *(each.stop for each in trials)]
    stops = [*(each.start for each in trials), len(sizes)]
    gaps = list(zip(starts, stops, strict=True))
    # two gaps at a time keep all workers busy
    parts = [_parts(*gap, sizes, [1], (workers + 1) // 2) for gap in gaps[:-1]]
    return list(
        itertools.chain(*parts, _parts(*gaps[-1], sizes, [1] if workers == 1 else _SHARES, workers))
    )


def _parts(first, last, sizes, shares, workers):
    """Return duals ``first`` to ``last`` as slices, for each share of the work as many of equal work as workers."""
    rounds = max(len(shares), math.ceil(sizes[first:last].sum() / (workers * TOGETHER_VARIABLES)))
    shares = shares if rounds == len(shares) else [1 / rounds] * rounds
    work = np.cumsum(sizes[first:last] ** 2)
    ends = np.cumsum(np.repeat(shares, workers)) / workers
    cuts = first + np.searchsorted(work, ends[:-1] * work[-1:].sum()) + 1
    ends = [first, *np.minimum(cuts, last).tolist(), last]
    return [slice(start, stop) for start, stop in itertools.pairwise(ends) if start < stop]


def _run(train: Callable[[Any], None], parts: Sequence[Any], workers: int) -> None:
    """Call ``train`` for each of some parts, on several threads."""
    if workers == 1:
        for part in parts:
            train(part)
    else:
        with limit_threads(workers):
            run_in_single_threads(lambda k: train(parts[k]), len(parts))
