"""Kernels as expressions: a profile, run on symbols, writes down the arithmetic that other runtimes are to do.

A profile is written once for any array namespace; here the namespace is one whose arrays are symbols.
"""

import functools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mercer._compute.namespace import Namespace
from mercer._compute.profile import evaluate_profile, parameters
from mercer.kernels.algebra import Constant, Exp, Normalized, Power, Product, Scaled, Sum
from mercer.kernels.dot import Dot
from mercer.kernels.mapped import Mapped
from mercer.kernels.radial import Radial

# What a kernel is a function of: <x, z>, |x - z|^2, |x|^2 and |z|^2.
PAIRS = ("dot", "sqdist")
NORMS = ("sqnorm_x", "sqnorm_z")


@dataclass(frozen=True, eq=False)
class Symbol:
    """A number that is known when a model runs: an operation on other symbols, a constant, or an input.

    Attributes
    ----------
    operation : str
        "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "negate", "exp", "log", "sqrt", "tanh",
        "abs"; "greater" and "greater_equal", which only the first operand of "where" may be; "constant"; or an input:
        "dot", <x, z>, "sqdist", |x - z|^2, "sqnorm_x" and "sqnorm_z".
    operands : tuple of Symbol
    value : float
        Of a constant.
    maps : tuple of array
        Of an input: linear maps that x and z go through before, the first one first, as the ``A`` of ``Mapped``.
    smooth : bool
        Of "sqdist": False where its rounding counts, since the kernel has a kink at x = z.

    Examples
    --------
    >>> from mercer.formats.tracing import Symbol
    >>> (2.0 * Symbol("dot") + 1.0).operation
    'add'
    """

    operation: str
    operands: tuple = ()
    value: float = 0.0
    maps: tuple = ()
    smooth: bool = True

    # array libraries must leave arithmetic to the symbol
    __array_ufunc__: ClassVar = None

    def __add__(self, other):
        return Symbol("add", (self, _symbol(other)))

    def __radd__(self, other):
        return Symbol("add", (_symbol(other), self))

    def __sub__(self, other):
        return Symbol("subtract", (self, _symbol(other)))

    def __rsub__(self, other):
        return Symbol("subtract", (_symbol(other), self))

    def __mul__(self, other):
        return Symbol("multiply", (self, _symbol(other)))

    def __rmul__(self, other):
        # repeated squaring starts from 1
        return self if other == 1 else Symbol("multiply", (_symbol(other), self))

    def __truediv__(self, other):
        return Symbol("divide", (self, _symbol(other)))

    def __rtruediv__(self, other):
        return Symbol("divide", (_symbol(other), self))

    def __pow__(self, exponent):
        return Symbol("power", (self, _symbol(exponent)))

    def __neg__(self):
        return Symbol("negate", (self,))

    def __abs__(self):
        return Symbol("abs", (self,))

    def __gt__(self, other):
        return Symbol("greater", (self, _symbol(other)))

    def __ge__(self, other):
        return Symbol("greater_equal", (self, _symbol(other)))

    def __lt__(self, other):
        return Symbol("greater", (_symbol(other), self))

    def __le__(self, other):
        return Symbol("greater_equal", (_symbol(other), self))

    def __bool__(self):
        raise TypeError(
            "a profile decides by the value of s, which is not known while it is exported: use xp.where(s > 0, a, b)."
        )


def _symbol(value):
    return value if isinstance(value, Symbol) else Symbol("constant", (), float(value))


class _Symbols:
    """What `mercer._compute.namespace.Namespace` asks of an array library, of symbols; of parameters, numbers."""

    @staticmethod
    def exp(s):
        return Symbol("exp", (s,)) if isinstance(s, Symbol) else math.exp(s)

    @staticmethod
    def log(s):
        return Symbol("log", (s,)) if isinstance(s, Symbol) else math.log(s)

    @staticmethod
    def sqrt(s):
        return Symbol("sqrt", (s,)) if isinstance(s, Symbol) else math.sqrt(s)

    @staticmethod
    def tanh(s):
        return Symbol("tanh", (s,)) if isinstance(s, Symbol) else math.tanh(s)

    @staticmethod
    def where(condition, s, t):
        return Symbol("where", (condition, _symbol(s), _symbol(t)))

    @staticmethod
    def maximum(s, t):
        return Symbol("maximum", (_symbol(s), _symbol(t)))

    @staticmethod
    def minimum(s, t):
        return Symbol("minimum", (_symbol(s), _symbol(t)))

    @staticmethod
    def ones_like(_s):
        return 1.0


_XP = Namespace(_Symbols)


@functools.singledispatch
def trace(kernel):
    """Return the expression of k(x, z) in <x, z>, |x - z|^2, |x|^2 and |z|^2.

    Parameters
    ----------
    kernel : Kernel
        Resolved: of inner products or distances, or a sum, product, multiple, power, exponential or normalised form of
        such, also of linearly mapped inputs.

    Returns
    -------
    Symbol
        Its operands may be shared: go through it with `ordered`.

    Raises
    ------
    TypeError
        For other kernels.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.formats.tracing import trace
    >>> trace(mc.Gaussian(0.5)).operation, trace(mc.Linear()).operation
    ('exp', 'dot')
    """
    raise TypeError(
        f"{type(kernel).__name__} cannot be exported: kernels of inner products and Euclidean distances can, their "
        "sums, products, multiples, powers, exponentials and normalised forms, and those of mapped inputs. mercer.save "
        "keeps every kernel that is no code."
    )


@trace.register
def _(kernel: Dot):
    return _symbol(kernel.profile(_XP, Symbol("dot"), *parameters(kernel)))


@trace.register
def _(kernel: Radial):
    # distances are rounded in proportion to the norms; nothing bounds what that does where the slope is infinite
    slope = evaluate_profile(kernel, np.zeros(1), order=1)
    return _symbol(kernel.profile(_XP, Symbol("sqdist", smooth=bool(np.isfinite(slope))), *parameters(kernel)))


@trace.register
def _(kernel: Constant):
    return _symbol(kernel.value)


@trace.register
def _(kernel: Sum):
    return trace(kernel.left) + trace(kernel.right)


@trace.register
def _(kernel: Product):
    return trace(kernel.left) * trace(kernel.right)


@trace.register
def _(kernel: Scaled):
    return kernel.factor * trace(kernel.kernel)


@trace.register
def _(kernel: Power):
    return _XP.power(trace(kernel.kernel), kernel.degree)


@trace.register
def _(kernel: Exp):
    return _XP.exp(trace(kernel.kernel))


@trace.register
def _(kernel: Normalized):
    inner = trace(kernel.kernel)
    return inner * _inverse_root(_own(inner, "sqnorm_x")) * _inverse_root(_own(inner, "sqnorm_z"))


@trace.register
def _(kernel: Mapped):
    def through(symbol):
        return replace(symbol, maps=(kernel.A, *symbol.maps)) if symbol.operation in PAIRS + NORMS else symbol

    return _rewritten(trace(kernel.kernel), through)


def _inverse_root(square):
    """Return 1 / sqrt(square), and 0 where there is no norm to divide by."""
    positive = square > 0.0
    return _XP.where(positive, 1.0 / _XP.sqrt(_XP.where(positive, square, 1.0)), 0.0)


def _own(symbol, norm):
    """Return an expression of k(x, z) at z = x: the product is the squared length, the distance 0."""

    def coincide(each):
        if each.operation == "sqdist":
            return _symbol(0.0)
        return replace(each, operation=norm) if each.operation in ("dot", *NORMS) else each

    return _rewritten(symbol, coincide)


def _rewritten(symbol, change):
    """Return an expression with every symbol changed, what is shared still shared."""
    known = {}
    for each in ordered(symbol):
        operands = tuple(known[id(operand)] for operand in each.operands)
        known[id(each)] = change(replace(each, operands=operands))
    return known[id(symbol)]


def ordered(symbol):
    """Return what an expression consists of, each symbol once and after its operands.

    Parameters
    ----------
    symbol : Symbol

    Returns
    -------
    list of Symbol

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.formats.tracing import ordered, trace
    >>> [each.operation for each in ordered(trace(mc.Linear() ** 4))]
    ['dot', 'multiply', 'multiply']
    """
    found, waiting = {}, [(symbol, False)]
    while waiting:
        each, done = waiting.pop()
        if id(each) in found:
            continue
        if done:
            found[id(each)] = each
        else:
            waiting.append((each, True))
            waiting.extend((operand, False) for operand in reversed(each.operands))
    return list(found.values())
