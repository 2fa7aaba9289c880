"""Signs of profiles against what is known of them by theory."""

from dataclasses import dataclass

import numpy as np
import pytest

import mercer as mc
from mercer.definiteness.profiles import examine


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


def verdicts(kernel, X=None):
    return [statement.verdict for statement in examine(kernel, X)]


@pytest.mark.parametrize("kernel", [mc.Linear(), mc.Polynomial(4, 0.3, 0.2), mc.Polynomial(2, 1.0, 0.0)], ids=repr)
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
    X = np.array([[0.1], [0.4], [1.5]])
    r = np.linspace(0.1**2, 1.5**2, 200)
    t = np.tanh(gamma * r + coef0)
    expected = [(t >= 0).all(), True, (1 - 2 * gamma * r * t >= 0).all()]
    assert verdicts(mc.Sigmoid(gamma, coef0), X)[1:] == ["not refuted" if good else "refuted" for good in expected]


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.7), mc.Cauchy(2.0), mc.Matern(1.0, 0.5), mc.Matern(1.0, 2.5)], ids=repr
)
def test_completely_monotone_profiles_pass(kernel, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(20, 2))
    assert verdicts(kernel, X) == verdicts(kernel) == ["not refuted"]


def test_a_profile_that_is_not_completely_monotone_is_refuted_for_rows_of_every_length():
    found = examine(Bump(), None)[0]
    assert (found.verdict, found.where) == ("refuted", "rows of every length")
    # and rightly: in three variables some points already show it
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert np.linalg.eigvalsh(Bump()(X))[0] < -1e-3


def test_other_kernels_have_no_profile_conditions():
    assert examine(mc.Laplacian(1.0), np.ones((1, 2))) == examine(mc.Gaussian(1.0) + mc.Linear(), None) == []
