"""Solutions of a dual for many C: kernel values are shared, and each solution starts from its neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.memory import allocate
from mercer._compute.points import take_points, widened
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.compiled_path import neighbour_start, solve_for_all
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.linear import fits_linear, solve_linear
from mercer.solvers.svm.on_demand import known_rows
from mercer.solvers.svm.rounds import copied_values
from mercer.solvers.svm.smo import LANES
from mercer.solvers.svm.workspace import Workspace

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.rows import FusedRows
    from mercer.solvers.svm.workspace import Options

# Work of one call of compiled code, steps times variables: about 0.1 s.
_WORK = 50_000_000


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
        return LinearValues(rows, points, options.limit(n))
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
            known, values = dual.points, kernel_values(rows, dual, options, dtype, workers)
        function(m, dual, values)


class StoredValues:
    """Kernel values between some points (int array (m,)), in memory."""

    def __init__(self, rows: FusedRows, points: Any, dtype: Any) -> None:
        m = len(points)
        width = -(-m // LANES) * LANES
        self._values = allocate((m, width), dtype)
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
        target, low, high = (np.pad(each, (0, m - n)) for each in (unit.target, unit.lower, unit.upper))
        coef, gradient, bias, violation = np.zeros((k, m)), np.empty((k, m)), np.zeros(k), np.full(k, np.inf)
        found, position = (coef, gradient, bias, violation, np.zeros(k, int)), np.array([0, 0])
        spare = np.empty(copied_values(m), self._values.dtype)
        arrays = self._values, known_rows(self.diagonal.astype(spare.dtype)), spare, self._slots
        problem = target, low, high, unit.epsilon, np.asarray(Cs, np.float64)
        while position[0] < k:
            check_cancelled()
            solve_for_all(*arrays, problem, found, position, options.tol, gap, options.limit(n), _WORK)
            if options.callback is not None and options.callback(float(violation[min(position[0], k - 1)])):
                break
        numbers = bias.tolist(), violation.tolist(), found[4].tolist()
        return [Solution(b[:n], f[:n], *rest) for b, f, *rest in zip(coef, gradient, *numbers, strict=True)]


class LazyValues:
    """Kernel values between some points (int array (m,)) that memory does not hold: rows are computed as needed."""

    def __init__(self, rows: Any, points: Any, workspace: Workspace) -> None:
        self._rows, self._points, self._workspace = rows, points, workspace

    def solutions(self, unit: Dual, Cs: Array, options: Options, _gap: float) -> list[Solution]:
        """Return the solutions of a dual for its bounds times ascending ``Cs``."""
        limits = {"tol": options.tol, "max_iter": options.limit(len(self._points)), "callback": options.callback}
        zeros, found = np.zeros(len(unit.target)), []
        for C, before in zip(Cs, [None, *Cs[:-1]], strict=True):
            dual = replace(unit, lower=C * unit.lower, upper=C * unit.upper, coef=zeros.copy())
            if before is not None:
                near, bounds = (found[-1].coef, found[-1].gradient), (dual.lower, dual.upper)
                neighbour_start(unit.target, unit.epsilon, *near, *bounds, C / before, dual.coef, zeros.copy())
            # the next solution overwrites the cache
            found.append(replace(solve(self._rows, dual, replace(self._workspace, **limits)), cache=None))
        return found


class LinearValues:
    """Some points (int array (m,)) with a linear kernel, whose values are not needed: Newton steps on the normal."""

    def __init__(self, rows: Any, points: Any, max_iter: int) -> None:
        self._rows, self._points, self._max_iter = rows, widened(take_points(rows.points, points)), max_iter

    def solutions(self, unit: Dual, Cs: Array, options: Options, _gap: float) -> list[Solution]:
        """Return the solutions of a dual for its bounds times ascending ``Cs``, each from a multiple of the last."""
        trained = np.flatnonzero(unit.lower < unit.upper)
        own, start, found = unit.take(trained), np.zeros(len(trained)), []
        limits = Workspace(options.tol, self._max_iter, np.empty(0), callback=options.callback)
        for C, before in zip(Cs, [None, *Cs[:-1]], strict=True):
            lower, upper = C * own.lower, C * own.upper
            start = start if before is None else np.clip(C / before * start, lower, upper)
            solution = solve_linear(self._rows, replace(own, lower=lower, upper=upper, coef=start), limits)
            start, coef = solution.coef, np.zeros(len(unit.target))
            coef[trained] = start
            gradient = unit.target - self._points @ (self._points.T @ coef)
            found.append(replace(solution, coef=coef, gradient=gradient, cache=None))
        return found


def solve_path(values: StoredValues, unit: Dual, Cs: Array, options: Options, gap: float = 0.0) -> list[Solution]:
    """Return the solutions of a dual for its bounds times C, for ascending ``Cs``.

    A variable whose bounds are 0 is held out: its coefficient stays 0, its gradient is kept up to date. If no
    coefficient can move, because only one class is there, the bias is its target. The first solution starts from 0,
    each other from its neighbour, see `neighbour_start`. Solutions from stored values also end at a relative ``gap``.
    """
    if not _may_move(unit):
        present = unit.target[unit.lower < unit.upper]
        bias = float(present.mean()) if len(present) else 0.0
        return [Solution(np.zeros(len(unit.target)), unit.target, bias, 0.0, 0)] * len(Cs)
    return values.solutions(unit, Cs, options, gap)


def _may_move(dual):
    """Whether a coefficient may rise and another may fall from 0."""
    return bool((dual.lower < 0).any() and (dual.upper > 0).any())
