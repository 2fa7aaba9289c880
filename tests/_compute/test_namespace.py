"""The functions of profiles for arrays: the same values in every library, the type of the argument kept."""

import importlib
from fractions import Fraction

import numpy as np
import pytest

from mercer._compute.profile import NUMPY, Namespace, namespace_of, put_values


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def xp(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 64, 65, 0.5, -1, -0.3])
def test_power_equals_repeated_products_and_keeps_single_precision(xp, exponent):
    s = xp.asarray(np.linspace(0.5, 1.5, 5, dtype=np.float32))
    powers = Namespace(xp).power(s, exponent)
    assert powers.dtype == s.dtype
    np.testing.assert_allclose(
        np.asarray(powers), np.linspace(0.5, 1.5, 5) ** float(exponent), rtol=2e-5
    )


def test_power_zero_is_one_even_of_zero(xp):
    ones = Namespace(xp).power(xp.asarray([0.0, 2.0]), 0)
    np.testing.assert_array_equal(np.asarray(ones), [1, 1])


def test_logarithms_are_those_of_arrays_and_of_parameters(xp):
    values = np.array([0.5, 2.0], np.float32)
    found = Namespace(xp).log(xp.asarray(values))
    assert found.dtype == xp.float32
    np.testing.assert_allclose(np.asarray(found), np.log(values), rtol=1e-6)
    assert Namespace(xp).log(1e-300) == np.log(1e-300)


def test_constants_keep_single_precision_and_abs_takes_numbers_too(xp):
    math, s = Namespace(xp), xp.asarray(np.ones(3, np.float32))
    assert (s * math.const(s, 0.1)).dtype == s.dtype
    assert math.abs(-0.5) == 0.5
    np.testing.assert_array_equal(np.asarray(math.abs(-s)), 1)


def test_put_writes_to_pairs_of_positions(xp):
    array = xp.zeros((3, 4))
    rows, columns = xp.asarray([0, 2]), xp.asarray([3, 1])
    put_values(array, rows, columns, xp.asarray([5.0, 7.0], dtype=array.dtype))
    put_values(array, xp.asarray([1]), xp.asarray([0]), 2.0)
    np.testing.assert_array_equal(np.asarray(array), [[0, 0, 0, 5], [2, 0, 0, 0], [0, 7, 0, 0]])


def test_numpy_stands_in_for_whatever_is_no_array():
    assert namespace_of(["a"]) is NUMPY
    assert namespace_of(np.ones(2), None) is NUMPY


def test_arrays_of_another_library_bring_their_own(xp):
    array = xp.asarray([1.0])
    assert type(namespace_of(array).exp(array)) is type(array)
    assert importlib.import_module("numpy").isclose(float(namespace_of(array).exp(array)[0]), np.e)


@pytest.mark.parametrize(
    ("exponent", "squared"),
    [(0, True), (1, True), (3, True), (64, True), (65, False), (-1, False), (0.5, False)],
)
def test_whole_exponents_up_to_64_are_products(exponent, squared):
    # products of fractions are fractions, powers with a float are floats
    value = Namespace(np).power(np.array([Fraction(2, 3)], dtype=object), exponent)[0]
    assert isinstance(value, float) != squared
    assert float(value) == pytest.approx((2 / 3) ** exponent, rel=1e-14)
