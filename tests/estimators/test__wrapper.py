import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import OneClassSVM

from mercer import Kernelized, VirtualSupportVectors

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "score",
)


class Echo(LogisticRegression):
    """Its methods return their name, the number of points, and other arguments."""

    def predict(self, X):
        return "predict", len(X)

    def predict_proba(self, X):
        return "predict_proba", len(X)

    def predict_log_proba(self, X):
        return "predict_log_proba", len(X)

    def decision_function(self, X):
        return "decision_function", len(X)

    def score(self, X, y, sample_weight=None):
        return "score", len(X), y, sample_weight


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
    X = np.arange(8.0)[:, None]
    model = Kernelized(Echo()).fit(X, np.arange(8) % 2)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert getattr(model, name)(X[:3]) == (name, 3)
    assert model.score(X[:3], "y") == ("score", 3, "y", None)
    assert model.score(X[:3], "y", sample_weight="w") == ("score", 3, "y", "w")


def test_weights_are_refused_where_the_wrapped_estimator_takes_none():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    Kernelized(LogisticRegression()).fit(X, y, np.ones(8))
    Kernelized(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(
        ValueError, match="sample_weight must be None, because estimator = KNeighborsClassifier"
    ):
        Kernelized(KNeighborsClassifier()).fit(X, y, np.ones(8))
