"""Quasi-Newton steps: one for a parabola, the minimum of SciPy's bounded search, and values that are not finite."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from mercer.learning.quasi_newton import minimise

WIDE = [(-50.0, 50.0)] * 3


def test_a_parabola_with_known_derivatives_takes_one_step(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    A = rng.normal(size=(3, 5))
    H, centre, calls = A @ A.T, rng.uniform(-1, 1, 3), []

    def parabola(x):
        calls.append(x)
        return 0.5 * (x - centre) @ H @ (x - centre), H @ (x - centre)

    x, value, steps, _ = minimise(parabola, np.zeros(3), H, WIDE, 1e-12, 20)
    np.testing.assert_allclose(x, centre, atol=1e-9)
    assert (steps, len(calls)) == (1, 2)
    assert value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "bounds",
    [WIDE, [(-2, 0.5)] * 3, [(-2, 2), (-2, 0.3), (0.7, 2)]],
    ids=["free", "above", "mixed"],
)
def test_the_minimum_is_that_of_scipy(bounds):
    start = np.array([-1.0, 0.2, 1.2]).clip(*np.array(bounds).T)
    x, value, steps, _ = minimise(
        lambda x: (rosen(x), rosen_der(x)), start, 100 * np.eye(3), bounds, 1e-14, 500
    )
    expected = minimize(
        rosen, start, jac=rosen_der, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15}
    )
    np.testing.assert_allclose(x, expected.x, atol=2e-4)
    assert value == rosen(x)
    assert steps < 200


@pytest.mark.parametrize("sign", [1, -1], ids=["lower", "upper"])
def test_variables_at_a_bound_that_holds_them_stay_while_the_others_take_one_step(sign):
    H, slope = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([3.0, -1.0])

    def parabola(x):
        x = sign * x
        return slope @ x + x @ H @ x / 2, sign * (slope + H @ x)

    # with the first variable at 0 the minimum over the second is 1; over both it lies beyond the bound
    bounds = [(0.0, 5.0)] * 2 if sign > 0 else [(-5.0, 0.0)] * 2
    x, _, steps, _ = minimise(parabola, np.zeros(2), H, bounds, 1e-12, 20)
    np.testing.assert_allclose(sign * x, [0.0, 1.0], atol=1e-12)
    assert steps == 1


def test_the_minimum_of_a_parabola_between_bounds_takes_one_step(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    A = rng.normal(size=(6, 6)) + 3
    H, centre = A @ A.T, rng.uniform(-1.5, 1.5, 6)
    x, _, steps, _ = minimise(
        lambda x: (0.5 * (x - centre) @ H @ (x - centre), H @ (x - centre)),
        np.zeros(6),
        H,
        [(-0.5, 0.5)] * 6,
        1e-12,
        20,
    )
    slopes = H @ (x - centre)
    np.testing.assert_allclose(np.clip(x - slopes, -0.5, 0.5), x, atol=1e-9)
    assert steps == 1


def test_steps_avoid_values_that_are_not_finite():
    def barrier(x):
        with np.errstate(invalid="ignore"):
            return float(np.sum(x - np.log(x))), 1 - 1 / x

    x, *_ = minimise(barrier, np.array([1.9, 0.3]), 0.1 * np.eye(2), [(-9.0, 9.0)] * 2, 1e-14, 100)
    np.testing.assert_allclose(x, 1, atol=1e-6)


def test_the_number_of_steps_is_limited():
    x, value, steps, _ = minimise(
        lambda x: (rosen(x), rosen_der(x)), np.zeros(3) - 1, np.eye(3), WIDE, 0.0, 4
    )
    assert steps == 4
    assert value == rosen(x) < rosen(np.zeros(3) - 1)
