"""Blocks of centred kernel matrices are those of the whole matrix; targets are centred columns."""

import numpy as np
import pytest

import mercer as mc
from mercer.learning import centred

KERNELS = [mc.Gaussian(0.5), mc.Polynomial(2), mc.Linear() + 1000.0]


def dense(kernel, X):
    """Return H K H in extended precision."""
    K = np.asarray(kernel(X.astype(np.float64)), np.longdouble)
    H = np.eye(len(K), dtype=np.longdouble) - np.longdouble(1) / len(K)
    return H @ K @ H


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-11), (np.float32, 2e-4)])
def test_blocks_are_rows_of_the_centred_matrix(dtype, tol, global_random_seed, costs):
    X = np.random.default_rng(global_random_seed).normal(size=(23, 3)).astype(dtype)
    costs(BLOCK=23 * len(KERNELS) * 5)
    seen = []
    for rows, blocks in centred.centred_blocks(KERNELS, X):
        seen.append(rows.stop - rows.start)
        for kernel, block in zip(KERNELS, blocks, strict=True):
            assert block.dtype == np.float64
            np.testing.assert_allclose(block, dense(kernel, X)[rows].astype(float), atol=tol * 20)
    assert seen == [5, 5, 5, 5, 3]


def test_inner_products_and_variances_are_those_of_the_whole_matrices(global_random_seed, costs):
    rng = np.random.default_rng(global_random_seed)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    Y -= Y.mean(axis=0)
    costs(BLOCK=700)
    M, a = centred.inner_products(KERNELS, X, Y)
    Ks = [dense(kernel, X).astype(float) for kernel in KERNELS]
    np.testing.assert_allclose(M, [[np.sum(K * L) for L in Ks] for K in Ks], rtol=1e-9)
    np.testing.assert_allclose(a, [np.trace(K @ Y @ Y.T) for K in Ks], rtol=1e-9)
    np.testing.assert_allclose(
        centred.variances(KERNELS, X), [np.trace(K) / 30 for K in Ks], rtol=1e-9
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_variance_of_a_constant_kernel_is_exactly_0(dtype):
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(dtype)
    constant = mc.Constant(3.7) + 1e-12 * mc.Linear()
    small = mc.Constant(1.0) + 1e-3 * mc.Linear()
    np.testing.assert_array_equal(
        centred.variances([constant, small], X) > 0, [dtype == np.float64, True]
    )
    assert centred.variances([mc.Constant(3.7)], X)[0] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_variance_of_a_kernel_that_differs_by_rounding_only_is_exactly_0(
    dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    for n in (3, 11, 49, 93):
        X = rng.normal(size=(n, 2)).astype(dtype)
        np.testing.assert_array_equal(
            centred.variances([mc.Gaussian(1e-20), 0.1 * mc.Gaussian(1e-20)], X), 0
        )


def test_values_of_a_regression_are_no_classes():
    np.testing.assert_array_equal(centred.class_codes(["b", "a", "b"], "svm"), [1, 0, 1])
    with pytest.raises(
        ValueError, match=r'method="svm", got continuous values of shape \(2,\), y\[0\] = 0.5; use'
    ):
        centred.class_codes(np.array([0.5, 1.0]), "svm")


def test_classes_are_centred_indicators_and_values_stay():
    labels = centred.target_columns(["a", "b", "b", "c"], 4)
    size = np.abs([0.75, 0.5, 0.75]).max()
    expected = (np.eye(3)[[0, 1, 1, 2]] - [0.25, 0.5, 0.25]) / size
    np.testing.assert_allclose(labels, expected)
    np.testing.assert_allclose(
        centred.target_columns([1.0, 2.5, 2.5], 3)[:, 0], np.array([-1.0, 0.5, 0.5])
    )
    # whole numbers in one column are values, in no column labels
    assert centred.target_columns(np.array([[1.0], [2.0], [6.0]]), 3).shape == (3, 1)
    assert centred.target_columns(np.array([1.0, 2.0, 6.0]), 3).shape == (3, 3)


@pytest.mark.parametrize("y", [["a"] * 3, [1.5] * 3, [[2.0, 1.0]] * 3])
def test_equal_targets_are_refused(y):
    with pytest.raises(ValueError, match="y must hold at least two"):
        centred.target_columns(y, 3)


def test_another_number_of_targets_is_refused():
    with pytest.raises(ValueError, match="one entry for each of the 4 points of X, got 3"):
        centred.target_columns([1, 2, 3], 4)
