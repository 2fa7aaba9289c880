r"""Duals of the linear kernel without kernel rows: semismooth Newton steps on the normal and the bias.

The method of multipliers adds -|b - b_k|^2 / (2 sigma) to the dual objective and maximises it in rounds, each with a
larger sigma, over the normal w (d,) and the bias b_0:

.. math:: \min_{w, b_0} \tfrac12 |w|^2 + s b_0 + \sum_i \max_{l_i \le a \le u_i}
    a r_i - \epsilon |a| - \tfrac12 \rho_i a^2 - \tfrac1{2\sigma} (a - b_{k,i})^2,\quad r = t - X w - b_0,\ s = 1'b

The maximisers a are the next b. The function is convex, smooth and quadratic in pieces, and its curvature is that of
the few points between their bounds.

Yan, Li, *An efficient augmented Lagrangian method for support vector machine*, Optimization Methods and Software 35
(2020); here with a free bias, an epsilon and a ridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array
from mercer._compute.points import take_points, widened
from mercer._compute.threads import check_cancelled, threaded_blas
from mercer.kernels.dot import Linear
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.newton import refine_point
from mercer.solvers.svm.newton_direction import Products, newton_direction
from mercer.solvers.svm.verify import Point, bias_of, certificate, middle, slopes, violation_of

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.workspace import Workspace

# Fewest variables for which products with the rows of X pay.
_LEAST = 1000
COARSE = 0.008
# Rounds multiply sigma by the first number; this many without a violation lower by the share are the last.
_GROWTH, _VAIN, _FALL = 3.0, 3, 0.1
# The first sigma times the mean square of the rows is at most this: bounds far above the coefficients stay out of it.
_FIRST = 100.0
# A round ends when its error is this share of the change of coefficients over sigma, and of the tolerance.
_INNER = 0.1
# Share of coefficients up to which those that changed are summed alone.
_CHANGED = 0.25
# Most Newton steps of a round.
_STEPS = 100
# Operations of a solution for each entry of X, about: products with X repeat at once.
_OPERATIONS = 200
# A line search ends at this share of the first slope; the longest step, and the least relative width of an interval.
_FLATTER, _LONGEST, _ROUNDING = 0.1, 1e9, 1e-12
# Relative accuracy of the sum of coefficients in a round, after which the free ones share the rest; its rounding.
_EXACT, _ROUNDED = 1e-9, 1e-14
# Largest number of variables near the margin that are solved for to the last digits.
_NEAR = 500


def fits_linear(rows: Any, dual: Dual) -> bool:
    """Whether a dual belongs to a linear kernel on rows of numbers, and has enough variables and finite bounds.

    Kernel values between dense rows that are no more than their columns take no more memory than the rows, and less
    time than Newton steps.
    """
    kernel, points = without_ridge(rows, dual)
    numbers = isinstance(points, np.ndarray) or sp.issparse(points)
    if not (isinstance(kernel, Linear) and numbers and len(dual.coef) >= _LEAST):
        return False
    if isinstance(points, np.ndarray) and len(dual.coef) <= points.shape[1]:
        return False
    return dual.total is None and (dual.ridge is not None or not dual.unbounded)


def any_fits_linear(rows: Any, duals: Sequence[Dual]) -> bool:
    """Whether one of several duals is for `solve_linear`."""
    kernel = rows.kernel
    return isinstance(getattr(kernel, "kernel", kernel), Linear) and any(fits_linear(rows, dual) for dual in duals)


def without_ridge(rows: Any, dual: Dual) -> tuple[Any, ...]:
    """Return the kernel and the points of rows, without the ridge of a dual."""
    kernel = rows.kernel
    return (kernel.kernel, kernel.points) if dual.ridge is not None else (kernel, rows.points)


def solve_linear(rows: Any, dual: Dual, workspace: Workspace) -> Solution:
    """Return the solution of a dual of the linear kernel; ``n_iter`` counts Newton steps.

    A step costs two products with X, and O(m^2 (d + m)) for the smaller m of the number of columns and of free
    variables; conjugate gradients solve for more than 1 000 to 2 000.
    """
    X = without_ridge(rows, dual)[1]
    with threaded_blas(_OPERATIONS * (X.nnz if sp.issparse(X) else X.size)):
        return _solve(rows, dual, workspace, _State(X, dual))


def _solve(rows, dual, workspace, state):
    """Take rounds until the violation is within the tolerance and the gap a small share of the objective."""
    size, spread = _mean_range(dual), float(np.std(dual.target)) or 1.0
    # at this sigma coefficients cross their range where residuals cross theirs
    full = size / spread
    sigma = min(full, _FIRST / state.size**2) if state.size > 0 else full
    tol, best, least = workspace.tol, state.solution(), np.inf
    vain, value = 0, np.nan
    while best.violation > tol and state.n_iter < workspace.max_iter:
        state.maximise(sigma, tol, workspace.max_iter)
        found, before = state.solution(), value
        parts = certificate(dual, found.coef, found.gradient, found.bias)
        value = parts.dual
        # at a small sigma errors of this size do not move coefficients across their range yet, and need not fall
        reached = sigma * min(spread, found.violation) >= size
        vain = vain + 1 if reached and found.violation >= (1 - _FALL) * least else 0
        best, least = (found, found.violation) if found.violation <= least else (best, least)
        if workspace.callback is not None and workspace.callback(found.violation):
            break
        if vain >= _VAIN:
            best = replace(best, gain=(value - before) / max(abs(value), np.finfo(float).tiny))
            break
        if found.violation <= tol and parts.gap > COARSE * parts.primal > 0:
            tol = found.violation * 0.5 * COARSE * parts.primal / parts.gap
        sigma *= _GROWTH
    return _refined(rows, state, replace(best, n_iter=state.n_iter), workspace.tol)


def _refined(rows, state, solution, tol):
    """Return a solution to its last digits if few variables are near the margin."""
    if np.count_nonzero(np.abs(solution.gradient - solution.bias) <= state.dual.epsilon + 10 * tol) > _NEAR:
        return solution
    point = Point(rows, state.dual, solution)
    refine_point(rows, point, 10 * tol)
    state.place(point.coef)
    found = state.solution()
    return found if found.violation < solution.violation else solution


def _mean_range(dual):
    """Return the mean width of the range of a coefficient, or by how much a residual of 1 moves it."""
    return float(np.mean(1 / dual.ridge if dual.ridge is not None else dual.upper - dual.lower))


@dataclass(frozen=True)
class _Round:
    """The problem of one round: the function of the residuals, and its first two derivatives."""

    dual: Any
    sigma: float
    base: np.ndarray
    curvature: np.ndarray

    @classmethod
    def about(cls, dual: Dual, coef: Array, sigma: float) -> Any:
        ridge = 0.0 if dual.ridge is None else dual.ridge
        return cls(dual, sigma, coef / sigma, np.broadcast_to(1 / (ridge + 1 / sigma), coef.shape))

    def coefficients(self, residual: Array) -> Array:
        """Return the maximisers a at a residual."""
        return np.clip(self._unbounded(residual), self.dual.lower, self.dual.upper)

    def free(self, coef: Array) -> Array:
        """Return the variables between their bounds: the function is curved there."""
        inside = (coef > self.dual.lower) & (coef < self.dual.upper)
        return np.flatnonzero(inside & (coef != 0) if self.dual.epsilon > 0 else inside)

    def nearly_free(self, residual: Array, missing: float) -> Array:
        """Return as many variables as can take up a missing sum, at most a tenth: those that pass bounds by least."""
        coef = self._unbounded(residual)
        beyond = np.maximum(coef - self.dual.upper, self.dual.lower - coef)
        needed = abs(missing) / float(np.mean(self.dual.upper - self.dual.lower))
        count = 1 + int(min(needed, (len(coef) - 1) // 10))
        return np.argpartition(beyond, count - 1)[:count]

    def _unbounded(self, residual):
        pull = residual + self.base
        if self.dual.epsilon > 0:
            pull -= np.clip(pull, -self.dual.epsilon, self.dual.epsilon)
        pull *= self.curvature
        return pull


class _State:
    """The point that the method has reached: coefficients, normal, bias and gradient.

    ``X`` are the rows about their mean, ``errors`` t - X w, and ``bias`` is that of these rows.
    """

    def __init__(self, points: Any, dual: Dual) -> None:
        X = widened(take_points(points, dual.points))
        self._sum = float(dual.coef.sum())
        self._centre = np.zeros(X.shape[1])
        if isinstance(X, np.ndarray):
            # the bias takes up the mean of the rows, whose rounding would hide their differences
            self._centre = X.mean(axis=0)
            X -= self._centre
        self.X = X
        self.dual = dual
        self.n_iter = 0
        self._products = Products(X)
        squares = X.multiply(X).sum() if sp.issparse(X) else np.einsum("ij,ij->", X, X)
        self.size = np.sqrt(float(squares) / X.shape[0])
        self.place(dual.coef)
        rising, falling = slopes(self.gradient, self.coef, dual)
        self.bias = middle(rising.max(), falling.min()) + float(self._centre @ self.normal)

    def place(self, coef: Array) -> None:
        """Move to some coefficients."""
        self.coef, self.normal = coef, self._normal(coef)
        self.errors = self.dual.target - self.X @ self.normal
        ridge = 0.0 if self.dual.ridge is None else self.dual.ridge * coef
        self.gradient = self.errors - float(self._centre @ self.normal) - ridge

    def _normal(self, coef):
        return self.X.T @ coef + self._sum * self._centre

    def _updated(self, normal, before, coef):
        """Return the normal of coefficients from that of the coefficients before, by the rows of those that changed."""
        moved = np.flatnonzero(coef != before)
        if len(moved) > _CHANGED * len(coef):
            return self._normal(coef)
        return normal + self.X[moved].T @ (coef[moved] - before[moved])

    def solution(self) -> Solution:
        """Return the point as a solution."""
        bias = bias_of(self.gradient, self.coef, self.dual)
        violation = violation_of(self.gradient, self.coef, self.dual)
        return Solution(self.coef, self.gradient, bias, violation, self.n_iter, epsilon=self.dual.epsilon)

    def maximise(self, sigma: float, tol: float, max_iter: int) -> None:
        """Take the Newton steps of a round, and move to its maximisers."""
        part = _Round.about(self.dual, self.coef, sigma)
        residual = self.errors - self.bias
        coef = part.coefficients(residual)
        image = self._normal(coef)
        for _ in range(_STEPS):
            check_cancelled()
            pull = self.normal - image
            missing = self._sum - float(coef.sum())
            if self._exact(coef, pull, missing, sigma, tol) or self.n_iter >= max_iter:
                break
            self.n_iter += 1
            free = part.free(coef)
            # without curvature a step would only follow the slope
            free = free if len(free) else part.nearly_free(residual, missing)
            normal, bias = newton_direction(self._products, free, part.curvature[free], pull, missing)
            change = self.X @ normal + bias
            slope = float((self.normal - self._sum * self._centre) @ normal) + self._sum * bias
            step = _line_search(part, residual, change, slope, float(normal @ normal))
            if step == 0:
                break
            self.normal = self.normal + step * normal
            self.bias += step * bias
            residual -= step * change
            before, coef = coef, part.coefficients(residual)
            image = self._updated(image, before, coef)
        self.place(self._with_sum(coef, part.free(coef)))

    def _exact(self, coef, pull, missing, sigma, tol):
        """Whether a round has converged: its error is below the change of the coefficients, or the tolerance."""
        moved = float(np.abs(coef - self.coef).max()) / sigma
        allowed = _INNER * max(tol, min(1.0, moved))
        return self.size * np.linalg.norm(pull) <= allowed and abs(missing) <= _EXACT * np.abs(coef).sum()

    def _with_sum(self, coef, free):
        """Return coefficients of the prescribed sum: the free ones share the difference, or all of them must."""
        for chosen in (free, np.arange(len(coef))):
            missing = self._sum - float(coef.sum())
            if abs(missing) > _ROUNDED * np.abs(coef).sum() and len(chosen):
                coef[chosen] = shifted(coef[chosen], missing, self.dual.lower[chosen], self.dual.upper[chosen])
        return coef


def shifted(coef: Array, missing: float, lower: Array, upper: Array) -> Array:
    """Return coefficients plus a constant, within their bounds, whose sum is larger by ``missing``."""
    total = float(coef.sum()) + missing
    reach = float(np.max(upper - lower))
    low, high = (0.0, reach) if missing > 0 else (-reach, 0.0)
    while (shift := 0.5 * (low + high)) not in (low, high):
        above = float(np.clip(coef + shift, lower, upper).sum()) > total
        low, high = (low, shift) if above else (shift, high)
    return np.clip(coef + low, lower, upper)


def _line_search(part, residual, change, slope, curvature):
    """Return the step along a direction where the slope of a round's function is nearly 0; 0 if it does not fall.

    ``slope`` and ``curvature`` are those of the part that is quadratic.
    """

    def slope_at(step):
        coef = part.coefficients(residual - step * change)
        return slope + step * curvature - float(coef @ change)

    low, high = 0.0, 1.0
    below, above = slope_at(low), slope_at(high)
    goal = _FLATTER * abs(below)
    if not below < 0:
        return 0.0
    while above < -goal and high < _LONGEST:
        low, below, high = high, above, 4 * high
        above = slope_at(high)
    while above > goal and high - low > _ROUNDING * high:
        # the root of the chord, kept away from the ends
        step = low + (high - low) * min(max(below / (below - above), 0.05), 0.95)
        value = slope_at(step)
        if abs(value) <= goal:
            return step
        low, below, high, above = (step, value, high, above) if value < 0 else (low, below, step, value)
    return high
