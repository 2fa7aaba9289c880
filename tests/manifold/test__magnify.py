"""Amari and Wu's conformal kernel."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer import manifold


@pytest.fixture(scope="module")
def halves():
    X = np.random.default_rng(0).normal(size=(80, 2))
    return X, X[:, 0] + 0.3 * X[:, 1] > 0


@pytest.fixture(scope="module")
def svc(halves):
    return mc.SVC(kernel=mc.Gaussian(0.5)).fit(*halves)


def test_it_is_a_conformal_kernel_with_a_bump_at_every_support_vector(svc, halves):
    X, _ = halves
    kernel = manifold.magnify(svc, 0.4)
    distances = ((X[:, None] - svc.support_vectors_) ** 2).sum(axis=2)
    c = np.exp(-distances / (2 * 0.4**2)).sum(axis=1)
    np.testing.assert_allclose(kernel(X), c[:, None] * svc.kernel_(X) * c, rtol=1e-12)


def test_volume_is_larger_near_the_boundary(svc, halves):
    X, _ = halves
    kernel = manifold.magnify(svc, 0.4)
    gain = np.log(manifold.volume_element(kernel, X) / manifold.volume_element(svc.kernel_, X))
    near = np.abs(svc.decision_function(X)) < 0.5
    assert gain[near].min() > np.median(gain[~near])


def test_its_metric_is_that_of_a_conformal_kernel_of_unit_length(svc, halves):
    # k(x, x) = 1 and its slope there is 0: g becomes c^2 g + dc dc'
    X, _ = halves
    kernel = manifold.magnify(svc, 0.4)
    c, slope = kernel.c(X)[:, 0], kernel.c.gradient(X)[:, 0]
    expected = c[:, None, None] ** 2 * np.eye(2) + slope[:, :, None] * slope[:, None, :]
    np.testing.assert_allclose(manifold.metric(kernel, X), expected, rtol=1e-10, atol=1e-12)
    assert np.isfinite(manifold.scalar_curvature(kernel, X)).all()


def test_a_model_can_be_refitted(svc, halves):
    X, y = halves
    again = mc.SVC(kernel=manifold.magnify(svc, 0.7)).fit(X, y)
    assert again.score(X, y) >= svc.score(X, y) - 0.05


def test_models_without_rows_as_support_vectors_are_refused(svc, halves):
    X, y = halves
    with pytest.raises(ValueError, match="width = 0 must be above 0"):
        manifold.magnify(svc, 0)
    with pytest.raises(TypeError, match="KernelRidge has no support_vectors_; use a fitted SVC"):
        manifold.magnify(mc.KernelRidge(kernel=mc.Linear()).fit(X, y), 1.0)
    with pytest.raises(TypeError, match="has no kernel_ and no support_vectors_"):
        manifold.magnify(mc.SVC(), 1.0)
    given = mc.SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(TypeError, match="magnify needs rows of numbers|no support_vectors_"):
        manifold.magnify(given, 1.0)


@pytest.mark.parametrize("width", [0.99e-150, 1.01e150])
def test_a_width_has_a_square(svc, width):
    with pytest.raises(
        ValueError, match=re.escape(f"width = {width} must be from 1e-150 to 1e+150, so")
    ):
        manifold.magnify(svc, width)


@pytest.mark.parametrize("width", [1e-150, 1e150])
def test_the_limits_of_a_width_are_taken(svc, width):
    assert manifold.magnify(svc, width).c.kernel.gamma == pytest.approx(0.5 / width**2)


def test_the_type_of_a_width_does_not_matter(svc):
    wide, narrow = manifold.magnify(svc, 0.5), manifold.magnify(svc, np.float32(0.5))
    assert narrow.c.kernel == wide.c.kernel == mc.Gaussian(2.0)


def test_sparse_support_vectors_give_the_kernel_of_dense_ones(halves):
    X, y = halves
    fits = (mc.SVC(kernel=mc.Gaussian(0.5)).fit(rows, y) for rows in (X, sp.csr_matrix(X)))
    dense, sparse = (mc.manifold.magnify(fit, 0.7) for fit in fits)
    np.testing.assert_allclose(sparse(X), dense(X), rtol=1e-6)
