"""The programme meets its optimality conditions, and its bound is a bound."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from tests.reduction.test_greedy import problem

import mercer as mc
from mercer.reduction.row_sparse import Programme, shrink


def a_programme(seed, n=14, m=3, gamma=0.3, weighted=False):
    kernel, X, coef = problem(seed, n, m, gamma)
    K = kernel(X, X)
    cost = 1 / np.abs(coef).max(axis=1) if weighted else np.ones(n)
    return Programme(K, coef, cost)


def objective(programme, B, penalty):
    left = programme.coef - B
    return np.einsum("ij,ij->", left, programme.K @ left) + penalty * programme.cost @ np.abs(B).max(axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimality_conditions_hold(seed, m, weighted):
    programme = a_programme(seed, m=m, weighted=weighted)
    for share in (0.5, 0.1, 0.01):
        penalty = share * programme.largest
        found = programme.solve(penalty, gap=1e-11)
        B, price = found.coef, penalty * programme.cost
        # the subgradient: 2 <residual_j, phi_i> is in price_i times the subdifferential of max |B_i|
        G = 2 * programme.K @ (programme.coef - B)
        sums = np.abs(G).sum(axis=1)
        assert np.all(sums <= price * (1 + 1e-5))
        kept = B.any(axis=1)
        assert 0 < kept.sum() < len(B) or share < 0.1
        np.testing.assert_allclose(sums[kept], price[kept], rtol=1e-4)
        height = np.abs(B).max(axis=1, keepdims=True)
        free = kept[:, None] & (np.abs(B) < height * (1 - 1e-6))
        assert np.abs(G[free]).max(initial=0) < 1e-4 * price.max()
        tied = kept[:, None] & ~free
        assert np.all(G[tied] * np.sign(B[tied]) >= -1e-4 * price.max())


@pytest.mark.parametrize("seed", range(4))
def test_the_dual_point_is_feasible_and_its_bound_below_every_objective(seed):
    programme = a_programme(seed, weighted=True)
    rng = np.random.default_rng(seed)
    penalty = 0.2 * programme.largest
    for gap in (0.5, 1e-4, 1e-10):
        found = programme.solve(penalty, gap=gap)
        assert found.gap <= gap
        constraint = 2 * np.abs(programme.K @ found.dual).sum(axis=1)
        assert np.all(constraint <= penalty * programme.cost * (1 + 1e-12))
        product = programme.K @ found.dual
        bound = np.einsum("ij,ij->", 2 * programme.coef - found.dual, product)
        np.testing.assert_allclose(found.bound, bound, rtol=1e-10)
        np.testing.assert_allclose(found.primal, objective(programme, found.coef, penalty), rtol=1e-10)
        np.testing.assert_allclose(found.gap, (found.primal - found.bound) / found.primal, atol=1e-15)
        for _ in range(20):
            other = found.coef + 0.1 * rng.normal(size=found.coef.shape) * rng.uniform(size=found.coef.shape)
            assert objective(programme, other, penalty) >= found.bound


def test_a_general_solver_finds_the_same_minimum():
    programme = a_programme(3, n=6, m=2, gamma=1.0)
    penalty = 0.3 * programme.largest
    n, m = programme.coef.shape

    # variables B and the heights xi with -xi <= B <= xi
    def value(v):
        left = programme.coef - v[: n * m].reshape(n, m)
        return np.einsum("ij,ij->", left, programme.K @ left) + penalty * v[n * m :].sum()

    def slope(v):
        left = programme.coef - v[: n * m].reshape(n, m)
        return np.concatenate([(-2 * programme.K @ left).ravel(), penalty * np.ones(n)])

    spread = np.repeat(np.eye(n), m, axis=0)
    A = np.block([[-np.eye(n * m), spread], [np.eye(n * m), spread]])
    limits = {"type": "ineq", "fun": lambda v: A @ v, "jac": lambda _: A}
    start = np.concatenate([np.zeros(n * m), np.ones(n)])
    theirs = scipy.optimize.minimize(
        value, start, jac=slope, constraints=limits, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500}
    )
    ours = programme.solve(penalty, gap=1e-10)
    np.testing.assert_allclose(ours.primal, theirs.fun, rtol=1e-6)
    np.testing.assert_allclose(ours.coef, theirs.x[: n * m].reshape(n, m), atol=1e-3)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_gap_is_reached_for_tiny_penalties_beside_an_ill_conditioned_matrix(weighted, m):
    X, y = make_moons(200, noise=0.2, random_state=1)
    psi = mc.SVC(kernel=mc.Gaussian(0.2), C=10).fit(X, y).expansion_
    K, coef = psi.kernel(psi.points), np.hstack([psi.coef, psi.coef[::-1]])[:, :m]
    assert np.linalg.cond(K) > 1e13
    programme = Programme(K, coef, 1 / np.abs(coef).max(axis=1) if weighted else np.ones(len(K)))
    start = None
    for share in 0.2 ** np.arange(1, 8):
        found = programme.solve(share * programme.largest, start=start)
        start = found.coef
        assert -1e-9 <= found.gap <= 1e-4
    # rounding leaves the kernel a rank far below the number of points
    assert np.count_nonzero(start.any(axis=1)) < 0.8 * len(K)


def test_nothing_is_kept_from_the_largest_penalty_on_and_something_below_it():
    programme = a_programme(1)
    assert not programme.solve(1.0001 * programme.largest).coef.any()
    assert programme.solve(0.99 * programme.largest, gap=1e-12).coef.any()


def test_a_start_changes_the_work_and_not_the_answer():
    programme = a_programme(2, n=40, m=4)
    near = programme.solve(0.12 * programme.largest).coef
    cold, warm = (programme.solve(0.1 * programme.largest, gap=1e-10, start=start) for start in (None, near))
    np.testing.assert_allclose(cold.primal, warm.primal, rtol=1e-9)
    np.testing.assert_allclose(cold.coef, warm.coef, atol=1e-4 * np.abs(cold.coef).max())


def test_repeated_points_and_points_of_length_0_do_no_harm():
    kernel, X, coef = problem(4, 10, 2)
    K = kernel(np.vstack([X, X]), np.vstack([X, X]))
    single = Programme(K[:10, :10], 2 * coef, np.ones(10))
    double = Programme(K, np.vstack([coef, coef]), np.ones(20))
    penalty = 0.1 * single.largest
    np.testing.assert_allclose(double.solve(penalty, 1e-9).primal, single.solve(penalty, 1e-9).primal, rtol=1e-8)
    with_zero = Programme(np.pad(K[:10, :10], (0, 1)), np.vstack([2 * coef, np.ones((1, 2))]), np.ones(11))
    found = with_zero.solve(penalty, 1e-9)
    assert not found.coef[10].any()
    np.testing.assert_allclose(found.primal, single.solve(penalty, 1e-9).primal, rtol=1e-8)


def test_points_of_infinite_cost_are_not_used():
    kernel, X, coef = problem(5, 10, 2)
    cost = np.where(np.arange(10) < 3, np.inf, 1.0)
    programme = Programme(kernel(X, X), coef, cost)
    found = programme.solve(1e-3 * programme.largest)
    assert not found.coef[:3].any()
    assert found.gap <= 1e-4


def test_a_gap_out_of_reach_is_reported_with_its_number():
    programme = a_programme(0)
    with pytest.warns(ConvergenceWarning, match=r"left at a relative duality gap of .*e-\d+, 1e-30 was asked for"):
        programme.solve(0.1 * programme.largest, gap=1e-30)


@pytest.mark.parametrize("seed", range(5))
def test_a_shrunk_row_is_the_minimiser(seed):
    rng = np.random.default_rng(seed)
    row = rng.normal(size=6)
    weight = rng.uniform(0, 1.2) * np.abs(row).sum()
    found = row.copy()
    shrink(found, weight)

    def value(b):
        return 0.5 * ((b - row) ** 2).sum() + weight * np.abs(b).max()

    # minimise over the height on a fine grid: every entry is then cut at it
    heights = np.linspace(0, np.abs(row).max(), 20001)
    best = min(value(np.clip(row, -h, h)) for h in heights)
    assert value(found) <= best + 1e-15
    assert best - value(found) < 1e-6
