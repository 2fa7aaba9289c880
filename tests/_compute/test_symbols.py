"""Symbols record the arithmetic of a profile, on either side of an operator, and each once."""

import operator

import numpy as np
import pytest

import mercer as mc
from mercer._compute.symbols import XP, Symbol, folded, ordered, trace

FUNCTIONS = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv, "Pow": operator.pow,
    "Neg": operator.neg, "Abs": abs, "Greater": operator.gt, "GreaterOrEqual": operator.ge, "Where": np.where,
    "Max": max, "Min": min, "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Tanh": np.tanh,
}  # fmt: skip


def value(expression, s):
    def computed(each, operands):
        if each.operation in FUNCTIONS:
            return FUNCTIONS[each.operation](*operands)
        return each.value if each.operation == "constant" else s

    return float(folded(expression, computed))


def test_arithmetic_of_symbols_works_from_both_sides():
    s = Symbol("dot")
    expressions = [2 - s, 2 / s, s - 2, s / 2, 2 + s, s**2.5, abs(-s), s >= 2, s <= 2]
    assert [value(each, 4.0) for each in expressions] == [-2, 0.5, 2, 2, 6, 32, 4, 1, 0]


def test_a_factor_of_1_is_no_operation():
    expression = trace(mc.Polynomial(1, 1.0, 2.0))
    assert [each.operation for each in ordered(expression)] == ["dot", "constant", "Add"]
    assert value(expression, 3.0) == 5


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh"])
def test_functions_take_symbols_and_numbers(name):
    function = getattr(XP, name)
    assert (
        value(function(Symbol("dot")), 0.7)
        == getattr(np, name)(0.7)
        == pytest.approx(function(0.7))
    )


def test_shared_symbols_are_listed_once_at_any_depth():
    kernel = mc.Linear() + 1
    for _ in range(12):
        kernel = kernel**8
    assert len(ordered(trace(mc.Normalized(kernel)))) < 150
