"""SVR: support vector regression with any kernel and one of three losses."""

from dataclasses import KW_ONLY

import numpy as np

from mercer._common import check_choice, check_number, shown, warn
from mercer.estimators._svm import Regression, check_C, require_bound
from mercer.estimators.model import storable_estimator
from mercer.solvers.svm.dual import regression_dual


@storable_estimator
class SVR(Regression):
    r"""Support vector regression: the flattest function with few large errors.

    .. math:: \min_{w, b_0} \tfrac12 |w|^2 + \sum_i C_i\, \ell(y_i - \langle w, \phi(x_i)\rangle - b_0)

    with the loss of an error e: "epsilon" max(0, |e| - epsilon); "squared_epsilon" max(0, |e| - epsilon)^2 / 2;
    "huber" e^2 / (2 epsilon) up to |e| = epsilon, |e| - epsilon / 2 beyond. Values are ``expansion_(X) + intercept_``.

    Parameters
    ----------
    C : float
        Regularisation parameter, positive; multiplied by sample weights. Larger values penalise errors more. Infinity
        allows no error, for the loss "epsilon"; a ValueError if no function has all points within ``epsilon``.
    kernel : Kernel, str or callable
        As for `SVC`.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    epsilon : float
        Half the width of the tube without loss, at least 0; for "huber" the error from which on the loss is linear.
    loss : {"epsilon", "huber", "squared_epsilon"}
        With "epsilon" most coefficients are 0 or at a bound; with "huber" hardly any is 0.
    tol : float
        Largest violation of the optimality conditions, in units of y; at most a thousandth of the
        standard deviation of y is used.
    max_iter : int
        Largest number of pairs of variables optimised; -1 for 100 n, and at least ten million.
    memory : str or int
        Bytes that kernel values may take.

    Attributes
    ----------
    support_ : int array (n_sv,)
    support_vectors_ : points (n_sv)
    n_support_ : int array (1,)
        Number of support vectors.
    dual_coef_ : array (n_sv, 1)
    coef_ : array (1, d)
        Normal of a linear kernel; AttributeError for other kernels.
    intercept_ : array (1,)
    certificate_ : Certificate
        Objectives, gap and largest violation at the solution; ``mercer.certify`` recomputes it.
    n_iter_ : int
        Number of pairs optimised.
    kernel_ : Kernel
    n_features_in_ : int

    See Also
    --------
    mercer.NuSVR : The width of the tube follows from the share of points outside.

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

    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.1
    loss: str = "epsilon"

    _steps = 2

    def _check_parameters(self):
        super()._check_parameters()
        check_number("epsilon", self.epsilon)
        check_choice(
            "loss",
            self.loss,
            ("epsilon", "huber", "squared_epsilon"),
            "; for quantiles use mercer.QuantileSVR",
        )
        check_C(self.C)
        if np.inf == self.C and self.loss != "epsilon":
            raise ValueError(
                f"loss = {shown(self.loss)} must be 'epsilon' if C = inf, which allows no loss."
            )
        if self.epsilon < 0 or (self.loss == "huber" and self.epsilon == 0):
            least = "above 0 for the Huber loss" if self.loss == "huber" else "at least 0"
            raise ValueError(f"epsilon = {shown(self.epsilon)} must be {least}.")

    def _duals(self, problem):
        """Return the dual: a quadratic loss adds a ridge to the kernel matrix."""
        C = float(self.C) * problem.weights
        # a quadratic loss divides by the bounds
        require_bound("C", self.C, float(C.max() if self.loss == "epsilon" else C.min()))
        bound = C
        epsilon = self.epsilon
        ridge = None
        if self.loss == "huber":
            epsilon = 0.0
            ridge = self.epsilon / C
        elif self.loss == "squared_epsilon":
            bound = np.full(len(C), np.inf)
            ridge = 1 / C
        return regression_dual(problem.targets, -bound, bound, epsilon, ridge)

    def _store(self, problem, solutions):
        super()._store(problem, solutions)
        if not len(self.support_) and np.ptp(problem.targets) > 0:
            warn(
                f"{type(self).__name__} has no support vectors: all targets are within epsilon = {self.epsilon:.3g} of "
                f"{self.intercept_[0]:.6g}, its prediction everywhere; give a smaller epsilon."
            )

    def _explain(self, problem, found):
        """Return the text of an error for targets that no function is close to."""
        first, second = problem.name_means(found)
        numbers = found.numbers
        return (
            f"C = inf needs a function within epsilon = {self.epsilon:g} of every target, and {first} and {second} are "
            f"{numbers['distance']:.3g} apart in feature space, their targets {numbers['difference']:.3g}: it would "
            f"have |w| > {numbers['needed']:.3g}, where {numbers['unit']:.3g} spans the targets. Give a finite C, a "
            "larger epsilon, or a kernel that separates these points."
        )
