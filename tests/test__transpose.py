import numpy as np
import pytest

from mercer._transpose import mirror, transpose


@pytest.mark.parametrize("shape", [(1, 5), (32, 64), (70, 33)])
def test_blocks_are_transposed_into_part_of_a_larger_array(shape):
    block = np.random.default_rng(0).random(shape)
    whole = np.zeros((shape[1] + 2, shape[0] + 3))
    transpose(block, whole[1:-1, 2:-1])
    np.testing.assert_array_equal(whole[1:-1, 2:-1], block.T)
    whole[1:-1, 2:-1] = 0
    assert not whole.any()


@pytest.mark.parametrize("cuts", [(0, 100), (0, 31, 33, 100), (0, 64, 100)])
def test_pieces_mirror_the_lower_triangle(cuts):
    K = np.random.default_rng(0).random((100, 100))
    mirrored = K.copy()
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        mirror(mirrored, start, stop)
    np.testing.assert_array_equal(mirrored, np.tril(K) + np.tril(K, -1).T)
