"""Bases of growing subspaces: orthonormal columns, true residuals, no dependent directions."""

import numpy as np
import pytest

from mercer.linalg.lanczos import Basis, orthonormal, ritz


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A + A.T


def test_a_basis_stays_orthonormal_and_its_residuals_are_those_of_its_ritz_pairs():
    K, rng = symmetric(200), np.random.default_rng(1)
    basis = Basis(rng.standard_normal((200, 8)), 200)
    basis.multiply(K)
    for step in range(12):
        assert basis.extend(basis.residuals(8))
        basis.multiply(K)
        if step == 6:
            basis.restart(12)
    values, V, W = basis.pairs(20)
    np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-13)
    np.testing.assert_allclose(W, K @ V, atol=1e-12)
    np.testing.assert_allclose(V.T @ W, np.diag(values), atol=1e-11)
    np.testing.assert_allclose(basis.residuals(20), K @ V - V * values, atol=1e-11)


def test_the_number_of_threads_changes_no_bit(using_threads):
    n = 2_500  # three slices of rows
    values, start = (
        np.linspace(1.0, 2.0, n)[:, None],
        np.random.default_rng(3).standard_normal((n, 6)),
    )

    class Diagonal:
        def __matmul__(self, V):
            return values * V

    def pairs(threads):
        with using_threads(threads):
            basis = Basis(start, 24)
            basis.multiply(Diagonal())
            for _ in range(3):
                assert basis.extend(basis.residuals(6))
                basis.multiply(Diagonal())
            return basis.pairs(24)

    found = pairs(1)
    for one, several in zip(found, pairs(3), strict=True):
        np.testing.assert_array_equal(one, several)
    theta, V, W = found
    np.testing.assert_allclose(V.T @ V, np.eye(24), atol=1e-13)
    np.testing.assert_allclose(W, values * V, atol=1e-13)
    np.testing.assert_allclose(V.T @ W, np.diag(theta), atol=1e-12)


def test_directions_inside_the_subspace_add_nothing():
    basis = Basis(np.eye(10)[:, :3], 10)
    basis.multiply(np.eye(10))
    assert not basis.extend(np.ones((10, 2)) @ np.diag([0.0, 0.0]))
    assert not basis.extend(np.eye(10)[:, 1:3])


def test_dependent_and_zero_columns_are_left_out():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 7))
    Q = orthonormal(np.column_stack([V * 10.0 ** np.arange(-60, 10, 10), np.zeros(50)]))
    assert Q.shape == (50, 3)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(Q @ (Q.T @ V), V, atol=1e-12)
    assert orthonormal(np.zeros((5, 2))).shape == (5, 0)


def test_ritz_values_descend():
    values, Y = ritz(symmetric(6))
    assert (np.diff(values) < 0).all()
    np.testing.assert_allclose((Y * values) @ Y.T, symmetric(6), atol=1e-12)


def test_a_direction_almost_inside_the_subspace_is_added_orthogonal_to_it():
    rng = np.random.default_rng(2)
    K, start = symmetric(50), rng.standard_normal((50, 4))
    basis = Basis(start, 50)
    basis.multiply(K)
    outside = rng.standard_normal((50, 1))
    assert basis.extend(start[:, :1] + 1e-9 * outside)
    basis.multiply(K)
    _, V, _ = basis.pairs(5)
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-13)
    assert np.linalg.matrix_rank(np.column_stack([V, outside]), tol=1e-4) == 5


@pytest.mark.parametrize(("size", "rank"), [(1e-5, 2), (1e-7, 1)])
def test_directions_below_a_millionth_of_the_largest_are_dependent(size, rank):
    assert orthonormal(np.array([[1.0, 1.0], [0.0, size]])).shape == (2, rank)


def test_one_product_that_is_not_finite_is_refused():
    class Broken:
        """The identity, with an entry of the first product that is not finite."""

        def __matmul__(self, V):
            V = V.copy()
            V[0, 0] = np.inf
            return V

    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="contains NaN or infinity"):
        Basis(np.eye(10)[:, :2], 10).multiply(Broken())


@pytest.mark.parametrize(
    ("dtype", "close", "other"), [(np.float64, 1e-13, 1e-6), (np.float32, 1e-6, 1e-2)]
)
def test_a_saved_basis_is_that_of_a_start_and_an_operator_up_to_rounding(dtype, close, other):
    K, start = symmetric(60).astype(dtype), np.random.default_rng(1).standard_normal((60, 4))
    basis = Basis(start, 50)
    basis.multiply(K)
    basis.extend(basis.residuals(4))
    basis.multiply(K)
    basis.restart(5)
    for scale, known in ((0.0, True), (close, True), (other, False)):
        nearby = K * (1 + scale * symmetric(60, seed=2)).astype(dtype)
        again = Basis(start, 50)
        assert again.resumed(basis.state, nearby) == known
    np.testing.assert_array_equal(again.pairs(5)[1], basis.pairs(5)[1])
    assert not Basis(start + 1e-2, 50).resumed(basis.state, K)
