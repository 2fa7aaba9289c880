import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.linear import solve_factored as solve_low_rank
from mercer.solvers.svm.options import Limits, Options
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.verify import certificate

N = 400


def _problem(seed, ridge=None, kernel=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4)) * [0.1, 1.0, 3.0, 10.0]
    y = np.where(X[:, 0] * 10 + X[:, 1] * X[:, 2] / 3 + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
    dual = Dual(y, np.minimum(y, 0), np.maximum(y, 0), np.zeros(N), np.arange(N), ridge=ridge)
    if ridge is not None:
        dual = replace(dual, lower=np.full(N, -1e3), upper=np.full(N, 1e3))
    kernel = mc.Polynomial(3, 1.0, 1.0) if kernel is None else kernel
    rows = rows_of(kernel, X, 0.0, ridge)
    return rows, dual, kernel(X), Limits.of(Options(1e-3), rows, N)


@pytest.mark.parametrize("ridge", [None, np.full(N, 0.5)], ids=["hinge", "ridge"])
def test_the_solution_of_a_cubic_kernel_on_unscaled_columns_is_certified(ridge, global_random_seed):
    rows, dual, K, workspace = _problem(global_random_seed, ridge)
    found = solve_low_rank(rows, dual, workspace)
    gradient = dual.target - K @ found.coef - (0 if ridge is None else ridge * found.coef)
    # kernel values of up to 1e8 are rounded
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-5)
    exact = certificate(dual, found.coef, found.gradient, found.bias)
    assert exact.kkt == pytest.approx(found.violation)
    assert found.violation <= 1e-3
    assert exact.gap <= 1e-3 * exact.dual
    assert found.n_iter < 1000


def test_the_objective_is_that_of_the_linear_system_where_no_bound_is_met(global_random_seed):
    ridge = np.full(N, 0.5)
    rows, dual, K, workspace = _problem(global_random_seed, ridge)
    found = solve_low_rank(rows, dual, workspace)
    system = np.block([[K + np.diag(ridge), np.ones((N, 1))], [np.ones((1, N)), np.zeros((1, 1))]])
    np.testing.assert_allclose(found.coef, np.linalg.solve(system, np.append(dual.target, 0))[:-1], atol=1e-3)


def test_a_kernel_of_many_eigenvalues_is_left_to_others():
    rows, dual, _, workspace = _problem(0, kernel=mc.Gaussian(1.0))
    assert solve_low_rank(rows, dual, workspace) is None


@pytest.mark.parametrize("loss", ["hinge", "squared_epsilon"])
def test_estimators_converge_or_blame_rounding_within_few_steps(loss):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1000, 5))
    y = Z[:, 0] + Z[:, 1] * Z[:, 2] + 0.5 * rng.normal(size=1000)
    kernel = mc.Polynomial(3, 1.0, 1.0)
    model = mc.SVC(kernel=kernel) if loss == "hinge" else mc.SVR(kernel=kernel, loss=loss)
    y = (y > 0).astype(int) if loss == "hinge" else y
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(Z * [0.1, 0.3, 1, 3, 10], y)
    assert np.max(model.n_iter_) < 200_000
    assert model.certificate_.kkt <= 1e-3
    with pytest.warns(ConvergenceWarning, match=r"rounded by more than tol, .* features far from the origin"):
        model.fit(Z * 100, y)
    assert np.max(model.n_iter_) < 200_000
