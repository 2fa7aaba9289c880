"""Leave-one-out scores for scikit-learn's searches: one fit for each candidate instead of one for each fold."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from mercer._compute.points import count_points
from mercer.capacity.span import leave_one_out_predictions


class Resubstitution:
    """A splitter with one fold that trains and scores on all points, for scores that need no others.

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

    def split(self, X, y=None, groups=None):
        """Yield all rows twice: to train on, and to score.

        Parameters
        ----------
        X : points (n)
        y, groups : ignored
        """
        everything = np.arange(count_points(X))
        yield everything, everything

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return 1."""
        return 1

    def __repr__(self):
        return "Resubstitution()"


def span_score(estimator, X, y):
    """Score a fitted support vector machine by the span rule: the leave-one-out accuracy, or R^2 of a regression.

    A scorer for scikit-learn's searches, with ``cv=Resubstitution()``: it must see the points of the fit.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or a Pipeline that ends in one
    X : points (n)
    y : array (n,)

    Returns
    -------
    float
        The larger the better.

    Notes
    -----
    Steps of a pipeline before the machine have seen the points that are left out.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 4 * y
    >>> mc.capacity.span_score(mc.SVC(kernel=mc.Gaussian(0.1)).fit(X, y), X, y) > 0.9
    True
    """
    model, X = _last(estimator, X)
    score = accuracy_score if is_classifier(model) else r2_score
    return float(score(y, leave_one_out_predictions(model, X, y)))


def ridge_score(estimator, X, y):
    """Score a fitted kernel ridge regression by R^2 of its exact leave-one-out predictions.

    A scorer for scikit-learn's searches, with ``cv=Resubstitution()``: it must see the points of the fit.

    Parameters
    ----------
    estimator : KernelRidge or a Pipeline that ends in one
        Without landmarks.
    X : points (n)
    y : array (n,) or (n, n_targets)

    Returns
    -------
    float
        The larger the better.

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
    model, _ = _last(estimator, X)
    y, residuals = np.asarray(y, np.float64), getattr(model, "loo_residuals_", None)
    if residuals is None:
        raise TypeError(
            f"ridge_score needs exact leave-one-out residuals, loo_residuals_ of KernelRidge without landmarks; "
            f"{type(model).__name__} has none."
        )
    if np.shape(residuals) != y.shape:
        raise ValueError(
            f"y has shape {y.shape}, the fit had {np.shape(residuals)}: give the points of the fit "
            "(in a grid search, cv=mercer.capacity.Resubstitution())."
        )
    return float(r2_score(y, y - residuals))


def _last(estimator, X):
    """Return the last step of a pipeline, and the points as it sees them."""
    if not hasattr(estimator, "steps"):
        return estimator, X
    return estimator[-1], estimator[:-1].transform(X)
