"""Tangent features against differences of the kernel, as a block of vectors, for every class of kernels."""

import pickle

import numpy as np
import pytest

import mercer as mc
from mercer.invariance import TangentFeatures, tangent_features

KERNELS = [
    mc.Gaussian(0.2),
    mc.Polynomial(3, 0.3, 1.0),
    mc.Matern(1.5, 2.5),
    mc.RationalQuadratic(1.2, 0.7),
    mc.Gaussian(0.2) * mc.Polynomial(2) + 2 * mc.Linear(),
    mc.Normalized(mc.Polynomial(3)),
    mc.Mapped(mc.Gaussian(0.2), np.arange(15.0).reshape(3, 5) / 10),
]


@pytest.fixture
def data(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    return rng.normal(size=(6, 5)), rng.normal(size=(6, 2, 5)), rng.normal(size=(4, 5))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_central_differences_of_the_kernel(kernel, data):
    X, T, Z = data
    psi, h = tangent_features(kernel, X, T), 1e-5
    steps = [(kernel(Z, X + h * T[:, a]) - kernel(Z, X - h * T[:, a])) / (2 * h) for a in range(2)]
    expected = np.stack(steps, axis=2).reshape(4, 12)
    np.testing.assert_allclose(psi(Z), expected, atol=1e-6 * abs(expected).max())
    C = np.cos(np.arange(24.0)).reshape(12, 2)
    np.testing.assert_allclose((psi @ C)(Z), psi(Z) @ C, rtol=1e-10, atol=1e-12)
    D = np.array([[1.0, 2.0, 0.0], [-1.0, 3.0, 1.0]])
    np.testing.assert_allclose(((psi @ C) @ D)(Z), psi(Z) @ C @ D, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_inner_products_are_second_differences_of_the_kernel(kernel, data):
    X, T, Z = data
    psi, h = tangent_features(kernel, X, T), 1e-4
    expected = np.empty((12, 12))
    for a in range(2):
        for b in range(2):
            moved = {
                (s, t): kernel(X + s * h * T[:, a], X + t * h * T[:, b])
                for s in (1, -1)
                for t in (1, -1)
            }
            expected[a::2, b::2] = sum(s * t * K for (s, t), K in moved.items()) / (4 * h * h)
    found = psi.inner(psi)
    np.testing.assert_allclose(found, expected, atol=1e-6 * abs(expected).max())
    np.testing.assert_allclose(psi.norms() ** 2, np.diag(found), rtol=1e-10)
    assert np.linalg.eigvalsh(found).min() > -1e-10 * abs(found).max()
    C = np.cos(np.arange(24.0)).reshape(12, 2)
    np.testing.assert_allclose((psi @ C).inner(psi), C.T @ found, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((psi @ C).norms() ** 2, np.diag(C.T @ found @ C), rtol=1e-9)
    chi = mc.Expansion(kernel, Z, np.sin(np.arange(8.0)).reshape(4, 2))
    np.testing.assert_allclose(psi.inner(chi), psi(Z).T @ chi.coef, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_vjp_is_that_of_differences(kernel, data):
    X, T, Z = data
    psi = tangent_features(kernel, X, T) @ np.cos(np.arange(36.0)).reshape(12, 3)
    W, h = np.sin(np.arange(12.0)).reshape(4, 3), 1e-5
    expected = np.stack(
        [(W * (psi(Z + h * e) - psi(Z - h * e))).sum(axis=1) / (2 * h) for e in np.eye(5)], axis=1
    )
    np.testing.assert_allclose(psi.vjp(Z, W), expected, atol=1e-6 * abs(expected).max())


def test_results_do_not_depend_on_blocks(data, costs):
    X, T, Z = data
    psi = tangent_features(KERNELS[0], X, T)
    expected = psi(Z), psi.inner(psi), psi.vjp(Z, np.ones((4, 12)))
    costs(BLOCK=13)
    for left, right in zip(
        (psi(Z), psi.inner(psi), psi.vjp(Z, np.ones((4, 12)))), expected, strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-14)


def test_a_linear_kernel_has_the_tangents_as_features(data):
    X, T, Z = data
    psi = tangent_features(mc.Linear(), X, T)
    np.testing.assert_allclose(psi(Z), Z @ T.reshape(12, 5).T)
    np.testing.assert_allclose(psi.inner(psi), T.reshape(12, 5) @ T.reshape(12, 5).T)
    constant = tangent_features(mc.Constant(2.0), X, T)
    np.testing.assert_array_equal(constant.inner(constant), 0.0)


def test_blocks_with_different_numbers_of_directions_have_inner_products(data):
    X, T, _ = data
    left, right = tangent_features(KERNELS[0], X, T), tangent_features(KERNELS[0], X[:2], T[:2, :1])
    np.testing.assert_allclose(left.inner(right), left.inner(left)[:, [0, 2]], rtol=1e-12)


def test_float32_gives_float32_near_float64(data):
    X, T, Z = data
    narrow = tangent_features(KERNELS[0], X.astype("f4"), T.astype("f4"))
    wide = tangent_features(KERNELS[0], X, T)
    assert (
        narrow(Z.astype("f4")).dtype
        == narrow.inner(narrow).dtype
        == narrow.norms().dtype
        == np.float32
    )
    assert narrow(Z).dtype == np.float64
    np.testing.assert_allclose(narrow(Z.astype("f4")), wide(Z), atol=1e-5)


def test_blocks_are_values(data):
    X, T, _ = data
    psi = tangent_features(KERNELS[0], X, T)
    assert pickle.loads(pickle.dumps(psi)) == psi == TangentFeatures(KERNELS[0], X.copy(), T)
    assert hash(psi) == hash(TangentFeatures(KERNELS[0], X.copy(), T))
    assert psi != psi @ np.eye(12)
    assert (len(psi), len(psi @ np.ones(12))) == (12, 1)
    assert "12 vectors over 2 tangents at each of 6 points" in repr(psi)


def test_bad_arguments_are_refused(data):
    X, T, Z = data
    psi = tangent_features(KERNELS[0], X, T)
    cases = [
        (
            lambda: tangent_features(KERNELS[0], X, T[:5]),
            ValueError,
            r"T must have shape \(n, a, d\) with .* \(6, 5\)",
        ),
        (lambda: tangent_features(KERNELS[0], X, T[:, 0]), ValueError, r"T must have shape"),
        (lambda: tangent_features(KERNELS[0], X, T * np.nan), ValueError, "must be finite"),
        (
            lambda: tangent_features(mc.Matern(1.0, 0.5), X, T),
            TypeError,
            "not differentiable at x = z",
        ),
        (lambda: tangent_features(mc.Laplacian(1.0), X, T), TypeError, "has no derivatives"),
        (lambda: tangent_features(mc.Gaussian("scale"), X, T), ValueError, "is not resolved"),
        (lambda: tangent_features("rbf", X, T), TypeError, "kernel must be a Kernel"),
        (
            lambda: psi @ np.ones(3),
            ValueError,
            r"C must have 12 rows in psi @ C.*got shape \(3, 1\)",
        ),
        (lambda: psi(Z[:, :3]), ValueError, "3 features"),
        (
            lambda: psi.inner(mc.features(mc.Linear(), X)),
            ValueError,
            "chi must have the kernel Gaussian",
        ),
        (lambda: psi.inner(3), TypeError, "chi must be a block of vectors"),
        (lambda: psi.vjp(Z, np.ones((4, 3))), ValueError, r"W must have shape \(4, 12\)"),
        (
            lambda: TangentFeatures(KERNELS[0], X, T, np.ones((3, 2))),
            ValueError,
            "coef must have 12 rows",
        ),
        (lambda: tangent_features(mc.Polynomial(9), 1e40 * X, 1e40 * T), ValueError, "overflow"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
