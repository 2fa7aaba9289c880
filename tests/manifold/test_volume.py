"""Volume elements and densities: closed forms, areas measured in feature space, and what happens at a tip."""

import numpy as np
import pytest
from tests.manifold.test__metric import COMPOSITE, DEGREES, DIMENSIONS, OFFSETS, profile

import mercer as mc
from mercer import manifold


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


@DEGREES
@DIMENSIONS
@OFFSETS
def test_the_determinant_of_polynomials_is_the_closed_form(degree, N, c, rng):
    kernel, X = mc.Polynomial(degree, coef0=c), rng.normal(size=(8, N))
    r2 = (X**2).sum(axis=1)
    f1, f2, _ = profile(degree, c, r2)
    expected = f1 ** (N - 1) * (f1 + r2 * f2)
    np.testing.assert_allclose(manifold.determinant(kernel, X), expected, rtol=1e-10)
    np.testing.assert_allclose(manifold.volume_element(kernel, X) ** 2, expected, rtol=1e-10)


@pytest.mark.parametrize("name", COMPOSITE)
def test_the_volume_element_is_the_root_of_the_determinant(name, rng):
    X = rng.normal(size=(6, 3))
    found = manifold.volume_element(COMPOSITE[name], X)
    np.testing.assert_allclose(found**2, manifold.determinant(COMPOSITE[name], X), rtol=1e-9)


def test_the_logarithm_holds_where_the_volume_does_not():
    X = np.zeros((1, 300))
    np.testing.assert_allclose(
        manifold.log_volume_element(mc.Gaussian(500.0), X), 150 * np.log(1000.0), rtol=1e-12
    )
    assert manifold.volume_element(mc.Gaussian(500.0), X) == np.inf
    assert manifold.determinant(mc.Gaussian(500.0), X) == np.inf


@pytest.mark.parametrize(
    "kernel", [mc.Polynomial(2, coef0=0.0), mc.Polynomial(3), COMPOSITE["normalized"]], ids=repr
)
def test_the_density_integrates_to_one_along_the_curve_in_feature_space(kernel):
    # lengths of chords, which know no derivatives; halving the step and extrapolating leaves an error of order 4
    totals = []
    for steps in (4000, 8000):
        x = np.linspace(0.5, 1.5, steps + 1)[:, None]
        middle = (x[1:] + x[:-1]) / 2
        p = np.pi / 2 * np.sin(np.pi * (middle[:, 0] - 0.5))
        ends = mc.features(kernel, x[1:]), mc.features(kernel, x[:-1])
        chords = np.sqrt(mc.sqdist(*ends, paired=True))
        totals.append(manifold.density(kernel, middle, p) @ chords)
    assert (4 * totals[1] - totals[0]) / 3 == pytest.approx(1, abs=1e-6)


def test_the_density_integrates_to_one_over_the_area_in_feature_space():
    # triangles of mapped corners, by Heron's formula from explicit monomials; extrapolated as above
    totals = []
    for steps in (150, 300):
        grid = np.linspace(0.2, 1.2, steps + 1)
        corners = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
        x, y = corners[..., 0], corners[..., 1]
        mapped = np.stack([x**2, y**2, 2**0.5 * x * y, 2**0.5 * x, 2**0.5 * y], axis=-1)
        total = 0.0
        for a, b, c in [((0, 0), (1, 0), (0, 1)), ((1, 1), (1, 0), (0, 1))]:
            A, B, C = (_corner(mapped, *corner) for corner in (a, b, c))
            middle = sum(_corner(corners, *corner) for corner in (a, b, c)) / 3
            U, V = B - A, C - A
            area = np.sqrt((U**2).sum(1) * (V**2).sum(1) - (U * V).sum(1) ** 2) / 2
            p = np.prod(np.pi / 2 * np.sin(np.pi * (middle - 0.2)), axis=1)
            total += manifold.density(mc.Polynomial(2), middle, p) @ area
        totals.append(total)
    assert (4 * totals[1] - totals[0]) / 3 == pytest.approx(1, abs=1e-6)


def _corner(values, i, j):
    n = len(values) - 1
    return values[i : i + n, j : j + n].reshape(n * n, -1)


def test_an_even_spread_over_half_a_sphere_has_the_density_of_its_area(rng):
    # uniform points of the half sphere, seen from its centre on the plane at height 1
    sphere, X = mc.Normalized(mc.Linear() + 1), rng.normal(size=(20, 2))
    p = (1 + (X**2).sum(axis=1)) ** -1.5 / (2 * np.pi)
    np.testing.assert_allclose(manifold.density(sphere, X, p), 1 / (2 * np.pi), rtol=1e-12)


@pytest.mark.parametrize("N", [1, 2, 3])
@pytest.mark.parametrize("degree", [2, 3, 5])
def test_density_diverges_at_zero_for_homogeneous_polynomials_only(degree, N):
    r = np.array([1e-2, 1e-4, 1e-6])
    X = np.zeros((3, N))
    X[:, 0] = r
    at = np.concatenate([X, np.zeros((1, N))])
    tip = manifold.density(mc.Polynomial(degree, coef0=0.0), at, np.ones(4))
    assert tip[3] == np.inf
    # the volume element of f = s^p is sqrt(p) p^(N / 2) r^(N (p - 1))
    np.testing.assert_allclose(
        tip[:3], degree ** (-(N + 1) / 2) * r ** (-N * (degree - 1.0)), rtol=1e-9
    )
    smooth = manifold.density(mc.Polynomial(degree, coef0=0.3), at, np.ones(4))
    np.testing.assert_allclose(smooth[3], (degree * 0.3 ** (degree - 1)) ** (-N / 2), rtol=1e-12)
    np.testing.assert_allclose(smooth[1:], smooth[3], rtol=1e-6)
    assert np.isfinite(manifold.density(mc.Polynomial(1, coef0=0.0), at, np.ones(4))).all()


def test_where_there_are_no_points_there_is_no_density():
    assert manifold.density(mc.Polynomial(2, coef0=0.0), np.zeros((1, 2)), np.zeros(1)) == 0


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (np.ones((2, 1)), r"p must have one dimension, got shape \(2, 1\)"),
        (np.array([1.0, -1.0]), r"p\[1\] = -1.0 must be at least 0"),
        (np.array([np.nan, 1.0]), r"p\[0\] = nan"),
    ],
)
def test_invalid_densities_are_refused(p, message):
    with pytest.raises(ValueError, match=message):
        manifold.density(mc.Gaussian(1.0), np.zeros((2, 2)), p)


def test_a_negative_eigenvalue_has_no_volume():
    with pytest.raises(ValueError, match="not positive definite"):
        manifold.volume_element(mc.Sigmoid(1.0), np.array([[3.0, 0.0]]))


def test_volumes_of_single_precision_points_have_its_digits(rng):
    # their logarithms are near 70, so that those in float32 have an error of 4e-6
    X, kernel = rng.normal(size=(6, 20)).astype(np.float32), mc.Polynomial(3)
    wide = X.astype(np.float64)
    found, p = manifold.volume_element(kernel, X), np.ones(6)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, manifold.volume_element(kernel, wide), rtol=2e-7)
    density = manifold.density(kernel, X, p.astype(np.float32))
    assert density.dtype == np.float32
    np.testing.assert_allclose(density, manifold.density(kernel, wide, p), rtol=2e-7)
