"""Backward elimination: each vector removed is the one whose removal raises the least-squares error least."""

import numpy as np

import mercer as mc
from mercer.solvers.few_vectors.elimination import most_needed


def _error(K, F):
    A = np.column_stack([K, np.ones(len(K))])
    return np.sum((A @ np.linalg.lstsq(A, F, rcond=None)[0] - F) ** 2)


def test_each_vector_removed_is_the_one_least_missed_by_least_squares(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    K = mc.Gaussian(0.5)(rng.normal(size=(200, 3)), rng.normal(size=(9, 3)))
    F = K @ rng.normal(size=(9, 2)) + 0.3
    coef = np.linalg.lstsq(K - K.mean(axis=0), F - F.mean(axis=0), rcond=None)[0]
    left = list(range(9))
    for size in range(8, 0, -1):
        errors = [_error(K[:, [j for j in left if j != i]], F) for i in left]
        left.pop(int(np.argmin(errors)))
        np.testing.assert_array_equal(most_needed(K, coef, size), left)


def test_of_two_equal_vectors_one_goes_first(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    Z = rng.normal(size=(6, 2))
    K = mc.Gaussian(1.0)(rng.normal(size=(100, 2)), np.concatenate([Z, Z[:1]]))
    coef = np.concatenate([np.full((6, 1), 1.0), [[1.0]]])
    kept = most_needed(K, coef, 6)
    assert sum(i in kept for i in (0, 6)) == 1
    np.testing.assert_array_equal(most_needed(K, coef, 7), np.arange(7))
