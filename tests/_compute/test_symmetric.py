"""Symmetric matrices of kernel values: products and entries are those of the whole matrix."""

import numpy as np
import pytest

import mercer as mc
from mercer._compute import array, loops, symmetric
from mercer._compute.loops import COLUMNS, Formula, Plan
from mercer._compute.points import Points
from mercer._compute.profile import parameters
from mercer._compute.threads import limit_threads

# one tile, whole tiles, a last tile of one row, and more strips than one
ORDERS = [1, 40, COLUMNS, COLUMNS + 1, 2 * COLUMNS, 5 * COLUMNS + 3]
FORMULAS = [
    (mc.Gaussian(0.3), "radial"),
    (mc.Polynomial(2, 0.2), "dot"),
    (mc.Matern(nu=0.5), "radial"),
]


def formula(kernel, kind, n, d, dtype):
    X = np.random.default_rng(n + d).standard_normal((n, d)).astype(dtype)
    return Formula(kernel.profile, kind, parameters(kernel), X, X)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize(("kernel", "kind"), FORMULAS)
@pytest.mark.parametrize("d", [3, 11])
def test_a_product_is_that_of_the_matrix(kernel, kind, n, d, dtype, tol):
    args = formula(kernel, kind, n, d, dtype)
    K = loops.tile(args)
    stored = symmetric.stored(Plan(args))
    for p in (1, 5, 70):
        V = np.random.default_rng(p).standard_normal((n, p)).astype(dtype)
        expected = K.astype(float) @ V
        error = tol * (np.abs(K).astype(float) @ np.abs(V)).max()
        for product in (symmetric.products(Plan(args), V), stored @ V):
            assert product.dtype == dtype
            np.testing.assert_allclose(product, expected, rtol=0, atol=error)


@pytest.mark.parametrize("p", [1, 5])
def test_the_number_of_threads_changes_no_bit(p):
    args = formula(mc.Gaussian(0.3), "radial", 6 * COLUMNS + 7, 11, np.float32)
    V = np.random.default_rng(1).standard_normal((len(args.X), p)).astype(np.float32)
    products = []
    for threads in (1, 2, 3, 8):
        with limit_threads(threads):
            products.append((symmetric.products(Plan(args), V), symmetric.stored(Plan(args)) @ V))
    for product in products[1:]:
        np.testing.assert_array_equal(product, products[0])


def test_a_gram_matrix_of_one_set_of_points_multiplies_as_one_of_two():
    X = np.random.default_rng(2).standard_normal((1300, 12))
    v = np.random.default_rng(3).standard_normal(1300)
    kernel = mc.Gaussian(0.1)
    np.testing.assert_allclose(
        mc.Gram(kernel, X) @ v, mc.Gram(kernel, X, X.copy()) @ v, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("n", ORDERS)
def test_a_stored_matrix_has_the_entries_of_the_matrix_and_is_symmetric_with_an_exact_diagonal(n):
    args = formula(mc.Gaussian(0.3), "radial", n, 11, np.float64)
    K, stored = loops.tile(args), symmetric.stored(Plan(args))
    found = stored.dense()
    np.testing.assert_allclose(found, K, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(stored.diagonal(), np.ones(n))
    rows, columns = np.random.default_rng(4).integers(n, size=(2, 60))
    np.testing.assert_array_equal(stored[rows, columns], found[np.ix_(rows, columns)])
    np.testing.assert_array_equal(stored[:, 0], found[:, :1])


@pytest.mark.parametrize("n", ORDERS)
def test_a_stored_matrix_holds_the_tiles_on_and_below_the_diagonal(n):
    tiles = -(-n // COLUMNS)
    assert n * (n + 1) / 2 <= symmetric.count_values(n) <= (n + COLUMNS) * n / 2 + COLUMNS
    assert symmetric.count_values(n) == sum(
        symmetric.Stored(n, np.float32).tile(i, j).size for i in range(tiles) for j in range(i + 1)
    )


def test_a_matrix_of_any_kernel_is_stored_block_by_block():
    X = Points(np.random.default_rng(5).random((COLUMNS + 30, 4)))
    kernel = mc.Chi2(0.4) + mc.Gaussian(0.2)
    np.testing.assert_allclose(
        array.stored(kernel, X).dense(), array.dense(kernel, X, X), rtol=0, atol=1e-13
    )
