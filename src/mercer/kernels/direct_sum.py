"""DirectSum and VariableWidthGaussian: kernels on rows with a mark, one more column that says what a point is."""

import functools
import operator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mercer._common import Array, PointsLike, check_integer, check_positive, shown
from mercer._compute.devices import in_main_memory
from mercer._compute.points import Points
from mercer._compute.profile import namespace_of
from mercer._compute.register import storable
from mercer._compute.tile import Tile
from mercer._elsewhere import explained
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, finite, kernel_class, storable_kernel
from mercer.kernels.radial import Gaussian


@kernel_class
class Marked(Kernel):
    """Base class of kernels on rows (n, n_features + 1), the mark of each point last; rows without are data.

    Subclasses state ``_of_data``, the mark of data; ``_kernels_of`` marks, pairs of a kernel k of rows without marks
    and the places of the points z with the features k(., z); which marks are ``_wrong``; and for errors ``_mark``, the
    name of a mark, and ``_rule``, what valid ones are.
    """

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
        blocks = f", n_features={self.n_features}" if self.n_features else ""
        return f"DirectSum({', '.join(map(repr, self._kernels))}{blocks})"

    @property
    def _tagged(self):
        # points with blocks are dense, and methods do not move them
        return {} if self.n_features is None else {"sparse": False, "differentiable": False}

    @cached_property
    def _kernels(self):
        """The kernels of all blocks, those of nested direct sums included."""
        return [*_listed(self.left), *_listed(self.right)]

    def _kernels_of(self, marks):
        found = zip(self._kernels, self._members(in_main_memory(marks)), strict=True)
        return [(kernel, np.flatnonzero(own)) for kernel, own in found if own.any()]

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        if self.n_features is None:
            return Composite.admit(self, points, name)
        points = Marked.admit(self, points, name)
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


@storable_kernel
class VariableWidthGaussian(Marked):
    r"""Inner products of Gaussian functions of several widths, in the space of the Gaussian kernel of width s.

    With :math:`g_a(u) = \exp(-|u|^2 / (2 a^2))` in d variables and :math:`2 s^2 = 1 / \gamma`,

    .. math:: k((x, a), (z, b)) = \langle g_a(\cdot - x), g_b(\cdot - z) \rangle
        = \Big(\frac{a^2 b^2}{s^2 t^2}\Big)^{d/2} \exp\Big(-\frac{|x - z|^2}{2 t^2}\Big), \qquad t^2 = a^2 + b^2 - s^2

    for :math:`2 a^2 > s^2` and :math:`2 b^2 > s^2`; narrower functions are not in the space. For b = s it is
    :math:`g_a(x - z)`, so that an expansion is a sum of Gaussian functions, each with the width of its point.

    Parameters
    ----------
    gamma : float
        Inverse squared width of the space, 1 / (2 s^2).
    n_features : int
        d. Points are rows (x, a) with d + 1 columns; rows with d columns get the width s.

    Raises
    ------
    ValueError
        For a width of at most s / sqrt(2), and for another number of columns.

    Notes
    -----
    Widths are not coordinates of data: only ``reduce`` with ``VariableWidths`` moves points with their widths. At data
    an expansion is a sum over Gaussian kernels, one for each width: values, gradients, and exports to C and ONNX are
    those of the sum, and `mercer.ray` and `mercer.preimage` search among data, of the width of the space.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section VII: Gaussian functions of several widths in one reduced set.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> kernel = mc.VariableWidthGaussian(gamma=0.5, n_features=1)
    >>> wide = mc.Expansion(kernel, np.array([[0.0, 3.0]]), np.ones((1, 1)))
    >>> np.allclose(wide(np.array([[1.5]])), np.exp(-(1.5**2) / (2 * 3.0**2)))
    True
    """

    positive_semidefinite = True
    _mark = "width"

    gamma: float
    n_features: int

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_integer("n_features", self.n_features)

    @property
    def _of_data(self):
        return 0.5**0.5 / self.gamma**0.5

    def _kernels_of(self, marks):
        widths, places = np.unique(in_main_memory(marks), return_inverse=True)
        gammas = [self.gamma if a == self._of_data else 0.5 / float(a) ** 2 for a in widths]
        return [(Gaussian(each), np.flatnonzero(places == i)) for i, each in enumerate(gammas)]

    def _wrong(self, marks):
        return ~((marks > 0) & (self._relative(marks) > 0.5))

    @property
    def _rule(self):
        least = 0.5 / self.gamma**0.5
        return f"widths must be above {least:.6g}, the width of the kernel over sqrt(2); give a larger one"

    @finite
    def evaluate(self, tile: Tile) -> Array:
        A, B = (self._relative(self._marks(points)) for points in (tile.X, tile.Z))
        return self._values(tile.xp, A[:, None], B[None, :], tile.mapped(self._rows).sqdist)

    @finite
    def diagonal(self, points: Points) -> Array:
        A = self._relative(self._marks(points))
        return self._values(points.xp, A, A, 0.0)

    def _values(self, xp, A, B, s):
        """Return the values of pairs of relative widths at squared distances."""
        t = (A + B) - 1
        # a^2 b^2 / (s^2 t^2) - 1, which is exact near 0
        excess = (A - 1) * (B - 1) / t
        return xp.exp(self.n_features / 2 * xp.log1p(excess) - self.gamma * s / t)

    def _relative(self, a):
        """Return a^2 / s^2, without overflow of a^2."""
        return 2 * (self.gamma**0.5 * a) ** 2


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
    return _sum(part for part, _ in parts)


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


def extends(kernel: Kernel, other: Kernel) -> bool:
    """Return whether a kernel has the features of another, that of its data, and more beside them."""
    return _has_marks(kernel) and other == kernel_of_data(kernel)
