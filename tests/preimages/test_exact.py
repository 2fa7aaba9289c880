"""Exact: pre-images of features have ten digits; other vectors are reported to have none."""

import warnings

import numpy as np
import pytest

import mercer as mc
from mercer.preimages import Exact, preimage

KERNELS = [
    mc.Gaussian(0.2),
    mc.Gaussian(1.0),
    mc.Matern(2.0, 0.5),
    mc.Matern(2.0, 1.5),
    mc.RationalQuadratic(2.0, 2.0),
    mc.Cauchy(0.2),
    mc.Linear(),
    mc.Polynomial(3),
    mc.Polynomial(3, 1.0, 0.0),
    mc.Polynomial(5, 0.2, 1.0),
    mc.Sigmoid(0.2, 0.0),
    mc.Sigmoid(1.0, 0.5),
]


def points(d, seed=0):
    X = np.random.default_rng(seed).normal(size=(8, d))
    X[:, ::3] = X[:, ::3] if d < 5 else 0.0
    return X


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_the_preimage_of_a_feature_is_its_point(kernel, d):
    X = points(d)
    # the start is not the answer already
    answer = preimage(mc.features(kernel, X), "exact", X + 0.3)
    np.testing.assert_allclose(answer.points, X, atol=1e-10)
    assert answer.converged.all(), answer.reason


G, MATRIX = mc.Gaussian(0.2), np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.2, 0.0, 0.7]])
COMPOSITE = [
    2 * G,
    G**2,
    G * mc.Cauchy(0.3),
    G + 0.5,
    # the constant exceeds half of k(x, x)
    2 * G + 3.0,
    mc.Normalized(2 * G),
    mc.Exp(G),
    mc.Mapped(G, np.array([0.5, 1.0, 2.0])),
    2 * mc.Mapped(G, MATRIX) + 3.0,
    3 * mc.Linear(),
    (mc.Linear() + 1.0) ** 3,
    0.5 * mc.Exp(0.1 * mc.Linear()) + 1.0,
    2 * mc.Mapped(mc.Polynomial(3), MATRIX),
]


@pytest.mark.parametrize("kernel", COMPOSITE, ids=repr)
def test_features_of_composite_kernels_have_the_pre_images_of_their_parts(kernel):
    X = points(3)
    answer = preimage(mc.features(kernel, X), "exact", X + 0.3)
    np.testing.assert_allclose(answer.points, X, atol=1e-9)
    assert answer.converged.all(), answer.reason


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.2), mc.Cauchy(0.2)], ids=repr)
def test_points_far_from_the_origin_have_the_same_accuracy(kernel):
    X = points(3) + 1000
    np.testing.assert_allclose(preimage(mc.features(kernel, X), "exact").points, X, atol=1e-9)


def test_a_feature_written_as_a_combination_of_others_is_recognised():
    # ten cubic monomials of two variables: any ten points in general position span them
    X = np.random.default_rng(3).normal(size=(10, 2))
    z, kernel = np.array([[0.4, -0.7]]), mc.Polynomial(3)
    psi = mc.features(kernel, X) @ np.linalg.solve(kernel(X), kernel(X, z))
    answer = preimage(psi, "exact")
    np.testing.assert_allclose(answer.points, z, atol=1e-8)
    assert answer.converged.all(), answer.reason


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.2), mc.Polynomial(3)], ids=repr)
def test_a_feature_with_noise_has_no_pre_image_and_its_distance_is_reported(kernel):
    X = points(3)
    psi = mc.features(kernel, X) @ (
        np.eye(8)[:, :2] + 1e-3 * np.random.default_rng(1).normal(size=(8, 2))
    )
    answer = preimage(psi, "exact")
    assert not answer.converged.any()
    assert f"no exact pre-image: |psi - phi(z)|^2 = {answer.sqdist[0]:.3g}" in answer.reason
    np.testing.assert_allclose(
        answer.sqdist, mc.sqdist(psi, mc.features(kernel, answer.points), paired=True), rtol=1e-6
    )


def test_vectors_outside_the_range_of_the_profile_give_finite_points():
    for kernel in (mc.Gaussian(0.2), mc.Sigmoid(0.2)):
        with warnings.catch_warnings():
            # the sigmoid is indefinite
            warnings.filterwarnings("ignore", "4 of 8 pre-images have negative squared distances")
            answer = preimage(-5 * mc.features(kernel, points(3)), "exact")
        assert np.isfinite(answer.points).all()
        assert not answer.converged.any()


def test_values_below_a_constant_belong_to_no_point_as_values_below_0_do():
    # values on one side of the start, or on all, are below the range of the profile
    for second in (2.0, 20.0):
        rows, start = np.array([[0.0, 0.0], [second, 0.0]]), np.array([[0.1, -0.2]])
        for kernel in (G, G + 9.0):
            psi = mc.features(kernel, rows) @ np.array([[-1.0], [2.0]])
            found = Exact().find(psi, start)
            np.testing.assert_array_equal(found.points, start)
            assert not found.converged.any()


def test_float32_is_exact_to_its_own_digits():
    X = points(3).astype(np.float32)
    answer = preimage(mc.features(mc.Gaussian(0.2), X), "exact", X + np.float32(0.3))
    assert answer.points.dtype == np.float32
    np.testing.assert_allclose(answer.points, X, atol=1e-6)
    assert answer.converged.all()


def test_even_degrees_and_other_kernels_are_refused_with_the_reason():
    with pytest.raises(TypeError, match=r"even degree.*method='gradient'"):
        preimage(mc.features(mc.Polynomial(2), points(2)), "exact")
    for kernel in (mc.Laplacian(1.0), mc.Normalized(mc.Linear())):
        with pytest.raises(TypeError, match=r"needs a Radial or Dot kernel; got (Lapl|Norm)"):
            preimage(mc.features(kernel, points(2)), "exact")
    with pytest.raises(ValueError, match="tol"):
        Exact(tol=0.0)


def test_the_tolerance_is_relative_to_the_squared_norms_of_psi_and_the_feature():
    X, kernel = points(3), mc.Polynomial(3)
    psi = mc.features(kernel, X) @ (np.eye(8)[:, :2] + 1e-3)
    answer = preimage(psi, "exact")
    bound = answer.sqdist / (psi.norms() ** 2 + kernel.diag(answer.points))
    for factor, converged in ((1.01, True), (0.99, False)):
        for j in (0, 1):
            again = preimage(psi[:, [j]], Exact(tol=factor * bound[j]))
            assert again.converged.tolist() == [converged]
    assert Exact() == Exact(tol=1e-10)


def test_values_beyond_the_range_give_the_ends_of_the_range():
    X = np.array([[1.0, 2.0], [2.0, 0.0]])
    found = preimage(-50 * mc.features(mc.Sigmoid(0.2), X)[:, :1], "exact")
    # every coordinate is cut at a thousand times the root mean square norm of the points
    np.testing.assert_allclose(
        np.abs(found.points @ [[1, 1], [1, -1]]) / 2**0.5, 1e3 * np.sqrt(4.5), rtol=1e-12
    )


def test_values_above_that_at_distance_0_count_as_distance_0():
    psi, start = 3.0 * mc.features(mc.Gaussian(0.2), np.array([[0.1, -0.2]])), np.zeros((1, 2))
    found = Exact().find(psi, start)
    # all values within half the height of the profile exceed 1, so that both distances are 0
    np.testing.assert_array_equal(found.points, start)
    nearer = Exact().find(psi, start + [[2.0, 0.0]])
    assert np.isfinite(nearer.points).all()
    assert (nearer.points != start + [[2.0, 0.0]]).any()
