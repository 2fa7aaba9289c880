"""Dask arrays as blocks of rows, and matrices between them: pure tasks on the scheduler of the user.

Sums of their values are trees in a fixed order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import CancelledError

import dask.array as da
import dask.config
import numpy as np
from dask.base import compute, get_scheduler
from dask.callbacks import Callback
from dask.delayed import Delayed, delayed

from mercer._common import Array, ArrayLike, T, record
from mercer._compute.memory import reusing
from mercer._compute.points import as_block, as_rows, join_points
from mercer._compute.readable import is_dask, known_rows
from mercer._progress import is_heard, listening, notify

# its configuration must be complete before a part of it is set and restored
with contextlib.suppress(ImportError):
    import distributed

# Sums that one task of the tree adds.
_FAN_IN = 8


def dask_blocks(X: ArrayLike, name: str = "X") -> DaskBlocks:
    """Return the rows of a Dask array, or of a Dask table, whose lengths are computed, without empty chunks."""
    X = known_rows(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have 2 dimensions, rows and columns, got shape {X.shape}; Reshape your data."
        )
    if len(X.chunks[1]) > 1:
        raise ValueError(
            f"{name} has {len(X.chunks[1])} chunks of columns, which must be one; use {name}.rechunk({{1: -1}})."
        )
    filled = tuple(length for length in X.chunks[0] if length)
    return DaskBlocks(X.rechunk({0: filled}) if filled and filled != X.chunks[0] else X)


@record
class DaskBlocks:
    """Rows of a Dask array with one chunk of columns; see ``as_blocks``."""

    array: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.array.shape

    def take(self, rows: Array) -> Array:
        """Return the rows of given numbers, sorted; blocks without any are not computed."""
        found = []
        for (block, start), n in zip(self.parts(), self.array.chunks[0], strict=True):
            wanted = rows[slice(*np.searchsorted(rows, [start, start + n]))]
            if len(wanted):
                found.append(_checked(block, start)[wanted - start])
        return join_points(_compute(*found))

    def total(self, function: Callable[..., T], shared: object, *columns: ArrayLike | None) -> T:
        """Return the sum over blocks of ``function(shared, rows, *columns)``; columns have length n or are None.

        Columns may be Dask arrays. ``shared`` is one node of the graph, so that a lost worker loses nothing.
        """
        shared = delayed(shared, traverse=False)
        lengths = self.array.chunks[0]
        blocks = zip(self.parts(), *(_split(each, lengths) for each in columns), strict=True)
        parts = [_value(function, shared, *block, *own) for block, *own in blocks]
        return _compute_sum(parts, lengths)

    def apply(self, function: Callable[..., Array], shared: object) -> Array:
        """Return the values ``function(shared, rows)`` as a Dask array, computed when it is."""
        # functions of the user may divide by the deviation of a row
        row = np.linspace(1, 2, self.shape[1])[None].astype(self.array.dtype)
        like = function(shared, as_block(row, 0))
        columns = (
            {"drop_axis": 1}
            if like.ndim == 1
            else {"chunks": (self.array.chunks[0], (like.shape[1],))}
        )
        return self.array.map_blocks(
            _values,
            function=function,
            shared=delayed(shared, traverse=False),
            meta=like[:0],
            **columns,
        )

    def parts(self) -> list[tuple[Delayed, int]]:
        """Return the block and its first row, for each block."""
        starts = np.cumsum([0, *self.array.chunks[0][:-1]]).tolist()
        return list(zip(self.array.to_delayed()[:, 0], starts, strict=True))


def _split(column, lengths):
    """Return the parts with given numbers of rows of a column or block, in memory or of Dask; of None each is None."""
    if column is None:
        return [None] * len(lengths)
    if not is_dask(column):
        return np.split(column, np.cumsum(lengths)[:-1])
    rows = {0: lengths} if column.ndim == 1 else {0: lengths, 1: -1}
    return column.rechunk(rows).to_delayed().ravel().tolist()


def _add_up(parts):
    """Return the node of the sum of nodes, a tree in a fixed order."""
    while len(parts) > 1:
        parts = [_sum(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return parts[0]


def _compute_sum(parts, lengths):
    """Return the sum of the values of nodes; callbacks hear of the rows of each node that is done."""
    if not is_heard():
        return _compute(_add_up(parts))[0]
    rows = {part.key: length for part, length in zip(parts, lengths, strict=True)}
    done = 0

    def count(key, *_):
        nonlocal done
        if key in rows:
            done += rows[key]
            notify("rows", done=done, most=sum(lengths))

    # the default client of the user, if that is where the work runs
    client = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "futures"):
        with Callback(posttask=count):
            return _compute(_add_up(parts))[0]
    with _running():
        futures = client.compute([_add_up(parts), *parts])
        try:
            for future in distributed.as_completed(futures[1:]):
                count(future.key)
                # a worker may forget the value once it is added
                future.release()
            return futures[0].result()
        finally:
            # after Ctrl-C those that wait keep no worker busy
            for future in futures:
                future.release()


def _compute(*values):
    with _running():
        return compute(*values)


@contextlib.contextmanager
def _running():
    # landmarks and coefficients travel in the graph, because scattered data are lost with their worker
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        try:
            yield
        except CancelledError as error:
            raise RuntimeError(
                "the Dask client or its scheduler was closed during the fit; connect a new client and run the fit "
                "again, in a mercer.checkpoint block if steps of it should be kept."
            ) from error


@delayed(pure=True)
def _value(function, shared, rows, start, *columns):
    # tasks on threads of this process would count the rows of their own block
    with reusing(), listening(None):
        return function(shared, as_block(rows, start), *columns)


@delayed(pure=True)
def _sum(parts):
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


def _values(rows, function, shared):
    with reusing():
        # a task does not know the place of its block
        return function(shared, as_rows(rows, "a block of X"))


# --- matrices between rows of which some are those of a Dask array ---------------------------------------------------


# Blocks of rows, and of columns, of a matrix between two Dask arrays: their pairs are tasks of one graph.
_MOST = 64


def dask_matrix(X: ArrayLike, Z: ArrayLike) -> DaskMatrix:
    """Return the matrix between rows of two containers, of which one or both are Dask arrays or tables."""
    both = is_dask(X) and is_dask(Z)
    left = _admitted(X, "X", both)
    right = left if X is Z else _admitted(Z, "Z", both)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"X has {left.shape[1]} features, but Z has {right.shape[1]} features; they must be equal."
        )
    dtype = np.float32 if left.dtype == right.dtype == np.float32 else np.float64
    left = _converted(left, dtype)
    return DaskMatrix(left, left if X is Z else _converted(right, dtype))


def _admitted(rows, name, both):
    if not is_dask(rows):
        return as_rows(rows, name)
    array = dask_blocks(rows, name).array
    return (
        array.rechunk({0: -(-len(array) // _MOST)})
        if both and array.numblocks[0] > _MOST
        else array
    )


@record
class DaskMatrix:
    """The matrix between rows X and Z, Dask arrays with one chunk of columns or arrays in memory, of one type.

    ``function(shared, x, z, ...)`` computes a block from blocks of rows; z is None for the rows x themselves. Results
    are Dask arrays. The graph has one task for each block of rows, or pair of blocks where both are Dask arrays.
    """

    X: ArrayLike
    Z: ArrayLike

    def product(self, function: Callable[..., Array], shared: object, V: ArrayLike) -> Array:
        """Return the sums over the blocks of Z of ``function(shared, x, z, V)`` in float64, in a fixed order."""
        columns = _split(known_rows(V, "V") if is_dask(V) else V, _lengths(self.Z))
        shared = delayed(shared, traverse=False)
        rows = []
        for x, n, others in self._rows():
            pairs = zip(others, columns, strict=True)
            total = _add_up([delayed(function, pure=True)(shared, x, z, v) for z, v in pairs])
            rows.append(da.from_delayed(total, (n, *V.shape[1:]), np.float64))
        return da.concatenate(rows).astype(self.X.dtype, copy=False)

    def values(self, function: Callable[..., Array], shared: object, symmetric: bool) -> Array:
        """Return the matrix of the blocks ``function(shared, x, z)``; half of them where it is symmetric."""
        shared = delayed(shared, traverse=False)
        mirrored = symmetric and self.X is self.Z
        blocks = []
        for i, (x, n, others) in enumerate(self._rows()):
            # those above the diagonal follow from the blocks of later rows
            known = zip(others[: i + 1] if mirrored else others, _lengths(self.Z), strict=False)
            blocks.append(
                [
                    da.from_delayed(
                        delayed(function, pure=True)(shared, x, z), (n, m), self.X.dtype
                    )
                    for z, m in known
                ]
            )
        if mirrored:
            blocks = [
                row + [later[i].T for later in blocks[i + 1 :]] for i, row in enumerate(blocks)
            ]
        return da.block(blocks)

    def _rows(self):
        """Yield each block of X, its length, and the blocks of Z, None in the place of the block itself."""
        same = self.X is self.Z
        left = _nodes(self.X)
        right = left if same else _nodes(self.Z)
        for i, (x, n) in enumerate(zip(left, _lengths(self.X), strict=True)):
            yield x, n, [None if same and i == j else z for j, z in enumerate(right)]


def _converted(rows, dtype):
    """Return rows in a type, but complex numbers and dates, which the tasks refuse, as they are."""
    return rows if rows.dtype.kind in "cmMV" else rows.astype(dtype, copy=False)


def _lengths(rows):
    """Return the number of rows of each block."""
    # sparse matrices have no length
    return rows.chunks[0] if is_dask(rows) else (rows.shape[0],)


def _nodes(rows):
    """Return the blocks of rows, checked where they are computed."""
    if not is_dask(rows):
        return [delayed(rows, traverse=False)]
    return [_checked(*part) for part in DaskBlocks(rows).parts()]


@delayed(pure=True)
def _checked(rows, start):
    return as_block(rows, start)
