"""Several binary classifiers: which points they see, the layout of their coefficients, votes, training."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm import decomposition, one_vs_one, solve_dual
from mercer.solvers.svm.bias import violation_of
from mercer.solvers.svm.one_vs_one import solve_duals
from mercer.solvers.svm.pairs import (
    subproblems,
)
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.workspace import Options

COUNTS = np.array([2, 1, 3])


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


# --- training ---------------------------------------------------------------------------------------------------------


def problem(rng, multi_class):
    counts = np.array([30, 20, 25])
    points = rng.standard_normal((75, 3))
    found = subproblems(counts, multi_class)
    duals, options = [each.dual(np.full(75, 2.0)) for each in found], Options(1e-8)
    return options.rows(mc.Gaussian(0.5), points, duals), duals, found, options


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_parallel_solutions_are_those_of_each_dual_alone(rng, multi_class):
    rows, duals, found, options = problem(rng, multi_class)
    for dual, solution in zip(duals, solve_duals(rows, duals, found, options), strict=True):
        alone = solve_dual(rows, dual, options)
        np.testing.assert_allclose(solution.coef, alone.coef, atol=1e-8)
        np.testing.assert_allclose(solution.bias, alone.bias, atol=1e-8)
        assert solution.violation <= 1e-8


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_changes_nothing(rng, monkeypatch, workers, together):
    rows, duals, found, options = problem(rng, "ovo")
    alone = [solve_dual(rows, dual, options) for dual in duals]
    asked, allocate = [], one_vs_one.Workspace.allocate
    monkeypatch.setattr(
        one_vs_one.Workspace, "allocate", lambda *args: asked.append((args[1], args[3])) or allocate(*args)
    )
    monkeypatch.setattr(one_vs_one, "count_threads", lambda: workers)
    monkeypatch.setattr(one_vs_one, "THREADED", 0)
    if not together:
        monkeypatch.setattr(one_vs_one, "fits", lambda *_: False)
    for solution, expected in zip(solve_duals(rows, duals, found, options), alone, strict=True):
        np.testing.assert_allclose(solution.coef, expected.coef, atol=1e-8)
    # the largest dual has 55 points
    assert asked == [(55, workers)] * workers


def test_small_duals_are_solved_in_parts_that_become_shorter(monkeypatch):
    counts = np.r_[np.full(6, 4), 20]
    rows = FusedRows(mc.Gaussian(0.5), np.random.default_rng(0).standard_normal((44, 2)), np.float64)
    found = subproblems(counts, "ovo")
    duals, parts = [each.dual(np.ones(44)) for each in found], []
    solve = one_vs_one.solve_whole
    monkeypatch.setattr(one_vs_one, "count_threads", lambda: 2)
    monkeypatch.setattr(one_vs_one, "THREADED", 0)
    monkeypatch.setattr(
        one_vs_one,
        "solve_whole",
        lambda rows, part, *rest: parts.append([len(d.points) for d in part]) or solve(rows, part, *rest),
    )
    assert all(each.violation <= 1e-3 for each in solve_duals(rows, duals, found, Options(1e-3)))
    # 15 classifiers of 8 points and 6 of 24, of which two that are far apart show how many rows are needed
    work = [sum(size**2 for size in part) for part in parts]
    assert sorted(sum(parts, [])) == [8] * 15 + [24] * 6
    sizes = np.array([len(dual.points) for dual in duals])
    assert sorted(work[:2]) == sorted(sizes[[5, 15]] ** 2)
    # one part before the first, one between both, and shorter ones
    before, between, after = (np.sum(sizes[part] ** 2) for part in (slice(5), slice(6, 15), slice(16, 21)))
    longest = [before, between, *[after / 4] * 4]
    assert len(work) <= 2 + len(longest)
    assert all(np.sort(work[2:])[::-1] <= np.sort(longest)[::-1][: len(work) - 2] + 24**2)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_dual_that_compiled_code_does_not_finish_goes_on_where_it_ended_and_counts_all_steps(
    rng, monkeypatch, multi_class
):
    rows, duals, found, options = problem(rng, multi_class)
    ended, solve = [], one_vs_one.solve_dual
    monkeypatch.setattr(one_vs_one, "steps_of_a_round", lambda _: 7)
    monkeypatch.setattr(one_vs_one, "solve_dual", lambda *args: ended.append(args[3]) or solve(*args))
    solutions = list(solve_duals(rows, duals, found, options))
    assert [each.n_iter for each in ended] == [7] * len(duals)
    for dual, solution in zip(duals, solutions, strict=True):
        np.testing.assert_allclose(solution.coef, solve(rows, dual, options).coef, atol=1e-8)
        assert solution.violation <= 1e-8
        assert solution.n_iter >= 7


def test_one_dual_goes_to_compiled_code_with_others_unless_it_is_small(rng, monkeypatch):
    together, solve = [], one_vs_one.solve_whole
    monkeypatch.setattr(one_vs_one, "solve_whole", lambda *args: together.append(len(args[1])) or solve(*args))
    for n in (500, 502):
        points, options = rng.standard_normal((n, 2)), Options(1e-6)
        found = subproblems(np.array([n // 2, n // 2]), "ovo")
        duals = [each.dual(np.full(n, 1.0)) for each in found]
        rows = options.rows(mc.Gaussian(0.5), points, duals)
        (solution,) = solve_duals(rows, duals, found, options)
        alone = solve_dual(rows, duals[0], options)
        assert solution.certificate.dual == pytest.approx(alone.certificate.dual, rel=1e-9)
        assert solution.certificate.gap <= 1e-4 * alone.certificate.primal
    assert together == [1]


def _several_classes(seed, d, n=400, C=5.0):
    """Return rows, duals, subproblems and options of ten classes in d dimensions, in float32."""
    rng = np.random.default_rng(seed)
    counts = np.full(10, n // 10)
    X = np.repeat(rng.standard_normal((10, d)), n // 10, axis=0) + 1.5 * rng.standard_normal((n, d))
    found = subproblems(counts, "ovo")
    rows = FusedRows(mc.Gaussian(0.3 / d), X, np.float32)
    return rows, [each.dual(np.full(n, C)) for each in found], found


@pytest.mark.parametrize("workers", [1, 3])
def test_kernel_values_between_all_points_are_computed_once_where_duals_need_many_rows(monkeypatch, workers):
    rows, duals, found = _several_classes(0, 200)
    seen, solve = [], one_vs_one.solve_whole
    monkeypatch.setattr(one_vs_one, "count_threads", lambda: workers)
    monkeypatch.setattr(one_vs_one, "solve_whole", lambda *args: seen.append((len(args[1]), args[4])) or solve(*args))
    shared = solve_duals(rows, duals, found, Options(1e-4))
    # three of 45 equal duals show what is needed
    assert sum(number for number, values in seen if values is None) == 3
    assert sum(number for number, values in seen if values is not None) == 42
    monkeypatch.setattr(one_vs_one, "_sharing_pays", lambda *_: False)
    for dual, one, other in zip(duals, shared, solve_duals(rows, duals, found, Options(1e-4)), strict=True):
        gradient = dual.target - mc.Gaussian(0.3 / 200)(rows.points[dual.points]) @ one.coef
        assert violation_of(gradient, one.coef, dual) <= 1.1e-4
        assert one.certificate.dual == pytest.approx(other.certificate.dual, rel=1e-5)


def test_kernel_values_are_not_shared_beyond_half_of_the_memory_or_where_few_rows_are_needed(monkeypatch):
    rows, duals, found = _several_classes(0, 200)
    monkeypatch.setattr(one_vs_one, "_sharing_pays", lambda *_: pytest.fail("memory does not hold the values"))
    solve_duals(rows, duals, found, Options(1e-4, memory=2 * 400**2 * 4 - 1))
    monkeypatch.undo()
    # of 400 x 0.5 values 45 duals of 80 points need n rows each
    sizes, half = np.full(45, 80.0), 0.5 * 400**2
    for n in range(81):
        solutions = [SimpleNamespace(coef=np.zeros(80), n_rows=n)] * 6
        needed, left = 39 * 80 * n * (rows.width + 20), 39 * 80**2
        pays = needed > half * (rows.width / 3 + 20) + 32 * left
        assert one_vs_one._sharing_pays(rows, solutions, sizes) == pays


def test_kernel_values_of_each_class_are_computed_once_if_half_of_the_memory_holds_them(rng, monkeypatch):
    rows, duals, found, _ = problem(rng, "ovo")
    seen = []
    monkeypatch.setattr(one_vs_one, "solve_dual", lambda *args: seen.append(args[2]))
    # as for duals too large for compiled code
    monkeypatch.setattr(one_vs_one, "fits", lambda *_: False)
    needed = 2 * 8 * (30**2 + 20**2 + 25**2)
    for memory, shared in ((needed, True), (needed - 2, False)):
        seen.clear()
        solve_duals(rows, duals, found, Options(1e-3, memory=memory))
        assert all(bool(each.shared) == shared for each in seen)
    # the block of class 1 is the first part of the last pair
    solve_duals(rows, duals, found, Options(1e-3))
    place, block = seen[-1].shared[0]
    assert place == slice(0, 20)
    np.testing.assert_allclose(block, mc.Gaussian(0.5)(rows.points[30:50]), atol=1e-14)


def test_one_vs_rest_computes_each_value_of_a_costly_kernel_once(rng, monkeypatch):
    plain, duals, found, options = problem(rng, "ovr")
    computed = []

    def counted(X, Z):
        computed.append((len(X), len(Z)))
        return mc.Gaussian(0.5)(X, Z)

    rows = PlainRows(mc.FunctionKernel(counted), plain.points)
    computed.clear()
    # sweeps over some of the variables
    monkeypatch.setattr(decomposition, "_FIRST", 16)
    solutions = solve_duals(rows, duals, found, options)
    assert computed[0] == (75, 75)
    # Newton steps compute the rows of free variables in float64
    assert all(n < 30 for n, _ in computed[1:])
    for dual, solution in zip(duals, solutions, strict=True):
        np.testing.assert_allclose(solution.coef, solve_dual(plain, dual, options).coef, atol=1e-7)


def test_values_are_not_shared_by_one_classifier_or_by_solvers_that_do_not_use_them(rng, monkeypatch):
    rows, duals, found, options = problem(rng, "ovo")
    seen = []
    monkeypatch.setattr(one_vs_one, "solve_dual", lambda *args: seen.append(args[2]))
    solve_duals(rows, duals[:1], found[:1], options)
    for other in (replace(duals[2], total=1.0), replace(duals[2], upper=np.full(45, np.inf))):
        solve_duals(rows, [*duals[:2], other], found, options)
    assert [each.shared for each in seen] == [()] * 7
