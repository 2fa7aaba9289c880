"""The last digits of a dual: free variables solved for directly, in float64 from raw inputs."""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._compute.points import take_points
from mercer._compute.threads import check_cancelled
from mercer.gram import Gram
from mercer.solvers.svm.divide_and_conquer import LARGE, divided
from mercer.solvers.svm.shrinking import sides, wrongness
from mercer.solvers.svm.smo import Dual, solve, threshold
from mercer.solvers.svm.working_set import gather

# Free variables solved for at most.
_FREE = 2000
# Operations that factorisations may take, and steps.
_OPERATIONS, _STEPS = 1e10, 100
# Steps that do not bring scores nearer to the threshold, after which so much is taken for rounding.
_VAIN, _NOISE = 3, 1e-9
# Variables held at a bound before the others are factorised anew.
_HELD = 64
# A sum that is met to this share of it is met.
_ACCURACY = 1e-10
# Scores this close to the threshold, relative to the largest score, are on it.
_ROUNDING = 1e-12
# Pairs a variable, and at least, after which SMO that is not done makes way for Newton steps.
_PATIENCE, _LEAST = 100, 100_000
# A round that raises the objective and lowers the violation by less than these shares has stalled.
_GAIN, _FALL = 1e-4, 0.1
# A violation in tolerances after which Newton's method has lost its way.
_ASTRAY = 100
# Newton's method from matrices and scores computed anew, which refines what rounding left.
_REPEATS = 10
# Variables at a bound whose scores are this many violations from the threshold take part.
_MARGIN = 10
# Kernel values whose rounding moves scores by less than this share of the tolerance need not be computed anew.
_EXACT = 0.01


def polish(kernel, points, rows, dual, solution, tol, total=None):
    r"""Return a solution whose free variables satisfy K b + b_0 = t - epsilon sign(b) to the rounding of K.

    Newton steps on the free variables, under the kept sum and as far as the bounds, and 0 in a tube, allow; a variable
    that meets one is fixed there, one that violates there is freed. Each step lowers the objective. Kernel values are
    those that the solver has where their rounding moves scores by less than a hundredth of ``tol``, which ``violation``
    then tells; otherwise they are computed anew in float64 from raw inputs.

    Parameters
    ----------
    kernel : Kernel
    points : points (n)
    rows : FusedRows or PlainRows
        For scores of variables far from the margin.
    dual : Dual
    solution : Solution
    tol : float
        What the solution violates at most.
    total : float, optional
        The tube becomes as wide as it must be for coefficients of this sum of sizes.

    Returns
    -------
    Solution
        As it was, where more than 2 000 variables are free, or no tube has that sum.
    """
    rising, falling = sides(solution.scores, solution.coef, dual)
    if (rising == falling).sum() > _FREE or solution.violation > tol:
        return solution
    margin = _MARGIN * tol
    near = _near(solution, dual, margin)
    if total is None:
        noise = rows.error * float(np.linalg.norm(solution.coef))
        if solution.square is not None and noise <= _EXACT * tol:
            found = _refined(rows, dual, solution, np.flatnonzero(near))
            if found.violation <= _EXACT * tol:
                return replace(found, violation=max(found.violation, noise))
        found = _solved(kernel, points, rows, dual, solution, np.flatnonzero(near), None)
        return found if found.violation <= solution.violation else solution
    found, worst = solution, np.inf
    for _ in range(_REPEATS):
        dual = replace(dual, tube=found.tube)
        found = _solved(kernel, points, rows, dual, found, np.flatnonzero(near), total)
        if found.violation <= tol and abs(np.abs(found.coef).sum() - total) <= _ACCURACY * total:
            return found
        # a step that led this far, or nowhere, is of another problem than the one it was computed for
        if found.violation > min(_ASTRAY * tol, 0.5 * worst):
            return solution
        worst = found.violation
        # a tube that moves far meets variables that were not near
        margin *= 2
        near |= _near(found, replace(dual, tube=found.tube), margin)
    return solution


def _near(solution, dual, margin):
    """Return which variables are free, wrong, or as near to the threshold as that."""
    rising, falling = sides(solution.scores, solution.coef, dual)
    return (rising == falling) | (wrongness(rising, falling, solution.bias) > -margin)


def optimum(kernel, points, rows, dual, tol, *, max_iter, shared=(), **means):
    """Return the solution of a dual to its last digits: SMO, Newton steps in between where SMO takes long.

    Steps over pairs hardly move along narrow valleys of the objective, which Newton steps cross at once. Rounds of
    SMO, each twice as long, and Newton steps take turns until ``tol``, ``max_iter``, or a round that gains next to
    nothing: what is left then is rounding, or a kernel that is not positive semidefinite.

    Parameters
    ----------
    kernel, points, rows, dual, tol
        As for ``polish``.
    max_iter : int
        Pairs optimised at most.
    shared, **means
        Of `mercer.solvers.svm.smo.solve`.

    Returns
    -------
    Solution
        With ``gain``, the relative gain of the last round, where that is why it ended.
    """
    budget = max(_LEAST, _PATIENCE * len(dual.coef))
    start, n_iter, computed, best = dual, 0, 0, None
    if len(dual.coef) > LARGE and not dual.coef.any() and not shared:
        coef, n_iter, computed = divided(kernel, points, rows, dual, tol=tol, max_iter=max_iter, **means)
        start = replace(dual, coef=coef)
    while True:
        allowed = min(budget, max_iter - n_iter)
        found = solve(rows, start, tol=tol, max_iter=allowed, shared=shared, **means)
        unfinished = found.violation > tol and found.n_iter >= allowed
        n_iter, computed = n_iter + found.n_iter, computed + found.computed
        found = replace(found, n_iter=n_iter, computed=computed)
        if not unfinished or n_iter >= max_iter:
            found = polish(kernel, points, rows, dual, found, tol)
            return found if best is None or found.violation <= best.violation else replace(best, n_iter=n_iter)
        # the next round takes the memory that the rows lie in
        found = replace(_crossed(kernel, points, rows, dual, found), square=None)
        if found.violation <= tol:
            return found
        if best is not None:
            value = objective(dual, found)
            gain = (value - objective(dual, best)) / max(abs(value), np.finfo(float).tiny)
            # an objective that falls is not known any better
            if gain < -_GAIN or (gain < _GAIN and found.violation > (1 - _FALL) * best.violation):
                return replace(best if best.violation < found.violation else found, n_iter=n_iter, gain=gain)
        best, budget = found, 2 * budget
        start = replace(dual, coef=found.coef)


def objective(dual, solution):
    """Return t'b - epsilon |b|_1 - b'Kb / 2."""
    spent = dual.tube * float(np.abs(solution.coef).sum())
    return 0.5 * float(solution.coef @ (dual.target + solution.scores)) - spent


def _crossed(kernel, points, rows, dual, solution):
    """Return a solution after Newton steps on what is free or violates, repeated while that pays."""
    for _ in range(_REPEATS):
        check_cancelled()
        rising, falling = sides(solution.scores, solution.coef, dual)
        free = rising == falling
        near = np.flatnonzero(free | _wrong(solution.scores, solution.coef, dual, solution.bias))
        found = _solved(kernel, points, rows, dual, solution, near, None) if free.sum() <= _FREE else solution
        fell = found.violation <= (1 - _FALL) * solution.violation
        if not fell and not objective(dual, found) > objective(dual, solution):
            return solution
        solution = found
        if not fell:
            break
    return solution


def _solved(kernel, points, rows, dual, solution, near, total):
    """Return a solution after Newton steps on some variables; as it was, where they are none or too many."""
    if not 0 < len(near) <= 2 * _FREE:
        return solution
    inner = widened(take_points(points, dual.points[near]))
    K = Gram(kernel, inner, memory=2**62).dense()
    scores = dual.target[near] - K @ solution.coef[near]
    others = solution.coef.copy()
    others[near] = 0
    far = np.flatnonzero(others)
    if len(far):
        scores -= Gram(kernel, inner, widened(take_points(points, dual.points[far]))) @ others[far]
    return _stepped(rows, dual, solution, near, K, scores, None if total is None else total - np.abs(others).sum())


def _refined(rows, dual, solution, near):
    """Return a solution after Newton steps on some variables, with the kernel values that the solver has."""
    square = solution.square
    if not 0 < len(near) <= 2 * _FREE or np.count_nonzero(square.slot[near] < 0) > square.room:
        return solution
    square.ensure(near)
    K = np.empty((len(near), len(near)))
    gather(square.values, square.slot[near], near, K)
    # the two triangles were rounded on their own
    K = 0.5 * (K + K.T)
    return _stepped(rows, dual, solution, near, K, solution.scores[near].copy(), None)


def _stepped(rows, dual, solution, near, K, scores, total):
    """Return a solution after Newton steps on some variables, of given kernel values and scores."""
    arrays = dual.target, dual.lower, dual.upper, solution.coef, dual.points
    coef, tube = _newton(K, scores, Dual(*(each[near] for each in arrays), dual.tube), solution.bias, total)
    dual = replace(dual, tube=tube)
    change = coef - solution.coef[near]
    moved = np.flatnonzero(change)
    whole, all_scores = solution.coef.copy(), solution.scores.copy()
    whole[near] = coef
    if len(near) < len(whole) and len(moved):
        all_scores -= _spread(rows, dual, solution.square, near[moved], change[moved])
    all_scores[near] = scores
    bias = threshold(all_scores, whole, dual)
    rising, falling = sides(all_scores, whole, dual)
    violation = float(rising.max() - falling.min())
    if np.isnan(violation):
        return solution
    return replace(solution, coef=whole, scores=all_scores, bias=bias, violation=max(0.0, violation), tube=tube)


def _spread(rows, dual, square, moved, change):
    """Return what a change of some coefficients adds to K b: from rows that are there, where all of them are."""
    if square is not None and (square.slot[moved] >= 0).all():
        return square.spread(moved, change)
    return rows.product(dual.points, dual.points[moved], change)


def widened(points):
    """Return rows of numbers in float64; other points as they are."""
    if getattr(getattr(points, "dtype", None), "kind", "") == "f":
        return points.astype(np.float64)
    return points


def _newton(K, scores, dual, level, total):
    """Take Newton steps from ``dual.coef``, changing ``scores`` in place; return the coefficients and the tube."""
    coef = dual.coef.copy()
    scale = max(1.0, np.abs(scores).max())
    free = np.equal(*sides(scores, coef, dual))
    free |= not free.any() and _wrong(scores, coef, dual, level)
    spent, count, vain, inverse, least = 0.0, 0, 0, None, np.inf
    while free.any() and spent < _OPERATIONS and count < _STEPS:
        check_cancelled()
        if inverse is None:
            F = np.flatnonzero(free)
            columns, held = K[:, F], np.zeros(len(F), bool)
            inverse = _inverse(columns[F])
            spent += len(F) ** 3 / 3
        count, spent = count + 1, spent + len(F) ** 2 * held.sum() + 1e6
        lower, upper, sign = _piece(scores[F], coef[F], dual, F, level)
        if total is None:
            direction, (level,) = _direction(inverse, scores[F] - dual.tube * sign, held, np.ones((len(F), 1)), [0])
        else:
            sums, missing = np.column_stack([np.ones(len(F)), sign]), [0, total - np.abs(coef).sum()]
            direction, (level, tube) = _direction(inverse, scores[F], held, sums, missing)
            dual = replace(dual, tube=max(0.0, float(tube)))
        room = np.where(direction > 0, upper - coef[F], coef[F] - lower)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            limits = np.where(direction != 0, room / np.abs(direction), np.inf)
        step = min(1.0, limits.min())
        before = coef[F].copy()
        coef[F] += step * direction
        met = limits <= step
        coef[F[met]] = np.where(direction[met] > 0, upper[met], lower[met])
        coef[F] = np.clip(coef[F], np.minimum(lower, before), np.maximum(upper, before))
        held |= met
        free[F[met]] = False
        scores -= columns @ (coef[F] - before)
        if held.sum() > _HELD or held.all():
            inverse = None
        if step < 1:
            continue
        residual = np.abs(scores[F] - dual.tube * sign - level)[~held].max(initial=0.0)
        wrong = ~free & _wrong(scores, coef, dual, level)
        vain, least = (0, residual) if residual < least else (vain + 1, least)
        enough = _ROUNDING if vain < _VAIN else _NOISE
        if not wrong.any() and residual <= enough * scale:
            break
        if held.any() or wrong.any():
            inverse, least = None, np.inf
        free |= wrong
    return coef, dual.tube


def _piece(scores, coef, dual, F, level):
    """Return the bounds of variables F between which the objective is smooth, and the sign they have there."""
    lower, upper = dual.lower[F], dual.upper[F]
    if dual.tube == 0:
        return lower, upper, np.sign(coef)
    # one at 0 moves to the side that it was freed for
    above = (coef > 0) | ((coef == 0) & (scores > level))
    return np.where(above, 0, lower), np.where(above, upper, 0), np.where(above, 1.0, -1.0)


def _wrong(scores, coef, dual, level):
    """Return which variables want to move away from where they are."""
    slack = _ROUNDING * max(1.0, np.abs(scores).max())
    rising, falling = sides(scores, coef, dual)
    return (rising > level + slack) | (falling < level - slack)


def _inverse(K):
    """Return the function that multiplies columns by the inverse of K, which is lost, or about that."""
    # a constant added to K changes no step of sum 0, and makes it definite where only K on such vectors is
    K += np.trace(K) / len(K)
    diagonal, jitter = np.diagonal(K).copy(), 1e-13 * np.trace(K)
    for _ in range(6):
        try:
            np.fill_diagonal(K, diagonal + jitter)
            factor = cho_factor(K.T, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter *= 100
        else:
            return lambda columns: cho_solve(factor, columns, check_finite=False)
    # an indefinite kernel: the mean is all that can be taken away
    scale = max(np.abs(diagonal).max(), 1e-300)
    return lambda columns: columns / scale


def _direction(inverse, scores, held, sums, missing):
    """Return the step d, 0 where it is held, with sums' d = missing and K d + sums b = scores elsewhere; and b."""
    fixed = np.flatnonzero(held)
    bars = np.zeros((len(scores), len(fixed)))
    bars[fixed, np.arange(len(fixed))] = 1
    bars = np.column_stack([sums, bars])
    solved = inverse(np.column_stack([scores, bars]))
    inner = bars.T @ solved
    inner[: len(missing), 0] -= missing
    size = np.sqrt(np.maximum(np.diagonal(inner[:, 1:]), 1e-300))
    levels = np.linalg.lstsq(inner[:, 1:] / (size[:, None] * size), inner[:, 0] / size, rcond=None)[0] / size
    direction = solved[:, 0] - solved[:, 1:] @ levels
    direction[~held] -= direction[~held].mean()
    direction[held] = 0
    return direction, levels[: len(missing)]
