import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.solvers.svm.rows import FusedRows, PlainRows, rows_of


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((50, 12))


@pytest.mark.parametrize("chosen", [np.arange(7, 40), np.arange(40, 7, -1), np.array([3, 5, 4, 6]), np.array([9])])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_consecutive_and_of_scattered_points_are_the_same_numbers(points, chosen, dtype):
    for kernel in (mc.Gaussian(0.1), mc.Polynomial(2, 0.5, 1)):
        rows, out = FusedRows(kernel, points, dtype), np.empty((50, len(chosen)), dtype)
        for _ in range(2):
            # nothing that is stored changes
            rows.columns(chosen)(np.arange(50), out)
            np.testing.assert_allclose(out, kernel(points)[:50, chosen], atol=300 * np.finfo(dtype).eps)


def test_products_are_those_of_the_kernel_matrix(points):
    kernel, weights = mc.Gaussian(0.1), np.linspace(-1, 1, 20)
    for rows in (
        FusedRows(kernel, points, np.float64),
        PlainRows(kernel, points),
        PlainRows(kernel, sp.csr_matrix(points)),
    ):
        product = rows.product(np.arange(5, 50), np.arange(20), weights)
        np.testing.assert_allclose(product, kernel(points)[5:50, :20] @ weights, rtol=1e-10, atol=1e-12)


def test_rows_are_float32_only_where_they_are_many_and_their_rounding_does_not_matter(global_random_seed):
    many = np.random.default_rng(global_random_seed).standard_normal((1001, 12))
    assert rows_of(mc.Gaussian(0.1), many, 1e-5).dtype == np.float32
    assert rows_of(mc.Gaussian(0.1), many, 1e-12).dtype == np.float64
    assert rows_of(mc.Gaussian(0.1), many[:256], 1e-5).dtype == np.float64
