"""Whole duals in compiled code: kernel rows on demand, rounds of SMO, refinement, without the interpreter lock.

One call takes several duals after each other, so that threads train binary classifiers side by side. Easy problems
need few kernel rows, and compute no others.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.compile import compiled
from mercer._compute.intrinsics import as_square, empty, larger, small, smaller
from mercer._compute.loops import WIDE
from mercer._compute.points import count_points
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.correction import exact_gradient
from mercer.solvers.svm.dual import Dual, gap_between_bounds, joined, stops_of
from mercer.solvers.svm.exact import refine
from mercer.solvers.svm.known_rows import KnownRows
from mercer.solvers.svm.on_demand import tiles_of
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.rounds import bias_and_violation, copied_values, gap_share, settle, solve_rounds
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.several import Solutions, kinds_of
from mercer.solvers.svm.smo import LANES, VECTORS
from mercer.solvers.svm.workspace import buffer_size

if TYPE_CHECKING:
    from mercer.solvers.svm.workspace import Options, Workspace

# Largest number of variables: beyond, several threads and blocks of rows pay more than few rows.
LARGEST = 8192
# Work between two checks for interrupts, steps times variables: 0.1 to 0.3 s; overhead of a step, in variables.
_WORK, _OVERHEAD = 200_000_000, 1000
# Number of float64 operations that refinement may take, and as a share of those spent before, which are three times as
# fast: about a fifth of the time.
_OPERATIONS, _SHARE = 2e6, 0.07
# Gap as a share of the objective above which steps go on, since bounds are large: below the share that users are warned
# of, since this one is known up to rounding. And the smallest share of the tolerance that they aim at: small problems
# below a hundredth of it would not be refined.
COARSE, FINEST = 0.008, 0.05
# Multiplications that a known kernel value stands for.
_KNOWN = 256
# Variables at a bound whose slopes are within this many tolerances of the bias take part in refinement.
_MARGIN = 10


def with_values(rows: Any, duals: Sequence[Dual], options: Options, workers: int = 1) -> Any:
    """Return rows of which all values are known, if duals can then be solved here within the memory of the options.

    Rows that compiled code computes on demand are returned unchanged.
    """
    n = count_points(rows.points)
    widest = int(np.diff(stops_of(duals)).max())
    left = options.budget - n * n * np.dtype(np.float64).itemsize
    if type(rows) is not PlainRows or left < 0 or not _solvable(duals, buffer_size(left, widest, 8, workers)):
        return rows
    return KnownRows.of(rows.kernel, rows.points)


def fits(rows: Any, duals: Sequence[Dual], size: int) -> bool:
    """Whether duals of one epsilon can be solved here with room for ``size`` kernel values."""
    return isinstance(rows, (FusedRows, KnownRows)) and _solvable(duals, size)


def _solvable(duals, size):
    n = int(np.diff(stops_of(duals)).max())
    if n > LARGEST or _padded(n) ** 2 + copied_values(_padded(n)) > size:
        return False
    if not all(dual.ridge is None and dual.total is None for dual in kinds_of(duals)):
        return False
    return bool(np.isfinite(joined(duals, "lower")).all() and np.isfinite(joined(duals, "upper")).all())


def wide_values(rows: Any, dual: Dual, workspace: Workspace) -> Array | None:
    """Return the kernel values between all points if memory holds them and rows have many columns, otherwise None.

    Products of blocks are then that much faster than rows on demand that a few rows cost as much as all of them.
    """
    if not isinstance(rows, FusedRows) or rows.width < WIDE:
        return None
    n = len(rows.points)
    needed = n * n * rows.dtype.itemsize
    return rows.square(np.arange(n)) if len(dual.coef) > n // 2 and needed <= workspace.spare else None


def solve_whole(
    rows: FusedRows | KnownRows,
    duals: Sequence[Dual],
    workspace: Workspace,
    max_iter: int,
    values: Array | None = None,
) -> Solutions:
    """Return the solutions of several duals of one epsilon, with certificates.

    ``values`` (n, n) are the kernel values between all points, if they are known. A dual that takes more than
    ``max_iter`` steps, or whose slopes are beyond the accuracy of the rows, ends before ``tol``. Duals after a callback
    that returned True are left at their starts.
    """
    state = _State(rows, duals)
    if values is None:
        values = rows.values if isinstance(rows, KnownRows) else np.empty((0, 0), rows.dtype)
    while state.position[0] < len(duals):
        check_cancelled()
        _solve(*state.arrays(values.size > 0), values, workspace.buffer, workspace.tol, max_iter, _WORK)
        last = min(int(state.position[0]), len(duals) - 1)
        if workspace.callback is not None and workspace.callback(float(state.violation[last])):
            break
    return state.solutions()


def _padded(n):
    return -(-n // LANES) * LANES


class _State:
    """The arrays of several duals, one after the other, and the point that the solver has reached."""

    def __init__(self, rows: FusedRows | KnownRows, duals: Sequence[Dual]) -> None:
        self.rows = rows
        self.epsilon = float(duals[0].epsilon)
        self.stops = stops_of(duals)
        names = ("target", "lower", "upper", "coef", "points")
        n = len(duals)
        self.dual = Dual(*(joined(duals, name) for name in names), self.epsilon)
        self.coef = self.dual.coef.copy()
        self.gradient = self._first_gradient(duals)
        self.bias, self.violation = np.zeros(n), np.full(n, np.inf)
        self.n_iter, self.n_rows = np.zeros(n, int), np.zeros(n, int)
        # the dual that is being solved, and the number of its rows in the buffer, negative before it begins
        self.position = np.array([0, -1])
        self.slots = np.empty(_padded(int(np.diff(self.stops).max())), np.int64)

    def _first_gradient(self, duals):
        gradient = self.dual.target.copy()
        if not self.dual.coef.any():
            return gradient
        for dual, start in zip(duals, self.stops.tolist(), strict=False):
            if dual.coef.any():
                gradient[start : start + len(dual.coef)] = exact_gradient(self.rows, dual, dual.coef)
        return gradient

    def arrays(self, known: bool) -> tuple[Any, ...]:
        """Return the arguments of the compiled solver, which needs no coordinates if kernel values are known."""
        dual, rows = self.dual, self.rows
        problem = self.stops, rows.compiled_points(dual.points), dual.target, dual.lower, dual.upper, self.epsilon
        found = self.coef, self.gradient, self.bias, self.violation, self.n_iter, self.n_rows
        return rows.compiled_rows(not known), rows.compiled_exact_rows(), problem, found, self.position, self.slots

    def solutions(self) -> Solutions:
        """Return the solutions, with their certificates."""
        starts = self.stops[:-1]
        coef = self.coef
        gradient = self.gradient
        error = gradient - np.repeat(self.bias, np.diff(self.stops))
        terms = 0.5 * coef * (self.dual.target + gradient) - self.epsilon * np.abs(coef)
        value = np.add.reduceat(terms, starts)
        primal = value + np.add.reduceat(gap_between_bounds(self.dual, coef, error), starts)
        unknown = np.full((2, len(value)), np.nan)
        numbers = self.bias, self.violation, self.n_iter, self.n_rows, primal, value
        return Solutions(coef, gradient, *numbers, *unknown, np.full(len(value), self.epsilon), self.stops)


# --- compiled --------------------------------------------------------------------------------------------------------


@functools.partial(compiled, flags=VECTORS)
def points_of(rows, own, K, values):
    """Return the arguments of `add_rows` for some points, padded to the width of K."""
    small()
    finish, coordinates, d, all_squares, scale, share, parameters, all_diagonal = rows
    m = K.shape[1]
    squares, diagonal = empty(m, K.dtype), empty(m, K.dtype)
    for t in range(m):
        squares[t], diagonal[t] = 0, 0
    for t in range(own.size):
        squares[t], diagonal[t] = all_squares[own[t]], all_diagonal[own[t]]
    return finish, tiles_of(coordinates, d, own, m), squares, scale, share, parameters, diagonal, values, own


@compiled
def _padded_part(values, first, n, m):
    """Return m values, of which n are ``values[first:]`` and the others 0."""
    small()
    out = empty(m, np.float64)
    for t in range(m):
        out[t] = values[first + t] if t < n else 0.0
    return out


@compiled
def _one_group(level, n):
    """Return the bias of one group and the group of each of n variables, as arrays."""
    small()
    levels, group = empty(1, np.float64), empty(n, np.int64)
    levels[0] = level
    for t in range(n):
        group[t] = 0
    return levels, group


@functools.partial(compiled, flags=VECTORS)
def _close_gap(points, K, spare, slots, used, target, dual, tol, limit):
    """Take more steps if the violation is small but the gap is not; return the number of steps and of rows."""
    small()
    level, excess = bias_and_violation(*dual, target.size)
    share = gap_share(target, *dual, level, target.size)
    if excess > tol or share <= COARSE:
        return 0, used
    finer = tol * larger(FINEST, 0.5 * COARSE / share)
    return solve_rounds(points, K, spare, slots, used, *dual, finer, limit)


@functools.partial(compiled, flags=VECTORS)
def _solve(rows, exact, problem, found, position, all_slots, values, buffer, tol, max_iter, work):
    """Solve duals from ``position[0]`` on until all are solved or the work is done."""
    small()
    stops, all_points, all_target, all_lower, all_upper, epsilon = problem
    all_coef, all_gradient, bias, violation, n_iter, n_rows = found
    while position[0] < stops.size - 1 and work > 0:
        k, used = position[0], position[1]
        first, stop = stops[k], stops[k + 1]
        n = stop - first
        m = -(-n // LANES) * LANES
        own, target = all_points[first:stop], all_target[first:stop]
        K, spare, slots = as_square(buffer, m), buffer[m * m :], all_slots[:m]
        points = points_of(rows, own, K, values)
        f, coef = _padded_part(all_gradient, first, n, m), _padded_part(all_coef, first, n, m)
        lower, upper = _padded_part(all_lower, first, n, m), _padded_part(all_upper, first, n, m)
        if used < 0:
            used = 0
            for t in range(m):
                slots[t], K[0, t] = -1, 0
        limit = smaller(max_iter - n_iter[k], larger(1, work // (m + _OVERHEAD)))
        dual = f, coef, lower, upper, epsilon
        steps, used = solve_rounds(points, K, spare, slots, used, *dual, tol, limit)
        more, used = _close_gap(points, K, spare, slots, used, target, dual, tol, limit - steps)
        n_iter[k] += steps + more
        work -= (steps + more + 1) * (m + _OVERHEAD)
        level, excess = bias_and_violation(*dual, n)
        if excess <= tol:
            width = larger(exact[1].shape[1], _KNOWN if exact[5].size else 0)
            spent = 2.0 * used * m * (width + 10) + 20.0 * n_iter[k] * m
            accuracy = epsilon, *_one_group(level, n), _MARGIN * tol, larger(_OPERATIONS, _SHARE * spent)
            refine(points, exact, own, K, slots, used, target, f, coef, lower, upper, *accuracy)
            settle(coef, lower, upper, n)
            level, excess = bias_and_violation(*dual, n)
        bias[k], violation[k], n_rows[k] = level, excess, used
        for t in range(n):
            all_gradient[first + t], all_coef[first + t] = f[t], coef[t]
        # fewer steps than the limit: no further step lowers the violation
        paused = violation[k] > tol and n_iter[k] < max_iter and steps >= limit
        position[0], position[1] = (k, used) if paused else (k + 1, -1)
