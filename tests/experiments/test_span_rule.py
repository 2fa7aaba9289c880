"""Choosing by the span rule costs a fraction of cross-validation, and errs as little."""

import numpy as np
import pytest

from experiments import span_rule


@pytest.mark.data
@pytest.mark.parametrize("name", ["ida_heart", "ida_ringnorm"])
def test_both_rules_choose_machines_of_about_the_same_error(data, name, monkeypatch):
    monkeypatch.setattr(span_rule, "FACTORS", [0.5, 1.0, 4.0])
    monkeypatch.setattr(span_rule, "PRICES", [1.0, 10.0])
    results = span_rule.compared(data(name), 2)
    assert abs(np.mean(results["5-fold"][0] - results["span rule"][0])) < 3


@pytest.mark.data
@pytest.mark.parametrize("name", ["ida_heart", "ida_banana", "ripley_synth"])
def test_the_rule_is_near_the_truth_at_what_it_chooses(data, name):
    data(name)
    estimate, truth, _, _ = span_rule.beside_truth(*span_rule.first_split(name))
    assert abs(estimate - truth) <= 1.5
