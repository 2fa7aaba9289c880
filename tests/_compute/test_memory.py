"""Memory limits: sizes that are accepted, needs that are refused, arrays that take pages when they are written."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._compute.memory import allocate, human_bytes, parse_memory, require_memory, reusing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1GB", 10**9),
        ("1 GB", 10**9),
        ("1gb", 10**9),
        ("1.5MB", 1_500_000),
        ("64 KiB", 2**16),
        ("2GiB", 2**31),
        (".5TB", 5 * 10**11),
        ("7B", 7),
        (2**40, 2**40),
        (1e6, 10**6),
    ],
)
def test_a_size_is_a_number_and_a_unit(text, expected):
    assert parse_memory(text) == expected


@pytest.mark.parametrize(
    "bad", ["1", "GB", "1 G", "1e9", "-1GB", "1GBs", "", "0GB", 0, -5, float("nan"), float("inf")]
)
def test_other_text_and_numbers_below_one_are_refused_with_their_value(bad):
    with pytest.raises(ValueError, match="memory = ") as caught:
        parse_memory(bad)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("bad", [2, 0.5, 63])
def test_a_small_number_is_not_meant_as_bytes(bad):
    with pytest.raises(
        ValueError, match=f"memory = {bad} is a number of bytes; write '{bad} GB' for gigabytes"
    ):
        parse_memory(bad)
    assert parse_memory(64) == 64


@pytest.mark.parametrize("bad", [None, [1], True])
def test_a_wrong_kind_is_a_type_error(bad):
    with pytest.raises(TypeError, match=type(bad).__name__):
        parse_memory(bad)


@given(st.integers(min_value=1, max_value=10**17))
def test_reading_undoes_writing_to_the_digits_written(n_bytes):
    assert parse_memory(human_bytes(n_bytes, digits=3)) == pytest.approx(n_bytes, rel=5.1e-4)


@given(st.integers(min_value=64, max_value=10**15), st.integers(min_value=0, max_value=10**6))
def test_a_need_is_refused_exactly_when_it_exceeds_the_budget_and_the_two_numbers_differ(
    budget, more
):
    require_memory(budget, budget, "K", "less")
    with pytest.raises(MemoryError) as caught:
        require_memory(budget + 1 + more, budget, "K", "less")
    need, have = (
        str(caught.value)
        .removeprefix("K needs ")
        .removesuffix("; use less.")
        .split(", the memory budget is ")
    )
    assert need != have


def test_a_size_for_people_has_a_unit_and_the_digits_asked_for():
    assert human_bytes(8e10) == "80.0 GB"
    assert human_bytes(999) == "999 B"
    assert human_bytes(1000) == "1.0 kB"
    assert human_bytes(1_250_000, digits=2) == "1.25 MB"
    assert human_bytes(2e18) == "2000.0 PB"
    assert human_bytes(12 * 10**399) == "1.2E+400 B"


def test_the_refusal_names_the_thing_both_numbers_and_the_remedy():
    with pytest.raises(
        MemoryError, match=r"^K of 9 x 9 needs 80\.0 GB, the memory budget is 1\.0 GB; use Gram\.$"
    ):
        require_memory(8 * 10**10, "1GB", "K of 9 x 9", "Gram")


@pytest.mark.parametrize("size", [10**400, 1e308, "9999999999999999 PB"])
def test_more_bytes_than_can_be_addressed_are_no_limit(size):
    assert parse_memory(size) == sys.maxsize


@pytest.mark.parametrize("shape", [7, (3, 4), (0, 5), (2000, 700), 3_000_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_allocated_array_is_like_an_empty_one_and_writable(shape, dtype):
    values, like = allocate(shape, dtype), np.empty(shape, dtype)
    assert (values.shape, values.dtype, values.strides) == (like.shape, like.dtype, like.strides)
    assert values.flags.writeable
    assert values.flags.aligned
    values[...] = 1
    assert values.sum() == like.size
    # a second one shares no memory with it
    allocate(shape, dtype)[...] = 2
    assert values.sum() == like.size


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="pages are counted where /proc is"
)
def test_pages_are_taken_when_they_are_written_and_freed_with_the_array():
    before = _resident()
    values = allocate(2**26, np.uint8)
    assert _resident() - before < 2**24
    values[: 2**25] = 1
    assert _resident() - before > 2**24
    # a view keeps the memory
    view = values[1:]
    del values
    assert view[0] == 1
    del view
    assert _resident() - before < 2**24


def place(array):
    return array.__array_interface__["data"][0]


def test_memory_is_given_again_when_no_view_of_its_array_is_left():
    with reusing():
        first = allocate((600, 70), np.float64)
        view, where = first[3:], place(first)
        view[...] = 1
        del first
        other = allocate((600, 70), np.float64)
        other[...] = 2
        assert place(other) != where
        assert (view == 1).all()
        del view
        again = allocate((500, 80), np.float64)
        assert place(again) == where
        again[...] = 3
        assert (other == 2).all()
        assert again.shape == (500, 80)
    # arrays live on, and their memory is not given again
    third = allocate((600, 70), np.float64)
    third[...] = 4
    assert (again == 3).all()


def test_threads_and_larger_arrays_share_no_memory():
    with reusing():
        small = allocate(20_000, np.float64)
        where = place(small)
        del small
        large = allocate(40_000, np.float64)
        assert not where <= place(large) < where + 160_000
        with ThreadPoolExecutor(1) as other:
            assert other.submit(lambda: place(allocate(20_000, np.float64))).result() != where


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
