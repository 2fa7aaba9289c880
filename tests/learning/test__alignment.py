"""Alignment is a cosine, invariant where it has to be; its gradient is that of differences."""

import array_api_strict as xp
import numpy as np
import pytest

import mercer as mc
from mercer.learning import alignment_gradient


def points(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.4, 0.5])


def naive(K, y):
    """Return the alignment with classes from its definition, in extended precision."""
    K, Y = np.asarray(K, np.longdouble), np.asarray(y[:, None] == np.unique(y), np.longdouble)
    H = np.eye(len(K), dtype=np.longdouble) - np.longdouble(1) / len(K)
    K, T = H @ K @ H, H @ Y @ Y.T @ H
    return float(np.sum(K * T) / np.sqrt(np.sum(K * K) * np.sum(T * T)))


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.5), mc.Polynomial(3), mc.Laplacian(1.0), mc.Sigmoid(0.1)]
)
def test_the_alignment_is_its_definition(kernel, global_random_seed):
    X, y = points(global_random_seed)
    assert mc.alignment(kernel, X, y) == pytest.approx(naive(kernel(X), y), rel=1e-10)
    assert mc.alignment(kernel, X.astype(np.float32), y) == pytest.approx(
        naive(kernel(X), y), rel=1e-4
    )


def test_a_wide_kernel_that_is_nearly_constant_keeps_its_digits():
    # the centred kernel is about -2 gamma times that of Linear
    X, y = points(0)
    assert mc.alignment(mc.Gaussian(1e-7), X, y) == pytest.approx(
        mc.alignment(mc.Linear(), X, y), abs=1e-6
    )


def test_the_alignment_with_the_labels_themselves_is_1_and_multiples_and_constants_do_not_matter(
    global_random_seed,
):
    X, y = points(global_random_seed)
    indicators = mc.FeatureMap(lambda codes: (np.asarray(codes) == np.arange(3)).astype(float))
    assert mc.alignment(indicators, y[:, None].astype(float), y) == pytest.approx(1)
    value = mc.alignment(mc.Gaussian(0.3), X, y)
    assert 0 < value < 1
    assert mc.alignment(7.0 * mc.Gaussian(0.3) + 5.0, X, y) == pytest.approx(value, rel=1e-12)


def test_two_classes_are_the_values_1_and_minus_1_and_a_regression_takes_any_scale(
    global_random_seed,
):
    X, y = points(global_random_seed)
    sign = np.where(y > 0, 1.0, -1.0)
    assert mc.alignment(mc.Gaussian(0.3), X, sign) == pytest.approx(
        mc.alignment(mc.Gaussian(0.3), X, sign[:, None])
    )
    values = X[:, 0] ** 2
    expected = mc.alignment(mc.Gaussian(0.3), X, values)
    assert mc.alignment(mc.Gaussian(0.3), X, 1e6 * values + 3) == pytest.approx(expected)


def test_strings_have_an_alignment():
    words = ["aaab", "abab", "aaba", "bbbc", "cbcb", "ccbc"]
    K = mc.strings.Spectrum(2)(words)
    y = np.array([0, 0, 0, 1, 1, 1])
    assert mc.alignment(mc.strings.Spectrum(2), words, y) == pytest.approx(naive(K, y))


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.4), mc.Matern(1.2, nu=0.5), mc.Polynomial(2), 2.0 * mc.Cauchy(0.3)]
)
def test_the_gradient_is_that_of_differences(kernel, global_random_seed, costs):
    X, y = points(global_random_seed)
    costs(BLOCK=40 * 7)
    gradient = alignment_gradient(kernel, X, y)
    h = 1e-5
    for c in range(3):
        up, down = np.ones(3), np.ones(3)
        up[c], down[c] = np.exp(h), np.exp(-h)
        difference = (mc.alignment(kernel, X * up, y) - mc.alignment(kernel, X * down, y)) / (2 * h)
        assert gradient[c] == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_half_of_the_sum_is_the_derivative_in_log_gamma():
    X, y = points(1)
    values = [mc.alignment(mc.Gaussian(0.4 * np.exp(h)), X, y) for h in (1e-5, -1e-5)]
    assert alignment_gradient(mc.Gaussian(0.4), X, y).sum() / 2 == pytest.approx(
        (values[0] - values[1]) / 2e-5, rel=1e-6
    )


def test_a_constant_kernel_and_a_kernel_without_gradient_are_refused():
    X, y = points(0)
    with pytest.raises(ValueError, match="kernel must differ between the points of X"):
        mc.alignment(mc.Constant(1.0), X, y)
    with pytest.raises(TypeError, match="alignment_gradient needs a gradient"):
        alignment_gradient(mc.strings.Spectrum(2), ["ab", "ba"], [0, 1])
    with pytest.raises(TypeError, match="kernel must be a Kernel"):
        mc.alignment("rbf", X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 500])
def test_a_kernel_that_is_constant_up_to_rounding_is_refused(dtype, n):
    X, y = np.full((n, 2), 0.3, dtype), np.arange(n) % 3
    for call in (mc.alignment, mc.learning.alignment_gradient):
        for kernel in (mc.Gaussian(0.1), mc.Polynomial(3)):
            with pytest.raises(ValueError, match="kernel must differ between the points of X"):
                call(kernel, X, y)


def test_arrays_of_other_libraries_have_an_alignment():
    X, y = points(0)
    given = xp.asarray(X), xp.asarray(y)
    assert mc.alignment(mc.Gaussian(0.5), *given) == mc.alignment(mc.Gaussian(0.5), X, y)
    np.testing.assert_array_equal(
        np.asarray(alignment_gradient(mc.Gaussian(0.5), *given)),
        alignment_gradient(mc.Gaussian(0.5), X, y),
    )


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_huge_and_tiny_multiples_have_the_same_alignment(factor):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = X[:, 0] > 0
    kernel = mc.Gaussian(0.5)
    assert mc.alignment(factor * kernel, X, y) == pytest.approx(
        mc.alignment(kernel, X, y), rel=1e-12
    )
    gradient = mc.learning.alignment_gradient(kernel, X, y)
    np.testing.assert_allclose(
        mc.learning.alignment_gradient(factor * kernel, X, y), gradient, rtol=1e-9
    )
    scaled, plain = (
        mc.learn_scales(each, X, y, max_iter=3, method="alignment")
        for each in (factor * kernel, kernel)
    )
    np.testing.assert_allclose(scaled.A, plain.A, rtol=1e-6)
    assert scaled.kernel == factor * kernel


def test_a_given_matrix_has_the_alignment_and_the_weight_of_its_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] > 0
    kernels = [mc.Gaussian(0.5), mc.Linear()]
    K, L = (kernel(X) for kernel in kernels)
    expected = mc.alignment(kernels[0], X, y)
    for kernel, points in ((mc.Precomputed(), K), (mc.Precomputed(K), K)):
        assert mc.alignment(kernel, points, y) == pytest.approx(expected)
    given = mc.learning.combination([mc.Precomputed(K), mc.Precomputed(L)], K, y, "alignment")
    found = mc.learning.combination(kernels, X, y, "alignment")
    np.testing.assert_allclose(given.shares, found.shares)
    with pytest.raises(ValueError, match="X has shape"):
        mc.alignment(mc.Precomputed(K), K[:5], y[:5])


@pytest.mark.parametrize("unit", [1e-150, 1e20, 1e150])
def test_values_in_other_units_have_the_same_alignment(unit):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.sin(X[:, 0])
    kernel = mc.Gaussian(0.5)
    assert mc.alignment(kernel, X, unit * y) == pytest.approx(mc.alignment(kernel, X, y))
