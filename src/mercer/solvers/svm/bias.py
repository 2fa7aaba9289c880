"""The bias of a binary classifier: slopes of the dual objective, the bias between them, the violation of optimality.

A bias b_0 is called intercept in fitted models, and threshold in other texts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual, Solution

# Roundings by which a boundary is moved outwards. Float32 moves values by up to 6 roundings of the largest kernel
# value, measured on up to 784 columns, and by up to 12 where rows are 1 000 standard deviations from the origin.
_OUTWARDS = 64
# Largest share of squared distances by which the boundary of a model in float64 is moved for the sake of float32.
_OUTWARDS_SHARE = 1e-3
# Share of the largest coefficient by which the rounding of steps keeps others from a bound or from 0.
ROUNDED = 1e-13


def slopes(gradient: Array, coef: Array, bounds: Any) -> tuple[Array, Array]:
    r"""Return the derivatives of the dual objective to the right and to the left of each coefficient.

    .. math:: f_i - \epsilon\ (b_i \ge 0),\ f_i + \epsilon\ (b_i < 0);\qquad
        f_i - \epsilon\ (b_i > 0),\ f_i + \epsilon\ (b_i \le 0)

    They are -inf and inf for variables at that bound. They are equal for free variables, and for these only. At the
    optimum no ``rising`` exceeds a ``falling``. ``bounds`` has ``lower``, ``upper`` and ``epsilon``.
    """
    rising = np.where(coef < bounds.upper, gradient + np.where(coef < 0, bounds.epsilon, -bounds.epsilon), -np.inf)
    falling = np.where(coef > bounds.lower, gradient + np.where(coef > 0, -bounds.epsilon, bounds.epsilon), np.inf)
    return rising, falling


def excess(rising: Array, falling: Array, bias: float) -> Array:
    """Return by how much each variable violates the optimality conditions at a bias; negative at rest."""
    return np.maximum(rising - bias, bias - falling)


def settled(coef: Array, bounds: Any) -> Array:
    """Return coefficients of a solution, those that only rounding keeps from a bound or from 0 at it.

    They are not free: the bias of a solution is not at their slopes, where it would depend on rounding.
    """
    near = ROUNDED * np.abs(coef).max(initial=0.0)
    coef = np.where(np.abs(coef) <= near, 0.0, coef)
    for bound in (bounds.lower, bounds.upper):
        coef = np.where(np.abs(coef - bound) <= near, bound, coef)
    return coef


def settled_solution(solution: Solution, dual: Dual) -> Solution:
    """Return a solution with settled coefficients, and the bias of these."""
    coef = settled(solution.coef, dual)
    return replace(solution, coef=coef, bias=bias_of(solution.gradient, coef, dual))


def bias_of(gradient: Array, coef: Array, dual: Dual) -> float:
    """Return b_0: the mean slope of free variables, or the middle of the interval that the others allow."""
    rising, falling = slopes(gradient, coef, dual)
    free = rising == falling
    if free.any():
        return float(rising[free].mean())
    return middle(rising.max(), falling.min())


def inner_bias(solution: Solution, dual: Dual, dtype: type[Any], scale: float) -> float:
    """Return a bias that no gradient of a variable below its bound exceeds, not by rounding in ``dtype`` either.

    ``scale`` is that of kernel values. Only points at their bounds then lie outside.
    """
    rise = solution.coef < dual.upper
    bias = float(solution.gradient[rise].max()) if rise.any() else solution.bias
    return bias + outwards(bias, dtype, scale)


def outwards(bias: float, dtype: type[Any], scale: float) -> float:
    """Return by how much `inner_bias` moves a boundary outwards: the gap of coefficients of sum 1 grows by it."""
    return _OUTWARDS * float(np.finfo(dtype).eps) * max(abs(bias), float(scale))


def storage_margin(bias: float, dtype: type[Any], scale: float, scatter: float) -> float:
    """Return by how much a boundary moves further outwards so that float32 leaves the points on it inside.

    This is the rest of `outwards` in float32, and at most a small share of ``scatter``, the mean squared distance of
    points from their mean. A model is exported to float32 and asked for rows in float32, and both move its values.
    """
    rest = outwards(bias, np.float32, scale) - outwards(bias, dtype, scale)
    return min(rest, _OUTWARDS_SHARE * max(0.0, scatter))


def middle(top: float, bottom: float) -> float:
    """Return the middle of an interval, or its finite end."""
    if np.isinf(top) or np.isinf(bottom):
        return float(bottom if np.isinf(top) else top)
    return float(0.5 * (top + bottom))


def violation_of(gradient: Array, coef: Array, dual: Dual) -> float:
    """Return the largest slope at which a coefficient may rise minus the smallest at which one may fall, at least 0."""
    rising, falling = slopes(gradient, coef, dual)
    return max(0.0, float(rising.max() - falling.min()))
