import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import OneClassSVM

from mercer import Kernelized, VirtualSupportVectors
from mercer.estimators._wrapper import Wrapper, refuse_inner_weights

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "score",
)


class Echo(Wrapper):
    """Its methods return what they pass on."""

    def _apply(self, method, X, *args, **options):
        return method, X, args, options


@pytest.mark.parametrize(
    "inner", [LinearRegression(), LogisticRegression(), KMeans(), OneClassSVM()]
)
@pytest.mark.parametrize(
    "wrap", [Kernelized, lambda inner: VirtualSupportVectors(inner, [np.negative])]
)
def test_a_method_is_there_if_and_only_if_the_wrapped_estimator_has_it(wrap, inner):
    model = wrap(inner)
    assert {name: hasattr(model, name) for name in METHODS} == {
        name: hasattr(inner, name) for name in METHODS
    }


def test_a_missing_method_raises_the_error_of_the_wrapped_estimator():
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        _ = Kernelized(LinearRegression()).predict_proba
    assert "LinearRegression" in str(caught.value.__cause__)


def test_methods_pass_on_points_targets_and_weights():
    model = Echo(LogisticRegression())
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert getattr(model, name)("X") == (name, "X", (), {})
    assert model.score("X", "y") == ("score", "X", ("y",), {})
    assert model.score("X", "y", sample_weight="w") == (
        "score",
        "X",
        ("y",),
        {"sample_weight": "w"},
    )


def test_weights_are_refused_where_the_wrapped_estimator_takes_none():
    refuse_inner_weights(LogisticRegression(), np.ones(3))
    refuse_inner_weights(KNeighborsClassifier(), None)
    with pytest.raises(
        ValueError, match="sample_weight must be None, because estimator = KNeighborsClassifier"
    ):
        refuse_inner_weights(KNeighborsClassifier(), np.ones(3))
