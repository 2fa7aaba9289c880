"""Evaluate a kernel's profile, its function of the squared distance or of the inner product, on arrays."""

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import repeat

import numpy as np

from mercer._common import shown
from mercer._compute.namespace import Namespace, namespace_of


@functools.lru_cache(maxsize=256)
def field_names(kind):
    """Return the names of the fields of a dataclass."""
    return tuple(field.name for field in fields(kind))


def parameters(kernel):
    """Return the parameters of a kernel's profile, its fields in order, as floats."""
    return tuple(map(float, map(getattr, repeat(kernel), field_names(type(kernel)))))


def evaluate_profile(kernel, s, order=0):
    """Return the order-th derivative of a kernel's profile at an array s; infinite values cause no warning."""
    return apply_profile(kernel.profile, s, parameters(kernel), order)


def at_zero(kernel):
    """Return the value of a kernel's profile at 0, k(x, x) of a kernel of distances."""
    return profile_at_zero(kernel.profile, parameters(kernel))


@functools.lru_cache(maxsize=256)
def profile_at_zero(profile, parameters):
    """Return the value of a profile at 0, computed once."""
    return float(apply_profile(profile, np.zeros(1), parameters)[0])


def apply_profile(profile, s, parameters, order=0):
    """Return ``profile(xp, s, *parameters, order=order)``, with xp the namespace of s."""
    xp = namespace_of(s)
    parameters = within_range(parameters, s.dtype, xp)
    # derivatives that are infinite at 0 divide by 0; callers check for overflow
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return profile(_functions(xp), s, *parameters, order=order)


# many small arrays are evaluated: these take half of the time of one
_functions = functools.lru_cache(maxsize=16)(Namespace)


@functools.lru_cache(maxsize=16)
def _range(xp, dtype):
    """Return the smallest and the largest number of a type."""
    info = xp.finfo(dtype)
    return float(info.smallest_normal) * float(info.eps), float(info.max)


def within_range(parameters, dtype, xp=np):
    """Return parameters cut to the range of a type: beyond it they turn infinite or 0, and products with them NaN."""
    return _between(tuple(parameters), *_range(xp, dtype))


@functools.lru_cache(maxsize=256)
def _between(parameters, least, largest):
    return [
        math.copysign(min(largest, max(least, abs(value))), value) if value else value
        for value in parameters
    ]


@functools.lru_cache(maxsize=256)
def has_kink(profile, parameters, dtype):
    """Return whether the slope of a profile at the distance 0 is infinite, as that of Matern(nu=0.5).

    It multiplies the rounding error of a distance near 0 by a thousand.
    """
    return not np.isfinite(apply_profile(profile, np.zeros(1, dtype), parameters, order=1)[0])


def loses_digits(profile, parameters, dtype, largest, order=0):
    """Return whether rounding errors of squared distances, those up to ``largest``, may show in profile values.

    With ``order`` 1, in slopes too.
    """
    if has_kink(profile, parameters, dtype):
        return True
    exponent = math.frexp(largest)[1]
    return any(_varies(profile, parameters, dtype, exponent, each) for each in range(order + 1))


@functools.lru_cache(maxsize=256)
def _varies(profile, parameters, dtype, exponent, order):
    """Return whether a derivative changes by more than a tenth of its value at 0 over distances up to 2^exponent."""
    places = np.array([0, *(4.0**-k for k in range(16))], dtype)
    values = apply_profile(profile, np.ldexp(places, exponent), parameters, order)
    # a value that is not finite counts as a change
    return not np.isfinite(values[0]) or not np.max(np.abs(values - values[0])) <= 0.1 * abs(
        values[0]
    )


def check_range(kernel, *sets):
    """Raise a ValueError if a dot-product kernel overflows at <x, z> = max |x|^2 or - max |x|^2 of some ``Points``."""
    checked = -math.inf
    # the second set is that of a model, which was checked; new points are seldom farther
    for points in reversed(sets):
        largest = points.memo("largest", functools.partial(_largest_square, points))
        if largest > checked:
            points.memo(
                ("finite", kernel), functools.partial(_check_range, kernel, points, largest)
            )
            checked = largest


def _largest_square(points):
    return float(points.xp.max(points.sqnorms()))


def _check_range(kernel, points, largest):
    xp = points.xp
    values = evaluate_profile(kernel, xp.asarray([largest, -largest], dtype=points.container.dtype))
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError(
            f"{shown(kernel)} overflows {points.container.dtype}: the largest row has norm "
            f"{largest**0.5:.3g}; scale X (StandardScaler) or lower the degree or gamma."
        )


@contextmanager
def compiling(profile: Callable) -> Iterator[None]:
    """Turn errors of Numba into a TypeError that names the profile and what it may use."""
    from numba.core.errors import NumbaError

    try:
        yield
    except NumbaError as error:
        # the whole report is in the cause
        reasons = [
            line for line in str(error).splitlines() if line and not line.startswith("Failed in")
        ]
        raise TypeError(
            f"{profile.__qualname__} must use only arithmetic and the functions of its argument xp (exp, log, sqrt, "
            f"tanh, power, where, ...); it cannot be compiled: {reasons[0]}"
        ) from error
