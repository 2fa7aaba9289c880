"""Rows as users give them: what plain arrays skip changes nothing."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import validate_data

import mercer as mc
from mercer.estimators._rows import validated_rows

ROWS = np.random.default_rng(0).normal(size=(6, 3))
PLAIN = ROWS, ROWS.astype(np.float32), ROWS[2:3]
OTHERS = {
    "a list": ROWS.tolist(),
    "integers": np.arange(6).reshape(2, 3),
    "columns first": np.asfortranarray(ROWS),
    "another byte order": ROWS.astype(">f8"),
    "a long double": ROWS.astype(np.longdouble),
    "a table": pd.DataFrame(ROWS, columns=list("abc")),
}
WRONG = {
    "one number": np.array(3.0),
    "one row": ROWS[0],
    "no row": ROWS[:0],
    "two columns": np.ascontiguousarray(ROWS[:, :2]),
    "three dimensions": ROWS[None],
    "NaN": np.where(ROWS > 1, np.nan, ROWS),
    "infinity": np.where(ROWS > 1, -np.inf, ROWS),
}


@pytest.fixture(scope="module")
def model():
    return mc.KernelPCA(2).fit(ROWS)


@pytest.mark.parametrize("X", PLAIN, ids=["float64", "float32", "one"])
def test_plain_rows_are_taken_as_they_are(model, X):
    assert validated_rows(model, X, False) is X


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_all_other_rows_become_what_scikit_learn_makes_of_them(model, name):
    found = validated_rows(model, OTHERS[name], False, order="C")
    expected = validate_data(model, OTHERS[name], reset=False, dtype=[np.float64, np.float32], order="C")
    assert (found.dtype, found.flags.c_contiguous) == (expected.dtype, True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_are_refused_as_by_scikit_learn(model, name):
    with pytest.raises(ValueError, match=r"2D array|sample|features|dim|contains"):
        validated_rows(model, WRONG[name], False)


def test_rows_without_names_warn_where_the_fit_had_names():
    model = mc.KernelPCA(2).fit(OTHERS["a table"])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        validated_rows(model, ROWS, False)
