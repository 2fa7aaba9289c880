"""SVDD: the smallest ball of a feature space around the data."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from mercer._common import warn
from mercer._compute.points import count_points
from mercer.estimators import _svm
from mercer.estimators._single import Boundary, solver
from mercer.estimators.one_class_svm import inner_level
from mercer.solvers.svm.duals import box_certificate, filled
from mercer.solvers.svm.newton import widened
from mercer.solvers.svm.smo import Dual


class SVDD(Boundary, BaseEstimator):
    r"""Support vector data description: the smallest ball that holds the data, or most of them.

    .. math:: \min_{R, c, \xi} R^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
        |\phi(x_i) - c|^2 \le R^2 + \xi_i,\ \xi_i \ge 0

    ``decision_function`` is R^2 - |phi(x) - c|^2, positive inside.

    Parameters
    ----------
    C : float or None
        Price of slack, above 0, multiplied by the weight of a point. Infinity, or at least 1, allows none: the ball
        then holds every training point. At most the share 1 / (n C) of the points lies outside; None is a tenth of
        them, C = 10 / (sum of weights). Raised with a warning to 1 / (sum of weights), below which no ball is worth its
        radius.
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        With its numbers, as for `SVC`. Bandwidth rules are resolved on the training data.
    tol : float
        Largest violation of the optimality conditions, in units of the largest k(x, x).
    max_iter : int
        Pairs of variables optimised at most; -1 for 100 n, and at least ten million.
    memory : str or int
        Bytes that kernel rows may take.

    Attributes
    ----------
    centre_ : Expansion
        One vector, the mean of ``support_vectors_`` with weights ``dual_coef_``.
    radius_ : float
        Points on the sphere count as inside, in spite of rounding.
    offset_ : float
        ``-radius_**2``.
    support_ : int array (n_sv,)
    support_vectors_ : points (n_sv)
    dual_coef_ : array (n_sv, 1)
        At least 0, of sum 1.
    certificate_ : Certificate
        Of half the objective above.
    n_iter_ : int
    kernel_ : Kernel
    n_features_in_ : int

    See Also
    --------
    mercer.OneClassSVM : The same boundary for kernels of constant k(x, x).

    References
    ----------
    Tax, Duin, *Support vector data description*, Machine Learning 54 (2004), equations (3) to (14).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> ball = mc.SVDD(np.inf, kernel="linear").fit(np.array([[0.0], [1.0], [4.0]]))
    >>> round(ball.radius_, 6), ball.predict([[3.9], [4.1]])
    (2.0, array([ 1, -1]))
    """

    def __init__(self, C=None, *, kernel="rbf", tol=1e-3, max_iter=-1, memory="1GB"):
        self.C = C
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory

    def fit(self, X, y=None, sample_weight=None):
        """Find the ball around the training points.

        Parameters
        ----------
        X : points (n)
        y : ignored
        sample_weight : array (n,), optional
            Factors of C, at least 0; a row of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        self._check_solver()
        if self.C is not None:
            _svm.check_price(self.C)
        sample = self._sample(X, sample_weight)
        dual = self._dual(sample)
        scale = max(float(np.abs(dual.target).max()), 1e-300) * 2
        tol, n = self.tol * scale, len(dual.points)
        with solver(self, sample.kernel, sample.points, tol / np.sqrt(n)) as means:
            solution = means.optimum(dual, tol)
        level = inner_level(solution, dual, sample.dtype, scale)
        self._keep(sample, solution.coef, solution)
        self._norm = float(self.centre_.norms()[0]) ** 2
        self.radius_ = float(np.sqrt(max(0.0, self._norm + 2 * level)))
        self.offset_ = -(self.radius_**2)
        self.certificate_ = box_certificate(dual, solution.coef, solution.scores, level)
        self._warn_unfinished(solution.violation, tol)
        self._warn_coarse(sample, scale, solution.violation, tol)
        return self

    @property
    def centre_(self):
        """The centre of the ball, an Expansion over ``support_vectors_``."""
        return self.expansion_

    def score_samples(self, X):
        """Return minus the squared distance of new points to the centre.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n); where k(x, x) is not the same
            for all of those, rows of the training matrix only, since that of others is not known.

        Returns
        -------
        array (n_test,)
        """
        return 2 * self._values(X) - self._own(self._new_points(X)) - self._norm

    def _own(self, X):
        """Return k(x, x) of new points."""
        if self.kernel_.tags.points != "indices":
            return self.kernel_.diag(X)
        known = self.kernel_.diag(np.arange(self.n_features_in_))
        if np.ptp(known) <= 1e-6 * np.abs(known).max():
            return known[:1]
        place = {row.tobytes(): i for i, row in enumerate(self.kernel_.matrix)}
        found = [place.get(row.tobytes()) for row in np.asarray(X, self.kernel_.matrix.dtype)]
        if None in found:
            raise ValueError(
                f"k(x, x) of row {found.index(None)} is not known: it is no training row, and k(x, x) is between "
                f"{known.min():.6g} and {known.max():.6g} on those. Use a kernel of constant k(x, x), or a kernel "
                "object instead of its matrix."
            )
        return known[found]

    def _dual(self, sample):
        """Return the dual: coefficients of sum 1."""
        n, mass = count_points(sample.points), float(sample.weights.sum())
        price = 10 / mass if self.C is None else self.C
        if price * mass < 1:
            warn(
                f"C = {self.C} is infeasible for weights of sum {mass:.6g}; raised to {1 / mass:.6g}, the smallest "
                "feasible value.",
            )
            price = 1 / mass
        # no coefficient exceeds the sum: a bound of 2 is as good as any above
        upper = np.minimum(price * sample.weights, 2.0)
        diagonal = np.asarray(sample.kernel.diag(sample.points), np.float64)
        return Dual(diagonal / 2, np.zeros(n), upper, filled(upper, 1.0), np.arange(n))

    def _certify(self, X, y, sample_weight):
        """Return the certificate in float64 from raw inputs."""
        sample = self._sample(X, sample_weight)
        sample = replace(sample, points=widened(sample.points))
        dual = self._dual(sample)
        coef, values = self._stored(sample)
        coef = np.clip(coef, dual.lower, dual.upper)
        level = 0.5 * (self.radius_**2 - float(coef @ values))
        return box_certificate(dual, coef, dual.target - values, level)
