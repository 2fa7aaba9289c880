"""Normals of linear kernels: shapes and signs of scikit-learn, for dense and sparse rows, and predictions by them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

import mercer as mc

PAIRS = {
    "SVC": (mc.SVC(kernel="linear", tol=1e-6), svm.SVC(kernel="linear", tol=1e-6)),
    # half of nu n is not a whole number, so that no boundary is open, and a smaller nu may leave no margin
    "NuSVC": (
        mc.NuSVC(0.51, kernel="linear", tol=1e-6),
        svm.NuSVC(nu=0.51, kernel="linear", tol=1e-6),
    ),
    "SVR": (mc.SVR(kernel="linear", tol=1e-6), svm.SVR(kernel="linear", tol=1e-6)),
    "NuSVR": (mc.NuSVR(kernel="linear", tol=1e-6), svm.NuSVR(kernel="linear", tol=1e-6)),
    "OneClassSVM": (
        mc.OneClassSVM(0.3, kernel="linear", tol=1e-6),
        svm.OneClassSVM(nu=0.3, kernel="linear", tol=1e-6),
    ),
}


def _data(seed, n=120, sparse=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 4)) + 1).astype(dtype)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n), [1.0, 2.0])
    return (sp.csr_matrix(np.where(np.abs(X) < 0.5, 0, X)) if sparse else X), y


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", PAIRS)
def test_normals_are_those_of_scikit_learn(name, sparse, global_random_seed):
    X, y = _data(global_random_seed, sparse=sparse)
    own, peer = (model.fit(X, y) for model in PAIRS[name])
    assert own.coef_.shape == peer.coef_.shape
    expected = peer.coef_.toarray() if sparse else peer.coef_
    np.testing.assert_allclose(own.coef_, expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decision_values_are_products_with_the_normals_and_those_of_the_expansion(
    n_classes, multi_class, dtype
):
    X, y = _data(0, dtype=dtype)
    y = np.minimum(y, n_classes - 1)
    model = mc.SVC(kernel="linear", multi_class=multi_class, decision_function_shape="ovo").fit(
        X, y
    )
    values = model.decision_function(X).reshape(len(X), -1)
    accuracy = 1e-3 if dtype == np.float32 else 1e-9
    assert model.coef_.dtype == values.dtype == dtype
    np.testing.assert_allclose(values, X @ model.coef_.T + model.intercept_, atol=accuracy)
    np.testing.assert_allclose(values, model.expansion_(X) + model.intercept_, atol=accuracy)
    np.testing.assert_allclose(
        model.decision_function(sp.csr_matrix(X)).reshape(values.shape), values, atol=accuracy
    )


@pytest.mark.parametrize("name", PAIRS)
def test_other_kernels_have_no_normals(name):
    X, y = _data(0)
    model = type(PAIRS[name][0])(kernel=mc.Gaussian(0.1))
    with pytest.raises(AttributeError, match="not fitted"):
        _ = model.coef_
    model.fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(
        AttributeError, match=r"coef_ needs kernel = 'linear': the normal of Gaussian"
    ):
        _ = model.coef_


def test_without_support_vectors_the_normal_is_0():
    X, _ = _data(0)
    with pytest.warns(UserWarning, match="no support vectors"):
        model = mc.SVR(kernel="linear", epsilon=9.0).fit(X, X[:, 0])
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 4)))
    np.testing.assert_allclose(model.predict(X), model.intercept_[0])


def test_predictions_compute_no_kernel_values(monkeypatch):
    X, y = _data(0, n=3000)
    models = [mc.SVC(kernel="linear").fit(X, y), mc.OneClassSVM(kernel="linear").fit(X)]
    assert all(model.certificate_.kkt <= 1e-3 * np.square(X).sum(axis=1).max() for model in models)
    for name in ("evaluate", "multiply"):
        monkeypatch.setattr(mc.Linear, name, None)
    assert models[0].score(X, y) > 0.7
    assert models[1].predict(X).mean() == pytest.approx(0, abs=0.01)
