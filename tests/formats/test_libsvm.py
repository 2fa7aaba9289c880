"""LIBSVM text models have LIBSVM's decision values, and the first wrong line is named."""

import io
import random

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from mercer import KernelRidge, save
from mercer.formats import ModelFileError, as_expansion
from mercer.formats.libsvm import read_model

X, Y = load_iris(return_X_y=True)
TYPES = {
    SVC: "c_svc",
    NuSVC: "nu_svc",
    OneClassSVM: "one_class",
    SVR: "epsilon_svr",
    NuSVR: "nu_svr",
}
KERNELS = {
    "linear": "linear",
    "poly": "polynomial",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}


def text_of(model):
    """Write the model that scikit-learn's LIBSVM holds as svm_save_model does."""
    classes = list(getattr(model, "classes_", []))
    out = io.StringIO()
    out.write(f"svm_type {TYPES[type(model)]}\nkernel_type {KERNELS[model.kernel]}\n")
    needed = {
        "poly": ("degree", "gamma", "coef0"),
        "rbf": ("gamma",),
        "sigmoid": ("gamma", "coef0"),
    }
    for name in needed.get(model.kernel, ()):
        out.write(f"{name} {model._gamma if name == 'gamma' else getattr(model, name):.17g}\n")
    out.write(f"nr_class {len(classes) or 2}\ntotal_sv {len(model.support_)}\n")
    out.write("rho " + " ".join(f"{-value:.17g}" for value in model._intercept_) + "\n")
    if classes:
        out.write("label " + " ".join(map(str, classes)) + "\n")
        out.write("nr_sv " + " ".join(map(str, model.n_support_)) + "\n")
    out.write("SV\n")
    for i, row in enumerate(model.support_):
        out.write(" ".join(f"{value:.17g}" for value in model._dual_coef_[:, i]) + " ")
        vector = [] if model.kernel == "precomputed" else model.support_vectors_[i]
        entries = [f"{j + 1}:{value:.17g}" for j, value in enumerate(vector) if value]
        out.write(" ".join(entries or [f"0:{row + 1}"]) + " \n")
    return out.getvalue()


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize(
    "peer", [SVC(), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(nu=0.2)], ids=repr
)
@pytest.mark.parametrize("classes", [2, 3])
def test_outputs_are_the_decision_values_of_libsvm(peer, kernel, classes):
    rows = X[classes > Y] - 3
    points = rbf_kernel(rows) if kernel == "precomputed" else rows
    peer.set_params(kernel=kernel).fit(points, Y[classes > Y])
    score = getattr(peer, "decision_function", peer.predict)
    if hasattr(peer, "classes_"):
        peer.set_params(decision_function_shape="ovo")
    expected = score(points).reshape(len(points), -1)
    model = as_expansion(text_of(peer))
    if hasattr(peer, "classes_") and classes == 2:
        # scikit-learn turns the sign of LIBSVM around, and LIBSVM's first label is the positive one
        np.testing.assert_array_equal(model.classes, peer.classes_[::-1])
        expected = -expected
    np.testing.assert_allclose(model(points), expected, atol=1e-9 * max(1, abs(expected).max()))


def test_labels_keep_their_order_and_the_second_of_two_classes_is_positive():
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel -1 7\nnr_sv 1 1\nSV\n"
    model = as_expansion(head + "1 1:1\n-1 1:-1\n")
    assert list(model.classes) == [7, -1]
    # LIBSVM gives its first label, -1, where the value is positive
    assert model(np.array([[2.0]]))[0, 0] == 4.0


def test_a_model_is_read_from_a_path_too(tmp_path):
    peer = SVC().fit(X, Y)
    path = tmp_path / "iris.model"
    # editors of Windows write a byte-order mark
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text(text_of(peer), encoding=encoding)
        for place in (path, str(path)):
            np.testing.assert_array_equal(as_expansion(place)(X), as_expansion(text_of(peer))(X))


def test_a_path_of_another_kind_of_file_is_refused_with_the_call_that_reads_it(tmp_path):
    save(KernelRidge().fit(X, Y), tmp_path / "iris.mercer")
    with pytest.raises(
        ModelFileError,
        match=r"iris.mercer: .* text model; .* mercer.load\(path\) for one of mercer.save",
    ):
        as_expansion(tmp_path / "iris.mercer")


def test_few_entries_stay_sparse_and_wider_points_can_be_announced():
    head = "svm_type one_class\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 1\nrho 0.25\nSV\n"
    model = read_model(head + "1 90:2\n", n_features=100)
    assert sp.issparse(model.expansion.points)
    new = np.zeros((1, 100))
    np.testing.assert_allclose(model(new), [[np.exp(-2) - 0.25]])
    with pytest.raises(ModelFileError, match=r"line 8.*index 90 exceeds n_features = 89"):
        read_model(head + "1 90:2\n", n_features=89)


def test_a_regression_without_support_vectors_is_a_constant():
    model = read_model(
        "svm_type nu_svr\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 0\nrho -3\nSV\n",
        n_features=2,
    )
    np.testing.assert_array_equal(model(np.ones((2, 2))), [[3.0], [3.0]])


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 3
rho 0.1 0.2 0.3
label 1 2 3
nr_sv 1 1 1
SV
1 0.5 1:1 2:2
-1 0.5 1:2
-0.5 -0.5 2:1e-3
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        ("svm_type c_svc", "svm_type magic", 1, "magic"),
        ("kernel_type rbf", "kernel_type ../../x", 2, "must be one of"),
        ("gamma 0.5\n", "", 8, "no line 'gamma'"),
        ("gamma 0.5", "gamma nan", 3, "must be a finite number"),
        ("gamma 0.5", "gamma 1e999", 3, "must be a finite number"),
        ("gamma 0.5", "gamma 0x1p3", 3, "must be a finite number"),
        ("gamma 0.5", "gamma -1", 3, "above 0"),
        ("gamma 0.5", "gamma 0.5 0.5", 3, "2 values"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", 4, "given twice"),
        ("gamma 0.5", "", 3, "is not a LIBSVM header line"),
        ("gamma 0.5", "magic 3", 3, "is not a LIBSVM header line"),
        ("nr_class 3", "nr_class 999999999", 6, "rho has 3 values"),
        ("nr_class 3", "nr_class 1", 4, "must be at least 2"),
        ("nr_class 3", "nr_class 99999999999999999999", 4, "ten digits"),
        ("total_sv 3", "total_sv 2147483647", 8, "add up"),
        ("total_sv 3", "total_sv 4", 8, "add up"),
        ("total_sv 3", "total_sv -3", 8, "add up"),
        ("nr_sv 1 1 1", "nr_sv 4 -2 1", 8, "at least 0"),
        ("nr_sv 1 1 1", "nr_sv 1 1", 8, "2 values"),
        ("label 1 2 3", "label 1 2 1", 7, "repeat"),
        ("label 1 2 3", "label 1 2 1_000", 7, "must be an integer"),
        ("-0.5 -0.5 2:1e-3\n", "", 11, "2 support vectors"),
        ("1:1 2:2", "2:2 1:1", 10, "ascend"),
        ("1:1 2:2", "1:1 1:2", 10, "ascend"),
        ("1:1 2:2", "0:1", 10, "between 1"),
        ("1:1 2:2", "-3:1", 10, "between 1"),
        ("1:1 2:2", "4294967297:1", 10, "between 1"),
        ("1:1 2:2", "1:1 2", 10, "index:value"),
        ("1:1 2:2", "1:1 2:inf", 10, "must be a finite number"),
        ("-1 0.5 1:2", "-1 1:2", 11, "2 coefficients"),
        ("-1 0.5 1:2", "-1 nan 1:2", 11, "must be a finite number"),
        ("-1 0.5 1:2", "", 11, "2 coefficients"),
        ("SV\n", "", 9, "is not a LIBSVM header line"),
        ("SV\n1", "SV\x0b1", 9, "is not a LIBSVM header line"),
        ("nr_sv 1 1 1\nSV", "nr_sv 1 1 1\x0cSV", 9, "is not a LIBSVM header line"),
    ],
)
def test_the_first_wrong_line_is_named(old, new, line, complaint):
    assert old in GOOD
    with pytest.raises(ModelFileError, match=f"line {line}: .*{complaint}"):
        read_model(GOOD.replace(old, new, 1))


def test_a_negative_number_of_vectors_of_a_regressor_is_refused():
    with pytest.raises(ModelFileError, match="line 6: 0 support vectors follow SV; total_sv is -1"):
        read_model("svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv -1\nrho 0\nSV\n")


@pytest.mark.parametrize("text", ["\n", "SV\n", "svm_type c_svc\n"])
def test_text_that_ends_early_is_refused(text):
    with pytest.raises(ModelFileError, match="line"):
        read_model(text)


def test_serials_of_a_precomputed_kernel_are_checked():
    head = "svm_type one_class\nkernel_type precomputed\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n"
    np.testing.assert_array_equal(read_model(head + "2 0:2\n")(np.array([[1.0, 3.0]])), [[6.0]])
    for entry in ("0:0", "0:1.5", "1:1", "0:1 1:1", "", "0:1e9"):
        with pytest.raises(ModelFileError, match="line 7"):
            read_model(f"{head}2 {entry}\n")
    with pytest.raises(ValueError, match="1 columns"):
        read_model(head + "2 0:2\n")(np.array([[1.0]]))


def test_mutated_text_gives_a_finite_model_or_is_refused(global_random_seed):
    source, alphabet = random.Random(global_random_seed), "0123456789.:-+e \nSVabnif_"
    refused = 0
    for _ in range(3000):
        text = list(GOOD)
        for _ in range(source.randint(1, 3)):
            place = source.randrange(len(text))
            text[place] = source.choice(["", source.choice(alphabet), text[place] * 2])
        try:
            model = read_model("".join(text), n_features=9)
        except ModelFileError:
            refused += 1
        else:
            assert np.isfinite(model.intercept).all()
            assert np.isfinite(model.expansion.coef).all()
            assert model.expansion.shape[1] == len(model.intercept)
    assert 0 < refused < 3000
