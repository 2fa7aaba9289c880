"""A learned metric lowers the error of ridge regression where few directions matter."""

import numpy as np
import pytest

from experiments import learned_metric


@pytest.mark.data
def test_the_metric_step_lowers_the_error_on_kin40k(data, settings):
    data("uci_kin40k")
    settings(learned_metric, FACTORS=[2.0], METRICS=[(1, 1.0), (1, 0.5)], ALPHAS=[1e-2])
    (ridge, metric), _, chosen = learned_metric.split_errors("uci_kin40k", np.inf, 400, 0)
    assert chosen in learned_metric.METRICS
    assert metric < 0.9 * ridge


def test_every_row_is_held_out_once():
    pairs = learned_metric.folds(np.zeros((10, 1)))
    assert sorted(np.concatenate([kept for _, kept in pairs])) == list(range(10))
    assert all(sorted([*rest, *kept]) == list(range(10)) for rest, kept in pairs)


def test_the_fit_of_ridge_regression_is_kept_where_no_metric_is_better(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), rng.normal(size=(90, 1))
    settings(learned_metric, metric=lambda *_: np.eye(3))
    models, chosen, _ = learned_metric.tuned("abalone", np.inf, X, y)
    assert chosen is None
    assert models["metric"] is models["ridge"]


def test_errors_are_in_per_cent():
    y = np.eye(4)
    assert learned_metric.error("letter", y[[0, 1, 2, 0]], y) == 25
    assert learned_metric.error("abalone", y + 0.1, y) == pytest.approx(10)
