"""Projected: the formula, gradients, definiteness by construction, and kernels that ignore the directions."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.reference.derivatives import assert_gradients

import mercer as mc
from mercer.invariance import Projected, tangent_components, tangent_features
from mercer.testing import check_kernel_implementation

KERNELS = [
    mc.Gaussian(0.3),
    mc.Polynomial(3, 0.3, 1.0),
    mc.Matern(1.5, 2.5),
    mc.Normalized(mc.Polynomial(2)),
]


def made(kernel, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(5, 3)), rng.normal(size=(5, 2, 3))
    directions, _ = tangent_components(tangent_features(kernel, X, T))
    return (
        Projected(
            kernel,
            directions,
            np.ones(len(directions)) if weights is None else weights(len(directions)),
        ),
        X,
        T,
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_the_kernel_less_shares_of_the_directions(kernel, global_random_seed):
    found, X, _ = made(kernel, lambda r: np.linspace(0, 1, r), global_random_seed)
    Z = np.random.default_rng(1).normal(size=(7, 3))
    u = found.directions
    np.testing.assert_allclose(
        found(Z, X), kernel(Z, X) - (u(Z) * found.weights) @ u(X).T, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(found.diag(Z), np.diag(found(Z)), rtol=1e-9, atol=1e-12)
    assert_gradients(found, Z, Z[:4] + 0.1, global_random_seed)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_is_positive_semidefinite_on_random_sets(kernel, global_random_seed):
    for seed in range(3):
        found, X, _ = made(kernel, seed=10 * global_random_seed + seed)
        Z = np.concatenate([X, np.random.default_rng(seed).normal(size=(40, 3))])
        values = np.linalg.eigvalsh(found(Z))
        assert values[0] > -1e-7 * np.linalg.eigvalsh(kernel(Z))[-1]
    report = mc.check_kernel(found, Z)
    assert report.positive_semidefinite
    assert "shares of at most 1 of orthonormal directions" in str(report)
    # not proved without a proof of the inner kernel
    sigmoid = mc.Sigmoid(0.5)
    point = np.array([[1.0, 0.0, 0.0]])
    unit = mc.Expansion(sigmoid, point, 1 / np.sqrt(sigmoid.diag(point)))
    assert mc.check_kernel(Projected(sigmoid, unit, [1.0])).positive_semidefinite is None


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=repr)
def test_a_training_point_moves_along_its_tangent_without_a_change_of_first_order(kernel):
    found, X, T = made(kernel)
    Z, h = np.random.default_rng(1).normal(size=(9, 3)), 1e-4
    for a in range(2):
        moved = (found(X + h * T[:, a], Z) - found(X - h * T[:, a], Z)) / (2 * h)
        before = (kernel(X + h * T[:, a], Z) - kernel(X - h * T[:, a], Z)) / (2 * h)
        assert abs(moved).max() < 1e-5 * abs(before).max()
    # a half of each direction is left by a weight of 1/2
    half, _, _ = made(kernel, lambda r: np.full(r, 0.5))
    moved = (half(X + h * T[:, 0], Z) - half(X - h * T[:, 0], Z)) / (2 * h)
    before = (kernel(X + h * T[:, 0], Z) - kernel(X - h * T[:, 0], Z)) / (2 * h)
    np.testing.assert_allclose(moved, before / 2, atol=1e-5 * abs(before).max())


def test_it_obeys_the_laws_of_kernels():
    found, _, _ = made(mc.Gaussian(0.3), lambda r: np.linspace(0, 0.9, r))
    check_kernel_implementation(found, np.random.default_rng(3).random((10, 3)))


def test_components_of_an_expansion_can_be_removed_too(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.normal(size=(12, 3)), rng.normal(size=(6, 3))
    kernel = mc.Gaussian(0.3)
    U, _ = mc.svd(mc.features(kernel, X), 4, centre=False)
    found = Projected(kernel, U, np.ones(4))
    np.testing.assert_allclose(found(Z), kernel(Z) - U(Z) @ U(Z).T, rtol=1e-10)
    assert_gradients(found, Z, X, global_random_seed)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_models_with_it_are_fitted_stored_and_inverted(dtype, tmp_path):
    rng = np.random.default_rng(0)
    found, _, _ = made(mc.Gaussian(0.3), lambda r: np.full(r, 0.9))
    X = rng.normal(size=(60, 3)).astype(dtype)
    y = X[:, 0] * X[:, 1] > 0
    model = mc.SVC(kernel=found, C=10).fit(X, y)
    assert model.certificate_.convex
    assert model.decision_function(X).dtype == dtype
    mc.save(model, tmp_path / "model.mercer")
    loaded = mc.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.kernel_ == found
    assert clone(model).kernel == found
    pca = mc.KernelPCA(5, kernel=found).fit(X)
    assert pca.denoise(X[:4]).shape == (4, 3)
    assert mc.preimage(mc.mean(mc.features(found, X))).points.shape == (1, 3)


def test_directions_may_be_orthonormal_up_to_the_rounding_of_float32_and_the_worst_pair_is_named():
    found, _, _ = made(mc.Gaussian(0.3))
    U, ones = found.directions, found.weights
    bent = np.eye(len(U))
    bent[2, 4] = 1e-6
    assert len(Projected(found.kernel, U @ bent, ones).directions) == len(U)
    bent[2, 4] = 1e-3
    with pytest.raises(ValueError, match=r"orthonormal, but <u_2, u_4> = 0.001"):
        Projected(found.kernel, U @ bent, ones)


@pytest.mark.parametrize("length", [1 - 4e-6, 1.0, 1 + 4e-6])
def test_directions_longer_than_1_by_rounding_leave_it_positive_semidefinite(length):
    kernel, X = mc.Linear(), np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 3.0]])
    unit = mc.Expansion(kernel, np.array([[1.0, 0.0]]), np.array([length]))
    found = Projected(kernel, unit, [1.0])
    report = mc.check_kernel(found, X)
    assert report.positive_semidefinite
    assert report.smallest_eigenvalue >= -1e-14
    np.testing.assert_allclose(found(X), np.outer(X[:, 1], X[:, 1]), atol=4e-5)
    assert_gradients(found, X, X[:2] + 0.1, 0)
    # a weight below 1 needs no change
    half = Projected(kernel, unit, [0.5])
    np.testing.assert_allclose(
        half(X), X @ X.T - length**2 / 2 * np.outer(X[:, 0], X[:, 0]), rtol=1e-14
    )


def test_bad_arguments_are_refused():
    found, X, _ = made(mc.Gaussian(0.3))
    kernel, U = found.kernel, found.directions
    ones = np.ones(len(U))
    cases = [
        (
            lambda: Projected(kernel, U, 1.5 * ones),
            ValueError,
            r"weights\[0\] = 1.5 must be from 0 to 1",
        ),
        (
            lambda: Projected(kernel, U, -0.1 * ones),
            ValueError,
            r"weights\[0\] = -0.1 must be from 0 to 1",
        ),
        (lambda: Projected(kernel, U, ones[:2]), ValueError, r"weights must have shape \(10,\)"),
        (lambda: Projected(kernel, U, np.nan * ones), ValueError, "weights.*must be finite"),
        (
            lambda: Projected(mc.Linear(), U, ones),
            ValueError,
            "directions must have the kernel Linear",
        ),
        (
            lambda: Projected(kernel, U @ np.diag(2 * ones), ones),
            ValueError,
            "directions must be orthonormal, but <u_",
        ),
        (
            lambda: Projected(kernel, np.eye(3), ones),
            TypeError,
            "directions must be TangentFeatures or an Expansion",
        ),
        (lambda: Projected("rbf", U, ones), TypeError, "kernel of Projected must be a Kernel"),
        (lambda: found(X[:, :2]), ValueError, "features"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
