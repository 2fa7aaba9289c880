"""Paths over C: every solution is optimal, held-out variables rest, and starts are feasible."""

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm import path, shrinking
from mercer.solvers.svm.dual import Dual, Solution
from mercer.solvers.svm.one_vs_one import subproblems
from mercer.solvers.svm.path import (
    LazyValues,
    StoredValues,
    kernel_values,
    neighbour_start,
    solve_path,
    with_values,
)
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


@pytest.mark.parametrize(("few", "part"), [(2000, 0.6), (5, 2.0)], ids=["whole", "in parts"])
def test_every_solution_meets_the_optimality_conditions_and_leaves_out_what_is_held_out(
    problem, few, part, monkeypatch
):
    monkeypatch.setattr(path, "_FEW", few)
    monkeypatch.setattr(shrinking, "_PART", part)
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


def test_products_are_those_of_the_kernel_matrix(problem):
    rows, K, _ = problem
    coef, chosen = np.random.default_rng(0).normal(size=(N, 2)), np.array([3, 7, 250])
    for kind in ("stored", "lazy"):
        np.testing.assert_allclose(values_of(kind, rows).product(chosen, coef), K[chosen] @ coef, atol=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_alone_is_a_constant(problem, sign):
    rows, _, _ = problem
    solutions = solve_path(values_of("stored", rows), unit(np.full(N, sign)), CS, Options(1e-3, 9))
    assert [(each.bias, each.coef.any()) for each in solutions] == [(sign, False)] * len(CS)


@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.5, 100.0])
def test_a_start_is_the_best_multiple_within_the_bounds(problem, ratio):
    rows, K, sign = problem
    found = solve_path(values_of("stored", rows), unit(sign), [1.0], Options(1e-8, 10**6))[0]
    lower, upper = np.minimum(ratio * sign, 0), np.maximum(ratio * sign, 0)
    coef, gradient = neighbour_start(unit(sign, np.full(N, ratio)), found, ratio)
    assert (coef >= lower).all()
    assert (coef <= upper).all()
    np.testing.assert_allclose(gradient, sign - K @ coef, atol=1e-6 * ratio)

    def objective(b):
        return sign @ b - 0.5 * b @ K @ b

    multiples = [objective(s * found.coef) for s in np.linspace(0, ratio, 50)]
    assert objective(coef) >= max(multiples) - 1e-9 * abs(max(multiples))


def test_coefficients_at_their_bounds_start_at_the_new_bounds_to_the_last_bit():
    sign = np.array([1.0, -1.0, 1.0, -1.0])
    rounded = 0
    for C in np.linspace(0.1, 0.9, 9):
        for larger in np.linspace(1.0, 3.0, 9):
            # no curvature: the multiple is the ratio
            found = Solution(C * sign, sign, 0.0, 0.0, 0)
            coef, _ = neighbour_start(unit(sign, np.full(4, larger)), found, larger / C)
            np.testing.assert_array_equal(coef, larger * sign)
            rounded += C * (larger / C) != larger
    assert rounded > 0


def test_steps_for_each_C_are_limited(problem, monkeypatch):
    monkeypatch.setattr(path, "_FEW", 7)
    rows, _, sign = problem
    for kind in ("stored", "lazy"):
        solutions = solve_path(values_of(kind, rows), unit(sign), CS, Options(1e-9, 20))
        assert [each.n_iter for each in solutions] == [20] * len(CS)


def test_without_any_weight_the_bias_is_0(problem):
    rows, _, sign = problem
    (found,) = solve_path(values_of("stored", rows), unit(sign, np.zeros(N)), [1.0], Options(1e-3))
    assert (found.bias, found.coef.any()) == (0, False)


def test_a_start_from_nothing_is_nothing():
    nothing = Solution(np.zeros(2), np.array([1.0, -1.0]), 0.0, 2.0, 0)
    coef, gradient = neighbour_start(unit(np.array([1.0, -1.0]), np.full(2, 2.0)), nothing, 2.0)
    np.testing.assert_array_equal(coef, 0)
    np.testing.assert_array_equal(gradient, [1.0, -1.0])


def test_values_are_stored_if_memory_holds_them_and_the_copies_of_each_worker():
    rows, chosen = rows_of(mc.Gaussian(0.3), np.random.default_rng(0).normal(size=(2000, 3)), np.inf), np.arange(2000)
    stored, copy = 2000 * 2048 * 4, 1200 * (1200 + 64) * 4
    for workers in (1, 3):
        needed = stored + workers * copy
        for memory, kind in ((needed, StoredValues), (needed - 4, LazyValues)):
            found = kernel_values(rows, chosen, Options(1e-3, memory=memory), np.float32, workers)
            assert type(found) is kind
    # float64 values are converted from a block of float32
    needed = 2000 * 2048 * 8 + 2000**2 * 4
    for memory, kind in ((needed, StoredValues), (needed - 8, LazyValues)):
        assert type(kernel_values(rows, chosen, Options(1e-3, memory=memory), np.float64)) is kind


def test_classifiers_over_the_same_points_share_their_values():
    rows = rows_of(mc.Gaussian(0.3), np.random.default_rng(0).normal(size=(30, 3)), 0.0)
    for multi_class, distinct in (("ovr", 1), ("ovo", 3)):
        duals, seen = [each.dual(np.ones(30)) for each in subproblems([10, 10, 10], multi_class)], []
        with_values(rows, duals, Options(1e-3), np.float64, lambda *args, seen=seen: seen.append(args))
        assert [args[:2] for args in seen] == list(enumerate(duals))
        assert len({id(values) for _, _, values in seen}) == distinct
