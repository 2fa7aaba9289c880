"""The perceptron in dual variables: the same in primal variables, its bound, averages, votes and margins."""

import itertools

import numpy as np
import pytest

import mercer as mc
from mercer.solvers import perceptron


def monomials(X):
    """Return all ordered products of two coordinates: the map whose dot product is (x.z)^2."""
    return np.array([[a * b for a, b in itertools.product(x, x)] for x in X])


def primal(F, y, passes):
    """Return the vector and the mistakes, in order, of the published algorithm 1 on explicit features, with <= 0."""
    w, mistakes = np.zeros(F.shape[1]), []
    for _ in range(passes):
        before = len(mistakes)
        for j, f in enumerate(F):
            if y[j] * (f @ w) <= 0:
                w = w + y[j] * f
                mistakes.append(j)
        if len(mistakes) == before:
            break
    return w, mistakes


@pytest.fixture
def rings(global_random_seed):
    """Return points with integer coordinates, so that both forms compute without rounding."""
    X = np.random.default_rng(global_random_seed).integers(-9, 10, (80, 2)).astype(float)
    radius = (X**2).sum(axis=1)
    X = X[(radius < 40) | (radius > 60)]
    return X, np.where((X**2 @ [1, 2]) < 75, 1.0, -1.0)


def test_primal_and_dual_make_the_same_mistakes_in_the_same_order(rings):
    X, y = rings
    w, expected = primal(monomials(X), y, 50)
    run = perceptron.learn(mc.Polynomial(2, 1.0, 0.0)(X), y, [np.arange(len(y))] * 50)
    assert run.rows.tolist() == expected
    assert len(expected) > 10
    np.testing.assert_array_equal(perceptron.final(run, len(y)) @ monomials(X), w)


def test_a_lazy_matrix_gives_the_same_mistakes(rings):
    X, y = rings
    orders = [np.arange(len(y))] * 20
    stored, lazy = (
        perceptron.learn(K, y, orders) for K in (mc.Gaussian(0.1)(X), mc.Gram(mc.Gaussian(0.1), X))
    )
    np.testing.assert_array_equal(stored.rows, lazy.rows)
    np.testing.assert_array_equal(stored.times, lazy.times)


def test_mistakes_stay_below_the_bound_of_the_largest_margin(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    normal = np.array([0.6, 0.8])
    X = rng.uniform(-1, 1, (200, 2))
    margin = 0.1
    X = X[np.abs(X @ normal) >= margin]
    y = np.sign(X @ normal)
    run = perceptron.learn(X @ X.T, y, [np.arange(len(y))] * 500)
    assert run.last == 0
    assert len(run.rows) <= (X**2).sum(axis=1).max() / margin**2


def every_vector(F, run):
    """Return the vector after each example that was presented."""
    changes = np.zeros((run.seen, F.shape[1]))
    changes[run.times] = run.signs[:, None] * F[run.rows]
    return np.cumsum(changes, axis=0)


def test_averages_and_votes_are_those_of_the_vectors_after_every_example(rings):
    X, y = rings
    F = monomials(X)
    run = perceptron.learn(F @ F.T, y, [np.arange(len(y))] * 3)
    vectors = every_vector(F, run)
    np.testing.assert_allclose(
        perceptron.averaged(run, len(y)) @ F, vectors.mean(axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(
        perceptron.votes(F @ F.T, run), np.sign(F @ vectors.T).mean(axis=1), atol=1e-12
    )


def test_two_batches_joined_are_one_pass(rings):
    X, y = rings
    K, half = mc.Polynomial(2)(X), len(y) // 2
    whole = perceptron.learn(K, y, [np.arange(len(y))])
    first = perceptron.learn(K[:half, :half], y[:half], [np.arange(half)])
    scores = K[half:, :half] @ perceptron.final(first, half)
    second = perceptron.learn(K[half:, half:], y[half:], [np.arange(len(y) - half)], scores)
    both = perceptron.joined(first, second, half)
    np.testing.assert_array_equal(both.rows, whole.rows)
    np.testing.assert_array_equal(both.times, whole.times)
    assert both.seen == whole.seen


def test_the_mistakes_averages_and_votes_of_three_points_are_those_of_a_calculation_by_hand():
    """One mistake at the first example; then w = phi(1) is right for ever: 6 examples presented, 1 mistake."""
    X, y = np.array([[1.0], [-2.0], [3.0]]), np.array([1.0, -1.0, 1.0])
    run = perceptron.learn(X @ X.T, y, [np.arange(3)] * 5)
    assert (run.rows.tolist(), run.signs.tolist(), run.times.tolist()) == ([0], [1.0], [0])
    assert (run.seen, run.n_iter, run.last) == (6, 2, 0)
    assert perceptron.final(run, 3).tolist() == [1, 0, 0]
    assert perceptron.averaged(run, 3).tolist() == [1, 0, 0]
    assert perceptron.votes(X @ X.T, run).tolist() == [1, -1, 1]
    assert perceptron.learn(X @ X.T, y, [np.arange(3)]).last == 1
    assert perceptron.learn(X @ X.T, -np.ones(3), [np.arange(3)]).last == 3
    late = perceptron.Mistakes(np.array([0, 2]), np.array([1.0, -1.0]), np.array([1, 3]), 4, 1, 2)
    assert perceptron.averaged(late, 3).tolist() == [0.75, 0, -0.25]


def test_nothing_presented_gives_vectors_and_votes_of_zero():
    run = perceptron.learn(np.eye(2), np.ones(2), [])
    assert (run.seen, run.n_iter, run.last) == (0, 0, 0)
    assert (
        perceptron.averaged(run, 2).tolist() == perceptron.votes(np.eye(2), run).tolist() == [0, 0]
    )
    run = perceptron.learn(np.eye(2), np.ones(2), [np.arange(1)])
    assert (
        perceptron.averaged(run, 2).tolist() == perceptron.votes(np.eye(2), run).tolist() == [1, 0]
    )


def test_two_runs_joined_add_up():
    first = perceptron.Mistakes(np.array([1]), np.array([1.0]), np.array([2]), 5, 1, 1)
    second = perceptron.Mistakes(np.array([0, 1]), np.array([-1.0, 1.0]), np.array([0, 4]), 7, 3, 2)
    both = perceptron.joined(first, second, 10)
    assert both.rows.tolist() == [1, 10, 11]
    assert both.signs.tolist() == [1, -1, 1]
    assert both.times.tolist() == [2, 5, 9]
    assert (both.seen, both.n_iter, both.last) == (12, 4, 2)


def test_rows_are_counted_among_the_examples_with_mistakes():
    run = perceptron.Mistakes(np.array([7, 2, 7]), np.ones(3), np.arange(3), 9, 1, 3)
    among = perceptron.among(run, np.array([2, 4, 7]))
    assert among.rows.tolist() == [2, 0, 2]
    assert among.seen == 9


def test_margins_are_smallest_distances_and_bounds_follow_from_the_largest_norm():
    points, signs = np.array([[3.0, 0.0], [0.0, 4.0], [-1.0, -1.0]]), np.array([1.0, 1.0, -1.0])
    w = mc.Expansion(mc.Linear(), np.array([[1.0, 1.0], [2.0, -2.0], [0.0, 0.0]]), np.eye(3))
    margin, bound = perceptron.margins(w, points, [signs, signs, signs])
    np.testing.assert_allclose(margin, [np.sqrt(2), -4 / np.sqrt(2), 0], rtol=1e-14)
    np.testing.assert_allclose(bound, [16 / 2, np.inf, np.inf], rtol=1e-14)
