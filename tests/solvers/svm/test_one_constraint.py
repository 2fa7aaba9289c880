"""Duals between bounds: rounds of SMO and Newton steps reach what SMO alone does not."""

from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.one_constraint import solve_one_constraint, steps_of_a_round
from mercer.solvers.svm.workspace import Workspace

import mercer as mc
from mercer.solvers.svm import one_constraint as module
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.rows import rows_of


@pytest.fixture
def valley():
    """A quadratic loss on features that differ by six orders of magnitude: pairs hardly move, a Newton step does."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1e3, 1e2, 1.0, 1e-3]
    y = np.sin(X[:, 2]) + 0.1 * rng.standard_normal(60)
    rows = rows_of(mc.Linear(), X, 0.0, np.full(60, 0.1))
    return rows, Dual(y, np.full(60, -1e4), np.full(60, 1e4), np.zeros(60), np.arange(60))


def test_where_smo_stalls_newton_steps_end_at_the_solution_of_the_linear_system(valley):
    rows, dual = valley
    workspace = Workspace(1e-3, 10**6, np.empty(1 << 16))
    assert solve(rows, dual, workspace).violation > 1e-3
    found = solve_one_constraint(rows, dual, workspace)
    system = np.block([[rows.kernel(rows.points), np.ones((60, 1))], [np.ones((1, 60)), np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.append(dual.target, 0))
    assert found.violation < 1e-6
    assert found.n_iter < 10**6
    np.testing.assert_allclose(found.coef, expected[:-1], atol=1e-4)


def test_a_limit_of_steps_is_kept_and_no_newton_step_taken_beyond_it(valley):
    rows, dual = valley
    found = solve_one_constraint(rows, dual, Workspace(1e-3, 50, np.empty(1 << 16)))
    assert found.n_iter == 50
    assert found.violation > 1e-3


def test_rounds_that_gain_nothing_end_with_the_number():
    # kernel values of 1e12 are rounded by as much as the ridge: the gradient is not known to this tolerance
    rng = np.random.default_rng(0)
    X = 100 * rng.standard_normal((80, 2))
    y = rng.standard_normal(80)
    rows = rows_of(mc.Polynomial(3, 0.5, 0.0), X, 0.0, np.full(80, 0.2))
    dual = Dual(y, np.full(80, -1e3), np.full(80, 1e3), np.zeros(80), np.arange(80))
    found = solve_one_constraint(rows, dual, Workspace(1e-9, 2 * 10**6, np.empty(1 << 16)))
    assert found.n_iter < 2 * 10**6
    assert found.violation > 1e-9
    assert abs(found.gain) < 1e-2


def test_rounds_end_where_rounding_moves_the_objective_more_than_they_do():
    # kernel values of 1e16 are rounded by 2, and the optimum is below 1
    rng = np.random.default_rng(0)
    X = 1e5 * rng.standard_normal((40, 2)) + 1e8
    sign = np.where(rng.random(40) < 0.5, -1.0, 1.0)
    dual = Dual(sign, np.minimum(3 * sign, 0), np.maximum(3 * sign, 0), np.zeros(40), np.arange(40))
    found = solve_one_constraint(rows_of(mc.Linear(), X, 0.0), dual, Workspace(1e-3, 10**7, np.empty(1 << 16)))
    assert found.n_iter < 10**6
    assert found.violation > 1e-3
    assert found.gain == 0
    # about the mean there is no rounding
    rows = rows_of(mc.Linear(), X - X.mean(axis=0), 0.0)
    assert solve_one_constraint(rows, dual, Workspace(1e-3, 10**7, np.empty(1 << 16))).violation <= 1e-3


def test_only_large_duals_without_start_that_compiled_code_does_not_take_are_divided(monkeypatch):
    X = np.random.default_rng(0).standard_normal((300, 2))
    sign = np.where(X[:, 0] > 0.2, 1.0, -1.0)
    dual = Dual(sign, np.minimum(sign, 0), np.maximum(sign, 0), np.zeros(300), np.arange(300))
    rows, workspace = rows_of(mc.Gaussian(0.5), X, 0.0), Workspace(1e-3, 10**6, np.empty(1 << 18))
    solution, divided = solve_one_constraint(rows, dual, workspace), []

    def divide(*arguments):
        divided.append(arguments)
        return solution.coef, 1000

    monkeypatch.setattr(module, "LARGE", 299)
    monkeypatch.setattr(module, "divide", divide)
    solve_one_constraint(rows, dual, workspace)
    monkeypatch.setattr(module, "fits", lambda *_: False)
    solve_one_constraint(rows, replace(dual, coef=solution.coef), workspace)
    solve_one_constraint(rows, dual, replace(workspace, shared=((slice(0, 300), rows.square(np.arange(300))),)))
    assert divided == []
    found = solve_one_constraint(rows, dual, workspace)
    assert len(divided) == 1
    # the start is nearly optimal, and steps of the parts are counted
    assert 1000 <= found.n_iter < 1000 + solution.n_iter
    monkeypatch.setattr(module, "LARGE", 300)
    assert solve_one_constraint(rows, dual, workspace).n_iter < 1000
    assert len(divided) == 1


def test_a_first_round_has_a_hundred_steps_per_variable_and_at_least_a_hundred_thousand():
    assert [steps_of_a_round(n) for n in (1, 1000, 1001, 20_000)] == [100_000, 100_000, 100_100, 2_000_000]
