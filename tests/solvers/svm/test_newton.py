from dataclasses import replace

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm.newton import optimum, polish, widened
from mercer.solvers.svm.ridged import Ridged
from mercer.solvers.svm.rows import FusedRows, PlainRows, rows_of
from mercer.solvers.svm.smo import Dual, solve


def _rough(X, dtype=np.float32, C=1.0, tol=1e-3):
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    n = len(X)
    dual = Dual(y, np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(n), np.arange(n))
    rows = FusedRows(mc.Gaussian(0.5), X, dtype)
    return rows, dual, solve(rows, dual, tol=tol, max_iter=10**6, memory=np.empty(n * 1024, dtype))


def test_a_rough_solution_becomes_exact_in_float64(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((400, 3))
    rows, dual, rough = _rough(X)
    fine = polish(mc.Gaussian(0.5), X, rows, dual, rough, 1e-3)
    scores = dual.target - mc.Gaussian(0.5)(X) @ fine.coef
    top, bottom = scores[fine.coef < dual.upper].max(), scores[fine.coef > dual.lower].min()
    assert rough.violation > 1e-6
    assert top - bottom < 1e-11
    assert abs(fine.coef.sum()) < 1e-11
    assert ((fine.coef >= dual.lower) & (fine.coef <= dual.upper)).all()


def test_known_kernel_values_of_measured_rounding_polish_as_far_as_they_say(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((1200, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    dual = Dual(y, np.minimum(0, y), np.maximum(0, y), np.zeros(1200), np.arange(1200))
    rows = rows_of(mc.Gaussian(0.5), X, 1e-5)
    assert rows.dtype == np.float32
    assert 0 < rows.error < 1e-6
    rough = solve(rows, dual, tol=1e-3, max_iter=10**6, memory=np.empty(1200 * 1280, np.float32))
    fine = polish(mc.Gaussian(0.5), X, rows, dual, rough, 1e-3)
    scores = dual.target - mc.Gaussian(0.5)(X) @ fine.coef
    top, bottom = scores[fine.coef < dual.upper].max(), scores[fine.coef > dual.lower].min()
    assert 0 < fine.violation < 1e-5
    assert top - bottom < 20 * fine.violation
    assert abs(fine.coef.sum()) < 1e-11
    assert ((fine.coef >= dual.lower) & (fine.coef <= dual.upper)).all()
    # a tolerance near the rounding asks for values in float64
    again = polish(mc.Gaussian(0.5), X, rows, dual, replace(fine, square=rough.square), 20 * fine.violation)
    scores = dual.target - mc.Gaussian(0.5)(X) @ again.coef
    assert scores[again.coef < dual.upper].max() - scores[again.coef > dual.lower].min() < 1e-11


def test_polishing_never_lowers_the_dual(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((300, 3))
    K = mc.Gaussian(0.5)(X)
    rows, dual, rough = _rough(X, C=10.0)
    fine = polish(mc.Gaussian(0.5), X, rows, dual, rough, 1e-3)
    before, after = (dual.target @ b - 0.5 * b @ K @ b for b in (rough.coef, fine.coef))
    assert after >= before - 1e-12 * abs(before)


def test_a_solution_that_stopped_early_is_left_alone(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((100, 3))
    rows, dual, _ = _rough(X)
    early = solve(rows, dual, tol=1e-3, max_iter=3, memory=np.empty(100 * 1024, np.float32))
    assert polish(mc.Gaussian(0.5), X, rows, dual, early, 1e-3) is early


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rough_tube_becomes_exact_also_where_variables_leave_0(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((400, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(400)
    dual = Dual(y, np.full(400, -2.0), np.full(400, 2.0), np.zeros(400), np.arange(400), 0.1)
    rows = FusedRows(mc.Gaussian(0.5), X, dtype)
    rough = solve(rows, dual, tol=0.03, max_iter=10**6, memory=np.empty(400 * 1024, dtype))
    fine = polish(mc.Gaussian(0.5), X, rows, dual, rough, 0.03)
    error = y - mc.Gaussian(0.5)(X) @ fine.coef - fine.bias
    free = (fine.coef != 0) & (np.abs(fine.coef) < 2)
    assert ((rough.coef == 0) != (fine.coef == 0)).any()
    np.testing.assert_allclose(error[free], 0.1 * np.sign(fine.coef[free]), atol=1e-10)
    assert (np.abs(error[fine.coef == 0]) <= 0.1 + 1e-10).all()
    assert (error * np.sign(fine.coef))[np.abs(fine.coef) == 2].min() >= 0.1 - 1e-10
    assert abs(fine.coef.sum()) < 1e-11


def test_only_rows_of_numbers_are_widened():
    assert widened(np.ones((2, 1), np.float32)).dtype == np.float64
    assert widened(["a", "b"]) == ["a", "b"]
    assert widened(np.arange(3)).dtype.kind == "i"


@pytest.fixture
def valley():
    """A quadratic loss on features that differ by six orders of magnitude: pairs hardly move, a Newton step does."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1e3, 1e2, 1.0, 1e-3]
    y = np.sin(X[:, 2]) + 0.1 * rng.standard_normal(60)
    kernel, own = Ridged(mc.Linear(), X, np.full(60, 0.1)), np.arange(60)
    return kernel, own, PlainRows(kernel, own), Dual(y, np.full(60, -1e4), np.full(60, 1e4), np.zeros(60), own)


def test_where_smo_makes_no_way_newton_steps_end_at_the_solution_of_the_linear_system(valley):
    kernel, own, rows, dual = valley
    means = {"max_iter": 10**6, "memory": np.empty(1 << 16)}
    assert solve(rows, dual, tol=1e-3, **means).violation > 1e-3
    found = optimum(kernel, own, rows, dual, 1e-3, **means)
    system = np.block([[kernel(own), np.ones((60, 1))], [np.ones((1, 60)), np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.append(dual.target, 0))
    assert found.violation < 1e-6
    assert found.n_iter < 10**6
    np.testing.assert_allclose(found.coef, expected[:-1], atol=1e-4)


def test_a_limit_of_steps_is_kept_and_no_newton_step_taken_beyond_it(valley):
    kernel, own, rows, dual = valley
    found = optimum(kernel, own, rows, dual, 1e-3, max_iter=50, memory=np.empty(1 << 16))
    assert found.n_iter == 50
    assert found.violation > 1e-3


def test_rounds_that_gain_nothing_end_with_the_number():
    # kernel values of 1e12 are rounded by as much as the ridge: scores are not known to this tolerance
    rng = np.random.default_rng(0)
    X = 100 * rng.standard_normal((80, 2))
    y = rng.standard_normal(80)
    kernel, own = Ridged(mc.Polynomial(3, 0.5, 0.0), X, np.full(80, 0.2)), np.arange(80)
    rows, dual = PlainRows(kernel, own), Dual(y, np.full(80, -1e3), np.full(80, 1e3), np.zeros(80), own)
    found = optimum(kernel, own, rows, dual, 1e-9, max_iter=2 * 10**6, memory=np.empty(1 << 16))
    assert found.n_iter < 2 * 10**6
    assert found.violation > 1e-9
    assert abs(found.gain) < 1e-2
