"""Cache of kernel rows: a block of memory that is filled row by row as a solver asks for them."""

from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.loops import transpose
from mercer.solvers.svm.smo import LANES, subtract

# Number of rows computed at a time: rows that go to memory in pieces are copied there.
_ROWS = 256


class RowCache:
    """Kernel values between some points, row by row as they are needed.

    Rows lie in the order in which they were asked for: one matrix product writes several, and unused memory is not
    touched.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    points : int array (m,)
        Points of the variables.
    buffer : array
        One-dimensional, of the type of the rows; its content is lost. It holds the rows of all points.
    shared : list of (slice, array)
        Diagonal blocks that are known: places and kernel values.

    Attributes
    ----------
    values : array (m, width)
        m columns and padding to whole lanes.
    slots : int array (width,)
        Row of ``values`` of each place, -1 if it is missing.
    """

    def __init__(self, rows: Any, points: Any, buffer: Array, shared: Any = ()) -> None:
        m = len(points)
        width = -(-m // LANES) * LANES
        self.values: Any = buffer[: width * m].reshape(m, width)
        # the compiled loop starts with a step of 0 along the first row, which must not hold NaN
        self.values[0] = 0
        self.slots: Array = np.full(width, -1)
        self._used = 0
        self._free_slots = np.empty(0, int)
        self._scratch = np.empty((0, width), buffer.dtype)
        self._rows, self._points = rows, points
        self._pieces = shared or [(slice(0, m), None)]
        self._columns = [None] * len(self._pieces)

    @property
    def forgotten(self) -> int:
        """Number of rows that were given up and not replaced."""
        return len(self._free_slots)

    def ensure(self, wanted: Array) -> None:
        """Compute the missing rows of some places (int array)."""
        missing = wanted[self.slots[wanted] < 0]
        # a few at a time: rows that go to memory given up are copied there
        for start in range(0, len(missing), _ROWS):
            self._compute(missing[start : start + _ROWS])

    def complete(self) -> None:
        """Compute all rows, each value once, so that the matrix is exactly symmetric; the cache must be empty."""
        m = len(self._points)
        K = self.values[:m]
        for k, (place, block) in enumerate(self._pieces):
            own = self._points[place]
            K[place, place] = self._rows.square(own) if block is None else block
            for other, _ in self._pieces[:k]:
                self._rows.columns(own)(self._points[other], K[other, place])
                transpose(K[other, place], K[place, other])
        K[:, m:] = 0
        K[np.arange(m), np.arange(m)] = self._rows.diagonal[self._points]
        self.slots[:m], self._used = np.arange(m), m

    def exchange(self, places: Array, points: Array) -> None:
        """Put other points in some places: known rows get their columns, rows of the old points are lost."""
        self.forget(places[self.slots[places] >= 0])
        self._points = self._points.copy()
        self._points[places] = points
        self._columns = [None]
        known = np.flatnonzero(self.slots >= 0)
        columns = self._rows.columns(points)
        for start in range(0, len(known), _ROWS):
            some = known[start : start + _ROWS]
            block = np.empty((len(some), len(points)), self.values.dtype)
            columns(self._points[some], block)
            self.values[self.slots[some][:, None], places] = block

    def forget(self, places: Array) -> None:
        """Give up the rows of some places, so that others find room."""
        self._free_slots = np.concatenate([self._free_slots, self.slots[places]])
        self.slots[places] = -1

    def times(self, places: Array, weights: Array) -> Array:
        """Return K[:, places] @ weights (m,) from rows that are known, summed in float64."""
        total = np.zeros(self.values.shape[1])
        subtract(self.values, self.slots[places], -weights, total)
        return total[: len(self._points)]

    def _compute(self, missing):
        slots, rows = self._allocate(len(missing))
        self.slots[missing] = slots
        for k, (place, block) in enumerate(self._pieces):
            # missing is sorted: the rows that a shared block knows are consecutive
            first, last = np.searchsorted(missing, (place.start, place.stop)) if block is not None else (0, 0)
            if block is not None:
                rows[first:last, place] = block[missing[first:last] - place.start]
            for part in (slice(0, first), slice(last, None)):
                self._fill(k, missing[part], rows[part])
        rows[:, len(self._points) :] = 0
        # a product rounds the distance of a point to itself
        rows[np.arange(len(missing)), missing] = self._rows.diagonal[self._points[missing]]
        if rows.base is not self.values.base:
            self.values[slots] = rows

    def _allocate(self, k):
        """Return k slots and memory for their rows: their place in the cache, or scratch memory to be copied."""
        # memory that was used before costs less than memory that never was
        if len(self._free_slots) < k and self._used + k <= len(self.values):
            self._used += k
            return np.arange(self._used - k, self._used), self.values[self._used - k : self._used]
        slots, self._free_slots = self._free_slots[:k], self._free_slots[k:]
        fresh = k - len(slots)
        slots = np.concatenate([slots, np.arange(self._used, self._used + fresh)])
        self._used += fresh
        if len(self._scratch) < k:
            self._scratch = np.empty((k, self.values.shape[1]), self.values.dtype)
        return slots, self._scratch[:k]

    def _fill(self, k, missing, rows):
        if not len(missing):
            return
        place, _ = self._pieces[k]
        if self._columns[k] is None:
            self._columns[k] = self._rows.columns(self._points[place])
        self._columns[k](self._points[missing], rows[:, place])
