"""The entrance to the solvers of support vector machines: which one a dual needs, and several duals at a time."""

from __future__ import annotations

import itertools
import math
import queue
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._compute.costs import (
    BLOCKED,
    COPIED_VALUE,
    FAR_VALUE,
    KERNEL_VALUE,
    SHARED_CACHE,
    SMALL_DUAL,
    THREADED,
    TOGETHER_VARIABLES,
)
from mercer._compute.points import count_points
from mercer._compute.threads import count_threads, limit_threads, run_in_single_threads
from mercer.solvers.svm.dual import Dual, Solution, Solutions, largest, stops_of
from mercer.solvers.svm.engine import Memory, buffer_values, fits_small
from mercer.solvers.svm.large import solve_between, solve_several
from mercer.solvers.svm.linear import steps_before_newton
from mercer.solvers.svm.nu import solve_hard_margin, solve_hard_tube, solve_nu_svc, solve_nu_svr
from mercer.solvers.svm.options import Limits, Options
from mercer.solvers.svm.rows import KnownRows, PlainRows, Rows
from mercer.solvers.svm.verify import certificate, settled_solution

# Shares of the last small duals that workers take one after the other: short tasks at the end wait little.
_SHARES = 1 / 2, 1 / 2
# Groups of small duals after which kernel values between all points may be computed: their largest number, the fewest
# duals for each, and their size as a share of all duals.
_TRIALS = 3
_APART = 9
_TRIED = 1 / 96


def solve_dual(rows: Rows, dual: Dual, options: Options) -> Solution:
    """Return the solution of a dual, with its certificate; see `solve_duals`."""
    return solve_duals(rows, [dual], options)[0]


def solve_duals(rows: Rows, duals: Sequence[Dual], options: Options) -> Sequence[Solution]:
    """Return the solutions of duals over shared points, each with its certificate, several at a time on threads.

    Parameters
    ----------
    rows : Rows
        Kernel rows of the points; `Options.rows` makes them as accurate as the solutions need.
    duals : sequence of Dual
    options : Options

    Returns
    -------
    sequence of Solution

    Raises
    ------
    Infeasible
        If bounds are infinite and no function is without error.
    """
    workers = min(count_threads(), len(duals))
    first = duals[0]
    # nu-regression has two variables for each point
    twice = 2 if first.total is not None and not first.one_sided else 1
    widest = twice * largest(duals)
    rows = _with_values(
        rows, widest, options, workers, len(duals) if first.total is not None else 1
    )
    limits = Limits.of(options, rows, widest, workers)
    if len(duals) == 1:
        return [_solve_one(rows, first, limits)]
    steps = steps_before_newton(rows, duals[int(np.diff(stops_of(duals)).argmax())])
    if steps and fits_small(rows, duals, limits.values):
        return _solve_together(rows, duals, options, workers, steps)
    solutions: list[Any] = [None] * len(duals)

    def train(k):
        solutions[k] = _solve_one(rows, duals[k], limits)

    sizes = np.diff(stops_of(duals)).astype(float)
    _run(train, range(len(duals)), workers if _is_long(rows, sizes) else 1)
    return solutions


def _solve_one(rows, dual, limits):
    """Return the solution of a dual by the solver that it needs, with its certificate."""
    if dual.total is not None or (dual.unbounded and dual.ridge is None):
        if dual.total is None:
            solve = solve_hard_margin if dual.one_sided else solve_hard_tube
        else:
            solve = solve_nu_svc if dual.one_sided else solve_nu_svr
        found = solve(rows, dual, limits)
        own = replace(dual, epsilon=found.epsilon)
        return replace(found, certificate=certificate(own, found.coef, found.gradient, found.bias))
    found = solve_between(rows, _bounded(dual), limits)
    # the certificate of a quadratic loss is not that between the bounds
    return found if dual.ridge is None else settled_solution(found, dual)


def _bounded(dual):
    """Return a dual whose infinite bounds are finite if it has a ridge, by bounds that no coefficient meets.

    The loss at the optimum is at most that of a constant, which bounds every coefficient.
    """
    if dual.ridge is None or not dual.unbounded:
        return dual
    C = 1 / dual.ridge
    error = dual.target - np.average(dual.target, weights=C)
    # roots first: the product of two large C overflows
    bound = (
        np.sqrt(C) * np.linalg.norm(np.sqrt(C) * error) + C * dual.epsilon + np.finfo(float).tiny
    )
    return replace(
        dual, lower=np.maximum(dual.lower, -2 * bound), upper=np.minimum(dual.upper, 2 * bound)
    )


def _with_values(rows, widest, options, workers, shared):
    """Return rows with all kernel values if small duals then fit into memory, other rows unchanged.

    Those of rows in compiled code pay where several duals that are solved one by one share them.
    """
    n = count_points(rows.points)
    needed = n * n * np.dtype(np.float64).itemsize
    if not isinstance(rows, PlainRows) and (shared == 1 or 4 * needed > SHARED_CACHE):
        return rows
    fits = max(
        n, widest
    ) <= 2 * SMALL_DUAL and options.budget - needed >= 8 * workers * buffer_values(widest)
    return KnownRows.of(rows.kernel, rows.points) if fits else rows


# --- several small duals ---------------------------------------------------------------------------------------------


def _solve_together(rows, duals, options, workers, steps):
    """Return the solutions of small duals: each task solves several in one compiled call of so many steps for each."""
    sizes = np.diff(stops_of(duals)).astype(float)
    threaded = _is_long(rows, sizes)
    if not threaded and len(sizes) <= _APART:
        # trials take longer than they may save
        return solve_several(rows, duals, Limits.of(options, rows, int(sizes.max())), steps)
    workers = workers if threaded else 1
    reserved = _shared_bytes(rows, duals, options, workers)
    limits = Limits.of(options, rows, int(sizes.max()), workers, reserved)
    memories: queue.SimpleQueue[Memory] = queue.SimpleQueue()
    for _ in range(workers):
        memories.put(Memory.empty(int(sizes.max()), rows.dtype))
    solutions = Solutions.empty(stops_of(duals))
    values = None

    def train(part):
        memory = memories.get()
        solutions[part] = solve_several(rows, duals[part], limits, steps, memory, values)
        memories.put(memory)

    # some duals show how many kernel rows a dual needs, and whether all kernel values, computed once, cost less
    trials = _trials(len(duals))
    _run(train, trials, workers)
    if reserved and _sharing_pays(
        rows, Solutions.joined([solutions[part] for part in trials]), sizes
    ):
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
    widest = largest(duals)
    left = Limits.of(options, rows, widest, workers, needed).values
    return needed if 2 * needed <= options.budget and fits_small(rows, duals, left) else 0


def _sharing_pays(rows, solutions, sizes):
    """Whether rows for the remaining duals, as many as the solutions needed, cost more than all kernel values."""
    own = np.diff(solutions.stops).astype(float)
    left = np.sum(sizes**2) - np.sum(own**2)
    half = 0.5 * len(rows.points) ** 2
    needed = left * np.sum(own * solutions.n_rows) / np.sum(own**2)
    copy = COPIED_VALUE if 2 * half * rows.dtype.itemsize <= SHARED_CACHE else FAR_VALUE
    return (
        needed * (rows.width + KERNEL_VALUE)
        > half * (rows.width / BLOCKED + KERNEL_VALUE) + left * copy
    )


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
