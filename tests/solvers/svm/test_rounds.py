import numpy as np
import pytest
from mercer.solvers.svm.bias import bias_of, settled, violation_of
from mercer.solvers.svm.rounds import bias_and_violation, gap_share, near_margin, settle, solve_rounds
from mercer.solvers.svm.whole import points_of

import mercer as mc
from mercer.solvers.svm.dual import Dual, certificate
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.smo import load


def _problem(seed, n=700, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    rows, m = FusedRows(mc.Gaussian(0.5), X, dtype), -(-n // 64) * 64
    points = points_of(rows.compiled_rows(), np.arange(n), np.empty((1, m), dtype), np.empty((0, 0), dtype))
    f, lower, upper = (np.pad(values, (0, m - n)) for values in (y, np.minimum(3 * y, 0), np.maximum(3 * y, 0)))
    return X, y, points, f, lower, upper


def test_rounds_lead_to_the_optimum_with_the_gradient_of_the_coefficients(global_random_seed):
    X, y, points, f, lower, upper = _problem(global_random_seed)
    n, m = len(y), len(f)
    K, slots, coef = np.zeros((m, m)), np.full(m, -1), np.zeros(m)
    n_iter, used = solve_rounds(points, K, np.empty(m * m), slots, 0, f, coef, lower, upper, 0.0, 1e-6, 10**6)
    assert n_iter > 0
    # rows that no step asked for are not computed
    assert used == np.count_nonzero(slots >= 0) < n
    assert abs(coef.sum()) < 1e-10
    np.testing.assert_allclose(f[:n], y - mc.Gaussian(0.5)(X) @ coef[:n], atol=1e-9)
    bias, violation = bias_and_violation(f, coef, lower, upper, 0.0, n)
    assert violation <= 1e-6
    free = (coef[:n] > lower[:n]) & (coef[:n] < upper[:n])
    np.testing.assert_allclose(f[:n][free], bias, atol=1e-6)


def test_float32_rounds_end_at_the_tolerance_of_the_float64_gradient(global_random_seed):
    X, y, points, f, lower, upper = _problem(global_random_seed, dtype=np.float32)
    m = len(f)
    K, slots, coef = np.zeros((m, m), np.float32), np.full(m, -1), np.zeros(m)
    spare = np.empty(m * m, np.float32)
    solve_rounds(points, K, spare, slots, 0, f, coef, lower, upper, 0.0, 1e-3, 10**6)
    np.testing.assert_allclose(f[: len(y)], y - mc.Gaussian(0.5)(X) @ coef[: len(y)], atol=1e-4)
    assert bias_and_violation(f, coef, lower, upper, 0.0, len(y))[1] <= 1e-3


def test_a_limit_ends_rounds_after_that_many_steps():
    _, _, points, f, lower, upper = _problem(0)
    m = len(f)
    state = points, np.zeros((m, m)), np.empty(m * m), np.full(m, -1), 0, f, np.zeros(m), lower, upper
    assert solve_rounds(*state, 0.0, 1e-6, 37)[0] == 37


def test_variables_near_the_margin_are_free_or_would_violate_if_the_bias_moved_by_the_violation():
    # slopes of rises and minus those of falls: bias between 0.5 and 1, so the middle is 0.75 and the violation 0.5
    gradient = np.array([1.0, 0.5, 0.2, 0.3, 1.3, 1.2, 0.6, -9.0])
    coef, lower, upper = np.zeros(8), np.zeros(8), np.ones(8)
    coef[[1, 4, 5, 7]] = 1
    coef[6] = 0.5
    rising, falling = np.empty(8), np.empty(8)
    top, bottom = load(gradient, coef, lower, upper, 0.0, rising, falling)
    places = np.empty(8, int)
    count = near_margin(rising, falling, top, bottom, places)
    middle, violation = 0.5 * (top - bottom), top + bottom
    expected = [
        t for t in range(8)
        if (coef[t] < 1 and gradient[t] > middle - violation) or (coef[t] > 0 and gradient[t] < middle + violation)
    ]  # fmt: skip
    assert places[:count].tolist() == expected
    assert 6 in expected


def test_without_free_variables_the_bias_is_the_middle_of_the_interval():
    gradient, coef = np.array([2.0, 1.0]), np.array([1.0, 0.0])
    assert bias_and_violation(gradient, coef, np.zeros(2), np.ones(2), 0.0, 2) == (1.5, 0.0)
    assert bias_and_violation(np.array([2.0, 2.5]), np.array([1.0, 0.0]), np.zeros(2), np.ones(2), 0.0, 2) == (
        2.25,
        0.5,
    )


@pytest.mark.parametrize("coef", [[3e-15, 1.0, 1 - 3e-15], [0.0, 1.0, 1 - 1e-11], [5e-17, -0.5, 0.5], [0.3, -1.0, 0.2]])
@pytest.mark.parametrize("epsilon", [0.0, 0.25])
def test_the_compiled_bias_is_that_of_arrays(coef, epsilon):
    coef, f = np.array(coef), np.array([1.0, 4.0, 3.0])
    dual = Dual(np.zeros(3), np.full(3, -1.0), np.ones(3), np.zeros(3), np.arange(3), epsilon=epsilon)
    expected = settled(coef, dual)
    settle(coef, dual.lower, dual.upper, 3)
    np.testing.assert_array_equal(coef, expected)
    bias, violation = bias_and_violation(f, coef, dual.lower, dual.upper, epsilon, 3)
    assert bias == pytest.approx(bias_of(f, expected, dual))
    assert violation == pytest.approx(violation_of(f, expected, dual))


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_share_of_the_gap_is_that_of_the_certificate(epsilon, global_random_seed):
    rng, n = np.random.default_rng(global_random_seed), 30
    X, target = rng.normal(size=(n, 2)), rng.normal(size=n)
    dual = Dual(target, np.full(n, -2.0), np.full(n, 3.0), np.zeros(n), np.arange(n), epsilon)
    coef = rng.uniform(-1, 1, n) * (rng.random(n) < 0.7)
    coef -= coef.mean()
    f, bias = target - mc.Gaussian(0.5)(X) @ coef, 0.2
    found = certificate(dual, coef, f, bias)
    share = gap_share(target, f, coef, dual.lower, dual.upper, epsilon, bias, n)
    assert share == pytest.approx((found.primal - found.dual) / found.primal, rel=1e-10)
    # a one-class problem has a negative objective at a bad start, of which no share is taken
    assert gap_share(target, f - 1e3 * np.sign(coef), coef, dual.lower, dual.upper, epsilon, bias, n) >= 0
