"""The last digits of a dual: free variables solved for directly, in float64 from raw inputs."""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer import _points
from mercer.gram import Gram
from mercer.solvers.smo import threshold

# Free variables solved for at most.
_FREE = 2000
# Operations that factorisations may take.
_OPERATIONS = 1e10
# Scores this close to the threshold, relative to the largest score, are on it.
_ROUNDING = 1e-12
# Variables at a bound whose scores are this many violations from the threshold take part.
_MARGIN = 10


def polish(kernel, points, rows, dual, solution, tol):
    r"""Return a solution whose free variables satisfy K b + b_0 = t to the rounding of float64.

    Newton steps on the free variables, under the kept sum and as far as the bounds allow; a variable that meets its
    bound is fixed there, one that violates at its bound is freed. Each step lowers the objective.

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

    Returns
    -------
    Solution
        As it was, where more than 2 000 variables are free.
    """
    free = (solution.coef > dual.lower) & (solution.coef < dual.upper)
    if free.sum() > _FREE or solution.violation > tol:
        return solution
    near = np.flatnonzero(free | (np.abs(solution.scores - solution.bias) < _MARGIN * tol))
    if not 0 < len(near) <= 2 * _FREE:
        return solution
    inner = widened(_points.take(points, dual.points[near]))
    K = Gram(kernel, inner, memory=2**62).dense()
    scores = dual.target[near] - K @ solution.coef[near]
    others = solution.coef.copy()
    others[near] = 0
    far = np.flatnonzero(others)
    if len(far):
        scores -= Gram(kernel, inner, widened(_points.take(points, dual.points[far]))) @ others[far]
    coef = _newton(K, scores, solution.coef[near], dual.lower[near], dual.upper[near], solution.bias)
    change = coef - solution.coef[near]
    moved = np.flatnonzero(change)
    whole, all_scores = solution.coef.copy(), solution.scores.copy()
    whole[near] = coef
    if len(near) < len(whole) and len(moved):
        all_scores -= _spread(rows, dual, solution.square, near[moved], change[moved])
    all_scores[near] = scores
    bias = threshold(all_scores, whole, dual)
    top = np.max(all_scores, where=whole < dual.upper, initial=-np.inf)
    bottom = np.min(all_scores, where=whole > dual.lower, initial=np.inf)
    if not top - bottom <= solution.violation:
        return solution
    return replace(solution, coef=whole, scores=all_scores, bias=bias, violation=max(0.0, float(top - bottom)))


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


def _newton(K, scores, coef, lower, upper, level):
    """Take Newton steps, changing ``scores`` in place; return the coefficients."""
    coef = coef.copy()
    scale = max(1.0, np.abs(scores).max())
    free = (coef > lower) & (coef < upper)
    free |= not free.any() and _wrong(scores, coef, lower, upper, level)
    spent, count = 0.0, 0
    while free.any() and spent < _OPERATIONS and count < 100:
        count += 1
        F = np.flatnonzero(free)
        spent += len(F) ** 3 / 3 + 1e6
        direction, level = _direction(K[np.ix_(F, F)], scores[F])
        room = np.where(direction > 0, upper[F] - coef[F], coef[F] - lower[F])
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = np.where(direction != 0, room / np.abs(direction), np.inf)
        step = min(1.0, limits.min())
        before = coef[F].copy()
        coef[F] += step * direction
        met = limits <= step
        coef[F[met]] = np.where(direction[met] > 0, upper[F[met]], lower[F[met]])
        np.clip(coef, lower, upper, out=coef)
        free[F[met]] = False
        scores -= K[:, F] @ (coef[F] - before)
        if step < 1:
            continue
        residual = np.abs(scores[F] - level).max()
        wrong = ~free & _wrong(scores, coef, lower, upper, level)
        if not wrong.any() and residual <= _ROUNDING * scale:
            break
        free |= wrong
    return coef


def _wrong(scores, coef, lower, upper, level):
    """Return which variables want to move away from where they are."""
    slack = _ROUNDING * max(1.0, np.abs(scores).max())
    return ((coef < upper) & (scores > level + slack)) | ((coef > lower) & (scores < level - slack))


def _direction(K, scores):
    """Return the step d, sum d = 0, with K d + b_0 = scores, and b_0."""
    # a constant added to K changes neither, and makes it definite where only K on vectors of sum 0 is
    K = K + np.trace(K) / len(K)
    jitter = 1e-13 * np.trace(K)
    for _ in range(6):
        try:
            factor = cho_factor(K + jitter * np.eye(len(K)), check_finite=False)
            break
        except np.linalg.LinAlgError:
            jitter *= 100
    else:
        # an indefinite kernel: the mean is all that can be taken away
        level = scores.mean()
        return (scores - level) / max(np.abs(np.diag(K)).max(), 1e-300), level
    solved = cho_solve(factor, np.column_stack([scores, np.ones(len(K))]), check_finite=False)
    level = solved[:, 0].sum() / solved[:, 1].sum()
    direction = solved[:, 0] - level * solved[:, 1]
    return direction - direction.mean(), level
