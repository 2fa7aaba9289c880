import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.solvers.svm import rows as module
from mercer.solvers.svm.rows import FusedRows, PlainRows, rows_of, run, shared_blocks


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


def test_products_of_columns_are_those_of_each_column(points):
    kernel, weights = mc.Gaussian(0.1), np.random.default_rng(0).standard_normal((20, 3))
    for rows in (FusedRows(kernel, points, np.float64), PlainRows(kernel, points)):
        product = rows.product(np.arange(5, 50), np.arange(20), weights)
        assert product.shape == (45, 3)
        for column, expected in zip(weights.T, product.T, strict=True):
            found = rows.product(np.arange(5, 50), np.arange(20), column)
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_error_of_float32_is_measured_on_128_points(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((1300, 5))
    rows, sample = rows_of(mc.Gaussian(0.1), X, 1e-5), np.linspace(0, 1299, 128).astype(int)
    narrow, wide = (FusedRows(mc.Gaussian(0.1), X[sample], dtype) for dtype in (np.float32, np.float64))
    blocks = [np.empty((128, 128), each.dtype) for each in (narrow, wide)]
    for each, block in zip((narrow, wide), blocks, strict=True):
        each.columns(np.arange(128))(np.arange(128), block)
    difference = (blocks[0] - blocks[1]) * (1 - np.eye(128))
    np.testing.assert_allclose(rows.error, np.sqrt(np.mean(difference**2)), rtol=1e-12)
    # the accuracy asked for is the limit
    assert rows_of(mc.Gaussian(0.1), X, rows.error).dtype == np.float32
    assert rows_of(mc.Gaussian(0.1), X, rows.error * 0.999).dtype == np.float64


def test_the_cost_of_a_value_is_the_length_of_a_row_and_its_norm(points):
    assert FusedRows(mc.Gaussian(0.1), points, np.float64).width == 14
    assert FusedRows(mc.Polynomial(2), points, np.float64).width == 12
    assert PlainRows(mc.Laplacian(0.1), points).width == 1


def test_a_ridge_is_added_to_the_rows(points):
    rows = rows_of(mc.Gaussian(0.1), points, 0.0, np.arange(50.0))
    expected = mc.Gaussian(0.1)(points) + np.diag(np.arange(50.0))
    np.testing.assert_allclose(rows.square(np.arange(50)), expected, atol=1e-14)
    np.testing.assert_allclose(rows.diagonal, 1 + np.arange(50.0))


def test_blocks_are_shared_if_all_of_them_fit(points):
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    pieces = [slice(0, 20), slice(20, 50)]
    assert set(shared_blocks(rows, pieces, 8 * (20**2 + 30**2))) == {(0, 20), (20, 50)}
    assert shared_blocks(rows, pieces, 8 * (20**2 + 30**2) - 1) == {}


def test_much_work_is_done_on_several_threads(monkeypatch):
    pool, done = [], []
    monkeypatch.setattr(module, "run_tasks", lambda _, n: pool.append(n))
    run(done.append, 3, 2**22 - 1)
    assert (pool, done) == ([], [0, 1, 2])
    run(done.append, 3, 2**22)
    assert pool == [3]


def test_the_work_of_rows_is_their_number_times_the_numbers_of_the_other_points(points, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "run", lambda _, n_tasks, work: asked.append((n_tasks, work)))
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    rows.columns(np.arange(40))(np.arange(7), np.empty((7, 40)))
    assert asked == [(1, 7 * 40 * 14)]
    # tiles hold 2^16 values: 128 rows of 512 columns, or all columns of a few rows
    many = FusedRows(mc.Gaussian(0.1), np.resize(points, (1100, 12)), np.float64)
    for taken in (1, 128, 1100):
        many.columns(np.arange(1100))(np.arange(taken), np.empty((taken, 1100)))
    assert [n_tasks for n_tasks, _ in asked[1:]] == [1, 3, 3]
