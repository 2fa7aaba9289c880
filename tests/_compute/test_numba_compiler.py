"""Numba's internals: those that Mercer changes are there, indices keep their meaning, files are checked."""

import itertools
import pickle
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import (
    caching,
    codegen,
    compiler,
    cpu,
    lowering,
    postproc,
    registry,
    typed_passes,
    typing,
)
from numba.core.runtime import _nrt_python, context, rtsys
from numba.np import arrayobj
from packaging.requirements import Requirement
from packaging.version import Version

from mercer._compute.compile import dispatcher
from mercer._compute.numba_compiler import CheckedFile

# What `numba_compiler` overrides or calls, beside the public functions of Numba, and what it is for.
INTERNALS = [
    (
        compiler.Compiler,
        "compile_extra",
        "flags, pauses of garbage collection, entry points of parts",
    ),
    (
        compiler.Compiler,
        "define_pipelines",
        "the library of machine code, the pass that writes instructions",
    ),
    (compiler.Flags, "fastmath", "flags that are equal where their arithmetic is"),
    (compiler.Flags, "no_compile", "parts are not made machine code"),
    (codegen.JITCodeLibrary, "_optimize_functions", "no optimisation of single functions"),
    (codegen.JITCodeLibrary, "_optimize_final_module", "one optimisation of a whole module"),
    (codegen.JITCodeLibrary, "_finalize_dynamic_globals", "parts are not made machine code"),
    (codegen.JITCodeLibrary, "enable_object_caching", "machine code on disk"),
    (
        registry.cpu_target.target_context.codegen(),
        "_tm",
        "the processor that code is optimised for",
    ),
    (cpu.CPUContext, "insert_user_function", "calls of parts"),
    (cpu.CPUContext, "nrt", "counts of references"),
    (context.NRTContext, "get_meminfos", "counts of references"),
    (lowering.Lower, "setup_function", "a builder that takes fields from where they were put"),
    (lowering.Lower, "post_lower", "no structures of which only fields are used"),
    (lowering.Lower, "_find_singly_assigned_variable", "variables that need no memory"),
    (lowering.Lower, "lower_assign", "arguments that the caller counts"),
    (lowering.Lower, "lower_expr", "loops over ranges"),
    (lowering.Lower, "delvar", "no counts of numbers"),
    (lowering.Lower, "lower_getitem", "items and rows of arrays"),
    (lowering.Lower, "lower_setitem", "items of arrays"),
    (lowering.Lower, "lower_binop", "operators on numbers"),
    (typing.Context, "resolve_function_type", "operators on numbers, found once"),
    (postproc.VariableLifetime, "usedefs", "variables that need no memory"),
    (
        typed_passes.NopythonRewrites,
        "run_pass",
        "no pass over operators on arrays where there are none",
    ),
    (arrayobj, "load_item", "items of arrays"),
    (arrayobj, "store_item", "items of arrays"),
    (typed_passes.NativeLowering, "lowering_class", "the pass that writes instructions"),
    (caching.CompileResultCacheImpl, "_locator_classes", "folders that nobody else can write to"),
    (caching.FunctionCache, "_index_key", "keys of closures"),
    (caching.FunctionCache, "_impl_class", "folders that nobody else can write to"),
    (caching.FunctionCache, "load_overload", "warnings of damaged code"),
    (caching.FunctionCache, "save_overload", "folders that cannot be written"),
    (caching.IndexDataCacheFile, "_load_index", "checksums"),
    (caching.IndexDataCacheFile, "_save_index", "checksums"),
    (caching.IndexDataCacheFile, "_load_data", "checksums"),
    (caching.IndexDataCacheFile, "_save_data", "checksums"),
    (caching.IndexDataCacheFile, "_dump", "checksums"),
    (caching.IndexDataCacheFile, "_data_path", "checksums"),
]


@pytest.mark.parametrize(
    ("owner", "name", "purpose"), INTERNALS, ids=[each[1] for each in INTERNALS]
)
def test_numba_has_the_internals_that_mercer_changes(owner, name, purpose):
    assert hasattr(owner, name), (
        f"Numba {numba.__version__} has no {owner}.{name}, which Mercer needs for: {purpose}"
    )


def test_a_library_of_numba_has_the_attributes_that_mercer_changes():
    library = registry.cpu_target.target_context.codegen().create_library("empty")
    for name in ("_linking_libraries", "_final_module", "_finalized"):
        assert hasattr(library, name), (
            f"Numba {numba.__version__} has no {name} of a library of machine code"
        )


def test_the_installed_numba_is_among_the_versions_that_are_allowed_and_these_end():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    (allowed,) = (
        found for each in project["dependencies"] if (found := Requirement(each)).name == "numba"
    )
    installed = Version(numba.__version__)
    assert allowed.specifier.contains(installed, prereleases=True)
    assert any(each.operator == "<" for each in allowed.specifier)


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


class Record(NamedTuple):
    """Arrays beside a number, and a record."""

    first: Any
    inner: Any
    number: Any


def _branched(record, n):
    inner = record.inner
    array = inner.first
    total = record.number + array.size
    never = np.empty(2)
    never[0] = 7.0
    if n > 2:
        part = record.first[1:]
        total += part[0]
        late = total * 3
    else:
        fresh = np.empty(3)
        fresh[2] = n
        total -= fresh[2]
        if n == 1:
            array = fresh
    for k in range(n):
        block = np.empty(k + 1)
        block[0] = k
        if k == 3:
            total += never[0]
            break
        if k % 2:
            continue
        array = block
        total += array[0] * 2
    if n > 2:
        total += late + part[1]
    while n > 0:
        n -= 1
        if n == 1:
            total += inner.first[0]
    return total, array, inner.inner, record


def _ranges(start, stop, step):
    total = 0
    k = -100
    for k in range(start, stop, step):
        if k == 4:
            continue
        for j in range(k, stop):
            total += j
            if j > 5:
                break
    for i in range(stop):
        total += 1000 * i
    return total, k


def _operated(a, b):
    c, d = a, b
    c += b
    d **= 2
    e = a + b if a > b else a * b
    return (
        a - b,
        a / b,
        a // b,
        a % b,
        a**3,
        a**b,
        a == b,
        a <= b,
        a != 2,
        1 - a,
        (a > 0) + (b > 0),
        c,
        d,
        e,
    )


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


def test_memory_is_freed_once_on_every_way_through_a_function(counted):
    function = dispatcher(_branched)
    arrays = [np.arange(size, dtype=np.float64) + size for size in (3, 4, 5)]
    record = Record(arrays[0], Record(arrays[1], arrays[2], 1), 2.0)
    function(record, 0)
    for n in range(7):
        taken, freed = counted()
        found, expected = function(record, n), _branched(record, n)
        assert found[0] == expected[0]
        np.testing.assert_array_equal(found[2], arrays[2])
        np.testing.assert_array_equal(found[3].inner.first, arrays[1])
        assert len(found[1]) == len(expected[1])
        assert found[1][-1 if n == 1 else 0] == expected[1][-1 if n == 1 else 0]
        del found
        now = counted()
        assert now[0] - taken == now[1] - freed
    references = [sys.getrefcount(each) for each in arrays]
    for n in range(7):
        function(record, n)
    assert [sys.getrefcount(each) for each in arrays] == references


def test_ranges_mean_what_they_mean_to_python():
    function = dispatcher(_ranges)
    for bounds in itertools.product(range(-3, 8), range(-3, 8), (-3, -2, -1, 1, 2, 5)):
        assert function(*bounds) == _ranges(*bounds)
    with pytest.raises(ValueError, match="must not be zero"):
        function(0, 1, 0)


@pytest.mark.parametrize(
    "kinds",
    itertools.product([np.int64, np.int32, np.float32, np.float64], repeat=2),
    ids=lambda k: k[0].__name__,
)
def test_operators_on_numbers_mean_what_they_mean_to_numba(kinds):
    own, other = dispatcher(_operated), numba.njit(error_model="numpy")(_operated)
    for a, b in ((3, 2), (-7, 2), (2, 3)):
        numbers = kinds[0](a), kinds[1](b)
        found, expected = own(*numbers), other(*numbers)
        assert found == expected
        assert list(map(type, found)) == list(map(type, expected))


# --- files ------------------------------------------------------------------------------------------------------------

KEYS = [("first", 1), ("second", 2)]


@pytest.fixture
def file(tmp_path):
    return CheckedFile(str(tmp_path), "module.function", (1.0, 2))


def test_data_come_back_by_their_key(file, tmp_path):
    for key in KEYS:
        file.save(key, [key])
    again = CheckedFile(str(tmp_path), "module.function", (1.0, 2))
    assert [again.load(key) for key in KEYS] == [[key] for key in KEYS]
    assert again.load(("third", 3)) is None
    again.flush()
    assert file.load(KEYS[0]) is None


def test_data_of_another_version_of_the_source_are_not_found(file, tmp_path):
    file.save(KEYS[0], "data")
    assert CheckedFile(str(tmp_path), "module.function", (1.0, 3)).load(KEYS[0]) is None


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_every_flipped_bit_and_every_missing_end_is_an_error(file, tmp_path, suffix):
    file.save(KEYS[0], "data")
    (path,) = tmp_path.glob(f"*.{suffix}")
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
        for damaged in (flipped, content[:place]):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=f"{suffix} is damaged"):
                file.load(KEYS[0])


def test_code_that_another_process_wrote_for_another_key_is_not_used(file, tmp_path):
    file.save(KEYS[0], "data")
    (path,) = tmp_path.glob("*.nbc")
    theirs = CheckedFile(str(tmp_path / "other"), "module.function", (1.0, 2))
    (tmp_path / "other").mkdir()
    theirs.save(KEYS[1], "other data")
    (other,) = (tmp_path / "other").glob("*.nbc")
    path.write_bytes(other.read_bytes())
    assert file.load(KEYS[0]) is None


def test_files_without_a_checksum_are_not_read(file, tmp_path):
    (tmp_path / "module.function.nbi").write_bytes(pickle.dumps("0.0"))
    assert file.load(KEYS[0]) is None
    file.save(KEYS[0], "data")
    assert {path.name for path in tmp_path.iterdir()} == {
        "module.function.nbi",
        "module.function.sha256.nbi",
        "module.function.sha256.1.nbc",
    }
