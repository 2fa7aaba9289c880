import itertools

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from mercer._compute.compile import dispatcher


def _indexed(A, B, i, j):
    row, block = A[i], B[j]
    part, tail, beyond = row[j : i + 2], A[i, j:], row[9:2]
    ends = block[-9:1]
    A[i, -1] += 7
    B[j, i, 0] = part.size + 10 * beyond.size + tail.shape[0]
    row[-2] = 3.0
    return part, tail, ends, block[i], B[j, i, -1], A[0, j], row[:-1]


def _row(n):
    for _ in range(3):
        block = np.empty((n, 2))
        for t in range(n):
            block[t, 0], block[t, 1] = t, -t
        row = block[n - 1]
    return row, (block, block[0])


def _operated(a, b):
    c, d = a, b
    c += b
    d **= 2
    e = a + b if a > b else a * b
    return a - b, a / b, a // b, a % b, a**3, a**b, a == b, a <= b, a != 2, 1 - a, (a > 0) + (b > 0), c, d, e


@pytest.fixture
def counted():
    """Counts of the blocks of memory that compiled code takes and frees."""
    _nrt_python.memsys_enable_stats()
    yield lambda: rtsys.get_allocation_stats()[2:]
    _nrt_python.memsys_disable_stats()


def test_indices_mean_what_they_mean_to_numpy(global_random_seed):
    generator, indexed = np.random.default_rng(global_random_seed), dispatcher(_indexed)
    for i, j in itertools.product(range(-3, 3), range(-2, 2)):
        A, B = generator.normal(size=(3, 4)), generator.normal(size=(2, 3, 5)).astype(np.float32)
        own_A, own_B = A.copy(), B.copy()
        for found, expected in zip(indexed(own_A, own_B, i, j), _indexed(A, B, i, j), strict=True):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(own_A, A)
        np.testing.assert_array_equal(own_B, B)


def test_a_row_keeps_its_array_alive_and_all_memory_is_freed_later(counted):
    function = dispatcher(_row)
    function(2)
    taken, freed = counted()
    row, (block, first) = function(5)
    assert counted() == (taken + 3, freed + 2)
    np.testing.assert_array_equal(row, [4, -4])
    np.testing.assert_array_equal(block[:, 0] + first[0], np.arange(5))
    del row, block, first
    assert counted() == (taken + 3, freed + 3)


@pytest.mark.parametrize(
    "kinds", itertools.product([np.int64, np.int32, np.float32, np.float64], repeat=2), ids=lambda k: k[0].__name__
)
def test_operators_on_numbers_mean_what_they_mean_to_numba(kinds):
    own, other = dispatcher(_operated), numba.njit(error_model="numpy")(_operated)
    for a, b in ((3, 2), (-7, 2), (2, 3)):
        numbers = kinds[0](a), kinds[1](b)
        found, expected = own(*numbers), other(*numbers)
        assert found == expected
        assert list(map(type, found)) == list(map(type, expected))
