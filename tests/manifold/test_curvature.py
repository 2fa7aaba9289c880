"""Curvature: closed forms, spheres, flat surfaces, and the identities every curvature tensor satisfies."""

import numpy as np
import pytest
from tests.manifold.test__metric import COMPOSITE, DEGREES, DIMENSIONS, OFFSETS, close, profile
from tests.reference.derivatives import central

import mercer as mc
from mercer import manifold


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


def antisymmetric(A, B):
    """A_ad B_bc - A_ac B_bd, of matrices (n, N, N)."""
    return np.einsum("nad,nbc->nabcd", A, B) - np.einsum("nac,nbd->nabcd", A, B)


@DEGREES
@DIMENSIONS
@OFFSETS
def test_curvature_of_polynomials_is_the_closed_form(degree, N, c, rng):
    kernel, X = mc.Polynomial(degree, coef0=c), rng.normal(size=(8, N))
    r2 = (X**2).sum(axis=1)
    f1, f2, f3 = (f[:, None, None, None, None] for f in profile(degree, c, r2))
    eye, xx = np.broadcast_to(np.eye(N), (8, N, N)), X[:, :, None] * X[:, None, :]
    expected = f2 * antisymmetric(eye, eye)
    expected = expected + (f3 - f2**2 / f1) * (antisymmetric(eye, xx) + antisymmetric(xx, eye))
    scale = np.abs(f2) + np.abs(f3) * r2[:, None, None, None, None]
    assert (np.abs(manifold.riemann(kernel, X) - expected) <= 1e-10 * scale).all()
    u = r2 + c
    size = (degree - 1) / (degree * u**degree)
    scalar = -(N - 1) * size * ((N - 2) + 2 * c / (c + degree * r2))
    assert (np.abs(manifold.scalar_curvature(kernel, X) - scalar) <= 1e-10 * N**2 * size).all()


@pytest.mark.parametrize(
    ("N", "degree", "closed"),
    [
        (2, 2, lambda c, r2: -c / ((r2 + c) ** 2 * (c + 2 * r2))),
        (2, 3, lambda c, r2: -4 * c / (3 * (r2 + c) ** 3 * (c + 3 * r2))),
        (3, 2, lambda c, r2: -(3 * c + 2 * r2) / ((r2 + c) ** 2 * (c + 2 * r2))),
    ],
)
def test_scalar_curvature_has_the_published_values(N, degree, closed, rng):
    X = rng.normal(size=(20, N))
    found = manifold.scalar_curvature(mc.Polynomial(degree, coef0=0.4), X)
    np.testing.assert_allclose(found, closed(0.4, (X**2).sum(axis=1)), rtol=1e-10)


@DEGREES
def test_homogeneous_polynomials_of_the_plane_are_flat_and_others_are_not(degree, rng):
    X = rng.normal(size=(20, 2))
    r2 = (X**2).sum(axis=1)
    flat = manifold.scalar_curvature(mc.Polynomial(degree, coef0=0.0), X)
    assert (np.abs(flat) * r2**degree).max() < 1e-12
    curved = manifold.scalar_curvature(mc.Polynomial(degree, coef0=0.5), X)
    assert (curved < 0).all() if degree > 1 else not curved.any()
    assert (
        manifold.scalar_curvature(mc.Polynomial(degree, coef0=0.0), rng.normal(size=(1, 3)))[0] < 0
        or degree == 1
    )


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.7),
        mc.Cauchy(0.5),
        mc.RationalQuadratic(),
        mc.Matern(nu=1.5),
        mc.Matern(nu=2.5),
        mc.Linear(),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_radial_and_linear_kernels_are_flat(kernel, rng):
    X = rng.normal(size=(4, 3))
    assert not manifold.riemann(kernel, X).any()
    assert not manifold.ricci(kernel, X).any()
    assert not manifold.scalar_curvature(kernel, X).any()


@DIMENSIONS
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_spheres_have_their_positive_curvature(N, degree, rng):
    # the ray through (x, 1) meets the unit sphere; a cosine^p is a sphere of squared radius p to second order
    sphere, X = mc.Normalized(mc.Linear() + 1) ** degree, rng.normal(size=(6, N))
    g = manifold.metric(sphere, X)
    close(manifold.riemann(sphere, X), -antisymmetric(g, g) / degree)
    np.testing.assert_allclose(
        manifold.scalar_curvature(sphere, X), N * (N - 1) / degree, rtol=1e-9
    )
    if N > 1:
        assert (manifold.scalar_curvature(sphere, X) > 0).all()


def test_curvature_does_not_depend_on_coordinates(rng):
    A, X = rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=(5, 3))
    kernel = mc.Polynomial(3) + mc.Gaussian(0.5)
    np.testing.assert_allclose(
        manifold.scalar_curvature(mc.Mapped(kernel, A), X),
        manifold.scalar_curvature(kernel, X @ A.T),
        rtol=1e-8,
    )


def test_a_multiple_of_a_kernel_divides_curvature(rng):
    X = rng.normal(size=(5, 3))
    once, four_times = (
        manifold.scalar_curvature(kernel, X) for kernel in (mc.Polynomial(3), 4 * mc.Polynomial(3))
    )
    np.testing.assert_allclose(four_times, once / 4, rtol=1e-12)


@pytest.mark.parametrize("name", COMPOSITE)
def test_curvature_is_that_of_the_connection(name, rng):
    kernel, X = COMPOSITE[name], rng.normal(size=(4, 3))
    G = manifold.christoffel(kernel, X)
    slope = central(lambda Y: manifold.christoffel(kernel, Y), X)
    mixed = np.einsum("ncabd->nabcd", slope) + np.einsum("nace,nebd->nabcd", G, G)
    mixed = mixed - np.swapaxes(mixed, 3, 4)
    expected = np.einsum("nae,nebcd->nabcd", manifold.metric(kernel, X), mixed)
    close(manifold.riemann(kernel, X), expected, rtol=1e-7)


@pytest.mark.parametrize("name", COMPOSITE)
def test_the_algebraic_identities_hold(name, rng):
    R = manifold.riemann(COMPOSITE[name], rng.normal(size=(5, 3)))
    largest = np.abs(R).max()
    for identity in (
        R + np.swapaxes(R, 1, 2),
        R + np.swapaxes(R, 3, 4),
        R - np.einsum("nabcd->ncdab", R),
        # the first identity of Bianchi
        R + np.einsum("nabcd->nacdb", R) + np.einsum("nabcd->nadbc", R),
    ):
        assert np.abs(identity).max() <= 1e-11 * largest


@pytest.mark.parametrize("name", COMPOSITE)
def test_the_second_identity_of_bianchi_holds(name, rng):
    kernel, X = COMPOSITE[name], rng.normal(size=(4, 3))
    R, G = manifold.riemann(kernel, X), manifold.christoffel(kernel, X)
    D = central(lambda Y: manifold.riemann(kernel, Y), X, h=0.01)
    scale = np.abs(D).max()
    for rule in (
        "nfea,nfbcd->neabcd",
        "nfeb,nafcd->neabcd",
        "nfec,nabfd->neabcd",
        "nfed,nabcf->neabcd",
    ):
        D = D - np.einsum(rule, G, R)
    cyclic = D + np.einsum("neabcd->ncabde", D) + np.einsum("neabcd->ndabec", D)
    assert np.abs(cyclic).max() <= 1e-8 * scale


def test_ricci_and_scalar_are_contractions_of_riemann(rng):
    kernel, X = COMPOSITE["sum"], rng.normal(size=(5, 3))
    upper = manifold.inverse_metric(kernel, X)
    ricci = np.einsum("nac,nabcd->nbd", upper, manifold.riemann(kernel, X))
    np.testing.assert_allclose(manifold.ricci(kernel, X), ricci, rtol=1e-12, atol=1e-13)
    scalar = np.einsum("nbd,nbd->n", upper, ricci)
    np.testing.assert_allclose(manifold.scalar_curvature(kernel, X), scalar, rtol=1e-11)


def test_a_line_has_no_curvature(rng):
    X = rng.normal(size=(4, 1))
    assert not manifold.riemann(COMPOSITE["product"], X).any()
