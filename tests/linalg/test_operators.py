"""Centring: the lazy operator and the matrix are H K H."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg.operators import CentredGram, centre

X = np.random.default_rng(0).standard_normal((60, 3))
H = np.eye(60) - 1 / 60


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_lazy_operator_is_the_centred_matrix(dtype):
    G = mc.Gram(mc.Gaussian(0.5), X.astype(dtype))
    V = np.random.default_rng(1).standard_normal((60, 4))
    product = CentredGram(G) @ V
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, H @ G.dense() @ H @ V, atol=1e-13 if dtype is np.float64 else 1e-5)
    np.testing.assert_allclose(product.sum(axis=0), 0, atol=1e-13)


def test_a_centred_matrix_is_symmetric_to_the_bit_and_leaves_its_argument_alone():
    K = mc.Gaussian(0.5)(X)
    before = K.copy()
    C = centre(K)
    np.testing.assert_array_equal(C, C.T)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(C, H @ K @ H, atol=1e-15)


def test_centring_a_matrix_forgets_where_the_data_lie():
    shifted = centre(mc.Linear()(X + 100.0))
    np.testing.assert_allclose(shifted, centre(mc.Linear()(X)), atol=1e-10)
