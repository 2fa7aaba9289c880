"""SVDD: support vector data description, the smallest ball of a feature space around the data."""

from dataclasses import replace

import numpy as np

from mercer._common import Array, PointsLike, as_float64, warn
from mercer._compute.points import widened
from mercer.estimators._svm import Boundary, check_C
from mercer.estimators.model import attribute, of_points, storable_estimator
from mercer.expansion import Expansion, squares
from mercer.solvers.svm.certificates import certificate
from mercer.solvers.svm.dual import smallest_ball_dual


@storable_estimator
class SVDD(Boundary):
    r"""Support vector data description: the smallest ball that contains the data, or most of them.

    .. math:: \min_{R, c, \xi} R^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
        |\phi(x_i) - c|^2 \le R^2 + \xi_i,\ \xi_i \ge 0

    ``decision_function`` is R^2 - |phi(x) - c|^2 plus the margin of ``offset_`` for rounding, positive inside.

    Parameters
    ----------
    C : float or None
        Penalty of points outside, positive; multiplied by sample weights. At most the share 1 / (n C) of the points is
        outside. If it is at least 1 or infinite, the ball contains all points. None means C = 10 / (sum of weights), a
        tenth outside. A value below 1 / (sum of weights) is infeasible, and raised to that with a warning.
    kernel : Kernel, str or callable
        As for `SVC`.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    tol : float
        Largest violation of the optimality conditions, in units of the largest k(x, x).
    max_iter : int
        Largest number of pairs of variables optimised; -1 for 100 n, and at least ten million.
    memory : str or int
        Bytes that kernel values may take.

    Attributes
    ----------
    centre_ : Expansion
        One vector, the mean of ``support_vectors_`` with weights ``dual_coef_``.
    radius_ : float
        Points on the sphere count as inside in spite of rounding.
    offset_ : float
        ``-radius_**2``, for float64 points minus a margin, so that points on the sphere count as inside also where the
        model, or the points, are stored in float32: 128 roundings of float32 (2e-5) of the largest k(x, x), and at most
        1/500 of the mean squared distance of support vectors from the centre.
    support_ : int array (n_sv,)
    support_vectors_ : points (n_sv)
    n_support_ : int array (1,)
        Number of support vectors.
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

    C: float | None = None

    def _check_parameters(self):
        super()._check_parameters()
        if self.C is not None:
            check_C(self.C)

    def _place(self, problem, bias, margin, total):
        # negative for some kernels whose squared distances are not
        self.radius_: float = float(np.sqrt(max(self._square + 2 * bias, 0.0)))
        self.offset_: float = -(self.radius_**2) - 2 * margin

    @attribute
    def centre_(self) -> Expansion:
        """The centre of the ball (an Expansion of one vector over ``support_vectors_``)."""
        return self.expansion_

    @property
    def _square(self):
        """The squared norm of the centre."""
        return self._prepare("norm", lambda: float(squares(self.centre_)[0]))

    @of_points
    def score_samples(self, X: PointsLike) -> Array:
        """Return minus the squared distance of new points to the centre.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n). If k(x, x) is not constant,
            they must be rows of the training matrix, whose k(x, x) are known.

        Returns
        -------
        array (n_test,)
        """
        return 2 * self._values(X)[:, 0] - self.kernel_.diag(self._new_points(X)) - self._square

    def _implied(self, name, value):
        if name == "radius_":
            return {"offset_": self.offset_ + self.radius_**2 - value**2}
        if name == "offset_":
            return {"radius_": float(np.sqrt(max(self.radius_**2 + self.offset_ - value, 0.0)))}
        return {}

    def _dual(self, problem):
        weights = problem.weights
        mass = float(weights.sum())
        C = 10 / mass if self.C is None else float(self.C)
        if C * mass < 1:
            warn(
                f"C = {self.C} is infeasible for weights of sum {mass:.6g}; raised to {1 / mass:.6g}, the smallest "
                "feasible value.",
            )
            C = 1 / mass
        return smallest_ball_dual(as_float64(problem.diagonal), C * weights), 1.0

    def _recomputed(self, problem, shift):
        """Return the certificate of the stored coefficients in float64."""
        rounding = problem.rounding
        problem = replace(problem, points=widened(problem.points))
        dual = self._dual(problem)[0]
        coef, values = (each[:, 0] for each in self._stored(problem))
        square = float(np.clip(coef, dual.lower, dual.upper) @ values)
        scatter = self._scatter(problem, coef, values)
        margin = self._margin(problem, 0.5 * (self.radius_**2 - square), scatter)
        # -offset_ is the squared radius and twice the margin
        bias = 0.5 * (-self.offset_ - 2 * margin - square)
        return certificate(dual, coef, dual.target - values, bias, rounding, shift)
