import warnings
from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.known_rows import KnownRows
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.whole import LARGEST, WIDE, fits, solve_whole, wide_values, with_values
from mercer.solvers.svm.workspace import Options, Workspace
from sklearn.svm import SVC

import mercer as mc
from mercer.solvers.svm import whole
from mercer.solvers.svm.dual import Dual, certificate, objective
from mercer.solvers.svm.rows import rows_of


def _duals(seed, n=300, C=5.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    duals = []
    for k in range(3):
        points = np.sort(rng.permutation(n)[: n - 40 * k])
        y = np.where(X[points, k] + 0.2 * rng.normal(size=len(points)) > 0, 1.0, -1.0)
        duals.append(Dual(y, np.minimum(C * y, 0), np.maximum(C * y, 0), np.zeros(len(y)), points))
    rows = rows_of(mc.Gaussian(0.4), X, 0.0)
    return X, rows, duals, Workspace.allocate(rows, n, Options(1e-3))


def test_every_dual_is_solved_over_its_own_points(global_random_seed):
    X, rows, duals, workspace = _duals(global_random_seed)
    for dual, found in zip(duals, solve_whole(rows, duals, workspace, 10**6), strict=True):
        gradient = dual.target - mc.Gaussian(0.4)(X[dual.points]) @ found.coef
        np.testing.assert_allclose(found.gradient, gradient, atol=1e-9)
        exact = certificate(dual, found.coef, gradient, found.bias)
        assert exact.kkt <= 1e-3
        assert found.certificate.primal == pytest.approx(exact.primal, rel=1e-9)
        assert found.certificate.dual == pytest.approx(exact.dual, rel=1e-12)
        assert ((found.coef >= dual.lower) & (found.coef <= dual.upper)).all()
        assert abs(found.coef.sum()) < 1e-9


def test_the_objective_is_that_of_scikit_learn(global_random_seed):
    X, rows, (dual, *_), workspace = _duals(global_random_seed)
    found = solve_whole(rows, [dual], workspace, 10**6)[0]
    peer = SVC(C=5.0, gamma=0.4, tol=1e-8).fit(X[dual.points], dual.target)
    b = peer.dual_coef_[0]
    value = b @ dual.target[peer.support_] - 0.5 * b @ mc.Gaussian(0.4)(X[dual.points][peer.support_]) @ b
    assert found.certificate.dual == pytest.approx(value, rel=1e-6)


def test_a_start_with_coefficients_leads_to_the_same_optimum(global_random_seed):
    _, rows, (dual, *_), workspace = _duals(global_random_seed)
    cold = solve_whole(rows, [dual], workspace, 10**6)[0]
    warm = solve_whole(rows, [replace(dual, coef=0.5 * cold.coef)], workspace, 10**6)[0]
    assert warm.certificate.dual == pytest.approx(cold.certificate.dual, rel=1e-6)


def test_rows_are_counted_from_the_support_vectors_to_all_points():
    _, rows, duals, workspace = _duals(0)
    for dual, found in zip(duals, solve_whole(rows, duals, workspace, 10**6), strict=True):
        assert np.count_nonzero(found.coef) <= found.n_rows < len(dual.coef)
    values = rows.square(np.arange(300))
    for dual, found in zip(duals, solve_whole(rows, duals, workspace, 10**6, values), strict=True):
        # those that are copied
        assert np.count_nonzero(found.coef) <= found.n_rows < len(dual.coef)


def test_a_callback_that_returns_true_ends_the_training():
    _, rows, duals, workspace = _duals(0)
    calls = []
    found = solve_whole(rows, duals, replace(workspace, callback=lambda violation: not calls.append(violation)), 5)
    assert len(calls) == 1
    assert all(each.n_iter <= 5 for each in found)


def test_values_of_any_kernel_lead_to_the_solutions_of_rows_on_demand(global_random_seed):
    X, rows, duals, workspace = _duals(global_random_seed)
    others = with_values(PlainRows(2.0 * mc.Gaussian(0.4), X), duals, Options(1e-3))
    assert fits(others, duals, len(workspace.buffer))
    # twice the kernel and half of the bounds
    halved = [replace(dual, lower=dual.lower / 2, upper=dual.upper / 2) for dual in duals]
    found, expected = solve_whole(others, halved, workspace, 10**6), solve_whole(rows, duals, workspace, 10**6)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(2 * one.coef, other.coef, atol=1e-6)
        assert one.violation < 1e-9


@pytest.mark.parametrize("C", [1e2, 2e2])
def test_steps_go_on_where_large_bounds_make_a_small_violation_a_large_gap(C, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    # separable, so that the objective does not grow with C; more variables than are refined
    X = np.concatenate([rng.normal(size=(400, 5)) - 2, rng.normal(size=(400, 5)) + 2])
    y = np.repeat([0, 1], 400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mc.SVC(C, kernel=mc.Gaussian(1.0)).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.gap < 0.01 * found.primal
    peer = SVC(C=C, gamma=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)


def test_values_are_computed_only_where_duals_and_their_memory_allow():
    X, rows, duals, _ = _duals(0)
    plain, most = PlainRows(2.0 * mc.Gaussian(0.4), X), Options(1e-3, memory=10**7)
    assert isinstance(with_values(plain, duals, most), KnownRows)
    assert with_values(rows, duals, most) is rows
    assert with_values(plain, duals, replace(most, memory=8 * 300**2)) is plain
    # two workers need two buffers
    assert with_values(plain, duals, replace(most, memory=3 * 10**6), 2) is plain
    assert with_values(plain, [replace(duals[0], total=1.0)], most) is plain


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classifiers_with_a_sum_of_kernels_have_the_objectives_of_scikit_learn(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(300, 4)).astype(dtype)
    y = np.argmax(X[:, :3] + 0.4 * rng.normal(size=(300, 3)), axis=1)
    kernel = 0.5 * mc.Gaussian(0.3) + mc.Polynomial(2, 0.2) * mc.Gaussian(0.1)
    model = mc.SVC(3.0, kernel=kernel).fit(X, y)
    K = kernel(X.astype(np.float64))
    peer = SVC(C=3.0, kernel="precomputed", tol=1e-8, decision_function_shape="ovo").fit(K, y)
    model.set_params(decision_function_shape="ovo")
    atol = 1e-2 if dtype == np.float64 else 2e-2
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(K), atol=atol)
    assert max(found.kkt for found in np.ravel([mc.certify(model, X, y)])) <= 1e-3


@pytest.fixture
def _pausing(monkeypatch):
    """Pause after about 30 steps."""
    monkeypatch.setattr(whole, "_WORK", 40_000)


@pytest.mark.usefixtures("_pausing")
def test_pauses_change_nothing(global_random_seed):
    _, rows, duals, workspace = _duals(global_random_seed)
    calls = []
    workspace = replace(workspace, callback=lambda violation: bool(calls.append(violation)))
    solutions = solve_whole(rows, duals, workspace, 10**6)
    for dual, found in zip(duals, solutions, strict=True):
        exact = solve(rows, dual, replace(workspace, tol=1e-8, callback=None))
        assert found.violation <= 1e-3
        assert found.certificate.dual == pytest.approx(objective(dual, exact.coef, exact.gradient), rel=1e-6)
    # 40 000 of work are 40 000 / 1320 steps over 300 variables in whole lanes
    n_iter = sum(each.n_iter for each in solutions)
    assert n_iter / 34 <= len(calls) <= n_iter / 20 + 6


@pytest.mark.usefixtures("_pausing")
def test_duals_after_a_stop_are_left_at_their_starts():
    _, rows, duals, workspace = _duals(0)
    found = solve_whole(rows, duals, replace(workspace, callback=lambda _: True), 10**6)
    assert 0 < found[0].n_iter <= 30
    assert [each.n_iter for each in found[1:]] == [0, 0]
    assert [each.violation for each in found[1:]] == [np.inf, np.inf]
    assert not any(each.coef.any() for each in found[1:])


def test_plain_duals_of_moderate_size_with_room_for_all_rows_fit():
    _, rows, (dual, *_), _ = _duals(0)
    # all rows, and copies of those near the margin
    assert fits(rows, [dual], 304**2 + 224**2)
    assert not fits(rows, [dual], 304**2 + 224**2 - 1)
    assert not fits(rows, [replace(dual, total=1.0)], 10**9)
    assert not fits(rows, [replace(dual, ridge=np.ones(300))], 10**9)
    assert not fits(rows, [replace(dual, upper=np.full(300, np.inf))], 10**9)
    assert not fits(rows_of(mc.Gaussian(1.0) + mc.Linear(), rows.points, 1.0), [dual], 10**9)
    assert LARGEST == 8192


def test_moderate_duals_are_solved_in_one_call():
    _, rows, duals, workspace = _duals(0)
    calls = []
    workspace = replace(workspace, callback=lambda violation: bool(calls.append(violation)))
    found = solve_whole(rows, duals, workspace, 10**6)
    assert len(calls) == 1
    assert all(each.violation <= 1e-3 for each in found)


def test_another_kernel_compiles_only_the_loop_of_its_rows(global_random_seed):
    X, rows, (dual, *_), workspace = _duals(global_random_seed)
    solve_whole(rows, [dual], workspace, 10**6)
    before = len(whole._solve.dispatcher.overloads)
    rows = rows_of(mc.Cauchy(0.3), X, 0.0)
    found = solve_whole(rows, [dual], workspace, 10**6)[0]
    assert len(whole._solve.dispatcher.overloads) == before
    np.testing.assert_allclose(found.gradient, dual.target - mc.Cauchy(0.3)(X[dual.points]) @ found.coef, atol=1e-9)


@pytest.mark.parametrize("kernel", [mc.Gaussian(1e-3), mc.Polynomial(2, gamma=1e-3, coef0=1.0)])
def test_rows_of_many_columns_have_the_solution_of_rows_on_demand(kernel, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    n = 200
    X = rng.normal(size=(n, WIDE))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    dual = Dual(y, np.minimum(5 * y, 0), np.maximum(5 * y, 0), np.zeros(n), np.arange(n))
    rows = rows_of(kernel, X, 0.0)
    workspace = Workspace.allocate(rows, n, Options(1e-4))
    values = wide_values(rows, dual, workspace)
    np.testing.assert_allclose(values, kernel(X), rtol=1e-5, atol=1e-6)
    known, found = (solve_whole(rows, [dual], workspace, 10**6, each)[0] for each in (values, None))
    assert known.violation <= 1e-4
    assert objective(dual, known.coef, known.gradient) == pytest.approx(
        objective(dual, found.coef, found.gradient), rel=1e-6
    )


def test_few_columns_few_variables_and_little_memory_leave_values_unknown():
    X = np.random.default_rng(0).normal(size=(100, WIDE))
    y = np.ones(100)
    dual = Dual(y, 0 * y, y, np.zeros(100), np.arange(100))
    rows = rows_of(mc.Gaussian(1e-3), X, 0.0)
    workspace = Workspace.allocate(rows, 100, Options(1e-3))
    assert wide_values(rows, dual, workspace) is not None
    assert wide_values(rows, dual.take(np.arange(50)), workspace) is None
    assert wide_values(rows, dual, replace(workspace, spare=100 * 100 * 4 - 1)) is None
    assert wide_values(rows_of(mc.Gaussian(1e-3), X[:, :100], 0.0), dual, workspace) is None
