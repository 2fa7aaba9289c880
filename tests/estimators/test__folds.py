"""Folds: scores that are known are those that would be computed, and results are ranked."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import mercer as mc
from mercer.estimators._folds import Fold, Found, results, split
from mercer.estimators._svc_path import with_values
from mercer.estimators.svc import SVC
from mercer.solvers.svm.rows import rows_of

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_known_scores_are_those_of_a_classifier_of_the_training_rows(multi_class):
    model = SVC(kernel=mc.Gaussian(0.2), multi_class=multi_class)
    problem = model._problem(X, Y, None)
    train, test = np.arange(150) % 3 > 0, np.arange(0, 150, 3)
    found = Found(problem, *split(train, test, np.ones(150)), 1)
    for m, (machine, values) in enumerate(
        with_values(problem, rows_of(problem.kernel, problem.points, 0), 10**9, float)
    ):
        found.solve(m, machine, values, [2.0], 1e-8)
    fold, alone = (
        Fold(model, problem, found, 0, X[test]),
        SVC(2.0, kernel=mc.Gaussian(0.2), multi_class=multi_class).fit(X[train], Y[train]),
    )
    for points in (fold._held_out, X):
        np.testing.assert_allclose(fold.decision_function(points), alone.decision_function(points), atol=1e-6)
        np.testing.assert_array_equal(fold.predict(points), alone.predict(points))


def test_rows_drawn_twice_have_twice_the_price():
    problem = SVC(kernel="linear")._problem(X, Y, None)
    found = Found(problem, np.array([0, 0, 149]), np.array([1]), 1)
    assert found.weight[np.isin(problem.order, [0, 149, 1])].tolist() == [2.0, 0.0, 1.0]


def test_scores_that_are_no_numbers_rank_last_and_equals_share_a_rank():
    found = results(np.array([1.0, 2.0, 3.0]), np.array([[0.5, np.nan, 0.5], [0.7, 1.0, 0.7]]), np.zeros(3, int))
    assert found["rank_test_score"].tolist() == [1, 3, 1]
    assert found["params"] == [{"C": 1.0}, {"C": 2.0}, {"C": 3.0}]
