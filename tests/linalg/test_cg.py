"""Conjugate gradients: true residuals, independent columns, preconditioners that save steps."""

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


@pytest.mark.parametrize(("error", "converged"), [(0.15, True), (0.25, False)])
def test_the_certificate_is_recomputed_and_allows_twice_the_tolerance(error, converged):
    class Drifting:
        """The identity, whose second product is wrong by a relative error."""

        products = 0

        def __matmul__(self, V):
            self.products += 1
            return V if self.products == 1 else (1 + error) * V

    solution = cg.solve(Drifting(), np.full((4, 1), 0.1), tol=0.1)
    assert solution.n_iter == 1
    np.testing.assert_allclose(solution.residuals, error)
    assert solution.converged == converged


def test_a_right_hand_side_of_zero_has_the_residual_zero():
    solution = cg.solve(A, np.zeros((400, 1)))
    assert solution.n_iter == solution.residuals[0] == 0
    assert solution.converged.all()


def test_steps_stop_at_the_tolerance():
    loose, tight = (cg.solve(A, B, tol=tol, max_iter=5000) for tol in (1e-3, 1e-9))
    assert loose.n_iter < 0.7 * tight.n_iter
    assert 1e-5 < loose.residuals.max() <= 1.01e-3


def test_n_steps_solve_a_system_of_order_n():
    M = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    b = np.array([[1.0], [2.0], [3.0]])
    solution = cg.solve(M, b, tol=1e-12)
    assert solution.n_iter == 3
    np.testing.assert_allclose(solution.x, np.linalg.solve(M, b), atol=1e-12)


@pytest.mark.parametrize("matrix", [-np.eye(5), np.diag([1.0, -1.0, 2.0, 3.0, 0.0]), np.zeros((5, 5))])
def test_an_operator_that_is_not_positive_definite_gives_no_nan(matrix):
    solution = cg.solve(matrix, np.ones((5, 2)))
    assert np.isfinite(solution.x).all()
    assert not solution.converged.any()


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match="tol = 0"):
        cg.solve(A, B, tol=0)
    with pytest.raises(ValueError, match="max_iter = 0"):
        cg.solve(A, B, max_iter=0)
