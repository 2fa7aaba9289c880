"""The dual problem of a support vector machine, its solution, and the bias, violation and certificate of a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._common import Array
from mercer.solvers._certify import Certificate
from mercer.solvers.svm.bias import violation_of

# Roundings within which a coefficient counts as being at its bound.
_AT_BOUND = 4
_ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Dual:
    r"""A dual problem in signed coefficients b_i, which are y_i alpha_i for a classifier.

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
        rho_i, above 0, which the kernel rows contain (see `rows_of`): the dual of a quadratic loss.
    total : float, optional
        sum |b_i|. For a classifier bounds are then in units of a C that the solution shows; for regression epsilon
        follows from it.
    factors : (float, float)
        Mean factors of C of the positive and the negative class: they place a boundary that ``total`` leaves open.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray
    epsilon: float = 0.0
    ridge: np.ndarray | None = None
    total: float | None = None
    factors: tuple[Any, ...] = (1.0, 1.0)

    @cached_property
    def one_sided(self) -> Any:
        """Whether every variable has 0 as a bound: a classifier."""
        return bool(((self.lower == 0) | (self.upper == 0)).all())

    @cached_property
    def unbounded(self) -> Any:
        """Whether a bound is infinite."""
        return bool(np.isinf(self.lower).any() or np.isinf(self.upper).any())

    def take(self, places: Array, **changes: Any) -> Dual:
        """Return the dual restricted to some variables, with other fields changed."""
        names = ("target", "lower", "upper", "coef", "points", *(() if self.ridge is None else ("ridge",)))
        return replace(self, **{name: getattr(self, name)[places] for name in names} | changes)


@dataclass(frozen=True)
class Solution:
    """A solved dual, or the point where the solver stopped.

    Attributes
    ----------
    coef : float64 array (n,)
    gradient : float64 array (n,)
        t - K b.
    bias : float
        b_0: the gradient minus epsilon sign(b_i) of free variables.
    violation : float
        Violation of the optimality conditions, see `violation_of`.
    n_iter : int
        Number of pairs optimised.
    cache : RowCache or None
        Kernel rows of all variables, where the memory holds them.
    gain : float
        Relative gain of the objective in the last round, if the solver stopped because it was too small.
    epsilon : float
    margin : float
        Of a dual with ``total``: the solution was divided by it.
    noise : float
        Largest rounding of some gradients, 0 if those that decide the violation are exact; NaN if it was not measured.
    certificate : Certificate or None
    n_rows : int
        Kernel rows that compiled code needed; 0 from other solvers.
    """

    coef: np.ndarray
    gradient: np.ndarray
    bias: float
    violation: float
    n_iter: int
    cache: Any = None
    gain: float = np.nan
    epsilon: float = 0.0
    margin: float = np.nan
    noise: float = np.nan
    certificate: Certificate | None = None
    n_rows: int = 0

    @property
    def primal(self) -> Any:
        """The primal objective of the certificate."""
        return self.certificate.primal

    @property
    def value(self) -> Any:
        """The dual objective of the certificate."""
        return self.certificate.dual

    def in_units(self, centre: float, scale: float) -> Solution:
        """Return the solution for targets times ``scale`` plus ``centre``, by the same bounds and epsilon times it."""
        names = "coef", "violation", "epsilon", "noise"
        found = self.certificate
        return replace(
            self,
            **{name: getattr(self, name) * scale for name in names},
            gradient=self.gradient * scale + centre,
            bias=self.bias * scale + centre,
            certificate=Certificate(found.primal * scale**2, found.dual * scale**2, found.kkt * scale),
        )


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

    dual: Any
    coef: Array
    numbers: dict[Any, Any]

    def __init__(self, dual: Any, coef: Array, **numbers: Any) -> None:
        super().__init__("the constraints contradict each other")
        self.dual, self.coef, self.numbers = dual, coef, numbers

    def in_units(self, scale: float) -> Infeasible:
        """Return the evidence for targets times ``scale``: all figures but the distance of the means follow."""
        numbers = {name: value if name == "distance" else value * scale for name, value in self.numbers.items()}
        return Infeasible(self.dual, self.coef, **numbers)


def joined(items: Sequence[Any], name: str) -> Array:
    """Return the arrays, or numbers, of a name of several duals or solutions, one after the other."""
    if hasattr(items, name):
        return getattr(items, name)
    return np.atleast_1d(getattr(items[0], name)) if len(items) == 1 else np.hstack([getattr(i, name) for i in items])


def stops_of(items: Sequence[Any]) -> Array:
    """Return where the variables of each of several duals or solutions begin in joined arrays, and where all end."""
    if hasattr(items, "stops"):
        return items.stops  # pyright: ignore[reportAttributeAccessIssue]
    return np.cumsum([0] + [len(each.coef) for each in items])


# --- feasible starts -------------------------------------------------------------------------------------------------


def feasible_start(upper: Array, total: float) -> Array:
    """Return coefficients between 0 and ``upper`` (n,) of sum ``total``: the first ones at their bounds."""
    return np.clip(total - (np.cumsum(upper) - upper), 0, upper)


def smallest_ball_dual(diagonal: Array, upper: Array | float) -> Dual:
    """Return the dual of the smallest ball around points with so large k(x, x) (n,): coefficients of sum 1."""
    n = len(diagonal)
    # coefficients of sum 1 do not meet a bound of 2
    upper = np.minimum(upper, np.full(n, 2.0))
    return Dual(diagonal / 2, np.zeros(n), upper, feasible_start(upper, 1.0), np.arange(n))


# --- optimality ------------------------------------------------------------------------------------------------------


def objective(dual: Dual, coef: Array, gradient: Array) -> float:
    """Return t'b - epsilon |b|_1 - b'Kb / 2."""
    return 0.5 * float(coef @ (dual.target + gradient)) - dual.epsilon * float(np.abs(coef).sum())


# --- certificates ----------------------------------------------------------------------------------------------------


def certificate(dual: Dual, coef: Array, gradient: Array, bias: float, rounding: float = _ROUNDING) -> Certificate:
    r"""Return the certificate of a point of a dual and of the primal point that belongs to it.

    .. math:: P - D = \sum_i \max_{l_i \le a \le u_i} v_i(a) - v_i(b_i),\quad
        v_i(a) = a (f_i + \rho_i b_i - b_0) - \epsilon |a| - \tfrac12 \rho_i a^2,\quad f = t - (K + \rho) b

    Each term is at least 0, and the sum of the maxima is the loss: hinge, epsilon-insensitive, squared, Huber's, the
    distance beyond a ball. Coefficients are clipped to the bounds: they may have been stored in float32, whose epsilon
    is then ``rounding``, and their sum is rounded: D is the objective at the sum of the start, which the bias gives.
    Coefficients of another sum are not feasible: D is -inf, and the relative error is added to the violation.
    With ``total``, epsilon times it is part of the primal objective: a wrong sum of sizes is in the gap.
    """
    if dual.total is not None and dual.one_sided:
        dual = _with_shown_bounds(dual, coef, rounding)
    coef = at_bounds(np.clip(coef, dual.lower, dual.upper), dual, rounding)
    # a bias may be large: sums about it do not cancel
    centred = replace(dual, target=dual.target - bias)
    value = objective(centred, coef, gradient - bias) + bias * float(dual.coef.sum())
    if dual.ridge is not None:
        gap = float(_ridge_gap(dual, coef, gradient, bias).sum())
    elif dual.unbounded and dual.one_sided:
        gap = _hard_margin(dual, coef, gradient, bias) - value
    else:
        if dual.unbounded:
            # the optimum without error is that of every C that no coefficient meets
            bound = np.full(len(coef), 2 * float(np.abs(coef).max(initial=0.0)) or 1.0)
            dual = replace(dual, lower=-bound, upper=bound)
        gap = float(gap_between_bounds(dual, coef, gradient - bias).sum())
    primal = value + gap
    if dual.total is not None and not dual.one_sided:
        primal, value = _given_sum(centred, coef, gradient - bias, primal)
    violation = violation_of(gradient, coef, dual)
    apart = _error_of_sum(coef, float(dual.coef.sum()))
    # a smaller error moves D by its square, which is rounding
    if apart > np.sqrt(rounding):
        return Certificate(primal, -np.inf, violation + apart)
    return Certificate(primal, value, violation)


def _error_of_sum(coef, total):
    """Return by how much the sum of coefficients differs from the right one, as a share of their sizes."""
    size = max(float(np.abs(coef).sum()), abs(total))
    return abs(float(coef.sum()) - total) / size if size > 0 else 0.0


def _given_sum(dual, coef, gradient, primal):
    r"""Return the objectives of nu-regression, with :math:`s \epsilon` in the primal; ``primal`` is without it.

    The coefficients times a number are the dual point if their sum of sizes exceeds s = ``total``.
    """
    size = float(np.abs(coef).sum())
    share = dual.total / size if size > dual.total else 1.0
    linear, squared = float(coef @ dual.target), float(coef @ (dual.target - gradient))
    return primal + dual.epsilon * dual.total, share * linear - 0.5 * share**2 * squared


def at_bounds(coef: Array, dual: Dual, rounding: float) -> Array:
    """Return coefficients (n,), those within a few roundings of a bound at the bound."""
    for bound in (dual.lower, dual.upper):
        with np.errstate(invalid="ignore"):
            near = np.abs(coef - bound) <= _AT_BOUND * rounding * np.abs(bound)
        coef = np.where(near & np.isfinite(bound), bound, coef)
    return coef


def gap_between_bounds(dual: Dual, coef: Array, error: Array) -> Array:
    """Return the terms of the gap between finite bounds: the maximum is at a bound or at 0."""
    above, below = np.maximum(coef, 0), np.minimum(coef, 0)
    # gains of a move to 0, to the upper and to the lower bound, in pieces: nothing cancels
    right, left = error - dual.epsilon, error + dual.epsilon
    gap = np.maximum((dual.upper - above) * right - below * left, (dual.lower - below) * left - above * right)
    return np.maximum(gap, -below * left - above * right)


def _ridge_gap(dual, coef, gradient, bias):
    """Return the terms of the gap of a loss that is quadratic near 0."""
    residual = gradient + dual.ridge * coef - bias
    best = np.sign(residual) * np.maximum(np.abs(residual) - dual.epsilon, 0) / dual.ridge
    best = np.clip(best, dual.lower, dual.upper)
    gap = (best - coef) * (residual - 0.5 * dual.ridge * (best + coef)) - dual.epsilon * (np.abs(best) - np.abs(coef))
    return np.maximum(gap, 0)


def _hard_margin(dual, coef, gradient, bias):
    """Return the primal value of a hard margin: |w|^2 / 2, with w scaled until every margin is at least 1."""
    error = float(np.maximum(0, np.sign(dual.target) * (gradient - bias)).max())
    return 0.5 * float(coef @ (dual.target - gradient)) / (1 - error) ** 2 if error < 1 else np.inf


def _with_shown_bounds(dual, coef, rounding):
    """Return a dual whose bounds are in units of C = max |b_i| / u_i, which the coefficients show."""
    if not coef.any():
        return dual
    size, unit = np.abs(coef), dual.upper - dual.lower
    bound = unit * (size / unit).max()
    bound = np.where(np.abs(size - bound) <= _AT_BOUND * rounding * bound, size, bound)
    return replace(dual, lower=np.where(dual.lower < 0, -bound, 0), upper=np.where(dual.upper > 0, bound, 0))
