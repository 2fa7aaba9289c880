"""convexity: proofs by factors, whose rounding is stated; indefinite kernels are found, wherever their rows are."""

import numpy as np
import pytest
import scipy.linalg

import mercer as mc
from mercer.linalg.convexity import convexity

X = np.random.default_rng(0).normal(size=(60, 3))


def minus_squared_distance(A, B):
    return -((A[:, None] - B[None]) ** 2).sum(axis=-1)


def precomputed(K):
    return mc.Precomputed().resolve(K)


def with_hidden_pair(n, rng, depth=0.5):
    """Return a kernel matrix with one negative eigenvalue, which two rows beyond the sample show."""
    K = mc.Gaussian(0.3)(rng.normal(size=(n, 3)))
    i, j = rng.choice(np.setdiff1d(np.arange(n), np.arange(600) * (n - 1) // 599), 2, replace=False)
    K[i, j] = K[j, i] = 1 + depth
    return K


def test_a_conditionally_positive_semidefinite_kernel_keeps_duals_convex():
    assert convexity(mc.FunctionKernel(minus_squared_distance), X).proved
    assert (
        convexity(mc.FunctionKernel(lambda A, B: -minus_squared_distance(A, B)), X).proved is False
    )


@pytest.mark.parametrize("n", [2, 60, 700])
def test_a_kernel_of_value_zero_is_convex_with_a_gap(n):
    K, y = np.zeros((n, n)), np.arange(n) % 2
    for model in (mc.SVC(kernel="precomputed"), mc.SVR(kernel="precomputed")):
        certificate = mc.certify(model.fit(K, y), K, y)
        assert certificate.convex
        assert 0 <= certificate.gap <= 1e-9 * n


def test_without_centring_changes_of_any_sum_count():
    kernel = mc.FunctionKernel(lambda A, B: A @ B.T - 100.0)
    assert convexity(kernel, X).proved
    values = np.linalg.eigvalsh(X @ X.T - 100)
    found = convexity(kernel, X, centre=False)
    assert not found.proved
    assert found.evidence == (
        f"the kernel matrix of 60 training points has eigenvalues between {values[0]:.3g} and {values[-1]:.3g}"
    )


def test_the_text_gives_the_extreme_eigenvalues_of_the_centred_matrix():
    K = mc.Sigmoid(5.0, -3.0)(X)
    H = np.eye(60) - 1 / 60
    values = np.linalg.eigvalsh(H @ K @ H)
    text = convexity(mc.Sigmoid(5.0, -3.0), X).evidence
    assert f"between {values[0]:.3g} and {values[-1]:.3g}" in text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_evidence_and_a_negative_eigenvalue_above_it_is(dtype):
    values, U = np.linspace(0, 1, 60), np.linalg.qr(X @ X.T + np.eye(60))[0]
    assert convexity(precomputed(((U * values) @ U.T).astype(dtype)), np.arange(60)).proved
    values[0] = -0.05
    assert convexity(precomputed(((U * values) @ U.T).astype(dtype)), np.arange(60)).proved is False


@pytest.mark.parametrize("share", [0.1, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evidence_begins_at_16_roundings_a_point(dtype, share, global_random_seed):
    n = 60
    U, values = (
        np.linalg.qr(np.random.default_rng(global_random_seed).normal(size=(n, n)))[0],
        np.linspace(0, 1, n),
    )
    values[0] = -share * 16 * n * np.finfo(dtype).eps
    found = convexity(precomputed(((U * values) @ U.T).astype(dtype)), np.arange(n), centre=False)
    assert bool(found.evidence) == (share > 1)


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["gaussian", "linear", "large mean"])
def test_a_proved_matrix_has_no_eigenvalue_below_minus_its_shift(
    dtype, centre, kind, global_random_seed
):
    rows = np.random.default_rng(global_random_seed).normal(size=(150, 4))
    K = {
        "gaussian": mc.Gaussian(0.5)(rows),
        "linear": rows @ rows.T,
        "large mean": 1e4 + rows @ rows.T,
    }[kind]
    K = K.astype(dtype)
    found = convexity(precomputed(K), np.arange(150), centre=centre)
    assert found.proved
    exact = K.astype(np.longdouble)
    if centre:
        changes = scipy.linalg.null_space(np.ones((1, 150))).astype(np.longdouble)
        exact = changes.T @ exact @ changes
    smallest = np.linalg.eigvalsh(((exact + exact.T) / 2).astype(np.float64))[0]
    assert smallest >= -found.shift
    # the shift is rounding of the values, and of a sum of n squares in each entry of the factor
    assert (
        found.shift
        <= (20 * 150 * np.finfo(dtype).eps + 5 * 150**2 * np.finfo(float).eps) * np.abs(K).max()
    )


def test_a_barely_negative_eigenvalue_is_within_the_shift_of_the_proof(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    U = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    for size in (1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11):
        values = np.append(np.linspace(0.5, 1, 99), -size)
        found = convexity(precomputed((U * values) @ U.T), np.arange(100), centre=False)
        assert found.proved is False or found.shift >= size


def test_a_factor_of_all_points_finds_what_a_sample_hides(global_random_seed):
    K = with_hidden_pair(700, np.random.default_rng(global_random_seed))
    points = np.arange(700)
    assert convexity(precomputed(K), points).proved is None
    found = convexity(precomputed(K), points, budget=10**9)
    assert found.proved is False
    assert "700 training points has an eigenvalue below -" in found.evidence
    # a matrix that does not fit is neither proved nor refuted
    assert convexity(precomputed(K), points, budget=10**6).proved is None
    np.fill_diagonal(K, 3.0)
    assert convexity(precomputed(K), points, budget=10**9).proved


def test_many_points_are_sampled_and_tags_count_for_all():
    many = np.random.default_rng(1).normal(size=(700, 2))
    assert convexity(mc.Gaussian(1.0), many) == (True, 0.0, "")
    assert convexity(mc.Sigmoid(1e-9, 0.0), many).proved is None
    assert "75 training points" in convexity(mc.Sigmoid(5.0, -3.0), many).evidence


def test_a_pair_of_points_that_only_the_larger_sample_holds_refutes():
    K = np.eye(700)
    # 600 rows hold both points, 75 rows the first of the first nine points alone
    K[1, 2] = K[2, 1] = 2.0
    found = convexity(precomputed(K), np.arange(700), centre=False)
    assert found.proved is False
    assert "600 training points" in found.evidence


@pytest.mark.parametrize("n", [600, 900])
def test_rounding_that_many_rows_may_have_does_not_refute_where_few_have_it(n, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    K = mc.Gaussian(0.01)(rng.standard_normal((n, 2)))
    E = 5e-14 * rng.standard_normal((n, n))
    found = convexity(precomputed(K + E + E.T), np.arange(n))
    assert found.proved is (True if n == 600 else None)
    # no eigenvalue changes by more than the norm of E + E'
    assert n > 600 or found.shift >= np.linalg.norm(E + E.T, 2)
