"""Wrapper: the methods that an estimator has because the one that it wraps has them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.utils.validation import has_fit_parameter

from mercer._common import Array, ArrayLike, PointsLike
from mercer.estimators._inherited import BaseEstimator
from mercer.estimators._model import available, on_device


def inner_has(name: str) -> Callable[[Any], bool]:
    """Return a check for ``available`` that raises the error of the wrapped estimator without such a method."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


def refuse_inner_weights(estimator: object, sample_weight: ArrayLike | None) -> None:
    """Raise if sample weights are given and the fit of a wrapped estimator takes none."""
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight must be None, because estimator = {type(estimator).__name__} takes none."
        )


@dataclass(eq=False, repr=False)
class Wrapper(MetaEstimatorMixin, BaseEstimator):
    """Mixin of estimators with a wrapped ``estimator``; a class states ``_apply(method, X, *args, **options)``."""

    estimator: Any

    @available(inner_has("predict"))
    @on_device
    def predict(self, X: PointsLike) -> Array:
        """Return the predictions of the wrapped estimator for points."""
        return self._apply("predict", X)

    @available(inner_has("predict_proba"))
    @on_device
    def predict_proba(self, X: PointsLike) -> Array:
        """Return the probabilities (n_test, n_classes) of the wrapped classifier."""
        return self._apply("predict_proba", X)

    @available(inner_has("predict_log_proba"))
    @on_device
    def predict_log_proba(self, X: PointsLike) -> Array:
        """Return the logarithms (n_test, n_classes) of the probabilities of the wrapped classifier."""
        return self._apply("predict_log_proba", X)

    @available(inner_has("decision_function"))
    @on_device
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values of the wrapped estimator for points."""
        return self._apply("decision_function", X)

    @available(inner_has("score_samples"))
    @on_device
    def score_samples(self, X: PointsLike) -> Array:
        """Return ``score_samples`` (n_test,) of the wrapped estimator for points."""
        return self._apply("score_samples", X)

    @available(inner_has("score"))
    @on_device
    def score(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the score of the wrapped estimator on points and targets."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._apply("score", X, y, **weights)
