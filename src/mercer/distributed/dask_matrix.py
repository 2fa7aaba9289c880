"""DaskMatrix: the matrix of values between rows of which some are those of a Dask array, and its products as tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import dask.array as da
import numpy as np
from dask.delayed import delayed

from mercer._common import Array, ArrayLike
from mercer._compute.lazy import is_dask, known_rows
from mercer._compute.points import as_rows
from mercer.distributed.blocks import validated
from mercer.distributed.dask_blocks import DaskBlocks, add_up, dask_blocks, split

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


@dataclass(frozen=True)
class DaskMatrix:
    """The matrix between rows X and Z, Dask arrays with one chunk of columns or arrays in memory, of one type.

    ``function(shared, x, z, ...)`` computes a block from blocks of rows; z is None for the rows x themselves. Results
    are Dask arrays. The graph has one task for each block of rows, or pair of blocks where both are Dask arrays.
    """

    X: ArrayLike
    Z: ArrayLike

    def product(self, function: Callable[..., Array], shared: object, V: ArrayLike) -> Array:
        """Return the sums over the blocks of Z of ``function(shared, x, z, V)`` in float64, in a fixed order."""
        columns = split(known_rows(V, "V") if is_dask(V) else V, _lengths(self.Z))
        shared = delayed(shared, traverse=False)
        rows = []
        for i, (x, n) in enumerate(zip(self._left, _lengths(self.X), strict=True)):
            pairs = zip(self._beside(i), columns, strict=True)
            total = add_up([delayed(function, pure=True)(shared, x, z, v) for z, v in pairs])
            rows.append(da.from_delayed(total, (n, *V.shape[1:]), np.float64))
        return da.concatenate(rows).astype(self.X.dtype, copy=False)

    def values(self, function: Callable[..., Array], shared: object, symmetric: bool) -> Array:
        """Return the matrix of the blocks ``function(shared, x, z)``; half of them where it is symmetric."""
        shared = delayed(shared, traverse=False)
        blocks = []
        mirrored = symmetric and self.X is self.Z
        for i, (x, n) in enumerate(zip(self._left, _lengths(self.X), strict=True)):
            row = []
            for j, (z, m) in enumerate(zip(self._beside(i), _lengths(self.Z), strict=True)):
                # those above the diagonal follow from the blocks of later rows
                value = None if mirrored and j > i else delayed(function, pure=True)(shared, x, z)
                row.append(value if value is None else da.from_delayed(value, (n, m), self.X.dtype))
            blocks.append(row)
        return da.block(
            [
                [blocks[j][i].T if v is None else v for j, v in enumerate(row)]
                for i, row in enumerate(blocks)
            ]
        )

    @cached_property
    def _left(self):
        return _nodes(self.X)

    @cached_property
    def _right(self):
        return self._left if self.X is self.Z else _nodes(self.Z)

    def _beside(self, i):
        """Return the blocks of Z, None in the place of the i-th block of X itself."""
        return [None if self.X is self.Z and i == j else z for j, z in enumerate(self._right)]


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
    return validated(rows, start)
