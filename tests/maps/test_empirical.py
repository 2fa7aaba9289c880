"""The empirical kernel map, plain and whitened, also on other points than the evaluation set."""

import numpy as np
import pytest

import mercer as mc
from mercer.maps import nonsymmetric_whitening, spectral, whitened

KERNEL = mc.Gaussian(0.8)


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((40, 3))


@pytest.mark.parametrize("centre", [True, False])
def test_the_whitened_map_is_a_rotation_of_the_coordinates_with_equal_centring(points, centre):
    phi = mc.features(KERNEL, points)
    new = np.vstack([points, points + 0.4])
    W, Y = whitened(phi, centre)(new), spectral(phi, centre)(new)
    np.testing.assert_allclose(W @ W.T, Y @ Y.T, atol=1e-10)
    R = np.linalg.lstsq(Y, W, rcond=None)[0]
    np.testing.assert_allclose(R @ R.T, np.eye(Y.shape[1]), atol=1e-9)
    np.testing.assert_allclose(Y @ R, W, atol=1e-9)


def test_unequal_centring_is_no_rotation(points):
    phi = mc.features(KERNEL, points)
    W, Y = whitened(phi, centre=False)(points), spectral(phi, centre=True)(points)
    assert np.abs(W @ W.T - Y @ Y.T).max() > 1e-2


def test_the_dot_product_of_the_plain_map_satisfies_k_a_k_equals_k_on_the_evaluation_set(points):
    evaluation = points[:15]
    K, C = KERNEL(evaluation), whitened(mc.features(KERNEL, evaluation)).basis.coef
    A = C @ C.T
    np.testing.assert_allclose(K @ A @ K, K, atol=1e-12)
    plain = mc.features(KERNEL, evaluation)(points)
    W = whitened(mc.features(KERNEL, evaluation))(points)
    np.testing.assert_allclose(plain @ A @ plain.T, W @ W.T, atol=1e-11)


def test_a_singular_evaluation_set_takes_the_pseudo_inverse(points):
    Z = np.repeat(points[:6], 2, axis=0)
    W = whitened(mc.features(KERNEL, Z))
    np.testing.assert_allclose(W(Z) @ W(Z).T, KERNEL(Z), atol=1e-12)
    assert W(points).shape == (40, 12)


def test_residuals_of_the_whitened_map_are_distances_to_the_span(points):
    new = points + 0.4
    for centre in (True, False):
        W, Y = (make(mc.features(KERNEL, points), centre) for make in (whitened, spectral))
        np.testing.assert_allclose(W.residual(new), Y.residual(new), atol=1e-7)


def test_uncentred_pca_of_the_plain_map_has_the_eigenvectors_of_the_kernel_and_its_squared_eigenvalues(
    points,
):
    plain = mc.features(KERNEL, points)(points)
    left, s, _ = np.linalg.svd(plain)
    values = np.linalg.eigvalsh(plain @ plain.T)[::-1]
    spectrum = np.linalg.eigvalsh(KERNEL(points))[::-1]
    np.testing.assert_allclose(values[:20], spectrum[:20] ** 2, rtol=1e-8)
    np.testing.assert_allclose(KERNEL(points) @ left[:, 0], spectrum[0] * left[:, 0], atol=1e-11)


def test_nonsymmetric_kernels_give_the_root_of_k_transposed_k(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    for shape in ((8, 8), (5, 9), (9, 5)):
        K = rng.standard_normal(shape)
        WK = nonsymmetric_whitening(K) @ K
        np.testing.assert_allclose((WK.T @ WK) @ (WK.T @ WK), K.T @ K, atol=1e-11)
        assert np.linalg.eigvalsh(WK.T @ WK).min() > -1e-12


def test_a_symmetric_kernel_gives_the_whitened_map(points):
    expected = whitened(mc.features(KERNEL, points))(points)
    np.testing.assert_allclose(
        nonsymmetric_whitening(KERNEL(points)) @ KERNEL(points), expected, atol=1e-10
    )


def test_zero_and_bad_matrices_are_refused(points):
    with pytest.raises(ValueError, match="K must not be 0"):
        nonsymmetric_whitening(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="K contains NaN"):
        nonsymmetric_whitening(np.full((3, 3), np.nan))
    with pytest.raises(MemoryError, match="40 points"):
        whitened(mc.features(KERNEL, points), memory=100)


@pytest.mark.parametrize(("value", "inverse"), [(4e-16, 0.0), (5e-16, 5e-16**-0.5)])
def test_singular_values_below_m_eps_of_the_largest_count_as_zero(value, inverse):
    # 2 * 2^-52 = 4.4e-16
    np.testing.assert_allclose(
        nonsymmetric_whitening(np.diag([4.0, 4 * value])), np.diag([0.5, inverse / 2]), rtol=1e-12
    )
