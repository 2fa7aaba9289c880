"""Residuals of axes: 0 for orthonormal principal axes, and by their formulas for others."""

import numpy as np
import pytest

import mercer as mc
from mercer.maps import onto_landmarks, residuals, spectral, triangular

KERNEL = mc.Gaussian(0.5)


@pytest.fixture
def X(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((30, 3))


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1.2])
def test_residuals_of_eigenpairs_are_those_of_the_centred_matrix(X, centre, scale):
    found = spectral(mc.features(KERNEL, X), centre)
    H = np.eye(30) - centre / 30
    A = scale * found.basis.coef
    lengths = np.linalg.norm(A, axis=0)
    values, V = lengths**-2, A / lengths
    expected = np.linalg.norm(H @ KERNEL(X) @ H @ V - V * values, axis=0) / values.max()
    result = residuals.of_eigenpairs(scale * found.basis, scale * found.intercept)
    np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-13)
    assert result.max() > 0.1 if scale > 1 else result.max() < 1e-13


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1.2])
def test_residuals_of_projections_vanish_at_principal_axes_only(X, centre, scale):
    found = onto_landmarks(mc.features(KERNEL, X[:9]), mc.features(KERNEL, X), centre)
    result = residuals.of_projections(scale * found.basis, scale * found.intercept, X)
    assert result.max() > 0.1 if scale > 1 else result.max() < 1e-13
    rotated = (
        found.basis
        @ np.linalg.qr(np.random.default_rng(0).standard_normal((9, 9)))[0][:, : len(found.basis)]
    )
    intercept = -rotated(X).mean(axis=0) * centre
    assert residuals.of_projections(rotated, intercept, X).max() > 1e-3


def test_residuals_of_projections_far_from_the_origin_are_those_of_the_axes_and_of_the_intercept(X):
    # inner products of 1e12, rounded by 1e-4
    far = X + 1e6
    found = onto_landmarks(mc.features(mc.Linear(), far[:9]), mc.features(mc.Linear(), far), True)
    assert residuals.of_projections(found.basis, found.intercept, far).max() < 1e-3
    spread = np.sqrt(np.square(found.basis(far) + found.intercept).sum(axis=0).max() / len(far))
    shifted = residuals.of_projections(found.basis, found.intercept + 0.1 * spread, far)
    np.testing.assert_allclose(shifted, 0.1, rtol=1e-2)


@pytest.mark.parametrize("centre", [True, False])
def test_residuals_of_inner_products_are_of_axes_and_origin(X, centre):
    found = triangular(mc.features(KERNEL, X), centre)
    origin = found.origin.coef
    assert residuals.of_inner_products(found.basis, found.intercept, origin).max() < 1e-9
    assert residuals.of_inner_products(1.1 * found.basis, found.intercept, origin).max() > 1e-3
    assert residuals.of_inner_products(found.basis, found.intercept + 0.1, origin).max() > 1e-3


def test_residuals_of_features_are_of_all_landmarks(X):
    basis = spectral(mc.features(KERNEL, X), False).basis
    assert residuals.of_features(basis).max() < 1e-13
    assert residuals.of_features(basis[:, 1:]).max() > 1e-3
