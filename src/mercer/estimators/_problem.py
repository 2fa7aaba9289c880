"""The training problem of a support vector estimator, its solution, the certificate of what is stored, and warnings."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._common import EPS, TINY, Array, PointsLike, as_float64, record, warn
from mercer._compute.costs import PROOF, TOGETHER_VARIABLES
from mercer._compute.points import (
    PROBES,
    Points,
    count_points,
    evenly_spaced,
    sum_squares,
    take_points,
    widened,
)
from mercer._compute.profile import at_zero, evaluate_profile
from mercer.estimators.model import Model
from mercer.kernels.base import Kernel, size_of_values, validated
from mercer.linalg.convexity import Convexity, convexity, warn_nonconvex
from mercer.solvers.certify import Certificate
from mercer.solvers.svm import Infeasible
from mercer.solvers.svm.bounded import is_doubtful
from mercer.solvers.svm.dual import Dual, Solution, groups

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
