"""The invariant kernel in feature space: exact in the linear case, and with less change along tangents."""

import numpy as np
import pytest

import mercer as mc
from mercer.invariance import (
    image_transforms,
    invariant_feature_kernel,
    invariant_kernel,
    tangent_components,
    tangent_features,
    tangents,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 4))
G = RNG.normal(size=(2, 4, 4))
LINES = {"a": lambda X, t: X + t * X @ G[0], "b": lambda X, t: X + t * X @ G[1]}


@pytest.mark.parametrize("weight", [0.01, 0.5, 1.0])
def test_for_a_linear_kernel_it_is_lambda_times_the_kernel_of_the_invariant_map(weight):
    Z = RNG.normal(size=(6, 4))
    weights = np.arange(20) % 4
    found = invariant_feature_kernel(mc.Linear(), X, LINES, weight, weights)
    expected = weight * invariant_kernel(mc.Linear(), X, LINES, weight, weights)(Z, X)
    np.testing.assert_allclose(found(Z, X), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.3), mc.Polynomial(3, 0.2, 1.0)], ids=repr)
def test_components_are_orthonormal_eigenvectors_of_the_tangent_covariance(
    kernel, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    weights = rng.integers(1, 4, 8)
    psi = tangent_features(kernel, X[:8], tangents(X[:8], LINES))
    U, mu = tangent_components(psi, weights)
    np.testing.assert_allclose(U.inner(U), np.eye(len(mu)), atol=1e-6)
    assert (np.diff(mu) <= 0).all()
    # <u, C u'> = 1 / s sum_i s_i <u, psi_i> <psi_i, u'>
    products = U.inner(psi)
    C = (products * np.repeat(weights, 2)) @ products.T / weights.sum()
    np.testing.assert_allclose(C, np.diag(mu), atol=1e-6 * mu[0])
    np.testing.assert_allclose(
        mu.sum(), psi.norms() ** 2 @ np.repeat(weights, 2) / weights.sum(), rtol=1e-6
    )


def test_components_do_not_depend_on_the_length_of_tangents_and_a_single_tangent_has_one():
    kernel, T = mc.Gaussian(0.3), tangents(X[:8], LINES)
    U, mu = tangent_components(tangent_features(kernel, X[:8], T))
    V, nu = tangent_components(tangent_features(kernel, X[:8], 1e-4 * T))
    np.testing.assert_allclose(nu, 1e-8 * mu, rtol=1e-8)
    np.testing.assert_allclose(abs(U.inner(V)), np.eye(len(mu)), atol=1e-5)
    single = tangent_features(kernel, X[:1], T[:1, :1])
    assert tangent_components(single)[1] == pytest.approx(single.norms() ** 2)


def test_components_below_1e_9_of_the_largest_eigenvalue_are_cut():
    for share, count in ((1.5e-9, 2), (0.7e-9, 1)):
        psi = tangent_features(mc.Linear(), np.eye(2), np.diag([1.0, share**0.5])[:, None])
        np.testing.assert_allclose(
            tangent_components(psi)[1], [0.5, 0.5 * share][:count], rtol=1e-6
        )


def test_24_bytes_for_each_pair_of_tangents_are_enough():
    psi = tangent_features(mc.Linear(), X, tangents(X, LINES))
    assert len(tangent_components(psi, memory=24 * 40**2)[1]) == 4
    with pytest.raises(MemoryError, match="inner products of 40 tangents"):
        tangent_components(psi, memory=24 * 40**2 - 1)


def test_the_default_weight_is_a_tenth_of_invariance():
    found = invariant_feature_kernel(mc.Linear(), X, LINES)
    np.testing.assert_array_equal(
        found.weights, invariant_feature_kernel(mc.Linear(), X, LINES, 0.9).weights
    )


def test_weights_are_those_of_the_formula_and_small_lambda_changes_less_along_new_tangents():
    kernel, Z = mc.Gaussian(0.05), RNG.normal(size=(10, 4))
    changes = []
    for weight in (1.0, 0.1, 0.001):
        found = invariant_feature_kernel(kernel, X, LINES, weight)
        psi = tangent_features(kernel, X, tangents(X, LINES))
        _, mu = tangent_components(psi)
        np.testing.assert_allclose(
            found.weights, (1 - weight) * mu / ((1 - weight) * mu + weight), rtol=1e-12
        )
        h, T = 1e-5, tangents(Z, LINES)[:, 0]
        change = (found(Z + h * T, Z) - found(Z - h * T, Z)) / (2 * h)
        changes.append(np.linalg.norm(change) / np.linalg.norm(found(Z)))
    assert changes[0] > changes[1] > changes[2]


def test_it_takes_images_of_float32_and_rules(tmp_path):
    images = RNG.random((15, 12)).astype(np.float32)
    g = image_transforms((3, 4))
    found = invariant_feature_kernel(
        mc.Gaussian("scale"), images, {"down": g["down"], "right": g["right"]}, 0.1
    )
    np.testing.assert_allclose(found.kernel.gamma, mc.Gaussian().resolve(images).gamma)
    y = np.arange(15) % 3
    model = mc.SVC(kernel=found).fit(images, y)
    mc.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(
        mc.load(tmp_path / "model.mercer").predict(images), model.predict(images)
    )


def test_bad_arguments_are_refused():
    psi = tangent_features(mc.Linear(), X, tangents(X, LINES))
    still = tangent_features(mc.Linear(), X, np.zeros((20, 1, 4)))
    cases = [
        (lambda: tangent_components(3), TypeError, "psi must be tangent features"),
        (
            lambda: tangent_components(psi @ np.ones(40)),
            ValueError,
            "psi must be the tangents of points",
        ),
        (lambda: tangent_components(psi, np.ones(3)), ValueError, "sample_weight must have shape"),
        (
            lambda: tangent_components(psi, memory="1kB"),
            MemoryError,
            "inner products of 40 tangents",
        ),
        (lambda: tangent_components(still), ValueError, "no direction"),
        (
            lambda: invariant_feature_kernel(mc.Linear(), X, LINES, memory="1kB"),
            MemoryError,
            "40 tangents",
        ),
        (
            lambda: invariant_feature_kernel(mc.Laplacian(1.0), X, LINES),
            TypeError,
            "has no derivatives",
        ),
        (
            lambda: invariant_feature_kernel(mc.Linear(), X, [lambda X, t: X]),
            ValueError,
            "does not move any row",
        ),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_rules_of_the_bandwidth_use_the_weights_of_the_rows(rule):
    weights = np.where(np.arange(20) < 6, 5.0, 0.5)
    found = invariant_feature_kernel(mc.Gaussian(rule), X, LINES, 0.5, weights)
    assert found.kernel == mc.Gaussian(rule).resolve(X, weights) != mc.Gaussian(rule).resolve(X)
