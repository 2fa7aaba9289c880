"""Expressions of kernels have the values of the kernels."""

from dataclasses import dataclass

import numpy as np
import pytest

import mercer as mc
from mercer.kernels.tracing import trace

WIDE = np.array([[1.0, -0.5, 0.0], [0.3, 0.2, 2.0]])
KERNELS = [
    mc.Linear(),
    mc.Gaussian(0.3),
    mc.Polynomial(3, 0.5, 1.0),
    mc.Polynomial(70, 0.01, 1.0),
    mc.Sigmoid(0.2, -0.3),
    mc.Matern(1.3, 0.5),
    mc.Matern(1.3, 1.5),
    mc.Matern(1.3, 2.5),
    mc.RationalQuadratic(0.8, 0.7),
    mc.Cauchy(0.4),
    mc.Laplacian(0.4),
    mc.Normalized(mc.Laplacian(0.4) + mc.Linear()),
    mc.Gaussian(0.3) + 2.0,
    3 * mc.Gaussian(0.3) * mc.Linear(),
    mc.Exp(mc.Linear() ** 2 * 0.01),
    (mc.Linear() + 1) ** 9,
    mc.Normalized(mc.Polynomial(2, 1.0, 0.0) + mc.Gaussian(1.0)),
    mc.Normalized(mc.Normalized(mc.Linear()) + 0.5 * mc.Linear()),
    mc.Mapped(mc.Gaussian(0.3), np.array([2.0, 0.5, 1.0])),
    mc.Mapped(mc.Gaussian(0.3), np.array([-1, 0])) + mc.Linear(),
    mc.Normalized(mc.Mapped(mc.Mapped(mc.Linear(), np.array([1.0, 3.0])), WIDE)),
]
BY_HAND = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power,
    "Max": np.maximum, "Min": np.minimum, "Neg": np.negative, "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt,
    "Tanh": np.tanh, "Abs": np.abs, "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Where": np.where,
}  # fmt: skip


def ordered(expression, known=()):
    """Return the symbols of an expression, each once and after its operands."""
    found = list(known)
    for operand in expression.operands:
        found = ordered(operand, found)
    return found if any(each is expression for each in found) else [*found, expression]


def computed(expression, x, z):
    """Return the value of an expression at two points."""
    known = {}
    for each in ordered(expression):
        p, q = x, z
        for A in each.maps:
            p, q = (
                r[A] if A.dtype.kind != "f" else r * A if A.ndim == 1 else A @ r for r in (p, q)
            )
        inputs = {
            "dot": p @ q,
            "sqdist": (p - q) @ (p - q),
            "absdist": abs(p - q).sum(),
            "sqnorm_x": p @ p,
            "sqnorm_z": q @ q,
        }
        if each.operation in BY_HAND:
            known[id(each)] = BY_HAND[each.operation](
                *(known[id(operand)] for operand in each.operands)
            )
        else:
            known[id(each)] = inputs.get(each.operation, each.value)
    return known[id(expression)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_expression_of_a_kernel_has_its_values(kernel, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(6, 3))
    expression = trace(kernel)
    found = [[computed(expression, x, z) for z in X[:3]] for x in X]
    np.testing.assert_allclose(found, kernel(X, X[:3].copy()), rtol=1e-12, atol=1e-13)


def test_a_normalised_kernel_is_zero_at_points_of_norm_zero():
    zero, one = np.zeros(2), np.ones(2)
    assert computed(trace(mc.Normalized(mc.Linear())), zero, one) == 0
    assert computed(trace(mc.Normalized(mc.Linear())), one, one) == pytest.approx(1)


def test_only_kernels_with_a_kink_need_exact_distances():
    smooth = {repr(k): all(each.smooth for each in ordered(trace(k))) for k in KERNELS}
    assert [name for name, value in smooth.items() if not value] == ["Matern(length=1.3, nu=0.5)"]


@pytest.mark.parametrize(
    "kernel",
    [mc.Chi2(1.0), mc.Precomputed(np.eye(2)), mc.FeatureMap(np.asarray), mc.Linear() + mc.Chi2(1.0)],
    ids=lambda kernel: type(kernel).__name__,
)  # fmt: skip
def test_other_kernels_are_refused_with_the_supported_ones(kernel):
    with pytest.raises(
        TypeError, match="cannot be exported; use a kernel of inner products or Euclidean distances"
    ):
        trace(kernel)


@dataclass(frozen=True, eq=False)
class Compact(mc.Radial):
    """Zero beyond distance 1, decided in the way that arrays can."""

    @staticmethod
    def profile(xp, s, order=0):
        one = xp.const(s, 1.0)
        left = xp.maximum(one - s, xp.const(s, 0.0))
        return xp.where(s < one, left * left, xp.minimum(left, s)) if order == 0 else -2 * left


@dataclass(frozen=True, eq=False)
class Branching(mc.Radial):
    """Decided in a way that only numbers can."""

    @staticmethod
    def profile(xp, s, order=0):
        return s if order or s > 1 else 2 * s


def test_a_user_defined_kernel_is_exported_by_its_profile():
    expression = trace(Compact())
    assert computed(expression, np.zeros(1), np.array([0.5])) == 0.75**2
    assert computed(expression, np.zeros(1), np.array([2.0])) == 0


def test_a_profile_that_branches_on_values_is_refused_with_a_remedy():
    with pytest.raises(TypeError, match=r"use xp\.where"):
        trace(Branching())


def test_functions_of_parameters_become_constants():
    class Scaled(mc.Radial):
        @staticmethod
        def profile(xp, s, order=0):
            factor = xp.exp(xp.log(2.0)) * xp.sqrt(4.0) * xp.tanh(100.0) * xp.abs(-1.0)
            return factor * s if order == 0 else 0 * s + factor

    expression = trace(Scaled())
    assert [each.operation for each in ordered(expression)] == ["constant", "sqdist", "Mul"]
    assert computed(expression, np.zeros(1), np.ones(1)) == pytest.approx(4)


def test_a_map_by_a_function_is_refused():
    with pytest.raises(
        TypeError, match="has a function, which cannot be exported; a linear map can"
    ):
        trace(2 * mc.Mapped(mc.Gaussian(1.0), np.square))
