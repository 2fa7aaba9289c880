"""Kernels of products of functions of single columns: Anova, their sum over subsets, and BSpline."""

import functools
from itertools import pairwise
from operator import mul

import numpy as np

from mercer._common import Array, PointsLike, check_integer
from mercer._compute.points import Points
from mercer._compute.profile import namespace_of
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


def _last(sums) -> Array:
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


@storable_kernel
class BSpline(Kernel):
    r"""B-spline kernel, the product over columns of the B-spline of degree 2 ``order`` + 1 of x_c - z_c.

    .. math:: k(x, z) = \prod_c B_m(x_c - z_c), \qquad
        B_m(t) = \frac1{m!} \sum_j (-1)^j \binom{m + 1}j \left(\frac{m + 1}2 - |t| - j\right)_+^m, \qquad m = 2p + 1

    for p = ``order``: the (2 p + 1)-fold convolution of the indicator of [-1/2, 1/2] with itself, whose Fourier
    transform is a square. It is 0 where a difference is at least p + 1; ``Mapped(BSpline(p), A)`` has other widths.

    Parameters
    ----------
    order : int
        p, from 0 to 100. Order 0 is the hat function max(0, 1 - |t|), order 1 the cubic spline.

    Notes
    -----
    Values, by the recursion of Cox and de Boor, are accurate to about 4 p roundings a column, and take about
    2 (p + 1)^2 steps a column. A gradient in d columns takes d^2 products of blocks.

    References
    ----------
    Smola, Schoelkopf, Mueller, *The connection between regularization operators and support vector kernels*, Neural
    Networks 11 (1998), section 4.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.kernels.BSpline(1)(np.array([[0.0], [1.0], [2.0]])).round(4)
    array([[0.6667, 0.1667, 0.    ],
           [0.1667, 0.6667, 0.1667],
           [0.    , 0.1667, 0.6667]])
    """

    positive_semidefinite = True

    order: int = 1

    def __post_init__(self) -> None:
        # the work grows with its square, and splines of high orders resemble Gaussians
        check_integer("order", self.order, least=0, most=100)

    def evaluate(self, tile: Tile) -> Array:
        return functools.reduce(mul, self._splines(tile.xp, _differences(tile)))

    def diagonal(self, points: Points) -> Array:
        zeros = points.full((len(points),), 0.0)
        return functools.reduce(mul, self._splines(points.xp, [zeros]) * points.container.shape[1])

    def gradient(self, tile: Tile, W: Array) -> Array:
        xp = tile.xp
        differences = _differences(tile)
        values = self._splines(xp, differences)
        columns = []
        for c, t in enumerate(differences):
            above, below = _pieces(xp, abs(t), 2 * self.order, 2)
            slope = xp.sign(t) * (below - above)
            others = functools.reduce(mul, values[:c] + values[c + 1 :], W * slope)
            columns.append(xp.sum(others, axis=1))
        return xp.stack(columns, axis=1)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return points.zeros()

    def _splines(self, xp, differences):
        """Return B of each array of differences."""
        return [_pieces(xp, abs(t), 2 * self.order + 1, 1)[0] for t in differences]


def _pieces(xp, t, degree, n):
    """Return the n values B(t - (n - 1) / 2), ..., B(t + (n - 1) / 2) of the B-spline of a degree.

    The recursion of Cox and de Boor adds positive terms only: no digits are lost, as they are in the sum of powers.
    """
    places = [t + (j - (degree + n - 1) / 2) for j in range(degree + n)]
    values = [xp.astype((place >= -0.5) & (place < 0.5), t.dtype) for place in places]
    for k in range(1, degree + 1):
        places = [place + 0.5 for place in places[:-1]]
        values = [
            (((k + 1) / 2 + place) * right + ((k + 1) / 2 - place) * left) / k
            for place, left, right in zip(places, values[:-1], values[1:], strict=True)
        ]
    return values


def _differences(tile):
    X = tile.X.container
    Z = tile.Z.container
    return [X[:, c][:, None] - Z[:, c][None, :] for c in range(X.shape[1])]
