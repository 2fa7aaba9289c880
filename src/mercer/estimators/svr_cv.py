"""SVRCV: support vector regression with C, and perhaps gamma, chosen by cross-validation."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring, make_scorer, mean_pinball_loss

from mercer._common import Array, ArrayLike, PointsLike, check_choice, check_nonnegative, shown
from mercer.estimators._search import GridSearch, Units
from mercer.estimators._svm import (
    RegressionProblem,
    centre_and_scale,
    regression_tolerance,
    store_vectors,
)
from mercer.estimators.inherited import RegressorMixin
from mercer.estimators.model import on_device, storable_estimator
from mercer.estimators.quantile_svr import (
    CALIBRATIONS,
    QuantileSVR,
    checked_quantiles,
    shift,
)
from mercer.estimators.svr import SVR
from mercer.kernels.shorthand import KernelLike, kernel_of


@storable_estimator
class SVRCV(GridSearch, RegressionProblem):
    """Support vector regression with C, and perhaps gamma, chosen by cross-validation.

    The search is that of `SVCCV`: folds and values of C share kernel values, and each solution starts from its
    neighbour.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved once, on all rows of X.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    Cs : int or array
        Values of C; a number means so many between 1e-4 and 1e4, evenly spaced in the logarithm.
    gammas : int, array or None
        Values of the kernel's parameter ``gamma``; a number means so many between 1/16 and 16 times that of the rule
        "median", evenly spaced in the logarithm. None keeps the kernel as it is. Not beside ``gamma``.
    epsilon : float
        Half the width of the tube without loss, at least 0, in units of y; not used with ``quantile``.
    quantile : float, optional
        Fit and score the quantile of the targets by the pinball loss, as `QuantileSVR`.
    calibration : {"shift"} or None
        With ``quantile`` and ``refit``: "shift" adds the quantile of the residuals of held-out rows to the intercept,
        as for `QuantileSVR`.
    cv : int, splitter or iterable of (train, test)
    scoring : str, callable or None
        Any scorer of scikit-learn that needs predictions. None means R^2, minus the pinball loss with ``quantile``.
    refit : bool
        Whether to fit a model with the best parameters to all rows.
    cells : int or None
        For many rows: rows of a cell at most, as for `SVCCV`.
    tol : float
        Largest violation of the optimality conditions of the best model; at most a thousandth of the standard deviation
        of y is used. In the folds a solution also ends at a duality gap of that share of the loss of the function 0,
        unless ``calibration`` asks for accurate values.
    memory : str or int
        Bytes that kernel values may take.

    Attributes
    ----------
    Cs_ : array (k,)
    cv_results_ : dict
        As of `SVCCV`.
    best_index_, best_score_, best_params_, C_
        Those of the highest mean score, of equals the smallest C and then the smallest gamma.
    held_out_values_ : array (n,)
        Predictions for each row at the best parameters, in the fold that held it out; the mean of several, NaN of none.
    best_estimator_ : SVR or QuantileSVR
        If ``refit``: the model of ``predict``, ``expansion_`` and ``intercept_``.
    scorer_ : callable
    n_splits_, n_features_in_ : int
    kernel_ : Kernel
        With the best gamma.

    See Also
    --------
    mercer.SVCCV : The same for classification.

    Notes
    -----
    Cost and memory are those of `SVCCV` for two classes. The loss is that of `SVR` with ``loss="epsilon"``.

    References
    ----------
    DeCoste, Wagstaff, *Alpha seeding for support vector machines*, KDD (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(0, 6, 60).reshape(-1, 1)
    >>> model = mc.SVRCV(Cs=[0.1, 10.0, 1000.0], gammas=[0.01, 1.0], epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.best_params_["gamma"], bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
    (1.0, True)
    >>> upper = mc.SVRCV(mc.Gaussian(1.0), Cs=[0.01, 10.0], quantile=0.9).fit(X, np.sin(X[:, 0]))
    >>> upper.best_params_
    {'C': 10.0}
    """

    kernel: KernelLike = "rbf"
    _: KW_ONLY
    epsilon: float = 0.1
    quantile: float | None = None
    calibration: str | None = None

    @on_device
    def score(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the score of the best model, whatever ``scoring`` is.

        Parameters
        ----------
        X : points (n_test)
        y : array (n_test,)
        sample_weight : array (n_test,), optional

        Returns
        -------
        float
            R^2, or of a quantile the D^2 of ``QuantileSVR.score``; at most 1.
        """
        return self._fitted().score(X, y, sample_weight)

    def _check_parameters(self):
        super()._check_parameters()
        check_nonnegative("epsilon", self.epsilon)
        if self.quantile is not None:
            if np.ndim(self.quantile) > 0:
                raise TypeError(
                    f"quantile = {shown(self.quantile)} must be a number; search C for each quantile."
                )
            checked_quantiles(self.quantile)
        check_choice("calibration", self.calibration, CALIBRATIONS)
        if self.calibration and (self.quantile is None or not self.refit):
            raise ValueError(
                f"calibration = {self.calibration!r} moves the intercept of a refitted quantile, got quantile = "
                f"{shown(self.quantile)} and refit = {shown(self.refit)}; set quantile=0.9 and refit=True, or "
                "calibration=None."
            )

    def _model(self, C, kernel):
        shared = {"kernel": kernel, "tol": self.tol, "memory": self.memory}
        if self.quantile is not None:
            return QuantileSVR(self.quantile, C, **shared)
        return SVR(C, epsilon=self.epsilon, **shared)

    def _scorer(self, problem):
        if self.scoring is None and self.quantile is not None:
            return make_scorer(mean_pinball_loss, greater_is_better=False, alpha=self.quantile)
        scorer: Any = check_scoring(self._model(1.0, kernel_of(self)), self.scoring)
        if isinstance(self.scoring, str):
            try:
                scorer(_KnownValues(problem.targets), slice(None), problem.targets)
            except (AttributeError, ValueError) as error:
                raise ValueError(
                    f"scoring = {shown(self.scoring)} must be a score of numbers such as these targets, as 'r2' and "
                    "'neg_mean_squared_error' are."
                ) from error
        return scorer

    def _units(self, problem, Cs):
        for C in (Cs[0], Cs[-1]):
            centre, scale = centre_and_scale(problem.targets, problem.weights * C, C)
        return Units(regression_tolerance(self.tol, scale)[1], centre, scale)

    def _known_model(self, _problem, values):
        return _KnownValues(values[:, 0])

    def _outputs(self, _problem, values):
        return values[:, 0]

    def _store_fold(self, model, problem, coefs, biases):
        store_vectors(model, problem, coefs[0][:, None])
        model.intercept_ = biases.astype(problem.dtype)

    def _conclude(self, problem, _y, _weights):
        if self.calibration:
            shift(self.best_estimator_, problem, self.held_out_values_[:, None])


class _KnownValues(RegressorMixin):
    """A model whose predictions at some points are known; new points are given by their indices."""

    def __init__(self, values: ArrayLike) -> None:
        self.values = values

    def predict(self, indices: Array) -> Array:
        return self.values[indices]
