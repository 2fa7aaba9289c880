import numpy as np

import mercer as mc
from mercer.solvers.polish import polish, widened
from mercer.solvers.rows import FusedRows
from mercer.solvers.smo import Dual, solve


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


def test_only_rows_of_numbers_are_widened():
    assert widened(np.ones((2, 1), np.float32)).dtype == np.float64
    assert widened(["a", "b"]) == ["a", "b"]
    assert widened(np.arange(3)).dtype.kind == "i"
