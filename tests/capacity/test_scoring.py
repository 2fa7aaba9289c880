import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer.capacity import Resubstitution, ridge_score, span_rule, span_score


def test_a_search_by_the_span_rule_chooses_its_least_error(global_random_seed):
    X, y = make_moons(120, noise=0.3, random_state=global_random_seed)
    grid = {"kernel__gamma": [0.01, 1.0, 100.0], "C": [0.1, 10.0]}
    search = GridSearchCV(mc.SVC(), grid, scoring=span_score, cv=Resubstitution()).fit(X, y)
    errors = {
        (gamma, C): span_rule(mc.SVC(C, kernel=mc.Gaussian(gamma)).fit(X, y), X, y).value
        for gamma in grid["kernel__gamma"]
        for C in grid["C"]
    }
    assert np.isclose(1 - search.best_score_, min(errors.values()))
    assert errors[search.best_params_["kernel__gamma"], search.best_params_["C"]] == min(
        errors.values()
    )


def test_a_given_matrix_can_be_searched():
    X, y = make_moons(60, noise=0.3, random_state=0)
    K = mc.Gaussian(1.0)(X)
    search = GridSearchCV(
        mc.SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, scoring=span_score, cv=Resubstitution()
    )
    assert search.fit(K, y).best_score_ > 0.7


def test_the_estimator_may_be_the_last_step_of_a_pipeline():
    X, y = make_moons(80, noise=0.3, random_state=0)
    pipe = make_pipeline(StandardScaler(), mc.SVC(kernel=mc.Gaussian(1.0))).fit(X, y)
    assert span_score(pipe, X, y) == 1 - span_rule(pipe[-1], pipe[:-1].transform(X), y).value


def test_the_score_of_a_ridge_regression_is_that_of_leaving_one_out(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(0, 6, (50, 1))
    y = np.sin(X.ravel()) + rng.normal(0, 0.1, 50)
    model = mc.KernelRidge(0.1, kernel=mc.Gaussian(1.0)).fit(X, y)
    assert np.isclose(
        ridge_score(model, X, y), r2_score(y, cross_val_predict(model, X, y, cv=LeaveOneOut()))
    )


def test_the_score_of_a_regression_is_near_that_of_leaving_one_out(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(100, 4))
    y = np.sin(X[:, 0]) + X[:, 1] + rng.normal(0, 0.1, 100)
    model = mc.SVR(C=10.0, kernel=mc.Gaussian(0.3), epsilon=0.05).fit(X, y)
    assert (
        abs(span_score(model, X, y) - r2_score(y, cross_val_predict(model, X, y, cv=LeaveOneOut())))
        < 0.05
    )


def test_other_points_than_those_of_the_fit_are_refused():
    X, y = make_moons(60, noise=0.3, random_state=0)
    with pytest.raises(ValueError, match="Resubstitution"):
        span_score(mc.SVC().fit(X[:40], y[:40]), X[40:], y[40:])
    with pytest.raises(ValueError, match="Resubstitution"):
        ridge_score(mc.KernelRidge().fit(X[:40], y[:40]), X[40:], y[40:])
    with pytest.raises(TypeError, match="SVC, which has no exact"):
        ridge_score(mc.SVC().fit(X, y), X, y)


def test_there_is_one_fold_of_everything():
    ((train, test),) = Resubstitution().split(np.ones((5, 2)))
    assert list(train) == list(test) == [0, 1, 2, 3, 4]
    assert Resubstitution().get_n_splits() == 1


@pytest.mark.parametrize(
    "bad", [np.ones(20), np.full((20, 1), np.nan), {}, None], ids=["1d", "nan", "dict", "none"]
)
def test_ridge_score_reads_its_points(bad):
    X = np.linspace(0, 1, 20)[:, None]
    fitted = mc.KernelRidge(0.1).fit(X, X.ravel())
    with pytest.raises((TypeError, ValueError), match="X"):
        ridge_score(fitted, bad, X.ravel())
