"""QuantileSVR: conditional quantiles with any kernel."""

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from sklearn.metrics import d2_pinball_score
from sklearn.utils.validation import column_or_1d

from mercer._common import (
    LARGEST,
    TINY,
    Array,
    ArrayLike,
    PointsLike,
    check_choice,
    check_positive,
    check_weights,
    shown,
)
from mercer._compute.memory import Size
from mercer.distributed import in_memory
from mercer.estimators._search import (
    calibration_tolerance,
    check_folds,
    fold_of,
    held_out_means,
    splits_of,
    work_of_folds,
)
from mercer.estimators._svm import (
    Problem,
    Regression,
    centre_and_scale,
    check_positives,
    regression_tolerance,
)
from mercer.estimators.model import of_points, on_device, storable_estimator
from mercer.expansion import with_intercept
from mercer.solvers.svm.cross_validation import cross_validate_kernels
from mercer.solvers.svm.dual import Dual, regression_dual

# Ways to give quantiles their share of new targets.
CALIBRATIONS = ("shift", None)


@storable_estimator
class QuantileSVR(Regression):
    r"""Kernel quantile regression: the flattest function below which a given share of the targets lies.

    .. math:: \min_{w, b_0} \tfrac12 |w|^2 + \sum_i C_i\, \rho_\tau(y_i - \langle w, \phi(x_i)\rangle - b_0),
        \qquad \rho_\tau(e) = \max(\tau e, (\tau - 1) e),

    for each quantile tau. At most the share tau of the training points lies below the function, and at least that share
    below or on it, counted with their weights. The pinball loss of the median is half of the absolute error: ``tau =
    0.5`` is the `SVR` with C / 2 and ``epsilon=0``.

    Parameters
    ----------
    quantile : float or array (q,)
        One or several quantiles tau in (0, 1), ascending. Several share kernel values.
    C : float
        Regularisation parameter, positive; multiplied by sample weights. Larger values penalise errors more.
    kernel : Kernel, str or callable
        As for `SVC`.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    crossing : {"allow", "sort"}
        Functions of several quantiles are fitted one by one and may cross where data are few. "sort" sorts the
        predictions at each point, which lowers none of their errors' pinball losses on average (Chernozhukov and others
        2010).
    calibration : {"shift"} or None
        "shift" adds to each intercept the quantile of the residuals of held-out rows: about the share tau of new
        targets lies below then, also where the functions follow the training rows closely. None keeps the optimum, of
        which the shares of the training rows hold.
    cv : int, splitter or iterable of (train, test)
        Folds of ``calibration``, of consecutive rows where it is a number, as for `SVRCV`: shuffle rows that are in
        order.
    tol : float
        Largest violation of the optimality conditions, in units of y; at most a thousandth of the standard deviation
        of y is used.
    max_iter : int
        Largest number of pairs of variables optimised for a quantile; -1 for 100 n, and at least ten million.
    memory : str or int
        Bytes that kernel values may take.

    Attributes
    ----------
    support_ : int array (n_sv,)
        Rows that are a support vector of any quantile.
    support_vectors_ : points (n_sv)
    n_support_ : int array (1,)
        Number of support vectors.
    dual_coef_ : array (n_sv, q)
        Between -C_i (1 - tau) and C_i tau.
    coef_ : array (q, d)
        Normals of a linear kernel; AttributeError for other kernels.
    intercept_ : array (q,)
        With the shift.
    shift_ : array (q,)
        What ``calibration`` added to the intercepts, 0 without.
    certificate_ : Certificate
        Objectives and gap before a shift, summed over the quantiles, and the largest violation; ``mercer.certify``
        recomputes it.
    n_iter_ : int
        Number of pairs optimised, over all quantiles.
    kernel_ : Kernel
    n_features_in_ : int

    See Also
    --------
    mercer.SVRCV : Chooses C, and gamma, of a quantile by cross-validation.
    mercer.KernelRidge : ``predict_interval`` gives intervals with a guaranteed share of new targets.

    Notes
    -----
    The time is that of an `SVR` for each quantile, and some four times that with ``calibration``. A quantile of the
    training points says nothing certain of new ones: far from 0.5 calibrate, or take a smaller C.

    References
    ----------
    Takeuchi, Le, Sears, Smola, *Nonparametric quantile estimation*, JMLR 7 (2006), equations (5) to (8), lemma 3.

    Chernozhukov, Fernandez-Val, Galichon, *Quantile and probability curves without crossing*, Econometrica 78 (2010).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(0, 1, 99).reshape(-1, 1)
    >>> y = X[:, 0] * np.tile([1.0, 2.0, 3.0], 33)
    >>> model = mc.QuantileSVR([0.2, 0.5, 0.8], 100.0, kernel="linear").fit(X, y)
    >>> model.predict([[0.5]]).round(2)
    array([[0.5, 1. , 1.5]])
    """

    quantile: float | ArrayLike = 0.5
    C: float = 1.0
    _: KW_ONLY
    crossing: str = "allow"
    calibration: str | None = None
    cv: Any = 5

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("C", self.C)
        check_choice("crossing", self.crossing, ("allow", "sort"))
        check_choice("calibration", self.calibration, CALIBRATIONS)
        check_folds(self.cv)
        checked_quantiles(self.quantile)

    @of_points
    def predict(self, X: PointsLike) -> Array:
        """Return the quantiles of the targets of new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,), or (n_test, q) where ``quantile`` is an array
        """
        values = with_intercept(self._values(X), self.intercept_)
        levels = checked_quantiles(self.quantile)
        # models of older files know the number of their quantiles alone
        fitted = vars(self).get("_levels")
        if levels != fitted if fitted else len(levels) != len(values.T):
            raise ValueError(
                f"quantile = {shown(self.quantile)} must be that of the fit, which had "
                f"{shown(fitted) if fitted else len(values.T)}; set it back, or fit again."
            )
        if np.ndim(self.quantile) == 0:
            return values[:, 0]
        return np.sort(values, axis=1) if self.crossing == "sort" else values

    @on_device
    def score(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return D^2, the share of the pinball loss of the targets' own quantile that the model saves.

        Parameters
        ----------
        X : points (n_test)
        y : array (n_test,)
        sample_weight : array (n_test,), optional

        Returns
        -------
        float
            At most 1; the mean over several quantiles.
        """
        values = self.predict(X).reshape(len(y), -1)
        levels = checked_quantiles(self.quantile)
        return float(
            np.mean(
                [
                    d2_pinball_score(y, own, sample_weight=sample_weight, alpha=tau)
                    for own, tau in zip(values.T, levels, strict=True)
                ]
            )
        )

    def __mercer_losses__(self, values: Array, y: Array) -> Array:
        """Return the losses (n,) of predictions, means over the quantiles; 1 minus their mean is ``score``.

        Each is a share of the mean loss of the targets' own quantile.
        """
        columns = (each.reshape(len(y), -1).T for each in (values, y))
        shares = []
        for tau, own, targets in zip(checked_quantiles(self.quantile), *columns, strict=True):
            constant = np.quantile(targets, tau, method="inverted_cdf")
            losses, least = (
                np.maximum(tau * (targets - each), (tau - 1) * (targets - each))
                for each in (own, constant)
            )
            shares.append(losses / max(least.mean(), TINY))
        return np.mean(shares, axis=0)

    def _fit_points(self, X, y, sample_weight):
        self._check_parameters()
        problem = self._problem(X, y, sample_weight)
        splits = []
        if self.calibration:
            weights = check_weights("sample_weight", sample_weight, self._n_rows)
            splits = splits_of(self.cv, in_memory(X), column_or_1d(y), weights)
        self._route(Size(len(problem.rows), problem.budget)).run(problem)
        if splits:
            shift(self, problem, self._held_out(problem, splits))
        return self

    def _routes(self, size):
        fits = np.size(self.quantile) * (
            1 + (work_of_folds(self.cv, size.n) if self.calibration else 0)
        )
        return [replace(each, work=each.work * fits) for each in super()._routes(size)]

    def _duals(self, problem):
        """Return the dual of each quantile."""
        C = float(self.C) * problem.weights
        quantiles = checked_quantiles(self.quantile)
        # bounds -C (1 - tau) and C tau, and no epsilon
        return Dual.joined(
            [regression_dual(problem.targets, (tau - 1) * C, tau * C) for tau in quantiles]
        )

    def _store(self, problem, solutions):
        super()._store(problem, solutions)
        self._levels = checked_quantiles(self.quantile)
        self.shift_: Array = np.zeros(len(self.intercept_))

    def _biases(self):
        return super()._biases() - self.shift_

    def _held_out(self, problem, splits):
        """Return the values (rows of X, q) of each row in the folds that leave it out, NaN where there are none."""
        duals = self._duals(problem)
        centre, scale = centre_and_scale(problem.targets, duals[0].upper, self.C)
        tol = calibration_tolerance(regression_tolerance(self.tol, scale)[1], len(problem.rows))
        units = duals.in_units(centre, scale)
        folds = [fold_of(problem, *each) for each in splits]
        with self._training(problem, tol) as options:
            (found,) = cross_validate_kernels(
                [problem.kernel], problem.points, units, folds, np.ones(1), options
            )
        values = [each.in_units(centre, scale).values[0] for each in found]
        return held_out_means(values, [test for _, test in splits], self._n_rows)


def checked_quantiles(quantile: float | ArrayLike) -> list[float]:
    """Return one or several quantiles as a list, or raise unless they ascend within (0, 1)."""
    if np.ndim(quantile) == 0:
        check_positive("quantile", quantile)
        levels = np.array([float(quantile)])
    else:
        levels = check_positives("quantile", quantile)
    if levels.max() >= 1:
        raise ValueError(
            f"quantile = {shown(quantile)} must be below 1: it is a share of the targets."
        )
    # its product with C is a number
    if levels.min() < 1 / LARGEST:
        raise ValueError(f"quantile = {shown(quantile)} must be at least {1 / LARGEST}.")
    if (np.diff(levels) <= 0).any():
        raise ValueError(
            f"quantile = {shown(quantile)} must ascend; sort its values, and remove equal ones."
        )
    return levels.tolist()


def shift(model: QuantileSVR, problem: Problem, held_out: Array) -> None:
    """Move intercepts by the quantiles of residuals of held-out values (rows of X, q), which are NaN of no fold."""
    values = held_out[problem.rows]
    known = np.isfinite(values[:, 0])
    residuals = problem.targets[known, None] - values[known]
    weights = problem.weights[known]
    model.shift_ = np.array(
        [
            np.quantile(own, tau, weights=weights, method="inverted_cdf")
            for own, tau in zip(residuals.T, checked_quantiles(model.quantile), strict=True)
        ]
    )
    model.intercept_ = (model.intercept_ + model.shift_).astype(model.intercept_.dtype)
