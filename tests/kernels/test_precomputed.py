"""Precomputed kernels: entries for indices, columns for new rows, refusals of other matrices."""

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_predict

import mercer as mc
from mercer.kernels.base import require_gradient

X = np.random.default_rng(0).standard_normal((8, 3))
K = mc.Gaussian(0.5)(X)


def test_indices_choose_rows_and_columns_and_new_rows_choose_columns():
    kernel = mc.Precomputed().resolve(K)
    some, J = np.array([3, 1]), np.arange(8)
    np.testing.assert_array_equal(kernel(some, J), K[some])
    np.testing.assert_array_equal(kernel(some), K[np.ix_(some, some)])
    np.testing.assert_array_equal(kernel([0, -1], J), K[[0, 7]])
    np.testing.assert_array_equal(kernel.diag(J), np.diagonal(K))
    np.testing.assert_array_equal(kernel(K[:2] + 1, np.array([5])), K[:2, [5]] + 1)


def test_a_symmetric_matrix_is_not_copied_and_rounding_is_averaged():
    assert mc.Precomputed().resolve(K).matrix is K
    other = K + np.triu(1e-10 * np.ones((8, 8)), 1)
    np.testing.assert_array_equal(mc.Precomputed().resolve(other).matrix, (other + other.T) / 2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_the_last_index_of_a_type_is_not_followed_by_the_first(dtype):
    K = np.diag(np.arange(1.0, 257.0))
    found = mc.Precomputed(K)(np.array([255, 0], dtype))
    np.testing.assert_array_equal(found, [[256.0, 0.0], [0.0, 1.0]])


def test_an_expansion_over_indices_is_the_one_over_the_points():
    coef = np.cos(np.arange(16.0)).reshape(8, 2)
    given, direct = (
        mc.Expansion(mc.Precomputed().resolve(K), np.arange(8), coef),
        mc.Expansion(mc.Gaussian(0.5), X, coef),
    )
    np.testing.assert_allclose(given(K), direct(X), rtol=1e-12)
    np.testing.assert_allclose(given.norms(), direct.norms(), rtol=1e-12)


def test_rounding_is_symmetrised_and_sparse_matrices_are_taken():
    noisy = K + 1e-12 * np.triu(np.ones((8, 8)), 1)
    kernel = mc.Precomputed().resolve(noisy)
    assert (kernel.matrix == kernel.matrix.T).all()
    np.testing.assert_array_equal(mc.Precomputed().resolve(sp.csr_array(K)).matrix, K)


def test_equality_is_by_content():
    assert mc.Precomputed().resolve(K) == mc.Precomputed().resolve(K.copy())
    assert mc.Precomputed().resolve(K) != mc.Precomputed().resolve(2 * K)
    assert hash(mc.Precomputed().resolve(K)) == hash(mc.Precomputed().resolve(K.copy()))


def test_messages_quote_the_shape_of_a_matrix_not_its_numbers():
    assert repr(mc.Precomputed()) == "Precomputed()"
    assert repr(mc.Precomputed().resolve(K)) == "Precomputed(matrix=<array of shape (8, 8)>)"
    with pytest.raises(TypeError) as refusal:
        require_gradient(mc.SVC(kernel="precomputed").fit(K, X[:, 0] > 0).kernel_)
    assert len(str(refusal.value)) < 160


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            K[:, :3],
            r"X must be the square matrix of kernel values between all .* got shape \(8, 3\)",
        ),
        (np.triu(K), r"must be symmetric: max \|K - K'\| = 0.\d+ exceeds 1.49e-08, .*; pass \(K"),
        (np.where(np.eye(8), np.nan, K), r"NaN at \(0, 0\)"),
        (K[0], r"two dimensions .* got shape \(8,\)"),
    ],
    ids=["rectangular", "asymmetric", "NaN", "vector"],
)
def test_other_matrices_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        mc.Precomputed().resolve(matrix)


def test_asymmetry_is_judged_by_the_type_of_the_matrix():
    single = (K + 1e-5 * np.triu(K, 1)).astype(np.float32)
    mc.Precomputed().resolve(single)
    with pytest.raises(ValueError, match="must be symmetric"):
        mc.Precomputed().resolve(single.astype(np.float64))


def test_a_matrix_of_distances_causes_a_warning():
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.warns(
        UserWarning,
        match=r"looks like a matrix of distances, zero on the diagonal .* exp\(-gamma \* D\*\*2\)",
    ):
        mc.Precomputed().resolve(distances)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda k: k(np.array([8])),
            "X must be row indices between 0 and 7, or rows of 8 kernel values",
        ),
        (lambda k: k(np.array([0.5])), "X must be row indices between 0 and 7"),
        (lambda k: k(5), "X must be row indices between 0 and 7, or rows of 8 kernel values"),
        (
            lambda k: k(K[:, :5], np.arange(8)),
            "X has 5 features, but Precomputed is expecting 8 features",
        ),
        (
            lambda k: k(K[:2], K),
            "Z must be training indices; .* no kernel values between two new points",
        ),
        (
            lambda _: mc.Precomputed()(K),
            r"Precomputed is not resolved, matrix = None; call kernel.resolve\(X\)",
        ),
    ],
    ids=["range", "float", "number", "width", "two new", "unresolved"],
)
def test_bad_points_are_refused(use, message):
    with pytest.raises(ValueError, match=message):
        use(mc.Precomputed().resolve(K))


def test_new_points_have_the_squared_norm_of_all_training_points_or_of_the_row_that_they_are():
    X = np.arange(8.0)[:, None]
    gaussian, linear = (
        mc.Precomputed().resolve(kernel(X)) for kernel in (mc.Gaussian(0.1), mc.Linear())
    )
    np.testing.assert_array_equal(gaussian.diag(mc.Gaussian(0.1)(X[:3] + 0.5, X)), np.ones(3))
    np.testing.assert_array_equal(linear.diag(mc.Linear()(X[[3, 1]], X)), [9.0, 1.0])
    with pytest.raises(ValueError, match=r"k\(x, x\) of row 1 is not known"):
        linear.diag(mc.Linear()(X[[3, 1]] + [[0], [1e-9]], X))


def test_indices_count_from_both_ends_up_to_the_number_of_rows():
    kernel, J = mc.Precomputed().resolve(K), np.arange(8)
    np.testing.assert_array_equal(kernel(np.array([-8, 7]), J), K[[0, 7]])
    assert kernel(np.array([], int), J).shape == (0, 8)
    for index in (-9, 8):
        with pytest.raises(ValueError, match="must be row indices between 0 and 7"):
            kernel(np.array([index]), J)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3)),
        np.zeros((1, 1)),
        np.eye(3),
        -1.0 + np.eye(3),
        np.ones((3, 3)),
        0.5 * np.eye(3) + 0.5,
    ],
    ids=["zeros", "one zero", "identity", "negative", "ones", "correlations"],
)
def test_other_matrices_than_distances_cause_no_warning(matrix, recwarn):
    mc.Precomputed().resolve(matrix)
    assert len(recwarn) == 0


def test_a_given_matrix_is_resolved_already():
    kernel = mc.Precomputed(K)
    assert kernel.resolve(2 * K) is kernel
    assert kernel.unresolved() is None
    assert mc.Precomputed().unresolved() == ("matrix", None)


def test_an_estimator_takes_the_matrix_of_its_fit_not_that_of_its_kernel():
    y = X[:, 0] - X[:, 1]
    held = mc.KernelRidge(0.1, kernel=mc.Precomputed(K))
    by_name = mc.KernelRidge(0.1, kernel="precomputed")
    np.testing.assert_array_equal(
        cross_val_predict(held, K, y, cv=2), cross_val_predict(by_name, K, y, cv=2)
    )
    part = K[3:, 3:]
    svr = mc.SVR(kernel=mc.Precomputed(K)).fit(part, y[3:])
    certificate = mc.certify(svr, part, y[3:])
    assert 0 <= certificate.gap <= 1e-2 * certificate.primal
    with pytest.raises(ValueError, match="must be the square matrix of kernel values"):
        held.fit(X, y)


def test_asymmetry_is_averaged_and_bounded_by_the_root_of_the_precision():
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])
    small = np.eye(2) + 7e-9 * skew
    np.testing.assert_array_equal(mc.Precomputed().resolve(small).matrix, np.eye(2))
    with pytest.raises(ValueError, match="must be symmetric"):
        mc.Precomputed().resolve(np.eye(2) + 8e-9 * skew)
    # relative to the largest entry
    mc.Precomputed().resolve(1e3 * np.eye(2) + 7e-6 * skew)


BAD_MATRICES = {
    "NaN": (
        np.array([[1.0, np.nan], [np.nan, 1.0]]),
        ValueError,
        r"matrix X contains NaN at \(0, 1\)",
    ),
    "complex": (
        np.eye(2) * 1j,
        ValueError,
        "matrix X must hold real numbers, got dtype complex128",
    ),
    "words": (np.array([["a"]]), ValueError, r"matrix X\[0, 0\] of type str_* must be a number"),
    "one dimension": (
        np.ones(2),
        ValueError,
        r"matrix X must have two dimensions .* got shape \(2,\)",
    ),
    "rectangle": (
        np.ones((2, 3)),
        ValueError,
        r"matrix X must be the square matrix .* got shape \(2, 3\)",
    ),
    "skew": (np.array([[1.0, 0.5], [0.0, 1.0]]), ValueError, "matrix X must be symmetric"),
    "none": ({"a": 1}, TypeError, "matrix X must be a list or an array, .*; got dict"),
}


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_a_bad_matrix_is_refused_when_it_is_given(name):
    matrix, error, message = BAD_MATRICES[name]
    with pytest.raises(error, match=message):
        mc.Precomputed(matrix)


@pytest.mark.parametrize("container", [np.ndarray.tolist, pd.DataFrame, pl.DataFrame, sp.csr_array])
def test_matrices_in_other_containers_have_the_same_values(container):
    kernel = mc.Precomputed(container(K))
    np.testing.assert_array_equal(kernel(np.arange(3)), K[:3, :3])
    assert kernel == mc.Precomputed(K)


def test_arrays_of_other_libraries_are_refused_by_name():
    K = array_api_strict.asarray(np.eye(3))
    kernel = mc.Precomputed(np.eye(3))
    calls = {
        "matrix X": lambda: mc.Precomputed(K),
        "X": lambda: kernel(K, np.arange(3)),
        "Z": lambda: kernel([0], K),
    }
    for name, call in calls.items():
        with pytest.raises(
            TypeError,
            match=f"{name} must be an array of NumPy for Precomputed, got array_api_strict",
        ):
            call()


@pytest.mark.parametrize("kernel", [2 * mc.Precomputed(np.eye(4)), mc.Precomputed(np.eye(4)) + 0.5])
def test_a_fit_refuses_matrices_within_a_kernel_which_its_X_would_not_replace(kernel):
    with pytest.raises(ValueError, match="has matrices, but a fit takes its matrix as X"):
        mc.SVC(kernel=kernel).fit(np.ones((4, 4)) + np.eye(4), [0, 0, 1, 1])
    multiple = mc.KernelRidge(kernel=2 * mc.Precomputed()).fit(np.eye(4), np.arange(4.0))
    np.testing.assert_allclose(multiple.predict(np.eye(4)), 2 / 3 * np.arange(4), atol=1e-12)
