"""Symbols: kernel values as expressions, found by evaluating profiles on symbols instead of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from mercer._common import T, array_record
from mercer._compute.profile import Namespace

# Inputs of an expression: <x, z>, |x - z|^2, |x - z|_1, |x|^2 and |z|^2.
PAIRS = ("dot", "sqdist", "absdist")
NORMS = ("sqnorm_x", "sqnorm_z")
# Operations that C and Python write alike.
INFIX = {
    "Add": "{} + {}",
    "Sub": "{} - {}",
    "Mul": "{} * {}",
    "Div": "{} / {}",
    "Neg": "-{}",
    "Greater": "{} > {}",
    "GreaterOrEqual": "{} >= {}",
}


Operator: TypeAlias = "Callable[..., Symbol]"


def _binary(operation: str) -> tuple[Operator, Operator]:
    """Return the methods of an operation for the symbol on the left and on the right."""
    return (
        lambda self, other: Symbol(operation, (as_symbol(self), as_symbol(other))),
        lambda self, other: Symbol(operation, (as_symbol(other), self)),
    )


@array_record
class Symbol:
    """A number computed at run time: an operation on other symbols, a constant, or an input.

    Attributes
    ----------
    operation : str
        An operator of ONNX: "Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Neg", "Exp", "Log", "Sqrt", "Tanh",
        "Abs"; "Greater" and "GreaterOrEqual", only as the first operand of "Where"; or "constant"; or an input: "dot",
        <x, z>, "sqdist", |x - z|^2, "absdist", |x - z|_1, "sqnorm_x" and "sqnorm_z".
    operands : tuple of Symbol
    value : float
        Of a constant.
    maps : tuple of array
        Of an input: linear maps applied to x and z in this order, each the ``A`` of a ``Mapped``.
    smooth : bool
        Of "sqdist": False if the kernel has a kink at x = z, which makes rounding visible.
    part : int
        Of an input: number of the kernel, in a model that is a sum over several.
    """

    operation: str
    operands: tuple[Any, ...] = ()
    value: float = 0.0
    maps: tuple[Any, ...] = ()
    smooth: bool = True
    part: int = 0

    # NumPy must leave arithmetic to the symbol
    __array_ufunc__ = None

    __add__, __radd__ = _binary("Add")
    __sub__, __rsub__ = _binary("Sub")
    __truediv__, __rtruediv__ = _binary("Div")
    __gt__, __lt__ = _binary("Greater")
    __ge__, __le__ = _binary("GreaterOrEqual")
    __mul__ = _binary("Mul")[0]
    __pow__ = _binary("Pow")[0]

    @property
    def is_input(self) -> bool:
        """Whether the number is an input: a product, distance or norm of points."""
        return self.operation in PAIRS + NORMS

    def __rmul__(self, other: float) -> Symbol:
        # files of models need no multiplication by 1, such as that by gamma = 1
        return self if other == 1 else Symbol("Mul", (as_symbol(other), self))

    def __neg__(self) -> Symbol:
        return Symbol("Neg", (self,))

    def __abs__(self) -> Symbol:
        return Symbol("Abs", (self,))

    def __bool__(self) -> bool:
        raise TypeError(
            "a profile that branches on the value of s cannot be exported; use xp.where(s > 0, a, b) instead of if."
        )


def as_symbol(value: Symbol | float) -> Symbol:
    """Return a symbol itself, and a number as a constant."""
    return value if isinstance(value, Symbol) else Symbol("constant", (), float(value))


def _function(name, s):
    return Symbol(name.capitalize(), (s,)) if isinstance(s, Symbol) else getattr(math, name)(s)


class _Symbols:
    """The functions that `Namespace` needs of an array library, on symbols; on parameters they give numbers."""

    exp, log, sqrt, tanh = (
        staticmethod(functools.partial(_function, name)) for name in ("exp", "log", "sqrt", "tanh")
    )
    maximum, minimum = (staticmethod(_binary(name)[0]) for name in ("Max", "Min"))

    @staticmethod
    def where(condition: Symbol, s: Symbol | float, t: float) -> Symbol:
        return Symbol("Where", (condition, as_symbol(s), as_symbol(t)))

    @staticmethod
    def ones_like(_s: Symbol) -> float:
        return 1.0


# The namespace that a profile takes with a symbol.
XP = Namespace(_Symbols)


@functools.singledispatch
def trace(kernel: object) -> Symbol:
    """Return k(x, z) as an expression of <x, z>, |x - z|^2, |x - z|_1, |x|^2 and |z|^2, or raise a TypeError.

    Operands may be shared; `ordered` lists each once.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer._compute.symbols import trace
    >>> trace(mc.Gaussian(0.5)).operation, trace(mc.Linear()).operation
    ('Exp', 'dot')
    """
    raise TypeError(
        f"{type(kernel).__name__} cannot be exported; use a kernel of inner products or Euclidean distances, "
        "Laplacian, or a sum, product, multiple, power, exponential or normalised form of such kernels, also on "
        "linearly mapped inputs. mercer.save takes other kernels, and joblib Python functions."
    )


def folded(symbol: Symbol, function: Callable[..., T]) -> T:
    """Return ``function(each, values of its operands)`` for an expression, computed once for each of its symbols."""
    known = {}

    def value(each):
        if id(each) not in known:
            known[id(each)] = function(each, [value(operand) for operand in each.operands])
        return known[id(each)]

    return value(symbol)


def ordered(symbol: Symbol) -> list[Symbol]:
    """Return the symbols of an expression, each once and after its operands.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer._compute.symbols import ordered, trace
    >>> [each.operation for each in ordered(trace(mc.Linear() ** 4))]
    ['dot', 'Mul', 'Mul']
    """
    found = []
    folded(symbol, lambda each, _: found.append(each))
    return found
