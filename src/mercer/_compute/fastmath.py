"""exp, log, tanh, power and similar functions for compiled loops that vectorise, in float32 and float64.

A profile gets this module as its argument ``xp`` in compiled code. Errors in units in the last place, which the tests
measure: exp 1, log 1, tanh 2, sqrt 0.5. exp is 0 where its value is below the smallest normal number.
"""

import functools
import math

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mercer._compute.compile import EXACT, compiled

inf = math.inf
sqrt = math.sqrt
abs = math.fabs

_inlined = functools.partial(compiled, flags=EXACT, inline=True)


@intrinsic
def _pick(context, x, single, double):
    """Return the constant for the type of x, in that type."""

    def generate(context, builder, signature, arguments):
        constant = arguments[1] if x == types.float32 else arguments[2]
        return context.cast(builder, constant, types.float64, x)

    return x(x, types.float64, types.float64), generate


@intrinsic
def _polynomial(context, x, single, double):
    """Return a polynomial in x by Horner's rule; its coefficients, highest first, are those for the type of x."""

    def generate(context, builder, signature, arguments):
        index, table = (1, single) if x == types.float32 else (2, double)
        values = [builder.extract_value(arguments[index], i) for i in range(table.count)]
        values = [context.cast(builder, v, types.float64, x) for v in values]
        result = values[0]
        for value in values[1:]:
            product = builder.fmul(result, arguments[0], flags=("contract",))
            result = builder.fadd(product, value, flags=("contract",))
        return result

    return x(x, single, double), generate


def _layout(x):
    # width, bits of the fraction, exponent bias
    return (32, 23, 127) if x == types.float32 else (64, 52, 1023)


@intrinsic
def _scaled(context, x, shifted):
    """Return x 2^n, with n in the low bits of ``shifted`` = n + 1.5 2^fraction; the result must be normal."""

    def generate(context, builder, signature, arguments):
        width, fraction, _ = _layout(x)
        integer = ir.IntType(width)
        bits, n = (builder.bitcast(argument, integer) for argument in arguments)
        moved = builder.add(bits, builder.shl(n, ir.Constant(integer, fraction)))
        return builder.bitcast(moved, context.get_value_type(x))

    return x(x, x), generate


@intrinsic
def _exponent(context, x):
    """Return n as a float, with x = m 2^n and m in [sqrt(1/2), sqrt(2)), for normal positive x."""

    def generate(context, builder, signature, arguments):
        width, fraction, bias = _layout(x)
        integer = ir.IntType(width)
        # adding the distance from sqrt(1/2) to 1 carries into the exponent exactly if m would reach sqrt(2)
        carry = ir.Constant(
            integer, (1 << fraction) - int((math.sqrt(0.5) * 2 - 1) * (1 << fraction))
        )
        bits = builder.add(builder.bitcast(arguments[0], integer), carry)
        n = builder.lshr(bits, ir.Constant(integer, fraction))
        # n as a float, without an instruction that narrow vectors lack: the low bits of 1.5 2^fraction + n are n
        magic = ir.Constant(context.get_value_type(x), 1.5 * 2.0**fraction)
        shifted = builder.bitcast(builder.add(builder.bitcast(magic, integer), n), magic.type)
        return builder.fsub(shifted, ir.Constant(magic.type, 1.5 * 2.0**fraction + bias))

    return x(x), generate


@_inlined
def _reduced(x):
    """Return (r, n + 1.5 2^fraction) with x = n log 2 + r, |r| <= log(2) / 2, log 2 in two parts (Cody and Waite)."""
    shift = _pick(x, 12582912.0, 6755399441055744.0)
    shifted = x * _pick(x, 1.4426950408889634, 1.4426950408889634) + shift
    n = shifted - shift
    r = x - n * _pick(x, 0.693359375, 6.93147180369123816490e-01)
    return r - n * _pick(x, -2.12194440e-4, 1.90821492927058770002e-10), shifted


@_inlined
def _risen(r):
    """Return e^r - 1 for small r: its terms from r^2 on interpolated at Chebyshev nodes, fewer than Taylor's."""
    single = (1.39261761199e-3, 8.36317307451e-3, 4.16665546621e-2, 1.66665770256e-1, 0.5)
    double = (
        2.510038549551032e-08,
        2.7620088445409746e-07,
        2.7557268459997064e-06,
        2.4801521295954376e-05,
        1.9841269863053618e-04,
        1.3888888917213717e-03,
        8.333333333330062e-03,
        4.166666666662413e-02,
        1.6666666666666669e-01,
        0.5,
    )
    return _polynomial(r, single, double) * (r * r) + r


@_inlined
def exp(x):
    """Return e^x; 0 below the smallest normal number, since subnormal numbers take ten times as long."""
    r, shifted = _reduced(x)
    value = _scaled(_risen(r) + _pick(x, 1.0, 1.0), shifted)
    value = _pick(x, 0.0, 0.0) if x < _pick(x, -87.33654, -708.3964185322641) else value
    # x + inf is infinite, or NaN for NaN
    return value if x <= _pick(x, 88.72283, 709.782712893384) else x + _pick(x, math.inf, math.inf)


@_inlined
def log(x):
    """Return the natural logarithm by fdlibm's formula, log(1 + f) with s = f / (2 + f); -inf at 0, NaN below 0."""
    # the coefficients of fdlibm's logf and log
    single = (0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693)
    double = (
        1.479819860511658591e-01,
        1.531383769920937332e-01,
        1.818357216161805012e-01,
        2.222219843214978396e-01,
        2.857142874366239149e-01,
        3.999999999940941908e-01,
        6.666666666666735130e-01,
    )
    zero = _pick(x, 0.0, 0.0)
    half = _pick(x, 0.5, 0.5)
    tiny = x < _pick(x, 1.1754943508222875e-38, 2.2250738585072014e-308)
    normal = x * _pick(x, 33554432.0, 18014398509481984.0) if tiny else x
    n = _exponent(normal)
    f = _scaled(normal, _pick(x, 12582912.0, 6755399441055744.0) - n) - _pick(x, 1.0, 1.0)
    n = n - (_pick(x, 25.0, 54.0) if tiny else zero)
    s = f / (f + _pick(x, 2.0, 2.0))
    z = s * s
    square = half * f * f
    low = s * (square + z * _polynomial(z, single, double)) + n * _pick(
        x, 9.0580006145e-06, 1.90821492927058770002e-10
    )
    value = n * _pick(x, 6.9313812256e-01, 6.93147180369123816490e-01) - ((square - low) - f)
    value = value if x < _pick(x, math.inf, math.inf) else x
    outside = _pick(x, -math.inf, -math.inf) if x == zero else _pick(x, math.nan, math.nan)
    return outside if x <= zero else value


@_inlined
def tanh(x):
    """Return (e^2x - 1) / (e^2x + 1), with e^2x - 1 computed without cancellation."""
    one = _pick(x, 1.0, 1.0)
    two = _pick(x, 2.0, 2.0)
    size = two * math.fabs(x)
    cap = _pick(x, 20.0, 44.0)
    size = cap if size > cap else size
    r, shifted = _reduced(size)
    scale = _scaled(one, shifted)
    risen = scale * _risen(r) + (scale - one)
    value = risen / (risen + two)
    return -value if x < _pick(x, 0.0, 0.0) else value


@_inlined
def maximum(a, b):
    """Return the larger number, or NaN if one is NaN."""
    return a if a > b or a != a else b


@_inlined
def minimum(a, b):
    """Return the smaller number, or NaN if one is NaN."""
    return a if a < b or a != a else b


@_inlined
def where(condition, a, b):
    """Return a if the condition holds, else b."""
    return a if condition else b


@_inlined
def const(s, value):
    """Return ``value`` in the type of s."""
    return _pick(s, value, value)


@_inlined
def power(s, exponent):
    """Return s^exponent; whole exponents from 0 to 63 by repeated squaring, others as exp(exponent log s).

    Negative numbers have powers of other whole exponents too.
    """
    n = int(exponent)
    if n != exponent:
        return exp(exponent * log(s))
    if n < 0 or n > 63:
        size = exp(exponent * log(abs(s)))
        return -size if n & 1 and s < 0 else size
    # six steps for every exponent: with a loop that depends on it, the caller's loop is not vectorised
    one = _pick(s, 1.0, 1.0)
    result = one
    for bit in range(6):
        result = result * (s if (n >> bit) & 1 else one)
        s = s * s
    return result
