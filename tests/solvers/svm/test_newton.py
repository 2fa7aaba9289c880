from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.workspace import Workspace

import mercer as mc
from mercer.solvers.svm import newton
from mercer.solvers.svm.dual import Dual, Solution
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.rows import FusedRows, rows_of


def _rough(X, dtype=np.float32, C=1.0, tol=1e-3):
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    n = len(X)
    dual = Dual(y, np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(n), np.arange(n))
    rows = FusedRows(mc.Gaussian(0.5), X, dtype)
    return rows, dual, solve(rows, dual, Workspace(tol, 10**6, np.empty(n * 1024, dtype)))


def test_a_rough_solution_becomes_exact_in_float64(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((400, 3))
    rows, dual, rough = _rough(X)
    fine = refine(rows, dual, rough, 1e-3)
    gradient = dual.target - mc.Gaussian(0.5)(X) @ fine.coef
    top, bottom = gradient[fine.coef < dual.upper].max(), gradient[fine.coef > dual.lower].min()
    assert rough.violation > 1e-6
    assert top - bottom < 1e-11
    assert abs(fine.coef.sum()) < 1e-11
    assert ((fine.coef >= dual.lower) & (fine.coef <= dual.upper)).all()


def test_known_kernel_values_of_measured_rounding_refine_as_far_as_it_allows(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((1200, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    dual = Dual(y, np.minimum(0, y), np.maximum(0, y), np.zeros(1200), np.arange(1200))
    rows = rows_of(mc.Gaussian(0.5), X, 1e-5)
    assert rows.dtype == np.float32
    assert 0 < rows.error < 1e-6
    rough = solve(rows, dual, Workspace(1e-3, 10**6, np.empty(1200 * 1280, np.float32)))
    fine = refine(rows, dual, rough, 1e-3)
    gradient = dual.target - mc.Gaussian(0.5)(X) @ fine.coef
    top, bottom = gradient[fine.coef < dual.upper].max(), gradient[fine.coef > dual.lower].min()
    assert 0 < fine.violation < 1e-5
    assert top - bottom < 20 * fine.violation
    assert abs(fine.coef.sum()) < 1e-11
    assert ((fine.coef >= dual.lower) & (fine.coef <= dual.upper)).all()
    # a tolerance near the rounding asks for values in float64
    again = refine(rows, dual, replace(fine, cache=rough.cache), 20 * fine.violation)
    gradient = dual.target - mc.Gaussian(0.5)(X) @ again.coef
    assert gradient[again.coef < dual.upper].max() - gradient[again.coef > dual.lower].min() < 1e-11


def test_refinement_never_lowers_the_dual(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((300, 3))
    K = mc.Gaussian(0.5)(X)
    rows, dual, rough = _rough(X, C=10.0)
    fine = refine(rows, dual, rough, 1e-3)
    before, after = (dual.target @ b - 0.5 * b @ K @ b for b in (rough.coef, fine.coef))
    assert after >= before - 1e-12 * abs(before)


def test_a_solution_that_stopped_early_is_left_alone(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((100, 3))
    rows, dual, _ = _rough(X)
    early = solve(rows, dual, Workspace(1e-3, 3, np.empty(100 * 1024, np.float32)))
    assert refine(rows, dual, early, 1e-3) is early


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rough_tube_becomes_exact_also_where_variables_leave_0(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((400, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(400)
    dual = Dual(y, np.full(400, -2.0), np.full(400, 2.0), np.zeros(400), np.arange(400), 0.1)
    rows = FusedRows(mc.Gaussian(0.5), X, dtype)
    rough = solve(rows, dual, Workspace(0.03, 10**6, np.empty(400 * 1024, dtype)))
    fine = refine(rows, dual, rough, 0.03)
    error = y - mc.Gaussian(0.5)(X) @ fine.coef - fine.bias
    free = (fine.coef != 0) & (np.abs(fine.coef) < 2)
    assert ((rough.coef == 0) != (fine.coef == 0)).any()
    np.testing.assert_allclose(error[free], 0.1 * np.sign(fine.coef[free]), atol=1e-10)
    assert (np.abs(error[fine.coef == 0]) <= 0.1 + 1e-10).all()
    assert (error * np.sign(fine.coef))[np.abs(fine.coef) == 2].min() >= 0.1 - 1e-10
    assert abs(fine.coef.sum()) < 1e-11


def test_variables_take_part_that_are_free_or_within_a_margin_of_violating():
    dual = Dual(np.zeros(6), np.zeros(6), np.ones(6), np.zeros(6), np.arange(6))
    coef = np.array([0.5, 0.0, 0.0, 1.0, 1.0, 0.0])
    gradient = np.array([1.0, 0.91, 0.89, 1.09, 1.11, 3.0])
    near = newton._near(Solution(coef, gradient, 1.0, 0.0, 0), dual, 0.1)
    assert near.tolist() == [True, True, False, True, False, True]


def test_more_free_variables_than_the_limit_are_left_alone(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 3))
    rows, dual, rough = _rough(X, np.float64)
    free = np.count_nonzero((rough.coef > dual.lower) & (rough.coef < dual.upper))
    assert newton._FREE == 2000
    for limit, refined in ((free - 1, False), (free, True)):
        monkeypatch.setattr(newton, "_FREE", limit)
        assert (refine(rows, dual, rough, 1e-3) is not rough) == refined
    # those within ten tolerances take part as well, up to twice the limit
    assert newton._with_new_values(rows, dual, rough, np.arange(2 * free), None) is not rough
    assert newton._with_new_values(rows, dual, rough, np.arange(2 * free + 1), None) is rough
    assert newton._with_new_values(rows, dual, rough, np.arange(0), None) is rough


def test_kernel_values_of_the_solver_are_used_if_their_rounding_is_below_a_hundredth_of_the_tolerance(monkeypatch):
    X, new = np.random.default_rng(0).standard_normal((200, 3)), []
    rows, dual, rough = _rough(X, np.float64)
    monkeypatch.setattr(newton, "_with_new_values", lambda *args: new.append(args) or args[2])
    for share, known in ((0.99, True), (1.01, False)):
        new.clear()
        rows.error = share * 0.01 * 1e-3 / np.linalg.norm(rough.coef)
        found = refine(rows, dual, rough, 1e-3)
        assert bool(new) != known
        if known:
            assert found.violation == pytest.approx(share * 1e-5)
    new.clear()
    rows.error = 0.0
    assert refine(rows, dual, replace(rough, cache=None), 1e-3) is not None
    assert len(new) == 1


def test_rows_that_are_missing_are_computed():
    X = np.random.default_rng(0).standard_normal((200, 3))
    rows, dual, rough = _rough(X, np.float64)
    near = np.flatnonzero(newton._near(rough, dual, 1e-2))
    rough.cache.forget(near[rough.cache.slots[near] >= 0])
    found = newton._with_known_values(rows, dual, rough, near)
    gradient = dual.target - mc.Gaussian(0.5)(X) @ found.coef
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-10)
    free = (found.coef > dual.lower) & (found.coef < dual.upper)
    assert np.ptp(gradient[free]) < 1e-10


def test_steps_towards_a_start_that_violates_gain_until_it_is_optimal():
    X = np.random.default_rng(1).standard_normal((60, 2))
    rows, dual, rough = _rough(X, np.float64, tol=0.5)
    found = newton.cross(rows, dual, rough)
    gradient = dual.target - mc.Gaussian(0.5)(X) @ found.coef
    assert gradient[found.coef < dual.upper].max() - gradient[found.coef > dual.lower].min() < 1e-10
    assert newton.cross(rows, dual, found) is found
