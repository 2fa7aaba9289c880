"""Optimality of a point of a dual: slopes, the bias between them, violation, gap and certificate, always in float64.

A bias b_0 is called intercept in fitted models, and threshold in other texts. Variables that keep separate sums have a
bias each.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._common import EPS, Array
from mercer._compute.compile import compiled
from mercer._compute.intrinsics import larger, small, smaller
from mercer.solvers.certify import Certificate
from mercer.solvers.svm.dual import FINEST, Dual, Solution
from mercer.solvers.svm.rows import Rows
from mercer.solvers.svm.smo import compiled_vectors, offsets

# A coefficient that was stored or multiplied is at a bound within so many roundings of a number.
STORED = 4
# Relative difference that counts as none: of a coefficient from its bound, of bounds, of a sum from that prescribed.
AT_BOUND = 1e-6
# Share of the largest gradient that is rounding.
ROUNDED = 1e-12
# Share of the sizes of coefficients that many steps round: of their sum, and of what keeps one from a bound or from 0.
DRIFT = 1e-13
# Roundings by which a boundary is moved outwards. Float32 moves values by up to 6 roundings of the largest kernel
# value, measured on up to 784 columns, and by up to 12 where rows are 1 000 standard deviations from the origin.
_OUTWARDS = 64
# Largest share of squared distances by which the boundary of a model in float64 is moved for the sake of float32.
_OUTWARDS_SHARE = 1e-3


# --- compiled --------------------------------------------------------------------------------------------------------


@compiled
def measure(f, coef, lower, upper, epsilon, groups, bias):
    """Write the bias of each group, the mean slope of its free variables or else the middle of the interval.

    Variables ``groups[g]`` to ``groups[g + 1]`` keep their sum; an interval has its finite end for a middle. Return the
    largest violation: the largest slope of a rise minus the smallest of a fall, at least 0; inf if a slope is NaN.
    """
    small()
    violation = 0.0
    numbers = True
    for g in range(groups.size - 1):
        top = -np.inf
        bottom = np.inf
        total = 0.0
        count = 0
        for t in range(groups[g], groups[g + 1]):
            rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
            up = f[t] + rise
            down = f[t] - fall
            numbers = numbers and f[t] == f[t]
            top = larger(top, up)
            bottom = smaller(bottom, down)
            if up == down:
                total += up
                count += 1
        bias[g] = 0.5 * (top + bottom)
        if top == -np.inf or bottom == np.inf:
            bias[g] = bottom if top == -np.inf else top
        if count:
            bias[g] = total / count
        violation = larger(violation, top - bottom)
    return violation if numbers else np.inf


@compiled
def measure_state(s, bias):
    """Write the bias of each group of a state; return the largest violation."""
    small()
    return measure(s.f, s.coef, s.lower, s.upper, s.epsilon, s.groups, bias)


@compiled_vectors
def objectives(target, f, coef, lower, upper, epsilon, bias):
    """Return the dual objective about a bias, and the gap, of a point between finite bounds.

    A term of the gap is the gain of the best move of a coefficient, to a bound or to 0, in pieces: nothing cancels.
    """
    small()
    value = 0.0
    gap = 0.0
    for t in range(coef.size):
        right = f[t] - bias - epsilon
        left = f[t] - bias + epsilon
        above = larger(coef[t], 0.0)
        below = smaller(coef[t], 0.0)
        rise = (upper[t] - above) * right - below * left
        fall = (lower[t] - below) * left - above * right
        gap += larger(larger(rise, fall), -below * left - above * right)
        value += 0.5 * coef[t] * (target[t] - bias + (f[t] - bias)) - epsilon * abs(coef[t])
    return value, gap


@compiled
def finer(gap, primal, coarse):
    """Return the share of a tolerance that steps aim at next: 1 if the gap is a small share of the objective."""
    small()
    if not (primal > 0 and gap > coarse * primal):
        return 1.0
    return larger(FINEST, 0.5 * coarse * primal / gap)


@compiled
def settle(coef, lower, upper, drift, rounding):
    """Set coefficients to 0 or a bound within a share ``drift`` of the largest, or a bound by its ``rounding``.

    They are not free: the bias of a solution is not at their slopes, where it would depend on rounding.
    """
    small()
    near = 0.0
    for t in range(coef.size):
        near = larger(near, drift * abs(coef[t]))
    for t in range(coef.size):
        if abs(coef[t]) <= near:
            coef[t] = 0.0
        if upper[t] - coef[t] <= larger(near, rounding * abs(upper[t])) < np.inf:
            coef[t] = upper[t]
        if coef[t] - lower[t] <= larger(near, rounding * abs(lower[t])) < np.inf:
            coef[t] = lower[t]


# --- slopes, bias and violation --------------------------------------------------------------------------------------


def measured(gradient: Array, coef: Array, dual: Dual) -> tuple[Array, float]:
    """Return the bias of each group of variables (g,), and the largest violation.

    This is the largest slope at which a coefficient may rise minus the smallest at which one may fall, at least 0.
    """
    (groups,) = dual.groups
    bias = np.empty(len(groups) - 1)
    return bias, measure(gradient, coef, dual.lower, dual.upper, float(dual.epsilon), groups, bias)


def certified(found: Solution, dual: Dual) -> Solution:
    """Return solutions with their objectives; their epsilon may be another one than that of the dual."""
    own = replace(dual, epsilon=float(found.epsilon[0]))
    primal, value, _ = certificates_of(own, found.coef, found.gradient, found.bias)
    return replace(found, primal=primal, value=value)


def inner_bias(found: Solution, dual: Dual, dtype: Any, scale: float) -> float:
    """Return a bias that no gradient of a variable below its bound exceeds, not by rounding in ``dtype`` either.

    ``scale`` is that of kernel values. Only points at their bounds then lie outside.
    """
    rise = found.coef < dual.upper
    bias = float((found.gradient[rise] if rise.any() else found.bias).max())
    return bias + outwards(bias, dtype, scale)


def outwards(bias: float, dtype: Any, scale: float) -> float:
    """Return by how much `inner_bias` moves a boundary outwards: the gap of coefficients of sum 1 grows by it."""
    return _OUTWARDS * float(np.finfo(dtype).eps) * max(abs(bias), float(scale))


def storage_margin(bias: float, dtype: Any, scale: float, scatter: float) -> float:
    """Return by how much a boundary moves further outwards so that float32 leaves the points on it inside.

    This is the rest of `outwards` in float32, and at most a small share of ``scatter``, the mean squared distance of
    points from their mean. A model is exported to float32 and asked for rows in float32, and both move its values.
    """
    rest = outwards(bias, np.float32, scale) - outwards(bias, dtype, scale)
    return min(rest, _OUTWARDS_SHARE * max(scatter, 0.0))


# --- a point that a solver moves -------------------------------------------------------------------------------------


class Point:
    """Where a solver stands in a dual, at some coefficients and their gradient, which are copied.

    Attributes
    ----------
    coef, gradient : float64 array (n,)
    bias : float64 array (groups,)
    violation : float
    n_iter : int
    noise, gain : float
        As of `Solution`.
    """

    def __init__(self, dual: Dual, coef: Array, gradient: Array, n_iter: int = 0) -> None:
        self.dual = dual
        self.coef = coef.copy()
        self.gradient = gradient.copy()
        self.n_iter = n_iter
        self.noise = 0.0
        self.gain = np.inf
        self.measure()

    @cached_property
    def group(self) -> Array:
        """The number of the group of each variable (int array)."""
        sizes = np.diff(self.dual.groups[0])
        return np.repeat(np.arange(len(sizes)), sizes)

    def measure(self) -> None:
        """Compute biases and violation anew."""
        self.bias, self.violation = measured(self.gradient, self.coef, self.dual)

    def set_noise(self, rows: Rows) -> None:
        """Take the rounding of the gradient that independent errors of kernel values give."""
        self.noise = rows.error * float(np.linalg.norm(self.coef))

    def objective(self) -> float:
        """Return the dual objective, t'b - epsilon |b|_1 - b'Kb / 2."""
        linear = 0.5 * float(self.coef @ (self.dual.target + self.gradient))
        return linear - self.dual.epsilon * float(np.abs(self.coef).sum())

    def finer(self, coarse: float) -> float:
        """Return the share of a tolerance that steps aim at next, 1 if the gap is small or there are two groups."""
        if self.dual.split is not None:
            return 1.0
        found = certificate(self.dual, self.coef, self.gradient, self.bias)
        return float(finer(found.gap, found.primal, coarse))

    def slopes(self) -> tuple[Array, Array]:
        """Return the slopes of rises and of falls about the biases, -inf and inf at that bound.

        They are equal for free variables, and for these only. At the optimum no rise exceeds a fall.
        """
        epsilon = self.dual.epsilon
        slope = self.gradient - self.bias[self.group]
        rising = slope + np.where(self.coef < 0, epsilon, -epsilon)
        falling = slope + np.where(self.coef > 0, -epsilon, epsilon)
        rising[self.coef >= self.dual.upper] = -np.inf
        falling[self.coef <= self.dual.lower] = np.inf
        return rising, falling

    def move(self, rows: Rows, places: Array, coef: Array, gradient: Array, gaining: bool) -> bool:
        """Move some coefficients, whose gradient is then known, and return whether that is better.

        The violation falls or, if ``gaining``, the objective rises; otherwise nothing moves.
        """
        before = Point(self.dual, self.coef, self.gradient)
        self.place(rows, places, coef, gradient)
        # to rounding, since coefficients of exact sums may violate by that where others do not
        rounding = ROUNDED * float(np.abs(gradient).max(initial=1.0))
        if self.violation <= max(before.violation, rounding) or (
            gaining and self.objective() > before.objective()
        ):
            return True
        self.return_to(before)
        return False

    def return_to(self, other: Point) -> None:
        """Take the coefficients and the gradient of another point."""
        self.coef = other.coef
        self.gradient = other.gradient
        self.measure()

    def place(self, rows: Rows, places: Array, coef: Array, gradient: Array) -> None:
        """Set some coefficients and their gradient, and update that of the other variables."""
        change = coef - self.coef[places]
        moved = np.flatnonzero(change)
        rest = np.ones(len(self.coef), bool)
        rest[places] = False
        if len(moved) and rest.any():
            points = self.dual.points
            self.gradient[rest] -= rows.product(points[rest], points[places[moved]], change[moved])
        self.coef[places] = coef
        self.gradient[places] = gradient
        self.measure()

    def solution(self) -> Solution:
        """Return the point as a solution with settled coefficients and certificate."""
        dual = self.dual
        coef = self.coef.copy()
        settle(coef, dual.lower, dual.upper, DRIFT, EPS)
        biases = measured(self.gradient, coef, dual)[0]
        found = Solution(
            coef,
            self.gradient,
            biases.mean(keepdims=True),
            self.violation,
            self.n_iter,
            margin=0.5 * (biases[1:] - biases[0]) if len(biases) > 1 else 1.0,
            noise=self.noise,
            epsilon=dual.epsilon,
            gain=self.gain,
        )
        return certified(found, dual)


def exact_gradient(rows: Rows, dual: Dual, coef: Array, places: Any = slice(None)) -> Array:
    """Return t - (K + rho) b of a dual, or some of it, with float64 kernel values; a point is evaluated once."""
    used = np.flatnonzero(coef)
    gradient = dual.target[places].copy()
    if len(used) and len(gradient):
        distinct, place = np.unique(dual.points[places], return_inverse=True)
        support, where = np.unique(dual.points[used], return_inverse=True)
        gradient -= rows.exact_product(distinct, support, np.bincount(where, coef[used]))[place]
    if dual.ridge is not None:
        gradient -= (dual.ridge * coef)[places]
    return gradient


# --- certificates ----------------------------------------------------------------------------------------------------


@compiled
def _measure_each(target, f, coef, lower, upper, epsilon, stops, bias, violation, value, gap):
    """Write violation, objective about the bias and gap of the points of several duals, for given biases."""
    own = np.zeros(1)
    for k in range(bias.size):
        part = slice(stops[k], stops[k + 1])
        violation[k] = measure(f, coef, lower, upper, epsilon, stops[k : k + 2], own)
        arrays = target[part], f[part], coef[part], lower[part], upper[part]
        value[k], gap[k] = objectives(*arrays, epsilon, bias[k])


def measured_each(duals: Dual, coef: Array, gradient: Array, bias: Array) -> Array:
    """Return violation, objective about the bias and gap (3, m) of points of duals with one sum."""
    found = np.empty((3, len(duals)))
    arrays = duals.target, gradient, coef, duals.lower, duals.upper
    _measure_each(*arrays, float(duals.epsilon), duals.stops, bias, *found)
    return found


def certificate(
    dual: Dual,
    coef: Array,
    gradient: Array,
    bias: Array | float,
    rounding: float = EPS,
    shift: float = 0.0,
) -> Certificate:
    """Return one certificate for points of duals: the sums and the largest violation of `certificates_of`."""
    bias = np.atleast_1d(bias)
    primal, value, violation = certificates_of(dual, coef, gradient, bias, rounding, shift)
    return Certificate(float(primal.sum()), float(value.sum()), float(violation.max()))


def certificates_of(
    duals: Dual,
    coef: Array,
    gradient: Array,
    bias: Array,
    rounding: float = EPS,
    shift: float = 0.0,
) -> tuple[Array, Array, Array]:
    r"""Return primal and dual objectives and violations (m,) of points of duals, of primal points that belong to them.

    .. math:: P - D = \sum_i \max_{l_i \le a \le u_i} v_i(a) - v_i(b_i),\quad
        v_i(a) = a (f_i + \rho_i b_i - b_0) - \epsilon |a| - \tfrac12 \rho_i a^2,\quad f = t - (K + \rho) b

    Each term is at least 0, and the sum of the maxima is the loss: hinge, epsilon-insensitive, squared, Huber's, the
    distance beyond a ball. Coefficients are clipped to the bounds: they may have been stored in float32, whose epsilon
    is then ``rounding``, and their sum is rounded: D is the objective at the sum of the start, which the bias gives.
    Coefficients of another sum are not feasible: D is -inf, and the relative error is added to the violation.
    With ``total``, epsilon times it is part of the primal objective: a wrong sum of sizes is in the gap.

    Of a matrix with K + shift I positive semidefinite on changes d of sum 0, an optimum of the dual is at most D plus
    the gap plus shift / 2 |d|^2, and d_i is at most the range of b_i: P contains this.
    """
    classifies = duals.one_sided
    if duals.total is not None and classifies:
        duals = _with_shown_bounds(duals, coef, rounding)
    coef = coef.copy()
    settle(coef, duals.lower, duals.upper, 0.0, STORED * rounding)
    bounded = duals
    if duals.unbounded:
        # the optimum without error is that of every C that no coefficient meets
        largest = 2 * np.maximum.reduceat(np.abs(coef), duals.stops[:-1])
        bound = np.where(largest > 0, largest, 1.0)[duals.number]
        bounded = replace(
            duals, lower=np.maximum(duals.lower, -bound), upper=np.minimum(duals.upper, bound)
        )
    violation, value, gap = measured_each(bounded, coef, gradient, bias)
    kept = duals.sums(duals.coef)
    # a bias may be large: the sums about it do not cancel
    value += bias * kept
    if duals.ridge is not None:
        gap = _ridge_gaps(duals, coef, gradient, bias)
    elif duals.unbounded and classifies:
        gap = _hard_margins(duals, coef, gradient, bias) - value
    primal = value + gap + _hidden(bounded, shift)
    if duals.total is not None and not classifies:
        primal, value = _given_sums(duals, coef, gradient, bias, primal)
    sizes = np.maximum(duals.sums(np.abs(coef)), np.abs(kept))
    apart = np.abs(duals.sums(coef) - kept) / np.where(sizes > 0, sizes, 1.0)
    # a smaller error moves D by its square, which is rounding
    other = apart > np.sqrt(rounding)
    value[other] = -np.inf
    violation[other] += apart[other]
    return primal, value, violation


def _hidden(duals, shift):
    """Return half the sums of squared ranges of coefficients times what a shift exceeds the ridge of each dual by."""
    if not shift:
        return np.zeros(len(duals))
    covered = 0.0 if duals.ridge is None else np.minimum.reduceat(duals.ridge, duals.stops[:-1])
    # squares of large ranges overflow
    with np.errstate(over="ignore", invalid="ignore"):
        squares = duals.sums(np.square(duals.upper - duals.lower))
        return np.where(shift > covered, 0.5 * (shift - covered) * squares, 0.0)


def _given_sums(duals, coef, gradient, bias, primal):
    r"""Return the objectives of nu-regression, with :math:`s \epsilon` in the primal; ``primal`` is without it.

    The coefficients times a number are the dual point if their sum of sizes exceeds s = ``total``.
    """
    sizes = duals.sums(np.abs(coef))
    share = duals.total / np.maximum(sizes, duals.total)
    linear = duals.sums(coef * (duals.target - bias[duals.number]))
    squared = duals.sums(coef * (duals.target - gradient))
    return primal + duals.epsilon * duals.total, share * linear - 0.5 * share**2 * squared


def _ridge_gaps(duals, coef, gradient, bias):
    """Return the gaps of a loss that is quadratic near 0."""
    residual = gradient + duals.ridge * coef - bias[duals.number]
    best = np.sign(residual) * np.maximum(np.abs(residual) - duals.epsilon, 0) / duals.ridge
    best = np.clip(best, duals.lower, duals.upper)
    gain = (best - coef) * (residual - 0.5 * duals.ridge * (best + coef))
    return duals.sums(np.maximum(gain - duals.epsilon * (np.abs(best) - np.abs(coef)), 0))


def _hard_margins(duals, coef, gradient, bias):
    """Return the primal values of hard margins: |w|^2 / 2, with w scaled until every margin is at least 1."""
    errors = np.sign(duals.target) * (gradient - bias[duals.number])
    largest = np.maximum(np.maximum.reduceat(errors, duals.stops[:-1]), 0)
    square = duals.sums(coef * (duals.target - gradient))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(largest < 1, 0.5 * square / (1 - largest) ** 2, np.inf)


def _with_shown_bounds(duals, coef, rounding):
    """Return duals whose bounds are in units of C = max |b_i| / u_i, which the coefficients of each show."""
    size = np.abs(coef)
    unit = duals.upper - duals.lower
    C = np.maximum.reduceat(size / unit, duals.stops[:-1])
    bound = unit * np.where(C > 0, C, 1.0)[duals.number]
    bound = np.where(np.abs(size - bound) <= STORED * rounding * bound, size, bound)
    lower = np.where(duals.lower < 0, -bound, 0)
    return replace(duals, lower=lower, upper=np.where(duals.upper > 0, bound, 0))
