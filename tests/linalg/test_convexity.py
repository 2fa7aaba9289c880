"""nonconvexity: indefinite kernels are found, conditionally positive semidefinite and rounded ones are not."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg.convexity import nonconvexity

X = np.random.default_rng(0).normal(size=(60, 3))


def minus_squared_distance(A, B):
    return -((A[:, None] - B[None]) ** 2).sum(axis=-1)


def precomputed(K):
    return mc.Precomputed().resolve(K)


def test_a_conditionally_positive_semidefinite_kernel_keeps_duals_convex():
    assert nonconvexity(mc.FunctionKernel(minus_squared_distance), X) is None
    assert nonconvexity(mc.FunctionKernel(lambda A, B: -minus_squared_distance(A, B)), X) is not None


def test_without_centring_changes_of_any_sum_count():
    kernel = mc.FunctionKernel(lambda A, B: A @ B.T - 100.0)
    assert nonconvexity(kernel, X) is None
    values = np.linalg.eigvalsh(X @ X.T - 100)
    assert nonconvexity(kernel, X, centre=False) == (
        f"the kernel matrix of 60 training points has eigenvalues between {values[0]:.3g} and {values[-1]:.3g}"
    )


def test_the_text_gives_the_extreme_eigenvalues_of_the_centred_matrix():
    K = mc.Sigmoid(5.0, -3.0)(X)
    H = np.eye(60) - 1 / 60
    values = np.linalg.eigvalsh(H @ K @ H)
    text = nonconvexity(mc.Sigmoid(5.0, -3.0), X)
    assert f"between {values[0]:.3g} and {values[-1]:.3g}" in text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_evidence_and_a_negative_eigenvalue_above_it_is(dtype):
    values, U = np.linspace(0, 1, 60), np.linalg.qr(X @ X.T + np.eye(60))[0]
    assert nonconvexity(precomputed(((U * values) @ U.T).astype(dtype)), np.arange(60)) is None
    values[0] = -0.05
    assert nonconvexity(precomputed(((U * values) @ U.T).astype(dtype)), np.arange(60)) is not None


@pytest.mark.parametrize("share", [0.1, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evidence_begins_at_16_roundings_a_point(dtype, share, global_random_seed):
    n = 60
    U, values = np.linalg.qr(np.random.default_rng(global_random_seed).normal(size=(n, n)))[0], np.linspace(0, 1, n)
    values[0] = -share * 16 * n * np.finfo(dtype).eps
    found = nonconvexity(precomputed(((U * values) @ U.T).astype(dtype)), np.arange(n), centre=False)
    assert (found is not None) == (share > 1)


def test_many_points_are_sampled_and_a_refuted_kernel_counts():
    many = np.random.default_rng(1).normal(size=(700, 2))
    assert nonconvexity(mc.Gaussian(1.0), many) is None
    assert nonconvexity(mc.Sigmoid(1e-9, 0.0), many) == "the kernel is known not to be positive semidefinite"
    assert "500 training points" in nonconvexity(mc.Sigmoid(5.0, -3.0), many)
