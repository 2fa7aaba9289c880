"""Duals between finite bounds: small ones in few compiled calls, on threads; sweeps over large ones."""

import itertools
import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._common import EPS, TINY, Array
from mercer._compute.costs import (
    CELL,
    KERNEL_VALUE,
    LANES,
    LARGEST_SWEEP,
    LEAST_SWEEP,
    NEWTON_VARIABLES,
    SMALL_DUAL,
    THREADED,
    TOGETHER_VARIABLES,
)
from mercer._compute.memory import blocks
from mercer._compute.points import PAIRED, SAMPLE, count_points, evenly_spaced, take_points
from mercer._compute.threads import (
    check_cancelled,
    count_threads,
    run_in_single_threads,
)
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.solvers.svm.certificates import Point, exact_gradient, measured
from mercer.solvers.svm.dual import Dual, Goal, Limits, Solution, buffer_values, groups
from mercer.solvers.svm.engine import (
    LEAST_UNIT,
    REDUCTION,
    Buffers,
    allowed,
    place_at_bounds,
    solve_small_duals,
)
from mercer.solvers.svm.linear import FALL, RANK, solve_factored, steps_before_newton
from mercer.solvers.svm.newton import MOST, NEAR, NEWTON_SHARE, PATIENCE, refine_point
from mercer.solvers.svm.rows import KnownRows, Rows, rows_of
from mercer.solvers.svm.sweep import Sweep

_log = logging.getLogger("mercer")

# A sweep over a part takes this multiple of the free variables, and this share of those that are free or violate.
_SPARE = 1.1
_CONCERNED = 0.5
# Chance takes free variables as if they violated by at least this share of the violation.
_SHARE = 0.02
# Steps per variable, and at least, after which a round of SMO ends and Newton steps are tried.
_PATIENCE = 100
_LEAST = 100_000
# A round that raises the objective by less than this share, and lowers the violation as little, has stalled.
_GAIN = 1e-4
# The largest rounding of gradients as a multiple of that found on a sample.
_TAIL = 2.0
# Number of variables up to which the solution of a single dual is refined whatever that takes.
REFINED = 500
# Points in the sample that gives a mean, a spread or a direction, and that stand for coordinates if points have none.
MEANS = 500


def solve_each(rows: Rows, duals: Dual, limits: Limits) -> Solution:
    """Return the solutions of one or several duals between finite bounds, on threads where they take long.

    Small ones are solved together: each task solves several in one compiled call. The bias of two groups is their mean;
    the violation is allowed in float64, or steps ended before.
    """
    many = len(duals)
    steps = steps_before_newton(rows, duals)
    # one compiled call computes the rows of small duals, and holds all of them
    small = (
        steps > 0
        and rows.in_call
        and duals.largest <= SMALL_DUAL
        and buffer_values(duals.largest) <= limits.values
    )
    if many == 1 and not small:
        return _solve_large(rows, duals, limits, steps)
    if many == 1:
        goal = limits.goal
        if duals.largest <= REFINED:
            goal = goal._replace(operations=np.inf)
        if duals.ridge is not None:
            # the gap of its loss is not that between the bounds
            goal = goal._replace(coarse=np.inf)
        found = solve_several(rows, duals, limits._replace(goal=goal), steps)
        return found if duals.ridge is None else finished(rows, duals, limits, found)
    sizes = duals.sizes.astype(float)
    threaded = sizes @ sizes * (rows.width + KERNEL_VALUE) >= THREADED
    if small and not threaded:
        return solve_several(rows, duals, limits, steps)
    parts: list[Any] = list(range(many))
    if small:
        # two tasks or more for each worker
        share = int(sizes.sum()) // (2 * min(count_threads(), limits.workers))
        parts = groups(duals.stops, min(share, TOGETHER_VARIABLES))
    # parts that are solved leave no copy
    found = Solution(np.empty_like(duals.coef), np.empty_like(duals.coef), stops=duals.stops)

    def solve_part(k):
        own = duals[parts[k]]
        found[parts[k]] = (
            solve_several(rows, own, limits, steps) if small else solve_each(rows, own, limits)
        )

    run_in_single_threads(solve_part, len(parts), limits.workers if threaded else 1)
    return found


def _solve_large(rows, dual, limits, steps):
    """Return the solution of a dual that is not small: by sweeps, or Newton steps if these come after 0 ``steps``."""
    unit = 1.0
    if dual.split is not None and limits.goal.per_margin:
        unit = abs(float(dual.coef[: dual.split.item()].sum())) * distance_of_means(rows, dual)
    if steps and dual.sums_only:
        dual = replace(dual, coef=_start_of_sums(rows, dual, limits))
    limits = limits.in_units(unit)
    if steps == 0:
        point = _solve_factored(rows, dual, limits)
        # a certificate by the kernel rows would be off by their rounding
        point.set_noise(rows)
    else:
        point = solve_large(rows, dual, limits)
    return replace(point.solution(), unit=unit)


def distance_of_means(rows: Rows, dual: Dual) -> float:
    """Return about the squared distance of the means of two classes, on a few points; bounds are their weights."""
    bounds = dual.lower + dual.upper
    classes = np.flatnonzero(bounds > 0), np.flatnonzero(bounds < 0)
    few = np.concatenate([own[evenly_spaced(len(own), MEANS)] for own in classes])
    bounds = bounds[few]
    weights = bounds / np.where(bounds > 0, bounds[bounds > 0].sum(), -bounds[bounds < 0].sum())
    squared = float(weights @ rows.product(dual.points[few], dual.points[few], weights))
    return max(squared, LEAST_UNIT * float(np.abs(rows.diagonal[dual.points]).max()), 1e-300)


def solve_several(rows: Rows, duals: Dual, limits: Limits, steps: float) -> Solution:
    """Return the solutions of small duals: in one compiled call, then one by one where that leaves something to do.

    The call ends after ``steps`` of a dual.
    """
    most = min(limits.max_iter, first_steps(duals.largest), steps)
    first = limits._replace(max_iter=int(most))
    solutions, tol = solve_small_duals(rows, duals, first, Buffers.empty(duals.largest, rows.dtype))
    unsolved = (solutions.violation > tol) | (solutions.noise > NEAR * tol)
    if rows.error:
        # only Newton steps leave a violation that rounding does not decide
        left = np.flatnonzero(~unsolved & (solutions.violation > NEWTON_SHARE * tol))
        rounding = _rounding_of(rows, duals, solutions, left)
        unsolved[left] = is_doubtful(solutions.violation[left], rounding, tol[left])
    for k in np.flatnonzero(unsolved & (solutions.n_iter < limits.max_iter)).tolist():
        solutions[k] = finished(rows, duals[k], limits, solutions[k])
    return solutions


def _rounding_of(rows, duals, found, some):
    """Return how far rounding moved gradients of ``some`` of the duals (int array), as about `PAIRED` of each show.

    A product with exact kernel values serves many duals. Free variables decide; where a dual has none, all do.
    """
    n = count_points(rows.points)
    free = (found.coef != 0) & (duals.lower < found.coef) & (found.coef < duals.upper)
    has_free = np.zeros(len(duals), bool)
    has_free[duals.number[free]] = True
    deciding = free | ~has_free[duals.number]
    largest = np.zeros(len(duals))
    for part in blocks(len(some), n):
        column = np.full(len(duals), -1)
        column[some[part]] = np.arange(len(some[part]))
        v = np.flatnonzero((column >= 0)[duals.number])
        points = _shared_sample(duals, v[deciding[v]], n)
        weights = np.zeros((n, len(some[part])))
        np.add.at(weights, (duals.points[v], column[duals.number[v]]), found.coef[v])
        products = rows.exact_product(points, np.arange(n), weights)
        place = np.full(n, -1)
        place[points] = np.arange(len(points))
        v = v[place[duals.points[v]] >= 0]
        exact = duals.target[v] - products[place[duals.points[v]], column[duals.number[v]]]
        np.maximum.at(largest, duals.number[v], np.abs(exact - found.gradient[v]))
    return largest[some]


def _shared_sample(duals, v, n):
    """Return some of n points, about `PAIRED` or all of the variables ``v`` of each dual; duals share their points."""
    own = duals.number[v]
    share = np.zeros(n)
    np.maximum.at(share, duals.points[v], np.minimum(1.0, PAIRED / np.bincount(own)[own]))
    return np.flatnonzero(np.diff(np.ceil(np.cumsum(share)), prepend=0.0))


def finished(rows: Rows, dual: Dual, limits: Limits, found: Solution) -> Solution:
    """Return the solution from the point where a compiled call ended, with its certificate."""
    if limits.callback is not None and limits.callback.stopped:
        return found
    unit = found.unit.item()
    point = solve_large(rows, dual, limits.in_units(unit), found)
    return replace(point.solution(), unit=found.unit)


def _solve_factored(rows, dual, limits, rank=RANK):
    """Return the solution of a linear kernel or of one whose matrix has at most a rank, None for other kernels.

    The tolerance follows the margin and the gap, which are known better after each solution.
    """
    point = Point(dual, dual.coef, exact_gradient(rows, dual, dual.coef))
    tol = float(allowed(limits.goal, point.bias))
    while True:
        own = limits._replace(goal=Goal(tol), max_iter=limits.max_iter - point.n_iter)
        found = solve_factored(rows, replace(dual, coef=point.coef), own, rank)
        if found is None:
            return None
        point = Point(dual, found.coef, found.gradient, point.n_iter + found.n_iter)
        refine_point(rows, point, NEAR * tol, most=REFINED)
        share = point.finer(limits.goal.coarse)
        wanted = min(float(allowed(limits.goal, point.bias)), share * point.violation)
        if point.violation <= wanted or found.violation > tol:
            break
        tol = wanted
    point.gain = found.gain
    return point


def solve_large(rows: Rows, dual: Dual, limits: Limits, found: Solution | None = None) -> Point:
    """Return the solution of a dual between finite bounds, or the point where steps ended.

    Sweeps of SMO solve for the variables that matter until the violation is allowed. Where steps do not suffice, they
    take turns with Newton steps. The violation is then that of gradients in float64, and the gap is small; the free
    variables are solved for directly where they are few. ``found`` is the point where steps ended before.

    Platt, *Fast training of support vector machines using sequential minimal optimization* (1999); Joachims, *Making
    large-scale SVM learning practical* (1999), for sweeps over a part of the variables.
    """
    solver = _Solver(rows, dual, limits, found)
    if found is None:
        solver.start()
        solver.take_steps()
    while not solver.is_done():
        solver.take_steps()
    return solver.point


class _Solver:
    """The state of `solve_large`: a point, the sweep that moves it, and what was tried."""

    def __init__(self, rows: Rows, dual: Dual, limits: Limits, found: Solution | None) -> None:
        self._rows = rows
        self._limits = limits
        self._values = limits.values
        self._goal = limits.goal
        if found is None:
            self.point = Point(dual, dual.coef, exact_gradient(rows, dual, dual.coef))
        else:
            self.point = Point(dual, found.coef, found.gradient, found.n_iter.item())
        self._sweep = None
        self._budget = first_steps(len(dual.coef))
        self._stopped = limits.callback is not None and limits.callback.stopped
        self._stalled = False
        # compiled code refines the solutions of small problems, if that takes little time
        self._refines = found is None or found.violation.item() > self.tol
        self._rank = RANK
        self._size_of_solution = 0.0
        self._checks = 0
        self._best: Point | None = None
        self._rng = np.random.default_rng(0)
        self._size = LEAST_SWEEP

    @property
    def tol(self) -> float:
        """The violation allowed at the biases of the point."""
        return float(allowed(self._goal, self.point.bias))

    def is_done(self) -> bool:
        """Whether no more steps are to be taken, after checks or other means than steps."""
        if self.point.violation <= self.tol:
            return self._is_exact() and self._gap_is_small()
        return self._ended() or not self._look_beyond_steps()

    def _ended(self):
        """Whether the callback or the number of steps ends the solver."""
        return self._stopped or self.point.n_iter >= self._limits.max_iter

    def start(self) -> None:
        """Begin with the solutions of small cells of points if not all variables take part in a sweep."""
        dual = self.point.dual
        several = len(dual.coef) > max(3 * CELL, self._largest())
        if several and dual.split is None and not dual.coef.any():
            coef, n_iter = _solve_cells(self._rows, dual, self._limits)
            gradient = dual.target.copy()
            used = np.flatnonzero(coef)
            if len(used):
                gradient -= self._rows.product(dual.points, dual.points[used], coef[used])
            if dual.ridge is not None:
                gradient -= dual.ridge * coef
            self.point = Point(dual, coef, gradient, n_iter)

    def _largest(self):
        """Return the largest number of variables of a sweep: memory holds all their rows."""
        most = min(LARGEST_SWEEP, math.isqrt(self._values) - 2 * LANES) // LANES * LANES
        return min(len(self.point.coef), max(LANES, most))

    # --- sweeps ------------------------------------------------------------------------------------------------------

    def take_steps(self) -> None:
        """Take sweeps until the violation is allowed, no step lowers it, or the steps of a round are taken."""
        point = self.point
        most = min(point.n_iter + self._budget, self._limits.max_iter)
        self._stalled = False
        while point.violation > self.tol and point.n_iter < most and not self._stopped:
            chosen = self._choose()
            goal = self._goal
            if len(chosen) < len(point.coef):
                # the others are checked after each tenth of the violation
                goal = Goal(max(0.5 * self.tol, REDUCTION * point.violation))
            if self._sweep is None or not self._sweep.exchange(point.dual, chosen):
                # the old rows are freed before there is memory for new ones
                self._sweep = None
                self._sweep = Sweep(self._rows, point.dual, chosen, self._values)
            before = point.n_iter
            self._stopped = self._sweep.move(
                point, goal, most - point.n_iter, self._limits.callback
            )
            _log.debug(
                "smo: %d of %d variables, %d steps, violation %.3g",
                *(len(chosen), len(point.coef), point.n_iter, point.violation),
            )
            if point.n_iter == before:
                self._stalled = True
                return

    def _choose(self):
        """Return the variables of the next sweep: all, or those that are free, violate or are nearest to the margin."""
        point = self.point
        n = len(self.point.coef)
        largest = self._largest()
        if n <= largest:
            return np.arange(n)
        rising, falling = point.slopes()
        worth = np.maximum(rising, -falling)
        free = rising == falling
        concerned = int(np.count_nonzero((worth > 0) | free))
        wanted = max(self._size, int(_SPARE * np.count_nonzero(free)), int(_CONCERNED * concerned))
        self._size = min(largest, wanted) // LANES * LANES
        if concerned > self._size:
            # at random in proportion to the violation: the largest lie close together, and move others from the optimum
            shares = np.maximum(worth, _SHARE * point.violation * free)
            worth = shares / self._rng.standard_exponential(n)
        else:
            worth[free] = np.maximum(worth[free], 0) + 1
        for first, last in itertools.pairwise(point.dual.groups[0]):
            # the pair that violates most always takes part, so that every sweep gains
            worth[first + np.argmax(rising[first:last])] = np.inf
            worth[first + np.argmin(falling[first:last])] = np.inf
        return np.sort(np.argpartition(-worth, self._size)[: self._size])

    # --- where steps do not suffice ----------------------------------------------------------------------------------

    def _look_beyond_steps(self):
        """Solve by other means what steps over pairs solve slowly; return whether steps may go on.

        Newton steps cross the narrow valleys of the objective along which SMO moves slowly. Where they leave a
        violation, kernel matrices with few eigenvalues above rounding are factorised. A round that gains almost nothing
        is the last: the rest is rounding, or a kernel that is not positive semidefinite.
        """
        point = self.point
        first = self._best is None
        # a factor of low rank takes less time than steps on many variables
        self._cross(REFINED if first else MOST)
        if self._rank and point.violation > self.tol and self._is_rounding():
            return False
        if first and point.violation > self.tol:
            self._cross(MOST)
        if self._limits.callback is not None:
            self._stopped = self._limits.callback(point.violation)
        if point.violation <= self.tol:
            return True
        if self._stalled and self._rows.dtype == np.float32:
            self._widen()
            return True
        if self._best is not None:
            value = point.objective()
            gain = value - self._best.objective()
            # rounding of large kernel values may move the objective by more
            gain = 0.0 if abs(gain) <= self._rounding() else gain / max(abs(value), TINY)
            stuck = self._stalled or point.violation > (1 - FALL) * self._best.violation
            if gain < -_GAIN or (gain < _GAIN and stuck):
                point.gain = gain
                if self._best.violation < point.violation:
                    point.return_to(self._best)
                return False
        self._best = Point(point.dual, point.coef, point.gradient)
        self._budget *= 2
        return True

    def _is_rounding(self):
        """Solve by a factor of low rank, if the kernel matrix has one; return whether rounding prevents more.

        Steps over pairs come before the full factor of more variables, which costs as much as many of them.
        """
        point = self.point
        own = replace(point.dual, coef=point.coef)
        limits = self._limits._replace(goal=self._goal)
        direct = _solve_factored(self._rows, own, limits, self._rank)
        full = direct is None and self._rank < len(point.coef) <= NEWTON_VARIABLES
        self._rank = NEWTON_VARIABLES if full else 0
        if direct is None:
            return False
        self._size_of_solution = float(np.abs(direct.coef).sum())
        if direct.violation <= point.violation:
            point.return_to(direct)
            point.n_iter += direct.n_iter
        # rounding alone may violate by more
        rounded = direct.gain == 0 and point.violation > self.tol
        point.gain = 0.0 if rounded else point.gain
        return rounded

    def _cross(self, most):
        """Take Newton steps on what is free or violates, at most ``most`` variables, repeated while they gain."""
        point = self.point
        while True:
            check_cancelled()
            before = point.violation
            moved = refine_point(self._rows, point, 0.0, gaining=True, most=most)
            if not moved or not self.tol < point.violation < (1 - FALL) * before:
                return

    def _rounding(self):
        """Return how far the rounding of kernel values and of their sums moves the objective."""
        largest = float(np.abs(self._rows.diagonal).max())
        size = max(self._size_of_solution, float(np.abs(self.point.coef).sum()))
        return EPS * largest * size**2

    # --- checks ------------------------------------------------------------------------------------------------------

    def _is_exact(self):
        """Solve for the free variables if they are few, and whether rounding hides no violation that is not allowed.

        Where it may, the k gradients that decide become exact, O(k n_sv d). If steps along rounded values led away,
        kernel rows are float64 from then on.
        """
        point = self.point
        if self._refines:
            refine_point(self._rows, point, NEAR * self.tol)
        point.set_noise(self._rows)
        if point.noise > NEAR * self.tol and not self._ended():
            self._widen()
            return False
        if self._rows.dtype != np.float32 or point.violation <= NEWTON_SHARE * self.tol:
            return True
        rising, falling = point.slopes()
        free = rising == falling
        places = np.flatnonzero(free) if free.any() else np.arange(len(free))
        some = places[evenly_spaced(len(places), PAIRED)]
        exact = exact_gradient(self._rows, point.dual, point.coef, some)
        point.noise = float(np.abs(exact - point.gradient[some]).max())
        if not is_doubtful(point.violation, point.noise, self.tol) or self._ended():
            return True
        reach = 0.5 * point.violation - 2 * _TAIL * point.noise
        near = np.flatnonzero((rising >= reach) | (-falling >= reach) | free)
        point.gradient[near] = exact_gradient(self._rows, point.dual, point.coef, near)
        point.measure()
        if point.violation <= self.tol:
            point.noise = 0.0
            return True
        self._checks += 1
        # each change is rounded less than the one before
        if self._checks == PATIENCE:
            self._widen()
        return False

    def _widen(self):
        """Take kernel rows in float64 from now on."""
        point = self.point
        self._rows = rows_of(self._rows.kernel, self._rows.points, 0.0)
        self._values //= 2
        self._sweep = None
        point.gradient = exact_gradient(self._rows, point.dual, point.coef)
        point.measure()

    def _gap_is_small(self):
        """Whether the gap is a small share of the objective; otherwise the tolerance becomes finer, once."""
        if self._goal is not self._limits.goal or self._ended():
            return True
        share = self.point.finer(self._goal.coarse)
        self._goal = self._goal._replace(tol=self._goal.tol * share)
        return share == 1


def _start_of_sums(rows, dual, limits):
    """Return coefficients of the sums of a dual: at bounds where a model of few points has the largest gradient."""
    (groups,) = dual.groups
    size = min(SAMPLE, int(np.diff(groups).max()) // 2)
    while buffer_values((len(groups) - 1) * size) > limits.values:
        size //= 2
    own = np.concatenate(
        [first + evenly_spaced(last - first, size) for first, last in itertools.pairwise(groups)]
    )
    bounds = dual.upper - dual.lower
    small = dual.take(own)
    (few,) = small.groups
    shares = np.add.reduceat(bounds, groups[:-1]) / np.add.reduceat(bounds[own], few[:-1])
    factor = shares.repeat(np.diff(few))
    # a sample that no compiled call solves starts from its coefficients, or it would be sampled again
    small = replace(
        small,
        lower=factor * small.lower,
        upper=factor * small.upper,
        coef=factor * small.coef,
        sums_only=rows.in_call,
    )
    guess = np.zeros(len(bounds))
    guess[own] = solve_each(rows, small, limits._replace(max_iter=2 * len(own), callback=None)).coef
    # coefficients of both signs at a point cancel exactly
    gradient = exact_gradient(rows, dual, guess)
    coef = np.empty(len(bounds))
    for first, last in itertools.pairwise(groups):
        part = slice(first, last)
        total = float(dual.coef[part].sum())
        place_at_bounds(gradient[part], coef[part], dual.lower[part], dual.upper[part], total)
    return coef


def _solve_cells(rows, dual, limits):
    r"""Return coefficients to start from, the solutions of cells of points that lie together, and the number of steps.

    If kernel values between cells are small, each decides for most of its variables whether they end at a bound. Cells
    are solved in parallel and keep the sum 0: n times their size in kernel values.

    Hsieh, Si, Dhillon, *A divide-and-conquer solver for kernel support vector machines*, ICML 2014.
    """
    size = CELL
    while buffer_values(size) > limits.values:
        size //= 2
    cells = split(
        coordinates(rows.kernel, rows.points, limits.values * rows.dtype.itemsize),
        dual.points,
        size,
    )
    # the whole changes their solutions anyway
    aim = max(limits.tol, REDUCTION * measured(dual.target, dual.coef, dual)[1])
    own = limits._replace(
        goal=Goal(aim, coarse=np.inf, operations=-1.0),
        max_iter=limits.max_iter // len(cells),
    )
    coef = dual.coef.copy()
    steps = np.zeros(len(cells), int)

    def solve(k):
        places = np.sort(cells[k])
        part = dual.take(places)
        known = rows
        if not rows.in_call:
            known = KnownRows(
                rows.kernel, take_points(rows.points, part.points), rows.square(part.points)
            )
            known.diagonal[:] = rows.diagonal[part.points]
            part = replace(part, points=np.arange(len(places)))
        memory = Buffers.empty(part.largest, known.dtype)
        found, _ = solve_small_duals(known, part, own, memory)
        coef[places] = found.coef
        steps[k] = found.n_iter.item()

    run_in_single_threads(solve, len(cells), limits.values // buffer_values(size))
    return coef, int(steps.sum())


def coordinates(kernel: Kernel, points: Any, memory: int) -> Array:
    """Return rows of numbers that are close for points that lie together: the points, or kernel values with some.

    Kernel values take at most about so many bytes of ``memory``.
    """
    if isinstance(points, np.ndarray) and points.dtype.kind == "f":
        return points
    n = count_points(points)
    most = max(1, memory // (n * np.dtype(np.float64).itemsize))
    some = evenly_spaced(n, min(MEANS, most))
    return Gram(kernel, points, take_points(points, some)).dense()


def split(X: Array, places: Array, size: int) -> list[Array]:
    """Return parts of ``places``, rows of X (n, d), each halved along its principal direction until it is small."""
    waiting = [np.arange(len(places))]
    done = []
    while waiting:
        piece = waiting.pop()
        if len(piece) <= size:
            done.append(piece)
            continue
        own = X[places[piece]]
        sample = own[np.linspace(0, len(own) - 1, MEANS).astype(int)]
        direction = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)[2][0]
        order = piece[np.argsort(own @ direction, kind="stable")]
        waiting += np.array_split(order, 2)
    return done


def first_steps(n: int) -> int:
    """Return the number of steps after which a first round of SMO over n variables ends."""
    return max(_LEAST, _PATIENCE * n)


def is_doubtful(violation: Any, noise: Any, tol: Any) -> Any:
    """Whether rounding of a gradient, or of several, may hide a violation above the tolerance."""
    return (violation <= tol) & (violation + 2 * _TAIL * noise > tol)
