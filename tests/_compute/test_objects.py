"""Objects: lists of points that are not rows of numbers, values kept with them, containers that are refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer._compute.objects import Objects, as_objects, holds_rows, plain
from mercer._compute.points import Points, take_points

WORDS = ["ab", "c", "def", "ab"]


class Chain:
    """An object with a length that is not a container."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


@pytest.mark.parametrize(
    "given",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, object),
        pd.Series(WORDS, index=[3, 1, 2, 0]),
        pl.Series(WORDS),
    ],
    ids=["list", "tuple", "str_array", "object_array", "pandas", "polars"],
)
def test_every_sequence_becomes_the_same_list_in_its_order(given):
    points = as_objects(given)
    assert type(points) is Objects
    assert points == WORDS
    assert as_objects(points) is points


def test_a_column_of_polars_is_fitted_as_a_list():
    y = [0, 1, 1, 0]
    kernel = mc.strings.Spectrum(1)
    model = mc.SVC(kernel=kernel).fit(pl.Series(WORDS), y)
    assert model.score(pl.Series(WORDS), y) == 1
    expected = mc.SVC(kernel=kernel).fit(WORDS, y).decision_function(WORDS)
    np.testing.assert_array_equal(model.decision_function(pl.Series(WORDS)), expected)
    with pytest.raises(ValueError, match=r"X\[1\] is None"):
        mc.SVC(kernel=kernel).fit(pl.Series(["ab", None, "c", "d"]), y)


def test_objects_are_not_looked_into():
    chains, bags = [Chain(2), Chain(2)], [np.ones((2, 3)), np.zeros((2, 3))]
    for given in (chains, bags):
        assert all(a is b for a, b in zip(as_objects(given), given, strict=True))
    assert [bag.shape for bag in as_objects(np.ones((4, 2, 3)))] == [(2, 3)] * 4


REFUSED = [
    "str",
    "bytes",
    "None",
    "nan",
    "column",
    "bytes_column",
    "empty",
    "no_rows",
    "dict",
    "set",
    "graph",
]
REFUSED += ["number", "scalar", "sparse", "table"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("abc", TypeError, r"X must be a list of points, got the single str 'abc'; pass \[X\]"),
        (b"abc", TypeError, "the single bytes"),
        (["a", "b", None], ValueError, r"X\[2\] is None; remove or replace missing points"),
        (["a", "b", np.nan], ValueError, r"X\[2\] is nan; remove or replace missing points"),
        (
            np.array([["ab"], ["c"]]),
            ValueError,
            r"one column of strings, shape \(2, 1\), .* give X\[:, 0\]",
        ),
        (np.array([[b"ab"], [b"c"]], object), ValueError, "one column of strings"),
        ([], ValueError, "X must have at least one point, got an empty list"),
        (np.empty((0, 3)), ValueError, "at least one point, got an empty ndarray"),
        ({"a": 1}, TypeError, "must be an array or a list of points, got dict"),
        ({"a", "b"}, TypeError, "got set"),
        (Chain(3), TypeError, "got Chain"),
        (3, TypeError, "got int"),
        (np.array(3), TypeError, "got ndarray"),
        (sp.eye_array(3, format="csr"), TypeError, "got a sparse matrix, whose rows are numbers"),
        (
            pd.DataFrame({"text": WORDS}),
            TypeError,
            r"a table with columns.*X\['text'\].*mercer.on_columns",
        ),
    ],
    ids=REFUSED,
)
def test_what_is_no_list_of_points_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        as_objects(given)


def test_a_table_a_sparse_matrix_and_an_array_of_numbers_hold_rows_and_nothing_else():
    rows = (
        np.eye(2),
        np.arange(2),
        np.eye(2, dtype=bool),
        sp.eye_array(2, format="csr"),
        pd.DataFrame(np.eye(2)),
    )
    others = (
        np.eye(2).tolist(),
        WORDS,
        np.array(WORDS),
        np.array([[1, "a"]], object),
        np.ones((2, 2, 2)),
    )
    assert [holds_rows(X) for X in rows] == [True] * 5
    assert [holds_rows(X) for X in others] == [False] * 5


def _append(points):
    points.append("x")


def _assign(points):
    points[0] = "x"


def _extend(points):
    points += ["x"]


@pytest.mark.parametrize(
    "change", [_append, _assign, _extend, lambda p: p.sort(), lambda p: p.clear()], ids=range(5)
)
def test_points_with_kept_values_cannot_be_changed_and_their_copies_can(change):
    points = as_objects(WORDS)
    with pytest.raises(TypeError, match=r"cannot be changed.*list\(points\)"):
        change(points)
    assert points == WORDS
    free = plain(points)
    assert type(free) is list
    change(free)


def test_the_list_of_the_caller_may_change_without_effect():
    words = list(WORDS)
    phi = mc.features(
        mc.FunctionKernel(lambda A, B: np.array([[float(a == b) for b in B] for a in A])), words
    )
    words[0] = "changed"
    np.testing.assert_array_equal(phi(["ab"]), [[1.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=range(3)
)
def test_copies_hold_the_points_without_computed_values(duplicate):
    points = as_objects(WORDS)
    Points(points).per_point("length", lambda p: np.array([len(x) for x in p.container]))
    again = duplicate(points)
    assert type(again) is Objects
    assert again == WORDS
    assert again.values == {}


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([3, 0, 3])], ids=["slice", "array"])
@pytest.mark.parametrize("first", ["whole", "part", "part_alone"])
def test_values_of_each_point_are_computed_once_for_a_block_and_its_parts(rows, first):
    calls = []

    def lengths(points):
        calls.append(len(points))
        return np.array([len(x) for x in points.container])

    whole = as_objects(WORDS)
    if first == "whole":
        Points(whole).per_point("length", lengths)
    part = take_points(whole, rows)
    if first == "part_alone":
        del whole
    expected = [len(x) for x in part]
    np.testing.assert_array_equal(Points(part).per_point("length", lengths), expected)
    np.testing.assert_array_equal(Points(part).per_point("length", lengths), expected)
    assert calls == ([len(part)] if first == "part_alone" else [4])
