"""Normalised kernels: cosines, zero rows, norms of any size, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import normalize

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


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("machine", [mc.SVC(tol=1e-8), mc.SVR(tol=1e-8), mc.NuSVC(0.2, tol=1e-8)])
def test_machines_take_cosines_as_inner_products_of_rows_of_length_1(machine, make):
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(700, 4))
        * (rng.random((700, 4)) < 0.6)
        * np.geomspace(1, 1e6, 700)[:, None]
    )
    X[5] = 0
    y = (X[:, 0] + X[:, 1] > 0.2 * X[:, 2]).astype(int)
    cosine = clone(machine).set_params(kernel="cosine").fit(make(X), y)
    unit = make(normalize(X))
    linear = clone(machine).set_params(kernel="linear").fit(unit, y)
    np.testing.assert_array_equal(cosine.n_iter_, linear.n_iter_)
    gap = mc.certify(cosine, make(X), y).gap
    assert gap <= 1e-6 * cosine.certificate_.primal
    name = "decision_function" if hasattr(machine, "decision_function") else "predict"
    np.testing.assert_allclose(
        getattr(cosine, name)(make(X)), getattr(linear, name)(unit), atol=1e-6
    )
