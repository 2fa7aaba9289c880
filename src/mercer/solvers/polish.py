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
        As it was, where more than 2 000 variables are free or none is.
    """
    free = (solution.coef > dual.lower) & (solution.coef < dual.upper)
    if not 0 < free.sum() <= _FREE or solution.violation > tol:
        return solution
    near = np.flatnonzero(free | (np.abs(solution.scores - solution.bias) < _MARGIN * tol))
    if len(near) > 2 * _FREE:
        return solution
    support = np.flatnonzero(solution.coef)
    exact = Gram(kernel, widened(_points.take(points, dual.points[near])), memory=2**62)
    outer = widened(_points.take(points, dual.points[support]))
    scores = dual.target[near] - Gram(kernel, widened(_points.take(points, dual.points[near])), outer) @ solution.coef[support]
    coef, violation = _newton(
        exact.dense(), scores, solution.coef[near], dual.lower[near], dual.upper[near]
    )
    change = coef - solution.coef[near]
    moved = np.flatnonzero(change)
    whole, all_scores = solution.coef.copy(), solution.scores.copy()
    whole[near] = coef
    rest = np.ones(len(whole), bool)
    rest[near] = False
    if rest.any() and len(moved):
        all_scores[rest] -= rows.product(dual.points[rest], dual.points[near[moved]], change[moved])
    all_scores[near] = scores
    bias = threshold(all_scores, whole, dual)
    top = np.max(all_scores, where=whole < dual.upper, initial=-np.inf)
    bottom = np.min(all_scores, where=whole > dual.lower, initial=np.inf)
    if not top - bottom <= solution.violation:
        return solution
    return replace(solution, coef=whole, scores=all_scores, bias=bias, violation=max(0.0, float(top - bottom)))


def widened(points):
    """Return rows of numbers in float64; other points as they are."""
    if getattr(getattr(points, "dtype", None), "kind", "") == "f":
        return points.astype(np.float64)
    return points


def _newton(K, scores, coef, lower, upper):
    """Take Newton steps, changing ``scores`` in place; return the coefficients and the last violation."""
    coef = coef.copy()
    scale = max(1.0, np.abs(scores).max())
    free = (coef > lower) & (coef < upper)
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
        wrong = ~free & (upper > lower) & (
            ((coef < upper) & (scores > level + 1e-12 * scale)) | ((coef > lower) & (scores < level - 1e-12 * scale))
        )
        if not wrong.any() and residual <= 1e-12 * scale:
            break
        free |= wrong
    return coef, 0.0


def _direction(K, scores):
    """Return the step d, sum d = 0, with K d + b_0 = scores, and b_0."""
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
