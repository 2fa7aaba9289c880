"""Expressions of kernels for `trace`: radial and dot-product kernels, and those that combine them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer._common import shown
from mercer._compute.profile import evaluate_profile, parameters
from mercer._compute.symbols import NORMS, XP, Symbol, as_symbol, folded, trace
from mercer.kernels.algebra import Constant, Exp, Function, Power
from mercer.kernels.coordinatewise import Laplacian
from mercer.kernels.dot import Dot
from mercer.kernels.mapped import Mapped
from mercer.kernels.radial import Radial
from mercer.kernels.rescaled import Normalized


@trace.register
def _(kernel: Dot):
    return as_symbol(kernel.profile(XP, Symbol("dot"), *parameters(kernel)))


@trace.register
def _(kernel: Radial):
    # rounding of distances in proportion to norms is not bounded in the kernel where its slope is infinite
    slope = evaluate_profile(kernel, np.zeros(1), order=1)
    return as_symbol(
        kernel.profile(XP, Symbol("sqdist", smooth=bool(np.isfinite(slope))), *parameters(kernel))
    )


@trace.register
def _(kernel: Laplacian):
    return as_symbol(kernel.profile(XP, Symbol("absdist"), *parameters(kernel)))


@trace.register
def _(kernel: Constant):
    return as_symbol(kernel.value)


@trace.register
def _(kernel: Function):
    return kernel._compose(trace)  # noqa: SLF001


@trace.register
def _(kernel: Power):
    return XP.power(trace(kernel.kernel), kernel.degree)


@trace.register
def _(kernel: Exp):
    return XP.exp(trace(kernel.kernel))


@trace.register
def _(kernel: Normalized):
    inner = trace(kernel.kernel)
    return (
        inner
        * _inverse_root(_at_itself(inner, "sqnorm_x"))
        * _inverse_root(_at_itself(inner, "sqnorm_z"))
    )


@trace.register
def _(kernel: Mapped):
    if callable(kernel.A):
        raise TypeError(
            f"{shown(kernel)} has a function, which cannot be exported; a linear map can."
        )

    def mapped(symbol):
        return replace(symbol, maps=(kernel.A, *symbol.maps)) if symbol.is_input else symbol

    return rewritten(trace(kernel.kernel), mapped)


def _inverse_root(square):
    """Return 1 / sqrt(square), and 0 where square is 0."""
    positive = square > 0.0
    return XP.where(positive, 1.0 / XP.sqrt(XP.where(positive, square, 1.0)), 0.0)


def _at_itself(symbol, norm):
    """Return the expression of k(x, x) from that of k(x, z)."""

    def coincide(each):
        if each.operation in ("sqdist", "absdist"):
            return as_symbol(0.0)
        return replace(each, operation=norm) if each.operation in ("dot", *NORMS) else each

    return rewritten(symbol, coincide)


def rewritten(symbol: Symbol, change: Callable[[Symbol], Symbol]) -> Symbol:
    """Return an expression with ``change`` applied to every symbol; shared symbols stay shared."""
    return folded(symbol, lambda each, operands: change(replace(each, operands=tuple(operands))))
