"""Cross-validation over C: what a fold finds is what a classifier of its training points finds."""

import numpy as np
import pytest

import mercer as mc
from mercer._compute.threads import limit_threads
from mercer.solvers.svm import cross_validation, path, solve_dual
from mercer.solvers.svm.cross_validation import Fold, cross_validate
from mercer.solvers.svm.pairs import subproblems
from mercer.solvers.svm.path import StoredValues, solve_path
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.workspace import Options


def units(problems):
    """Return the duals of classifiers for C = 1."""
    return [problem.dual(np.ones(COUNTS.sum())) for problem in problems]


COUNTS, CS, KERNEL = np.array([30, 25, 35]), np.array([0.5, 2.0, 8.0]), mc.Gaussian(0.3)


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((90, 3))


def folds():
    held_out = np.arange(90) % 3 == 0
    weights = np.where(held_out, 0.0, 1.0 + np.arange(90) % 2)
    return [Fold(weights, np.flatnonzero(held_out)), Fold(1.0 * held_out, np.flatnonzero(~held_out))]


@pytest.mark.parametrize("memory", ["1GB", 1000], ids=["stored", "lazy"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_decision_values_of_held_out_points_are_those_of_a_solution_of_the_others(points, multi_class, memory):
    problems, options = subproblems(COUNTS, multi_class), Options(1e-9, memory=memory)
    duals = units(problems)
    rows = rows_of(KERNEL, points, 0.0)
    for fold, found in zip(folds(), cross_validate(rows, duals, folds(), CS, options), strict=True):
        assert found.values.shape == (3, len(fold.held_out), 3)
        assert found.violation <= 1e-9
        for m, problem in enumerate(problems):
            own = fold.times[problem.points] > 0
            for k, C in enumerate(CS):
                dual = problem.dual(C * fold.times).take(own)
                alone = solve_dual(rows, dual, options)
                values = KERNEL(points[fold.held_out], points[problem.points[own]]) @ alone.coef + alone.bias
                tolerance = 1e-6 if memory == 1000 else 1e-4
                np.testing.assert_allclose(found.values[k, :, m], values, atol=tolerance)
                np.testing.assert_allclose(found.coef[m][own, k], alone.coef, atol=0.05)
                np.testing.assert_allclose(found.bias[m, k], alone.bias, atol=tolerance)
                assert not found.coef[m][~own].any()


def test_steps_are_counted_for_each_C_over_all_classifiers(points):
    problems = subproblems(COUNTS, "ovo")
    rows, (fold, _) = rows_of(KERNEL, points, 0.0), folds()
    (both,) = cross_validate(rows, units(problems), [fold], CS, Options(1e-6))
    alone = [cross_validate(rows, units([each]), [fold], CS, Options(1e-6))[0].n_iter for each in problems]
    np.testing.assert_array_equal(both.n_iter, np.sum(alone, axis=0))
    assert (both.n_iter > 0).all()


def test_the_largest_violation_of_all_classifiers_and_all_C_is_reported(points):
    problems, options, fold = subproblems(COUNTS, "ovo"), Options(1e-9, 30), folds()[0]
    rows = rows_of(KERNEL, points, 0.0)
    worst = []
    for problem in problems:
        values = StoredValues(rows, problem.points, np.dtype(np.float64))
        found = solve_path(values, problem.dual(fold.times), CS, options)
        worst.append([each.violation for each in found])
    (found,) = cross_validate(rows, units(problems), [fold], CS, options)
    assert found.violation == np.max(worst) > np.min(worst) > 0


def test_copies_of_as_many_workers_as_run_are_counted(points, monkeypatch):
    asked = []
    monkeypatch.setattr(
        cross_validation, "with_values", lambda *args: asked.append(args[-1]) or path.with_values(*args)
    )
    for threads, workers in ((1, 1), (2, 2), (5, 2)):
        with limit_threads(threads):
            cross_validate(rows_of(KERNEL, points, 0.0), units(subproblems(COUNTS, "ovr")), folds(), CS, Options(1e-3))
        assert asked.pop() == workers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decision_values_for_a_gap_are_near_those_without(points, dtype):
    problems, rows = subproblems(COUNTS, "ovr"), rows_of(KERNEL, points.astype(dtype), np.inf)
    exact, coarse = (cross_validate(rows, units(problems), folds(), CS, Options(1e-4), gap) for gap in (0.0, 1e-3))
    for one, other in zip(exact, coarse, strict=True):
        np.testing.assert_allclose(other.values, one.values, atol=0.15)
        assert other.violation == 0
        assert other.n_iter.sum() < one.n_iter.sum()
