"""Eigenvector: an upper bound of the loss, equal to it where an eigenvector is the best replacement."""

import numpy as np
import pytest
from tests.reduction.test_greedy import least_error, problem

import mercer as mc
from mercer.reduction import reduce
from mercer.reduction.subset import Eigenvector, Greedy, independent
from mercer.reduction.subset import eliminate as greedily
from mercer.reduction.subset import eliminate_by_eigenvectors as eliminate


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_criterion_is_an_upper_bound_of_the_loss(seed, m):
    kernel, X, coef = problem(seed, m=m, gamma=1.0)
    K = kernel(X, X)
    order, bounds = eliminate(independent(K, coef))
    errors = np.array([least_error(K, coef, order[:size]) for size in range(1, len(order))] + [0.0])
    losses = errors[:-1] - errors[1:]
    assert np.all(losses <= bounds[1:] * (1 + 1e-6) + 1e-10)
    # the published remark: the bound is near the loss, not equal to it
    assert np.any(losses < 0.999 * bounds[1:])
    # the exact form has a first loss at most as large
    assert greedily(independent(K, coef))[1][-1] <= bounds[-1] * (1 + 1e-9)


def test_the_criterion_is_the_minimum_over_eigenvectors_and_terms_by_its_definition():
    kernel, X, coef = problem(5, m=2, gamma=1.0)
    K = kernel(X, X)
    order, bounds = eliminate(independent(K, coef))
    values, V = np.linalg.eigh(K)
    errors = {}
    for i in range(12):
        for n in range(12):
            # the coefficients of psi - psi' are a multiple of the eigenvector
            change = np.outer(V[:, i] / V[n, i], coef[n])
            assert np.abs((coef - change)[n]).max() < 1e-12 * np.abs(change).max()
            errors[i, n] = np.einsum("ij,ij->", change, K @ change)
            np.testing.assert_allclose(
                errors[i, n], values[i] * (coef[n] ** 2).sum() / V[n, i] ** 2, rtol=1e-6
            )
    least = min(errors, key=errors.__getitem__)
    assert order[-1] == least[1]
    np.testing.assert_allclose(bounds[-1], errors[least], rtol=1e-6)


def test_orthogonal_terms_and_the_null_space_are_exact():
    # eigenvectors are the axes: no better replacement than none
    psi = mc.Expansion(mc.Linear(), np.diag([1.0, 3.0, 2.0]), np.array([[5.0], [1.0], [4.0]]))
    K = psi.kernel(psi.points)
    for ours, exact in zip(
        eliminate(independent(K, psi.coef)), greedily(independent(K, psi.coef)), strict=True
    ):
        np.testing.assert_allclose(ours, exact)
    kernel, X, coef = problem(1, n=8)
    twice = mc.Expansion(kernel, np.vstack([X, X[:4]]), np.vstack([coef, coef[:4]]))
    answer = reduce(twice, 11, method=Eigenvector())
    assert answer.sizes[-1] == 8
    assert answer.relative_error.max() < 1e-7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_sizes_come_from_one_run_and_are_not_far_from_the_exact_form(dtype):
    kernel, X, coef = problem(3, n=40)
    psi = mc.Expansion(kernel, X.astype(dtype), coef.astype(dtype))
    ours, exact = (reduce(psi, 20, method=method) for method in (Eigenvector(), Greedy()))
    np.testing.assert_array_equal(ours.sizes, np.arange(1, 21))
    assert ours.expansion.points.dtype == dtype
    assert ours.history[9] < 1
    assert ours.history[-1] < 10 * exact.history[-1]


def test_a_term_without_coefficients_has_no_loss():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    order, bounds = eliminate(independent(K, np.array([[2.0], [0.0]])))
    np.testing.assert_array_equal(order, [0, 1])
    np.testing.assert_allclose(bounds, [4.0, 0.0], atol=1e-14)


def test_five_matrices_of_the_points_must_fit_into_the_memory():
    psi = mc.features(mc.Gaussian(1.0), np.arange(6.0)[:, None])
    with pytest.raises(MemoryError, match=r"5 matrices of 6 x 6 points needs 1\.44 kB"):
        reduce(psi, 2, method=Eigenvector(memory=1400))
    assert len(reduce(psi, 2, method=Eigenvector(memory=1440)).sizes) == 2
    assert Eigenvector() == Eigenvector(memory="1GB")
