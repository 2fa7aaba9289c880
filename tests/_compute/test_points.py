"""Points: what is taken as rows of numbers, what is refused and how the refusal reads."""

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer as mc
from mercer._compute import points as points_module
from mercer._compute.objects import Objects
from mercer._compute.points import (
    Points,
    as_columns,
    as_dense_rows,
    as_rows,
    common_dtype,
    count_points,
    evenly_spaced,
    join_points,
    refuse_overflow,
    same_points,
    take_points,
)

X = np.array([[0.0, 1.5, 2.0], [3.0, 0.0, 5.25]])


@pytest.mark.parametrize(
    ("given_as", "dtype"),
    [
        (X.astype(np.float32), np.float32),
        (X.astype(np.float16), np.float64),
        (X.astype(np.longdouble), np.float64),
        (X.astype(">f8"), np.float64),
        (X.astype(">f4"), np.float32),
        (X.astype(object), np.float64),
        (X.tolist(), np.float64),
        (pd.DataFrame(X), np.float64),
        (pd.DataFrame(X).astype("Float64"), np.float64),
        (pd.DataFrame(X.astype(np.float32)), np.float32),
        (pl.DataFrame(X), np.float64),
        (np.asfortranarray(X), np.float64),
        (X[::-1][::-1], np.float64),
        (np.ma.masked_array(X), np.float64),
    ],
)
def test_rows_keep_their_values_in_the_nearest_floating_type(given_as, dtype):
    rows = as_rows(given_as)
    assert type(rows) is np.ndarray
    assert rows.dtype == dtype
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, ">i4"])
def test_whole_numbers_become_float64(dtype):
    rows = as_rows(np.array([[0, 1], [1, 1]], dtype))
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows, [[0, 1], [1, 1]])


def test_floating_rows_are_not_copied_and_read_only_ones_are_taken():
    frozen = X.copy()
    frozen.flags.writeable = False
    assert as_rows(X) is X
    assert np.shares_memory(as_rows(frozen), frozen)


def test_a_memory_map_is_taken(tmp_path):
    np.save(tmp_path / "X.npy", X)
    rows = as_rows(np.load(tmp_path / "X.npy", mmap_mode="r"))
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize(
    "make", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array, sp.bsr_array, sp.lil_array]
)
def test_sparse_rows_become_canonical_csr(make):
    rows = as_rows(make(X))
    assert rows.format == "csr"
    assert rows.has_canonical_format
    np.testing.assert_array_equal(rows.toarray(), X)


def test_duplicate_entries_add_up_and_the_given_matrix_stays_as_it_is():
    S = sp.csr_array(
        (np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3)
    )
    np.testing.assert_array_equal(as_rows(S).toarray(), [[0, 3, 0], [0, 0, 0]])
    assert S.data.tolist() == [1.0, 2.0, 0.0]


def test_sparse_indices_may_have_64_bits():
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    np.testing.assert_array_equal(as_rows(S).toarray(), X)


@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int16, bool, np.dtype(">f4"), np.float16]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.integers(0, 1),
    ),
    st.sampled_from([1, -1, 2]),
    st.sampled_from([1, -1]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_strides_orders_and_types_change_no_value(A, step, across, transpose):
    view = A[::step, ::across].T if transpose else A[::step, ::across]
    np.testing.assert_array_equal(as_rows(view), view.astype(np.float64))


def _with(value, kind=np.array):
    bad = X.copy()
    bad[1, 2] = value
    return kind(bad)


BAD = {
    "NaN": (_with(np.nan), ValueError, r"Input X contains NaN at \(1, 2\); remove or impute"),
    "inf": (_with(np.inf), ValueError, r"Input X contains infinity at \(1, 2\)"),
    "minus inf in float32": (
        _with(-np.inf, lambda A: A.astype(np.float32)),
        ValueError,
        r"infinity at \(1, 2\)",
    ),
    "NaN in CSR": (_with(np.nan, sp.csr_array), ValueError, r"Input X contains NaN at \(1, 2\)"),
    "NaN in CSC": (_with(np.nan, sp.csc_array), ValueError, r"Input X contains NaN at \(1, 2\)"),
    "beyond float64": (
        np.full((1, 1), np.longdouble("1e4000")),
        ValueError,
        r"infinity at \(0, 0\)",
    ),
    "no rows": (X[:0], ValueError, r"at least one row and one column, got shape \(0, 3\)"),
    "no columns": (X[:, :0], ValueError, r"at least one row and one column, got shape \(2, 0\)"),
    "one dimension": (
        X[0],
        ValueError,
        r"two dimensions .*got shape \(3,\); pass one .* X.reshape\(1, -1\)",
    ),
    "three dimensions": (X[None], ValueError, r"got shape \(1, 2, 3\)"),
    "a number": (3.0, TypeError, "X must be a list or an array, .*; got float"),
    "None": (None, TypeError, "X must be a list or an array, .*; got None"),
    "ragged lists": ([[1, 2], [3]], ValueError, "X must have rows of equal length"),
    "complex": (
        X.astype(complex),
        ValueError,
        "real numbers, got dtype complex128: Complex data not supported",
    ),
    "complex CSR": (
        sp.csr_array(X.astype(complex)),
        ValueError,
        "real numbers, got dtype complex128",
    ),
    "strings": (
        np.array([["a", "b"]]),
        ValueError,
        r"X\[0, 0\] of type str must be a number: could not convert .* or use a kernel of objects",
    ),
    "objects": (np.array([[object()]]), TypeError, r"X\[0, 0\] of type object must be a number"),
    "dates": (
        np.array([["2020-01-01"]], "M8[D]"),
        TypeError,
        r"got dates or durations, dtype datetime64\[D\]",
    ),
    "masked": (
        np.ma.masked_greater(X, 2),
        TypeError,
        "must not be a masked array; fill or drop its 2 masked entries",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_refused_by_name_value_and_advice(name):
    given_as, error, message = BAD[name]
    with pytest.raises(error, match=message):
        as_rows(given_as)


def test_the_refusal_calls_the_points_what_the_caller_calls_them():
    with pytest.raises(ValueError, match=r"Input landmarks contains NaN at \(1, 2\)"):
        as_rows(_with(np.nan), "landmarks")


def test_large_but_finite_values_are_no_infinity():
    huge = np.full((2, 2), 1.7e308)
    np.testing.assert_array_equal(as_rows(huge), huge)


def test_missing_values_of_data_frames_are_refused():
    frame = pd.DataFrame({"a": pd.array([1.0, None], dtype="Float64")})
    with pytest.raises((ValueError, TypeError), match=r"NaN at \(1, 0\)|real numbers"):
        as_rows(frame)


def test_counting_taking_and_joining_work_for_every_container():
    for points in (X, sp.csr_array(X), np.arange(2), ["ab", "c"], Objects(["ab", "c"])):
        joined = join_points([points, take_points(points, slice(1, 2))])
        assert count_points(joined) == 3
        chosen = take_points(joined, np.array([2, 0]))
        assert count_points(chosen) == 2
        assert type(chosen) is type(points)
    assert take_points(["a", "b", "c"], np.array([2, 0])) == ["c", "a"]
    np.testing.assert_array_equal(take_points(X, np.array([1, 0, 1])), X[[1, 0, 1]])


def test_lists_hold_the_same_points_if_they_hold_the_same_objects_and_arrays_if_they_hold_the_same_numbers():
    bags = [{"a"}, {"b"}]
    for make in (list, Objects):
        assert same_points(make(bags), make(bags))
        assert not same_points(make(bags), make([{"a"}, {"b"}]))
        assert not same_points(make(bags), make(bags[::-1]))
        assert not same_points(make(bags), make(bags[:1]))
    assert same_points(X[:1], X[:1])
    for rows in (X, sp.csr_array(X)):
        assert same_points(rows, rows.copy())
        assert not same_points(rows, rows[:1])
        assert not same_points(rows, rows[::-1])
        assert not same_points(rows, rows.astype(np.float32))
        assert not same_points(rows, rows * np.nextafter(1, 2))
    assert not same_points(X, bags)


def test_the_common_type_is_single_only_if_all_are():
    single = X.astype(np.float32)
    assert common_dtype(single, single) == np.float32
    assert common_dtype(single, X) == np.float64
    assert common_dtype(sp.csr_array(single), X) == np.float64


@pytest.mark.parametrize(
    ("container", "dtype"),
    [
        (np.zeros((2, 1), np.float32), np.float32),
        (["a", "b"], np.float64),
        (np.arange(3), np.float64),
    ],
)
def test_values_at_points_that_are_not_numbers_are_float64(container, dtype):
    found = Points(container).dtype
    assert found == dtype
    assert isinstance(found, np.dtype)


def test_centre_and_norms_are_computed_in_float64():
    rows = (np.random.default_rng(0).random((5, 3)) + 1e4).astype(np.float32)
    points, wide = Points(rows), rows.astype(np.float64)
    np.testing.assert_allclose(points.centre, wide.mean(axis=0), rtol=1e-15)
    assert points.centre.dtype == np.float64
    np.testing.assert_array_equal(
        points.about(points.centre), (wide - points.centre).astype(np.float32)
    )
    np.testing.assert_allclose(points.sqnorms(), (wide**2).sum(axis=1), rtol=1e-7)
    assert points.sqnorms().dtype == np.float32
    assert points.about(None) is rows
    sparse = Points(sp.csr_matrix(rows))
    assert sparse.centre is None
    np.testing.assert_array_equal(sparse.sqnorms(), points.sqnorms())


def test_norms_are_refused_if_four_of_the_largest_overflow():
    largest = np.finfo(np.float64).max
    Points(np.array([[np.sqrt(largest / 4.1)]])).sqnorms()
    with pytest.raises(ValueError, match="overflow float64: a row of X or Z has entries up to"):
        Points(np.array([[np.sqrt(largest / 3.9)]])).sqnorms()


def test_nan_that_scikit_learn_assumes_away_is_named_in_predictions():
    model = mc.SVC().fit(X, np.arange(len(X)) % 2)
    Z = np.array(X, np.float64)
    Z[1, 2] = np.nan
    with (
        sklearn.config_context(assume_finite=True),
        pytest.raises(ValueError, match=r"contains NaN at \(1, 2\)"),
    ):
        model.predict(Z)


def test_norms_about_two_centres_are_two_values():
    points = Points(X)
    for centre in (np.zeros(3), np.ones(3), points.centre):
        np.testing.assert_allclose(points.sqnorms(centre), ((X - centre) ** 2).sum(axis=1))


COLUMNS = {
    "complex": (X * 1j, ValueError, "C must hold real numbers, got dtype complex128"),
    "words": (np.array(["a", "b"]), ValueError, r"C\[0\] of type str_* must be a number"),
    "None": (None, TypeError, "C must be a list or an array, .*; got None"),
    "sparse": (
        sp.csr_array(X),
        TypeError,
        r"C must be a dense array of numbers, got a sparse matrix; give C\.toarray",
    ),
    "masked": (np.ma.masked_greater(X, 2), TypeError, "C must not be a masked array"),
    "ragged": (
        [[1.0], [1.0, 2.0]],
        ValueError,
        "C must have rows of equal length: .*row 1 has 2 entries",
    ),
    "NaN": ([1.0, np.nan], ValueError, r"C\[1\] = nan must be finite"),
    "inf in float32": (
        np.array([[1, np.inf]], np.float32),
        ValueError,
        r"C\[0, 1\] = inf must be finite",
    ),
    "beyond float64": (
        np.full(2, np.longdouble("1e4000")),
        ValueError,
        r"C\[0\] = inf must be finite",
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_bad_columns_are_refused_by_name_value_and_advice(name):
    values, error, message = COLUMNS[name]
    with pytest.raises(error, match=message):
        as_columns(values, "C")


@pytest.mark.parametrize(
    ("given_as", "dtype"),
    [
        (X.tolist(), np.float64),
        (X.astype(object), np.float64),
        (X.astype(np.float32), np.float32),
        (pd.DataFrame(X).astype("Float64"), np.float64),
        (sp.csr_array(X), np.float64),
    ],
)
def test_columns_and_dense_rows_are_plain_arrays_with_the_same_values(given_as, dtype):
    for read in (as_dense_rows,) if sp.issparse(given_as) else (as_columns, as_dense_rows):
        found = read(given_as, "C")
        assert (type(found), found.dtype) == (np.ndarray, dtype)
        np.testing.assert_array_equal(found, X.astype(dtype))


def test_products_that_overflow_name_the_factor_and_its_size():
    np.testing.assert_array_equal(refuse_overflow(X, "C", X), X)
    with pytest.raises(
        ValueError,
        match=r"C has entries up to 1e\+200, .* overflow float64; divide C by a constant",
    ):
        refuse_overflow(np.array([np.inf, 1.0]), "C", np.array([[1.0, -1e200]]))


def test_flags_of_sparse_matrices_that_are_wrong_are_not_believed():
    X = np.arange(12.0).reshape(4, 3) + 1
    twice = sp.csr_matrix(
        (np.repeat(X.ravel() / 2, 2), np.repeat(np.tile(np.arange(3), 4), 2), 6 * np.arange(5))
    )
    unsorted = sp.csr_matrix((X[:, ::-1].ravel(), np.tile([2, 1, 0], 4), 3 * np.arange(5)))
    for S in (twice, unsorted):
        S.has_canonical_format = True
        before = S.data.copy()
        rows = as_rows(S)
        assert rows.nnz == 12
        np.testing.assert_array_equal(rows.toarray(), X)
        np.testing.assert_array_equal(rows.indices, np.tile(np.arange(3), 4))
        np.testing.assert_array_equal(S.data, before)


def test_dense_rows_are_returned_and_sparse_rows_converted():
    eye = np.eye(3)
    assert points_module.dense(eye) is eye
    np.testing.assert_array_equal(points_module.dense(sp.csr_matrix(eye)), eye)


@pytest.mark.parametrize("n", [1, 2, 7, 200, 201, 1999, 10**6 + 3])
def test_evenly_spaced_places_differ_and_reach_from_the_first_to_the_last(n):
    for most in (1, 2, 64, 200, 1000):
        places = evenly_spaced(n, most)
        assert len(places) == min(n, most)
        assert places[0] == 0
        steps = np.diff(places)
        assert len(steps) == 0 or (
            places[-1] == n - 1 and steps.min() > 0 and steps.max() - steps.min() <= 1
        )


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool"])
def test_columns_of_another_library_become_float64_as_those_of_numpy(dtype):
    found = as_columns(array_api_strict.ones((3, 1), dtype=getattr(array_api_strict, dtype)), "V")
    assert found.dtype == array_api_strict.float64
    with pytest.raises(
        TypeError, match="V must hold real numbers, got .*Complex data not supported"
    ):
        as_columns(array_api_strict.ones((3, 1), dtype=array_api_strict.complex128), "V")


@pytest.mark.torch
def test_tensors_of_any_real_type_are_read_without_their_graph():
    import torch

    for dtype in (torch.float16, torch.bfloat16, torch.int32):
        assert as_rows(torch.ones(3, 2, dtype=dtype)).dtype == torch.float64
    T = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    assert not as_rows(T).requires_grad
    assert not as_columns(T, "V").requires_grad
