"""Weights by alignment are the exact minimum of their quadratic programme; a weighted sum is an ordinary kernel."""

import itertools

import numpy as np
import pytest

import mercer as mc
from mercer.learning.candidates import aligned_weights, weighted_sum


def programme(seed, p=5, rank=8):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(rank, p)) + 0.5
    return F.T @ F, F.T @ rng.normal(size=rank)


def oracle(M, a):
    """Return the minimum over all sets of positive weights."""
    best, p = (0.0, np.zeros(len(a))), len(a)
    for size in range(1, p + 1):
        for used in map(list, itertools.combinations(range(p), size)):
            v = np.zeros(p)
            v[used] = np.linalg.solve(M[np.ix_(used, used)], a[used])
            if (v >= 0).all():
                best = min(best, (v @ M @ v - 2 * v @ a, v), key=lambda pair: pair[0])
    return best[1]


@pytest.mark.parametrize("seed", range(6))
def test_the_weights_are_those_of_all_active_sets(seed):
    M, a = programme(seed)
    np.testing.assert_allclose(aligned_weights(M, a), oracle(M, a), rtol=1e-5, atol=1e-6)


def test_scaled_and_permuted_kernels_have_scaled_and_permuted_weights(global_random_seed):
    M, a = programme(global_random_seed)
    v, scale, order = (
        aligned_weights(M, a),
        np.array([1e-4, 1.0, 3.0, 1e5, 0.2]),
        np.array([3, 0, 4, 1, 2]),
    )
    np.testing.assert_allclose(
        aligned_weights(M * np.outer(scale, scale), a * scale) * scale, v, rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(
        aligned_weights(M[np.ix_(order, order)], a[order]), v[order], rtol=1e-6, atol=1e-9
    )


def test_equal_kernels_share_their_weight():
    M, a = programme(1)
    twice = np.array([0, 1, 2, 3, 4, 0])
    v, alone = aligned_weights(M[np.ix_(twice, twice)], a[twice]), aligned_weights(M, a)
    assert v[0] == pytest.approx(v[5], rel=1e-5)
    np.testing.assert_allclose(np.append(v[0] + v[5], v[1:5]), alone, rtol=1e-5, atol=1e-7)


def test_no_kernel_that_disagrees_gets_a_weight():
    np.testing.assert_array_equal(aligned_weights(np.eye(2), np.array([1.0, -1.0]))[1:], [0.0])


def test_the_sum_has_the_weighted_values_and_drops_kernels_of_weight_0():
    X = np.random.default_rng(0).normal(size=(6, 2))
    kernels = [mc.Gaussian(1.0), mc.Linear(), mc.Polynomial(2)]
    kernel = weighted_sum(kernels, np.array([2.0, 0.0, 0.5]))
    assert kernel == 2.0 * kernels[0] + 0.5 * kernels[2]
    np.testing.assert_allclose(kernel(X), 2 * kernels[0](X) + 0.5 * kernels[2](X))
