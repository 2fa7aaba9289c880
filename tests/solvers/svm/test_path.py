"""Paths over C: every solution is optimal, held-out variables rest, and starts are feasible."""

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm import path, shrinking
from mercer.solvers.svm.path import LazyValues, StoredValues, along, start
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.smo import Solution

N = 300
CS = np.logspace(-2, 2, 7)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    sign = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
    return rows_of(mc.Gaussian(0.3), X, 1e-12), mc.Gaussian(0.3)(X), sign


def values_of(kind, rows):
    if kind == "stored":
        return StoredValues(rows, np.arange(N), np.float64)
    return LazyValues(rows, np.arange(N), np.empty(512 * 100))


@pytest.mark.parametrize(("few", "part"), [(2000, 0.6), (5, 2.0)], ids=["whole", "in parts"])
def test_every_solution_meets_the_optimality_conditions_and_leaves_out_what_is_held_out(
    problem, few, part, monkeypatch
):
    monkeypatch.setattr(path, "_FEW", few)
    monkeypatch.setattr(shrinking, "_PART", part)
    rows, K, sign = problem
    weight = np.ones(N)
    weight[::10], weight[1::10] = 0, 2
    solutions = along(values_of("stored", rows), sign, np.arange(N), weight, CS, tol=1e-6, max_iter=10**6)
    for C, found in zip(CS, solutions, strict=True):
        alpha, scores = sign * found.coef, sign - K @ found.coef
        assert (alpha >= 0).all()
        assert (alpha <= C * weight).all()
        assert abs(found.coef.sum()) < 1e-9 * C * N
        np.testing.assert_allclose(found.scores, scores, atol=1e-7)
        rise, fall = (
            np.where(sign > 0, alpha < C * weight, alpha > 0),
            np.where(sign > 0, alpha > 0, alpha < C * weight),
        )
        assert scores[rise].max() - scores[fall].min() <= 2e-6


def test_rows_that_are_not_kept_give_the_same_objectives():
    rng = np.random.default_rng(4)
    n, Cs = 1400, [0.1, 1.0]
    X = rng.normal(size=(n, 3))
    sign, weight = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0), np.ones(n)
    weight[::10] = 0
    rows, everything = rows_of(mc.Gaussian(0.3), X, 1e-12), np.arange(n)
    kept, lazy = (
        along(values, sign, everything, weight, Cs, tol=1e-5, max_iter=10**6)
        for values in (
            StoredValues(rows, everything, np.float64), LazyValues(rows, everything, np.empty(1024 * 1536))
        )
    )  # fmt: skip
    for one, other in zip(kept, lazy, strict=True):
        assert other.violation <= 1e-5
        assert not other.coef[::10].any()
        np.testing.assert_allclose(*(each.coef @ (sign + each.scores) for each in (one, other)), rtol=1e-6)


def test_neighbours_save_steps(problem):
    rows, _, sign = problem
    values = values_of("stored", rows)
    neighbours = along(values, sign, np.arange(N), np.ones(N), CS, tol=1e-3, max_iter=10**6)
    alone = [along(values, sign, np.arange(N), np.ones(N), [C], tol=1e-3, max_iter=10**6)[0] for C in CS]
    assert sum(each.n_iter for each in neighbours) < sum(each.n_iter for each in alone)


def test_products_are_those_of_the_kernel_matrix(problem):
    rows, K, _ = problem
    coef, chosen = np.random.default_rng(0).normal(size=(N, 2)), np.array([3, 7, 250])
    for kind in ("stored", "lazy"):
        np.testing.assert_allclose(values_of(kind, rows).product(chosen, coef), K[chosen] @ coef, atol=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_alone_is_a_constant(problem, sign):
    rows, _, _ = problem
    solutions = along(values_of("stored", rows), np.full(N, sign), np.arange(N), np.ones(N), CS, tol=1e-3, max_iter=9)
    assert [(each.bias, each.coef.any()) for each in solutions] == [(sign, False)] * len(CS)


@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.5, 100.0])
def test_a_start_is_the_best_multiple_within_the_bounds(problem, ratio):
    rows, K, sign = problem
    found = along(values_of("stored", rows), sign, np.arange(N), np.ones(N), [1.0], tol=1e-8, max_iter=10**6)[0]
    lower, upper = np.minimum(ratio * sign, 0), np.maximum(ratio * sign, 0)
    coef, scores = start(sign, found, lower, upper, ratio)
    assert (coef >= lower).all()
    assert (coef <= upper).all()
    np.testing.assert_allclose(scores, sign - K @ coef, atol=1e-6 * ratio)

    def objective(b):
        return sign @ b - 0.5 * b @ K @ b

    multiples = [objective(s * found.coef) for s in np.linspace(0, ratio, 50)]
    assert objective(coef) >= max(multiples) - 1e-9 * abs(max(multiples))


def test_a_start_from_nothing_is_nothing():
    nothing = Solution(np.zeros(2), np.array([1.0, -1.0]), 0.0, 2.0, 0, 0)
    coef, scores = start(np.array([1.0, -1.0]), nothing, np.array([0.0, -2.0]), np.array([2.0, 0.0]), 2.0)
    np.testing.assert_array_equal(coef, 0)
    np.testing.assert_array_equal(scores, [1.0, -1.0])
