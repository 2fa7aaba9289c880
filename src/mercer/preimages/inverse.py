"""Inverses of monotone profiles: from a kernel value to the squared distance or inner product of its points."""

import numpy as np

from mercer._common import EPS, Array, as_float64, shown
from mercer.kernels.base import Kernel
from mercer.kernels.forms import evaluate_form, flat_kernel, form_of

# Most doublings of an interval, and most steps of bisection in it.
_DOUBLINGS = 100
_STEPS = 200


def require_invertible(method: object, kernel: Kernel) -> None:
    """Raise a TypeError unless a kernel is a monotone function of the distance or of the inner product."""
    name = type(method).__name__
    kernel = flat_kernel(kernel)
    form = form_of(kernel)
    if form not in ("radial", "dot"):
        raise TypeError(
            f"{name} needs a Radial or Dot kernel; got {shown(kernel)}. Use method='gradient'."
        )
    s = np.geomspace(1e-8, 1e8, 401)
    s = np.concatenate([-s[::-1], s]) if form == "dot" else s
    slope = evaluate_form(kernel, s, order=1)
    if not ((slope >= 0).all() or (slope <= 0).all()):
        kind = "inner products" if form == "dot" else "distances"
        raise TypeError(
            f"{name} needs a monotone profile, but {shown(kernel)} has the same value at several {kind}, as "
            "polynomials of even degree do. Use method='gradient'."
        )


def invert(kernel: Kernel, values: Array, scale: float, negative: bool) -> tuple[Array, Array]:
    """Return s with profile(s) = value, and whether the profile attains the value, by bracketed Newton steps.

    ``scale`` is the size of s to try first, ``negative`` whether s may be negative. Where the profile does not attain
    the value, s is the nearest end of its range.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.inverse import invert
    >>> s, inside = invert(mc.Gaussian(2.0), np.array([np.exp(-6.0), 1.5]), 1.0, negative=False)
    >>> s.round(12), inside
    (array([3., 0.]), array([ True, False]))
    """
    values = as_float64(values)
    ends = evaluate_form(kernel, np.array([-scale if negative else 0.0, scale]))
    sign = np.sign(ends[1] - ends[0])

    def gap(s):
        # increasing in s, 0 at the solution
        return sign * (evaluate_form(kernel, s) - values)

    high, above = _bracket(gap, np.full(values.shape, float(scale)), 1)
    low, below = (
        _bracket(gap, np.full(values.shape, -float(scale)), -1)
        if negative
        else _from_zero(gap, values)
    )
    s = _root(kernel, gap, sign, low, high)
    return np.where(below, np.where(above, s, high), low), above & below


def _from_zero(gap, values):
    zero = np.zeros(values.shape)
    # a value that exceeds the one at 0 by rounding only is the value at 0
    return zero, gap(zero) <= 1e-13 * np.abs(values)


def _bracket(gap, s, direction):
    """Double s until the solution lies between s and 0; return s, and whether it does."""
    outside = direction * gap(s) <= 0
    for _ in range(_DOUBLINGS):
        if not outside.any():
            break
        s = np.where(outside, 2 * s, s)
        outside = direction * gap(s) <= 0
    return s, ~outside


def _root(kernel, gap, sign, low, high):
    s = 0.5 * (low + high)
    for step in range(_STEPS):
        value = gap(s)
        low = np.where(value < 0, s, low)
        high = np.where(value > 0, s, high)
        with np.errstate(all="ignore"):
            newton = s - value / (sign * evaluate_form(kernel, s, order=1))
        inside = np.isfinite(newton) & (newton >= low) & (newton <= high)
        # every third step bisects: Newton steps alone may converge slowly towards one end
        following = np.where(inside & (step % 3 < 2), newton, 0.5 * (low + high))
        following = np.where(value == 0, s, following)
        done = np.abs(following - s) <= 2 * EPS * np.abs(s)
        s = following
        if done.all():
            break
    return s
