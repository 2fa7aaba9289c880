from dataclasses import replace

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.newton import refine
from mercer.solvers.svm.rows import FusedRows, rows_of
from mercer.solvers.svm.smo import solve
from mercer.solvers.svm.workspace import Workspace


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
