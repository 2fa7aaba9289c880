"""Wrapper: the methods that an estimator has because the one that it wraps has them."""

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from mercer._common import AnyFunction, Array, ArrayLike, PointsLike, check_weights, shown
from mercer.estimators.base import count_rows
from mercer.estimators.inherited import BaseEstimator
from mercer.estimators.model import available, on_device


def if_inner_has(method: AnyFunction) -> Any:
    """Return a method that models have if the wrapped estimator has one of this name, whose error they raise else."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), method.__name__)
        return True

    return available(check)(method)


@dataclass(eq=False, repr=False)
class Wrapper(MetaEstimatorMixin, BaseEstimator):
    """Mixin of estimators with a wrapped ``estimator``; a class states ``_apply(method, X, *args, **options)``."""

    # what errors say that the estimator must be
    _wanted: ClassVar[str]

    estimator: Any

    def _for_fit(self, X, y, sample_weight):
        """Return a clone of the wrapped estimator and checked weights, or raise unless its fit takes what it gets."""
        inner = self.estimator
        if isinstance(inner, type) or not hasattr(inner, "fit"):
            raise TypeError(f"estimator must be {self._wanted}, got {shown(inner)}.")
        if y is None and get_tags(inner).target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; estimator = {shown(inner)} "
                "needs it."
            )
        if sample_weight is None:
            return clone(inner), None
        if not has_fit_parameter(inner, "sample_weight"):
            raise ValueError(
                f"sample_weight must be None, because estimator = {type(inner).__name__} takes none."
            )
        return clone(inner), check_weights("sample_weight", sample_weight, count_rows(X))

    @if_inner_has
    @on_device
    def predict(self, X: PointsLike) -> Array:
        """Return the predictions of the wrapped estimator for points."""
        return self._apply("predict", X)

    @if_inner_has
    @on_device
    def predict_proba(self, X: PointsLike) -> Array:
        """Return the probabilities (n_test, n_classes) of the wrapped classifier."""
        return self._apply("predict_proba", X)

    @if_inner_has
    @on_device
    def predict_log_proba(self, X: PointsLike) -> Array:
        """Return the logarithms (n_test, n_classes) of the probabilities of the wrapped classifier."""
        return self._apply("predict_log_proba", X)

    @if_inner_has
    @on_device
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values of the wrapped estimator for points."""
        return self._apply("decision_function", X)

    @if_inner_has
    @on_device
    def score_samples(self, X: PointsLike) -> Array:
        """Return ``score_samples`` (n_test,) of the wrapped estimator for points."""
        return self._apply("score_samples", X)

    @if_inner_has
    @on_device
    def score(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the score of the wrapped estimator on points and targets."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._apply("score", X, y, **weights)
