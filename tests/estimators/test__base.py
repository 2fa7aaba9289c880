"""What kernel estimators share: replaced kernels, validated points, tags."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import mercer as mc


def test_setting_a_kernel_parameter_replaces_the_kernel_and_leaves_the_given_one_alone():
    kernel = mc.Gaussian(1.0) + 2.0 * mc.Matern(3.0)
    estimator = mc.KernelPCA(kernel=kernel).set_params(kernel__left__gamma=5.0, n_components=2)
    assert estimator.kernel == mc.Gaussian(5.0) + 2.0 * mc.Matern(3.0)
    assert kernel == mc.Gaussian(1.0) + 2.0 * mc.Matern(3.0)
    assert estimator.get_params()["kernel__right__factor"] == 2.0


def test_a_shorthand_is_written_out_when_its_parameters_are_set():
    estimator = mc.KernelPCA(kernel="poly").set_params(kernel__degree=2)
    assert estimator.kernel == mc.Polynomial(2, "scale", 0.0)


def test_a_kernel_and_its_parameter_can_be_set_at_once():
    estimator = mc.KernelPCA().set_params(kernel=mc.Cauchy(), kernel__gamma=0.5)
    assert estimator.kernel == mc.Cauchy(0.5)


@pytest.mark.parametrize("name", ["kernel__width", "kernel__gamma__x", "kernel__left__gamma"])
def test_unknown_kernel_parameters_are_named(name):
    with pytest.raises(ValueError, match="Invalid parameter"):
        mc.KernelPCA(kernel="rbf").set_params(**{name: 1.0})


def test_clones_have_equal_kernels():
    estimator = mc.KernelPCA(kernel=mc.Mapped(mc.Gaussian(1.0), np.array([1.0, 2.0])))
    assert clone(estimator).kernel == estimator.kernel


def test_tags_follow_the_kernel():
    assert mc.KernelPCA(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert mc.KernelPCA(kernel="rbf").__sklearn_tags__().input_tags.sparse
    assert not mc.KernelPCA(kernel=mc.Laplacian(1.0)).__sklearn_tags__().input_tags.sparse


def test_sparse_rows_for_a_dense_kernel_are_refused_with_a_way_out():
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        mc.KernelPCA(kernel=mc.Laplacian(1.0)).fit(sp.eye_array(4, format="csr"))


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match="minimum of 2"):
        mc.KernelPCA().fit([[1.0, 2.0]])


def test_sequences_of_any_length_are_points_of_a_callable_kernel():
    def overlap(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    bags = [[1, 2], [2, 3, 4], [5], [1, 5]]
    assert mc.KernelPCA(2, kernel=overlap).fit(bags).transform([[1, 2, 5]]).shape == (1, 2)


@pytest.mark.parametrize("model", [mc.SVC(), mc.SVR()], ids=lambda each: type(each).__name__)
def test_an_interrupted_fit_leaves_no_fitted_attribute_and_an_interrupted_refit_all_of_them(model, monkeypatch):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    fitted = clone(model).fit(X, y)
    kept, values = dict(vars(fitted)), fitted.predict(X)

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    for module in ("svc", "_single"):
        monkeypatch.setattr(f"mercer.estimators.{module}.optimum", interrupted)
    for each in (model, fitted):
        with pytest.raises(KeyboardInterrupt):
            each.fit(X[:, :1], y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert vars(fitted) == kept
    assert (fitted.predict(X) == values).all()
