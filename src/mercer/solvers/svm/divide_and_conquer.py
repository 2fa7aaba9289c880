"""Divide and conquer: a large dual starts from the solutions of small ones, each over points that lie together."""

import queue

import numpy as np

from mercer._compute.points import count_points, take_points
from mercer._compute.threads import count_threads, limit_threads, run_tasks
from mercer.gram import Gram
from mercer.solvers.svm.smo import Dual, solve, violation

# Variables above which parts pay, and of the largest part; in whole lanes.
LARGE, _PART, _WIDTH = 6000, 2000, 2048
# Points that a direction is found from, and that stand for coordinates where points have none.
_SAMPLE = 256
# Parts are solved to this share of the violation at the start: the whole moves their solutions anyway.
_SHARE = 0.05


def divided(kernel, points, rows, dual, *, tol, max_iter, memory, report=None):
    r"""Return coefficients to start from: the solutions of the dual restricted to each of many small parts.

    Points are halved at the median along their principal direction, again and again. Where kernel values between parts
    are small, the block of each part decides alone, for most variables, whether they end at a bound; the parts need a
    fraction of the kernel values and steps, and run side by side.

    Parameters
    ----------
    kernel : Kernel
    points : points
        Those of the dual, and maybe more.
    rows : FusedRows or PlainRows
    dual : Dual
        Its variables at 0: all parts keep that sum.
    tol, max_iter, memory, report
        Of `mercer.solvers.svm.smo.solve`; ``max_iter`` for all parts together.

    Returns
    -------
    coef : float64 array (n,)
        Within the bounds, of sum 0.
    n_iter, computed : int
        Pairs optimised and kernel values computed.

    Notes
    -----
    O(n log n) to divide, then n times the size of a part in kernel values.

    Hsieh, Si, Dhillon, *A divide-and-conquer solver for kernel support vector machines*, ICML 2014.
    """
    parts = split(coordinates(kernel, points), dual.points)
    aim = max(tol, _SHARE * violation(dual.target, dual.coef, dual))
    coef, counts = dual.coef.copy(), np.zeros((len(parts), 2), int)
    # what a part gets does not depend on how many are under way at a time
    share = min(len(memory), _WIDTH**2)
    crews = min(count_threads(), len(memory) // share)
    free = queue.SimpleQueue()
    for k in range(crews):
        free.put(memory[k * share : (k + 1) * share])

    def conquer(k):
        own, piece = np.sort(parts[k]), free.get()
        arrays = (each[own] for each in (dual.target, dual.lower, dual.upper, dual.coef, dual.points))
        with limit_threads(1):
            solution = solve(
                rows, Dual(*arrays, dual.tube), tol=aim, max_iter=max_iter // len(parts), memory=piece, report=report
            )
        coef[own], counts[k] = solution.coef, (solution.n_iter, solution.computed)
        free.put(piece)

    with limit_threads(crews):
        run_tasks(conquer, len(parts))
    n_iter, computed = counts.sum(axis=0)
    return coef, int(n_iter), int(computed)


def coordinates(kernel, points):
    """Return rows of numbers that say which points lie together: the points, or kernel values with some of them.

    Parameters
    ----------
    kernel : Kernel
    points : points (n)

    Returns
    -------
    array (n, d)
    """
    if isinstance(points, np.ndarray) and points.dtype.kind == "f":
        return points
    n = count_points(points)
    some = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(int)
    return Gram(kernel, points, take_points(points, some)).dense()


def split(X, places):
    """Return pieces of ``places``, rows of X, each halved along its principal direction until it is small.

    Parameters
    ----------
    X : array (n, d)
    places : int array (m,)

    Returns
    -------
    list of int array
        Which of the m places are in each piece.
    """
    waiting, done = [np.arange(len(places))], []
    while waiting:
        piece = waiting.pop()
        if len(piece) <= _PART:
            done.append(piece)
            continue
        own = X[places[piece]]
        sample = own[np.linspace(0, len(own) - 1, _SAMPLE).astype(int)]
        direction = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)[2][0]
        order = piece[np.argsort(own @ direction, kind="stable")]
        waiting += np.array_split(order, 2)
    return done
