"""LAPACK without Python's lock: the results are those of SciPy, and other threads run meanwhile."""

import threading
import time

import numpy as np
import pytest
import scipy.linalg

from mercer.linalg import lapack


@pytest.mark.parametrize(
    ("n", "first", "last"), [(1, 0, 0), (2, 0, 1), (40, 0, 39), (40, 0, 0), (40, 31, 39)]
)
def test_values_and_vectors_are_those_of_scipy(n, first, last):
    K = np.random.default_rng(n).standard_normal((n, n))
    K, before = K + K.T, (K + K.T).copy()
    values, vectors = lapack.eigenvectors(K, first, last)
    expected = scipy.linalg.eigh(K, subset_by_index=[first, last], driver="evr")
    np.testing.assert_allclose(values, expected[0], rtol=0, atol=1e-13 * n)
    np.testing.assert_allclose(K @ vectors, vectors * values, atol=1e-13 * n)
    np.testing.assert_allclose(np.abs(np.sum(vectors * expected[1], axis=0)), 1, rtol=1e-12)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 60])
def test_factors_and_inverses_are_those_of_scipy(n, dtype):
    X = np.random.default_rng(n).standard_normal((n, n + 3)).astype(dtype)
    L = np.asfortranarray(X @ X.T + np.eye(n, dtype=dtype))
    expected = scipy.linalg.cholesky(L, lower=True)
    C = L.copy(order="F")
    lapack.factorise(L)
    lapack.clear_upper(L)
    np.testing.assert_array_equal(L, expected)
    inverse = np.asfortranarray(L + np.triu(np.full_like(L, 7), 1))
    lapack.invert_factored(inverse)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse @ C, np.eye(n), atol=1e4 * np.finfo(dtype).eps)
    lapack.invert(L)
    np.testing.assert_allclose(L @ expected, np.eye(n), atol=200 * np.finfo(dtype).eps)
    assert L.dtype == dtype
    assert not np.triu(L, 1).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "width"), [(1, 1), (3, 7), (60, 200)])
def test_triangular_systems_are_solved_in_a_part_of_an_array(n, width, dtype):
    rng = np.random.default_rng(n)
    L = np.asfortranarray(
        np.tril(rng.standard_normal((n, n))) + 3 * np.sqrt(n) * np.eye(n), dtype=dtype
    )
    whole = rng.standard_normal((n, width + 5)).astype(dtype)
    expected = whole.copy()
    expected[:, 2 : 2 + width] = scipy.linalg.solve_triangular(
        L, whole[:, 2 : 2 + width], lower=True
    )
    lapack.solve_lower(L, whole[:, 2 : 2 + width])
    np.testing.assert_allclose(whole, expected, atol=20 * np.finfo(dtype).eps)
    assert whole.dtype == dtype


def test_the_first_minor_that_is_not_positive_is_named():
    with pytest.raises(np.linalg.LinAlgError, match="order 2 is not positive definite"):
        lapack.factorise(np.diag([1.0, -1.0, 1.0]).copy(order="F"))


CALLS = {
    "eigenvectors": (600, lambda K: lapack.eigenvectors(K + K.T, 0, 599)),
    "factorise": (1500, lambda K: lapack.factorise((K + K.T).T)),
    "invert_factored": (1500, lambda K: lapack.invert_factored(np.triu(K).T)),
    "invert": (1500, lambda K: lapack.invert(np.triu(K).T)),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_run_during_the_call(name):
    n, call = CALLS[name]
    K = np.random.default_rng(0).uniform(size=(n, n)) + n * np.eye(n)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    call(K)
    end = time.monotonic()
    done.set()
    thread.join()
    # with the lock held there are none between the beginning of the call and its end
    assert sum(start < each < end for each in ticks) > 5
