import numpy as np
import pytest
from mercer.solvers.svm.bias import slopes
from mercer.solvers.svm.shrinking import Variables

from mercer.solvers.svm import shrinking
from mercer.solvers.svm.smo import LANES


def _problem(seed, n=600, C=5.0):
    """A noisy classifier's dual with all kernel values at hand."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(-1))
    width = -(-n // LANES) * LANES
    values = np.pad(K, ((0, 0), (0, width - n)))
    slots = np.where(np.arange(width) < n, np.arange(width), -1)
    variables = Variables.padded(np.ones(n), y, np.zeros(n), np.minimum(0, C * y), np.maximum(0, C * y))
    return K, y, values, slots, variables


def test_what_fills_up_lanes_takes_no_part(global_random_seed):
    K, y, values, slots, variables = _problem(global_random_seed)
    shrinking.solve_all(values, slots, variables, 1e-3, 10**6, None)
    assert len(variables) == 608
    assert not variables.coef[600:].any()
    assert not variables.gradient[600:].any()


def test_the_gradient_stays_that_of_the_coefficients(global_random_seed):
    K, y, values, slots, variables = _problem(global_random_seed)
    shrinking.solve_all(values, slots, variables, 1e-1, 10**6, None)
    near = variables.near()
    assert shrinking.few(variables, near)
    shrinking.solve_near(values, slots, variables, near, 1e-3, 10**6, None)
    np.testing.assert_allclose(variables.gradient[:600], y - K @ variables.coef[:600], atol=1e-10)


def test_solving_near_the_margin_reaches_the_optimum_of_all(global_random_seed):
    K, y, values, slots, some = _problem(global_random_seed)
    *_, every = _problem(global_random_seed)
    shrinking.solve_all(values, slots, every, 1e-8, 10**7, None)
    shrinking.solve_all(values, slots, some, 1.0, 10**7, None)
    for _ in range(50):
        if some.violation() <= 1e-8:
            break
        shrinking.solve_near(values, slots, some, some.near(), 1e-8, 10**7, None)
    assert some.violation() <= 1e-8
    objectives = [y @ v.coef[:600] - 0.5 * v.coef[:600] @ K @ v.coef[:600] for v in (some, every)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-9)


def test_near_are_the_free_and_those_that_violate():
    lower, upper = np.zeros(4), np.ones(4)
    coef, gradient = np.array([0.0, 1.0, 0.5, 0.0]), np.array([1.0, 2.0, 0.5, -5.0])
    variables = Variables(np.ones(4), gradient, coef, lower, upper)
    assert variables.interval() == (1.0, 0.5)
    np.testing.assert_array_equal(variables.near(), [0, 2])


def test_a_callback_ends_the_steps(global_random_seed):
    _, _, values, slots, variables = _problem(global_random_seed)
    steps, stopped = shrinking.solve_all(values, slots, variables, 1e-12, 10**9, lambda _: True)
    assert stopped
    assert steps < 10**9


def test_slopes_are_the_derivatives_of_the_objective_to_the_right_and_to_the_left(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    coef, upper = np.array([0.0, 0.5, -0.5, 1.0, -1.0]), np.ones(5)
    A = rng.standard_normal((5, 5))
    K, target, epsilon, h = A @ A.T, rng.standard_normal(5), 0.3, 1e-7
    variables = Variables(np.diag(K), target - K @ coef, coef, -upper, upper, epsilon)
    rising, falling = slopes(variables.gradient, coef, variables)

    def gain(i, step):
        moved = coef + step * (np.arange(5) == i)
        before, after = (b @ target - epsilon * np.abs(b).sum() - 0.5 * b @ K @ b for b in (coef, moved))
        return (after - before) / h

    np.testing.assert_allclose(rising[[0, 1, 2, 4]], [gain(i, h) for i in (0, 1, 2, 4)], atol=1e-5)
    np.testing.assert_allclose(falling[[0, 1, 2, 3]], [-gain(i, -h) for i in (0, 1, 2, 3)], atol=1e-5)
    assert (rising[3], falling[4]) == (-np.inf, np.inf)
    np.testing.assert_array_equal(rising == falling, [False, True, True, False, False])


def _line(gradient, coef=None):
    """Return variables between 0 and 1."""
    n = len(gradient)
    coef = np.zeros(n) if coef is None else np.asarray(coef, float)
    return Variables(np.ones(n), np.asarray(gradient, float), coef, np.zeros(n), np.ones(n))


def test_near_are_variables_at_a_bound_that_would_violate_if_the_bias_moved_by_the_violation():
    # what may rise is at most 1, what may fall at least 0.5: the middle is 0.75, the violation 0.5
    variables = _line([1.0, 0.5, 0.25, 0.26, 1.25, 1.24, 0.7], [0, 1, 0, 0, 1, 1, 0])
    assert (variables.middle(), variables.violation()) == (0.75, 0.5)
    np.testing.assert_array_equal(variables.near(), [0, 1, 3, 5, 6])
    np.testing.assert_array_equal(variables.free(), [])


def test_of_very_many_variables_those_near_that_violate_most_are_taken(monkeypatch):
    monkeypatch.setattr(shrinking, "_WIDE", 7)
    variables = _line([4.0, -4.0, 3.0, -3.0, 1.0, 0.5, -9.0, 0.0], [0, 1, 0, 1, 0, 0, 0, 0])
    for block, expected, everything in ((7, [0, 1, 2, 3, 4, 5, 7], True), (4, [0, 1, 2, 3], False)):
        monkeypatch.setattr(shrinking, "_BLOCK", block)
        near, all_of_them = shrinking.near_margin(variables)
        assert (near.tolist(), all_of_them) == (expected, everything)
    monkeypatch.setattr(shrinking, "_WIDE", 8)
    assert shrinking.near_margin(variables)[1]


def test_a_part_is_at_most_three_fifths_of_the_variables_and_worth_its_copy_after_enough_steps():
    variables = _line(np.zeros(100))
    assert [shrinking.few(variables, np.arange(k)) for k in (60, 61)] == [True, False]
    # four times 50^2 copies, steps over 100 variables
    assert [shrinking.pays(variables, np.arange(50), steps) for steps in (99, 100)] == [False, True]


def test_steps_pause_after_about_a_tenth_of_a_second(monkeypatch, global_random_seed):
    _, _, values, slots, variables = _problem(global_random_seed, n=640)
    for work, steps in ((0, 1), (1640, 1), (3279, 1), (3280, 2), (1640 * 9, 5)):
        monkeypatch.setattr(shrinking, "_WORK", work)
        assert variables.steps(values, slots, 1e-6, 5)[0] == steps


def test_a_part_is_solved_to_a_tenth_of_its_violation_or_half_of_the_tolerance(monkeypatch, global_random_seed):
    _, _, values, slots, variables = _problem(global_random_seed)
    aims = []
    monkeypatch.setattr(shrinking, "solve_all", lambda *args: aims.append(args[3]) or (0, False))
    for tol in (1e-3, 1.0):
        shrinking.solve_near(values, slots, variables, np.arange(200), tol, 9, None)
    assert aims == pytest.approx([0.2, 0.5])
