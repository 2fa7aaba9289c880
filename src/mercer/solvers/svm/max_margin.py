"""The widest margin between two classes: the distance of their hulls, whole or reduced."""

from dataclasses import replace

import numpy as np

from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.smo import Dual
from mercer.solvers.svm.two_constraints import settle, solve_sums

# Points of each class that the first guess of a margin looks at.
_SAMPLE = 500
# A margin below this share of what the distance of the classes' means would give is solved for again, more closely.
_COARSE = 1e-2


def widest_margin(kernel, points, rows, dual, total, tol, least, **means):
    r"""Return the closest points of the reduced hulls of two classes, and half their levels' distance.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad l \le b \le u,\ \sum_+ b_i = s = -\sum_- b_i

    Parameters
    ----------
    kernel : Kernel
    points : points (n)
    rows : FusedRows or PlainRows
    dual : Dual
        Of a classifier: its target is 1 or -1, its coefficients have the sign of it.
    total : float
        s.
    tol : float
        Largest violation as a share of the margin.
    least : float
        Share of `unit` below which a margin counts as none: it is not looked at more closely than ``tol`` times that.
    **means
        As for `solve_sums`.

    Returns
    -------
    solution : Solution
        In the order of the dual, with the margin times the target in its scores.
    margin : float
        |w|^2 = 2 s margin when no bound is met.
    unit : float
        The margin, times 2, of the classes' means: what margins are compared with.

    Notes
    -----
    Crisp, Burges, *A geometric interpretation of nu-SVM classifiers* (2000).
    """
    order = np.argsort(dual.target < 0, kind="stable")
    split = int((dual.target > 0).sum())
    ours = Dual(
        np.zeros(len(order)), dual.lower[order], dual.upper[order], np.zeros(len(order)), dual.points[order]
    )  # fmt: skip
    unit = total * _distance(rows, dual)

    def solved(rows, start, share, **means):
        own = replace(ours, coef=start)
        return solve_sums(rows, own, split, total, tol=lambda margin: tol * max(margin, share * unit), **means)

    # a margin that counts is looked at closely, one that does not is not worth it
    solution, margin = solved(rows, ours.coef, _COARSE, **means)
    if margin + solution.violation > least * unit and solution.violation > tol * max(margin, least * unit):
        if rows.dtype == np.float32:
            rows = rows_of(kernel, points, 0.0)
            memory = means["memory"]
            means["memory"] = memory[: len(memory) // 2 * 2].view(rows.dtype)
        finer, margin = solved(rows, solution.coef, least, **means)
        solution = replace(finer, n_iter=finer.n_iter + solution.n_iter)
    allowed = tol * max(margin, least * unit)
    solution, margin = settle(kernel, points, rows, ours, split, total, solution, margin, allowed)
    back = np.argsort(order)
    return replace(solution, coef=solution.coef[back], scores=solution.scores[back]), margin, unit


def _distance(rows, dual):
    """Return about the squared distance of the classes' means, on a few points."""
    few = np.concatenate([_some(np.flatnonzero(dual.target > 0)), _some(np.flatnonzero(dual.target < 0))])
    sign = dual.target[few]
    weights = sign / np.where(sign > 0, (sign > 0).sum(), (sign < 0).sum())
    squared = float(weights @ rows.product(dual.points[few], dual.points[few], weights))
    return max(squared, 1e-6 * float(np.abs(rows.diagonal[dual.points]).max()), 1e-300)


def _some(places):
    return places[np.linspace(0, len(places) - 1, min(len(places), _SAMPLE)).astype(int)]
