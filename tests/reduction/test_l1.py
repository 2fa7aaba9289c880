"""L1: the optimality conditions of the Lasso, the path of LARS, and sets of every size."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import lars_path_gram
from tests.reduction.test_greedy import least_error
from tests.reduction.test_greedy import problem as random_terms

import mercer as mc
from mercer.reduction import reduce
from mercer.reduction.base import Target
from mercer.reduction.l1 import L1
from mercer.reduction.row_sparse import RowSparse, point_weights


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_sets_are_supports_on_the_path_of_least_angle_regression(seed, weighted):
    kernel, X, coef = random_terms(seed, n=25, m=1, gamma=2.0)
    K, c = kernel(X, X), point_weights(coef, weighted)
    # the features are divided by the weights
    alphas, _, path = lars_path_gram((K @ coef)[:, 0] / c, K / np.outer(c, c), n_samples=1, method="lasso")
    # between two knots the support is that of the knot with the smaller penalty
    theirs = {frozenset(np.flatnonzero(path[:, i] + path[:, i - 1])) for i in range(1, len(alphas))}
    for n_vectors in (3, 8, 15):
        last = list(L1(weighted).find(Target(mc.Expansion(kernel, X, coef)), n_vectors, 0.0))[-1].rows
        assert len(last) == n_vectors
        assert frozenset(last) in theirs


@pytest.mark.parametrize("weighted", [True, False])
def test_the_optimality_conditions_hold_along_the_path(weighted):
    kernel, X, coef = random_terms(3, n=60, m=1)
    problem = RowSparse(kernel(X, X), coef, point_weights(coef, weighted))
    for share in 0.5 ** np.arange(1, 12):
        penalty = share * problem.largest
        b, penalties = problem.solve(penalty, 1e-9).coef[:, 0], penalty * problem.weights
        gradient = 2 * kernel(X, X) @ (coef[:, 0] - b)
        assert np.all(np.abs(gradient) <= penalties * (1 + 1e-3))
        kept = b != 0
        np.testing.assert_allclose(gradient[kept], penalties[kept] * np.sign(b[kept]), rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_column_uses_its_own_points_and_the_union_has_the_requested_size(dtype):
    kernel, X, coef = random_terms(4, n=40, m=3)
    coef[:20, 0] = coef[20:, 1] = 0
    psi = mc.Expansion(kernel, X.astype(dtype), coef.astype(dtype))
    first = psi[:, [0]]
    assert set(reduce(first, 12, method=L1()).expansion.points[:, 0]) <= set(psi.points[20:, 0])
    answer = reduce(psi, 12, method=L1())
    np.testing.assert_array_equal(answer.sizes, np.arange(1, 13))
    assert answer.expansion.points.dtype == dtype
    assert answer.history[-1] < answer.history[0]


def test_a_column_of_zeros_changes_nothing():
    kernel, X, coef = random_terms(5, n=20, m=2)
    padded = np.hstack([coef, np.zeros((20, 1))])
    ours, plain = (reduce(mc.Expansion(kernel, X, C), 9, method=L1()) for C in (padded, coef))
    np.testing.assert_allclose(ours.history, plain.history)
    assert ours.relative_error[2] == 0


@pytest.mark.parametrize("weighted", [True, False])
def test_no_set_beats_exhaustive_search(weighted):
    kernel, X, coef = random_terms(6, n=11, m=1)
    K = kernel(X, X)
    total = np.einsum("ij,ij->", coef, K @ coef)
    answer = reduce(mc.Expansion(kernel, X, coef), 10, method=L1(weighted))
    np.testing.assert_array_equal(answer.sizes, np.arange(1, 11))
    for size, error in zip(answer.sizes, answer.history, strict=True):
        best = min(least_error(K, coef, rows) for rows in combinations(range(11), int(size)))
        assert error**2 * total >= best - 1e-10 * total


def test_a_gap_that_is_not_positive_is_refused_by_name():
    with pytest.raises(ValueError, match=r"gap = -1 must be above 0"):
        L1(gap=-1)
    with pytest.raises(TypeError, match=r"gap must be a number"):
        L1(gap="tight")


def test_defaults_are_those_documented_and_four_matrices_must_fit_into_the_memory():
    assert L1() == L1(weighted=True, gap=1e-4, memory="1GB")
    psi = mc.features(mc.Gaussian(1.0), np.arange(6.0)[:, None])
    with pytest.raises(MemoryError, match="4 matrices of 6 x 6 points"):
        reduce(psi, 2, method=L1(memory=1151))
    assert len(reduce(psi, 2, method=L1(memory=1152)).sizes) == 2
