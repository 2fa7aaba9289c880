"""Epsilon by a share of points: the optimum against a general solver, prescribed sums, sums that jump."""

from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.bias import violation_of
from mercer.solvers.svm.nu_svr import _EpsilonSearch, _spread, find_epsilon, solve_two_sums
from mercer.solvers.svm.workspace import Workspace
from scipy.optimize import minimize

import mercer as mc
from mercer.solvers.svm import nu_svr
from mercer.solvers.svm.dual import Dual, Solution, certificate
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.rows import FusedRows


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


# --- the search for epsilon -------------------------------------------------------------------------------------------


def line(target, epsilon=0.0, bound=1.0):
    n = len(target)
    bounds = np.full(n, bound)
    return Dual(np.asarray(target, float), -bounds, bounds, np.zeros(n), np.arange(n), epsilon)


def test_the_spread_is_the_epsilon_beyond_which_the_bounds_of_the_points_have_the_sum():
    # distances from the median: 6, 3, 1, 1, 0
    dual = line([2.0, 3.0, 1.0, 8.0, -1.0])
    for total, spread in ((0.5, 6), (1.0, 6), (1.5, 3), (3.5, 1), (9.0, 0)):
        assert _spread(dual, total) == spread


def at(gradient, size, violation=1e-4, n_iter=1, epsilon=0.0):
    """Return a solution whose first variable has a coefficient, and its dual."""
    coef = np.zeros(len(gradient))
    coef[0] = size
    return Solution(coef, np.asarray(gradient, float), 0.0, violation, n_iter), line(np.zeros(len(gradient)), epsilon)


def test_the_slope_of_the_sum_is_that_of_two_corrections_or_counts_the_points_near_the_tube():
    search = _EpsilonSearch(1.0, 1e-3)
    # 40 points at rest, at distances 0.01, ..., 0.4 from a tube of 0.5: two of them within 0.02
    solution, dual = at(0.5 + 0.01 * np.arange(41), 0.5, epsilon=0.5)
    np.testing.assert_allclose(search._slope(dual, solution, 0.0), 2 / (2 * 0.02), rtol=1e-9)
    # all at the tube
    assert search._slope(dual, replace(solution, gradient=np.full(41, 0.5)), 0.0) == 2 / 1e-300
    # the sum fell by 3 when epsilon grew by 0.5
    search._past.append((0.0, 4.0, 1e-4))
    np.testing.assert_allclose(search._slope(dual, solution, 1.0), 6)
    # epsilons less than two violations apart, or a sum that did not fall, tell nothing
    search._past = [(0.5 - 1.9e-3, 4.0, 1e-3)]
    np.testing.assert_allclose(search._slope(dual, solution, 1.0), 50)
    search._past = [(0.5 - 2.1e-3, 4.0, 1e-3)]
    np.testing.assert_allclose(search._slope(dual, solution, 1.0), 3 / 2.1e-3)
    search._past = [(0.0, 1.0, 1e-4)]
    np.testing.assert_allclose(search._slope(dual, solution, 4.0), 50)


def test_epsilon_is_corrected_by_the_slope_and_at_most_by_a_factor_of_four(monkeypatch):
    monkeypatch.setattr(_EpsilonSearch, "_slope", lambda *_: 2.0)
    for excess, expected in ((0.5, 1.25), (-0.5, 0.75), (100.0, 4.0 + 1e-3), (-100.0, 0.25)):
        search = _EpsilonSearch(200.0, 1e-3)
        solution, dual = at(np.zeros(3), 200.0 + excess, violation=0.5, epsilon=1.0)
        np.testing.assert_allclose(search.correct(dual, solution), expected)


def test_rough_solutions_correct_nothing(monkeypatch):
    monkeypatch.setattr(_EpsilonSearch, "_slope", lambda *_: 2.0)
    search = _EpsilonSearch(10.0, 1e-3)
    for violation, corrected in ((0.71, False), (0.69, True), (0.35, False), (0.34, True), (0.18, False), (0.16, True)):
        solution, dual = at(np.zeros(3), 10.5, violation, n_iter=int(1000 * violation), epsilon=1.0)
        assert (search.correct(dual, solution) != 1.0) == corrected


def test_an_unchanged_solution_near_the_sum_is_not_corrected_again(monkeypatch):
    monkeypatch.setattr(_EpsilonSearch, "_slope", lambda *_: 2.0)
    for size, corrected in ((10.099, False), (10.101, True)):
        search = _EpsilonSearch(10.0, 1e-3)
        found = []
        for violation in (0.5, 0.2):
            solution, dual = at(np.zeros(3), size, violation, n_iter=7, epsilon=1.0)
            found.append(search.correct(dual, solution) != 1.0)
        assert found == [True, corrected]


def test_solutions_within_the_tolerance_bracket_epsilon(monkeypatch):
    monkeypatch.setattr(_EpsilonSearch, "_slope", lambda *_: 2.0)
    search = _EpsilonSearch(10.0, 1e-3)
    steps = iter(range(99))

    def correct(size, epsilon):
        solution, dual = at(np.zeros(3), size, 1e-4, next(steps), epsilon)
        return search.correct(dual, solution)

    # 0.01 too much, near the sum: by the slope
    np.testing.assert_allclose(correct(10.01, 1.0), 1.005)
    np.testing.assert_allclose(correct(9.99, 1.005), 1.0)
    # a step beyond what is known is halved: 1 had too much
    search._due = np.inf
    np.testing.assert_allclose(correct(9.95, 1.002), 1.001)
    search._due = np.inf
    # equal to a tenth of the tolerance
    assert correct(10.0001, 1.0005) == 1.0005
    many, few = search._known[True], search._known[False]
    mixed = search.mixed(line(np.zeros(3)), few)
    np.testing.assert_allclose(np.abs(mixed.coef).sum(), 10, rtol=1e-12)
    assert np.abs(few.coef).sum() < 10 < np.abs(many.coef).sum()


def test_far_from_the_sum_a_correction_moves_at_least_four_tolerances(monkeypatch):
    monkeypatch.setattr(_EpsilonSearch, "_slope", lambda *_: 1e9)
    for size, expected in ((10.2, 1 + 4e-3), (9.8, 1 - 4e-3), (10.05, 1.0)):
        search = _EpsilonSearch(10.0, 1e-3)
        solution, dual = at(np.zeros(3), size, 1e-4, epsilon=1.0)
        np.testing.assert_allclose(search.correct(dual, solution), expected, atol=1e-6)


@pytest.mark.parametrize("n", [8, 40, 150])
def test_two_sums_keep_the_sum_where_it_jumps_with_epsilon(n, global_random_seed):
    # kernel values of rank 2: intervals of epsilon share a solution
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((n, 2))
    y = np.round(X[:, 0] + 0.5 * rng.standard_normal(n))
    rows = FusedRows(mc.Linear(), X, np.float64)
    bound, total = np.full(n, 10.0), 3.0 * n
    dual = Dual(y, -bound, bound, np.zeros(n), np.arange(n))
    workspace = Workspace(1e-5, 10**6, np.empty(1 << 20))
    found = solve_two_sums(rows, dual, total, workspace)
    assert np.abs(found.coef).sum() == pytest.approx(total, rel=1e-9)
    assert abs(found.coef.sum()) <= 1e-9 * total
    assert found.violation <= 1e-5
    given = replace(dual, total=total, epsilon=found.epsilon)
    checked = certificate(given, found.coef, y - X @ (X.T @ found.coef), found.bias)
    assert 0 <= checked.gap <= 1e-5 * 10 * n


def test_steps_of_a_search_without_end_and_of_two_sums_add_up(monkeypatch):
    _, _, rows, dual = problem(60, 0)
    workspace = Workspace(1e-6, 10**6, np.empty(1 << 20))
    alone = solve_two_sums(rows, dual, 20.0, workspace)
    monkeypatch.setattr(nu_svr, "find_epsilon", lambda *_: replace(alone, coef=np.zeros(60), n_iter=7))
    found = nu_svr._searched(rows, dual, 20.0, workspace)
    assert found.n_iter == alone.n_iter + 7 > 7


def test_two_sums_are_solved_for_again_where_float32_rounds_by_more_than_the_tolerance(global_random_seed):
    kernel, X, rows, dual = problem(200, global_random_seed, np.float32, 100.0)
    found = solve_two_sums(rows, dual, 8000.0, Workspace(1e-4, 10**6, np.empty(1 << 20, np.float32)))
    exact = dual.target - kernel(X) @ found.coef
    assert violation_of(exact, found.coef, replace(dual, epsilon=found.epsilon)) <= 1.01e-4
    assert np.abs(found.coef).sum() == pytest.approx(8000.0, rel=1e-9)
    # steps stay within their limit
    few = solve_two_sums(rows, dual, 8000.0, Workspace(1e-4, 1000, np.empty(1 << 20, np.float32)))
    assert few.n_iter <= 1000 < found.n_iter
    assert few.violation > 1e-4


def test_newton_steps_keep_both_sums_where_one_alone_is_singular(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, total, bound = rng.standard_normal((60, 2)), 90.0, np.full(60, 3.0)
    y = X[:, 0] + rng.standard_normal(60)
    rows, dual = FusedRows(mc.Linear(), X, np.float64), Dual(y, -bound, bound, np.zeros(60), np.arange(60))
    rough = solve_two_sums(rows, dual, total, Workspace(1e-3, 10**6, np.empty(1 << 20)))
    fine = refine(rows, replace(dual, epsilon=rough.epsilon), rough, 1e-3, total)
    error = y - X @ (X.T @ fine.coef) - fine.bias
    free = (np.abs(fine.coef) > 1e-9) & (np.abs(fine.coef) < 3 - 1e-9)
    # a plane and a tube have four parameters; an edge may be open
    assert 3 <= free.sum() <= 4
    np.testing.assert_allclose(error[free], fine.epsilon * np.sign(fine.coef[free]), atol=1e-12)
    np.testing.assert_allclose([np.abs(fine.coef).sum(), 1 + fine.coef.sum()], [total, 1], rtol=1e-12)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_wrong_sum_is_in_the_gap(factor):
    kernel, X, rows, dual = problem(80, 3)
    solution = optimum(rows, dual, 30.0, 1e-9)
    gradient = dual.target - kernel(X) @ solution.coef
    given = replace(dual, epsilon=solution.epsilon, total=30.0)
    right = certificate(given, solution.coef, gradient, solution.bias)
    assert right.gap <= 1e-6 * right.primal
    wrong = certificate(replace(given, total=30.0 * factor), solution.coef, gradient, solution.bias)
    least = solution.epsilon * 3.0 if factor > 1 else 0.001 * right.primal
    assert wrong.gap >= 0.99 * least
    # the objectives enclose the optimum of the other sum
    other = optimum(rows, dual, 30.0 * factor, 1e-9)
    inner = replace(dual, epsilon=other.epsilon, total=30.0 * factor)
    best = certificate(inner, other.coef, dual.target - kernel(X) @ other.coef, other.bias)
    assert wrong.dual <= best.primal + 1e-9
    assert best.dual <= wrong.primal + 1e-9


def test_the_certificate_holds_where_millions_of_steps_lose_digits_of_the_sum():
    # a linear kernel of 2 000 on rows far from the origin, and bounds up to 1e6: the sum was 6e-5 before
    x = np.array(
        [
            47.60171773985532,
            46.9158101925801,
            45.04538573492666,
            48.15950462502505,
            45.81336811351976,
            44.44242032392337,
            47.833465145690354,
            45.652606520434496,
            45.30974295027259,
            45.76224920687956,
        ]
    )
    y = np.array(
        [
            1.1421478352228052,
            0.7910792115515248,
            -0.5815174394240669,
            0.76932743962757,
            -0.12878182822125145,
            -1.0192398879722604,
            0.9431471396247244,
            -0.3415590267564277,
            -0.4648066271107223,
            -0.07000910390922681,
        ]
    )
    w = np.array(
        [
            1.0,
            0.0075747593396370515,
            10.40826608099015,
            317.8255240887916,
            0.615078658269403,
            996.391548418123,
            757.1919685831542,
            0.009638159326857458,
            0.02337026290105044,
            135.82010805178987,
        ]
    )
    C, nu = 1431.170247076097, 0.252068142124556
    model = mc.NuSVR(nu=nu, C=C, kernel="linear", tol=0.1).fit(x[:, None], y, sample_weight=w)
    coef = np.zeros(10)
    coef[model.support_] = model.dual_coef_[:, 0]
    f, bounds = np.outer(x, x) @ coef, C * w
    loss = bounds @ np.maximum(np.abs(y - f - model.intercept_) - model.epsilon_, 0)
    primal = 0.5 * coef @ f + nu * model.epsilon_ * bounds.sum() + loss
    dual = y @ coef - 0.5 * coef @ f
    assert abs(coef.sum()) < 1e-12 * np.abs(coef).sum()
    assert primal - dual < 1e-4 * primal
    assert mc.certify(model, x[:, None], y, w).kkt < 1e-3
