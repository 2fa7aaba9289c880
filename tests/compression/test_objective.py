"""Objective: values equal those of LAPACK, gradients equal differences, and descents lower the objectives."""

import numpy as np
import pytest
from tests.compression.fitting import exact, problem

import mercer as mc
from mercer.compression.objective import Objective, descend

KERNELS = [
    mc.Gaussian(0.3),
    mc.Polynomial(2, 0.3, 1.0),
    mc.Matern(1.0, 1.5),
    mc.Gaussian(0.3) + 0.2 * mc.Linear(),
    mc.Normalized(mc.Polynomial(2)),
]


def _margins(kernel, X, F, U, Z, B, b, weight, ridge):
    S = kernel(X, Z) @ B + b
    violation = np.maximum(0, 1 - U * S)
    return np.sum(abs(U) * (weight * (F - S) ** 2 + violation**2)) / len(X) + ridge * np.sum(B**2)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_least_squares_is_that_of_lapack_and_its_gradient_that_of_differences(kernel, global_random_seed):
    rng, X, F, _, Z, _ = problem(global_random_seed)
    ridge, step, h = 1e-2, rng.normal(size=Z.shape), 1e-5
    value, slope, B, b = Objective(kernel, X, F).least_squares(Z, ridge)
    expected, found = exact(kernel, X, F, Z, ridge)
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(np.vstack([B, b]), found, rtol=5e-3, atol=5e-4 * abs(found).max())
    around = [exact(kernel, X, F, Z + sign * h * step, ridge)[0] for sign in (1, -1)]
    scale = np.linalg.norm(slope) * np.linalg.norm(step)
    assert abs((around[0] - around[1]) / (2 * h) - np.sum(slope * step)) < 2e-3 * scale


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_objective_with_margins_has_the_gradients_of_differences(kernel, global_random_seed):
    rng, X, F, U, Z, B = problem(global_random_seed)
    U[:50], U[40:90, 0], U[80:99, 1] = 0, 0, 0
    b, weight, ridge, h = rng.normal(size=2), 0.3, 1e-2, 1e-6
    value, *slopes = Objective(kernel, X, F, U).margins(Z, B, b, weight, ridge)
    assert value == pytest.approx(_margins(kernel, X, F, U, Z, B, b, weight, ridge), rel=1e-5)
    steps = [rng.normal(size=each.shape) for each in (Z, B, b)]
    around = [
        _margins(kernel, X, F, U, Z + s * h * steps[0], B + s * h * steps[1], b + s * h * steps[2], weight, ridge)
        for s in (1, -1)
    ]
    along = sum(np.sum(slope * step) for slope, step in zip(slopes, steps, strict=True))
    scale = sum(np.linalg.norm(slope) * np.linalg.norm(step) for slope, step in zip(slopes, steps, strict=True))
    assert abs((around[0] - around[1]) / (2 * h) - along) < 1e-4 * scale


def test_both_descents_end_no_higher_than_they_began(global_random_seed):
    _, X, F, U, Z, _ = problem(global_random_seed)
    data = Objective(mc.Gaussian(0.3), X, F, U)
    found = data.fit_outputs(Z, 20)
    ridge = data._ridge(Z)
    assert data.least_squares(found, ridge)[0] < data.least_squares(Z, ridge)[0]
    B, b = data.coefficients(found)
    ridge = data._ridge(found)
    Z, C, c = data.fit_margins(found, B, b, 0.1, 20)
    assert data.margins(Z, C, c, 0.1, ridge)[0] < data.margins(found, B, b, 0.1, ridge)[0]


def test_errors_are_counted_for_the_classifiers_that_concern_a_row(global_random_seed):
    rng, X, F, U, Z, B = problem(global_random_seed, n=3000)
    U[rng.random(U.shape) < 0.3] = 0
    b, kernel = rng.normal(size=2), mc.Gaussian(0.3)
    S = kernel(X, Z) @ B + b
    close = (np.abs(S) < 1e-4).any(axis=1)
    counts = Objective(kernel, X, F, U).count_errors(Z, B, b)
    np.testing.assert_array_equal(counts[~close], np.sum(U * S < 0, axis=1)[~close])


def test_descend_finds_the_bottom_of_a_bowl():
    found = descend(lambda v: (float(v @ v), 2 * v), np.array([3.0, -4.0]), 20)
    np.testing.assert_allclose(found, 0, atol=1e-6)
