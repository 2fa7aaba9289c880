"""Minimum of a smooth function within bounds, by quasi-Newton steps from an estimate of the second derivatives."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from mercer._common import Array

# Largest change of a variable in one step.
_FARTHEST = 2.0
# Least curvature along a step, as a share of the estimated one, with which the estimate is updated.
_DAMPED = 0.2


class Minimum(NamedTuple):
    """The place (p,) and value of a minimum, the number of steps, and the last estimate of the second derivatives."""

    x: Array
    value: float
    steps: int
    H: Array


def minimise(
    function: Callable[[Array], tuple[float, Array]],
    x: Array,
    H: Array,
    bounds: Sequence[tuple[float, float]],
    precision: float,
    steps: int,
) -> Minimum:
    """Return the minimum of a function that returns its value and slopes (p,).

    H (p, p) is a positive definite estimate of the second derivatives, updated by damped BFGS. The search ends when the
    expected decrease is at most ``precision`` times the value, or times 1 if that is more.
    """
    lower, upper = np.array(bounds, np.float64).T
    value, slopes = function(x)
    for step in range(steps):
        move = _move(x, slopes, H, lower, upper)
        expected = -float(slopes @ move)
        # slopes of the start that are not finite have no step
        if not expected > precision * max(abs(value), 1.0):
            return Minimum(x, value, step, H)
        share = 1.0
        found = function(x + move)
        while not found[0] <= value - 1e-4 * share * expected:
            # minimum of the parabola with the slope here and both values
            rise = found[0] - value + share * expected
            share *= np.clip(share * expected / (2 * rise), 0.1, 0.5) if np.isfinite(rise) else 0.1
            if share < 1e-6:
                # rounding of the values decides
                return Minimum(x, value, step, H)
            found = function(x + share * move)
        H = _updated(H, share * move, found[1] - slopes)
        x = x + share * move
        value, slopes = found
    return Minimum(x, value, steps, H)


def _move(x, slopes, H, lower, upper):
    """Return the step of Newton's method between bounds."""
    free = ~(((x <= lower) & (slopes > 0)) | ((x >= upper) & (slopes < 0)))
    move = np.zeros(len(x))
    move[free] = -np.linalg.solve(H[np.ix_(free, free)], slopes[free])
    move *= min(1.0, _FARTHEST / max(np.abs(move).max(), _FARTHEST))
    if np.all((x + move >= lower) & (x + move <= upper)):
        return move
    # a step that is cut at bounds may be no descent; the minimum of the quadratic model between them is one
    L = np.linalg.cholesky(H)
    room = np.maximum(lower - x, -_FARTHEST), np.minimum(upper - x, _FARTHEST)
    return lsq_linear(L.T, -np.linalg.solve(L, slopes), room, method="bvls").x


def _updated(H, move, change):
    """Return H after the slopes changed along a move, positive definite (Powell, 1978)."""
    pushed = H @ move
    estimated = move @ pushed
    found = move @ change
    if found < _DAMPED * estimated:
        share = (1 - _DAMPED) * estimated / (estimated - found)
        change = share * change + (1 - share) * pushed
        found = move @ change
    return H + np.outer(change, change) / found - np.outer(pushed, pushed) / estimated
