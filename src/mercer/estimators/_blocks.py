"""Estimators over landmarks on rows that are not in memory: kernel and landmarks are those of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array, PointsLike, Seed
from mercer._compute.lazy import is_dask, known_rows
from mercer._compute.routes import Size
from mercer._compute.targets import refuse_targets
from mercer.distributed import as_blocks
from mercer.distributed.blocks import Blocks
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import as_kernel
from mercer.linalg.generator import sorted_sample

# Rows that bandwidth rules and landmarks are taken from, and their least number for each landmark.
_SAMPLE = 20_000
_EACH = 10


@dataclass(frozen=True)
class Data:
    """Training points: the features of all of them, or of a sample of rows that are not in memory, and their blocks.

    ``weights`` (n,) are those of the points of the blocks, None for equal ones.
    """

    phi: Expansion
    blocks: Any
    size: Size
    weights: Array | None = None

    @property
    def points(self) -> PointsLike:
        """The points of ``phi``."""
        return self.phi.prepared.container


def training_blocks(model: Any, X: PointsLike) -> Blocks | None:
    """Return the blocks of rows that are not in memory; None where they are, and where all of them span the model."""
    return None if model.landmarks is None else blocks_of(model, X)


def blocks_of(model: Any, X: PointsLike) -> Blocks | None:
    """Return the blocks of rows that are not in memory, or None."""
    kernel = as_kernel(model.kernel)
    # the points of a precomputed kernel are numbers of rows of the whole matrix
    return None if kernel.tags.points == "indices" else row_blocks(kernel, X)


def row_blocks(kernel: Kernel, X: PointsLike) -> Blocks | None:
    """Return the blocks of rows that are not in memory, or None; blocks have no names of columns."""
    return None if hasattr(X, "columns") and kernel.tags.points == "tables" else as_blocks(X)


def column_of(blocks: Blocks, values: Array, name: str, check: Callable[[Array], Array]) -> Any:
    """Return one value or row for each row of blocks, checked: a Dask array, or an array in memory."""
    # rows on disk are read here
    lazy = is_dask(values) and hasattr(blocks, "array")
    if lazy:
        values = known_rows(values, name)
    else:
        refuse_targets(values, name)
        values = np.asarray(values)
    if values.shape[0] != blocks.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {blocks.shape[0]} rows, {name} has "
            f"{values.shape[0]}; give as many."
        )
    return (
        values.map_blocks(_checked, check=check, column=name, dtype=np.float64)
        if lazy
        else check(values)
    )


def _checked(values, check, column, block_info=None):
    """Return the checked values of a block of Dask; a note to an error says where the block is."""
    try:
        return check(values)
    except (TypeError, ValueError) as error:
        first, end = block_info[0]["array-location"][0]
        error.add_note(f"The place is that in a block of Dask, {column}[{first}:{end}].")
        raise


def sample_rows(blocks: Blocks, m: int, random_state: Seed) -> Array:
    """Return the numbers of a uniform sample of rows, from which m landmarks are taken."""
    n = blocks.shape[0]
    size = min(n, max(_SAMPLE, _EACH * m))
    return sorted_sample(n, size, random_state)
