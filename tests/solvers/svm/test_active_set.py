"""Newton steps on free variables: linear systems, bounds that are met and left, prescribed sums."""

import numpy as np
import pytest
from mercer.solvers.svm.active_set import _ActiveSet, _constrained, _inverse, _piece, solve_active_set, violators
from mercer.solvers.svm.bias import slopes, violation_of

from mercer.solvers.svm.dual import Dual


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


def problem(rng, n=12, bound=np.inf, epsilon=0.0):
    A = rng.standard_normal((n, n))
    return A @ A.T + np.eye(n), Dual(
        rng.standard_normal(n), np.full(n, -bound), np.full(n, bound), np.zeros(n), np.arange(n), epsilon
    )


def test_without_bounds_the_solution_is_that_of_the_linear_system(rng):
    K, dual = problem(rng)
    gradient = dual.target.copy()
    coef, epsilon = solve_active_set(K.copy(), gradient, dual, 0.0, None)
    system = np.ones((13, 13))
    system[:12, :12], system[12, 12] = K, 0
    np.testing.assert_allclose(coef, np.linalg.solve(system, np.append(dual.target, 0))[:12], atol=1e-10)
    np.testing.assert_allclose(gradient, dual.target - K @ coef, atol=1e-10)
    assert epsilon == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_between_bounds_the_solution_is_optimal_to_rounding(rng, epsilon):
    for _ in range(10):
        K, dual = problem(rng, bound=0.2, epsilon=epsilon)
        gradient = dual.target.copy()
        coef, same = solve_active_set(K, gradient, dual, 0.0, None)
        assert same == epsilon
        assert (np.abs(coef) <= 0.2).all()
        assert abs(coef.sum()) < 1e-12
        assert violation_of(dual.target - K @ coef, coef, dual) < 1e-10


def test_a_prescribed_sum_of_sizes_gives_its_epsilon(rng):
    K, dual = problem(rng, bound=5.0, epsilon=0.2)
    first, _ = solve_active_set(K, dual.target.copy(), dual, 0.0, None)
    total = 0.9 * np.abs(first).sum()
    start = Dual(dual.target, dual.lower, dual.upper, first, dual.points, 0.2)
    gradient = dual.target - K @ first
    bias = float(np.mean((gradient - 0.2 * np.sign(first))[first != 0]))
    coef, epsilon = solve_active_set(K, gradient, start, bias, total)
    free = (coef != 0) & (np.abs(coef) < 5)
    level = gradient[free] - epsilon * np.sign(coef[free])
    assert epsilon > 0.2
    np.testing.assert_allclose(np.abs(coef).sum(), total, rtol=1e-10)
    np.testing.assert_allclose(level, level[0], atol=1e-9)


def test_directions_keep_their_constraints_and_solve_for_what_is_not_held(rng):
    A = rng.standard_normal((6, 6))
    K, f, sign = A @ A.T + np.eye(6), rng.standard_normal(6), np.array([1.0, -1, 1, -1, 1, 1])
    held = np.array([False, True, False, False, True, False])
    sums = np.column_stack([np.ones(6), sign])
    # the direction's sum over what is not held is exactly 0
    d, m = _constrained(lambda columns: np.linalg.solve(K, columns), f, held, sums, [0, 0.5])
    assert not d[held].any()
    np.testing.assert_allclose([d.sum(), sign @ d], [0, 0.5], atol=1e-10)
    np.testing.assert_allclose((K @ d + sums @ m)[~held], f[~held], atol=1e-9)


def test_the_inverse_is_exact_on_columns_of_sum_0_up_to_a_constant(rng):
    A = rng.standard_normal((5, 5))
    K, columns = A @ A.T + np.eye(5), rng.standard_normal((5, 2))
    shifted = K + np.trace(K) / 5
    np.testing.assert_allclose(_inverse(K.copy())(columns), np.linalg.solve(shifted, columns), rtol=1e-8)
    # an indefinite matrix: a gradient step by the largest diagonal entry of the shifted one
    wild = np.array([[0.0, 50.0], [50.0, 0.0]])
    np.testing.assert_allclose(_inverse(-np.diag([1.0, 2.0]) + wild - wild)(np.ones((2, 1))).ravel(), 1 / 3.5)


def test_a_matrix_that_rounding_makes_indefinite_is_factorised_with_more_on_its_diagonal(rng):
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    shifted = Q @ np.diag([3.0, 2.0, 1.0, 1.0, 1.0, -1e-11]) @ Q.T
    # the mean of the diagonal is added to all entries
    K = shifted - np.trace(shifted) / 12
    x = Q[:, :5] @ rng.standard_normal((5, 1))
    np.testing.assert_allclose(_inverse(K.copy())(shifted @ x), x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 1e-310, -1e-310])
def test_the_inverse_of_kernel_values_that_vanish_is_finite(value, dtype):
    inverse, gradient = _inverse(np.full((2, 2), value, dtype)), np.array([1.0, -1.0])
    assert np.isfinite(inverse(gradient[:, None])).all()
    direction, multipliers = _constrained(inverse, gradient, np.zeros(2, bool), np.ones((2, 1)), np.zeros(1))
    assert np.isfinite(direction).all()
    assert np.isfinite(multipliers).all()


def test_violators_are_those_beyond_rounding():
    dual = Dual(np.zeros(4), np.zeros(4), np.ones(4), np.zeros(4), np.arange(4))
    coef, gradient = np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0 + 1e-9, 1.0 + 1e-13, 1.0 - 1e-9, 3.0])
    np.testing.assert_array_equal(violators(gradient, coef, dual, 1.0), [True, False, True, False])
    assert slopes(gradient, coef, dual)[0][0] == gradient[0]
    # rounding is relative to the largest gradient
    for beyond, wrong in ((1e-7, False), (1e-5, True)):
        large = np.array([1.0 + beyond, 1e6])
        pair = Dual(np.zeros(2), np.zeros(2), np.ones(2), np.zeros(2), np.arange(2))
        assert violators(large, np.array([0.0, 1.0]), pair, 1.0)[0] == wrong


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_a_linear_system_takes_one_factorisation_and_few_steps_whatever_its_scale(rng, scale):
    K, dual = problem(rng)
    dual = Dual(scale * dual.target, dual.lower, dual.upper, dual.coef, dual.points)
    state = _ActiveSet(K.copy(), dual.target.copy(), dual, 0.0, None)
    state.factorise()
    factor = state.inverse
    while not (state.step() and state.finished()):
        assert state.inverse is factor
        assert state.count < 5
    assert state.spent == pytest.approx(12**3 / 3 + state.count * 1e6)


def test_variables_that_meet_bounds_are_held_and_later_factorised_without(rng):
    K, dual = problem(rng, n=200, bound=0.02)
    state = _ActiveSet(K, dual.target.copy(), dual, 0.0, None)
    seen = []
    for _ in range(100):
        if state.inverse is None:
            state.factorise()
            seen.append(len(state._places))
        whole = state.step()
        held = state._held
        # what is held is at a bound, what is not is free
        np.testing.assert_array_equal(np.abs(state.coef[state._places[held]]), 0.02)
        np.testing.assert_array_equal(state.free[state._places], ~held)
        assert (state.inverse is None) == (held.sum() > 64)
        if whole and state.finished():
            break
    assert 1 < len(seen) < 10
    assert violation_of(dual.target - K @ state.coef, state.coef, dual) < 1e-9


def test_a_variable_at_0_moves_to_the_side_for_which_it_was_freed():
    dual = Dual(np.zeros(4), np.full(4, -2.0), np.full(4, 3.0), np.zeros(4), np.arange(4), 0.5)
    coef, gradient, everything = np.array([1.0, -1.0, 0.0, 0.0]), np.array([0.0, 9.0, 2.0, 0.9]), np.arange(4)
    lower, upper, sign = _piece(gradient, coef, dual, everything, 1.0)
    assert lower.tolist() == [0, -2, 0, -2]
    assert upper.tolist() == [3, 0, 3, 0]
    assert sign.tolist() == [1, -1, 1, -1]
    smooth = Dual(np.zeros(4), np.full(4, -2.0), np.full(4, 3.0), np.zeros(4), np.arange(4))
    lower, upper, sign = _piece(gradient, coef, smooth, everything, 1.0)
    assert (lower.tolist(), upper.tolist(), sign.tolist()) == ([-2] * 4, [3] * 4, [1, -1, 0, 0])
