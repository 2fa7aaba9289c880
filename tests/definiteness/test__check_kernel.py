"""check_kernel: verdicts on points, on ranges and by formula, and errors for bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc


def points(seed, n=40, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_is_never_proved_and_is_refuted_only_by_points_that_refute_it(
    dtype, global_random_seed
):
    # orthonormal points: tanh(gamma + coef0) on the diagonal, tanh(coef0) beside it
    X = np.linalg.qr(points(global_random_seed, 5, 5))[0].astype(dtype)
    kept = mc.check_kernel(mc.Sigmoid(0.05, 0.1), X)
    assert kept.positive_semidefinite is None
    assert kept.witness is None
    refuted = mc.check_kernel(mc.Sigmoid(1.0, -1.0), X)
    assert refuted.positive_semidefinite is False
    # its square by its own inner product
    assert refuted.witness.inner(refuted.witness)[0, 0] == pytest.approx(refuted.square, rel=1e-5)
    assert mc.check_kernel(mc.Sigmoid(1.0)).positive_semidefinite is False


def test_a_new_class_is_refuted_without_points_by_signs_that_hold_for_every_number_of_columns():
    class Cosine(mc.Dot):
        @staticmethod
        def profile(xp, s, order=0):
            return (np.cos(s), -np.sin(s), -np.cos(s), np.sin(s), np.cos(s))[order]

    report = mc.check_kernel(Cosine())
    assert report.positive_semidefinite is False
    assert report.verdict == "not positive semidefinite"
    assert np.linalg.eigvalsh(Cosine()(np.linspace(-1, 1, 7)[:, None]))[0] < -0.1


def test_a_proof_stands_whatever_rounding_does_to_eigenvalues(global_random_seed):
    X = np.repeat(points(global_random_seed), 2, axis=0)
    report = mc.check_kernel(mc.Gaussian("median") * mc.Linear() + 1, X)
    assert report.positive_semidefinite is True
    assert abs(report.smallest_eigenvalue) <= report.error
    assert report.kernel == (mc.Gaussian("median") * mc.Linear() + 1).resolve(X)


def test_the_slides_question_has_a_witness_of_two_points():
    # c - |x|^p |z|^p: with a = |x|^p, (c - a^2)(c - b^2) - (c - ab)^2 = -c (a - b)^2
    c, p = 5.0, 1.5

    def kernel(A, B):
        return c - np.outer(np.linalg.norm(A, axis=1) ** p, np.linalg.norm(B, axis=1) ** p)

    report = mc.check_kernel(kernel, np.array([[1.0, 0.0], [0.0, 1.2]]))
    assert report.positive_semidefinite is False
    assert len(report.witness.points) == 2
    K = kernel(*[report.witness.points] * 2)
    a, b = 1.0, 1.2**p
    assert np.linalg.det(K) == pytest.approx(-c * (a - b) ** 2)
    equal = mc.check_kernel(kernel, np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]))
    assert equal.positive_semidefinite is None


def test_a_given_matrix_is_decided_by_its_eigenvalues(global_random_seed):
    A = points(global_random_seed, 12, 12)
    assert mc.check_kernel(mc.Precomputed(), A @ A.T).positive_semidefinite is True
    assert mc.check_kernel(mc.Precomputed(A @ A.T), np.arange(12)).positive_semidefinite is True
    # rank 2 of 12: half of the eigenvalues in float32 are negative, by rounding
    rounded = A[:, :2].astype(np.float32)
    assert mc.check_kernel(mc.Precomputed(), rounded @ rounded.T).positive_semidefinite is True
    # of some rows alone it is not
    assert mc.check_kernel(mc.Precomputed(A @ A.T), np.arange(5)).positive_semidefinite is None
    indefinite = mc.check_kernel(mc.Precomputed(), A @ A.T - 3 * np.eye(12))
    assert indefinite.positive_semidefinite is False
    assert indefinite.square < 0


def test_an_asymmetric_function_is_no_kernel(global_random_seed):
    report = mc.check_kernel(lambda A, B: A @ B.T + A[:, :1], points(global_random_seed))
    assert (report.symmetric, report.positive_semidefinite, report.witness) == (False, False, None)


def test_objects_are_points_too():
    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words = ["kernel", "space", "feature", "map"]
    report = mc.check_kernel(shared, words)
    assert report.positive_semidefinite is None
    assert report.symmetric is True
    assert report.smallest_eigenvalue > 0
    refuted = mc.check_kernel(lambda A, B: 3 - shared(A, B), words)
    assert set(refuted.witness.points) <= set(words)


def test_the_metric_refutes_where_the_points_alone_do_not():
    # one point cannot refute tanh, but its neighbourhood does: 1 - 2 gamma r^2 t < 0
    report = mc.check_kernel(mc.Sigmoid(1.0, 0.0), np.array([[1.5, 0.0]]))
    assert report.positive_semidefinite is None
    assert [s.where for s in report.statements if s.verdict == "refuted"][
        -1
    ] == "neighbourhoods of point 0"


@pytest.mark.parametrize("make", [sp.csr_matrix, np.asarray])
def test_sparse_rows_are_checked_like_dense_ones(make):
    X = np.maximum(points(0), 0)
    report = mc.check_kernel(mc.Sigmoid(1.0, 0.5), make(X))
    expected = np.linalg.eigvalsh(np.tanh(X @ X.T + 0.5))[0]
    assert report.smallest_eigenvalue == pytest.approx(expected, abs=1e-9)


@pytest.mark.torch
def test_rows_of_pytorch_are_checked_like_those_of_numpy():
    import torch

    X = points(0)
    given, plain = (
        mc.check_kernel(mc.Sigmoid(1.0, 0.5), rows) for rows in (torch.from_numpy(X), X)
    )
    assert given.smallest_eigenvalue == plain.smallest_eigenvalue
    np.testing.assert_array_equal(given.witness.points, plain.witness.points)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="needs points; use check_kernel"):
        mc.check_kernel(mc.Gaussian())
    with pytest.raises(ValueError, match="NaN"):
        mc.check_kernel(mc.Gaussian(1.0), np.array([[np.nan]]))
    with pytest.raises(ValueError, match="must be at least 0"):
        mc.check_kernel(mc.Chi2(1.0), np.array([[-1.0]]))
    with pytest.raises(ValueError, match="one value per pair"):
        mc.check_kernel(lambda *_: np.zeros(3), np.zeros((2, 2)))


@pytest.mark.parametrize("given", ["rbf", 3, None])
def test_arguments_that_are_neither_kernel_nor_callable_are_named(given):
    with pytest.raises(TypeError, match=f"kernel must be a Kernel, .* got {given!r} of type"):
        mc.check_kernel(given)


def test_a_normalised_kernel_is_refuted_where_k_of_x_and_x_is_negative():
    X = np.array([[0.1, 0.0], [2.0, 1.0]])
    inner = mc.Polynomial(3, 1.0, -0.5)
    assert inner.diag(X).min() < 0
    report = mc.check_kernel(mc.Normalized(inner), X)
    assert report.positive_semidefinite is False
    assert report.verdict == "not positive semidefinite"
    assert "needs k(x, x) of at least 0, got -0.118" in str(report)
    assert report.smallest_eigenvalue is report.witness is None
    assert "refuted" in report._repr_html_()


def test_a_given_matrix_is_tested_whole_without_indices():
    rows = np.random.default_rng(0).standard_normal((12, 3))
    for K, holds in ((rows @ rows.T, True), (rows @ np.diag([1.0, 1.0, -1.0]) @ rows.T, False)):
        report, same = mc.check_kernel(mc.Precomputed(K)), mc.check_kernel(mc.Precomputed(), K)
        assert report.positive_semidefinite is same.positive_semidefinite is holds
        assert report.n_points == 12
        np.testing.assert_allclose(report.smallest_eigenvalue, np.linalg.eigvalsh(K)[0], atol=1e-12)


@pytest.mark.parametrize("n", [40, 2001])
def test_the_callback_counts_the_parts_of_the_evidence_and_changes_nothing(n):
    heard, X = [], points(0, n)
    watched = mc.check_kernel(
        mc.Sigmoid(1.0, -1.0), X, callback=lambda *numbers: heard.append(numbers)
    )
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert watched.square == mc.check_kernel(mc.Sigmoid(1.0, -1.0), X).square < 0


@pytest.mark.parametrize("scale", [1e-170, 1e-300, 1e150, 1e200])
@pytest.mark.parametrize(
    "K",
    [np.outer([1.0, 2, 3, 4], [1.0, 2, 3, 4]), np.array([[0.5, 1.0], [1.0, 0.5]])],
    ids=["definite", "indefinite"],
)
def test_the_verdict_does_not_depend_on_the_scale_of_a_matrix(K, scale):
    expected, found = (mc.check_kernel(mc.Precomputed(c * K)) for c in (1.0, scale))
    assert found.positive_semidefinite is expected.positive_semidefinite is bool(K[0, 0] == 1)
    assert found.error == pytest.approx(scale * expected.error, rel=1e-6)


@pytest.mark.parametrize("factor", [1e-200, 1e200, 1e300])
def test_a_large_factor_of_a_kernel_changes_no_verdict(factor):
    rows = np.random.default_rng(0).normal(size=(30, 2))
    for kernel in (mc.Gaussian(1.0), mc.Sigmoid(1.0, -1.0)):
        expected, found = mc.check_kernel(kernel, rows), mc.check_kernel(factor * kernel, rows)
        assert found.positive_semidefinite is expected.positive_semidefinite
        assert found.error == pytest.approx(factor * expected.error, rel=0.5)


def test_rounding_of_float32_is_no_asymmetry(global_random_seed):
    X = points(global_random_seed, 60).astype(np.float32)

    def cosine(A, B):
        return A @ B.T / np.linalg.norm(A, axis=1)[:, None] / np.linalg.norm(B, axis=1)

    K = cosine(X, X)
    assert 0 < np.abs(K - K.T).max() < 1e-6
    for report in (mc.check_kernel(cosine, X), mc.check_kernel(mc.Precomputed(), K)):
        assert report.symmetric
        assert report.positive_semidefinite is not False
    assert not mc.check_kernel(lambda A, B: cosine(A, B) + np.float32(1e-3) * A[:, :1], X).symmetric


def test_rounding_of_the_metric_does_not_refute_a_proved_kernel(global_random_seed):
    # normalising removes the length, so that the metric along x is 0 up to rounding of either sign
    for d in (1, 2):
        X = points(global_random_seed, 40, d) * [1.0, 1e-6][:d]
        report = mc.check_kernel(mc.Normalized(mc.Linear()), X)
        assert report.positive_semidefinite
        assert all(each.verdict in ("proved", "not refuted") for each in report.statements)


def test_a_function_without_negative_eigenvalue_is_not_evaluated_at_all_pairs_of_many_points():
    X, largest = points(0, 2100, 2), []

    def gaussian(A, B):
        largest.append(min(len(A), len(B)))
        return np.exp(-((A[:, None, :] - B[None]) ** 2).sum(axis=2))

    assert mc.check_kernel(gaussian, X).positive_semidefinite is None
    assert max(largest) < 2100
    # with a negative eigenvalue a witness is found
    assert mc.check_kernel(lambda A, B: gaussian(A, B) - 0.5, X).positive_semidefinite is False


def test_a_class_in_place_of_a_kernel_is_refused():
    with pytest.raises(
        TypeError, match=r"kernel = Gaussian must be an object, not a class; pass Gaussian\(\)"
    ):
        mc.check_kernel(mc.Gaussian)


def test_some_rows_of_a_given_matrix_are_not_all_of_them():
    K = np.diag([1.0, 2.0, -3.0])
    # three rows, but one of them twice
    assert mc.check_kernel(mc.Precomputed(K), np.array([0, 1, 1])).positive_semidefinite is None
    assert (
        mc.check_kernel(mc.Precomputed(np.abs(K)), np.array([-1, 0, 1])).positive_semidefinite
        is True
    )
    with pytest.raises(ValueError, match=r"X has shape \(2, 3\)"):
        mc.check_kernel(mc.Precomputed(K), K[:2])


def test_compositions_of_given_matrices_are_checked():
    K = np.diag([1.0, 2.0, -3.0])
    for kernel in (2 * mc.Precomputed(K), mc.Precomputed(K) + 0.5):
        assert mc.check_kernel(kernel).positive_semidefinite is None
        assert mc.check_kernel(kernel, K).positive_semidefinite is False
        assert mc.check_kernel(kernel, np.arange(2)).positive_semidefinite is None
