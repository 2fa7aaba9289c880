"""The entrance to the solvers of support vector machines: which one duals need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mercer._compute.costs import SMALL_DUAL
from mercer._compute.points import count_points
from mercer._compute.threads import count_threads
from mercer.solvers.svm.dual import Dual, Duals, Solution
from mercer.solvers.svm.nu import solve_hard_margins, solve_hard_tube, solve_nu_svcs, solve_nu_svr
from mercer.solvers.svm.options import Limits, Options, buffer_values
from mercer.solvers.svm.rows import KnownRows, PlainRows, Rows
from mercer.solvers.svm.several import solve_each
from mercer.solvers.svm.verify import certificate, settled_solution


def solve_dual(rows: Rows, dual: Dual, options: Options) -> Solution:
    """Return the solution of a dual, with its certificate; see `solve_duals`."""
    return solve_duals(rows, [dual], options)[0]


def solve_duals(rows: Rows, duals: Sequence[Dual], options: Options) -> Sequence[Solution]:
    """Return the solutions of duals of one kind over shared points, each with its certificate.

    Parameters
    ----------
    rows : Rows
        Kernel rows of the points; `Options.rows` makes them as accurate as the solutions need.
    duals : sequence of Dual
    options : Options

    Returns
    -------
    sequence of Solution

    Raises
    ------
    Infeasible
        If bounds are infinite and no function is without error.
    """
    own = Duals.of(duals)
    first = own.first
    classifies = first.one_sided
    # nu-regression has two variables for each point
    widest = own.largest * (1 if classifies or first.total is None else 2)
    rows = _with_values(rows, widest, options, min(count_threads(), len(own)))
    if first.ridge is not None:
        found = solve_each(rows, Duals.of([_bounded(dual) for dual in duals]), options)
        # the certificate of a quadratic loss is not that between the bounds
        return [settled_solution(*each) for each in zip(found, duals, strict=True)]
    if first.total is None and not own.unbounded:
        return solve_each(rows, own, options)
    if classifies:
        return (solve_hard_margins if first.total is None else solve_nu_svcs)(rows, own, options)
    solve = solve_hard_tube if first.total is None else solve_nu_svr
    limits = Limits.of(options, rows, widest)
    return [_certified(solve(rows, dual, limits), dual) for dual in duals]


def _certified(found, dual):
    """Return a solution with its certificate."""
    own = replace(dual, epsilon=found.epsilon)
    return replace(found, certificate=certificate(own, found.coef, found.gradient, found.bias))


def _bounded(dual):
    """Return a dual whose infinite bounds are finite if it has a ridge, by bounds that no coefficient meets.

    The loss at the optimum is at most that of a constant, which bounds every coefficient.
    """
    if dual.ridge is None or not dual.unbounded:
        return dual
    C = 1 / dual.ridge
    error = dual.target - np.average(dual.target, weights=C)
    # roots first: the product of two large C overflows
    bound = (
        np.sqrt(C) * np.linalg.norm(np.sqrt(C) * error) + C * dual.epsilon + np.finfo(float).tiny
    )
    return replace(
        dual, lower=np.maximum(dual.lower, -2 * bound), upper=np.minimum(dual.upper, 2 * bound)
    )


def _with_values(rows, widest, options, workers):
    """Return rows with all kernel values if small duals then fit into memory, other rows unchanged."""
    if not isinstance(rows, PlainRows):
        return rows
    n = count_points(rows.points)
    needed = n * n * np.dtype(np.float64).itemsize
    fits = max(
        n, widest
    ) <= 2 * SMALL_DUAL and options.budget - needed >= 8 * workers * buffer_values(widest)
    return KnownRows.of(rows.kernel, rows.points) if fits else rows
