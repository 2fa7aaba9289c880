"""Blocks of rows that are read from disk one after the other: memory maps, HDF5, Zarr and Arrow; and rows in memory."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from mercer._common import Array, ArrayLike, PointsLike, notify, shown
from mercer._compute.points import as_rows, count_points, take_points
from mercer._compute.readable import refuse_unreadable

if TYPE_CHECKING:
    from pyarrow import Table

T = TypeVar("T")
# Bytes of the rows that are in memory at a time.
_BLOCK = 1 << 23
# Least number of rows in a block.
_ROWS = 4096


class Blocks(Protocol):
    """Rows of points in blocks, see ``as_blocks``, or in memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        ...

    def take(self, rows: Array) -> PointsLike:
        """Return the rows of given numbers, sorted."""
        ...

    def total(self, function: Callable[..., T], shared: object, *columns: Array | None) -> T:
        """Return the sum over blocks of ``function(shared, rows, *columns)``."""
        ...


@dataclass(frozen=True)
class DiskBlocks:
    """Rows on disk: anything with ``shape``, ``dtype`` and slices of rows."""

    rows: ArrayLike

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return tuple(self.rows.shape)

    def take(self, rows: Array) -> Array:
        """Return the rows of given numbers, sorted; blocks without any are not read."""
        parts = [
            _read(self.rows, part)[wanted - part.start]
            for part in self._parts()
            if len(wanted := _of(part, rows))
        ]
        return np.concatenate(parts)

    def total(self, function: Callable[..., T], shared: object, *columns: Array | None) -> T:
        """Return the sum over blocks of ``function(shared, rows, *columns)``; columns have length n or are None."""

        def values():
            for part in self._parts():
                yield function(
                    shared, _read(self.rows, part), *(c if c is None else c[part] for c in columns)
                )
                notify("rows", done=part.stop, most=self.shape[0])

        return functools.reduce(operator.add, values())

    def apply(self, function: Callable[..., Array], shared: object) -> Array:
        """Return the values ``function(shared, rows)`` of all rows, an array (n,) or (n, p)."""
        first, *rest = self._parts()
        values = function(shared, _read(self.rows, first))
        found = np.empty((self.shape[0], *values.shape[1:]), values.dtype)
        found[first] = values
        for part in rest:
            found[part] = function(shared, _read(self.rows, part))
        return found

    def _parts(self):
        """Return the slices of rows of each block, of whole chunks where the rows are stored in chunks."""
        n, d = self.shape
        size = max(_ROWS, _BLOCK // max(1, 8 * d))
        chunk = (getattr(self.rows, "chunks", None) or (1,))[0]
        size = -(-size // chunk) * chunk
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@dataclass(frozen=True)
class InMemory:
    """Points in memory as one block, of any kind."""

    points: PointsLike

    @property
    def shape(self) -> tuple[int]:
        """The number of points."""
        return (count_points(self.points),)

    def take(self, rows: Array) -> PointsLike:
        """Return the points of given numbers."""
        return take_points(self.points, rows)

    def total(self, function: Callable[..., T], shared: object, *columns: Array | None) -> T:
        """Return ``function(shared, points, *columns)``."""
        return function(shared, self.points, *columns)


class Arrow:
    """Columns of numbers of a pyarrow Table as rows."""

    def __init__(self, table: Table) -> None:
        for name, column in zip(table.column_names, table.columns, strict=True):
            # NumPy's error for dates beside numbers names no column
            refuse_unreadable(column.slice(0, 0).to_numpy(), f"column {shown(name)} of X")
        self.table = table
        self.shape = (table.num_rows, table.num_columns)

    def __getitem__(self, rows: slice) -> Array:
        part = self.table.slice(rows.start, rows.stop - rows.start)
        columns = [column.to_numpy() for column in part.columns]
        return np.column_stack(columns) if columns else np.empty((part.num_rows, 0))


def _of(part, rows):
    """Return the numbers of sorted rows that are in a slice."""
    return rows[slice(*np.searchsorted(rows, [part.start, part.stop]))]


def _read(rows, part):
    return validated(rows[part], part.start)


def validated(rows: ArrayLike, start: int) -> Array:
    """Return a block of rows in float32 or float64, or raise an error that says where the block starts."""
    return as_rows(rows, f"X[{start}:{start + count_points(rows)}]")
