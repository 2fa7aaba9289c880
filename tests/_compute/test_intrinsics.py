import platform

import numpy as np
import pytest

from mercer._compute.compile import dispatcher
from mercer._compute.intrinsics import as_square, empty, larger, small, smaller


def _largest(values):
    found = values[0]
    for t in range(values.size):
        found = larger(found, values[t])
    return found


def _extremes(a, b):
    small()
    return larger(a, b), smaller(a, b), larger(a, 2), smaller(2, b)


def _new(n, values):
    block, row = empty((n, 2, 3), np.float32), empty(n, np.int64)
    square = as_square(values, n)
    square[n - 1, 0] = 9
    return block, row, square


def _in_arena(arena, n, many):
    """Return where arrays of n numbers begin in an arena, -1 for those outside of it, and the sum of their numbers."""
    places = np.empty(many, np.int64)
    total = 0
    before = empty(n, np.float32, arena)
    for t in range(n):
        before[t] = 1
    for k in range(many):
        other = empty(n, np.float32, arena)
        for t in range(n):
            other[t] = k
        bytes_off = other.ctypes.data - arena.ctypes.data
        places[k] = bytes_off if 0 <= bytes_off < 8 * arena.size else -1
        for t in range(n):
            total += before[t]
        before = other
    return places, total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_larger_of_two_numbers_gives_the_maximum_of_many_on_vector_registers(
    dtype, global_random_seed
):
    values = np.random.default_rng(global_random_seed).normal(size=1003).astype(dtype)
    values[global_random_seed % 1003] = -np.inf
    # not kept on disk: code that is read from there cannot be looked at
    largest = dispatcher(_largest)
    assert largest(values) == values.max()
    assert largest(values[:1]) == values[0]
    assert largest(np.full(5, -np.inf, dtype)) == -np.inf
    if platform.machine() == "x86_64":
        (code,) = {
            text
            for types, text in largest.inspect_asm().items()
            if str(np.dtype(dtype)) in str(types)
        }
        assert ("maxps" if dtype == np.float32 else "maxpd") in code


def test_extremes_of_whole_and_other_numbers_have_the_type_that_holds_both():
    extremes = dispatcher(_extremes)
    for a, b in ((3, -5), (-5, 3), (1.5, 3), (3, 1.5)):
        found = extremes(a, b)
        assert found == (max(a, b), min(a, b), max(a, 2), min(2, b))
        assert [type(each) for each in found[:2]] == [type(a + b)] * 2
    assert all(
        "optsize" in code and "noinline" in code for code in extremes.inspect_llvm().values()
    )


def test_new_arrays_are_contiguous_and_a_square_shares_the_memory_of_its_values():
    values = np.arange(10.0)
    block, row, square = dispatcher(_new)(3, values)
    assert (block.shape, block.dtype, block.strides) == ((3, 2, 3), np.float32, (24, 12, 4))
    assert (row.shape, row.dtype, row.strides) == ((3,), np.int64, (8,))
    assert block.flags.aligned
    np.testing.assert_array_equal(square, [[0, 1, 2], [3, 4, 5], [9, 7, 8]])
    assert np.shares_memory(square, values)


@pytest.mark.parametrize("n", [1, 16, 17, 100])
def test_arrays_of_an_arena_do_not_overlap_and_lie_outside_of_it_where_it_is_full(n):
    arena = np.full(68, 8)
    places, total = dispatcher(_in_arena)(arena, n, 12)
    address = arena.ctypes.data
    inside = [address + place for place in places.tolist() if place >= 0]
    assert all(place % 64 == 0 for place in inside)
    # each begins in the first such place behind the one before, the first of which is not among them
    assert np.diff(inside).tolist() == [64 * -(-4 * n // 64)] * (len(inside) - 1)
    if inside:
        assert arena[0] == inside[-1] + 4 * n - address
    # the next one would not fit
    assert (
        len(inside) == 12
        or inside == []
        or inside[-1] + 64 * -(-4 * n // 64) + 4 * n > address + arena.nbytes
    )
    assert total == n * (1 + sum(range(11)))
