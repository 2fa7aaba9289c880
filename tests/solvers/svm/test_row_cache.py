"""The cache of kernel rows: values of the kernel, whatever the order in which rows are asked for and given up."""

import numpy as np
import pytest
from mercer.solvers.svm.known_rows import shared_blocks
from mercer.solvers.svm.row_cache import RowCache

import mercer as mc
from mercer.solvers.svm.rows import FusedRows, rows_of

# columns of the rows of 50 points, in whole lanes
WIDTH = 64


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
def test_a_cache_holds_the_rows_asked_for(points, kernel):
    rows, chosen = rows_of(kernel, points, 0.0), np.arange(3, 43)
    cache = RowCache(rows, chosen, np.empty(40 * 256))
    for wanted in ([5, 1], [1, 2, 39]):
        cache.ensure(np.unique(wanted))
    expected = kernel(points)[3:43, 3:43]
    for i in (1, 2, 5, 39):
        np.testing.assert_allclose(cache.values[cache.slots[i], :40], expected[i], rtol=1e-12, atol=1e-13)
        assert (cache.values[cache.slots[i], 40:] == 0).all()
    assert (cache.slots >= 0).sum() == 4


def test_shared_blocks_change_nothing(points):
    kernel = mc.Gaussian(0.1)
    rows = FusedRows(kernel, points, np.float64)
    shared = shared_blocks(rows, [slice(0, 20), slice(20, 50)], 10**6)
    known = [(slice(0, 20), shared[0, 20]), (slice(20, 50), shared[20, 50])]
    cache = RowCache(rows, np.arange(50), np.empty(50 * 256), known)
    cache.ensure(np.array([3, 19, 20, 44]))
    values = cache.values[cache.slots[[3, 19, 20, 44]], :50]
    np.testing.assert_allclose(values, kernel(points)[[3, 19, 20, 44]], rtol=1e-12)
    assert shared_blocks(rows, [slice(0, 50)], 100) == {}


def test_what_rows_add_up_to_is_their_product(points):
    kernel, moved = mc.Gaussian(0.1), np.array([2, 7, 30])
    cache = RowCache(FusedRows(kernel, points, np.float64), np.arange(50), np.empty(50 * 256))
    cache.ensure(moved)
    np.testing.assert_allclose(cache.times(moved, np.ones(3)), kernel(points)[:, moved].sum(axis=1), rtol=1e-12)


def test_points_that_take_the_places_of_others_bring_their_values(points):
    kernel, chosen = mc.Gaussian(0.1), np.arange(30)
    cache = RowCache(FusedRows(kernel, points, np.float64), chosen, np.empty(30 * 256))
    cache.ensure(np.array([0, 4, 9, 20]))
    cache.exchange(np.array([4, 7]), np.array([40, 41]))
    chosen[[4, 7]] = 40, 41
    assert cache.slots[4] == -1
    cache.ensure(np.array([4, 25]))
    for i in (0, 4, 9, 20, 25):
        np.testing.assert_allclose(cache.values[cache.slots[i], :30], kernel(points)[chosen[i], chosen], rtol=1e-12)


def test_rows_computed_at_once_are_those_asked_for_one_by_one(points):
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    shared = shared_blocks(rows, [slice(0, 20), slice(20, 50)], 10**6)
    known = [(slice(0, 20), shared[0, 20]), (slice(20, 50), shared[20, 50])]
    for pieces in ((), known):
        cache = RowCache(rows, np.arange(50), np.empty(50 * 256), pieces)
        cache.complete()
        np.testing.assert_allclose(cache.values[:, :50], mc.Gaussian(0.1)(points), rtol=1e-12)
        np.testing.assert_array_equal(cache.values[:, :50], cache.values[:, :50].T)
        assert not cache.values[:, 50:].any()


def test_forgotten_rows_are_replaced_before_unused_memory_is_taken(points):
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    cache = RowCache(rows, np.arange(50), np.full(50 * WIDTH + WIDTH - 1, np.nan))
    assert cache.values.shape == (50, WIDTH)
    np.testing.assert_array_equal(cache.slots, np.full(WIDTH, -1))
    # the compiled loop reads the first row before any is known
    assert not cache.values[0].any()
    cache.ensure(np.array([3, 7, 9]))
    cache.forget(np.array([7, 3]))
    assert cache.forgotten == 2
    cache.ensure(np.arange(10, 50))
    assert cache.forgotten == 2
    # unused memory holds seven rows, those of the forgotten ones another two
    cache.ensure(np.arange(9))
    assert cache.forgotten == 0
    assert sorted(cache.slots[:50]) == list(range(50))
    for i in range(50):
        np.testing.assert_allclose(cache.values[cache.slots[i], :50], mc.Gaussian(0.1)(points)[i], rtol=1e-12)


def test_the_diagonal_is_exact(points):
    cache = RowCache(FusedRows(mc.Gaussian(0.1), points, np.float32), np.arange(50), np.empty(50 * 256, np.float32))
    cache.ensure(np.arange(0, 50, 3))
    for i in range(0, 50, 3):
        assert cache.values[cache.slots[i], i] == 1
