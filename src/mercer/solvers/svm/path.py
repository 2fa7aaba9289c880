"""Solutions of a dual for many C: kernel values are shared, and each solution starts from its neighbour."""

from dataclasses import replace

import numpy as np

from mercer._compute.memory import allocate
from mercer.solvers.svm import shrinking
from mercer.solvers.svm.bias import bias_of
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.shrinking import Variables
from mercer.solvers.svm.smo import LANES
from mercer.solvers.svm.workspace import Workspace

# Number of steps over all variables before others are set aside.
_FEW = 2000


def kernel_values(rows, points, options, dtype, workers=1):
    """Return the kernel values of some points: stored in ``dtype`` if memory holds them, row by row otherwise.

    Copies of each of several workers that read stored values are counted.
    """
    n = len(points)
    width = -(-n // LANES) * LANES
    converted = 0 if rows.dtype == dtype else n**2 * rows.dtype.itemsize
    beside = max(converted, workers * shrinking.largest_copy(n) * np.dtype(dtype).itemsize)
    if n * width * np.dtype(dtype).itemsize + beside <= options.budget:
        return StoredValues(rows, points, np.dtype(dtype))
    return LazyValues(rows, points, Workspace.allocate(rows, n, options))


def with_values(rows, duals, options, dtype, function, workers=1):
    """Call ``function(m, dual, values)`` for every dual; those over the same points share values."""
    known, values = None, None
    for m, dual in enumerate(duals):
        if known is None or not np.array_equal(known, dual.points):
            # the old values are freed before the new ones are computed
            values = None
            known, values = dual.points, kernel_values(rows, dual.points, options, dtype, workers)
        function(m, dual, values)


class StoredValues:
    """Kernel values between some points (int array (m,)), in memory."""

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

    def solve(self, dual, gradient, options):
        """Return the solution of a dual from its ``coef``, to which ``gradient`` belongs.

        Steps over all variables and sweeps over those near the margin, whose kernel values are copied, take turns.
        """
        m, values, limit = len(gradient), (self._values, self._slots), options.limit(len(gradient))
        arrays = self.diagonal[:m], gradient, dual.coef, dual.lower, dual.upper
        variables = Variables.padded(*arrays, epsilon=dual.epsilon)
        n_iter, stopped, lean = 0, False, False
        while (violation := variables.violation()) > options.tol and n_iter < limit and not stopped:
            near, left = shrinking.near_margin(variables)[0], limit - n_iter
            if lean and shrinking.few(variables, near):
                limits = options.tol, left, options.callback
                steps, stopped = shrinking.solve_near(*values, variables, near, *limits)
                lean = shrinking.pays(variables, near, steps)
            else:
                limits = options.tol, min(_FEW, left), options.callback
                steps, stopped = shrinking.solve_all(*values, variables, *limits)
                lean = True
            n_iter, stopped = n_iter + steps, stopped or steps == 0
        coef, f = variables.coef[:m], variables.gradient[:m]
        return Solution(coef, f, bias_of(f, coef, dual), max(0.0, float(violation)), n_iter)


class LazyValues:
    """Kernel values between some points (int array (m,)) that memory does not hold: rows are computed as needed."""

    def __init__(self, rows, points, workspace):
        self._rows, self._points, self._workspace = rows, points, workspace

    def product(self, chosen, coef):
        """Return K[chosen] @ coef (len(chosen), k)."""
        return self._rows.product(self._points[chosen], self._points, coef)

    def solve(self, dual, _gradient, options):
        """Return the solution of a dual from its ``coef``."""
        limits = {"tol": options.tol, "max_iter": options.limit(len(self._points)), "callback": options.callback}
        found = solve(self._rows, dual, replace(self._workspace, **limits))
        # the next solution overwrites the cache
        return replace(found, cache=None)


def solve_path(values, unit, Cs, options):
    """Return the solutions of a dual for its bounds times C, for ascending ``Cs``.

    A variable whose bounds are 0 is held out: its coefficient stays 0, its gradient is kept up to date. If no
    coefficient can move, because only one class is there, the bias is its target. The first solution starts from 0,
    each other from its neighbour, see `neighbour_start`.
    """
    zeros, solutions = np.zeros(len(unit.target)), []
    if not ((unit.lower < 0).any() and (unit.upper > 0).any()):
        present = unit.target[unit.lower < unit.upper]
        return [Solution(zeros, unit.target, float(present.mean()) if len(present) else 0.0, 0.0, 0)] * len(Cs)
    for C, before in zip(Cs, [None, *Cs[:-1]], strict=True):
        dual, gradient = replace(unit, lower=C * unit.lower, upper=C * unit.upper, coef=zeros), unit.target
        if before is not None:
            coef, gradient = neighbour_start(dual, solutions[-1], C / before)
            dual = replace(dual, coef=coef)
        solutions.append(values.solve(dual, gradient, options))
    return solutions


def neighbour_start(dual, solution, ratio):
    r"""Return the best multiple of a neighbour's solution within new bounds, ``ratio`` times the old, and its gradient.

    .. math:: s = \min(C'/C, (t'b - \epsilon |b|_1) / b'Kb), \qquad f = t - s K b
    """
    image = dual.target - solution.gradient
    curvature = float(solution.coef @ image)
    gain = float(dual.target @ solution.coef) - dual.epsilon * float(np.abs(solution.coef).sum())
    s = min(ratio, gain / curvature if curvature > 0 else ratio)
    coef = s * solution.coef
    if s == ratio:
        # coefficients at a bound are at the new bound to the last bit
        met = 1e-9 * (dual.upper - dual.lower)
        coef = np.where(dual.upper - coef <= met, dual.upper, np.where(coef - dual.lower <= met, dual.lower, coef))
    return coef, dual.target - s * image
