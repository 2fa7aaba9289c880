"""Spectral densities against integrals, norms as integrals over frequencies, and kernels as Green's functions."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.special import comb, eval_hermite, gammaln, j0

import mercer as mc
from mercer.regularisation import (
    energy,
    null_space,
    penalise,
    penalty,
    spectral_density,
    transform,
    with_penalty,
)

SMOOTH = [
    mc.Gaussian(0.7),
    mc.Matern(0.8, 2.5),
    mc.Cauchy(1.3),
    mc.RationalQuadratic(0.9, 2.2),
    2.0 * mc.Gaussian(0.3) + 0.5 * mc.Matern(0.6, 2.5),
]
ROUGH = [mc.Laplacian(1.5), mc.Matern(0.7, 0.5), mc.Matern(0.7, 1.5)]
ids = {"ids": repr}


def block(kernel, d, n=5, m=2):
    rng = np.random.default_rng(d)
    return mc.features(kernel, rng.uniform(-0.7, 0.7, (n, d))) @ rng.normal(size=(n, m))


def panels(edges, order=24):
    """Gauss-Legendre nodes and weights on the intervals between edges."""
    t, w = np.polynomial.legendre.leggauss(order)
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    return (middle + half * t).ravel(), (half * w).ravel()


@pytest.mark.parametrize("kernel", [*SMOOTH, *ROUGH], **ids)
def test_the_squared_norm_is_the_integral_of_the_energy_over_frequencies_in_one_dimension(kernel):
    f, limit = block(kernel, 1), 60.0
    w, weights = panels(
        np.concatenate([[0], np.geomspace(1e-12, 1, 40), np.linspace(1, limit, 120)[1:]])
    )
    core = 2 * weights @ energy(f, w[:, None])
    # beyond the limit by the transform of each difference of points, whose tails quad extrapolates
    differences = np.abs(f.points - f.points.T)
    tails = np.vectorize(lambda x: _tail(kernel, limit, x) / np.pi)(differences)
    total = core + np.einsum("im,ij,jm->m", f.coef, tails, f.coef)
    assert np.abs(total - f.norms() ** 2).max() < 1e-8 * np.max(f.norms() ** 2)


def _tail(kernel, limit, x):
    def density(w):
        return spectral_density(kernel, np.array([[w]]))[0]

    options = (
        {"weight": "cos", "wvar": x, "epsabs": 1e-12}
        if x > 0
        else {"epsabs": 1e-13, "epsrel": 1e-12}
    )
    return quad(density, limit, np.inf, limlst=400, limit=400, **options)[0]


@pytest.mark.parametrize("kernel", SMOOTH, **ids)
def test_the_squared_norm_is_the_integral_of_the_energy_over_frequencies_in_the_plane(kernel):
    f, limit = block(kernel, 2), 300.0
    # the density of Cauchy kernels has a logarithm at 0
    r, weights = panels(
        np.concatenate([[0], np.geomspace(1e-9, 1, 30), np.linspace(1, limit, 75)[1:]])
    )
    angles = np.linspace(0, np.pi, 700, endpoint=False)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    w = (r[:, None, None] * directions).reshape(-1, 2)
    values = energy(f, w).reshape(len(r), len(angles), -1).mean(axis=1)
    total = 2 * np.pi * (weights * r) @ values
    assert np.abs(total - f.norms() ** 2).max() < 1e-8 * np.max(f.norms() ** 2)


@pytest.mark.parametrize(
    "kernel", [mc.Matern(0.7, 1.5), mc.Cauchy(0.5), mc.RationalQuadratic(0.8, 0.7)], **ids
)
def test_densities_in_the_plane_are_hankel_transforms(kernel):
    r = np.array([0.3, 1.0, 4.0])
    for x in (0.4, 1.1):
        w, weights = panels(
            np.concatenate([[0], np.geomspace(1e-12, 1, 60), np.linspace(1, 2000, 2600)[1:]])
        )
        density = spectral_density(kernel, np.column_stack([w, 0 * w]))
        assert weights @ (w * density * j0(w * x)) / (2 * np.pi) == pytest.approx(
            kernel(np.zeros((1, 2)), np.array([[x, 0.0]]))[0, 0], abs=1e-6
        )
    turned = spectral_density(kernel, np.column_stack([r * np.cos(1), r * np.sin(1)]))
    np.testing.assert_allclose(
        turned, spectral_density(kernel, np.column_stack([r, 0 * r])), rtol=1e-13
    )


def test_the_squared_norm_under_a_laplacian_kernel_is_the_integral_of_the_energy_in_the_plane():
    # the density is a product over variables, so the integral is one of products of transforms in one variable
    kernel, line = mc.Laplacian(1.5), mc.Laplacian(1.5)
    f = block(kernel, 2)
    w = np.random.default_rng(0).normal(size=(9, 2))
    product = spectral_density(line, w[:, :1]) * spectral_density(line, w[:, 1:])
    np.testing.assert_allclose(spectral_density(kernel, w), product, rtol=1e-14)
    difference = np.abs(f.points[:, None] - f.points[None])
    inverse = np.vectorize(lambda x: _tail(line, 0.0, x) / np.pi)(difference).prod(axis=2)
    total = np.einsum("im,ij,jm->m", f.coef, inverse, f.coef)
    np.testing.assert_allclose(total, f.norms() ** 2, rtol=1e-8)


def test_densities_are_those_that_random_fourier_features_draw_from():
    for kernel in (mc.Gaussian(0.5), mc.Laplacian(1.0), mc.Matern(1.0, 1.5)):
        w = mc.maps.random_fourier(kernel, 1, 200_000, random_state=0).frequencies[0]
        edges = np.linspace(-3, 3, 13)
        share = np.histogram(w, edges)[0] / w.size
        expected = [
            quad(lambda t, k=kernel: spectral_density(k, np.array([[t]]))[0] / (2 * np.pi), a, b)[0]
            for a, b in zip(edges[:-1], edges[1:], strict=True)
        ]
        assert np.abs(share - expected).max() < 5 * np.sqrt(0.25 / w.size)


def test_the_transform_of_an_expansion_is_its_fourier_integral():
    f = block(mc.Gaussian(1.0), 1)
    x, weights = panels(np.linspace(-9, 9, 40))
    w = np.array([[0.0], [0.7], [-2.0]])
    integral = np.exp(-1j * w * x) @ (weights[:, None] * f(x[:, None]))
    np.testing.assert_allclose(transform(f, w), integral, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "d"), [(mc.Gaussian(0.2), 1), (mc.Cauchy(0.3), 1), (mc.Gaussian(0.4), 2)], **ids
)
def test_the_operator_makes_the_kernel_a_delta_on_a_grid(kernel, d):
    n, spacing = 64, 0.8
    axis = (np.arange(n) - n // 2) * spacing
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    # sampling folds frequencies onto those of the grid; what is left without them is all that the grid can hold
    frequencies = 2 * np.pi * np.fft.fftfreq(n, spacing)
    w = np.stack(np.meshgrid(*[frequencies] * d, indexing="ij"), axis=-1).reshape(-1, d)
    shifts = (
        2
        * np.pi
        / spacing
        * np.stack(np.meshgrid(*[np.arange(-9, 10)] * d), axis=-1).reshape(-1, d)
    )
    folded = (
        sum(spectral_density(kernel, w + shift) for shift in shifts if shift.any()) / spacing**d
    )
    values = _periodic(kernel, grid, n * spacing).reshape([n] * d)
    values -= np.fft.fftshift(np.fft.ifftn(folded.reshape([n] * d)).real)
    delta = penalise(kernel, values, spacing) * spacing**d
    expected = np.zeros([n] * d)
    expected[(n // 2,) * d] = 1
    np.testing.assert_allclose(delta, expected, atol=1e-8)


def _periodic(kernel, grid, period):
    """Return the sum of the kernel over all periods."""
    d = grid.shape[1]
    if isinstance(kernel, mc.Cauchy):
        a = 2 * np.pi / (period * np.sqrt(kernel.gamma))
        return a / 2 * np.sinh(a) / (np.cosh(a) - np.cos(2 * np.pi * grid[:, 0] / period))
    return kernel(
        grid, period * np.stack(np.meshgrid(*[np.arange(-2, 3)] * d), axis=-1).reshape(-1, d)
    ).sum(axis=1)


@pytest.mark.parametrize("kernel", [mc.Gaussian(2.0), *ROUGH, SMOOTH[-1]], **ids)
def test_the_kernel_is_the_greens_function_of_the_operator(kernel):
    # weakly: the integral of k times P*P g is g(0), for a function g that is wider than the kernel
    def g(x):
        return np.exp(-((x - 0.4) ** 2) / 8) * (1 + 0.3 * x)

    reach, n = 60.0, 256
    x = np.linspace(-reach, reach, n, endpoint=False)
    modes = np.fft.fft(penalise(kernel, g(x), x[1] - x[0])) / n
    w = 2 * np.pi * np.fft.fftfreq(n, x[1] - x[0])
    there = np.abs(modes) > 1e-13 * np.abs(modes).max()
    # the trigonometric interpolant of P*P g against k, kink and tails included, by quadrature in the input space
    t, weights = panels(
        np.concatenate([[0], np.geomspace(1e-6, 1, 20), np.linspace(1, reach, 300)[1:]]), 16
    )
    profile = kernel(np.zeros((1, 1)), t[:, None])[0] * weights
    integrals = np.array([2 * np.cos(v * t) @ profile for v in w[there]])
    total = (modes[there] * np.exp(1j * w[there] * reach) * integrals).sum().real
    assert total == pytest.approx(g(0.0), abs=1e-8)


def test_the_density_of_mapped_inputs_is_that_of_the_mapped_frequencies():
    A = np.array([[2.0, 0.5], [0.0, 0.7]])
    kernel = mc.Mapped(mc.Gaussian(0.5), A)
    # exp(-x'Sx / 2) has the transform 2 pi |S|^(-1/2) exp(-w'S^-1 w / 2) in the plane
    S = A.T @ A
    w = np.random.default_rng(0).normal(size=(5, 2))
    expected = (
        2
        * np.pi
        / np.sqrt(np.linalg.det(S))
        * np.exp(-np.einsum("ij,ij->i", w, np.linalg.solve(S, w.T).T) / 2)
    )
    np.testing.assert_allclose(spectral_density(kernel, w), expected, rtol=1e-13)


def test_penalties_are_inverse_densities_and_infinite_where_those_underflow():
    w = np.array([[0.0], [3.0], [1e3]])
    kernel = mc.Gaussian(0.5)
    np.testing.assert_allclose(
        penalty(kernel, w[:2]) * spectral_density(kernel, w[:2]), 1, rtol=1e-15
    )
    assert np.isinf(penalty(kernel, w)[2])


def test_densities_in_many_dimensions_do_not_overflow_in_their_factors():
    # 784 pixels: (pi / gamma)^392 alone is above 1e1000
    w = np.zeros((2, 784))
    w[:, 0] = 0.0, 1.0
    ones = np.full(784, 4e4)
    wide, scaled = (
        mc.Gaussian(1e-3),
        mc.Mapped(mc.Gaussian(1e-3), np.sqrt(np.pi / 1e-3) * np.ones(784)),
    )
    np.testing.assert_allclose(
        spectral_density(scaled, w), [1, np.exp(-1 / (4 * np.pi))], rtol=1e-11
    )
    assert (spectral_density(wide, w) == np.inf).all()
    assert (penalty(wide, w) == 0).all()
    # half of the factors are far above 1 and half far below: 2000^392 and (2e-6)^392
    mixed = np.where(np.arange(784) < 392, 0.0, np.sqrt(1e3))[None]
    assert spectral_density(mc.Laplacian(1e-3), mixed)[0] == 0
    assert penalty(mc.Gaussian(1e-3), ones[None])[0] == np.inf


def test_energies_do_not_depend_on_the_place_of_the_points():
    f, w = block(mc.Gaussian(0.7), 1), np.array([[0.5], [3.0]])
    near = mc.Expansion(f.kernel, np.round(2**10 * f.points) / 2**10, f.coef)
    far = mc.Expansion(f.kernel, near.points + 2.0**31, f.coef)
    np.testing.assert_allclose(energy(far, w), energy(near, w), rtol=1e-12)


def test_sparse_points_have_the_energy_of_dense_ones():
    f, w = block(mc.Gaussian(0.7), 2), np.random.default_rng(0).normal(size=(4, 2))
    sparse = mc.Expansion(f.kernel, sp.csr_matrix(f.points), f.coef)
    np.testing.assert_allclose(energy(sparse, w), energy(f, w), rtol=1e-12)
    np.testing.assert_allclose(transform(sparse, w), transform(f, w), rtol=1e-12)


def test_features_of_other_points_than_rows_have_no_energy():
    given, words = (
        mc.features(mc.Precomputed(np.eye(3)), np.arange(3)),
        mc.features(mc.strings.Spectrum(1), ["a"]),
    )
    for psi in (given, words):
        for function in (energy, transform):
            with pytest.raises(TypeError, match="spectral density of .* is not known"):
                function(psi, np.zeros((1, 1)))


def test_columns_of_a_map_must_be_there():
    with pytest.raises(
        ValueError, match="A = .5. must be columns of frequencies, which has 1 features"
    ):
        spectral_density(mc.Mapped(mc.Gaussian(1.0), np.array([5])), np.ones((1, 1)))


def test_a_constant_has_no_penalty_where_the_integral_of_the_kernel_diverges():
    kernel, x = mc.Cauchy(1.0), np.arange(16) / 16 * 2 * np.pi
    wave = np.cos(x)[:, None] + np.sin(2 * x)
    weights = penalty(kernel, np.array([[1.0, 0.0], [0.0, 2.0]]))
    expected = weights[0] * np.cos(x)[:, None] + weights[1] * np.sin(2 * x)
    np.testing.assert_allclose(penalise(kernel, wave + 3.0, x[1]), expected, atol=1e-9)
    with pytest.raises(ValueError, match="penalties from inf to inf"):
        penalise(mc.Gaussian(1e300), np.ones((3, 3, 3)), 1.0)


def test_products_of_derivatives_of_far_points_are_0():
    # powers of the distance alone overflow
    far = with_penalty(mc.Gaussian(1.0), np.array([[0.0], [1e40]]), 8)
    D = np.linalg.inv(far.F @ far.F.T)
    np.testing.assert_allclose(D, D[0, 0] * np.eye(2), rtol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "finite"), [(0.4, False), (0.5, False), (0.6, True), (3.0, True)]
)
def test_densities_at_zero_are_the_integral_of_the_kernel(alpha, finite):
    value = spectral_density(mc.RationalQuadratic(1.0, alpha), np.array([[0.0], [1e-9]]))
    assert np.isfinite(value[0]) == finite
    if finite:
        c = 2 * alpha
        expected = quad(lambda t: 2 * (1 + t * t / c) ** -alpha, 0, 1e3, limit=200)[0]
        expected += 2 * c**alpha * 1e3 ** (1 - 2 * alpha) / (2 * alpha - 1)
        assert value[0] == pytest.approx(expected, rel=1e-4)
    assert not np.isnan(value).any()


def _bessel_density(alpha, length, d, r):
    """The logarithm of the density by the integral of exp(-2 u cosh t) cosh(p t), in logarithms."""
    c = 2 * alpha * length**2
    p, u = alpha - d / 2, r * np.sqrt(c) / 2
    t = np.linspace(0, np.arcsinh(abs(p) / (2 * u)) + 12, 200_001)
    with np.errstate(over="ignore"):
        exponents = np.logaddexp(abs(p) * t, -abs(p) * t) - np.log(2) - 2 * u * np.cosh(t)
    exponents[0] -= np.log(2)
    log = np.log(np.exp(exponents - exponents.max()).sum() * t[1]) + exponents.max()
    return np.log(2) + d / 2 * np.log(np.pi * c) + p * np.log(u) + log - gammaln(alpha)


@pytest.mark.parametrize("d", [1, 2, 9, 100])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.5, 25.0, 31.0, 80.0, 200.0, 3000.0])
def test_densities_of_rational_quadratics_are_integrals_at_every_order(alpha, d):
    for length in (0.1, 1.0, 30.0):
        r = np.geomspace(1e-3, 20, 9) / length
        found = spectral_density(
            mc.RationalQuadratic(length, alpha), np.pad(r[:, None], ((0, 0), (0, d - 1)))
        )
        logs = np.array([_bessel_density(alpha, length, d, each) for each in r])
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(found, np.exp(logs), rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("alpha", [1e6, 1e9, 1e15])
def test_the_density_of_a_rational_quadratic_tends_to_that_of_a_gaussian(alpha):
    w = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [6.0, 0.0]])
    limit = spectral_density(mc.Gaussian(0.5), w)
    np.testing.assert_allclose(
        spectral_density(mc.RationalQuadratic(1.0, alpha), w), limit, rtol=1e-13 + 400 / alpha
    )
    np.testing.assert_allclose(
        spectral_density(mc.RationalQuadratic(1.0, alpha), 50 * w[1:]), 0, atol=1e-300
    )


def test_densities_of_rational_quadratics_are_finite_far_out_and_fall_with_the_frequency():
    r = np.concatenate([[0], np.geomspace(1e-200, 1e12, 400)])
    for alpha in (0.5001, 2.0, 20.0, 30.4, 30.6, 500.0):
        density = spectral_density(mc.RationalQuadratic(1.0, alpha), r[:, None])
        assert np.isfinite(density).all()
        assert (np.diff(density) <= 1e-12 * density[:-1]).all()
        assert density[-1] == 0


@pytest.mark.parametrize(
    "kernel",
    [mc.Linear(), mc.Polynomial(), mc.Chi2(1.0), mc.Gaussian(1.0) * mc.Gaussian(2.0)],
    **ids,
)
def test_kernels_without_a_known_density_are_refused_with_those_that_have_one(kernel):
    with pytest.raises(TypeError, match="Gaussian, Laplacian, Matern"):
        spectral_density(kernel, np.zeros((1, 2)))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="resolve"):
        spectral_density(mc.Gaussian(), np.zeros((1, 2)))
    with pytest.raises(TypeError, match="must be a Kernel"):
        spectral_density("rbf", np.zeros((1, 2)))
    with pytest.raises(ValueError, match="rank 1"):
        spectral_density(mc.Mapped(mc.Gaussian(1.0), np.array([[1.0, 0.0]])), np.zeros((1, 2)))
    for kernel in (mc.Gaussian(1.0), mc.Mapped(mc.Gaussian(1.0), np.ones(2))):
        with pytest.raises(ValueError, match="3 columns, but the points have 2"):
            transform(block(kernel, 2), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="larger spacing"):
        penalise(mc.Gaussian(0.1), np.zeros(64), 0.1)
    with pytest.raises(ValueError, match="spacing"):
        penalise(mc.Gaussian(0.1), np.zeros(64), 0.0)
    with pytest.raises(
        ValueError, match=r"values must be an array of numbers on a grid.*shape \(\)"
    ):
        penalise(mc.Gaussian(0.1), np.array(1.0), 0.1)


def test_float32_points_are_transformed_in_float64():
    f = block(mc.Gaussian(1.0), 2)
    narrow = mc.Expansion(f.kernel, f.points.astype(np.float32), f.coef.astype(np.float32))
    w = np.random.default_rng(1).normal(size=(4, 2))
    assert energy(narrow, w).dtype == np.float64
    np.testing.assert_allclose(energy(narrow, w), energy(f, w), atol=1e-5)


def test_sparse_frequencies_equal_dense_ones():
    w = np.array([[0.0, 2.0], [1.0, 0.0]])
    for make in (sp.csr_matrix, sp.csc_array, sp.lil_matrix):
        found = mc.regularisation.spectral_density(mc.Gaussian(0.5), make(w))
        np.testing.assert_array_equal(
            found, mc.regularisation.spectral_density(mc.Gaussian(0.5), w)
        )


@pytest.mark.parametrize(
    ("values", "error"), [([1j, 2.0], ValueError), ([1.0, np.nan], ValueError), ([], ValueError)]
)
def test_values_on_a_grid_must_be_finite_real_numbers(values, error):
    with pytest.raises(error, match="values"):
        mc.regularisation.penalise(mc.Gaussian(0.5), values, 0.1)


# --- penalties of other norms ----------------------------------------------------------------------------------------


def _training(seed, dtype=np.float64, d=1, n=12):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d)).astype(dtype)
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n).astype(dtype)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_products_of_derivatives_are_their_integrals(order):
    kernel, X = mc.Gaussian(0.8), np.array([[-0.5], [0.2], [1.1]])
    # k D^+ k at the training points, whose inverse is K^-1 D K^-1
    K = kernel(X)
    found = K @ np.linalg.inv(with_penalty(kernel, X, order)(X)) @ K

    def derivative(x, z):
        u = x - z
        values = [1.0, -1.6 * u, 2.56 * u**2 - 1.6, -4.096 * u**3 + 7.68 * u]
        return values[order] * np.exp(-0.8 * u**2)

    for i in range(3):
        for j in range(3):
            expected = quad(
                lambda x, i=i, j=j: derivative(x, X[i, 0]) * derivative(x, X[j, 0]),
                -12,
                12,
                limit=200,
            )[0]
            assert found[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_products_of_derivatives_in_two_variables_are_their_integrals(order):
    # sums over a grid have all digits for functions that vanish at its ends
    gamma, X = 0.8, np.array([[-0.5, 0.3], [0.2, -0.4], [1.1, 0.9], [0.0, 2.0]])
    kernel = mc.Gaussian(gamma)
    K = kernel(X)
    found = K @ np.linalg.inv(with_penalty(kernel, X, order)(X)) @ K
    axis = np.linspace(-9, 11, 401)
    step = axis[1] - axis[0]

    def derivatives(column, times):
        u = np.sqrt(gamma) * (axis - column)
        return (-np.sqrt(gamma)) ** times * eval_hermite(times, u) * np.exp(-(u**2))

    expected = np.zeros((4, 4))
    for a in range(order + 1):
        # the derivative a times in the first variable and order - a times in the second occurs so often in the tensor
        fields = [np.outer(derivatives(x, a), derivatives(z, order - a)).ravel() for x, z in X]
        expected += comb(order, a) * np.array(fields) @ np.array(fields).T * step**2
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * abs(expected).max())


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Laplacian(0.7), mc.Polynomial(2)], **ids)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_the_kernel_matrix_as_penalty_gives_the_same_kernel_and_model(
    kernel, dtype, global_random_seed
):
    X, y = _training(global_random_seed, dtype, d=2)
    same = with_penalty(kernel, X, kernel(X))
    tolerance = 1e3 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        same(X), kernel(X), rtol=tolerance, atol=tolerance * np.abs(kernel(X)).max()
    )
    ridge, again = (mc.KernelRidge(0.1, kernel=each).fit(X, y) for each in (kernel, same))
    np.testing.assert_allclose(again.predict(X), ridge.predict(X), atol=1e4 * np.finfo(dtype).eps)
    model, other = (mc.SVC(kernel=each, tol=1e-6).fit(X, y > 0) for each in (kernel, same))
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_ridge_regression_minimises_the_error_plus_the_penalty(order, global_random_seed):
    X, y = _training(global_random_seed)
    kernel, alpha = mc.Gaussian(1.0), 0.3
    model = mc.KernelRidge(alpha, kernel=with_penalty(kernel, X, order)).fit(X, y)
    grid = np.linspace(-14, 14, 28001)
    functions = kernel(grid[:, None], X)
    for _ in range(order):
        functions = np.gradient(functions, grid, axis=0)
    D = functions.T @ functions * (grid[1] - grid[0])
    K = kernel(X)

    def objective(f):
        a = np.linalg.lstsq(K, f, rcond=1e-12)[0]
        return np.sum((y - K @ a) ** 2) + alpha * a @ D @ a

    # normal equations of the sums of kernel functions
    a = np.linalg.lstsq(np.vstack([K, np.sqrt(alpha) * np.linalg.cholesky(D + 1e-13 * np.eye(12)).T]),
                        np.r_[y, np.zeros(12)], rcond=None)[0]  # fmt: skip
    assert objective(model.predict(X)) == pytest.approx(
        np.sum((y - K @ a) ** 2) + alpha * a @ D @ a, rel=1e-3
    )


def test_the_squared_norm_of_a_function_is_its_penalty(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, B = rng.normal(size=(6, 2)), rng.normal(size=(6, 6))
    D, kernel = B @ B.T, mc.Laplacian(0.6)
    found = with_penalty(kernel, X, D)
    psi = mc.Expansion(found, X, rng.normal(size=(6, 1)))
    a = np.linalg.solve(kernel(X), psi(X))
    assert psi.norms()[0] ** 2 == pytest.approx((a.T @ D @ a)[0, 0], rel=1e-8)
    Z, step = rng.normal(size=(2, 2)), 1e-6
    for k in range(2):
        move = np.eye(2)[k] * step
        slope = (psi(Z + move) - psi(Z - move)) / (2 * step)
        np.testing.assert_allclose(psi.gradient(Z)[:, 0, k], slope[:, 0], rtol=1e-5, atol=1e-7)


def test_a_model_with_a_penalty_is_stored_and_strings_have_penalties_too(tmp_path):
    X, y = _training(0)
    model = mc.SVR(kernel=with_penalty(mc.Gaussian(1.0), X, 2)).fit(X, y)
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict(X), model.predict(X))
    words, kernel = ["aab", "abb", "bbb", "aba"], mc.strings.Spectrum(1)
    np.testing.assert_allclose(
        with_penalty(kernel, words, kernel(words))(words), kernel(words), atol=1e-12
    )


@pytest.mark.parametrize(
    ("kernel", "X", "D", "error", "message"),
    [
        (
            mc.Gaussian(1.0),
            np.eye(3),
            np.eye(2),
            ValueError,
            r"D has shape \(2, 2\), but X has 3 points",
        ),
        (
            mc.Gaussian(1.0),
            np.eye(2),
            np.array([[1.0, 2.0], [0.0, 1.0]]),
            ValueError,
            "D must be symmetric",
        ),
        (
            mc.Gaussian(1.0),
            np.eye(2),
            np.array([[1.0, 2.0], [2.0, 1.0]]),
            ValueError,
            "reach from -1 to 3",
        ),
        (
            mc.Gaussian(1.0),
            np.eye(2),
            np.zeros((2, 2)),
            ValueError,
            "D must be positive semidefinite and not 0",
        ),
        (
            mc.Laplacian(1.0),
            np.ones((2, 1)),
            1,
            TypeError,
            "needs a Gaussian kernel, got Laplacian",
        ),
        (mc.Gaussian(1.0), np.ones((2, 1)), -1, ValueError, "D = -1 must be at least 0"),
        (mc.Gaussian(1.0), np.ones((2, 1)), 1.5, TypeError, "D must be a whole number"),
        (mc.Gaussian("scale"), np.ones((2, 1)), 1, ValueError, "not resolved"),
    ],
)
def test_what_is_no_penalty_is_refused(kernel, X, D, error, message):
    with pytest.raises(error, match=message):
        with_penalty(kernel, X, D)


def test_a_subclass_with_another_profile_has_no_known_density():
    class Wider(mc.Gaussian):
        @staticmethod
        def profile(xp, s, gamma, order=0):
            return (-gamma / 2) ** order * xp.exp(-gamma / 2 * s)

    class Same(mc.Gaussian):
        pass

    w = np.array([[1.0]])
    assert spectral_density(Same(1.0), w) == spectral_density(mc.Gaussian(1.0), w)
    for kernel in (Wider(1.0), mc.Gaussian(1.0) + Wider(1.0)):
        with pytest.raises(TypeError, match="density of Wider is not known"):
            spectral_density(kernel, w)


def test_another_penalty_takes_rows_of_a_given_matrix():
    X, rows = np.random.default_rng(0).normal(size=(9, 2)), np.array([1, 4, 5])
    K = mc.Gaussian(1.0)(X)
    part = K[np.ix_(rows, rows)]
    np.testing.assert_allclose(with_penalty(mc.Precomputed(K), rows, part)(rows), part, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_functions_without_penalty_cost_nothing(alpha, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    x, kernel = np.linspace(0, 3, 12)[:, None], mc.Gaussian(4.0)
    F, y = rng.normal(size=(12, 8)), rng.normal(size=12)
    D = F @ F.T
    options = {"kernel": with_penalty(kernel, x, D), "free": null_space(kernel, x, D)}
    model = mc.KernelRidge(alpha, **options).fit(x, y)
    # |y - K a|^2 + alpha a'D a over all a, as plain least squares
    K = kernel(x)
    system = np.vstack([K, np.sqrt(alpha) * F.T])
    a = np.linalg.lstsq(system, np.append(y, np.zeros(8)))[0]
    np.testing.assert_allclose(model.predict(x), K @ a, atol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_the_null_space_of_few_points_is_whole(seed):
    rng = np.random.default_rng(seed)
    X, F = rng.normal(size=(3, 2)), rng.normal(size=(3, 1))
    free = null_space(mc.Gaussian(0.5), X, F @ F.T)
    assert free.shape == (3, 2)
    np.testing.assert_allclose(F.T @ free.coef, 0, atol=1e-12)


def test_functions_of_the_null_space_are_fitted_exactly(tmp_path):
    x, kernel = np.linspace(0, 3, 12)[:, None], mc.Gaussian(4.0)
    a = np.linspace(-1, 1, 12)
    D = np.eye(12) - np.outer(a, a) / (a @ a)
    free = null_space(kernel, x, D)
    y = kernel(x) @ a
    model = mc.KernelRidge(100.0, kernel=with_penalty(kernel, x, D), free=free).fit(x, y)
    mc.save(model, tmp_path / "model.mercer")
    np.testing.assert_allclose(mc.load(tmp_path / "model.mercer").predict(x), y, atol=1e-12)
    assert free.shape == (12, 1)


def test_models_that_could_not_use_functions_without_penalty_refuse_the_kernel(tmp_path):
    x, k = np.linspace(0, 3, 12)[:, None], mc.Gaussian(4.0)
    y = np.sin(x[:, 0])
    a = np.cos(np.arange(12.0))
    kernel = with_penalty(k, x, np.eye(12) - np.outer(a, a) / (a @ a))
    for model in (mc.SVR(kernel=kernel), mc.KernelRidge(kernel=kernel), mc.NuSVR(kernel=kernel)):
        with pytest.raises(ValueError, match="leaves 1 functions free.*null_space"):
            model.fit(x, y)
    with pytest.raises(ValueError, match="SVC could not use"):
        mc.SVC(kernel=kernel).fit(x, y > 0.5)
    # the number stays with the kernel
    mc.save(kernel, tmp_path / "kernel.mercer")
    assert mc.load(tmp_path / "kernel.mercer").free == 1
    # whole penalties, a kernel of its own for the null space, and models without a loss are fitted
    mc.SVR(kernel=with_penalty(k, x, np.eye(12))).fit(x, y)
    mc.SVR(kernel=kernel + mc.Linear()).fit(x, y)
    mc.KernelPCA(2, kernel=kernel).fit(x)


def test_directions_that_are_cut_as_rounding_are_reported_if_their_functions_may_matter():
    x = np.linspace(0, 1, 40)[:, None]
    with pytest.warns(UserWarning, match="of the .* directions of D .*null_space"):
        kernel = with_penalty(mc.Gaussian(20.0), x, 2)
    assert kernel.free == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # equal points have functions of norm 0
        pair = np.repeat(x[::8], 2, axis=0)
        with_penalty(mc.Gaussian(20.0), pair, mc.Gaussian(20.0)(pair))
