"""Parts shared by the support vector estimators: the training problem, checks, options of the solver, warnings."""

from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    as_float64,
    check_integer,
    check_positive,
    check_weights,
    shown,
)
from mercer._compute.costs import COLUMNS, SMALL_DUAL, SWEEP_ROWS, WIDE
from mercer._compute.memory import Route, Size, Work, parse_memory
from mercer._compute.points import Points, as_vector, count_points, owned, take_points, widened
from mercer._compute.targets import as_real_targets
from mercer._progress import is_heard, notify
from mercer.estimators._problem import (
    Problem,
    Solved,
    centre_and_scale,
    conclude,
    in_range,
    regression_tolerance,
    warn_coarse,
)
from mercer.estimators.base import KernelEstimator
from mercer.estimators.inherited import OutlierMixin, RegressorMixin
from mercer.estimators.model import Model, attribute, estimator_mixin, fits, of_points
from mercer.estimators.validation import check_lengths, count_rows, require_classes
from mercer.expansion import Expansion, with_intercept
from mercer.gram import Gram, kept_product
from mercer.kernels.bandwidth import warn_degenerate
from mercer.kernels.dot import Linear
from mercer.kernels.forms import is_flat_combination
from mercer.kernels.shorthand import as_kernel
from mercer.linalg.convexity import Convexity
from mercer.solvers.certify import Certificate
from mercer.solvers.svm import Infeasible, Options, certificate, solve_dual
from mercer.solvers.svm.certificates import (
    certificates_of,
    inner_bias,
    outwards,
    storage_margin,
)
from mercer.solvers.svm.dual import SharedCallback, buffer_values

_FITS = "all kernel values fit memory = {memory}"
_EXCEEDS = "kernel values exceed memory = {memory}"
_ASSUMED = "half of the kernel rows; the data decide how many are needed, and so how much memory"
# Attributes that validation of the training points sets.
_VALIDATED = ("n_features_in_", "feature_names_in_", "_n_rows")


class Normals:
    """Mixin of models with a normal for each column of values, which ``_normals()`` returns (d, m)."""

    @attribute
    def coef_(self) -> Array:
        """The normals w (m, d) of a linear kernel: values without the intercepts are ``X @ coef_.T``."""
        check_is_fitted(self)
        if not is_linear(self):
            raise AttributeError(
                f"coef_ needs kernel = 'linear': the normal of {shown(self.kernel_)} lies in its feature space, as "
                "expansion_."
            )
        return self._normals().T


def is_linear(model: Model) -> bool:
    """Whether the kernel of a fitted model is <x, z>, so that its values are those of the normals."""
    # a subclass may state other values
    return isinstance(model.kernel_, Linear) and model.kernel_.scalar is not None


def normals(vectors: Array, coef: Array) -> Array:
    """Return the normals sum_i coef_i x_i (d, m), summed in float64, in the type of the coefficients."""
    return (vectors.T @ as_float64(coef)).astype(coef.dtype)


@estimator_mixin
class SupportVectorEstimator(KernelEstimator):
    """Mixin of estimators that solve duals of support vector machines."""

    tol: float = 1e-3

    # whether the solver computes all kernel values of rows of many columns before it needs them
    _wide: ClassVar[bool] = True
    # variables of the dual for each point
    _variables: ClassVar[int] = 1
    # typical work of a dual as a multiple of that of a classifier between the bounds 0 and C, for each variable
    _steps: ClassVar[int] = 1

    if TYPE_CHECKING:
        # fits store these by functions
        kernel_: Any = field(init=False)
        support_: Array = field(init=False)
        support_vectors_: Any = field(init=False)
        dual_coef_: Array = field(init=False)
        certificate_: Certificate = field(init=False)
        n_iter_: Any = field(init=False)

        def set_fit_request(self, *, sample_weight: bool | str | None = None) -> Self: ...

    def _fit_points(self, X, y, sample_weight):
        """Solve the problem of training points by the first route that the memory holds, and store the solution."""
        self._check_parameters()
        problem = self._problem(X, y, sample_weight)
        self._route(Size(len(problem.rows), problem.budget)).run(problem)
        return self

    def _routes(self, size):
        """Return the routes of the solver over all points."""
        n = size.n
        kernel = as_kernel(self.kernel)
        # steps take as long as half of the values
        work = Work(self._steps * self._variables * n * n, assumed=_ASSUMED)
        run = self._over_all
        block = (n, COLUMNS)
        # a sweep computes some rows together, beside those that are kept
        kept = size.budget + size.itemsize * SWEEP_ROWS * n
        lazy = Route("lazy", _EXCEEDS, kept, work, run, 0, block, at_most=True)
        if not is_flat_combination(kernel):
            # all values are computed first, in three times the time, and the solver has memory for rows and copies: of
            # two variables for a point one is 0; rows on demand, without a compiled loop, take twice the time
            buffer = 8 * buffer_values((1 + self._variables) * n // 2)
            known = 8 * n**2 + buffer
            whole = size.itemsize * n**2
            work *= 3
            stored = Route("stored", _FITS, known, work, run, known, at_most=True)
            routes = [stored, replace(stored, bytes=whole, limited=whole, block=block)]
            if kernel.tags.points == "indices":
                # a given matrix is beside the memory; values of one in float32 are computed in float64
                limited = buffer if size.itemsize == 8 else known
                routes = [replace(stored, bytes=whole + limited, limited=limited)]
            routes.append(replace(lazy, work=work * (2 / 3)))
            return routes if n <= 2 * SMALL_DUAL else routes[1:]
        whole = 4 * self._variables * n**2
        beside = self._wide and size.d >= WIDE and n <= SMALL_DUAL and 2 * whole <= size.budget
        n_bytes = whole * (1 + beside)
        return [Route("stored", _FITS, n_bytes, work, run, whole, block, at_most=True), lazy]

    def _over_all(self, problem):
        """Solve the problem over all points and store the solution."""
        raise NotImplementedError

    def _check_parameters(self):
        """Check all parameters but the kernel and landmarks."""
        check_positive("tol", self.tol)
        max_iter = getattr(self, "max_iter", -1)
        if not (isinstance(max_iter, Integral) and max_iter == -1):
            check_integer("max_iter", max_iter)

    def _targets(self, _y):
        """Return validated targets, or None for a problem without any."""
        return

    def _problem(self, X, y, sample_weight):
        """Return the points of positive weight, and their targets if there are any."""
        y = self._targets(y)
        n = count_rows(X) if y is None else check_lengths(X, y)
        weights = check_weights("sample_weight", sample_weight, n)
        rows = weights.nonzero()[0]
        targets = None if y is None else y[rows]
        return self._problem_of(X, rows, weights, sample_weight, targets=targets)

    def _problem_of(self, X, rows, weights, given, **fields):
        """Return the problem of some training rows with their weights, which are equal if none are given."""
        kernel, points = self._training_points(X, None if given is None else weights)
        if len(rows) < len(weights) or (rows[1:] < rows[:-1]).any():
            points = take_points(points, rows)
        warn_degenerate(kernel, points)
        return Problem(kernel, points, rows, weights[rows], parse_memory(self.memory), **fields)

    def _solved(self, problem, duals, tol=None, scale=1.0):
        """Return the solutions of duals, see `_training`."""
        with self._training(problem, tol, scale) as options:
            rows = options.rows(problem.kernel, problem.points, duals)
            return Solved(duals, solve_dual(rows, duals, options), options.tol, rows.error)

    @contextmanager
    def _training(self, problem, tol=None, scale=1.0):
        """Give the options of the solver; contradictory constraints become a ValueError that names training rows.

        Targets were divided by a scale.
        """
        tol = float(self.tol if tol is None else tol)
        max_iter = getattr(self, "max_iter", -1)
        try:
            step = (
                SharedCallback(lambda violation: notify("smo", violation=violation, tol=tol))
                if is_heard()
                else None
            )
            yield Options(tol, max_iter, problem.budget, step)
        except Infeasible as found:
            raise ValueError(self._explain(problem, found.in_units(scale))) from None

    def _inner_products(self, X, pieces=None):
        """Return <phi(x), normal> of validated points (n_test, m), or those of pieces of the vectors."""
        if is_linear(self):
            return X @ self._prepare("normals", self._normals)
        vectors = self.support_vectors_
        if sp.issparse(vectors) and not sp.issparse(X):
            X = sp.csr_matrix(X)
        known = self._prepare("vectors", lambda: Points(self.kernel_.admit(vectors, "Z")))
        return kept_product(self.kernel_, X, known, self.dual_coef_, pieces)

    def _normals(self):
        """Return the normals of a linear kernel (d, m)."""
        return normals(self.support_vectors_, self.dual_coef_)

    def _certificate(self, X, y, sample_weight):
        """Return the certificate in float64 from the training points."""
        self._require_training_rows(X)
        problem = self._problem(X, y, sample_weight)
        problem = replace(problem, kernel=self._certified_kernel(problem))
        if problem.classes is not None:
            require_classes(self, problem.classes)
        # landmarks span a space of positive eigenvalues
        found = Convexity(True) if hasattr(self, "trace_error_") else problem.convexity
        return replace(self._recomputed(problem, found.shift), convex=found.proved)

    def _certified_kernel(self, problem):
        """Return the kernel of the fit; a precomputed one is that of the matrix given with the problem."""
        return problem.kernel if problem.kernel.tags.points == "indices" else self.kernel_

    def _training_places(self, problem, rows):
        """Return the places in a problem of rows of vectors, or raise unless all of them have one."""
        missing = np.setdiff1d(rows, problem.rows)
        if len(missing):
            raise ValueError(
                f"sample_weight must be that of the fit, but it is 0 for row {missing[0]}, a vector of "
                f"{type(self).__name__}; give sample_weight as in the fit."
            )
        return problem.places(rows)

    def _stored_coefficients(self, problem):
        """Return the coefficients (k, m) that are stored for the points of a problem, and its support (int)."""
        support = self._training_places(problem, self.support_)
        self._require_fitted(take_points(problem.points, support), self.support_vectors_)
        coef = np.zeros((len(problem.rows), self.dual_coef_.shape[1]))
        coef[support] = self.dual_coef_
        return coef, support

    def _kernel_product(self, problem, coef, support):
        """Return K coef (k, m) in float64; only the rows ``support`` of coef are not 0."""
        if not len(support):
            return np.zeros(coef.shape)
        points = widened(problem.points)
        gram = Gram(self._certified_kernel(problem), points, take_points(points, support))
        return np.asarray(gram @ coef[support], np.float64)


@estimator_mixin
class ValueEstimator(SupportVectorEstimator):
    """Mixin of support vector estimators without classes: one column of values, or several over shared points."""

    max_iter: int = -1

    @attribute
    def expansion_(self) -> Expansion:
        """The normals, one for each column of values (an Expansion over ``support_vectors_``)."""
        check_is_fitted(self)
        if not len(self.dual_coef_):
            raise ValueError(
                f"{type(self).__name__} has no support vectors: all targets are within epsilon of "
                f"{self.intercept_[0]:.6g}, its prediction everywhere; give a smaller epsilon."
            )
        return Expansion(self.kernel_, self.support_vectors_, self.dual_coef_)

    @attribute
    def n_support_(self) -> Array:
        """Number of support vectors (1,)."""
        check_is_fitted(self)
        return np.array([len(self.dual_coef_)])

    def _store(self, problem, solutions, factor=1.0):
        """Store the solutions of duals over all points, times a factor, as fitted attributes."""
        coef = solutions.coef.reshape(len(solutions), -1).T
        store_vectors(self, problem, factor * coef)
        self.n_iter_: Any = int(solutions.n_iter.sum())

    def _stored(self, problem):
        """Return the coefficients B (k, m) of the points and K B (k, m), in float64."""
        coef, support = self._stored_coefficients(problem)
        return coef, self._kernel_product(problem, coef, support)

    def _values(self, X):
        """Return <phi(x), normal> of new points (n_test, m)."""
        X = self._new_points(X)
        if not len(self.dual_coef_):
            return np.zeros((count_points(X), self.dual_coef_.shape[1]), self.dual_coef_.dtype)
        return self._inner_products(X)


class Boundary(ValueEstimator, OutlierMixin):
    """Mixin of outlier detectors with ``score_samples`` and ``offset_``.

    ``_dual(problem)`` returns the dual for coefficients of sum 1, and the sum that they are multiplied by. ``_place``
    stores the boundary of a bias, moved outwards by a margin for float32.
    """

    @fits
    def fit(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the boundary to training points.

        Parameters
        ----------
        X : points (n)
        y : ignored
        sample_weight : array (n,), optional
            At least 0; a weight of 2 is a point given twice, and a row of weight 0 is ignored.

        Returns
        -------
        self
        """
        return self._fit_points(X, None, sample_weight)

    def _over_all(self, problem):
        """Solve the dual so that only points at their bounds are outside, store the solution and return it."""
        dual, total = self._dual(problem)
        scale = problem.scale
        solved = self._solved(problem, dual, self.tol * max(scale, 1e-300) / max(1.0, total))
        found = solved.solutions
        found.bias[:] = inner_bias(found, dual, problem.kernel_dtype, scale)
        found.primal[:], found.value[:], found.violation[:] = certificates_of(
            dual, found.coef, found.gradient, found.bias
        )
        bias = found.bias.item()
        self._store(problem, found, total)
        scatter = self._scatter(problem, found.coef, dual.target - found.gradient)
        self._place(problem, bias, self._margin(problem, bias, scatter), total)
        solved = replace(solved, outward=outwards(bias, problem.kernel_dtype, scale))
        conclude(self, problem, solved, partial(self._recomputed, problem))
        warn_coarse(self, problem, scale, solved, scatter)
        return solved

    def _scatter(self, problem, coef, values):
        """Return the mean squared distance of points from their mean, by coefficients of sum 1; values are K coef."""
        return float(coef @ (problem.diagonal - values))

    def _margin(self, problem, bias, scatter):
        """Return by how much float32 moves the boundary."""
        return storage_margin(bias, problem.kernel_dtype, problem.scale, scatter)

    @of_points
    def decision_function(self, X: PointsLike) -> Array:
        """Return ``score_samples(X) - offset_`` of new points, positive inside.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self.score_samples(X) - float(self.offset_)

    @of_points
    def predict(self, X: PointsLike) -> Array:
        """Return 1 for points inside and -1 for those outside.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        int array (n_test,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)


class RegressionProblem(SupportVectorEstimator, RegressorMixin):
    """Mixin of estimators with targets that are numbers."""

    def _targets(self, y):
        """Return the targets in float64, or raise a ValueError."""
        name = type(self).__name__
        y = as_real_targets(y, name)
        if np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise ValueError(
                f"y has shape {np.shape(y)}, and {name} predicts one target; for several targets use "
                f"mercer.KernelRidge, or sklearn.multioutput.MultiOutputRegressor(mercer.{name}()); if they are "
                "swapped, fit(X, y)."
            )
        return y if y.ndim == 1 else column_or_1d(y, warn=True)


class Regression(Normals, ValueEstimator, RegressionProblem):
    """Mixin of regression by an expansion and intercepts."""

    @fits
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the functions to training points.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        sample_weight : array (n,), optional
            Factors of C, at least 0; a row of weight 0 is ignored.

        Returns
        -------
        self
        """
        return self._fit_points(X, y, sample_weight)

    @of_points
    def predict(self, X: PointsLike) -> Array:
        """Return the values of new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return with_intercept(self._values(X), self.intercept_)[:, 0]

    def _over_all(self, problem):
        """Solve the duals for targets of mean 0 and size 1, and store the solutions.

        Divisions by the scale, a power of 2, are exact. The bias takes up the mean.
        """
        duals = self._duals(problem)
        upper = duals.upper.reshape(len(duals), -1).max(axis=0)
        centre, scale = centre_and_scale(problem.targets, upper, self.C)
        tol, relative = regression_tolerance(self.tol, scale)
        solved = self._solved(problem, duals.in_units(centre, scale), relative, scale)
        solutions = solved.solutions.in_units(scale)
        self.intercept_: Array = (solutions.bias + centre).astype(problem.dtype)
        self._store(problem, solutions)
        solved = Solved(duals, solutions, tol, solved.error, centre=centre)
        conclude(self, problem, solved, partial(self._recomputed, problem))

    def _recomputed(self, problem, shift):
        """Return the certificate of the stored coefficients in float64, of targets about their mean."""
        coef, values = (each.T.ravel() for each in self._stored(problem))
        centre = float(problem.targets.mean())
        duals = self._solved_duals(problem).in_units(centre, 1.0)
        gradient = duals.target - values
        if duals.ridge is not None:
            gradient -= duals.ridge * coef
        bias = self._biases() - centre
        return certificate(duals, coef, gradient, bias, problem.rounding, shift)

    def _biases(self):
        """Return the intercepts of the optimum (m,) in float64."""
        return as_float64(self.intercept_)

    def _solved_duals(self, problem):
        """Return the duals that the fitted model solves."""
        return self._duals(problem)


# --- parameters ------------------------------------------------------------------------------------------------------


def check_C(C: float) -> None:
    """Raise unless C is a positive number, which may be infinite."""
    if not (isinstance(C, Real) and np.inf == C):
        check_positive("C", C)


def check_share(name: str, value: float) -> None:
    """Raise unless a share of the training points is in (0, 1]."""
    check_positive(name, value)
    if value > 1:
        raise ValueError(
            f"{name} = {shown(value)} must be at most 1: it is a share of the training points."
        )


def check_positives(name: str, values: ArrayLike) -> Array:
    """Return a list of numbers as an array, or raise for the first that is not positive."""
    found = owned(as_vector(values, name))
    if not len(found):
        raise ValueError(f"{name} = [], of shape (0,), must hold at least one number.")
    for k, value in enumerate(found):
        check_positive(f"{name}[{k}]", float(value))
    return found


# --- fitted models ---------------------------------------------------------------------------------------------------


def store_vectors(model: SupportVectorEstimator, problem: Problem, coef: Array) -> Array:
    """Store the coefficients (k, m) of the points of a problem, and the support vectors; return their places."""
    used = coef.any(axis=1).nonzero()[0]
    model.kernel_ = problem.kernel
    model.support_ = problem.rows[used]
    model.support_vectors_ = take_points(problem.points, used)
    # most problems of many classes have a coefficient for every point: no copy
    kept = coef if len(used) == len(coef) else coef[used]
    model.dual_coef_ = in_range(kept, problem.dtype)
    return used


def copy_validation(source: Model, model: Model) -> None:
    """Copy the attributes that validation of the training points sets."""
    for name in _VALIDATED:
        if hasattr(source, name):
            setattr(model, name, getattr(source, name))
