import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import mercer as mc
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.smo import solve
from mercer.solvers.svm.workspace import Workspace


def _solve(kernel, X, dual, tol=1e-10, values=None, max_iter=10**6, **options):
    rows = rows_of(kernel, X, 0.0)
    buffer = np.empty(len(dual.target) * 1024 if values is None else values, rows.dtype)
    return solve(rows, dual, Workspace(tol, max_iter, buffer, **options))


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((60, 3))


def _classifier(points, C=1.0):
    y = np.where(points[:, 0] + 0.5 * points[:, 1] ** 2 > 0.3, 1.0, -1.0)
    n = len(y)
    return Dual(y, np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(n), np.arange(n))


def _one_class(points, nu=0.2):
    n = len(points)
    upper = np.full(n, 1 / (nu * n))
    return Dual(np.zeros(n), np.zeros(n), upper, np.full(n, 1 / n), np.arange(n))


def _regression(points, epsilon=0.1, C=2.0):
    y, n = np.sin(points[:, 0]), len(points)
    return Dual(y, np.full(n, -C), np.full(n, C), np.zeros(n), np.arange(n), epsilon)


def _ball(points, C=0.1):
    n = len(points)
    return Dual(np.full(n, 0.5), np.zeros(n), np.full(n, C), np.full(n, 1 / n), np.arange(n))


@pytest.mark.parametrize("make", [_classifier, _one_class, _regression, _ball])
def test_every_member_of_the_family_reaches_the_optimum_of_a_general_solver(points, make):
    kernel, dual = mc.Gaussian(0.5), make(points)
    K = kernel(points)[np.ix_(dual.points, dual.points)]
    solution = _solve(kernel, points, dual)
    # the parts above and below 0 apart, so that epsilon is linear in them
    n, start = len(dual.target), np.concatenate([np.maximum(dual.coef, 0), np.maximum(-dual.coef, 0)])
    bounds = np.concatenate([np.maximum(dual.upper, 0), np.maximum(-dual.lower, 0)])

    def objective(parts):
        b = parts[:n] - parts[n:]
        return 0.5 * b @ K @ b - dual.target @ b + dual.epsilon * parts.sum()

    def slope(parts):
        g = K @ (parts[:n] - parts[n:]) - dual.target
        return np.concatenate([g, -g]) + dual.epsilon

    sign = np.repeat([1.0, -1.0], n)
    reference = minimize(
        objective,
        start,
        jac=slope,
        bounds=[(0, bound) for bound in bounds],
        constraints=LinearConstraint(sign, dual.coef.sum(), dual.coef.sum()),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    ours = objective(np.concatenate([np.maximum(solution.coef, 0), np.maximum(-solution.coef, 0)]))
    assert ours <= reference.fun + 1e-9 * abs(reference.fun)
    assert solution.violation <= 1e-10
    assert abs(solution.coef.sum() - dual.coef.sum()) < 1e-10
    assert ((solution.coef >= dual.lower) & (solution.coef <= dual.upper)).all()


def test_the_gradient_is_that_of_the_coefficients(points):
    kernel, dual = mc.Gaussian(0.5), _classifier(points)
    solution = _solve(kernel, points, dual)
    np.testing.assert_allclose(solution.gradient, dual.target - kernel(points) @ solution.coef, atol=1e-11)


def test_sweeps_over_parts_reach_the_same_optimum(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((2000, 4))
    kernel, dual = mc.Gaussian(0.3), _classifier(X)
    whole = _solve(kernel, X, dual, tol=1e-6, values=2048 * 2000)
    parts = _solve(kernel, X, dual, tol=1e-6, values=600 * 768)
    np.testing.assert_allclose(parts.gradient, whole.gradient, atol=2e-5)
    assert parts.violation <= 1e-6


def test_a_solution_is_a_start_that_nothing_improves(points):
    kernel, dual = mc.Gaussian(0.5), _classifier(points)
    solution = _solve(kernel, points, dual, tol=1e-8)
    again = _solve(kernel, points, Dual(dual.target, dual.lower, dual.upper, solution.coef, dual.points), tol=1e-7)
    assert again.n_iter == 0
    assert (again.coef == solution.coef).all()


def test_the_bound_on_steps_is_kept_to_the_step(points):
    solution = _solve(mc.Gaussian(0.5), points, _classifier(points), max_iter=7)
    assert solution.n_iter == 7
    assert solution.violation > 1e-10


def test_a_callback_that_returns_true_stops_the_solver(global_random_seed):
    X, seen = np.random.default_rng(global_random_seed).standard_normal((600, 3)), []
    dual = _classifier(X, C=1e4)
    solution = _solve(mc.Gaussian(0.5), X, dual, callback=lambda violation: seen.append(violation) or True)
    assert len(seen) == 1
    assert solution.violation > 1e-10


def test_an_indefinite_kernel_ends(points):
    solution = _solve(mc.Sigmoid(2.0, -1.0), points, _classifier(points, C=10.0), tol=1e-3)
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.violation)


@pytest.mark.parametrize("values", [16 * 256, 40 * 256, 300 * 256, 1000 * 1024])
def test_the_optimum_does_not_depend_on_the_memory(global_random_seed, values):
    X = np.random.default_rng(global_random_seed).standard_normal((1000, 4))
    dual = _classifier(X, C=5.0)
    whole = _solve(mc.Gaussian(0.5), X, dual, tol=1e-6)
    solution = _solve(mc.Gaussian(0.5), X, dual, tol=1e-6, values=values)
    assert solution.violation <= 1e-6
    objectives = [each.coef @ (dual.target + each.gradient) for each in (whole, solution)]
    assert objectives[1] == pytest.approx(objectives[0], rel=1e-8)


def test_more_free_variables_than_a_sweep_holds_take_few_sweeps(global_random_seed, caplog):
    X = np.random.default_rng(global_random_seed).standard_normal((2000, 12))
    # kernel values are small off the diagonal, so that hardly any variable meets a bound
    dual = _classifier(X, C=10.0)
    with caplog.at_level("DEBUG", logger="mercer"):
        solution = _solve(mc.Gaussian(1.0), X, dual, tol=1e-3, values=500 * 512)
    assert solution.violation <= 1e-3
    assert np.count_nonzero((solution.coef > dual.lower) & (solution.coef < dual.upper)) > 1900
    # ten at a time they were thousands
    assert sum("smo:" in record.message for record in caplog.records) < 60


def test_memory_for_less_than_a_few_rows_is_refused(points):
    with pytest.raises(ValueError, match="the buffer holds 1023 kernel values; it must hold at least 1024"):
        _solve(mc.Gaussian(0.5), points, _classifier(points), values=1023)
