"""RowSparse: optimality conditions, lower bounds, and the solutions of other solvers."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from tests.reduction.test_greedy import problem as random_terms

import mercer as mc
from mercer.reduction.row_sparse import (
    RowSparse,
    _bound,
    _descend,
    _newton,
    _to_change,
    point_weights,
    shrink,
)


def a_problem(seed, n=14, m=3, gamma=0.3, weighted=False):
    kernel, X, coef = random_terms(seed, n, m, gamma)
    K = kernel(X, X)
    weights = 1 / np.abs(coef).max(axis=1) if weighted else np.ones(n)
    return RowSparse(K, coef, weights)


def objective(problem, B, penalty):
    left = problem.coef - B
    return np.einsum("ij,ij->", left, problem.K @ left) + penalty * problem.weights @ np.abs(B).max(
        axis=1
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimality_conditions_hold(seed, m, weighted):
    problem = a_problem(seed, m=m, weighted=weighted)
    for share in (0.5, 0.1, 0.01):
        penalty = share * problem.largest
        found = problem.solve(penalty, gap=1e-11)
        B, penalties = found.coef, penalty * problem.weights
        # the subgradient: 2 <residual_j, phi_i> is in lambda c_i times the subdifferential of max |B_i|
        G = 2 * problem.K @ (problem.coef - B)
        sums = np.abs(G).sum(axis=1)
        assert np.all(sums <= penalties * (1 + 1e-5))
        kept = B.any(axis=1)
        assert 0 < kept.sum() < len(B) or share < 0.1
        np.testing.assert_allclose(sums[kept], penalties[kept], rtol=1e-4)
        height = np.abs(B).max(axis=1, keepdims=True)
        free = kept[:, None] & (np.abs(B) < height * (1 - 1e-6))
        assert np.abs(G[free]).max(initial=0) < 1e-4 * penalties.max()
        tied = kept[:, None] & ~free
        assert np.all(G[tied] * np.sign(B[tied]) >= -1e-4 * penalties.max())


@pytest.mark.parametrize("seed", range(4))
def test_the_dual_point_is_feasible_and_its_bound_below_every_objective(seed):
    problem = a_problem(seed, weighted=True)
    rng = np.random.default_rng(seed)
    penalty = 0.2 * problem.largest
    for gap in (0.5, 1e-4, 1e-10):
        found = problem.solve(penalty, gap=gap)
        assert found.gap <= gap
        constraint = 2 * np.abs(problem.K @ found.dual).sum(axis=1)
        assert np.all(constraint <= penalty * problem.weights * (1 + 1e-12))
        product = problem.K @ found.dual
        bound = np.einsum("ij,ij->", 2 * problem.coef - found.dual, product)
        np.testing.assert_allclose(found.bound, bound, rtol=1e-10)
        np.testing.assert_allclose(
            found.primal, objective(problem, found.coef, penalty), rtol=1e-10
        )
        np.testing.assert_allclose(
            found.gap, (found.primal - found.bound) / found.primal, atol=1e-15
        )
        for _ in range(20):
            other = found.coef + 0.1 * rng.normal(size=found.coef.shape) * rng.uniform(
                size=found.coef.shape
            )
            assert objective(problem, other, penalty) >= found.bound


def test_a_general_solver_finds_the_same_minimum():
    problem = a_problem(3, n=6, m=2, gamma=1.0)
    penalty = 0.3 * problem.largest
    n, m = problem.coef.shape

    # variables B and the heights xi with -xi <= B <= xi
    def value(v):
        left = problem.coef - v[: n * m].reshape(n, m)
        return np.einsum("ij,ij->", left, problem.K @ left) + penalty * v[n * m :].sum()

    def slope(v):
        left = problem.coef - v[: n * m].reshape(n, m)
        return np.concatenate([(-2 * problem.K @ left).ravel(), penalty * np.ones(n)])

    spread = np.repeat(np.eye(n), m, axis=0)
    A = np.block([[-np.eye(n * m), spread], [np.eye(n * m), spread]])
    limits = {"type": "ineq", "fun": lambda v: A @ v, "jac": lambda _: A}
    start = np.concatenate([np.zeros(n * m), np.ones(n)])
    theirs = scipy.optimize.minimize(
        value,
        start,
        jac=slope,
        constraints=limits,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    ours = problem.solve(penalty, gap=1e-10)
    np.testing.assert_allclose(ours.primal, theirs.fun, rtol=1e-6)
    np.testing.assert_allclose(ours.coef, theirs.x[: n * m].reshape(n, m), atol=1e-3)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_gap_is_reached_for_tiny_penalties_with_an_ill_conditioned_matrix(weighted, m):
    X, y = make_moons(200, noise=0.2, random_state=1)
    psi = mc.SVC(kernel=mc.Gaussian(0.2), C=10).fit(X, y).expansion_
    K, coef = psi.kernel(psi.points), np.hstack([psi.coef, psi.coef[::-1]])[:, :m]
    assert np.linalg.cond(K) > 1e13
    problem = RowSparse(K, coef, 1 / np.abs(coef).max(axis=1) if weighted else np.ones(len(K)))
    start = None
    for share in 0.2 ** np.arange(1, 8):
        found = problem.solve(share * problem.largest, start=start)
        start = found.coef
        assert -1e-9 <= found.gap <= 1e-4
    # the numerical rank is far below the number of points
    assert np.count_nonzero(start.any(axis=1)) < 0.8 * len(K)


def test_the_solution_is_0_from_the_largest_penalty_on_and_not_below_it():
    problem = a_problem(1)
    assert not problem.solve(1.0001 * problem.largest).coef.any()
    assert problem.solve(0.99 * problem.largest, gap=1e-12).coef.any()


def test_a_start_that_is_the_solution_is_returned_with_its_objective():
    coef = np.array([[3.0, 0.0], [0.1, 0.5]])
    exact = np.array([[2.0, 0.0], [0.0, 0.0]])
    problem = RowSparse(np.eye(2), coef, np.ones(2))
    found = problem.solve(2.0, start=exact)
    assert found.coef is exact
    np.testing.assert_allclose(found.primal, objective(problem, exact, 2.0))
    np.testing.assert_allclose(found.bound, found.primal)


def test_a_start_does_not_change_the_solution():
    problem = a_problem(2, n=40, m=4)
    near = problem.solve(0.12 * problem.largest).coef
    cold, warm = (
        problem.solve(0.1 * problem.largest, gap=1e-10, start=start) for start in (None, near)
    )
    np.testing.assert_allclose(cold.primal, warm.primal, rtol=1e-9)
    np.testing.assert_allclose(cold.coef, warm.coef, atol=1e-4 * np.abs(cold.coef).max())


def test_repeated_points_and_features_of_norm_0_give_the_same_minimum():
    kernel, X, coef = random_terms(4, 10, 2)
    K = kernel(np.vstack([X, X]), np.vstack([X, X]))
    single = RowSparse(K[:10, :10], 2 * coef, np.ones(10))
    double = RowSparse(K, np.vstack([coef, coef]), np.ones(20))
    penalty = 0.1 * single.largest
    np.testing.assert_allclose(
        double.solve(penalty, 1e-9).primal, single.solve(penalty, 1e-9).primal, rtol=1e-8
    )
    with_zero = RowSparse(
        np.pad(K[:10, :10], (0, 1)), np.vstack([2 * coef, np.ones((1, 2))]), np.ones(11)
    )
    found = with_zero.solve(penalty, 1e-9)
    assert not found.coef[10].any()
    np.testing.assert_allclose(found.primal, single.solve(penalty, 1e-9).primal, rtol=1e-8)


def test_points_of_infinite_weight_are_not_used():
    kernel, X, coef = random_terms(5, 10, 2)
    weights = np.where(np.arange(10) < 3, np.inf, 1.0)
    problem = RowSparse(kernel(X, X), coef, weights)
    found = problem.solve(1e-3 * problem.largest)
    assert not found.coef[:3].any()
    assert found.gap <= 1e-4


def test_a_gap_that_is_not_reached_is_reported_with_its_value():
    problem = a_problem(0)
    with pytest.warns(
        ConvergenceWarning, match=r"ended at a relative duality gap of .*e-\d+, above gap = 1e-30"
    ):
        problem.solve(0.1 * problem.largest, gap=1e-30)


@pytest.mark.parametrize("seed", range(5))
def test_a_shrunk_row_is_the_minimiser(seed):
    rng = np.random.default_rng(seed)
    row = rng.normal(size=6)
    weight = rng.uniform(0, 1.2) * np.abs(row).sum()
    found = row.copy()
    shrink(found, weight)

    def value(b):
        return 0.5 * ((b - row) ** 2).sum() + weight * np.abs(b).max()

    # minimise over the height on a fine grid; entries are clipped at it
    heights = np.linspace(0, np.abs(row).max(), 20001)
    best = min(value(np.clip(row, -h, h)) for h in heights)
    assert value(found) <= best + 1e-15
    assert best - value(found) < 1e-6


def test_the_weights_of_points_are_the_mean_size_over_the_largest_of_the_row():
    coef = np.array([[4.0, -1.0], [0.0, 2.0], [0.0, 0.0]])
    # the mean of the sizes 4, 1 and 2
    np.testing.assert_allclose(point_weights(coef, True), [7 / 3 / 4, 7 / 3 / 2, np.inf])
    np.testing.assert_array_equal(point_weights(coef, False), [1, 1, 1])


def test_terms_are_the_weighted_maxima_of_the_rows():
    problem = RowSparse(np.eye(3), np.ones((3, 2)), np.array([2.0, 3.0, np.inf]))
    np.testing.assert_array_equal(
        problem.terms(np.array([[1.0, -4.0], [0.5, 0.0], [0.0, 0.0]])), [8, 1.5, 0]
    )


def test_the_bound_is_that_of_the_best_feasible_multiple_of_the_residuals():
    # theta = t r with <r, psi> = 3 and |r|^2 = 2 has the dual objective 6 t - 2 t^2
    assert _bound(3.0, 2.0, 0.5) == (1.0, 4.0)
    assert _bound(3.0, 2.0, 2.0) == (0.5, 2.5)
    # the maximum at t = <r, psi> / |r|^2 where that is feasible
    assert _bound(1.0, 2.0, 1.0) == (0.5, 0.5)
    assert _bound(1.0, 2.0, 4.0) == (0.25, 0.375)


def test_a_newton_step_with_the_right_pattern_is_the_solution():
    problem = a_problem(0, n=12, m=3, weighted=True)
    penalty = 0.1 * problem.largest
    exact = problem.solve(penalty, gap=1e-12).coef
    penalties, rng = penalty * problem.weights, np.random.default_rng(0)
    height = np.abs(exact).max(axis=1, keepdims=True)
    tied = np.abs(exact) >= height * (1 - 1e-9)
    # other values with the same rows, ties and signs
    new = height * rng.uniform(0.8, 1.2, height.shape)
    B = np.where(
        tied, np.sign(exact) * new, exact * 0.5 * np.minimum(new / np.maximum(height, 1e-300), 1)
    )
    left = (problem.K @ (problem.coef - B)).T
    np.testing.assert_allclose(
        B + _newton(problem.K, left, B, penalties), exact, atol=1e-6 * np.abs(exact).max()
    )


def test_descent_over_rows_updates_the_residuals_and_lowers_the_objective():
    problem = a_problem(1, n=10, m=2)
    penalty = 0.2 * problem.largest
    B = np.zeros((10, 2))
    left = np.ascontiguousarray((problem.K @ problem.coef).T)
    before = objective(problem, B, penalty)
    _descend(problem.K, left, B, penalty * problem.weights, 3)
    np.testing.assert_allclose(left, (problem.K @ (problem.coef - B)).T, atol=1e-12)
    assert objective(problem, B, penalty) < before
    # a further minimisation over any single row changes nothing once the passes have converged
    _descend(problem.K, left, B, penalty * problem.weights, 2000)
    np.testing.assert_allclose(B, problem.solve(penalty, gap=1e-12).coef, atol=1e-6)


def test_a_step_goes_to_the_change_of_pattern_with_the_smallest_objective():
    problem = a_problem(2, n=8, m=3)
    penalty, rng, partial = 0.3 * problem.largest, np.random.default_rng(1), 0
    for _ in range(30):
        B = problem.coef * rng.uniform(0.2, 1.0, problem.coef.shape)
        left, step = (problem.K @ (problem.coef - B)).T, 0.5 * rng.normal(size=B.shape)
        lengths = {1.0}
        for b, d in zip(B, step, strict=True):
            top = np.argmax(np.abs(b))
            h, rise = abs(b[top]), np.sign(b[top]) * d[top]
            # the row becomes 0, or |b_j + t d_j| = h + t rise
            candidates = [-h / rise]
            for j in np.delete(np.arange(3), top):
                candidates += [(h - b[j]) / (d[j] - rise), -(h + b[j]) / (d[j] + rise)]
            lengths |= {t for t in candidates if 1e-12 < t < 1}
        values = {t: objective(problem, B + t * step, penalty) for t in lengths}
        best = min(values, key=values.get)
        moved, whole = _to_change(problem.K, left, B, step, penalty * problem.weights)
        if values[best] >= objective(problem, B, penalty):
            assert whole
            np.testing.assert_array_equal(moved, B)
            continue
        assert whole == (best == 1)
        on_line = B + best * step
        different = np.abs(moved - on_line) > 1e-12
        # only a row that becomes 0 or an entry that meets the height of its row is set
        assert different.sum(axis=1).max() <= 3
        assert np.count_nonzero(different.any(axis=1)) <= 1
        partial += not whole
        if not whole:
            np.testing.assert_allclose(moved, on_line, atol=1e-9)
    assert partial > 5


@pytest.mark.parametrize("row", [[1.0, -1.0], [1.0, 1.0, 1.0], [3.0, -3.0, 1.0], [2.0]])
def test_a_weight_below_rounding_ends_and_changes_nothing(row):
    # the height of the largest entries rounds to themselves, so that no entry is above it
    found = np.array(row)
    shrink(found, 1e-20)
    np.testing.assert_array_equal(found, row)


def test_rows_with_a_difference_below_rounding_end():
    rng = np.random.default_rng(0)
    for _ in range(20_000):
        # neighbouring numbers and weights of the size of their difference
        row = rng.uniform(1, 2) * (1 + rng.integers(-3, 4, size=rng.integers(2, 5)) * 2.0**-52)
        found, weight = row.copy(), rng.uniform(0, 8) * 2.0**-52
        shrink(found, weight)
        assert np.abs(found - row).max() <= weight + 2.0**-50


def test_a_small_penalty_on_repeated_points_and_two_columns_ends():
    rng = np.random.default_rng(18)
    x = np.tile(rng.normal(size=11), 2)
    K, coef = np.exp(-0.02 * (x[:, None] - x) ** 2), rng.normal(size=(22, 2))
    problem = RowSparse(K, coef, np.ones(22))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = problem.solve(1e-4 * problem.largest)
    assert np.isfinite(found.coef).all()
    assert found.bound <= found.primal
