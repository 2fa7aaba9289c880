"""Checks of single numbers: what passes, what is refused, and how the refusal reads."""

from fractions import Fraction

import numpy as np
import pytest

from mercer import _validate


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int8(3), 1e-308, Fraction(1, 3)])
def test_positive_numbers_of_every_type_pass(value):
    _validate.positive("gamma", value)
    _validate.number("gamma", -value)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "gamma = 0 must be above 0"),
        (-1.5, ValueError, "gamma = -1.5 must be above 0"),
        (np.nan, ValueError, "gamma = nan must be finite"),
        (-np.inf, ValueError, "gamma = -inf must be finite"),
        (10**400, ValueError, "gamma must be at most 1.8e308"),
        (True, TypeError, "gamma must be a number, got True of type bool"),
        (None, TypeError, "gamma must be a number, got None of type NoneType"),
        ("1", TypeError, "gamma must be a number, got '1' of type str"),
        (1j, TypeError, "gamma must be a number, got 1j of type complex"),
        ([1.0], TypeError, r"gamma must be a number, got \[1.0\] of type list"),
    ],
)
def test_what_is_no_positive_number_is_refused_with_name_and_value(value, error, message):
    with pytest.raises(error, match=message):
        _validate.positive("gamma", value)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "degree = 0 must be at least 1"),
        (2.0, TypeError, "degree must be a whole number, got 2.0 of type float"),
        (True, TypeError, "degree must be a whole number, got True of type bool"),
    ],
)
def test_what_is_no_whole_number_in_range_is_refused_with_name_and_value(value, error, message):
    with pytest.raises(error, match=message):
        _validate.integer("degree", value)


def test_whole_numbers_may_start_elsewhere():
    _validate.integer("n", np.int64(0), least=0)
