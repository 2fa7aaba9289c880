"""A fitted expansion is an affine function of features, of rows in any container."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.formats import FittedExpansion
from mercer.formats.fitted_expansion import PrecomputedColumns
from mercer.kernels.function import FunctionKernel

X = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.0]])
COEF = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])
NEW = np.array([[1.0, 1.0], [2.0, -3.0]])
# <x, z> coef + b by hand: products are 3 -1 3 and -4 3 6
EXPECTED = np.array([[0.5, 0.75], [-9.5, 11.75]])


@pytest.mark.parametrize("points", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("new", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_values_are_those_of_the_expansion_plus_the_intercept(points, new):
    model = FittedExpansion(mc.Expansion(mc.Linear(), points(X), COEF), np.array([0.5, -0.25]))
    np.testing.assert_allclose(model(new(NEW)), EXPECTED, rtol=1e-14)
    assert model.classes is None


def test_sparse_rows_are_made_dense_for_a_model_of_dense_rows():
    psi = mc.Expansion(mc.Chi2(1.0), abs(X), COEF)
    assert not psi.kernel.tags.sparse
    model = FittedExpansion(psi, np.zeros(2))
    np.testing.assert_array_equal(model(sp.csr_matrix(abs(NEW))), psi(abs(NEW)))


def test_points_that_are_not_rows_are_passed_on():
    kernel = FunctionKernel(lambda A, B: np.array([[float(len(a) * len(b)) for b in B] for a in A]))
    model = FittedExpansion(
        mc.Expansion(kernel, ["a", "bb"], np.array([[1.0], [2.0]])), np.array([1.0])
    )
    np.testing.assert_array_equal(model(["ccc"]), [[16.0]])


def test_precomputed_columns_are_those_of_the_support_vectors():
    K = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(PrecomputedColumns(4)(K, np.array([3, 0])), K[:, [3, 0]])
    np.testing.assert_array_equal(PrecomputedColumns()(K, np.array([1])), K[:, [1]])


def test_precomputed_columns_need_all_training_points():
    K = np.zeros((3, 4))
    with pytest.raises(ValueError, match="has 4 columns; .*all 5 training points"):
        PrecomputedColumns(5)(K, np.array([0]))
    with pytest.raises(
        ValueError, match="has 4 columns; it must have at least 5, since training point 4"
    ):
        PrecomputedColumns()(K, np.array([0, 4]))
    with pytest.raises(ValueError, match="did not keep it"):
        PrecomputedColumns(4)(np.array([0, 1]), np.array([0]))
    assert PrecomputedColumns()(K, np.array([], int)).shape == (3, 0)
