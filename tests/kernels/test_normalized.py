"""Normalised kernels: cosines, zero rows, norms of any size, refusals."""

import numpy as np
import pytest

import mercer as mc

X = np.random.default_rng(0).standard_normal((8, 3))
L = mc.Linear()


def test_normalised_kernels_are_cosines_and_0_at_a_zero_row():
    K = mc.Normalized(L)(np.vstack([X, 0 * X[:1]]))
    assert (np.diagonal(K)[:-1] == 1).all()
    assert (K[-1] == 0).all()
    assert (K[:, -1] == 0).all()
    assert abs(K).max() <= 1 + 1e-15
    np.testing.assert_array_equal(mc.Normalized(L).diag(np.zeros((2, 3))), 0)


def test_the_gradient_of_a_normalised_kernel_is_finite_at_a_zero_row():
    Z = np.vstack([X, 0 * X[:1]])
    assert np.isfinite(mc.Normalized(L).vjp(Z, Z, np.ones((9, 9)))).all()


def test_a_negative_norm_is_refused():
    with pytest.raises(
        ValueError, match=r"Normalized\(.* needs k\(x, x\) of at least 0, got -0.\d+"
    ):
        mc.Normalized(mc.Sigmoid(0.01, coef0=-1.0))(X)


@pytest.mark.parametrize(
    ("dtype", "sizes"), [(np.float64, [1e-155, 2e-155, 1e150]), (np.float32, [1e-18, 2e-19, 1e15])]
)
def test_normalised_kernels_do_not_depend_on_the_norms_of_the_rows(dtype, sizes):
    directions = np.array([[3.0, 4.0], [-5.0, 12.0], [8.0, 15.0]])
    K = mc.Normalized(mc.Linear())((directions * np.array(sizes)[:, None]).astype(dtype))
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    np.testing.assert_allclose(K, unit @ unit.T, rtol=1e-13 if dtype is np.float64 else 1e-6)
    np.testing.assert_array_equal(K, K.T)
