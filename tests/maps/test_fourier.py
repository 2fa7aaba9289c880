"""Random Fourier features: unbiased, with the error that sampling allows; orthogonal frequencies have less."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import mercer as mc
from mercer.maps import FourierFeatures, random_fourier

KERNELS = [
    mc.Gaussian(0.3),
    mc.Laplacian(0.4),
    mc.Matern(1.5, 0.5),
    mc.Matern(1.5, 1.5),
    mc.Matern(1.5, 2.5),
    mc.Cauchy(0.6),
    mc.RationalQuadratic(0.9, 0.7),
]


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((12, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_dot_products_have_the_error_that_sampling_allows(points, kernel, global_random_seed):
    m = 40_000
    Z = random_fourier(kernel, 3, m, random_state=global_random_seed)(points)
    # Hoeffding: one of 66 pairs deviates by more with probability 1e-9
    assert np.abs(Z @ Z.T - kernel(points)).max() < np.sqrt(2 * np.log(2 * 66 / 1e-9) / m)
    np.testing.assert_allclose(np.sum(Z**2, axis=1), 1, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [kernel for kernel in KERNELS if not isinstance(kernel, mc.Laplacian)], ids=repr
)
def test_orthogonal_frequencies_have_less_error_and_no_bias(points, kernel):
    errors = {}
    for orthogonal in (False, True):
        draws = [
            random_fourier(kernel, 3, 6, orthogonal=orthogonal, random_state=seed)(points)
            for seed in range(400)
        ]
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
        first, again = (
            random_fourier(mc.Gaussian(0.3), 3, 7, orthogonal=orthogonal)(points) for _ in range(2)
        )
        assert (first == again).all()
    features = random_fourier(mc.Gaussian(0.3), 3, 7)
    assert features(points.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(features(sp.csr_matrix(points)), features(points), atol=1e-12)


def test_kernels_without_a_spectral_density_and_invalid_arguments_are_refused(points):
    with pytest.raises(
        TypeError, match="kernel must be Gaussian, .* or RationalQuadratic, .* got Polynomial"
    ):
        random_fourier(mc.Polynomial(), 3, 5)
    with pytest.raises(TypeError, match="Laplacian"):
        random_fourier(mc.Laplacian(1.0), 3, 5, orthogonal=True)
    with pytest.raises(ValueError, match="not resolved"):
        random_fourier(mc.Gaussian(), 3, 5)
    with pytest.raises(ValueError, match="X must have 4 features, as the frequencies have; got 3"):
        random_fourier(mc.Gaussian(1.0), 4, 5)(points)
    with pytest.raises(ValueError, match="m = 0"):
        random_fourier(mc.Gaussian(1.0), 4, 0)


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize(
    ("kernel", "variance"),
    [
        (mc.Gaussian(0.3), 0.6),
        (mc.Gaussian(2.0), 4.0),
        (mc.Matern(1.0, 2.5), 5 / 3),
        (mc.Matern(2.0, 2.5), 5 / 12),
    ],
    ids=repr,
)
def test_the_variance_of_frequencies_is_that_of_the_spectral_density(kernel, variance, orthogonal):
    """2 gamma of the normal, nu / (nu - 1) / length^2 of the t density with 2 nu degrees of freedom."""
    W = random_fourier(kernel, 3, 20_000, orthogonal=orthogonal, random_state=0).frequencies
    np.testing.assert_allclose(np.mean(W**2, axis=1), variance, rtol=0.05)
    np.testing.assert_allclose(np.mean(W, axis=1), 0, atol=0.03 * variance**0.5)


@pytest.mark.parametrize(
    ("kernel", "quartile"),
    [
        (mc.Laplacian(0.4), 0.4),
        (mc.Laplacian(3.0), 3.0),
        (mc.Matern(2.0, 0.5), 0.5),
        (mc.Matern(1.0, 1.5), stats.t(3).ppf(0.75)),
        (mc.Matern(2.0, 2.5), stats.t(5).ppf(0.75) / 2),
    ],
    ids=repr,
)
def test_the_quartiles_of_frequencies_are_those_of_the_cauchy_and_t_densities(kernel, quartile):
    W = random_fourier(kernel, 2, 200_000, random_state=0).frequencies
    np.testing.assert_allclose(
        np.percentile(W, [25, 50, 75], axis=1)[:, 0] / quartile, [-1, 0, 1], atol=0.03
    )


def test_features_are_cosines_and_then_sines_over_the_root_of_their_number(points):
    W = np.random.default_rng(1).standard_normal((3, 4))
    expected = np.hstack([np.cos(points @ W), np.sin(points @ W)]) / 2
    np.testing.assert_allclose(FourierFeatures(W)(points), expected, atol=1e-15)


A = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 2.0]])
COMPOSITE = [
    2 * mc.Gaussian(0.3),
    mc.Gaussian(0.3) + 3 * mc.Matern(1.5) + 0.5,
    mc.Gaussian(0.1) * mc.Laplacian(0.2),
    (0.5 * mc.Matern(2.0)) ** 3,
    mc.Normalized(3 * mc.Gaussian(0.3)),
    2 * mc.Mapped(mc.Matern(1.5), A),
    mc.Mapped(mc.Gaussian(0.3), np.array([2, 0])),
]


@pytest.mark.parametrize("kernel", COMPOSITE, ids=repr)
def test_multiples_sums_products_and_mapped_kernels_have_the_error_that_sampling_allows(
    points, kernel, global_random_seed
):
    m, variance = 40_000, kernel.diag(points)[0]
    Z = random_fourier(kernel, 3, m, random_state=global_random_seed)(points)
    bound = variance * np.sqrt(2 * np.log(2 * 66 / 1e-9) / m)
    assert np.abs(Z @ Z.T - kernel(points)).max() < bound
    np.testing.assert_allclose(np.sum(Z**2, axis=1), variance, rtol=1e-12)


def test_sums_with_other_kernels_are_refused():
    for kernel in (mc.Gaussian(1.0) + mc.Linear(), 2 * mc.Linear(), mc.Exp(mc.Gaussian(1.0))):
        with pytest.raises(
            TypeError, match="whose spectral density is known, or made of such kernels; got"
        ):
            random_fourier(kernel, 3, 5)


def test_frequencies_beyond_the_memory_are_refused_before_they_are_drawn():
    with pytest.raises(
        MemoryError,
        match="m = 1000000000 frequencies of n_features_in = 3 features needs 64.0 GB, the memory budget is 1.0 GB",
    ):
        random_fourier(mc.Gaussian(1.0), 3, 10**9)
    with pytest.raises(MemoryError, match="m = 100 frequencies"):
        random_fourier(mc.Gaussian(1.0), 3, 100, memory=100)


def test_a_map_must_take_the_points():
    for A, message in (
        (np.array([5]), "A = .5. must be columns of points"),
        (np.eye(2), "A must have 3 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            random_fourier(mc.Mapped(mc.Gaussian(1.0), A), 3, 4)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_float32_points_far_from_the_origin_keep_their_phases(points, offset):
    X = (points + offset).astype(np.float32)
    features = random_fourier(mc.Gaussian(0.3), 3, 50, random_state=0)
    found = features(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, features(X.astype(float)), atol=1e-7)
    np.testing.assert_array_equal(features(sp.csr_matrix(X)).dtype, np.float32)


def test_frequencies_may_be_a_list_and_must_be_finite():
    X = np.array([[0.25], [1.0]])
    expected = mc.maps.FourierFeatures(np.array([[np.pi]]))(X)
    np.testing.assert_array_equal(mc.maps.FourierFeatures([[np.pi]])(X), expected)
    with pytest.raises(ValueError, match=r"frequencies\[0, 1\] = nan must be finite"):
        mc.maps.FourierFeatures([[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"shape \(d, m\), .* got \(2,\)"):
        mc.maps.FourierFeatures([1.0, 2.0])
    with pytest.raises(ValueError, match="variance = -1"):
        mc.maps.FourierFeatures([[1.0]], -1.0)
