"""Parts of a search: rows of folds, names and ranks of scores, checks before any kernel value is computed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, cross_val_score

import mercer as mc

X = np.random.default_rng(0).standard_normal((24, 2))
Y = np.arange(24) % 2
# the first row of the test rows tells the fold
FOLDS = [(np.arange(12), np.arange(12, 24)), (np.arange(12, 24), np.arange(12))]


def scoring(scores):
    """Return the scorer with the scores {(C, gamma): those of the folds}."""
    return lambda model, rows, _: scores[model.C, model.kernel.gamma][int((rows[0] == X[0]).all())]


def test_rows_of_splits_are_indices_or_masks_and_those_of_weight_0_are_left_out():
    weights = np.where(np.arange(24) % 5 == 1, 0.0, 1.0 + np.arange(24) % 3)
    kept = np.flatnonzero(weights)
    place = np.cumsum(weights > 0) - 1
    masks = [(np.isin(np.arange(24), train), test[::-1]) for train, test in FOLDS]
    rows = [[place[part[weights[part] > 0]] for part in fold] for fold in FOLDS]
    search = mc.SVRCV(mc.Gaussian(1.0), Cs=[1.0, 3.0], tol=1e-9, refit=False, cv=masks)
    plain = clone(search).set_params(cv=rows).fit(X[kept], X[kept, 0], weights[kept])
    found = search.fit(X, X[:, 0], weights).cv_results_
    for i in range(2):
        name = f"split{i}_test_score"
        np.testing.assert_allclose(found[name], plain.cv_results_[name], rtol=1e-7)


def test_scores_that_are_nan_rank_last_and_equals_share_a_rank():
    scores = {(1.0, 0.7): (0.5, 0.7), (2.0, 0.7): (np.nan, 1.0), (3.0, 0.7): (0.5, 0.7)}
    search = mc.SVCCV(mc.Gaussian(0.7), Cs=[1.0, 2.0, 3.0], cv=FOLDS, scoring=scoring(scores))
    found = search.fit(X, Y).cv_results_
    assert found["rank_test_score"].tolist() == [1, 3, 1]
    assert found["params"] == [{"C": 1.0}, {"C": 2.0}, {"C": 3.0}]
    np.testing.assert_allclose(found["std_test_score"][0], 0.1)


def test_means_of_scores_that_differ_by_rounding_are_equal_and_the_smallest_C_is_best():
    scores = {(1.0, 0.7): (0.2, 0.7), (2.0, 0.7): (0.1, 0.8), (3.0, 0.7): (0.3, 0.5)}
    assert 0.2 + 0.7 < 0.1 + 0.8
    search = mc.SVCCV(mc.Gaussian(0.7), Cs=[3.0, 2.0, 1.0], cv=FOLDS, scoring=scoring(scores))
    found = search.fit(X, Y)
    assert found.cv_results_["rank_test_score"].tolist() == [3, 1, 1]
    assert found.C_ == 1.0


@pytest.mark.parametrize("estimator", [mc.SVCCV, mc.SVRCV])
@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"cv": 1}, ValueError, "cv = 1 must be at least 2"),
        ({"gammas": 10**9}, ValueError, "gammas = 1000000000 must be at most"),
        ({"scoring": "best"}, ValueError, "scoring = 'best'"),
        ({"cells": 0}, ValueError, "cells = 0 must be at least 1"),
        ({"cells": 1.5}, TypeError, "cells must be a whole number, got 1.5"),
        (
            {"cells": 100, "scoring": max},
            ValueError,
            "scoring = <built-in function max> must be None or a scorer",
        ),
    ],
)
def test_what_is_wrong_is_found_before_the_kernel_is_called(estimator, params, error, words):
    class Uncallable(mc.Gaussian):
        def resolve(self, X, sample_weight=None):
            raise AssertionError

    with pytest.raises(error, match=words):
        estimator(Uncallable(1.0), **params).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_cells_are_ordered_as_those_of_a_grid_search():
    cells = [(1.0, 0.5), (1.0, 0.1), (2.0, 0.5), (2.0, 0.1)]
    scores = {cell: (k, k) for k, cell in enumerate(cells)}
    search = mc.SVCCV(
        mc.Gaussian(1.0), Cs=[1.0, 2.0], gammas=[0.5, 0.1], cv=FOLDS, scoring=scoring(scores)
    )
    found = search.fit(X, Y).cv_results_
    assert [(cell["C"], cell["gamma"]) for cell in found["params"]] == cells
    assert found["rank_test_score"].tolist() == [4, 3, 2, 1]
    for i, gamma in enumerate([0.5, 0.1]):
        alone = clone(search).set_params(gammas=[gamma], scoring=None).fit(X, Y).cv_results_
        assert found["n_iter"][i::2].tolist() == alone["n_iter"].tolist()
    assert len(set(found["n_iter"].tolist())) > 2


@pytest.mark.parametrize("estimator", [mc.SVCCV, mc.SVRCV])
@pytest.mark.parametrize("part", ["score", "fit"])
def test_a_fold_without_a_row_of_positive_weight_is_refused(estimator, part):
    X, y, weights = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2, np.ones(12)
    rows = [np.arange(8), np.arange(8, 12)]
    weights[rows[part == "score"]] = 0
    with pytest.raises(
        ValueError, match=r"of positive sample_weight; fold 0 has (8 and 0|0 and 4); give other"
    ):
        estimator(cv=[rows]).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("estimator", [mc.SVCCV, mc.SVRCV])
@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ([], "cv must have at least one fold, got none"),
        (
            [([0, 1, 2], [12])],
            "numbers of the 12 rows, or masks of that length: index 12 is out of bounds",
        ),
        (
            [(np.arange(11) < 6, [11])],
            "numbers of the 12 rows, or masks of that length: boolean index did not",
        ),
        (
            [(np.arange(6.0), np.arange(6.0, 12.0))],
            "numbers of the 12 rows, or masks of that length: arrays used",
        ),
    ],
)
def test_folds_that_are_none_or_hold_no_rows_of_the_data_are_refused(estimator, cv, words):
    with pytest.raises(ValueError, match=words):
        estimator(cv=cv).fit(np.arange(12.0).reshape(-1, 1), np.arange(12) % 2)


def test_a_warning_of_folds_states_the_tolerance_that_was_used():
    rng = np.random.default_rng(0)
    X, y = 1e3 * rng.standard_normal((30, 2)) + 1e4, 1e-4 * rng.standard_normal(30)
    with pytest.warns(UserWarning, match="in some folds") as caught:
        mc.SVRCV("linear", Cs=[1.0, 1e4], epsilon=1e-6, cv=3, refit=False).fit(X, y)
    said = [str(each.message) for each in caught if "in some folds" in str(each.message)]
    violation, tol = (
        float(said[0].split(start)[1].split(end)[0])
        for start, end in (("up to ", ","), ("tol = ", ";"))
    )
    assert violation > tol
    assert tol == pytest.approx(1e-3 * 2.0 ** np.floor(np.log2(np.std(y))), rel=1e-2)


@pytest.mark.parametrize(
    ("search", "options"),
    [
        (mc.SVCCV(Cs=[1.0], cv=3, calibration="sigmoid"), {"calibration": None, "refit": False}),
        (mc.SVRCV(Cs=[1.0], cv=3), {"refit": False}),
    ],
)
def test_a_fit_without_a_model_keeps_none_of_an_earlier_fit(search, options):
    X = np.random.default_rng(0).normal(size=(30, 2))
    search.fit(X, X[:, 0] > 0).set_params(**options).fit(X, X[:, 1] > 0)
    assert vars(search).keys() == vars(clone(search).fit(X, X[:, 1] > 0)).keys()
    assert not hasattr(search, "expansion_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize(
    ("search", "scoring", "defined"),
    [
        (mc.SVRCV(Cs=[1.0]), None, "neg_mean_squared_error"),
        (mc.SVCCV(Cs=[1.0]), "roc_auc", "accuracy"),
    ],
)
def test_scores_that_single_rows_do_not_have_are_refused_with_their_fold(search, scoring, defined):
    X = np.arange(12.0)[:, None]
    y = np.arange(12) % 2
    search = clone(search).set_params(cv=LeaveOneOut(), scoring=scoring)
    with pytest.raises(
        ValueError, match=f"scoring = {scoring!r} must .* NaN in fold 0, .* holds out 1 .*{defined}"
    ):
        search.fit(X, y)
    score = search.set_params(scoring=defined).fit(X, y).best_score_
    known = cross_val_score(search.best_estimator_, X, y, cv=LeaveOneOut(), scoring=defined)
    assert score == pytest.approx(known.mean(), abs=1e-2)
