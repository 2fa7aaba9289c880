"""Checks of single numbers, with messages that name the argument, the value and the bound."""

import math
from numbers import Integral, Real


def positive(name, value):
    """Raise unless ``value`` is a finite number above 0."""
    number(name, value)
    if not value > 0:
        raise ValueError(f"{name} = {value!r} must be above 0.")


def number(name, value):
    """Raise unless ``value`` is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        raise ValueError(f"{name} must be at most 1.8e308, the largest float64.") from None
    if not finite:
        raise ValueError(f"{name} = {value!r} must be finite.")


def integer(name, value, least=1):
    """Raise unless ``value`` is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.")
    if value < least:
        raise ValueError(f"{name} = {value!r} must be at least {least}.")
