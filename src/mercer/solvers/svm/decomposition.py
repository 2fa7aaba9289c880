"""Sequential minimal optimisation of a dual: sweeps over the variables that matter, with a bounded row cache."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import evenly_spaced
from mercer.solvers.svm.bias import bias_of, excess, slopes, violation_of
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.smo import LANES
from mercer.solvers.svm.sweep import Sweep

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.row_cache import RowCache
    from mercer.solvers.svm.workspace import Workspace

_log = logging.getLogger("mercer")

# Number of variables of the first sweep if memory does not hold all rows: a sample that places most of the others.
_FIRST = 4096
# A sweep over a part reduces the violation by the first factor before the others are checked again, by the second if it
# covers nearly all that violate.
_REDUCTION, _DEEP = 0.1, 0.01
# A sweep takes this multiple of the free variables, and at least this share of those that are free or violate.
_SPARE, _PART = 1.1, 0.5
# Chance takes free variables as if they violated by at least this share of the violation.
_SHARE = 0.02
# Fewest rows of the widest kind that a solver needs.
_LEAST = 64


def solve(
    rows: Any, dual: Dual, workspace: Workspace, adjust: Callable[..., Any] | None = None, gradient: Array | None = None
) -> Solution:
    """Return the solution of a dual: no pair of variables violates the optimality conditions by more than ``tol``.

    Sweeps solve for some variables while the others stay: for all of them if the memory holds their kernel rows,
    otherwise for those that violate most, are free or nearest to the margin. ``adjust(dual, solution)`` is called
    between sweeps and returns the epsilon to continue with, until it returns the present one. ``gradient`` is that of
    the start, if known.

    Platt, *Fast training of support vector machines using sequential minimal optimization* (1999); Joachims, *Making
    large-scale SVM learning practical* (1999), for shrinking.
    """
    size, tol = len(workspace.buffer), workspace.tol
    if size < _LEAST * LANES:
        raise ValueError(f"the buffer holds {size} kernel values; it must hold at least {_LEAST * LANES}.")
    state = _State(rows, dual, gradient)
    sweep, whole, stopped = None, False, False
    largest = _largest_sweep(len(dual.coef), size)
    while state.violation > tol and state.n_iter < workspace.max_iter and not stopped:
        dual = state.dual
        chosen, covered = _choose(state, largest, 0 if sweep is None else len(sweep.chosen))
        whole = len(chosen) == len(dual.coef)
        if sweep is None or not sweep.exchange(chosen, dual, state.gradient, state.coef):
            own = workspace if whole else replace(workspace, shared=())
            sweep = Sweep(rows, dual, chosen, state.gradient, state.coef, own)
        # a sweep that ends just above the tolerance would be followed by another one
        aim = state.violation * (_DEEP if covered and adjust is None else _REDUCTION)
        aim = 0.5 * tol if aim < 2 * tol else aim
        aim = tol if whole and adjust is None else aim
        dense = not covered and state.bias is not None
        steps, stopped = sweep.run(aim, workspace.max_iter - state.n_iter, dense=dense)
        state.update(sweep.chosen, *sweep.result(), steps)
        _log.debug(
            "smo: %d of %d variables, %d steps, violation %.3g",
            *(len(chosen), len(dual.coef), state.n_iter, state.violation),
        )
        if adjust is not None and not stopped:
            state.adjust(adjust, tol)
        stopped = stopped or steps == 0
    return state.solution(sweep.cache if whole else None)


class _State:
    """The point that SMO has reached."""

    def __init__(self, rows: Any, dual: Dual, gradient: Array | None) -> None:
        self.dual, self._rows = dual, rows
        self.coef = dual.coef.copy()
        self.n_iter = 0
        self.bias = None
        self.rng = np.random.default_rng(0)
        support = np.flatnonzero(self.coef)
        if gradient is None:
            gradient = dual.target.copy()
            if len(support):
                gradient -= rows.product(dual.points, dual.points[support], self.coef[support])
        self.gradient = gradient
        if len(support):
            self.bias = bias_of(self.gradient, self.coef, dual)
        self.violation = violation_of(self.gradient, self.coef, dual)

    def update(self, chosen: Array, coef: Array, gradient: Array, steps: int) -> None:
        """Take the result of a sweep, and update the gradient of the other variables."""
        change = coef - self.coef[chosen]
        self.coef[chosen], self.gradient[chosen] = coef, gradient
        moved = np.flatnonzero(change)
        if len(chosen) < len(self.coef) and len(moved):
            rest = np.ones(len(self.coef), bool)
            rest[chosen] = False
            points = self.dual.points
            self.gradient[rest] -= self._rows.product(points[rest], points[chosen[moved]], change[moved])
        self.n_iter += steps
        self._measure()

    def adjust(self, adjust: Callable[..., Any], tol: float) -> None:
        """Change epsilon until it stays, or until the violation exceeds ``tol``."""
        while (epsilon := adjust(self.dual, self.solution())) != self.dual.epsilon:
            self.dual = replace(self.dual, epsilon=epsilon)
            self._measure()
            if self.violation > tol:
                break

    def solution(self, cache: RowCache | None = None) -> Solution:
        """Return the point as a solution."""
        bias = bias_of(self.gradient, self.coef, self.dual) if self.bias is None else self.bias
        arrays = self.coef, self.gradient, bias, self.violation
        return Solution(*arrays, self.n_iter, cache, epsilon=self.dual.epsilon)

    def _measure(self):
        self.bias = bias_of(self.gradient, self.coef, self.dual)
        self.violation = violation_of(self.gradient, self.coef, self.dual)


def _largest_sweep(n, values):
    """Return the largest number of variables whose rows fit into so many values."""
    width = -(-n // LANES) * LANES
    return n if n * width <= values else min(n, max(LANES, math.isqrt(values) // LANES * LANES))


def _choose(state, largest, least):
    """Return the variables of the next sweep, and whether they contain nearly all that violate or are free.

    These are all variables, or those that are free, violate or are nearest to the margin.
    """
    coef, bias = state.coef, state.bias
    n = len(coef)
    if bias is None and (n > 2 * _FIRST or n > largest):
        return evenly_spaced(n, min(largest, _FIRST)), False
    rising, falling = slopes(state.gradient, coef, state.dual)
    free = rising == falling
    worth = excess(rising, falling, bias or 0.0)
    concerned = np.count_nonzero((worth > 0) | free)
    wanted = int(max(_SPARE * np.count_nonzero(free), _PART * concerned))
    size = min(largest, max(_FIRST, least, wanted // LANES * LANES))
    if n <= max(size, 2 * _FIRST) and n <= largest:
        return np.arange(n), True
    if concerned <= size:
        worth[free] += 1
    else:
        # at random in proportion to the violation: the largest lie close together, and move others from the optimum
        shares = np.maximum(worth, _SHARE * state.violation * free)
        worth = shares / state.rng.standard_exponential(n)
    # the pair that violates most always takes part, so that every sweep gains
    worth[[np.argmax(rising), np.argmin(falling)]] = np.inf
    return np.sort(np.argpartition(-worth, size)[:size]), concerned <= _SPARE * size
