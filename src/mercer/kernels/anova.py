"""Anova, the sum over subsets of columns of products of a kernel of one column."""

from collections.abc import Iterable
from itertools import pairwise
from operator import mul

import numpy as np

from mercer._common import Array, PointsLike, check_integer
from mercer._compute.namespace import namespace_of
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, finite, require_rows, storable_kernel


@storable_kernel
class Anova(Composite):
    r"""ANOVA kernel: the sum over all subsets of ``degree`` columns of the product of a kernel of each column.

    .. math:: k(x, z) = \sum_{c_1 < \dots < c_p} \prod_{i = 1}^p f(x_{c_i}, z_{c_i})

    for an inner kernel f of one column and p = ``degree``, the elementary symmetric polynomial of order p of the
    values f(x_c, z_c). Functions of its space are sums of functions of p columns each: interactions of order p.
    ``Anova(f, 1) + Anova(f, 2)`` has those of both orders.

    Parameters
    ----------
    kernel : Kernel
        f, a kernel of rows. Bandwidth rules are resolved on the numbers of all columns, as points of one column.
    degree : int
        p, from 1 to the number d of columns of X.

    Raises
    ------
    ValueError
        When the inner kernel is not one of rows, and when X has fewer columns than ``degree``.

    Notes
    -----
    The recursion :math:`E_p(c) = E_p(c - 1) + f(x_c, z_c) E_{p - 1}(c - 1)` over columns has no cancellation for f of
    at least 0. A value takes d values of f and d ``degree`` multiplications; its gradient, the recursions forwards
    and backwards, three times as many, and at most 2 d ``degree`` blocks of memory.

    References
    ----------
    Stitson, Gammerman, Vapnik, Vovk, Watkins, Weston, *Support vector regression with ANOVA decomposition kernels*,
    in Advances in kernel methods, MIT Press (1999), section 3.
    Shawe-Taylor, Cristianini, *Kernel methods for pattern analysis*, Cambridge University Press (2004), section 9.2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Anova(mc.Linear(), 2)(np.array([[1.0, 2.0, 3.0]]))     # 1 4 + 1 9 + 4 9
    array([[49.]])
    """

    _tagged = {"points": "rows", "sparse": False}

    kernel: Kernel
    degree: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("degree", self.degree)
        require_rows(self)

    def _resolved(self, X, sample_weight):
        X = self.admit(X, "X")
        weights = None if sample_weight is None else np.repeat(sample_weight, X.shape[1])
        return {"kernel": self.kernel.resolve(_one_column(X), weights)}

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        points = Kernel.admit(self, points, name)
        d = points.shape[1]
        if d < self.degree:
            raise ValueError(
                f"degree = {self.degree} must be at most {d}, the number of features of {name}."
            )
        self.kernel.admit(_one_column(points), name)
        return points

    def multiplications(self, d: int) -> int:
        return d * (self.kernel.multiplications(1) + self.degree)

    @finite
    def evaluate(self, tile: Tile) -> Array:
        return _last(_sums(map(self.kernel.evaluate, _tiles(tile)), self.degree))

    @finite
    def diagonal(self, points: Points) -> Array:
        return _last(_sums(map(self.kernel.diagonal, _columns(points)), self.degree))

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self._pulled_back(self.kernel.evaluate, self.kernel.gradient, _tiles(tile), W)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        kernel = self.kernel
        return self._pulled_back(kernel.diagonal, kernel.diagonal_gradient, _columns(points), w)

    def _pulled_back(self, evaluate, gradient, columns, W):
        """Return the gradients (n, d) of the sum of W times E_p, from those of the inner kernel of each column."""
        slopes = _slopes(list(map(evaluate, columns)), self.degree, W)
        return namespace_of(W).concat(list(map(gradient, columns, slopes)), axis=1)


def _one_column(X):
    """Return the numbers of all columns as rows of one column."""
    return namespace_of(X).reshape(X, (-1, 1))


def _columns(points):
    """Return the columns of rows, each as points that are kept."""
    X = points.container
    return [
        points.memo(("column", c), lambda c=c: Points(X[:, c : c + 1])) for c in range(X.shape[1])
    ]


def _tiles(tile):
    return [
        Tile(x, z, tile.offset) for x, z in zip(_columns(tile.X), _columns(tile.Z), strict=True)
    ]


def _sums(values, degree):
    """Yield E_0, ..., E_degree of the first 0, 1, 2, ... values."""
    sums = [1.0] + [0.0] * degree
    yield sums
    for value in values:
        sums = [1.0, *(whole + value * below for below, whole in pairwise(sums))]
        yield sums


def _last(sums: Iterable[list[Array]]) -> Array:
    *_, last = sums
    return last[-1]


def _slopes(values, degree, W):
    """Return W times the derivative of E_degree in each value, the sum of products of those before and after it."""
    before = _sums(values, degree - 1)
    *after, _ = _sums(reversed(values), degree - 1)
    return [
        W * sum(map(mul, sums, reversed(others)))
        for sums, others in zip(before, reversed(after), strict=False)
    ]
