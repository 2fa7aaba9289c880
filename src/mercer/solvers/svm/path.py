"""Solutions of a dual for many C: kernel values are shared, and each solution starts from its neighbour."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer._common import Array
from mercer._compute.compile import compiled
from mercer._compute.costs import STEP_OVERHEAD, STEP_WORK
from mercer._compute.intrinsics import empty, larger, small, smaller
from mercer._compute.memory import allocate
from mercer._compute.points import take_points, widened
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.engine import (
    TAKEN,
    USED,
    State,
    load_slopes,
    new_slopes,
    take_round,
)
from mercer.solvers.svm.large import EXACT, NEAR, first_steps, solve_large
from mercer.solvers.svm.linear import steps_before_newton
from mercer.solvers.svm.newton import refine_point
from mercer.solvers.svm.on_demand import no_tiles
from mercer.solvers.svm.options import SHARE, Limits, copied_values
from mercer.solvers.svm.smo import LANES, VECTORS, subtract_changes
from mercer.solvers.svm.solve import solve_dual
from mercer.solvers.svm.verify import Point, measure, objectives, settle, settled_solution

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.options import Options
    from mercer.solvers.svm.rows import Rows

# Largest ratio of neighbours: larger multiples of coefficients near the smallest number are rounded, or infinite.
_NEIGHBOURS = 1e10
# A round lowers the violation to a share between these, after which the gap is checked.
_LEAST = 0.25
_MOST = 0.9
# Least number of pairs that move to their bounds at once.
_PAIRS = 8
# Roundings of a multiple of a bound within which a coefficient is at the new bound.
_AT_BOUND = 4 * float(np.finfo(np.float64).eps)
# Largest share of variables with copies where steps are few.
_FEW = 0.2
# Largest rounding of gradients that multiples of earlier ones may have, as a share of the tolerance.
_GROWN = 1e-3 / float(np.finfo(np.float64).eps)


class Path(NamedTuple):
    """Targets, bounds for C = 1 (m,), epsilon and ascending C (k,)."""

    target: Any
    lower: Any
    upper: Any
    epsilon: float
    Cs: Any


class Solved(NamedTuple):
    """Coefficients and gradients (k, m), biases, violations and numbers of steps (k,) of a path."""

    coef: Any
    gradient: Any
    bias: Any
    violation: Any
    n_iter: Any


# --- compiled --------------------------------------------------------------------------------------------------------


@compiled
def _start_near(path, before, s, ratio):
    r"""Write the best multiple of a neighbour's solution within new bounds, ``ratio`` times the old, and its gradient.

    .. math:: s = \min(C'/C, (t'b - \epsilon |b|_1) / b'Kb), \qquad f = t - s K b

    ``before`` are the neighbour's coefficients and gradient. Return the factor s, which multiplies the rounding of the
    gradient too.
    """
    gain, curvature, (near, gradient) = 0.0, 0.0, before
    for t in range(near.size):
        gain += path.target[t] * near[t] - path.epsilon * abs(near[t])
        curvature += near[t] * (path.target[t] - gradient[t])
    factor = min(ratio, gain / curvature) if curvature > 0 else ratio
    for t in range(near.size):
        b = factor * near[t]
        low = s.lower[t]
        high = s.upper[t]
        slack = _AT_BOUND * (high - low) if factor == ratio else 0.0
        s.coef[t] = high if high - b <= slack else (low if b - low <= slack else b)
        s.f[t] = path.target[t] - factor * (path.target[t] - gradient[t])
    return factor


@functools.partial(compiled, flags=VECTORS)
def _start_at_bounds(points, s):
    """Move coefficients from 0 to their bounds while many pairs at a time surely get there, and update the gradient f.

    A rise and a fall whose slopes exceed the middle by a quarter of the violation raise the objective as long as other
    moves change these slopes by no more. At a small C this replaces most steps, which read the rows one by one.
    """
    small()
    m = s.f.size
    bound = 0.0
    diagonal = 0.0
    for t in range(m):
        bound = larger(bound, larger(s.upper[t], -s.lower[t]))
        diagonal = larger(diagonal, abs(np.float64(points.diagonal[t])))
    before = empty(m, np.float64)
    rising = empty(m, np.int64)
    falling = empty(m, np.int64)
    while True:
        top = bottom = -np.inf
        for t in range(m):
            if s.coef[t] == 0:
                top = larger(top, s.f[t] - s.epsilon if s.upper[t] > 0 else -np.inf)
                bottom = larger(bottom, -s.f[t] - s.epsilon if s.lower[t] < 0 else -np.inf)
        middle = 0.5 * (top - bottom)
        quarter = 0.25 * (top + bottom)
        # each of as many pairs changes a slope by at most twice the bound times the largest kernel value
        most = quarter / (2 * bound * diagonal) if quarter > 0 else 0.0
        if not most >= _PAIRS:
            return
        up = down = 0
        for t in range(m):
            before[t] = s.coef[t]
            if s.coef[t] == 0 and s.upper[t] > 0 and s.f[t] - s.epsilon > middle + quarter and up < most:
                rising[up] = t
                up += 1
            elif s.coef[t] == 0 and s.lower[t] < 0 and -s.f[t] - s.epsilon > quarter - middle and down < most:
                falling[down] = t
                down += 1
        if up == 0 or down == 0:
            return
        _move_pairs(rising[:up], falling[:down], s.coef, s.lower, s.upper)
        subtract_changes(s.K, s.slots, s.coef, before, s.f)


@compiled
def _move_pairs(rising, falling, coef, lower, upper):
    """Raise coefficients to their upper bounds, and lower as many others, until the first kind is used up."""
    small()
    a = b = 0
    while a < rising.size and b < falling.size:
        i = rising[a]
        j = falling[b]
        step = smaller(upper[i] - coef[i], coef[j] - lower[j])
        coef[i] = upper[i] if step == upper[i] - coef[i] else coef[i] + step
        coef[j] = lower[j] if step == coef[j] - lower[j] else coef[j] - step
        a = a + (coef[i] == upper[i])
        b = b + (coef[j] == lower[j])


@compiled
def _loss(path, C):
    """Return the primal objective of the function 0."""
    total = 0.0
    for t in range(path.target.size):
        rise = path.upper[t] * (path.target[t] - path.epsilon)
        fall = path.lower[t] * (path.target[t] + path.epsilon)
        total += C * max(rise, fall, 0.0)
    return total


@functools.partial(compiled, flags=VECTORS)
def _solve_path(points, K, slots, spare, path, found, position, growth, tol, gap, max_iter):
    """Solve from ``position[0]`` on until all C are solved or about `STEP_WORK` is done.

    All rows of K (n, m) are known. A solution ends at a violation of ``tol``, or at a relative ``gap``, which sets its
    violation to at most ``tol``; ``position[1]`` is 0 before it begins. ``growth[0]`` is the factor by which multiples
    of gradients have grown since a solution started from 0; if it is large, one does.
    """
    m = K.shape[1]
    work = STEP_WORK
    groups = empty(2, np.int64)
    counts = empty(3, np.int64)
    bias = empty(1, np.float64)
    groups[0] = 0
    groups[1] = m
    while position[0] < path.Cs.size and work > 0:
        k = position[0]
        C = path.Cs[k]
        counts[USED] = m
        counts[TAKEN] = 0
        bounds = C * path.lower, C * path.upper
        s = State(found.gradient[k], found.coef[k], *bounds, groups, path.epsilon, K, slots, spare, slots[:0], counts)
        if position[1] == 0 and k > 0:
            near = found.coef[k - 1], found.gradient[k - 1]
            growth[0] = max(1.0, growth[0] * _start_near(path, near, s, C / path.Cs[k - 1]))
        if position[1] == 0 and (k == 0 or growth[0] > _GROWN * tol):
            s.coef[:] = 0.0
            s.f[:] = path.target
            growth[0] = 1.0
            _start_at_bounds(points, s)
        # copies pay where rows are read several times
        share = SHARE if k > 0 and found.n_iter[k - 1] > m else _FEW
        w = new_slopes(s)
        loss = _loss(path, C)
        position[1] = 1
        steps = 1
        while True:
            violation = measure(s.f, s.coef, s.lower, s.upper, s.epsilon, groups, bias)
            _, apart = objectives(path.target, s.f, s.coef, s.lower, s.upper, s.epsilon, bias[0])
            reached = apart / loss if loss > 0 else np.inf
            found.violation[k] = min(violation, tol) if reached <= gap else violation
            if found.violation[k] <= tol or found.n_iter[k] >= max_iter or steps == 0:
                settle(s.coef, s.lower, s.upper)
                measure(s.f, s.coef, s.lower, s.upper, s.epsilon, groups, bias)
                found.bias[k] = bias[0]
                position[0] = k + 1
                position[1] = 0
                break
            if work <= 0:
                break
            limit = min(max_iter - found.n_iter[k], max(1, work // (m + STEP_OVERHEAD)))
            # the gap falls about as the violation
            aim = max(0.5 * tol, min(max(_LEAST, gap / reached), _MOST) * violation)
            steps = take_round(points, s, w, load_slopes(s, w), aim, limit, share)
            found.n_iter[k] += steps
            work -= (steps + 1) * (m + STEP_OVERHEAD)


# --- a dual for many C -----------------------------------------------------------------------------------------------


def stored_values(rows: Rows, dual: Dual, options: Options, dtype: Any, workers: int = 1) -> Array | None:
    """Return the kernel values of the points of a dual (n, whole lanes) in ``dtype`` if memory holds them, else None.

    Copies of each of several workers that read them are counted.
    """
    points = dual.points
    n = len(dual.points)
    width = -(-n // LANES) * LANES
    dtype = np.dtype(dtype)
    converted = 0 if rows.dtype == dtype else n**2 * rows.dtype.itemsize
    beside = max(converted, workers * copied_values(width) * dtype.itemsize)
    if n * width * dtype.itemsize + beside > options.budget:
        return None
    # huge pages: steps read rows in any order
    values = np.empty((n, width), dtype)
    own = values[:, :n]
    out = own if rows.dtype == dtype else allocate((n, n), rows.dtype)
    rows.columns(points)(points, out)
    if out is not own:
        own[:] = out
    values[:, n:] = 0
    # a product rounds the distance of a point to itself
    np.fill_diagonal(values, rows.diagonal[points])
    return values


def with_values(
    rows: Rows, duals: Sequence[Dual], options: Options, dtype: Any, function: Callable[..., Any], workers: int = 1
) -> None:
    """Call ``function(m, dual, values)`` for every dual; those over the same points share `stored_values`.

    A dual whose coefficients cannot move gets none.
    """
    known = None
    values = None
    for m, dual in enumerate(duals):
        if not _may_move(dual):
            function(m, dual, None)
            continue
        if known is None or not np.array_equal(known, dual.points):
            # the old values are freed before the new ones are computed
            values = None
            known = dual.points
            values = stored_values(rows, dual, options, dtype, workers)
        function(m, dual, values)


def solve_path(
    rows: Rows, unit: Dual, Cs: Array, options: Options, values: Array | None, gap: float = 0.0
) -> list[Solution]:
    """Return the solutions of a dual for its bounds times C, for ascending ``Cs``.

    A variable whose bounds are 0 is held out: its coefficient stays 0, its gradient is kept up to date. If no
    coefficient can move, because only one class is there, the bias is its target. The first solution starts from 0,
    each other from its neighbour if that is not far away. Solutions from stored ``values`` also end at a relative
    ``gap``; without them they are solved one by one.
    """
    if not _may_move(unit):
        present = unit.target[unit.lower < unit.upper]
        bias = float(present.mean()) if len(present) else 0.0
        return [Solution(np.zeros(len(unit.target)), unit.target, bias, 0.0, 0)] * len(Cs)
    if values is None:
        return _solve_each(rows, unit, Cs, options)
    n = len(unit.target)
    width = values.shape[1]
    most = options.limit(n)
    target, lower, upper = (np.pad(each, (0, width - n)) for each in (unit.target, unit.lower, unit.upper))
    k = len(Cs)
    arrays = np.zeros((2, len(Cs), width))
    found = Solved(*arrays, np.zeros(k), np.full(k, np.inf), np.zeros(k, np.int64))
    slots = np.where(np.arange(width) < n, np.arange(width), -1)
    diagonal = np.pad(rows.diagonal[unit.points], (0, width - n)).astype(values.dtype)
    path = Path(target, lower, upper, float(unit.epsilon), np.asarray(Cs, np.float64))
    position = np.zeros(2, np.int64)
    growth = np.ones(1)
    stopped = False
    spare = np.empty(copied_values(width), values.dtype)
    while position[0] < k and not stopped:
        check_cancelled()
        arrays = no_tiles(diagonal), values, slots, spare, path, found, position, growth
        _solve_path(*arrays, options.tol, gap, min(first_steps(n), most))
        violation = float(found.violation[min(int(position[0]), k - 1)])
        stopped = options.callback is not None and options.callback(violation)
    solutions = []
    for C, coef, gradient, *numbers in zip(Cs, *found, strict=True):
        bias, violation, n_iter = (each.item() for each in numbers)
        solution = Solution(coef[:n], gradient[:n], bias, violation, n_iter, epsilon=unit.epsilon)
        if violation > options.tol and n_iter < most and not stopped:
            dual = _times(unit, C)
            solution = settled_solution(solve_large(rows, dual, Limits.of(options, rows, n), solution), dual)
        solutions.append(solution)
    return solutions


def refined(rows: Rows, dual: Dual, solution: Solution, tol: float) -> Solution:
    """Return a solution of a path to its last digits if few variables are free, with its certificate."""
    point = Point(rows, dual, solution)
    refine_point(rows, point, NEAR * tol)
    if point.violation > EXACT * tol:
        point.noise = rows.error * float(np.linalg.norm(point.coef))
    return settled_solution(point.solution(), dual)


def _solve_each(rows, unit, Cs, options):
    """Return the solutions for ascending C one by one, each from a multiple of the last."""
    # the Newton steps of a linear kernel have no use for variables that cannot move
    linear = steps_before_newton(rows, unit) < np.inf
    trained = np.flatnonzero(unit.lower < unit.upper) if linear else np.arange(len(unit.target))
    own = unit.take(trained)
    start = np.zeros(len(trained))
    found = []
    for C, before in zip(Cs, [None, *Cs[:-1]], strict=True):
        dual = _times(own, C)
        near = before is not None and _NEIGHBOURS * before >= C
        start = np.clip(C / before * start, dual.lower, dual.upper) if near else np.zeros(len(trained))
        solution = solve_dual(rows, replace(dual, coef=start), options)
        start = solution.coef
        if linear:
            coef = np.zeros(len(unit.target))
            coef[trained] = start
            X = widened(take_points(rows.points, unit.points))
            solution = replace(solution, coef=coef, gradient=unit.target - X @ (X.T @ coef))
        found.append(solution)
    return found


def _times(unit, C):
    """Return a dual with its bounds times C."""
    return replace(unit, lower=C * unit.lower, upper=C * unit.upper)


def _may_move(dual):
    """Whether a coefficient may rise and another may fall from 0."""
    return bool((dual.lower < 0).any() and (dual.upper > 0).any())
