"""Selection by the span rule has the error of cross-validation."""

import numpy as np
import pytest

from experiments import span_rule


@pytest.mark.data
@pytest.mark.parametrize("name", ["ida_heart", "ida_ringnorm"])
def test_both_rules_select_models_of_about_the_same_error(data, name, settings):
    settings(span_rule, FACTORS=[0.5, 1.0, 4.0], COSTS=[1.0, 10.0])
    results = span_rule.compared(data(name), 2)
    assert abs(np.mean(results["5-fold"][0] - results["span rule"][0])) < 3


@pytest.mark.data
@pytest.mark.parametrize("name", ["ida_heart", "ida_banana", "ripley_synth"])
def test_the_rule_is_near_the_true_error_of_the_selected_model(data, name):
    data(name)
    estimate, truth, _, _ = span_rule.beside_truth(*span_rule.first_split(name))
    assert abs(estimate - truth) <= 1.5
