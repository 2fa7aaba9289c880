"""Distances: exact for features, Kwok and Tsang's formula for other vectors."""

import numpy as np
import pytest

import mercer as mc
from mercer.preimages import Distances, preimage

X = np.random.default_rng(0).normal(size=(40, 3))
RADIAL = [
    mc.Gaussian(0.3),
    mc.Matern(1.5, 0.5),
    mc.Matern(1.5, 2.5),
    mc.RationalQuadratic(1.0, 1.0),
    mc.Cauchy(0.5),
]
DOT = [mc.Linear(), mc.Polynomial(3), mc.Polynomial(5, 0.2, 1.0), mc.Sigmoid(0.1, 0.2)]


@pytest.mark.parametrize("kernel", [*RADIAL, *DOT], ids=repr)
def test_the_preimage_of_a_feature_is_its_point(kernel):
    answer = preimage(mc.features(kernel, X), "distances")
    assert answer.converged.all(), answer.reason
    np.testing.assert_allclose(answer.points, X, atol=1e-6)


def test_the_formula_of_kwok_and_tsang_for_vectors_off_the_sphere():
    gamma, k = 0.3, 6
    psi = mc.features(mc.Gaussian(gamma), X) @ (
        np.abs(np.random.default_rng(1).normal(size=(40, 1))) / 40
    )
    feature = mc.sqdist(psi, mc.features(psi.kernel, X))[0]
    order = np.argsort(feature)[:k]
    squares = -np.log(0.5 * (1 + psi.norms()[0] ** 2 - feature[order])) / gamma
    near = X[order] - X[order].mean(axis=0)
    U, size, V = np.linalg.svd(near.T, full_matrices=False)
    place = -0.5 * np.diag(1 / size) @ V @ (squares - (near**2).sum(axis=1))
    np.testing.assert_allclose(
        preimage(psi, Distances(k)).points[0], U @ place + X[order].mean(axis=0), atol=1e-9
    )


def test_a_number_of_neighbours_may_be_of_any_integer_type():
    psi = mc.mean(mc.features(mc.Gaussian(0.3), X))
    points = [preimage(psi, Distances(neighbours=kind(10))).points for kind in (int, np.int8)]
    np.testing.assert_array_equal(*points)


def test_a_single_neighbour_is_the_preimage():
    psi = mc.features(mc.Gaussian(0.3), X) @ np.eye(40)[:, :5] * 0.9
    np.testing.assert_array_equal(preimage(psi, Distances(neighbours=1)).points, X[:5])


def test_normalising_moves_points_unless_the_profile_is_an_exponential():
    mean = mc.mean(mc.features(mc.Gaussian(0.3), X))
    np.testing.assert_allclose(
        preimage(mean, Distances(normalise=True)).points,
        preimage(mean, Distances()).points,
        atol=1e-9,
    )
    mean = mc.mean(mc.features(mc.Cauchy(0.3), X))
    assert (
        np.abs(
            preimage(mean, Distances(normalise=True)).points - preimage(mean, Distances()).points
        ).max()
        > 1e-3
    )


def test_values_outside_the_range_of_the_profile_are_reported_and_points_are_finite():
    answer = preimage(-mc.features(mc.Gaussian(0.3), X[:20])[:, :2], "distances")
    assert not answer.converged.any()
    assert "no feature has" in answer.reason
    assert np.isfinite(answer.points).all()


def test_unsupported_kernels_are_refused_with_a_remedy():
    for kernel in (mc.Laplacian(1.0), mc.Normalized(mc.Linear())):
        with pytest.raises(TypeError, match=r"needs a Radial or Dot kernel.*method='gradient'"):
            preimage(mc.features(kernel, X), "distances")
    with pytest.raises(TypeError, match="even degree"):
        preimage(mc.features(mc.Polynomial(2), X), "distances")
    with pytest.raises(TypeError, match="sphere"):
        preimage(mc.features(mc.Polynomial(3), X), Distances(normalise=True))
    with pytest.raises(ValueError, match="neighbours = 0"):
        Distances(neighbours=0)


def test_defaults_are_those_documented():
    assert Distances() == Distances(neighbours=10, normalise=False)


def placed(kernel, X, coef, inverse):
    """Return the point with the distances that the inverse profile gives, by least squares with NumPy."""
    psi = mc.features(kernel, X) @ coef
    values = psi(X)[:, 0]
    order = np.argsort(kernel.diag(X) - 2 * values, kind="stable")[:10]
    squares = inverse(values[order], X[order])
    centre = X[order].mean(axis=0)
    near = X[order] - centre
    offset = -0.5 * np.linalg.lstsq(near, squares - (near**2).sum(axis=1), rcond=None)[0]
    return psi, centre + offset


@pytest.mark.parametrize("size", [1.0, 0.1])
def test_values_beyond_the_range_count_as_distance_0_or_twice_that_of_the_farthest_neighbour(size):
    gamma = 0.3 / size**2
    kernel = mc.Gaussian(gamma)

    def inverse(values, _):
        inside = (values > 0) & (values <= 1)
        squares = -np.log(np.where(inside, values, 1)) / gamma
        return np.where(inside, squares, np.where(values > 0, 0, 4 * squares.max()))

    rows, coef = size * X[:10], np.zeros((10, 1))
    coef[0] = 1.3
    coef[np.argmax(((rows - rows[0]) ** 2).sum(axis=1))] = -0.9
    psi, point = placed(kernel, rows, coef, inverse)
    values = psi(rows)
    assert values.max() > 1
    assert values.min() < 0
    assert np.sum((values > 0) & (values < 1)) >= 5
    answer = preimage(psi, "distances")
    np.testing.assert_allclose(answer.points[0], point, atol=1e-9)
    assert not answer.converged.any()


def test_products_with_the_neighbours_place_vectors_of_dot_kernels():
    kernel = mc.Polynomial(3, 1.0, 1.0)
    coef = np.abs(np.random.default_rng(2).normal(size=(40, 1))) / 40
    psi, point = placed(
        kernel, X, coef, lambda values, near: (near**2).sum(axis=1) - 2 * (np.cbrt(values) - 1)
    )
    answer = preimage(psi, "distances")
    np.testing.assert_allclose(answer.points[0], point, atol=1e-8)
    assert answer.converged.all()


def test_a_norm_that_no_feature_has_is_reported():
    # |psi|^2 = 4 tanh exceeds 1, while the values at the neighbours are in the range
    kernel = mc.Sigmoid(1.0, 0.0)
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])
    psi = mc.features(kernel, rows) @ np.array([[1.2], [1.2], [0.0]])
    answer = preimage(psi, Distances(neighbours=1))
    assert psi.norms()[0] ** 2 > 1
    assert np.abs(psi(rows)).max() < 1
    assert not answer.converged.any()


def test_more_vectors_than_a_block_are_placed_like_single_ones():
    phi = mc.features(mc.Gaussian(0.3), np.random.default_rng(3).normal(size=(130, 2)))
    np.testing.assert_allclose(preimage(phi, "distances").points, phi.points, atol=1e-6)


def test_a_composite_radial_kernel_has_the_points_of_the_gaussian_that_it_is():
    rng = np.random.default_rng(5)
    points, coef = rng.normal(size=(20, 2)), rng.random((20, 1)) / 20
    answers = [
        preimage(mc.Expansion(kernel, points, coef), Distances(5))
        for kernel in (mc.Gaussian(0.4), mc.Gaussian(0.2) ** 2)
    ]
    np.testing.assert_allclose(answers[1].points, answers[0].points, rtol=1e-9)


def test_a_constant_changes_no_point_even_where_values_fall_below_it():
    rng = np.random.default_rng(5)
    points, coef = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    # with coefficients that sum to 1 a constant is added to all values, which then are positive outside the range
    coef = coef / coef.sum(axis=0)
    gaussian, shifted = (
        mc.Expansion(mc.Gaussian(0.4), points, coef),
        mc.Expansion(mc.Gaussian(0.4) + 9.0, points, coef),
    )
    assert gaussian(points).min() < 0 < shifted(points).min()
    answers = [preimage(psi, Distances(20)) for psi in (gaussian, shifted)]
    assert not answers[1].converged.any()
    np.testing.assert_allclose(answers[1].points, answers[0].points, atol=1e-9)


def test_points_behind_maps_are_mapped_back():
    phi = mc.features(2 * mc.Mapped(mc.Gaussian(0.4), np.array([[1.0, 0.5], [0.0, 2.0]])), X[:, :2])
    np.testing.assert_allclose(preimage(phi, "distances").points, X[:, :2], atol=1e-7)


@pytest.mark.parametrize("unit", [1e-60, 1e-20, 1e20, 1e60])
def test_the_unit_of_the_points_does_not_matter(unit):
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(40, 3)), rng.normal(size=(40, 4)) / 5 + 0.1
    for kernel, scaled in (
        (mc.Gaussian(0.5), mc.Gaussian(0.5 / unit**2)),
        (mc.Matern(1.0, 1.5), mc.Matern(unit, 1.5)),
        (mc.Polynomial(3, 0.5), mc.Polynomial(3, 0.5 / unit**2)),
    ):
        near, far = (
            mc.preimage(mc.Expansion(k, s * X, coef), "distances")
            for k, s in ((kernel, 1), (scaled, unit))
        )
        np.testing.assert_allclose(far.points / unit, near.points, rtol=1e-6)
        assert np.array_equal(far.converged, near.converged)
