"""as_blocks, as_matrix: what holds rows that are not in memory, recognised without the import of Dask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer._common import PointsLike
from mercer._compute.lazy import is_dask
from mercer.distributed.blocks import Arrow, DiskBlocks

if TYPE_CHECKING:
    from mercer.distributed.dask_blocks import DaskBlocks
    from mercer.distributed.dask_matrix import DaskMatrix


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
        from mercer.distributed.dask_blocks import dask_blocks

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
    from mercer.distributed.dask_matrix import dask_matrix

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
