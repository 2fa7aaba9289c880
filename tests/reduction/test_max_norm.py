"""The programme of the largest coefficients: its certificate, its one-column case, and its sets."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import lasso_path
from tests.reduction.test_greedy import least_error, problem

import mercer as mc
from mercer.reduction import reduce
from mercer.reduction.l1 import L1
from mercer.reduction.max_norm import MaxNorm, costs, minimise


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_certificate_holds_in_terms_of_expansions_alone(weighted, dtype):
    kernel, X, coef = problem(0, n=40, m=4)
    psi = mc.Expansion(kernel, X.astype(dtype), coef.astype(dtype))
    penalty = 3.0
    found = minimise(psi, penalty, weighted=weighted)
    wide = mc.Expansion(kernel, X.astype(dtype).astype(float), psi.coef.astype(float))
    sizes = np.abs(wide.coef)
    cost = sizes.mean() / sizes.max(axis=1) if weighted else np.ones(40)
    np.testing.assert_allclose(found.cost, cost)
    # 2 sum_j |<theta_j, phi_i>| <= lambda c_i
    assert np.all(2 * np.abs(found.dual(wide.points)).sum(axis=1) <= penalty * cost * (1 + 1e-9))
    bound = (2 * np.diagonal(found.dual.inner(wide)) - found.dual.norms() ** 2).sum()
    rows = [int(np.flatnonzero((wide.points == point).all(axis=1))[0]) for point in found.expansion.points]
    primal = mc.sqdist(wide, found.expansion, paired=True).sum()
    primal += penalty * cost[rows] @ np.abs(found.expansion.coef).max(axis=1)
    np.testing.assert_allclose([found.bound, found.primal], [bound, primal], rtol=1e-9)
    assert 0 <= (primal - bound) / primal <= 1e-4 + 1e-9
    assert 0 < len(rows) < 40


@pytest.mark.parametrize("weighted", [True, False])
def test_one_column_is_the_lasso_of_scikit_learn(weighted):
    kernel, X, coef = problem(1, n=30, m=1, gamma=1.0)
    psi = mc.Expansion(kernel, X, coef)
    cost = costs(coef, weighted)
    values, V = np.linalg.eigh(kernel(X, X))
    F = V * np.sqrt(np.maximum(values, 0))
    for penalty in (3.0, 0.5, 0.1):
        # |y - D w|^2 / (2 n) + alpha |w|_1 with the columns of D divided by their prices
        alphas = [penalty / (2 * 30)]
        _, theirs, _ = lasso_path((F / cost[:, None]).T, (F.T @ coef)[:, 0], alphas=alphas, tol=1e-12, max_iter=10**6)
        found = minimise(psi, penalty, weighted=weighted, gap=1e-10)
        ours = np.zeros(30)
        for point, value in zip(found.expansion.points, found.expansion.coef[:, 0], strict=True):
            ours[np.flatnonzero((point == X).all(axis=1))] = value
        np.testing.assert_allclose(ours, theirs[:, 0] / cost, atol=1e-4 * np.abs(ours).max())
        assert 0 < np.count_nonzero(ours) < 30


def test_with_one_column_the_sets_are_those_of_l1():
    kernel, X, coef = problem(2, n=40, m=1, gamma=1.0)
    psi = mc.Expansion(kernel, X, coef)
    ours, lasso = (reduce(psi, 25, method=method) for method in (MaxNorm(), L1()))
    np.testing.assert_array_equal(ours.expansion.points, lasso.expansion.points)
    np.testing.assert_array_equal(ours.history, lasso.history)


def test_what_one_column_uses_is_free_for_the_others():
    # two columns of which each could do with a term of its own or with one that both have
    psi = mc.Expansion(mc.Linear(), np.eye(3), np.array([[1.0, 1.0], [1.5, 0.0], [0.0, 1.5]]))
    found = minimise(psi, 3.1, weighted=False, gap=1e-9)
    # 2 |psi at x_0|_1 = 4 and 2 |psi at x_1|_1 = 3: only what is shared is worth the price
    assert found.expansion.points.tolist() == [[1, 0, 0]]
    alone = [minimise(psi[:, j], 2.5, weighted=False, gap=1e-9).expansion.points.tolist() for j in (0, 1)]
    assert alone == [[[0, 1, 0]], [[0, 0, 1]]]


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_no_set_beats_exhaustive_search_and_all_sizes_are_there(seed, weighted):
    kernel, X, coef = problem(seed, n=11, m=3)
    K = kernel(X, X)
    total = np.einsum("ij,ij->", coef, K @ coef)
    answer = reduce(mc.Expansion(kernel, X, coef), 10, method=MaxNorm(weighted))
    np.testing.assert_array_equal(answer.sizes, np.arange(1, 11))
    for size, error in zip(answer.sizes, answer.history, strict=True):
        best = min(least_error(K, coef, rows) for rows in combinations(range(11), int(size)))
        assert error**2 * total >= best - 1e-10 * total
    assert answer.history[-1] < 0.5 * answer.history[0]


def test_points_without_coefficients_have_an_infinite_price_and_a_penalty_too_large_keeps_nothing():
    psi = mc.Expansion(mc.Linear(), np.eye(3), np.array([[2.0], [0.0], [1.0]]))
    found = minimise(psi, 100.0)
    assert np.isinf(found.cost[1])
    assert not found.expansion.coef.any()
    np.testing.assert_allclose([found.primal, found.bound], 5.0)


@pytest.mark.parametrize(("options", "match"), [({"penalty": 0.0}, "penalty"), ({"penalty": 1.0, "gap": -1}, "gap")])
def test_bad_numbers_are_named(options, match):
    psi = mc.Expansion(mc.Linear(), np.eye(2), np.ones((2, 1)))
    with pytest.raises(ValueError, match=f"{match} = .* must be above 0"):
        minimise(psi, **options)
    with pytest.raises(ValueError, match=r"gap = 0 must be above 0"):
        MaxNorm(gap=0)


@pytest.mark.data
@pytest.mark.parametrize("weighted", [True, False])
def test_ten_machines_on_usps_share_their_vectors_to_a_gap_of_1e_4(data, weighted):
    usps = data("usps")
    svc = mc.SVC(kernel=mc.Gaussian(1 / 128), C=10, multi_class="ovr").fit(usps.X_train[::4], usps.y_train[::4])
    psi = svc.expansion_
    found = minimise(psi, 15.0 if weighted else 8.0, weighted=weighted)
    assert len(found.expansion.points) < 0.6 * len(psi.points)
    assert 0 < found.gap <= 1e-4
