"""reduce with candidates: points that psi does not contain are selected, and errors are those of psi."""

from itertools import combinations

import numpy as np
import pytest

import mercer as mc
from mercer.reduction import Exhaustive

SELECT = ["greedy", "eigenvector", "l1", "max_norm", "pivoted", "exhaustive"]


def case(seed, n=30, p=12):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, 2)), rng.normal(size=(p, 2))
    return mc.Expansion(mc.Gaussian(0.3), X, rng.normal(size=(n, 2))), Z


def error(psi, Z):
    """Return the relative errors of the best coefficients over Z by normal equations."""
    K = psi.kernel(Z)
    b = psi(Z)
    squares = np.sum(psi.coef * psi(psi.points), axis=0)
    return np.sqrt(1 - np.sum(b * np.linalg.solve(K, b), axis=0) / squares)


@pytest.mark.parametrize("method", SELECT)
def test_selected_points_are_candidates_and_errors_are_those_of_normal_equations(
    method, global_random_seed
):
    psi, Z = case(global_random_seed)
    found = mc.reduce(psi, 4, method=method, candidates=Z)
    rows = [int(np.flatnonzero((point == Z).all(axis=1))[0]) for point in found.expansion.points]
    assert 1 <= len(set(rows)) == len(rows) <= 4
    np.testing.assert_allclose(found.relative_error, error(psi, found.expansion.points), rtol=1e-6)


def test_the_best_of_all_sets_of_candidates_is_found(global_random_seed):
    psi, Z = case(global_random_seed, p=7)
    best = min(
        (np.sum((error(psi, Z[list(s)]) * psi.norms()) ** 2), s) for s in combinations(range(7), 3)
    )
    found = mc.reduce(psi, 3, method=Exhaustive(), candidates=Z)
    assert sorted(map(tuple, found.expansion.points)) == sorted(map(tuple, Z[list(best[1])]))


def test_points_of_psi_as_candidates_give_the_reduced_set_without_candidates(global_random_seed):
    psi, _ = case(global_random_seed, n=12)
    plain = mc.reduce(psi, 5, method="greedy")
    same = mc.reduce(psi, 5, candidates=psi.points)
    np.testing.assert_allclose(same.relative_error, plain.relative_error, rtol=1e-4)
    np.testing.assert_array_equal(
        np.sort(same.expansion.points, axis=0), np.sort(plain.expansion.points, axis=0)
    )


def test_more_vectors_than_candidates_use_all_of_them():
    psi, Z = case(0, p=5)
    for limits, reason in (({"n_vectors": 9}, "allowed"), ({"tol": 1e-9}, "needed")):
        found = mc.reduce(psi, **limits, method="pivoted", candidates=Z)
        assert len(found.expansion.points) == 5
        assert found.reason == f"all candidates are {reason}"
        np.testing.assert_allclose(found.relative_error, error(psi, Z), rtol=1e-6)


def test_strings_are_selected_from_candidates():
    words = ["abab", "baba", "aabb", "bbbb"]
    psi = mc.mean(mc.features(mc.strings.Spectrum(2), words))
    found = mc.reduce(psi, 1, method="pivoted", candidates=["cccc", "abba"])
    assert list(found.expansion.points) == ["abba"]


def test_candidates_may_be_objects_where_the_points_are_rows_and_rows_where_these_are_objects():
    X = np.random.default_rng(0).normal(size=(6, 2))
    objects = [tuple(row) for row in X]

    def values(left, right):
        return np.exp(-np.square(np.subtract.outer(np.sum(left, axis=1), np.sum(right, axis=1))))

    kernel = mc.kernels.FunctionKernel(values)
    expected = mc.reduce(mc.Expansion(kernel, X, np.ones((6, 1))), 2, candidates=X[:4])
    for points, candidates in ((X, objects[:4]), (objects, X[:4])):
        psi = mc.Expansion(kernel, points, np.ones((6, 1)))
        found = mc.reduce(psi, 2, candidates=candidates)
        np.testing.assert_allclose(found.expansion.coef, expected.expansion.coef)


@pytest.mark.parametrize("method", ["construct", "merge", "refine", "variable_widths"])
def test_methods_that_construct_points_refuse_candidates(method):
    psi, Z = case(0)
    with pytest.raises(TypeError, match="candidates are for methods that select points"):
        mc.reduce(psi, 3, method=method, candidates=Z)


@pytest.mark.parametrize("method", [*SELECT, mc.L1(penalty=0.1)])
@pytest.mark.parametrize("limit", [{"n_vectors": 1}, {"tol": 0.1}])
def test_vectors_orthogonal_to_all_candidates_have_one_of_them(method, limit):
    axes = np.eye(5)
    orthogonal = mc.Expansion(mc.Linear(), axes[:1], np.ones((1, 1)))
    for psi, error in ((orthogonal, 1.0), (0.0 * orthogonal, 0.0)):
        found = mc.reduce(psi, method=method, candidates=axes[1:4], **limit)
        assert found.expansion.shape == (1, 1)
        assert not found.expansion.coef.any()
        assert found.relative_error == [error]


def test_candidates_of_other_columns_or_without_numbers_are_refused_by_their_name():
    psi, Z = case(0)
    with pytest.raises(ValueError, match=r"candidates have 1 features, but psi has 2; they must"):
        mc.reduce(psi, 3, candidates=Z[:, :1])
    with pytest.raises(ValueError, match=r"candidates contains NaN"):
        mc.reduce(psi, 3, candidates=np.full_like(Z, np.nan))
