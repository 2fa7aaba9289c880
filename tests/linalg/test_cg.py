"""Conjugate gradients: true residuals, independent columns, preconditioners that save steps."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg import cg, cholesky

rng = np.random.default_rng(0)
X, B = rng.standard_normal((400, 3)), rng.standard_normal((400, 3))
A = mc.Gaussian(0.3)(X) + 1e-4 * np.eye(400)
F = rng.standard_normal((50, 6)) * 10.0 ** -np.arange(6)


def _solve(operator, right, precondition=np.copy, **options):
    """The solutions, the number of steps and the largest relative residual."""
    x, steps = cg.solve(operator, right, precondition, **options)
    norms = np.linalg.norm(right, axis=0)
    return (
        x,
        steps,
        np.max(np.linalg.norm(operator @ x - right, axis=0) / np.where(norms > 0, norms, 1)),
    )


def test_the_solution_solves():
    assert _solve(A, B, tol=1e-9, max_iter=5000)[2] <= 2e-9


def test_a_solve_that_was_stopped_goes_on_from_its_checkpoint_with_the_same_bits(
    tmp_path, listening
):
    expected, steps = cg.solve(A, B, np.copy, tol=1e-9)
    path, seen = tmp_path / "state", []
    with mc.checkpoint(path, every=0), listening(lambda *_, **__: seen.append(1) or len(seen) == 3):
        assert cg.solve(A, B, np.copy, tol=1e-9)[1] == 3
    with mc.checkpoint(path):
        found, total = cg.solve(A, B, np.copy, tol=1e-9)
    np.testing.assert_array_equal(found, expected)
    assert total == steps > 3


def test_a_preconditioner_from_random_pivots_saves_most_of_the_steps():
    part = cholesky.randomly_pivoted(A, 120, 0)
    _, plain, _ = _solve(A, B, tol=1e-9, max_iter=5000)
    _, helped, residual = _solve(A, B, cg.low_rank_plus_ridge(part.factor, 1e-4), tol=1e-9)
    assert residual <= 2e-9
    assert helped < plain / 5


def test_right_hand_sides_do_not_disturb_each_other():
    easy = np.linalg.eigh(A)[1][:, -1:]
    together, _, residual = _solve(
        A, np.hstack([B[:, :1], easy, np.zeros((400, 1))]), tol=1e-9, max_iter=5000
    )
    alone, _, _ = _solve(A, B[:, :1], tol=1e-9, max_iter=5000)
    np.testing.assert_allclose(together[:, :1], alone, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(together[:, 2], 0)
    assert residual <= 2e-9


def test_running_out_of_steps_leaves_a_finite_residual():
    x, steps, residual = _solve(A, B, tol=1e-12, max_iter=3)
    assert steps == 3
    assert residual > 2e-12
    assert np.isfinite(x).all()


def test_a_right_hand_side_of_zero_needs_no_step():
    x, steps, _ = _solve(A, np.zeros((400, 1)))
    assert steps == 0
    assert not x.any()


def test_steps_stop_at_the_tolerance():
    (_, loose, residual), (_, tight, _) = (
        _solve(A, B, tol=tol, max_iter=5000) for tol in (1e-3, 1e-9)
    )
    assert loose < 0.7 * tight
    assert 1e-5 < residual <= 1.01e-3


def test_n_steps_solve_a_system_of_order_n():
    M = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    b = np.array([[1.0], [2.0], [3.0]])
    x, steps, _ = _solve(M, b, tol=1e-12)
    assert steps == 3
    np.testing.assert_allclose(x, np.linalg.solve(M, b), atol=1e-12)


@pytest.mark.parametrize(
    "matrix", [-np.eye(5), np.diag([1.0, -1.0, 2.0, 3.0, 0.0]), np.zeros((5, 5))]
)
def test_an_operator_that_is_not_positive_definite_gives_no_nan(matrix):
    x, _, residual = _solve(matrix, np.ones((5, 2)))
    assert np.isfinite(x).all()
    assert residual > 1e-9


@pytest.mark.parametrize("ridge", [1e-10, 1e-3, 10.0])
def test_it_inverts_low_rank_plus_ridge(ridge):
    R = np.random.default_rng(1).standard_normal((50, 2))
    A = F @ F.T + ridge * np.eye(50)
    solved = cg.low_rank_plus_ridge(F, ridge)(R)
    # backward stable: the residual is small against |A| |x|
    assert np.linalg.norm(A @ solved - R) <= 1e-14 * np.linalg.norm(A) * np.linalg.norm(solved) * 50


def test_it_is_symmetric_positive_definite():
    M = cg.low_rank_plus_ridge(F, 1e-3)(np.eye(50))
    np.testing.assert_allclose(M, M.T, atol=1e-10)
    assert np.linalg.eigvalsh((M + M.T) / 2).min() > 0


def test_one_answer_of_a_callback_ends_the_steps_with_an_error_that_the_residual_shows(listening):
    A, b, heard = np.diag(np.arange(1.0, 51.0)), np.ones((50, 1)), []
    with listening(
        lambda *_, unsolved, residual: bool(heard.append((unsolved, residual))) or len(heard) == 2
    ):
        X, steps = cg.solve(A, b, lambda R: R)
    assert (steps, [unsolved for unsolved, _ in heard]) == (2, [1, 1])
    left = np.linalg.norm(b - A @ X) / np.linalg.norm(b)
    assert 1e-3 < left < 1
    assert left == pytest.approx(heard[-1][1], rel=1e-10)
