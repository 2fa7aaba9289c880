"""Jet: mixed partial derivatives of a function of two points, with sums, products and compositions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from itertools import combinations
from typing import Any, ClassVar, TypeAlias

import numpy as np

from mercer._common import Array, as_float64

# Derivatives by their orders in x and in z.
Terms: TypeAlias = dict[tuple[int, int], Array]

# Letters of the indices of derivatives in x and in z, for einsum.
_IN_X = "abcd"
_IN_Z = "ijkl"


@dataclass(frozen=True, eq=False)
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
    __array_ufunc__: ClassVar[None] = None

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
    """Return h(x) = k(x, x) (n,), its gradient (n, N), ..., up to the given order, from the jet at pairs (x, x)."""
    return [
        sum(
            np.einsum(
                f"n{''.join(S)}{_without(_IN_X[:m], S)}->n{_IN_X[:m]}", jet.term(len(S), m - len(S))
            )
            for S in _subsets(_IN_X[:m])
        )
        for m in range(order + 1)
    ]


def within(order: tuple[int, int], terms: Terms) -> Terms:
    """Return the terms up to an order."""
    return {key: value for key, value in terms.items() if key[0] <= order[0] and key[1] <= order[1]}
