"""The smallest eigenvalue lies within its error bound, and a positive semidefinite matrix is not called indefinite."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg.lanczos import smallest
from mercer.linalg.operators import Centred


@pytest.mark.parametrize("n", [50, 2100])
def test_the_smallest_eigenvalue_lies_within_its_error_bar(n):
    rng = np.random.default_rng(3)
    values = np.r_[-0.7, rng.uniform(-0.3, 1, n - 1)]
    q = rng.standard_normal((n, 1))
    q /= np.linalg.norm(q)
    reflection = np.eye(n) - 2 * q @ q.T
    K = (reflection * values) @ reflection
    found = smallest(K)
    assert found.value >= -0.7 - 1e-12
    assert abs(found.value + 0.7) <= found.error + 1e-12
    assert found.error < 0.01
    assert found.vector @ K @ found.vector == pytest.approx(found.value, abs=1e-9)
    assert np.linalg.norm(found.vector) == pytest.approx(1)


def test_a_positive_semidefinite_gram_is_not_found_indefinite():
    X = np.random.default_rng(0).standard_normal((2100, 3))
    found = smallest(Centred(mc.Gram(mc.Gaussian(0.1), X)))
    assert found.value >= -found.error


def test_rounding_of_values_in_float32_is_within_the_error_bar(global_random_seed):
    A = np.random.default_rng(global_random_seed).standard_normal((60, 2)).astype(np.float32)
    found = smallest(A @ A.T)
    assert 1e-9 < -found.value <= found.error


def test_the_error_bound_of_the_dense_solver_is_rounding():
    K = np.diag([4.0, 3.0, -1.0])
    assert smallest(K).value == pytest.approx(-1)
    assert smallest(K).error == pytest.approx(3 * 2.0**-52 * np.linalg.norm(K))
    assert smallest(K.astype(np.float32)).error == pytest.approx(3 * 2.0**-23 * np.linalg.norm(K))


@pytest.mark.parametrize("scale", [1e-170, 1e-300, 1e150, 1e300])
def test_the_error_bound_of_the_dense_solver_has_the_scale_of_the_matrix(scale):
    K = np.outer([1.0, 2, 3, 4], [1.0, 2, 3, 4])
    found = smallest(K * scale)
    assert found.error == pytest.approx(scale * smallest(K).error, rel=1e-6)
    assert -found.error <= found.value <= found.error


def test_the_error_bound_of_lanczos_is_the_residual_and_rounding():
    values = np.linspace(-1, 2, 2000)
    found = smallest(np.diag(values), max_products=3)
    residual = np.linalg.norm((values - found.value) * found.vector)
    assert residual > 1e-3
    assert (
        residual + 1.5 * 2000 * 2.0**-52 <= found.error <= residual + 2.01 * 2000 * 2.0**-52 + 1e-9
    )
    assert abs(found.value + 1) <= found.error


def test_only_the_symmetric_part_counts():
    K = np.array([[1.0, 3.0], [1.0, 1.0]])
    assert smallest(K).value == pytest.approx(-1)


def test_an_operator_of_order_one_is_its_entry():
    assert smallest(np.array([[-2.0]])).value == -2
