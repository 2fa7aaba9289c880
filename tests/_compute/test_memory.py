"""Budgets: what counts as a size, when a need is refused, and what is found to be there."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._compute import memory as _memory
from mercer._compute.memory import allocate, available, human_bytes, parse_memory, require_memory


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


@pytest.mark.parametrize("bad", ["1", "GB", "1 G", "1e9", "-1GB", "1GBs", "", "0GB", 0, -5, float("nan"), float("inf")])
def test_what_is_no_size_is_refused_with_its_value(bad):
    with pytest.raises(ValueError, match="memory=") as caught:
        parse_memory(bad)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("bad", [None, [1], True])
def test_a_wrong_kind_is_a_type_error(bad):
    with pytest.raises(TypeError, match=type(bad).__name__):
        parse_memory(bad)


@given(st.integers(min_value=1, max_value=10**17))
def test_reading_undoes_writing_to_the_digits_written(n_bytes):
    assert parse_memory(human_bytes(n_bytes, digits=3)) == pytest.approx(n_bytes, rel=5.1e-4)


@given(st.integers(min_value=1, max_value=10**15), st.integers(min_value=0, max_value=10**6))
def test_a_need_is_refused_exactly_when_it_exceeds_the_budget_and_the_two_numbers_differ(budget, more):
    require_memory(budget, budget, "K", "less")
    with pytest.raises(MemoryError) as caught:
        require_memory(budget + 1 + more, budget, "K", "less")
    need, have = str(caught.value).removeprefix("K needs ").removesuffix("; use less.").split(", the budget is ")
    assert need != have


def test_the_refusal_names_the_thing_both_numbers_and_the_remedy():
    with pytest.raises(MemoryError, match=r"^K of 9 x 9 needs 80\.0 GB, the budget is 1\.0 GB; use Gram\.$"):
        require_memory(8 * 10**10, "1GB", "K of 9 x 9", "Gram")


def _machine(root, meminfo_kb, cgroup, **files):
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {meminfo_kb} kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    for path, text in files.items():
        file = root / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_without_a_limit_what_the_machine_has_is_available(tmp_path):
    files = {"job/memory.max": "max\n", "job/memory.current": "5\n"}
    assert available(_machine(tmp_path, 1000, "0::/job\n", **files)) == 1024 * 1000


def test_the_tightest_group_of_version_2_counts_and_its_page_cache_is_free(tmp_path):
    files = {
        "a/memory.max": "5000\n",
        "a/memory.current": "4000\n",
        "a/memory.stat": "anon 1\ninactive_file 300\n",
        "a/b/memory.max": "9000\n",
        "a/b/memory.current": "100\n",
    }
    assert available(_machine(tmp_path, 1000, "0::/a/b\n", **files)) == 5000 - 4000 + 300


def test_limits_of_version_1_count(tmp_path):
    files = {
        "memory/job/memory.limit_in_bytes": "70000\n",
        "memory/job/memory.usage_in_bytes": "20000\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "1\n",
    }
    assert available(_machine(tmp_path, 1000, "5:cpu:/\n4:memory:/job\n0::/\n", **files)) == 50000


def test_a_group_over_its_limit_has_nothing_left_rather_than_a_negative_number(tmp_path):
    files = {"memory.max": "10\n", "memory.current": "20\n"}
    assert available(_machine(tmp_path, 1000, "0::/\n", **files)) == 0


def test_a_machine_without_proc_falls_back_to_half_of_its_memory(tmp_path, monkeypatch):
    assert available(tmp_path) == _memory._physical() // 2
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert available(tmp_path) == 4 * 2**30


@pytest.mark.parametrize("shape", [7, (3, 4), (0, 5), (2000, 700), 3_000_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_empty_array_is_any_other_array_that_may_be_written_to(shape, dtype):
    values, like = allocate(shape, dtype), np.empty(shape, dtype)
    assert (values.shape, values.dtype, values.strides) == (like.shape, like.dtype, like.strides)
    assert values.flags.writeable
    assert values.flags.aligned
    values[...] = 1
    assert values.sum() == like.size
    # another one shares nothing with it
    allocate(shape, dtype)[...] = 2
    assert values.sum() == like.size


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="pages are counted where /proc is")
def test_memory_that_is_not_touched_is_not_taken_and_all_of_it_goes_with_the_array():
    before = _resident()
    values = allocate(2**26, np.uint8)
    assert _resident() - before < 2**24
    values[: 2**25] = 1
    assert _resident() - before > 2**24
    # a view keeps it
    view = values[1:]
    del values
    assert view[0] == 1
    del view
    assert _resident() - before < 2**24


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
