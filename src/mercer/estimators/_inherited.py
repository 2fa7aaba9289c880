"""Base classes of scikit-learn, whose source has no types, with the types of the methods that users call.

A classifier, regressor, transformer or outlier detector is an estimator: its mixin derives from ``BaseEstimator``.
"""

from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from sklearn import base

    from mercer._common import Array, ArrayLike, PointsLike

    class BaseEstimator(base.BaseEstimator):
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...

    class _Supervised(BaseEstimator):
        def score(
            self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...
        def set_score_request(self, *, sample_weight: bool | str | None = None) -> Self: ...

    class ClassifierMixin(_Supervised, base.ClassifierMixin): ...

    class RegressorMixin(_Supervised, base.RegressorMixin): ...

    class OutlierMixin(base.OutlierMixin, BaseEstimator):
        def fit_predict(
            self, X: PointsLike, y: ArrayLike | None = None, **kwargs: Any
        ) -> Array: ...

    class TransformerMixin(base.TransformerMixin, BaseEstimator):
        def fit_transform(
            self, X: PointsLike, y: ArrayLike | None = None, **fit_params: Any
        ) -> Any: ...
        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin(base.ClassNamePrefixFeaturesOutMixin):
        def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array: ...

else:
    from sklearn import base
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin

    from mercer._elsewhere import explained
    from mercer.estimators._model import on_device

    class ClassifierMixin(base.ClassifierMixin, BaseEstimator):
        # scikit-learn's takes arrays in the main memory only
        score = explained(on_device(base.ClassifierMixin.score))

    class RegressorMixin(base.RegressorMixin, BaseEstimator):
        score = explained(on_device(base.RegressorMixin.score))

    class OutlierMixin(base.OutlierMixin, BaseEstimator):
        pass

    class TransformerMixin(base.TransformerMixin, BaseEstimator):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
            return tags


__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "OutlierMixin",
    "RegressorMixin",
    "TransformerMixin",
]
