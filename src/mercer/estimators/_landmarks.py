"""Landmarks of estimators, also on rows that are not in memory, whose kernel and landmarks are those of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array, PointsLike, Seed, check_integer, shown
from mercer._compute.lazy import is_dask, known_rows
from mercer._compute.points import count_points
from mercer._compute.readable import refuse_container
from mercer._compute.routes import Size
from mercer._compute.targets import refuse_targets
from mercer.distributed import as_blocks
from mercer.distributed.blocks import Blocks
from mercer.expansion import Expansion, features
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import as_kernel
from mercer.linalg.generator import sorted_sample
from mercer.maps._select_landmarks import check_rule, given_landmarks, selected

# Rows that bandwidth rules and landmarks are taken from, and their least number for each landmark.
_SAMPLE = 20_000
_EACH = 10


def check_rule_and_number(model: Any) -> None:
    """Raise unless an estimator has the name of a rule, and landmarks that are None, a number, or not a scalar."""
    if "rule" in vars(model):
        check_rule("rule", model.rule)
        if model.landmarks is not None and np.isscalar(model.landmarks):
            check_integer("landmarks", model.landmarks)


def check_landmarks(model: Any, kernel: Kernel, points: Any) -> None:
    """Raise unless the landmarks that an estimator is given are points of the kind of others."""
    found = vars(model).get("landmarks")
    if found is not None and not np.isscalar(found):
        given_landmarks(kernel, points, found)
        _check_names(model, found)


def _check_names(model, landmarks):
    """Raise if landmarks are a table whose columns have other names than those of X, or the same in another order."""
    expected = list(getattr(model, "feature_names_in_", ()))
    names = list(getattr(landmarks, "columns", ()))
    if expected and names and all(isinstance(name, str) for name in names) and names != expected:
        raise ValueError(
            f"landmarks have the columns {shown(names)}, but X has {shown(expected)}; give the columns of X in their "
            "order."
        )


def chosen_landmarks(model: Any, size: Size) -> tuple[int, str] | None:
    """Return the number of landmarks of an estimator and their rule, "given" for points; None where all points span."""
    given = model.landmarks
    if given is None:
        return None
    if not np.isscalar(given):
        refuse_container(given, "landmarks")
        return count_points(given), "given"
    check_integer("landmarks", given)
    return None if size.whole and given >= size.n else (min(int(given), size.n), model.rule)


def landmark_features(model: Any, phi: Expansion, weights: Array | None = None) -> Expansion:
    """Return the features of the landmarks of an estimator, no point of weight 0."""
    if np.isscalar(model.landmarks) and weights is not None:
        phi = phi[:, np.flatnonzero(weights)]
    found = selected(phi.kernel, phi.points, model.landmarks, model.rule, model.random_state)
    return features(phi.kernel, found)


def has_given_landmarks(model: Any) -> bool:
    """Return True, or raise an AttributeError unless the landmarks are points; for ``available_if``."""
    if model.landmarks is None or np.isscalar(model.landmarks):
        raise AttributeError(
            f"partial_fit of {type(model).__name__} needs landmarks that are points, got landmarks = "
            f"{shown(model.landmarks)}; give an array, such as some rows of the data, or use fit."
        )
    return True


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
