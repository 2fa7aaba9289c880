"""Metric and Christoffel symbols: closed forms, finite differences, and compatibility."""

import numpy as np
import pytest
from tests.reference.derivatives import central

import mercer as mc
from mercer import manifold

DEGREES = pytest.mark.parametrize("degree", range(1, 7))
DIMENSIONS = pytest.mark.parametrize("N", range(1, 6))
OFFSETS = pytest.mark.parametrize("c", [0.0, 0.7])

BUMPS = mc.Expansion(mc.Gaussian(0.3), np.random.default_rng(3).normal(size=(5, 3)), np.ones(5))
COMPOSITE = {
    "sum": mc.Gaussian(0.4) + 0.5 * mc.Polynomial(2),
    "product": mc.Gaussian(0.2) * (mc.Linear() + 1),
    "normalized": mc.Normalized(mc.Polynomial(3, coef0=2.0) + mc.Cauchy(0.5)),
    "conformal": mc.Rescaled(mc.Polynomial(2, coef0=1.0), BUMPS),
    "mapped": mc.Mapped(
        mc.Polynomial(3), np.array([[1.0, 0.3, 0.0], [0.0, 1.0, -0.4], [0.2, 0.0, 1.0]])
    ),
    "nested": mc.Exp(0.3 * mc.Normalized(mc.Linear() + 1) + 0.1 * mc.Linear()) ** 2,
    "matern32": mc.Rescaled(mc.Matern(1.5, nu=1.5), BUMPS)
    + mc.Polynomial(2) * mc.Matern(2.0, nu=1.5),
}


def profile(degree, c, s):
    """f', f'' and f''' of (s + c)^degree."""
    falling = np.cumprod([degree, degree - 1, degree - 2])
    return [falling[j] * (s + c) ** max(degree - 1 - j, 0) for j in range(3)]


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


@DEGREES
@DIMENSIONS
@OFFSETS
def test_metric_inverse_and_christoffel_of_polynomials_are_the_closed_forms(degree, N, c, rng):
    kernel, X = mc.Polynomial(degree, coef0=c), rng.normal(size=(8, N))
    r2 = (X**2).sum(axis=1)
    f1, f2, f3 = (f[:, None, None] for f in profile(degree, c, r2))
    eye, xx, radial = np.eye(N), X[:, :, None] * X[:, None, :], f1 + r2[:, None, None] * f2
    close(manifold.metric(kernel, X), f1 * eye + f2 * xx)
    close(manifold.inverse_metric(kernel, X), (eye - f2 / radial * xx) / f1)
    mixed = np.einsum("ab,nc->nabc", eye, X)
    mixed = (f2 / f1)[..., None] * (mixed + np.swapaxes(mixed, 2, 3))
    expected = (
        mixed + X[:, :, None, None] * xx[:, None] * ((f3 - 2 * f2**2 / f1) / radial)[..., None]
    )
    close(manifold.christoffel(kernel, X), expected)


def close(found, expected, rtol=1e-10):
    """Agree to rtol of the largest entry at each point."""
    scale = np.abs(expected).reshape(len(expected), -1).max(axis=1)
    error = np.abs(found - expected).reshape(len(expected), -1).max(axis=1)
    assert (error <= rtol * scale).all(), (error / scale).max()


@pytest.mark.parametrize(
    ("kernel", "factor"),
    [
        (mc.Gaussian(0.7), 1.4),
        (mc.Cauchy(0.5), 1.0),
        (mc.RationalQuadratic(2.0, alpha=3.0), 0.25),
        (mc.Matern(2.0, nu=1.5), 0.75),
        (mc.Matern(2.0, nu=2.5), 5 / 12),
    ],
    ids=lambda value: type(value).__name__,
)
def test_radial_kernels_have_a_constant_metric(kernel, factor, rng):
    X = rng.normal(size=(5, 4)) + 1e6
    np.testing.assert_allclose(
        manifold.metric(kernel, X), np.broadcast_to(factor * np.eye(4), (5, 4, 4)), rtol=1e-13
    )
    assert not manifold.christoffel(kernel, X).any()


def test_the_metric_of_explicit_features_is_that_of_their_jacobian(rng):
    def features(X):
        return np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, 2**0.5 * X[:, 0] * X[:, 1]])

    def jacobian(X):
        x, y = X.T
        rows = [[2 * x, 0 * x], [0 * x, 2 * y], [2**0.5 * y, 2**0.5 * x]]
        return np.moveaxis(np.array(rows), -1, 0)

    X = rng.normal(size=(6, 2))
    implicit = manifold.metric(mc.Polynomial(2, coef0=0.0), X)
    explicit = mc.FeatureMap(features, jacobian)
    np.testing.assert_allclose(manifold.metric(explicit, X), implicit, rtol=1e-13)
    close(
        manifold.metric(mc.Exp(0.3 * explicit) * explicit, X),
        manifold.metric(_exp_times_square(), X),
    )
    with pytest.raises(TypeError, match="FeatureMap.* has no second derivatives.*or length"):
        manifold.christoffel(explicit, X)


def _exp_times_square():
    square = mc.Polynomial(2, coef0=0.0)
    return mc.Exp(0.3 * square) * square


@pytest.mark.parametrize("name", COMPOSITE)
def test_the_metric_is_the_limit_of_squared_distances_in_feature_space(name, rng):
    kernel, X = COMPOSITE[name], rng.normal(size=(5, 3))
    step = rng.normal(size=(5, 3)) * 1e-3
    distances = mc.sqdist(mc.features(kernel, X - step), mc.features(kernel, X + step), paired=True)
    squares = np.einsum("na,nab,nb->n", step, manifold.metric(kernel, X), step)
    # Matern 3/2 has a term |x - z|^3 beyond the metric
    np.testing.assert_allclose(distances, 4 * squares, rtol=1e-2 if name == "matern32" else 1e-4)


@pytest.mark.parametrize("name", COMPOSITE)
def test_the_metric_is_constant_along_its_own_connection(name, rng):
    kernel, X = COMPOSITE[name], rng.normal(size=(5, 3))
    symbols, g = manifold.christoffel(kernel, X), manifold.metric(kernel, X)
    slope = central(lambda Y: manifold.metric(kernel, Y), X)
    first = np.einsum("neca,neb->ncab", symbols, g)
    derivative = slope - first - np.swapaxes(first, 2, 3)
    assert np.abs(derivative).max() <= 1e-8 * np.abs(slope).max()
    # without torsion
    np.testing.assert_allclose(symbols, np.swapaxes(symbols, 2, 3), rtol=1e-12, atol=1e-12)


def test_a_linear_map_of_inputs_pulls_the_metric_back(rng):
    A, X = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    kernel = mc.Polynomial(3)
    inner = manifold.metric(kernel, X @ A.T)
    np.testing.assert_allclose(
        manifold.metric(mc.Mapped(kernel, A), X), A.T @ inner @ A, rtol=1e-12
    )


def test_a_conformal_factor_scales_the_metric_of_directions_in_which_it_is_constant():
    # for a kernel with k(x, x) = 1, g becomes c^2 g + dc dc'
    c = mc.Expansion(mc.Gaussian(0.5), np.zeros((1, 2)), np.ones(1))
    X = np.array([[0.8, 0.0]])
    g = manifold.metric(mc.Rescaled(mc.Gaussian(2.0), c), X)[0]
    value, slope = np.exp(-0.32), -0.8 * np.exp(-0.32)
    np.testing.assert_allclose(
        g, [[4 * value**2 + slope**2, 0], [0, 4 * value**2]], rtol=1e-14, atol=1e-16
    )


@pytest.mark.parametrize("field", [manifold.metric, manifold.inverse_metric, manifold.christoffel])
def test_a_field_of_many_points_needs_more_memory_than_its_array_and_less_than_two(field, rng):
    kernel, X = mc.Gaussian(0.5), rng.normal(size=(2000, 2))
    size = field(kernel, X).nbytes
    with pytest.raises(MemoryError, match="larger memory="):
        field(kernel, X, memory=size)
    field(kernel, X, memory=2 * size)


def test_results_that_overflow_the_type_of_the_points_are_refused():
    X = np.full((1, 2), 1e10, np.float32)
    kernel = mc.Polynomial(5)
    with pytest.raises(ValueError, match=r"overflow float32, the type of X; give X\.astype"):
        mc.manifold.metric(kernel, X)
    assert np.isfinite(mc.manifold.metric(kernel, X.astype(float))).all()
