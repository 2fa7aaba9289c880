"""OneClassSVM: the half space of a feature space that holds most of the data, farthest from the origin."""

import numpy as np
from sklearn.base import BaseEstimator

from mercer._common import check_positive
from mercer._compute.points import count_points
from mercer.estimators._single import Boundary, solver
from mercer.solvers.svm.duals import box_certificate, filled
from mercer.solvers.svm.smo import Dual

# Roundings of a score by which the boundary lies outside its support vectors.
_ROUNDINGS = 64


class OneClassSVM(Boundary, BaseEstimator):
    r"""One-class support vector machine: where most of the data lie.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad 0 \le b_i \le w_i,\ \sum_i b_i = \nu \sum_i w_i

    Positive scores <w, phi(x)> - offset_ mean inliers.

    Parameters
    ----------
    nu : float in (0, 1]
        At most this share of the training points is rejected, and at least this share are support vectors.
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        With its numbers, as for `SVC`. Bandwidth rules are resolved on the training data.
    tol : float
        Largest violation of the optimality conditions, in units of the scores, or of k(x, x) where scores are smaller:
        it is taken for coefficients of sum 1 when ``nu`` times the sum of weights is below 1.
    max_iter : int
        Pairs of variables optimised at most; -1 for 100 n, and at least ten million.
    memory : str or int
        Bytes that kernel rows may take.

    Attributes
    ----------
    support_ : int array (n_sv,)
    support_vectors_ : points (n_sv)
    dual_coef_ : array (n_sv, 1)
    offset_ : float
        Of the boundary; support vectors on it count as inliers, in spite of rounding.
    intercept_ : array (1,)
        ``-offset_``.
    certificate_ : Certificate
        For coefficients of sum 1.
    n_iter_ : int
    kernel_ : Kernel
    n_features_in_ : int

    See Also
    --------
    mercer.SVDD : The smallest ball; the same machine for kernels of constant k(x, x).

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

    def __init__(self, nu=0.5, *, kernel="rbf", tol=1e-3, max_iter=-1, memory="1GB"):
        self.nu = nu
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory

    def fit(self, X, y=None, sample_weight=None):
        """Find the boundary of the training points.

        Parameters
        ----------
        X : points (n)
        y : ignored
        sample_weight : array (n,), optional
            At least 0; a weight of two is a point given twice.

        Returns
        -------
        self
        """
        self._check_solver()
        _share("nu", self.nu)
        sample = self._sample(X, sample_weight)
        dual, total = self._dual(sample)
        scale = np.abs(sample.kernel.diag(sample.points)).max()
        tol = self.tol * max(float(scale), 1e-300) / max(1.0, total)
        n = len(dual.points)
        with solver(self, sample.kernel, sample.points, tol / (dual.upper.max() * np.sqrt(n))) as means:
            solution = means.optimum(dual, tol)
        level = inner_level(solution, dual, sample.dtype, scale)
        self._keep(sample, total * solution.coef, solution)
        self.intercept_ = np.array([total * level], sample.dtype)
        self.offset_ = -self.intercept_[0]
        self.certificate_ = box_certificate(dual, solution.coef, solution.scores, level)
        self._warn_unfinished(solution.violation, tol)
        self._warn_coarse(sample, scale, solution.violation, tol)
        return self

    def score_samples(self, X):
        """Return <w, phi(x)> of new points (n_test,).

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self._values(X)

    def _dual(self, sample):
        """Return the dual for coefficients of sum 1, and the sum that they are given."""
        total = float(self.nu * sample.weights.sum())
        n = count_points(sample.points)
        # no coefficient exceeds the sum: a bound of 2 is as good as any above
        upper = np.minimum(sample.weights / total, 2.0)
        return Dual(np.zeros(n), np.zeros(n), upper, filled(upper, 1.0), np.arange(n)), total

    def _certify(self, X, y, sample_weight):
        """Return the certificate in float64 from raw inputs."""
        sample = self._sample(X, sample_weight)
        dual, total = self._dual(sample)
        coef, values = self._stored(sample)
        coef = np.clip(coef / total, dual.lower, dual.upper)
        return box_certificate(dual, coef, -values / total, float(self.intercept_[0]) / total)


def inner_level(solution, dual, dtype, scale):
    """Return a level that no score exceeds which may rise, not by rounding either: only those at a bound do.

    Parameters
    ----------
    solution : Solution
    dual : Dual
    dtype : dtype
        In which scores will be computed.
    scale : float
        Of kernel values.

    Returns
    -------
    float
    """
    rise = solution.coef < dual.upper
    level = float(solution.scores[rise].max()) if rise.any() else solution.bias
    return level + _ROUNDINGS * float(np.finfo(dtype).eps) * max(abs(level), float(scale))


def _share(name, value):
    check_positive(name, value)
    if value > 1:
        raise ValueError(f"{name} = {value!r} must be at most 1: it is a share of the training points.")
