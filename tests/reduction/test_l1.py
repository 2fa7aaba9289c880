"""L1: the optimality conditions of the Lasso, the path of LARS, and sets of every size."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import Lasso, lars_path_gram
from tests.reduction.test_greedy import least_error
from tests.reduction.test_greedy import problem as random_terms

import mercer as mc
from mercer.reduction import reduce
from mercer.reduction.base import Target
from mercer.reduction.path import L1
from mercer.reduction.row_sparse import RowSparse, point_weights


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_sets_are_supports_on_the_path_of_least_angle_regression(seed, weighted):
    kernel, X, coef = random_terms(seed, n=25, m=1, gamma=2.0)
    K, c = kernel(X, X), point_weights(coef, weighted)
    # the features are divided by the weights
    alphas, _, path = lars_path_gram(
        (K @ coef)[:, 0] / c, K / np.outer(c, c), n_samples=1, method="lasso"
    )
    # between two knots the support is that of the knot with the smaller penalty
    theirs = {frozenset(np.flatnonzero(path[:, i] + path[:, i - 1])) for i in range(1, len(alphas))}
    for n_vectors in (3, 8, 15):
        last = list(L1(weighted).find(Target(mc.Expansion(kernel, X, coef)), n_vectors, 0.0))[
            -1
        ].rows
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


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_a_given_penalty_keeps_the_support_of_scikit_learns_lasso(
    weighted, dtype, global_random_seed
):
    kernel, X, coef = random_terms(global_random_seed, n=25, m=1, gamma=2.0)
    X, coef = X.astype(dtype), coef.astype(dtype)
    K, c = kernel(X.astype(np.float64)), point_weights(coef.astype(np.float64), weighted)
    # |psi - sum b phi|^2 + penalty c'|b| over rows of a square root of K, whose columns are divided by c
    values, vectors = np.linalg.eigh(K)
    F = (vectors * np.sqrt(np.maximum(values, 0))).T
    for penalty in (0.3, 1.0):
        theirs = Lasso(penalty / (2 * 25), fit_intercept=False, tol=1e-13, max_iter=10**6).fit(
            F / c, F @ coef[:, 0]
        )
        answer = reduce(
            mc.Expansion(kernel, X, coef), method=L1(weighted, penalty=penalty, gap=1e-9)
        )
        support = X[np.abs(theirs.coef_) > 1e-9]
        assert {tuple(x) for x in answer.expansion.points} == {tuple(x) for x in support}
        # smaller sets keep the largest terms
        first = np.argmax(np.abs(theirs.coef_))
        np.testing.assert_array_equal(answer.at(1).expansion.points[0], X[first])


def test_a_smaller_penalty_keeps_more_points_and_sizes_still_bound_them():
    kernel, X, coef = random_terms(7, n=40, m=2)
    psi = mc.Expansion(kernel, X, coef)
    sizes = [
        len(reduce(psi, method=L1(penalty=each)).expansion.points) for each in (1e3, 1.0, 0.1, 1e-3)
    ]
    assert sizes == sorted(sizes)
    # beyond the largest useful penalty the first point of the path is left
    assert sizes[0] == 1
    weights = [point_weights(column[:, None], True) for column in coef.T]
    first = np.argmax(np.max(np.abs(kernel(X) @ coef) / np.transpose(weights), axis=1))
    np.testing.assert_array_equal(reduce(psi, method=L1(penalty=1e3)).expansion.points, X[[first]])
    assert len(reduce(psi, 3, method=L1(penalty=0.1)).expansion.points) == 3 < sizes[2]
    assert reduce(psi, tol=0.5, method=L1(penalty=1e-3)).relative_error.max() <= 0.5


def test_a_penalty_that_keeps_all_points_gives_the_same_vector():
    psi = mc.Expansion(mc.Linear(), np.eye(3), np.array([[3.0], [2.0], [1.0]]))
    answer = reduce(psi, method=L1(penalty=1e-6, weighted=False))
    np.testing.assert_allclose(answer.expansion(np.eye(3)), psi(np.eye(3)), atol=1e-12)


def test_a_penalty_that_is_not_positive_is_refused_by_name():
    with pytest.raises(ValueError, match="penalty = 0 must be above 0"):
        L1(penalty=0)
    psi = mc.features(mc.Gaussian(1.0), np.arange(6.0)[:, None])
    with pytest.raises(ValueError, match="n_vectors and tol are both None"):
        reduce(psi, method=L1())


def test_a_penalty_may_be_any_real_number():
    psi = mc.features(mc.Gaussian(1.0), np.arange(6.0)[:, None]) @ np.ones(6)
    given, plain = (
        reduce(psi, method=L1(penalty=penalty)).expansion for penalty in (Fraction(1, 4), 0.25)
    )
    np.testing.assert_array_equal(given.coef, plain.coef)


def test_columns_of_a_model_are_reduced_by_one_penalty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.digitize((X**2).sum(axis=1), [0.8, 2.2])
    model = mc.SVC(kernel=mc.Gaussian(0.5), multi_class="ovr").fit(X, y)
    small = mc.compress(model, X, y, method=L1(penalty=0.5), shared=False)
    psi = model.expansion_
    for j in range(3):
        rows = np.flatnonzero(psi.coef[:, j])
        column = mc.Expansion(psi.kernel, psi.points[rows], psi.coef[rows, j : j + 1])
        own = reduce(column, method=L1(penalty=0.5)).expansion
        assert np.count_nonzero(small.expansion_.coef[:, j]) == len(own.points)
        np.testing.assert_allclose(small.expansion_[:, [j]](X), own(X), atol=1e-9)
