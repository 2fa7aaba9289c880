"""The solutions of one machine for many C: kernel values are shared, and each solution starts from its neighbour."""

from dataclasses import replace

import numpy as np

from mercer._compute.memory import allocate
from mercer.solvers.svm import shrinking
from mercer.solvers.svm.shrinking import Variables
from mercer.solvers.svm.smo import Dual, Solution, solve, threshold
from mercer.solvers.svm.working_set import LANES

# Steps over all variables before others are set aside.
_FEW = 2000


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
        self._values = allocate((m, width), dtype)
        self.diagonal = np.zeros(width)
        self.diagonal[:m] = rows.diagonal[points]
        self._slots = np.where(np.arange(width) < m, np.arange(width), -1)
        columns = rows.columns(points)
        own = self._values[:, :m]
        out = own if rows.dtype == dtype else allocate((m, m), rows.dtype)
        columns(points, out)
        if out is not own:
            own[:] = out
        self._values[:, m:] = 0
        # a product rounds the distance of a point to itself
        np.fill_diagonal(self._values, self.diagonal)

    def product(self, chosen, coef):
        """Return K[chosen] @ coef (len(chosen), k), in the type of the values."""
        return self._values[chosen, : len(coef)] @ coef.astype(self._values.dtype)

    def solve(self, dual, scores, tol, max_iter, report):
        """Return the solution of a dual from its ``coef``, where ``scores`` belong to it.

        Some steps over all variables take turns with sweeps over those near the margin, whose kernel values are copied.
        """
        m, values = len(scores), (self._values, self._slots)
        variables = Variables.padded(self.diagonal[:m], scores, dual.coef, dual.lower, dual.upper)
        n_iter, stopped, lean = 0, False, False
        while (violation := variables.violation()) > tol and n_iter < max_iter and not stopped:
            near, left = shrinking.concerned(variables)[0], max_iter - n_iter
            if lean and shrinking.few(variables, near):
                steps, stopped = shrinking.solve_near(*values, variables, near, tol, left, report)
                lean = shrinking.pays(variables, near, steps)
            else:
                steps, stopped = shrinking.solve_all(*values, variables, tol, min(_FEW, left), report)
                lean = True
            n_iter, stopped = n_iter + steps, stopped or steps == 0
        coef, f = variables.coef[:m], variables.scores[:m]
        return Solution(coef, f, threshold(f, coef, dual), max(0.0, float(violation)), n_iter, 0)


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
