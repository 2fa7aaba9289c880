"""Profiles, the functions of kernels of a squared distance or an inner product, and the namespaces that they call.

A namespace has the functions of any array-API library; compiled code runs the same profiles with the module
``mercer._compute.fastmath``, which has the same names.
"""

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import repeat

import array_api_compat
import array_api_compat.numpy
import numpy as np

from mercer._common import shown

# The namespace of NumPy arrays: NumPy with the standard's names that old versions lack.
NUMPY = array_api_compat.numpy


class Namespace:
    """exp, log, sqrt, tanh, where, ... of an array-API namespace ``xp``."""

    inf = float("inf")

    def __init__(self, xp):
        self.exp = xp.exp
        self.sqrt = xp.sqrt
        self.tanh = xp.tanh
        # Python's own abs takes arrays of every library, and scalars that a profile computes from its parameters
        self.abs = abs
        self.where = xp.where
        self.maximum = xp.maximum
        self.minimum = xp.minimum
        self._xp = xp

    def __getattr__(self, name):
        functions = sorted({*vars(self), *vars(Namespace)})
        known = ", ".join(each for each in functions if not each.startswith("_"))
        raise AttributeError(f"xp has no {name!r}; a profile may use {known}, and arithmetic.")

    @staticmethod
    def const(s, value):
        """Return ``value`` as a Python float: arithmetic with it keeps the type of the array s."""
        return float(value)

    def log(self, s):
        """Return the natural logarithm of an array, or of a parameter of the profile."""
        return math.log(s) if type(s) is float else self._xp.log(s)

    def power(self, s, exponent):
        """Return ``s ** exponent``; whole exponents from 0 to 64 by repeated squaring, 40 times faster than ``pow``."""
        exponent = float(exponent)
        if exponent != int(exponent) or not 0 <= exponent <= 64:
            return s**exponent
        if exponent == 0:
            return self._xp.ones_like(s)
        result = None
        square = s
        left = int(exponent)
        while left:
            if left & 1:
                result = square if result is None else result * square
            left >>= 1
            square = square * square if left else square
        return result


def put_values(array, rows, columns, values):
    """Write ``values[k]``, or one number, to ``array[rows[k], columns[k]]`` for every k."""
    if (
        isinstance(array, np.ndarray)
        or array_api_compat.is_torch_array(array)
        or array_api_compat.is_cupy_array(array)
    ):
        array[rows, columns] = values
        return
    # the standard has no assignment by arrays of indices
    for k in range(rows.shape[0]):
        array[int(rows[k]), int(columns[k])] = (
            values if isinstance(values, (int, float)) else values[k]
        )


def namespace_of(*arrays):
    """Return the array-API namespace of the arrays; NumPy for all other objects."""
    for array in arrays:
        if type(array) is not np.ndarray:
            break
    else:
        return NUMPY
    arrays = [a for a in arrays if array_api_compat.is_array_api_obj(a)]
    return array_api_compat.array_namespace(*arrays) if arrays else NUMPY


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
