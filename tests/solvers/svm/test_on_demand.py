import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm.on_demand import gather_columns, row_adder, row_filler
from mercer.solvers.svm.rows import FusedRows

KERNELS = [mc.Gaussian(0.3), mc.Matern(0.7, 2.5), mc.Polynomial(3, 0.5, 1.0), mc.Sigmoid(0.1, -0.5)]


def _columns(rows, m):
    coordinates, squares, parameters = rows.coordinates()
    n = len(rows.points)
    columns = np.empty((coordinates.shape[1], m), rows.dtype)
    gather_columns(coordinates, np.arange(n), columns)
    return columns, np.pad(squares, (0, m - n)), parameters


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float32, 2e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize("d", [1, 8, 19])
def test_a_row_holds_the_kernel_values_of_one_point_with_all(kernel, dtype, accuracy, d, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(5.0, 1.0, size=(70, d)) / np.sqrt(d)
    columns, squares, parameters = _columns(FusedRows(kernel, X, dtype), 128)
    out = np.empty(128, dtype)
    row_filler(kernel.profile, kernel.scalar)(columns, squares, parameters, 33, out)
    np.testing.assert_allclose(out[:70], kernel(X)[33], rtol=accuracy, atol=accuracy)


def test_columns_are_the_chosen_points_in_order_and_padding_is_0():
    rows, out = np.arange(120.0).reshape(40, 3), np.full((3, 64), np.nan)
    gather_columns(rows, np.array([7, 0, 39]), out)
    np.testing.assert_array_equal(out[:, :3], rows[[7, 0, 39]].T)
    assert not out[:, 3:].any()


def test_an_added_row_has_an_exact_diagonal_and_the_next_slot():
    rows = FusedRows(mc.Gaussian(0.3), np.random.default_rng(0).normal(size=(50, 2)) * 40, np.float32)
    columns, squares, parameters = _columns(rows, 64)
    K, slots = np.zeros((4, 64), np.float32), np.full(64, -1)
    add = row_adder(rows.kernel.profile, rows.kernel.scalar)
    assert add((columns, squares, parameters, np.ones(64, np.float32)), K, slots, 2, 17) == 3
    assert slots[17] == 2
    assert K[2, 17] == 1
    assert not K[:2].any()
