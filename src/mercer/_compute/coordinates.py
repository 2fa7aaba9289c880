"""Functions of sums over coordinates of a term, such as |x - z|, at all pairs of rows: compiled loops on threads."""

import functools

import numpy as np

from mercer._compute.compile import REORDER
from mercer._compute.costs import ROWS_OF_TASK
from mercer._compute.intrinsics import wide
from mercer._compute.memory import allocate
from mercer._compute.profile import compile_profile, loops_of_formulas, parameters, within_range
from mercer._compute.threads import run_on_rows

# Terms that are added before they are added to the sum, which rounds less often.
TERMS = 32


def values(kernel, X, Z, order=0):
    """Return the kernel's profile, or its derivative, of sum_k term(x_k, z_k) (n, m); C-contiguous rows of one type."""
    out = allocate((len(X), len(Z)), X.dtype)
    columns = np.ascontiguousarray(Z.T)
    sums = _sum_loop(kernel.term, 0)
    given = np.array(within_range(parameters(kernel), X.dtype), X.dtype)
    profile = compile_profile(kernel.profile, order, "plain", X.dtype, given.size)

    def fill(rows):
        block = out[rows]
        sums(X[rows], columns, block)
        profile(block, block, block, 0, given)

    run_on_rows(fill, len(X), ROWS_OF_TASK)
    return out


def gradient(term, X, Z, W):
    """Return sum_j W_ij dterm(x_ik, z_jk)/dx_ik (n, d) in the type of the rows."""
    out = np.empty(X.shape, X.dtype)
    columns = np.ascontiguousarray(Z.T)
    loop = _gradient_loop(term, 1)
    W = np.ascontiguousarray(W, X.dtype)
    run_on_rows(lambda rows: loop(X[rows], columns, W[rows], out[rows]), len(X), ROWS_OF_TASK)
    return out


@loops_of_formulas
def _sum_loop(value, xp):
    def loop(X, columns, out):
        wide()
        some = np.empty(out.shape[1], out.dtype)
        for i in range(X.shape[0]):
            row = out[i]
            row[:] = 0
            for start in range(0, X.shape[1], TERMS):
                some[:] = 0
                for k in range(start, min(start + TERMS, X.shape[1])):
                    x = X[i, k]
                    column = columns[k]
                    for j in range(row.size):
                        some[j] += value(xp, x, column[j])
                for j in range(row.size):
                    row[j] += some[j]

    return loop


@functools.partial(loops_of_formulas, flags=REORDER)
def _gradient_loop(slope, xp):
    def loop(X, columns, W, out):
        wide()
        for i in range(X.shape[0]):
            weights = W[i]
            for k in range(X.shape[1]):
                x = X[i, k]
                column = columns[k]
                total = 0.0
                for j in range(column.size):
                    total += weights[j] * slope(xp, x, column[j])
                out[i, k] = total

    return loop
