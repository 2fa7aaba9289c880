from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.active_set import solve_active_set
from mercer.solvers.svm.bias import violation_of
from mercer.solvers.svm.compiled_active_set import (
    _direction,
    _eliminate,
    _free_violators,
    _sign,
    _whole_step,
    newton_steps,
)
from mercer.solvers.svm.one_constraint import solve_one_constraint
from mercer.solvers.svm.workspace import Options, Workspace

import mercer as mc
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.rows import rows_of

# the group of every variable
ONE = np.zeros(60, int)


def _near_optimum(seed, epsilon):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    K = mc.Gaussian(0.7)(X)
    target = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=60) if epsilon else np.where(X[:, 0] > 0.2, 1.0, -1.0)
    lower, upper = (
        (np.full(60, -2.0), np.full(60, 2.0)) if epsilon else (2 * np.minimum(target, 0), 2 * np.maximum(target, 0))
    )
    dual = Dual(target, lower, upper, np.zeros(60), np.arange(60), epsilon)
    rows = rows_of(mc.Gaussian(0.7), X, 0.0)
    found = solve_one_constraint(rows, dual, Workspace.allocate(rows, 60, Options(1e-2)))
    # a start that is a hundredth off
    coef = np.clip(found.coef + np.where((found.coef > lower) & (found.coef < upper), 1e-3, 0), lower, upper)
    coef -= np.where((coef > lower) & (coef < upper), (coef.sum() - found.coef.sum()) / 60, 0)
    return K, dual, coef, target - K @ coef, found.bias


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_steps_lead_to_the_optimum_and_keep_the_sum(epsilon, global_random_seed):
    K, dual, start, gradient, bias = _near_optimum(global_random_seed, epsilon)
    coef, f = start.copy(), gradient.copy()
    newton_steps(K, f, coef, dual.lower, dual.upper, epsilon, np.array([bias]), ONE, 1e9)
    assert violation_of(f, coef, dual) < 1e-10
    assert abs(coef.sum() - start.sum()) < 1e-10
    np.testing.assert_allclose(f, dual.target - K @ coef, atol=1e-11)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_the_optimum_is_that_of_the_interpreted_steps(epsilon, global_random_seed):
    K, dual, start, gradient, bias = _near_optimum(global_random_seed, epsilon)
    other = solve_active_set(K, gradient.copy(), replace(dual, coef=start), bias, None)[0]
    coef = start.copy()
    newton_steps(K, gradient, coef, dual.lower, dual.upper, epsilon, np.array([bias]), ONE, 1e9)
    np.testing.assert_allclose(coef, other, atol=1e-7)


def test_steps_that_would_take_too_many_operations_are_not_taken():
    K, dual, start, gradient, bias = _near_optimum(0, 0.0)
    coef = start.copy()
    newton_steps(K, gradient, coef, dual.lower, dual.upper, 0.0, np.array([bias]), ONE, 100.0)
    np.testing.assert_array_equal(coef, start)


def test_rows_below_a_definite_matrix_are_solved_for_and_others_are_refused():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((6, 6)), rng.standard_normal((3, 6))
    K = A @ A.T + np.eye(6)
    # the upper triangle is not read
    rows = np.concatenate([np.tril(K) + np.triu(np.full((6, 6), np.nan), 1), B])
    assert _eliminate(rows)
    L = np.linalg.cholesky(K)
    np.testing.assert_allclose(np.tril(rows[:6]), L, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(rows[6:], np.linalg.solve(L, B.T).T, rtol=1e-10)
    assert not _eliminate(np.array([[1.0, 0.0], [2.0, 4.0], [1.0, 1.0]]))
    assert not _eliminate(np.zeros((1, 1)))


@pytest.mark.parametrize("epsilon", [0.0, 0.25])
def test_a_direction_has_the_sum_0_and_solves_for_one_slope(epsilon):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((8, 8))
    K, gradient, coef = A @ A.T + np.eye(8), rng.standard_normal(8), np.array([1.0, -1, 0, 0, 2, -2, 1, 1])
    places = np.array([0, 1, 2, 5, 7])
    bias = np.array([0.1])
    direction, definite = _direction(K, places, gradient, coef, epsilon, bias, ONE)
    slopes = gradient[places] - epsilon * np.array([1, -1, 1 if gradient[2] > 0.1 else -1, -1, 1])
    assert definite
    assert abs(direction.sum()) < 1e-14
    np.testing.assert_allclose(slopes - K[np.ix_(places, places)] @ direction, bias[0], atol=1e-9)


def test_a_direction_has_the_sum_0_in_each_group_and_solves_for_a_slope_of_each():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((8, 8))
    K, gradient, group = A @ A.T + np.eye(8), rng.standard_normal(8), np.array([0, 1, 0, 1, 1, 0, 0, 1])
    for places in (np.array([0, 1, 2, 4, 5, 7]), np.array([0, 2, 5])):
        bias = np.array([7.0, 8.0])
        direction, definite = _direction(K, places, gradient, np.zeros(8), 0.0, bias, group)
        assert definite
        slopes = gradient[places] - K[np.ix_(places, places)] @ direction
        np.testing.assert_allclose(slopes, bias[group[places]], atol=1e-9)
        assert max(abs(direction[group[places] == g].sum()) for g in (0, 1)) < 1e-14
    # no variable of the second group was free
    assert bias[1] == 8.0


def test_a_step_ends_at_the_first_bound_which_fixes_its_variable():
    K, places = np.diag([1.0, 2.0, 4.0, 8.0]), np.array([0, 1, 3])
    lower, upper = np.full(4, -1.0), np.full(4, 2.0)
    for epsilon, direction, size, end in (
        (0.0, [1.0, 1.0, -2.0], 0.5, -1.0),
        (0.0, [0.1, 0.1, -0.2], 1.0, None),
        # at 0 the objective has a kink
        (0.25, [-1.0, 2.0, -1.0], 0.5, 0.0),
        (0.25, [0.25, 0.25, -0.5], 1.0, None),
    ):
        coef = np.array([0.5, 0.5, 0.0, 0.0])
        gradient, free, before = np.zeros(4), np.ones(4, bool), coef.copy()
        whole = _whole_step(
            K, places, np.array(direction), free, gradient, coef, lower, upper, epsilon, np.ones(1), ONE
        )
        met = places[np.argmin(direction)] if end == -1.0 else 0
        assert whole == (end is None)
        expected = before.copy()
        expected[places] += size * np.array(direction)
        np.testing.assert_allclose(coef, expected, atol=1e-15)
        np.testing.assert_allclose(gradient, -K @ (expected - before), atol=1e-15)
        assert free.tolist() == [whole or t != met for t in range(4)]
        if not whole:
            assert coef[met] == end


def test_what_violates_by_more_than_rounding_is_freed():
    coef, gradient = np.array([0.0, 0.0, 1.0, 1.0, 0.5]), np.array([1.11, 1.09, 0.89, 0.91, 9.0])
    free, bounds = np.array([False] * 4 + [True]), (np.zeros(5), np.ones(5))
    assert _free_violators(free, gradient, coef, *bounds, 0.0, np.ones(1), ONE, 0.1)
    assert free.tolist() == [True, False, True, False, True]
    assert not _free_violators(free, gradient, coef, *bounds, 0.0, np.ones(1), ONE, 0.1)
    # slopes with epsilon: a rise from 0 costs it
    free[:] = False
    assert not _free_violators(free, np.full(5, 1.3), np.zeros(5), *bounds, 0.25, np.ones(1), ONE, 0.1)
    assert _free_violators(free, np.full(5, 1.36), np.zeros(5), *bounds, 0.25, np.ones(1), ONE, 0.1)


def test_the_sign_of_a_coefficient_of_0_is_that_of_its_gradient_beyond_the_bias():
    assert [_sign(g, b, 1.0) for g, b in ((0.0, 0.5), (9.0, -0.5), (1.1, 0.0), (0.9, 0.0))] == [1, -1, 1, -1]


def test_steps_end_when_a_factorisation_would_exceed_the_operations(global_random_seed):
    K, dual, start, gradient, bias = _near_optimum(global_random_seed, 0.0)
    free = ((start > dual.lower) & (start < dual.upper)).sum()
    needed = free**3 / 3 + 2.0 * 60 * free
    for operations, moved in ((needed * (1 - 1e-9), False), (needed * (1 + 1e-9), True)):
        coef = start.copy()
        newton_steps(K, gradient.copy(), coef, dual.lower, dual.upper, 0.0, np.array([bias]), ONE, operations)
        assert (coef != start).any() == moved


def test_one_free_variable_is_joined_by_those_that_violate():
    # the pair 0 and 1 is optimal at 1/2 each; only the first is free at the start
    K, gradient, coef = np.eye(2), np.array([0.3, 2.0]), np.array([0.7, 0.0])
    newton_steps(K, gradient, coef, np.zeros(2), np.ones(2), 0.0, np.array([0.3]), ONE, 1e9)
    np.testing.assert_allclose(coef, [0.0, 0.7], atol=1e-12)
