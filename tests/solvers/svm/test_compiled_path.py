"""Compiled paths over C: feasible starts from neighbours, the gap at which solutions end, and pauses."""

import numpy as np
import pytest
from mercer.solvers.svm.compiled_path import neighbour_start, relative_gap, solve_for_all, start_at_bounds
from mercer.solvers.svm.rounds import copied_values
from sklearn.svm import SVC

import mercer as mc
from mercer.solvers.svm.dual import Dual, Solution, gap_between_bounds
from mercer.solvers.svm.on_demand import known_rows

N = 192


def unit(sign, weight=None):
    """Return the dual of a classifier for C = 1."""
    bound = sign if weight is None else sign * weight
    return Dual(sign, np.minimum(bound, 0), np.maximum(bound, 0), np.zeros(len(sign)), np.arange(len(sign)))


def start(dual, solution, ratio):
    """Return the start from a solution, and its gradient."""
    coef, gradient = np.empty(len(dual.coef)), np.empty(len(dual.coef))
    near = solution.coef, solution.gradient
    neighbour_start(dual.target, dual.epsilon, *near, dual.lower, dual.upper, ratio, coef, gradient)
    return coef, gradient


def problem():
    """Return a kernel matrix and labels."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 3))
    return mc.Gaussian(0.3)(X), np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(N) > 0, 1.0, -1.0)


@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.5, 100.0])
def test_a_start_is_the_best_multiple_within_the_bounds(ratio):
    K, sign = problem()
    peer = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(K, sign)
    coef = np.zeros(N)
    coef[peer.support_] = peer.dual_coef_[0]
    found = Solution(coef, sign - K @ coef, 0.0, 0.0, 0)
    lower, upper = np.minimum(ratio * sign, 0), np.maximum(ratio * sign, 0)
    coef, gradient = start(unit(sign, np.full(N, ratio)), found, ratio)
    assert (coef >= lower).all()
    assert (coef <= upper).all()
    np.testing.assert_allclose(gradient, sign - K @ coef, atol=1e-6 * ratio)

    def objective(b):
        return sign @ b - 0.5 * b @ K @ b

    multiples = [objective(s * found.coef) for s in np.linspace(0, ratio, 50)]
    assert objective(coef) >= max(multiples) - 1e-9 * abs(max(multiples))


def test_coefficients_at_their_bounds_start_at_the_new_bounds_to_the_last_bit():
    sign = np.array([1.0, -1.0, 1.0, -1.0])
    rounded = 0
    for C in np.linspace(0.1, 0.9, 9):
        for larger in np.linspace(1.0, 3.0, 9):
            # no curvature: the multiple is the ratio
            found = Solution(C * sign, sign, 0.0, 0.0, 0)
            coef, _ = start(unit(sign, np.full(4, larger)), found, larger / C)
            np.testing.assert_array_equal(coef, larger * sign)
            rounded += C * (larger / C) != larger
    assert rounded > 0


def test_a_start_from_nothing_is_nothing():
    nothing = Solution(np.zeros(2), np.array([1.0, -1.0]), 0.0, 2.0, 0)
    coef, gradient = start(unit(np.array([1.0, -1.0]), np.full(2, 2.0)), nothing, 2.0)
    np.testing.assert_array_equal(coef, 0)
    np.testing.assert_array_equal(gradient, [1.0, -1.0])


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("scale", "share"), [(1e-3, 0.4), (1e-2, 0.1)])
def test_at_a_small_C_pairs_start_at_their_bounds(epsilon, weighted, scale, share, global_random_seed):
    K, sign = problem()
    rng = np.random.default_rng(global_random_seed)
    C = scale * (rng.uniform(1, 2, N) if weighted else np.ones(N))
    low, high = (-C, C) if epsilon > 0 else (np.minimum(0, C * sign), np.maximum(0, C * sign))
    coef, f = np.zeros(N), sign.copy()
    start_at_bounds(known_rows(np.ones(N)), K, np.arange(N), coef, f, low, high, epsilon)
    # all but the last of each block are at a bound
    assert np.count_nonzero((coef == low) | (coef == high)) > 0.8 * np.count_nonzero(coef) > share * N
    assert (low <= coef).all()
    assert (coef <= high).all()
    assert abs(coef.sum()) < 1e-12
    np.testing.assert_allclose(f, sign - K @ coef, atol=1e-12)
    # no pair went too far: the objective would still rise
    assert f[coef > 0].min() - epsilon >= f[coef < 0].max() + epsilon


def test_pairs_stop_before_their_slopes_cross_in_tight_clusters():
    sign = np.repeat([1.0, -1.0], N // 2)
    K, C = np.float64(sign[:, None] == sign), 0.02
    coef, f = np.zeros(N), sign.copy()
    start_at_bounds(
        known_rows(np.ones(N)), K, np.arange(N), coef, f, np.minimum(0, C * sign), np.maximum(0, C * sign), 0.0
    )
    assert coef.any()
    assert f[coef > 0].min() >= f[coef < 0].max()


def test_at_a_large_C_no_pair_starts_at_its_bounds():
    K, sign = problem()
    coef, f = np.zeros(N), sign.copy()
    start_at_bounds(known_rows(np.ones(N)), K, np.arange(N), coef, f, np.minimum(0, sign), np.maximum(0, sign), 0.0)
    assert not coef.any()
    np.testing.assert_array_equal(f, sign)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_gap_is_a_share_of_the_loss_of_the_function_0(epsilon, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    target, bound, bias = rng.standard_normal(20), rng.uniform(1, 2, 20), 0.3
    coef, f = np.clip(rng.standard_normal(20), -bound, bound), rng.standard_normal(20)
    dual = Dual(target, -bound, bound, coef, np.arange(20), epsilon)
    gap = gap_between_bounds(dual, coef, f - bias).sum()
    loss = (bound * np.maximum(0, np.abs(target) - epsilon)).sum()
    np.testing.assert_allclose(relative_gap(target, f, coef, -bound, bound, epsilon, bias), gap / loss, rtol=1e-12)
    assert relative_gap(0 * target, f, coef, -bound, bound, 1.0, bias) == np.inf


def test_a_start_within_the_gap_takes_no_steps(global_random_seed):
    K, sign = problem()
    C = 10 ** np.random.default_rng(global_random_seed).uniform(-1, 1)
    Cs, dual, gap = C * np.array([1.0, 1 + 1e-7, 2.0]), unit(sign), 1e-3
    state = np.zeros((3, N)), np.empty((3, N)), np.zeros(3), np.full(3, np.inf), np.zeros(3, int)
    arrays = K, known_rows(np.ones(N)), np.empty(copied_values(N)), np.arange(N)
    given = sign, dual.lower, dual.upper, 0.0, Cs
    solve_for_all(*arrays, given, state, np.array([0, 0]), np.ones(1), 1e-9, gap, 10**6, 10**9)
    coef, gradient, bias, _, n_iter = state
    assert n_iter[1] == 0
    assert min(n_iter[0], n_iter[2]) > 0
    loss = Cs[:, None] * np.maximum(0, 1 - sign * (sign - gradient + bias[:, None]))
    primal, value = 0.5 * np.sum(coef * (sign - gradient), axis=1), 0.5 * np.sum(coef * (sign + gradient), axis=1)
    assert (primal + loss.sum(axis=1) - value <= 1.001 * gap * Cs * N).all()
    np.testing.assert_allclose(gradient, sign - coef @ K, atol=1e-8 * Cs.max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pauses_change_no_more_than_the_tolerance(dtype):
    K, sign = problem()
    Cs, dual = np.array([0.5, 5.0, 50.0]), unit(sign)
    found = []
    for work in (10**9, 20_000):
        K = K.astype(dtype)
        arrays = K, known_rows(np.ones(N, dtype)), np.empty(copied_values(N), dtype), np.arange(N)
        state = np.zeros((3, N)), np.empty((3, N)), np.zeros(3), np.full(3, np.inf), np.zeros(3, int)
        position, calls = np.array([0, 0]), 0
        while position[0] < 3:
            given = sign, dual.lower, dual.upper, 0.0, Cs
            solve_for_all(*arrays, given, state, position, np.ones(1), 1e-4, 0.0, 10**6, work)
            calls += 1
        found.append((state, calls))
    (one, first), (other, second) = found
    assert first == 1
    assert second > 3
    np.testing.assert_allclose(other[1] + other[2][:, None], one[1] + one[2][:, None], atol=1e-2)
    assert max(one[3].max(), other[3].max()) <= 1e-4
