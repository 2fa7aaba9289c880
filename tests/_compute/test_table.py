"""Tables: columns of numbers and of objects, by names and positions, their parts and what is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer._compute.objects import Objects, Table, as_table
from mercer._compute.points import Points, count_points, join_points, take_points

DATA = {"age": [31, 45, 27], "text": ["ab", "c", "ab"], "dose": [0.5, -1.0, 2.0]}
ROWS = list(zip(*DATA.values(), strict=True))


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame(DATA, index=[5, 1, 3]),
        lambda: pl.DataFrame(DATA),
        lambda: pytest.importorskip("pyarrow").table(DATA),
        lambda: pytest.importorskip("dask.dataframe").from_pandas(
            pd.DataFrame(DATA), npartitions=2
        ),
        lambda: np.array(ROWS, object),
        lambda: ROWS,
        lambda: list(map(list, ROWS)),
    ],
    ids=["pandas", "polars", "pyarrow", "dask", "array", "tuples", "lists"],
)
def test_every_table_has_the_same_columns(make):
    table = as_table(make())
    assert len(table) == count_points(table) == 3
    assert [list(column) for column in table.columns] == list(DATA.values())
    assert type(table.columns[1]) is Objects
    assert as_table(table) is table


def test_columns_are_found_by_name_and_by_position():
    table = as_table(pd.DataFrame(DATA))
    assert [table.position(column) for column in ("text", 0, -1, np.int64(1))] == [1, 0, 2, 1]
    assert as_table(pd.DataFrame(np.eye(2), columns=[1, 0])).position(0) == 1
    with pytest.raises(
        ValueError, match=r"column 'x' is not in the table of 3 columns; its columns are \['age'"
    ):
        table.position("x")
    for column in (3, -4, "text"):
        with pytest.raises(ValueError, match="is not in the table of 3 columns; it has no names"):
            as_table(ROWS).position(column)


def test_a_name_of_two_columns_is_refused_and_other_names_are_not():
    table = as_table(pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=["a", "b", "a"]))
    with pytest.raises(
        ValueError,
        match=r"column 'a' is the name of the columns at \[0, 2\]; give one of them another",
    ):
        table.position("a")
    assert [table.position(column) for column in ("b", 0, -1)] == [1, 0, 2]


def test_a_masked_entry_is_refused_and_an_empty_mask_is_not():
    X = np.ma.array(np.eye(2), mask=[[False, True], [False, False]])
    with pytest.raises(
        TypeError, match="X must not be a masked array; fill or drop its 1 masked entries first"
    ):
        as_table(X)
    np.testing.assert_array_equal(
        np.stack(as_table(np.ma.array(np.eye(2))).columns, axis=1), np.eye(2)
    )


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 0])], ids=["slice", "array"])
def test_parts_and_joins_have_the_rows_of_their_columns(rows):
    table = as_table(pd.DataFrame(DATA))
    part = take_points(table, rows)
    joined = join_points([table, part])
    expected = [np.array(values, object)[rows].tolist() for values in DATA.values()]
    assert [list(column) for column in part.columns] == expected
    assert [list(column)[3:] for column in joined.columns] == expected
    assert part.names == joined.names == list(DATA)


def test_values_are_shared_with_parts_and_left_out_of_copies():
    table, calls = as_table(ROWS), []

    def lengths(points):
        calls.append(len(points))
        return np.array([len(word) for word in points.container.columns[1]])

    points = Points(table)
    np.testing.assert_array_equal(
        points.take(np.array([1, 2])).per_point("length", lengths), [1, 2]
    )
    np.testing.assert_array_equal(points.per_point("length", lengths), [2, 1, 2])
    assert calls == [3]
    for again in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert again.values == {}
        assert [list(column) for column in again.columns] == list(DATA.values())


def test_the_table_of_the_caller_may_change_without_effect():
    X = np.eye(2)
    table = as_table(X)
    X[:] = 7.0
    np.testing.assert_array_equal(np.stack(table.columns, axis=1), np.eye(2))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([["a", 1], ["b"]], ValueError, "X must have rows of one length"),
        (["ab", "cd"], TypeError, "X must be a table .*, got list"),
        ([], TypeError, "got list"),
        (np.ones(3), TypeError, "got ndarray"),
        (sp.eye_array(2, format="csr"), TypeError, "got csr_array"),
        (
            pd.DataFrame({"a": []}),
            ValueError,
            r"at least one row and one column, got shape \(0, 1\)",
        ),
        (
            pd.DataFrame(index=[1, 2]),
            ValueError,
            r"at least one row and one column, got shape \(2, 0\)",
        ),
    ],
    ids=range(7),
)
def test_what_is_no_table_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        as_table(given)


def test_a_table_shows_its_size_and_names():
    assert repr(as_table(pd.DataFrame(DATA))) == "Table(3 points, columns=['age', 'text', 'dose'])"
    assert repr(Table([np.ones(2)])) == "Table(2 points, columns=1)"
