"""OneClassSVM: the half space of a feature space that contains most of the data, farthest from the origin."""

import numpy as np

from mercer._common import Array, PointsLike, shown, warn
from mercer.estimators._svm import Boundary, Normals, check_share, require_bound
from mercer.estimators.model import of_points, storable_estimator
from mercer.solvers.svm.certificates import certificate
from mercer.solvers.svm.dual import Dual, feasible_start


@storable_estimator
class OneClassSVM(Normals, Boundary):
    r"""One-class support vector machine: where most of the data lie.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad 0 \le b_i \le w_i,\ \sum_i b_i = \nu \sum_i w_i

    Positive values of <w, phi(x)> - offset_ mean inliers. Where the points surround the origin of the feature space, as
    rows about their mean do with a linear kernel, w = 0 is the solution and every point an inlier: a warning says so.

    Parameters
    ----------
    nu : float in (0, 1]
        At most this share of the training points is rejected, and at least this share are support vectors.
    kernel : Kernel, str or callable
        As for `SVC`.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    tol : float
        Largest violation of the optimality conditions, in units of the decision values, or of k(x, x) if these are
        smaller: for coefficients of sum 1 if ``nu`` times the sum of weights is below 1.
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
    offset_ : float
        Support vectors on the boundary count as inliers in spite of rounding, also where the model, or the points, are
        stored in float32: ``offset_`` is smaller than their values by 64 roundings of float32 (8e-6) of the largest
        k(x, x), for coefficients of sum 1. For float64 points the margin is at most 1/1000 of the mean squared distance
        of support vectors from their mean.
    intercept_ : array (1,)
        ``-offset_``.
    certificate_ : Certificate
        For coefficients of sum 1, and the boundary before it was moved for float32.
    n_iter_ : int
    kernel_ : Kernel
    n_features_in_ : int

    See Also
    --------
    mercer.SVDD : The smallest ball; the same boundary for kernels of constant k(x, x).

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola, Williamson, *Estimating the support of a high-dimensional distribution*,
    Neural Computation 13 (2001), equations (11) to (13).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0]])
    >>> mc.OneClassSVM(nu=0.3, kernel=mc.Gaussian(1.0)).fit(X).predict([[0.1], [9.0]])
    array([ 1, -1])
    """

    nu: float = 0.5

    def _check_parameters(self):
        super()._check_parameters()
        check_share("nu", self.nu)

    def _place(self, problem, bias, margin, total):
        self.intercept_: Array = np.array([total * (bias + margin)], problem.dtype)
        self.offset_: float = -self.intercept_[0]

    @of_points
    def score_samples(self, X: PointsLike) -> Array:
        """Return <w, phi(x)> of new points (n_test,).

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self._values(X)[:, 0]

    def _over_all(self, problem):
        solved = super()._over_all(problem)
        found = self.certificate_
        gap = found.primal - found.dual
        # the objective of w = 0, which separates nothing; that of a conditionally positive kernel may be above, and one
        # of a fit that stopped early proves nothing
        if (
            found.convex
            and solved.solutions.violation.max() <= solved.tol
            and found.dual - gap <= 0 <= found.primal
        ):
            warn(
                f"OneClassSVM has no half space: the origin of the feature space of {shown(self.kernel_)} lies among "
                "the points, so that |w|^2 is 0 up to rounding and every point an inlier; take kernel='rbf', rows that "
                "are not centred, or SVDD, whose ball needs no origin."
            )

    def _implied(self, name, value):
        if name == "intercept_":
            return {"offset_": -value[0]}
        return (
            {"intercept_": np.array([-value], self.dual_coef_.dtype)} if name == "offset_" else {}
        )

    def _dual(self, problem):
        total = float(self.nu * problem.weights.sum())
        require_bound("nu", self.nu, total)
        n = len(problem.rows)
        # coefficients of sum 1 do not meet a bound of 2
        upper = np.minimum(problem.weights / total, 2.0)
        start = feasible_start(upper, 1.0)
        return Dual(np.zeros(n), np.zeros(n), upper, start, np.arange(n), sums_only=True), total

    def _recomputed(self, problem, shift):
        """Return the certificate of the stored coefficients in float64."""
        dual, total = self._dual(problem)
        coef, values = (each[:, 0] / total for each in self._stored(problem))
        bias = -float(self.offset_) / total
        bias -= self._margin(problem, bias, self._scatter(problem, coef, values))
        return certificate(dual, coef, -values, bias, problem.rounding, shift)
