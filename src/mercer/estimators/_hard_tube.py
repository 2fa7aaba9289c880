"""The hard tube of regression: every point inside, or the evidence that no function is so steep."""

from dataclasses import replace

import numpy as np

# Prices of slack tried one after the other, the first in units of a coefficient that spans the targets.
_RAISED = 10.0
# A function this many times as steep as the targets are wide counts as none: hulls this close touch.
_STEEPEST = 1e4
# Points that the spread of a feature space is seen from.
_SAMPLE = 500


def hard_tube(means, dual, sample, y, epsilon, tol):
    r"""Return the solution of a tube that leaves no point outside, and the dual with prices that it does not meet.

    .. math:: \min_b \tfrac12 b'Kb - y'b + \epsilon |b|_1 \quad\text{s.t.}\quad \sum_i b_i = 0

    Parameters
    ----------
    means : Solver
    dual : Dual
        Of the tube for prices of 1.
    sample : Sample
    y : float64 array (k,)
        Targets of the sample.
    epsilon, tol : float

    Returns
    -------
    solution : Solution
        Above ``tol`` where the solver ended early.
    dual : Dual

    Raises
    ------
    ValueError
        Where the points lift the targets too steeply, with two weighted means as evidence.

    Notes
    -----
    Slack has an exact penalty: the optimum at a price that no coefficient meets is the optimum at every larger one.
    Whatever the price, every function in the tube obeys

    .. math:: |w| \ge \frac{y'b - \epsilon |b|_1}{|\Phi b|},

    which grows with the price where there is none: the parts of b above and below 0 are weighted means that move
    together while their targets stay more than 2 epsilon apart.

    References
    ----------
    Bi, Bennett, *A geometric approach to support vector regression*, Neurocomputing 55 (2003).
    """
    spread = _spread(means.rows)
    unit = (float(np.ptp(y)) or 1.0) / spread
    price, coef, n_iter = unit / spread, dual.coef, 0
    while True:
        own = replace(dual, lower=price * dual.lower, upper=price * dual.upper, coef=coef)
        solution = means.optimum(own, tol)
        coef, n_iter = solution.coef, n_iter + solution.n_iter
        if np.abs(coef).max() < price:
            return replace(solution, n_iter=n_iter), own
        needed, evidence = _steepness(dual, solution, sample, y, epsilon, means.rows.diagonal.max())
        if needed > _STEEPEST * unit:
            raise ValueError(
                f"C = inf needs a function within epsilon = {epsilon:g} of every target, and {evidence}: it would have "
                f"|w| > {needed:.3g}, where {unit:.3g} spans the targets. Give a finite C, a larger epsilon, or a "
                "kernel that tells these points apart."
            )
        if solution.violation > tol:
            return replace(solution, n_iter=n_iter), own
        price *= _RAISED


def _spread(rows):
    """Return about the root mean square distance of the points from their mean."""
    n = len(rows.diagonal)
    few = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(int)
    weights = np.full(len(few), 1 / len(few))
    squared = float(rows.diagonal[few].mean()) - float(weights @ rows.product(few, few, weights))
    return np.sqrt(max(squared, 1e-12 * float(np.abs(rows.diagonal).max()), np.finfo(float).tiny))


def _steepness(dual, solution, sample, y, epsilon, largest):
    """Return the norm that every function in the tube exceeds, and the two means that show it."""
    b = solution.coef.reshape(-1, len(y)).sum(axis=0)
    total = float(np.abs(b).sum())
    # the square is a difference: below its rounding nothing is known
    rounding = np.finfo(float).eps * total**2 * float(largest)
    apart = np.sqrt(max(float(solution.coef @ (dual.target - solution.scores)), rounding))
    first, second = (_mean_of(sample.kept, side * b) for side in (1, -1))
    distance, difference = 2 * apart / total, 2 * float(y @ b) / total
    evidence = f"{first} and {second} are {distance:.3g} apart in feature space, their targets {difference:.3g}"
    return (float(y @ b) - epsilon * total) / apart, evidence


def _mean_of(kept, weights):
    """Name a weighted mean of the points that have a weight."""
    used = np.flatnonzero(weights > 0)
    rows = ", ".join(str(row) for row in kept[used[np.argsort(-weights[used])[:3]]])
    return f"a weighted mean of {len(used)} points (the heaviest in rows {rows})"
