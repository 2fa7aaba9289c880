"""Landmarks of estimators, also on rows that are not in memory, whose kernel and landmarks are those of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array, PointsLike, Seed, check_integer, shown
from mercer._compute.points import count_points
from mercer._compute.readable import is_dask, known_rows, refuse_container
from mercer._compute.routes import Size
from mercer._compute.targets import refuse_targets
from mercer.distributed import as_blocks
from mercer.distributed.blocks import Blocks
from mercer.estimators._model import Model
from mercer.expansion import Expansion, features
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import as_kernel
from mercer.linalg.generator import sorted_sample
from mercer.maps._select_landmarks import check_rule, given_landmarks, selected

# Rows that bandwidth rules and landmarks are taken from, and their least number for each landmark.
_SAMPLE = 20_000
_EACH = 10


class OverLandmarks(Model):
    """Mixin of estimators some of which have the parameters ``landmarks`` and ``rule``."""

    def _check_rule_and_number(self):
        """Raise unless there are the name of a rule, and landmarks that are None, a number, or not a scalar."""
        if "rule" in vars(self):
            check_rule("rule", self.rule)
            if self.landmarks is not None and np.isscalar(self.landmarks):
                check_integer("landmarks", self.landmarks)

    def _check_landmarks(self, kernel, points):
        """Raise unless given landmarks are points of the kind of others, with columns of the same names and order."""
        given = vars(self).get("landmarks")
        if given is None or np.isscalar(given):
            return
        given_landmarks(kernel, points, given)
        expected = list(getattr(self, "feature_names_in_", ()))
        names = list(getattr(given, "columns", ()))
        texts = all(isinstance(name, str) for name in names)
        if expected and names and texts and names != expected:
            raise ValueError(
                f"landmarks have the columns {shown(names)}, but X has {shown(expected)}; give the columns of X in "
                "their order."
            )

    def _chosen_landmarks(self, size):
        """Return the number of landmarks and their rule, "given" for points; None where all points span."""
        given = self.landmarks
        if given is None:
            return None
        if not np.isscalar(given):
            refuse_container(given, "landmarks")
            return count_points(given), "given"
        check_integer("landmarks", given)
        return None if size.whole and given >= size.n else (min(int(given), size.n), self.rule)

    def _landmark_features(self, phi, weights=None):
        """Return the features of the landmarks, no point of weight 0."""
        if np.isscalar(self.landmarks) and weights is not None:
            phi = phi[:, np.flatnonzero(weights)]
        found = selected(phi.kernel, phi.points, self.landmarks, self.rule, self.random_state)
        return features(phi.kernel, found)

    def _training_blocks(self, X):
        """Return the blocks of rows that are not in memory; None where they are, and where all of them span."""
        return None if self.landmarks is None else self._blocks_of(X)

    def _blocks_of(self, X):
        """Return the blocks of rows that are not in memory, or None."""
        kernel = as_kernel(self.kernel)
        # the points of a precomputed kernel are numbers of rows of the whole matrix
        return None if kernel.tags.points == "indices" else row_blocks(kernel, X)


def has_given_landmarks(model: Any) -> bool:
    """Return True, or raise an AttributeError unless the landmarks are points; for ``available``."""
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
