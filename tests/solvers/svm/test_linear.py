from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import mercer as mc
from mercer.solvers.svm import linear as module
from mercer.solvers.svm.dual import Dual, feasible_start
from mercer.solvers.svm.large import solve_large
from mercer.solvers.svm.linear import solve_factored, steps_before_newton
from mercer.solvers.svm.options import Limits, Options, SharedCallback
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.verify import certificate, objective

N = 1200


def _points(seed, kind="dense", d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, d)) * np.linspace(0.5, 3, d) + 1
    if kind == "dense":
        return X
    X[np.abs(X) < 1] = 0
    return sp.csr_matrix(X)


def _dual(kind, X, seed):
    rng = np.random.default_rng(seed + 100)
    values = X @ rng.normal(size=X.shape[1]) + rng.normal(size=N)
    places, zeros = np.arange(N), np.zeros(N)
    if kind == "hinge":
        y, C = np.where(values > np.median(values) + 1, 1.0, -1.0), rng.uniform(0.5, 2, N)
        return Dual(y, np.minimum(C * y, 0), np.maximum(C * y, 0), zeros, places)
    if kind == "one class":
        upper = np.full(N, 1 / (0.3 * N))
        return Dual(zeros, zeros, upper, feasible_start(upper, 1.0), places)
    y = (values - values.mean()) / values.std()
    bound, epsilon, ridge = np.full(N, 2.0), 0.1, None
    if kind == "huber":
        epsilon, ridge = 0.0, np.full(N, 0.1)
    elif kind == "squared":
        bound, ridge = np.full(N, np.inf), np.full(N, 0.5)
    return Dual(y, -bound, bound, zeros, places, epsilon, ridge)


def _solution(X, dual, tol=1e-4):
    rows = rows_of(mc.Linear(), X, 0.0, dual.ridge)
    assert steps_before_newton(rows, dual) < np.inf
    if dual.unbounded:
        dual = replace(dual, lower=np.full(N, -1e6), upper=np.full(N, 1e6))
    return rows, dual, solve_factored(rows, dual, Limits.of(Options(tol), rows, N))


KINDS = "hinge", "one class", "epsilon", "huber", "squared"


@pytest.mark.parametrize("container", ["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_point_satisfies_the_optimality_conditions_of_the_kernel_matrix(kind, container, global_random_seed):
    X = _points(global_random_seed, container)
    _, dual, found = _solution(X, _dual(kind, X, global_random_seed))
    K = np.asarray((X @ X.T).todense() if sp.issparse(X) else X @ X.T)
    values = K @ found.coef + (0 if dual.ridge is None else dual.ridge * found.coef)
    np.testing.assert_allclose(found.gradient, dual.target - values, atol=1e-7)
    exact = certificate(dual, found.coef, dual.target - values, found.bias)
    assert exact.kkt <= 1e-4
    assert 0 <= exact.gap <= 1e-3 * abs(exact.dual) + 1e-8
    assert ((found.coef >= dual.lower) & (found.coef <= dual.upper)).all()
    assert found.coef.sum() == pytest.approx(dual.coef.sum(), abs=1e-9 * np.abs(found.coef).sum())


@pytest.mark.parametrize("kind", ["hinge", "one class", "epsilon"])
def test_the_objective_is_that_of_smo(kind, global_random_seed):
    X = _points(global_random_seed)
    rows, dual, found = _solution(X, _dual(kind, X, global_random_seed))
    peer = solve_large(rows, dual, Limits.of(Options(1e-4), rows, N))
    one, other = (certificate(dual, each.coef, each.gradient, each.bias) for each in (found, peer))
    assert one.dual == pytest.approx(other.dual, rel=1e-6)
    assert found.n_iter < 200


@pytest.mark.parametrize("direct", [0, 4])
@pytest.mark.parametrize("container", ["dense", "sparse"])
def test_all_solvers_of_a_newton_system_lead_to_the_same_objective(direct, container, monkeypatch):
    X = _points(0, container, d=30)
    _, dual, found = _solution(X, _dual("hinge", X, 0))
    value = objective(dual, found.coef, found.gradient)
    monkeypatch.setattr(module, "_DIRECT", direct)
    monkeypatch.setattr(module, "_MOST", direct)
    _, dual, found = _solution(X, _dual("hinge", X, 0))
    assert found.violation <= 1e-4
    assert objective(dual, found.coef, found.gradient) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_the_primal_value_is_at_most_that_of_liblinear(C, global_random_seed):
    X = _points(global_random_seed)
    dual = _dual("hinge", X, global_random_seed)
    y = dual.target
    dual = replace(dual, lower=np.minimum(C * y, 0), upper=np.maximum(C * y, 0))
    _, _, found = _solution(X, dual, 1e-3)
    peer = LinearSVC(loss="hinge", C=C, intercept_scaling=100, tol=1e-8, max_iter=200)
    with pytest.warns(match="Liblinear failed to converge"):
        peer.fit(X, y)

    def primal(w, b):
        return 0.5 * w @ w + C * np.maximum(0, 1 - y * (X @ w + b)).sum()

    own = primal(X.T @ found.coef, found.bias)
    assert own <= primal(peer.coef_[0], peer.intercept_[0])
    assert own == pytest.approx(certificate(dual, found.coef, found.gradient, found.bias).primal, rel=1e-9)


def test_a_start_is_kept_in_its_sum_and_left_at_the_optimum():
    X = _points(0)
    rows, dual, found = _solution(X, _dual("hinge", X, 0))
    again = solve_factored(rows, replace(dual, coef=found.coef), Limits.of(Options(1e-4), rows, N))
    assert again.n_iter == 0
    np.testing.assert_allclose(again.coef, found.coef, atol=1e-9)


def test_steps_and_callbacks_end_the_training():
    X = _points(0)
    dual = _dual("hinge", X, 0)
    rows, calls = rows_of(mc.Linear(), X, 0.0), []
    workspace = Limits.of(Options(1e-6, max_iter=3), rows, N)
    assert solve_factored(rows, dual, workspace).n_iter == 3
    stopping = replace(
        workspace, max_iter=10**6, callback=SharedCallback(lambda violation: not calls.append(violation))
    )
    assert solve_factored(rows, dual, stopping).violation == pytest.approx(calls[0])
    assert len(calls) == 1


def test_a_tolerance_beyond_rounding_ends_with_the_gain_of_the_last_round():
    X = _points(0)
    rows, dual = rows_of(mc.Linear(), X, 0.0), _dual("hinge", X, 0)
    found = solve_factored(rows, dual, Limits.of(Options(1e-17), rows, N))
    assert 1e-17 < found.violation < 1e-9
    assert abs(found.gain) < 1e-9


def test_rows_far_from_the_origin_have_the_solution_of_centred_rows():
    X = _points(0)
    dual = _dual("hinge", X, 0)
    near, far = (_solution(rows, dual, 1e-6)[2] for rows in (X, X + 1e6))
    np.testing.assert_allclose(far.coef, near.coef, atol=1e-5)


@pytest.mark.parametrize("C", [1e2, 1e6])
def test_classes_apart_end_within_the_gap_however_large_the_bound_is(C, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(N, N // 2))
    y = np.sign(X @ rng.normal(size=N // 2) + 10 * rng.normal(size=N))
    dual = Dual(y, np.minimum(C * y, 0), np.maximum(C * y, 0), np.zeros(N), np.arange(N))
    _, dual, found = _solution(X, dual, 1e-3)
    exact = certificate(dual, found.coef, y - X @ (X.T @ found.coef), found.bias)
    assert exact.kkt <= 1e-3
    assert exact.gap <= 0.01 * exact.primal
    assert found.n_iter < 100


def test_coefficients_that_all_reach_their_bounds_take_few_steps(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, C = rng.uniform(size=(N, 16)), 5e-4
    values = X @ rng.normal(size=16)
    y = np.where(values > np.sort(values)[N // 2], 1.0, -1.0)
    dual = Dual(y, np.minimum(C * y, 0), np.maximum(C * y, 0), np.zeros(N), np.arange(N))
    _, dual, found = _solution(X, dual, 1e-3)
    assert found.violation <= 1e-3
    assert found.n_iter < 50


@pytest.mark.parametrize("C", [1e-8, 1e-7, 1e-6, 1e-5])
@pytest.mark.parametrize("d", [2, 20])
def test_bounds_that_hardly_move_decision_values_end_within_the_tolerance(C, d, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(N, d))
    y = np.where(X[:, 0] + rng.normal(size=N) > 1, 1.0, -1.0)
    dual = Dual(y, np.minimum(C * y, 0), np.maximum(C * y, 0), np.zeros(N), np.arange(N))
    assert _solution(X, dual, 1e-3)[2].violation <= 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_of_classes_have_the_decision_values_of_their_own_fits(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(3 * N, 4)).astype(dtype)
    y = np.argmax(X[:, :3] + 0.5 * rng.normal(size=(3 * N, 3)), axis=1)
    model = mc.SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    assert model.certificate_.kkt <= model.tol
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        own = (y == i) | (y == j)
        single = mc.SVC(kernel="linear").fit(X[own], y[own] == i)
        np.testing.assert_allclose(model.decision_function(X)[:, k], single.decision_function(X), atol=5e-3)
