"""SVCCV: support vector classification with C, and perhaps gamma, chosen by cross-validation."""

import functools
from dataclasses import KW_ONLY, fields
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from mercer._common import Array, PointsLike, check_choice, check_confidence, shown, warn
from mercer.estimators._search import GridSearch, Units, keeps_model
from mercer.estimators.calibration import calibrated, fit_calibration, has_probabilities
from mercer.estimators.classifier import ClassificationProblem, store_coefficients
from mercer.estimators.inherited import ClassifierMixin
from mercer.estimators.model import of_points, on_device, storable_estimator
from mercer.estimators.svc import SVC
from mercer.kernels.shorthand import KernelLike, kernel_of, with_kernel
from mercer.solvers.svm.multiclass import class_values, decide, is_paired


@storable_estimator
class SVCCV(GridSearch, ClassificationProblem):
    """Support vector classification with C, and perhaps gamma, chosen by cross-validation.

    All folds and all values of C share one set of kernel values, all values of gamma one set of squared distances, and
    each solution starts from that of the neighbouring C, so that the choice costs little more than a few fits.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved once, on all rows of X: kernels that differ between
        folds could share nothing.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    Cs : int or array
        Values of C; a number means so many between 1e-4 and 1e4, evenly spaced in the logarithm.
    gammas : int, array or None
        Values of the kernel's parameter ``gamma``; a number means so many between 1/16 and 16 times that of the rule
        "median", evenly spaced in the logarithm. None keeps the kernel as it is. Not beside ``gamma``.
    cv : int, splitter or iterable of (train, test)
        An int means stratified folds.
    scoring : str, callable or None
        Any scorer of scikit-learn that needs labels or decision values. None means accuracy, in which an error counts
        with its ``class_weight``.
    refit : bool
        Whether to fit a classifier with the best parameters to all rows.
    cells : int or None
        For many rows: they are divided into cells of at most so many rows that lie together, and a held-out row takes
        the decision values of the classifier of its cell. Parameters are chosen by the scores over all cells; the
        refit is that of all rows. None means no cells. See Notes.
    calibration : {"sigmoid", "isotonic"} or None
        How ``predict_proba`` computes probabilities from decision values: by Platt's sigmoid or by isotonic regression,
        fitted to the decision values of held-out rows. None means that there is no ``predict_proba``.
    labels : {"decision", "probabilities"}
        Whether ``predict`` returns the class of the decision values (most votes of pairs, or the largest value), or the
        most probable class, which needs ``calibration``. They differ most where classes have unequal sizes. Scores of
        the search, and exports, take decision values.
    tol : float
        Largest violation of the optimality conditions of the best classifier. In the folds a solution also ends at a
        duality gap of ``tol`` times the loss of the function 0, unless ``calibration`` asks for accurate values.
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
        As of GridSearchCV: ``params``, ``param_C``, ``param_gamma``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``n_iter``, the number of pairs optimised over all folds and binary
        classifiers.
    best_index_, best_score_, best_params_, C_
        Those of the highest mean score, of equals the smallest C and then the smallest gamma.
    held_out_values_ : array (n,) or (n, c)
        Decision values of each row at the best parameters, in the fold that held it out; the mean of several, NaN of
        none.
    calibrators_ : list of array (2, k)
        Of ``calibration``, one for two classes and one for each class otherwise: slope and offset of the sigmoid,
        1 / (1 + exp(slope v + offset)) at a decision value v (so slopes are normally negative), or the values and
        probabilities between which isotonic regression interpolates. Those of several classes are divided by their sum.
    best_estimator_ : SVC
        If ``refit``: the classifier of ``predict``, ``decision_function``, ``expansion_`` and ``intercept_``.
    scorer_ : callable
    n_splits_, n_features_in_ : int
    kernel_ : Kernel
        With the best gamma.

    See Also
    --------
    mercer.svc_path : Classifiers for many C.
    mercer.SVRCV : The same for regression.

    Notes
    -----
    Held-out rows are variables whose coefficients stay 0. A class that the training part of a fold lacks is never
    predicted in it by pairs; its decision value against the rest is -1, and ``calibration`` warns. If ``memory`` holds
    n^2 values in float32, or in float64 where rounding would decide the scores, (of the largest pair, for pairs) and
    the copies of each thread, folds run on all threads.

    With ``cells`` the cost of the choice grows with n times ``cells``, not n^2. Rows are halved at the median along
    their principal direction, again and again, without random numbers; 1 000 to 2 000 rows a cell are usual. In a cell
    classifiers see near-by rows only, which suits kernels whose values fall with the distance: a small gamma, whose
    classifiers need far rows, scores less than it would on all rows. A class that a cell lacks is never predicted in it
    by pairs. ``calibration`` then maps decision values of cells. The fit to all rows starts from solutions of such
    parts and is exact.

    Probabilities equal those of scikit-learn's ``CalibratedClassifierCV(ensemble=False)`` over `SVC` with the best
    parameters on the same folds to the accuracy of the solutions, without its fits. Folds must hold out each row once.

    References
    ----------
    DeCoste, Wagstaff, *Alpha seeding for support vector machines*, KDD (2000).

    Thomann, Blaschzyk, Meister, Steinwart, *Spatial decompositions for large scale SVMs*, AISTATS (2017); here cells
    choose the parameters only.

    Platt, *Probabilistic outputs for support vector machines*, in: Advances in large margin classifiers (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> y = np.abs(X[:, 0]) > 0.5
    >>> model = mc.SVCCV(mc.Gaussian(4.0), Cs=[0.01, 1.0, 100.0], cv=4).fit(X, y)
    >>> model.predict([[0.0], [0.9]])
    array([False,  True])
    >>> search = mc.SVCCV(Cs=[1.0, 100.0], gammas=3, cv=4, calibration="sigmoid").fit(X, y)
    >>> sorted(search.best_params_), search.predict_proba([[0.0], [0.9]]).argmax(axis=1)
    (['C', 'gamma'], array([0, 1]))
    """

    kernel: KernelLike = "rbf"
    _: KW_ONLY
    calibration: str | None = None
    labels: str = "decision"

    @keeps_model
    @on_device
    def predict(self, X: PointsLike) -> Any:
        """Return the classes of new points, by decision values or by probabilities, see ``labels``.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        if self.labels == "decision":
            return super().predict(X)
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    @keeps_model
    @on_device
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values of new points, as `SVC` does.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,) or (n_test, c)
        """
        return self._fitted().decision_function(X)

    @has_probabilities
    @of_points
    def predict_proba(self, X: PointsLike) -> Array:
        """Return the probabilities of the classes for new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, c)
            Rows add up to 1. The largest need not be that of the class that ``predict`` returns, unless ``labels`` is
            "probabilities".
        """
        values = self.decision_function(X)
        return calibrated(self.calibrators_, values)

    @has_probabilities
    @of_points
    def predict_log_proba(self, X: PointsLike) -> Array:
        """Return the logarithms of ``predict_proba``.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, c)
            Minus infinity where isotonic regression gives probability 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @keeps_model
    @on_device
    def predict_set(self, X: PointsLike, confidence: float = 0.9) -> Any:
        r"""Return the sets of classes that contain the classes of new points with about a given probability.

        .. math:: \Bigl\{c : 1 + \#\{i : s(x_i, y_i) \ge s(x, c)\} > (1 - \mathrm{confidence}) (n + 1)\Bigr\},
            \qquad s(x, c) = \max_{j \ne c} f_j(x) - f_c(x)

        with the decision values of training points in the folds that held them out, and those of the best classifier
        for new points; f_1 = -f_0 = f / 2 for two classes. A set may be empty or hold all classes.

        Parameters
        ----------
        X : points (n_test)
        confidence : float in (0, 1)

        Returns
        -------
        bool array (n_test, c)
            Column c is that of ``classes_[c]``.

        Raises
        ------
        AttributeError
            For a fit with unequal sample weights, whose training points are not like new ones.

        Notes
        -----
        The share of new points whose class is in the set is about ``confidence`` for points like those of the fit, in
        the mean over all classes; it is not guaranteed, because the best classifier saw more points than those of the
        folds. A sort of the training points, then O(c log n) for each point.

        References
        ----------
        Vovk, *Cross-conformal predictors*, Annals of Mathematics and Artificial Intelligence 74 (2015).

        Examples
        --------
        >>> import numpy as np, mercer as mc
        >>> X = np.linspace(-1, 1, 80).reshape(-1, 1)
        >>> y = X[:, 0] + np.tile([-0.2, 0.2], 40) > 0
        >>> mc.SVCCV(mc.Gaussian(1.0), Cs=[1.0], cv=4).fit(X, y).predict_set([[-0.9], [0.0]])
        array([[ True, False],
               [ True,  True]])
        """
        confidence = check_confidence(confidence)
        values = self.decision_function(X)
        known = vars(self).get("_strangeness")
        if known is None:
            raise AttributeError(
                "predict_set needs a fit of SVCCV without sample_weight, or with equal weights."
            )
        at_least = len(known) - np.searchsorted(known, _strangeness(values))
        # (1 - 0.9) * 10 is below 1 in floating point
        return at_least + 1 > np.round((1 - confidence) * (len(known) + 1), 9)

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("calibration", self.calibration, (None, "sigmoid", "isotonic"))
        check_choice("labels", self.labels, ("decision", "probabilities"))
        if self.labels == "probabilities" and self.calibration is None:
            raise ValueError(
                "labels = 'probabilities' needs probabilities; set calibration = 'sigmoid' or 'isotonic'."
            )

    def _splits(self, X, y, weights, groups):
        splits = super()._splits(X, y, weights, groups)
        if self.calibration is None:
            return splits
        times = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(y))
        wrong = np.flatnonzero((times != 1) & (weights > 0))
        if len(wrong):
            raise ValueError(
                f"cv must hold out each row once for calibration = {shown(self.calibration)}, but row {wrong[0]} is "
                f"held out {times[wrong[0]]} times; give a number of folds or a splitter such as StratifiedKFold."
            )
        unseen = [np.setdiff1d(y[weights > 0], y[train]).tolist() for train, _ in splits]
        lacking = [i for i, labels in enumerate(unseen) if labels]
        if lacking:
            warn(
                f"{len(lacking)} of {len(splits)} folds of cv train on no row of a class, as fold {lacking[0]} of "
                f"{shown(unseen[lacking[0]][0])}, and never predict it, so that probabilities are too low for it; give "
                "StratifiedKFold, or leave the class out."
            )
        return splits

    def _model(self, C, kernel):
        shared = {each.name: getattr(self, each.name) for each in fields(ClassificationProblem)}
        return with_kernel(SVC(C, **shared), kernel)

    def _scorer(self, problem):
        if self.scoring is None:
            factors = dict(zip(problem.classes.tolist(), problem.class_weight, strict=True))
            return functools.partial(
                _accuracy, factors=None if self.class_weight is None else factors
            )
        scorer = check_scoring(self._model(1.0, kernel_of(self)), self.scoring)
        # scikit-learn's scorers tell it there only
        if getattr(scorer, "_response_method", None) == "predict_proba":
            raise ValueError(
                f"scoring = {shown(self.scoring)} needs probabilities, which folds do not have; take a score of "
                "decision values ('roc_auc', 'average_precision') or labels ('accuracy', 'f1_macro'), and calibration "
                "for the result, or GridSearchCV of SVCCV(calibration=...) with values [C] of Cs."
            )
        return scorer

    def _units(self, problem, Cs):
        problem.upper_bounds(Cs[0])
        return Units(float(self.tol))

    def _known_model(self, problem, values):
        return _KnownValues(values, problem.classes, self.multi_class)

    def _outputs(self, problem, values):
        return self._known_model(problem, values).decision_function(slice(None))

    def _store_fold(self, model, problem, coefs, biases):
        store_coefficients(model, problem, np.concatenate(coefs), biases)

    def _conclude(self, problem, y, weights):
        self.classes_: Array = problem.classes
        held_out = np.flatnonzero(np.isfinite(self.held_out_values_.reshape(len(y), -1)[:, 0]))
        own = np.searchsorted(problem.classes, y[held_out])
        sizes = _strangeness(self.held_out_values_[held_out])[np.arange(len(own)), own]
        # no array: those of a model are at the place of its points
        self._strangeness = (
            tuple(np.sort(sizes).tolist()) if len(np.unique(weights[held_out])) == 1 else None
        )
        if self.calibration is None:
            return
        rows = np.flatnonzero(weights > 0)
        given = None if (weights[rows] == 1).all() else weights[rows]
        self.calibrators_: list[Any] = fit_calibration(
            self.calibration, self.held_out_values_[rows], y[rows], given
        )


class _KnownValues(ClassifierMixin):
    """A classifier whose decision values at some points are known; new points are given by their indices."""

    def __init__(self, values: Array, classes: Array, multi_class: str) -> None:
        self.values = values
        self.classes_ = classes
        self.multi_class = multi_class

    def decision_function(self, indices: Array | slice) -> Array:
        values = self.values[indices]
        if len(self.classes_) == 2:
            return values[:, 0]
        return (
            class_values(values, len(self.classes_))
            if is_paired(len(self.classes_), self.multi_class)
            else values
        )

    def predict(self, indices: Array | slice) -> Array:
        return self.classes_[decide(self.values[indices], len(self.classes_), self.multi_class)]


def _strangeness(values):
    """Return the largest value of the other classes minus that of each class (n, c); values are (n, c) or (n,)."""
    values = np.column_stack([-values, values]) / 2 if values.ndim == 1 else values
    second, first = np.partition(values, -2, axis=1)[:, -2:].T
    return np.where(values == first[:, None], second[:, None], first[:, None]) - values


def _accuracy(model, X, y, sample_weight=None, factors=None):
    """Return the share of rows whose class is predicted, weighted by their own weights and the factors of classes."""
    if factors is not None:
        own = np.array([factors[label] for label in y.tolist()])
        sample_weight = own if sample_weight is None else own * sample_weight
    right = model.predict(X) == y
    if sample_weight is None:
        # a search calls this hundreds of times: NumPy's mean takes ten times as long
        return np.count_nonzero(right) / len(right)
    return float(np.average(right, weights=sample_weight))
