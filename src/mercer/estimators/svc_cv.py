"""SVCCV: the price of slack chosen by cross-validation, all folds and prices on one set of kernel values."""

import functools
from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._common import CallbackSupportMixin, check_integer, progress, warn
from mercer._compute.memory import parse_memory
from mercer._compute.threads import limit_threads, run_tasks
from mercer.estimators import _folds, _svm
from mercer.estimators import _svc_path as along_prices
from mercer.estimators._base import KernelEstimator
from mercer.estimators.svc import SVC
from mercer.solvers.svm.path import LazyValues
from mercer.solvers.svm.rows import rows_of


class SVCCV(KernelEstimator, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Support vector classification with the price of slack chosen by cross-validation.

    All folds and all prices of a machine share one set of kernel values, and each solution starts from that of the
    neighbouring price, so that the choice costs little more than a few fits.

    Parameters
    ----------
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved once, on all rows of X: folds that had kernels of their own could share nothing.
    Cs : int or array
        Prices to try; a number means so many between 1e-4 and 1e4, evenly spaced in the logarithm.
    cv : int, splitter or iterable of (train, test)
        An int means stratified folds.
    scoring : str, callable or None
        Any scorer of scikit-learn that needs labels or decision values. When left out accuracy, in which an error
        weighs as much as ``class_weight`` says.
    refit : bool
        Whether to fit a classifier with the best C to all rows.
    tol : float
        Largest violation of the optimality conditions, in every fold.
    class_weight : dict, "balanced" or None
        As in `SVC`; "balanced" counts all rows.
    multi_class : {"ovo", "ovr"}
    memory : str or int
        Bytes that kernel values may take.

    Attributes
    ----------
    classes_ : array (c,)
    Cs_ : array (k,)
    cv_results_ : dict
        As of GridSearchCV: ``params``, ``param_C``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``n_iter``, pairs optimised over all folds and machines.
    best_index_, best_score_, best_params_, C_
        The price of the highest mean score, the smallest of equals.
    best_estimator_ : SVC
        When ``refit``: what ``predict`` and ``decision_function`` ask, and ``expansion_`` and ``intercept_`` are of.
    scorer_ : callable
    n_splits_, n_features_in_ : int
    kernel_ : Kernel

    See Also
    --------
    mercer.svc_path : Classifiers for many C.

    Notes
    -----
    Held-out rows are variables that stay at 0. A class that the training part of a fold lacks is never predicted in it.
    Where ``memory`` holds n^2 values in float32 (of the largest pair, for pairs), folds run on all threads.

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

    def __init__(
        self,
        kernel="rbf",
        *,
        Cs=10,
        cv=5,
        scoring=None,
        refit=True,
        tol=1e-3,
        class_weight=None,
        multi_class="ovo",
        memory="1GB",
    ):
        self.kernel = kernel
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.tol = tol
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.memory = memory

    def fit(self, X, y, sample_weight=None, groups=None):
        """Score every C in every fold, and fit a classifier with the best.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        sample_weight : array (n,), optional
            Factors of C, and of each row in the scores; a row of weight 0 is as good as absent.
        groups : array (n,), optional
            For splitters that need them.

        Returns
        -------
        self
        """
        Cs = np.logspace(-4, 4, self._count()) if np.ndim(self.Cs) == 0 else along_prices.prices(self.Cs)
        model = self._classifier(1.0)
        model._check_parameters()
        problem = model._problem(X, y, sample_weight, type(self).__name__)
        (X,), y = indexable(X), column_or_1d(y)
        weights = _svm.weights(sample_weight, len(y))
        splits = [_folds.split(*each, weights) for each in check_cv(self.cv, y, classifier=True).split(X, y, groups)]
        scorer = self._scorer(model, problem)
        ascending = np.argsort(Cs, kind="stable")
        folds = self._solve(problem, splits, Cs[ascending])
        scores = np.empty((len(splits), len(Cs)))
        for i, (fold, (_, test)) in enumerate(zip(folds, splits, strict=True)):
            held_out, labels = _safe_indexing(X, test), y[test]
            own = {} if sample_weight is None else {"sample_weight": weights[test]}
            for j, k in enumerate(ascending):
                scores[i, k] = scorer(_folds.Fold(model, problem, fold, j, held_out), held_out, labels, **own)
        n_iter = np.empty(len(Cs), int)
        n_iter[ascending] = sum(fold.n_iter for fold in folds)

        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self.Cs_, self.classes_, self.kernel_, self.scorer_ = Cs, problem.classes, problem.kernel, scorer
        self.n_splits_, self.cv_results_ = len(splits), _folds.results(Cs, scores, n_iter)
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
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(lambda self: self.refit)
    def decision_function(self, X):
        """Return the scores of new points, as `SVC` does.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,) or (n_test, c)
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @property
    def expansion_(self):
        """The normals of the best classifier."""
        return self._best().expansion_

    @property
    def intercept_(self):
        """The intercepts of the best classifier."""
        return self._best().intercept_

    def _best(self):
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"SVCCV was fitted with refit=False, which keeps no classifier: fit SVC(C={self.C_:.6g}), or set "
                "refit=True."
            )
        return self.best_estimator_

    def _scorer(self, model, problem) -> Callable:
        if self.scoring is None and self.class_weight is not None:
            factors = dict(zip(problem.classes, problem.class_weight, strict=True))
            return functools.partial(_weighted_accuracy, factors=factors)
        scorer = check_scoring(model, self.scoring)
        # a classifier has a score of its own at least
        assert scorer is not None
        return scorer

    def _count(self):
        check_integer("Cs", self.Cs)
        return self.Cs

    def _classifier(self, C):
        return SVC(
            C,
            kernel=self.kernel,
            tol=self.tol,
            class_weight=self.class_weight,
            multi_class=self.multi_class,
            memory=self.memory,
        )

    def _solve(self, problem, splits, Cs):
        """Return what every fold found: coefficients, thresholds and scores of held-out rows."""
        rows = rows_of(problem.kernel, problem.points, np.inf)
        folds = [_folds.Found(problem, train, test, len(Cs)) for train, test in splits]
        shared = along_prices.with_values(problem, rows, parse_memory(self.memory), np.float32)
        with progress(self, "smo") as step:
            report = _svm.Report(step)
            for m, (machine, values) in enumerate(shared):

                def train(i, m=m, machine=machine, values=values):
                    with limit_threads(1):
                        folds[i].solve(m, machine, values, Cs, self.tol, report)

                if isinstance(values, LazyValues):
                    for fold in folds:
                        fold.solve(m, machine, values, Cs, self.tol, report)
                else:
                    run_tasks(train, len(folds))
        worst = max(fold.violation for fold in folds)
        if worst > self.tol:
            warn(
                f"SVCCV stopped in some folds with a violation of up to {worst:.3g} above tol = {self.tol:g}; "
                "scale the features (StandardScaler) or lower the largest of Cs.",
                ConvergenceWarning,
            )
            return folds
        size = max(np.linalg.norm(coef, axis=0).max() for fold in folds for coef in fold.coef)
        _svm.warn_rounded("SVCCV", problem.kernel, problem.points, size, self.tol)
        return folds


def _weighted_accuracy(model, X, y, factors, sample_weight=1.0):
    return accuracy_score(y, model.predict(X), sample_weight=sample_weight * np.array([factors[label] for label in y]))
