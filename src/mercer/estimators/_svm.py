"""Support vector estimators: the training problem, its solution, the certificate of what is stored, shared mixins."""

import math
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._common import (
    EPS,
    TINY,
    Array,
    ArrayLike,
    PointsLike,
    as_float64,
    check_integer,
    check_positive,
    check_weights,
    record,
    shown,
    warn,
)
from mercer._compute.costs import COLUMNS, PROOF, SMALL_DUAL, SWEEP_ROWS, TOGETHER_VARIABLES, WIDE
from mercer._compute.memory import Route, Size, Work, parse_memory
from mercer._compute.points import (
    PROBES,
    Points,
    as_vector,
    count_points,
    evenly_spaced,
    owned,
    sum_squares,
    take_points,
    widened,
)
from mercer._compute.profile import at_zero, evaluate_profile
from mercer._compute.targets import as_real_targets
from mercer._progress import is_heard, notify
from mercer.estimators.base import KernelEstimator, check_lengths, count_rows, require_classes
from mercer.estimators.inherited import OutlierMixin, RegressorMixin
from mercer.estimators.model import Model, attribute, estimator_mixin, fits, of_points
from mercer.expansion import Expansion, with_intercept
from mercer.gram import Gram, kept_product
from mercer.kernels.bandwidth import warn_degenerate
from mercer.kernels.base import Kernel, size_of_values, validated
from mercer.kernels.dot import Linear
from mercer.kernels.forms import is_flat_combination
from mercer.kernels.shorthand import as_kernel
from mercer.linalg.convexity import Convexity, convexity, warn_nonconvex
from mercer.solvers.certify import Certificate
from mercer.solvers.svm import Infeasible, Options, certificate, solve_dual
from mercer.solvers.svm.bounded import is_doubtful
from mercer.solvers.svm.certificates import (
    certificates_of,
    inner_bias,
    outwards,
    storage_margin,
)
from mercer.solvers.svm.dual import Dual, SharedCallback, Solution, buffer_values, groups

# Largest upper bound of coefficients: sums of their products with kernel values are finite, up to 1e8 in all.
_LARGEST_BOUND = 1e300
# Largest violation as a share of the standard deviation of targets.
_SHARE = 1e-3
# Smallest tolerance that rounding allows, as a share of values; objectives below this share of k(x, x) are rounding:
# the optimum may be 0.
ATTAINABLE = 1e-9
# Largest upper bound as a multiple of the standard deviation of targets, and the least one: smaller ones are rounded.
_MOST_SPREADS = 1e100
_LEAST_BOUND = 1e-290
# Certificates are recomputed if rounding may move values by more than this share of the tolerance, or the gap by more
# than this share of the largest that passes.
_NOTICED = 0.1
# Kernel values beyond this suggest features that were not scaled.
_LARGE = 1e4
# Largest error of a boundary as a share of squared distances.
_HIDDEN = 0.1
# Largest gap as a share of the objective if the violation is below the tolerance.
_LARGEST_GAP = 0.01
_FITS = "all kernel values fit memory = {memory}"
_EXCEEDS = "kernel values exceed memory = {memory}"
_ASSUMED = "half of the kernel rows; the data decide how many are needed, and so how much memory"
# Attributes that validation of the training points sets.
_VALIDATED = ("n_features_in_", "feature_names_in_", "_n_rows")


@record
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
    budget : int
        Bytes that the factor of the kernel matrix may take.
    classes, class_weight, counts : array (c,)
        Labels, factors of C and numbers of points.
    binary : Subproblems
        The binary classifiers.
    targets : float64 array (k,), optional
        Of a regression.
    """

    kernel: Any
    points: Any
    rows: np.ndarray
    weights: np.ndarray
    budget: int = 0
    classes: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    counts: np.ndarray | None = None
    binary: Sequence[Any] = ()
    targets: np.ndarray | None = None

    def convexity_after(self, n_iter: int) -> Convexity:
        """Whether the duals are convex; a proof, n^3 / 3 operations, is tried where this is a small part of steps."""
        n = len(self.rows)
        return self.convexity if n**3 / 3 <= PROOF * n * n_iter else self.sampled_convexity

    @cached_property
    def convexity(self) -> Convexity:
        """Whether the duals are convex, as far as memory allows a proof; one for the models of a path."""
        return convexity(self.kernel, self.points, budget=self.budget)

    @cached_property
    def sampled_convexity(self) -> Convexity:
        """Whether the duals are convex, as far as some of the points show."""
        return convexity(self.kernel, self.points)

    @cached_property
    def dtype(self) -> type[np.floating]:
        """Type of coefficients: that of the points, float64 if they are not numbers."""
        return np.float32 if getattr(self.points, "dtype", None) == np.float32 else np.float64

    @property
    def codes(self) -> Array:
        """Numbers of the classes of the points (k,)."""
        return np.arange(len(self.counts)).repeat(self.counts)

    @property
    def rounding(self) -> float:
        """Rounding of coefficients."""
        return float(np.finfo(self.dtype).eps)

    @cached_property
    def diagonal(self) -> Array:
        """k(x, x) of the points (k,), in the type of kernel values."""
        return self.kernel.diagonal(Points(validated(self.kernel, self.points)))

    @cached_property
    def scale(self) -> float:
        """Size of kernel values."""
        return size_of_values(self.kernel, self.points, self.diagonal)

    @property
    def kernel_dtype(self) -> np.dtype[Any]:
        """Type of kernel values, which may be float32 for a matrix, whose coefficients are float64."""
        return np.result_type(self.diagonal, np.float32)

    def upper_bounds(self, C: float, name: str = "C") -> Array:
        """Return C times the weights of the points' classes and their own (k,), or raise where a number overflows."""
        with np.errstate(over="ignore"):
            bounds = float(C) * self.class_weight.repeat(self.counts) * self.weights
        # of each class
        largest = np.maximum.reduceat(bounds, self.counts.cumsum() - self.counts)
        require_bound(name, C, largest.min())
        if np.isfinite(float(C)) and largest.max() > _LARGEST_BOUND:
            raise ValueError(
                f"C = {C:.3g}, times the weights {largest.max():.3g}, must be at most {_LARGEST_BOUND:.0e}; give a "
                "smaller C, or divide the weights by a constant."
            )
        return bounds

    def places(self, rows: Array) -> Array:
        """Return the points that are some training rows (int array)."""
        place = np.full(self.rows.max() + 1, -1)
        place[self.rows] = np.arange(len(self.rows))
        return place[rows]

    def name_means(self, found: Infeasible) -> tuple[str, str]:
        """Name the two weighted means of points that are the evidence of contradictory constraints."""
        points = found.dual.points
        return self._mean(points, found.coef), self._mean(points, -found.coef)

    def _mean(self, points, weights):
        """Name a weighted mean of points of positive weight: their number, labels and heaviest training rows."""
        used = np.flatnonzero(weights > 0)
        rows = ", ".join(map(str, self.rows[points[used[np.argsort(-weights[used])[:3]]]]))
        labels = ""
        if self.classes is not None:
            classes = self.classes[np.unique(self.codes[points[used]])]
            labels = " of " + ", ".join(map(str, classes))
        return f"a weighted mean of {len(used)} points{labels} (the heaviest in rows {rows})"


def centre_and_scale(y: Array, upper: Array, C: float) -> tuple[float, float]:
    """Return the mean of targets and a power of 2 near their standard deviation, 1 for equal targets.

    Raise a ValueError, which names C, if finite upper bounds are so much larger that rounding hides the loss, or nearly
    0.
    """
    mean = float(y.mean())
    centred = y - mean
    # squares of tiny numbers would be 0
    largest = max(float(centred.max()), -float(centred.min()))
    centred /= largest or 1.0
    spread = largest * math.sqrt(float(centred @ centred) / len(y))
    if spread == 0:
        return mean, 1.0
    bound = float(upper.max())
    if np.isfinite(bound) and bound > _MOST_SPREADS * spread:
        raise ValueError(
            f"C = {C:.3g}, times sample_weight {bound:.3g}, must be at most {_MOST_SPREADS:.0e} times {spread:.3g}, "
            "the standard deviation of y; divide sample_weight or multiply y by a constant, or give a smaller C."
        )
    require_bound("C", C, bound / max(1.0, spread))
    return mean, 2.0 ** math.floor(math.log2(spread))


def regression_tolerance(tol: float, scale: float) -> tuple[float, float]:
    """Return the tolerance for targets of a scale, and that for targets divided by it."""
    tol = min(tol, _SHARE * scale)
    return tol, max(tol / scale, ATTAINABLE)


def require_bound(name: str, value: float, bound: float) -> None:
    """Raise unless an upper bound of coefficients, a parameter times weights, is far above the smallest number."""
    if bound < _LEAST_BOUND:
        raise ValueError(
            f"{name} = {value:.3g}, times the weights {bound:.3g}, must be at least {_LEAST_BOUND:.0e}; give a larger "
            f"{name}, or multiply sample_weight by a constant."
        )


def in_range(values: Array, dtype: type) -> Array:
    """Return coefficients in the type of a model, or raise if float32 holds no numbers of their size."""
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    info = np.finfo(dtype)
    if largest > float(info.max) or 0 < largest < float(info.tiny):
        raise ValueError(
            f"coefficients of up to {largest:.3g} are beyond the range of {np.dtype(dtype)}; give X in float64, or "
            "scale C, sample_weight or the targets."
        )
    return values.astype(dtype, copy=False)


# --- the certificate of a stored solution, and warnings where it is not accurate --------------------------------------


@record
class Solved:
    """Solutions of the duals of a problem, and what is known of their accuracy.

    Attributes
    ----------
    duals : Dual
    solutions : Solution
    tol : float
        Largest violation allowed.
    error : float
        Root mean square error of the kernel rows.
    points : points, optional
        Those of the kernel where the model has others than its support vectors.
    stored : bool
        False where the model has other coefficients, rounded to float32.
    outward : float
        The part of the gap by which a boundary was moved on purpose.
    centre : float
        The number that was subtracted from targets, and is part of stored intercepts.
    """

    duals: Dual
    solutions: Solution
    tol: float
    error: float
    points: Any = None
    stored: bool = True
    outward: float = 0.0
    centre: float = 0.0

    @property
    def parts(self) -> list[tuple[Dual, Solution]]:
        """Duals and solutions in groups, whose temporary arrays are a small part of those of many duals."""
        if len(self.solutions.coef) <= TOGETHER_VARIABLES:
            return [(self.duals, self.solutions)]
        return [
            (self.duals[some], self.solutions[some])
            for some in groups(self.duals.stops, TOGETHER_VARIABLES)
        ]


def conclude(
    model: Model, problem: Problem, solved: Solved, recompute: Callable[[], Certificate]
) -> None:
    """Store the certificate of stored solutions of duals, and warn if they are inaccurate or the kernel is indefinite.

    ``recompute(shift)`` gives it if the problem is convex up to a shift only, or if the error of kernel rows, sums of
    them, or storing coefficients and intercepts, may move values by more than a share of the tolerance, which the
    solutions may already exceed, or the gap by a share of the largest that passes; otherwise bounds of both are added.
    """
    tol = solved.tol
    solutions = solved.solutions
    convexity = problem.convexity_after(int(solutions.n_iter.sum()))
    violation = solutions.violation
    found = solutions.certificate
    largest = largest_value(
        problem.kernel, model.support_vectors_ if solved.points is None else solved.points
    )
    # a ridge stands beside k(x, x)
    ridge = solved.duals.ridge
    beside = largest if ridge is None else largest + float(ridge.max())
    rounding = [_rounding(part, solved.error, beside, problem.dtype) for _, part in solved.parts]
    noise, blind, sums = map(max, zip(*rounding, strict=True))
    bias = solutions.bias
    moved = slack = 0.0
    if solved.centre or problem.dtype == np.float32:
        stored = as_float64((bias + solved.centre).astype(problem.dtype))
        moved = float(np.abs(bias - (stored - solved.centre)).max())
    if blind + moved:
        # of the losses, and of the quadratic form: errors of its gradient that follow the coefficients do not cancel
        slack = sum(
            (blind + moved) * _reach(*part, blind + moved)
            + blind * float(np.abs(part[1].coef).sum())
            for part in solved.parts
        )
    unsure = found.kkt > tol or (noise and is_doubtful(violation, solutions.noise, tol).any())
    hidden = (
        2 * slack > _NOTICED * _LARGEST_GAP * _size(found, largest) or found.kkt + 2 * noise > tol
    )
    # rounding in float64 moves the gap of a huge C by any number: another point of the same values has none
    rounded = 2 * noise + sums + moved > _NOTICED * tol
    if convexity.shift or not solved.stored or unsure or hidden or rounded:
        found = replace(recompute(convexity.shift), convex=convexity.proved)
    else:
        found = Certificate(
            found.primal + slack, found.dual - slack, found.kkt + 2 * noise, convexity.proved
        )
    model.certificate_ = found
    if convexity.evidence:
        warn_nonconvex(type(model).__name__, convexity.evidence)
    if (
        convexity.shift
        and _relative_gap(model.certificate_, largest, solved.outward) > _LARGEST_GAP
    ):
        # the part of the gap that the rounding of the proof adds is no reason for a warning
        solved = replace(solved, outward=solved.outward + found.primal - recompute(0.0).primal)
    _warn_inaccurate(model, solved, largest, moved)


def _rounding(solutions, error, largest, dtype):
    """Return by how much rounding moves gradients of solutions at most.

    Three numbers: that of kernel rows with an error and of stored coefficients in the gradients which decide the
    violation, where it was measured; the same in all gradients; and that of sums.
    """
    coef = solutions.coef
    # partial sums of values of one sign are large where all of them cancel
    sums = largest * EPS * float(solutions.sums(np.abs(coef)).max())
    if dtype == np.float64 and not error:
        return float(solutions.noise.max()), 0.0, sums
    moved = 0.0 if dtype == np.float64 else largest * _moved(solutions, dtype)
    blind = error * np.sqrt(solutions.sums(np.square(coef))) + moved
    return float((solutions.noise + moved).max()), float(blind.max()), sums


def _moved(solutions, dtype):
    """Return the size of the rounding of the coefficients of each dual, as if independent unless errors are equal.

    Coefficients at one bound are rounded by the same number: their errors add up, those of others add up in squares.
    """
    sizes = np.abs(solutions.coef - solutions.coef.astype(dtype))
    number = solutions.number
    order = np.lexsort((sizes, number))
    sizes = sizes[order]
    number = number[order]
    first = np.flatnonzero(np.append(True, (np.diff(sizes) != 0) | (np.diff(number) != 0)))
    sums = np.add.reduceat(sizes, first)
    return np.sqrt(np.bincount(number[first], np.square(sums), len(solutions)))


def _reach(duals, solutions, noise):
    """Return the sum of the ranges of the coefficients that an error of gradients may move: the gap grows by both.

    Others are at a bound, and the objective falls by more than the error away from it.
    """
    lower = duals.lower
    upper = duals.upper
    coef = solutions.coef
    number = solutions.number
    epsilon = solutions.epsilon[number]
    if duals.total is not None and duals.one_sided:
        # bounds are in units of a C that the coefficients of each dual show
        shares = np.abs(coef) / (upper - lower)
        shown = np.maximum.reduceat(shares, solutions.stops[:-1])[number]
        lower = shown * lower
        upper = shown * upper
    error = solutions.gradient - solutions.bias[number]
    span = upper - lower
    near = (coef < upper) & (error + np.where(coef < 0, epsilon, -epsilon) > -noise)
    near |= (coef > lower) & (error + np.where(coef > 0, -epsilon, epsilon) < noise)
    return float(np.where(np.isfinite(span), span, 2 * np.abs(coef))[near].sum())


def _warn_inaccurate(model, solved, largest, moved):
    """Warn if the violation of the worst solution exceeds the tolerance, or rounding of k(x, x) up to ``largest``.

    ``moved`` is the rounding of a stored intercept.
    """
    name = type(model).__name__
    found = model.certificate_
    tol = solved.tol
    share = _relative_gap(found, largest, solved.outward)
    gap = f", and a relative gap of {share:.3g}" if found.convex else ""
    if found.kkt > tol:
        solutions = solved.solutions
        worst = solutions.violation.argmax()
        # a violation that the solver did not see is rounding
        gain = solutions.gain[worst] if solutions.violation[worst] > tol else 0.0
        warn(
            f"{name} stopped after {solutions.n_iter[worst]} steps with a violation of {found.kkt:.3g}, above "
            f"tol = {tol:.3g}{gap}; {_remedy(gain, largest, model)}",
            ConvergenceWarning,
        )
        return
    if moved > tol:
        # in float64 that of targets far from 0
        single = model.dual_coef_.dtype == np.float32
        remedy = "give X in float64, or" if single else "subtract the mean of the targets, or give"
        warn(
            f"the intercept of {name} is rounded by {moved:.1g}, above tol = {tol:.3g}{gap}: {remedy} a larger tol.",
            ConvergenceWarning,
        )
        return
    # without coefficients the loss is within the violation
    if share > _LARGEST_GAP and model.dual_coef_.any():
        warn(
            f"{name} ended with a violation of {found.kkt:.3g}, below tol = {tol:.3g}, but a relative gap of "
            f"{share:.3g}, by which the objective may miss its optimum; give a smaller tol, or, where that does not "
            "help, scale the features (StandardScaler) or give X in float64.",
            ConvergenceWarning,
        )
    squares = sum_squares(model.dual_coef_.T)
    warn_rounded(name, largest, np.sqrt(squares.max(initial=0.0)), tol)


def _relative_gap(found, largest, outward):
    """Return the gap beyond ``outward`` as a share of the objective, or of what k(x, x) up to ``largest`` rounds to."""
    if not found.convex:
        return 0.0
    beyond = max(found.primal - found.dual - outward, 0.0)
    return beyond / _size(found, largest) if np.isfinite(beyond) else beyond


def _size(found, largest):
    """Return the size of the objectives, at least what k(x, x) up to ``largest`` rounds to."""
    return max(abs(found.primal), abs(found.dual), ATTAINABLE * largest, TINY)


def warn_rounded(name: str, largest: float, size: float, tol: float) -> None:
    """Warn if the rounding of k(x, x) up to ``largest`` moves decision values by more than the tolerance.

    ``size`` is the norm of the coefficients.
    """
    noise = EPS * largest * float(size)
    if noise > tol:
        warn(
            f"values of {name} are accurate to {noise:.1g} only, which is above tol = {tol:.3g}: k(x, x) is up to "
            f"{largest:.1g} and is rounded. Features far from the origin cause this: subtract their mean "
            "(StandardScaler).",
            ConvergenceWarning,
        )


def warn_coarse(
    model: Model, problem: Problem, scale: float, solved: Solved, scatter: float
) -> None:
    """Warn if a violation, or rounding of kernel values up to ``scale``, is as large as distances of points.

    ``scatter`` is half their mean square, by the coefficients as weights.
    """
    violation = float(solved.solutions.violation.max())
    reached = max(violation, EPS * float(scale), solved.outward)
    # of a larger violation `conclude` warns; a single vector has no scatter
    if violation > solved.tol or reached <= 2 * _HIDDEN * scatter:
        return
    n = count_points(problem.points)
    some = take_points(problem.points, evenly_spaced(n, PROBES))
    K = as_float64(problem.kernel(widened(some)))
    spread = 2 * float(K.diagonal().mean() - K.mean())
    if len(K) > 1 and reached > _HIDDEN * spread:
        warn(
            f"the boundary of {type(model).__name__} is accurate to {reached:.1g} only, where squared distances of "
            f"points are {max(spread, 0.0):.1g} on average and k(x, x) is up to {scale:.1g}. Features far from the "
            "origin cause this: subtract their mean (StandardScaler), or give a smaller tol.",
            ConvergenceWarning,
        )


def largest_value(kernel: Kernel, points: PointsLike) -> float:
    """Return the largest size of k(x, x) at some points, 0 for none."""
    if not count_points(points):
        return 0.0
    if kernel.scalar == "radial":
        return abs(at_zero(kernel))
    if kernel.scalar == "dot":
        # points of a fit, whose range was checked
        return float(np.abs(evaluate_profile(kernel, Points(points).sqnorms())).max())
    return float(np.abs(kernel.diagonal(Points(validated(kernel, points)))).max())


def _remedy(gain, largest, model):
    """Return what to do if the solver stopped early; ``gain`` is infinite unless the last round gained too little."""
    scale = "scale the features (StandardScaler)"
    changes = {"C": "smaller C", "nu": "larger nu", "epsilon": "larger epsilon"}
    own = " or ".join(change for name, change in changes.items() if hasattr(model, name))
    allow = f"allow more errors ({own})"
    if largest > _LARGE:
        scale = f"k(x, x) is up to {largest:.1g}, so that C allows almost no error: {scale}"
    if gain == 0:
        single = "give X in float64; " if model.dual_coef_.dtype == np.float32 else ""
        return (
            f"kernel values, up to {largest:.1g}, are rounded by more than tol, so that more steps will not help: "
            f"{single}features far from the origin, or of large scale, cause this; subtract their mean and scale them "
            "(StandardScaler)."
        )
    if np.isinf(gain):
        if largest > _LARGE:
            return f"{scale}, {allow} or raise max_iter."
        return f"raise max_iter, {scale} or {allow}."
    return (
        f"the last round of steps changed the objective by a relative {gain:.1g}, so that more steps will not help; "
        f"{scale} or {allow}."
    )


# --- mixins of the estimators -----------------------------------------------------------------------------------------


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
