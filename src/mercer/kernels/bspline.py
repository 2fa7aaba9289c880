"""BSpline, the product over columns of B-splines of differences."""

import functools
import math
from operator import mul
from typing import Any

from mercer._common import Array, check_integer
from mercer._compute.points import Points
from mercer._compute.storable import storable
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, kernel_class


@storable
@kernel_class
class BSpline(Kernel):
    r"""B-spline kernel, the product over columns of the B-spline of degree 2 ``order`` + 1 of x_c - z_c.

    .. math:: k(x, z) = \prod_c B_m(x_c - z_c), \qquad
        B_m(t) = \frac1{m!} \sum_j (-1)^j \binom{m + 1}j \left(\frac{m + 1}2 - |t| - j\right)_+^m, \qquad m = 2p + 1

    for p = ``order``: the (2 p + 1)-fold convolution of the indicator of [-1/2, 1/2] with itself, whose Fourier
    transform is a square. It is 0 where a difference is at least p + 1; ``Mapped(BSpline(p), A)`` has other widths.

    Parameters
    ----------
    order : int
        p, at least 0. Order 0 is the hat function max(0, 1 - |t|), order 1 the cubic spline.

    Notes
    -----
    Terms of the sum have alternating signs: values are accurate to about 2^p roundings. A gradient in d columns takes
    d^2 products of blocks.

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
        check_integer("order", self.order, least=0)

    def evaluate(self, tile: Tile) -> Array:
        return functools.reduce(mul, [self._spline(tile.xp, t) for t in _differences(tile)])

    def diagonal(self, points: Points) -> Array:
        zeros = points.full((len(points),), 0.0)
        return functools.reduce(mul, [self._spline(points.xp, zeros)] * points.container.shape[1])

    def gradient(self, tile: Tile, W: Array) -> Array:
        xp = tile.xp
        differences = _differences(tile)
        values = [self._spline(xp, t) for t in differences]
        columns = []
        for c, t in enumerate(differences):
            slope = -xp.sign(t) * self._spline(xp, t, 1)
            others = functools.reduce(mul, values[:c] + values[c + 1 :], W * slope)
            columns.append(xp.sum(others, axis=1))
        return xp.stack(columns, axis=1)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return points.zeros()

    def _spline(self, xp: Any, t: Any, derivative: int = 0) -> Any:
        """Return B(t), or minus its derivative at ``|t|``."""
        power = 2 * self.order + 1 - derivative
        total = 0.0
        for j in range(self.order + 1):
            # before powers, which overflow at large differences
            left = xp.clip(self.order + 1 - j - abs(t), 0)
            # 0^0 is 1: powers of the part above 0
            term = xp.where(left > 0, left**power, left)
            total = (
                total + (-1) ** j * math.comb(2 * self.order + 2, j) / math.factorial(power) * term
            )
        return total


def _differences(tile):
    X = tile.X.container
    Z = tile.Z.container
    return [X[:, c][:, None] - Z[:, c][None, :] for c in range(X.shape[1])]
