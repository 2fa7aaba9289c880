"""Rows as users give them: what plain arrays skip changes nothing."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

import mercer as mc
from mercer.estimators.base import as_labels, refuse_underflow, validated_rows

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
    expected = validate_data(
        model, OTHERS[name], reset=False, dtype=[np.float64, np.float32], order="C"
    )
    assert (found.dtype, found.flags.c_contiguous) == (expected.dtype, True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("dtype", [">f4", "<f4"])
def test_single_precision_in_any_byte_order_stays_single_precision(dtype, reset):
    found = validated_rows(
        mc.KernelPCA(2).fit(ROWS), ROWS.astype(dtype), reset, order="C", copy=reset
    )
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, ROWS.astype(np.float32))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_are_refused_as_by_scikit_learn(model, name):
    with pytest.raises(ValueError, match=r"2D array|sample|features|dim|contains"):
        validated_rows(model, WRONG[name], False)


def test_rows_without_names_warn_where_the_fit_had_names():
    model = mc.KernelPCA(2).fit(OTHERS["a table"])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        validated_rows(model, ROWS, False)


@pytest.mark.parametrize(
    "X", [PLAIN[0], PLAIN[1], *OTHERS.values()], ids=["float64", "float32", *OTHERS]
)
def test_rows_of_a_fit_are_copies_that_state_what_scikit_learn_states(X):
    own, peer = mc.SVC(), mc.SVC()
    for each in (own, peer):
        each.feature_names_in_ = np.array(["earlier"], dtype=object)
    found = validated_rows(own, X, True, order="C", copy=True)
    expected = validate_data(
        peer, X, reset=True, dtype=[np.float64, np.float32], order="C", copy=True
    )
    assert (found.dtype, own.n_features_in_) == (expected.dtype, peer.n_features_in_)
    assert hasattr(own, "feature_names_in_") == hasattr(peer, "feature_names_in_")
    np.testing.assert_array_equal(found, expected)
    assert not np.shares_memory(found, X)


def test_one_row_is_refused_in_a_fit_as_by_scikit_learn():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        validated_rows(mc.SVC(), ROWS[:1], True, order="C", copy=True)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (mc.SVC(), np.array([], int)),
        (mc.OneClassSVM(), None),
        (mc.SVC(kernel=mc.strings.Spectrum(2)), []),
    ],
)
def test_a_fit_without_rows_names_them_and_no_weights(estimator, y):
    X = [] if estimator.kernel != "rbf" else ROWS[:0]
    with pytest.raises(ValueError, match="X must have rows, got 0 sample"):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    "labels", [[0, 1] * 15, [True, False] * 15, list("ab") * 15, [1.0, 2.0] * 15, list(range(30))]
)
def test_labels_are_what_scikit_learn_makes_of_them(labels, recwarn):
    X, y = np.zeros((30, 1)), np.array(labels)
    expected = column_or_1d(y)
    check_classification_targets(y)
    warned = len(recwarn)
    # many classes cause a warning
    assert warned == (len(set(labels)) == 30)
    found = as_labels(X, y, "SVC")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert len(recwarn) == 2 * warned
    with pytest.raises(ValueError, match="30 rows, y has 29"):
        as_labels(X, y[:-1], "SVC")


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_entry_of_either_sign_decides_whether_squares_underflow(sign):
    X = sign * np.array([[1.0, -1e-200], [1e-200, 0.0]])
    refuse_underflow(X)
    with pytest.raises(ValueError, match="entries up to 1e-200"):
        refuse_underflow(X[:, 1:])
    with pytest.raises(ValueError, match="entries up to 1e-200"):
        refuse_underflow(X[1:])
