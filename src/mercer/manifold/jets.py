"""Jet: the mixed partial derivatives of a function of two points, and their sums, products and compositions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

# Names of the indices that differentiate in x and in z, for einsum.
_IN_X, _IN_Z = "abcd", "ijkl"


@dataclass(frozen=True, eq=False)
class Jet:
    r"""Derivatives of k(x, z) at n pairs of points, up to the p-th in x and the q-th in z.

    .. math:: T^{(p,q)}_{a_1 \dots a_p\, b_1 \dots b_q} =
       \partial_{x_{a_1}} \cdots \partial_{x_{a_p}} \partial_{z_{b_1}} \cdots \partial_{z_{b_q}}\, k(x, z)

    Jets of one order add and multiply (by the rule of Leibniz) as the functions do, exactly but for rounding.

    Attributes
    ----------
    shape : (int, int)
        Number of pairs n and dimension N.
    order : (int, int)
        Highest p and q kept, at most 4.
    terms : dict of (p, q) to array (n, N, ..., N)
        p + q indices after the first, those of x before those of z; a term that is missing is 0.

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
    terms: dict

    def term(self, p, q):
        """Return the p-th derivative in x and q-th in z, an array (n, N, ..., N) of p + q + 1 indices."""
        n, N = self.shape
        return self.terms[p, q] if (p, q) in self.terms else np.zeros((n, *(N,) * (p + q)))

    def __add__(self, other):
        terms = dict(self.terms)
        for key, value in other.terms.items():
            terms[key] = terms[key] + value if key in terms else value
        return Jet(self.shape, self.order, terms)

    def __mul__(self, other):
        terms = {}
        for key, splits in _leibniz(*self.order):
            parts = [
                np.einsum(rule, self.terms[left], other.terms[right])
                for left, right, rule in splits
                if left in self.terms and right in other.terms
            ]
            if parts:
                terms[key] = sum(parts[1:], parts[0])
        return Jet(self.shape, self.order, terms)

    def scaled(self, factor):
        """Return the jet times a number, or one number per pair (n,)."""
        factor = np.asarray(factor, np.float64)
        terms = {}
        for key, value in self.terms.items():
            terms[key] = value * factor.reshape(factor.shape + (1,) * (value.ndim - 1) * factor.ndim)
        return Jet(self.shape, self.order, terms)

    def compose(self, derivative: Callable):
        r"""Return the jet of h(k(x, z)).

        .. math:: h(k) = \sum_j \frac{h^{(j)}(k_0)}{j!} (k - k_0)^j

        which is the formula of Faa di Bruno, the powers being products of jets.

        Parameters
        ----------
        derivative : callable
            j to h^(j)(k_0) (n,); asked only for the j whose power of k - k_0 has terms.

        Returns
        -------
        Jet
        """
        step = Jet(self.shape, self.order, {key: value for key, value in self.terms.items() if key != (0, 0)})
        result, power = Jet(self.shape, self.order, {(0, 0): derivative(0)}), step
        for j in range(1, sum(self.order) + 1):
            if not power.terms:
                break
            result = result + power.scaled(derivative(j) / math.factorial(j))
            power = power * step
        return result


@lru_cache
def _leibniz(P, Q):
    """Return for every (p, q) the pairs of terms whose products add up to it, with the einsum rule of each."""
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


def _without(letters, chosen):
    return "".join(letter for letter in letters if letter not in chosen)


# --- where jets begin ------------------------------------------------------------------------------------------------


def inner_product(X, Z, order):
    """Return the jet of <x, z>.

    Parameters
    ----------
    X, Z : array (n, N)
        Pairs, row by row.
    order : (int, int)

    Returns
    -------
    Jet
    """
    n, N = X.shape
    terms = {(0, 0): np.einsum("na,na->n", X, Z), (1, 0): Z, (0, 1): X, (1, 1): np.broadcast_to(np.eye(N), (n, N, N))}
    return Jet((n, N), order, _within(order, terms))


def squared_distance(X, Z, order):
    """Return the jet of |x - z|^2.

    Parameters
    ----------
    X, Z : array (n, N)
        Pairs, row by row.
    order : (int, int)

    Returns
    -------
    Jet
    """
    n, N = X.shape
    W = X - Z
    twice = np.broadcast_to(2 * np.eye(N), (n, N, N))
    terms = {(0, 0): np.einsum("na,na->n", W, W), (2, 0): twice, (1, 1): -twice, (0, 2): twice}
    if W.any():
        terms |= {(1, 0): 2 * W, (0, 1): -2 * W}
    return Jet((n, N), order, _within(order, terms))


def of_one_point(derivatives, shape, order, argument):
    """Return the jet of a function c(x) of the first point, or c(z) of the second.

    Parameters
    ----------
    derivatives : list of array
        c (n,), its gradient (n, N), its second derivatives (n, N, N), ...; those beyond the order are left out.
    shape : (int, int)
        n and N.
    order : (int, int)
    argument : {0, 1}
        Whether c is taken of x or of z.

    Returns
    -------
    Jet
    """
    keys = [(j, 0) if argument == 0 else (0, j) for j in range(len(derivatives))]
    return Jet(shape, order, _within(order, dict(zip(keys, derivatives, strict=True))))


def on_diagonal(jet, order):
    r"""Return the derivatives of h(x) = k(x, x), of which both arguments move.

    .. math:: \partial_{a_1} \cdots \partial_{a_m} h = \sum_{S} T^{(|S|, m - |S|)}, \quad S \subseteq \{a_1 \dots a_m\}

    Parameters
    ----------
    jet : Jet
        At pairs (x, x), of order (m, m) at least.
    order : int

    Returns
    -------
    list of array
        h (n,), its gradient (n, N), ..., the order-th derivatives.
    """
    return [
        sum(
            np.einsum(f"n{''.join(S)}{_without(_IN_X[:m], S)}->n{_IN_X[:m]}", jet.term(len(S), m - len(S)))
            for S in _subsets(_IN_X[:m])
        )
        for m in range(order + 1)
    ]


def _within(order, terms):
    return {key: value for key, value in terms.items() if key[0] <= order[0] and key[1] <= order[1]}
