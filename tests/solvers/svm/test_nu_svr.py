"""Epsilon by a share of points: the optimum against a general solver, prescribed sums, sums that jump."""

import numpy as np
import pytest
from scipy.optimize import minimize

import mercer as mc
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.nu_svr import find_epsilon
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.workspace import Workspace


def problem(n, seed, dtype=np.float64, C=1.0):
    """Return a kernel, points, rows and the dual of a noisy curve."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    kernel, bound = mc.Gaussian(0.5), np.full(n, C)
    return kernel, X, FusedRows(kernel, X, dtype), Dual(y, -bound, bound, np.zeros(n), np.arange(n))


def optimum(rows, dual, total, tol):
    return find_epsilon(rows, dual, total, Workspace(tol, 10**6, np.empty(1 << 22, rows.dtype)))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_optimum_is_that_of_a_general_solver(share, global_random_seed):
    n = 12
    kernel, X, rows, dual = problem(n, global_random_seed)
    K, total = kernel(X), share * n
    solution = optimum(rows, dual, total, 1e-9)
    sign = np.repeat([1.0, -1.0], n)
    constraints = [
        {"type": "eq", "fun": lambda parts: sign @ parts},
        {"type": "ineq", "fun": lambda parts: total - parts.sum()},
    ]

    def objective(parts):
        b = parts[:n] - parts[n:]
        return 0.5 * b @ K @ b - dual.target @ b

    start = np.full(2 * n, 0.25 * total / n)
    found = minimize(objective, start, method="SLSQP", bounds=[(0, 1)] * (2 * n), constraints=constraints)
    own = objective(np.concatenate([np.maximum(solution.coef, 0), np.maximum(-solution.coef, 0)]))
    assert own == pytest.approx(found.fun, rel=1e-5)
    assert abs(solution.coef.sum()) < 1e-12
    assert np.abs(solution.coef).sum() <= total * (1 + 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [300, 5000])
def test_the_solution_is_that_of_its_epsilon_and_refinement_meets_the_sum(dtype, n, global_random_seed):
    kernel, X, rows, dual = problem(n, global_random_seed, dtype)
    solution = optimum(rows, dual, 0.4 * n, 1e-3)
    own = Dual(dual.target, dual.lower, dual.upper, dual.coef, dual.points, solution.epsilon)
    assert solution.violation <= 1e-3
    np.testing.assert_allclose(np.abs(solution.coef).sum(), 0.4 * n, rtol=0.01)
    fine = refine(rows, own, solution, 1e-3, 0.4 * n)
    free = (np.abs(fine.coef) > 0) & (np.abs(fine.coef) < 1)
    error = dual.target - kernel(X) @ fine.coef - fine.bias
    np.testing.assert_allclose(error[free], fine.epsilon * np.sign(fine.coef[free]), atol=1e-8)
    np.testing.assert_allclose(np.abs(fine.coef).sum(), 0.4 * n, rtol=1e-9)
    assert (np.abs(error[fine.coef == 0]) <= fine.epsilon + 1e-8).all()
    assert (np.abs(error[np.abs(fine.coef) == 1]) >= fine.epsilon - 1e-8).all()


def test_more_than_all_errors_leave_no_tube():
    _, _, rows, dual = problem(60, 0)
    solution = optimum(rows, dual, 60.0, 1e-6)
    assert solution.epsilon == 0
    assert np.abs(solution.coef).sum() < 60


def test_a_solution_of_many_tubes_is_no_reason_to_stop():
    # five points: three are at their bounds whatever the width is up to 1.27, and the sum is too large for the share
    kernel, y = mc.Gaussian(0.2), np.array([2.9, -2.0, 2.9, 1.6, -5.0])
    X = np.random.default_rng(0).standard_normal((5, 5))
    dual = Dual(y, -np.ones(5), np.ones(5), np.zeros(5), np.arange(5))
    solution = optimum(FusedRows(kernel, X, np.float64), dual, 2.5, 1e-6)
    np.testing.assert_allclose(np.abs(solution.coef).sum(), 2.5, rtol=1e-4)


def test_where_the_sum_jumps_two_solutions_are_mixed():
    # a line through points on three levels: widths between two levels have one sum
    X = np.repeat(np.linspace(-1, 1, 50), 4)[:, None]
    y = np.tile([-2.0, -1.0, 1.0, 2.0], 50)
    dual = Dual(y, -np.ones(200), np.ones(200), np.zeros(200), np.arange(200))
    rows = FusedRows(mc.Linear(), X, np.float64)
    solution = optimum(rows, dual, 0.75 * 200, 1e-6)
    assert solution.epsilon == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(np.abs(solution.coef).sum(), 150, rtol=1e-9)
    assert solution.violation <= 1e-6
