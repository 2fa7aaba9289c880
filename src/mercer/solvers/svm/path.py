"""Solutions of a dual for many C: kernel values are shared, and each solution starts from its neighbour."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._common import AnyFunction, Array
from mercer._compute.costs import LANES
from mercer.solvers.svm.bounded import finished, first_steps
from mercer.solvers.svm.certificates import Point
from mercer.solvers.svm.dual import Dual, Goal, Limits, Options, Solution, arena_of, copied_values
from mercer.solvers.svm.engine import Buffers, Chain, solve_small_duals
from mercer.solvers.svm.newton import NEAR, NEWTON_SHARE, refine_point
from mercer.solvers.svm.rows import KnownRows, Rows
from mercer.solvers.svm.solve import solve_dual

# Largest ratio of neighbours: larger multiples of coefficients near the smallest number are rounded, or infinite.
_NEIGHBOURS = 1e10


def _known_rows(rows, points, options, dtype):
    """Return the kernel rows of some points, and padding up to whole lanes, if memory holds them, else None.

    The copies of one path that reads them are counted.
    """
    n = len(points)
    width = -(-n // LANES) * LANES
    if (n * width + copied_values(width)) * np.dtype(dtype).itemsize > options.budget:
        return None
    # huge pages: steps read rows in any order
    values = np.empty((width, width), dtype)
    values[n:] = 0
    values[:, n:] = 0
    own = values[:n, :n]
    rows.columns(points)(points, own)
    # a product rounds the distance of a point to itself
    np.fill_diagonal(own, rows.diagonal[points])
    return KnownRows(rows.kernel, points, values)


def with_known_rows(
    rows: Rows,
    duals: Sequence[Dual],
    options: Options,
    dtype: Any,
    function: AnyFunction,
) -> None:
    """Call ``function(m, dual, known)`` for every dual; those over the same points share their kernel rows.

    ``known`` are these in ``dtype``, or None where memory does not hold them or no coefficient can move.
    """
    points = known = None
    for m, dual in enumerate(duals):
        if _may_move(dual) and (points is None or not np.array_equal(points, dual.points)):
            # the old values are freed before the new ones are computed
            known = None
            points = dual.points
            known = _known_rows(rows, points, options, dtype)
        function(m, dual, known)


def solve_path(
    rows: Rows, unit: Dual, Cs: Array, options: Options, known: KnownRows | None
) -> Solution:
    """Return the solutions of a dual for its bounds times C, for ascending ``Cs``.

    A variable whose bounds are 0 is held out: its coefficient stays 0, its gradient is kept up to date. If no
    coefficient can move, because only one class is there, the bias is its target. The first solution starts from 0,
    each other from its neighbour if that is not far away. Solutions from ``known`` rows also end at the gap of the
    options, relative to the loss of the function 0; without these rows they are solved one by one.
    """
    n = len(unit.target)
    k = len(Cs)
    stops = n * np.arange(k + 1)
    if not _may_move(unit):
        present = unit.target[unit.lower < unit.upper]
        bias = float(present.mean()) if len(present) else 0.0
        target = np.tile(unit.target, k)
        return Solution(np.zeros(k * n), target, bias, stops=stops)
    if known is None:
        return _solve_each(rows, unit, Cs, options)
    width = len(known.values)
    places = np.arange(width)
    arena = arena_of(width, copied_values(width), known.dtype)
    memory = Buffers(known.values.ravel(), arena, np.where(places < n, places, -1))
    bounds = np.outer(Cs, unit.lower).ravel(), np.outer(Cs, unit.upper).ravel()
    own = np.tile(places[:n], k)
    target = np.tile(unit.target, k)
    duals = Dual(target, *bounds, np.zeros(k * n), own, unit.epsilon, stops=stops)
    loss = np.maximum(
        unit.upper * (unit.target - unit.epsilon), unit.lower * (unit.target + unit.epsilon)
    )
    ratios = np.append(0, Cs[1:] / Cs[:-1])
    chain = Chain(ratios, options.gap * float(np.maximum(loss, 0).sum()) * Cs, np.ones(k))
    limits = Limits.of(options, rows, n)
    goal = Goal(options.tol, coarse=np.inf, operations=-1.0)
    first = limits._replace(goal=goal, max_iter=min(first_steps(n), limits.max_iter))
    solutions, tol = solve_small_duals(known, duals, first, memory, chain)
    unsolved = (solutions.violation > tol) & (solutions.n_iter < limits.max_iter)
    for m in np.flatnonzero(unsolved).tolist():
        solutions[m] = finished(rows, unit.times(Cs[m]), limits, solutions[m])
    return solutions


def refined(rows: Rows, dual: Dual, solution: Solution, tol: float) -> Solution:
    """Return a solution of a path to its last digits if few variables are free, with its certificate."""
    point = Point(dual, solution.coef, solution.gradient, solution.n_iter.item())
    refine_point(rows, point, NEAR * tol)
    if point.violation > NEWTON_SHARE * tol:
        point.set_noise(rows)
    return point.solution()


def _solve_each(rows, unit, Cs, options):
    """Return the solutions for ascending C one by one, each from a multiple of the last."""
    coef = np.zeros(len(unit.target))
    found = []
    for C, before in zip(Cs, [np.inf, *Cs[:-1]], strict=True):
        dual = unit.times(C)
        ratio = C / before if _NEIGHBOURS * before >= C else 0.0
        start = np.clip(ratio * coef, dual.lower, dual.upper)
        found.append(solve_dual(rows, replace(dual, coef=start), options))
        coef = found[-1].coef
    return Solution.joined(found)


def _may_move(dual):
    """Whether a coefficient may rise and another may fall from 0."""
    return bool((dual.lower < 0).any() and (dual.upper > 0).any())
