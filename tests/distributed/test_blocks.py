"""as_blocks: each row of an array on disk is read once, in its place, whatever the container and the size of blocks."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.distributed import as_blocks

h5py, zarr, pyarrow = (pytest.importorskip(name) for name in ("h5py", "zarr", "pyarrow"))
X = np.random.default_rng(0).standard_normal((1000, 3))


@pytest.fixture(autouse=True)
def small_blocks(limits):
    limits(disk_rows=70)


def memory_map(path, rows):
    stored = np.memmap(path / "rows", rows.dtype, "w+", shape=rows.shape)
    stored[:] = rows
    return stored


def hdf5(path, rows):
    return h5py.File(path / "rows.h5", "w").create_dataset("X", data=rows, chunks=(30, 1))


def whole_hdf5(path, rows):
    return h5py.File(path / "rows.h5", "w").create_dataset("X", data=rows)


def zarr_array(path, rows):
    stored = zarr.open_array(
        str(path / "rows.zarr"), mode="w", shape=rows.shape, chunks=(90, 3), dtype=rows.dtype
    )
    stored[:] = rows
    return stored


def arrow(_, rows):
    return pyarrow.table({f"c{j}": rows[:, j] for j in range(rows.shape[1])})


CONTAINERS = [memory_map, hdf5, zarr_array, arrow]


def sums(shared, rows, *columns):
    return np.array([shared * rows.sum(), len(rows), *(column.sum() for column in columns)])


@pytest.mark.parametrize("stored", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_blocks_hold_each_row_once_in_its_place(stored, dtype, tmp_path):
    rows = (100 * X).astype(dtype)
    blocks = as_blocks(stored(tmp_path, rows))
    assert blocks.shape == rows.shape
    wanted = np.array([0, 69, 70, 71, 555, 999])
    np.testing.assert_array_equal(blocks.take(wanted), rows[wanted])
    assert blocks.take(wanted).dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(
        blocks.apply(lambda shared, part: shared * part[:, 1], 2.0), 2.0 * rows[:, 1]
    )
    found = blocks.total(sums, 2.0, np.arange(1000.0))
    np.testing.assert_allclose(found, [2 * rows.sum(dtype=float), 1000, 999 * 500], rtol=1e-5)


def test_blocks_are_whole_chunks(tmp_path):
    sizes = []
    as_blocks(hdf5(tmp_path, X)).apply(lambda _, rows: sizes.append(len(rows)) or rows, None)
    assert set(sizes[:-1]) == {90}
    assert sum(sizes) == 1000


def test_a_dataset_of_arrow_of_unknown_length_is_not_read_in_blocks(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset").dataset(arrow(tmp_path, X))
    assert as_blocks(dataset) is None
    with pytest.raises(TypeError, match="X must be a list or an array"):
        mc.KernelRidge(landmarks=5).fit(dataset, X[:, 0])


@pytest.mark.parametrize("X", [X, sp.csr_array(X), X.tolist(), None, "text", [["a"]]])
def test_rows_in_memory_are_no_blocks(X):
    assert as_blocks(X) is None


@pytest.mark.parametrize("stored", CONTAINERS)
def test_entries_that_are_not_finite_are_refused_with_their_block(stored, tmp_path):
    rows = X.copy()
    rows[100, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[\d+:\d+\] contains NaN at \(\d+, 1\)"):
        as_blocks(stored(tmp_path, rows)).total(sums, 1.0)


def test_other_numbers_of_dimensions_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"2 dimensions.*\(1000,\)"):
        as_blocks(memory_map(tmp_path, X[:, 0]))


@pytest.mark.parametrize("stored", CONTAINERS)
def test_expansions_have_the_values_of_rows_in_memory_at_rows_on_disk(stored, tmp_path):
    psi = mc.features(mc.Gaussian(0.3), X[:5])
    np.testing.assert_allclose(psi(stored(tmp_path, X)), psi(X), rtol=1e-12)


@pytest.mark.parametrize("stored", [whole_hdf5, zarr_array])
def test_containers_without_rows_are_refused_as_arrays_are(stored, tmp_path):
    model, empty = mc.KernelPCA(2, landmarks=X[:5]).fit(X), stored(tmp_path, X[:0])
    for call in (model.transform, mc.KernelPCA(2, landmarks=X[:5]).fit):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"):
            call(empty)


def test_an_array_of_dask_without_rows_has_no_blocks():
    array = pytest.importorskip("dask.array").from_array(X, chunks=(250, 3))
    assert as_blocks(array[:0]) is None
    assert as_blocks(array[:1]).shape == (1, 3)


@pytest.mark.parametrize("stored", [hdf5, zarr_array])
@pytest.mark.parametrize("search", [mc.SVCCV, mc.SVRCV])
def test_searches_score_rows_on_disk_by_callables_in_any_order(stored, search, tmp_path):
    rows, y = X[:60], (X[:60, 0] > 0).astype(int)
    order = np.random.default_rng(0).permutation(60)
    options = {
        "Cs": [1.0],
        "cv": [(order[:40], order[40:])],
        "scoring": lambda model, A, b: model.score(A, b),
    }
    found = search(**options).fit(stored(tmp_path, rows), y)
    assert found.best_score_ == search(**options).fit(rows, y).best_score_


def test_a_column_of_dates_of_arrow_is_named_before_anything_is_read():
    for kind in ("M8[s]", "m8[s]"):
        table = pyarrow.table({"x": X[:, 0], "when": np.arange(1000).astype(kind)})
        with pytest.raises(
            TypeError, match="column 'when' of X must hold real numbers, got dates or durations"
        ):
            as_blocks(table)


def test_a_missing_entry_of_a_dictionary_of_arrow_is_missing():
    # NumPy reads it as the last value of the dictionary
    numbers = pyarrow.array([1.0, None] * 500).dictionary_encode()
    table = pyarrow.table({"x": X[:, 0], "numbers": numbers})
    for model in (mc.SVR(), mc.KernelRidge(landmarks=5)):
        with pytest.raises(ValueError, match=r"contains NaN at \(1, 1\)"):
            model.fit(table, X[:, 0])
    table = pyarrow.table({"x": X[:, 0], "numbers": numbers.fill_null(2.0)})
    expected = mc.SVR().fit(np.column_stack([X[:, 0], 500 * [1.0, 2.0]]), X[:, 0]).intercept_
    np.testing.assert_array_equal(mc.SVR().fit(table, X[:, 0]).intercept_, expected)


def test_a_table_of_arrow_without_columns_is_refused_as_an_array():
    with pytest.raises(
        ValueError, match=r"must have at least one row and one column, got shape \(\d+, 0\)"
    ):
        mc.KernelPCA(2, landmarks=5).fit(arrow(None, X).select([]))
