"""Preconditioners: the inverse that is claimed, also at a small ridge."""

import numpy as np
import pytest

from mercer.linalg.precondition import low_rank_plus_ridge

F = np.random.default_rng(0).standard_normal((50, 6)) * 10.0 ** -np.arange(6)


@pytest.mark.parametrize("ridge", [1e-10, 1e-3, 10.0])
def test_it_inverts_low_rank_plus_ridge(ridge):
    R = np.random.default_rng(1).standard_normal((50, 2))
    A = F @ F.T + ridge * np.eye(50)
    solved = low_rank_plus_ridge(F, ridge)(R)
    # backward stable: the residual is small against |A| |x|
    assert np.linalg.norm(A @ solved - R) <= 1e-14 * np.linalg.norm(A) * np.linalg.norm(solved) * 50


def test_it_is_symmetric_positive_definite():
    M = low_rank_plus_ridge(F, 1e-3)(np.eye(50))
    np.testing.assert_allclose(M, M.T, atol=1e-10)
    assert np.linalg.eigvalsh((M + M.T) / 2).min() > 0


def test_a_ridge_of_zero_is_refused():
    with pytest.raises(ValueError, match="ridge = 0"):
        low_rank_plus_ridge(F, 0.0)
