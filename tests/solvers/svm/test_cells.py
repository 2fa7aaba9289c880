"""Cross-validation on cells: a held-out point takes the decision values of a classifier of its own cell."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer._compute.threads import limit_threads
from mercer.solvers.svm import solve_dual
from mercer.solvers.svm.cells import cross_validate_cells
from mercer.solvers.svm.cross_validation import Fold, cross_validate_kernels
from mercer.solvers.svm.divide_and_conquer import split
from mercer.solvers.svm.pairs import subproblems
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.workspace import Options

COUNTS, CS, KERNELS = np.array([70, 50, 80]), np.array([0.5, 4.0]), [mc.Gaussian(0.1), mc.Gaussian(0.7)]
N = COUNTS.sum()


@pytest.fixture
def points(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((N, 3))
    # the last class is in some cells only
    X[120:, 0] += 2.0
    return X


def folds():
    held_out = np.arange(N) % 3 == 0
    # without equal bounds, which may leave the bias open
    weights = np.sqrt(1.0 + np.arange(N) % 7)
    return [Fold(weights * part, np.flatnonzero(part == 0)) for part in (1.0 - held_out, 1.0 * held_out)]


def duals(problems):
    return [problem.dual(np.ones(N)) for problem in problems]


def found(points, problems, size, kernels=KERNELS, gap=0.0, **options):
    options = Options(1e-9, **options)
    return list(cross_validate_cells(kernels, points, duals(problems), folds(), CS, options, gap, size=size))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_held_out_values_are_those_of_a_solution_of_the_other_points_of_the_cell(points, multi_class):
    problems = subproblems(COUNTS, multi_class)
    cells, seen = split(points, np.arange(N), 60), 0
    for kernel, pooled in zip(KERNELS, found(points, problems, 60), strict=True):
        for fold, part in zip(folds(), pooled, strict=True):
            assert part.values.shape == (2, len(fold.held_out), 3)
            for cell in cells:
                place = np.flatnonzero(np.isin(fold.held_out, cell))
                tested = points[fold.held_out[place]]
                for m, problem in enumerate(problems):
                    own = np.isin(problem.points, cell) & (fold.times[problem.points] > 0)
                    for k, C in enumerate(CS):
                        dual = problem.dual(C * fold.times).take(own)
                        values = np.full(len(place), dual.target.mean() if own.any() else 0.0)
                        if len(set(dual.target)) == 2:
                            alone = solve_dual(rows_of(kernel, points, 0.0), dual, Options(1e-9))
                            values, seen = kernel(tested, points[dual.points]) @ alone.coef + alone.bias, seen + 1
                        np.testing.assert_allclose(part.values[k, place, m], values, atol=1e-4)
    assert seen


def test_one_cell_gives_what_no_cells_give(points):
    problems, options = subproblems(COUNTS, "ovo"), Options(1e-9)
    whole = cross_validate_kernels(KERNELS, points, duals(problems), folds(), CS, options)
    for one, other in zip(found(points, problems, N), whole, strict=True):
        for part, same in zip(one, other, strict=True):
            np.testing.assert_allclose(part.values, same.values, atol=1e-6)
            assert part.largest == pytest.approx(same.largest, rel=1e-3)
            assert part.largest == pytest.approx(max(np.linalg.norm(each, axis=0).max() for each in same.coef))
            assert (part.n_iter > 0).all()


def test_threads_change_nothing_and_the_worst_violation_of_all_cells_is_reported(points):
    problems, results = subproblems(COUNTS, "ovr"), []
    for threads in (1, 3):
        with limit_threads(threads):
            results.append(found(points, problems, 60, max_iter=40)[1])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        assert one.violation == other.violation > 1e-9
    with limit_threads(1):
        alone = [found(points, problems, size, max_iter=10**6)[0][0].violation for size in (60, N)]
    assert alone == [0.0, 0.0]


def test_memory_is_shared_by_the_workers(points, monkeypatch):
    from mercer.solvers.svm import cells

    budgets, original = [], cells.cross_validate

    def watched(rows, own, inner, Cs, options, gap):
        budgets.append(options.budget)
        return original(rows, own, inner, Cs, options, gap)

    monkeypatch.setattr(cells, "cross_validate", watched)
    with limit_threads(2):
        found(points, subproblems(COUNTS, "ovr"), 100, memory=10**7)
    assert set(budgets) == {5 * 10**6}
    assert len(budgets) == 4


def test_sparse_points_and_indices_have_cells(points):
    problems = subproblems(COUNTS, "ovo")
    kernel = mc.Gaussian(0.1)
    sparse = found(sp.csr_matrix(points), problems, 60, [kernel])[0]
    known = found(np.arange(N), problems, 60, [mc.Precomputed(kernel(points))])[0]
    for one, other in zip(sparse, known, strict=True):
        np.testing.assert_allclose(one.values, other.values, atol=1e-6)
