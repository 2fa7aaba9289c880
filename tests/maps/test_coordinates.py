"""Coordinates: the lemmas of the nonlinear projection trick, and the slides' example of seven points."""

import numpy as np
import pytest

import mercer as mc
from mercer import landmarks
from mercer.maps import Coordinates, onto_landmarks, project_on, spectral, triangular, whitened

SEVEN = np.array(
    [
        [0.20782, -0.68771],
        [-0.11909, 0.71324],
        [-0.60076, -0.33976],
        [0.44429, 0.08418],
        [-0.22322, -0.25096],
        [-0.04245, 0.31526],
        [0.12753, -0.12563],
    ]
)
SEVEN_GRAM = np.array(
    [
        [1.0000, 0.8131, 0.9254, 0.9369, 0.9630, 0.8987, 0.9683],
        [0.8131, 1.0000, 0.8745, 0.9312, 0.9102, 0.9837, 0.9264],
        [0.9254, 0.8745, 1.0000, 0.8806, 0.9851, 0.9286, 0.9440],
        [0.9369, 0.9312, 0.8806, 1.0000, 0.9457, 0.9714, 0.9857],
        [0.9630, 0.9102, 0.9851, 0.9457, 1.0000, 0.9653, 0.9862],
        [0.8987, 0.9837, 0.9286, 0.9714, 0.9653, 1.0000, 0.9779],
        [0.9683, 0.9264, 0.9440, 0.9857, 0.9862, 0.9779, 1.0000],
    ]
)
SEVEN_VECTORS = np.array(
    [
        [-0.3709, 0.5499, 0.3392, 0.6302, 0.0992],
        [-0.3670, -0.6596, -0.1679, 0.5164, 0.1935],
        [-0.3727, 0.3007, -0.6704, -0.2199, 0.4635],
        [-0.3792, -0.1411, 0.5603, -0.4709, 0.4938],
        [-0.3851, 0.2036, -0.2248, -0.1177, -0.4363],
        [-0.3834, -0.3259, -0.0477, -0.0971, -0.3677],
        [-0.3870, 0.0673, 0.2016, -0.2071, -0.4104],
    ]
)
SEVEN_MAPPED = np.array(
    [
        [-0.9551, -0.9451, -0.9597, -0.9765, -0.9917, -0.9872, -0.9966],
        [0.2655, -0.3184, 0.1452, -0.0681, 0.0983, -0.1573, 0.0325],
        [0.1210, -0.0599, -0.2391, 0.1998, -0.0802, -0.0170, 0.0719],
        [0.0511, 0.0419, -0.0178, -0.0382, -0.0095, -0.0079, -0.0168],
        [0.0040, 0.0077, 0.0185, 0.0197, -0.0174, -0.0146, -0.0163],
        [-0.0011, 0.0018, -0.0009, 0.0006, 0.0032, -0.0045, 0.0010],
        [-0.0002, 0.0004, 0.0007, -0.0008, -0.0020, -0.0008, 0.0028],
    ]
)


def signed(columns, reference):
    """Return columns with the signs of a reference."""
    return columns * np.sign(np.sum(columns * reference, axis=0))


def test_seven_points_have_the_gram_matrix_eigenvectors_and_mapped_points_of_the_slides():
    phi = mc.features(mc.Gaussian(0.1), SEVEN)
    mapped = spectral(phi, centre=False)(SEVEN)
    np.testing.assert_allclose(mc.Gaussian(0.1)(SEVEN), SEVEN_GRAM, atol=1e-4)
    values = np.sum(mapped**2, axis=0)
    np.testing.assert_allclose(values[:5], [6.6315, 0.2331, 0.1272, 0.0066, 0.0016], atol=1e-4)
    np.testing.assert_allclose(signed(mapped, SEVEN_MAPPED.T), SEVEN_MAPPED.T, atol=1e-4)
    vectors = (mapped / np.sqrt(values))[:, :5]
    np.testing.assert_allclose(signed(vectors, SEVEN_VECTORS), SEVEN_VECTORS, atol=5e-3)
    np.testing.assert_allclose(
        signed(vectors, SEVEN_VECTORS)[:, :3], SEVEN_VECTORS[:, :3], atol=2e-4
    )


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((40, 3))


@pytest.mark.parametrize("centre", [True, False])
def test_axes_are_orthonormal_and_training_points_have_no_residual(points, centre):
    phi = mc.features(mc.Gaussian(0.8), points)
    for record in (
        spectral(phi, centre),
        triangular(phi, centre),
        onto_landmarks(phi, phi, centre),
        onto_landmarks(mc.features(mc.Gaussian(0.8), points[::-1].copy()), phi, centre),
    ):
        r = len(record.basis)
        assert r == (39 if centre else 40)
        np.testing.assert_allclose(record.basis.inner(record.basis), np.eye(r), atol=1e-9)
        assert record.residual(points).max() < 1e-6
        np.testing.assert_allclose(
            record.intercept, -record.origin.inner(record.basis)[0], atol=1e-12
        )
        assert record.square == pytest.approx(float(record.origin.norms()[0]) ** 2, abs=1e-12)


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("gamma", [0.5, 0.05, 1e-3])
def test_distances_of_new_points_hold_however_fast_the_spectrum_decays(
    gamma, centre, global_random_seed
):
    """Eigenvectors of eigenvalues near rounding have coordinates too, which must not be noise."""
    X = np.random.default_rng(global_random_seed).standard_normal((200, 3))
    new, kernel = X[:40] + 0.3, mc.Gaussian(gamma)
    phi = mc.features(kernel, X)
    expected = mc.sqdist(mc.features(kernel, new), phi)
    for record in (spectral(phi, centre), whitened(phi, centre), onto_landmarks(phi, phi, centre)):
        Y, Z = record(new), record(X)
        ours = np.sum((Y[:, None] - Z) ** 2, axis=2) + record.residual(new)[:, None] ** 2
        np.testing.assert_allclose(ours, expected, atol=1e-8)
    if centre:
        sums = np.abs(spectral(phi).basis.coef.sum(axis=0))
        assert (sums <= 1e-12 * np.abs(spectral(phi).basis.coef).sum(axis=0)).all()


@pytest.mark.parametrize("centre", [True, False])
def test_cholesky_coordinates_are_a_rotation_of_the_spectral_ones(points, centre):
    phi = mc.features(mc.Gaussian(0.8), points)
    Y, T = spectral(phi, centre)(points), triangular(phi, centre)(points)
    np.testing.assert_allclose(T @ T.T, Y @ Y.T, atol=1e-10)
    new = points + 0.4
    Y, T = spectral(phi, centre)(new), triangular(phi, centre)(new)
    np.testing.assert_allclose(T @ T.T, Y @ Y.T, atol=1e-9)


def test_cholesky_coordinates_are_triangular_in_the_order_chosen(points):
    T = triangular(mc.features(mc.Gaussian(0.8), points), centre=False)(points)
    order = landmarks.greedy(mc.Gaussian(0.8), points, 40)
    np.testing.assert_allclose(np.triu(T[order], 1), 0, atol=1e-10)
    assert (np.diagonal(T[order]) > 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_coordinates_without_pivots_are_the_triangular_factor_of_the_kernel_matrix(
    dtype, global_random_seed
):
    X = np.random.default_rng(global_random_seed).normal(size=(30, 4)).astype(dtype)
    phi = mc.features(mc.Gaussian(0.8), X)
    factor = np.linalg.cholesky(mc.Gaussian(0.8)(X.astype(float)))
    error = 1e-12 if dtype == np.float64 else 1e-4
    Y = triangular(phi, False, pivot=False)(X)
    assert Y.dtype == dtype
    np.testing.assert_allclose(Y, factor, atol=error)
    # vectors that are dependent on those before add no axis: a copy of each, and the last of centred ones
    twice = mc.features(mc.Gaussian(0.8), np.repeat(X, 2, axis=0))
    np.testing.assert_allclose(triangular(twice, False, pivot=False)(X), factor, atol=error)
    H = np.eye(30) - 1 / 30
    centred = H @ mc.Gaussian(0.8)(X.astype(float)) @ H
    Y = triangular(phi, pivot=False)(X)
    assert Y.shape == (30, 29)
    np.testing.assert_allclose(Y[:29], np.linalg.cholesky(centred[:29, :29]), atol=100 * error)
    np.testing.assert_allclose(Y @ Y.T, centred, atol=100 * error)


def test_inner_products_of_vectors_of_the_span_are_dot_products_of_their_coordinates(
    points, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    phi = mc.features(mc.Gaussian(0.8), points)
    f, g = phi @ rng.standard_normal((40, 2)), phi @ rng.standard_normal((40, 3))
    for record in (spectral(phi, False), triangular(phi, False), onto_landmarks(phi, phi, False)):
        expected = f.inner(g)
        np.testing.assert_allclose(
            record.of(f) @ record.of(g).T, expected, atol=1e-10 * np.abs(expected).max()
        )


def test_coordinates_of_a_vector_are_training_coordinates_times_coefficients(points):
    """Lemma 6: w = Phi alpha has coordinates Y alpha, and its values are dot products with them."""
    phi = mc.features(mc.Gaussian(0.8), points)
    record = spectral(phi)
    Y = record(points)
    alpha = np.linspace(-1, 1, 40)
    alpha -= alpha.mean()
    w = phi @ alpha
    np.testing.assert_allclose(record.of(w)[0], alpha @ Y, atol=1e-9)
    new = points[:5] + 0.3
    np.testing.assert_allclose(
        record(new) @ record.of(w)[0], w(new)[:, 0] - w.inner(record.origin)[0], atol=1e-9
    )


def test_the_projection_on_a_vector_is_that_of_feature_space(points):
    """Corollary 7, against projection of expansions."""
    phi = mc.features(mc.Gaussian(0.8), points)
    record, w = spectral(phi, centre=False), phi @ np.linspace(-1, 1, 40)
    beta = record.of(w)[0]
    gamma = project_on(record(points[:4]), beta)
    expected = mc.project(mc.features(mc.Gaussian(0.8), points[:4]), w)
    zero = mc.sqdist(record.vectors(gamma), expected, paired=True)
    assert zero.max() < 1e-12
    np.testing.assert_allclose(project_on(gamma, 7 * beta), gamma, atol=1e-12)
    with pytest.raises(ValueError, match="beta must not be 0"):
        project_on(gamma, 0 * beta)
    with pytest.raises(ValueError, match=r"Y must have shape \(n, 3\)"):
        project_on(gamma, np.ones(3))


def test_vectors_and_coordinates_are_inverse(points):
    phi = mc.features(mc.Gaussian(0.8), points)
    for record in (
        spectral(phi),
        triangular(phi),
        onto_landmarks(mc.features(mc.Gaussian(0.8), points[:9]), phi),
    ):
        Y = np.random.default_rng(0).standard_normal((4, len(record.basis)))
        np.testing.assert_allclose(record.of(record.vectors(Y) - record.origin), Y, atol=1e-8)
        with pytest.raises(ValueError, match="Y must have shape"):
            record.vectors(np.column_stack([Y, Y[:, 0]]))
        few = Y * (np.arange(Y.shape[1]) < 2)
        np.testing.assert_allclose(
            record.vectors(Y[:, :2])(points), record.vectors(few)(points), atol=1e-12
        )


def test_preimages_in_blocks_are_those_at_once_and_searches_start_where_they_are_told(
    points, limits
):
    record = spectral(mc.features(mc.Gaussian(0.8), points))
    # so near that the span nearly contains their feature vectors
    start = points[:7] + 0.05
    Y = record(start)
    whole = record.preimages(Y, "fixed_point", start)
    np.testing.assert_allclose(whole, start, atol=0.1)
    limits(preimages=3)
    np.testing.assert_allclose(record.preimages(Y, "fixed_point", start), whole, atol=1e-8)
    expected = mc.preimage(record.vectors(Y), "fixed_point").points
    np.testing.assert_allclose(record.preimages(Y, "fixed_point"), expected, atol=1e-6)


def test_whitened_coordinates_have_the_vectors_and_residuals_of_plain_ones(points):
    plain = spectral(mc.features(mc.Gaussian(0.8), points))
    s = np.linspace(0.5, 2, len(plain.basis))
    whitened_ones = Coordinates(plain.basis / s, plain.origin, plain.intercept / s, variances=s**2)
    new = points[:5] + 0.3
    np.testing.assert_allclose(whitened_ones(new), plain(new) / s, atol=1e-9)
    assert (
        mc.sqdist(
            whitened_ones.vectors(plain(new) / s), plain.vectors(plain(new)), paired=True
        ).max()
        < 1e-12
    )
    np.testing.assert_allclose(whitened_ones.residual(new), plain.residual(new), atol=1e-9)


def test_too_large_a_matrix_and_bad_tolerances_are_refused(points):
    phi = mc.features(mc.Gaussian(0.8), points)
    with pytest.raises(MemoryError, match="kernel matrix of 40 points needs 12.8 kB.*landmarks"):
        spectral(phi, memory=100)
    for tol, error in ((-1.0, ValueError), (1.0, ValueError), ("small", TypeError)):
        with pytest.raises(error, match="tol"):
            spectral(phi, tol=tol)


@pytest.mark.parametrize(("tol", "axes"), [(0.009, 2), (0.011, 1)])
def test_tol_is_a_share_of_the_largest_eigenvalue_or_squared_norm(tol, axes):
    phi = mc.features(mc.Linear(), np.diag([1.0, 0.1]))
    assert len(spectral(phi, False, tol=tol).basis) == axes
    assert len(triangular(phi, False, tol=tol).basis) == axes


def test_the_residual_of_a_point_is_its_distance_to_the_affine_subspace():
    X = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0]])
    for record in (spectral(mc.features(mc.Linear(), X)), triangular(mc.features(mc.Linear(), X))):
        np.testing.assert_allclose(record.residual(np.array([[7.0, 3.0, 5.0]])), 5.0)
        np.testing.assert_allclose(record(np.array([[7.0, 3.0, 5.0]])) ** 2, 36.0)


def test_the_matrix_of_all_points_keeps_to_the_budget(points):
    phi = mc.features(mc.Gaussian(0.8), points)
    for make in (spectral, triangular, whitened):
        assert len(make(phi, True, memory=8 * 40 * 40).basis) > 0
        with pytest.raises(MemoryError):
            make(phi, True, memory=8 * 40 * 40 - 1)


@pytest.mark.parametrize(
    "bad", [[1.0, np.inf], [1.0, "a"], [1j, 1.0], np.array(["2020", "2021"], "M8[Y]")]
)
def test_a_line_needs_finite_real_numbers(bad):
    with pytest.raises((TypeError, ValueError), match="beta"):
        mc.maps.project_on(np.ones((3, 2)), bad)
    with pytest.raises((TypeError, ValueError), match="Y"):
        mc.maps.project_on([bad, bad], np.ones(2))


def test_points_far_from_the_origin_have_orthonormal_axes_or_none(global_random_seed):
    # rounding of k(x, x) is 0.4 n in float32
    X = np.random.default_rng(global_random_seed).normal(size=(6, 3)) + 1000
    with pytest.raises(ValueError, match="no variance: the 6 vectors are equal up to rounding"):
        triangular(mc.features(mc.Linear(), X.astype(np.float32)))
    for place in (1e2, 1e4, 1e6):
        found = triangular(mc.features(mc.Linear(), X + place))
        np.testing.assert_allclose(
            found.basis.inner(found.basis), np.eye(len(found.basis)), atol=0.1
        )
    assert len(triangular(mc.features(mc.Linear(), X), tol=0.5).basis) < 3
