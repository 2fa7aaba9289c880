"""Ridge over landmarks by conjugate gradients: the direct solution, whatever the blocks, weights and ridge."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.distributed import InMemory
from mercer.distributed.blocks import DiskBlocks
from mercer.estimators import KernelRidge
from mercer.linalg import cg
from mercer.solvers import landmark_ridge, ridge

rng = np.random.default_rng(0)
X = rng.standard_normal((900, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.standard_normal((900, 2))
WEIGHTS = rng.integers(0, 3, 900).astype(float)
K = mc.Gaussian(0.3)
ONTO = mc.features(K, X[:60])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
@pytest.mark.parametrize("blocks", [InMemory, DiskBlocks])
def test_steps_end_at_the_direct_solution(blocks, alpha, weights, limits, costs):
    costs(BLOCK=60 * 37)
    limits(landmark_rows=11)
    limits(disk_rows=250)
    psi, residual = landmark_ridge.solve(ONTO, blocks(X), Y, alpha, weights)
    direct = ridge.over_landmarks(InMemory(X), ONTO, Y, alpha, weights).expansion
    assert residual < 1e-6
    assert ridge.normal_residuals(psi, X, Y, alpha, weights).max() == pytest.approx(
        residual, rel=1e-3
    )
    np.testing.assert_allclose(psi(X), direct(X), atol=1e-4)


def test_few_steps_are_enough_because_of_the_preconditioner(limits):
    """Without it steps end far from the solution."""
    limits(landmark_steps=40)
    _, residual = landmark_ridge.solve(ONTO, InMemory(X), Y, 1e-3)
    assert residual < 1e-6
    M = ONTO.inner(mc.features(K, X))
    system, right = M @ M.T + 1e-3 * ONTO.inner(ONTO), M @ Y
    B, _ = cg.solve(system, right, np.copy, tol=5e-7, max_iter=40)
    assert np.linalg.norm(right - system @ B) > 1e-4 * np.linalg.norm(right)
    limits(landmark_steps=2)
    with pytest.warns(ConvergenceWarning, match="relative residual of .* after 2 steps"):
        landmark_ridge.solve(ONTO, InMemory(X), Y, 1e-3)


def test_without_a_seed_every_fit_has_the_same_bits():
    found = [landmark_ridge.solve(ONTO, InMemory(X), Y, 1e-3)[0].coef for _ in range(2)]
    np.testing.assert_array_equal(*found)


def test_the_preconditioner_of_all_points_is_the_inverse_of_the_system():
    phi = mc.features(K, X)
    M = ONTO.inner(phi)
    system = (M * WEIGHTS) @ M.T + 0.5 * ONTO.inner(ONTO)
    P = landmark_ridge.preconditioner(ONTO, X, WEIGHTS, WEIGHTS.sum(), 0.5)
    R = rng.standard_normal((60, 2))
    np.testing.assert_allclose(system @ P(R), R, atol=1e-5)


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**-560, 2.0**490])
def test_targets_of_any_size_have_the_solution_of_targets_near_one(scale):
    psi, residual = landmark_ridge.solve(ONTO, InMemory(X), scale * Y, 1e-3)
    expected = landmark_ridge.solve(ONTO, InMemory(X), Y, 1e-3)
    np.testing.assert_allclose(psi.coef / scale, expected[0].coef, rtol=1e-8)
    assert residual == pytest.approx(expected[1], rel=1e-6)


def test_one_weighted_point_among_many_outside_of_the_sample_is_fitted():
    weights = np.zeros(900)
    weights[7] = 4.0
    psi, residual = landmark_ridge.solve(ONTO, InMemory(X), Y, 1e-3, weights)
    assert residual < 1e-6
    # 7 is among the landmarks
    np.testing.assert_allclose(psi(X[7:8])[0], Y[7] * 4 / 4.001, rtol=1e-4)


def test_indefinite_kernels_are_refused():
    with pytest.raises(ValueError, match="60 landmarks is indefinite"):
        landmark_ridge.solve(mc.features(mc.Sigmoid(5.0, -3.0), X[:60]), InMemory(X), Y, 1e4)


def test_estimators_take_steps_where_the_direct_solution_exceeds_the_memory(limits):
    limits(landmark_values=60 * 37)
    limits(landmark_rows=11)
    options = {"kernel": K, "landmarks": X[:60]}
    needed = landmark_ridge.stored_bytes(60)
    assert needed < ridge.restricted_bytes(60)
    direct, model = (
        KernelRidge(1e-2, **options).fit(X, Y),
        KernelRidge(1e-2, memory=needed, **options).fit(X, Y),
    )
    np.testing.assert_allclose(model.predict(X), direct.predict(X), atol=1e-4)
    assert 0 < model.residual_ < 1e-6
    assert not hasattr(model, "trace_error_")
    assert mc.certify(model, X, Y).residuals.max() < 1e-6
    with pytest.raises(MemoryError, match=r"posterior over 60 landmarks needs .*memory= in fit"):
        model.variance(X)
    with pytest.raises(MemoryError, match="fewer landmarks"):
        KernelRidge(1e-2, memory=needed - 1, **options).fit(X, Y)
    found = mc.plan(KernelRidge(1e-2, memory=needed, **options), 900, 3)
    assert (found.route, found.bytes) == ("landmarks", needed)
    assert "steps" in found.reason


def test_rows_in_float32_give_coefficients_in_float32():
    rows = X.astype(np.float32)
    psi, residual = landmark_ridge.solve(mc.features(K, rows[:60]), InMemory(rows), Y, 1.0)
    assert psi.coef.dtype == np.float32
    assert residual < 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_float32_values_take_as_few_steps_as_float64_values(dtype, alpha, listening):
    """Rounding of values between landmarks would make the system indefinite; a jitter against it takes 200 steps."""
    points, steps = rng.standard_normal((2000, 4)).astype(dtype), []
    target = np.sin(points[:, :1].astype(np.float64))
    with listening(lambda stage, **_: steps.append(stage == "conjugate gradients") is not None):
        onto = mc.features(mc.Gaussian(0.05), points[:400])
        _, residual = landmark_ridge.solve(onto, InMemory(points), target, alpha, None, 0)
    assert residual < 1e-6
    assert sum(steps) <= 12


def test_callbacks_hear_the_preconditioner_tile_by_tile(listening, costs):
    costs(BLOCK=60 * 37)
    heard = []
    with listening(
        lambda stage, **numbers: heard.append(numbers) if stage == "preconditioner" else None
    ):
        landmark_ridge.preconditioner(ONTO, X, WEIGHTS, WEIGHTS.sum(), 0.5)
    assert len(heard) == 25
    assert heard[-1] == {"done": 900, "most": 900}
