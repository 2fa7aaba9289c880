"""Regression without error: the optimum of a large C, and the evidence if no function exists."""

import numpy as np
import pytest
from mercer.solvers.svm.hard_tube import _spread, _steepness, solve_hard_tube
from mercer.solvers.svm.one_constraint import solve_one_constraint
from mercer.solvers.svm.workspace import Workspace

import mercer as mc
from mercer.solvers.svm import hard_tube
from mercer.solvers.svm.dual import Dual, Infeasible, Solution
from mercer.solvers.svm.rows import FusedRows

LINEAR = mc.Linear()


def problem(X, y, epsilon, C=np.inf, kernel=LINEAR):
    n = len(y)
    rows = FusedRows(kernel, np.asarray(X, float).reshape(n, -1), np.float64)
    return rows, Dual(np.asarray(y, float), np.full(n, -C), np.full(n, C), np.zeros(n), np.arange(n), epsilon)


def workspace(tol=1e-10):
    return Workspace(tol, 10**6, np.empty(1 << 18))


def test_a_line_through_two_points_within_epsilon_is_as_flat_as_it_can_be():
    # targets 0 and 4 at 0 and 2, epsilon 1: from 1 to 3
    solution = solve_hard_tube(*problem([0.0, 2.0], [0.0, 4.0], 1.0), workspace())
    np.testing.assert_allclose(solution.coef, [-0.5, 0.5], atol=1e-10)
    np.testing.assert_allclose(solution.bias, 1.0, atol=1e-10)


def test_the_solution_is_that_of_a_large_C(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((30, 2))
    y = np.sin(X[:, 0])
    rows, dual = problem(X, y, 0.05, kernel=mc.Gaussian(5.0))
    found = solve_hard_tube(rows, dual, workspace())
    large = solve_one_constraint(rows, problem(X, y, 0.05, 1e6)[1], workspace())
    np.testing.assert_allclose(found.coef, large.coef, atol=1e-6)
    assert (np.abs(y - mc.Gaussian(5.0)(X) @ found.coef - found.bias) <= 0.05 + 1e-8).all()


def test_two_targets_of_one_point_are_the_evidence_that_no_function_is_within():
    rows, dual = problem([0.0, 1.0, 1.0], [0.0, 0.0, 3.0], 1.0)
    with pytest.raises(Infeasible) as caught:
        solve_hard_tube(rows, dual, workspace())
    numbers = caught.value.numbers
    assert np.sign(caught.value.coef).tolist() == [0, -1, 1]
    np.testing.assert_allclose(numbers["difference"], 3.0)
    assert numbers["distance"] < 1e-6
    # the spread of the points is sqrt(2) / 3
    np.testing.assert_allclose(numbers["unit"], 3 / (np.sqrt(2) / 3))
    # every function within has |w| >= (difference - 2 epsilon) / distance
    np.testing.assert_allclose(numbers["needed"], (3.0 - 2.0) / numbers["distance"], rtol=1e-6)


def test_a_solver_that_ends_early_returns_what_it_has():
    rows, dual = problem([0.0, 1.0, 1.0], [0.0, 0.0, 3.0], 1.0)
    found = solve_hard_tube(rows, dual, Workspace(1e-10, 0, np.empty(1 << 18)))
    assert found.violation > 1e-10


def test_the_spread_is_the_distance_of_an_even_sample_from_its_mean_and_not_0(monkeypatch):
    rows, _ = problem([0.0, 1.0, 1.0, 2.0, 6.0], np.zeros(5), 0.1)
    np.testing.assert_allclose(_spread(rows), np.std([0, 1, 1, 2, 6]))
    monkeypatch.setattr(hard_tube, "_SAMPLE", 3)
    np.testing.assert_allclose(_spread(rows), np.std([0, 1, 6]))
    np.testing.assert_allclose(_spread(problem([3.0, 3.0], np.zeros(2), 0.1)[0]), 3e-6)
    assert _spread(problem([0.0, 0.0], np.zeros(2), 0.1)[0]) > 0


def test_the_steepness_is_that_of_two_means_that_are_apart():
    # means 0 and 2, targets 0 and 4: within 1 the difference is at least 2 over a distance of 2
    rows, dual = problem([0.0, 2.0], [0.0, 4.0], 1.0)
    coef = np.array([-0.5, 0.5])
    needed, apart = _steepness(rows, dual, Solution(coef, dual.target - np.array([0.0, 2.0]), 0.0, 0.0, 0))
    np.testing.assert_allclose([needed, apart], [1, 1])
    # means that coincide are as far apart as rounding: sizes of 1, squared norms of 4
    needed, apart = _steepness(rows, dual, Solution(coef, dual.target, 0.0, 0.0, 0))
    np.testing.assert_allclose(apart, np.sqrt(4 * np.finfo(float).eps))


def test_bounds_are_raised_tenfold_from_the_coefficient_that_spans_the_targets(monkeypatch):
    bounds, solve = [], hard_tube.solve_one_constraint

    def recorded(rows, dual, workspace):
        bounds.append(dual.upper[0])
        assert (dual.lower == -dual.upper).all()
        return solve(rows, dual, workspace)

    monkeypatch.setattr(hard_tube, "solve_one_constraint", recorded)
    # a spread of 1 and targets 8 apart: w = 0.5 * 8 / 2 of two coefficients of 2 each, then in units of 8
    solve_hard_tube(*problem([-1.0, 1.0], [-4.0, 4.0], 0.0), workspace())
    assert bounds == [8]
    bounds.clear()
    # a point that bends the line needs coefficients of several units
    y = np.array([0.0, 0.0, 0.0, 1.0])
    kernel = mc.Gaussian(0.01)
    found = solve_hard_tube(*problem(np.arange(4.0), y, 0.0, kernel=kernel), workspace(1e-6))
    np.testing.assert_allclose(np.divide(bounds[1:], bounds[:-1]), 10)
    assert len(bounds) > 1
    assert bounds[-2] <= np.abs(found.coef).max() < bounds[-1]
