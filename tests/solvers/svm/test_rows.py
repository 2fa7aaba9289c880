import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.solvers.svm.rows import FusedRows, PlainRows, Square, rows_of, shared_blocks


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((50, 12))


KERNELS = [
    mc.Gaussian(0.1),
    mc.Matern(1.0),
    mc.Polynomial(2, 0.5, 1.0),
    mc.Gaussian(0.1) + mc.Linear(),
    mc.Laplacian(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_a_square_holds_the_rows_asked_for(points, kernel):
    rows, chosen = rows_of(kernel, points, 0.0), np.arange(3, 43)
    square = Square(rows, chosen, np.empty(40 * 256), 256)
    for wanted in ([5, 1], [1, 2, 39]):
        square.ensure(np.unique(wanted))
    expected = kernel(points)[3:43, 3:43]
    for i in (1, 2, 5, 39):
        np.testing.assert_allclose(square.values[square.slot[i], :40], expected[i], rtol=1e-12, atol=1e-13)
        assert (square.values[square.slot[i], 40:] == 0).all()
    assert (square.slot >= 0).sum() == 4


@pytest.mark.parametrize("chosen", [np.arange(7, 40), np.arange(40, 7, -1), np.array([3, 5, 4, 6]), np.array([9])])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_consecutive_and_of_scattered_points_are_the_same_numbers(points, chosen, dtype):
    for kernel in (mc.Gaussian(0.1), mc.Polynomial(2, 0.5, 1)):
        rows, out = FusedRows(kernel, points, dtype), np.empty((50, len(chosen)), dtype)
        for _ in range(2):
            # nothing that is stored changes
            rows.columns(chosen)(np.arange(50), out)
            np.testing.assert_allclose(out, kernel(points)[:50, chosen], atol=300 * np.finfo(dtype).eps)


def test_shared_blocks_change_nothing(points):
    kernel = mc.Gaussian(0.1)
    rows = FusedRows(kernel, points, np.float64)
    shared = shared_blocks(rows, [slice(0, 20), slice(20, 50)], 10**6)
    known = [(slice(0, 20), shared[0, 20]), (slice(20, 50), shared[20, 50])]
    square = Square(rows, np.arange(50), np.empty(50 * 256), 256, known)
    square.ensure(np.array([3, 19, 20, 44]))
    values = square.values[square.slot[[3, 19, 20, 44]], :50]
    np.testing.assert_allclose(values, kernel(points)[[3, 19, 20, 44]], rtol=1e-12)
    assert shared_blocks(rows, [slice(0, 50)], 100) == {}


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
    assert rows_of(mc.Gaussian(0.1), many[:1000], 1e-5).dtype == np.float64


def test_what_rows_add_up_to_is_their_product(points):
    kernel, moved = mc.Gaussian(0.1), np.array([2, 7, 30])
    square = Square(FusedRows(kernel, points, np.float64), np.arange(50), np.empty(50 * 256), 256)
    square.ensure(moved)
    np.testing.assert_allclose(square.spread(moved, np.ones(3)), kernel(points)[:, moved].sum(axis=1), rtol=1e-12)


def test_points_that_take_the_places_of_others_bring_their_values(points):
    kernel, chosen = mc.Gaussian(0.1), np.arange(30)
    square = Square(FusedRows(kernel, points, np.float64), chosen, np.empty(30 * 256), 256)
    square.ensure(np.array([0, 4, 9, 20]))
    square.exchange(np.array([4, 7]), np.array([40, 41]))
    chosen[[4, 7]] = 40, 41
    assert square.slot[4] == -1
    square.ensure(np.array([4, 25]))
    for i in (0, 4, 9, 20, 25):
        np.testing.assert_allclose(square.values[square.slot[i], :30], kernel(points)[chosen[i], chosen], rtol=1e-12)


def test_rows_computed_at_once_are_those_asked_for_one_by_one(points):
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    shared = shared_blocks(rows, [slice(0, 20), slice(20, 50)], 10**6)
    known = [(slice(0, 20), shared[0, 20]), (slice(20, 50), shared[20, 50])]
    for pieces in ((), known):
        square = Square(rows, np.arange(50), np.empty(50 * 256), 256, pieces)
        square.complete()
        np.testing.assert_allclose(square.values[:, :50], mc.Gaussian(0.1)(points), rtol=1e-12)
        np.testing.assert_array_equal(square.values[:, :50], square.values[:, :50].T)
        assert not square.values[:, 50:].any()
