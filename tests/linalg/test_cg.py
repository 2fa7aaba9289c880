"""Conjugate gradients: residuals that are true, columns that are independent, preconditioners that help."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg import cg, cholesky
from mercer.linalg.precondition import low_rank_plus_ridge

rng = np.random.default_rng(0)
X, B = rng.standard_normal((400, 3)), rng.standard_normal((400, 3))
A = mc.Gaussian(0.3)(X) + 1e-4 * np.eye(400)


def test_the_solution_solves_and_its_residuals_are_true():
    solution = cg.solve(A, B, tol=1e-9, max_iter=5000)
    assert solution.converged.all()
    true = np.linalg.norm(A @ solution.x - B, axis=0) / np.linalg.norm(B, axis=0)
    np.testing.assert_allclose(solution.residuals, true, rtol=1e-3)
    assert true.max() <= 2e-9


def test_a_preconditioner_from_random_pivots_saves_most_of_the_steps():
    part = cholesky.randomly_pivoted(A, 120, 0)
    plain = cg.solve(A, B, tol=1e-9, max_iter=5000)
    helped = cg.solve(A, B, low_rank_plus_ridge(part.factor, 1e-4), tol=1e-9)
    assert helped.converged.all()
    assert helped.n_iter < plain.n_iter / 5


def test_right_hand_sides_do_not_disturb_each_other():
    easy = np.linalg.eigh(A)[1][:, -1:]
    together = cg.solve(A, np.hstack([B[:, :1], easy, np.zeros((400, 1))]), tol=1e-9, max_iter=5000)
    alone = cg.solve(A, B[:, :1], tol=1e-9, max_iter=5000)
    np.testing.assert_allclose(together.x[:, :1], alone.x, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(together.x[:, 2], 0)
    assert together.converged.all()


def test_running_out_of_steps_is_reported():
    solution = cg.solve(A, B, tol=1e-12, max_iter=3)
    assert solution.n_iter == 3
    assert not solution.converged.any()
    assert np.isfinite(solution.x).all()


@pytest.mark.parametrize("matrix", [-np.eye(5), np.diag([1.0, -1.0, 2.0, 3.0, 0.0]), np.zeros((5, 5))])
def test_an_operator_that_is_not_positive_definite_gives_no_nan(matrix):
    solution = cg.solve(matrix, np.ones((5, 2)))
    assert np.isfinite(solution.x).all()
    assert not solution.converged.any()


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="tol = 0"):
        cg.solve(A, B, tol=0)
    with pytest.raises(ValueError, match="max_iter = 0"):
        cg.solve(A, B, max_iter=0)
