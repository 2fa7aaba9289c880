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
from mercer._compute.compile import EXACT, compiled, dispatcher, fingerprint, specialised
from mercer._compute.intrinsics import address, wide

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


# --- compiled loops of formulas; those of a profile replace the scalars of a tile by profile values, in place ---------


def compile_profile(profile, order, kind, dtype, n_parameters):
    """Return the compiled loop that replaces scalars in columns of a block by profile values; kinds: see ``_loop``."""
    return _compiled_loop(profile, order, kind, dtype, n_parameters)[0]


def profile_address(profile, kind, dtype, n_parameters):
    """Return the address of such a loop, by which other compiled code calls it."""
    return _compiled_loop(profile, 0, kind, dtype, n_parameters)[1]


# an address is valid as long as its loop lives
@functools.cache
def _compiled_loop(profile, order, kind, dtype, n_parameters):
    loop = _loop(profile, order, kind, n_parameters)
    block = np.ones((1, 1), dtype)
    with compiling(profile):
        return loop, address(loop, block, block, block, 0, block[0])


def loops_of_formulas(make, flags=EXACT):
    """Decorate ``make(value, xp, *options)``, which returns a loop over values of a formula, to be compiled.

    The result takes the formula, whose last argument is ``order=0``, the order of its derivative, and the options.
    """

    @functools.lru_cache(maxsize=256)
    def loop_of(formula, order, *options):
        # imported here: it imports Numba
        from mercer._compute import fastmath

        # machine code is kept on disk if the formula uses only xp
        key = fingerprint(formula, order, make.__qualname__, *options, fastmath)
        # branches on parameters, as in powers, leave the loops
        loop = make(specialised(formula, order), fastmath, *options)
        return dispatcher(loop, flags, key, unswitched=True)

    return loop_of


@loops_of_formulas
def _loop(value, xp, kind, n_parameters):
    """Return the loop over a block, compiled at its first call.

    Kinds: "plain" takes scalars, "clamped" raises negative ones to 0, "direct" computes distances of padded rows.
    """
    # imported here: it imports Numba
    from numba.np.unsafe.ndarray import to_fixed_tuple

    if kind == "direct":
        return _direct_epilogue(value, xp, n_parameters, to_fixed_tuple)
    clamped = kind == "clamped"

    # the signature is that of all loops of a tile
    def epilogue(left, right, block, start, parameters):  # noqa: ARG001
        wide()
        values = to_fixed_tuple(parameters, n_parameters)
        for i in range(block.shape[0]):
            # counting from 0 shows the compiler that no index is negative
            row = block[i, start : start + right.shape[1]]
            for j in range(row.size):
                s = row[j]
                row[j] = value(xp, xp.maximum(s, xp.const(s, 0)) if clamped else s, *values)

    return epilogue


def _direct_epilogue(value, xp, n_parameters, to_fixed_tuple):
    def epilogue(left, right, block, start, parameters):
        wide()
        values = to_fixed_tuple(parameters, n_parameters)
        last = right.shape[0] - 4
        for i in range(block.shape[0]):
            x = left[i]
            row = block[i, start : start + right.shape[1]]
            for k in range(0, last, 4):
                for j in range(row.size):
                    s = _square(x, right, k, j)
                    row[j] = s if k == 0 else row[j] + s
            # the last four go into the profile at once: up to four coordinates need no second pass
            for j in range(row.size):
                s = _square(x, right, last, j)
                if last > 0:
                    s = s + row[j]
                row[j] = value(xp, s, *values)

    return epilogue


@functools.partial(compiled, flags=EXACT, inline=True)
def _square(x, Z, k, j):
    """Return the sum of (x_l - z_lj)^2 over four coordinates l from k on."""
    a = x[k] - Z[k, j]
    b = x[k + 1] - Z[k + 1, j]
    c = x[k + 2] - Z[k + 2, j]
    d = x[k + 3] - Z[k + 3, j]
    return a * a + b * b + c * c + d * d
