"""Columns of a table as rows of numbers: categories, missing values, and scales of numbers, as readable records."""

import datetime
from collections import Counter, defaultdict
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import validate_data

from mercer._common import TINY, Array, record, refuse_large, shown
from mercer._compute.objects import Table, as_table
from mercer._compute.readable import computed, is_missing
from mercer._compute.register import storable
from mercer.estimators.base import require_two, validated_rows

# Largest size of a scaled number.
_LARGEST = 8.0
# Difference of two scaled numbers that are one.
_SAME = 1e-11
# Numbers between which a scale is linear.
_KNOTS = 64
# Fewest rows of a category of its own, and most categories; other ones are one category. Texts that are more, and
# differ in most rows, are no categories.
_LEAST_ROWS = 4
_MOST_LEVELS = 50


@storable
@record
class Column:
    """One column of the rows of numbers, made from a column of a table and scaled piecewise linearly.

    Attributes
    ----------
    source : int
        Position of the column in the table.
    kind : {"number", "missing", "levels"}
        The numbers, with ``fill`` where they are missing; 1 where a number is missing; 1 where the entry is one of
        ``levels``, in which None stands for missing entries. Otherwise 0.
    fill : float
        Median of the numbers.
    levels : tuple
    knots, places : array (k,)
        Numbers and the scaled numbers that they become; those between are interpolated, those outside are at the ends.
    """

    source: int
    kind: str
    fill: float = 0.0
    levels: tuple[Any, ...] = ()
    knots: Any = ()
    places: Any = ()

    @property
    def marked(self) -> tuple[Any, ...]:
        """The entries that become 1, None for missing ones; none for numbers."""
        return (None,) if self.kind == "missing" else self.levels

    def raw(self, table: Table) -> Array:
        """Return the numbers (n,) of a table before they are scaled."""
        values = table.columns[self.source]
        if self.kind == "levels":
            levels = set(self.levels)
            return np.array([value in levels for value in _entries(values)], np.float64)
        if not isinstance(values, np.ndarray):
            texts = [value for value in values if isinstance(value, str)]
            if texts:
                raise ValueError(
                    f"column {table.label(self.source)} of X has the text {shown(texts[0])}, but had numbers in "
                    "the fit; give numbers."
                )
            values = _numbers(values)
        missing = np.isnan(values)
        return (
            missing.astype(np.float64)
            if self.kind == "missing"
            else np.where(missing, self.fill, values)
        )

    def scaled(self, raw: Array) -> Array:
        """Return the scaled numbers (n,)."""
        return np.interp(raw, self.knots, self.places)


def read_table(model: Any, X: Any, reset: bool) -> Table:
    """Return a table of float64 arrays with NaN for missing entries, and lists with None for them."""
    if hasattr(X, "tocsr"):
        raise TypeError("X must not be sparse; give X.toarray().")
    if not hasattr(X, "columns") and not isinstance(X, (list, tuple)):
        array = np.asarray(X)
        # the error of another container names its type
        X = array if X is array or array.ndim == 2 else as_table(X)
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OUS":
        X = validated_rows(model, X, reset, ensure_all_finite="allow-nan").astype(
            np.float64, copy=False
        )
        if reset:
            refuse_large("X", np.nan_to_num(X))
        return Table(list(X.T))
    # numbers of pandas and of pyarrow may be categories
    dtypes = X.schema.types if hasattr(X, "unify_dictionaries") else getattr(X, "dtypes", ())
    is_category = [str(dtype).startswith(("category", "dictionary")) for dtype in dtypes]
    X = computed(X, "X", model.memory)
    table = as_table(X)
    validate_data(model, X, reset=reset, skip_check_array=True)
    if reset:
        require_two(model, table)
    is_category = is_category or [False] * len(table.columns)
    columns = [
        _read(values, table.label(j), is_category[j]) for j, values in enumerate(table.columns)
    ]
    return Table(columns, table.names)


def encoded(table: Table, weights: Array) -> list[Column]:
    """Return the columns that the table of a fit becomes, without scales: those that differ between rows."""
    found = []
    for source, values in enumerate(table.columns):
        if isinstance(values, np.ndarray):
            missing = np.isnan(values)
            if not missing.all():
                median = np.quantile(
                    values[~missing], 0.5, weights=weights[~missing], method="inverted_cdf"
                )
                found.append(Column(source, "number", fill=float(median)))
            found += [Column(source, "missing")] if missing.any() else []
        else:
            found += [
                Column(source, "levels", levels=levels)
                for levels in _levels(values, weights, table.label(source))
            ]
    # the slope of a scale is finite
    found = [column for column in found if np.ptp(column.raw(table)) > TINY]
    if not found:
        raise ValueError(
            "X must have a column with different entries; all columns are constant, where categories of fewer than "
            f"{_LEAST_ROWS} rows are one."
        )
    return found


def encode(columns: list[Column], table: Table) -> Array:
    """Return the rows (n, q) of scaled numbers of a table."""
    levels = defaultdict(list)
    for column in columns:
        if column.kind == "levels":
            levels[column.source] += column.levels
    for source, known in levels.items():
        _refuse_other_kind(table.label(source), known, _entries(table.columns[source]))
    return np.stack([column.scaled(column.raw(table)) for column in columns], axis=1)


def _refuse_other_kind(label, levels, entries):
    """Raise if entries are texts and levels numbers, or the reverse: no entry would be one of the levels."""
    entries = [each for each in entries if each is not None]
    known, given = (
        {isinstance(each, str) for each in some if each is not None} for some in (levels, entries)
    )
    if known and given and known.isdisjoint(given):
        here, before = ("text", "numbers") if True in given else ("number", "texts")
        raise ValueError(
            f"column {label} of X has the {here} {shown(entries[0])}, but had {before} in the fit; give {before}."
        )


def decode(columns: list[Column], rows: Array) -> Array | None:
    """Return a table of numbers (n, p) that becomes rows (n, q) of scaled numbers, None where none is found."""
    table = np.full((len(rows), 1 + max(column.source for column in columns)), np.nan)
    # missing numbers come last, after ranks, whose range has all numbers of the fit
    order = sorted(
        (column.kind == "missing", len(column.knots), j) for j, column in enumerate(columns)
    )
    for *_, j in order:
        column = columns[j]
        raw = np.interp(rows[:, j], column.places, column.knots)
        levels = [float(level) for level in column.levels if level is not None]
        if column.kind == "number":
            table[:, column.source] = raw
        else:
            table[raw > 0.5, column.source] = levels[0] if levels else np.nan
    found = encode(columns, Table(list(table.T)))
    return table if np.allclose(found, rows, rtol=0, atol=_SAME) else None


def scaled(column: Column, raw: Array, weights: Array, ranks: bool) -> Column:
    """Return a column with the scale of numbers: mean 0 and variance 1, or normal ``ranks``.

    Numbers of two values differ by 1 after it.
    """
    distinct, which = np.unique(raw, return_inverse=True)
    counts = np.bincount(which, weights)
    if ranks and len(distinct) > 2:
        places = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
        kept = np.unique(np.searchsorted(places, np.linspace(places[0], places[-1], _KNOTS)))
        return replace(column, knots=distinct[kept], places=places[kept])
    mean = float(np.average(distinct, weights=counts))
    deviation = deviation_of((distinct - mean)[:, None], counts)
    unit = _LARGEST * (float(np.ptp(distinct)) if len(distinct) == 2 else deviation)
    knots = np.array([mean - unit, mean + unit])
    return replace(column, knots=knots, places=np.array([-_LARGEST, _LARGEST]))


def deviation_of(differences: Array, weights: Array) -> float:
    """Return the root of the mean square of differences (n, p), by a power of 2: squares of tiny numbers are 0."""
    unit = np.ldexp(1.0, np.frexp(np.abs(differences).max())[1])
    squares = ((differences / unit) ** 2).mean(axis=1)
    return float(unit * np.sqrt(np.average(squares, weights=weights)))


def _levels(values, weights, label):
    """Return tuples of the entries that are one category each; rare ones are in the last tuple."""
    counts = Counter()
    for value, weight in zip(_entries(values), weights, strict=True):
        counts[value] += weight
    counts = sorted(counts.items(), key=lambda each: (-each[1], str(each[0])))
    if len(counts) > max(_MOST_LEVELS, len(values) / 2):
        raise ValueError(
            f"column {label} of X has {len(counts)} different texts in {len(values)} rows, which are no categories; "
            "drop it, or use a kernel of texts for it, such as mercer.on_columns(mercer.strings.Spectrum(3), column)."
        )
    rare = [i >= _MOST_LEVELS or count < _LEAST_ROWS for i, (_, count) in enumerate(counts)]
    joined = tuple(level for (level, _), each in zip(counts, rare, strict=True) if each)
    return [(level,) for (level, _), each in zip(counts, rare, strict=True) if not each] + (
        [joined] if joined else []
    )


def _entries(values):
    """Return the entries of a column as hashable values of Python, None for NaN."""
    return (
        [None if value != value else value for value in values.tolist()]
        if hasattr(values, "tolist")
        else values
    )


def _numbers(entries):
    """Return entries without texts as an array, NaN where they are missing."""
    return np.array([np.nan if value is None else value for value in entries], np.float64)


def _read(values, label, is_category):
    """Return a column as an array of numbers, or as a list of texts and other categories."""
    if not isinstance(values, np.ndarray):
        entries = [_entry(value, label) for value in values]
        if is_category or any(isinstance(value, str) for value in entries):
            return entries
        values = _numbers(entries)
    if np.isinf(values).any():
        raise ValueError(
            f"Input X contains infinity in column {label}; remove or replace such entries."
        )
    refuse_large(f"column {label} of X", np.nan_to_num(values))
    return _entries(values) if is_category else values


def _entry(value, label):
    """Return an entry of a column of objects, None if it is missing, or raise for what is no number, text or flag."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value) or type(value).__name__ == "NaTType" or value != value:
        return None
    if isinstance(value, (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)):
        raise TypeError(
            f"column {label} of X has dates or durations; give numbers, such as the month, the day of the week, "
            "and for dates t the days since the first one, (t - t.min()) / numpy.timedelta64(1, 'D')."
        )
    if isinstance(value, complex):
        raise ValueError(f"column {label} of X has complex numbers: Complex data not supported.")
    if not isinstance(value, (str, Real)):
        raise TypeError(
            f"column {label} of X: argument must be a string or a real number, got {type(value)}; "
            "give numbers, such as by float(value), or categories, such as by str(value)."
        )
    return value
