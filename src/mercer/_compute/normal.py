"""Products with the transpose of kernel values of many points with a few, whose right side may use the same values."""

import numpy as np

from mercer._compute import array, fused, pick_backend
from mercer._compute.costs import TASK, TASKS
from mercer._compute.loops import Plan, cut
from mercer._compute.threads import run_tasks


def transposed(kernel, X, Z, width, right):
    """Return K(X, Z)' R (m, width) in float64, where ``right(rows, K)`` is R[rows] for some rows of K(X, Z).

    Each kernel value is computed once; ``right`` is called on several threads.
    """
    backend = pick_backend(kernel, X, Z)
    if backend is fused and kernel.scalar is not None:
        plan = Plan(fused.formula(kernel, kernel.scalar, X, Z), keep=Z.memo)
        return _compiled(plan, len(Z), width, right)
    total = np.zeros((len(Z), width))
    for rows in cut(len(X), array.row_step(len(Z))):
        K = np.asarray(backend.dense(kernel, X.take(rows), Z), np.float64)
        total += K.T @ right(rows, K)
    return total


def _compiled(plan, m, width, right):
    step = max(16, TASK // (8 * m))
    places = cut(len(plan.X), step)
    tasks = min(TASKS, len(places))
    sums = np.zeros((tasks, m, width))

    def multiply(task):
        memory = np.empty((step, m), plan.X.dtype)
        for rows in places[task::tasks]:
            left = plan.left(rows)
            block = memory[: len(left)]
            for j, columns in enumerate(plan.columns):
                plan.values(left, rows, j, block, columns.start)
            K = block.astype(np.float64, copy=False)
            sums[task] += K.T @ right(rows, K)

    # the caller checks that values are finite
    with np.errstate(all="ignore"):
        run_tasks(multiply, tasks)
    return sums.sum(axis=0)
