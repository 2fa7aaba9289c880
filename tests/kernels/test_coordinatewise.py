"""Coordinatewise kernels: scikit-learn's values, gradients against differences, empty bins, negative entries."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel, laplacian_kernel
from tests.reference.derivatives import assert_gradients
from tests.reference.inside import MATH

import mercer as mc

X = np.random.default_rng(0).random((9, 5))
X[0] = 0
X[1, :3] = 0


def test_values_are_those_of_scikit_learn():
    np.testing.assert_allclose(mc.Chi2(0.7)(X), chi2_kernel(X, gamma=0.7), rtol=1e-13)
    np.testing.assert_allclose(mc.AdditiveChi2()(X), additive_chi2_kernel(X), rtol=1e-13)
    np.testing.assert_allclose(mc.Laplacian(0.3)(X), laplacian_kernel(X, gamma=0.3), rtol=1e-13)


def test_intersection_of_counts_is_the_inner_product_of_unary_codes():
    counts = np.random.default_rng(1).integers(0, 6, (7, 4))
    codes = (np.arange(6) < counts[:, :, None]).reshape(7, -1).astype(float)
    np.testing.assert_array_equal(mc.Intersection()(counts), codes @ codes.T)


def test_empty_bins_add_nothing():
    padded = np.column_stack([X, np.zeros(9)])
    for kernel in (mc.Chi2(1.0), mc.Intersection()):
        np.testing.assert_array_equal(kernel(padded), kernel(X))
        assert np.isfinite(kernel.vjp(padded, padded, np.ones((9, 9)))).all()
    np.testing.assert_array_equal(mc.Chi2(1.0)(np.zeros((2, 3))), 1)


@pytest.mark.parametrize(
    "kernel", [mc.Chi2(1.0), mc.Intersection()], ids=lambda kernel: type(kernel).__name__
)
def test_negative_entries_are_refused_with_place_value_and_remedy(kernel):
    bad = X.copy()
    bad[4, 2] = -0.25
    with pytest.raises(
        ValueError,
        match=r"X\[4, 2\] = -0.25 must be at least 0 for .*; shift or clip it, or use Lapl",
    ):
        kernel(bad)
    with pytest.raises(ValueError, match=r"Z\[4, 2\] = -0.25 must be at least 0"):
        kernel(X, bad)


def test_huge_entries_are_values_or_refused_but_never_nan():
    assert np.isfinite(mc.Chi2(1e-200)(X * 1e200)).all()
    assert np.isfinite(mc.Laplacian(1e-200)(X * 1e200)).all()
    with pytest.raises(ValueError, match=r"Intersection\(\) overflows float64; scale X"):
        mc.Intersection()(np.full((2, 3), 1e308))


def test_the_laplacian_is_a_product_over_coordinates():
    parts = [mc.Mapped(mc.Laplacian(0.4), np.array([k]))(X) for k in range(5)]
    np.testing.assert_allclose(mc.Laplacian(0.4)(X), np.prod(parts, axis=0), rtol=1e-13)


def test_gradients_are_those_of_differences(global_random_seed):
    positive = np.random.default_rng(2).random((6, 4)) + 0.5
    for kernel in (
        mc.Laplacian(0.7),
        mc.Chi2(0.8),
        mc.AdditiveChi2(),
        mc.Intersection(),
        mc.Chi2(0.3) * mc.Intersection(),
    ):
        # coordinates below and above, none within the steps of the differences, where |x - z| and min(x, z) have kinks
        others = np.where(np.random.default_rng(3).random((5, 4)) < 0.5, 0.3, 1.8)
        assert_gradients(kernel, positive, others, global_random_seed)


def test_a_subclass_with_any_profile_has_its_gradients(global_random_seed):
    class Squared(mc.Coordinatewise):
        @staticmethod
        def term(xp, x, z, order=0):
            return x * z if order == 0 else z

        @staticmethod
        def profile(xp, s, order=0):
            return (s * s, 2 * s)[order]

    np.testing.assert_allclose(Squared()(X), mc.Polynomial(2, coef0=0.0)(X), atol=1e-14)
    assert_gradients(Squared(), X, X[:4, ::-1], global_random_seed)


def test_derivatives_at_kinks():
    # |x - z| has slope 0 and min(x, z) slope 1/2 at x = z
    assert mc.Laplacian(1.0).vjp(X[:1], X[:1], np.ones((1, 1))).tolist() == [[0.0] * 5]
    assert mc.Intersection().vjp(X[2:3], X[2:3], np.ones((1, 1))).tolist() == [[0.5] * 5]
    identity = [
        mc.Intersection.profile(MATH, np.array([2.0]), order=order)[0] for order in range(4)
    ]
    assert identity == [2.0, 1.0, 0.0, 0.0]


def test_defaults_and_rules():
    assert mc.Laplacian() == mc.Laplacian("scale")
    assert mc.Chi2() == mc.Chi2(1.0)
    assert mc.Laplacian().resolve(X).gamma == pytest.approx(1 / (5 * X.var()))
    assert mc.Chi2("scale").resolve(X).gamma == pytest.approx(1 / (5 * X.var()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chi_squared_values_depend_on_gamma_times_the_rows_only(dtype):
    small = np.array([[1.75], [1.0], [1.5], [1.25], [0.0]], dtype)
    # sums of two of these overflow
    scale = 2.0 ** (np.finfo(dtype).maxexp - 1)
    large, kernel, scaled = small * dtype(scale), mc.Chi2(1.0), mc.Chi2(1 / scale)
    np.testing.assert_allclose(scaled(large), kernel(small), rtol=1e-6)
    np.testing.assert_allclose(scaled(large, large[:2]), chi2_kernel(small, small[:2]), rtol=1e-6)
    np.testing.assert_array_equal(kernel(large), np.eye(5))
