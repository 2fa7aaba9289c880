"""Divide and conquer: a large dual starts from the solutions of small ones, each over points that lie together."""

from __future__ import annotations

import queue
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array, Memory
from mercer._compute.points import count_points, evenly_spaced, take_points
from mercer._compute.threads import count_threads, limit_threads, run_tasks
from mercer.gram import Gram
from mercer.solvers.svm.bias import violation_of
from mercer.solvers.svm.decomposition import solve

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.workspace import Workspace

# Number of variables above which parts pay; of the largest part, and of that in whole lanes.
LARGE, _PART, _WIDTH = 6000, 2000, 2048
# Number of points that determine a direction, and that stand for coordinates if points have none.
_SAMPLE = 256
# Parts are solved to this share of the violation at the start: the whole changes their solutions anyway.
_SHARE = 0.05


def divide(rows: Any, dual: Dual, workspace: Workspace) -> tuple[Array, int]:
    r"""Return coefficients to start from, the solutions of small parts, and the number of steps.

    Points are halved at the median along their principal direction, again and again. If kernel values between parts are
    small, the block of each part decides for most variables whether they end at a bound. Parts are solved in parallel
    and keep the sum 0. O(n log n) to divide, then n times the size of a part in kernel values.

    Hsieh, Si, Dhillon, *A divide-and-conquer solver for kernel support vector machines*, ICML 2014.
    """
    parts = split(coordinates(rows.kernel, rows.points, workspace.buffer.nbytes), dual.points, _PART)
    aim = max(workspace.tol, _SHARE * violation_of(dual.target, dual.coef, dual))
    coef, steps = dual.coef.copy(), np.zeros(len(parts), int)
    # the buffer of a part does not depend on the number of workers
    share = min(len(workspace.buffer), _WIDTH**2)
    workers = min(count_threads(), len(workspace.buffer) // share)
    buffers = queue.SimpleQueue()
    for k in range(workers):
        buffers.put(workspace.buffer[k * share : (k + 1) * share])

    def conquer(k):
        own, buffer = np.sort(parts[k]), buffers.get()
        limits = replace(workspace, tol=aim, max_iter=workspace.max_iter // len(parts), buffer=buffer)
        with limit_threads(1):
            solution = solve(rows, dual.take(own), limits)
        coef[own], steps[k] = solution.coef, solution.n_iter
        buffers.put(buffer)

    with limit_threads(workers):
        run_tasks(conquer, len(parts))
    return coef, int(steps.sum())


def coordinates(kernel: Kernel, points: Any, memory: Memory) -> Array:
    """Return rows of numbers that are close for points that lie together: the points, or kernel values with some.

    Kernel values take at most about so many bytes of ``memory``.
    """
    if isinstance(points, np.ndarray) and points.dtype.kind == "f":
        return points
    n = count_points(points)
    most = max(1, memory // (n * np.dtype(np.float64).itemsize))
    some = evenly_spaced(n, min(_SAMPLE, most))
    return Gram(kernel, points, take_points(points, some)).dense()


def split(X: Array, places: Array, size: int) -> list[Any]:
    """Return parts of ``places``, rows of X (n, d), each halved along its principal direction until it is small."""
    waiting, done = [np.arange(len(places))], []
    while waiting:
        piece = waiting.pop()
        if len(piece) <= size:
            done.append(piece)
            continue
        own = X[places[piece]]
        sample = own[np.linspace(0, len(own) - 1, _SAMPLE).astype(int)]
        direction = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)[2][0]
        order = piece[np.argsort(own @ direction, kind="stable")]
        waiting += np.array_split(order, 2)
    return done
