"""VariableWidthGaussian: inner products by the reproducing property and by integrals, gradients, refused widths."""

import numpy as np
import pytest
from scipy.integrate import quad

import mercer as mc
from mercer.testing import check_kernel_implementation


def _points(rng, kernel, n):
    s = np.sqrt(0.5 / kernel.gamma)
    return np.column_stack([rng.normal(size=(n, kernel.n_features)), s * (0.75 + rng.random(n))])


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("d", [1, 3])
def test_values_are_the_formula(d, dtype, global_random_seed):
    rng, kernel = np.random.default_rng(global_random_seed), mc.VariableWidthGaussian(0.7, d)
    X, Z = _points(rng, kernel, 9).astype(dtype), _points(rng, kernel, 7).astype(dtype)
    a, b, s = X[:, None, d].astype(float) ** 2, Z[None, :, d].astype(float) ** 2, 0.5 / 0.7
    distance = ((X[:, None, :d].astype(float) - Z[:, :d]) ** 2).sum(axis=2)
    expected = (a * b / (s * (a + b - s))) ** (d / 2) * np.exp(-distance / (2 * (a + b - s)))
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=50 * np.finfo(dtype).eps)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=10 * np.finfo(dtype).eps)
    assert kernel(X, Z).dtype == dtype


def test_points_of_the_width_of_the_space_have_the_gaussian_kernel(global_random_seed):
    rng, kernel = np.random.default_rng(global_random_seed), mc.VariableWidthGaussian(0.3, 2)
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    np.testing.assert_allclose(kernel(X, Z), mc.Gaussian(0.3)(X, Z), rtol=1e-14)


@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.7, 1.9, 3e-7, 2e5])
def test_an_expansion_at_points_of_the_width_of_the_space_is_that_of_its_kernel_to_the_last_bit(
    gamma, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(6, 2)) / np.sqrt(gamma)
    points, coef = rng.normal(size=(5, 2)) / np.sqrt(gamma), rng.normal(size=(5, 1))
    psi = mc.Expansion(mc.Gaussian(gamma), points, coef)
    chi = mc.Expansion(mc.VariableWidthGaussian(gamma, 2), points, coef)
    np.testing.assert_array_equal(chi(X), psi(X))
    np.testing.assert_allclose(mc.sqdist(psi, chi), 0, atol=1e-13)


def test_an_expansion_is_the_sum_of_gaussian_functions_of_the_widths_of_its_points(
    global_random_seed,
):
    rng, kernel = np.random.default_rng(global_random_seed), mc.VariableWidthGaussian(0.3, 2)
    points, coef, X = _points(rng, kernel, 6), rng.normal(size=(6, 2)), rng.normal(size=(8, 2))
    distance = ((X[:, None] - points[:, :2]) ** 2).sum(axis=2)
    expected = np.exp(-distance / (2 * points[:, 2] ** 2)) @ coef
    np.testing.assert_allclose(mc.Expansion(kernel, points, coef)(X), expected, rtol=1e-12)


@pytest.mark.parametrize(("a", "b", "x"), [(1.3, 0.9, 0.4), (0.8, 2.0, -1.0), (1.0, 1.5, 2.0)])
def test_inner_products_are_integrals_over_frequencies(a, b, x):
    # <f, g> = (1 / 2 pi) int f^ conj(g^) / k^, with g_a^(w) = a sqrt(2 pi) exp(-a^2 w^2 / 2) and s = 1
    def integrand(w):
        return (
            a
            * b
            * np.sqrt(2 * np.pi)
            * np.exp(-(a * a + b * b - 1) * w * w / 2)
            * np.cos(w * x)
            / (2 * np.pi)
        )

    expected = quad(integrand, -40, 40, epsabs=1e-13)[0]
    kernel = mc.VariableWidthGaussian(0.5, 1)
    assert kernel(np.array([[x, a]]), np.array([[0.0, b]]))[0, 0] == pytest.approx(
        expected, rel=1e-9
    )


@pytest.mark.parametrize("d", [1, 4])
def test_gradients_of_expansions_at_data_are_those_of_differences(d, global_random_seed):
    rng, kernel = np.random.default_rng(global_random_seed), mc.VariableWidthGaussian(0.6, d)
    psi = mc.Expansion(kernel, _points(rng, kernel, 5), rng.normal(size=(5, 2)))
    X = rng.normal(size=(4, d))
    found = psi.gradient(X)
    step = 1e-6
    for k, shift in enumerate(step * np.eye(d)):
        slope = (psi(X + shift) - psi(X - shift)) / (2 * step)
        np.testing.assert_allclose(found[:, :, k], slope, rtol=1e-6, atol=1e-8)


def test_points_with_widths_have_no_gradients(global_random_seed):
    rng, kernel = np.random.default_rng(global_random_seed), mc.VariableWidthGaussian(0.6, 2)
    X = _points(rng, kernel, 3)
    with pytest.raises(TypeError, match="VariableWidthGaussian.* has no gradient in its points"):
        kernel.vjp(X, X, np.ones((3, 3)))


def test_it_obeys_the_laws_of_kernels_and_is_proved_definite():
    kernel = mc.VariableWidthGaussian(0.5, 2)
    X = _points(np.random.default_rng(0), kernel, 12)
    check_kernel_implementation(kernel, X)
    report = mc.check_kernel(kernel, X)
    assert report.positive_semidefinite
    assert report.symmetric
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-14 * len(X)


def test_many_features_and_very_different_widths_do_not_overflow_quietly():
    kernel = mc.VariableWidthGaussian(0.5, 256)
    assert np.isfinite(kernel(np.r_[np.zeros(256), 1.4][None])).all()
    with pytest.raises(ValueError, match="overflows float64"):
        kernel(np.r_[np.zeros(256), 1e3][None])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.0, 0.0, 0.7]], r"X has the width 0.7 in row 0; widths must be above 0.707107"),
        ([[0.0, 0.0, -2.0]], "X has the width -2 in row 0"),
        ([[0.0]], "X has 1 columns; it must have n_features = 2, or 3 with"),
    ],
)
def test_points_without_a_function_in_the_space_are_refused(points, message):
    with pytest.raises(ValueError, match=message):
        mc.VariableWidthGaussian(0.5, 2)(np.array(points))


def test_parameters_out_of_range_are_refused():
    with pytest.raises(ValueError, match="gamma = 0 must be above 0"):
        mc.VariableWidthGaussian(0, 2)
    with pytest.raises(TypeError, match="n_features must be a whole number"):
        mc.VariableWidthGaussian(1.0, 2.5)
