"""Newton refinement of a solution: the free variables are solved for directly, in float64 from raw inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.points import take_points, widened
from mercer._compute.threads import check_cancelled
from mercer.gram import Gram
from mercer.solvers.svm.active_set import solve_active_set, violators
from mercer.solvers.svm.bias import bias_of, excess, slopes
from mercer.solvers.svm.dual import objective
from mercer.solvers.svm.smo import gather

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual, Solution
    from mercer.solvers.svm.rows import FusedRows

# Largest number of free variables that is solved for.
_FREE = 2000
# Relative accuracy of a prescribed sum of sizes.
_ACCURACY = 1e-10
# Newton's method is repeated with matrices and gradients computed again, which removes rounding errors.
_REPEATS = 10
# A repetition that does not lower the violation by this share is the last one.
_FALL = 0.1
# Violation in tolerances beyond which a step has diverged.
_DIVERGED = 100
# Variables at a bound whose slopes are within this many tolerances of the bias take part.
_MARGIN = 10
# Kernel values whose rounding moves gradients by less than this share of the tolerance need not be computed again.
_EXACT = 0.01


def refine(rows: Any, dual: Dual, solution: Solution, tol: float, total: float | None = None) -> Solution:
    r"""Return a solution whose free variables satisfy K b + b_0 = t - epsilon sign(b) to the rounding of K.

    Newton steps on the free variables keep the sum of coefficients and stay within the bounds; what meets a bound is
    fixed there, what violates there is freed. Kernel values of the solver are used if their rounding moves gradients by
    less than a hundredth of ``tol``; ``violation`` then counts it. Otherwise they are computed again in float64. With
    ``total``, epsilon becomes such that the coefficients have this sum of sizes.

    The solution is returned unchanged if more than 2 000 variables are free, if it violates by more than ``tol``, or if
    no epsilon near by gives ``total``.
    """
    rising, falling = slopes(solution.gradient, solution.coef, dual)
    if (rising == falling).sum() > _FREE or solution.violation > tol:
        return solution
    if total is not None:
        found = _refine_total(rows, dual, solution, tol, total)
        if found is not solution:
            return found
        # steps from afar may diverge where epsilon moves too
        near = np.flatnonzero(_near(solution, dual, _MARGIN * tol))
        found = _with_new_values(rows, replace(dual, epsilon=solution.epsilon), solution, near, None)
        found = _refine_total(rows, dual, found, tol, total) if found.violation <= tol else solution
        return found if abs(np.abs(found.coef).sum() - total) <= _ACCURACY * total else solution
    near = np.flatnonzero(_near(solution, dual, _MARGIN * tol))
    noise = rows.error * float(np.linalg.norm(solution.coef))
    if solution.cache is not None and noise <= _EXACT * tol:
        found = _with_known_values(rows, dual, solution, near)
        if found.violation <= _EXACT * tol:
            return replace(found, violation=max(found.violation, noise))
    found = _with_new_values(rows, dual, solution, near, None)
    return found if found.violation <= solution.violation else solution


def _refine_total(rows, dual, solution, tol, total):
    """Return a refined solution whose coefficients have a sum of sizes."""
    margin = _MARGIN * tol
    near = _near(solution, dual, margin)
    found, worst = solution, np.inf
    for _ in range(_REPEATS):
        dual = replace(dual, epsilon=found.epsilon)
        found = _with_new_values(rows, dual, found, np.flatnonzero(near), total)
        if found.violation <= tol and abs(np.abs(found.coef).sum() - total) <= _ACCURACY * total:
            return found
        if found.violation > min(_DIVERGED * tol, 0.5 * worst):
            return solution
        worst = found.violation
        # an epsilon that changes much meets variables that were not near
        margin *= 2
        near |= _near(found, replace(dual, epsilon=found.epsilon), margin)
    return solution


def cross(rows: FusedRows, dual: Dual, solution: Solution) -> Solution:
    """Return a solution after Newton steps on what is free or violates, repeated while they gain."""
    for _ in range(_REPEATS):
        check_cancelled()
        rising, falling = slopes(solution.gradient, solution.coef, dual)
        free = rising == falling
        near = np.flatnonzero(free | violators(solution.gradient, solution.coef, dual, solution.bias))
        found = _with_new_values(rows, dual, solution, near, None) if free.sum() <= _FREE else solution
        fell = found.violation <= (1 - _FALL) * solution.violation
        gained = objective(dual, found.coef, found.gradient) > objective(dual, solution.coef, solution.gradient)
        if not fell and not gained:
            return solution
        solution = found
        if not fell:
            break
    return solution


def _near(solution, dual, margin):
    """Return which variables are free, violate, or are within a margin of violating."""
    rising, falling = slopes(solution.gradient, solution.coef, dual)
    return (rising == falling) | (excess(rising, falling, solution.bias) > -margin)


def _with_new_values(rows, dual, solution, near, total):
    """Return a solution after Newton steps on some variables, with kernel values computed again in float64."""
    if not 0 < len(near) <= 2 * _FREE:
        return solution
    inner = widened(take_points(rows.points, dual.points[near]))
    K = Gram(rows.kernel, inner, memory=2**62).dense()
    gradient = dual.target[near] - K @ solution.coef[near]
    others = solution.coef.copy()
    others[near] = 0
    far = np.flatnonzero(others)
    if len(far):
        gradient -= Gram(rows.kernel, inner, widened(take_points(rows.points, dual.points[far]))) @ others[far]
    return _stepped(rows, dual, solution, near, K, gradient, None if total is None else total - np.abs(others).sum())


def _with_known_values(rows, dual, solution, near):
    """Return a solution after Newton steps on some variables, with the kernel values of the solver."""
    cache = solution.cache
    if not 0 < len(near) <= 2 * _FREE:
        return solution
    cache.ensure(near)
    K = np.empty((len(near), len(near)))
    gather(cache.values, cache.slots[near], near, K)
    # the two triangles were rounded separately
    K = K + K.T
    K *= 0.5
    return _stepped(rows, dual, solution, near, K, solution.gradient[near].copy(), None)


def _stepped(rows, dual, solution, near, K, gradient, total):
    """Return a solution after Newton steps on some variables with kernel values K and a gradient."""
    own = replace(dual, coef=solution.coef).take(near)
    if total is None:
        coef, epsilon = solve_active_set(K, gradient, own, solution.bias, None)
    else:
        coef, epsilon = _with_sum_of_sizes(K, gradient, own, solution.bias, total)
    dual = replace(dual, epsilon=epsilon)
    change = coef - own.coef
    moved = np.flatnonzero(change)
    whole, everywhere = solution.coef.copy(), solution.gradient.copy()
    whole[near] = coef
    if len(near) < len(whole) and len(moved):
        everywhere -= _image(rows, dual, solution.cache, near[moved], change[moved])
    everywhere[near] = gradient
    rising, falling = slopes(everywhere, whole, dual)
    violation = float(rising.max() - falling.min())
    if np.isnan(violation):
        return solution
    return replace(
        solution, coef=whole, gradient=everywhere, bias=bias_of(everywhere, whole, dual),
        violation=max(0.0, violation), epsilon=epsilon,
    )  # fmt: skip


def _with_sum_of_sizes(K, gradient, dual, bias, total):
    """Return the coefficients and the epsilon of Newton steps to a sum of sizes; ``gradient`` changes in place."""
    # the squared error of the sum, 0 at the solution, makes K of small rank regular on the free variables
    sign = np.where((dual.coef > 0) | ((dual.coef == 0) & (gradient > bias)), 1.0, -1.0)
    weight = float(np.trace(K)) / len(K)
    K += weight * np.outer(sign, sign)
    gradient += weight * (total - sign @ dual.coef) * sign
    coef, epsilon = solve_active_set(K, gradient, dual, bias, total)
    missing = weight * float(total - sign @ coef)
    gradient -= missing * sign
    return coef, max(0.0, epsilon - missing)


def _image(rows, dual, cache, moved, change):
    """Return K times a change of some coefficients, from known rows if possible."""
    if cache is not None and (cache.slots[moved] >= 0).all():
        return cache.times(moved, change)
    return rows.product(dual.points, dual.points[moved], change)
