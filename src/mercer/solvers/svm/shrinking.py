"""Shrinking: SMO steps on the few variables near the margin, whose kernel values fit into the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.bias import excess, slopes
from mercer.solvers.svm.rows import run
from mercer.solvers.svm.smo import LANES, gather, optimise, subtract

# Variables times steps between two checks for interrupts, about 0.1 s; overhead of a step, in variables.
_WORK = 100_000_000
_OVERHEAD = 1000
# Items that a thread takes at a time.
_SLICE = 1024
# Number of variables above which a sweep is limited, and its limit.
_WIDE, _BLOCK = 8192, 4096
# Time to copy a kernel value, in units of the time that a step takes per variable.
_COPY = 4
# Share of the variables beyond which setting the others aside saves nothing.
_PART = 0.6
# A sweep over a part reduces the violation by this factor before the others are checked again.
_REDUCTION = 0.1


@dataclass(frozen=True)
class Variables:
    """Variables of a dual in whole lanes; padding has bounds 0. Steps change ``gradient`` and ``coef`` in place.

    All arrays are float64 (m,), m a multiple of ``LANES``.
    """

    diagonal: np.ndarray
    gradient: np.ndarray
    coef: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float = 0.0

    @classmethod
    def padded(cls, *arrays: Any, epsilon: float = 0.0) -> Variables:
        """Return variables from arrays of any equal length, which are copied."""
        return cls(*(np.pad(values, (0, -len(values) % LANES)) for values in arrays), epsilon)

    def __len__(self) -> int:
        return len(self.coef)

    def take(self, places: Array) -> Variables:
        """Return copies of some variables."""
        arrays = self.diagonal, self.gradient, self.coef, self.lower, self.upper
        return Variables.padded(*(each[places] for each in arrays), epsilon=self.epsilon)

    def slopes(self) -> tuple[Array, Array]:
        """Return the slopes to the right and to the left, see `slopes`."""
        return slopes(self.gradient, self.coef, self)

    def interval(self) -> tuple[float, float]:
        """Return the largest slope of what may rise and the smallest of what may fall."""
        rising, falling = self.slopes()
        return float(rising.max()), float(falling.min())

    def violation(self) -> float:
        """Return the largest slope of what may rise minus the smallest of what may fall."""
        top, bottom = self.interval()
        return top - bottom

    def middle(self) -> float:
        """Return the middle of the interval: a bias."""
        return 0.5 * sum(self.interval())

    def free(self) -> Array:
        """Return the places of free variables: inside their bounds, and not 0 if epsilon is positive."""
        rising, falling = self.slopes()
        return np.flatnonzero(rising == falling)

    def near(self) -> Array:
        """Return the places of variables that are free, violate, or would if the bias moved by the violation."""
        rising, falling = self.slopes()
        top, bottom = rising.max(), falling.min()
        middle, violation = 0.5 * (top + bottom), top - bottom
        close = (rising > middle - violation) | (falling < middle + violation)
        return np.flatnonzero(close | (rising == falling))

    def steps(self, values: Array, slots: Array, tol: float, max_iter: int) -> tuple[int, int, float]:
        """Take steps for about 0.1 s at most; return their number, the missing row and the violation."""
        limit = min(max_iter, max(1, _WORK // (len(self) + _OVERHEAD)))
        groups = np.array([0, len(self)])
        arrays = self.diagonal, self.gradient, self.coef, self.lower, self.upper
        return optimise(values, slots, *arrays, self.epsilon, groups, tol, limit)


def near_margin(variables: Variables) -> tuple[Array, bool]:
    """Return the places of variables near the margin, at most 4096 of very many, and whether these are all."""
    near = variables.near()
    if len(variables) <= _WIDE or len(near) <= _BLOCK:
        return near, True
    rising, falling = variables.slopes()
    worst = excess(rising[near], falling[near], variables.middle())
    return np.sort(near[np.argpartition(-worst, _BLOCK)[:_BLOCK]]), False


def pays(variables: Variables, near: Array, steps: int) -> bool:
    """Whether so many steps over some variables were worth copying their kernel values."""
    return steps * len(variables) >= _COPY * len(near) ** 2


def few(variables: Variables, near: Array) -> bool:
    """Whether a step over the variables near the margin costs much less than one over all."""
    return len(near) <= _PART * len(variables)


def solve_near(
    values: Array,
    slots: Array,
    variables: Variables,
    near: Array,
    tol: float,
    max_iter: int,
    callback: Callable[..., Any] | None,
) -> tuple[int, bool]:
    """Solve for the variables at the places ``near``, ascending, changing ``variables`` in place.

    ``values`` holds their kernel rows, in ``slots``. Their violation is reduced to a tenth, or to half of ``tol`` if it
    is larger. Return the number of steps and whether ``callback`` stopped them.
    """
    inner = variables.take(near)
    block = np.empty((len(near), len(inner)), values.dtype)
    _in_slices(lambda own: gather(values, slots[near[own]], near, block[own]), len(near), block.size)
    own = np.where(np.arange(len(inner)) < len(near), np.arange(len(inner)), -1)
    aim = max(0.5 * tol, _REDUCTION * inner.violation())
    n_iter, stopped = solve_all(block, own, inner, aim, max_iter, callback)
    change = inner.coef[: len(near)] - variables.coef[near]
    variables.coef[near] = inner.coef[: len(near)]
    moved = np.flatnonzero(change)
    used, weights = slots[near[moved]], change[moved]
    _in_slices(
        lambda own: subtract(values[:, own], used, weights, variables.gradient[own]),
        len(variables),
        len(moved) * len(variables),
    )
    return n_iter, stopped


def _in_slices(function, n, work):
    """Call ``function`` on slices that together are 0 to n, on several threads if there is enough work."""
    run(lambda k: function(slice(k * _SLICE, min(n, (k + 1) * _SLICE))), -(-n // _SLICE), work)


def solve_all(
    values: Array, slots: Array, variables: Variables, tol: float, max_iter: int, callback: Callable[..., Any] | None
) -> tuple[int, bool]:
    """Take steps over all variables, whose rows are all known; return their number and whether they were stopped."""
    n_iter, violation, stopped = 0, np.inf, False
    while violation > tol and n_iter < max_iter and not stopped:
        check_cancelled()
        steps, _, violation = variables.steps(values, slots, tol, max_iter - n_iter)
        n_iter += steps
        stopped = callback is not None and callback(violation)
    return n_iter, stopped
