"""A sweep: some variables are solved for while all others stay, with the kernel rows that steps need."""

from collections.abc import Callable

import numpy as np

from mercer._common import Array
from mercer._compute.costs import (
    STEP_OVERHEAD,
    STEP_WORK,
    SWEEP_ROWS,
)
from mercer._compute.memory import allocate
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.certificates import Point, measure_state
from mercer.solvers.svm.dual import LEAST_VALUES, SHARE, UNUSED, Dual, Goal, arena_of, copied_values
from mercer.solvers.svm.engine import (
    ROWS_WANTED,
    STEPS,
    State,
    advance,
    in_lanes,
)
from mercer.solvers.svm.on_demand import TAKEN, USED, WANTED, RawRows, tiles_of_points
from mercer.solvers.svm.rows import Rows

# A sweep takes over the rows of another one if at least this share of its variables are the same.
_KEPT = 0.5


class Sweep:
    """Variables ``chosen`` (int array, ascending) of a dual, which are solved for while all others stay."""

    def __init__(self, rows: Rows, dual: Dual, chosen: Array, values: int) -> None:
        self._chosen = chosen
        self._rows = rows
        groups = np.searchsorted(chosen, dual.groups[0])
        lanes = in_lanes(groups.astype(np.int64))
        m = int(lanes[-1])
        # the place in the state of each variable
        self._live = np.arange(len(chosen)) + np.repeat(lanes[:-1] - groups[:-1], np.diff(groups))
        self._own = np.full(m, dual.points[chosen[0]])
        self._own[self._live] = dual.points[chosen]
        K = allocate((m, m), rows.dtype)
        # the compiled loop starts with a step of 0 along the first row, which must not hold NaN
        K[0] = 0
        copies = min(copied_values(m), max(values // 10, LEAST_VALUES))
        f, coef, lower, upper = np.zeros((4, m))
        # of type int64 on every platform
        wanted = np.empty(SWEEP_ROWS, np.int64)
        slots = np.full(m, -1, np.int64)
        counts = np.zeros(3, np.int64)
        self._state = State(
            f,
            coef,
            lower,
            upper,
            lanes,
            float(dual.epsilon),
            K,
            slots,
            arena_of(m, copies, rows.dtype),
            wanted,
            counts,
        )
        nothing = np.empty((0, 0), rows.dtype)
        self._tiles = tiles_of_points(RawRows.without_points(nothing, rows.diagonal), self._own, K)
        self._columns = rows.columns(self._own)
        self._free = np.empty(0, np.int64)

    def exchange(self, dual: Dual, chosen: Array) -> bool:
        """Put other variables in the places of some, if most are the same; return whether that was done.

        Known rows get their columns, rows of the old variables are lost.
        """
        s = self._state
        kept = np.isin(self._chosen, chosen)
        least = _KEPT * len(chosen) if len(s.groups) == 2 else len(chosen)
        if len(chosen) != len(self._chosen) or kept.sum() < least:
            return False
        places = np.flatnonzero(~kept)
        fresh = np.setdiff1d(chosen, self._chosen)
        self._chosen = self._chosen.copy()
        self._chosen[places] = fresh
        s.slots[places] = -1
        self._own[places] = dual.points[fresh]
        known = np.flatnonzero(s.slots >= 0)
        if len(places):
            self._columns = self._rows.columns(self._own)
            fresh_columns = self._rows.columns(self._own[places])
            for start in range(0, len(known), SWEEP_ROWS):
                check_cancelled()
                some = known[start : start + SWEEP_ROWS]
                block = np.empty((len(some), len(places)), s.K.dtype)
                fresh_columns(self._own[some], block)
                s.K[s.slots[some][:, None], places] = block
            self._tiles.diagonal[places] = self._rows.diagonal[self._own[places]]
        self._free = np.setdiff1d(np.arange(s.counts[USED]), s.slots[known])
        return True

    def move(
        self, point: Point, goal: Goal, limit: int, callback: Callable[[float], bool] | None
    ) -> bool:
        """Move a point by at most about ``limit`` steps towards a goal; return whether the callback stopped them."""
        s = self._state
        own = self._chosen
        s.f[self._live] = point.gradient[own]
        s.coef[self._live] = point.coef[own]
        s.lower[self._live] = point.dual.lower[own]
        s.upper[self._live] = point.dual.upper[own]
        s.counts[TAKEN] = 0
        status = STEPS
        stopped = False
        while status in (STEPS, ROWS_WANTED) and not stopped and s.counts[TAKEN] < limit:
            check_cancelled()
            s.arena[0] = UNUSED
            left = limit - int(s.counts[TAKEN])
            most = min(left, STEP_WORK // (len(s.f) + STEP_OVERHEAD))
            status = advance(self._tiles, s, goal, 0.0, most, SHARE)
            if status == ROWS_WANTED:
                self._fill()
            stopped = callback is not None and callback(measure_state(s, np.empty_like(point.bias)))
        point.n_iter += int(s.counts[TAKEN])
        point.place(self._rows, own, s.coef[self._live], s.f[self._live])
        return stopped

    def _fill(self):
        """Compute the wanted rows, in memory of rows that were given up or that is unused."""
        s = self._state
        wanted = np.sort(s.wanted[: s.counts[WANTED]])
        k = len(wanted)
        given_up = self._free[:k]
        used = int(s.counts[USED])
        self._free = self._free[k:]
        at = np.concatenate([given_up, np.arange(used, used + k - len(given_up))])
        s.counts[USED] += k - len(given_up)
        block = np.empty((k, s.K.shape[1]), s.K.dtype) if len(given_up) else s.K[used : used + k]
        self._columns(self._own[wanted], block)
        if len(given_up):
            s.K[at] = block
        # a product rounds the distance of a point to itself
        s.K[at, wanted] = self._rows.diagonal[self._own[wanted]]
        s.slots[wanted] = at
