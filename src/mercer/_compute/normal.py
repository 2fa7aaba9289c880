"""Sums over many points of products of kernel values with a few: of their squares, and of their transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas

from mercer._common import Array, PointsLike, as_float64, record
from mercer._compute import array, devices, fused, pick_backend
from mercer._compute.costs import DEVICE_VALUES, TASK, TASKS
from mercer._compute.loops import Plan, mirror
from mercer._compute.memory import allocate, cut
from mercer._compute.points import count_points, take_points
from mercer._compute.profile import namespace_of
from mercer._compute.threads import rows_of_tiles, run_tasks, threaded_blas
from mercer._progress import notify


def plus_square(total, T):
    """Return a matrix (r, r) in Fortran order, whose lower half is overwritten, plus T'T for T (t, r), in float64."""
    with threaded_blas(T.size * T.shape[1]):
        return blas.dsyrk(1.0, T.T, beta=1.0, c=total, lower=1, overwrite_c=1)


@record
class Totals:
    """Sums over points with weights W and rows T and R, which are added up over blocks of points.

    ``matrix`` is T'WT (r, r), with rounding of size ``error`` beside that of T, ``right`` is T'WR (r, q), ``targets``
    the trace of R'WR, ``mass`` that of W; ``square`` and ``largest`` are the weighted sum and the maximum of k(x, x).
    """

    matrix: np.ndarray
    right: np.ndarray
    targets: float
    mass: float
    square: float
    largest: float
    error: float = 0.0

    def __add__(self, other: Totals) -> Totals:
        names = "matrix", "right", "targets", "mass", "square", "error"
        added = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Totals(**added, largest=max(self.largest, other.largest))


def weighted_sums(
    vectors: Callable[[Any], Array],
    kernel: Any,
    points: PointsLike,
    width: int,
    right: Callable[[slice], Array],
    weights: Array | None = None,
) -> Totals:
    """Return the sums of products of rows T = ``vectors(points)`` (n, width) with each other and with R, in float64.

    T and R = ``right(rows)`` are computed for some points at a time, where `evaluating` leaves them.
    """
    n = count_points(points)
    total = np.zeros((width, width), order="F")
    product = 0.0
    targets = 0.0
    square = 0.0
    largest = 0.0
    step = DEVICE_VALUES // width + 1 if devices.is_elsewhere() else rows_of_tiles(width)
    for rows in cut(n, step):
        part = take_points(points, rows)
        norms = as_float64(kernel.diag(part))
        root = np.ones((len(norms), 1)) if weights is None else np.sqrt(weights[rows, None])
        # the last tile is in memory until this one is: its pages would be given back, and asked for again
        T = vectors(part)
        if weights is not None or "float64" not in str(T.dtype):
            T = widely(np.multiply, T, root)
        R = root * right(rows)
        targets += float(np.sum(R**2))
        if isinstance(T, np.ndarray):
            total = plus_square(total, T)
            product = product + T.T @ R
        else:
            total = T.T @ T + devices.there(total)
            product = product + devices.in_main_memory(T.T @ devices.there(R))
        square += float(norms @ root[:, 0] ** 2)
        largest = max(largest, float(norms.max()))
        notify("rows", done=rows.stop, most=n)
    total = np.asfortranarray(devices.in_main_memory(total))
    # symmetric to the last bit
    mirror(total, 0, width)
    mass = n if weights is None else float(weights.sum())
    return Totals(total, np.asarray(product), targets, mass, square, largest)


def widely(operation, values, other):
    """Return ``operation(values, other)``, a function of NumPy, in float64 for a tile that `evaluating` returns."""
    if isinstance(values, np.ndarray):
        return operation(values, other, out=allocate(values.shape, np.float64))
    xp = namespace_of(values)
    return getattr(xp, operation.__name__)(xp.astype(values, xp.float64), devices.there(other))


def transposed(kernel, X, Z, width, right):
    """Return K(X, Z)' R (m, width) in float64, where ``right(rows, K)`` is R[rows] for some rows of K(X, Z).

    Each kernel value is computed once; ``right`` is called on several threads.
    """
    backend = pick_backend(kernel, X, Z)
    if backend is fused and kernel.scalar is not None:
        plan = Plan(fused.formula(kernel, kernel.scalar, X, Z), keep=Z.memo)
        return _compiled(plan, len(Z), width, right)
    total = np.zeros((len(Z), width))
    if backend is devices:
        X = devices.points_there(X)
        Z = devices.points_there(Z)
        for rows in cut(len(X), DEVICE_VALUES // len(Z) + 1):
            K = X.xp.astype(array.dense(kernel, X.take(rows), Z), X.xp.float64)
            total += _There(K.T) @ right(rows, _There(K))
        return total
    for rows in cut(len(X), array.row_step(len(Z))):
        K = as_float64(backend.dense(kernel, X.take(rows), Z))
        total += K.T @ right(rows, K)
    return total


class _There:
    """A matrix on a device, whose products take arrays of NumPy and return them."""

    def __init__(self, K):
        self._K = K

    def __matmul__(self, B):
        return devices.in_main_memory(self._K @ devices.there(B))


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
            K = as_float64(block)
            sums[task] += K.T @ right(rows, K)

    # the caller checks that values are finite
    with np.errstate(all="ignore"):
        run_tasks(multiply, tasks)
    return sums.sum(axis=0)
