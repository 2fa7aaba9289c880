"""Kernel rows of several kernels that differ in parameters: squared distances or inner products are computed once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.memory import allocate
from mercer._compute.points import count_points
from mercer.solvers.svm.rows import FusedRows, consecutive, rows_of, run

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.solvers.svm.workspace import Options

# Rows of a task.
_STEP = 128


def rows_of_kernels(kernels: list[Kernel], points: Array, options: Options) -> Iterator[Any]:
    """Yield, for kernels of one class over the same points, kernel rows and the options with the memory that is left.

    Squared distances or inner products are kept if three squares of their size fit into the memory: one for them, one
    for kernel values, one for copies.
    """
    shared, left = None, options
    for kernel in kernels:
        rows = rows_of(kernel, points, np.inf)
        needed = 3 * count_points(points) ** 2 * rows.dtype.itemsize
        if shared is None and len(kernels) > 1 and isinstance(rows, FusedRows) and needed <= options.budget:
            shared = SharedRows(kernel, points, rows.dtype)
            left = replace(options, memory=options.budget - needed // 3)
        # the parameters of a kernel may need another type
        if shared is not None and shared.dtype == rows.dtype:
            rows = copy.copy(shared)
            rows.set_kernel(kernel)
        yield rows, left


class SharedRows(FusedRows):
    """Kernel rows of a kernel of the squared distance or the inner product, whose arguments (n, n) are kept."""

    def __init__(self, kernel: Kernel, points: Any, dtype: Any) -> None:
        super().__init__(kernel, points, dtype)
        n, product = len(points), self.arguments(np.arange(len(points)))
        self._kept = allocate((n, n), self.dtype)
        product(np.arange(n), self._kept)

    def columns(self, J: Array) -> Callable[..., Any]:
        """Return a function (R, out) that writes the kernel values of points R with points J."""
        finish, chosen = self.finisher(), consecutive(J)

        def write(R, out):
            def fill(task):
                own = slice(task * _STEP, (task + 1) * _STEP)
                block = np.ascontiguousarray(self._kept[R[own]][:, chosen])
                with np.errstate(all="ignore"):
                    finish(block)
                out[own] = block

            run(fill, -(-len(R) // _STEP), len(R) * len(J))

        return write

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, in float64."""
        values = np.empty((len(R), len(J)), self.dtype)
        self.columns(J)(R, values)
        return (values @ weights.astype(self.dtype)).astype(np.float64)
