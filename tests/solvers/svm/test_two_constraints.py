"""Two sums kept: the optimum against an outsider, in parts as in one piece, and its last digits."""

import numpy as np
import pytest
from scipy.optimize import minimize

import mercer as mc
from mercer.solvers.svm.dual import Dual, Solution
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.two_constraints import refine_sums, solve_sums, with_multiplier
from mercer.solvers.svm.working_set import LANES
from mercer.solvers.svm.workspace import Workspace


def problem(n, seed, dtype=np.float64):
    """Return a kernel, points, rows and the dual of 2 n variables, n a group, with different bounds."""
    rng = np.random.default_rng(seed)
    kernel, X = mc.Gaussian(0.5), rng.standard_normal((2 * n, 3))
    bounds = np.concatenate([rng.random(n) + 0.1, -rng.random(n) - 0.1])
    target = 0.3 * rng.standard_normal(2 * n)
    dual = Dual(target, np.minimum(bounds, 0), np.maximum(bounds, 0), np.zeros(2 * n), np.arange(2 * n))
    return kernel, X, FusedRows(kernel, X, dtype), dual


def optimum(rows, dual, total, tol, buffer=4 * LANES, max_iter=10**6):
    split = len(dual.points) // 2
    workspace = Workspace(lambda _: tol, max_iter, np.empty(buffer**2, rows.dtype))
    return solve_sums(rows, dual, split, total, workspace)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_the_optimum_is_that_of_a_general_solver(share, global_random_seed):
    n = 8
    kernel, X, rows, dual = problem(n, global_random_seed)
    total = share * min(dual.upper.sum(), -dual.lower.sum())
    solution, _ = optimum(rows, dual, total, 1e-9)
    K = kernel(X)
    constraints = [
        {"type": "eq", "fun": lambda b: b[:n].sum() - total},
        {"type": "eq", "fun": lambda b: b[n:].sum() + total},
    ]
    found = minimize(
        lambda b: 0.5 * b @ K @ b - dual.target @ b, solution.coef, jac=lambda b: K @ b - dual.target, method="SLSQP",
        bounds=list(zip(dual.lower, dual.upper, strict=True)), constraints=constraints, options={"ftol": 1e-14},
    )  # fmt: skip
    own = 0.5 * solution.coef @ K @ solution.coef - dual.target @ solution.coef
    assert own <= found.fun + 1e-9
    np.testing.assert_allclose([solution.coef[:n].sum(), -solution.coef[n:].sum()], total, rtol=1e-12)
    assert (solution.coef >= dual.lower).all()
    assert (solution.coef <= dual.upper).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_free_variables_are_refined_to_the_last_digits_and_sums_kept(dtype, global_random_seed):
    n, total, tol = 150, 20.0, 1e-4
    kernel, X, rows, dual = problem(n, global_random_seed, dtype)
    solution, multiplier = optimum(rows, dual, total, tol)
    solution, multiplier = refine_sums(rows, dual, n, total, solution, multiplier, tol)
    gradient = with_multiplier(dual, n, multiplier).target - kernel(X) @ solution.coef
    free = (solution.coef > dual.lower) & (solution.coef < dual.upper)
    assert free[:n].any()
    assert free[n:].any()
    np.testing.assert_allclose(gradient[free], solution.bias, atol=1e-9)
    np.testing.assert_allclose([solution.coef[:n].sum(), -solution.coef[n:].sum()], total, rtol=1e-9)
    assert gradient[solution.coef < dual.upper].max() <= solution.bias + 1e-6
    assert gradient[solution.coef > dual.lower].min() >= solution.bias - 1e-6


def test_sweeps_over_parts_find_the_same_optimum():
    # more than the sample, and memory for the rows of a part only
    _, _, rows, dual = problem(2500, 0, np.float32)
    whole, first = optimum(rows, dual, 30.0, 1e-3, buffer=5632)
    parts, second = optimum(rows, dual, 30.0, 1e-3, buffer=2048)
    assert max(whole.violation, parts.violation) <= 1e-3

    def objective(solution, multiplier):
        image = with_multiplier(dual, 2500, multiplier).target - solution.gradient
        return 0.5 * solution.coef @ image - dual.target @ solution.coef

    np.testing.assert_allclose(objective(parts, second), objective(whole, first), rtol=1e-5)


def test_a_start_with_the_right_sums_is_taken():
    _, _, rows, dual = problem(50, 3)
    solution, multiplier = optimum(rows, dual, 5.0, 1e-8)
    again, same = optimum(rows, Dual(dual.target, dual.lower, dual.upper, solution.coef, dual.points), 5.0, 1e-7)
    assert again.n_iter == 0
    assert (again.coef == solution.coef).all()
    np.testing.assert_allclose(same, multiplier, rtol=1e-12)


def test_steps_end_where_they_are_told():
    _, _, rows, dual = problem(200, 1)
    assert optimum(rows, dual, 20.0, 1e-12, max_iter=5)[0].n_iter == 5


def test_a_solution_that_violates_too_much_is_left_alone():
    kernel, X, rows, dual = problem(20, 2)
    rough = Solution(np.zeros(40), dual.target, 0.0, 1.0, 0)
    assert refine_sums(rows, dual, 20, 1.0, rough, 0.0, 1e-3) == (rough, 0.0)


def test_a_multiplier_makes_a_dual_of_one_sum(global_random_seed):
    kernel, X, rows, dual = problem(60, global_random_seed)
    solution, multiplier = optimum(rows, dual, 6.0, 1e-6)
    same = refine(rows, with_multiplier(dual, 60, multiplier), solution, 1e-6)
    np.testing.assert_allclose(same.coef, solution.coef, atol=1e-3)
    assert same.violation <= 1e-9
