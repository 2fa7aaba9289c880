"""Scores as objectives: values are those of LAPACK, gradients those of differences, and descents go down."""

import numpy as np
import pytest
from tests.reduction.fitting import exact, problem

import mercer as mc
from mercer.compression.scores import Data, descend

KERNELS = [
    mc.Gaussian(0.3),
    mc.Polynomial(2, 0.3, 1.0),
    mc.Matern(1.0, 1.5),
    mc.Gaussian(0.3) + 0.2 * mc.Linear(),
    mc.Normalized(mc.Polynomial(2)),
]


def _margins(kernel, X, F, U, Z, B, b, match, ridge):
    S = kernel(X, Z) @ B + b
    short = np.maximum(0, 1 - U * S)
    return np.sum(abs(U) * (match * (F - S) ** 2 + short**2)) / len(X) + ridge * np.sum(B**2)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_least_squares_is_that_of_lapack_and_its_gradient_that_of_differences(kernel, global_random_seed):
    rng, X, F, _, Z, _ = problem(global_random_seed)
    ridge, step, h = 1e-2, rng.normal(size=Z.shape), 1e-5
    value, slope, B, b = Data(kernel, X, F).least_squares(Z, ridge)
    expected, found = exact(kernel, X, F, Z, ridge)
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(np.vstack([B, b]), found, rtol=5e-3, atol=5e-4 * abs(found).max())
    sides = [exact(kernel, X, F, Z + sign * h * step, ridge)[0] for sign in (1, -1)]
    scale = np.linalg.norm(slope) * np.linalg.norm(step)
    assert abs((sides[0] - sides[1]) / (2 * h) - np.sum(slope * step)) < 2e-3 * scale


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_objective_with_margins_has_the_gradients_of_differences(kernel, global_random_seed):
    rng, X, F, U, Z, B = problem(global_random_seed)
    U[:50], U[40:90, 0], U[80:99, 1] = 0, 0, 0
    b, match, ridge, h = rng.normal(size=2), 0.3, 1e-2, 1e-6
    value, *slopes = Data(kernel, X, F, U).margins(Z, B, b, match, ridge)
    assert value == pytest.approx(_margins(kernel, X, F, U, Z, B, b, match, ridge), rel=1e-5)
    steps = [rng.normal(size=each.shape) for each in (Z, B, b)]
    sides = [
        _margins(kernel, X, F, U, Z + s * h * steps[0], B + s * h * steps[1], b + s * h * steps[2], match, ridge)
        for s in (1, -1)
    ]
    along = sum(np.sum(slope * step) for slope, step in zip(slopes, steps, strict=True))
    scale = sum(np.linalg.norm(slope) * np.linalg.norm(step) for slope, step in zip(slopes, steps, strict=True))
    assert abs((sides[0] - sides[1]) / (2 * h) - along) < 1e-4 * scale


def test_both_descents_end_no_higher_than_they_began(global_random_seed):
    _, X, F, U, Z, _ = problem(global_random_seed)
    data = Data(mc.Gaussian(0.3), X, F, U)
    found, _ = data.matched(Z, 20)
    ridge = data._ridge(Z)
    assert data.least_squares(found, ridge)[0] < data.least_squares(Z, ridge)[0]
    B, b, _ = data.coefficients(found)
    start = data.margins(found, B, b, 0.1, data._ridge(found))[0]
    assert data.decided(found, B, b, 0.1, 20)[3] < start


def test_rows_on_the_wrong_side_are_counted_for_the_machines_that_concern_them(global_random_seed):
    rng, X, F, U, Z, B = problem(global_random_seed, n=3000)
    U[rng.random(U.shape) < 0.3] = 0
    b, kernel = rng.normal(size=2), mc.Gaussian(0.3)
    S = kernel(X, Z) @ B + b
    close = (np.abs(S) < 1e-4).any(axis=1)
    counts = Data(kernel, X, F, U).wrong(Z, B, b)
    np.testing.assert_array_equal(counts[~close], np.sum(U * S < 0, axis=1)[~close])


def test_descend_finds_the_bottom_of_a_bowl():
    found, _ = descend(lambda v: (float(v @ v), 2 * v), np.array([3.0, -4.0]), 20)
    np.testing.assert_allclose(found, 0, atol=1e-6)
