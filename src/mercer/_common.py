"""Checks of single arguments, types of arguments, warnings that name the user's line."""

import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from typing import Any, Protocol, TypeAlias, TypeVar, dataclass_transform

import numpy as np

# Results of functions for NumPy's arrays; arrays of other libraries give arrays of theirs.
Array: TypeAlias = np.ndarray[Any, Any]
Memory: TypeAlias = str | int
AnyFunction: TypeAlias = Callable[..., Any]
Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None


# The None of an attribute that only special cases leave out: type checkers do not ask callers to test for it.
MaybeNone: TypeAlias = Any


class ArrayLike(Protocol):
    """An array or sparse matrix of any library, a table, a column of a table, or a list."""

    def __getitem__(self, index: Any, /) -> Any:
        """Return one entry, row, or part."""


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make an immutable dataclass of a class, which compares by content."""
    return dataclass(frozen=True)(cls)


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def array_record(cls: type[T]) -> type[T]:
    """Make an immutable dataclass of a class with arrays, each of whose objects equals itself only."""
    return dataclass(frozen=True, eq=False)(cls)


# Rounding of 1 in float64, and the smallest number of full precision.
EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
# Relative step of central differences in float64, whose error is about its square.
STEP = EPS ** (1 / 3)

# Halvings of an interval, or steps of a search in it, after which its ends differ by rounding.
HALVINGS = int(np.finfo(np.float64).nmant)
# Share of the largest of some values below which they, and their differences, are rounding.
ROUNDING = 1e-14
# Rows of numbers, or a list of objects for kernels on objects.
PointsLike: TypeAlias = ArrayLike

# Kinds of dtypes that become float64 without a word, and what to do. scikit-learn's checks look for the last words.
_DATES = "; give numbers, such as the days (t - t.min()) / numpy.timedelta64(1, 'D') of dates t."
_NOT_REAL = {"m": _DATES, "M": _DATES, "c": "; Complex data not supported."}

# Largest number with a finite square, and some more.
LARGEST = 1e150

# What takes several values of a parameter, as the end of an error.
_SEVERAL = {
    "C": "; mercer.SVCCV(Cs=[1, 10], gammas=[0.1, 1]) tries several C and gamma",
    "gamma": "; mercer.SVCCV(gammas=[0.1, 1]) tries several, mercer.Mapped scales each feature, as in "
    "mercer.Mapped(mercer.Gaussian(1.0), numpy.sqrt(gammas))",
}

# Characters of a value in a message, and in a table; numbers of a list in either.
SHOWN = 60
LONGEST = 200
LISTED = 6

_refusing: ContextVar[bool] = ContextVar("mercer_refusing", default=False)


def as_float64(values: ArrayLike | float) -> Array:
    """Return numbers as an array in float64, the array itself where it is one."""
    return np.asarray(values, np.float64)


def shown(value: object) -> str:
    """Return the repr of a value for a message, on one line and cut to 60 characters."""
    try:
        text = repr(value)
    except ValueError:
        text = f"an object of type {type(value).__name__} with more digits than Python prints"
    return shortened(text, SHOWN)


def shortened(text: str, most: int = LONGEST) -> str:
    """Return a text on one line, cut to a number of characters."""
    text = " ".join(line.strip() for line in text.splitlines())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def check_positive(name: str, value: float) -> None:
    """Raise unless ``value`` is a finite number above 0."""
    check_number(name, value)
    if not value > 0:
        raise ValueError(f"{name} = {shown(value)} must be above 0.")


def check_squared(name: str, value: float) -> float:
    """Return a number above 0, whose square is one too, as a float, or raise."""
    check_positive(name, value)
    value = float(value)
    if not 1 / LARGEST <= value <= LARGEST:
        raise ValueError(
            f"{name} = {shown(value)} must be from {1 / LARGEST} to {LARGEST:.0e}, so that it has a square."
        )
    return value


def check_nonnegative(name: str, value: float) -> None:
    """Raise unless ``value`` is a finite number, at least 0."""
    check_number(name, value)
    if value < 0:
        raise ValueError(f"{name} = {shown(value)} must be at least 0.")


def check_number(name: str, value: float) -> None:
    """Raise unless ``value`` is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        several = ""
        if isinstance(value, (list, tuple, np.ndarray)):
            several = _SEVERAL.get(name, "; sklearn.model_selection.GridSearchCV tries several")
        raise TypeError(
            f"{name} must be a number, got {shown(value)} of type {type(value).__name__}{several}."
        )
    try:
        finite = math.isfinite(value)
    except OverflowError:
        raise ValueError(
            f"{name} = {shown(value)} must be at most 1.8e308, the largest float64."
        ) from None
    if not finite:
        raise ValueError(f"{name} = {shown(value)} must be finite.")


def check_confidence(confidence: float) -> float:
    """Return the confidence as a float, or raise unless it lies between 0 and 1."""
    check_number("confidence", confidence)
    if not 0 < confidence < 1:
        percent = confidence if 1 < confidence < 100 else 95
        raise ValueError(
            f"confidence = {shown(confidence)} must be between 0 and 1; write {percent / 100:g} for {percent:g} %."
        )
    return float(confidence)


def check_instance(
    name: str, value: object, kind: type[Any] | tuple[type[Any], ...], example: str
) -> None:
    """Raise a TypeError unless ``value`` is of a class; its content, which may be data, is not shown."""
    if not isinstance(value, kind):
        found = "None" if value is None else f"an object of type {type(value).__name__}"
        raise TypeError(f"{name} must be {example}, got {found}.")


def check_function(name: str, value: object) -> None:
    """Raise unless ``value`` is None or can be called."""
    if not (value is None or callable(value)):
        raise TypeError(
            f"{name} must be a function, or None, got {shown(value)} of type {type(value).__name__}."
        )


def check_flag(name: str, value: bool) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(
            f"{name} must be True or False, got {shown(value)} of type {type(value).__name__}."
        )


def check_flags(record: object) -> None:
    """Raise unless each field of a dataclass that is declared bool is True or False."""
    for name in _flags_of(type(record)):
        check_flag(name, getattr(record, name))


@cache
def _flags_of(kind):
    found = getattr(kind, "__dataclass_fields__", {}).values()
    return [field.name for field in found if field.type in (bool, "bool")]


def check_fraction(name: str, value: float) -> None:
    """Raise unless ``value`` is a number above 0 and below 1."""
    check_positive(name, value)
    if not value < 1:
        raise ValueError(f"{name} = {shown(value)} must be below 1; it is relative.")


def relative_tolerance(tol: float | None, default: float = 0.0) -> float:
    """Return a tolerance relative to the largest value, ``default`` for None; raise unless it is in [0, 1)."""
    if tol is None:
        return default
    check_number("tol", tol)
    if not 0 <= tol < 1:
        raise ValueError(
            f"tol = {shown(tol)} must be at least 0 and below 1; it is relative to the largest value."
        )
    return tol


def check_choice(
    name: str, value: str | None, known: Collection[str | None], also: str = ""
) -> None:
    """Raise unless a parameter is one of the known texts, or None where it is known; ``also`` ends the error."""
    if not (value is None or isinstance(value, str)) or value not in known:
        raise ValueError(f"{name} = {shown(value)} must be one of {known}{also}.")


def check_integer(name: str, value: int, least: int = 1, most: float = sys.maxsize) -> int:
    """Return ``value``, with which sums do not overflow, or raise unless it is a whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(
            f"{name} must be a whole number, got {shown(value)} of type {type(value).__name__}."
        )
    if value < least:
        raise ValueError(f"{name} = {shown(value)} must be at least {least}.")
    if value > most:
        raise ValueError(f"{name} = {shown(value)} must be at most {most}.")
    return int(value)


def refuse_large(name: str, values: Array) -> None:
    """Raise for a finite value whose square may overflow."""
    # two passes without a copy
    if values.size and max(float(values.max()), -float(values.min())) > LARGEST:
        largest = np.unravel_index(np.argmax(np.abs(values)), values.shape)
        raise ValueError(
            f"{name}[{', '.join(map(str, largest))}] = {values[largest]:.3g} must be at most {LARGEST:.0e} in size: "
            f"squares overflow; divide {name} by a constant."
        )


def check_weights(name: str, weights: ArrayLike | float | None, n: int) -> Array:
    """Return the weights of n points in float64 (n,): ones for None, n times the same for a number; or raise."""
    if weights is None:
        return np.ones(n)
    weights = as_weights(name, weights, n)
    require_positive_weight(name, weights)
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if total == np.inf:
        raise ValueError(
            f"{name} has an infinite sum, with values up to {weights.max():.3g}; divide it by a constant."
        )
    return weights


def require_positive_weight(name: str, weights: ArrayLike) -> None:
    """Raise if weights, an array or a Dask array of numbers of at least 0, are all 0."""
    if not bool(weights.any()):
        raise ValueError(f"{name} must not all be zero; give at least one point a positive weight.")


def as_weights(name: str, weights: ArrayLike | float, n: int) -> Array:
    """Return the weights of a part of the points, which may all be zero, see ``check_weights``."""
    if np.ma.is_masked(weights):
        raise TypeError(
            f"{name} must not be a masked array; fill or drop its masked entries first."
        )
    try:
        kind = np.asarray(weights).dtype.kind
        # dates, durations and complex numbers would become float64 without a word
        values = None if kind in _NOT_REAL else np.asarray(weights, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be numbers, one for each of {n} points, got {shown(weights)}; weights of classes are the "
            "parameter class_weight of a classifier."
        ) from None
    if values is None:
        # scikit-learn's checks ask for a ValueError here
        error = ValueError if kind == "c" else TypeError
        raise error(
            f"{name} must hold real numbers, got dtype {np.asarray(weights).dtype}{_NOT_REAL[kind]}"
        )
    weights = np.full(n, float(values)) if values.ndim == 0 else values
    if weights.shape != (n,):
        raise ValueError(
            f"{name} must have shape ({n},), one weight for each point; got shape {weights.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] = {weights[bad[0]]} must be finite and at least 0.")
    return weights


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the file and line of the first caller outside this package; inside `refusing` raise a ValueError."""
    if _refusing.get():
        raise ValueError(message)
    level = 2
    frame = sys._getframe(1)  # noqa: SLF001 - frames have no other access that is as fast
    # kernels are dataclasses, which make others
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("mercer.", "dataclasses")
    ):
        frame = frame.f_back
        level = level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def setting(variable: ContextVar[Any], value: object) -> Iterator[None]:
    """Give a context variable a value inside the ``with`` block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def refusing() -> AbstractContextManager[None]:
    """Raise warnings of this package as errors inside the ``with`` block; filters of warnings are shared by threads."""
    return setting(_refusing, True)
