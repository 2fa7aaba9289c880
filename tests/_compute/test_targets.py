"""Targets that cannot be read are refused by all estimators with the name y, and without their data."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import mercer as mc

X = np.random.default_rng(0).standard_normal((6, 2))
BAD = {
    "no columns": (
        np.zeros((6, 0)),
        ValueError,
        r"y must hold a label or a number for each row, got shape \(6, 0\)",
    ),
    "complex": (np.arange(6) + 1j, ValueError, "got dtype complex128: Complex data not supported"),
    "dates": (np.arange(6).astype("M8[D]"), TypeError, r"got dtype datetime64\[D\]"),
    "text": ("labels", TypeError, "got an object of type str"),
    "dict": ({"a": 1}, TypeError, "got an object of type dict"),
    "sparse": (sp.csr_matrix(np.ones((6, 1))), TypeError, r"got a sparse matrix of shape \(6, 1\)"),
    "three dimensions": (
        np.zeros((6, 1, 1)),
        ValueError,
        r"y must have one dimension, .* got shape \(6, 1, 1\)",
    ),
    "masked": (
        np.ma.masked_equal([0, 1, 2, 0, 1, 0], 2),
        TypeError,
        "y must not be a masked array or have missing",
    ),
    "pandas missing": (
        pd.array([0, 1, None, 0, 1, 0], "Int64"),
        TypeError,
        "or have missing entries; drop the rows",
    ),
    "strings of any length": (
        np.array(["a", "b"] * 3, np.dtypes.StringDType()),
        TypeError,
        r"got dtype StringDType\(\); give y.astype\(str\)",
    ),
    "number": (3.5, TypeError, "got an object of type float"),
    "missing": (np.array(["a", None] * 3, object), ValueError, r"y\[1\] = None must be a label"),
    "mixed": (
        np.array(["a", 1] * 3, object),
        TypeError,
        "labels of one type, got 3 texts of type str among 6",
    ),
    "mixed list": (["a", 1] * 3, TypeError, "labels of one type, got 3 texts of type str among 6"),
    "nan": (
        np.array([0, 1, np.nan, 0, 1, 0]),
        ValueError,
        r"Input y contains NaN\. y\[2\] = nan must be finite",
    ),
    "infinity": (np.array([0, 1, np.inf, 0, 1, 0]), ValueError, r"y\[2\] = inf must be finite"),
}
ESTIMATORS = [
    mc.SVC,
    mc.NuSVC,
    mc.SVCCV,
    mc.SVR,
    mc.NuSVR,
    mc.SVRCV,
    mc.KernelPerceptron,
    mc.KernelFisher,
    mc.KernelRidge,
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_all_estimators_name_y_and_say_what_it_must_be(estimator, bad):
    y, error, message = BAD[bad]
    with pytest.raises(error, match=message) as caught:
        estimator().fit(X, y)
    assert "y" in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("bad", BAD)
def test_functions_of_fitted_models_refuse_the_same_targets(bad):
    y, error, message = BAD[bad]
    fitted = mc.SVC().fit(X, np.arange(6) % 2)
    for call in (
        mc.capacity.model,
        mc.capacity.leave_one_out,
        mc.capacity.span_score,
        mc.compress,
        mc.certify,
    ):
        options = {"n_vectors": 2} if call is mc.compress else {}
        with pytest.raises(error, match=message):
            call(fitted, X, y, **options)


@pytest.mark.parametrize(
    "estimator", [mc.SVR, mc.NuSVR, mc.KernelRidge, mc.SVRCV], ids=lambda e: e.__name__
)
def test_whole_numbers_beyond_float64_are_refused(estimator):
    with pytest.raises(ValueError, match=r"numbers of at most 1\.8e308, the largest float64"):
        estimator().fit(X, [10**400, 1, 2, 3, 4, 5])


def test_certificates_of_regressions_read_y_as_the_fit_does():
    y = X[:, 0]
    for fitted in (mc.SVR().fit(X, y), mc.NuSVR().fit(X, y)):
        assert mc.certify(fitted, X, y.tolist()) == mc.certify(fitted, X, y)
        with pytest.raises(ValueError, match=r"y\[2\] = nan must be finite"):
            mc.certify(fitted, X, BAD["nan"][0])


@pytest.mark.parametrize("wrong", ["text", "objects", "numbers", "True as text"])
def test_labels_of_another_type_than_those_of_the_fit_are_named(wrong):
    side = X[:, 0] > 0
    texts = np.where(side, "p", "n")
    labels, y, first = {
        "text": (side.astype(int), texts, texts.tolist()[0]),
        "objects": (side, texts.astype(object), texts.tolist()[0]),
        "numbers": (texts.astype(object), side.astype(int), int(side[0])),
        "True as text": (side, side.astype(str), str(side[0])),
    }[wrong]
    fitted = mc.SVC().fit(X, labels)
    message = (
        rf"^y\[0\] = {first!r} must be one of the classes of the model, .*, of the same type\.$"
    )
    for call in (mc.capacity.model, mc.capacity.leave_one_out, mc.compress):
        options = {"n_vectors": 2} if call is mc.compress else {}
        with pytest.raises(ValueError, match=message):
            call(fitted, X, y, **options)


REALS = {
    "words": (
        np.array(["a"] * 6),
        ValueError,
        "needs y of numbers, got dtype <U1; for labels use a classifier",
    ),
    "empty": (np.zeros(0), ValueError, r"y must hold a value for each row of X, got shape \(0,\)"),
    "large": (np.full(6, 1e200), ValueError, r"y\[0\] = 1e\+200 must be at most 1e\+150 in size"),
    "none": (None, ValueError, "requires y to be passed, but the target y is None"),
    "short": (
        np.zeros(5),
        ValueError,
        "inconsistent numbers of samples: X has 6 rows, y has 5; give as many",
    ),
}


@pytest.mark.parametrize("bad", REALS)
@pytest.mark.parametrize(
    "estimator", [mc.SVR(), mc.NuSVR(), mc.KernelRidge(), mc.Kernelized(Ridge())], ids=str
)
def test_all_regressions_refuse_values_that_are_no_targets(estimator, bad):
    y, error, message = REALS[bad]
    with pytest.raises(error, match=message):
        estimator.fit(X, y, np.ones(6))
    assert not hasattr(estimator, "kernel_")


def test_a_missing_entry_of_a_column_of_arrow_is_missing():
    # NumPy reads that of a dictionary as its last value
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for values, model in ((["a", None, "b"], mc.SVC()), ([1.0, None, 2.0], mc.SVR())):
        column = pyarrow.chunked_array([pyarrow.array(values * 2).dictionary_encode()])
        with pytest.raises(ValueError, match=r"Input y contains NaN\. y\[1\] = "):
            model.fit(X, column)
        known = column.fill_null(values[0])
        found = model.fit(X, known).predict(X)
        np.testing.assert_array_equal(found, model.fit(X, known.to_pylist()).predict(X))
