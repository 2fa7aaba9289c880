"""Radial kernels: limits, mixtures and derivatives that tie one to the other, and gradients at coincident points."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from tests.reference.derivatives import assert_gradients, central
from tests.reference.inside import profile_values

import mercer as mc

S = np.linspace(0.0, 6.0, 40)
X = np.random.default_rng(1).standard_normal((8, 3))


def test_the_rational_quadratic_tends_to_the_gaussian_and_equals_cauchy_for_alpha_one():
    wide = profile_values(mc.RationalQuadratic(1.3, alpha=1e8), S)
    np.testing.assert_allclose(wide, profile_values(mc.Gaussian(1 / (2 * 1.3**2)), S), rtol=1e-6)
    cauchy = profile_values(mc.Cauchy(1 / (2 * 0.7**2)), S)
    np.testing.assert_allclose(
        profile_values(mc.RationalQuadratic(0.7, alpha=1.0), S), cauchy, rtol=1e-13
    )


def test_the_rational_quadratic_of_a_huge_alpha_is_the_gaussian_to_the_last_digits():
    for alpha in (1e18, 1e30, 1e300):
        limit = profile_values(mc.Gaussian(1 / (2 * 1.3**2)), S)
        np.testing.assert_allclose(
            profile_values(mc.RationalQuadratic(1.3, alpha), S), limit, rtol=1e-14
        )


def longdouble(kernel, s):
    """Return the value and the slope of a kernel at s in extended precision, by its textbook formula."""
    p = {name: np.longdouble(value) for name, value in vars(kernel).items()}
    if isinstance(kernel, mc.Gaussian):
        value = np.exp(-p["gamma"] * s)
        return value, -p["gamma"] * value
    if isinstance(kernel, mc.Cauchy):
        value = 1 / (1 + p["gamma"] * s)
        return value, -p["gamma"] * value**2
    if isinstance(kernel, mc.RationalQuadratic):
        value = np.exp(-p["alpha"] * np.log1p(s / (2 * p["alpha"] * p["length"] ** 2)))
        return value, -value / (2 * p["length"] ** 2 + s / p["alpha"])
    u = np.minimum(np.sqrt(2 * p["nu"] * s) / p["length"], 1e4)
    factor, slope = {0.5: (1, 1 / u), 1.5: (1 + u, 1), 2.5: (1 + u + u * u / 3, (1 + u) / 3)}[
        float(p["nu"])
    ]
    return factor * np.exp(-u), -slope * np.exp(-u) * p["nu"] / p["length"] ** 2


RADIAL = {
    "Gaussian": lambda a, _: mc.Gaussian(a**-2),
    "Cauchy": lambda a, _: mc.Cauchy(a**-2),
    "RationalQuadratic": mc.RationalQuadratic,
    "Matern 1/2": lambda a, _: mc.Matern(a, 0.5),
    "Matern 3/2": lambda a, _: mc.Matern(a, 1.5),
    "Matern 5/2": lambda a, _: mc.Matern(a, 2.5),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RADIAL)
def test_values_and_gradients_of_any_scale_are_those_of_extended_precision(
    name, dtype, global_random_seed
):
    rng, info = np.random.default_rng(global_random_seed), np.finfo(dtype)
    for d in (1, 10) * 30:
        length = 10.0 ** rng.uniform(-15, 15)
        kernel = RADIAL[name](length, 10.0 ** rng.uniform(-30, 30))
        x = (length * 10.0 ** rng.uniform(-3, 3) * rng.uniform(0.5, 1, (1, d))).astype(dtype)
        value, slope = longdouble(kernel, np.sum(x.astype(np.longdouble) ** 2))
        zero = np.zeros((1, d), dtype)
        for found in (
            kernel(x, zero)[0, 0],
            (mc.Gram(kernel, x, zero) @ np.ones((1, 1), dtype))[0, 0],
        ):
            assert abs(found - value) <= 50 * info.eps
        expected = 2 * slope * x[0].astype(np.longdouble)
        # subnormal numbers have few digits, those on the way to the gradient too
        if min(value, abs(slope), abs(expected).min()) > 1e4 * info.tiny:
            np.testing.assert_allclose(
                kernel.vjp(x, zero, np.ones((1, 1))).astype(np.longdouble)[0],
                expected,
                rtol=2e4 * info.eps,
            )


@pytest.mark.parametrize("name", RADIAL)
def test_parameters_beyond_single_precision_give_ones_and_zeros_never_nan(name):
    x = np.array([[0.0, 1e6], [1e6, 0.0], [0.0, 1e6]], np.float32)
    # far below the smallest, and above the largest float32
    for length in (1e-100, 1e100):
        for alpha in (1e-30, 1.0, 1e100):
            K = RADIAL[name](length, alpha)(x)
            assert np.isfinite(K).all()
            assert (K.diagonal() == 1).all()
            assert K[0, 2] == 1
            related = length > 1 or (name == "RationalQuadratic" and alpha < 1)
            assert K[0, 1] == 1 if related else K[0, 1] < 1e-30


def test_an_alpha_that_makes_all_values_1_is_refused():
    with pytest.raises(ValueError, match="alpha = 9e-31 must be at least 1e-30"):
        mc.RationalQuadratic(1.0, 9e-31)


def test_matern_one_half_in_one_dimension_is_the_laplacian():
    x = np.linspace(-2, 2, 9).reshape(-1, 1)
    np.testing.assert_allclose(mc.Matern(1 / 0.6, nu=0.5)(x), mc.Laplacian(0.6)(x), rtol=1e-14)


def test_smoother_matern_kernels_approach_the_gaussian():
    gaussian = profile_values(mc.Gaussian(0.5), S)
    errors = [
        abs(profile_values(mc.Matern(1.0, nu=nu), S) - gaussian).max() for nu in (0.5, 1.5, 2.5)
    ]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize(("nu", "finite"), [(0.5, 1), (1.5, 2), (2.5, 3)])
def test_matern_derivatives_are_finite_at_zero_up_to_its_smoothness_and_infinite_beyond(nu, finite):
    values = [
        float(profile_values(mc.Matern(1.2, nu=nu), np.zeros(1), order)[0]) for order in range(5)
    ]
    assert np.isfinite(values[:finite]).all()
    assert np.isinf(values[finite:]).all()


def test_matern_slopes_at_zero_are_those_of_its_series():
    # 1 - 3 s / (2 l^2) + ..., 1 - 5 s / (6 l^2) + ...
    assert profile_values(mc.Matern(2.0, nu=1.5), np.zeros(1), 1)[0] == pytest.approx(-1.5 / 4)
    assert profile_values(mc.Matern(2.0, nu=2.5), np.zeros(1), 1)[0] == pytest.approx(-5 / 6 / 4)


@pytest.mark.parametrize(
    "kernel",
    [mc.Gaussian(0.3), mc.RationalQuadratic(1.1, alpha=0.4), mc.Cauchy(2.0)],
    ids=lambda k: type(k).__name__,
)
def test_smooth_profiles_are_completely_monotone(kernel):
    # Schoenberg: positive semidefinite in every dimension exactly if the signs of the derivatives alternate
    for order in range(5):
        assert ((-1) ** order * profile_values(kernel, S, order) > 0).all()


@pytest.mark.parametrize(
    "kernel", [mc.Matern(1.0, nu=0.5), mc.Matern(1.0, nu=1.5), mc.Gaussian(1.0), mc.Cauchy(1.0)]
)
def test_a_point_is_not_pulled_by_itself(kernel):
    W = np.ones((8, 8))
    others = kernel.vjp(X, X, W - np.eye(8))
    np.testing.assert_allclose(kernel.vjp(X, X, W), others, atol=1e-13)
    assert np.isfinite(others).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_bandwidths_give_zeros_and_ones_and_no_warning(dtype):
    points, off = X.astype(dtype), ~np.eye(8, dtype=bool)
    for kernel in (mc.Gaussian, mc.Cauchy):
        assert (kernel(1e300)(points)[off] < 1e-36).all()
        assert (kernel(1e300).diag(points) == 1).all()
        assert (np.diagonal(kernel(1e300)(points)) == 1).all()
        assert (kernel(1e-300)(points) == 1).all()
    assert np.isfinite(mc.Matern(1e-150)(X)).all()
    assert np.isfinite(mc.RationalQuadratic(1e150)(X)).all()


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "automatic"])
def test_bad_parameters_are_refused_by_name_and_value(value):
    for make, name in (
        (mc.Gaussian, "gamma"),
        (mc.Cauchy, "gamma"),
        (mc.Matern, "length"),
        (mc.RationalQuadratic, "length"),
    ):
        with pytest.raises(ValueError, match=f"{name} = {value!r}"):
            make(value)
    if value != "automatic":
        with pytest.raises(ValueError, match=f"alpha = {value!r}"):
            mc.RationalQuadratic(1.0, alpha=value)


def test_other_smoothness_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"nu = 2 must be 0.5, 1.5 or 2.5"):
        mc.Matern(1.0, nu=2)


PROFILES = [
    mc.Gaussian(0.7),
    mc.Matern(1.3, nu=0.5),
    mc.Matern(0.9, nu=1.5),
    mc.Matern(1.7, nu=2.5),
    mc.RationalQuadratic(0.8, alpha=0.6),
    mc.RationalQuadratic(1.5, alpha=2.0),
    mc.Cauchy(0.4),
]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", PROFILES, ids=repr)
def test_each_derivative_of_a_profile_is_the_slope_of_the_one_before(kernel, order):
    s = np.linspace(0.2, 3.0, 20)
    slopes = central(lambda s: profile_values(kernel, s[:, 0], order - 1), s[:, None], h=0.01)[:, 0]
    np.testing.assert_allclose(
        profile_values(kernel, s, order), slopes, atol=1e-6 * max(1e-3, abs(slopes).max())
    )


@pytest.mark.parametrize("kernel", PROFILES, ids=repr)
def test_gradients_are_those_of_differences(kernel, global_random_seed):
    assert_gradients(kernel, X, X[:4, ::-1] + 0.1, global_random_seed)


def test_values_are_those_of_the_formulas():
    u = np.sqrt(S) / 1.3
    for nu, factor in (
        (0.5, 1),
        (1.5, 1 + np.sqrt(3) * u),
        (2.5, 1 + np.sqrt(5) * u + 5 / 3 * u**2),
    ):
        expected = factor * np.exp(-np.sqrt(2 * nu) * u)
        np.testing.assert_allclose(profile_values(mc.Matern(1.3, nu=nu), S), expected, rtol=1e-14)
    expected = (1 + S / (2 * 0.7 * 1.3**2)) ** -0.7
    np.testing.assert_allclose(
        profile_values(mc.RationalQuadratic(1.3, alpha=0.7), S), expected, rtol=1e-14
    )
    np.testing.assert_allclose(profile_values(mc.Cauchy(0.4), S), 1 / (1 + 0.4 * S), rtol=1e-14)
    np.testing.assert_allclose(profile_values(mc.Gaussian(0.4), S), np.exp(-0.4 * S), rtol=1e-14)


def test_sparse_rows_have_the_gradients_of_dense_rows():
    kernel, W = mc.Gaussian(0.3), np.cos(np.arange(64.0)).reshape(8, 8)
    sparse = sp.csr_matrix(X)
    for left, right in ((sparse, sparse), (sparse, X), (X, sparse)):
        np.testing.assert_allclose(kernel.vjp(left, right, W), kernel.vjp(X, X, W), atol=1e-12)


def test_extreme_parameters_are_refused_by_name_or_give_the_limit():
    with pytest.raises(ValueError, match="alpha = 5e-324 must be at least 1e-30"):
        mc.RationalQuadratic(1.0, 5e-324)
    np.testing.assert_array_equal(mc.RationalQuadratic(1.0, 1e-30)(X), np.ones((8, 8)))
    with pytest.raises(TypeError, match="nu must be a number"):
        mc.Matern(1.0, np.array([0.5, 1.5]))
    for kernel in (mc.Matern(1e300), mc.RationalQuadratic(1e300)):
        np.testing.assert_array_equal(kernel(X), np.ones((8, 8)))
        np.testing.assert_array_equal(kernel.vjp(X, X[:2], np.ones((8, 2))), np.zeros((8, 3)))


def test_defaults_are_rules_and_ones():
    assert mc.Gaussian() == mc.Gaussian("scale")
    assert mc.Cauchy() == mc.Cauchy("scale")
    assert mc.Matern() == mc.Matern(length=1.0, nu=1.5)
    assert mc.RationalQuadratic() == mc.RationalQuadratic(length=1.0, alpha=1.0)


def test_rules_are_resolved_to_inverse_squares_or_lengths():
    variance = 3 * X.var()
    assert mc.Gaussian().resolve(X).gamma == pytest.approx(1 / variance)
    assert mc.Cauchy().resolve(X).gamma == pytest.approx(1 / variance)
    assert mc.Matern("scale").resolve(X).length == pytest.approx(variance**0.5)
    assert mc.RationalQuadratic("scale").resolve(X).length == pytest.approx(variance**0.5)


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (mc.Gaussian, ["gamma"]),
        (mc.Cauchy, ["gamma"]),
        (mc.Matern, ["length", "nu"]),
        (mc.Polynomial, ["degree", "gamma", "coef0"]),
    ],
)
def test_the_signature_that_help_shows_has_the_parameters(kernel, names):
    assert list(inspect.signature(kernel).parameters) == names


@pytest.mark.parametrize("name", ["sigma", "length", "length_scale", "bandwidth"])
def test_another_name_of_the_width_of_a_gaussian_kernel_is_refused_with_its_formula(name):
    message = rf"Gaussian has no parameter {name}; use gamma = 1/\(2\*{name}\*\*2\)"
    with pytest.raises(TypeError, match=message) as refused:
        mc.Gaussian(**{name: 1.5})
    assert ("kernlab" in str(refused.value)) == (name == "sigma")
    # scikit-learn has this length scale
    value = mc.Gaussian(1 / (2 * 1.5**2))(X)
    np.testing.assert_allclose(value, RBF(1.5)(X), rtol=1e-12)
    with pytest.raises(TypeError, match="Gaussian has no parameter colour; it has gamma"):
        mc.Gaussian(colour=1.5)
