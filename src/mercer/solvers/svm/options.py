"""Options of a training, and the limits that they set for one problem: tolerance, steps, memory, callback."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._common import TINY, Array
from mercer._compute.compile import compiled
from mercer._compute.costs import FLOAT64_POINTS, FLOAT64_VARIABLES, LANES
from mercer._compute.intrinsics import small
from mercer._compute.memory import allocate
from mercer._compute.points import count_points
from mercer.kernels.base import Kernel
from mercer.solvers.svm.dual import Dual
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
