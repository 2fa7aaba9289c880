"""Slopes, bias and violation by hand."""

from dataclasses import replace

import numpy as np

from mercer.solvers.svm.bias import bias_of, excess, inner_bias, middle, settled, slopes, storage_margin, violation_of
from mercer.solvers.svm.dual import Dual, Solution


def dual_of(target, lower, upper, **options):
    n = len(target)
    return Dual(np.asarray(target, float), np.full(n, lower), np.full(n, upper), np.zeros(n), np.arange(n), **options)


def test_slopes_bias_and_violation_are_those_found_by_hand():
    # at the lower bound, free above 0, at 0 inside, free below 0, at the upper bound
    coef = np.array([-1.0, 0.5, 0.0, -0.5, 1.0])
    gradient = np.array([0.1, 0.5, 0.2, -0.1, 3.0])
    dual = dual_of(np.zeros(5), -1.0, 1.0, epsilon=0.25)
    rising, falling = slopes(gradient, coef, dual)
    np.testing.assert_allclose(rising, [0.35, 0.25, -0.05, 0.15, -np.inf])
    np.testing.assert_allclose(falling, [np.inf, 0.25, 0.45, 0.15, 2.75])
    np.testing.assert_allclose(bias_of(gradient, coef, dual), 0.2)
    np.testing.assert_allclose(violation_of(gradient, coef, dual), 0.35 - 0.15)
    np.testing.assert_allclose(excess(rising, falling, 0.2), [0.15, 0.05, -0.25, 0.05, -2.55])


def test_without_free_variables_the_bias_is_in_the_middle_of_the_interval():
    dual = dual_of(np.zeros(2), 0.0, 1.0)
    # the first may only rise, the second may only fall
    coef = np.array([0.0, 1.0])
    assert bias_of(np.array([1.0, 4.0]), coef, dual) == 2.5
    assert violation_of(np.array([1.0, 4.0]), coef, dual) == 0
    assert violation_of(np.array([4.0, 1.0]), coef, dual) == 3
    assert (middle(-np.inf, 3.0), middle(2.0, np.inf), middle(2.0, 3.0)) == (3.0, 2.0, 2.5)


def test_an_inner_bias_is_above_all_gradients_that_may_rise_by_some_roundings():
    dual, gradient = dual_of(np.zeros(3), 0.0, 0.5), np.array([-2.0, -1.0, 5.0])
    solution = Solution(np.array([0.2, 0.3, 0.5]), gradient, -1.5, 0.0, 0)
    eps = np.finfo(np.float32).eps
    np.testing.assert_allclose(inner_bias(solution, dual, np.float32, 0.1), -1 + 64 * eps, rtol=1e-12)
    np.testing.assert_allclose(inner_bias(solution, dual, np.float32, 10.0), -1 + 640 * eps, rtol=1e-12)
    full = replace(solution, coef=np.full(3, 0.5))
    np.testing.assert_allclose(inner_bias(full, dual, np.float64, 0.0), -1.5, rtol=1e-12)


def test_the_margin_for_float32_is_the_rest_of_its_roundings_and_a_small_share_of_distances():
    single, double = np.finfo(np.float32).eps, np.finfo(np.float64).eps
    for bias, scale in ((-3.0, 0.5), (-0.1, 3.0)):
        found = storage_margin(bias, np.float64, scale, 1.0)
        np.testing.assert_allclose(found, 3 * 64 * (single - double), rtol=1e-12)
        assert storage_margin(bias, np.float32, scale, 1.0) == 0
    np.testing.assert_allclose(storage_margin(-1.0, np.float64, 1.0, 1e-3), 1e-6, rtol=1e-12)
    assert storage_margin(-1.0, np.float64, 1.0, -1.0) == 0


def settled_bias(gradient, coef, dual):
    return bias_of(gradient, settled(coef, dual), dual)


def test_a_coefficient_that_rounding_keeps_from_a_bound_or_from_0_is_not_free():
    dual, gradient = dual_of(np.zeros(3), 0.0, 1.0), np.array([1.0, 4.0, 3.0])
    for rounded in (np.array([3e-15, 1.0, 1 - 3e-15]), np.array([0.0, 1 - 1e-14, 1.0])):
        assert settled_bias(gradient, rounded, dual) == 2.0
    # free, if only just
    assert settled_bias(gradient, np.array([0.0, 1.0, 1 - 1e-11]), dual) == 3.0
    # small beside the bounds, not beside the other coefficients
    assert settled_bias(gradient, np.array([0.0, 1e-20, 0.0]), dual) == 4.0
    two_sided = dual_of(np.zeros(2), -1.0, 1.0, epsilon=0.25)
    assert settled_bias(np.array([0.1, 0.5]), np.array([5e-17, 1.0]), two_sided) == np.mean([-0.15, 0.25])
    # bounds that are infinite
    assert settled_bias(gradient, np.array([0.0, 1.0, 0.0]), dual_of(np.zeros(3), 0.0, np.inf)) == 4.0
