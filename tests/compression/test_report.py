"""Reports of compressions: scores and changes counted by hand."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

import mercer as mc
from mercer.compression.report import CompressionReport, answers, measure


class _Constant(RegressorMixin, BaseEstimator):
    def __init__(self, answers):
        self.answers = answers

    def predict(self, _X):
        return self.answers


class _Classifier(ClassifierMixin, BaseEstimator):
    def __init__(self, answers):
        self.answers = answers

    def predict(self, _X):
        return self.answers


class _Coordinates(BaseEstimator):
    def __init__(self, answers):
        self.answers = answers

    def transform(self, _X):
        return self.answers


def test_accuracies_and_changes_are_those_counted_by_hand():
    y = np.array([0, 0, 1, 1])
    before, after = _Classifier(np.array([0, 1, 1, 1])), _Classifier(np.array([1, 1, 1, 0]))
    seen = measure(before, after, np.zeros((4, 1)), y)
    assert (seen.rows, seen.score_before, seen.score_after, seen.changed) == (4, 0.75, 0.25, 0.5)
    assert seen.loss == 0.5
    assert seen.standard_error == pytest.approx(np.sqrt(0.25 * 0.75 / 4))
    assert seen.standard_error_of_loss == pytest.approx(np.std([1, 0, 0, 1]) / 2)


def test_without_labels_a_classifier_is_compared_with_the_original():
    before, after = _Classifier(np.array([0, 1])), _Classifier(np.array([0, 0]))
    seen = measure(before, after, np.zeros((2, 1)))
    assert (seen.score_before, seen.score_after) == (1.0, 0.5)


def test_the_score_of_a_regressor_is_r2(global_random_seed):
    y, old, new = np.random.default_rng(global_random_seed).normal(size=(3, 50))
    seen = measure(_Constant(old), _Constant(new), None, y)
    assert seen.score_before == pytest.approx(r2_score(y, old))
    assert seen.score_after == pytest.approx(r2_score(y, new))
    assert seen.changed == np.mean(np.abs(new - old) > 0.1 * old.std())


def test_the_score_of_several_targets_is_their_mean_r2(global_random_seed):
    y, old, new = np.random.default_rng(global_random_seed).normal(size=(3, 50, 2)) * [1.0, 10.0]
    seen = measure(_Constant(old), _Constant(new), None, y)
    assert seen.score_before == pytest.approx(r2_score(y, old))
    assert seen.score_after == pytest.approx(r2_score(y, new))
    before, after = (np.mean((y - each) ** 2 / y.var(axis=0), axis=1) for each in (old, new))
    assert seen.standard_error == pytest.approx(after.std() / np.sqrt(50))
    assert seen.standard_error_of_loss == pytest.approx((after - before).std() / np.sqrt(50))


def test_coordinates_are_compared_with_the_original_ones_whatever_the_labels(global_random_seed):
    old, new = np.random.default_rng(global_random_seed).normal(size=(2, 50, 3))
    seen = measure(_Coordinates(old), _Coordinates(new), None, np.zeros(50))
    assert seen.score_before == 1
    assert seen.score_after == pytest.approx(
        1 - np.sum((new - old) ** 2) / np.sum((old - old.mean(axis=0)) ** 2)
    )


def test_answers_are_the_coordinates_of_a_transformer():
    assert answers(_Coordinates(1), None) == answers(_Constant(1), None) == 1


def test_the_text_contains_all_numbers():
    y = np.array([0, 0, 1, 1])
    seen = measure(_Classifier(y), _Classifier(np.array([0, 0, 1, 0])), np.zeros((4, 1)), y)
    report = CompressionReport(100, 10, np.array([0.25]), seen, "n_vectors = 10")
    assert report.evaluations_saved == 90
    for part in (
        "100 vectors before",
        "10 after",
        "10 times smaller",
        "0.25",
        "1.0000 before",
        "0.7500 after",
        "25.00 %",
    ):
        assert part in str(report)


def test_a_model_of_as_many_vectors_is_not_called_smaller():
    assert CompressionReport(7, 7, np.zeros(1), None, "").verdict.startswith(
        "as large as before, relative error"
    )


def test_the_distance_in_feature_space_is_printed_where_it_was_minimised_only(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    fitted = mc.compress(model, X, y, n_vectors=4, random_state=0).report_
    assert fitted.fitted_to_outputs
    assert "feature space" not in str(fitted)
    for report in (
        mc.compress(model, X, y, n_vectors=4, method="greedy").report_,
        mc.compress(model, n_vectors=4).report_,
        mc.compress(model, X, y, n_vectors=1000).report_,
    ):
        assert not report.fitted_to_outputs
        assert (
            f"relative error in feature space: {report.relative_error.max():.2g} at worst"
            in str(report)
        )


def test_a_compressed_model_is_saved_and_loaded_with_its_report(tmp_path, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(60, 2))
    y = (X[:, 0] ** 2 + X[:, 1] > 0.5).astype(int)
    small = mc.compress(
        mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y), X, y, n_vectors=4, random_state=0
    )
    mc.save(small, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), small.decision_function(X))
    assert loaded.report_.measured == small.report_.measured
    assert str(loaded.report_) == str(small.report_)
    np.testing.assert_array_equal(loaded.report_.relative_error, small.report_.relative_error)


@pytest.mark.parametrize("several", [False, True])
def test_a_constant_target_has_the_score_of_scikit_learn(several, global_random_seed):
    y, old, new = np.random.default_rng(global_random_seed).normal(size=(3, 50, 2))
    y[:, 0] = 0.25
    old[:, 0] = 0.25
    y, old, new = (each if several else each[:, 0] for each in (y, old, new))
    seen = measure(_Constant(old), _Constant(new), None, y)
    assert seen.score_before == pytest.approx(r2_score(y, old))
    assert seen.score_after == pytest.approx(r2_score(y, new))
    assert np.isfinite([seen.loss, seen.standard_error, seen.standard_error_of_loss]).all()


@pytest.mark.parametrize(
    "model", [mc.SVR(kernel=mc.Gaussian(0.5)), mc.KernelPCA(2, kernel=mc.Gaussian(0.5))], ids=repr
)
def test_one_row_held_out_gives_finite_scores(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = None if hasattr(model, "transform") else X[:, 0] ** 2
    seen = mc.compress(
        model.fit(X, y), X, y, n_vectors=5, holdout=0.01, random_state=0
    ).report_.measured
    assert (seen.rows, seen.score_after) == (1, 0.0)
    assert np.isfinite([seen.score_before, seen.standard_error, seen.standard_error_of_loss]).all()
