"""Coefficients: columns, finite, read-only."""

import numpy as np
import pytest

from mercer._compute.coefficients import coefficient_block, coefficient_product, floating
from mercer._compute.points import Points

SIDE = Points(np.zeros((3, 2)))


def test_a_vector_is_one_column_and_whole_numbers_become_float64():
    coef = coefficient_block([1, 2, 3], SIDE)
    assert coef.shape == (3, 1)
    assert coef.dtype == np.float64


def test_coefficients_refuse_to_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        coefficient_block(np.ones(3), SIDE)[0] = 2


@pytest.mark.parametrize(
    ("coef", "message"),
    [(np.ones(2), "3 points need 3 rows"), (np.ones((3, 1, 1)), "one or two dimensions"), ([1, 2, np.nan], "NaN")],
)
def test_bad_coefficients_are_refused(coef, message):
    with pytest.raises(ValueError, match=message):
        coefficient_block(coef, SIDE)


def test_products_of_float32_are_summed_in_float64(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    coef, values = (rng.standard_normal((20_000, 1)).astype(np.float32) + 1 for _ in range(2))
    exact = float(coef.astype(np.longdouble)[:, 0] @ values.astype(np.longdouble)[:, 0])
    product = coefficient_product(coef, values)
    assert product.dtype == np.float32
    assert abs(float(product[0, 0]) / exact - 1) <= np.finfo(np.float32).eps


@pytest.mark.parametrize(
    ("points", "dtype"),
    [(np.zeros((2, 1), np.float32), np.float32), (["a", "b"], np.float64), (np.arange(3), np.float64)],
)
def test_points_that_are_not_numbers_have_float64_coefficients(points, dtype):
    assert floating(Points(points)) == dtype
