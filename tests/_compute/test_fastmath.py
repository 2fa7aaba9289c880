import functools

import numpy as np
import pytest

from mercer._compute import fastmath
from mercer._compute.compile import EXACT, dispatcher
from mercer._compute.intrinsics import wide

FLOATS = [np.float32, np.float64]


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


@functools.cache
def elementwise(name):
    function = getattr(fastmath, name)

    def loop(values, out):
        wide()
        for i in range(values.size):
            out[i] = function(values[i])

    return dispatcher(loop, EXACT)


def evaluate_profile(name, values):
    out = np.empty_like(values)
    elementwise(name)(values, out)
    return out


def ulps(name, values):
    """Distance to the value in extended precision, in units in the last place."""
    exact = getattr(np, name)(values.astype(np.longdouble))
    spacing = np.spacing(np.abs(exact).astype(values.dtype)).astype(np.longdouble)
    return np.max(np.abs(evaluate_profile(name, values) - exact) / spacing)


def everywhere(dtype, low, high, rng):
    """Numbers between two bounds: evenly spaced, and many near 0 of either sign."""
    small = rng.normal(size=50_000) * 10.0 ** rng.uniform(-12, 1, 50_000)
    values = np.concatenate([np.linspace(low, high, 200_000), small]).astype(dtype)
    return values[(values >= low) & (values <= high)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_exp_is_within_two_units_wherever_the_result_is_normal(dtype, rng):
    info = np.finfo(dtype)
    low, high = np.log(float(info.tiny)) + 1e-4, np.log(float(info.max)) - 1e-4
    assert ulps("exp", everywhere(dtype, low, high, rng)) <= 1.5


@pytest.mark.parametrize("dtype", FLOATS)
def test_exp_underflows_to_zero_overflows_to_infinity_and_keeps_nan(dtype):
    low, high = (-104, 88.8) if dtype == np.float32 else (-745.2, 709.8)
    values = np.array([-np.inf, -1e30, low, high, 1e30, np.inf, np.nan], dtype)
    np.testing.assert_array_equal(
        evaluate_profile("exp", values), np.array([0, 0, 0, np.inf, np.inf, np.inf, np.nan], dtype)
    )
    zeros = np.array([0.0, -0.0, 1e-40, -1e-40], dtype)
    np.testing.assert_array_equal(evaluate_profile("exp", zeros), np.ones(4, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_exp_between_zero_and_the_smallest_normal_number_is_off_by_less_than_that(dtype):
    tiny = float(np.finfo(dtype).tiny)
    values = np.linspace(np.log(tiny) - 20, np.log(tiny) + 1e-3, 10_001).astype(dtype)
    assert (
        np.max(np.abs(evaluate_profile("exp", values) - np.exp(values.astype(np.longdouble))))
        <= tiny
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_is_within_one_unit_from_subnormal_to_largest(dtype, rng):
    info = np.finfo(dtype)
    exponents = rng.uniform(
        np.log2(float(info.smallest_subnormal)) + 1, info.maxexp - 1e-6, 200_000
    )
    values = np.concatenate([np.exp2(exponents), np.exp(rng.normal(size=50_000) / 4)]).astype(dtype)
    assert ulps("log", values[values > 0]) <= 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_follows_the_convention_outside_its_domain(dtype):
    values = np.array([0.0, -0.0, -1.0, -np.inf, np.inf, np.nan], dtype)
    expected = np.array([-np.inf, -np.inf, np.nan, np.nan, np.inf, np.nan], dtype)
    np.testing.assert_array_equal(evaluate_profile("log", values), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_tanh_keeps_its_relative_accuracy_near_zero(dtype, rng):
    assert ulps("tanh", everywhere(dtype, -50, 50, rng)) <= 3
    special = np.array([-np.inf, -1e30, 0.0, 1e30, np.inf, np.nan], dtype)
    np.testing.assert_array_equal(
        evaluate_profile("tanh", special), np.array([-1, -1, 0, 1, 1, np.nan], dtype)
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sqrt", "abs"])
def test_sqrt_and_abs_agree_with_numpy_to_the_bit(name, dtype, rng):
    values = (
        np.abs(everywhere(dtype, -1e4, 1e4, rng))
        if name == "sqrt"
        else everywhere(dtype, -1e4, 1e4, rng)
    )
    np.testing.assert_array_equal(evaluate_profile(name, values), getattr(np, name)(values))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_a_number_has_one_value_wherever_it_stands_in_an_array(name, dtype, rng):
    # vectorised and remaining elements of a loop run the same operations
    values = np.abs(rng.normal(size=301)).astype(dtype)
    whole = evaluate_profile(name, values)
    np.testing.assert_array_equal(
        whole, [evaluate_profile(name, values[i : i + 1])[0] for i in range(301)]
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_constants_choices_and_extremes_keep_the_type(dtype):
    a, b = dtype(2.5), dtype(-1.5)
    assert isinstance(fastmath.const(a, 1), float)
    assert fastmath.const(dtype(1), 0.1) == dtype(0.1)
    assert fastmath.maximum(a, b) == a
    assert fastmath.minimum(a, b) == b
    assert np.isnan(fastmath.maximum(dtype(np.nan), b))
    assert np.isnan(fastmath.minimum(a, dtype(np.nan)))
    assert fastmath.where(True, a, b) == a
    assert fastmath.where(False, a, b) == b


@pytest.mark.parametrize("dtype", FLOATS)
def test_whole_powers_are_repeated_products(dtype, rng):
    s = (rng.choice([-1, 1], 20) * rng.uniform(0.5, 2, 20)).astype(dtype)
    for exponent in (0, 1, 2, 3, 7, 20, 63):
        got = np.array([fastmath.power(x, dtype(exponent)) for x in s])
        np.testing.assert_allclose(
            got, s.astype(np.longdouble) ** exponent, rtol=64 * np.finfo(dtype).eps
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_other_powers_go_through_the_logarithm(dtype, rng):
    s = rng.uniform(0.4, 3, 50).astype(dtype)
    for exponent in (0.5, -2.0, -1.25, 70.0):
        got = np.array([fastmath.power(x, dtype(exponent)) for x in s])
        rtol = 4 * np.finfo(dtype).eps * (1 + np.max(np.abs(exponent * np.log(s))))
        np.testing.assert_allclose(
            got, s.astype(np.longdouble) ** np.longdouble(exponent), rtol=rtol
        )
