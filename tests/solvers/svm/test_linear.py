"""Linear kernels and kernels of low rank: Newton steps end in few steps, whatever the scale of the columns."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.svm import NuSVR as PeerNuSVR
from tests.solvers.svm.duals import solved

import mercer as mc
from mercer.solvers.svm import Dual, Options, certificate, rows_of, solve_dual
from mercer.solvers.svm.bounded import solve_large
from mercer.solvers.svm.dual import Limits, feasible_start
from mercer.solvers.svm.linear import solve_factored

# so many variables that steps over pairs would take longer
N = 2500


def _points(seed, kind="dense", d=5, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3, d) + 1
    if kind == "dense":
        return X
    X[np.abs(X) < 1] = 0
    return sp.csr_matrix(X)


def _classes(y, C):
    return Dual(y, np.minimum(C * y, 0), np.maximum(C * y, 0), np.zeros(len(y)), np.arange(len(y)))


def _dual(kind, X, seed):
    rng = np.random.default_rng(seed + 100)
    n = X.shape[0]
    values = X @ rng.normal(size=X.shape[1]) + rng.normal(size=n)
    places, zeros = np.arange(n), np.zeros(n)
    if kind == "hinge":
        return _classes(np.where(values > np.median(values) + 1, 1.0, -1.0), rng.uniform(0.5, 2, n))
    if kind == "one class":
        upper = np.full(n, 1 / (0.3 * n))
        return Dual(zeros, zeros, upper, feasible_start(upper, 1.0), places)
    y = (values - values.mean()) / values.std()
    bound, epsilon, ridge = np.full(n, 2.0), 0.1, None
    if kind == "huber":
        epsilon, ridge = 0.0, np.full(n, 0.1)
    elif kind == "squared":
        bound, ridge = np.full(n, np.inf), np.full(n, 0.5)
    return Dual(y, -bound, bound, zeros, places, epsilon, ridge)


def _solution(X, dual, tol=1e-4, **options):
    return solved(mc.Linear(), X, dual, tol, **options)


KINDS = "hinge", "one class", "epsilon", "huber", "squared"


@pytest.mark.parametrize("container", ["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_point_satisfies_the_optimality_conditions_of_the_kernel_matrix(
    kind, container, global_random_seed
):
    X = _points(global_random_seed, container)
    dual = _dual(kind, X, global_random_seed)
    found = _solution(X, dual)
    values = X @ (X.T @ found.coef) + (0 if dual.ridge is None else dual.ridge * found.coef)
    np.testing.assert_allclose(found.gradient, dual.target - values, atol=1e-7)
    exact = certificate(dual, found.coef, dual.target - values, found.bias)
    assert exact.kkt <= 1e-4
    assert 0 <= exact.gap <= 1e-3 * abs(exact.dual) + 1e-8
    assert ((found.coef >= dual.lower) & (found.coef <= dual.upper)).all()
    assert found.coef.sum() == pytest.approx(dual.coef.sum(), abs=1e-9 * np.abs(found.coef).sum())


@pytest.mark.parametrize("kind", ["hinge", "epsilon"])
def test_the_objective_is_that_of_steps_over_pairs(kind, global_random_seed):
    X = _points(global_random_seed)
    dual = _dual(kind, X, global_random_seed)
    found = _solution(X, dual)
    rows = rows_of(mc.Linear(), X, 0.0)
    peer = solve_large(rows, dual, Limits.of(Options(1e-4), rows, N))
    assert found.value == pytest.approx(
        certificate(dual, peer.coef, peer.gradient, peer.bias).dual, rel=1e-6
    )
    assert found.n_iter < 200


@pytest.mark.parametrize("direct", [0, 4])
@pytest.mark.parametrize("container", ["dense", "sparse"])
def test_all_solvers_of_a_newton_system_lead_to_the_same_objective(direct, container, costs):
    X = _points(0, container, d=30)
    dual = _dual("hinge", X, 0)
    value = _solution(X, dual).value
    costs(FACTORED_UNKNOWNS=direct, NEWTON_VARIABLES=direct)
    found = _solution(X, dual)
    assert found.violation <= 1e-4
    assert found.value == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("d", "share"), [(5, 1.0), (800, 1.0), (2600, 0.01)])
def test_tall_wide_and_sparse_rows_end_with_a_small_gap(d, share, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = (
        rng.normal(size=(N, d))
        if share == 1
        else sp.random_array((N, d), density=share, rng=rng, format="csr")
    )
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
    found = _solution(X, _classes(y, 30.0), 1e-3)
    assert found.certificate.kkt <= 1e-3
    assert 0 <= found.certificate.gap <= 0.01 * found.primal
    assert found.n_iter < 400


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_the_primal_value_is_at_most_that_of_liblinear(C, global_random_seed):
    X = _points(global_random_seed)
    y = _dual("hinge", X, global_random_seed).target
    found = _solution(X, _classes(y, C), 1e-3)
    peer = LinearSVC(loss="hinge", C=C, intercept_scaling=100, tol=1e-8, max_iter=200)
    with pytest.warns(match="Liblinear failed to converge"):
        peer.fit(X, y)

    def primal(w, b):
        return 0.5 * w @ w + C * np.maximum(0, 1 - y * (X @ w + b)).sum()

    own = primal(X.T @ found.coef, found.bias)
    assert own <= primal(peer.coef_[0], peer.intercept_[0])
    assert own == pytest.approx(found.primal, rel=1e-9)


def test_a_start_is_kept_in_its_sum_and_left_at_the_optimum():
    X = _points(0)
    dual = _dual("hinge", X, 0)
    found = _solution(X, dual)
    again = _solution(X, replace(dual, coef=found.coef))
    assert again.n_iter == 0
    np.testing.assert_allclose(again.coef, found.coef, atol=1e-9)


def test_steps_and_callbacks_end_the_training():
    X, calls = _points(0), []
    dual = _dual("hinge", X, 0)
    assert _solution(X, dual, 1e-6, max_iter=3).n_iter == 3
    stopped = _solution(X, dual, 1e-6, callback=lambda violation: not calls.append(violation))
    assert stopped.violation == pytest.approx(calls[0])
    assert len(calls) == 1


def test_a_tolerance_beyond_rounding_ends_without_a_gain():
    X = _points(0)
    found = _solution(X, _dual("hinge", X, 0), 1e-17)
    assert 1e-17 < found.violation < 1e-9
    assert abs(found.gain) < 1e-9


def test_rows_far_from_the_origin_have_the_solution_of_centred_rows():
    X = _points(0)
    dual = _dual("hinge", X, 0)
    near, far = (_solution(rows, dual, 1e-6) for rows in (X, X + 1e6))
    np.testing.assert_allclose(far.coef, near.coef, atol=1e-5)


@pytest.mark.parametrize("C", [1e2, 1e6])
def test_classes_apart_end_within_the_gap_however_large_the_bound_is(C, global_random_seed):
    n = 1200
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(n, n // 2))
    y = np.sign(X @ rng.normal(size=n // 2) + 10 * rng.normal(size=n))
    dual = _classes(y, C)
    found = _solution(X, dual, 1e-3)
    exact = certificate(dual, found.coef, y - X @ (X.T @ found.coef), found.bias)
    assert exact.kkt <= 1e-3
    assert exact.gap <= 0.01 * exact.primal
    assert found.n_iter < 100


def test_targets_without_noise_take_no_steps_towards_a_gap_that_free_variables_close(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    X = 5 * rng.normal(size=(1000, 60))
    y = X @ rng.normal(size=60)
    y /= y.std()
    model = mc.SVR(1000.0, kernel="linear", tol=0.01).fit(X, y)
    exact = mc.certify(model, X, y)
    assert exact.gap <= 1e-5 * exact.primal
    assert model.n_iter_ < 48


def test_coefficients_that_all_reach_their_bounds_take_few_steps(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(size=(6000, 16))
    values = X @ rng.normal(size=16)
    found = _solution(X, _classes(np.where(values > np.median(values), 1.0, -1.0), 1e-4), 1e-3)
    assert found.violation <= 1e-3
    assert found.n_iter < 50


@pytest.mark.parametrize("C", [1e-8, 1e-7, 1e-6, 1e-5])
@pytest.mark.parametrize("d", [2, 20])
def test_bounds_that_hardly_move_decision_values_end_within_the_tolerance(C, d, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(6000, d))
    y = np.where(X[:, 0] + rng.normal(size=6000) > 1, 1.0, -1.0)
    assert _solution(X, _classes(y, C), 1e-3).violation <= 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_of_classes_have_the_decision_values_of_their_own_fits(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(3600, 4)).astype(dtype)
    y = np.argmax(X[:, :3] + 0.5 * rng.normal(size=(3600, 3)), axis=1)
    model = mc.SVC(10.0, kernel="linear", decision_function_shape="ovo").fit(X, y)
    assert model.certificate_.kkt <= model.tol
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        own = (y == i) | (y == j)
        single = mc.SVC(10.0, kernel="linear").fit(X[own], y[own] == i)
        np.testing.assert_allclose(
            model.decision_function(X)[:, k], single.decision_function(X), atol=5e-3
        )


# --- which steps are taken -------------------------------------------------------------------------------------------


def test_easy_problems_take_steps_over_pairs_and_hard_ones_newton_steps(global_random_seed):
    X = _points(global_random_seed, n=1200)
    y = _dual("hinge", X, global_random_seed).target
    easy, hard = (_solution(X, _classes(y, C), 1e-3) for C in (0.1, 100.0))
    assert easy.n_iter > 300
    assert hard.n_iter < 200


def test_a_few_points_take_newton_steps_after_some_steps_over_pairs(global_random_seed):
    X = _points(global_random_seed, n=300)
    y = _dual("hinge", X, global_random_seed).target
    found = _solution(X, _classes(y, 1e4), 1e-3)
    assert found.certificate.kkt <= 1e-3
    assert 1000 < found.n_iter < 20_000


def test_other_kernels_and_wide_rows_take_steps_over_pairs(global_random_seed):
    X = _points(global_random_seed, d=40, n=40)
    dual = _dual("hinge", X, global_random_seed)
    assert _solution(X, dual).n_iter > 20
    rows = rows_of(mc.Gaussian(1.0), _points(global_random_seed, n=1200), 0.0)
    dual = _dual("hinge", _points(global_random_seed, n=1200), global_random_seed)
    assert solve_dual(rows, dual, Options(1e-3)).n_iter > 300


# --- two sums --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [547, 2500])
def test_nu_regression_on_unscaled_columns_takes_few_steps(n, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(n, 22)) * np.logspace(0, 4, 22)
    y = X @ rng.normal(size=22) / 1e3 + rng.normal(size=n)
    model = mc.NuSVR(0.5, kernel="linear").fit(X, y)
    assert model.n_iter_ < 50_000
    assert model.certificate_.gap <= 1e-5 * model.certificate_.primal
    error = np.abs(y - model.predict(X))
    # columns of size 1e4 round errors, and points on the edge of the tube move by less than the tolerance
    assert np.mean(error > model.epsilon_ + model.tol) <= 0.5 <= len(model.support_) / n


@pytest.mark.parametrize(("n", "C"), [(300, 100.0), (2500, 1.0)])
def test_nu_regression_has_the_objective_of_libsvm(n, C, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(n, 4))
    y = X @ rng.normal(size=4) + rng.standard_t(3, size=n)
    own = mc.NuSVR(0.3, C=C, kernel="linear", tol=1e-5).fit(X, y)
    peer = PeerNuSVR(kernel="linear", nu=0.3, C=C, tol=1e-5).fit(X, y)

    def primal(model):
        error = np.sort(np.abs(y - model.predict(X)))[::-1]
        epsilon = error[int(0.3 * n)]
        w = model.coef_.ravel()
        return 0.5 * w @ w + C * (0.3 * n * epsilon + np.maximum(0, error - epsilon).sum())

    assert primal(own) == pytest.approx(primal(peer), rel=1e-5)
    assert primal(own) <= primal(peer) * (1 + 1e-9)


def test_nu_classification_of_many_points_takes_few_steps(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    n = 12_000
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 3.0]
    y = np.where(X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    model = mc.NuSVC(0.3, kernel="linear").fit(X, y)
    assert model.n_iter_[0] < 1000
    assert model.certificate_.gap <= 1e-3 * model.certificate_.primal
    margins = y * model.decision_function(X)
    assert np.mean(margins < 1 - 1e-2) <= 0.3 <= len(model.support_) / n


def test_nu_regression_with_a_polynomial_of_unscaled_columns_takes_few_steps(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    Z = rng.normal(size=(400, 4))
    y = Z[:, 0] + Z[:, 1] * Z[:, 2] + 0.3 * rng.normal(size=400)
    model = mc.NuSVR(0.4, kernel=mc.Polynomial(2, 1.0, 1.0)).fit(Z * [0.1, 1.0, 10.0, 30.0], y)
    assert model.n_iter_ < 200_000
    assert model.certificate_.gap <= 1e-4 * model.certificate_.primal


# --- kernels of low rank ---------------------------------------------------------------------------------------------


def _low_rank(seed, ridge=None, kernel=None, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [0.1, 1.0, 3.0, 10.0]
    y = np.where(X[:, 0] * 10 + X[:, 1] * X[:, 2] / 3 + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    dual = replace(_classes(y, 1.0), ridge=ridge)
    if ridge is not None:
        dual = replace(dual, lower=np.full(n, -1e3), upper=np.full(n, 1e3))
    kernel = mc.Polynomial(3, 1.0, 1.0) if kernel is None else kernel
    rows = rows_of(kernel, X, 0.0, ridge)
    return rows, dual, kernel(X), Limits.of(Options(1e-3), rows, n)


@pytest.mark.parametrize("ridge", [None, np.full(400, 0.5)], ids=["hinge", "ridge"])
def test_the_solution_of_a_cubic_kernel_on_unscaled_columns_is_certified(ridge, global_random_seed):
    rows, dual, K, workspace = _low_rank(global_random_seed, ridge)
    found = solve_factored(rows, dual, workspace)
    gradient = dual.target - K @ found.coef - (0 if ridge is None else ridge * found.coef)
    # kernel values of up to 1e8 are rounded
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-5)
    exact = certificate(dual, found.coef, found.gradient, found.bias)
    assert exact.kkt == pytest.approx(found.violation)
    assert found.violation <= 1e-3
    assert exact.gap <= 1e-3 * exact.dual
    assert found.n_iter < 1000


def test_the_objective_is_that_of_the_linear_system_where_no_bound_is_met(global_random_seed):
    ridge = np.full(400, 0.5)
    rows, dual, K, workspace = _low_rank(global_random_seed, ridge)
    found = solve_factored(rows, dual, workspace)
    system = np.block(
        [[K + np.diag(ridge), np.ones((400, 1))], [np.ones((1, 400)), np.zeros((1, 1))]]
    )
    np.testing.assert_allclose(
        found.coef, np.linalg.solve(system, np.append(dual.target, 0))[:-1], atol=1e-3
    )


def test_a_kernel_of_many_eigenvalues_is_left_to_others():
    rows, dual, _, workspace = _low_rank(0, kernel=mc.Gaussian(1.0), n=800)
    assert solve_factored(rows, dual, workspace) is None


def test_a_bound_that_few_coefficients_meet_is_solved_for_by_the_full_factor_of_more_variables():
    n = 610
    rng = np.random.default_rng(42)
    X = rng.normal(size=(n, 4)) * [0.1, 1.0, 3.0, 10.0]
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 3] / 3 + 0.5 * rng.normal(size=n)
    model = mc.SVR(C=1e5, kernel=mc.Gaussian(0.02), epsilon=0.1, max_iter=400_000).fit(X, y)
    # steps over pairs need millions
    assert model.n_iter_ < 400_000
    found = mc.certify(model, X, y)
    assert found.kkt <= model.tol
    assert found.gap <= 1e-6 * found.dual


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
    with pytest.warns(
        ConvergenceWarning, match=r"rounded by more than tol, .* features far from the origin"
    ):
        model.fit(Z * 100, y)
    assert np.max(model.n_iter_) < 400_000
