"""The inverse of every monotone profile, and the refusal of profiles that are not monotone."""

import numpy as np
import pytest

import mercer as mc
from mercer.preimages import Exact, inverse
from mercer.preimages.inverse import invert, require_invertible

RADIAL = [
    mc.Gaussian(0.7),
    mc.Matern(1.3, 0.5),
    mc.Matern(1.3, 1.5),
    mc.Matern(1.3, 2.5),
    mc.RationalQuadratic(1.0, 0.5),
    mc.Cauchy(2.0),
]
DOT = [mc.Linear(), mc.Polynomial(3), mc.Polynomial(5, 0.5, 0.2), mc.Sigmoid(0.6, 0.3)]


def along(kernel, s):
    """Return k of pairs of numbers with squared distance, or with product, s."""
    one = np.ones((1, 1))
    return (
        kernel(np.sqrt(s)[:, None], 0 * one)[:, 0]
        if kernel in RADIAL
        else kernel(s[:, None], one)[:, 0]
    )


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_squared_distances_are_recovered_from_kernel_values(kernel, scale):
    s = np.concatenate([[0.0], np.geomspace(1e-4, 10, 30)])
    found, inside = invert(kernel, along(kernel, s), scale)
    assert inside.all()
    np.testing.assert_allclose(found, s, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", DOT, ids=repr)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_inner_products_are_recovered_from_kernel_values(kernel, scale):
    s = np.linspace(-4, 4, 41)
    found, inside = invert(kernel, along(kernel, s), scale)
    assert inside.all()
    # where the slope is 0, s is as uncertain as the root of the rounding of the value
    np.testing.assert_allclose(found, s, atol=1e-3 if isinstance(kernel, mc.Polynomial) else 1e-11)
    np.testing.assert_allclose(along(kernel, found), along(kernel, s), rtol=1e-11, atol=1e-13)


def test_values_outside_the_range_of_the_profile_are_marked():
    assert (
        invert(mc.Gaussian(1.0), np.array([0.0, -0.1, 1.1, 1.0, 0.5]), 1.0)[1].tolist()
        == [False] * 3 + [True] * 2
    )
    assert invert(mc.Sigmoid(1.0), np.array([-1.0, -1.5, 0.9, 2.0]), 1.0)[1].tolist() == [
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("kernel", [mc.Polynomial(2), mc.Polynomial(4, 1.0, 0.0)], ids=repr)
def test_even_degrees_are_refused_with_the_reason(kernel):
    with pytest.raises(
        TypeError, match=r"Exact needs a monotone .* at several inner products.*method='gradient'"
    ):
        require_invertible(Exact(), kernel)


@pytest.mark.parametrize("kernel", [*RADIAL, *DOT], ids=repr)
def test_monotone_profiles_are_accepted(kernel):
    assert require_invertible(Exact(), kernel) is None


def test_a_value_above_that_at_0_by_rounding_is_taken_as_the_value_at_0():
    values = np.array([1 + 1e-15, 1 + 1e-12])
    found, inside = invert(mc.Gaussian(1.0), values, 1.0)
    assert inside.tolist() == [True, False]
    np.testing.assert_allclose(found, 0, atol=1e-50)


def test_values_that_are_not_attained_give_the_nearest_end_of_the_range():
    found, _ = invert(mc.Gaussian(1.0), np.array([-0.5, 1.5]), 1.0)
    assert found[0] > 1e20
    assert found[1] == 0
    found, _ = invert(mc.Sigmoid(1.0), np.array([-2.0, 2.0]), 1.0)
    assert (found[0] < -1e20, found[1] > 1e20) == (True, True)


def test_profiles_that_rise_or_fall_only_far_away_are_refused():
    class Bump(mc.Radial):
        @staticmethod
        def profile(xp, s, order=0):
            # falls up to 1e6 and rises from there
            return (s * 1e-6 - 1.0) ** 2 if order == 0 else 2e-6 * (s * 1e-6 - 1.0)

    with pytest.raises(
        TypeError, match="Exact needs a monotone profile, but test_profiles.* at several distances"
    ):
        require_invertible(Exact(), Bump())


def test_newton_steps_need_few_evaluations(monkeypatch):
    calls, plain = [], inverse.evaluate_form

    def counted(*arguments, **options):
        calls.append(1)
        return plain(*arguments, **options)

    monkeypatch.setattr(inverse, "evaluate_form", counted)
    found, _ = invert(mc.Gaussian(1.0), np.array([np.exp(-0.37)]), 1.0)
    np.testing.assert_allclose(found, 0.37, rtol=1e-15)
    # two evaluations per step; bisection alone takes more than fifty steps
    assert len(calls) < 90
