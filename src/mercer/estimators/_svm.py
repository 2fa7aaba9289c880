"""Parts shared by the support vector estimators: the training problem, checks, options of the solver, warnings."""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from mercer._common import CallbackSupportMixin, check_integer, check_positive, check_weights, progress, warn
from mercer._compute.points import count_points, take_points, widened
from mercer.estimators._base import KernelEstimator
from mercer.expansion import Expansion
from mercer.gram import Gram, kept_product, prepare_product
from mercer.kernels.bandwidth import warn_degenerate
from mercer.solvers.svm import solve_dual
from mercer.solvers.svm.dual import Infeasible, certificate, inner_bias
from mercer.solvers.svm.workspace import Options, SharedCallback

# Kernel values beyond this suggest features that were not scaled.
_LARGE = 1e4
# Number of points compared with each other, and the largest error of a boundary as a share of their squared distances.
_COMPARED, _HIDDEN = 200, 0.1


@dataclass(frozen=True)
class Problem:
    """Training points of positive weight, those of a classifier sorted by class.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    points : points (k)
    rows : int array (k,)
        Training row of each point.
    weights : float64 array (k,)
    classes, class_weight, counts : array (c,)
        Labels, factors of C and numbers of points.
    binary : list of Subproblem
        The binary classifiers.
    """

    kernel: object
    points: object
    rows: np.ndarray
    weights: np.ndarray
    classes: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    counts: np.ndarray | None = None
    binary: list = field(default_factory=list)

    @property
    def dtype(self):
        """Type of coefficients: that of the points, float64 if they are not numbers."""
        return np.float32 if getattr(self.points, "dtype", None) == np.float32 else np.float64

    def upper_bounds(self, C):
        """Return C times the weights of the points' classes and their own (k,)."""
        return C * np.repeat(self.class_weight, self.counts) * self.weights

    def places(self, rows):
        """Return the points that are some training rows (int array)."""
        place = np.full(self.rows.max() + 1, -1)
        place[self.rows] = np.arange(len(self.rows))
        return place[rows]


@dataclass(eq=False, repr=False, kw_only=True)
class SupportVectorEstimator(KernelEstimator, CallbackSupportMixin):
    """Mixin of estimators that solve duals of support vector machines."""

    kernel: Any = "rbf"
    tol: float = 1e-3
    memory: str | int = "1GB"

    def _check_solver(self):
        check_positive("tol", self.tol)
        if getattr(self, "max_iter", -1) != -1:
            check_integer("max_iter", self.max_iter)

    def _positive_points(self, X, weights, rows):
        """Return the kernel, resolved with weights, and the points of some rows of X."""
        kernel, points = self._training_points(X, weights)
        points = points if np.array_equal(rows, np.arange(count_points(points))) else take_points(points, rows)
        warn_degenerate(kernel, points)
        return kernel, points

    @contextmanager
    def _training(self, problem, tol=None):
        """Give the options of the solver; contradictory constraints become a ValueError that names training rows."""
        tol, max_iter = self.tol if tol is None else tol, getattr(self, "max_iter", -1)
        with progress(self, "smo") as step:
            try:
                yield Options(tol, max_iter, self.memory, SharedCallback(step))
            except Infeasible as found:
                raise ValueError(self._explain(problem, found)) from None


@dataclass(eq=False, repr=False, kw_only=True)
class SingleOutput(SupportVectorEstimator):
    """Mixin of support vector estimators with one column of values."""

    max_iter: int = -1

    @property
    def expansion_(self):
        """The normal (an Expansion of one vector over ``support_vectors_``)."""
        check_is_fitted(self)
        if not len(self.dual_coef_):
            raise ValueError(
                f"{type(self).__name__} has no support vectors: all targets are within epsilon of "
                f"{self.intercept_[0]:.6g}, its prediction everywhere; give a smaller epsilon."
            )
        return Expansion(self.kernel_, self.support_vectors_, self.dual_coef_)

    @property
    def n_support_(self):
        """Number of support vectors (1,)."""
        check_is_fitted(self)
        return np.array([len(self.dual_coef_)])

    def _problem(self, X, y, sample_weight):
        """Return the points of positive weight; ``y`` may be None."""
        n = _num_samples(X) if y is None else check_lengths(X, y)
        weights = check_weights("sample_weight", sample_weight, n)
        rows = np.flatnonzero(weights > 0)
        kernel, points = self._positive_points(X, None if sample_weight is None else weights, rows)
        return Problem(kernel, points, rows, weights[rows])

    def _solution(self, problem, dual, tol=None):
        """Return the solution of a dual."""
        with self._training(problem, tol) as options:
            rows = options.rows(problem.kernel, problem.points, [dual])
            return solve_dual(rows, dual, options)

    def _store(self, problem, solution):
        """Store a solution as fitted attributes."""
        used = np.flatnonzero(solution.coef)
        self.kernel_ = problem.kernel
        self.support_ = problem.rows[used]
        self.support_vectors_ = take_points(problem.points, used)
        self.dual_coef_ = solution.coef[used, None].astype(problem.dtype)
        self.n_iter_, self.certificate_ = solution.n_iter, solution.certificate
        prepare_product(problem.kernel, self.support_vectors_, self.dual_coef_)

    def _stored(self, problem):
        """Return the coefficients (k,) of the points and K b (k,), in float64."""
        coef, support = stored_coefficients(self, problem)
        return coef[:, 0], kernel_product(self.kernel_, problem.points, coef, support)[:, 0]

    def _values(self, X):
        """Return <phi(x), normal> of new points (n_test,)."""
        X = self._new_points(X)
        if not len(self.dual_coef_):
            return np.zeros(count_points(X), self.dual_coef_.dtype)
        X = like_vectors(X, self.support_vectors_)
        return kept_product(self.kernel_, X, self.support_vectors_, self.dual_coef_)[:, 0]


class Boundary(SingleOutput, OutlierMixin):
    """Mixin of outlier detectors with ``score_samples`` and ``offset_``."""

    def _solve(self, problem, dual, tol, scale):
        """Return a solution with only points at their bounds outside; ``scale`` is that of kernel values."""
        solution = self._solution(problem, dual, tol)
        bias = inner_bias(solution, dual, problem.dtype, scale)
        found = certificate(dual, solution.coef, solution.gradient, bias)
        return replace(solution, bias=bias, certificate=found)

    def decision_function(self, X):
        """Return ``score_samples(X) - offset_`` of new points, positive inside.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """Return 1 for points inside and -1 for those outside.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        int array (n_test,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)


class Regression(SingleOutput, RegressorMixin):
    """Mixin of regression by one expansion and one intercept."""

    def predict(self, X):
        """Return the values of new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self._values(X) + self.intercept_[0]

    def _fit_dual(self, X, y, sample_weight):
        """Solve the dual ``_dual(problem, y)``, store the solution, and return it."""
        y = self._targets(y)
        problem = self._problem(X, y, sample_weight)
        solution = self._solution(problem, self._dual(problem, y))
        self._store(problem, solution)
        self.intercept_ = np.array([solution.bias], problem.dtype)
        warn_inaccurate(self, solution, self.tol)
        return solution

    def _solved_dual(self, problem, y):
        """Return the dual that the fitted model solves."""
        return self._dual(problem, y)

    def __mercer_certify__(self, X, y, sample_weight):
        """Return the certificate in float64 from the training points."""
        self._require_training_rows(X)
        y = self._targets(y)
        problem = self._problem(X, y, sample_weight)
        dual = self._solved_dual(problem, y)
        coef, values = self._stored(problem)
        values = values if dual.ridge is None else values + dual.ridge * coef
        return certificate(dual, coef, dual.target - values, float(self.intercept_[0]))

    def _targets(self, y):
        """Return the targets in float64, or raise a ValueError."""
        name = type(self).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        try:
            y = column_or_1d(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} needs y of numbers, got dtype {y.dtype}; for labels use a classifier, such as SVC."
            ) from None
        bad = np.flatnonzero(~np.isfinite(y))
        if len(bad):
            raise ValueError(f"y[{bad[0]}] = {y[bad[0]]} must be finite: Input y contains NaN or infinity.")
        return y


# --- parameters ------------------------------------------------------------------------------------------------------


def check_C(C):
    """Raise unless C is a positive number, which may be infinite."""
    if not (isinstance(C, Real) and np.inf == C):
        check_positive("C", C)


def check_lengths(X, y):
    """Return the number of rows of X, or raise unless y has as many."""
    n = _num_samples(X)
    if n != len(y):
        raise ValueError(f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(y)}.")
    return n


def check_choice(name, value, known):
    """Raise unless a parameter is one of the known values."""
    if value not in known:
        raise ValueError(f"{name} = {value!r} must be one of {known}.")


def check_share(name, value):
    """Raise unless a share of the training points is in (0, 1]."""
    check_positive(name, value)
    if value > 1:
        raise ValueError(f"{name} = {value!r} must be at most 1: it is a share of the training points.")


# --- fitted models ---------------------------------------------------------------------------------------------------


def stored_coefficients(model, problem):
    """Return the coefficients (k, m) that a fitted model stores for the points of a problem, and its support (int)."""
    support = problem.places(model.support_)
    coef = np.zeros((len(problem.rows), model.dual_coef_.shape[1]))
    coef[support] = model.dual_coef_
    return coef, support


def kernel_product(kernel, points, coef, support):
    """Return K coef (k, m) in float64; only the rows ``support`` of coef are not 0."""
    if not len(support):
        return np.zeros(coef.shape)
    points = widened(points)
    return np.asarray(Gram(kernel, points, take_points(points, support)) @ coef[support], np.float64)


def like_vectors(X, vectors):
    """Return dense rows as sparse ones if the vectors are sparse."""
    return sp.csr_matrix(X) if sp.issparse(vectors) and not sp.issparse(X) else X


def name_mean(problem, points, weights):
    """Name a weighted mean of points of positive weight: their number, labels and heaviest training rows."""
    used = np.flatnonzero(weights > 0)
    rows = ", ".join(map(str, problem.rows[points[used[np.argsort(-weights[used])[:3]]]]))
    labels = ""
    if problem.classes is not None:
        codes = np.repeat(np.arange(len(problem.classes)), problem.counts)
        labels = " of " + ", ".join(map(str, problem.classes[np.unique(codes[points[used]])]))
    return f"a weighted mean of {len(used)} points{labels} (the heaviest in rows {rows})"


# --- warnings --------------------------------------------------------------------------------------------------------


def warn_inaccurate(model, worst, tol):
    """Warn if the solver stopped early, ``worst`` its worst solution, or if rounding exceeds the tolerance."""
    name = type(model).__name__
    if worst.violation <= tol:
        size = np.linalg.norm(model.dual_coef_, axis=0).max(initial=0.0)
        warn_rounded(name, model.kernel_, model.support_vectors_, size, tol)
        return
    gap = model.certificate_.gap / max(abs(model.certificate_.dual), 1e-300)
    remedy = _remedy(worst.gain, _largest_value(model.kernel_, model.support_vectors_))
    warn(
        f"{name} stopped after {worst.n_iter} steps with a violation of {worst.violation:.3g}, above tol = {tol:.3g}, "
        f"and a relative gap of {gap:.3g}; {remedy}",
        ConvergenceWarning,
    )


def warn_rounded(name, kernel, points, size, tol):
    """Warn if kernel values are so large that their rounding moves decision values by more than the tolerance.

    ``points`` are those with coefficients, ``size`` the root of the sum of their squares.
    """
    largest = _largest_value(kernel, points)
    noise = float(np.finfo(np.float64).eps) * largest * float(size)
    if noise > tol:
        warn(
            f"values of {name} are accurate to {noise:.1g} only, which is above tol = {tol:.3g}: k(x, x) is up to "
            f"{largest:.1g} and is rounded. Features far from the origin cause this: subtract their mean "
            "(StandardScaler).",
            ConvergenceWarning,
        )


def warn_coarse(model, problem, scale, violation, tol):
    """Warn if a violation, or rounding of kernel values up to ``scale``, is as large as distances of points."""
    if violation > tol:
        # `warn_inaccurate` warns
        return
    n = count_points(problem.points)
    some = take_points(problem.points, np.unique(np.linspace(0, n - 1, _COMPARED).astype(int)))
    K = np.asarray(problem.kernel(widened(some)), np.float64)
    spread = 2 * float(K.diagonal().mean() - K.mean())
    reached = max(float(violation), float(np.finfo(np.float64).eps * scale))
    if len(K) > 1 and reached > _HIDDEN * spread:
        warn(
            f"the boundary of {type(model).__name__} is accurate to {reached:.1g} only, where squared distances of "
            f"points are {max(spread, 0.0):.1g} on average and k(x, x) is up to {scale:.1g}. Features far from the "
            "origin cause this: subtract their mean (StandardScaler), or give a smaller tol.",
            ConvergenceWarning,
        )


def _largest_value(kernel, points):
    return float(np.abs(kernel.diag(points)).max()) if count_points(points) else 0.0


def _remedy(gain, largest):
    """Return what to do if the solver stopped early; ``gain`` is NaN unless the last round gained too little."""
    scale, allow = "scale the features (StandardScaler)", "allow more errors (smaller C, larger nu or epsilon)"
    if largest > _LARGE:
        scale = f"k(x, x) is up to {largest:.1g}, so that C allows almost no error: {scale}"
    if np.isnan(gain):
        return f"{scale}, {allow} or raise max_iter."
    return (
        f"the last round of steps changed the objective by a relative {gain:.1g}, so that more steps will not help; "
        f"{scale} or {allow}."
    )
