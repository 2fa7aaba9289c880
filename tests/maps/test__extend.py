"""Extended coordinates: Pythagoras, orthonormal axes, and unchanged earlier coordinates."""

import numpy as np
import pytest

import mercer as mc
from mercer.maps import extend, recentred, spectral, triangular

KERNEL = mc.Gaussian(0.8)


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((40, 3))


@pytest.fixture(params=[True, False], ids=["centred", "plain"])
def start(request, points):
    return spectral(mc.features(KERNEL, points[:25]), request.param)


def test_new_axes_are_orthonormal_to_the_old_and_what_is_stored_is_true(start, points):
    grown = extend(start, points[25:])
    r = len(grown.basis)
    assert r == len(start.basis) + 15
    np.testing.assert_allclose(grown.basis.inner(grown.basis), np.eye(r), atol=1e-9)
    np.testing.assert_allclose(grown.intercept, -grown.origin.inner(grown.basis)[0], atol=1e-9)
    assert grown.square == pytest.approx(float(grown.origin.norms()[0]) ** 2)


def test_a_new_point_gets_its_residual_as_the_new_coordinate(start, points):
    x = points[30:31]
    before, residual = start(x), start.residual(x)
    after = extend(start, x)(x)
    np.testing.assert_allclose(after[:, :-1], before, atol=1e-12)
    np.testing.assert_allclose(after[:, -1], residual, atol=1e-9)
    np.testing.assert_allclose(
        extend(start, x)(points[:25]), np.c_[start(points[:25]), np.zeros(25)], atol=1e-9
    )


def test_one_point_at_a_time_spans_what_all_at_once_do(start, points):
    grown = start
    for i in range(25, 40):
        grown = extend(grown, points[i : i + 1])
    Y, expected = grown(points), extend(start, points[25:])(points)
    np.testing.assert_allclose(Y @ Y.T, expected @ expected.T, atol=1e-9)
    assert grown.residual(points).max() < 1e-6


def test_repeated_points_add_one_axis_or_none(start, points):
    assert extend(start, points[:10]) is start
    assert len(extend(start, np.repeat(points[30:31], 4, axis=0)).basis) == len(start.basis) + 1


def test_the_most_axes_and_the_tolerance_are_kept_to(start, points):
    grown = extend(start, points[25:], most=4)
    assert len(grown.basis) == len(start.basis) + 4
    assert extend(start, points[25:], most=0) is start
    loose = extend(start, points[25:], tol=0.1)
    assert (loose.residual(points) ** 2).max() <= 0.1
    assert len(loose.basis) < len(start.basis) + 15


def test_a_shift_has_a_number_for_each_axis(start):
    with pytest.raises(ValueError, match="shift has 1 numbers, but must have [2-9]"):
        recentred(start, [0.5])


def test_moving_the_origin_shifts_coordinates_and_keeps_residuals(start, points):
    shift = start(points[3:4])[0]
    moved = recentred(start, shift)
    new = points + 0.5
    np.testing.assert_allclose(moved(new), start(new) - shift, atol=1e-12)
    np.testing.assert_allclose(moved.residual(new), start.residual(new), atol=1e-7)
    assert moved.square == pytest.approx(float(moved.origin.norms()[0]) ** 2)


def test_an_uncentred_cholesky_factor_grows_to_that_of_all_points(points):
    kernel = mc.Gaussian(3.0)
    grown = extend(triangular(mc.features(kernel, points[:25]), centre=False), points[25:])
    T = grown(points)
    np.testing.assert_allclose(T @ T.T, kernel(points), atol=1e-12)


def test_a_precomputed_span_cannot_grow():
    kernel = mc.Precomputed().resolve(np.eye(3))
    with pytest.raises(TypeError, match="cannot be extended"):
        extend(spectral(mc.features(kernel, np.arange(3))), np.arange(2))


@pytest.mark.parametrize(("tol", "axes"), [(0.009, 2), (0.011, 1)])
def test_tol_is_a_share_of_the_squared_norm_of_the_new_points(tol, axes):
    start = spectral(mc.features(mc.Linear(), np.array([[1.0, 0.0]])), False)
    # squared residual 0.04, squared norm 4.04
    assert len(extend(start, np.array([[2.0, 0.2]]), tol=tol).basis) == axes


@pytest.mark.parametrize(("tol", "axes"), [(0.002, 3), (0.003, 2)])
def test_every_added_axis_is_above_the_tolerance(tol, axes):
    start = spectral(mc.features(mc.Linear(), np.array([[1.0, 0.0, 0.0]])), False)
    # squared residuals 0.04 and 0.01, squared norms 4.04 and 4.01
    assert len(extend(start, np.array([[2.0, 0.2, 0.0], [2.0, 0.0, 0.1]]), tol=tol).basis) == axes


@pytest.mark.parametrize(("size", "axes"), [(1.1e-4, 1), (1.4e-4, 2)])
def test_the_default_tolerance_is_half_of_the_digits(size, axes):
    start = spectral(mc.features(mc.Linear(), np.array([[1.0, 0.0]])), False)
    # 2^-26 = 1.22e-4 squared
    assert len(extend(start, np.array([[1.0, size]])).basis) == axes


def test_coordinates_of_a_kernel_pca_are_extended_unless_they_are_whitened(points):
    plain = mc.KernelPCA(24, kernel=KERNEL).fit(points[:25]).coordinates_
    assert plain.square is None
    grown = recentred(extend(plain, points[25:]), np.ones(39))
    np.testing.assert_allclose(grown(points[:25])[:, :24], plain(points[:25]) - 1, atol=1e-9)
    assert grown.square == pytest.approx(float(grown.origin.norms()[0]) ** 2)
    white = mc.KernelPCA(3, kernel=KERNEL, whiten=True).fit(points).coordinates_
    for call in (lambda: extend(white, points), lambda: recentred(white, np.ones(3))):
        with pytest.raises(ValueError, match="along axes of length 1"):
            call()
