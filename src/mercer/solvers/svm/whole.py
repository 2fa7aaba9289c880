"""Whole duals in compiled code: kernel rows on demand, rounds of SMO, refinement, without the interpreter lock.

One call takes several duals after each other, so that threads train binary classifiers side by side. Easy problems
need few kernel rows, and compute no others.
"""

import functools

import numpy as np

from mercer._compute.compile import compiled, dispatcher
from mercer._compute.threads import check_cancelled
from mercer.solvers._certify import Certificate
from mercer.solvers.svm.dual import Dual, Solution, gap_between_bounds
from mercer.solvers.svm.exact import refiner
from mercer.solvers.svm.on_demand import cached, row_adder, tiles_of
from mercer.solvers.svm.rounds import bias_and_violation, copied_values, round_solver
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.smo import LANES, VECTORS, subtract

# Largest number of variables: beyond, several threads and blocks of rows pay more than few rows.
LARGEST = 8192
# Work between two checks for interrupts, steps times variables: about 0.1 s; overhead of a step, in variables.
_WORK, _OVERHEAD = 50_000_000, 1000
# Number of float64 operations that refinement may take, and as a share of those spent before, which are three times as
# fast: about a fifth of the time.
_OPERATIONS, _SHARE = 2e6, 0.07
# Variables at a bound whose slopes are within this many tolerances of the bias take part in refinement.
_MARGIN = 10


def fits(rows, duals, size):
    """Whether duals of one epsilon can be solved here with room for ``size`` kernel values."""
    n = max(len(dual.coef) for dual in duals)
    needed = _padded(n) ** 2 + copied_values(_padded(n))
    if n > LARGEST or needed > size or not isinstance(rows, FusedRows):
        return False
    return all(dual.ridge is None and dual.total is None and not dual.unbounded for dual in duals)


def solve_whole(rows, duals, workspace, max_iter):
    """Return the solutions of several duals of one epsilon, with certificates.

    A dual that takes more than ``max_iter`` steps, or whose slopes are beyond the accuracy of the rows, ends before
    ``tol``. Duals after a callback that returned True are left at their starts.
    """
    state = _State(rows, duals)
    solver = _solver(rows.kernel.profile, rows.kernel.scalar)
    while state.position[0] < len(duals):
        check_cancelled()
        solver(*state.arrays(), workspace.buffer, workspace.tol, max_iter)
        last = min(int(state.position[0]), len(duals) - 1)
        if workspace.callback is not None and workspace.callback(float(state.violation[last])):
            break
    return state.solutions()


def _padded(n):
    return -(-n // LANES) * LANES


class _State:
    """The arrays of several duals, one after the other, and the point that the solver has reached."""

    def __init__(self, rows, duals):
        self.rows, self.epsilon = rows, float(duals[0].epsilon)
        self.stops = np.cumsum([0] + [len(dual.coef) for dual in duals])
        names = "target", "lower", "upper", "coef", "points"
        self.dual = duals[0]
        if len(duals) > 1:
            self.dual = Dual(*(np.concatenate([getattr(dual, name) for dual in duals]) for name in names), self.epsilon)
        self.coef, self.gradient = self.dual.coef.copy(), self.dual.target.copy()
        self.bias, self.violation = np.zeros(len(duals)), np.full(len(duals), np.inf)
        self.n_iter = np.zeros(len(duals), int)
        # the dual that is being solved, and the number of its rows in the buffer, negative before it begins
        self.position = np.array([0, -1])
        self.slots = np.empty(_padded(int(np.diff(self.stops).max())), np.int64)

    def arrays(self):
        """Return the arguments of the compiled solver."""
        dual, rows = self.dual, self.rows
        problem = self.stops, dual.points, dual.target, dual.lower, dual.upper, self.epsilon
        found = self.coef, self.gradient, self.bias, self.violation, self.n_iter
        return rows.coordinates(), rows.exact_coordinates(), rows.diagonal, problem, found, self.position, self.slots

    def solutions(self):
        """Return one solution for each dual, with its certificate."""
        starts, coef, gradient = self.stops[:-1], self.coef, self.gradient
        error = gradient - np.repeat(self.bias, np.diff(self.stops))
        terms = 0.5 * coef * (self.dual.target + gradient) - self.epsilon * np.abs(coef)
        value = np.add.reduceat(terms, starts)
        primal = value + np.add.reduceat(gap_between_bounds(self.dual, coef, error), starts)
        numbers = self.bias, self.violation, self.n_iter, primal, value
        return [
            Solution(
                coef[start:stop], gradient[start:stop], bias, violation, n_iter, epsilon=self.epsilon,
                certificate=Certificate(above, below, violation),
            )
            for start, stop, bias, violation, n_iter, above, below in zip(
                starts, self.stops[1:], *(each.tolist() for each in numbers), strict=True
            )
        ]  # fmt: skip


# --- compiled --------------------------------------------------------------------------------------------------------


@functools.partial(compiled, flags=VECTORS)
def _points_of(coordinates, all_diagonal, own, K):
    """Return the tiles of some points, their squares, the parameters and the diagonal, padded to the width of K."""
    rows, all_squares, parameters = coordinates
    m = K.shape[1]
    squares, diagonal = np.zeros(m, K.dtype), np.zeros(m, K.dtype)
    for t in range(own.size):
        squares[t], diagonal[t] = all_squares[own[t]], all_diagonal[own[t]]
    return tiles_of(rows, own, m), squares, parameters, diagonal


@compiled
def _padded_part(values, first, n, m):
    """Return m values, of which n are ``values[first:]`` and the others 0."""
    out = np.zeros(m)
    for t in range(n):
        out[t] = values[first + t]
    return out


@functools.lru_cache(maxsize=64)
def _starter(profile, scalar):
    """Return the compiled start of a dual: the rows of a given start and its gradient; it counts the rows."""
    add = row_adder(profile, scalar)

    def start(points, K, slots, f, coef, n):
        for t in range(slots.size):
            slots[t], K[0, t] = -1, 0
        count, moved, change = 0, np.empty(n, np.int64), np.empty(n)
        used = add(points, K, slots, 0, np.flatnonzero(coef))
        for t in range(n):
            if coef[t] != 0:
                moved[count], change[count] = slots[t], coef[t]
                count += 1
        subtract(K, moved[:count], change[:count], f)
        return used

    return dispatcher(start, **cached(profile, scalar))


@functools.lru_cache(maxsize=64)
def _solver(profile, scalar):
    """Return the compiled solver: it solves duals from ``position[0]`` on until all are solved or its work is done."""
    start, solve_rounds = _starter(profile, scalar), round_solver(profile, scalar)
    refine = refiner(profile, scalar)

    def solve(coordinates, exact, all_diagonal, problem, found, position, all_slots, buffer, tol, max_iter):
        raw, centre, exact_parameters = exact
        stops, all_points, all_target, all_lower, all_upper, epsilon = problem
        all_coef, all_gradient, bias, violation, n_iter = found
        work = _WORK
        while position[0] < stops.size - 1 and work > 0:
            k = position[0]
            n = stops[k + 1] - stops[k]
            m = -(-n // LANES) * LANES
            own, target = all_points[stops[k] : stops[k + 1]], all_target[stops[k] : stops[k + 1]]
            K, spare, slots = np.reshape(buffer[: m * m], (m, m)), buffer[m * m :], all_slots[:m]
            points = _points_of(coordinates, all_diagonal, own, K)
            f, coef = _padded_part(all_gradient, stops[k], n, m), _padded_part(all_coef, stops[k], n, m)
            lower, upper = _padded_part(all_lower, stops[k], n, m), _padded_part(all_upper, stops[k], n, m)
            used = position[1] if position[1] >= 0 else start(points, K, slots, f, coef, n)
            limit = min(max_iter - n_iter[k], max(1, work // (m + _OVERHEAD)))
            steps, used = solve_rounds(points, K, spare, slots, used, f, coef, lower, upper, epsilon, tol, limit)
            n_iter[k] += steps
            work -= (steps + 1) * (m + _OVERHEAD)
            bias[k], violation[k] = bias_and_violation(f, coef, lower, upper, epsilon, n)
            if violation[k] <= tol:
                spent = 2.0 * used * m * (raw.shape[1] + 10) + 20.0 * n_iter[k] * m
                own_raw, reach = (raw, own, centre, exact_parameters, all_diagonal), _MARGIN * tol
                allowed = max(_OPERATIONS, _SHARE * spent)
                accuracy = epsilon, bias[k], reach, allowed
                if refine(points, own_raw, K, slots, used, target, f, coef, lower, upper, *accuracy):
                    bias[k], violation[k] = bias_and_violation(f, coef, lower, upper, epsilon, n)
            for t in range(n):
                all_gradient[stops[k] + t], all_coef[stops[k] + t] = f[t], coef[t]
            # fewer steps than the limit: no further step lowers the violation
            paused = violation[k] > tol and n_iter[k] < max_iter and steps >= limit
            position[0], position[1] = (k, used) if paused else (k + 1, -1)

    return dispatcher(solve, **cached(profile, scalar))
