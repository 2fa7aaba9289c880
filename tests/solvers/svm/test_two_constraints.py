"""Two sums kept: the optimum against an outsider, in parts as in one piece, and its last digits."""

from types import SimpleNamespace

import numpy as np
import pytest
from mercer.solvers.svm.two_constraints import refine_sums, solve_sums, with_multiplier
from mercer.solvers.svm.workspace import Workspace
from scipy.optimize import minimize

import mercer as mc
from mercer.solvers.svm import two_constraints
from mercer.solvers.svm.dual import Dual, Solution
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.smo import LANES


def problem(n, seed, dtype=np.float64):
    """Return a kernel, points, rows and the dual of 2 n variables, n a group, with different bounds."""
    rng = np.random.default_rng(seed)
    kernel, X = mc.Gaussian(0.5), rng.standard_normal((2 * n, 3))
    bounds = np.concatenate([rng.random(n) + 0.1, -rng.random(n) - 0.1])
    target = 0.3 * rng.standard_normal(2 * n)
    dual = Dual(target, np.minimum(bounds, 0), np.maximum(bounds, 0), np.zeros(2 * n), np.arange(2 * n))
    return kernel, X, FusedRows(kernel, X, dtype), dual


def optimum(rows, dual, total, tol, buffer=256, max_iter=10**6):
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
    np.testing.assert_allclose(again.coef, solution.coef, atol=1e-12)
    np.testing.assert_allclose(same, multiplier, rtol=1e-12)


def test_a_coefficient_that_rounding_keeps_from_its_bound_fixes_no_bias():
    # the nearest two points of each class at their bounds: gradients 8 x, open from 0 to 8 and from 48 to 56
    X, sign = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]]), np.repeat([1.0, -1.0], 3)
    rows, start = FusedRows(mc.Linear(), X, np.float64), np.array([0.0, 1, 1, -1, -1, 0])
    for rounding in (0.0, 2.0**-52):
        moved = start + rounding * np.array([1, 0, 0, 0, 0, -1])
        dual = Dual(np.zeros(6), np.minimum(sign, 0), np.maximum(sign, 0), moved, np.arange(6))
        solution, multiplier = optimum(rows, dual, 2.0, 1e-9)
        np.testing.assert_array_equal(solution.coef, start)
        np.testing.assert_allclose([solution.bias, multiplier], [28, 24], rtol=1e-12)


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


def _optimal(gradient, coef, dual, group):
    """Return the violation within a group."""
    rise, fall = coef[group] < dual.upper[group], coef[group] > dual.lower[group]
    return gradient[group][rise].max() - gradient[group][fall].min()


@pytest.mark.parametrize("sample", [1000, 20])
def test_groups_of_different_sizes_keep_their_sums(monkeypatch, sample):
    monkeypatch.setattr(two_constraints, "_SAMPLE", sample)
    kernel, X, rows, _ = problem(75, 4)
    sign = np.where(np.arange(150) < 40, 1.0, -1.0)
    dual = Dual(np.zeros(150), np.minimum(sign, 0), np.maximum(sign, 0), np.zeros(150), np.arange(150))
    workspace = Workspace(lambda _: 1e-8, 10**6, np.empty(256**2))
    solution, multiplier = solve_sums(rows, dual, 40, 12.0, workspace)
    np.testing.assert_allclose([solution.coef[:40].sum(), solution.coef[40:].sum()], [12, -12], rtol=1e-12)
    assert (np.clip(solution.coef, dual.lower, dual.upper) == solution.coef).all()
    gradient = -kernel(X) @ solution.coef
    np.testing.assert_allclose(solution.gradient, gradient + multiplier * sign, atol=1e-10)
    assert max(_optimal(gradient, solution.coef, dual, g) for g in (slice(0, 40), slice(40, 150))) <= 2e-8


@pytest.mark.parametrize(("steps", "calls"), [(0, 1), (1, 5)])
def test_sweeps_go_on_until_one_takes_no_step(monkeypatch, steps, calls):
    _, _, rows, dual = problem(50, 0)
    aims = []

    class Idle(two_constraints._Sweep):
        def run(self, tol, max_iter):
            aims.append(tol)
            assert len(aims) < 9
            return steps, False

    monkeypatch.setattr(two_constraints, "_Sweep", Idle)
    monkeypatch.setattr(two_constraints, "fits_sums", lambda *_: False)
    solution, _ = optimum(rows, dual, 5.0, 1e-6, max_iter=5)
    # all variables at once are solved for to the tolerance
    assert aims == [1e-6] * calls
    assert solution.n_iter == calls * steps


@pytest.mark.parametrize(("tol", "aim"), [(1e-6, 0.1), (0.4, 0.2)])
def test_a_sweep_over_a_part_ends_at_a_tenth_of_the_violation_or_half_of_the_tolerance(monkeypatch, tol, aim):
    _, _, rows, dual = problem(50, 0)
    found = []

    class Idle(two_constraints._Sweep):
        def run(self, tol, max_iter):
            found.append(tol)
            return 0, False

    monkeypatch.setattr(two_constraints, "_Sweep", Idle)
    monkeypatch.setattr(two_constraints, "fits_sums", lambda *_: False)
    monkeypatch.setattr(two_constraints, "_choose", lambda *_: (np.arange(20), np.arange(50, 70)))
    violation = optimum(rows, dual, 5.0, 1e-6)[0].violation
    found.clear()
    optimum(rows, dual, 5.0, tol * violation)
    assert found == pytest.approx([aim * violation])


def _two_groups(free=3):
    """Return 40 variables that may rise and 60 that may fall, in each group ``free`` between their bounds."""
    order = np.arange(100)
    sign = np.where(order < 40, 1.0, -1.0)
    coef = np.where((order < free) | ((order >= 40) & (order < 40 + free)), 0.5 * sign, 0.0)
    dual = Dual(np.zeros(100), np.minimum(sign, 0), np.maximum(sign, 0), coef, order)
    # biases 1 and -2; of those at rest, the last ones are farthest from the margin
    gradient = np.where(coef != 0, np.where(sign > 0, 1.0, -2.0), np.where(sign > 0, -order, order) * 1.0)
    return gradient, coef, dual, (order[:40], order[40:])


def test_a_sweep_takes_what_is_free_violates_most_or_is_nearest(monkeypatch):
    monkeypatch.setattr(two_constraints, "_SWEEP", 20)
    monkeypatch.setattr(two_constraints, "_WHOLE", 50)
    gradient, coef, dual, groups = _two_groups()
    gradient[[30, 95]] = 2.0, -3.0
    chosen = two_constraints._choose(gradient, coef, dual, groups, [1.0, -2.0], 256)
    # 6 free, 2 that violate, and the nearest to the margin: -3 - 1, ..., 43 + 2 is farther than all of the first group
    assert chosen[0].tolist() == [*range(15), 30]
    assert chosen[1].tolist() == [40, 41, 42, 95]
    # twice the free ones
    chosen = two_constraints._choose(*_two_groups(12)[:3], groups, [1.0, -2.0], 256)
    assert sum(map(len, chosen)) == 48
    # the room: four lanes that fit, less two for padding
    chosen = two_constraints._choose(*_two_groups(36)[:3], groups, [1.0, -2.0], 5 * LANES - 1)
    assert sum(map(len, chosen)) == 2 * LANES
    assert sum(map(len, two_constraints._choose(*_two_groups(36)[:3], groups, [1.0, -2.0], 9))) == LANES


@pytest.mark.parametrize(("whole", "most", "everything"), [(100, 144, True), (99, 144, False), (100, 143, False)])
def test_few_variables_are_solved_for_together(monkeypatch, whole, most, everything):
    monkeypatch.setattr(two_constraints, "_SWEEP", 20)
    monkeypatch.setattr(two_constraints, "_WHOLE", whole)
    gradient, coef, dual, groups = _two_groups()
    chosen = two_constraints._choose(gradient, coef, dual, groups, [1.0, -2.0], most)
    assert (sum(map(len, chosen)) == 100) == everything


def test_rows_are_computed_together_for_the_variables_of_a_group_that_violate_most(monkeypatch):
    monkeypatch.setattr(two_constraints, "_BATCH", 4)
    sweep = object.__new__(two_constraints._Sweep)
    sweep._groups, sweep.coef = np.array([0, LANES, 2 * LANES]), np.zeros(2 * LANES)
    sweep._lower, sweep._upper = np.zeros(2 * LANES), np.ones(2 * LANES)
    sweep.gradient, sweep._cache = np.full(2 * LANES, -9.0), SimpleNamespace(slots=np.full(2 * LANES, -1))
    # a bias of 0 in the second group: violations 4, 3, 2, 1.9 and, falling, 4; a known row, others of the first group
    sweep.gradient[LANES : LANES + 6] = [4.0, 3.0, 2.0, 1.9, -4.0, 3.5]
    sweep.coef[LANES + 4], sweep._cache.slots[LANES + 5], sweep.gradient[:9] = 1.0, 0, 50.0
    assert sweep._wanted(LANES + 9).tolist() == [LANES, LANES + 1, LANES + 4, LANES + 9]
    sweep._cache.slots[LANES + 1] = 1
    assert sweep._wanted(LANES + 2).tolist() == [LANES, LANES + 2, LANES + 4]
    sweep.gradient[:9], sweep.gradient[2], sweep.coef[LANES - 1] = -9.0, 50.0, 1.0
    assert sweep._wanted(7).tolist() == [2, 7, LANES - 1]


def test_the_multiplier_is_half_the_distance_of_the_biases():
    gradient, coef, dual, groups = _two_groups()
    biases, violation = two_constraints._state(gradient, coef, dual, groups)
    assert biases == [1.0, -2.0]
    assert two_constraints._multiplier(biases) == -1.5
    # nothing that may rise exceeds the free ones of its group, nothing that may fall is below them
    assert violation == 0
    gradient[20], gradient[50] = 3.0, -7.0
    assert two_constraints._state(gradient, coef, dual, groups) == ([1.0, -2.0], 5.0)
