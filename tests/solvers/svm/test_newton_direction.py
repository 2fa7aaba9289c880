"""Newton directions of the linear kernel solve their equations by all three methods."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.solvers.svm import newton_direction as module
from mercer.solvers.svm.newton_direction import Products, newton_direction

N = 60


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("k", "d", "direct"), [(7, 30, 1000), (40, 6, 1000), (40, 6, 0), (1, 1, 1000)])
def test_a_direction_solves_the_newton_equations(k, d, direct, container, monkeypatch, global_random_seed):
    monkeypatch.setattr(module, "_DIRECT", direct)
    monkeypatch.setattr(module, "_MOST", direct)
    monkeypatch.setattr(module, "_RELATIVE", 1e-12)
    rng = np.random.default_rng(global_random_seed)
    rows = rng.normal(size=(N, d)) + 1
    free = np.sort(rng.choice(N, k, replace=False))
    D, pull, missing = rng.uniform(0.1, 2, k), rng.normal(size=d), float(rng.normal())
    normal, bias = newton_direction(Products(container(rows)), free, D, pull, missing)
    X = rows[free]
    np.testing.assert_allclose(normal + X.T @ (D * (X @ normal + bias)), -pull, atol=1e-8)
    assert D @ (X @ normal + bias) == pytest.approx(-missing, abs=1e-8)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_inner_products_are_right_after_the_memory_is_full(container, monkeypatch, global_random_seed):
    monkeypatch.setattr(module, "_DIRECT", 6)
    monkeypatch.setattr(module, "_MOST", 10)
    rng = np.random.default_rng(global_random_seed)
    rows = rng.normal(size=(N, 4))
    products = Products(container(rows))
    for _ in range(20):
        free = np.sort(rng.choice(N, rng.integers(1, 10), replace=False))
        np.testing.assert_allclose(products.of(free), rows[free] @ rows[free].T, atol=1e-12)


def test_full_rows_are_solved_for_directly_where_sparse_ones_are_not():
    few, many, rows = 1000, 1500, 3000
    assert module._solves_directly(few, few)
    assert module._solves_directly(many, rows * many)
    assert not module._solves_directly(many, rows * many // 100)
    assert not module._solves_directly(2001, 10**9)


def test_a_matrix_that_rounding_made_indefinite_has_a_factor():
    G = np.array([[0.0, -1.0 - 1e-15], [-1.0 - 1e-15, 0.0]])
    factor, lower = module._factor(G)
    L = np.tril(factor)
    assert lower
    np.testing.assert_allclose(L @ L.T, [[1, -1], [-1, 1]], atol=1e-12)
