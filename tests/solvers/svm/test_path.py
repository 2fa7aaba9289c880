"""Paths over C: every solution is optimal, held-out variables rest, and starts are feasible."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVR

import mercer as mc
from mercer.solvers.svm import path, solve_dual
from mercer.solvers.svm.dual import Dual, objective
from mercer.solvers.svm.pairs import subproblems
from mercer.solvers.svm.path import (
    LazyValues,
    LinearValues,
    StoredValues,
    kernel_values,
    solve_path,
    with_values,
)
from mercer.solvers.svm.rounds import copied_values
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.workspace import Options, Workspace

N = 300
CS = np.logspace(-2, 2, 7)


def unit(sign, weight=None):
    """Return the dual of a classifier for C = 1."""
    bound = sign if weight is None else sign * weight
    return Dual(sign, np.minimum(bound, 0), np.maximum(bound, 0), np.zeros(len(sign)), np.arange(len(sign)))


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    sign = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
    return rows_of(mc.Gaussian(0.3), X, 1e-12), mc.Gaussian(0.3)(X), sign


def values_of(kind, rows):
    if kind == "stored":
        return StoredValues(rows, np.arange(N), np.float64)
    return LazyValues(rows, np.arange(N), Workspace(1e-3, 10**6, np.empty(512 * 100)))


@pytest.mark.parametrize("work", [10**8, 10**5], ids=["at once", "in parts"])
def test_every_solution_meets_the_optimality_conditions_and_leaves_out_what_is_held_out(problem, work, monkeypatch):
    monkeypatch.setattr(path, "_WORK", work)
    rows, K, sign = problem
    weight = np.ones(N)
    weight[::10], weight[1::10] = 0, 2
    solutions = solve_path(values_of("stored", rows), unit(sign, weight), CS, Options(1e-6, 10**6))
    for C, found in zip(CS, solutions, strict=True):
        alpha, gradient = sign * found.coef, sign - K @ found.coef
        assert (alpha >= 0).all()
        assert (alpha <= C * weight).all()
        assert abs(found.coef.sum()) < 1e-9 * C * N
        np.testing.assert_allclose(found.gradient, gradient, atol=1e-7)
        rise, fall = (
            np.where(sign > 0, alpha < C * weight, alpha > 0),
            np.where(sign > 0, alpha > 0, alpha < C * weight),
        )
        assert gradient[rise].max() - gradient[fall].min() <= 2e-6
        assert gradient[fall].min() - 1e-6 <= found.bias <= gradient[rise].max() + 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_solutions_end_at_a_gap_relative_to_the_loss_of_the_function_0(problem, gap, dtype):
    rows, K, sign = problem
    values = StoredValues(rows, np.arange(N), np.dtype(dtype))
    exact = solve_path(values, unit(sign), CS, Options(1e-5))
    coarse = solve_path(values, unit(sign), CS, Options(1e-5), gap)
    assert sum(each.n_iter for each in coarse) < 0.7 * sum(each.n_iter for each in exact)
    for C, found, best in zip(CS, coarse, exact, strict=True):
        loss = C * np.maximum(0, 1 - sign * (K @ found.coef + found.bias)).sum()
        primal = loss + 0.5 * found.coef @ K @ found.coef
        dual = 0.5 * best.coef @ (sign + best.gradient)
        assert -1e-6 * primal <= primal - dual <= 1.001 * gap * C * N
        assert found.violation <= 1e-5


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_regression_is_solved_for_all_C(problem, epsilon, global_random_seed):
    rows, K, _ = problem
    y = np.random.default_rng(global_random_seed).standard_normal(N)
    dual = Dual(y, -np.ones(N), np.ones(N), np.zeros(N), np.arange(N), epsilon)
    stored, lazy = (solve_path(values_of(kind, rows), dual, CS, Options(1e-5)) for kind in ("stored", "lazy"))
    for C, found, other in zip(CS, stored, lazy, strict=True):
        peer = SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-6).fit(K, y)
        np.testing.assert_allclose(K @ found.coef + found.bias, peer.predict(K), atol=1e-3)
        np.testing.assert_allclose(other.gradient + other.bias, found.gradient + found.bias, atol=5e-2)


def test_rows_that_are_not_kept_give_the_same_objectives():
    rng = np.random.default_rng(4)
    n, Cs = 1400, [0.1, 1.0]
    X = rng.normal(size=(n, 3))
    sign, weight = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0), np.ones(n)
    weight[::10] = 0
    rows, everything = rows_of(mc.Gaussian(0.3), X, 1e-12), np.arange(n)
    workspace = Workspace(1e-5, 10**6, np.empty(1024 * 1536))
    kept, lazy = (
        solve_path(values, unit(sign, weight), Cs, Options(1e-5, 10**6))
        for values in (StoredValues(rows, everything, np.float64), LazyValues(rows, everything, workspace))
    )
    for one, other in zip(kept, lazy, strict=True):
        assert other.violation <= 1e-5
        assert not other.coef[::10].any()
        np.testing.assert_allclose(*(each.coef @ (sign + each.gradient) for each in (one, other)), rtol=1e-6)


def test_neighbours_save_steps(problem):
    rows, _, sign = problem
    values = values_of("stored", rows)
    neighbours = solve_path(values, unit(sign), CS, Options(1e-3, 10**6))
    alone = [solve_path(values, unit(sign), [C], Options(1e-3, 10**6))[0] for C in CS]
    assert sum(each.n_iter for each in neighbours) < sum(each.n_iter for each in alone)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_alone_is_a_constant(problem, sign):
    rows, _, _ = problem
    solutions = solve_path(values_of("stored", rows), unit(np.full(N, sign)), CS, Options(1e-3, 9))
    assert [(each.bias, each.coef.any()) for each in solutions] == [(sign, False)] * len(CS)


def test_steps_for_each_C_are_limited(problem, monkeypatch):
    monkeypatch.setattr(path, "_WORK", 10_000)
    rows, _, sign = problem
    stored, lazy = (
        [each.n_iter for each in solve_path(values_of(kind, rows), unit(sign), CS, Options(1e-9, 20))]
        for kind in ("stored", "lazy")
    )
    assert lazy == [20] * len(CS)
    # at the smallest C almost all pairs move to their bounds at once, without steps
    assert stored[2:] == lazy[2:]
    assert max(stored[:2]) < 20


def test_without_any_weight_the_bias_is_0(problem):
    rows, _, sign = problem
    (found,) = solve_path(values_of("stored", rows), unit(sign, np.zeros(N)), [1.0], Options(1e-3))
    assert (found.bias, found.coef.any()) == (0, False)


def test_values_are_stored_if_memory_holds_them_and_the_copies_of_each_worker():
    rows = rows_of(mc.Gaussian(0.3), np.random.default_rng(0).normal(size=(2000, 3)), np.inf)
    chosen = unit(np.where(np.arange(2000) % 2, 1.0, -1.0))
    stored, copy = 2000 * 2000 * 4, copied_values(2000) * 4
    for workers in (1, 3):
        needed = stored + workers * copy
        for memory, kind in ((needed, StoredValues), (needed - 4, LazyValues)):
            found = kernel_values(rows, chosen, Options(1e-3, memory=memory), np.float32, workers)
            assert type(found) is kind
    # more than the block of float32 that float64 values are converted from
    needed = 2000 * 2000 * 8 + max(2000**2 * 4, copied_values(2000) * 8)
    for memory, kind in ((needed, StoredValues), (needed - 8, LazyValues)):
        assert type(kernel_values(rows, chosen, Options(1e-3, memory=memory), np.float64)) is kind


def test_classifiers_over_the_same_points_share_their_values():
    rows = rows_of(mc.Gaussian(0.3), np.random.default_rng(0).normal(size=(30, 3)), 0.0)
    for multi_class, distinct in (("ovr", 1), ("ovo", 3)):
        duals, seen = [each.dual(np.ones(30)) for each in subproblems([10, 10, 10], multi_class)], []
        with_values(rows, duals, Options(1e-3), np.float64, lambda *args, seen=seen: seen.append(args))
        assert [args[:2] for args in seen] == list(enumerate(duals))
        assert len({id(values) for _, _, values in seen}) == distinct


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_a_linear_kernel_beyond_the_memory_needs_no_kernel_values(global_random_seed, wrap):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(1200, 4)) + np.array([3.0, 0, 0, 0])
    sign = np.where(X[:, 0] - 3 + X[:, 1] + rng.normal(size=1200) > 0, 1.0, -1.0)
    # a sixth is held out
    dual, options = unit(sign, np.sqrt(np.arange(1200) % 6)), Options(1e-7, memory=10**6)
    rows = rows_of(mc.Linear(), wrap(X), 0.0)
    values = kernel_values(rows, dual, options, np.float64)
    assert type(values) is LinearValues
    assert type(kernel_values(rows, dual.take(np.arange(999)), options, np.float64)) is LazyValues
    stored = solve_path(StoredValues(rows, np.arange(1200), np.dtype(float)), dual, CS, options)
    for C, one, other in zip(CS, solve_path(values, dual, CS, options), stored, strict=True):
        assert one.violation <= 1e-7
        np.testing.assert_allclose(one.gradient, sign - X @ (X.T @ one.coef), atol=1e-9)
        np.testing.assert_allclose(one.gradient - one.bias, other.gradient - other.bias, atol=1e-5)
        np.testing.assert_array_equal(one.coef[::6], 0)
        assert objective(dual, one.coef, one.gradient) == pytest.approx(
            objective(dual, other.coef, other.gradient), rel=1e-7
        )
        assert (np.abs(one.coef) <= C * np.sqrt(5)).all()


@pytest.mark.parametrize("kind", ["stored", "lazy"])
@pytest.mark.parametrize(("scale", "offset", "solved"), [(1e3, 1e5, True), (1e5, 1e8, False)])
def test_where_steps_over_pairs_stall_newton_steps_solve_or_the_violation_is_reported(kind, scale, offset, solved):
    # kernel values of 1e10 are rounded by 1e-6, those of 1e16 by 2
    rng = np.random.default_rng(0)
    X, sign = scale * rng.standard_normal((N, 2)) + offset, np.where(rng.random(N) < 0.5, -1.0, 1.0)
    own = np.arange(N) < 40
    rows = rows_of(mc.Linear(), X, 0.0)
    (found,) = solve_path(values_of(kind, rows), unit(sign, 1.0 * own), [1.0], Options(1e-3))
    assert found.n_iter < 10**6
    assert not found.coef[~own].any()
    assert (found.violation <= 1e-3) == solved
    if solved:
        dual = unit(sign).take(own)
        alone = solve_dual(rows_of(mc.Linear(), X - X.mean(axis=0), 0.0), dual, Options(1e-6)).certificate
        value = objective(dual, found.coef[own], found.gradient[own])
        assert alone.dual - 0.1 <= value <= alone.primal + 1e-2


@pytest.mark.parametrize("kind", ["stored", "lazy"])
@pytest.mark.parametrize("Cs", [[1e-16, 1.0], [1e-320, 1.0], np.logspace(-18, 0, 10)], ids=["far", "tiny", "steps"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_start_from_tiny_values_of_C_hides_no_violation(problem, kind, Cs, epsilon):
    rows, K, sign = problem
    target = sign if epsilon == 0 else sign * np.linspace(0.5, 1.5, N)
    low, high = (-np.ones(N), np.ones(N)) if epsilon else (np.minimum(sign, 0), np.maximum(sign, 0))
    dual = Dual(target, low, high, np.zeros(N), np.arange(N), epsilon)
    found = solve_path(values_of(kind, rows), dual, Cs, Options(1e-3))[-1]
    alone = solve_path(values_of(kind, rows), dual, [1.0], Options(1e-3))[0]
    np.testing.assert_allclose(found.gradient, target - K @ found.coef, atol=1e-5)
    assert found.violation <= 1e-3
    assert objective(dual, found.coef, found.gradient) == pytest.approx(
        objective(dual, alone.coef, alone.gradient), rel=1e-3
    )
