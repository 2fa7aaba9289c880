"""Values of profiles on arrays: infinite slopes, parameters beyond the type, the range check."""

import numba
import numpy as np
import pytest

import mercer as mc
from mercer._compute.points import Points
from mercer._compute.profile import (
    apply_profile,
    check_range,
    compiling,
    evaluate_profile,
    loses_digits,
    parameters,
    within_range,
)


def test_parameters_are_the_fields_in_order_as_floats():
    found = parameters(mc.Polynomial(degree=3, gamma=0.5, coef0=2))
    assert found == (3.0, 0.5, 2.0)
    assert all(type(value) is float for value in found)


def test_slopes_may_be_infinite_without_a_warning():
    assert (evaluate_profile(mc.Matern(1.0, 0.5), np.zeros(2), order=1) == -np.inf).all()


def test_a_parameter_beyond_the_type_is_the_largest_number_of_the_type():
    s = np.array([0.0, 1.0], np.float32)
    np.testing.assert_array_equal(
        evaluate_profile(mc.Gaussian(1e300), s), np.array([1, 0], np.float32)
    )


def test_a_parameter_below_the_type_is_its_smallest_number_and_0_stays_0():
    for dtype, least in ((np.float32, 2.0**-149), (np.float64, 2.0**-1074)):
        assert within_range([1e-320, -1e-320, 0.0, 2.5], dtype) == [
            max(least, 1e-320),
            -max(least, 1e-320),
            0.0,
            2.5,
        ]


def test_the_range_of_inner_products_is_that_of_the_largest_row_in_both_signs():
    points = Points(np.array([[3.0, 4.0], [0.1, 0.0]]))
    check_range(mc.Polynomial(2), points)

    class OnlyPositive(mc.Linear):
        @staticmethod
        def profile(xp, s, order=0):
            return xp.sqrt(s + 24.5)

    with pytest.raises(ValueError, match="overflows float64: the largest row has norm 5; scale X"):
        check_range(OnlyPositive(), points)
    check_range(OnlyPositive(), Points(np.array([[4.9, 0.0]])))


def test_without_an_order_a_profile_has_its_values():
    s = np.array([0.0, 1.0])
    np.testing.assert_allclose(apply_profile(mc.Gaussian.profile, s, (2.0,)), np.exp(-2 * s))
    np.testing.assert_allclose(evaluate_profile(mc.Gaussian(2.0), s), np.exp(-2 * s))


def test_an_error_of_the_compiler_names_the_profile_and_the_name_it_cannot_use():
    @numba.njit
    def uses_a_name():
        return undefined_name  # noqa: F821

    message = r"Gaussian\.profile must use only arithmetic.*it cannot be compiled: .*undefined_name"
    with pytest.raises(TypeError, match=message), compiling(mc.Gaussian.profile):
        uses_a_name()
    with pytest.raises(ValueError, match="another"), compiling(mc.Gaussian.profile):
        raise ValueError("another")


def test_rounding_of_distances_may_show_in_slopes_alone():
    # the slope of Matern(nu=1.5) is that of the distance, the value that of its square
    profile, dtype = mc.Matern.profile, np.dtype(np.float64)
    assert not loses_digits(profile, (1.0, 1.5), dtype, 0.01)
    assert loses_digits(profile, (1.0, 1.5), dtype, 0.01, order=1)
    assert loses_digits(profile, (1.0, 1.5), dtype, 10.0)
    assert loses_digits(profile, (1.0, 0.5), dtype, 1e-9)
    assert not loses_digits(mc.Gaussian.profile, (1.0,), dtype, 0.01, order=1)
