"""Models as arithmetic for export: vectors, labels and prediction rules, and the models that are refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as sk
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer.formats import write_libsvm
from mercer.formats.portable import portable

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("model", "answer", "labels"),
    [
        (mc.SVC(kernel="rbf"), "votes", [0, 1, 2]),
        (mc.SVC(kernel="rbf", multi_class="ovr"), "largest", [0, 1, 2]),
        (mc.NuSVC(kernel="rbf", nu=0.3), "votes", [0, 1, 2]),
        (sk.SVC(), "votes", [0, 1, 2]),
        (GridSearchCV(sk.SVC(), {"C": [1.0, 10.0]}, cv=2), "votes", [0, 1, 2]),
        (mc.SVCCV(Cs=[1.0, 10.0], cv=2), "votes", [0, 1, 2]),
        (mc.VirtualSupportVectors(mc.SVC(), [np.negative]), "votes", [0, 1, 2]),
        (mc.VirtualSupportVectors(mc.SVR(), [np.negative]), "values", None),
        (
            make_pipeline(StandardScaler(), mc.SVCCV(Cs=[1.0], cv=2, calibration="sigmoid")),
            "votes",
            [0, 1, 2],
        ),
        (mc.OneClassSVM(nu=0.2), "inlier", [-1, 1]),
        (sk.OneClassSVM(nu=0.2), "inlier", [-1, 1]),
        (mc.SVR(), "values", None),
        (mc.KernelPCA(2, kernel=mc.Gaussian(0.1)), "values", None),
    ],
    ids=repr,
)
def test_models_have_the_prediction_rule_that_they_have_in_python(model, answer, labels):
    exported = portable(model.fit(X, Y), "float64")
    assert (exported.answer, exported.labels) == (answer, labels)


def test_text_models_have_the_prediction_rule_of_libsvm(tmp_path):
    answers = {}
    for name, model in {
        "c": mc.SVC(),
        "two": mc.SVC(),
        "one": mc.OneClassSVM(nu=0.3),
        "r": mc.SVR(),
    }.items():
        few = (2 if name == "two" else 3) > Y
        write_libsvm(model.fit(X[few], Y[few]), tmp_path / name)
        answers[name] = portable(tmp_path / name, "float32").answer
    assert answers == {"c": "votes", "two": "sign", "one": "inlier", "r": "values"}
    assert portable(str(tmp_path / "one"), "float32").answer == "inlier"
    assert portable((tmp_path / "one").read_text(), "float32").title.startswith("LIBSVM, ")


def test_vectors_without_coefficient_are_dropped_and_sparse_ones_become_dense():
    psi = mc.Expansion(mc.Gaussian(1.0), sp.csr_matrix(np.eye(3)), np.array([[0.0], [2.0], [0.0]]))
    exported = portable(mc.formats.FittedExpansion(psi, np.zeros(1)), "float64")
    np.testing.assert_array_equal(exported.coef, [[2.0]])
    np.testing.assert_array_equal(exported.views[(0,)].points, [[0.0, 1.0, 0.0]])


def test_a_linear_model_is_exported_as_its_normal():
    model = mc.SVC(kernel="linear").fit(X, Y)
    exported = portable(model, "float64")
    np.testing.assert_array_equal(exported.coef, np.eye(3))
    np.testing.assert_allclose(
        exported.views[(0,)].points, model.expansion_.coef.T @ model.support_vectors_
    )


def test_a_model_without_coefficients_keeps_one_vector():
    exported = portable(sk.SVR(epsilon=10.0).fit(X, Y / 10), "float64")
    assert len(exported.coef) == 1
    assert not exported.coef.any()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1.0, 2.0, 5.0], [1, 2, 5]),
        (["a", "b", "ü"], ["a", "b", "ü"]),
        ([-(2**40), 0, 3], [-(2**40), 0, 3]),
    ],
    ids=str,
)
def test_labels_are_integers_or_strings(labels, expected):
    assert portable(mc.SVC().fit(X, np.array(labels)[Y]), "float64").labels == expected


@pytest.mark.parametrize("labels", [[0.5, 1.0, 2.0], [2**63, 1, 2]], ids=str)
def test_other_labels_are_refused(labels):
    peer = sk.SVC().fit(X, Y)
    peer.classes_ = np.array(labels)
    with pytest.raises(ValueError, match="a string or an integer of 64 bits"):
        portable(peer, "float64")


@pytest.mark.parametrize(
    "model", [mc.KernelFisher(), mc.KernelPerceptron(mc.Gaussian(1.0))], ids=repr
)
def test_other_classifiers_are_refused_but_their_decision_values_can_be_exported(model):
    model.fit(X, Y)
    with pytest.raises(TypeError, match=r"as_expansion\(model\).*SVC, NuSVC"):
        portable(model, "float64")
    assert portable(mc.as_expansion(model), "float64").answer == "values"


def test_exported_quantiles_are_those_that_are_predicted():
    points = np.random.default_rng(1).normal(size=(80, 3))
    y = np.sin(2 * points[:, 0]) + points[:, 1] * points[:, 2]
    model = mc.QuantileSVR([0.1, 0.5, 0.9], kernel=mc.Gaussian(0.5), crossing="sort")
    model.fit(points, y)
    new = np.random.default_rng(2).normal(size=(500, 3))
    exported = mc.as_expansion(model)(new)
    # the functions cross, and the order of an export is that of its scores
    assert np.abs(exported - model.predict(new)).max() > 0.01
    with pytest.raises(ValueError, match="crossing = 'sort' must be 'allow'"):
        portable(model, "float64")
    model.set_params(crossing="allow")
    assert portable(model, "float64").answer == "values"
    assert np.allclose(exported, model.predict(new), rtol=0, atol=1e-12)
    single = mc.QuantileSVR([0.5], crossing="sort").fit(X, Y)
    assert portable(single, "float64").answer == "values"


def test_models_that_cannot_be_exported_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match="break_ties"):
        portable(mc.SVC(break_ties=True, decision_function_shape="ovr").fit(X, Y), "float64")
    with pytest.raises(ValueError, match="dtype = 'float8' must be one of"):
        mc.formats.to_onnx(mc.SVC().fit(X, Y), "float8")
    with pytest.raises(TypeError, match="cannot read"):
        portable(sk.LinearSVC().fit(X, Y), "float64")
    huge = mc.Expansion(mc.Linear(), np.array([[1e200]]), np.ones((1, 1)))
    with pytest.raises(ValueError, match=r'1e\+200.*use dtype="float64"'):
        portable(mc.formats.FittedExpansion(huge, np.zeros(1)), "float32")


def test_a_wide_sparse_model_is_refused_before_it_is_made_dense():
    points = sp.csr_matrix((np.ones(1), ([0], [10**6])), (400, 2 * 10**6))
    psi = mc.Expansion(mc.Linear(), points, np.ones((400, 1)))
    with pytest.raises(MemoryError, match=r"400 vectors of 2000000 features.*mercer\.compress"):
        portable(mc.formats.FittedExpansion(psi, np.zeros(1)), "float64")


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_type_of_numbers_goes_by_its_name_or_by_that_of_numpy(name):
    model = mc.SVC().fit(X, Y)
    assert portable(model, getattr(np, name)).dtype == portable(model, name).dtype == np.dtype(name)


@pytest.mark.parametrize(
    ("kernel", "inputs"),
    [
        (mc.Gaussian(1.0) + 1.0, {"sqdist"}),
        (mc.Linear() * 2.0, {"dot"}),
        (mc.Constant(3.0), {"dot"}),
        (mc.Normalized(mc.Linear() + 1.0), {"dot", "sqnorm_x", "sqnorm_z"}),
    ],
    ids=["sum", "multiple", "constant", "normalized"],
)
def test_only_the_inputs_of_the_kernel_are_computed(kernel, inputs):
    psi = mc.Expansion(kernel, np.eye(2), np.ones((2, 1)))
    exported = portable(mc.formats.FittedExpansion(psi, np.zeros(1)), "float64")
    assert {key: view.inputs for key, view in exported.views.items()} == {(0,): inputs}


@pytest.mark.parametrize(
    ("A", "mapped"),
    [
        (np.array([2.0, -1.0, 0.5]), [[2.0, -2.0, 1.5], [8.0, -5.0, 3.0]]),
        (np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 0.0]]), [[6.0, 4.0], [15.0, 10.0]]),
        (np.array([-1, 0]), [[3.0, 1.0], [6.0, 4.0]]),
    ],
    ids=["scales", "matrix", "columns"],
)
def test_vectors_are_stored_after_the_maps_of_the_kernel(A, mapped):
    psi = mc.Expansion(
        mc.Mapped(mc.Gaussian(1.0), A),
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        np.ones((2, 1)),
    )
    exported = portable(mc.formats.FittedExpansion(psi, np.zeros(1)), "float64")
    [view] = exported.views.values()
    np.testing.assert_array_equal(view.points, mapped)
    np.testing.assert_array_equal(view.maps[0], A % 3 if A.dtype.kind == "i" else A)
    assert exported.n_features == 3


def test_only_kernels_with_a_kink_need_exact_distances():
    for nu, smooth in ((0.5, False), (1.5, True)):
        psi = mc.Expansion(mc.Matern(1.0, nu), np.eye(2), np.ones((2, 1)))
        exported = portable(mc.formats.FittedExpansion(psi, np.zeros(1)), "float64")
        assert [view.smooth for view in exported.views.values()] == [smooth]


def test_constants_beyond_the_dtype_become_its_largest_number():
    psi = mc.Expansion(mc.Linear(), np.eye(2), np.ones((2, 1)))
    exported = portable(mc.formats.FittedExpansion(psi, np.zeros(1)), "float32")
    largest = np.finfo(np.float32).max
    np.testing.assert_array_equal(
        exported.constant([1e300, -1e300, 0.1]), np.array([largest, -largest, 0.1], "f4")
    )


@pytest.mark.parametrize("scale", [1e-20, 1e20])
@pytest.mark.parametrize("kernel", ["rbf", "poly", mc.Matern("median")])
def test_vectors_whose_squares_are_outside_the_range_are_refused(kernel, scale):
    points = scale * np.random.default_rng(0).normal(size=(20, 2))
    model = mc.SVC(kernel=kernel).fit(points, np.arange(20) % 2)
    with pytest.raises(
        ValueError, match=r"squared norms up to .*, outside the range of float32.*float64"
    ):
        portable(model, "float32")
    portable(model, "float64")
    # a linear kernel does not need squares
    linear = mc.Expansion(mc.Linear(), points, np.ones((20, 1)))
    portable(mc.formats.FittedExpansion(linear, np.zeros(1)), "float32")


def test_an_average_of_calibrated_classifiers_is_refused_with_a_remedy():
    model = CalibratedClassifierCV(mc.SVC(), cv=2).fit(X, Y)
    with pytest.raises(
        TypeError, match="2 classifiers cannot be exported; fit it with ensemble=False"
    ):
        portable(model, "float64")


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("labels", [2, 3])
def test_probabilities_of_libsvm_are_missed_aloud(labels):
    model = sk.SVC(probability=True, random_state=0).fit(X[labels > Y], Y[labels > Y])
    with pytest.warns(
        UserWarning,
        match=r"not the probabilities of LIBSVM.* mercer.SVCCV\(calibration='sigmoid'\)",
    ):
        assert not portable(model, "float64").has_probabilities
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nlabel 1 2\nprobA -1\nprobB 0\n"
    with pytest.warns(UserWarning, match="not the probabilities of LIBSVM"):
        portable(head + "nr_sv 1 0\nSV\n1 1:2\n", "float64")


def test_labels_by_probabilities_are_not_those_of_the_scores():
    y = (Y == 2).astype(int)
    rows = X[:, :2]
    model = mc.SVCCV(
        Cs=[1.0], cv=3, calibration="sigmoid", labels="probabilities", class_weight={0: 1, 1: 20}
    )
    exported = portable(model.fit(rows, y), "float64")
    scores = model.decision_function(rows)[:, None]
    np.testing.assert_array_equal(exported.places(scores), model.predict(rows))
    assert np.any(exported.places(scores) != (scores[:, 0] > 0))


def test_curves_of_probabilities_are_not_taken_for_those_of_decision_values():
    inner = CalibratedClassifierCV(mc.SVC(), ensemble=False)
    model = CalibratedClassifierCV(inner, ensemble=False).fit(X, Y)
    with pytest.raises(TypeError, match="to a classifier with decision_function"):
        portable(model, "float64")
    assert portable(model.calibrated_classifiers_[0].estimator, "float64").has_probabilities
