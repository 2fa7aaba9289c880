"""Radial kernels: limits, mixtures and derivatives that tie one to the other, and gradients at coincident points."""

import numpy as np
import pytest

import mercer as mc
from mercer._compute.profile import evaluate_profile

S = np.linspace(0.0, 6.0, 40)
X = np.random.default_rng(1).standard_normal((8, 3))


def test_the_rational_quadratic_tends_to_the_gaussian_and_equals_cauchy_for_alpha_one():
    wide = evaluate_profile(mc.RationalQuadratic(1.3, alpha=1e8), S)
    np.testing.assert_allclose(wide, evaluate_profile(mc.Gaussian(1 / (2 * 1.3**2)), S), rtol=1e-6)
    cauchy = evaluate_profile(mc.Cauchy(1 / (2 * 0.7**2)), S)
    np.testing.assert_allclose(evaluate_profile(mc.RationalQuadratic(0.7, alpha=1.0), S), cauchy, rtol=1e-13)


def test_matern_one_half_in_one_dimension_is_the_laplacian():
    x = np.linspace(-2, 2, 9).reshape(-1, 1)
    np.testing.assert_allclose(mc.Matern(1 / 0.6, nu=0.5)(x), mc.Laplacian(0.6)(x), rtol=1e-14)


def test_smoother_matern_kernels_approach_the_gaussian():
    gaussian = evaluate_profile(mc.Gaussian(0.5), S)
    errors = [abs(evaluate_profile(mc.Matern(1.0, nu=nu), S) - gaussian).max() for nu in (0.5, 1.5, 2.5)]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize(("nu", "finite"), [(0.5, 1), (1.5, 2), (2.5, 3)])
def test_matern_derivatives_are_finite_at_zero_up_to_its_smoothness_and_infinite_beyond(nu, finite):
    values = [float(evaluate_profile(mc.Matern(1.2, nu=nu), np.zeros(1), order)[0]) for order in range(5)]
    assert np.isfinite(values[:finite]).all()
    assert np.isinf(values[finite:]).all()


def test_matern_slopes_at_zero_are_those_of_its_series():
    # 1 - 3 s / (2 l^2) + ..., 1 - 5 s / (6 l^2) + ...
    assert evaluate_profile(mc.Matern(2.0, nu=1.5), np.zeros(1), 1)[0] == pytest.approx(-1.5 / 4)
    assert evaluate_profile(mc.Matern(2.0, nu=2.5), np.zeros(1), 1)[0] == pytest.approx(-5 / 6 / 4)


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.RationalQuadratic(1.1, alpha=0.4), mc.Cauchy(2.0)], ids=lambda k: type(k).__name__
)
def test_smooth_profiles_are_completely_monotone(kernel):
    # Schoenberg: positive semidefinite in every dimension exactly if the signs of the derivatives alternate
    for order in range(5):
        assert ((-1) ** order * evaluate_profile(kernel, S, order) > 0).all()


@pytest.mark.parametrize("kernel", [mc.Matern(1.0, nu=0.5), mc.Matern(1.0, nu=1.5), mc.Gaussian(1.0), mc.Cauchy(1.0)])
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


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "auto"])
def test_bad_parameters_are_refused_by_name_and_value(value):
    for make, name in (
        (mc.Gaussian, "gamma"),
        (mc.Cauchy, "gamma"),
        (mc.Matern, "length"),
        (mc.RationalQuadratic, "length"),
    ):
        with pytest.raises(ValueError, match=f"{name} = {value!r}"):
            make(value)
    if value != "auto":
        with pytest.raises(ValueError, match=f"alpha = {value!r}"):
            mc.RationalQuadratic(1.0, alpha=value)


def test_other_smoothness_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"nu = 2 must be 0.5, 1.5 or 2.5"):
        mc.Matern(1.0, nu=2)
