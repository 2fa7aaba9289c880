import numpy as np
import pytest
from mercer.solvers.svm.known_rows import KnownRows, shared_blocks
from mercer.solvers.svm.plain_rows import PlainRows

import mercer as mc
from mercer.solvers.svm import known_rows
from mercer.solvers.svm.rows import FusedRows


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((50, 12))


@pytest.mark.parametrize("J", [[3, 40, 7, 8], [6, 7, 8, 9]])
def test_rows_of_known_values_are_those_of_the_kernel(J, points, monkeypatch):
    kernel, J = mc.Gaussian(0.1), np.array(J)
    plain = PlainRows(kernel, points)
    rows, found = (
        KnownRows(kernel, points, plain.square(slice(0, 50)), plain.diagonal),
        [np.empty((30, 4)) for _ in range(2)],
    )
    for each, out in zip((plain, rows), found, strict=True):
        each.columns(J)(np.arange(30), out)
    np.testing.assert_allclose(*found, atol=1e-15)
    for chosen in (J, slice(5, 20)):
        np.testing.assert_allclose(rows.square(chosen), plain.square(chosen), atol=1e-15)
    monkeypatch.setattr(known_rows, "_ROWS", 2)
    W = np.linspace(-1, 1, 12).reshape(4, 3)
    np.testing.assert_allclose(rows.product(J[:3], J, W), kernel(points)[np.ix_(J[:3], J)] @ W, atol=1e-14)


def test_blocks_are_shared_if_all_of_them_fit(points):
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    pieces = [slice(0, 20), slice(20, 50)]
    assert set(shared_blocks(rows, pieces, 8 * (20**2 + 30**2))) == {(0, 20), (20, 50)}
    assert shared_blocks(rows, pieces, 8 * (20**2 + 30**2) - 1) == {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_given_matrix_are_its_own_and_copy_none_of_float64(dtype, points):
    K = mc.Gaussian(0.1)(points).astype(dtype)
    kernel, order = mc.Precomputed(K), np.random.default_rng(1).permutation(50) - 50
    rows, J = KnownRows.of(kernel, order), np.array([4, 5, 30])
    assert np.shares_memory(rows.values, K) == (dtype == np.float64)
    expected, found = kernel(order, order), np.empty((50, 3))
    np.testing.assert_array_equal(rows.diagonal, expected.diagonal())
    np.testing.assert_array_equal(rows.square(slice(3, 20)), expected[3:20, 3:20])
    rows.columns(J)(np.arange(50), found)
    np.testing.assert_array_equal(found, expected[:, J])
    np.testing.assert_allclose(rows.product(J, np.arange(50), np.ones(50)), expected[J].sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_model_of_a_given_matrix_is_that_of_its_kernel_in_any_order_of_rows(C, points):
    y, new = np.tile([2, 0, 1, 0, 1], 10), points[:5] + 0.1
    kernel = mc.Gaussian(0.1)
    expected = mc.SVC(C, kernel=kernel, tol=1e-8).fit(points, y).decision_function(new)
    given = mc.SVC(C, kernel="precomputed", tol=1e-8).fit(kernel(points), y)
    np.testing.assert_allclose(given.decision_function(kernel(new, points)), expected, atol=1e-6)
