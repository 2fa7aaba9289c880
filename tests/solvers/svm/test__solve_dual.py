"""The entrance: the dual decides which solver is used, and every solution has its certificate."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from mercer.solvers.svm.workspace import Options, Workspace

import mercer as mc
from mercer.solvers.svm import _solve_dual, newton, solve_dual
from mercer.solvers.svm.dual import Dual, feasible_start
from mercer.solvers.svm.rows import rows_of

N = 40


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((N, 2))


def classifier(points, C=1.0, **options):
    sign = np.where(points[:, 0] > 0, 1.0, -1.0)
    return Dual(sign, np.minimum(C * sign, 0), np.maximum(C * sign, 0), np.zeros(N), np.arange(N), **options)


def regression(points, C=1.0, epsilon=0.1, **options):
    return Dual(np.sin(points[:, 0]), np.full(N, -C), np.full(N, C), np.zeros(N), np.arange(N), epsilon, **options)


def one_class(_points):
    upper = np.full(N, 0.1)
    return Dual(np.zeros(N), np.zeros(N), upper, feasible_start(upper, 1.0), np.arange(N))


PROBLEMS = {
    "classifier": (classifier, "solve_one_constraint"),
    "one class": (one_class, "solve_one_constraint"),
    "regression": (regression, "solve_one_constraint"),
    "quadratic": (lambda X: regression(X, np.inf, ridge=np.full(N, 0.5)), "solve_one_constraint"),
    "hard margin": (lambda X: classifier(X, np.inf), "solve_hard_margin"),
    "nu classifier": (lambda X: classifier(X, total=0.3 * N), "solve_nu_svc"),
    "nu regression": (lambda X: regression(X, total=0.3 * N), "solve_nu_svr"),
    "hard tube": (lambda X: regression(X, np.inf), "solve_hard_tube"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_dual_decides_which_solver_is_used(name, points, monkeypatch):
    make, solver = PROBLEMS[name]
    called, dual = [], make(points)
    for each in ("solve_one_constraint", "solve_hard_margin", "solve_hard_tube", "solve_nu_svc", "solve_nu_svr"):
        own = getattr(_solve_dual, each)
        monkeypatch.setattr(_solve_dual, each, lambda *args, own=own, each=each: called.append(each) or own(*args))
    options = Options(1e-6)
    solve_dual(options.rows(mc.Gaussian(5.0), points, [dual]), dual, options)
    assert called == [solver]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_solution_is_certified(name, points):
    dual, options = PROBLEMS[name][0](points), Options(1e-8)
    solution = solve_dual(options.rows(mc.Gaussian(5.0), points, [dual]), dual, options)
    assert solution.certificate.kkt <= 1e-8
    assert abs(solution.certificate.gap) <= 1e-6 * max(1, abs(solution.certificate.primal))
    assert solution.cache is None
    assert abs(solution.coef.sum() - dual.coef.sum()) < 1e-8 * max(1, np.abs(solution.coef).sum())


def test_a_quadratic_loss_needs_no_bounds(points):
    """Least squares with epsilon 0: a linear system."""
    ridge = np.linspace(0.2, 0.9, N)
    dual, options = regression(points, np.inf, 0.0, ridge=ridge), Options(1e-10)
    rows = options.rows(mc.Gaussian(0.5), points, [dual])
    solution = solve_dual(rows, dual, options)
    system = np.ones((N + 1, N + 1))
    system[:N, :N], system[N, N] = mc.Gaussian(0.5)(points) + np.diag(ridge), 0
    expected = np.linalg.solve(system, np.append(dual.target, 0))
    np.testing.assert_allclose(np.append(solution.coef, solution.bias), expected, atol=1e-9)
    # bounds that no coefficient meets change nothing
    finite = replace(dual, lower=np.full(N, -99.0), upper=np.full(N, 99.0))
    np.testing.assert_allclose(solve_dual(rows, finite, options).coef, solution.coef, atol=1e-9)
    # it is solved between bounds that are at least twice its coefficients
    bounded = _solve_dual._bounded(dual)
    assert np.isfinite(bounded.upper).all()
    assert (bounded.upper > 2 * np.abs(solution.coef)).all()
    np.testing.assert_array_equal(bounded.lower, -bounded.upper)
    assert _solve_dual._bounded(finite) is finite


def test_bounds_of_a_quadratic_loss_are_those_of_the_loss_of_a_constant():
    ridge = np.array([0.5, 0.25])
    dual = Dual(np.array([0.0, 3.0]), np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2), np.arange(2), 0.1, ridge)
    # C = 2 and 4, mean 2: squared errors 4 and 1, loss 2 * 4 + 4 * 1
    expected = 2 * (np.sqrt(np.array([2.0, 4.0]) * 12) + 0.1 * np.array([2.0, 4.0]))
    np.testing.assert_allclose(_solve_dual._bounded(dual).upper, expected)


def test_a_workspace_is_taken_as_it_is(points):
    dual = classifier(points)
    rows = Options(1e-8).rows(mc.Gaussian(0.5), points, [dual])
    solution = solve_dual(rows, dual, Workspace(1e-12, 3, np.empty(1 << 18)))
    assert solution.n_iter == 3


def test_steps_go_on_where_a_small_violation_is_a_large_gap(monkeypatch, global_random_seed):
    # nearly all coefficients are free, and bounds are large
    rng = np.random.default_rng(global_random_seed)
    X, y = sp.random(600, 500, 0.05, random_state=global_random_seed).tocsr(), rng.choice([-1.0, 1.0], 600)
    rows, found = rows_of(mc.Gaussian(1.0), X, 0.0), []
    dual = Dual(y, 100 * np.minimum(y, 0), 100 * np.maximum(y, 0), np.zeros(600), np.arange(600))
    # without refinement of the free coefficients
    monkeypatch.setattr(newton, "_FREE", 0)
    for coarse in (np.inf, 1e-7):
        monkeypatch.setattr(_solve_dual, "COARSE", coarse)
        solution = solve_dual(rows, dual, Options(1e-3))
        found.append(solution.certificate.gap / solution.certificate.primal)
        assert solution.violation <= 1e-3
    assert found[1] < 0.2 * found[0]
