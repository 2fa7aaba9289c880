"""The entrance to the solvers of support vector machines: which one duals need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer._compute.costs import SMALL_DUAL
from mercer._compute.points import count_points
from mercer.solvers.svm.bounded import solve_each
from mercer.solvers.svm.dual import Dual, Solution
from mercer.solvers.svm.nu import solve_hard_margins, solve_hard_tube, solve_nu_svcs, solve_nu_svr
from mercer.solvers.svm.options import Limits, Options, buffer_values
from mercer.solvers.svm.rows import KnownRows, PlainRows, Rows
from mercer.solvers.svm.verify import certified, settled


def solve_dual(rows: Rows, dual: Dual, options: Options) -> Solution:
    """Return the solution of a dual, or those of several of one kind over shared points, with certificates.

    Parameters
    ----------
    rows : Rows
        Kernel rows of the points; `Options.rows` makes them as accurate as the solutions need.
    dual : Dual
    options : Options

    Returns
    -------
    Solution

    Raises
    ------
    Infeasible
        If bounds are infinite and no function is without error.
    """
    # nu-regression has two variables for each point
    widest = dual.largest * (1 if dual.total is None or dual.one_sided else 2)
    rows = _with_values(rows, widest, options)
    if dual.ridge is not None:
        found = solve_each(rows, _bounded(dual), options)
        for k, own in enumerate(dual):
            # the certificate of a quadratic loss is not that between the bounds
            found[k] = settled(found[k], own)
        return found
    if dual.total is None and not dual.unbounded:
        return solve_each(rows, dual, options)
    if dual.one_sided:
        return (solve_hard_margins if dual.total is None else solve_nu_svcs)(rows, dual, options)
    solve = solve_hard_tube if dual.total is None else solve_nu_svr
    limits = Limits.of(options, rows, widest)
    return Solution.joined([certified(solve(rows, own, limits), own) for own in dual])


def _bounded(duals):
    """Return duals with a ridge whose infinite bounds are bounds that no coefficient meets.

    The loss at the optimum is at most that of a constant, which bounds every coefficient.
    """
    if not duals.unbounded:
        return duals
    C = 1 / duals.ridge
    mean = duals.sums(C * duals.target) / duals.sums(C)
    error = duals.target - mean[duals.number]
    # roots first: the product of two large C overflows
    loss = np.sqrt(duals.sums(np.square(np.sqrt(C) * error)))[duals.number]
    bound = np.sqrt(C) * loss + C * duals.epsilon + np.finfo(float).tiny
    return replace(
        duals, lower=np.maximum(duals.lower, -2 * bound), upper=np.minimum(duals.upper, 2 * bound)
    )


def _with_values(rows, widest, options):
    """Return rows with all kernel values if these and a small dual fit into memory, other rows unchanged."""
    if not isinstance(rows, PlainRows):
        return rows
    n = count_points(rows.points)
    needed = (n * n + buffer_values(widest)) * np.dtype(np.float64).itemsize
    fits = max(n, widest) <= 2 * SMALL_DUAL and needed <= options.budget
    return KnownRows.of(rows.kernel, rows.points) if fits else rows
