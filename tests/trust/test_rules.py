"""The rules score right errors, wrong errors and wrong results as they should."""

import warnings

import numpy as np
import pytest
from tests.trust import rules
from tests.trust.calls import call
from tests.trust.defects import Defect

import mercer as mc

BAD = Defect("negative", lambda _: -1.0)


def fails(error):
    def run(C):
        raise error

    return run


def warns(C):
    warnings.warn("divide by zero", RuntimeWarning, stacklevel=1)
    return 1.0


def scored(function, defect=BAD):
    return rules.refusal(call("f", function, C=("positive", lambda: 1.0)), "C", defect).kind


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (fails(ValueError("C = -1.0 must be above 0.")), "ok"),
        (fails(ValueError("C must be above 0.")), "unclear"),
        (fails(ValueError("-1.0 must be above 0.")), "unclear"),
        (fails(ValueError("C = -1.0.")), "unclear"),
        (fails(IndexError("C = -1.0 must be above 0.")), "unclear"),
        (fails(np.linalg.LinAlgError("C = -1.0 must be above 0.")), "unclear"),
        (fails(ValueError("C = -1.0 must be above 0. " + "x" * 1000)), "unclear"),
        (lambda C: 1.0, "silent"),
        (lambda C: np.array([1.0, np.nan]), "nan"),
        (lambda C: {"a": (1.0, [np.inf])}, "nan"),
    ],
    ids=[
        "clear",
        "no value",
        "no name",
        "no remedy",
        "type",
        "type of NumPy",
        "long",
        "accepted",
        "NaN",
        "inf",
    ],
)
def test_an_error_must_be_of_the_right_type_and_name_the_argument_the_value_and_the_remedy(
    function, kind
):
    assert scored(function) == kind


def test_an_extreme_value_may_be_used_without_a_warning_of_numpy():
    tiny = Defect("tiny", lambda _: 1e-300, "either")
    assert scored(lambda C: C, tiny) == "ok"
    assert scored(warns, tiny) == "unclear"


def test_a_changed_estimator_is_a_miss():
    class Estimator:
        def __init__(self):
            self.C = 1.0

    estimator = Estimator()

    def run(values, before):
        before.append((estimator, rules.fingerprint(estimator)))
        estimator.coef_ = np.ones(2)
        raise ValueError("C = -1.0 must be above 0.")

    made = call("f", None, C=("positive", lambda: 1.0))
    outcome = rules.refusal(type(made)("f", made.arguments, run), "C", BAD)
    assert (outcome.kind, "changed" in outcome.evidence) == ("unclear", True)


def test_values_that_a_model_prepares_of_its_attributes_are_no_change():
    model = mc.SVC(kernel="rbf", gamma=1.0).fit([[0.0], [1.0]], [0, 1])
    before = rules.fingerprint(model)
    model.predict([[0.5]])
    assert vars(model)["_prepared"]
    assert rules.fingerprint(model) == before


@pytest.mark.parametrize(("found", "kind"), [(2.0, "ok"), (2.1, "silent"), (np.nan, "nan")])
def test_another_container_must_give_the_same_result(found, kind):
    made = call(
        "f", lambda X: found if isinstance(X, list) else 2.0, X=("values", lambda: np.ones(2))
    )
    assert rules.sameness(made, "X", Defect("list", lambda v: v.tolist(), "same")).kind == kind


def test_the_distance_of_results_is_relative_to_each_array():
    assert rules.distance([np.array([1e9])], [np.array([1e9 + 1])]) == pytest.approx(1e-9)
    assert rules.distance([np.ones(2)], [np.ones(3)]) == np.inf
    assert rules.distance([], []) == 0
    assert rules.distance([np.array([2.0, np.inf])], [np.array([1.0, np.inf])]) == 0.5
    assert rules.distance([np.array([2.0, np.inf])], [np.array([2.0, -np.inf])]) == np.inf
