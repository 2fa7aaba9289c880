import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC as LIBSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc


@parametrize_with_checks(
    [
        mc.SVC(),
        mc.SVC(kernel=mc.Gaussian(0.5), class_weight="balanced"),
        mc.SVC(kernel="linear", multi_class="ovr"),
        mc.SVC(kernel=mc.Gaussian(0.1) + mc.Linear(), break_ties=True),
        mc.SVC(kernel="precomputed"),
        mc.SVC(landmarks=1000, rule="greedy"),
        mc.SVC(max_vectors=3),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def two(global_random_seed):
    return make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=global_random_seed)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600]


def _libsvm(C=1.0, gamma=0.1, **options):
    return LIBSVM(C=C, gamma=gamma, tol=1e-9, decision_function_shape="ovo", **options)


# --- the optimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e4])
def test_the_certificate_is_that_of_an_optimum_whatever_C(two, C):
    X, y = two
    certificate = mc.certify(mc.SVC(C, kernel=mc.Gaussian(0.3)).fit(X, y), X, y)
    assert certificate.kkt < 1e-10
    assert abs(certificate.gap) < 1e-9 * certificate.primal


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_certificates_of_binary_classifiers_add_up(digits, multi_class):
    X, y = digits
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.1), multi_class=multi_class).fit(X, y)
    certificate = mc.certify(model, X, y)
    assert certificate.kkt < 1e-10
    assert abs(certificate.gap) < 1e-9 * certificate.primal
    # stored objectives contain the rounding of float32 kernel rows
    assert (1 - 1e-4) * certificate.dual < model.certificate_.dual < certificate.dual


def test_two_classes_agree_with_libsvm(two):
    X, y = two
    ours, theirs = mc.SVC(kernel=mc.Gaussian(0.1)).fit(X, y), _libsvm().fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert set(ours.support_) == set(theirs.support_)
    coef = theirs.dual_coef_[0]
    K = mc.Gaussian(0.1)(theirs.support_vectors_)
    objective = np.abs(coef).sum() - 0.5 * coef @ K @ coef
    np.testing.assert_allclose(mc.certify(ours, X, y).dual, objective, rtol=1e-6)


def test_pairs_agree_with_libsvm(digits):
    X, y = digits
    ours = mc.SVC(kernel=mc.Gaussian(0.1), decision_function_shape="ovo").fit(X, y)
    theirs = _libsvm().fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert (ours.n_support_ == theirs.n_support_).all()
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_.T, atol=1e-4)
    ours.decision_function_shape = "ovr"
    theirs.set_params(decision_function_shape="ovr")
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_one_against_the_rest_is_a_binary_classifier_for_each_class(digits):
    X, y = digits
    values = mc.SVC(kernel=mc.Gaussian(0.1), multi_class="ovr").fit(X, y).decision_function(X)
    for label in (0, 7):
        theirs = _libsvm().fit(X, y == label)
        np.testing.assert_allclose(values[:, label], theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_values_are_the_expansion_and_the_intercept(digits, multi_class):
    X, y = digits
    model = mc.SVC(
        kernel=mc.Gaussian(0.1), multi_class=multi_class, decision_function_shape="ovo"
    ).fit(X, y)
    np.testing.assert_allclose(
        model.expansion_(X) + model.intercept_, model.decision_function(X), atol=1e-10
    )
    assert (model.support_vectors_ == X[model.support_]).all()
    assert len(np.unique(model.support_)) == len(model.support_)
    assert (np.diff(y[model.support_]) >= 0).all()


def test_a_small_budget_gives_the_same_classifier():
    X, y = make_classification(1500, 6, n_informative=4, flip_y=0.1, random_state=0)
    values = [mc.SVC(memory=memory).fit(X, y).decision_function(X) for memory in ("1GB", "4MB")]
    # kernel values that are known are not computed anew where their rounding is below a hundredth of tol
    np.testing.assert_allclose(*values, atol=1e-5)


def test_at_a_small_C_every_point_is_at_its_bound(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((1200, 5))
    y = np.repeat([0, 1], 600)
    model = mc.SVC(C=1e-5, kernel=mc.Gaussian(0.2)).fit(X, y)
    np.testing.assert_allclose(np.abs(model.dual_coef_), 1e-5)
    assert len(model.support_) == 1200
    assert mc.certify(model, X, y).kkt == 0


# --- hard margin ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", mc.Gaussian(0.5)])
def test_an_infinite_C_is_the_widest_margin(kernel, global_random_seed):
    X, y = make_blobs(
        80, centers=[[0, 0], [4, 4]], cluster_std=0.7, random_state=global_random_seed
    )
    model = mc.SVC(np.inf, kernel=kernel).fit(X, y)
    # every point is beyond the margin, and the nearest points are at it
    values = np.where(y > 0, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(values[model.support_], 1, atol=1e-8)
    assert values.min() > 1 - 1e-8
    np.testing.assert_allclose(model.margin_, 1 / model.expansion_.norms())
    # the dual bounds the margin from above: nothing is wider
    certificate = mc.certify(model, X, y)
    np.testing.assert_allclose(
        [certificate.dual, certificate.primal], 0.5 / model.margin_[0] ** 2, rtol=1e-7
    )
    theirs = LIBSVM(
        C=1e7, kernel="linear" if kernel == "linear" else "rbf", gamma=0.5, tol=1e-9
    ).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_a_hard_margin_of_three_classes_is_one_for_each_pair():
    X, y = load_iris(return_X_y=True)
    model = mc.SVC(np.inf, kernel=mc.Gaussian(5.0)).fit(X, y)
    assert model.margin_.shape == (3,)
    assert (model.predict(X) == y).all()
    assert mc.certify(model, X, y).kkt < 1e-9


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_classes_that_cannot_be_separated_are_refused_with_the_evidence(multi_class):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(
        ValueError, match=r"C = inf .* weighted mean of \d+ points of .* apart .* Give a finite C"
    ):
        mc.SVC(np.inf, kernel="linear", multi_class=multi_class).fit(X, y)


@pytest.mark.parametrize("given", [False, True])
def test_equal_points_with_opposite_labels_are_the_evidence(given):
    X = np.array([[9.0], [1.0], [0.0], [1.0], [3.0]])
    kernel = mc.Gaussian(1.0)
    with pytest.raises(
        ValueError, match=r"1 points of 1 \(the heaviest in rows 1\) and .* of 0 \(.* in rows 3\)"
    ):
        mc.SVC(np.inf, kernel="precomputed" if given else kernel).fit(
            kernel(X) if given else X, [1, 1, 0, 0, 1], sample_weight=[0, 1, 1, 1, 1]
        )


# --- symmetries -------------------------------------------------------------------------------------------------------


def test_the_order_of_rows_changes_nothing(two, global_random_seed):
    X, y = two
    order = np.random.default_rng(global_random_seed).permutation(len(X))
    values = [mc.SVC().fit(X[rows], y[rows]).decision_function(X) for rows in (slice(None), order)]
    np.testing.assert_allclose(*values, atol=1e-8)


def test_a_weight_of_two_is_a_row_repeated(two, global_random_seed):
    X, y = two
    weights = np.random.default_rng(global_random_seed).integers(0, 4, len(X))
    weighted = mc.SVC().fit(X, y, sample_weight=weights)
    repeated = mc.SVC().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-8
    )


def test_sparse_rows_precomputed_values_and_callables_give_the_same_values(digits):
    X, y = digits[0][:200], digits[1][:200]
    k = mc.Gaussian(0.1)
    expected = mc.SVC(kernel=k).fit(X, y).decision_function(X)
    for kernel, points in ((k, sp.csr_matrix(X)), ("precomputed", k(X)), (lambda A, B: k(A, B), X)):
        values = mc.SVC(kernel=kernel).fit(points, y).decision_function(points)
        np.testing.assert_allclose(values, expected, atol=1e-7)


def test_objects_are_points_of_a_callable():
    words = ["aaa", "aab", "aba", "bbb", "bba", "bab", "abb", "baa"]
    labels = ["many a" if word.count("a") > 1 else "many b" for word in words]

    def common(left, right):
        return np.array(
            [[sum(a == b for a, b in zip(u, v, strict=True)) for v in right] for u in left], float
        )

    model = mc.SVC(kernel=common).fit(words, labels)
    assert (model.predict(words) == labels).all()


def test_float32_stays_float32(two):
    X, y = two
    model = mc.SVC().fit(X.astype(np.float32), y)
    assert model.decision_function(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        model.decision_function(X.astype(np.float32)),
        mc.SVC().fit(X, y).decision_function(X),
        atol=1e-4,
    )


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C": 0}, ValueError, "C = 0 must be above 0"),
        ({"C": np.nan}, ValueError, "C = nan must be finite"),
        ({"tol": 0.0}, ValueError, "tol = 0.0"),
        ({"multi_class": "all"}, ValueError, "multi_class = 'all'"),
        ({"decision_function_shape": "x"}, ValueError, "decision_function_shape = 'x'"),
        ({"max_iter": 0}, ValueError, "max_iter = 0"),
        ({"kernel": "rfb"}, ValueError, "'rfb' must be one of"),
        ({"memory": "lots"}, ValueError, "memory"),
    ],
)
def test_bad_parameters_are_named(two, parameters, error, message):
    with pytest.raises(error, match=message):
        mc.SVC(**parameters).fit(*two)


@pytest.mark.parametrize(
    "model", [mc.SVC(break_ties=True), mc.NuSVC(break_ties=True)], ids=["SVC", "NuSVC"]
)
def test_ties_of_pairs_are_refused_at_prediction_as_by_scikit_learn(model, two):
    X, y = two
    # the parameter is shared by all tests
    model = clone(model)
    expected = model.fit(X, y).predict(X)
    model.set_params(decision_function_shape="ovo").fit(X, y)
    with pytest.raises(
        ValueError, match="break_ties must be False for decision_function_shape = 'ovo'"
    ):
        model.predict(X)
    assert ((model.decision_function(X) > 0) == (expected == model.classes_[1])).all()


@pytest.mark.parametrize(
    ("weight", "message"),
    [(np.nan, r"sample_weight\[3\] = nan"), (-1.0, r"sample_weight\[3\] = -1.0")],
)
def test_bad_weights_are_named(two, weight, message):
    weights = np.ones(200)
    weights[3] = weight
    with pytest.raises(ValueError, match=message):
        mc.SVC().fit(*two, sample_weight=weights)


def test_a_single_class_is_named(two):
    X, y = two
    with pytest.raises(ValueError, match="one class, 1[.]"):
        mc.SVC().fit(X, np.ones(200, int))
    with pytest.raises(ValueError, match="one class, 0, among rows of positive weight"):
        mc.SVC().fit(X, y, sample_weight=y == 0)


def test_labels_of_any_kind_come_back(two):
    X, y = two
    expected = mc.SVC().fit(X, y).predict(X)
    for labels in (
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([10**12, 10**12 + 1]),
    ):
        assert (mc.SVC().fit(X, labels[y]).predict(X) == labels[expected]).all()


def test_an_early_stop_is_a_warning_with_the_numbers(two):
    with pytest.warns(
        ConvergenceWarning, match=r"after 3 steps with a violation of \d.*tol = 0.001.*gap"
    ):
        model = mc.SVC(max_iter=3).fit(*two)
    assert model.n_iter_ == [3]
    assert np.isfinite(model.decision_function(two[0])).all()


@pytest.mark.parametrize("C", [1.0, 1e6])
def test_unscaled_features_and_contradictory_labels_end_with_finite_numbers(two, C):
    X, y = two
    X = np.vstack([X, X[:40]]) * np.logspace(-6, 9, 6)
    y = np.concatenate([y, 1 - y[:40]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mc.SVC(C, max_iter=20_000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.certificate_.gap)


def test_two_points_make_a_classifier():
    model = mc.SVC(kernel="linear").fit([[0.0], [2.0]], [0, 1])
    np.testing.assert_allclose(
        model.decision_function([[0.0], [1.0], [2.0]]), [-1, 0, 1], atol=1e-12
    )


def test_an_indefinite_kernel_gives_a_finite_classifier(two):
    X, y = two
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mc.SVC(10.0, kernel=mc.Sigmoid(1.0, -1.0), max_iter=20_000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_rare_classes_are_not_lost_when_balanced(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = np.vstack([rng.standard_normal((495, 2)), rng.standard_normal((5, 2)) + 1.5])
    y = np.repeat([0, 1], [495, 5])
    assert (
        mc.SVC(class_weight="balanced", kernel=mc.Gaussian(0.5)).fit(X, y).predict(X)[y == 1].mean()
        > 0.5
    )


def test_grid_search_reaches_into_kernels(two):
    search = GridSearchCV(mc.SVC(), {"kernel__gamma": [0.01, 0.1], "C": [1.0]}, cv=2).fit(*two)
    assert search.best_estimator_.kernel_.gamma in (0.01, 0.1)


def test_ties_are_broken_by_decision_values_only_on_request():
    X, y = load_iris(return_X_y=True)
    kernel = mc.Gaussian(1.0)
    for break_ties in (False, True):
        ours = mc.SVC(kernel=kernel, break_ties=break_ties).fit(X, y)
        theirs = LIBSVM(gamma=1.0, tol=1e-9, break_ties=break_ties).fit(X, y)
        grid = np.random.default_rng(0).uniform(X.min(0), X.max(0), (500, 4))
        assert (ours.predict(grid) == theirs.predict(grid)).all()


def test_numbers_of_rows_come_before_classes():
    with pytest.raises(ValueError, match="X has 8 rows, y has 5"):
        mc.SVC().fit(np.arange(16.0).reshape(8, 2), np.zeros(5))
