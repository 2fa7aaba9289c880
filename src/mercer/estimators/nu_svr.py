"""NuSVR: support vector regression with a prescribed share of points outside the epsilon-tube."""

from dataclasses import KW_ONLY

from mercer._common import check_positive
from mercer.estimators._svm import Regression, check_share
from mercer.estimators.model import storable_estimator
from mercer.solvers.svm.dual import regression_dual


@storable_estimator
class NuSVR(Regression):
    r"""Support vector regression in which ``nu`` bounds the share of points outside the epsilon-tube.

    .. math:: \min_{w, b_0, \epsilon} \tfrac12 |w|^2 + \nu \epsilon \sum_i C_i
        + \sum_i C_i \max(0, |y_i - \langle w, \phi(x_i)\rangle - b_0| - \epsilon)

    It is the `SVR` with ``epsilon_``. At most the share ``nu`` of the points lies outside the tube.

    Parameters
    ----------
    nu : float in (0, 1]
    C : float
        Regularisation parameter, positive; multiplied by sample weights. Larger values penalise errors more.
    kernel : Kernel, str or callable
        As for `SVC`.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    tol : float
        Largest violation of the optimality conditions, in units of y; at most a thousandth of the
        standard deviation of y is used.
    max_iter : int
        Largest number of pairs of variables optimised in each of the few duals that are solved; -1 for 100 n, and at
        least ten million.
    memory : str or int
        Bytes that kernel values may take.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube.
    support_ : int array (n_sv,)
    support_vectors_ : points (n_sv)
    n_support_ : int array (1,)
        Number of support vectors.
    dual_coef_ : array (n_sv, 1)
    coef_ : array (1, d)
        Normal of a linear kernel; AttributeError for other kernels.
    intercept_ : array (1,)
    certificate_ : Certificate
        Of the problem above, whose objective contains ``epsilon_``.
    n_iter_ : int
    kernel_ : Kernel
    n_features_in_ : int

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural Computation 12 (2000), equations
    (8) to (16).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 3.0])
    >>> mc.NuSVR(nu=0.5, C=10.0, kernel="linear").fit(X, y).predict([[4.0]]).round(3)
    array([4.])
    """

    nu: float = 0.5
    _: KW_ONLY
    C: float = 1.0

    # rows are computed on demand
    _wide = False
    _variables = 2

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("C", self.C)
        check_share("nu", self.nu)

    def _store(self, problem, solutions):
        super()._store(problem, solutions)
        self.epsilon_: float = solutions.epsilon.item()

    def _duals(self, problem):
        return self._tube(problem, 0.0)

    def _solved_duals(self, problem):
        return self._tube(problem, self.epsilon_)

    def _tube(self, problem, epsilon):
        bound = float(self.C) * problem.weights
        total = self.nu * float(bound.sum())
        return regression_dual(problem.targets, -bound, bound, epsilon, total=total)
