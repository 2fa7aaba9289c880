"""Certificates against primal objectives by definition, on any point: solved, unsolved, rounded or infeasible."""

from dataclasses import replace

import numpy as np
import pytest
from tests.solvers.svm import oracle
from tests.solvers.svm.duals import classifier, regression, sum_of_one

from mercer.solvers.svm import certificate

EPS32 = np.finfo(np.float32).eps


def numbers(found):
    return found.primal, found.dual, found.gap, found.kkt


def curve(seed, bound=1.0):
    """Return a kernel matrix, targets and coefficients of sum 0 within a bound, some of them 0 or at it."""
    rng = np.random.default_rng(seed)
    A, t = rng.standard_normal((9, 9)), rng.standard_normal(9)
    coef = rng.uniform(-0.5, 0.5, 9)
    coef[:3] = 0.0, bound, -bound
    coef[3:] -= coef.sum() / 6
    return A @ A.T, t, coef


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_no_feasible_point_of_the_dual_is_above_the_primal_value_of_another(
    global_random_seed, epsilon
):
    rng = np.random.default_rng(global_random_seed)
    n = 12
    A = rng.standard_normal((n, n))
    K, t, upper = A @ A.T, rng.standard_normal(n), rng.random(n)
    dual = replace(regression(t, 1.0, epsilon), lower=np.zeros(n), upper=upper)
    total, found = 0.5 * upper.sum(), []
    for _ in range(40):
        order = rng.permutation(n)
        coef = np.zeros(n)
        coef[order] = np.clip(total - (np.cumsum(upper[order]) - upper[order]), 0, upper[order])
        gradient = t - K @ coef
        found.append(
            certificate(replace(dual, coef=coef), coef, gradient, float(np.median(gradient)))
        )
    assert max(each.dual for each in found) <= min(each.primal for each in found) + 1e-12
    assert all(each.gap >= 0 for each in found)
    best = oracle.optimum(replace(dual, coef=coef), K)
    assert (
        max(each.dual for each in found)
        <= best.value + 1e-12
        <= min(each.primal for each in found) + 2e-12
    )


LOSSES = {
    "epsilon": (0.3, 1.0, None, lambda r: np.maximum(np.abs(r) - 0.3, 0)),
    "squared": (0.3, np.inf, 0.2, lambda r: 2.5 * np.maximum(np.abs(r) - 0.3, 0) ** 2),
    "huber": (
        0.0,
        1.2,
        0.2,
        lambda r: np.where(np.abs(r) < 0.24, 2.5 * r**2, 1.2 * np.abs(r) - 0.144),
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_primal_of_a_regression_is_the_norm_and_the_loss_of_the_residuals(
    global_random_seed, loss
):
    epsilon, bound, ridge, penalty = LOSSES[loss]
    K, t, coef = curve(global_random_seed)
    bias, rho = 0.1, 0.0 if ridge is None else ridge
    dual = regression(t, bound, epsilon, ridge=None if ridge is None else np.full(9, ridge))
    found = certificate(dual, coef, t - K @ coef - rho * coef, bias)
    np.testing.assert_allclose(
        found.primal, 0.5 * coef @ K @ coef + penalty(t - K @ coef - bias).sum(), rtol=1e-12
    )
    value = (
        t @ coef - epsilon * np.abs(coef).sum() - 0.5 * coef @ K @ coef - 0.5 * rho * coef @ coef
    )
    np.testing.assert_allclose(found.dual, value, rtol=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_the_gap_is_the_best_gain_of_a_move_of_each_variable_between_its_bounds(epsilon):
    places = np.linspace(-1, 2, 31)
    for coef in (-1.0, -0.3, 0.0, 0.4, 2.0):
        for error in (-2.0, -0.4, 0.0, 0.3, 3.0):
            own = np.array([coef])
            dual = replace(regression([0.0], 1.0, epsilon), upper=np.array([2.0]), coef=own)
            gains = places * error - epsilon * np.abs(places) - coef * error + epsilon * abs(coef)
            found = certificate(dual, own, np.array([error + 0.7]), 0.7)
            assert found.gap == pytest.approx(gains.max(), abs=1e-14)


def two_points(C):
    # x = -1 and 1, linear kernel: w = 1, b = 0, alpha = 1/2 each
    return classifier([-1.0, 1.0], C)


def test_a_classifier_solved_by_hand_has_no_gap_and_the_start_that_of_doing_nothing():
    dual, coef = two_points(9.0), np.array([-0.5, 0.5])
    assert numbers(certificate(dual, coef, dual.target - np.array([-1.0, 1.0]), 0.0)) == (
        0.5,
        0.5,
        0.0,
        0.0,
    )
    assert numbers(certificate(dual, np.zeros(2), dual.target, 0.0)) == (18.0, 0.0, 18.0, 2.0)


def test_the_primal_of_a_hard_margin_is_the_normal_stretched_to_it():
    dual, coef = two_points(np.inf), np.array([-0.25, 0.25])
    # w = 1/2: margins 1/2, so that 2 w has margins 1
    found = certificate(dual, coef, dual.target - np.array([-0.5, 0.5]), 0.0)
    np.testing.assert_allclose(numbers(found), [0.5, 0.375, 0.125, 1.0])
    assert certificate(dual, np.zeros(2), dual.target, 0.0).primal == np.inf
    # a bias of 1/4 leaves the second point a margin of 1/4 only
    found = certificate(dual, coef, dual.target - np.array([-0.5, 0.5]), 0.25)
    np.testing.assert_allclose(found.primal, 0.5 * 0.25 / 0.25**2)


def test_bounds_of_a_prescribed_sum_are_those_that_the_coefficients_show():
    # weights 1, 2 and 4; the largest coefficient per weight is 0.3, so that C = 0.3
    dual = classifier([1.0, 1.0, -1.0], np.array([1.0, 2.0, 4.0]), total=1.0)
    coef, gradient = np.array([0.3, 0.2, -0.5]), np.array([2.0, 0.5, 1.0])
    bounded = replace(dual, lower=0.3 * dual.lower, upper=0.3 * dual.upper, total=None)
    assert numbers(certificate(dual, coef, gradient, 0.7)) == numbers(
        certificate(bounded, coef, gradient, 0.7)
    )
    # float32 moves the second coefficient off 0.6; the first stays at its bound all the same
    rounded, gradient = (
        np.array([0.3, np.float64(np.float32(0.6)), -0.9]),
        np.array([2.0, 1.5, 1.0]),
    )
    assert certificate(dual, rounded, gradient, 0.7, EPS32).kkt == 0
    assert certificate(dual, rounded, gradient, 0.7).kkt == 1


@pytest.mark.parametrize("C", [1e-3, 1e3])
def test_a_coefficient_within_four_roundings_of_its_bound_is_at_it(C):
    eps = 1e-6
    dual, gradient = (
        classifier([1.0, 1.0, -1.0], np.array([1.0, 1.0, 2.0]), total=1.0),
        np.array([1.0, 3.0, 0.0]),
    )
    for roundings, kkt in ((3.9, 0.0), (4.1, 2.0)):
        # the second point violates by 2 if it may rise
        coef = C * np.array([1.0, 1 - roundings * eps, -2.0])
        assert certificate(dual, coef, gradient, 0.5, eps).kkt == kkt


def test_an_unbounded_regression_has_the_certificate_of_bounds_that_are_not_met():
    K, t, coef = curve(0)
    coef *= 0.25
    found, bounded = (
        certificate(regression(t, C, 0.3), coef, t - K @ coef, 0.1)
        for C in (np.inf, 2 * np.abs(coef).max())
    )
    assert numbers(found) == numbers(bounded)


def test_coefficients_beyond_the_bounds_by_rounding_are_clipped():
    dual, gradient = two_points(0.5), np.array([-0.5, 0.5])
    exact = certificate(dual, np.array([-0.5, 0.5]), gradient, 0.0)
    assert numbers(
        certificate(dual, np.array([-0.5 - 1e-9, 0.5 + 1e-9]), gradient, 0.0)
    ) == numbers(exact)


def test_the_violation_is_the_largest_slope_of_a_rise_minus_the_smallest_of_a_fall():
    # at the lower bound, free above 0, at 0 inside, free below 0, at the upper bound
    coef = np.array([-1.0, 0.5, 0.0, -0.5, 1.0])
    gradient = np.array([0.1, 0.5, 0.2, -0.1, 3.0])
    dual = regression(np.zeros(5), 1.0, 0.25)
    # rises 0.35, 0.25, -0.05, 0.15; falls 0.25, 0.45, 0.15, 2.75
    assert certificate(dual, coef, gradient, 0.2).kkt == pytest.approx(0.35 - 0.15)
    coef[[1, 3]] = 0.0
    # rises 0.35, 0.25, -0.05, -0.35; falls 0.75, 0.45, 0.15, 2.75
    assert certificate(dual, coef, gradient, 0.2).kkt == pytest.approx(0.35 - 0.15)
    gradient[0] = -0.3
    assert certificate(dual, coef, gradient, 0.2).kkt == pytest.approx(0.25 - 0.15)
    gradient[3] = 0.1
    assert certificate(dual, coef, gradient, 0.2).kkt == 0


@pytest.mark.parametrize("total", [None, 2.0])
@pytest.mark.parametrize("offset", [1e4, 1e9])
def test_an_offset_of_targets_and_bias_does_not_move_the_certificate_of_a_rounded_sum(
    global_random_seed, offset, total
):
    K, t, coef = curve(global_random_seed)
    # the sum of rounded numbers is not 0, and the bias multiplies it
    coef[np.flatnonzero(np.abs(coef) < 1)[-1]] -= 1e-6
    coef = np.float64(np.float32(coef))
    f = t - K @ coef
    assert abs(coef.sum()) > 1e-7
    dual = regression(t, 1.0, 0.3, total=total)
    found = certificate(dual, coef, f, 0.1, EPS32)
    moved = certificate(replace(dual, target=t + offset), coef, f + offset, 0.1 + offset, EPS32)
    np.testing.assert_allclose(
        [moved.primal, moved.dual], [found.primal, found.dual], rtol=1e-15 * offset + 1e-12
    )
    loss = np.maximum(np.abs(f - 0.1) - 0.3, 0).sum() + (0.0 if total is None else 0.3 * total)
    np.testing.assert_allclose(found.primal, 0.5 * coef @ K @ coef + loss, rtol=1e-12)


def ball():
    # two points of norm 1 opposite of each other: R = 1, and half of it is the optimum
    return sum_of_one(np.full(2, 0.5), 2.0), np.array([[1.0, -1.0], [-1.0, 1.0]])


@pytest.mark.parametrize("size", [1 - 1e-9, 1.0, 1 + 1e-9])
def test_the_certificate_of_a_ball_is_that_of_weights_whose_sum_is_rounded(size):
    dual, K = ball()
    coef = np.full(2, 0.5 * size)
    found = certificate(dual, coef, dual.target - K @ coef, 0.5)
    assert found.primal == pytest.approx(0.5)
    assert found.dual == pytest.approx(0.5)


@pytest.mark.parametrize("size", [0.9, 1.1])
def test_weights_of_another_sum_than_that_of_a_ball_bound_nothing(size):
    dual, K = ball()
    coef = np.full(2, 0.5 * size)
    found = certificate(dual, coef, dual.target - K @ coef, 0.5)
    assert found.gap == np.inf
    assert found.kkt == pytest.approx(0.1 / max(size, 1.0))


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_wrong_sum_of_sizes_is_in_the_gap(factor, global_random_seed):
    K, t, _ = curve(global_random_seed)
    dual = regression(t, 1.0, 0.0)
    total = 0.6 * float(np.abs(oracle.optimum(dual, K).coef).sum())
    best, other = (oracle.optimum(replace(dual, total=each), K) for each in (total, factor * total))
    assert min(best.epsilon, other.epsilon) > 0

    def certified(found, total):
        own = replace(dual, total=total, epsilon=found.epsilon)
        coef, gradient = found.coef.astype(float), found.gradient.astype(float)
        return certificate(own, coef, gradient, 0.5 * (found.low + found.high))

    right, wrong = certified(best, total), certified(best, factor * total)
    assert right.gap <= 1e-12 * max(1.0, abs(right.primal))
    assert right.dual == pytest.approx(best.value, rel=1e-12)
    # by moves of the sum along its multiplier, or of the coefficients to the smaller sum
    assert wrong.gap >= 0.99 * (0.1 * total * best.epsilon if factor > 1 else 0.001 * right.primal)
    # the objectives enclose the optimum of the other sum
    assert wrong.dual <= other.value + 1e-9 <= wrong.primal + 2e-9
