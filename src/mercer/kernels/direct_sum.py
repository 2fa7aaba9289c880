"""DirectSum, the kernel of a direct sum of feature spaces, whose points come in blocks."""

import functools
import operator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer._common import Array, PointsLike, check_integer, shown
from mercer._compute.devices import in_main_memory
from mercer._compute.namespace import namespace_of
from mercer._compute.points import Points
from mercer._compute.storable import storable
from mercer._compute.tile import Tile
from mercer._elsewhere import explained
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, Tags
from mercer.kernels.marked import Marked


class _Listed:
    """Constructor of two or more kernels, which keeps the first and the direct sum of the others."""

    @explained
    def __init__(
        self, left: Kernel, right: Kernel, *others: Kernel, n_features: int | None = None
    ) -> None:
        right = DirectSum(right, *others) if others else right
        for name, value in {"left": left, "right": right, "n_features": n_features}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()


@storable
@dataclass(frozen=True, eq=False, init=False, repr=False)
class DirectSum(_Listed, Marked, Composite):
    r"""Kernel of a direct sum of feature spaces: a point of block i has features of kernel i only.

    .. math:: k((x, i), (z, j)) = [i = j] \, k_i(x, z), \qquad k(x, (z, j)) = k_j(x, z), \qquad
              k(x, z) = \sum_j k_j(x, z)

    Rows of data x have the features of all kernels. An expansion over points (z, j) is therefore a sum of expansions
    over different kernels, which `mercer.expansion.direct_sum` makes:

    .. math:: \langle \phi(x), \psi \rangle = \sum_j \sum_{i \in \text{block } j} a_i k_j(x, z_i)

    Parameters
    ----------
    *kernels : Kernel
        Two or more, on rows of numbers. ``left`` is the first, ``right`` the second or the direct sum of the others.
    n_features : int, optional
        d. Points are rows (z, j) with d + 1 columns, j = 0, 1, ... the number of the kernel, or -1 for data; rows with
        d columns are data. By default all rows are data, and the kernel is a sum.

    Raises
    ------
    ValueError
        For a block that does not exist, and for another number of columns.

    Notes
    -----
    Inner products take the time of all kernels on all pairs of points; values and gradients of an expansion at data
    that of each kernel on its block.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> kernel = mc.kernels.DirectSum(mc.Linear(), mc.Gaussian(1.0), n_features=1)
    >>> kernel(np.array([[2.0]]), np.array([[3.0, 0], [2.0, 1], [2.0, -1]]))       # data; <2, 3>, exp(0), the sum
    array([[6., 1., 5.]])
    """

    left: Kernel
    right: Kernel
    n_features: int | None = None
    _mark = "block"
    # data have features in all blocks
    _of_data = -1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for kernel in self._kernels:
            if kernel.tags.points != "rows":
                raise ValueError(
                    f"kernels of DirectSum must take rows of numbers, which {shown(kernel)} does not."
                )
        for part in (self.left, self.right):
            if isinstance(part, DirectSum) and part.n_features is not None:
                # its blocks would be those of this direct sum, and its marks a feature
                raise ValueError(
                    f"a direct sum within DirectSum must have no blocks of its own, got {shown(part)}; leave out its "
                    "n_features."
                )
        if self.n_features is not None:
            check_integer("n_features", self.n_features)

    def __repr__(self) -> str:
        given = [
            *map(repr, self._kernels),
            *([f"n_features={self.n_features}"] if self.n_features else []),
        ]
        return f"DirectSum({', '.join(given)})"

    @cached_property
    def tags(self) -> Tags:
        """Those of a sum; points with blocks are dense, and methods do not move them."""
        tags = super().tags
        return (
            tags if self.n_features is None else replace(tags, sparse=False, differentiable=False)
        )

    @cached_property
    def _kernels(self):
        """The kernels of all blocks, those of nested direct sums included."""
        return [*_listed(self.left), *_listed(self.right)]

    def _kernels_of(self, marks):
        found = zip(self._kernels, self._members(in_main_memory(marks)), strict=True)
        return [(kernel, np.flatnonzero(own)) for kernel, own in found if own.any()]

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        points = (
            Composite.admit(self, points, name)
            if self.n_features is None
            else Marked.admit(self, points, name)
        )
        for kernel in self._kernels:
            kernel.admit(points[:, : self.n_features], name)
        return points

    def _wrong(self, marks):
        whole = marks == namespace_of(marks).round(marks)
        return ~whole | (marks < self._of_data) | (marks >= len(self._kernels))

    @property
    def _rule(self):
        return f"blocks must be from 0 to {len(self._kernels) - 1}, or -1 for data"

    def evaluate(self, tile: Tile) -> Array:
        rows = tile.mapped(self._rows)
        found = zip(self._kernels, self._shares(tile.X), self._shares(tile.Z), strict=True)
        return _sum(kernel.evaluate(rows) * X[:, None] * Z for kernel, X, Z in found)

    def diagonal(self, points: Points) -> Array:
        rows = self._rows(points)
        found = zip(self._kernels, self._shares(points), strict=True)
        return _sum(kernel.diagonal(rows) * own for kernel, own in found)

    def gradient(self, tile: Tile, W: Array) -> Array:
        # of data only, see ``tags``
        return _sum(kernel.gradient(tile, W) for kernel in self._kernels)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return _sum(kernel.diagonal_gradient(points, w) for kernel in self._kernels)

    def _members(self, marks):
        """Return for each kernel whether points with some marks have features of it."""
        return [(marks == j) | (marks == self._of_data) for j in range(len(self._kernels))]

    def _shares(self, points):
        """Return for each kernel 1 at the points that have features of it, 0 at the others."""
        marks = self._marks(points)
        return [points.xp.astype(own, marks.dtype) for own in self._members(marks)]


def _listed(kernel):
    return kernel._kernels if isinstance(kernel, DirectSum) else [kernel]  # noqa: SLF001


def _sum(values):
    return functools.reduce(operator.add, values)
