"""Small duals whose groups of variables keep a sum each, in compiled code: rows on demand, steps, refinement."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.compile import compiled
from mercer._compute.intrinsics import empty, small
from mercer.solvers.svm.correction import exact_gradient
from mercer.solvers.svm.exact import refine
from mercer.solvers.svm.known_rows import KnownRows
from mercer.solvers.svm.linear import shifted
from mercer.solvers.svm.on_demand import TOGETHER, add_rows, wanted_rows
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.smo import LANES, VECTORS, load, subtract_changes, take_steps
from mercer.solvers.svm.whole import LARGEST, points_of

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.workspace import Workspace

# Largest number of float64 operations of a refinement, as a share of those of all kernel rows, and the least.
_SHARE, _OPERATIONS = 1.0, 2e6
# Largest error of a sum, as a share of it, that counts as none.
_DRIFT = 1e-13
# Variables at a bound whose slopes are within this many tolerances of their bias take part in refinement.
_MARGIN = 10


def fits_sums(rows: Any, n: int, workspace: Workspace) -> bool:
    """Whether duals of n variables in two groups can be solved here within the memory of the workspace."""
    width = -(-n // LANES) * LANES + 2 * LANES
    return isinstance(rows, (FusedRows, KnownRows)) and n <= LARGEST and width * width <= len(workspace.buffer)


class SmallSums:
    """Coefficients and gradient of a dual whose groups of variables, one after the other, keep a sum each."""

    def __init__(
        self, rows: FusedRows | KnownRows, dual: Dual, sizes: list[int], gradient: Array, coef: Array, buffer: Array
    ) -> None:
        widths = [-(-size // LANES) * LANES for size in sizes]
        self._groups = np.concatenate([[0], np.cumsum(widths)])
        starts = self._groups[:-1].tolist()
        # each group ends at a multiple of the lanes; the variables that fill it up have no room
        self._live = np.concatenate([np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])
        self._group = np.repeat(np.arange(len(sizes)), widths)
        m = len(self._group)
        points = rows.compiled_points(dual.points)
        self._own = np.full(m, points[0])
        self._own[self._live] = points
        self._target, self._f, self._coef, self._lower, self._upper = np.zeros((5, m))
        pairs = (self._target, dual.target), (self._lower, dual.lower), (self._upper, dual.upper)
        for to, values in (*pairs, (self._f, gradient), (self._coef, coef)):
            to[self._live] = values
        self._rows, self._dual, self._used = rows, dual, 0
        self._sums = [float(self._coef[part].sum()) for part in self._parts()]
        self._K = buffer[: m * m].reshape(m, m)
        self._slots = np.full(m, -1)
        self._K[0] = 0
        values = rows.values if isinstance(rows, KnownRows) else np.empty((0, 0), rows.dtype)
        self._points = rows.compiled_rows(not values.size), self._own, self._K, values

    @property
    def coef(self) -> Array:
        """Coefficients (n,), a copy."""
        return self._coef[self._live]

    @property
    def gradient(self) -> Array:
        """Gradient (n,), a copy."""
        return self._f[self._live]

    def take_steps(self, tol: float, limit: int) -> int:
        """Take steps until the violation is at most ``tol``, or ``limit`` steps; return their number."""
        dual = self._f, self._coef, self._lower, self._upper
        steps, self._used = _take_steps(
            *self._points, self._slots, self._used, self._groups, *dual, tol, limit
        )  # fmt: skip
        self._restore_sums()
        return steps

    def _parts(self):
        return itertools.starmap(slice, itertools.pairwise(self._groups.tolist()))

    def _restore_sums(self):
        """Give groups the sums again of which millions of steps lose digits, and recompute the gradient then."""
        restored = False
        for part, total in zip(self._parts(), self._sums, strict=True):
            b, low, high = self._coef[part], self._lower[part], self._upper[part]
            missing, inside = total - float(b.sum()), (b > low) & (b < high)
            if abs(missing) > _DRIFT * abs(total) and inside.any():
                b[inside] = shifted(b[inside], missing, low[inside], high[inside])
                restored = True
        if restored:
            self._f[self._live] = exact_gradient(self._rows, self._dual, self.coef)

    def refine(self, biases: list[float], tol: float) -> None:
        """Solve for the free variables, in float64, if they are few enough."""
        dual = self._target, self._f, self._coef, self._lower, self._upper
        m = len(self._own)
        operations = max(_OPERATIONS, _SHARE * m * m * (self._rows.width + 10))
        _refine(
            *(*self._points, self._rows.compiled_exact_rows(), self._slots, self._used, *dual),
            *(np.array(biases), self._group, _MARGIN * tol, operations),
        )


# --- compiled --------------------------------------------------------------------------------------------------------


@functools.partial(compiled, flags=VECTORS)
def _take_steps(rows, own, K, values, slots, used, groups, f, coef, lower, upper, tol, limit):
    """Take steps as `take_steps` does, and add the rows that are missing; return numbers of steps and of rows."""
    small()
    m, points = f.size, points_of(rows, own, K, values)
    rising, falling, before = empty(m, K.dtype), empty(m, K.dtype), empty(m, np.float64)
    load(f, coef, lower, upper, 0.0, rising, falling)
    for t in range(m):
        before[t] = coef[t]
    n_iter, wanted, none = 0, empty(TOGETHER, np.int64), slots[:0]
    while True:
        steps, missing, _ = take_steps(
            *(K, slots, points[6], rising, falling, coef, lower, upper, 0.0, groups, K, none, none, tol),
            limit - n_iter,
        )
        n_iter += steps
        if missing < 0:
            break
        count = wanted_rows(points[1].shape[1], missing, rising, falling, slots, wanted)
        used = add_rows(points, K, slots, used, wanted[:count])
    subtract_changes(K, slots, coef, before, f)
    return n_iter, used


@functools.partial(compiled, flags=VECTORS)
def _refine(rows, own, K, values, exact, slots, used, target, f, coef, lower, upper, bias, group, reach, operations):
    """Refine a solution, see `refine`."""
    small()
    points, dual = points_of(rows, own, K, values), (f, coef, lower, upper)
    refine(points, exact, own, K, slots, used, target, *dual, 0.0, bias, group, reach, operations)
