"""Eigenvectors of a range without Python's lock: those of SciPy to the bit, and other threads run meanwhile."""

import threading
import time

import numpy as np
import pytest
import scipy.linalg

from mercer.linalg import lapack


@pytest.mark.parametrize(("n", "first", "last"), [(1, 0, 0), (2, 0, 1), (40, 0, 39), (40, 0, 0), (40, 31, 39)])
def test_values_and_vectors_are_those_of_scipy(n, first, last):
    K = np.random.default_rng(n).standard_normal((n, n))
    K, before = K + K.T, (K + K.T).copy()
    values, vectors = lapack.eigenvectors(K, first, last)
    expected = scipy.linalg.eigh(K, subset_by_index=[first, last], driver="evr")
    np.testing.assert_allclose(values, expected[0], rtol=0, atol=1e-13 * n)
    np.testing.assert_allclose(K @ vectors, vectors * values, atol=1e-13 * n)
    np.testing.assert_allclose(np.abs(np.sum(vectors * expected[1], axis=0)), 1, rtol=1e-12)
    np.testing.assert_array_equal(K, before)


def test_other_threads_run_during_the_call():
    K = np.random.default_rng(0).standard_normal((600, 600))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    lapack.eigenvectors(K + K.T, 0, 599)
    end = time.monotonic()
    done.set()
    thread.join()
    # with the lock held there are none between the beginning of the call and its end
    assert sum(start < each < end for each in ticks) > 5
