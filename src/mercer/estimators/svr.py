"""SVR: support vector regression with any kernel, by three losses."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from mercer._common import check_number
from mercer._compute.points import count_points
from mercer.estimators import _svm
from mercer.estimators._hard_tube import hard_tube
from mercer.estimators._single import Tube, solver
from mercer.solvers.svm.duals import box_certificate, ridged_certificate
from mercer.solvers.svm.newton import widened
from mercer.solvers.svm.ridged import Ridged
from mercer.solvers.svm.smo import Dual

_LOSSES = ("epsilon", "huber", "squared_epsilon")


class SVR(Tube, BaseEstimator):
    r"""Support vector regression: the flattest function whose large errors are few.

    .. math:: \min_{w, b_0} \tfrac12 |w|^2 + \sum_i C_i\, \ell(y_i - \langle w, \phi(x_i)\rangle - b_0)

    with the loss of an error e: "epsilon" max(0, |e| - epsilon); "squared_epsilon" max(0, |e| - epsilon)^2 / 2;
    "huber" e^2 / (2 epsilon) up to |e| = epsilon, |e| - epsilon / 2 beyond. Values are ``expansion_(X) + intercept_``.

    Parameters
    ----------
    C : float
        Price of errors, above 0; that of a point is multiplied by its weight. Infinity allows none: the hard tube,
        for the loss "epsilon", a ValueError where no function has all points within ``epsilon``.
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        With its numbers, as for `SVC`. Bandwidth rules are resolved on the training data.
    epsilon : float
        Half the width of the tube without loss, at least 0; for "huber" where the loss becomes linear.
    loss : {"epsilon", "huber", "squared_epsilon"}
        The first leaves most coefficients 0 or at a bound; "huber" makes hardly any 0.
    tol : float
        Largest violation of the optimality conditions, in units of y.
    max_iter : int
        Pairs of variables optimised at most; -1 for 100 times their number, and at least ten million.
    memory : str or int
        Bytes that kernel rows may take.

    Attributes
    ----------
    support_ : int array (n_sv,)
    support_vectors_ : points (n_sv)
    dual_coef_ : array (n_sv, 1)
    intercept_ : array (1,)
    certificate_ : Certificate
        Objectives, gap and worst violation where the solver stopped; ``mercer.certify`` recomputes it.
    n_iter_ : int
        Pairs optimised.
    kernel_ : Kernel
    n_features_in_ : int

    See Also
    --------
    mercer.NuSVR : The tube's width follows from the share of points outside.

    References
    ----------
    Smola, Schölkopf, *A tutorial on support vector regression*, Statistics and Computing 14 (2004), equations (10) and
    (34) to (38), table 1 for the losses.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 3.0])
    >>> mc.SVR(C=10.0, kernel="linear", epsilon=0.0).fit(X, y).predict([[4.0]]).round(6)
    array([4.])
    >>> exact = mc.SVR(C=np.inf, kernel=mc.Gaussian(0.5), epsilon=0.1).fit(X, y)
    >>> bool(np.abs(y - exact.predict(X)).max() <= 0.1 + 1e-9)
    True
    """

    def __init__(self, C=1.0, *, kernel="rbf", epsilon=0.1, loss="epsilon", tol=1e-3, max_iter=-1, memory="1GB"):
        self.C = C
        self.kernel = kernel
        self.epsilon = epsilon
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory

    def fit(self, X, y, sample_weight=None):
        """Find the function of the training points.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        sample_weight : array (n,), optional
            Factors of C, at least 0; a row of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        self._check_parameters()
        y = targets(self, y)
        sample = self._sample(X, sample_weight, len(y))
        hard = np.isposinf(self.C)
        dual, ridge = self._dual(sample, y, np.ones(len(sample.kept)) if hard else self.C * sample.weights)
        n, points = count_points(sample.points), sample.points
        kernel = sample.kernel
        if ridge is not None:
            kernel, points = Ridged(kernel, widened(points), ridge), np.arange(n)
        accuracy = self.tol / (self.C * sample.weights.max() * np.sqrt(n))
        with solver(self, kernel, points, accuracy) as means:
            if hard:
                solution, dual = hard_tube(means, dual, sample, y[sample.kept], self.epsilon, self.tol)
            else:
                solution = means.optimum(dual, self.tol)
        self._keep(sample, solution.coef, solution)
        self.intercept_ = np.array([solution.bias], sample.dtype)
        self.certificate_ = certificate(self._bounded(dual), ridge, solution.coef, solution.scores, solution.bias)
        self._warn_unfinished(solution.violation, self.tol, solution.gain)
        return self

    def _check_parameters(self):
        self._check_solver()
        check_number("epsilon", self.epsilon)
        if self.loss not in _LOSSES:
            raise ValueError(f"loss = {self.loss!r} must be one of {_LOSSES}.")
        _svm.check_price(self.C)
        if np.inf == self.C and self.loss != "epsilon":
            raise ValueError(f"C = inf, which allows no loss, needs loss = 'epsilon', got {self.loss!r}.")
        if self.epsilon < 0 or (self.loss == "huber" and self.epsilon == 0):
            least = "above 0 for the Huber loss" if self.loss == "huber" else "at least 0"
            raise ValueError(f"epsilon = {self.epsilon!r} must be {least}.")

    def _dual(self, sample, y, price):
        """Return the dual for prices (k,), and the ridge (k,) that its kernel matrix has, or None."""
        y = y[sample.kept]
        if self.loss == "huber":
            return tube(y, 0.0, price), self.epsilon / price
        if self.loss == "epsilon":
            return tube(y, self.epsilon, price), None
        # the optimum's loss is at most that of a constant, which bounds every coefficient without touching one
        spread = y - np.average(y, weights=price)
        bound = np.sqrt(price * (price @ np.square(spread))) + price * self.epsilon + np.finfo(float).tiny
        return tube(y, self.epsilon, 2 * bound), 1 / price

    def _certify(self, X, y, sample_weight):
        """Return the certificate in float64 from raw inputs."""
        y = targets(self, y)
        sample = self._sample(X, sample_weight, len(y))
        if np.isposinf(self.C):
            # the optimum of no slack is that of every price above its coefficients
            price = np.full(len(sample.kept), 2 * float(np.abs(self.dual_coef_).max(initial=0.0)) or 1.0)
        else:
            price = self.C * sample.weights
        dual, ridge = self._dual(sample, y, price)
        return tube_certificate(self, sample, self._bounded(dual), ridge)

    def _bounded(self, dual):
        """Return a dual with the bounds of its loss: the squared one is solved between some, and has none."""
        if self.loss != "squared_epsilon":
            return dual
        return replace(dual, lower=np.full_like(dual.lower, -np.inf), upper=np.full_like(dual.upper, np.inf))


def tube(y, epsilon, price):
    """Return the dual of a tube: one variable to a point, between -price and price.

    Parameters
    ----------
    y : float64 array (n,)
    epsilon : float
    price : float64 array (n,)

    Returns
    -------
    Dual
    """
    return Dual(y, -price, price, np.zeros(len(y)), np.arange(len(y)), epsilon)


def tube_certificate(model, sample, dual, ridge):
    """Return the certificate of a fitted regression in float64 from raw inputs."""
    coef, values = model._stored(sample)
    if ridge is not None:
        values = values + ridge * coef
    coef = np.clip(coef, dual.lower, dual.upper)
    return certificate(dual, ridge, coef, dual.target - values, float(model.intercept_[0]))


def certificate(dual, ridge, coef, scores, bias):
    """Return the certificate of a regression, whose kernel matrix has a ridge where its loss is smooth."""
    if ridge is None:
        return box_certificate(dual, coef, scores, bias)
    return ridged_certificate(dual, ridge, coef, scores, bias)


def targets(model, y):
    """Return the targets in float64, or say what is wrong with them."""
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    try:
        y = column_or_1d(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{type(model).__name__} needs y of numbers, got dtype {y.dtype}; labels are for classifiers, such as SVC."
        ) from None
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise ValueError(f"y[{bad[0]}] = {y[bad[0]]} must be finite: Input y contains NaN or infinity.")
    return y
