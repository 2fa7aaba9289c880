"""Blocks of rows that are read from disk one after the other: memory maps, HDF5, Zarr and Arrow; and rows in memory.

`as_blocks` and `as_matrix` recognise what holds rows that are not in memory, without the import of Dask.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mercer._common import Array, ArrayLike, PointsLike, T, record, shown
from mercer._compute.costs import BLOCK, ROWS
from mercer._compute.memory import cut
from mercer._compute.points import as_block, count_points, take_points
from mercer._compute.readable import decoded, is_dask, refuse_unreadable
from mercer._progress import notify

if TYPE_CHECKING:
    from pyarrow import Table

    from mercer.distributed.dask_arrays import DaskBlocks, DaskMatrix


@record
class DiskBlocks:
    """Rows on disk: anything with ``shape``, ``dtype`` and slices of rows."""

    rows: ArrayLike

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return tuple(self.rows.shape)

    def take(self, rows: Array) -> Array:
        """Return the rows of given numbers, sorted; blocks without any are not read."""
        found = []
        for part in self._parts():
            wanted = rows[slice(*np.searchsorted(rows, [part.start, part.stop]))]
            if len(wanted):
                found.append(_read(self.rows, part)[wanted - part.start])
        return np.concatenate(found)

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
        size = max(ROWS, BLOCK // max(1, d))
        chunk = (getattr(self.rows, "chunks", None) or (1,))[0]
        size = -(-size // chunk) * chunk
        return cut(n, size)


@record
class InMemory:
    """Points in memory as one block, of any kind."""

    points: PointsLike

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of points."""
        return (count_points(self.points),)

    def take(self, rows: Array) -> PointsLike:
        """Return the points of given numbers."""
        return take_points(self.points, rows)

    def total(self, function: Callable[..., T], shared: object, *columns: Array | None) -> T:
        """Return ``function(shared, points, *columns)``."""
        return function(shared, self.points, *columns)


# Rows of points in blocks, see `as_blocks`, or in memory.
Blocks: TypeAlias = "DiskBlocks | DaskBlocks | InMemory"


class Arrow:
    """Columns of numbers of a pyarrow Table as rows."""

    def __init__(self, table: Table) -> None:
        for name, column in zip(table.column_names, table.columns, strict=True):
            # NumPy's error for dates beside numbers names no column
            refuse_unreadable(column.slice(0, 0).to_numpy(), f"column {shown(name)} of X")
        self.table = table
        self.shape = (table.num_rows, table.num_columns)

    def __getitem__(self, rows: slice) -> Array:
        part = decoded(self.table.slice(rows.start, rows.stop - rows.start))
        columns = [column.to_numpy() for column in part.columns]
        return np.column_stack(columns) if columns else np.empty((part.num_rows, 0))


def _read(rows, part):
    return as_block(rows[part], part.start)


def as_blocks(X: PointsLike) -> DiskBlocks | DaskBlocks | None:
    """Return the rows of X as blocks, or None where X is in memory or has no rows.

    Blocks have ``shape`` and ``dtype``, and the methods ``take(rows)``, the array of rows with given sorted numbers;
    ``total(function, shared, *columns)``, the sum of ``function(shared, rows, *columns)`` in a fixed order; and
    ``apply(function, shared)``, the values ``function(shared, rows)`` of all rows.

    Raises
    ------
    ValueError
        For another number of dimensions than 2, and for Dask arrays of unknown chunk sizes or with chunks of columns.
    """
    if is_dask(X):
        # Dask stays an optional import
        from mercer.distributed.dask_arrays import dask_blocks

        blocks = dask_blocks(X)
        return blocks if blocks.shape[0] else None
    # a pyarrow Dataset does not know its length
    if hasattr(X, "to_batches") and hasattr(X, "num_rows"):
        X = Arrow(X)
    elif not (isinstance(X, np.memmap) or _is_chunked(X)):
        return None
    if len(X.shape) != 2:
        raise ValueError(
            f"X must have 2 dimensions, rows and columns, got shape {X.shape}; Reshape your data."
        )
    return DiskBlocks(X) if X.shape[0] else None


def as_matrix(X: PointsLike, Z: PointsLike) -> DaskMatrix | None:
    """Return the matrix between rows of which some are those of a Dask array, see ``DaskMatrix``, or None."""
    if not (is_dask(X) or is_dask(Z)):
        return None
    # Dask stays an optional import
    from mercer.distributed.dask_arrays import dask_matrix

    return dask_matrix(X, Z)


def in_memory(X: PointsLike) -> PointsLike:
    """Return the rows of an HDF5 dataset or of a Zarr array, which take no row numbers in any order, as an array."""
    return X[:] if _is_chunked(X) and not is_dask(X) else X


def named_columns(X: PointsLike) -> PointsLike:
    """Return points that scikit-learn reads the names of columns from: of a Dask table a table of its names, else X."""
    return X.columns.to_frame().T if is_dask(X) and hasattr(X, "columns") else X


def _is_chunked(X):
    """Return whether X is an HDF5 dataset or a Zarr array, which state the chunks that they are stored in."""
    return (
        hasattr(X, "chunks")
        and hasattr(X, "shape")
        and hasattr(X, "dtype")
        and not hasattr(X, "__array_interface__")
    )
