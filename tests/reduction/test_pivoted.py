"""Pivoted: every point is that of the rule, and errors are near those of exhaustive search."""

from itertools import combinations

import numpy as np
import pytest
from tests.reduction.test_greedy import least_error, problem

import mercer as mc
from mercer.linalg import cholesky
from mercer.reduction import reduce
from mercer.reduction.base import Target
from mercer.reduction.subset import Pivoted


def selected(psi, n, **options):
    return list(Pivoted(**options).find(Target(psi), n, 0.0))[-1].rows


@pytest.mark.parametrize("seed", range(4))
def test_every_point_is_the_one_that_lowers_the_error_most(seed):
    kernel, X, coef = problem(seed, gamma=1.0)
    K = kernel(X, X)
    rows = selected(mc.Expansion(kernel, X, coef), 8)
    for size in range(8):
        choices = [
            least_error(K, coef, [*rows[:size], i]) for i in range(12) if i not in rows[:size]
        ]
        np.testing.assert_allclose(
            least_error(K, coef, rows[: size + 1]), min(choices), rtol=1e-6, atol=1e-10
        )


def test_the_first_point_is_the_best_single_one():
    for seed in range(5):
        kernel, X, coef = problem(seed)
        K = kernel(X, X)
        rows = selected(mc.Expansion(kernel, X, coef), 1)
        best = min(range(12), key=lambda i: least_error(K, coef, [i]))  # noqa: B023
        assert rows.tolist() == [best]


@pytest.mark.parametrize("seed", range(3))
def test_no_set_beats_exhaustive_search(seed):
    kernel, X, coef = problem(seed, n=10)
    K = kernel(X, X)
    total = np.einsum("ij,ij->", coef, K @ coef)
    for aimed in (True, False):
        answer = reduce(mc.Expansion(kernel, X, coef), 9, method=Pivoted(aimed))
        for size, error in zip(answer.sizes, answer.history, strict=True):
            best = min(least_error(K, coef, rows) for rows in combinations(range(10), int(size)))
            assert error**2 * total >= best - 1e-10 * total
            if aimed:
                # 7.5 was the worst of 60 such problems
                assert error <= 10 * np.sqrt(best / total) + 1e-7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_the_vectors_the_pivots_are_those_of_pivoted_cholesky(dtype):
    kernel, X, coef = problem(7, n=80, gamma=3.0)
    psi = mc.Expansion(mc.Polynomial(2, 1.0, 1.0), X.astype(dtype), coef.astype(dtype))
    rows = selected(psi, 20, aimed=False)
    wide = X.astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(rows, cholesky.pivoted(psi.kernel(wide, wide)).pivots)
    # the feature space of a quadratic kernel in the plane has dimension six, where the run ends
    assert len(rows) == 6


def test_more_columns_than_reserved_at_first_are_computed():
    kernel, X, coef = problem(8, n=150, gamma=30.0)
    psi = mc.Expansion(kernel, X, coef)
    rows = selected(psi, 140)
    assert len(set(rows.tolist())) == 140
    answer = reduce(psi, 140, method=Pivoted())
    assert np.all(np.diff(answer.history) <= 1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_without_the_vectors_every_point_is_the_farthest_from_the_span(seed):
    kernel, X, coef = problem(seed, gamma=1.0)
    K, rows = kernel(X, X), selected(mc.Expansion(kernel, X, coef), 8, aimed=False)
    for size in range(8):
        part = rows[:size]
        distance = K.diagonal() - np.einsum(
            "ij,ij->j", K[part], np.linalg.lstsq(K[np.ix_(part, part)], K[part], rcond=None)[0]
        )
        np.testing.assert_allclose(distance[rows[size]], distance.max(), rtol=1e-8)
    assert Pivoted() == Pivoted(aimed=True)
