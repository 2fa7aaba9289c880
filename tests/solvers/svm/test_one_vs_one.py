"""Several binary classifiers: which points they see, the layout of their coefficients, votes, training."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.multiclass import _ovr_decision_function

import mercer as mc
from mercer._compute.points import Points
from mercer.gram import kept_product
from mercer.solvers.svm import decomposition, one_vs_one, solve_dual
from mercer.solvers.svm.bias import violation_of
from mercer.solvers.svm.one_vs_one import (
    class_pairs,
    class_signs,
    class_slices,
    class_values,
    decide,
    is_packed,
    is_paired,
    pack,
    pair_columns,
    pair_values,
    solve_duals,
    subproblems,
    unpack,
    votes,
)
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.workspace import Options

COUNTS = np.array([2, 1, 3])


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


# --- layout -----------------------------------------------------------------------------------------------------------


def test_a_class_is_positive_in_pairs_that_it_begins_and_negative_in_those_that_it_ends():
    assert class_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    np.testing.assert_array_equal(class_signs(3, "ovo"), [[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
    np.testing.assert_array_equal(class_signs(3, "ovr"), [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    for multi_class in ("ovo", "ovr"):
        np.testing.assert_array_equal(class_signs(2, multi_class), [[-1], [1]])


def test_pairs_see_their_two_classes_and_share_the_points_of_each():
    found = subproblems(COUNTS, "ovo")
    assert [each.points.tolist() for each in found] == [[0, 1, 2], [0, 1, 3, 4, 5], [2, 3, 4, 5]]
    assert [each.sign.tolist() for each in found] == [[1, 1, -1], [1, 1, -1, -1, -1], [1, -1, -1, -1]]
    assert [[each.span(part) for part in each.parts] for each in found] == [
        [(0, 2), (2, 3)],
        [(0, 2), (3, 6)],
        [(2, 3), (3, 6)],
    ]


def test_one_against_the_rest_sees_all_points_as_one_part():
    found = subproblems(COUNTS, "ovr")
    assert [each.points.tolist() for each in found] == [list(range(6))] * 3
    assert [each.sign.tolist() for each in found][1] == [-1, -1, 1, -1, -1, -1]
    assert [[each.span(part) for part in each.parts] for each in found] == [[(0, 6)]] * 3


def test_two_classes_make_one_classifier_in_which_the_second_is_positive():
    for multi_class in ("ovo", "ovr"):
        (found,) = subproblems([2, 1], multi_class)
        assert found.sign.tolist() == [-1, -1, 1]


def test_the_dual_of_a_classifier_bounds_each_coefficient_by_its_C_with_the_sign_of_its_class():
    dual = subproblems(COUNTS, "ovo")[1].dual(np.array([1.0, 2.0, 9.0, 4.0, 5.0, np.inf]), total=3.0)
    np.testing.assert_array_equal(dual.upper, [1, 2, 0, 0, 0])
    np.testing.assert_array_equal(dual.lower, [0, 0, -4, -5, -np.inf])
    np.testing.assert_array_equal(dual.target, [1, 1, -1, -1, -1])
    assert (dual.total, dual.coef.any()) == (3.0, False)


def test_packed_coefficients_unpack():
    found = subproblems(COUNTS, "ovo")
    coefs = [np.arange(1.0, 1 + len(each.points)) + 10 * k for k, each in enumerate(found)]
    full = np.zeros((6, 3))
    for k, each in enumerate(found):
        full[each.points, k] = coefs[k]
    packed = pack(np.concatenate(coefs), COUNTS, "ovo")
    # column k belongs to the k-th other class
    np.testing.assert_array_equal(packed[2], [3, 21])
    np.testing.assert_array_equal(unpack(packed, COUNTS), full)
    np.testing.assert_array_equal(pair_columns(3), [[0, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(pack(np.tile(coefs[0], 2), [3], "ovr"), np.column_stack(coefs[:1] * 2))


def test_only_pairs_of_three_classes_are_packed():
    assert [is_paired(c, kind) for c, kind in ((2, "ovo"), (3, "ovo"), (3, "ovr"))] == [False, True, False]
    assert [is_packed(c, "ovo", k) for c, k in ((2, 1), (3, 2), (3, 3), (4, 3), (4, 6))] == [0, 1, 0, 1, 0]
    assert not is_packed(4, "ovr", 4)
    assert class_slices([2, 0, 3]) == [slice(0, 2), slice(2, 2), slice(2, 5)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.3), mc.Polynomial(2), mc.Gaussian(0.3) + mc.Linear()], ids=repr)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_packed_coefficients_have_the_decision_values_of_unpacked_ones(kernel, dtype, container, rng):
    # a class of several tiles, one of a single vector, one without any
    counts = np.array([700, 1, 0, 40])
    X, vectors = rng.standard_normal((60, 12)).astype(dtype), rng.standard_normal((741, 12)).astype(dtype)
    packed = rng.standard_normal((741, 3)).astype(dtype)
    unpacked = unpack(packed, counts).astype(np.float64)
    exact = kernel(X.astype(np.float64), vectors.astype(np.float64)) @ unpacked
    products = kept_product(kernel, container(X), Points(container(vectors)), packed, class_slices(counts))
    values = pair_values(products, 4)
    assert values.dtype == dtype
    assert values.shape == (60, 6)
    bound = 1e2 * np.finfo(dtype).eps * np.abs(kernel(X, vectors)).max() * np.abs(unpacked).sum(axis=0).max()
    np.testing.assert_allclose(values, exact, rtol=0, atol=bound)


# --- votes ------------------------------------------------------------------------------------------------------------


def test_votes_count_pairs_won_and_a_value_of_0_is_for_the_second_class():
    values = np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 0.0], [-1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(votes(values, 3), [[2, 0, 1], [0, 1, 2], [1, 2, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_class_values_are_those_of_scikit_learn(rng, dtype):
    values = rng.standard_normal((40, 10)).astype(dtype)
    values[0] = 0
    found = class_values(values, 5)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, _ovr_decision_function(values < 0, -values, 5), rtol=4 * np.finfo(dtype).eps)


def test_the_class_of_most_votes_wins_and_the_first_of_equals_unless_ties_are_broken():
    # each class wins one pair, the third by most
    tie = np.array([[1.0, -3.0, 1.0]])
    assert decide(tie, 3, "ovo") == 0
    assert decide(tie, 3, "ovo", break_ties=True) == 2
    assert decide(np.array([[0.1, 0.3, 0.2]]), 3, "ovr") == 1
    assert decide(np.array([[0.1], [-0.1], [0.0]]), 2, "ovo").tolist() == [1, 0, 0]


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
