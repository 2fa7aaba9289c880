"""SVCCV: support vector classification with C chosen by cross-validation over shared kernel values."""

import functools
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._common import check_integer, check_weights, warn
from mercer.estimators._accuracy import warn_rounded
from mercer.estimators._classifier import ClassificationProblem, copy_validation, store_coefficients
from mercer.estimators._svc_path import check_Cs
from mercer.estimators.svc import SVC
from mercer.solvers._certify import certify
from mercer.solvers.svm.cross_validation import Fold, cross_validate
from mercer.solvers.svm.one_vs_one import class_values, decide, is_paired
from mercer.solvers.svm.rows import rows_of


@dataclass(eq=False, repr=False)
class SVCCV(ClassificationProblem, BaseEstimator):
    """Support vector classification with C chosen by cross-validation.

    All folds and all values of C share one set of kernel values, and each solution starts from that of the neighbouring
    C, so that the choice costs little more than a few fits.

    Parameters
    ----------
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved once, on all rows of X: kernels that differ between folds could share nothing.
    Cs : int or array
        Values of C; a number means so many between 1e-4 and 1e4, evenly spaced in the logarithm.
    cv : int, splitter or iterable of (train, test)
        An int means stratified folds.
    scoring : str, callable or None
        Any scorer of scikit-learn that needs labels or decision values. None means accuracy, in which an error counts
        with its ``class_weight``.
    refit : bool
        Whether to fit a classifier with the best C to all rows.
    tol : float
        Largest violation of the optimality conditions, in every fold.
    class_weight : dict, "balanced" or None
        As for `SVC`; "balanced" counts all rows.
    multi_class : {"ovo", "ovr"}
    memory : str or int
        Bytes that kernel values may take.

    Attributes
    ----------
    classes_ : array (c,)
    Cs_ : array (k,)
    cv_results_ : dict
        As of GridSearchCV: ``params``, ``param_C``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``n_iter``, the number of pairs optimised over all folds and binary
        classifiers.
    best_index_, best_score_, best_params_, C_
        Those of the C of the highest mean score, the smallest of equals.
    best_estimator_ : SVC
        If ``refit``: the classifier of ``predict``, ``decision_function``, ``expansion_`` and ``intercept_``.
    scorer_ : callable
    n_splits_, n_features_in_ : int
    kernel_ : Kernel

    See Also
    --------
    mercer.svc_path : Classifiers for many C.

    Notes
    -----
    Held-out rows are variables whose coefficients stay 0. A class that the training part of a fold lacks is never
    predicted in it. If ``memory`` holds n^2 values in float32 (of the largest pair, for pairs) and the copies of each
    thread, folds run on all threads.

    References
    ----------
    DeCoste, Wagstaff, *Alpha seeding for support vector machines*, KDD (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.estimators.svc_cv import SVCCV
    >>> X = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> model = SVCCV(mc.Gaussian(4.0), Cs=[0.01, 1.0, 100.0], cv=4).fit(X, np.abs(X[:, 0]) > 0.5)
    >>> model.predict([[0.0], [0.9]])
    array([False,  True])
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    Cs: Any = 10
    cv: Any = 5
    scoring: Any = None
    refit: bool = True

    def fit(self, X, y, sample_weight=None, groups=None):
        """Score every C in every fold, and fit a classifier with the best.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        sample_weight : array (n,), optional
            Factors of C, and of each row in the scores; a row of weight 0 is ignored.
        groups : array (n,), optional
            For splitters that need them.

        Returns
        -------
        self
        """
        if np.ndim(self.Cs) == 0:
            check_integer("Cs", self.Cs)
        Cs = np.logspace(-4, 4, self.Cs) if np.ndim(self.Cs) == 0 else check_Cs(self.Cs)
        self._check_problem()
        problem = self._problem(X, y, sample_weight)
        (X,), y = indexable(X), column_or_1d(y)
        weights = check_weights("sample_weight", sample_weight, len(y))
        splits = [split(*each, weights) for each in check_cv(self.cv, y, classifier=True).split(X, y, groups)]
        scorer, order = self._scorer(problem), np.argsort(Cs, kind="stable")
        found = self._cross_validate(problem, [_fold(problem, *each) for each in splits], Cs[order])
        scores = np.empty((len(splits), len(Cs)))
        for i, (_, test) in enumerate(splits):
            own = {} if sample_weight is None else {"sample_weight": weights[test]}
            for j, k in enumerate(order):
                model, points = self._in_fold(problem, found[i], j, Cs[k], X, test)
                scores[i, k] = scorer(model, points, y[test], **own)
        n_iter = np.empty(len(Cs), int)
        n_iter[order] = sum(fold.n_iter for fold in found)

        self.Cs_, self.classes_, self.kernel_, self.scorer_ = Cs, problem.classes, problem.kernel, scorer
        self.n_splits_, self.cv_results_ = len(splits), results(Cs, scores, n_iter)
        self.best_index_ = int(min(np.flatnonzero(self.cv_results_["rank_test_score"] == 1), key=lambda k: Cs[k]))
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.C_ = float(Cs[self.best_index_])
        self.best_params_ = {"C": self.C_}
        if self.refit:
            self.best_estimator_ = self._classifier(self.C_).fit(X, y, sample_weight)
        return self

    @available_if(lambda self: self.refit)
    def predict(self, X):
        """Return the class of new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self._best().predict(X)

    @available_if(lambda self: self.refit)
    def decision_function(self, X):
        """Return the decision values of new points, as `SVC` does.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,) or (n_test, c)
        """
        return self._best().decision_function(X)

    @property
    def expansion_(self):
        """The normals of the best classifier."""
        return self._best().expansion_

    @property
    def intercept_(self):
        """The intercepts of the best classifier."""
        return self._best().intercept_

    def __mercer_certify__(self, X, y, sample_weight):
        """Return the certificate of the best classifier in float64 from the training points."""
        return certify(self._best(), X, y, sample_weight)

    def _best(self):
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"SVCCV was fitted with refit=False, which keeps no classifier: fit SVC(C={self.C_:.6g}), or set "
                "refit=True."
            )
        return self.best_estimator_

    def _classifier(self, C):
        return SVC(C, **{each.name: getattr(self, each.name) for each in fields(ClassificationProblem)})

    def _scorer(self, problem):
        if self.scoring is None and self.class_weight is not None:
            factors = dict(zip(problem.classes, problem.class_weight, strict=True))
            return functools.partial(_weighted_accuracy, factors=factors)
        return check_scoring(self._classifier(1.0), self.scoring)

    def _cross_validate(self, problem, folds, Cs):
        """Return the solutions of each fold, and warn if they are inaccurate."""
        with self._training(problem) as options:
            rows = rows_of(problem.kernel, problem.points, np.inf)
            found = cross_validate(rows, problem.binary, folds, Cs, options)
        worst = max(fold.violation for fold in found)
        if worst > self.tol:
            warn(
                f"SVCCV stopped in some folds with a violation of up to {worst:.3g}, above tol = {self.tol:g}; scale "
                "the features (StandardScaler) or lower the largest of Cs.",
                ConvergenceWarning,
            )
            return found
        size = max(np.linalg.norm(coef, axis=0).max() for fold in found for coef in fold.coef)
        warn_rounded("SVCCV", problem.kernel, problem.points, size, self.tol)
        return found

    def _in_fold(self, problem, fold, j, C, X, test):
        """Return the classifier of a fold and the j-th C, and the held-out points to score it on.

        Scorers of scikit-learn only call ``predict`` and ``decision_function``, whose values are known: they get
        indices as points. Other callables get a fitted `SVC` and the points.
        """
        if self.scoring is None or isinstance(self.scoring, (str, type(get_scorer("accuracy")))):
            return _KnownValues(fold.values[j], problem.classes, self.multi_class), np.arange(len(test))
        model = self._classifier(float(C))
        copy_validation(self, model)
        store_coefficients(model, problem, [coef[:, j] for coef in fold.coef], fold.bias[:, j])
        return model, _safe_indexing(X, test)


class _KnownValues(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values at some points are known; new points are given by their indices."""

    def __init__(self, values, classes, multi_class):
        self.values, self.classes_, self.multi_class = values, classes, multi_class

    def decision_function(self, indices):
        values = self.values[indices]
        if len(self.classes_) == 2:
            return values[:, 0]
        return class_values(values, len(self.classes_)) if is_paired(len(self.classes_), self.multi_class) else values

    def predict(self, indices):
        return self.classes_[decide(self.values[indices], len(self.classes_), self.multi_class)]


def split(train, test, weights):
    """Return the rows of a split as indices, without those of weight 0; masks are taken too."""
    parts = (np.arange(len(weights))[part] for part in (train, test))
    return tuple(part[weights[part] > 0] for part in parts)


def _fold(problem, train, test):
    # a row drawn twice has twice the weight
    times = np.bincount(problem.places(train), minlength=len(problem.rows))
    return Fold(problem.upper_bounds(1.0) * times, problem.places(test))


def results(Cs, scores, n_iter):
    """Return the scores (folds, values of C) as GridSearchCV names them."""
    mean = scores.mean(axis=0)
    # a score that is NaN ranks last
    order = np.where(np.isnan(mean), -np.inf, mean)
    results = {f"split{i}_test_score": row for i, row in enumerate(scores)}
    return results | {
        "param_C": Cs,
        "params": [{"C": float(C)} for C in Cs],
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": 1 + np.array([int((order > own).sum()) for own in order]),
        "n_iter": n_iter,
    }


def _weighted_accuracy(model, X, y, factors, sample_weight=1.0):
    return accuracy_score(y, model.predict(X), sample_weight=sample_weight * np.array([factors[label] for label in y]))
