"""Exhaustive: the best subset of a naive search, sizes up to a tolerance, and the number of subsets."""

from itertools import combinations

import numpy as np
import pytest
from tests.reduction.test_greedy import least_error
from tests.reduction.test_greedy import problem as random_terms

import mercer as mc
from mercer.reduction.subset import Exhaustive, best_subset


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("m", [1, 3])
def test_the_set_is_that_of_a_naive_search(m, dtype, global_random_seed):
    kernel, X, coef = random_terms(global_random_seed, n=9, m=m, gamma=0.7)
    X, coef = X.astype(dtype), coef.astype(dtype)
    K, psi = kernel(X.astype(np.float64)), mc.Expansion(kernel, X, coef)
    total = np.einsum("ij,ij->", coef, K @ coef)
    for size in range(1, 9):
        answer = mc.reduce(psi, size, method=Exhaustive())
        best = min(combinations(range(9), size), key=lambda rows: least_error(K, coef, rows))
        rows = [
            int(np.flatnonzero((point == X).all(axis=1))[0]) for point in answer.expansion.points
        ]
        assert least_error(K, coef, rows) <= least_error(K, coef, best) + 1e-12 * total
        assert answer.history[-1] ** 2 * total == pytest.approx(
            least_error(K, coef, best), rel=1e-5, abs=1e-12 * total
        )
        assert answer.expansion.points.dtype == dtype


def test_no_other_selection_is_nearer(global_random_seed):
    kernel, X, coef = random_terms(global_random_seed, n=14, m=2)
    psi = mc.Expansion(kernel, X, coef)
    least = mc.reduce(psi, 5, method=Exhaustive()).history[-1]
    for method in ("greedy", "eigenvector", "l1", "max_norm", "pivoted"):
        assert least <= mc.reduce(psi, 5, method=method).history[-1] * (1 + 1e-9)


def test_equal_points_and_dependent_features_are_no_gain():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.1], [1.0, 0.0]])
    psi = mc.Expansion(mc.Linear(), X, np.ones((4, 1)))
    answer = mc.reduce(psi, 2, method=Exhaustive())
    np.testing.assert_array_equal(answer.expansion.points, X[[0, 2]])
    assert answer.relative_error < 1e-7


def test_the_points_of_the_set_keep_their_order():
    rng = np.random.default_rng(0)
    for _ in range(10):
        psi = mc.Expansion(mc.Gaussian(0.5), np.arange(9.0)[:, None], rng.normal(size=(9, 1)))
        points = mc.reduce(psi, 4, method=Exhaustive()).expansion.points
        assert (np.diff(points, axis=0) > 0).all()


def test_a_set_larger_than_the_rank_is_no_further_than_one_of_the_rank():
    rng = np.random.default_rng(3)
    psi = mc.Expansion(mc.Gaussian(0.1), rng.normal(size=(35, 1)), rng.normal(size=(35, 2)))
    answer = mc.reduce(psi, 34, method=Exhaustive())
    expected = mc.reduce(psi, 34, method="greedy")
    assert answer.relative_error.max() <= expected.relative_error.max() + 1e-6


def test_of_many_subsets_the_same_is_found_as_by_differences_of_projections(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    factor, vectors = rng.normal(size=(10, 6)), rng.normal(size=(6, 2))
    captured = {}
    for rows in combinations(range(10), 4):
        Q, _ = np.linalg.qr(factor[list(rows)].T)
        captured[rows] = np.sum((Q.T @ vectors) ** 2)
    assert tuple(best_subset(factor, vectors, 4)) == max(captured, key=captured.get)


def test_the_smallest_size_within_a_tolerance_is_found(global_random_seed):
    kernel, X, coef = random_terms(global_random_seed, n=10, m=1)
    psi = mc.Expansion(kernel, X, coef)
    answer = mc.reduce(psi, tol=0.2, method=Exhaustive())
    size = len(answer.expansion.points)
    assert answer.relative_error <= 0.2
    assert answer.sizes.tolist() == list(range(1, size + 1))
    assert mc.reduce(psi, size - 1, method=Exhaustive()).relative_error > 0.2 if size > 1 else True


def test_strings_are_searched_too():
    words = ["aab", "aba", "bbb", "abab", "bb"]
    psi = mc.Expansion(mc.strings.Spectrum(1), words, np.array([[1.0], [0.5], [2.0], [0.1], [0.2]]))
    # counts of two letters span two dimensions
    assert mc.reduce(psi, 2, method=Exhaustive()).relative_error < 1e-7


def test_too_many_subsets_are_refused_with_their_number():
    kernel, X, coef = random_terms(0, n=30, m=1)
    psi = mc.Expansion(kernel, X, coef)
    with pytest.raises(
        ValueError,
        match=r"n_vectors = 10 of 30 points gives 30045015 subsets, more than limit = 1000000.0",
    ):
        mc.reduce(psi, 10, method=Exhaustive())
    with pytest.raises(
        ValueError, match="n_vectors = 2 of 30 points gives 435 subsets, more than limit = 434"
    ):
        mc.reduce(psi, 2, method=Exhaustive(limit=434))
    assert len(mc.reduce(psi, 2, method=Exhaustive(limit=435)).expansion.points) == 2
    with pytest.raises(ValueError, match="limit = 0 must be above 0"):
        Exhaustive(limit=0)
    with pytest.raises(MemoryError):
        mc.reduce(psi, 2, method=Exhaustive(memory="1KB"))


def test_an_indefinite_matrix_is_refused():
    psi = mc.Expansion(
        mc.Precomputed(np.array([[1.0, 2.0], [2.0, 1.0]])), np.arange(2), np.ones((2, 1))
    )
    with pytest.raises(ValueError, match="indefinite"):
        mc.reduce(psi, 1, method=Exhaustive())
