"""Objective: values equal those of LAPACK, gradients equal differences, and descents lower the objectives."""

import numpy as np
import pytest
from tests.solvers.few_vectors.fitting import exact, problem

import mercer as mc
from mercer.solvers.few_vectors.objective import Fit, Objective, Rows

KERNELS = [
    mc.Gaussian(0.3),
    mc.Polynomial(2, 0.3, 1.0),
    mc.Matern(1.0, 1.5),
    mc.Gaussian(0.3) + 0.2 * mc.Linear(),
    mc.Normalized(mc.Polynomial(2)),
]


def _at(data, Z, B, b, weight, ridge):
    """The value of margins and its gradients in Z, B and b."""
    p = len(Z)
    value, slope, _ = data.margins(
        np.concatenate([Z, B, b], axis=None), np.ones((p, 1)), np.eye(p), weight, ridge
    )
    parts = np.split(slope, np.cumsum([Z.size, B.size]))
    return value, *(part.reshape(each.shape) for part, each in zip(parts, (Z, B, b), strict=True))


def _margins(kernel, X, F, U, Z, B, b, weight, ridge, inside=False):
    S = kernel(X, Z) @ B + b
    losses = weight * (F - S) ** 2 + np.maximum(0, 1 - U * S) ** 2
    if inside:
        losses = np.where(np.abs(F) < 1, (F - S) ** 2, losses)
    return np.sum(abs(U) * losses) / len(X) + ridge * np.sum(B**2)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_least_squares_is_that_of_lapack_and_its_gradient_that_of_differences(
    kernel, global_random_seed
):
    rng, X, F, _, Z, _ = problem(global_random_seed)
    ridge, step, h = 1e-2, rng.normal(size=Z.shape), 1e-5
    value, slope, (_, B, b) = Objective(kernel, Rows(X, F)).least_squares(Z, ridge)
    expected, found = exact(kernel, X, F, Z, ridge)
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(np.vstack([B, b]), found, rtol=5e-3, atol=5e-4 * abs(found).max())
    around = [exact(kernel, X, F, Z + sign * h * step, ridge)[0] for sign in (1, -1)]
    scale = np.linalg.norm(slope) * np.linalg.norm(step)
    assert abs((around[0] - around[1]) / (2 * h) - slope @ step.ravel()) < 2e-3 * scale


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_objective_with_margins_has_the_gradients_of_differences(
    kernel, inside, global_random_seed
):
    rng, X, F, U, Z, B = problem(global_random_seed)
    U[:50], U[40:90, 0], U[80:99, 1] = 0, 0, 0
    b, weight, ridge, h = rng.normal(size=2), 0.3, 1e-2, 1e-6
    data = Objective(kernel, Rows(X, F, U, U), labelled=not inside)
    value, *slopes = _at(data, Z, B, b, weight, ridge)
    assert value == pytest.approx(
        _margins(kernel, X, F, U, Z, B, b, weight, ridge, inside), rel=1e-5
    )
    assert data.loss(Fit(Z, B, b), weight) == pytest.approx(
        _margins(kernel, X, F, U, Z, B, b, weight, 0, inside), rel=1e-5
    )
    steps = [rng.normal(size=each.shape) for each in (Z, B, b)]
    around = [
        _margins(kernel, X, F, U, *moved, weight, ridge, inside)
        for moved in (
            [x + s * h * step for x, step in zip((Z, B, b), steps, strict=True)] for s in (1, -1)
        )
    ]
    along = sum(np.sum(slope * step) for slope, step in zip(slopes, steps, strict=True))
    scale = sum(
        np.linalg.norm(slope) * np.linalg.norm(step)
        for slope, step in zip(slopes, steps, strict=True)
    )
    assert abs((around[0] - around[1]) / (2 * h) - along) < 1e-4 * scale


def test_both_descents_end_no_higher_than_they_began(global_random_seed):
    _, X, F, U, Z, _ = problem(global_random_seed)
    data, ridge = Objective(mc.Gaussian(0.3), Rows(X, F, labels=U)), 1e-7
    found = data.fit_outputs(Z, 20)
    assert data.least_squares(found.points, ridge)[0] < data.least_squares(Z, ridge)[0]
    last = data.fit_margins(found, 0.1, 20)
    assert _at(data, *last, 0.1, ridge)[0] < _at(data, *found, 0.1, ridge)[0]


def test_errors_are_counted_for_the_classifiers_that_concern_a_row(global_random_seed):
    rng, X, F, U, Z, B = problem(global_random_seed, n=3000)
    U[rng.random(U.shape) < 0.3] = 0
    b, kernel = rng.normal(size=2), mc.Gaussian(0.3)
    S = kernel(X, Z) @ B + b
    close = (np.abs(S) < 1e-4).any(axis=1)
    counts = Objective(kernel, Rows(X, F, labels=U)).count_errors(Fit(Z, B, b))
    np.testing.assert_array_equal(counts[~close], np.sum(U * S < 0, axis=1)[~close])


def test_the_loss_without_signs_is_the_mean_square(global_random_seed):
    rng, X, F, _, Z, B = problem(global_random_seed)
    b, kernel = rng.normal(size=2), mc.Gaussian(0.3)
    expected = np.sum((kernel(X, Z) @ B + b - F) ** 2) / len(X)
    assert Objective(kernel, Rows(X, F)).loss(Fit(Z, B, b), 0.1) == pytest.approx(
        expected, rel=1e-6
    )


def test_a_weight_counts_as_repeated_rows(global_random_seed):
    rng, X, F, U, Z, B = problem(global_random_seed)
    counts, b, kernel = rng.integers(0, 4, len(X)), rng.normal(size=2), mc.Gaussian(0.3)
    both = (
        Rows(X, F, U, weights=counts.astype(float)),
        Rows(*(np.repeat(each, counts, axis=0) for each in (X, F, U))),
    )
    weighted, repeated = (Objective(kernel, rows, labelled=False) for rows in both)
    squares = [data.least_squares(Z, 0.1) for data in (weighted, repeated)]
    for found, expected in (
        (squares[0][:2], squares[1][:2]),
        (squares[0][2], squares[1][2]),
        (_at(weighted, Z, B, b, 0.3, 0.1), _at(repeated, Z, B, b, 0.3, 0.1)),
        (weighted.coefficients(Z), repeated.coefficients(Z)),
    ):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())
    outputs = [
        Objective(kernel, rows).loss(Fit(Z, B, b), 0.3)
        for rows in (
            Rows(X, F, weights=counts),
            Rows(*(np.repeat(each, counts, axis=0) for each in (X, F))),
        )
    ]
    assert outputs[0] == pytest.approx(outputs[1], rel=1e-12)
