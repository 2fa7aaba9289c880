"""Scorers for scikit-learn's searches that compute the leave-one-out score from one fit for each candidate."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import r2_score

from mercer._common import Array, ArrayLike, PointsLike
from mercer._compute.points import count_points
from mercer._compute.targets import as_real_targets
from mercer.capacity._leave_one_out import leave_one_out_predictions
from mercer.capacity._model import own_targets, require_affine, training_points


class Resubstitution:
    """Splitter with one fold that trains and scores on all points, for `span_score` and `ridge_score`.

    ``GridSearchCV(SVC(), grid, scoring=span_score, cv=Resubstitution())`` fits each candidate once.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from sklearn.model_selection import GridSearchCV
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    >>> X[:, 0] += 3 * y
    >>> search = GridSearchCV(
    ...     mc.SVC(), {"kernel__gamma": [0.01, 0.1, 10.0]},
    ...     scoring=mc.capacity.span_score, cv=mc.capacity.Resubstitution(),
    ... ).fit(X, y)
    >>> search.best_params_["kernel__gamma"] < 10
    True
    """

    def split(
        self, X: PointsLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the indices of all rows twice: as training and as test set.

        Parameters
        ----------
        X : points (n)
        y, groups : ignored
        """
        everything = np.arange(count_points(X))
        yield everything, everything

    def get_n_splits(
        self,
        X: PointsLike | None = None,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> int:
        """Return 1."""
        return 1

    def __repr__(self) -> str:
        return "Resubstitution()"


def span_score(estimator: Any, X: PointsLike, y: ArrayLike) -> float:
    """Score a fitted support vector machine by the span rule: leave-one-out accuracy, or R^2 of a regression.

    A scorer for scikit-learn's searches, to be used with ``cv=Resubstitution()``: it needs the training points.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or a Pipeline that ends in one
    X : points (n)
    y : array (n,)

    Returns
    -------
    float
        Larger is better.

    Notes
    -----
    Earlier steps of a pipeline are fitted to all points and are not refitted.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 4 * y
    >>> mc.capacity.span_score(mc.SVC(kernel=mc.Gaussian(0.1)).fit(X, y), X, y) > 0.9
    True
    """
    fitted, X = _last_step(estimator, X)
    require_affine(fitted)
    predictions = leave_one_out_predictions(fitted, X, y)
    y = own_targets(fitted, y)
    return float(np.mean(y == predictions) if is_classifier(fitted) else r2_score(y, predictions))


def ridge_score(estimator: Any, X: PointsLike, y: ArrayLike) -> float:
    """Score a fitted kernel ridge regression by R^2 of its exact leave-one-out predictions.

    A scorer for scikit-learn's searches, to be used with ``cv=Resubstitution()``: it needs the training points.

    Parameters
    ----------
    estimator : KernelRidge or a Pipeline that ends in one
        Without landmarks.
    X : points (n)
    y : array (n,) or (n, n_targets)

    Returns
    -------
    float
        Larger is better.

    Raises
    ------
    TypeError
        For an estimator without ``loo_residuals_``.
    ValueError
        For other points than those of the fit.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from sklearn.model_selection import GridSearchCV
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> search = GridSearchCV(
    ...     mc.KernelRidge(1e-3, kernel="rbf"), {"kernel__gamma": [0.5, 1000.0]},
    ...     scoring=mc.capacity.ridge_score, cv=mc.capacity.Resubstitution(),
    ... ).fit(X, np.sin(X.ravel()))
    >>> search.best_params_
    {'kernel__gamma': 0.5}
    """
    fitted, rows = _last_step(estimator, X)
    y = as_real_targets(y, type(fitted).__name__)
    residuals = getattr(fitted, "loo_residuals_", None)
    if residuals is None:
        raise TypeError(
            f"estimator must be a fitted KernelRidge without landmarks, got {type(fitted).__name__}, which has no "
            "exact leave-one-out residuals loo_residuals_."
        )
    training_points(fitted, rows)
    # one column of targets is a vector
    y = y[:, 0] if y.shape[1:] == (1,) and np.ndim(residuals) == 1 else y
    if np.shape(residuals) != y.shape:
        raise ValueError(
            f"y has shape {y.shape}, the fit had {np.shape(residuals)}; pass the training points (in a grid search, "
            "cv=mercer.capacity.Resubstitution())."
        )
    return float(r2_score(y, y - residuals))


def _last_step(estimator, X):
    """Return the last step of a pipeline, and the points transformed by the earlier steps."""
    if not hasattr(estimator, "steps"):
        return estimator, X
    return estimator[-1], estimator[:-1].transform(X)
