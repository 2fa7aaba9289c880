"""Solutions of a dual for many C: kernel values are shared, and each solution starts from its neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.memory import allocate
from mercer._compute.points import take_points, widened
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.bias import settled_solution
from mercer.solvers.svm.compiled_path import neighbour_start, solve_for_all
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.linear import fits_linear, solve_linear
from mercer.solvers.svm.on_demand import known_rows
from mercer.solvers.svm.one_constraint import finish, steps_of_a_round
from mercer.solvers.svm.rounds import copied_values
from mercer.solvers.svm.smo import LANES
from mercer.solvers.svm.workspace import Workspace

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.rows import FusedRows
    from mercer.solvers.svm.workspace import Options

# Work of a compiled call, steps times variables: 0.1 to 0.3 s. The next call copies kernel values again.
_WORK = 200_000_000
# Largest ratio of neighbours: larger multiples of coefficients near the smallest number are rounded, or infinite.
_NEAR = 1e10


def kernel_values(rows: FusedRows, dual: Dual, options: Options, dtype: Any, workers: int = 1) -> Any:
    """Return the kernel values of the points of a dual: stored in ``dtype`` if memory holds them, row by row otherwise.

    Copies of each of several workers that read stored values are counted. A linear kernel needs no values then.
    """
    points, n = dual.points, len(dual.points)
    width = -(-n // LANES) * LANES
    converted = 0 if rows.dtype == dtype else n**2 * rows.dtype.itemsize
    beside = max(converted, workers * copied_values(width) * np.dtype(dtype).itemsize)
    if n * width * np.dtype(dtype).itemsize + beside <= options.budget:
        return StoredValues(rows, points, np.dtype(dtype))
    if fits_linear(rows, dual):
        return LinearValues(rows, points)
    return LazyValues(rows, points, Workspace.allocate(rows, n, options))


def with_values(
    rows: FusedRows, duals: list[Dual], options: Options, dtype: Any, function: Callable[..., Any], workers: int = 1
) -> None:
    """Call ``function(m, dual, values)`` for every dual; those over the same points share values.

    A dual whose coefficients cannot move gets no values.
    """
    known, values = None, None
    for m, dual in enumerate(duals):
        if not _may_move(dual):
            function(m, dual, None)
            continue
        if known is None or not np.array_equal(known, dual.points):
            # the old values are freed before the new ones are computed
            values = None
            known = dual.points
            values = kernel_values(rows, dual, options, dtype, workers)
        function(m, dual, values)


class StoredValues:
    """Kernel values between some points (int array (m,)), in memory."""

    def __init__(self, rows: FusedRows, points: Any, dtype: Any) -> None:
        m = len(points)
        width = -(-m // LANES) * LANES
        # huge pages: steps read rows in any order
        self._rows, self._values = rows, np.empty((m, width), dtype)
        self.diagonal: Array = np.zeros(width)
        self.diagonal[:m] = rows.diagonal[points]
        self._slots = np.where(np.arange(width) < m, np.arange(width), -1)
        columns = rows.columns(points)
        own = self._values[:, :m]
        out = own if rows.dtype == dtype else allocate((m, m), rows.dtype)
        columns(points, out)
        if out is not own:
            own[:] = out
        self._values[:, m:] = 0
        # a product rounds the distance of a point to itself
        np.fill_diagonal(self._values, self.diagonal)

    def solutions(self, unit: Dual, Cs: Array, options: Options, gap: float) -> list[Solution]:
        """Return the solutions of a dual for its bounds times ascending ``Cs``, from compiled code."""
        n, m, k = len(unit.target), len(self._slots), len(Cs)
        first = min(steps_of_a_round(n), options.limit(n))
        found = np.zeros((k, m)), np.empty((k, m)), np.zeros(k), np.full(k, np.inf), np.zeros(k, int)
        solutions, stopped = self._steps(unit, Cs, found, np.array([0, 0]), options, gap, first)
        if stopped or first == options.limit(n):
            return solutions
        return [
            self._finished(unit, C, each, options, gap) if each.violation > options.tol else each
            for C, each in zip(Cs, solutions, strict=True)
        ]

    def _steps(self, unit, Cs, found, position, options, gap, limit):
        """Return the solutions after at most so many steps for each C, and whether the callback ended them."""
        n, m = len(unit.target), len(self._slots)
        target, low, high = (np.pad(each, (0, m - n)) for each in (unit.target, unit.lower, unit.upper))
        spare = np.empty(copied_values(m), self._values.dtype)
        stopped = False
        arrays = self._values, known_rows(self.diagonal.astype(spare.dtype)), spare, self._slots
        problem = target, low, high, unit.epsilon, np.asarray(Cs, np.float64)
        growth = np.ones(1)
        while position[0] < len(Cs) and not stopped:
            check_cancelled()
            solve_for_all(*arrays, problem, found, position, growth, options.tol, gap, limit, _WORK)
            violation = float(found[3][min(position[0], len(Cs) - 1)])
            stopped = options.callback is not None and options.callback(violation)
        coef, gradient, *numbers = found
        numbers = [each.tolist() for each in numbers]
        parts = zip(coef, gradient, *numbers, strict=True)
        return [Solution(b[:n], f[:n], *rest, epsilon=unit.epsilon) for b, f, *rest in parts], stopped

    def _finished(self, unit, C, solution, options, gap):
        """Return the solution for a C from the point that a first round of steps left."""
        n, m = len(unit.target), len(self._slots)

        def take_steps(start, limit):
            coef, gradient = (np.pad(each, (0, m - n))[None] for each in (start.coef, start.gradient))
            found = coef, gradient, np.array([start.bias]), np.array([start.violation]), np.zeros(1, int)
            return self._steps(unit, [C], found, np.array([0, 1]), options, gap, limit)[0][0]

        dual = _times(unit, C)
        return settled_solution(finish(self._rows, dual, solution, _limits(options, n), take_steps), dual)


class LazyValues:
    """Kernel values between some points (int array (m,)) that memory does not hold: rows are computed as needed."""

    def __init__(self, rows: Any, points: Any, workspace: Workspace) -> None:
        self._rows, self._points, self._workspace = rows, points, workspace

    def solutions(self, unit: Dual, Cs: Array, options: Options, _gap: float) -> list[Solution]:
        """Return the solutions of a dual for its bounds times ascending ``Cs``."""
        limits = replace(_limits(options, len(self._points)), buffer=self._workspace.buffer)
        first = replace(limits, max_iter=min(steps_of_a_round(len(self._points)), limits.max_iter))
        zeros, found = np.zeros(len(unit.target)), []

        def take_steps(start, limit, dual):
            return solve(self._rows, replace(dual, coef=start.coef), replace(limits, max_iter=limit))

        for C, before in zip(Cs, [None, *Cs[:-1]], strict=True):
            dual = replace(_times(unit, C), coef=zeros.copy())
            if _are_near(before, C):
                near, bounds = (found[-1].coef, found[-1].gradient), (dual.lower, dual.upper)
                neighbour_start(unit.target, unit.epsilon, *near, *bounds, C / before, dual.coef, zeros.copy())
            solution = solve(self._rows, dual, first)
            if solution.violation > options.tol and first.max_iter <= solution.n_iter < limits.max_iter:
                solution = finish(self._rows, dual, solution, limits, partial(take_steps, dual=dual))
            # the next solution overwrites the cache
            found.append(replace(settled_solution(solution, dual), cache=None))
        return found


class LinearValues:
    """Some points (int array (m,)) with a linear kernel, whose values are not needed: Newton steps on the normal."""

    def __init__(self, rows: Any, points: Any) -> None:
        self._rows = rows
        self._points = widened(take_points(rows.points, points))

    def solutions(self, unit: Dual, Cs: Array, options: Options, _gap: float) -> list[Solution]:
        """Return the solutions of a dual for its bounds times ascending ``Cs``, each from a multiple of the last."""
        trained = np.flatnonzero(unit.lower < unit.upper)
        own = unit.take(trained)
        start = np.zeros(len(trained))
        found = []
        limits = _limits(options, len(unit.target))
        for C, before in zip(Cs, [None, *Cs[:-1]], strict=True):
            dual = _times(own, C)
            start = np.clip(C / before * start, dual.lower, dual.upper) if _are_near(before, C) else 0 * start
            solution = settled_solution(solve_linear(self._rows, replace(dual, coef=start), limits), dual)
            start, coef = solution.coef, np.zeros(len(unit.target))
            coef[trained] = start
            gradient = unit.target - self._points @ (self._points.T @ coef)
            found.append(replace(solution, coef=coef, gradient=gradient, cache=None))
        return found


def solve_path(values: StoredValues, unit: Dual, Cs: Array, options: Options, gap: float = 0.0) -> list[Solution]:
    """Return the solutions of a dual for its bounds times C, for ascending ``Cs``.

    A variable whose bounds are 0 is held out: its coefficient stays 0, its gradient is kept up to date. If no
    coefficient can move, because only one class is there, the bias is its target. The first solution starts from 0,
    each other from its neighbour, see `neighbour_start`, if that is not far away. Solutions from stored values also end
    at a relative ``gap``.
    """
    if not _may_move(unit):
        present = unit.target[unit.lower < unit.upper]
        bias = float(present.mean()) if len(present) else 0.0
        return [Solution(np.zeros(len(unit.target)), unit.target, bias, 0.0, 0)] * len(Cs)
    return values.solutions(unit, Cs, options, gap)


def _times(unit, C):
    """Return a dual with its bounds times C."""
    return replace(unit, lower=C * unit.lower, upper=C * unit.upper)


def _are_near(before, C):
    """Return whether the solution for a C starts from that for the one before, None for none."""
    return before is not None and _NEAR * before >= C


def _limits(options, n):
    """Return the limits of options for n variables, without memory."""
    return Workspace(options.tol, options.limit(n), np.empty(0), callback=options.callback)


def _may_move(dual):
    """Whether a coefficient may rise and another may fall from 0."""
    return bool((dual.lower < 0).any() and (dual.upper > 0).any())
