"""Eigenvalues and witnesses against LAPACK and naive sums in extended precision."""

import numpy as np
import pytest

import mercer as mc
from mercer.definiteness.evidence import asymmetry, find_witness, smallest_eigenpair, try_pairs


def naive_square(kernel, witness):
    """Return c'Kc by a loop over pairs in extended precision, from the formula of tanh."""
    total = np.longdouble(0)
    for c, x in zip(witness.coef[:, 0], witness.points, strict=True):
        for b, z in zip(witness.coef[:, 0], witness.points, strict=True):
            inner = np.sum(np.asarray(x, np.longdouble) * np.asarray(z, np.longdouble))
            total += (
                np.longdouble(c)
                * np.longdouble(b)
                * np.tanh(np.longdouble(kernel.gamma) * inner + kernel.coef0)
            )
    return float(total)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("coef0", [-0.5, 0.0, 0.3, 2.0])
def test_a_witness_is_there_exactly_where_the_gram_matrix_is_indefinite(
    gamma, coef0, global_random_seed
):
    X = np.random.default_rng(global_random_seed).normal(size=(30, 2))
    kernel = mc.Sigmoid(gamma, coef0)
    values = np.linalg.eigvalsh(np.tanh(gamma * X @ X.T + coef0))
    pairs = try_pairs(kernel, X)
    least = smallest_eigenpair(kernel, X, pairs)
    assert least.value == pytest.approx(values[0], abs=least.error)
    witness, square = find_witness(kernel, X, pairs, least.vector, len(X))
    if values[0] < -1e-10 * values[-1]:
        assert square < 0
        assert square == pytest.approx(naive_square(kernel, witness), rel=1e-6)
        assert set(map(tuple, witness.points)) <= set(map(tuple, X))
    elif values[0] > 0:
        assert witness is None


def test_points_on_which_tanh_gives_no_refutation_have_no_witness():
    # two points of equal length, a positive offset: the Gram matrix is positive definite
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    kernel = mc.Sigmoid(0.5, 0.2)
    pairs = try_pairs(kernel, X)
    least = smallest_eigenpair(kernel, X, pairs)
    assert least.value == pytest.approx(np.tanh(0.7) - np.tanh(0.2), abs=1e-15)
    assert find_witness(kernel, X, pairs, least.vector, len(X)) == (None, None)


def test_small_sets_of_points_are_tried_first(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(50, 2)) + 3.0
    sigmoid = mc.Sigmoid(1.0, -100.0)
    negative, _ = find_witness(sigmoid, X, try_pairs(sigmoid, X), np.ones(50), 50)
    assert len(negative.points) == 1
    # positive diagonal, but c - |x||z| breaks Cauchy-Schwarz as soon as two lengths differ
    kernel = mc.FunctionKernel(
        lambda A, B: 1e3 - np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
    )
    pair, square = find_witness(kernel, X, try_pairs(kernel, X), np.ones(50), 50)
    assert len(pair.points) == 2
    assert square < 0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_pair_that_breaks_cauchy_schwarz_is_the_witness_also_where_its_value_is_negative(scale):
    K = np.eye(6)
    K[1, 4] = K[4, 1] = -1.5
    K[0, 2] = K[2, 0] = 0.9
    kernel, rows = mc.Precomputed(scale * K), np.arange(6)
    witness, square = find_witness(kernel, rows, try_pairs(kernel, rows), np.ones(6), 6)
    assert witness.points.tolist() == [1, 4]
    # |phi_1 + phi_4|^2
    assert square == pytest.approx(-scale, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_a_positive_semidefinite_kernel_is_never_a_witness(dtype, global_random_seed):
    # rank 2 of 60, and points that coincide: half of the computed eigenvalues are negative
    X = np.random.default_rng(global_random_seed).normal(size=(60, 2)).astype(dtype)
    X[30:] = X[:30]
    for kernel in (mc.Linear(), mc.Gaussian(1e-3), mc.Polynomial(2)):
        pairs = try_pairs(kernel, X)
        least = smallest_eigenpair(kernel, X, pairs)
        assert abs(least.value) <= least.error
        assert find_witness(kernel, X, pairs, least.vector, len(X)) == (None, None)


def test_the_matrix_of_many_points_is_never_stored():
    X = np.random.default_rng(0).normal(size=(2100, 2))
    kernel = mc.Sigmoid(1.0, 0.0)
    pairs = try_pairs(kernel, X)
    assert pairs.K.shape == (1000, 1000)
    assert pairs.rows[[0, -1]].tolist() == [0, 2099]
    least = smallest_eigenpair(kernel, X, pairs)
    exact = np.linalg.eigvalsh(np.tanh(X @ X.T))[0]
    assert least.value == pytest.approx(exact, abs=least.error + 1e-6 * abs(exact))
    assert np.linalg.norm(least.vector) == pytest.approx(1)


def test_values_of_all_pairs_are_computed_once(global_random_seed):
    X, evaluated = np.random.default_rng(global_random_seed).normal(size=(20, 2)), []

    def inner(A, B):
        evaluated.append(len(A) * len(B))
        return A @ B.T + 1

    kernel = mc.FunctionKernel(inner)
    pairs = try_pairs(kernel, X)
    smallest_eigenpair(kernel, X, pairs)
    asymmetry(pairs)
    assert evaluated == [400]


def test_asymmetry_is_the_largest_difference_of_the_two_orders(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(20, 1))
    skew = mc.FunctionKernel(lambda A, B: A @ B.T + 0.5 * (A - B.T))
    difference, size = asymmetry(try_pairs(skew, X))
    assert difference == pytest.approx(np.ptp(X))
    assert size == pytest.approx(np.abs(X @ X.T + 0.5 * (X - X.T)).max())
    assert asymmetry(try_pairs(mc.Gaussian(1.0), X)) == (0.0, 1.0)
