"""Checks of single arguments, warnings that name the user's line."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import mercer as mc
from mercer._common import (
    check_choice,
    check_fraction,
    check_function,
    check_integer,
    check_number,
    check_positive,
    check_weights,
    refuse_large,
    relative_tolerance,
    warn,
)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int8(3), 1e-308, Fraction(1, 3)])
def test_positive_numbers_of_every_type_pass(value):
    check_positive("gamma", value)
    check_number("gamma", -value)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "gamma = 0 must be above 0"),
        (-1.5, ValueError, "gamma = -1.5 must be above 0"),
        (np.nan, ValueError, "gamma = nan must be finite"),
        (-np.inf, ValueError, "gamma = -inf must be finite"),
        (10**400, ValueError, "gamma = 10*[.]{3} must be at most 1.8e308"),
        pytest.param(
            10**5000,
            ValueError,
            "gamma = an object of type int with more digits .* at most",
            id="digits",
        ),
        ([0.0] * 99, TypeError, r"gamma must be a number, got .{57}\.\.\. of type list"),
        (True, TypeError, "gamma must be a number, got True of type bool"),
        (None, TypeError, "gamma must be a number, got None of type NoneType"),
        ("1", TypeError, "gamma must be a number, got '1' of type str"),
        (1j, TypeError, "gamma must be a number, got 1j of type complex"),
        ([1.0], TypeError, r"gamma must be a number, got \[1.0\] of type list"),
    ],
)
def test_other_values_than_positive_numbers_are_refused_with_name_and_value(value, error, message):
    with pytest.raises(error, match=message):
        check_positive("gamma", value)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "degree = 0 must be at least 1"),
        (2.0, TypeError, "degree must be a whole number, got 2.0 of type float"),
        (True, TypeError, "degree must be a whole number, got True of type bool"),
        (2**63, ValueError, "degree = 9223372036854775808 must be at most 9223372036854775807"),
        pytest.param(
            10**5000,
            ValueError,
            "degree = an object of type int with more digits .* at most",
            id="digits",
        ),
    ],
)
def test_other_values_than_whole_numbers_in_range_are_refused_with_name_and_value(
    value, error, message
):
    with pytest.raises(error, match=message):
        check_integer("degree", value)


def test_whole_numbers_may_start_elsewhere():
    check_integer("n", np.int64(0), least=0)


@pytest.mark.parametrize(("given", "weights"), [(None, [1, 1]), (3, [3, 3]), ([0, 2], [0, 2])])
def test_weights_are_ones_for_none_equal_for_a_number_and_float64(given, weights):
    checked = check_weights("sample_weight", given, 2)
    np.testing.assert_array_equal(checked, weights)
    assert checked.dtype == np.float64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, -1.0, -2.0], r"weights\[1\] = -1.0 must be finite and at least 0"),
        ([1.0, 1.0, np.nan], r"weights\[2\] = nan must be finite"),
        ([np.inf, 1.0, 1.0], r"weights\[0\] = inf must be finite"),
        ([0.0, 0.0, 0.0], "weights must not all be zero"),
        (
            [1e308, 1e308, 0.0],
            r"weights has an infinite sum, with values up to 1e\+308; divide it by a constant",
        ),
        (
            [1.0, 1.0],
            r"weights must have shape \(3,\), one weight for each point; got shape \(2,\)",
        ),
        (np.ones((3, 1)), r"got shape \(3, 1\)"),
        ([1.0, 1.0, 10**400], "weights must be numbers, one for each of 3 points"),
        (
            "balanced",
            "weights must be numbers, one for each of 3 points, got 'balanced'; .* class_weight",
        ),
    ],
)
def test_invalid_weights_are_refused_with_name_and_value(given, message):
    with pytest.raises(ValueError, match=message):
        check_weights("weights", given, 3)


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_warnings_skip_the_frames_of_the_package(depth):
    inside = {"__name__": "mercer.anything", "warn": warn}
    exec("def fall(k):\n    return fall(k - 1) if k else warn('careful', RuntimeWarning)", inside)
    with pytest.warns(RuntimeWarning, match="careful") as caught:
        inside["fall"](depth)
    assert [each.filename for each in caught] == [__file__]


ROWS = np.random.default_rng(0).standard_normal((30, 3))
LAYERS = {
    "bandwidth rule": lambda: mc.SVR().fit(np.ones((4, 2)), np.arange(4.0)),
    "kernel too narrow": lambda: mc.OneClassSVM(kernel=mc.Gaussian(1e9)).fit(ROWS),
    "rank": lambda: mc.KernelPCA(10).fit(ROWS),
    "indefinite kernel": lambda: mc.KernelPCA(2, kernel=mc.Sigmoid(1.0, -1.0)).fit(ROWS),
    "matrix of distances": lambda: mc.Precomputed().resolve(1.0 - np.eye(3)),
    "fixed point": lambda: mc.PCAL1(1, max_iter=1).fit(ROWS),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_warnings_of_all_layers_name_the_line_of_the_user(layer):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LAYERS[layer]()
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]", "complex128"])
def test_weights_that_numpy_would_convert_are_refused(kind):
    values, error = np.arange(3).astype(kind), ValueError if kind == "complex128" else TypeError
    for each in (values, list(values), pd.Series(values)):
        with pytest.raises(error, match=f"weight must hold real numbers, got dtype {kind[:6]}"):
            check_weights("weight", each, 3)
    with pytest.raises(TypeError, match="weight must not be a masked array"):
        check_weights("weight", np.ma.masked_equal([1.0, 2.0, 3.0], 2.0), 3)
    for each in (
        np.ma.masked_array([1, 2, 3]),
        pd.Series([1, 2, 3], dtype="Int64"),
        [Fraction(1), 2.0, np.int8(3)],
    ):
        np.testing.assert_array_equal(check_weights("weight", each, 3), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("value", [None, "no", [], float("nan"), 1.0])
def test_fields_declared_bool_are_true_or_false_in_all_estimators_and_methods(value):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    psi = mc.Expansion(mc.Gaussian(0.5), X, np.ones((6, 1)))
    cases = {
        "whiten": lambda: mc.KernelPCA(1, kernel="linear", whiten=value).fit(X),
        "centre": lambda: mc.KernelMap(kernel="linear", centre=value).fit(X),
        "break_ties": lambda: mc.SVC(break_ties=value).fit(X, y),
        "shuffle": lambda: mc.KernelPerceptron(shuffle=value).fit(X, y),
        "normalise": lambda: mc.preimage(psi, mc.FixedPoint(normalise=value)),
        "aimed": lambda: mc.reduce(psi, 2, method=mc.Pivoted(aimed=value)),
    }
    for name, call in cases.items():
        with pytest.raises(
            TypeError, match=f"{name} must be True or False, got .* of type {type(value).__name__}"
        ):
            call()


def test_numbers_with_squares_that_overflow_are_refused_with_their_place():
    refuse_large("y", np.array([[-1e150, 1.0]]))
    refuse_large("y", np.zeros(0))
    with pytest.raises(ValueError, match=r"y\[1, 0\] = -2e\+150 must be at most 1e\+150 in size"):
        refuse_large("y", np.array([[1.0], [-2e150]]))


@pytest.mark.parametrize("value", [1.0, 1.5, 0.0, -0.1, np.nan])
def test_fractions_are_above_0_and_below_1(value):
    check_fraction("gap", 0.5)
    with pytest.raises(ValueError, match=f"gap = {value}"):
        check_fraction("gap", value)


@pytest.mark.parametrize("value", [1.0, -1e-9, np.inf, 1e300])
def test_relative_tolerances_are_from_0_to_below_1(value):
    assert (relative_tolerance(None, 0.25), relative_tolerance(0.0), relative_tolerance(0.5)) == (
        0.25,
        0.0,
        0.5,
    )
    with pytest.raises(ValueError, match=f"tol = {re.escape(repr(value))} must be"):
        relative_tolerance(value)


@pytest.mark.parametrize("value", ["c", 1, None, ["a"], np.array(["a", "b"])])
def test_choices_are_texts_of_a_list(value):
    check_choice("rule", "b", ("a", "b"))
    with pytest.raises(ValueError, match=r"rule = .* must be one of \('a', 'b'\)"):
        check_choice("rule", value, ("a", "b"))


def test_whole_numbers_may_have_a_largest():
    check_integer("n", 5, most=5)
    with pytest.raises(ValueError, match="n = 6 must be at most 5"):
        check_integer("n", 6, most=5)


def test_a_function_or_none_is_taken():
    for value in (None, len, lambda: 0):
        check_function("callback", value)
    with pytest.raises(
        TypeError, match="callback must be a function, or None, got 'print' of type str"
    ):
        check_function("callback", "print")
