"""Intercepts are optimal, and the penalty selects support vectors on digits."""

import numpy as np
import pytest
from experiments.usps_features import digits

from experiments import max_norm_selection


@pytest.mark.parametrize("seed", range(3))
def test_no_other_intercept_has_a_smaller_hinge_loss(seed):
    rng = np.random.default_rng(seed)
    values, signs = rng.normal(size=(40, 2)), np.where(rng.uniform(size=(40, 2)) < 0.3, 1.0, -1.0)
    b = max_norm_selection.intercepts(values, signs)

    def loss(b):
        return np.maximum(0, 1 - signs * (values + b)).sum(axis=0)

    assert np.all(loss(b) <= np.min([loss(b + step) for step in np.linspace(-2, 2, 401)], axis=0) + 1e-12)


@pytest.mark.data
@pytest.mark.parametrize("weighted", [True, False])
def test_the_penalty_keeps_the_wanted_number_of_vectors(data, weighted):
    data("usps")
    train, y, test, y_test = digits(smoothed=True)
    parts = train[::6], y[::6], test[::4], y_test[::4]
    model = max_norm_selection.classifier("smoothed", *parts[:2])
    row = max_norm_selection.selection(model, parts, weighted, 200)
    assert row.vectors == 200
    assert abs(row.kept - 200) <= 4
    assert row.gap <= 1e-4
    full = max_norm_selection.error(model.expansion_(parts[2]), model.intercept_, parts[3])
    assert row.error < full + 6
