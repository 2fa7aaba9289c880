"""The compiled SMO step against its definition: the pair, the move, slopes, sums kept, missing rows."""

import numpy as np
import pytest
from tests.reference.inside import costs

import mercer as mc
from mercer.solvers.svm.smo import load, offsets, subtract, take_steps

LANES = costs.LANES
NONE = np.empty(0, int)


def steps(K, slots, diagonal, f, coef, lower, upper, epsilon, groups, tol, most, known=None):
    """Take steps, which change coefficients and gradient; return their number, the missing row and the violation.

    ``known`` are rows that missing ones are copied from, the columns of the variables in them, and their places.
    """
    rising, falling = np.empty(len(f)), np.empty(len(f))
    load(f, coef, lower, upper, epsilon, rising, falling)
    slopes, copied = (rising, falling, coef, lower, upper, epsilon), known or (K[:0], NONE, slots)
    found = take_steps(K, slots, diagonal, *slopes, np.asarray(groups), *copied, tol, most)
    for t in range(len(f)):
        rise, fall = offsets(coef[t], lower[t], upper[t], epsilon)
        if np.isfinite(fall):
            f[t] = fall - falling[t]
        elif np.isfinite(rise):
            f[t] = rising[t] - rise
    return found


def _problem(seed, n=300):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    width = -(-n // LANES) * LANES
    K = np.zeros((n, width))
    K[:, :n] = mc.Gaussian(0.5)(X)
    y = np.zeros(width)
    y[:n] = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    slots = np.full(width, -1)
    slots[:n] = np.arange(n)
    ones = np.zeros(width)
    ones[:n] = 1
    return K, slots, ones, y


def test_steps_lead_to_the_optimum_and_keep_the_sum(global_random_seed):
    K, slots, ones, y = _problem(global_random_seed)
    f, coef = y.copy(), np.zeros(len(y))
    groups = np.array([0, len(y)])
    lower, upper = np.minimum(0, y), np.maximum(0, y)
    n_iter, missing, violation = steps(
        K, slots, ones, f, coef, lower, upper, 0.0, groups, 1e-9, 10**6
    )
    assert missing == -1
    assert violation <= 1e-9
    assert n_iter > 0
    assert abs(coef.sum()) < 1e-12
    np.testing.assert_allclose(f[:300], y[:300] - K[:, :300] @ coef[:300], atol=1e-12)


def test_a_missing_row_is_asked_for_before_anything_changes(global_random_seed):
    K, slots, ones, y = _problem(global_random_seed)
    f, coef = y.copy(), np.zeros(len(y))
    n_iter, missing, _ = steps(
        *(K, np.full_like(slots, -1), ones, f, coef, np.minimum(0, y), np.maximum(0, y), 0.0),
        *(np.array([0, len(y)]), 1e-9, 100),
    )
    assert (n_iter, f[missing]) == (0, 1.0)
    assert (f == y).all()


def test_groups_keep_their_sums_apart(global_random_seed):
    K, slots, ones, _ = _problem(global_random_seed, n=2 * LANES)
    f, coef = -K[:, :LANES].sum(axis=1) * 0.2, np.zeros(2 * LANES)
    coef[:LANES] = 0.2
    f[LANES:] += 3
    before = f + K @ coef
    n_iter, _, violation = steps(
        K,
        slots,
        ones,
        f,
        coef,
        np.zeros_like(f),
        np.ones_like(f),
        0.0,
        np.array([0, LANES, 2 * LANES]),
        1e-8,
        10**5,
    )
    assert n_iter > 0
    assert violation <= 1e-8
    np.testing.assert_allclose(
        [coef[:LANES].sum(), coef[LANES:].sum()], [0.2 * LANES, 0], atol=1e-10
    )
    np.testing.assert_allclose(f, before - K @ coef, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_subtracted_in_float64(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    K, f = rng.standard_normal((9, 5000)).astype(dtype), rng.standard_normal(5000)
    for rows in (np.array([4, 1]), np.array([8, 0, 3, 5]), np.array([2, 7, 4, 1, 8, 6, 0])):
        weights = rng.standard_normal(len(rows)) * 1e6
        expected = f - weights @ K[rows].astype(np.float64)
        subtract(K, rows, weights, f)
        np.testing.assert_allclose(f, expected, rtol=1e-12, atol=1e-9)


def test_a_missing_row_that_is_known_elsewhere_is_copied(global_random_seed):
    K, slots, ones, y = _problem(global_random_seed)
    groups, bounds, found = [0, len(y)], (np.minimum(0, y), np.maximum(0, y)), []
    # the rows of other points lie between those of the variables
    places = np.arange(0, 2 * len(y), 2)[:300]
    source = np.zeros((400, 2 * len(y)))
    source[50:350, places] = K[:, :300]
    held = np.where(np.arange(len(y)) < 300, 50 + np.arange(len(y)), -1)
    for own, known in ((K, None), (np.zeros_like(K), (source, places, held))):
        coef, f = np.zeros(len(y)), y.copy()
        rows = slots.copy() if known is None else np.full_like(slots, -1)
        found.append(
            (steps(own, rows, ones, f, coef, *bounds, 0.0, groups, 1e-9, 10**6, known), coef, f)
        )
    (one, first, f), (other, second, g) = found
    assert one[:2] == other[:2]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(f[:300], g[:300], atol=1e-12)
    # only those that steps asked for
    assert 0 < (rows >= 0).sum() < 300
    np.testing.assert_array_equal(own[rows[rows >= 0], :300], K[np.flatnonzero(rows >= 0), :300])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_are_the_derivatives_of_the_objective_to_the_right_and_to_the_left(
    dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    n, h = LANES, 1e-7
    coef, upper = np.resize([0.0, 0.5, -0.5, 1.0, -1.0], n), np.ones(n)
    A = rng.standard_normal((n, n))
    K, target, epsilon = A @ A.T, rng.standard_normal(n), 0.3
    rising, falling = np.empty(n, dtype), np.empty(n, dtype)
    largest = load(target - K @ coef, coef, -upper, upper, epsilon, rising, falling)

    def gain(i, step):
        moved = coef + step * (np.arange(n) == i)
        before, after = (
            b @ target - epsilon * np.abs(b).sum() - 0.5 * b @ K @ b for b in (coef, moved)
        )
        return (after - before) / h

    right, left = ([gain(i, size) for i in range(n)] for size in (h, -h))
    np.testing.assert_allclose(rising[coef < 1], np.array(right)[coef < 1], atol=1e-4)
    np.testing.assert_allclose(falling[coef > -1], np.array(left)[coef > -1], atol=1e-4)
    assert (rising[coef == 1] == -np.inf).all()
    assert (falling[coef == -1] == -np.inf).all()
    np.testing.assert_allclose(largest, [rising.max(), falling.max()], rtol=1e-6)


def _with_epsilon(seed, epsilon, dtype=np.float64):
    K, slots, ones, _ = _problem(seed)
    f, coef, upper = np.zeros(len(K[0])), np.zeros(len(K[0])), 2 * ones
    f[:300] = np.random.default_rng(seed).standard_normal(300)
    groups = np.array([0, len(f)])
    result = steps(
        K.astype(dtype), slots, ones, f, coef, -upper, upper, epsilon, groups, 1e-9, 10**6
    )
    return K[:, :300], f[:300], coef[:300], result


def test_steps_in_a_epsilon_lead_to_the_optimum_of_the_two_variables_to_a_point(global_random_seed):
    K, f, coef, (_, missing, violation) = _with_epsilon(global_random_seed, 0.3)
    target = f + K @ coef
    assert missing == -1
    assert violation <= 1e-9
    # the same dual with a variable above and one below 0
    twice = np.zeros((600, 768))
    twice[:, :600] = np.tile(K, (2, 2))
    both, parts, lower, upper, ones = (np.zeros(768) for _ in range(5))
    both[:600] = np.concatenate([target - 0.3, target + 0.3])
    lower[300:600], upper[:300], ones[:600] = -2, 2, 1
    slots = np.where(np.arange(768) < 600, np.arange(768), -1)
    steps(twice, slots, ones, both, parts, lower, upper, 0.0, np.array([0, 768]), 1e-9, 10**6)
    np.testing.assert_allclose(K @ coef, K @ (parts[:300] + parts[300:600]), atol=1e-7)


def test_zero_is_met_exactly_and_gradients_there_are_within_epsilon(global_random_seed):
    _, f, coef, _ = _with_epsilon(global_random_seed, 0.3)
    free = (coef != 0) & (np.abs(coef) < 2)
    assert 0 < (coef == 0).sum() < 300
    level = np.mean(f[free] - 0.3 * np.sign(coef[free]))
    np.testing.assert_allclose(f[free] - 0.3 * np.sign(coef[free]), level, atol=1e-8)
    assert (np.abs(f[coef == 0] - level) <= 0.3 + 1e-8).all()


def test_an_epsilon_larger_than_all_gradients_moves_nothing(global_random_seed):
    _, f, coef, (n_iter, _, violation) = _with_epsilon(global_random_seed, 10.0)
    assert n_iter == 0
    assert violation == pytest.approx(np.ptp(f) - 20)
    assert not coef.any()


# --- every step is that of the definition -----------------------------------------------------------------------------


def chosen_by_definition(K, f, coef, lower, upper, epsilon, groups):
    """Return the pair that second-order working-set selection takes, and how far it moves: plain Python, no lanes."""
    best = None
    for start, stop in zip(groups[:-1], groups[1:], strict=True):
        places = range(start, stop)
        rising = {
            k: f[k] + (epsilon if coef[k] < 0 else -epsilon) for k in places if coef[k] < upper[k]
        }
        falling = {
            k: f[k] + (-epsilon if coef[k] > 0 else epsilon) for k in places if coef[k] > lower[k]
        }
        i = max(rising, key=rising.get)
        if best is None or rising[i] - min(falling.values()) > best[0]:
            best = rising[i] - min(falling.values()), i, rising[i], falling
    _, i, top, falling = best
    gain = {
        k: max(0, top - low) ** 2 / (K[i, i] + K[k, k] - 2 * K[i, k])
        for k, low in falling.items()
        if k != i
    }
    j = max(gain, key=gain.get)
    room_i = (0 if epsilon and coef[i] < 0 else upper[i]) - coef[i]
    room_j = coef[j] - (0 if epsilon and coef[j] > 0 else lower[j])
    return i, j, min((top - falling[j]) / (K[i, i] + K[j, j] - 2 * K[i, j]), room_i, room_j)


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize(
    "groups", [[0, 2 * LANES], [0, LANES, 2 * LANES]], ids=["one sum", "two sums"]
)
def test_pair_and_step_are_those_of_the_definition(epsilon, groups, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    n = 2 * LANES
    A = rng.standard_normal((n, 6)) * rng.uniform(0.5, 2, (n, 1))
    K, target = A @ A.T + np.diag(rng.uniform(0.1, 1, n)), rng.standard_normal(n)
    lower, upper = -rng.uniform(0, 0.2, n), rng.uniform(0, 0.2, n)
    coef = np.clip(rng.uniform(-0.3, 0.3, n), lower, upper) * (rng.random(n) < 0.7)
    f = target - K @ coef
    for _ in range(40):
        i, j, step = chosen_by_definition(K, f, coef, lower, upper, epsilon, groups)
        expected = coef.copy()
        expected[i] += step
        expected[j] -= step
        arrays = np.arange(n), np.diag(K).copy(), f, coef, lower, upper
        n_iter, missing, _ = steps(K, *arrays, epsilon, np.array(groups), 1e-12, 1)
        assert (n_iter, missing) == (1, -1)
        np.testing.assert_allclose(coef, expected, atol=1e-14)
        # the gradient follows with the next search, or at the end
        np.testing.assert_allclose(f, target - K @ coef, atol=1e-12)


def test_the_violation_is_the_largest_slope_of_a_rise_minus_the_smallest_of_a_fall():
    n = LANES
    f, coef = np.zeros(n), np.zeros(n)
    f[:4], coef[:4] = [3.0, 1.0, -1.0, -2.0], [1.0, 0.5, -0.5, -1.0]
    lower, upper = -np.ones(n), np.ones(n)
    lower[4:] = upper[4:] = 0
    arrays = np.arange(n), np.ones(n), f, coef, lower, upper
    for epsilon, expected in ((0.0, 1.0 - -1.0), (0.25, (1.0 - 0.25) - (-1.0 + 0.25))):
        assert steps(np.eye(n), *arrays, epsilon, np.array([0, n]), 10.0, 1) == (0, -1, expected)
        assert steps(np.eye(n), *arrays, epsilon, np.array([0, n]), expected, 1)[0] == 0


def test_equal_points_move_as_if_they_were_a_little_apart():
    n = LANES
    K, f, coef = np.zeros((2, n)), np.zeros(n), np.zeros(n)
    K[:, :2], f[:2] = 4.0, [1.0, -1.0]
    bounds = np.zeros(n)
    bounds[:2] = 1e20
    diagonal, slots = np.zeros(n), np.where(np.arange(n) < 2, np.arange(n), -1)
    diagonal[:2] = 4.0
    steps(K, slots, diagonal, f, coef, -bounds, bounds, 0.0, np.array([0, n]), 1e-3, 1)
    np.testing.assert_allclose(coef[:2], [2 / (1e-12 * 8), -2 / (1e-12 * 8)])


def test_the_row_of_the_second_variable_is_asked_for_when_the_first_is_known():
    K, slots, ones, y = _problem(0)
    f, coef = y.copy(), np.zeros(len(y))
    groups, bounds = np.array([0, len(y)]), (np.minimum(0, y), np.maximum(0, y))
    _, first, _ = steps(K, np.full_like(slots, -1), ones, f, coef, *bounds, 0.0, groups, 1e-9, 9)
    known = np.full_like(slots, -1)
    known[first] = first
    _, second, _ = steps(K, known, ones, f, coef, *bounds, 0.0, groups, 1e-9, 9)
    assert (y[first], y[second]) == (1, -1)
    # all violate equally: the partner that is nearest gains most
    assert second == np.argmax(np.where(y[:300] < 0, K[first, :300], -np.inf))
