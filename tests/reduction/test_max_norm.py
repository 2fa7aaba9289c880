"""MaxNorm: lower bounds in terms of expansions, the Lasso as its one-column case, and sets of every size."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import lasso_path
from tests.reduction.test_greedy import least_error
from tests.reduction.test_greedy import problem as random_terms

import mercer as mc
from mercer.reduction import reduce
from mercer.reduction.path import L1, MaxNorm
from mercer.reduction.row_sparse import RowSparse, point_weights


def solve(kernel, points, coef, penalty, weighted=False, gap=1e-4):
    return RowSparse(kernel(points), coef, point_weights(coef, weighted)).solve(penalty, gap)


@pytest.mark.parametrize("weighted", [True, False])
def test_primal_dual_and_bound_hold_in_terms_of_expansions(weighted):
    kernel, X, coef = random_terms(0, n=40, m=4)
    penalty = 3.0
    found = solve(kernel, X, coef, penalty, weighted)
    psi, kept, theta = (mc.Expansion(kernel, X, C) for C in (coef, found.coef, found.dual))
    c = np.abs(coef).mean() / np.abs(coef).max(axis=1) if weighted else np.ones(40)
    assert np.all(2 * np.abs(theta(X)).sum(axis=1) <= penalty * c * (1 + 1e-9))
    bound = (2 * np.diagonal(theta.inner(psi)) - theta.norms() ** 2).sum()
    primal = mc.sqdist(psi, kept, paired=True).sum() + penalty * c @ np.abs(found.coef).max(axis=1)
    np.testing.assert_allclose([found.bound, found.primal], [bound, primal], rtol=1e-9)
    assert 0 <= (primal - bound) / primal <= 1e-4 + 1e-9
    assert 0 < np.count_nonzero(found.coef.any(axis=1)) < 40


@pytest.mark.parametrize("weighted", [True, False])
def test_one_column_is_the_lasso_of_scikit_learn(weighted):
    kernel, X, coef = random_terms(1, n=30, m=1, gamma=1.0)
    c = point_weights(coef, weighted)
    values, V = np.linalg.eigh(kernel(X, X))
    F = V * np.sqrt(np.maximum(values, 0))
    for penalty in (3.0, 0.5, 0.1):
        # |y - D w|^2 / (2 n) + alpha |w|_1 with the columns of D divided by their weights
        alphas = [penalty / (2 * 30)]
        _, theirs, _ = lasso_path(
            (F / c[:, None]).T, (F.T @ coef)[:, 0], alphas=alphas, tol=1e-12, max_iter=10**6
        )
        ours = solve(kernel, X, coef, penalty, weighted, 1e-10).coef[:, 0]
        np.testing.assert_allclose(ours, theirs[:, 0] / c, atol=1e-4 * np.abs(ours).max())
        assert 0 < np.count_nonzero(ours) < 30


def test_with_one_column_the_sets_are_those_of_l1():
    kernel, X, coef = random_terms(2, n=40, m=1, gamma=1.0)
    psi = mc.Expansion(kernel, X, coef)
    ours, lasso = (reduce(psi, 25, method=method) for method in (MaxNorm(), L1()))
    np.testing.assert_array_equal(ours.expansion.points, lasso.expansion.points)
    np.testing.assert_array_equal(ours.history, lasso.history)


def test_a_point_that_columns_share_is_penalised_once():
    # the first term belongs to both columns, the others to one each
    coef = np.array([[1.0, 1.0], [1.5, 0.0], [0.0, 1.5]])
    # 2 |psi at x_0|_1 = 4 and 2 |psi at x_1|_1 = 3: only the shared term exceeds the penalty
    found = solve(mc.Linear(), np.eye(3), coef, 3.1, gap=1e-9).coef
    assert found.any(axis=1).tolist() == [True, False, False]
    np.testing.assert_allclose(found[0], 1 - 3.1 / 4)
    alone = [
        solve(mc.Linear(), np.eye(3), coef[:, [j]], 2.5, gap=1e-9).coef.any(axis=1).tolist()
        for j in (0, 1)
    ]
    assert alone == [[False, True, False], [False, False, True]]


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_no_set_beats_exhaustive_search_and_all_sizes_are_there(seed, weighted):
    kernel, X, coef = random_terms(seed, n=11, m=3)
    K = kernel(X, X)
    total = np.einsum("ij,ij->", coef, K @ coef)
    answer = reduce(mc.Expansion(kernel, X, coef), 10, method=MaxNorm(weighted))
    np.testing.assert_array_equal(answer.sizes, np.arange(1, 11))
    for size, error in zip(answer.sizes, answer.history, strict=True):
        best = min(least_error(K, coef, rows) for rows in combinations(range(11), int(size)))
        assert error**2 * total >= best - 1e-10 * total
    assert answer.history[-1] < 0.5 * answer.history[0]


@pytest.mark.parametrize("weighted", [True, False])
def test_the_sets_are_the_supports_for_the_weights_asked_for(weighted):
    kernel, X, coef = random_terms(4, n=30, m=3, gamma=2.0)
    problem = RowSparse(kernel(X), coef, point_weights(coef, weighted))
    order = list(
        MaxNorm(weighted, gap=1e-9).find(mc.reduction.Target(mc.Expansion(kernel, X, coef)), 4, 0.0)
    )[-1].rows
    supports = [
        set(np.flatnonzero(problem.solve(share * problem.largest, 1e-9).coef.any(axis=1)))
        for share in np.geomspace(1, 0.3, 60)
    ]
    assert set(order) in supports


def test_a_gap_that_is_not_positive_is_refused_by_name():
    with pytest.raises(ValueError, match=r"gap = 0 must be above 0"):
        MaxNorm(gap=0)


def test_points_without_coefficients_are_not_selected():
    coef = np.array([[2.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    assert np.isinf(point_weights(coef, True)[1])
    found = solve(mc.Gaussian(0.1), np.array([[0.0], [0.5], [1.0]]), coef, 0.1, weighted=True)
    assert found.coef.any(axis=1).tolist() == [True, False, True]


@pytest.mark.data
@pytest.mark.parametrize("weighted", [True, False])
def test_ten_columns_on_usps_share_their_points_at_a_gap_of_1e_4(data, weighted):
    usps = data("usps")
    svc = mc.SVC(kernel=mc.Gaussian(1 / 128), C=10, multi_class="ovr").fit(
        usps.X_train[::4], usps.y_train[::4]
    )
    psi = svc.expansion_
    found = solve(
        psi.kernel, psi.points, psi.coef.astype(float), 15.0 if weighted else 8.0, weighted
    )
    assert np.count_nonzero(found.coef.any(axis=1)) < 0.6 * len(psi.points)
    assert 0 < found.gap <= 1e-4


def test_defaults_are_those_documented_and_four_matrices_must_fit_into_the_memory():
    assert MaxNorm() == MaxNorm(weighted=True, gap=1e-4, memory="1GB")
    psi = mc.features(mc.Gaussian(1.0), np.arange(6.0)[:, None])
    with pytest.raises(MemoryError, match="4 matrices of 6 x 6 points"):
        reduce(psi, 2, method=MaxNorm(memory=1151))
    assert len(reduce(psi, 2, method=MaxNorm(memory=1152)).sizes) == 2
