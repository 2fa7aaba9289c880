"""Base classes of scikit-learn, whose source has no types, with the types of the methods that users call.

A classifier, regressor, transformer or outlier detector is an estimator: its mixin derives from ``BaseEstimator``.
"""

from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from sklearn import base

    from mercer._common import Array, ArrayLike, PointsLike

    class BaseEstimator(base.BaseEstimator):
        """An estimator with parameters."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""
            ...

        def set_params(self, **params: Any) -> Self:
            """Set parameters and return the estimator."""
            ...

    class _Supervised(BaseEstimator):
        def score(
            self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...
        def set_score_request(self, *, sample_weight: bool | str | None = None) -> Self: ...

    class ClassifierMixin(_Supervised, base.ClassifierMixin):
        """An estimator of classes."""

    class RegressorMixin(_Supervised, base.RegressorMixin):
        """An estimator of numbers."""

    class OutlierMixin(base.OutlierMixin, BaseEstimator):
        """An estimator that tells outliers."""

        def fit_predict(self, X: PointsLike, y: ArrayLike | None = None, **kwargs: Any) -> Array:
            """Fit, and return 1 for each inlier of X and -1 for each outlier."""
            ...

    class TransformerMixin(base.TransformerMixin, BaseEstimator):
        """An estimator that maps points to coordinates."""

        def fit_transform(
            self, X: PointsLike, y: ArrayLike | None = None, **fit_params: Any
        ) -> Any:
            """Fit, and return the coordinates of X."""
            ...

        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self:
            """Set the container of coordinates and return the estimator."""
            ...

    class ClassNamePrefixFeaturesOutMixin(base.ClassNamePrefixFeaturesOutMixin):
        """A transformer whose output columns have the name of its class and a number."""

        def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
            """Return the names of the output columns."""
            ...

else:
    from sklearn import base

    from mercer._elsewhere import explained
    from mercer.estimators.model import on_device

    BaseEstimator = base.BaseEstimator
    ClassNamePrefixFeaturesOutMixin = base.ClassNamePrefixFeaturesOutMixin

    class ClassifierMixin(base.ClassifierMixin, BaseEstimator):
        """An estimator of classes."""

        # scikit-learn's takes arrays in the main memory only
        score = explained(on_device(base.ClassifierMixin.score))

    class RegressorMixin(base.RegressorMixin, BaseEstimator):
        """An estimator of numbers."""

        score = explained(on_device(base.RegressorMixin.score))

    class OutlierMixin(base.OutlierMixin, BaseEstimator):
        """An estimator that tells outliers."""

    class TransformerMixin(base.TransformerMixin, BaseEstimator):
        """An estimator that maps points to coordinates."""

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
            return tags
