"""make_positive: the repaired matrices by their defining laws, and kernels that equal them between the points."""

import numpy as np
import pandas as pd
import pytest

import mercer as mc


def symmetric(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


def test_clip_is_the_nearest_positive_semidefinite_matrix(global_random_seed):
    K = symmetric(12, global_random_seed)
    found = mc.make_positive(K, "clip").matrix
    values = np.linalg.eigvalsh(K)
    assert np.linalg.eigvalsh(found).min() > -1e-12 * values.max()
    np.testing.assert_allclose(
        np.linalg.norm(found - K), np.linalg.norm(values[values < 0]), rtol=1e-10
    )
    # the difference is negative semidefinite and orthogonal to the result: the conditions of the projection
    np.testing.assert_allclose((found - K) @ found, 0, atol=1e-10 * values.max() ** 2)
    assert np.linalg.eigvalsh(found - K).min() > -1e-12 * values.max()


def test_flip_is_the_root_of_the_square_and_shift_moves_the_diagonal(global_random_seed):
    K = symmetric(12, global_random_seed)
    flipped, shifted = mc.make_positive(K, "flip").matrix, mc.make_positive(K, "shift").matrix
    np.testing.assert_allclose(flipped @ flipped, K @ K, atol=1e-10)
    assert np.linalg.eigvalsh(flipped).min() > 0
    np.testing.assert_allclose(shifted - K, -np.linalg.eigvalsh(K)[0] * np.eye(12), atol=1e-10)


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
def test_a_positive_semidefinite_matrix_stays_and_the_error_is_the_relative_change(how):
    K = mc.Gaussian(1.0)(np.random.default_rng(0).normal(size=(20, 2)))
    found = mc.make_positive(K, how)
    np.testing.assert_allclose(found.matrix, K, atol=1e-12)
    assert found.error < 1e-12
    K = symmetric(9, 3)
    found = mc.make_positive(K, how)
    np.testing.assert_allclose(
        found.error, np.linalg.norm(found.matrix - K) / np.linalg.norm(K), rtol=1e-10
    )


@pytest.mark.parametrize("how", ["clip", "flip"])
@pytest.mark.parametrize("kernel", [mc.Sigmoid(5.0, -3.0), mc.Polynomial(3, 1.0, -0.5)], ids=repr)
def test_a_kernel_equals_the_repaired_matrix_and_is_a_kernel_at_new_points(
    kernel, how, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    found = mc.make_positive(kernel, how, X=X)
    np.testing.assert_allclose(
        found.kernel(X), found.matrix, atol=1e-6 * np.abs(found.matrix).max()
    )
    np.testing.assert_allclose(found.matrix, mc.make_positive(kernel(X), how).matrix, atol=1e-10)
    values = np.linalg.eigvalsh(found.kernel(new))
    assert values[0] > -1e-9 * values[-1]
    assert mc.SVC(kernel=found.kernel).fit(X, X[:, 0] > 0).certificate_.convex


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.eye(2), "trim"), {}, "how = 'trim' must be"),
        ((np.eye(2), np.eye(2)), {}, "how = array.* must be one of"),
        ((np.ones((2, 3)),), {}, "square matrix"),
        ((np.array([[0.0, 1.0], [2.0, 0.0]]),), {}, "must be symmetric"),
        ((np.array([[0.0, np.nan], [np.nan, 0.0]]),), {}, r"Input kernel contains NaN at \(0, 1\)"),
        ((mc.Gaussian(1.0), "shift"), {"X": np.eye(2)}, "'clip' or 'flip' for a kernel"),
        ((mc.Gaussian(1.0),), {}, "X is None, but must be the points"),
        (
            (mc.Polynomial(1, 1.0, -2.0), "clip"),
            {"X": np.ones((2, 1))},
            "kernel = .* must have a positive eigenvalue",
        ),
        (
            (mc.Constant(0.0), "flip"),
            {"X": np.eye(2)},
            "kernel = .* must have a value other than 0",
        ),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        mc.make_positive(*arguments, **options)


@pytest.mark.parametrize("kernel", [np.eye(2), "rbf", None, mc.Gaussian], ids=str)
def test_with_points_only_a_kernel_can_be_repaired(kernel):
    with pytest.raises(
        TypeError, match=r"kernel must be a Kernel, such as mercer.Gaussian\(0.5\), got"
    ):
        mc.make_positive(kernel, X=np.eye(2))


def test_matrices_in_tables_are_repaired_alike_and_large_ones_are_refused():
    K = np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(
        mc.make_positive(pd.DataFrame(K)).matrix, mc.make_positive(K).matrix
    )
    with pytest.raises(ValueError, match=r"kernel\[0, 1\] = 1e\+200 must be at most 1e\+150"):
        mc.make_positive(1e200 * K)


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
@pytest.mark.parametrize("scale", [1e-170, 1e-300, 1e149])
def test_the_error_is_a_share_whatever_the_scale_of_the_matrix(how, scale):
    K = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.0], [0.5, 0.0, 2.0]])
    scaled, found = mc.make_positive(scale * K, how), mc.make_positive(K, how)
    assert scaled.error == pytest.approx(found.error, rel=1e-12)
    assert found.error == pytest.approx(
        np.linalg.norm(found.matrix - K) / np.linalg.norm(K), rel=1e-12
    )


def test_matrices_in_float32_are_symmetric_up_to_their_rounding(global_random_seed):
    A = np.random.default_rng(global_random_seed).normal(size=(30, 3)).astype(np.float32)
    norms = np.linalg.norm(A, axis=1)
    K = A @ A.T / norms[:, None] / norms
    assert (K != K.T).any()
    found = mc.make_positive(K)
    assert found.error < 1e-6
    with pytest.raises(ValueError, match="must be symmetric"):
        mc.make_positive(K.astype(np.float64))


def test_the_named_rows_of_a_given_matrix_are_repaired():
    K, rows = np.diag([1.0, -1.0, 2.0, -2.0]), np.array([3, 2])
    found = mc.make_positive(mc.Precomputed(K), "flip", X=rows)
    np.testing.assert_allclose(found.matrix, [[2, 0], [0, 2]], atol=1e-15)
    np.testing.assert_allclose(found.kernel(rows), found.matrix, atol=1e-15)
    with pytest.raises(ValueError, match=r"X has shape \(2, 4\)"):
        mc.make_positive(mc.Precomputed(K), "flip", X=K[:2])
