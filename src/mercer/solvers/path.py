"""The solutions of one machine for many C: kernel values are shared, and each solution starts from its neighbour."""

from dataclasses import replace

import numpy as np

from mercer import _threads
from mercer.solvers.smo import Dual, Solution, solve, threshold
from mercer.solvers.working_set import LANES, optimise

# Variables times steps between two looks at the world: a tenth of a second.
_WORK = 100_000_000
# Steps over all variables before some are set aside.
_FEW = 2000
# Share of the variables beyond which setting the others aside saves nothing.
_PART = 0.6
# A sweep over a part reduces the violation by this factor before it looks at the rest again.
_REDUCTION = 0.1


class StoredValues:
    """Kernel values of all points of a machine, in memory.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    points : int array (m,)
    dtype : dtype
        Of the values kept.
    """

    def __init__(self, rows, points, dtype):
        m = len(points)
        width = -(-m // LANES) * LANES
        self._values = np.zeros((m, width), dtype)
        self._diagonal = np.zeros(width)
        self._diagonal[:m] = rows.diagonal[points]
        self._slots = np.where(np.arange(width) < m, np.arange(width), -1)
        columns = rows.columns(points)
        out = self._values[:, :m] if rows.dtype == dtype else np.empty((m, m), rows.dtype)
        columns(points, out)
        self._values[:, :m] = out
        # a product rounds the distance of a point to itself
        np.fill_diagonal(self._values, self._diagonal)

    def product(self, chosen, coef):
        """Return K[chosen] @ coef (len(chosen), k), in the type of the values."""
        return self._values[chosen, : len(coef)] @ coef.astype(self._values.dtype)

    def solve(self, dual, scores, tol, max_iter, report):
        """Return the solution of a dual from its ``coef``, where ``scores`` belong to it.

        Some steps over all variables, then sweeps over those near the margin, whose kernel values fit into a cache.
        """
        m, size = len(scores), len(self._diagonal)
        lower, upper, coef, f = (np.pad(v, (0, size - m)) for v in (dual.lower, dual.upper, dual.coef, scores))
        whole = self._values, self._slots, self._diagonal, f, coef, lower, upper
        n_iter, violation, stopped = _steps(*whole, tol, min(_FEW, max_iter), report)
        while violation > tol and n_iter < max_iter and not stopped:
            near = _near(f, coef, lower, upper, violation)
            if len(near) > _PART * size:
                steps, violation, stopped = _steps(*whole, tol, max_iter - n_iter, report)
            else:
                aim = max(0.5 * tol, _REDUCTION * violation)
                steps, stopped = self._sweep(near, f, coef, lower, upper, aim, max_iter - n_iter, report)
                violation = _violation(f, coef, lower, upper)
            n_iter, stopped = n_iter + steps, stopped or steps == 0
        return Solution(coef[:m], f[:m], threshold(f[:m], coef[:m], dual), max(0.0, float(violation)), n_iter, 0)

    def _sweep(self, near, f, coef, lower, upper, tol, max_iter, report):
        """Solve for some variables, changing ``f`` and ``coef`` in place; return the steps and whether to stop."""
        own = np.pad(near, (0, -len(near) % LANES), mode="edge")
        parts = [values[own] for values in (self._diagonal, f, coef, lower, upper)]
        for each in parts[1:]:
            each[len(near) :] = 0
        slots = np.where(np.arange(len(own)) < len(near), np.arange(len(own)), -1)
        steps, _, stopped = _steps(self._values[np.ix_(near, own)], slots, *parts, tol, max_iter, report)
        change = parts[2][: len(near)] - coef[near]
        coef[near] = parts[2][: len(near)]
        moved = np.flatnonzero(change)
        for start in range(0, len(moved), LANES):
            some = moved[start : start + LANES]
            # sums over tiles in float64: coefficients may be as large as C
            f -= change[some] @ self._values[near[some]].astype(np.float64)
        return steps, stopped


class LazyValues:
    """Kernel values of a machine that memory does not hold: rows are computed as a solution needs them.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    points : int array (m,)
    memory : array
        One-dimensional, of the type of the rows.
    """

    def __init__(self, rows, points, memory):
        self._rows, self._points, self._memory = rows, points, memory

    def product(self, chosen, coef):
        """Return K[chosen] @ coef (len(chosen), k)."""
        columns = [self._rows.product(self._points[chosen], self._points, each) for each in coef.T]
        return np.column_stack(columns)

    def solve(self, dual, _scores, tol, max_iter, report):
        """Return the solution of a dual from its ``coef``."""
        found = solve(self._rows, dual, tol=tol, max_iter=max_iter, memory=self._memory, report=report)
        # its rows lie in memory that the next solution takes
        return replace(found, square=None)


def _steps(values, slots, diagonal, f, coef, lower, upper, tol, max_iter, report):
    """Take steps until ``tol`` or ``max_iter``; return their number, the violation and whether to stop."""
    groups, n_iter, violation, stopped = np.array([0, len(f)]), 0, np.inf, False
    limit = max(1, _WORK // len(f))
    while violation > tol and n_iter < max_iter and not stopped:
        _threads.checkpoint()
        steps, _, violation = optimise(
            *(values, slots, diagonal, f, coef, lower, upper, groups), *(tol, min(limit, max_iter - n_iter))
        )
        n_iter += steps
        stopped = (report is not None and report(violation)) or steps == 0
    return n_iter, violation, stopped


def _bounds(f, coef, lower, upper):
    """Return the largest score of what may rise and the smallest of what may fall."""
    top = np.max(f, where=coef < upper, initial=-np.inf)
    return top, np.min(f, where=coef > lower, initial=np.inf)


def _violation(f, coef, lower, upper):
    top, bottom = _bounds(f, coef, lower, upper)
    return top - bottom


def _near(f, coef, lower, upper, violation):
    """Return the variables that are free, violate, or would if the threshold moved by the violation."""
    middle = 0.5 * sum(_bounds(f, coef, lower, upper))
    rise, fall = coef < upper, coef > lower
    return np.flatnonzero((rise & (f > middle - violation)) | (fall & (f < middle + violation)))


def along(values, sign, points, weight, Cs, *, tol, max_iter, report=None):
    """Return the solutions of a classifier for prices C * weight, from the smallest C to the largest.

    Parameters
    ----------
    values : StoredValues or LazyValues
    sign : float64 array (m,)
        1 or -1.
    points : int array (m,)
        The point of each variable.
    weight : float64 array (m,)
        0 for what is held out: such a variable stays at 0, while its score is kept up to date.
    Cs : array (k,)
        Ascending.
    tol : float
    max_iter : int
        Pairs optimised at most for each C.
    report : callable (violation), optional

    Returns
    -------
    list of Solution
        Where one class only has weight: coefficients 0 and the sign of that class as threshold.

    Notes
    -----
    The first solution starts from 0, each other from its neighbour's times the s that `start` chooses.
    """
    target, solutions = sign.copy(), []
    present = np.unique(sign[weight > 0])
    if len(present) < 2:
        bias = float(present[0]) if len(present) else 0.0
        return [Solution(np.zeros_like(sign), target, bias, 0.0, 0, 0)] * len(Cs)
    for C, before in zip(Cs, [None, *Cs[:-1]], strict=True):
        lower, upper = np.minimum(C * weight * sign, 0), np.maximum(C * weight * sign, 0)
        coef, scores = np.zeros_like(sign), target
        if before is not None:
            coef, scores = start(target, solutions[-1], lower, upper, C / before)
        solutions.append(values.solve(Dual(target, lower, upper, coef, points), scores, tol, max_iter, report))
    return solutions


def start(target, solution, lower, upper, ratio):
    r"""Return the best multiple of a neighbour's solution within new bounds, and its scores.

    .. math:: s = \min(C'/C, t'b / b'Kb), \qquad f = t - s K b

    Parameters
    ----------
    target : float64 array (m,)
    solution : Solution
    lower, upper : float64 array (m,)
        The bounds of the neighbour times ``ratio``.
    ratio : float
        C' / C.

    Returns
    -------
    coef, scores : float64 array (m,)
        Feasible, with an objective at least as good as that of every other multiple that is; O(m), since K b is known.
    """
    image = target - solution.scores
    curvature = float(solution.coef @ image)
    best = float(target @ solution.coef) / curvature if curvature > 0 else ratio
    s = min(ratio, best)
    coef = s * solution.coef
    if s == ratio:
        # what was at its bound is at its bound again, to the last bit
        met = 1e-9 * (upper - lower)
        coef = np.where(upper - coef <= met, upper, np.where(coef - lower <= met, lower, coef))
    return coef, target - s * image
