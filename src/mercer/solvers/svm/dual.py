"""Dual problems of support vector machines, their solutions, and options of a training: tolerance, steps, memory."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mercer._common import TINY, Array, record
from mercer._compute.compile import compiled
from mercer._compute.costs import FLOAT64_POINTS, FLOAT64_VARIABLES, LANES
from mercer._compute.intrinsics import small
from mercer._compute.memory import allocate
from mercer._compute.points import count_points
from mercer.kernels.base import Kernel
from mercer.solvers.certify import Certificate
from mercer.solvers.svm.rows import Rows, rows_of

# A round solves for the variables near the margin if they are at most this share, by copies of their kernel values.
SHARE = 0.7
# Gap as a share of the objective above which steps go on, since bounds are large: below the share that users are warned
# of, since this one is known up to rounding. And the smallest share of the tolerance that they aim at: small problems
# below a hundredth of it would not be refined.
COARSE = 0.008
FINEST = 0.05
# Steps that are allowed by default.
_STEPS = 10_000_000
_STEPS_PER_POINT = 100
# Kernel values of variables near the margin are copied: memory for them, as a share of the memory for kernel rows.
_COPIES = 0.1
# Problems between which memory is divided where it does not hold what two need.
AT_A_TIME = 4
# Fewest kernel values that a solver needs, and that a sweep copies.
LEAST_VALUES = 64 * LANES**2
# Bytes of an arena in use before it has arrays, and its words for arrays of each variable and of any state.
UNUSED = 8
_WORDS = 32
_LEAST_WORDS = 1 << 13


class Joined(Sequence[Any]):
    """Mixin of records of one problem, or of several over shared points, in joined arrays.

    A single number stands for all problems. An item, or a slice of items, is a record that shares memory.

    Attributes
    ----------
    stops : int array (m + 1,)
        Variables of problem k are ``stops[k]`` to ``stops[k + 1]``; by default all are those of one problem.
    """

    # names of arrays with a number for each variable, and for each problem
    _variables: ClassVar[tuple[str, ...]]
    _numbers: ClassVar[tuple[str, ...]]

    coef: np.ndarray
    stops: Any

    def __post_init__(self) -> None:
        if self.stops is None:
            object.__setattr__(self, "stops", np.array([0, len(self.coef)]))
        for name in self._numbers:
            value = getattr(self, name)
            if not (value is None or isinstance(value, np.ndarray)):
                object.__setattr__(self, name, np.array([value]).repeat(len(self), axis=0))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return several records of one kind as one; a single one is not copied."""
        if len(parts) == 1:
            return parts[0]
        arrays = {
            name: np.concatenate([getattr(each, name) for each in parts])
            for name in (*cls._variables, *cls._numbers)
            if getattr(parts[0], name) is not None
        }
        sizes = itertools.chain.from_iterable(each.sizes for each in parts)
        return replace(parts[0], stops=np.array([0, *itertools.accumulate(sizes)]), **arrays)

    @cached_property
    def sizes(self) -> Array:
        """Numbers of variables (m,)."""
        return self.stops[1:] - self.stops[:-1]

    @cached_property
    def largest(self) -> int:
        """Number of variables of the largest problem."""
        return int(self.sizes.max())

    @property
    def number(self) -> Array:
        """The number of the problem that each variable belongs to (int array)."""
        return np.arange(len(self)).repeat(self.sizes)

    def sums(self, values: Array) -> Array:
        """Return the sums of numbers of the variables (sum of sizes,) of each problem (m,)."""
        return np.add.reduceat(values, self.stops[:-1])

    def __len__(self) -> int:
        return len(self.stops) - 1

    def __getitem__(self, k: Any) -> Any:
        some = range(len(self))[k]
        if isinstance(some, int):
            some = range(some, some + 1)
        items = slice(some.start, some.stop)
        own = slice(int(self.stops[some.start]), int(self.stops[some.stop]))
        places = dict.fromkeys(self._variables, own) | dict.fromkeys(self._numbers, items)
        arrays = {
            name: getattr(self, name)[place]
            for name, place in places.items()
            if getattr(self, name) is not None
        }
        stops = self.stops[items.start : items.stop + 1] - self.stops[items.start]
        return replace(self, stops=stops, **arrays)


@record
class Dual(Joined):
    r"""A dual problem in signed coefficients b_i, which are y_i alpha_i for a classifier, or several of one epsilon.

    .. math:: \min_b \tfrac12 b'Kb + \tfrac12 \sum_i \rho_i b_i^2 - t'b + \epsilon \sum_i |b_i|
        \quad\text{s.t.}\quad l_i \le b_i \le u_i,\ \sum_i b_i = \text{const}

    A classifier has t = y and the bounds 0 and C y_i; a one-class model t = 0 and sum 1; regression t = y, the bounds
    -C and C and an epsilon; the smallest ball t_i = k(x_i, x_i) / 2. ``total`` prescribes sum |b_i|, as nu does.

    Parameters
    ----------
    target, lower, upper : float64 array (n,)
        0 lies between the bounds. Infinite bounds allow no error: the hard margin, the hard epsilon-tube.
    coef : float64 array (n,)
        The start: within the bounds, with the sum that is kept.
    points : int array (n,)
        Index of the point of each variable.
    epsilon : float
        At least 0.
    ridge : float64 array (n,), optional
        rho_i, above 0, which the diagonal of the kernel rows contains (see `rows_of`): the dual of a quadratic loss.
    total : float, or float64 array (m,), optional
        sum |b_i|. For a classifier bounds are then in units of a C that the solution shows; for regression epsilon
        follows from it.
    factors : (float, float), or float64 array (m, 2)
        Mean factors of C of the positive and the negative class: they place a boundary that ``total`` leaves open.
    split : int, or int array (m,), optional
        The variables before it and those from it on keep a sum each.
    sums_only : bool
        ``coef`` only gives the sums: the solver begins at bounds that a mean of the variables suggests.
    stops : int array (m + 1,), optional
        As of `Joined`.
    """

    _variables = "target", "lower", "upper", "coef", "points", "ridge"
    _numbers = "total", "factors", "split"

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray
    epsilon: float = 0.0
    ridge: np.ndarray | None = None
    total: Any = None
    factors: Any = (1.0, 1.0)
    split: Any = None
    sums_only: bool = False
    stops: Any = None

    @cached_property
    def one_sided(self) -> bool:
        """Whether every variable has 0 as a bound: a classifier."""
        return bool(((self.lower == 0) | (self.upper == 0)).all())

    @cached_property
    def unbounded(self) -> bool:
        """Whether a bound is infinite."""
        return bool(np.isinf(self.upper - self.lower).any())

    @cached_property
    def groups(self) -> Array:
        """Where the groups of variables of each dual begin that keep a sum, and where the last ends (m, groups + 1)."""
        starts = self.stops[:-1]
        between = () if self.split is None else (starts + self.split,)
        return np.ascontiguousarray(np.array((starts, *between, self.stops[1:])).T)

    def take(self, places: Array, **changes: Any) -> Dual:
        """Return one dual restricted to some variables (int array, ascending), with other fields changed."""
        if self.split is not None:
            changes["split"] = np.searchsorted(places, self.split)
        arrays = {name: getattr(self, name) for name in self._variables}
        own = {name: each[places] for name, each in arrays.items() if each is not None}
        return replace(self, stops=None, **own | changes)

    def times(self, C: float) -> Dual:
        """Return the dual with its bounds times C."""
        return replace(self, lower=C * self.lower, upper=C * self.upper)

    def in_units(self, centre: float, scale: float) -> Dual:
        """Return the dual of a regression for targets less ``centre``, divided by ``scale``; see `Solution`."""
        names = ("lower", "upper", "epsilon") + (() if self.total is None else ("total",))
        divided = {name: getattr(self, name) / scale for name in names}
        return replace(self, target=(self.target - centre) / scale, **divided)


@record
class Solution(Joined):
    """Solved duals, or the points where the solver stopped.

    Attributes
    ----------
    coef, gradient : float64 array (sum of sizes,)
        The gradient is t - K b.
    bias : float64 array (m,)
        b_0: the gradient minus epsilon sign(b_i) of free variables; the mean of those of two groups.
    violation : float64 array (m,)
        Violation of the optimality conditions, see `measured`.
    n_iter : int array (m,)
        Number of pairs optimised.
    primal, value : float64 array (m,)
        Objectives of the primal and of the dual.
    margin : float64 array (m,)
        Half the difference of the biases of two groups. The solution of a dual with ``total`` was divided by it.
    unit : float64 array (m,)
        Twice the margin of the means of two groups, otherwise 1.
    noise : float64 array (m,)
        Bound of the rounding of the gradients that decide the violation, 0 if they are exact.
    epsilon : float64 array (m,)
    gain : float64 array (m,)
        Relative gain of the objective in the last round, if the solver stopped because it was too small, otherwise inf.
    stops : int array (m + 1,)
        As of `Joined`.
    """

    _variables = "coef", "gradient"
    _numbers = (
        *("bias", "violation", "n_iter", "primal", "value"),
        *("margin", "unit", "noise", "epsilon", "gain"),
    )

    coef: np.ndarray
    gradient: np.ndarray
    bias: Any = 0.0
    violation: Any = 0.0
    n_iter: Any = 0
    primal: Any = 0.0
    value: Any = 0.0
    margin: Any = 1.0
    unit: Any = 1.0
    noise: Any = 0.0
    epsilon: Any = 0.0
    gain: Any = np.inf
    stops: Any = None

    @property
    def certificate(self) -> Certificate:
        """One certificate for all: objectives add up, the largest violation counts."""
        return Certificate(
            float(self.primal.sum()), float(self.value.sum()), float(self.violation.max())
        )

    def in_units(self, scale: Any) -> Solution:
        """Return the solutions for targets, bounds and epsilon times ``scale``, a number or one for each (m,)."""
        each = np.broadcast_to(scale, len(self)).repeat(self.sizes)
        scaled = {name: getattr(self, name) * each for name in self._variables}
        for name in ("bias", "violation", "epsilon", "noise"):
            scaled[name] = getattr(self, name) * scale
        # the square of a scale may overflow where these do not
        primal = self.primal * scale * scale
        return replace(self, primal=primal, value=self.value * scale * scale, **scaled)

    def __setitem__(self, k: int | slice, found: Solution) -> None:
        own = self[k]
        for name in (*self._variables, *self._numbers):
            getattr(own, name)[:] = getattr(found, name)


class Infeasible(Exception):
    """No function satisfies the constraints without error; two weighted means of points are the evidence.

    Parameters
    ----------
    dual : Dual
    coef : float64 array (n,)
        Positive and negative entries are the weights of the two means.
    numbers : dict
        Figures for the message.
    """

    dual: Dual
    coef: Array
    numbers: dict[str, float]

    def __init__(self, dual: Dual, coef: Array, **numbers: float) -> None:
        super().__init__("the constraints contradict each other")
        self.dual = dual
        self.coef = coef
        self.numbers = numbers

    def in_units(self, scale: float) -> Infeasible:
        """Return the evidence for targets times ``scale``: all figures but the distance of the means follow."""
        numbers = {
            name: value if name == "distance" else value * scale
            for name, value in self.numbers.items()
        }
        return Infeasible(self.dual, self.coef, **numbers)


# --- feasible starts -------------------------------------------------------------------------------------------------


def feasible_start(upper: Array, total: float) -> Array:
    """Return coefficients between 0 and ``upper`` (n,) of sum ``total``: the first ones at their bounds."""
    return np.minimum(np.maximum(total - (upper.cumsum() - upper), 0), upper)


def regression_dual(
    target: Array,
    lower: Array,
    upper: Array,
    epsilon: float = 0.0,
    ridge: Array | None = None,
    total: float | None = None,
) -> Dual:
    """Return the dual of a regression, whose variables are all points in order, from 0."""
    n = len(target)
    return Dual(target, lower, upper, np.zeros(n), np.arange(n), epsilon, ridge, total)


def smallest_ball_dual(diagonal: Array, upper: Array | float) -> Dual:
    """Return the dual of the smallest ball around points with so large k(x, x) (n,): coefficients of sum 1."""
    n = len(diagonal)
    # coefficients of sum 1 do not meet a bound of 2
    upper = np.minimum(upper, np.full(n, 2.0))
    start = feasible_start(upper, 1.0)
    return Dual(diagonal / 2, np.zeros(n), upper, start, np.arange(n), sums_only=True)


def groups(stops: Array, most: int) -> list[slice]:
    """Return the duals in groups of at most so many variables, or of one dual, from where their variables begin."""
    found = [0]
    while found[-1] < len(stops) - 1:
        last = int(stops.searchsorted(stops[found[-1]] + most, side="right")) - 1
        found.append(max(last, found[-1] + 1))
    return [slice(*pair) for pair in itertools.pairwise(found)]


# --- options of a training, and the limits that they set for one problem ----------------------------------------------


class Goal(NamedTuple):
    """The violation allowed: ``tol`` times the margin times ``per_margin``, or times ``least`` if that is more.

    The margin of two groups is half the bias of the second minus that of the first; where a start only gives their
    sums, ``least`` and ``touching`` are in units of twice the margin of their means. Steps also end where the margin is
    proved to be at most ``touching``, which counts as none. A margin below ``least`` is solved for again, see `strict`.
    Above a share ``coarse`` of the gap in the objective steps go on; refinement may take ``operations``, or a share of
    those spent if that is more.
    """

    tol: float
    per_margin: float = 0.0
    least: float = 1.0
    coarse: float = COARSE
    operations: float = 2e6
    touching: float = 0.0


@compiled
def scaled(goal, share, unit):
    """Return a goal with a share of its tolerance, and least violation and margin that were in units of margins."""
    small()
    return Goal(
        goal.tol * share,
        goal.per_margin,
        goal.least * unit,
        goal.coarse,
        goal.operations,
        goal.touching * unit,
    )


@compiled
def strict(goal, unit):
    """Return a goal in units of margins whose tolerance is a share of the margin down to those that count as none."""
    small()
    return Goal(
        goal.tol,
        goal.per_margin,
        goal.touching * unit if goal.per_margin > 0 else goal.least,
        goal.coarse,
        goal.operations,
        goal.touching * unit,
    )


def arena_of(m: int, values: int, dtype: Any) -> Array:
    """Return memory for copies of so many kernel values and for other arrays of a state of m variables, all unused."""
    words = values * np.dtype(dtype).itemsize // 8 + _WORDS * m + _LEAST_WORDS
    arena = allocate(words, np.int64)
    arena[0] = UNUSED
    return arena


def copied_values(m: int) -> int:
    """Return how many kernel values a round copies at most for m variables."""
    return (int(SHARE * m) // LANES * LANES + 3 * LANES) ** 2


class Options(NamedTuple):
    """Options of a training.

    Parameters
    ----------
    tol : float
        Largest violation of the optimality conditions.
    max_iter : int
        Pairs of variables optimised at most; -1 for 100 n, and at least ten million.
    budget : int
        Bytes that kernel values may take, copies included.
    callback : SharedCallback, optional
        Called about ten times a second, from any thread; training stops when it returns True.
    gap : float
        Relative duality gap at which solutions of a path end too; 0 for none.
    """

    tol: float
    max_iter: int = -1
    budget: int = 10**9
    callback: SharedCallback | None = None
    gap: float = 0.0

    def rows(self, kernel: Kernel, points: Any, dual: Dual) -> Rows:
        """Return kernel rows of points, whose rounding moves no gradient of the dual by more than ``tol``."""
        if count_points(points) <= FLOAT64_POINTS or dual.largest <= FLOAT64_VARIABLES:
            return rows_of(kernel, points, 0.0, dual.ridge)
        return rows_of(kernel, points, self.tol / gradient_range(dual), dual.ridge)


def gradient_range(dual: Dual, C: float = 1.0) -> float:
    """Return how far independent errors of size 1 of kernel values move a gradient, with all coefficients at a bound.

    The bounds are those of the largest dual times C.
    """
    return max(C * max(dual.upper.max(), -dual.lower.min()) * math.sqrt(dual.largest), TINY)


def width_of(n: int) -> int:
    """Return the largest number of variables of a state, two groups in whole lanes, of n variables."""
    return -(-n // LANES) * LANES + LANES


def buffer_values(n: int) -> int:
    """Return how many kernel values a dual of n variables needs at most: all rows and copies."""
    width = width_of(n)
    return width**2 + copied_values(width)


class Limits(NamedTuple):
    """What a solver of one problem may take.

    Attributes
    ----------
    goal : Goal
        The violation allowed.
    max_iter : int
        Pairs of variables optimised at most.
    values : int
        Kernel values in memory of each problem.
    callback : SharedCallback, optional
        The solver stops when it returns True.
    workers : int
        Problems that memory holds at the same time.
    """

    goal: Goal
    max_iter: int
    values: int
    callback: SharedCallback | None = None
    workers: int = 1

    @classmethod
    def of(cls, options: Options, rows: Rows, n: int, many: int = 1) -> Limits:
        """Return the limits of each of so many problems of n variables.

        They do not depend on the number of threads, since with other limits a solver takes other steps.
        """
        budget = options.budget - rows.held
        itemsize = rows.dtype.itemsize
        most = int(budget / (1 + _COPIES)) // itemsize
        needed = buffer_values(n + LANES)
        share = most // min(many, 2 if 2 * needed <= most else AT_A_TIME)
        values = max(min(share, needed), LEAST_VALUES)
        each = int((1 + _COPIES) * values * itemsize)
        workers = max(1, budget // each)
        max_iter = options.max_iter
        if max_iter == -1:
            max_iter = max(_STEPS, _STEPS_PER_POINT * n)
        return cls(Goal(options.tol), max_iter, values, options.callback, workers)

    @property
    def tol(self) -> float:
        """The violation allowed where it does not depend on a margin."""
        return self.goal.tol * self.goal.least

    def in_units(self, unit: float) -> Limits:
        """Return the limits with least violation and margin that were in units of margins."""
        return self._replace(goal=Goal(*strict(self.goal, unit)))


class SharedCallback:
    """A callback for several workers: one call at a time, and one answer True stops all of them.

    Parameters
    ----------
    step : callable (violation) -> bool
    """

    def __init__(self, step: Callable[[float], Any]) -> None:
        self._step = step
        self._lock = threading.Lock()
        self.stopped = False

    def __call__(self, violation: float) -> bool:
        """Pass on a violation; return whether to stop."""
        with self._lock:
            self.stopped |= bool(self._step(violation))
            return self.stopped
