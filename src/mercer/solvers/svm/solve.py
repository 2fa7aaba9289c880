"""The entrance to the solvers of support vector machines: which one duals need."""

from dataclasses import replace

import numpy as np

from mercer._common import TINY
from mercer._compute.costs import (
    AT_ONCE,
    BLOCKED,
    COPIED_VALUE,
    FAR_VALUE,
    KERNEL_VALUE,
    SHARED_CACHE,
    SMALL_DUAL,
    WIDE,
)
from mercer._compute.points import count_points
from mercer.kernels.precomputed import Precomputed
from mercer.solvers.svm.bounded import solve_each
from mercer.solvers.svm.certificates import certified
from mercer.solvers.svm.dual import Dual, Infeasible, Limits, Options, Solution, buffer_values
from mercer.solvers.svm.linear import ROWS_NEEDED, steps_before_newton
from mercer.solvers.svm.nu import solve_hard_margins, solve_hard_tube, solve_nu_svcs, solve_nu_svr
from mercer.solvers.svm.rows import KnownRows, PlainRows, Rows


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
    given = isinstance(rows, PlainRows) and isinstance(rows.kernel, Precomputed)
    if given and rows.kernel.matrix.dtype == np.float64:
        return _with_given_matrix(rows, dual, options)
    # nu-regression has two variables for each point
    widest = dual.largest * (1 if dual.total is None or dual.one_sided else 2)
    rows = _with_values(rows, dual, widest, options)
    limits = Limits.of(options, rows, widest, len(dual))
    if dual.ridge is not None:
        # the certificate of a quadratic loss is not that between the bounds
        return certified(solve_each(rows, _bounded(dual), limits), dual)
    if dual.total is None and not dual.unbounded:
        return solve_each(rows, dual, limits)
    if dual.one_sided:
        return (solve_hard_margins if dual.total is None else solve_nu_svcs)(rows, dual, limits)
    solve = solve_hard_tube if dual.total is None else solve_nu_svr
    return Solution.joined([certified(solve(rows, own, limits), own) for own in dual])


def _with_given_matrix(rows, dual, options):
    """Return the solution with values that a given matrix has, whose rows are the points meanwhile."""
    known = KnownRows.given(rows)
    try:
        return solve_dual(known, replace(dual, points=rows.points[dual.points]), options)
    except Infeasible as found:
        place = np.empty(len(known.values), int)
        place[rows.points] = np.arange(len(rows.points))
        own = replace(found.dual, points=place[found.dual.points])
        raise Infeasible(own, found.coef, **found.numbers) from None


def _bounded(duals):
    """Return duals with a ridge whose infinite bounds are bounds that no coefficient meets.

    The loss at the optimum is at most that of the function 0, which bounds every coefficient.
    """
    if not duals.unbounded:
        return duals
    C = 1 / duals.ridge
    # roots first: the product of two large C overflows
    loss = np.sqrt(duals.sums(np.square(np.sqrt(C) * duals.target)))[duals.number]
    bound = np.sqrt(C) * loss + C * duals.epsilon + TINY
    return replace(
        duals, lower=np.maximum(duals.lower, -2 * bound), upper=np.minimum(duals.upper, 2 * bound)
    )


def _with_values(rows, duals, widest, options):
    """Return rows with all kernel values if these pay and fit into memory beside a small dual, other rows unchanged.

    They pay for rows without a compiled loop; for several duals if they cost less than the rows that the duals need,
    each for itself; and for rows of many columns, of which products of blocks are much faster than a few on demand.
    """
    n = count_points(rows.points)
    largest = SMALL_DUAL
    itemsize = rows.dtype.itemsize
    if isinstance(rows, PlainRows):
        pays = n <= 2 * SMALL_DUAL
        largest = 2 * SMALL_DUAL
        itemsize = np.dtype(np.float64).itemsize
    elif rows.held or not rows.in_call:
        pays = False
    elif len(duals) > 1:
        pays = _sharing_pays(rows, duals)
    else:
        pays = rows.width >= WIDE and widest > n // 2
    fits = (
        pays and widest <= largest and (n * n + buffer_values(widest)) * itemsize <= options.budget
    )
    # Newton steps on the normal need no kernel values
    if not fits or steps_before_newton(rows, duals) == 0:
        return rows
    known = KnownRows.of(rows)
    if duals.ridge is not None:
        known.diagonal += duals.ridge
    return known


def _sharing_pays(rows, duals):
    """Whether the kernel rows that duals need, all of few variables, cost more than all kernel values."""
    needed = 1.0 if duals.largest <= AT_ONCE else ROWS_NEEDED
    work = float(duals.sizes @ duals.sizes)
    half = 0.5 * len(rows.points) ** 2
    copy = COPIED_VALUE if 2 * half * rows.dtype.itemsize <= SHARED_CACHE else FAR_VALUE
    value = rows.width + KERNEL_VALUE
    return needed * work * value > half * (rows.width / BLOCKED + KERNEL_VALUE) + work * copy
