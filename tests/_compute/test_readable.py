"""refuse_unreadable: each unreadable container is refused with the place, the value and what to do."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import mercer as mc

ROWS = np.arange(12.0).reshape(4, 3)


def broken(**parts):
    X = sp.csr_matrix(ROWS + 1)
    for name, value in parts.items():
        setattr(X, name, np.asarray(value, getattr(X, name).dtype))
    return X


SPARSE = {
    "column too large": (
        broken(indices=[0, 1, 2, 0, 1, 7] + [0, 1, 2] * 2),
        "X has a column index 7, .* 0 to 2",
    ),
    "column negative": (
        broken(indices=[0, 1, -1] + [0, 1, 2] * 3),
        "X has a column index -1, .* 0 to 2",
    ),
    "pointer beyond": (broken(indptr=[0, 3, 6, 9, 99]), r"X\.indptr must rise from 0 to 12"),
    "pointer falls": (broken(indptr=[0, 6, 3, 9, 12]), r"X\.indptr must rise from 0 to 12"),
    "values missing": (broken(data=np.ones(5)), r"X\.data has 5 values"),
}
DENSE = {
    "none": (None, TypeError, "X must be a list or an array, .*; got None"),
    "text": ("abc", TypeError, "X must be a list or an array, .*; got str"),
    "function": (len, TypeError, "X must be a list or an array, .*; got builtin_function"),
    "dict": ({"a": 1}, TypeError, "X must be a list or an array, .*; got dict"),
    "masked": (np.ma.masked_greater(ROWS, 10), TypeError, "its 1 masked entries"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "row 1 has 1 entries and row 0 has 2"),
    "dates": (
        ROWS.astype("datetime64[D]"),
        TypeError,
        "X must hold real numbers, got dates or durations",
    ),
    "durations": (
        ROWS.astype("timedelta64[s]"),
        TypeError,
        "X must hold real numbers, got dates or durations",
    ),
    "records": (np.zeros(3, [("a", float)]), TypeError, "got records"),
    "complex": (ROWS + 0j, ValueError, "Complex data not supported"),
    "word": (
        [[1.0, "word"]],
        ValueError,
        r"X\[0, 1\] of type str must be a number: could not convert",
    ),
    "beyond float64": (
        [[10**400, 1]],
        ValueError,
        r"X\[0, 0\] of type int must be at most 1\.8e308",
    ),
    "object": (
        np.array([[1.0, {}]], object),
        TypeError,
        r"X\[0, 1\] of type dict must be a number: float\(\) argument",
    ),
    "date": (
        np.array([[1.0, datetime.date(2020, 1, 1)]], object),
        TypeError,
        r"X\[0, 1\] of type date must be",
    ),
    "polars dates": (
        pl.DataFrame({"a": [1.0], "t": [datetime.datetime(2020, 1, 1)]}),
        TypeError,
        "column 't' of X must hold real numbers, got dates",
    ),
    "polars times": (
        pl.DataFrame({"a": [1.0], "t": [datetime.time(1)]}),
        TypeError,
        r"column 't' of X\[0\] of type time",
    ),
    "polars lazy": (
        pl.LazyFrame({"a": [1.0]}),
        TypeError,
        "X must be a list or an array, .*; got LazyFrame",
    ),
    "column": (
        pd.DataFrame({"a": [1.0], "t": pd.to_datetime(["2020-01-01"])}),
        TypeError,
        "column 't' of X must",
    ),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_matrices_with_indices_outside_are_refused_by_every_border(name):
    X, message = SPARSE[name]
    for use in (
        lambda: mc.Gaussian(1.0)(X),
        lambda: mc.SVC().fit(X, [0, 1, 0, 1]),
        lambda: mc.Gram(mc.Linear(), X),
    ):
        with pytest.raises(ValueError, match=message):
            use()


@pytest.mark.parametrize("name", DENSE)
def test_what_is_no_table_of_numbers_is_refused_with_its_place(name):
    X, error, message = DENSE[name]
    for use in (
        lambda: mc.Linear()(X),
        lambda: mc.KernelPCA().fit(X),
    ):
        with pytest.raises(error, match=message):
            use()


@pytest.mark.parametrize(
    "missing",
    [
        pd.DataFrame(ROWS).astype("Int64").mask(ROWS == 7),
        pd.DataFrame(ROWS).astype("Float64").mask(ROWS == 7),
        pd.DataFrame(ROWS).astype(object).mask(ROWS == 7, pd.NA),
        np.where(ROWS == 7, None, ROWS),
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, None, 3.0]],
    ],
    ids=["integers", "numbers", "objects", "None", "list"],
)
def test_missing_entries_are_named_as_missing_numbers_are(missing):
    for use in (mc.Linear(), mc.KernelPCA().fit, mc.KernelMap(mc.Linear()).fit):
        with pytest.raises(
            ValueError, match=r"Input X contains NaN at \(2, 1\); remove or impute such rows first"
        ):
            use(missing)


def test_numbers_in_any_container_are_taken():
    for X in (ROWS, ROWS.tolist(), ROWS.astype(object), ROWS.astype(str), sp.csr_array(ROWS), sp.coo_matrix(ROWS),
              sp.csc_matrix(ROWS), pd.DataFrame(ROWS), np.ma.array(ROWS), ROWS > 3):  # fmt: skip
        mc.Linear()(X)


def test_a_column_format_names_rows():
    X = sp.csc_matrix(ROWS + 1)
    X.indices = np.full_like(X.indices, 9)
    with pytest.raises(ValueError, match="X has a row index 9, which must be from 0 to 3"):
        mc.Linear()(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_first_entry_that_is_not_finite_is_named(value):
    X = ROWS.copy()
    X[2, 1] = value
    with pytest.raises(
        ValueError, match=r"Input X contains (NaN|infinity) at \(2, 1\); remove or impute"
    ):
        mc.SVC().fit(X, [0, 1, 0, 1])


@pytest.mark.torch
def test_tensors_are_read_where_they_are_and_sparse_ones_are_refused(monkeypatch):
    import torch

    T = torch.from_numpy(ROWS)
    expected = torch.from_numpy(mc.Gaussian(0.1)(ROWS) @ ROWS)
    # as of a tensor on a device
    monkeypatch.setattr(
        torch.Tensor, "__array__", lambda *_: pytest.fail("a copy in the main memory")
    )
    torch.testing.assert_close(mc.Gram(mc.Gaussian(0.1), T) @ T, expected)
    with pytest.raises(
        TypeError,
        match=r"X must be a dense tensor, got layout torch.sparse_coo; give X.to_dense\(\)",
    ):
        mc.Linear()(T.to_sparse())
