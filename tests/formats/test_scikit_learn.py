"""Models of scikit-learn read as expansions give scikit-learn's decision values, predictions and coordinates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from mercer.formats import as_expansion
from mercer.formats.scikit_learn import process_kernel
from mercer.kernels.function import FunctionKernel

X, Y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
TARGET = np.sin(X @ np.array([1.0, 0.5, -1.0, 2.0]))
NEW = X[::3] + 0.1
NAMES = ["rbf", "linear", "poly", "sigmoid"]


def callable_kernel(A, B):
    """Return kernel values of blocks, of dense or sparse rows."""
    product = A @ B.T
    return (product.toarray() if sp.issparse(product) else product) ** 2 + 1.0


def outputs(model, points):
    return model.expansion(points) + model.intercept


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", [*NAMES, callable_kernel], ids=[*NAMES, "callable"])
@pytest.mark.parametrize(
    "peer", [SVC(gamma=0.3), NuSVC(nu=0.3, gamma="scale", coef0=0.5, degree=2)], ids=["C", "nu"]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_has_the_decision_values_of_every_pair(peer, kernel, container, classes):
    chosen = classes > Y
    labels = np.array(["b", "c", "a"])[Y[chosen]]
    peer.set_params(kernel=kernel, decision_function_shape="ovo").fit(container(X[chosen]), labels)
    expected = peer.decision_function(container(NEW)).reshape(len(NEW), -1)
    model = as_expansion(peer)
    np.testing.assert_allclose(
        outputs(model, container(NEW)), expected, atol=1e-10 * max(1, abs(expected).max())
    )
    assert list(model.classes) == list(peer.classes_)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", [*NAMES, callable_kernel], ids=[*NAMES, "callable"])
@pytest.mark.parametrize(
    "peer", [SVR(gamma=0.2), NuSVR(nu=0.4, gamma="auto"), OneClassSVM(nu=0.2)], ids=repr
)
def test_regressors_and_outlier_detectors_have_the_same_outputs(peer, kernel, container):
    peer.set_params(kernel=kernel).fit(container(X), TARGET)
    score = getattr(peer, "decision_function", peer.predict)
    expected = score(container(NEW))[:, None]
    model = as_expansion(peer)
    np.testing.assert_allclose(
        outputs(model, container(NEW)), expected, atol=1e-10 * max(1, abs(expected).max())
    )
    assert model.classes is None


@pytest.mark.parametrize(
    "peer", [SVC(decision_function_shape="ovo"), SVR(), OneClassSVM(nu=0.3)], ids=repr
)
def test_a_model_of_a_precomputed_matrix_takes_rows_of_values_and_has_no_norms(peer):
    peer.set_params(kernel="precomputed").fit(rbf_kernel(X), Y)
    rows = rbf_kernel(NEW, X)
    expected = getattr(peer, "decision_function", peer.predict)(rows).reshape(len(NEW), -1)
    model = as_expansion(peer)
    np.testing.assert_allclose(outputs(model, rows), expected, atol=1e-10)
    with pytest.raises(ValueError, match="did not keep"):
        model.expansion.norms()
    with pytest.raises(ValueError, match="all 150 training points"):
        model.expansion(rows[:, :-1])


def test_a_classifier_of_ten_classes_has_the_decision_values_of_all_pairs():
    digits, labels = load_digits(return_X_y=True)
    peer = SVC(decision_function_shape="ovo").fit(digits[:500], labels[:500])
    np.testing.assert_allclose(
        outputs(as_expansion(peer), digits[500:700]),
        peer.decision_function(digits[500:700]),
        atol=1e-10,
    )


def test_a_sparse_model_takes_dense_rows_and_the_reverse():
    sparse, dense = (as_expansion(SVC().fit(each, Y)) for each in (sp.csr_matrix(X), X))
    np.testing.assert_allclose(sparse(NEW), dense(sp.csr_matrix(NEW)), atol=1e-10)


def test_a_regression_without_support_vectors_is_a_constant():
    for kernel in ("rbf", callable_kernel, "precomputed"):
        peer = SVR(epsilon=10.0, kernel=kernel)
        points = rbf_kernel(X) if kernel == "precomputed" else X
        peer.fit(points, TARGET)
        np.testing.assert_allclose(
            outputs(as_expansion(peer), points)[:, 0], peer.predict(points), atol=1e-12
        )


@pytest.mark.parametrize(
    ("kernel", "gamma"),
    [
        (kernel, gamma)
        for kernel in ("linear", "rbf", "laplacian", "polynomial", "sigmoid")
        for gamma in (None, 0.2)
    ]
    + [("chi2", 0.2), ("cosine", None), ("additive_chi2", None)],
)
def test_kernel_ridge_predicts_the_same(kernel, gamma):
    peer = KernelRidge(alpha=1e3, kernel=kernel, gamma=gamma, coef0=0.5).fit(
        abs(X), np.column_stack([TARGET, Y])
    )
    np.testing.assert_allclose(
        outputs(as_expansion(peer), abs(NEW)), peer.predict(abs(NEW)), atol=1e-10
    )


def test_kernel_ridge_with_a_function_of_two_points_predicts_the_same():
    peer = KernelRidge(
        kernel=lambda x, z, power: (1 + x @ z) ** power, kernel_params={"power": 2}
    ).fit(X, TARGET)
    np.testing.assert_allclose(
        outputs(as_expansion(peer), NEW)[:, 0], peer.predict(NEW), atol=1e-10
    )


def test_ridge_and_components_of_a_precomputed_matrix_have_norms():
    K, rows = rbf_kernel(X), rbf_kernel(NEW, X)
    ridge, components = (
        KernelRidge(kernel="precomputed").fit(K, TARGET),
        KernelPCA(3, kernel="precomputed").fit(K),
    )
    np.testing.assert_allclose(
        outputs(as_expansion(ridge), rows)[:, 0], ridge.predict(rows), atol=1e-10
    )
    model = as_expansion(components)
    np.testing.assert_allclose(outputs(model, rows), components.transform(rows), atol=1e-10)
    np.testing.assert_allclose(model.expansion.norms(), 1, atol=1e-8)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", [*NAMES, "cosine"])
def test_kernel_principal_components_are_unit_vectors_with_the_same_coordinates(kernel, container):
    peer = KernelPCA(3, kernel=kernel, gamma=None if kernel == "rbf" else 0.05).fit(container(X))
    model = as_expansion(peer)
    np.testing.assert_allclose(
        outputs(model, container(NEW)), peer.transform(container(NEW)), atol=1e-10
    )
    if kernel != "sigmoid":
        np.testing.assert_allclose(model.expansion.norms(), 1, atol=1e-6)


def test_components_of_eigenvalue_zero_have_coordinate_zero():
    peer = KernelPCA(4, kernel="linear").fit(X[:, :2])
    assert (peer.eigenvalues_ == 0).tolist() == [False, False, True, True]
    model = as_expansion(peer)
    np.testing.assert_allclose(outputs(model, NEW[:, :2]), peer.transform(NEW[:, :2]), atol=1e-12)
    np.testing.assert_array_equal(model.expansion.coef[:, 2:], 0)


KERNELS = {
    "rbf": 2.0 * gp.RBF(1.5) + gp.WhiteKernel(0.1),
    "anisotropic": gp.RBF([1.0, 2.0, 0.5, 3.0]) + gp.WhiteKernel(0.1),
    "matern": gp.Matern(1.5, nu=2.5) + gp.WhiteKernel(0.1),
    "rough": gp.Matern([1.0, 2.0, 0.5, 3.0], nu=0.5) + gp.WhiteKernel(0.1),
    "quadratic": gp.RationalQuadratic(1.2, 0.7) * gp.DotProduct(1.1) + gp.WhiteKernel(0.1),
    "power": gp.DotProduct(0.5) ** 2 + gp.WhiteKernel(1.0),
}
STRANGE = {
    "periodic": gp.ExpSineSquared(1.0, 3.0) + gp.WhiteKernel(50.0),
    "smooth": gp.Matern(1.5, nu=np.inf) + gp.WhiteKernel(0.1),
    "half": gp.RBF(1.0) ** 1.5 + gp.WhiteKernel(0.1),
}


@pytest.mark.parametrize("name", [*KERNELS, *STRANGE])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_mean_of_a_gaussian_process_is_in_the_units_of_the_targets(name, normalize):
    targets = np.column_stack([5 * TARGET + 3, Y]) if normalize else 5 * TARGET + 3
    peer = GaussianProcessRegressor(
        (KERNELS | STRANGE)[name], optimizer=None, normalize_y=normalize
    ).fit(X, targets)
    model = as_expansion(peer)
    np.testing.assert_allclose(
        outputs(model, NEW), peer.predict(NEW).reshape(len(NEW), -1), atol=1e-10
    )
    assert isinstance(model.expansion.kernel, FunctionKernel) == (name in STRANGE)


def test_kernels_of_processes_that_mercer_lacks_are_refused_by_name():
    with pytest.raises(NotImplementedError, match="ExpSineSquared"):
        process_kernel(gp.ExpSineSquared())


@pytest.mark.parametrize(
    "peer", [SVC(), SVR(), KernelRidge(), KernelPCA(), GaussianProcessRegressor()], ids=repr
)
def test_a_model_that_is_not_fitted_is_refused(peer):
    with pytest.raises(NotFittedError):
        as_expansion(peer)


def test_an_unknown_model_is_refused_with_the_list_of_known_ones():
    with pytest.raises(TypeError, match=r"LinearSVC.*OneClassSVM"):
        as_expansion(LinearSVC().fit(X, Y))


def test_a_degree_that_is_a_fraction_is_kept():
    rows = np.random.default_rng(0).uniform(size=(20, 3))
    for name, degree in (("poly", 2.5), ("polynomial", 3.0), ("rbf", 2.5)):
        peer = KernelRidge(kernel=name, degree=degree, gamma=0.5).fit(rows, rows[:, 0])
        np.testing.assert_allclose(as_expansion(peer)(rows)[:, 0], peer.predict(rows), rtol=1e-9)
    peer = KernelPCA(2, kernel="poly", degree=1.5).fit(rows)
    np.testing.assert_allclose(as_expansion(peer)(rows), peer.transform(rows), rtol=0, atol=1e-9)
