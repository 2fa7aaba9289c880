"""Coordinates over landmarks: principal axes of the projections, exact where landmarks span all points."""

import numpy as np
import pytest

import mercer as mc
from mercer.distributed import InMemory
from mercer.linalg import cholesky
from mercer.maps import onto_landmarks, spectral, trace_error
from mercer.maps.landmark_pca import _from_values, moments, principal_coordinates


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((40, 3))


@pytest.mark.parametrize("centre", [True, False])
def test_all_points_as_landmarks_give_the_spectral_coordinates(points, centre):
    kernel = mc.Gaussian(0.8)
    phi, new = mc.features(kernel, points), points + 0.4
    record, expected = (
        onto_landmarks(mc.features(kernel, points[::-1].copy()), phi, centre),
        spectral(phi, centre),
    )
    Y, Z = record(new), expected(new)
    np.testing.assert_allclose(Y @ Y.T, Z @ Z.T, atol=1e-10)
    np.testing.assert_allclose(np.abs(Y[:, :5]), np.abs(Z[:, :5]), atol=1e-9)
    np.testing.assert_allclose(record.residual(new), expected.residual(new), atol=1e-8)


def test_axes_over_landmarks_are_principal_axes_of_the_projections(points):
    kernel = mc.Gaussian(0.4)
    record = onto_landmarks(mc.features(kernel, points[:12]), mc.features(kernel, points))
    Y = record(points)
    scatter = Y.T @ Y
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scatter, np.diag(np.diagonal(scatter)), atol=1e-9)
    assert (np.diff(np.diagonal(scatter)) <= 1e-12).all()


def test_rows_in_several_tiles_give_the_same_axes(points, costs):
    kernel = mc.Gaussian(0.4)
    onto, phi = mc.features(kernel, points[:12]), mc.features(kernel, points)
    whole = onto_landmarks(onto, phi)(points)
    costs(ROWS=7, LONG=0)
    np.testing.assert_allclose(onto_landmarks(onto, phi)(points), whole, atol=1e-9)


def test_centring_survives_a_mean_that_dwarfs_the_variance(points):
    """A wide kernel: all features nearly equal, the centred eigenvalues 1e-5 of the others."""
    phi = mc.features(mc.Gaussian(1e-5), points)
    lengths = np.sum(onto_landmarks(phi, phi)(points) ** 2, axis=0)[:3]
    np.testing.assert_allclose(lengths, mc.svd(phi, 3)[1] ** 2, rtol=1e-6)


@pytest.mark.parametrize("gamma", [1e-2, 1e-4, 1e-5])
def test_rows_in_float32_lose_no_digits_to_the_constant_part_of_a_kernel(points, gamma):
    kernel, rows = mc.Gaussian(gamma), points.astype(np.float32)
    found = onto_landmarks(mc.features(kernel, rows[:15]), mc.features(kernel, rows))
    assert found.basis.coef.dtype == found.intercept.dtype == np.float32
    exact = (
        kernel(rows.astype(float), rows[:15].astype(float)) @ found.basis.coef.astype(float)
        + found.intercept
    )
    lengths = np.sum(exact**2, axis=0)
    np.testing.assert_allclose(exact.mean(axis=0), 0, atol=1e-4 * np.sqrt(lengths[0]))
    np.testing.assert_allclose(exact.T @ exact, np.diag(lengths), atol=2e-3 * lengths[0])
    wide = onto_landmarks(mc.features(kernel, points[:15]), mc.features(kernel, points), tol=1e-6)
    np.testing.assert_allclose(lengths[:3], np.sum(wide(points) ** 2, axis=0)[:3], rtol=3e-2)


def test_projections_without_variance_and_bad_tolerances_are_refused(points):
    flat = np.repeat(points[:1], 5, axis=0)
    kernel = mc.Gaussian(0.8)
    with pytest.raises(ValueError, match="5 points onto the span of 40 landmarks are equal"):
        onto_landmarks(mc.features(kernel, points), mc.features(kernel, flat))
    with pytest.raises(ValueError, match="tol = 2"):
        onto_landmarks(mc.features(kernel, points), mc.features(kernel, points), tol=2)


@pytest.mark.parametrize(("value", "axes"), [(4e-15, 1), (7e-15, 2)])
def test_axes_at_rounding_of_the_squared_norms_are_cut(value, axes):
    # 8 * 3 * 2^-52 = 5.3e-15
    onto, phi = (
        mc.features(mc.Linear(), X) for X in (np.eye(3), 4 * np.diag([1.0, value**0.5, 0.0]))
    )
    record = onto_landmarks(onto, phi, centre=False)
    assert len(record.basis) == axes
    assert len(record.origin) == 1
    assert record.square == 0


@pytest.mark.parametrize(("tol", "axes"), [(0.009, 2), (0.011, 1)])
def test_tol_is_a_share_of_the_largest_eigenvalue(tol, axes):
    onto, phi = (mc.features(mc.Linear(), X) for X in (np.eye(2), np.diag([1.0, 0.1])))
    assert len(onto_landmarks(onto, phi, centre=False, tol=tol).basis) == axes


def test_the_origin_is_the_mean_of_the_projections(points):
    kernel = mc.Linear()
    onto, phi = mc.features(kernel, points[:2]), mc.features(kernel, points + 2.0)
    expected = mc.project(mc.mean(phi), onto)
    assert (onto_landmarks(onto, phi).origin - expected).norms()[0] < 1e-10


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_the_trace_error_is_that_of_the_nystroem_approximation(points, dtype, error):
    kernel, points = mc.Gaussian(0.8), points.astype(dtype)
    K = kernel(points.astype(np.float64))
    N = K[:, :9] @ np.linalg.solve(K[:9, :9], K[:9])
    found = trace_error(mc.features(kernel, points[:9]), mc.features(kernel, points))
    assert found == pytest.approx(1 - np.trace(N) / np.trace(K), abs=error)
    part = cholesky.pivoted(mc.Gram(kernel, points), 9)
    chosen = mc.features(kernel, points[part.pivots])
    assert trace_error(chosen, mc.features(kernel, points)) == pytest.approx(part.error, abs=error)
    assert (
        trace_error(mc.features(kernel, points), mc.features(kernel, points))
        <= 40 * np.finfo(dtype).eps
    )


def of_coordinates(onto, phi):
    """Return coordinates about their mean, by the definition."""
    frame = moments(onto, phi).frame
    C = frame.basis(phi.points) - frame.shift
    return C - C.mean(axis=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("kernel", "d", "least"), [
    (mc.Gaussian(0.1), 20, 60), (mc.Gaussian(0.2), 8, 20), (mc.Laplacian(0.05), 8, 20), (mc.Gaussian(0.5), 2, 0),
    (mc.Linear(), 8, 0)])  # fmt: skip
def test_scatters_from_kernel_values_are_those_of_coordinates(
    kernel, d, least, dtype, global_random_seed
):
    rows = np.random.default_rng(global_random_seed).standard_normal((3000, d)).astype(dtype)
    onto, phi = mc.features(kernel, rows[:60]), mc.features(kernel, rows)
    found, C = moments(onto, phi), of_coordinates(onto, mc.features(kernel, rows.astype(float)))
    assert found.frame.from_values.sum() >= least
    expected = np.linalg.eigvalsh(C.T @ C)[-1]
    # the cut of eigenvalues in float64
    np.testing.assert_allclose(
        found.about_mean, C.T @ C, atol=3000 * np.finfo(float).eps * expected
    )
    np.testing.assert_array_equal(found.about_mean, found.about_mean.T)


@pytest.mark.parametrize(("n_small", "taken"), [(38, 38), (1, 0)])
def test_axes_of_large_coefficients_are_never_summed_from_kernel_values_nor_few_others(
    n_small, taken
):
    small = np.arange(40) < n_small
    found = _from_values(np.where(small, 1e-3, 1e6) * np.eye(40), 1.0, 100)
    np.testing.assert_array_equal(found, small & (taken > 0))


@pytest.mark.parametrize("gamma", [0.8, 5.0])
def test_equal_rows_unlike_the_landmarks_have_no_variance(gamma, points):
    kernel, row = mc.Gaussian(gamma), np.random.default_rng(7).standard_normal((1, 3))
    with pytest.raises(ValueError, match="no variance"):
        onto_landmarks(
            mc.features(kernel, points), mc.features(kernel, np.repeat(row, 50_000, axis=0))
        )


@pytest.mark.parametrize("centre", [True, False])
def test_sums_of_parts_are_the_sums_of_all_points(points, centre):
    kernel = mc.Gaussian(0.4)
    onto = mc.features(kernel, points[:12])
    whole = moments(onto, mc.features(kernel, points), centre)
    parts = moments(onto, mc.features(kernel, points[:15]), centre)
    parts = parts.add(InMemory(points[15:16])).add(InMemory(points[16:]))
    assert parts.n == 40
    assert parts.trace_error == pytest.approx(whole.trace_error, abs=1e-12)
    np.testing.assert_allclose(parts.about_mean, whole.about_mean, atol=1e-11)
    np.testing.assert_allclose(principal_coordinates(parts)[0](points), principal_coordinates(whole)[0](points),
                               atol=1e-10)  # fmt: skip


def test_the_variance_is_that_about_the_mean_of_the_projections(points):
    kernel = mc.Gaussian(0.4)
    phi, onto = mc.features(kernel, points), mc.features(kernel, points[:12])
    centre = mc.project(mc.mean(phi), onto)
    expected = mc.sqdist(phi, centre).sum()
    assert moments(onto, phi).variance == pytest.approx(expected, rel=1e-10)
    assert moments(onto, phi, False).variance == pytest.approx(40, rel=1e-10)


def test_combinations_of_features_are_refused(points):
    phi = mc.features(mc.Gaussian(0.4), points)
    for function in (onto_landmarks, trace_error):
        with pytest.raises(
            ValueError, match="phi must be the features of points, got 1 combinations"
        ):
            function(phi[:, :5], mc.mean(phi))
