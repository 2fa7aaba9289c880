"""Duals: slopes, bias and violation by hand, feasible starts, certificates against primal objectives."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.solvers.svm.dual import (
    Dual,
    certificate,
    feasible_start,
    gap_between_bounds,
    objective,
    smallest_ball_dual,
)


def dual_of(target, lower, upper, **options):
    n = len(target)
    return Dual(np.asarray(target, float), np.full(n, lower), np.full(n, upper), np.zeros(n), np.arange(n), **options)


# --- starts -----------------------------------------------------------------------------------------------------------


def test_feasible_starts_are_feasible_and_have_the_sum(global_random_seed):
    upper = np.random.default_rng(global_random_seed).random(30)
    for total in (0.0, 0.3, upper.sum() / 2, upper.sum()):
        coef = feasible_start(upper, total)
        assert (coef >= 0).all()
        assert (coef <= upper).all()
        np.testing.assert_allclose(coef.sum(), total, atol=1e-12)


def test_the_first_variables_of_a_start_are_at_their_bounds():
    np.testing.assert_array_equal(feasible_start(np.array([0.5, 0.5, 0.5]), 0.75), [0.5, 0.25, 0.0])


def test_the_dual_of_a_ball_has_half_the_squared_norms_as_target_and_starts_with_sum_1():
    dual = smallest_ball_dual(np.array([2.0, 4.0, 6.0]), np.array([0.4, 0.4, 9.0]))
    np.testing.assert_array_equal(dual.target, [1, 2, 3])
    np.testing.assert_array_equal(dual.upper, [0.4, 0.4, 2.0])
    np.testing.assert_allclose(dual.coef, [0.4, 0.4, 0.2])
    np.testing.assert_array_equal(smallest_ball_dual(np.ones(3), np.inf).upper, 2.0)


# --- optimality -------------------------------------------------------------------------------------------------------


def test_the_objective_is_that_of_the_definition(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    A, t, b = rng.standard_normal((6, 6)), rng.standard_normal(6), rng.standard_normal(6)
    K = A @ A.T
    value = objective(dual_of(t, -9.0, 9.0, epsilon=0.3), b, t - K @ b)
    np.testing.assert_allclose(value, t @ b - 0.3 * np.abs(b).sum() - 0.5 * b @ K @ b)


def test_restricted_duals_keep_what_belongs_to_the_variables():
    dual = Dual(*(np.arange(4.0) + k for k in range(4)), np.arange(4), 0.1, np.arange(4.0) + 9, 2.0)
    part = dual.take(np.array([3, 1]), epsilon=0.2)
    for name in ("target", "lower", "upper", "coef", "points", "ridge"):
        np.testing.assert_array_equal(getattr(part, name), getattr(dual, name)[[3, 1]])
    assert (part.epsilon, part.total) == (0.2, 2.0)


def test_classifiers_are_one_sided_and_hard_margins_unbounded():
    sign = np.array([1.0, -1.0])
    for C in (2.0, np.inf):
        dual = Dual(sign, np.minimum(C * sign, 0), np.maximum(C * sign, 0), np.zeros(2), np.arange(2))
        assert dual.one_sided
        assert dual.unbounded == np.isinf(C)
        assert dual.factors == (1.0, 1.0)
    assert not dual_of(sign, -1.0, 1.0).one_sided
    # one variable may take both signs, one is without bound
    mixed = Dual(sign, np.array([0.0, -1.0]), np.array([1.0, 1.0]), np.zeros(2), np.arange(2))
    assert not mixed.one_sided
    assert not mixed.unbounded
    assert replace(mixed, upper=np.array([np.inf, 1.0])).unbounded
    assert replace(mixed, lower=np.array([0.0, -np.inf])).unbounded


# --- certificates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_the_gap_of_a_certificate_bounds_the_distance_to_the_optimum(global_random_seed, epsilon):
    """Weak duality: no feasible point of the dual lies above the primal value of another."""
    rng = np.random.default_rng(global_random_seed)
    n = 12
    A = rng.standard_normal((n, n))
    K, t, upper = A @ A.T, rng.standard_normal(n), rng.random(n)
    dual = Dual(t, np.zeros(n), upper, np.zeros(n), np.arange(n), epsilon)

    def certified(coef):
        gradient = t - K @ coef
        return certificate(dual, coef, gradient, float(np.median(gradient)))

    shared = 0.5 * upper.sum()
    # feasible points of one sum, as the equality constraint asks
    orders = (rng.permutation(n) for _ in range(40))
    points = [feasible_start(upper[order], shared)[np.argsort(order)] for order in orders]
    certificates = [certified(coef) for coef in points]
    assert max(each.dual for each in certificates) <= min(each.primal for each in certificates) + 1e-12
    assert all(each.gap >= 0 for each in certificates)


def regression(seed, bound):
    """Return a kernel matrix, targets and coefficients of sum 0 within a bound, some of them 0 or at it."""
    rng = np.random.default_rng(seed)
    A, t = rng.standard_normal((9, 9)), rng.standard_normal(9)
    coef = rng.uniform(-0.5, 0.5, 9)
    coef[:3] = 0.0, bound, -bound
    coef[3:] -= coef.sum() / 6
    return A @ A.T, t, coef


LOSSES = {
    "epsilon": (0.3, 1.0, None, lambda r: np.maximum(np.abs(r) - 0.3, 0)),
    "squared": (0.3, np.inf, 0.2, lambda r: 2.5 * np.maximum(np.abs(r) - 0.3, 0) ** 2),
    "huber": (0.0, 1.2, 0.2, lambda r: np.where(np.abs(r) < 0.24, 2.5 * r**2, 1.2 * np.abs(r) - 0.144)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_primal_of_a_regression_is_the_norm_and_the_loss_of_the_residuals(global_random_seed, loss):
    epsilon, bound, ridge, penalty = LOSSES[loss]
    K, t, coef = regression(global_random_seed, 1.0)
    bias, rho = 0.1, 0.0 if ridge is None else ridge
    dual = dual_of(t, -bound, bound, epsilon=epsilon, ridge=None if ridge is None else np.full(9, ridge))
    found = certificate(dual, coef, t - K @ coef - rho * coef, bias)
    np.testing.assert_allclose(found.primal, 0.5 * coef @ K @ coef + penalty(t - K @ coef - bias).sum(), rtol=1e-12)
    value = t @ coef - epsilon * np.abs(coef).sum() - 0.5 * coef @ K @ coef - 0.5 * rho * coef @ coef
    np.testing.assert_allclose(found.dual, value, rtol=1e-12)


def two_points(C):
    # x = -1 and 1, linear kernel: w = 1, b = 0, alpha = 1/2 each
    sign = np.array([-1.0, 1.0])
    return Dual(sign, np.minimum(C * sign, 0), np.maximum(C * sign, 0), np.zeros(2), np.arange(2))


def numbers(found):
    return found.primal, found.dual, found.gap, found.kkt


def test_a_classifier_solved_by_hand_has_no_gap_and_the_start_that_of_doing_nothing():
    dual, coef = two_points(9.0), np.array([-0.5, 0.5])
    assert numbers(certificate(dual, coef, dual.target - np.array([-1.0, 1.0]), 0.0)) == (0.5, 0.5, 0.0, 0.0)
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
    # weights 1 and 2; the largest coefficient per weight is 0.3, so that C = 0.3
    sign, units = np.array([1.0, 1.0, -1.0]), np.array([1.0, 2.0, 4.0])
    dual = Dual(sign, np.minimum(units * sign, 0), np.maximum(units * sign, 0), np.zeros(3), np.arange(3), total=1.0)
    coef, gradient = np.array([0.3, 0.2, -0.5]), np.array([2.0, 0.5, 1.0])
    bounded = replace(dual, lower=0.3 * dual.lower, upper=0.3 * dual.upper, total=None)
    assert numbers(certificate(dual, coef, gradient, 0.7)) == numbers(certificate(bounded, coef, gradient, 0.7))
    # float32 moves the second coefficient off 0.6; the first stays at its bound all the same
    rounded, gradient = np.array([0.3, np.float64(np.float32(0.6)), -0.9]), np.array([2.0, 1.5, 1.0])
    assert certificate(dual, rounded, gradient, 0.7, np.finfo(np.float32).eps).kkt == 0
    assert certificate(dual, rounded, gradient, 0.7).kkt == 1


@pytest.mark.parametrize("C", [1e-3, 1e3])
def test_a_coefficient_within_four_roundings_of_its_bound_is_at_it(C):
    sign, eps = np.array([1.0, 1.0, -2.0]), 1e-6
    dual = Dual(sign, np.minimum(sign, 0), np.maximum(sign, 0), np.zeros(3), np.arange(3), total=1.0)
    gradient = np.array([1.0, 3.0, 0.0])
    for roundings, kkt in ((3.9, 0.0), (4.1, 2.0)):
        # the second point violates by 2 if it may rise
        coef = C * np.array([1.0, 1 - roundings * eps, -2.0])
        assert certificate(dual, coef, gradient, 0.5, eps).kkt == kkt


def test_an_unbounded_regression_has_the_certificate_of_bounds_that_are_not_met():
    K, t, coef = regression(0, 1.0)
    coef *= 0.25
    found, bounded = (
        certificate(dual_of(t, -C, C, epsilon=0.3), coef, t - K @ coef, 0.1) for C in (np.inf, 2 * np.abs(coef).max())
    )
    assert numbers(found) == numbers(bounded)


def test_coefficients_beyond_the_bounds_by_rounding_are_clipped():
    dual, gradient = two_points(0.5), np.array([-0.5, 0.5])
    exact = certificate(dual, np.array([-0.5, 0.5]), gradient, 0.0)
    assert numbers(certificate(dual, np.array([-0.5 - 1e-9, 0.5 + 1e-9]), gradient, 0.0)) == numbers(exact)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_gaps_are_the_best_gain_of_a_move_between_the_bounds(epsilon):
    coef, error, lower, upper = (
        grid.ravel() for grid in np.meshgrid([-1.0, -0.3, 0.0, 0.4, 2.0], [-2.0, -0.4, 0.0, 0.3, 3.0], [-1.0], [2.0])
    )
    dual = Dual(np.zeros(25), lower, upper, coef, np.arange(25), epsilon)
    places = np.linspace(-1, 2, 31)
    gains = np.array([a * error - epsilon * abs(a) - coef * error + epsilon * abs(coef) for a in places])
    np.testing.assert_allclose(gap_between_bounds(dual, coef, error), gains.max(axis=0), atol=1e-14)


@pytest.mark.parametrize("total", [None, 2.0])
@pytest.mark.parametrize("offset", [1e4, 1e9])
def test_an_offset_of_targets_and_bias_does_not_move_the_certificate_of_a_rounded_sum(
    global_random_seed, offset, total
):
    K, t, coef = regression(global_random_seed, 1.0)
    # the sum of rounded numbers is not 0, and the bias multiplies it
    coef[np.flatnonzero(np.abs(coef) < 1)[-1]] -= 1e-6
    coef = np.float64(np.float32(coef))
    f = t - K @ coef
    assert abs(coef.sum()) > 1e-7
    dual = dual_of(t, -1.0, 1.0, epsilon=0.3, total=total)
    found = certificate(dual, coef, f, 0.1, np.finfo(np.float32).eps)
    moved = certificate(replace(dual, target=t + offset), coef, f + offset, 0.1 + offset, np.finfo(np.float32).eps)
    np.testing.assert_allclose([moved.primal, moved.dual], [found.primal, found.dual], rtol=1e-15 * offset + 1e-12)
    loss = np.maximum(np.abs(f - 0.1) - 0.3, 0).sum() + (0.0 if total is None else 0.3 * total)
    np.testing.assert_allclose(found.primal, 0.5 * coef @ K @ coef + loss, rtol=1e-12)


@pytest.mark.parametrize("size", [1 - 1e-9, 1.0, 1 + 1e-9])
def test_the_certificate_of_a_ball_is_that_of_weights_whose_sum_is_rounded(size):
    # two points of norm 1 opposite of each other: R = 1, and half of it is the optimum
    dual = smallest_ball_dual(np.ones(2), np.inf)
    coef, K = np.full(2, 0.5 * size), np.array([[1.0, -1.0], [-1.0, 1.0]])
    found = certificate(dual, coef, dual.target - K @ coef, 0.5)
    assert found.primal == pytest.approx(0.5)
    assert found.dual == pytest.approx(0.5)


@pytest.mark.parametrize("size", [0.9, 1.1])
def test_weights_of_another_sum_than_that_of_a_ball_bound_nothing(size):
    dual, K = smallest_ball_dual(np.ones(2), np.inf), np.array([[1.0, -1.0], [-1.0, 1.0]])
    coef = np.full(2, 0.5 * size)
    found = certificate(dual, coef, dual.target - K @ coef, 0.5)
    assert found.gap == np.inf
    assert found.kkt == pytest.approx(0.1 / max(size, 1.0))
