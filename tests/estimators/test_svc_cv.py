"""SVCCV: the scores of a grid search, at the cost of a few fits."""

import itertools
import pickle
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer as mc
from mercer.estimators.svc_cv import SVCCV
from mercer.kernels.shorthand import as_kernel

CS = np.logspace(-2, 2, 5)
IRIS = load_iris(return_X_y=True)


def two_classes():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(240, 4))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=240) > 0, "yes", "no")


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
def test_scores_of_probabilities_are_refused_with_others_before_the_folds(scoring, listening):
    heard = []
    X, y = two_classes()
    with (
        listening(lambda stage, **_: heard.append(stage)),
        pytest.raises(
            ValueError,
            match=f"scoring = '{scoring}' needs probabilities, which folds do not have; take",
        ),
    ):
        SVCCV(scoring=scoring, calibration="sigmoid").fit(X, y)
    assert heard == []


@pytest.mark.parametrize("data", [two_classes(), IRIS], ids=["two", "three"])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "f1_macro"])
def test_scores_are_those_of_a_grid_search_over_scikit_learn(data, scoring):
    X, y = data
    model = SVCCV(mc.Gaussian(0.2), Cs=CS, cv=4, scoring=scoring, tol=1e-6).fit(X, y)
    peer = GridSearchCV(SVC(gamma=0.2), {"C": CS}, cv=4, scoring=scoring).fit(X, y)
    for name in ("mean_test_score", "std_test_score", "split2_test_score"):
        np.testing.assert_allclose(model.cv_results_[name], peer.cv_results_[name], atol=1e-3)
    assert model.best_params_ == peer.best_params_
    assert model.best_score_ == pytest.approx(peer.best_score_, abs=1e-3)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


def test_scorers_of_decision_values_and_other_callables_are_taken():
    X, y = two_classes()

    def on_half(estimator, X, y):
        return f1_score(y[::2], estimator.predict(X[::2]), pos_label="yes")

    for scoring in ("roc_auc", on_half):
        model = SVCCV(mc.Gaussian(0.2), Cs=CS, cv=3, scoring=scoring, tol=1e-6).fit(X, y)
        peer = GridSearchCV(SVC(gamma=0.2, tol=1e-5), {"C": CS}, cv=3, scoring=scoring).fit(X, y)
        np.testing.assert_allclose(
            model.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-3
        )


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Linear() + mc.Laplacian(1.0)])
def test_equal_rows_that_a_fold_holds_out_tie_in_scores_of_ranks(kernel, global_random_seed):
    # rounding of decision values has decided ties, and moved these scores and isotonic probabilities by up to 0.2
    rng = np.random.default_rng(global_random_seed)
    X = rng.integers(0, 2, (120, 3)).astype(float)
    y = (rng.random(120) < 0.2 + 0.2 * X.sum(axis=1)).astype(int)
    model = SVCCV(kernel, Cs=[1.0], cv=3, scoring="roc_auc").fit(X, y)
    for fold, (_, test) in enumerate(StratifiedKFold(3).split(X, y)):
        above = 0.0
        for i, j in itertools.product(test[y[test] == 1], test[y[test] == 0]):
            difference = model.held_out_values_[i] - model.held_out_values_[j]
            above += 0.5 if (X[i] == X[j]).all() else (np.sign(difference) + 1) / 2
        share = above / (np.sum(y[test] == 1) * np.sum(y[test] == 0))
        assert model.cv_results_[f"split{fold}_test_score"][0] == pytest.approx(share)


def test_scores_of_ranks_do_not_depend_on_how_small_coefficients_at_their_bounds_are():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (120, 3)) + rng.integers(0, 2, (120, 1)) * np.repeat([[0], [1]], 60, 0)
    y = np.repeat([0, 1], 60)
    Cs = [1e-14, 1e-12, 1e-10, 1e-8, 1e-5]
    found = SVCCV(mc.Linear(), Cs=Cs, cv=3, scoring="roc_auc").fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        score = roc_auc_score(y[test], X[test] @ (X[train].T @ (2 * y[train] - 1)))
        scores = found.cv_results_[f"split{fold}_test_score"]
        assert scores == pytest.approx(np.full(len(Cs), score))


def test_equal_rows_tie_for_every_c_of_a_path():
    # a path starts from multiples of its solutions, whose rounding grows with C
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (120, 3)).astype(float)
    y = (rng.random(120) < 0.2 + 0.1 * X.sum(axis=1)).astype(int)

    def largest_value(model, X, _):
        return np.abs(model.decision_function(X)).max()

    Cs = np.logspace(-4, 4, 10)
    model = SVCCV(mc.Gaussian(0.5), Cs=Cs, cv=3, scoring=largest_value, refit=False).fit(X, y)
    assert Cs[-1] == model.C_
    ties = []
    for _, test in StratifiedKFold(3).split(X, y):
        rows, number = np.unique(X[test], axis=0, return_inverse=True)
        values = model.held_out_values_[test]
        ties += [np.ptp(values[number.ravel() == k]) == 0 for k in range(len(rows))]
    # one group in hundreds lies at the border of two multiples
    assert np.mean(ties) > 0.9


def test_a_weight_of_two_is_a_row_given_twice_in_every_fold():
    X, y = two_classes()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    folds = np.arange(len(y)) % 4
    twice = np.repeat(np.arange(len(y)), weights)
    splits, repeated = (
        [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(4)]
        for part in (folds, folds[twice])
    )
    one = SVCCV(mc.Gaussian(0.2), Cs=CS, cv=splits, tol=1e-6).fit(X, y, weights)
    two = SVCCV(mc.Gaussian(0.2), Cs=CS, cv=repeated, tol=1e-6).fit(X[twice], y[twice])
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], atol=1e-12
    )
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_callable_gets_the_classifier_that_known_decision_values_are_of(multi_class):
    X, y = IRIS
    seen = []

    def accuracy(model, X, y):
        seen.append(model)
        return np.mean(model.predict(X) == y)

    models = {"multi_class": multi_class, "Cs": CS, "cv": 3}
    one, other = (
        SVCCV(mc.Gaussian(0.2), scoring=each, **models).fit(X, y) for each in (accuracy, "accuracy")
    )
    for name in ("mean_test_score", "split1_test_score"):
        np.testing.assert_allclose(one.cv_results_[name], other.cv_results_[name], rtol=1e-14)
    assert len(seen) == 3 * len(CS)
    for C, model in zip(CS, seen, strict=False):
        assert type(model) is mc.SVC
        assert (model.C, model.multi_class, model.n_features_in_) == (C, multi_class, 4)
        # of the training rows of its fold alone
        assert len(model.support_) <= 100


def test_rows_drawn_twice_have_twice_the_weight():
    X, y = two_classes()
    rows = np.arange(240) % 2
    train, test = np.flatnonzero(rows), np.flatnonzero(rows == 0)
    weights = np.where(rows, 2.0, 1.0)
    drawn = SVCCV(mc.Gaussian(0.2), Cs=CS, cv=[(np.repeat(train, 2), test)], tol=1e-6).fit(X, y)
    weighted = SVCCV(mc.Gaussian(0.2), Cs=CS, cv=[(train, test)], tol=1e-6).fit(X, y, weights)
    np.testing.assert_array_equal(
        drawn.cv_results_["mean_test_score"], weighted.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_cells_score_what_classifiers_of_each_cell_predict(multi_class):
    rng = np.random.default_rng(0)
    X, part = rng.normal(size=(300, 3)), np.arange(300) % 2
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] * X[:, 2] > 0.2)
    weights = rng.uniform(0.5, 2.0, 300)
    # two halves that lie apart are cells
    X[:, 1] += 50.0 * part
    options = {"Cs": [0.3, 3.0], "gammas": [0.1, 1.0], "multi_class": multi_class, "tol": 1e-6}
    model = SVCCV(cells=150, cv=3, **options).fit(X, y, weights)
    folds, parts = list(StratifiedKFold(3).split(X, y)), [np.flatnonzero(part == k) for k in (0, 1)]
    for cell, score in zip(
        model.cv_results_["params"], model.cv_results_["split1_test_score"], strict=True
    ):
        train, test = folds[1]
        right = np.zeros(300)
        for half in parts:
            own, tested = np.intersect1d(train, half), np.intersect1d(test, half)
            peer = mc.SVC(
                cell["C"], kernel=mc.Gaussian(cell["gamma"]), multi_class=multi_class, tol=1e-6
            )
            right[tested] = peer.fit(X[own], y[own], weights[own]).predict(X[tested]) == y[tested]
        assert score == pytest.approx(np.average(right[test], weights=weights[test]), abs=0.011)
    whole = mc.SVC(model.C_, kernel=model.kernel_, multi_class=multi_class, tol=1e-6).fit(
        X, y, weights
    )
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-5)
    one, none = (SVCCV(cells=cells, cv=3, **options).fit(X, y) for cells in (300, None))
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], none.cv_results_["mean_test_score"], atol=0.004
    )


def test_probabilities_of_cells_are_those_of_their_held_out_values():
    X, y = two_classes()
    model = SVCCV(mc.Gaussian(0.2), Cs=[1.0], cv=3, cells=120, calibration="sigmoid").fit(X, y)
    rates = np.bincount(
        np.digitize(model.predict_proba(X)[:, 1], [0.5]), weights=y == "yes", minlength=2
    )
    assert rates[1] / (model.predict_proba(X)[:, 1] >= 0.5).sum() > 0.7
    assert np.isfinite(model.held_out_values_).all()
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_any_splitter_is_taken():
    X, y = two_classes()
    parts, repeated = (
        np.arange(len(y)) // 40,
        RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    )
    by_hand = [(np.arange(200), np.arange(200, 240))]
    for cv, groups in (
        (repeated, None),
        (ShuffleSplit(3, random_state=0), None),
        (GroupKFold(3), parts),
        (by_hand, None),
    ):
        model = SVCCV(mc.Gaussian(0.2), Cs=CS, cv=cv, tol=1e-5).fit(X, y, groups=groups)
        peer = GridSearchCV(SVC(gamma=0.2), {"C": CS}, cv=cv).fit(X, y, groups=groups)
        np.testing.assert_allclose(
            model.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-3
        )


def test_rows_that_memory_does_not_hold_give_the_same_scores():
    X, y = IRIS
    stored, lazy = (
        SVCCV(mc.Gaussian(0.2), Cs=CS, memory=memory, tol=1e-5).fit(X, y)
        for memory in ("1GB", 30_000)
    )
    np.testing.assert_allclose(
        lazy.cv_results_["mean_test_score"], stored.cv_results_["mean_test_score"], atol=1e-3
    )


def test_sparse_rows_and_a_precomputed_matrix_give_the_same_scores():
    X, y = IRIS
    dense = SVCCV(mc.Gaussian(0.2), Cs=CS).fit(X, y)
    sparse = SVCCV(mc.Gaussian(0.2), Cs=CS).fit(sp.coo_matrix(X), y)
    K = mc.Gaussian(0.2)(X)
    given = SVCCV("precomputed", Cs=CS).fit(K, y)
    for other in (sparse, given):
        np.testing.assert_allclose(
            other.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"], atol=1e-3
        )
    np.testing.assert_allclose(given.decision_function(K), dense.decision_function(X), atol=1e-6)


def test_sparse_rows_are_searched_over_several_gammas_as_dense_ones():
    X, y = IRIS
    dense, sparse = (SVCCV(Cs=CS, gammas=[0.05, 0.5]).fit(rows, y) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(
        sparse.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"], atol=1e-3
    )


def test_the_order_of_Cs_does_not_matter_and_the_smallest_of_equals_is_best():
    X, y = IRIS
    up, down = (SVCCV(mc.Gaussian(0.2), Cs=each).fit(X, y) for each in (CS, CS[::-1]))
    np.testing.assert_array_equal(
        up.cv_results_["mean_test_score"], down.cv_results_["mean_test_score"][::-1]
    )
    assert up.best_params_ == down.best_params_
    separable = SVCCV("linear", Cs=[1.0, 0.5, 2.0], cv=2).fit(
        [[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1]
    )
    assert separable.C_ == 0.5


def test_a_class_that_a_fold_lacks_is_never_predicted_in_it():
    X, y = IRIS
    cv = [
        (np.flatnonzero(y < 2), np.arange(0, 150, 2)),
        (np.flatnonzero(y == 1), np.arange(0, 150, 2)),
    ]
    model = SVCCV(mc.Gaussian(0.2), Cs=[1.0], cv=cv).fit(X, y)
    # the last third of the rows is lost in the first fold, the first third too in the second
    assert model.cv_results_["split0_test_score"][0] == pytest.approx(2 / 3)
    assert model.cv_results_["split1_test_score"][0] == pytest.approx(1 / 3)


def test_class_weights_count_in_the_default_score():
    X, y = two_classes()
    weights = {"yes": 1000.0, "no": 0.001}
    model = SVCCV(mc.Gaussian(0.2), Cs=CS, class_weight=weights).fit(X, y)
    assert (model.predict(X[y == "yes"]) == "yes").all()


def test_a_progress_bar_changes_nothing_and_scores_are_those_without():
    callback = pytest.importorskip(
        "sklearn.callback", reason="scikit-learn before 1.9 has no callbacks"
    )
    pytest.importorskip("rich", reason="the bar is drawn by rich")
    X, y = IRIS
    watched = SVCCV(mc.Gaussian(0.2), Cs=CS).set_callbacks(callback.ProgressBar()).fit(X, y)
    alone = SVCCV(mc.Gaussian(0.2), Cs=CS).fit(X, y)
    np.testing.assert_array_equal(
        watched.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(watched.decision_function(X), alone.decision_function(X))


def test_without_refit_there_is_no_predict():
    X, y = IRIS
    model = SVCCV(mc.Gaussian(0.2), Cs=CS, refit=False).fit(X, y)
    assert not hasattr(model, "best_estimator_")
    for method in ("predict", "decision_function"):
        with pytest.raises(AttributeError, match=method) as error:
            getattr(model, method)
        assert (
            str(error.value.__cause__)
            == "SVCCV(refit=False) keeps no model: fit SVC, or set refit=True."
        )
    assert model.n_features_in_ == 4


def test_the_best_classifier_is_refitted():
    X, y = IRIS
    model = SVCCV(mc.Gaussian(0.2), Cs=3).fit(X, y)
    np.testing.assert_allclose(model.Cs_, [1e-4, 1.0, 1e4], rtol=1e-15)
    np.testing.assert_array_equal(
        model.decision_function(X), model.best_estimator_.decision_function(X)
    )
    assert model.expansion_.shape[1] == len(model.intercept_) == 3
    with pytest.raises(NotFittedError):
        SVCCV().predict(X)


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"Cs": [1.0, -1.0]}, ValueError, r"Cs\[1\] = -1"),
        ({"Cs": 0}, ValueError, "Cs = 0"),
        ({"Cs": 2.5}, TypeError, "Cs"),
        ({"tol": 0.0}, ValueError, "tol"),
        ({"Cs": 10**12}, ValueError, "Cs = 1000000000000 must be at most"),
        ({"cv": 1}, ValueError, "cv = 1 must be at least 2"),
        ({"cv": 500}, ValueError, "cv = 500 must be at most"),
        ({"cv": True}, TypeError, "cv must be a number of folds"),
        ({"cv": [1, 2]}, TypeError, r"cv must hold pairs \(train, test\)"),
        ({"cv": "five"}, TypeError, "cv must be a number of folds"),
        ({"scoring": "best"}, ValueError, "scoring = 'best'"),
        ({"scoring": 3}, TypeError, "scoring must be a callable"),
        ({"multi_class": "all"}, ValueError, "multi_class"),
        ({"memory": "many"}, ValueError, "memory"),
        ({"gammas": 0}, ValueError, "gammas = 0"),
        ({"gammas": [0.1, -2.0]}, ValueError, r"gammas\[1\] = -2"),
        ({"gammas": []}, ValueError, "gammas"),
        ({"Cs": [[1.0, 2.0], [3.0]]}, ValueError, "Cs must have rows of equal length"),
        (
            {"Cs": [1.0, [2.0]]},
            ValueError,
            "Cs must have rows of equal length: .* row 0 has no length",
        ),
        ({"gammas": [[1.0, 2.0], [3.0]]}, ValueError, "gammas must have rows of equal length"),
        (
            {"Cs": "abc"},
            TypeError,
            "Cs must be a number of values or a list of them, got 'abc' of type str",
        ),
        (
            {"gammas": True},
            TypeError,
            "gammas must be a number of values or a list of them, got True of type bool",
        ),
        ({"calibration": "platt"}, ValueError, "calibration"),
    ],
)
def test_bad_parameters_are_named(params, error, words):
    with pytest.raises(error, match=words):
        SVCCV(**params).fit(*IRIS)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        each
        for settings in ({}, {"gammas": 2, "calibration": "sigmoid"}, {"gammas": [0.1]})
        for each in estimator_checks_generator(SVCCV(cv=2, Cs=2, **settings))
    ],
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", None),
)
@pytest.mark.filterwarnings("ignore")
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


def test_errors_speak_of_the_search():
    X, y = IRIS
    with pytest.raises(ValueError, match="SVCCV needs at least two classes"):
        SVCCV().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="SVCCV requires y"):
        SVCCV().fit(X, None)


@pytest.mark.parametrize("name", ["expansion_", "intercept_"])
def test_without_refit_there_is_no_expansion_and_the_remedy_is_named(name):
    X, y = IRIS
    model = SVCCV(mc.Gaussian(0.2), Cs=CS, refit=False).fit(X, y)
    with pytest.raises(AttributeError, match=r"refit=False, which keeps no model: fit SVC\(C="):
        getattr(model, name)


@pytest.mark.parametrize("data", [two_classes(), IRIS], ids=["two", "three"])
def test_scores_over_gamma_are_those_of_a_grid_search_over_scikit_learn(data):
    X, y = data
    model = SVCCV(Cs=CS, gammas=[1.0, 0.05, 0.2], cv=3, tol=1e-5).fit(X, y)
    peer = GridSearchCV(SVC(tol=1e-5), {"C": CS, "gamma": [1.0, 0.05, 0.2]}, cv=3).fit(X, y)
    assert model.cv_results_["params"] == peer.cv_results_["params"]
    for name in ("mean_test_score", "split1_test_score", "param_gamma"):
        np.testing.assert_allclose(
            model.cv_results_[name], peer.cv_results_[name].astype(float), atol=1e-3
        )
    best = model.best_params_
    ties = np.flatnonzero(model.cv_results_["rank_test_score"] == 1)
    assert best == min(
        (model.cv_results_["params"][k] for k in ties), key=lambda cell: (cell["C"], cell["gamma"])
    )
    assert model.kernel_ == model.best_estimator_.kernel_ == mc.Gaussian(best["gamma"])
    np.testing.assert_array_equal(model.predict(X), SVC(**best, tol=1e-5).fit(X, y).predict(X))


def test_a_number_of_gammas_is_spread_around_the_median_rule():
    X, y = two_classes()
    middle = mc.Gaussian("median").resolve(X).gamma
    for count, factors in (
        (1, [1.0]),
        (3, [1 / 16, 1.0, 16.0]),
        (5, [1 / 16, 1 / 4, 1.0, 4.0, 16.0]),
    ):
        model = SVCCV(Cs=[1.0], gammas=count, cv=2, refit=False).fit(X, y)
        np.testing.assert_allclose(
            model.cv_results_["param_gamma"], middle * np.array(factors), rtol=1e-12
        )


@pytest.mark.parametrize(
    "kernel", ["linear", "precomputed", mc.Matern(1.0), mc.Gaussian(1.0) + 1.0]
)
def test_a_kernel_without_gamma_is_refused(kernel):
    X, y = IRIS
    with pytest.raises(ValueError, match="has no parameter gamma"):
        SVCCV(kernel, gammas=3).fit(X, y)


@pytest.mark.parametrize("kernel", ["poly", mc.Laplacian(), mc.Cauchy(1.0)])
def test_every_kernel_with_a_gamma_is_searched(kernel):
    X, y = IRIS
    model = SVCCV(kernel, Cs=[1.0], gammas=[0.01, 0.3], cv=3).fit(X, y)
    for k, gamma in enumerate((0.01, 0.3)):
        fixed = as_kernel(kernel)
        alone = SVCCV(replace(fixed, gamma=gamma), Cs=[1.0], cv=3, refit=False).fit(X, y)
        np.testing.assert_allclose(
            model.cv_results_["mean_test_score"][k], alone.best_score_, atol=1e-2
        )
    assert type(model.kernel_) is type(fixed)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("data", [two_classes(), IRIS], ids=["two", "three"])
def test_probabilities_are_those_of_scikit_learn_on_the_same_folds(
    data, method, multi_class, global_random_seed
):
    X, y = data
    cv = StratifiedKFold(4, shuffle=True, random_state=global_random_seed)
    own = {"multi_class": multi_class, "tol": 1e-7}
    model = SVCCV(Cs=CS, gammas=[0.05, 0.3], cv=cv, calibration=method, **own).fit(X, y)
    best = mc.SVC(model.C_, kernel=mc.Gaussian(model.best_params_["gamma"]), **own)
    peer = CalibratedClassifierCV(best, method=method, cv=cv, ensemble=False).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, peer.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    values = cross_val_predict(best, X, y, cv=cv, method="decision_function")
    np.testing.assert_allclose(model.held_out_values_, values, atol=1e-4)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_count_weights_as_scikit_learn_does(method):
    X, y = two_classes()
    weights = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    model = SVCCV(mc.Gaussian(0.2), Cs=[1.0], cv=3, calibration=method, tol=1e-7).fit(X, y, weights)
    peer = CalibratedClassifierCV(
        mc.SVC(1.0, kernel=mc.Gaussian(0.2), tol=1e-7), method=method, cv=3, ensemble=False
    )
    np.testing.assert_allclose(
        model.predict_proba(X), peer.fit(X, y, weights).predict_proba(X), atol=1e-4
    )
    with_more = SVCCV(mc.Gaussian(0.2), Cs=[1.0], cv=3, calibration=method, tol=1e-7)
    few = weights * (np.arange(len(y)) % 5 > 0)
    rows = few > 0
    folds = [
        (np.flatnonzero(np.arange(240) % 3 != k), np.flatnonzero(np.arange(240) % 3 == k))
        for k in range(3)
    ]
    place = np.cumsum(rows) - 1
    kept = [tuple(place[part[rows[part]]] for part in fold) for fold in folds]
    one = with_more.set_params(cv=folds).fit(X, y, few).predict_proba(X)
    two = with_more.set_params(cv=kept).fit(X[rows], y[rows], few[rows]).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_calibration_needs_folds_that_hold_out_each_row_once():
    X, y = IRIS
    for cv in (ShuffleSplit(3, random_state=0), RepeatedStratifiedKFold(n_splits=2, n_repeats=2)):
        with pytest.raises(
            ValueError, match="cv must hold out each row once for calibration = 'sigmoid'"
        ):
            SVCCV(cv=cv, calibration="sigmoid").fit(X, y)
        without = SVCCV(cv=cv, Cs=[1.0]).fit(X, y)
        with pytest.raises(AttributeError, match="no attribute 'predict_proba'") as caught:
            _ = without.predict_proba
        assert "fit SVCCV(calibration='sigmoid')" in str(caught.value.__cause__)


def test_held_out_values_are_the_mean_of_several_folds_and_nan_of_none():
    X, y = two_classes()
    first, second = np.arange(0, 240, 2), np.arange(1, 240, 2)
    splits = [(first, second[:50]), (first, second[:100])]
    found = (
        SVCCV(mc.Gaussian(0.2), Cs=[1.0], cv=splits, tol=1e-6, refit=False)
        .fit(X, y)
        .held_out_values_
    )
    alone = (
        mc.SVC(1.0, kernel=mc.Gaussian(0.2))
        .fit(X[first], y[first])
        .decision_function(X[second[:100]])
    )
    np.testing.assert_allclose(found[second[:100]], alone, atol=2e-3)
    assert np.isnan(found[first]).all()


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("data", [two_classes(), IRIS], ids=["two", "three"])
def test_a_search_survives_pickling_and_model_files(data, calibration, tmp_path):
    X, y = data
    model = SVCCV(Cs=[0.1, 1.0], gammas=2, cv=2, calibration=calibration).fit(X, y)
    mc.save(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), mc.load(tmp_path / "model")):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert other.best_params_ == model.best_params_


def test_probabilities_of_few_points_come_from_exact_values_and_cause_no_warning():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:300], y[:300]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coarse, fine = (
            SVCCV(Cs=[1.0, 1e4], cv=3, calibration="sigmoid", tol=tol).fit(X, y)
            for tol in (1e-3, 1e-9)
        )
    np.testing.assert_allclose(coarse.held_out_values_, fine.held_out_values_, rtol=1e-6, atol=1e-7)


@pytest.mark.timeout(60)
def test_a_tolerance_below_rounding_ends_with_the_scores_of_an_accurate_search():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((60, 2))
    labels = np.sign(points[:, 0] + 0.5 * rng.standard_normal(60))
    tiny, accurate = (mc.SVCCV(kernel=mc.Gaussian(0.5), tol=tol) for tol in (1e-300, 1e-10))
    with pytest.warns(ConvergenceWarning, match="above tol = 1e-300"):
        tiny.fit(points, labels)
    accurate.fit(points, labels)
    np.testing.assert_array_equal(
        tiny.cv_results_["mean_test_score"], accurate.cv_results_["mean_test_score"]
    )
    np.testing.assert_allclose(
        tiny.decision_function(points), accurate.decision_function(points), atol=1e-5
    )


@pytest.mark.parametrize("kernel", ["linear", mc.Gaussian(0.2)])
@pytest.mark.parametrize("kept", [[0], [0, 1]])
def test_a_callable_gets_a_classifier_of_a_fold_whose_training_rows_have_one_class(kernel, kept):
    X, y = IRIS[0][:100], IRIS[1][:100]
    cv = [
        (np.flatnonzero(np.isin(y, kept)), np.arange(100)),
        (np.arange(0, 100, 2), np.arange(1, 100, 2)),
    ]

    def share(model, X, y):
        assert model.decision_function(X).shape == (len(X),)
        return np.mean(model.predict(X) == y)

    scores = SVCCV(kernel, Cs=[1.0], cv=cv, scoring=share).fit(X, y).cv_results_
    assert scores["split0_test_score"][0] == (0.5 if kept == [0] else 1.0)


def test_a_class_that_a_fold_lacks_has_the_decision_value_minus_1_against_the_rest():
    X, y = IRIS
    model = SVCCV(
        mc.Gaussian(0.2), Cs=[1.0], cv=[(np.flatnonzero(y < 2), np.arange(150))], multi_class="ovr"
    ).fit(X, y)
    assert (model.held_out_values_[:, 2] == -1).all()


def test_probabilities_from_folds_that_lack_a_class_are_warned_of():
    X, y = IRIS
    X, y = X[y < 2], y[y < 2]
    # each fold holds out a class as a whole, and predicts the other one for it
    cv = [(np.flatnonzero(y == 1 - label), np.flatnonzero(y == label)) for label in (0, 1)]
    model = SVCCV(mc.Gaussian(0.2), Cs=[1.0], cv=cv, calibration="sigmoid")
    with pytest.warns(UserWarning, match="2 of 2 folds .* of a class, as fold 0 of 0, .* too low"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.held_out_values_ > 0, y == 0)


def test_probabilities_are_those_of_the_fit_whatever_the_parameter_is_set_to_later():
    X, y = two_classes()
    model = SVCCV(mc.Gaussian(0.2), Cs=[1.0], calibration="sigmoid").fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(
        model.set_params(calibration="isotonic").predict_proba(X), expected
    )
    model = SVCCV(mc.Gaussian(0.2), Cs=[1.0]).fit(X, y).set_params(calibration="sigmoid")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(X)
    assert "was fitted with calibration=None, which gives no probabilities; fit it again" in str(
        caught.value.__cause__
    )


# --- sets of classes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "multi_class"), [(2, "ovo"), (4, "ovo"), (4, "ovr")])
def test_sets_hold_the_classes_that_are_no_stranger_than_a_share_of_held_out_rows(
    c, multi_class, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.standard_normal((120, 2)), rng.permutation(np.arange(120) % c)
    X[:, 0] += y
    new = rng.standard_normal((30, 2))
    model = mc.SVCCV(Cs=[1.0, 10.0], multi_class=multi_class).fit(X[:99], y[:99])
    for confidence in (0.5, 0.9, 0.97):
        found = model.predict_set(new, confidence)
        assert found.shape == (30, c)
        for x, row in zip(model.decision_function(new), found, strict=True):
            for k in range(c):
                sizes = [
                    _strangeness(values, label)
                    for values, label in zip(model.held_out_values_, y, strict=False)
                ]
                share = (1 + sum(size >= _strangeness(x, k) for size in sizes)) / 100
                assert row[k] == (share > 1 - confidence + 1e-9)


def _strangeness(values, k):
    """Return by how much the largest value of other classes exceeds that of class k."""
    if np.ndim(values) == 0:
        return values if k == 0 else -values
    return np.delete(values, k).max() - values[k]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_sets_contain_about_the_given_share_of_new_classes(confidence, global_random_seed):
    inside = []
    for seed in range(10):
        rng = np.random.default_rng([seed, global_random_seed])
        y = rng.integers(0, 3, 1100)
        X = rng.standard_normal((1100, 2)) + 1.5 * np.eye(3)[y][:, :2]
        model = mc.SVCCV(mc.Gaussian(0.3), Cs=[1.0]).fit(X[:100], y[:100])
        inside.append(model.predict_set(X[100:], confidence)[np.arange(1000), y[100:]].mean())
    assert np.mean(inside) == pytest.approx(confidence, abs=0.03)


def test_sets_of_weighted_rows_are_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    model = mc.SVCCV(Cs=[1.0], cv=2).fit(X, y)
    assert model.predict_set(X).dtype == bool
    with pytest.raises(ValueError, match="confidence = 1.0 must be between 0 and 1"):
        model.predict_set(X, 1.0)
    with pytest.raises(AttributeError, match="without sample_weight"):
        model.fit(X, y, np.arange(1.0, 21.0)).predict_set(X)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_labels_follow_the_probabilities_where_asked(calibration, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    y = np.repeat(["a", "b", "c", "d"], [200, 60, 30, 10])
    X = (
        rng.standard_normal((300, 2))
        + 0.7 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[np.searchsorted(list("abcd"), y)]
    )
    new = rng.standard_normal((200, 2))
    options = {"Cs": [10.0], "calibration": calibration, "class_weight": "balanced"}
    votes = mc.SVCCV(**options).fit(X, y)
    probable = mc.SVCCV(labels="probabilities", **options).fit(X, y)
    np.testing.assert_array_equal(probable.predict_proba(new), votes.predict_proba(new))
    expected = probable.classes_[probable.predict_proba(new).argmax(axis=1)]
    np.testing.assert_array_equal(probable.predict(new), expected)
    np.testing.assert_array_equal(votes.predict(new), votes.best_estimator_.predict(new))
    assert np.mean(votes.predict(new) != expected) > 0.1


def test_labels_of_probabilities_need_calibration():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.raises(ValueError, match="set calibration = 'sigmoid' or 'isotonic'"):
        mc.SVCCV(labels="probabilities").fit(X, y)
    with pytest.raises(ValueError, match="labels = 'votes'"):
        mc.SVCCV(labels="votes").fit(X, y)


def test_solutions_of_many_classes_are_in_memory_once():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 40
    X = rng.normal(size=(2000, 4)) + 2 * rng.normal(size=(40, 4))[y]
    search = SVCCV(Cs=[1.0, 10.0, 100.0], cv=2, refit=False).fit(X, y)
    tracemalloc.start()
    search.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # the values of all pairs of classes for each C, and the coefficients of the folds
    assert peak < 2.4 * (8 * 3 * len(y) * 780)
