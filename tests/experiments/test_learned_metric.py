"""A learned metric lowers the error of ridge regression where few directions matter."""

import numpy as np
import pytest

from experiments import learned_metric


@pytest.mark.data
def test_the_metric_step_lowers_the_error_on_kin40k(data, monkeypatch):
    data("uci_kin40k")
    monkeypatch.setattr(learned_metric, "FACTORS", [2.0])
    monkeypatch.setattr(learned_metric, "ALPHAS", [1e-2])
    found = learned_metric.split_errors("uci_kin40k", np.inf, 400, 0)
    assert found["metric"][0] < 0.9 * found["ridge"][0]


def test_errors_are_in_per_cent():
    y = np.eye(4)
    assert learned_metric.error("letter", y[[0, 1, 2, 0]], y) == 25
    assert learned_metric.error("abalone", y + 0.1, y) == pytest.approx(10)
