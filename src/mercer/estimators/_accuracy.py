"""The certificate of a fitted support vector estimator, and warnings where estimators are not accurate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._common import EPS, TINY, Array, PointsLike, as_float64, shown, warn
from mercer._compute.costs import TOGETHER_VARIABLES
from mercer._compute.points import (
    Points,
    count_points,
    evenly_spaced,
    sum_squares,
    take_points,
    widened,
)
from mercer._compute.profile import at_zero, evaluate_profile
from mercer.estimators._base import exact_vectors
from mercer.estimators._model import Model
from mercer.estimators._problem import Problem
from mercer.kernels.base import Kernel, validated
from mercer.linalg.convexity import Convexity, warn_nonconvex
from mercer.solvers._certify import Certificate
from mercer.solvers.svm.bounded import is_doubtful
from mercer.solvers.svm.dual import Dual, Solution, groups

# Certificates are recomputed if rounding may move values by more than this share of the tolerance, or the gap by more
# than this share of the largest that passes.
_NOTICED = 0.1
# Kernel values beyond this suggest features that were not scaled.
_LARGE = 1e4
# Number of points compared with each other, and the largest error of a boundary as a share of their squared distances.
_COMPARED = 200
_HIDDEN = 0.1
# Largest gap as a share of the objective if the violation is below the tolerance, and the share of k(x, x) below which
# objectives are rounding: the optimum may be 0.
_LARGEST_GAP = 0.01
_ROUNDED = 1e-9
# Largest relative error of the values of a model by rounding of what it stores.
LARGEST_ERROR = 1e-3


@dataclass(frozen=True)
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

    ``recompute(shift)`` gives it if the tags of the kernel do not prove the problem convex, or if the error of kernel
    rows, sums of them, or storing coefficients and intercepts, may move values by more than a share of the tolerance,
    which the solutions may already exceed, or the gap by a share of the largest that passes; otherwise bounds of both
    are added.
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
    certain = convexity == Convexity(True)
    # rounding in float64 moves the gap of a huge C by any number: another point of the same values has none
    rounded = 2 * noise + sums + moved > _NOTICED * tol
    if not (solved.stored and certain) or unsure or hidden or rounded:
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
            f"tol = {tol:.3g}{gap}; {_remedy(gain, largest, model.dual_coef_.dtype)}",
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
    beyond = max(found.gap - outward, 0.0)
    return beyond / _size(found, largest) if np.isfinite(beyond) else beyond


def _size(found, largest):
    """Return the size of the objectives, at least what k(x, x) up to ``largest`` rounds to."""
    return max(abs(found.primal), abs(found.dual), _ROUNDED * largest, TINY)


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
    some = take_points(problem.points, evenly_spaced(n, _COMPARED))
    K = as_float64(problem.kernel(widened(some)))
    spread = 2 * float(K.diagonal().mean() - K.mean())
    if len(K) > 1 and reached > _HIDDEN * spread:
        warn(
            f"the boundary of {type(model).__name__} is accurate to {reached:.1g} only, where squared distances of "
            f"points are {max(spread, 0.0):.1g} on average and k(x, x) is up to {scale:.1g}. Features far from the "
            "origin cause this: subtract their mean (StandardScaler), or give a smaller tol.",
            ConvergenceWarning,
        )


def warn_single_precision(model: Model, points: PointsLike, parameter: str) -> None:
    """Warn if float32 moves a column of values at some points by more than a share of its size."""
    if model.expansion_.coef.dtype == np.float32:
        error, size = _single_errors(model, points)
        share = float(np.max(error / np.where(size > 0, size, 1.0)))
        _warn_single(model, share, f"a larger {parameter} than {shown(getattr(model, parameter))}")


def warn_single_axes(model: Model, points: PointsLike, lengths: Array | float = 1.0) -> None:
    """Warn if float32 moves coordinates at some points by more than a share of the largest, along axes of lengths."""
    if model.expansion_.coef.dtype == np.float32:
        error, size = _single_errors(model, points)
        share = float(np.max(error * lengths) / max(np.max(size * lengths), TINY))
        _warn_single(
            model,
            share,
            "a kernel whose values differ more (a smaller bandwidth, rows about their mean)",
        )


def _single_errors(model, points):
    """Return the norms (m,) of the errors of values at some points by float32, and of the values."""
    psi = model.expansion_
    n = count_points(points)
    some = take_points(points, evenly_spaced(n, _COMPARED))
    # coefficients of repeated points cancel but for their rounding, though kernel values have no error
    share = np.random.default_rng(0).uniform(-1, 1, psi.coef.shape) * np.finfo(np.float32).eps / 2
    both = exact_vectors(psi.kernel, psi.points, np.hstack([psi.coef, psi.coef * share]))(
        widened(some)
    )
    exact, rounding = np.split(both, 2, axis=1)
    error = np.hypot(np.linalg.norm(psi(some) - exact, axis=0), np.linalg.norm(rounding, axis=0))
    return error, np.linalg.norm(exact + model.intercept_, axis=0)


def _warn_single(model, share, remedy):
    if share > LARGEST_ERROR:
        warn(
            f"values of {type(model).__name__} are accurate to a share of {share:.1g} only: float32 rounds kernel "
            f"values, and coefficients, which are up to {float(np.abs(model.expansion_.coef).max()):.1g}; give X in "
            f"float64, or {remedy}.",
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


def _remedy(gain, largest, dtype):
    """Return what to do if the solver stopped early; ``gain`` is infinite unless the last round gained too little."""
    scale = "scale the features (StandardScaler)"
    allow = "allow more errors (smaller C, larger nu or epsilon)"
    if largest > _LARGE:
        scale = f"k(x, x) is up to {largest:.1g}, so that C allows almost no error: {scale}"
    if gain == 0:
        single = "give X in float64; " if dtype == np.float32 else ""
        return (
            f"kernel values, up to {largest:.1g}, are rounded by more than tol, so that more steps will not help: "
            f"{single}features far from the origin, or of large scale, cause this; subtract their mean and scale them "
            "(StandardScaler)."
        )
    if np.isinf(gain):
        return f"{scale}, {allow} or raise max_iter."
    return (
        f"the last round of steps changed the objective by a relative {gain:.1g}, so that more steps will not help; "
        f"{scale} or {allow}."
    )
