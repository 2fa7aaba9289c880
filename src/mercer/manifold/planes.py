"""Planes: points with directions, and the jets of kernels in the coordinates of the directions, at all pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer._common import Array
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.mapped import map_rows
from mercer.manifold.jets import (
    Jet,
    constant,
    inner_product,
    of_one_point,
    squared_distance,
    within,
)


@dataclass(frozen=True, eq=False)
class Planes:
    """Planes x_i + sum_a t_a T_ia, for jets in t at t = 0.

    A jet of kernels at ``Planes`` X and Z, in place of rows, is that at all n m pairs of them, those of X[0] first, of
    an order up to (1, 1). It has the coordinates t, and costs products of matrices of rows and directions.

    Parameters
    ----------
    points : float64 array (n, d)
    directions : float64 array (n, a, d)

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.manifold.planes import Planes
    >>> from mercer.manifold.rules import jet
    >>> line = Planes(np.array([[1.0, 0.0]]), np.array([[[0.0, 1.0]]]))
    >>> jet(mc.Polynomial(2), line, line, (1, 1)).term(1, 1)
    array([[[4.]]])
    """

    points: np.ndarray
    directions: np.ndarray

    def take(self, rows: slice) -> Planes:
        """Return the planes of a slice or of an integer array."""
        return Planes(self.points[rows], self.directions[rows])

    def mapped(self, A: Array) -> Planes:
        """Return the images of the planes by a linear map."""
        n, a, d = self.directions.shape
        points = map_rows(A, self.points)
        return Planes(
            points, map_rows(A, self.directions.reshape(n * a, d)).reshape(n, a, points.shape[1])
        )

    def along(self, gradients: Array) -> Array:
        """Return the derivatives (n, a) of functions with gradients (n, d) along the directions."""
        return np.einsum("nad,nd->na", self.directions, gradients)

    def factors(
        self, other: Planes, order: tuple[int, int], function: Callable[[Array], Sequence[Array]]
    ) -> Jet:
        """Return the jet of c(x) c(z) at all pairs; ``function(points)`` returns c (n,) and its gradient (n, d)."""
        n = len(self.points)
        m = len(other.points)
        shape = _shape(self, other)
        values, slopes = function(self.points)
        left = [np.repeat(values, m), np.repeat(self.along(slopes), m, axis=0)]
        values, slopes = function(other.points)
        right = [np.tile(values, n), np.tile(other.along(slopes), (n, 1))]
        return of_one_point(left, shape, order, 0) * of_one_point(right, shape, order, 1)


def still(X: Array) -> Planes:
    """Return rows (n, d) as planes without directions."""
    return Planes(X, np.zeros((len(X), 0, X.shape[1])))


def _shape(X, Z):
    return len(X.points) * len(Z.points), Z.directions.shape[1]


@constant.register
def _(X: Planes, Z, order, value):
    shape = _shape(X, Z)
    return Jet(shape, order, {(0, 0): np.full(shape[0], value)})


@inner_product.register
def _(X: Planes, Z, order):
    return _jet(X, Z, order, X.points @ Z.points.T, 1.0, X.points, Z.points)


@squared_distance.register
def _(X: Planes, Z, order):
    # from the tile: exactly 0 at equal points; d|x - z|^2 = 2 <x - z, T>, without the common part of x and z
    tile = Tile(Points(X.points), Points(Z.points))
    own = tile.centred
    terms = _jet(X, Z, order, tile.sqdist, -2.0, *own).terms
    if (1, 0) in terms:
        terms[1, 0] += 2 * np.repeat(
            np.einsum("nad,nd->na", X.directions, own[0]), len(Z.points), axis=0
        )
    if (0, 1) in terms:
        terms[0, 1] += 2 * np.tile(
            np.einsum("mad,md->ma", Z.directions, own[1]), (len(X.points), 1)
        )
    return Jet(_shape(X, Z), order, terms)


def _jet(X, Z, order, values, factor, left, right):
    """Return the jet of a function with the derivatives factor <T, z>, factor <x, S> and factor <T, S>."""
    (n, a, d) = X.directions.shape
    (m, b, _) = Z.directions.shape
    T = X.directions.reshape(n * a, d)
    S = Z.directions.reshape(m * b, d)
    terms = {(0, 0): values.ravel()}
    if order[0]:
        terms[1, 0] = factor * (T @ right.T).reshape(n, a, m).swapaxes(1, 2).reshape(n * m, a)
    if order[1]:
        terms[0, 1] = factor * (left @ S.T).reshape(n * m, b)
    if order[0] and order[1]:
        terms[1, 1] = factor * (T @ S.T).reshape(n, a, m, b).swapaxes(1, 2).reshape(n * m, a, b)
    return Jet(_shape(X, Z), order, within(order, terms))
