"""Jets: the rules of Leibniz and Faa di Bruno against power series and against each other."""

import numpy as np
import pytest
from tests.reference.derivatives import directional, directions

from mercer.manifold.jets import Jet, inner_product, of_one_point, on_diagonal, squared_distance


@pytest.fixture
def pairs(global_random_seed):
    return np.random.default_rng(global_random_seed).normal(size=(2, 4, 3))


def agree(left, right, rtol=1e-13):
    for p in range(left.order[0] + 1):
        for q in range(left.order[1] + 1):
            a, b = left.term(p, q), right.term(p, q)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max() + 1e-300)


def test_products_commute_and_distribute(pairs):
    s, d = inner_product(*pairs, (2, 2)), squared_distance(*pairs, (2, 2))
    agree(s * d, d * s)
    agree((s + d) * s, s * s + d * s)
    agree((s * d) * s, s * (d * s))


def test_the_distance_comes_from_inner_products(pairs):
    X, Z = pairs
    order = (2, 2)
    squares = [(Y**2).sum(axis=1) for Y in (X, Z)]
    own = [
        [square, 2 * Y, np.broadcast_to(2 * np.eye(3), (4, 3, 3))]
        for square, Y in zip(squares, (X, Z), strict=True)
    ]
    total = of_one_point(own[0], X.shape, order, 0) + of_one_point(own[1], X.shape, order, 1)
    agree(total + inner_product(X, Z, order).scaled(-2.0), squared_distance(X, Z, order))


def test_a_square_is_the_composition_with_one(pairs):
    d = squared_distance(*pairs, (2, 2))
    value = d.terms[0, 0]
    powers = [value**2, 2 * value, np.full(4, 2.0), np.zeros(4), np.zeros(4)]
    agree(d.compose(lambda j: powers[j]), d * d)


@pytest.mark.parametrize("order", [(1, 0), (1, 1), (2, 1), (2, 2), (3, 1)], ids=str)
def test_composition_gives_the_derivatives_of_a_power_series(pairs, order, global_random_seed):
    X, Z = pairs
    s = inner_product(X, Z, order)
    jet = s.compose(lambda _j: np.exp(s.terms[0, 0])) * squared_distance(X, Z, order)
    rng = np.random.default_rng(global_random_seed)
    U, V = (directions(rng, p, 3) for p in order)
    found = jet.term(*order)
    for direction in (*U, *V):
        found = np.einsum("na...,a->n...", found, direction)
    for i in range(4):
        expected = directional(_exp_times_distance, X[i], Z[i], U, V)
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-10)


def _exp_times_distance(x, z):
    return np.exp((x * z).sum(axis=-1)) * ((x - z) ** 2).sum(axis=-1)


def test_on_the_diagonal_both_arguments_move(pairs):
    X, _ = pairs
    cubes = inner_product(X, X, (2, 2))
    cubes = cubes * cubes
    value, gradient, hessian = on_diagonal(cubes, 2)
    r2 = (X**2).sum(axis=1)
    np.testing.assert_allclose(value, r2**2, rtol=1e-14)
    np.testing.assert_allclose(gradient, 4 * r2[:, None] * X, rtol=1e-14)
    expected = 4 * r2[:, None, None] * np.eye(3) + 8 * X[:, :, None] * X[:, None, :]
    np.testing.assert_allclose(hessian, expected, rtol=1e-13)


def test_a_missing_term_is_zero(pairs):
    X, _ = pairs
    distance = squared_distance(X, X, (2, 2))
    assert (1, 0) not in distance.terms
    assert not distance.term(2, 1).any()
    assert distance.term(2, 1).shape == (4, 3, 3, 3)
    # of total degree 2, so that its square is of degree 4 and its cube of none that is kept
    assert set((distance * distance).terms) - {(0, 0), (1, 1), (2, 0), (0, 2)} == {(2, 2)}


def test_composition_asks_only_for_the_derivatives_it_uses(pairs):
    X, Z = pairs
    asked = []

    def derivative(j):
        asked.append(j)
        return np.ones(4)

    squared_distance(X, X, (2, 2)).compose(derivative)
    assert asked == [0, 1, 2]
    asked.clear()
    squared_distance(X, Z, (2, 1)).compose(derivative)
    assert asked == [0, 1, 2, 3]


def test_scaling_is_by_a_number_or_by_one_per_pair(pairs):
    s = inner_product(*pairs, (1, 1))
    agree(s.scaled(3.0), s + s + s)
    factors = np.arange(4.0)
    agree(s.scaled(factors), Jet(s.shape, s.order, {(0, 0): factors}) * s)
