"""BSpline, the product over columns of B-splines of differences."""

import functools
from operator import mul
from typing import Any

from mercer._common import Array, check_integer
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, storable_kernel


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

    def _splines(self, xp: Any, differences: list[Any]) -> list[Any]:
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
