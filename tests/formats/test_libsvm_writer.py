"""LIBSVM predicts with the text models that Mercer writes, with the same decision values and labels."""

import ctypes

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as sk
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

import mercer as mc
from mercer.formats import FittedExpansion, as_expansion, write_libsvm
from mercer.formats.libsvm import read_model

X, Y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
TARGET = np.sin(X @ np.array([1.0, 0.5, -1.0, 2.0]))
KERNELS = ["linear", "poly", "rbf", "sigmoid", "precomputed"]
MODELS = {
    "SVC": mc.SVC(),
    "NuSVC": mc.NuSVC(nu=0.3),
    "one-vs-rest": mc.SVC(multi_class="ovr"),
    "SVR": mc.SVR(),
    "NuSVR": mc.NuSVR(),
    "OneClassSVM": mc.OneClassSVM(nu=0.2, tol=1e-6),
    "KernelRidge": mc.KernelRidge(alpha=100.0),
    "scikit-learn's SVC": sk.SVC(),
    "scikit-learn's NuSVR": sk.NuSVR(),
    "scikit-learn's KernelRidge": KernelRidge(alpha=100.0),
}
CASES = [
    (name, kernel, classes)
    for name, model in MODELS.items()
    for kernel in KERNELS
    for classes in ((2, 3) if hasattr(model, "decision_function_shape") else (3,))
]


@pytest.fixture
def model_text(tmp_path):
    """Return a function that gives the text that `write_libsvm` writes."""

    def text(model):
        write_libsvm(model, tmp_path / "written.model")
        return (tmp_path / "written.model").read_text()

    return text


def fitted(model, kernel, classes):
    """Return a fitted model and the points that it takes."""
    # among rows about the origin a one-class model of inner products has no half space
    rows = X[classes > Y] + 5 * (kernel == "linear")
    points = rbf_kernel(rows, gamma=0.3) if kernel == "precomputed" else rows
    targets = Y[classes > Y] if hasattr(model, "decision_function_shape") else TARGET[classes > Y]
    return model.set_params(kernel=kernel).fit(points, targets), points


def decision_values(model, points):
    """Return one column for a pair of classes, or for the whole model."""
    if hasattr(model, "decision_function_shape"):
        model.set_params(decision_function_shape="ovo")
    values = getattr(model, "decision_function", model.predict)(points).reshape(len(points), -1)
    if getattr(model, "multi_class", "ovo") == "ovr" and values.shape[1] > 1:
        values = np.column_stack(
            [values[:, i] - values[:, j] for i in range(3) for j in range(i + 1, 3)]
        )
    return values


@pytest.mark.parametrize(("name", "kernel", "classes"), CASES)
def test_a_written_model_is_read_back_with_the_same_decision_values(
    name, kernel, classes, tmp_path
):
    model, points = fitted(MODELS[name], kernel, classes)
    write_libsvm(model, tmp_path / "model")
    read = as_expansion(tmp_path / "model")
    own = as_expansion(model)
    expected = decision_values(model, points)
    # the rounding of a sum of these terms
    size = np.abs(own.expansion.coef).max() * np.abs(
        own.expansion.kernel(points, own.expansion.points)
    ).sum(axis=1)
    assert (abs(read(points) - expected) <= 1e-15 * (size[:, None] + abs(expected).max())).all()
    np.testing.assert_array_equal(read.classes, own.classes)


def libsvm_values(path, points, m):
    """Return labels and values that LIBSVM's library gives to rows."""
    svm = pytest.importorskip(
        "libsvm.svm", reason="LIBSVM's Python package is not installed: make bench"
    )
    # the package's own svm_predict makes room for one value of a nu_svc of many classes, where LIBSVM writes m
    model = svm.libsvm.svm_load_model(str(path).encode())
    assert model
    values, labels, buffer = [], [], (ctypes.c_double * m)()
    for row in points:
        nodes, _ = svm.gen_svm_nodearray(row)
        labels.append(svm.libsvm.svm_predict_values(model, nodes, buffer))
        values.append(list(buffer))
    svm.libsvm.svm_free_and_destroy_model(ctypes.pointer(model))
    return np.array(labels), np.array(values)


@pytest.mark.parametrize(("name", "kernel", "classes"), CASES)
def test_libsvm_gives_the_decision_values_and_labels_of_the_model(name, kernel, classes, tmp_path):
    model, points = fitted(MODELS[name], kernel, classes)
    write_libsvm(model, tmp_path / "model")
    expected = decision_values(model, points)
    # a kernel of given values has the number of the row before them
    rows = (
        np.column_stack([np.arange(1, len(points) + 1), points])
        if kernel == "precomputed"
        else points
    )
    rows = [dict(enumerate(row, int(kernel != "precomputed"))) for row in rows.tolist()]
    labels, values = libsvm_values(tmp_path / "model", rows, expected.shape[1])
    # scikit-learn's two classes are the other way round
    own = as_expansion(model)
    size = np.abs(own.expansion.coef).max() * np.abs(
        own.expansion.kernel(points, own.expansion.points)
    ).sum(axis=1)
    assert (abs(values - expected) <= 1e-12 * (size[:, None] + abs(expected).max())).all()
    if hasattr(model, "decision_function"):
        clear = (abs(expected) > 1e-9 * size[:, None]).all(axis=1)
        np.testing.assert_array_equal(labels[clear], model.predict(points)[clear])


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("kind", [sk.SVC, sk.NuSVC])
def test_the_curve_of_scikit_learns_probabilities_is_written(kind, model_text, tmp_path):
    points, labels = X[Y < 2], Y[Y < 2]
    model = kind(probability=True, random_state=0).fit(points, labels)
    lines = model_text(model).splitlines()
    header = dict(line.split() for line in lines if line.startswith("prob"))
    # the file has the second label first, to which positive values belong
    f = as_expansion(tmp_path / "written.model")(points)[:, 0]
    found = 1 / (1 + np.exp(float(header["probA"]) * f + float(header["probB"])))
    # the iteration of scikit-learn's LIBSVM for two classes stops at 0.0025
    np.testing.assert_allclose(found, model.predict_proba(points)[:, 1], atol=3e-3)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_libsvm_gives_the_probabilities_of_scikit_learn(classes, tmp_path):
    svmutil = pytest.importorskip(
        "libsvm.svmutil", reason="LIBSVM's Python package is not installed: make bench"
    )
    points, labels = X[classes > Y], Y[classes > Y]
    model = sk.SVC(probability=True, random_state=0).fit(points, labels)
    write_libsvm(model, tmp_path / "model")
    written = svmutil.svm_load_model(str(tmp_path / "model"))
    found = svmutil.svm_predict(labels.tolist(), points.tolist(), written, "-b 1 -q")[2]
    found = np.array(found)[:, np.argsort(written.get_labels())]
    # LIBSVM's iteration for two classes stops at 0.0025
    np.testing.assert_allclose(found, model.predict_proba(points), atol=3e-3)


def test_labels_keep_their_numbers_and_sparse_rows_their_zeros_out(tmp_path):
    model = mc.SVC(kernel=mc.Gaussian(0.3)).fit(sp.csr_matrix(X), np.array([7, -3, 12])[Y])
    write_libsvm(model, tmp_path / "model")
    text = (tmp_path / "model").read_text()
    assert "label -3 7 12\n" in text
    assert ":0.0 " not in text
    read = as_expansion(tmp_path / "model")
    assert list(read.classes) == [-3, 7, 12]
    np.testing.assert_allclose(read(X), decision_values(model, X), atol=1e-13)


def test_the_positive_class_of_two_is_the_first_label(model_text):
    model = mc.SVC(kernel=mc.Gaussian(1.0)).fit([[0.0], [1.0]], [3, 8])
    text = model_text(model)
    assert "label 8 3\nnr_sv 1 1\nSV\n1.0 1:1.0\n-1.0 \n" in text


def test_support_vectors_are_written_once_under_their_class(model_text):
    model = mc.SVC(kernel="rbf").fit(X, Y)
    lines = model_text(model).splitlines()
    assert f"total_sv {len(model.support_)}" in lines
    assert f"nr_sv {' '.join(map(str, model.n_support_))}" in lines


def test_vectors_that_all_pairs_share_are_written_once_for_each_class_that_needs_them(
    global_random_seed, model_text
):
    rng = np.random.default_rng(global_random_seed)
    psi = mc.Expansion(mc.Gaussian(0.7), rng.standard_normal((5, 3)), rng.standard_normal((5, 6)))
    reduced = FittedExpansion(psi, rng.standard_normal(6), np.arange(4))
    text = model_text(reduced)
    assert "total_sv 15\n" in text
    new = rng.standard_normal((50, 3))
    np.testing.assert_allclose(read_model(text)(new), reduced(new), atol=1e-14)


def test_a_multiple_of_a_kernel_multiplies_the_coefficients(model_text):
    model = mc.SVR(kernel=2.5 * mc.Gaussian(0.4)).fit(X, TARGET)
    np.testing.assert_allclose(read_model(model_text(model))(X)[:, 0], model.predict(X), atol=1e-14)


def test_a_regression_within_its_tube_has_no_vectors(model_text):
    model = sk.SVR(epsilon=10.0).fit(X, TARGET)
    text = model_text(model)
    assert "total_sv 0\n" in text
    np.testing.assert_array_equal(read_model(text, n_features=4)(X)[:, 0], model.predict(X))


def test_a_model_of_float32_is_written_without_loss(model_text):
    model = mc.SVR(kernel=mc.Gaussian(0.4)).fit(X.astype(np.float32), TARGET.astype(np.float32))
    read = read_model(model_text(model))
    np.testing.assert_array_equal(read.expansion.coef, model.dual_coef_.astype(np.float64))
    np.testing.assert_array_equal(read.expansion.points, model.support_vectors_.astype(np.float64))


@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1, 2**40]], ids=str)
def test_labels_that_libsvm_cannot_write_are_refused_with_what_to_do(labels, model_text):
    with pytest.raises(ValueError, match="integer of 32 bits.*LabelEncoder"):
        model_text(mc.SVC().fit(X, np.array(labels)[Y]))


def test_integer_labels_of_type_float_are_written(model_text):
    assert "label 1 2 5\n" in model_text(mc.SVC().fit(X, np.array([1.0, 2.0, 5.0])[Y]))


@pytest.mark.parametrize(
    "kernel", [mc.Laplacian(0.1), mc.Gaussian(1.0) + 1, mc.Matern(1.0, 1.5)], ids=repr
)
def test_other_kernels_are_refused_with_the_supported_ones(kernel, model_text):
    with pytest.raises(
        TypeError, match=r"no kernel (Laplacian|Gaussian.* \+ |Matern).*Gaussian.*precomputed"
    ):
        model_text(mc.SVR(kernel=kernel).fit(X, TARGET))


@pytest.mark.parametrize("model", [mc.KernelPCA(2), mc.SVDD(), mc.KernelFisher()], ids=repr)
def test_other_models_are_refused_with_the_supported_ones(model, model_text):
    with pytest.raises(TypeError, match=f"no model for {type(model).__name__}.*SVC.*OneClassSVM"):
        model_text(model.fit(X, Y))


def test_models_that_libsvm_would_predict_differently_are_refused(model_text):
    with pytest.raises(ValueError, match="break_ties"):
        model_text(mc.SVC(break_ties=True).fit(X, Y))
    with pytest.raises(ValueError, match="KernelRidge has 2"):
        model_text(mc.KernelRidge().fit(X, np.column_stack([TARGET, TARGET])))
    with pytest.raises(NotFittedError):
        model_text(mc.SVC())


@pytest.mark.parametrize("n_classes", [3, 4])
def test_columns_of_an_expansion_that_are_not_pairs_are_refused(n_classes, model_text):
    rows, labels = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % n_classes
    for model in (mc.SVC(multi_class="ovr"), mc.KernelPerceptron(mc.Gaussian(50.0))):
        fitted = as_expansion(model.fit(rows, labels))
        with pytest.raises(
            ValueError,
            match=rf"has {n_classes} vectors for {n_classes} classes; LIBSVM needs one for",
        ):
            model_text(fitted)


def test_ten_classes_are_written_with_the_votes_of_the_model(model_text):
    digits, labels = load_digits(return_X_y=True)
    model = mc.SVC(decision_function_shape="ovo").fit(digits[:400], labels[:400])
    read = read_model(model_text(model), n_features=64)
    np.testing.assert_allclose(
        read(digits[400:500]), model.decision_function(digits[400:500]), atol=1e-13
    )


def test_a_model_of_arrays_on_a_device_is_written_as_that_of_numpy(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = (X[:, 0] > 0).astype(int)
    points, labels = (
        array_api_strict.asarray(each, device=array_api_strict.Device("device1")) for each in (X, y)
    )
    write_libsvm(mc.SVC(kernel="linear").fit(points, labels), tmp_path / "model")
    found = as_expansion(tmp_path / "model")
    expected = mc.SVC(kernel="linear").fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        (found.expansion(X) + found.intercept)[:, 0], expected, rtol=1e-8, atol=1e-10
    )
