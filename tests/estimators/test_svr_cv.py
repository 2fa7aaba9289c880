"""SVRCV: the scores of a grid search over SVR, at the cost of a few fits."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer as mc
from mercer.estimators.svr_cv import SVRCV

CS, GAMMAS = [1.0, 30.0, 1000.0], [0.5, 0.02]


def data(dtype=np.float64):
    X, y = load_diabetes(return_X_y=True)
    return (X[:220] / X.std()).astype(dtype), y[:220]


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_those_of_a_grid_search_over_scikit_learn(scoring, dtype):
    X, y = data(dtype)
    model = SVRCV(Cs=CS, gammas=GAMMAS, epsilon=5.0, cv=3, scoring=scoring, tol=1e-4).fit(X, y)
    grid = {"C": CS, "gamma": GAMMAS}
    peer = GridSearchCV(SVR(epsilon=5.0, tol=1e-4), grid, cv=3, scoring=scoring).fit(X, y)
    assert model.cv_results_["params"] == peer.cv_results_["params"]
    tolerance = 1e-3 if scoring is None else 0.02
    for name in ("mean_test_score", "std_test_score", "split2_test_score"):
        np.testing.assert_allclose(model.cv_results_[name], peer.cv_results_[name], atol=tolerance)
    assert model.best_params_ == peer.best_params_
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-2)
    assert model.kernel_ == model.best_estimator_.kernel_ == mc.Gaussian(peer.best_params_["gamma"])


def test_held_out_values_are_predictions_of_the_other_folds(global_random_seed):
    X, y = data()
    cv = KFold(4, shuffle=True, random_state=global_random_seed)
    model = SVRCV(mc.Gaussian(0.05), Cs=[10.0, 100.0], epsilon=5.0, cv=cv, tol=1e-6).fit(X, y)
    values = cross_val_predict(
        mc.SVR(model.C_, kernel=mc.Gaussian(0.05), epsilon=5.0, tol=1e-6), X, y, cv=cv
    )
    np.testing.assert_allclose(model.held_out_values_, values, atol=0.02)


def test_an_affine_change_of_targets_changes_nothing():
    X, y = data()
    one = SVRCV(mc.Gaussian(0.05), Cs=[10.0, 100.0], epsilon=5.0, cv=3, tol=1e-6).fit(X, y)
    other = SVRCV(mc.Gaussian(0.05), Cs=[1e4, 1e5], epsilon=5e3, cv=3, tol=1e-3).fit(
        X, 1e3 * y - 7e6
    )
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=0, atol=1e-5
    )
    assert other.C_ == 1e3 * one.C_


def test_a_weight_of_two_is_a_row_given_twice_in_every_fold():
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    folds, twice = np.arange(len(y)) % 3, np.repeat(np.arange(len(y)), weights)
    splits, repeated = (
        [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(3)]
        for part in (folds, folds[twice])
    )
    one = SVRCV(mc.Gaussian(0.05), Cs=[1.0, 10.0], cv=splits, tol=1e-6).fit(X, y, weights)
    two = SVRCV(mc.Gaussian(0.05), Cs=[1.0, 10.0], cv=repeated, tol=1e-6).fit(X[twice], y[twice])
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], atol=1e-4
    )


def test_a_callable_gets_the_model_that_known_predictions_are_of():
    X, y = data()
    seen = []

    def error(model, X, y):
        seen.append(model)
        return -mean_absolute_error(y, model.predict(X))

    options = {"Cs": [10.0, 100.0], "cv": 3, "epsilon": 5.0}
    one, other = (
        SVRCV(mc.Gaussian(0.05), scoring=each, **options).fit(X, y)
        for each in (error, "neg_mean_absolute_error")
    )
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-6
    )
    assert [(type(each), each.C) for each in seen] == [(mc.SVR, C) for C in (10.0, 100.0)] * 3


def test_the_best_model_is_certified_stored_and_pickled(tmp_path):
    X, y = data()
    model = SVRCV(Cs=[1.0, 30.0], gammas=3, epsilon=5.0, cv=2).fit(X, y)
    found = mc.certify(model, X, y)
    assert 0 <= found.gap <= 1e-3 * abs(found.dual)
    np.testing.assert_array_equal(model.intercept_, model.best_estimator_.intercept_)
    np.testing.assert_allclose(
        model.expansion_(X)[:, 0] + model.intercept_, model.predict(X), rtol=1e-10
    )
    mc.save(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), mc.load(tmp_path / "model")):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.best_params_ == model.best_params_


def test_targets_within_epsilon_are_predicted_by_a_constant():
    search = SVRCV(mc.Gaussian(1.0), Cs=[1.0], cv=2, epsilon=10.0)
    with pytest.warns(UserWarning, match="SVR has no support vectors"):
        model = search.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1, 2, 3])
    np.testing.assert_allclose(model.held_out_values_, [2.5, 2.5, 0.5, 0.5])


def test_without_refit_there_is_no_predict():
    X, y = data()
    model = SVRCV(mc.Gaussian(0.05), Cs=[1.0], cv=2, refit=False).fit(X, y)
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match=r"SVRCV was fitted with refit=False.*fit SVR\(C=1\)"):
        model.expansion_  # noqa: B018


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"Cs": [1.0, -1.0]}, ValueError, r"Cs\[1\] = -1"),
        ({"epsilon": -0.1}, ValueError, "epsilon = -0.1"),
        ({"epsilon": "wide"}, TypeError, "epsilon"),
        ({"gammas": 2, "kernel": "linear"}, ValueError, "has no parameter gamma"),
        ({"gammas": 2.5}, TypeError, "gammas"),
        ({"tol": 0.0}, ValueError, "tol"),
        ({"Cs": 10**12}, ValueError, "Cs = 1000000000000 must be at most"),
        ({"cv": 1}, ValueError, "cv = 1 must be at least 2"),
        ({"cv": 500}, ValueError, "cv = 500 must be at most"),
        ({"cv": True}, TypeError, "cv must be a number of folds"),
        ({"cv": [1, 2]}, TypeError, r"cv must hold pairs \(train, test\)"),
        ({"cv": "five"}, TypeError, "cv must be a number of folds"),
        ({"scoring": "best"}, ValueError, "scoring = 'best'"),
        ({"scoring": 3}, TypeError, "scoring must be a callable"),
    ],
)
def test_bad_parameters_are_named(params, error, words):
    with pytest.raises(error, match=words):
        SVRCV(**params).fit(*data())


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        each
        for settings in ({}, {"gammas": 2, "epsilon": 0.0}, {"kernel": "linear", "cv": 3})
        for each in estimator_checks_generator(SVRCV(**{"cv": 2, "Cs": [0.1, 10.0]} | settings))
    ],
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", None),
)
@pytest.mark.filterwarnings("ignore")
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("n", "cells"), [(200, None), (400, None), (600, 200)])
def test_scores_on_features_far_from_the_origin_are_those_on_centred_features(
    n, cells, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(n, 20))
    y = X[:, 0] + 0.5 * rng.normal(size=n)
    near, far = (
        SVRCV(mc.Linear(), Cs=[0.1, 1.0, 10.0], cells=cells, cv=KFold(3)).fit(rows, y)
        for rows in (X, X + 1000)
    )
    np.testing.assert_allclose(
        far.cv_results_["mean_test_score"], near.cv_results_["mean_test_score"], atol=0.02
    )
