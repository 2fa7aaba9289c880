"""Signs of profiles against what is known of them by theory."""

from dataclasses import dataclass

import numpy as np
import pytest

import mercer as mc
from mercer.definiteness.profiles import disagreement, examine


@dataclass(frozen=True, eq=False)
class Cosine(mc.Dot):
    """cos <x, z>: the Taylor coefficient of order 2 is -1/2."""

    @staticmethod
    def profile(xp, s, order=0):
        return (np.cos(s), -np.sin(s), -np.cos(s), np.sin(s), np.cos(s))[order]


@dataclass(frozen=True, eq=False)
class Bump(mc.Radial):
    """1 / (1 + s^2): bell-shaped, but not completely monotone in s."""

    @staticmethod
    def profile(xp, s, order=0):
        # by partial fractions, the imaginary part of 1 / (s - i)
        return ((-1.0) ** order * np.prod(np.arange(1.0, order + 1)) / (s - 1j) ** (order + 1)).imag


@dataclass(frozen=True, eq=False)
class Ignored(mc.Radial):
    """exp(-rate |x - z|), a kernel, whose profile ignores the order."""

    rate: float = 1.0

    @staticmethod
    def profile(xp, s, rate, order=0):
        return xp.exp(-rate * xp.sqrt(s))


@dataclass(frozen=True, eq=False)
class WrongThird(mc.Dot):
    """exp <x, z> with a wrong derivative of order 3."""

    @staticmethod
    def profile(xp, s, order=0):
        return -xp.exp(s) if order == 3 else xp.exp(s)


@dataclass(frozen=True, eq=False)
class Inverse(mc.Dot):
    """1 / <x, z>: of numbers above 0 the product of 1 / x and 1 / z, a kernel."""

    @staticmethod
    def profile(xp, s, order=0):
        return (-1.0) ** order * np.prod(np.arange(1.0, order + 1)) / s ** (order + 1)


@dataclass(frozen=True, eq=False)
class Growing(mc.Radial):
    """sqrt(1 + s): larger between different rows than at equal ones."""

    @staticmethod
    def profile(xp, s, order=0):
        base = xp.const(s, 1.0) + s
        value = xp.sqrt(base)
        for j in range(order):
            value = value * xp.const(s, 0.5 - j) / base
        return value


def verdicts(kernel, X=None):
    return [statement.verdict for statement in examine(kernel, X)]


@pytest.mark.parametrize(
    "kernel", [mc.Linear(), mc.Polynomial(4, 0.3, 0.2), mc.Polynomial(2, 1.0, 0.0)], ids=repr
)
def test_polynomials_with_no_negative_coefficient_pass_on_every_range(kernel, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(20, 3))
    assert verdicts(kernel, X) == ["not refuted"] * 4


def test_the_taylor_test_finds_the_first_negative_coefficient():
    assert "order 2" in examine(Cosine(), None)[0].reason
    assert "order 3" in examine(mc.Sigmoid(1.0, 0.0), None)[0].reason
    assert "order 2" in examine(mc.Sigmoid(1.0, 0.5), None)[0].reason
    assert "order 0" in examine(mc.Sigmoid(1.0, -0.5), None)[0].reason


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("coef0", [-1.0, -0.2, 0.0, 0.7])
def test_burges_conditions_of_tanh_are_those_of_its_closed_derivatives(gamma, coef0):
    # f' > 0 always; f' + r^2 f'' = gamma (1 - t^2) (1 - 2 gamma r^2 t)
    X = np.array([[0.1, 0.0], [0.0, 0.4], [1.5, 0.0]])
    r = np.linspace(0.1**2, 1.5**2, 200)
    t = np.tanh(gamma * r + coef0)
    expected = [(t >= 0).all(), True, (1 - 2 * gamma * r * t >= 0).all()]
    assert verdicts(mc.Sigmoid(gamma, coef0), X)[1:] == [
        "not refuted" if good else "refuted" for good in expected
    ]


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.7), mc.Cauchy(2.0), mc.Matern(1.0, 0.5), mc.Matern(1.0, 2.5)], ids=repr
)
def test_completely_monotone_profiles_pass(kernel, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(20, 2))
    assert verdicts(kernel, X) == verdicts(kernel) == ["not refuted"]


def test_a_profile_that_is_not_completely_monotone_is_refuted_for_rows_with_enough_columns():
    found = examine(Bump(), None)[0]
    assert (found.verdict, found.where) == ("refuted", "rows with enough columns")
    # and rightly: in three variables some points already show it
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert np.linalg.eigvalsh(Bump()(X))[0] < -1e-3


def test_other_kernels_have_no_profile_conditions():
    assert (
        examine(mc.Laplacian(1.0), np.ones((1, 2)))
        == examine(mc.Gaussian(1.0) + mc.Linear(), None)
        == []
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    ("kernel", "order"),
    [(Ignored(), 1), (mc.Linear() + 2 * Ignored(), 1), (WrongThird(), 3)],
    ids=repr,
)
def test_nothing_is_refuted_by_derivatives_that_differ_from_differences(kernel, order, scale):
    X = (
        scale
        * np.random.default_rng(0).normal(size=(20, 2))
        / np.sqrt(kernel.scalar == "dot" and scale**2 or 1)
    )
    for found in (examine(kernel, None), examine(kernel, X)):
        assert [statement.verdict for statement in found] == ["open"]
        assert f"the derivative of order {order} of" in found[0].reason
        assert "run mercer.testing.check_kernel_implementation" in found[0].reason
    report = mc.check_kernel(kernel, X)
    assert [line for line in report.statements if line.verdict == "refuted"] == []


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(1e4),
        mc.Gaussian(1e-4),
        mc.RationalQuadratic(1.0, 1e3),
        mc.Matern(1e-3, 0.5),
        mc.Matern(1.0, 1.5),
        mc.Matern(1e3, 2.5),
        mc.Polynomial(9, 0.1, 1.0),
        mc.Sigmoid(1.0, -0.3),
        Bump(),
        Growing(),
    ],
    ids=repr,
)
def test_correct_derivatives_agree_with_differences_on_every_scale(kernel, scale):
    X = scale * np.random.default_rng(0).normal(size=(20, 2))
    assert disagreement(kernel, X) is None
    assert disagreement(kernel, None) is None


def test_two_rows_refute_a_profile_that_is_larger_than_at_0():
    found = examine(Growing(), None)[0]
    assert (found.verdict, found.where) == ("refuted", "every two rows at a distance of 1")
    # the determinant of the kernel values of such a pair is 1 - 2
    assert np.linalg.det(Growing()(np.array([[0.0], [1.0]]))) == pytest.approx(-1.0)
    assert f"|k(x, z)| = {np.sqrt(2):.4g} is larger than k(x, x) = 1" in found.reason


def test_numbers_have_no_direction_across_them():
    x = np.array([[1.0], [2.0], [3.0]])
    np.testing.assert_allclose(Inverse()(x), 1 / np.outer(x, x))
    assert "refuted" not in [each.verdict for each in examine(Inverse(), x)]
    # of rows of two columns 1 / <x, z> is no kernel: f' < 0
    wide = np.column_stack([x, 0.1 * x])
    refuted = [each.reason for each in examine(Inverse(), wide) if each.verdict == "refuted"]
    assert any(reason.startswith("f' = ") for reason in refuted)
