from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.decomposition import KernelPCA

import mercer as mc
from mercer.capacity import Spectrum, effective_dimension, spectrum


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).normal(size=(120, 3))


def test_values_sides_and_suprema_of_a_cross_are_those_by_hand():
    X = np.array([[-1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    found = spectrum(mc.Linear(), X)
    assert np.allclose(found.values, [6, 0.5])
    assert np.allclose(found.sides, [3, 1])
    # coordinates over sqrt(lambda_j / n), whose mean square is 1
    assert np.allclose(found.suprema, [2 / np.sqrt(1.2), 0.5 / np.sqrt(0.1)])
    assert found.trace == pytest.approx(6.5)
    assert np.allclose(found.mercer_sides(3.0), 6 * np.sqrt([1.2, 0.1]))
    assert found.complete


def test_part_of_a_spectrum_is_not_complete(points):
    assert not spectrum(mc.Gaussian(0.3), points, 10).complete
    assert spectrum(mc.Linear(), points[:, :2]).complete
    with pytest.warns(UserWarning, match="2"):
        assert spectrum(mc.Linear(), points[:, :2], 5).complete


def test_eigenvalues_below_the_rounding_of_float32_are_not_known(global_random_seed):
    # those of a kernel with a kink decay slowly: a hundred are above rounding, and the others have a sum
    X = np.random.default_rng(global_random_seed).uniform(size=(300, 1))
    wide, narrow = (
        spectrum(mc.Laplacian(1.0), X.astype(dtype), centre=False)
        for dtype in (np.float64, np.float32)
    )
    assert wide.complete
    assert not narrow.complete
    for ridge in (1e-4, 1e-2, 1.0):
        low, high = effective_dimension(narrow, ridge)
        assert low <= effective_dimension(wide, ridge)[0] <= high
    for epsilon in (1e-3, 1e-2, 0.1):
        number, exact = (mc.capacity.log_covering_number(each, epsilon) for each in (narrow, wide))
        assert number >= exact * (1 - 1e-6)
    for r in (1e-7, 1e-5, 1e-3):
        assert mc.capacity.local_complexity(narrow, r) >= mc.capacity.local_complexity(wide, r) * (
            1 - 1e-6
        )
    # all of them were asked for
    assert spectrum(mc.Laplacian(1.0), X[:40], 40, centre=False).complete


def test_fifty_values_are_computed_of_a_matrix_beyond_the_dense_solver(points, costs):
    costs(DENSE_ORDER=119)
    assert len(spectrum(mc.Gaussian(0.3), points).values) == 50
    assert len(spectrum(mc.Gaussian(0.3), points, 60).values) == 60
    costs(DENSE_ORDER=120)
    assert len(spectrum(mc.Gaussian(0.3), points).values) > 60


def test_the_effective_dimension_is_bracketed_by_few_large_and_by_equal_eigenvalues():
    # 4/5 + 3/4 + 1/2, and a rest of 1: one eigenvalue 1 gives 1/2, two eigenvalues 1/2 give 2/3
    part = Spectrum(
        np.array([4.0, 3.0, 1.0]), np.ones(3), np.ones(3), 5, 9.0, False, False, np.zeros(3)
    )
    assert effective_dimension(part, 1.0) == pytest.approx((2.55, 2.05 + 2 / 3))
    assert effective_dimension(replace(part, complete=True), 1.0) == pytest.approx((2.05, 2.05))
    assert effective_dimension(replace(part, trace=8.0), 1.0) == pytest.approx((2.05, 2.05))
    assert effective_dimension(replace(part, n=3), 1.0) == pytest.approx((2.05, 2.05))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_centred_eigenvalues_are_those_of_scikit_learn(points, dtype):
    found = spectrum(mc.Gaussian(0.3), points.astype(dtype), 10)
    peer = KernelPCA(10, kernel="rbf", gamma=0.3).fit(points)
    assert np.allclose(found.values, peer.eigenvalues_, rtol=1e-10 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("centre", [True, False])
def test_all_eigenvalues_sum_to_the_trace(points, centre):
    found = spectrum(mc.Polynomial(2), points, centre=centre)
    assert found.complete
    assert np.isclose(found.values.sum(), found.trace, rtol=1e-10)


@pytest.mark.parametrize("centre", [True, False])
def test_sides_are_the_extents_of_principal_components(points, centre):
    found = spectrum(mc.Gaussian(0.3), points, 6, centre=centre)
    U, _ = mc.svd(mc.features(mc.Gaussian(0.3), points), 6, centre=centre)
    assert np.allclose(found.sides, np.ptp(U(points), axis=0), rtol=1e-7)


def test_the_box_of_actual_coordinates_lies_in_that_of_the_bounded_eigenfunctions(points):
    found = spectrum(mc.Gaussian(0.3), points, 20, centre=False)
    assert np.all(found.sides <= found.mercer_sides(found.suprema.max()) * (1 + 1e-9))
    # a smaller constant is refuted by the points
    assert not np.all(found.sides <= found.mercer_sides(0.5 * found.suprema.max()))


def test_the_kernel_of_a_bounded_basis_has_bounded_eigenfunctions():
    # 1 + 2 sum a_j cos(2 pi j (x - z)) on an even grid: eigenfunctions 1 and sqrt(2) cos, sqrt(2) sin
    x = np.arange(64)[:, None] / 64
    angles = 2 * np.pi * x * np.arange(1, 4)
    weights = np.sqrt([0.5, 0.2, 0.1])
    phi = np.hstack(
        [
            np.ones_like(x),
            np.sqrt(2) * weights * np.cos(angles),
            np.sqrt(2) * weights * np.sin(angles),
        ]
    )
    found = spectrum(mc.Linear(), phi, centre=False)
    assert np.allclose(found.values / 64, [1, 0.5, 0.5, 0.2, 0.2, 0.1, 0.1])
    assert found.suprema.max() <= np.sqrt(2) * (1 + 1e-9)


def test_a_large_matrix_is_never_stored():
    X = np.random.default_rng(0).normal(size=(2100, 2))
    lazy = spectrum(mc.Gaussian(0.5), X, 8, memory="1MB")
    K = mc.Gaussian(0.5)(X)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    assert not lazy.complete
    assert np.allclose(
        lazy.values, eigh(K, eigvals_only=True, subset_by_index=[2092, 2099])[::-1], rtol=1e-9
    )


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_the_effective_dimension_of_part_of_a_spectrum_brackets_the_whole(points, ridge):
    whole = spectrum(mc.Gaussian(0.3), points)
    low, high = effective_dimension(spectrum(mc.Gaussian(0.3), points, 10), ridge)
    exact, same = effective_dimension(whole, ridge)
    K = mc.Gaussian(0.3)(points)
    H = np.eye(120) - 1 / 120
    assert exact == same
    assert np.isclose(
        exact, np.trace(np.linalg.solve(H @ K @ H + ridge * np.eye(120), H @ K @ H)), rtol=1e-6
    )
    assert low <= exact * (1 + 1e-9)
    assert exact <= high * (1 + 1e-9)


def test_a_given_matrix_has_the_spectrum_of_its_kernel(points):
    given = spectrum(mc.Precomputed(), mc.Gaussian(0.3)(points), 5)
    assert np.allclose(given.values, spectrum(mc.Gaussian(0.3), points, 5).values)


def test_numbers_out_of_range_are_named(points):
    found = spectrum(mc.Linear(), points)
    with pytest.raises(ValueError, match="ridge = 0 must be above 0"):
        effective_dimension(found, 0)
    with pytest.raises(ValueError, match="bound = -1 must be above 0"):
        found.mercer_sides(-1)


@pytest.mark.slow
def test_a_hundred_thousand_points_need_no_square_matrix():
    X = np.random.default_rng(0).normal(size=(100_000, 2)).astype(np.float32)
    found = spectrum(mc.Gaussian(0.5), X, 10, memory="100MB")
    # of a Gaussian kernel on Gaussian data (Zhu, Williams, Rohwer, Morciniec 1998), n times the operator's
    a, b = 1 / 4, 0.5
    c = np.sqrt(a * a + 2 * a * b)
    one = np.sqrt(2 * a / (a + b + c)) * (b / (a + b + c)) ** np.arange(12)
    operator = np.sort(np.outer(one, one).ravel())[::-1]
    plain = spectrum(mc.Gaussian(0.5), X, 3, centre=False, memory="100MB")
    assert np.allclose(plain.values / 1e5, operator[:3], rtol=0.02)
    assert np.all(found.residuals < 1e-4)


@pytest.mark.parametrize("bad", [None, 1.0, np.ones(3)], ids=["none", "number", "array"])
def test_arguments_that_are_no_spectrum_are_named(bad):
    for call in (
        lambda: mc.capacity.effective_dimension(bad, 1.0),
        lambda: mc.capacity.local_rademacher(bad),
        lambda: mc.capacity.local_complexity(bad, 1.0),
        lambda: mc.capacity.log_covering_number(bad, 1.0),
    ):
        with pytest.raises(
            TypeError, match=r"spectrum must be a Spectrum, from mercer\.capacity\.spectrum"
        ):
            call()


def test_rows_of_a_given_matrix_are_those_that_are_named(points):
    rows, kernel = np.array([20, 3, 7, 7, -1]), mc.Gaussian(0.3)
    given = mc.Precomputed(kernel(points))
    expected = spectrum(kernel, points[rows], 3).values
    for scale, whole in ((1, given), (2, 2 * given)):
        np.testing.assert_allclose(spectrum(whole, rows, 3).values, scale * expected, rtol=1e-12)
    ball = mc.capacity.smallest_ball(given, rows)
    assert ball.radius == pytest.approx(
        mc.capacity.smallest_ball(kernel, points[rows]).radius, rel=1e-9
    )
    with pytest.raises(ValueError, match=r"X has shape \(4, 120\); .* or row numbers"):
        spectrum(given, kernel(points[:4], points))


def test_a_spectrum_far_from_the_origin_is_complete(points):
    near, far = (spectrum(mc.Linear(), points + offset) for offset in (0, 1e4))
    assert near.complete
    assert far.complete
    low, high = effective_dimension(far, 10.0)
    assert low == high == pytest.approx(effective_dimension(near, 10.0)[0], rel=1e-6)
