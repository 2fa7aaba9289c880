"""Random Fourier features: unbiased, within what chance allows, orthogonal ones nearer."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.maps import random_fourier

KERNELS = [
    mc.Gaussian(0.3),
    mc.Laplacian(0.4),
    mc.Matern(1.5, 0.5),
    mc.Matern(1.5, 1.5),
    mc.Matern(1.5, 2.5),
]


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((12, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_dot_products_are_within_chance_of_kernel_values(points, kernel, global_random_seed):
    m = 40_000
    Z = random_fourier(kernel, 3, m, random_state=global_random_seed)(points)
    # Hoeffding: one of 66 pairs deviates by more with probability 1e-9
    assert np.abs(Z @ Z.T - kernel(points)).max() < np.sqrt(2 * np.log(2 * 66 / 1e-9) / m)
    np.testing.assert_allclose(np.sum(Z**2, axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if not isinstance(kernel, mc.Laplacian)], ids=repr)
def test_orthogonal_frequencies_have_less_error_and_no_bias(points, kernel):
    errors = {}
    for orthogonal in (False, True):
        draws = [random_fourier(kernel, 3, 6, orthogonal=orthogonal, random_state=seed)(points) for seed in range(400)]
        gaps = np.array([Z @ Z.T - kernel(points) for Z in draws])
        errors[orthogonal] = np.sqrt(np.mean(gaps**2))
        assert np.abs(gaps.mean(axis=0)).max() < 6 * np.sqrt(1 / 6 / 400)
    assert errors[True] < 0.97 * errors[False]


def test_orthogonal_frequencies_are_orthogonal_in_groups_of_the_dimension():
    W = random_fourier(mc.Gaussian(0.3), 5, 12, orthogonal=True).frequencies
    assert W.shape == (5, 12)
    for group in (W[:, :5], W[:, 5:10], W[:, 10:]):
        gram = group.T @ group
        np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-12)


def test_a_seed_gives_the_same_features_and_types_stay(points):
    for orthogonal in (False, True):
        first, again = (random_fourier(mc.Gaussian(0.3), 3, 7, orthogonal=orthogonal)(points) for _ in range(2))
        assert (first == again).all()
    features = random_fourier(mc.Gaussian(0.3), 3, 7)
    assert features(points.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(features(sp.csr_matrix(points)), features(points), atol=1e-12)


def test_what_has_no_features_is_refused(points):
    with pytest.raises(TypeError, match="no spectral density is known for Polynomial"):
        random_fourier(mc.Polynomial(), 3, 5)
    with pytest.raises(TypeError, match="Laplacian"):
        random_fourier(mc.Laplacian(1.0), 3, 5, orthogonal=True)
    with pytest.raises(ValueError, match="not resolved"):
        random_fourier(mc.Gaussian(), 3, 5)
    with pytest.raises(ValueError, match="X has 3 features, but the frequencies are for 4"):
        random_fourier(mc.Gaussian(1.0), 4, 5)(points)
    with pytest.raises(ValueError, match="m = 0"):
        random_fourier(mc.Gaussian(1.0), 4, 0)
