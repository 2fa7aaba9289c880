"""Jet: mixed partial derivatives of a function of two points, with their algebra; Planes: points with directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, singledispatch
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from mercer._common import Array, array_record, as_float64
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.mapped import map_rows

# Derivatives by their orders in x and in z.
Terms: TypeAlias = dict[tuple[int, int], Array]

# Letters of the indices of derivatives in x and in z, for einsum.
_IN_X = "abcd"
_IN_Z = "ijkl"


@array_record
class Jet:
    r"""Derivatives of k(x, z) at n pairs of points in N dimensions, up to ``order`` = (P, Q) <= (4, 4) in x and z.

    ``terms[p, q]`` (n, N, ..., N) has p indices of x and then q of z; a missing term is 0. Jets of one order add and
    multiply (rule of Leibniz) as the functions do. ``sizes`` (n, N) are the sums of the absolute values that sum to the
    diagonal of ``terms[1, 1]``, whose rounding errors are shares of them; None where they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold.jets import inner_product
    >>> s = inner_product(np.array([[2.0]]), np.array([[3.0]]), (1, 1))      # x z at x = 2, z = 3
    >>> (s * s).term(1, 1).item()                                           # d/dx d/dz x^2 z^2 = 4 x z
    24.0
    """

    shape: tuple[int, int]
    order: tuple[int, int]
    terms: Terms
    sizes: Array | None = None
    __array_ufunc__ = None

    def __array_namespace__(self, **_: object) -> type[Jet]:
        """Return the class: its functions are those that a function of kernels may call."""
        return type(self)

    def term(self, p: int, q: int) -> Array:
        """Return the p-th derivative in x and q-th in z, an array (n, N, ..., N) with p + q + 1 indices."""
        n, N = self.shape
        return self.terms[p, q] if (p, q) in self.terms else np.zeros((n, *(N,) * (p + q)))

    def __add__(self, other: Jet) -> Jet:
        shared = {
            key: value + other.terms[key] for key, value in self.terms.items() if key in other.terms
        }
        sizes = None if self.sizes is None or other.sizes is None else self.sizes + other.sizes
        return Jet(self.shape, self.order, self.terms | other.terms | shared, sizes)

    def __mul__(self, other: Jet) -> Jet:
        terms = {}
        for key, splits in _leibniz(*self.order):
            parts = [
                np.einsum(rule, self.terms[left], other.terms[right])
                for left, right, rule in splits
                if left in self.terms and right in other.terms
            ]
            if parts:
                terms[key] = sum(parts[1:], parts[0])
        return Jet(self.shape, self.order, terms, self._product_sizes(other))

    def __rmul__(self, factor: float) -> Jet:
        return self.scaled(factor)

    def __pow__(self, degree: int) -> Jet:
        value = self.terms[0, 0]
        # the falling factorial is 0 for orders above the degree
        return self.compose(lambda j: np.prod(degree - np.arange(j)) * value ** max(degree - j, 0))

    def exp(self) -> Jet:
        """Return the jet of exp(k(x, z))."""
        value = np.exp(self.terms[0, 0])
        return self.compose(lambda _: value)

    def _product_sizes(self, other):
        if self.sizes is None or other.sizes is None:
            return None
        left, right = (
            np.abs(jet.term(0, 0))[:, None] * twin.sizes
            for jet, twin in ((self, other), (other, self))
        )
        crossed = [np.abs(self.term(p, q) * other.term(q, p)) for p, q in ((0, 1), (1, 0))]
        return left + right + crossed[0] + crossed[1]

    def scaled(self, factor: Array) -> Jet:
        """Return the jet times a number, or times one number for each pair (n,)."""
        factor = as_float64(factor)
        terms = {
            key: value * factor.reshape(factor.shape + (1,) * (value.ndim - 1) * factor.ndim)
            for key, value in self.terms.items()
        }
        factor = np.abs(factor.reshape(factor.shape + (1,) * factor.ndim))
        return Jet(
            self.shape, self.order, terms, None if self.sizes is None else self.sizes * factor
        )

    def compose(self, derivative: Callable) -> Jet:
        """Return the jet of h(k(x, z)), sum_j h^(j)(k_0) / j! (k - k_0)^j; ``derivative(j)`` is h^(j)(k_0) (n,)."""
        others = {key: value for key, value in self.terms.items() if key != (0, 0)}
        step = Jet(self.shape, self.order, others, self.sizes)
        result = Jet(
            self.shape,
            self.order,
            {(0, 0): derivative(0)},
            None if self.sizes is None else np.zeros(self.shape),
        )
        power = step
        for j in range(1, sum(self.order) + 1):
            if not power.terms:
                break
            result = result + power.scaled(derivative(j) / math.factorial(j))
            power = power * step
        return result


@lru_cache
def _leibniz(P, Q):
    """Return for every (p, q) the pairs of terms whose products sum to it, with their einsum rules."""
    table = []
    for p in range(P + 1):
        for q in range(Q + 1):
            splits = [
                (
                    (len(S), len(T)),
                    (p - len(S), q - len(T)),
                    f"n{''.join(S)}{''.join(T)},n{_without(_IN_X[:p], S)}{_without(_IN_Z[:q], T)}"
                    f"->n{_IN_X[:p]}{_IN_Z[:q]}",
                )
                for S in _subsets(_IN_X[:p])
                for T in _subsets(_IN_Z[:q])
            ]
            table.append(((p, q), splits))
    return table


def _subsets(letters):
    return [subset for size in range(len(letters) + 1) for subset in combinations(letters, size)]


def _without(letters, removed):
    return "".join(letter for letter in letters if letter not in removed)


# --- elementary jets -------------------------------------------------------------------------------------------------


@singledispatch
def constant(X: Array, Z: Array, order: tuple[int, int], value: float) -> Jet:  # noqa: ARG001 (planes need Z)
    """Return the jet of a constant function at the pairs of rows of X and Z (n, N)."""
    return Jet(X.shape, order, {(0, 0): np.full(len(X), value)}, np.zeros(X.shape))


@singledispatch
def inner_product(X: Array, Z: Array, order: tuple[int, int]) -> Jet:
    """Return the jet of <x, z> at the pairs of rows of X and Z (n, N)."""
    n, N = X.shape
    terms = {
        (0, 0): np.einsum("na,na->n", X, Z),
        (1, 0): Z,
        (0, 1): X,
        (1, 1): np.broadcast_to(np.eye(N), (n, N, N)),
    }
    return Jet((n, N), order, within(order, terms), np.ones((n, N)))


@singledispatch
def squared_distance(X: Array, Z: Array, order: tuple[int, int]) -> Jet:
    """Return the jet of |x - z|^2 at the pairs of rows of X and Z (n, N)."""
    n, N = X.shape
    W = X - Z
    twice = np.broadcast_to(2 * np.eye(N), (n, N, N))
    terms = {(0, 0): np.einsum("na,na->n", W, W), (2, 0): twice, (1, 1): -twice, (0, 2): twice}
    if W.any():
        terms |= {(1, 0): 2 * W, (0, 1): -2 * W}
    return Jet((n, N), order, within(order, terms), np.full((n, N), 2.0))


def of_one_point(
    derivatives: list[Array],
    shape: tuple[int, int],
    order: tuple[int, int],
    argument: int,
    sizes: Array | None = None,
) -> Jet:
    """Return the jet of c(x) (argument 0) or c(z) (argument 1) from c (n,), its gradient (n, N), Hessian, ..."""
    keys = [(j, 0) if argument == 0 else (0, j) for j in range(len(derivatives))]
    return Jet(shape, order, within(order, dict(zip(keys, derivatives, strict=True))), sizes)


def on_diagonal(jet: Jet, order: int) -> list[Any]:
    """Return h(x) = k(x, x) (n,), its gradient and, for order 2, its Hessian, from the jet of a symmetric k."""
    found = [jet.term(0, 0), 2 * jet.term(1, 0)]
    if order == 2:
        across = jet.term(1, 1)
        found.append(2 * jet.term(2, 0) + across + across.swapaxes(1, 2))
    return found


def within(order: tuple[int, int], terms: Terms) -> Terms:
    """Return the terms up to an order."""
    return {key: value for key, value in terms.items() if key[0] <= order[0] and key[1] <= order[1]}


# --- planes: points with directions, and jets in the coordinates of the directions, at all pairs ----------------------


@array_record
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
    >>> from mercer.manifold.jets import Planes
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
    return Jet(_shape(X, Z), order, terms)
