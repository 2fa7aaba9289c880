"""Marked, the base class of kernels on rows with a mark, one more column that says what a point is."""

import functools
import operator
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from mercer._common import Array, PointsLike
from mercer._compute.namespace import namespace_of
from mercer._compute.points import Points
from mercer.kernels.base import Kernel, kernel_class


@kernel_class
class Marked(Kernel):
    """Base class of kernels on rows (n, n_features + 1), the mark of each point last; rows without are data."""

    @property
    @abstractmethod
    def _of_data(self) -> float:
        """The mark of data."""

    @abstractmethod
    def _kernels_of(self, marks: Array) -> list[tuple[Kernel, Array]]:
        """Return kernels k of rows without marks, and the places of the points z with the features k(., z)."""

    @abstractmethod
    def _wrong(self, marks: Array) -> Array:
        """Return which marks are not valid."""

    @property
    @abstractmethod
    def _rule(self) -> str:
        """What valid marks, whose name is ``_mark``, are."""

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        points = Kernel.admit(self, points, name)
        d = self.n_features
        if points.shape[1] not in (d, d + 1):
            raise ValueError(
                f"{name} has {points.shape[1]} columns; it must have n_features = {d}, or {d + 1} with the mark of "
                f"each point of {type(self).__name__} in the last."
            )
        xp = namespace_of(points)
        if points.shape[1] == d:
            return xp.concat([points, xp.full_like(points[:, :1], self._of_data)], axis=1)
        wrong = xp.nonzero(self._wrong(points[:, d]))[0]
        if wrong.shape[0]:
            i = int(wrong[0])
            raise ValueError(
                f"{name} has the {self._mark} {float(points[i, d]):.6g} in row {i}; {self._rule}."
            )
        return points

    def _marks(self, points):
        # a composite may keep rows without marks, for its other parts
        if self.n_features in (None, points.container.shape[1]):
            return points.full((len(points),), self._of_data)
        return points.container[:, self.n_features]

    def _rows(self, points):
        """Return the points without their marks, computed once."""
        return points.memo((self, "rows"), lambda: Points(points.container[:, : self.n_features]))


def without_marks(kernel: Kernel, points: Array) -> Array:
    """Return points (n, d) of a kernel without the column of their marks, if they have one."""
    return points[:, : kernel.n_features] if isinstance(kernel, Marked) else points


def _has_marks(kernel):
    return isinstance(kernel, Marked) and kernel.n_features is not None


def kernel_of_data(kernel: Kernel) -> Kernel:
    """Return the kernel of rows without marks: the sum of the kernels whose features data have."""
    if not _has_marks(kernel):
        return kernel
    parts = kernel._kernels_of(np.array([kernel._of_data]))  # noqa: SLF001
    return functools.reduce(operator.add, [part for part, _ in parts])


class Part(NamedTuple):
    """A kernel of data, and the points z with the features k(., z) of it, without marks, with their places."""

    kernel: Kernel
    points: Points
    places: Array


def parts_of(kernel: Kernel, Z: Points) -> list[Part]:
    """Return the parts of points with marks: k(x, z) of data x is the sum over them. None of points without marks."""
    if not _has_marks(kernel):
        return []

    def split():
        rows = kernel._rows(Z)  # noqa: SLF001
        found = kernel._kernels_of(kernel._marks(Z))  # noqa: SLF001
        return [Part(part, rows.take(places), places) for part, places in found]

    return Z.memo((kernel, "parts"), split)


def plain_rows(kernel: Kernel, X: Points) -> Points | None:
    """Return points of a marked kernel without marks if all are data; None for others."""
    if not _has_marks(kernel):
        return None
    of_data = kernel._of_data  # noqa: SLF001
    marks = kernel._marks(X)  # noqa: SLF001
    # points that were rows of float32 keep a mark of that type
    is_data = X.xp.all((marks == of_data) | (marks == float(np.float32(of_data))))
    return kernel._rows(X) if is_data else None  # noqa: SLF001
