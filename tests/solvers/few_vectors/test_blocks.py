"""Blocks of rows with few vectors: values and gradients of both kinds agree."""

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.few_vectors.objective import blocks


@pytest.mark.parametrize(("vectors", "rank"), [(2, 1), (4, 1), (4, 2)])
@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.Matern(length=2.0), mc.Gaussian(0.3) + mc.Linear()], ids=repr
)
def test_values_are_those_of_the_kernel_and_gradients_differences_of_sums(
    kernel, vectors, rank, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, Z = 5 + rng.normal(size=(9, 3)), 5 + rng.normal(size=(vectors, 3))
    L, R = (rng.normal(size=(n, rank)).astype(np.float32) for n in (vectors, 9))
    W, block_of = L @ R.T, blocks(kernel, X)
    parts = [(block_of(places)(Z), R[places]) for places in (slice(4), slice(4, None))]
    np.testing.assert_allclose(
        np.hstack([K for (K, _), _ in parts]), kernel(Z, X), atol=2e-5, rtol=1e-5
    )
    move = 1e-5 * rng.normal(size=Z.shape)
    expected = np.sum(W * (np.asarray(kernel(Z + move, X)) - np.asarray(kernel(Z - move, X)))) / 2
    slope = sum(gradient(L, factor).astype(float) for (_, gradient), factor in parts)
    assert np.sum(slope * move) == pytest.approx(expected, rel=1e-3, abs=1e-9)


def test_narrow_gaussian_functions_are_exact_at_their_own_row():
    X = np.array([[1e3, 1.0], [-1e3, 1.0], [-1e3, 1.001]])
    kernel = mc.Gaussian(1e5)
    block = blocks(kernel, X)(slice(None))
    np.testing.assert_allclose(block(X)[0], kernel(X), atol=0.1)


@pytest.mark.parametrize(
    "kernel", [mc.Laplacian(0.5), mc.Matern(1.0, 1.5), 2 * mc.Gaussian(0.5)], ids=repr
)
def test_values_of_kernels_of_differences_do_not_depend_on_the_place_of_the_rows(
    kernel, global_random_seed
):
    X = np.random.default_rng(global_random_seed).normal(size=(30, 3))
    block = blocks(kernel, X + 1e7)(slice(None))
    K, _ = block(X[:4] + 1e7)
    np.testing.assert_allclose(K, kernel(X[:4], X), atol=1e-5)
