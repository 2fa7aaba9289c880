"""Bad and extreme values of arguments, by kind of argument: what is wrong, what to expect, what a message may show.

The fate "refuse" asks for a clear error; "either" for a clear error or a finite result.
"""

import datetime
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from tests.trust import data

import mercer as mc


@dataclass(frozen=True)
class Defect:
    """A bad value, made from the valid one."""

    name: str
    make: object
    fate: str = "refuse"
    shows: str | None = None


def _is(name, value, fate="refuse", shows=None):
    return Defect(name, lambda _: value, fate, shows)


def _at(value):
    """Return a maker of a copy with one entry replaced."""

    def make(valid):
        out = np.array(valid, dtype=np.result_type(np.asarray(valid).dtype, np.float64))
        out[(3 % len(out), *([1] * (out.ndim - 1)))] = value
        return out

    return make


def _csr(indices=None, indptr=None, datum=None):
    """Return a maker of a CSR matrix with damaged parts, which SciPy does not check again."""

    def make(valid):
        S = sp.csr_matrix(np.asarray(valid, float))
        if indices is not None:
            S.indices[2] = indices
        if indptr is not None:
            S.indptr[min(2, len(valid))] = indptr
        if datum is not None:
            S.data[1] = datum
        return S

    return make


def _frame(column):
    def make(valid):
        frame = pd.DataFrame(
            np.asarray(valid), columns=[f"c{i}" for i in range(np.shape(valid)[1])]
        )
        frame["c0"] = column(len(frame))
        return frame

    return make


def _polars(entry):
    """Return a maker of a polars frame whose first column has one value, beside numbers."""

    def make(valid):
        values = np.asarray(valid)
        columns = {f"c{i}": values[:, i].astype(float) for i in range(1, values.shape[1])}
        return pl.DataFrame({"c0": [entry] * len(values), **columns})

    return make


SHAPE = r"dim \d|\(\d*,? ?\d*(, ?\d+)*,?\)|\d+D|dimension|\d+ (sample|feature|row)"
ROWS = [
    Defect("nan", _at(np.nan), shows="(?i)nan"),
    Defect("inf", _at(np.inf), shows="inf"),
    Defect("minus_inf", _at(-np.inf), shows="inf"),
    Defect("one_dimension", lambda v: np.asarray(v)[:, 0], shows=SHAPE),
    Defect("three_dimensions", lambda v: np.asarray(v)[:, :, None], shows=SHAPE),
    Defect("no_rows", lambda v: np.asarray(v)[:0], shows=SHAPE),
    Defect("no_columns", lambda v: np.asarray(v)[:, :0], shows=SHAPE),
    Defect("complex", lambda v: np.asarray(v) + 1j, shows="(?i)complex"),
    Defect("complex_with_zero_parts", lambda v: np.asarray(v) + 0j, shows="(?i)complex"),
    Defect("strings", lambda v: np.full(np.shape(v), "word"), shows="word|str|U4|dtype"),
    Defect(
        "object_with_none",
        lambda v: np.where(np.arange(np.shape(v)[1]) == 1, None, v),
        shows="None|NaN|object",
    ),
    Defect(
        "datetime", lambda v: (np.asarray(v) * 1e6).astype("datetime64[s]"), shows="datetime|M8"
    ),
    Defect(
        "timedelta", lambda v: (np.asarray(v) * 1e6).astype("timedelta64[s]"), shows="timedelta|m8"
    ),
    Defect("dates", lambda v: np.full(np.shape(v), datetime.date(2020, 1, 1)), shows="date|object"),
    Defect("masked", lambda v: np.ma.masked_greater_equal(v, np.max(v)), shows="mask"),
    Defect(
        "ragged",
        lambda v: [[0.5] * (1 + i % 2) for i in range(len(v))],
        shows="inhomogeneous|ragged|shape|length",
    ),
    Defect(
        "structured",
        lambda v: np.zeros(len(v), [("a", float), ("b", float)]),
        shows=r"\('a'|void|dtype|\d+D|shape",
    ),
    _is("none", None, shows="None|NoneType"),
    _is("number", 1.5, shows=r"1\.5|float|scalar|\(\)"),
    _is("text", "rows", shows="rows|str|U4|scalar"),
    _is("dict", {"a": 1}, shows="dict|scalar"),
    _is("set", {1.0, 2.0}, shows="set|scalar"),
    _is("function", len, shows="function|scalar|object|got int"),
    Defect("csr_column_out_of_range", _csr(indices=1000), shows="1000|index|indices|sparse|dense"),
    Defect("csr_column_negative", _csr(indices=-5), shows="-5|index|indices|negative|sparse|dense"),
    Defect("csr_column_far", _csr(indices=2**30), shows=f"{2**30}|index|indices|sparse|dense"),
    Defect(
        "csr_pointer_decreasing",
        _csr(indptr=-1),
        shows="indptr|pointer|order|canonical|sparse|dense",
    ),
    Defect("csr_pointer_far", _csr(indptr=10**6), shows="indptr|pointer|order|sparse|dense"),
    Defect("csr_nan", _csr(datum=np.nan), shows="NaN|sparse|dense"),
    Defect("csr_inf", _csr(datum=np.inf), shows="inf|sparse|dense"),
    Defect("frame_of_text", _frame(lambda n: ["word"] * n), shows="word|object|str"),
    Defect(
        "frame_of_dates",
        _frame(lambda n: pd.date_range("2020", periods=n)),
        shows="date|M8|Timestamp|object",
    ),
    Defect(
        "frame_of_categories",
        _frame(lambda n: pd.Categorical(["a", "b"] * (n // 2) + ["a"] * (n % 2))),
        shows="'a'|categor|object|str",
    ),
    Defect(
        "frame_with_missing",
        _frame(lambda n: pd.array([1, None] * (n // 2) + [None] * (n % 2), dtype="Int64")),
        shows="NA|missing|None|NaN|object",
    ),
    Defect("polars_of_dates", _polars(datetime.datetime(2020, 1, 1)), shows="date|datetime"),
    Defect("polars_of_durations", _polars(datetime.timedelta(1)), shows="duration|timedelta"),
    Defect("polars_of_times", _polars(datetime.time(1)), shows="time"),
    Defect("polars_of_text", _polars("word"), shows="word|str"),
    Defect("polars_with_missing", _polars(None), shows="None|NaN|missing|object"),
    Defect(
        "huge",
        lambda v: np.asarray(v) * 1e300,
        "either",
        r"1e\+?300|overflow|large|scale|e\+|exceed",
    ),
    Defect("large", lambda v: np.asarray(v) * 1e155, "either", r"overflow|large|scale|e\+|exceed"),
    Defect("tiny", lambda v: np.asarray(v) * 1e-300, "either", "."),
    Defect("constant", lambda v: np.full(np.shape(v), 0.5), "either", "."),
    Defect("zeros", lambda v: np.zeros(np.shape(v)), "either", "."),
    Defect("one_huge_entry", _at(1e200), "either", r"1e\+?200|overflow|large|scale|e\+"),
    Defect("one_far_entry", _at(1e9), "either", r"1e\+?0?9|overflow|large|scale|e\+|row \d+ of X"),
    Defect(
        "long_double_overflow",
        lambda v: np.asarray(v, np.longdouble) * np.longdouble("1e4000"),
        shows="inf|large",
    ),
    Defect(
        "big_integers",
        lambda v: np.full(np.shape(v), 2**70, dtype=object),
        "either",
        r"large|object|scale|equal|same|constant|e\+|row \d+ of X",
    ),
    Defect("float16", lambda v: np.asarray(v, np.float16), "either", "."),
    Defect("integers", lambda v: (np.asarray(v) * 256).astype(np.int8), "either", "."),
    Defect("booleans", lambda v: np.asarray(v) > 0.5, "either", "."),
]
# a training set of one row, or rows that a fitted model does not know
TRAINING_ROWS = [Defect("one_row", lambda v: np.asarray(v)[:1], "either", SHAPE)]
FITTED_ROWS = [
    Defect("column_too_few", lambda v: np.asarray(v)[:, 1:], shows=r"\d"),
    Defect("column_too_many", lambda v: np.asarray(v)[:, [0, 1, 1, 2]], shows=r"\d"),
]
LENGTHS = [
    Defect("one_too_few", lambda v: np.asarray(v)[1:], shows=r"\d+"),
    Defect("one_too_many", lambda v: np.concatenate([v, v[:1]]), shows=r"\d+"),
    Defect("empty", lambda v: np.asarray(v)[:0], shows=r"0|empty|\d+"),
]
COLUMN = [
    *LENGTHS,
    Defect("complex", lambda v: np.asarray(v) + 1j, shows="(?i)complex"),
    Defect("two_columns", lambda v: np.column_stack([v, v]), shows=SHAPE),
    Defect(
        "masked", lambda v: np.ma.masked_array(v, np.arange(len(v)) == len(v) - 1), shows="mask"
    ),
    Defect(
        "datetime", lambda v: np.arange(len(v)).astype("datetime64[s]"), shows="datetime|M8|Unknown"
    ),
    _is("number", 1.0, shows=r"1\.0|float|scalar|\(\)|shape"),
    _is("text", "label", shows="label|str|\\(\\)"),
    _is("dict", {"a": 1}, shows="dict|shape|\\(\\)"),
]
LABELS = [
    *COLUMN,
    _is("none", None, shows="None"),
    Defect("nan", _at(np.nan), shows="(?i)nan"),
    Defect("inf", _at(np.inf), shows="inf"),
    Defect("one_class", lambda v: np.zeros(len(v), int), shows=r"\b(1|one|0)\b"),
    Defect("fractions", lambda v: np.linspace(0, 1, len(v)), shows="(?i)continuous|fraction|0\\.0"),
    Defect(
        "mixed_types",
        lambda v: np.array(["a", 1] * (len(v) // 2), object),
        shows="str|mix|'a'|type",
    ),
    Defect(
        "with_none", lambda v: np.array(["a", None] * (len(v) // 2), object), shows="None|NaN|type"
    ),
    Defect(
        "indicators",
        lambda v: np.eye(3, dtype=int)[np.asarray(v)],
        shows="multilabel|indicator|shape|\\(",
    ),
    Defect("sparse", lambda v: sp.csr_matrix(np.asarray(v)[:, None]), shows="(?i)sparse|shape"),
    Defect("a_class_of_one", lambda v: np.where(np.arange(len(v)) == 0, 7, v), "either", "."),
    Defect("large_labels", lambda v: np.asarray(v) * 2**40, "either", "."),
]
REALS = [
    *[d for d in COLUMN if d.name != "two_columns"],
    _is("none", None, shows="None"),
    Defect("nan", _at(np.nan), shows="(?i)nan"),
    Defect("inf", _at(np.inf), shows="inf"),
    Defect("strings", lambda v: np.full(len(v), "word"), shows="word|str|U4|dtype"),
    Defect(
        "with_none", lambda v: np.where(np.arange(len(v)) == 1, None, v), shows="None|NaN|object"
    ),
    Defect("three_dimensions", lambda v: np.asarray(v)[:, None, None], shows=SHAPE),
    Defect("sparse", lambda v: sp.csr_matrix(np.asarray(v)[:, None]), shows="(?i)sparse"),
    Defect(
        "largest",
        lambda v: np.where(np.arange(len(v)) % 2, 1e308, -1e308),
        "either",
        r"1\.?e\+?308|overflow|large|scale",
    ),
    Defect("huge", lambda v: np.asarray(v) * 1e200, "either", r"overflow|large|scale|e\+"),
    Defect("tiny", lambda v: np.asarray(v) * 1e-300, "either", "small|scale|zero|e-"),
    Defect("constant", lambda v: np.ones(len(v)), "either", "constant|equal"),
]
SAMPLE_WEIGHTS = [
    *LENGTHS,
    Defect("nan", _at(np.nan), shows="NaN|nan"),
    Defect("inf", _at(np.inf), shows="inf"),
    Defect("negative", _at(-1.0), shows=r"(?i)-1|negative"),
    Defect("all_zero", lambda v: np.zeros(len(v)), shows="zero"),
    Defect("two_columns", lambda v: np.column_stack([v, v]), shows=SHAPE),
    Defect(
        "masked", lambda v: np.ma.masked_array(v, np.arange(len(v)) == len(v) - 1), shows="mask"
    ),
    Defect("complex", lambda v: np.asarray(v) + 1j, shows="(?i)complex"),
    Defect("strings", lambda v: np.full(len(v), "word"), shows="word|str|U4"),
    Defect("datetime", lambda v: np.arange(len(v)).astype("datetime64[s]"), shows="date|M8"),
    _is("text", "balanced", shows="balanced|str"),
    _is("dict", {0: 1.0}, shows=r"dict|\{0"),
    Defect("huge", lambda v: np.asarray(v) * 1e300, "either", r"overflow|large|scale|e\+"),
    Defect("tiny", lambda v: np.asarray(v) * 1e-300, "either", "small|scale|zero|e-"),
    Defect(
        "spread",
        lambda v: np.where(np.arange(len(v)) % 2, 1e12, 1e-12),
        "either",
        "scale|e\\+|ratio",
    ),
]


class Thing:
    """An object of no use."""


_NOT_NUMBERS = [
    _is("text", "word"),
    _is("list", [1.0], shows=r"\[1|list|shape \(1"),
    _is("complex", 1j),
    _is("boolean", True),
    _is("object", Thing()),
    _is("dict", {"a": 1}),
    _is("array", np.array([1.0, 2.0]), shows=r"array|\[1|shape"),
    _is("bytes", b"1"),
]
_NONE = [_is("none", None)]
_NOT_FINITE = [
    _is("nan", np.nan),
    _is("inf", np.inf),
    _is("minus_inf", -np.inf),
    _is("integer_beyond_floats", 10**400, shows=r"1\.8e308|large|10{20}|1e\+?400|finite|integer"),
]
_NUMBER = _NOT_NUMBERS + _NOT_FINITE
_TINY = [
    _is("tiny", 1e-300, "either"),
    _is("subnormal", 5e-324, "either", r"5e-324|4\.94e-324"),
]
_HUGE = [_is("huge", 1e300, "either")]
_POSITIVE = [*_NUMBER, _is("zero", 0.0), _is("negative", -1.0)]
_WHOLE = [
    *_NOT_NUMBERS,
    *_NOT_FINITE[:3],
    _is("fraction", 1.5),
    _is("negative", -3),
    _is("beyond_memory", 10**12, "either", r"10{12}|1e\+?12|TB|PB|at most|largest"),
    _is("beyond_64_bits", 2**70, "either", str(2**70) + r"|[EZ]B|1\.2e\+?21|at most"),
]
_SHARE = [
    *_NUMBER,
    _is("zero", 0.0),
    _is("negative", -0.1),
    _is("above_one", 1.5),
    _is("tiny", 1e-300, "either"),
]
VALUES = [*REALS, _is("list_of_words", ["a", "b"], shows="str|U1|list")]
_UNFITTED = Defect("unfitted", lambda _: mc.SVC(), shows="SVC|fit")
_MODEL = [
    *_NONE,
    _is("number", 3.5),
    _is("list", [1]),
    _is("class", mc.SVC, shows="SVC|class|type"),
    _is("array", np.ones((3, 2)), shows="ndarray|array"),
    _UNFITTED,
    _is("object", Thing()),
    Defect(
        "another_library",
        lambda _: LinearRegression().fit(data.X, data.TARGETS),
        shows="LinearRegression",
    ),
]

_KERNELS = [
    _is("other", "nonsense"),
    _is("number", 3),
    *_NONE,
    _is("object", Thing()),
    _is("list", [1]),
    _is("class", mc.Gaussian, shows="class|Gaussian|instance"),
    _is("boolean", True),
    _is("array", np.eye(3), shows="array"),
]
BY_KIND = {
    "rows or none": [each for each in ROWS if each.name != "none"],
    "values or none": [each for each in REALS if each.name != "none"],
    "rows": ROWS,
    "training rows": ROWS + TRAINING_ROWS,
    "fitted rows": ROWS + FITTED_ROWS,
    "labels": LABELS,
    "reals": REALS,
    "sample weights": SAMPLE_WEIGHTS,
    "positive": _POSITIVE + _NONE + _TINY + _HUGE,
    "positive or none": _POSITIVE + _TINY + _HUGE,
    "positive or rule": [d for d in _POSITIVE if d.name != "text"]
    + _NONE
    + _TINY
    + _HUGE
    + [_is("rule", "scales")],
    "nonnegative or none": [each for each in _POSITIVE if each.name != "zero"] + _TINY + _HUGE,
    "positive or array": [
        each for each in _POSITIVE + _NONE + _TINY + _HUGE if each.name not in ("list", "array")
    ],
    "count or array": [
        each for each in [*_WHOLE, *_NONE, _is("zero", 0)] if each.name not in ("list", "array")
    ],
    "count, array or none": [
        each for each in [*_WHOLE, _is("zero", 0)] if each.name not in ("list", "array")
    ],
    "positive or infinite": [d for d in _POSITIVE + _NONE + _TINY + _HUGE if d.name != "inf"],
    "positive, infinite or none": [d for d in _POSITIVE + _TINY + _HUGE if d.name != "inf"],
    "nonnegative or array": [
        d for d in _POSITIVE + _NONE + _TINY + _HUGE if d.name not in ("zero", "list", "array")
    ],
    "nonnegative": [d for d in _POSITIVE if d.name != "zero"] + _NONE + _TINY + _HUGE,
    "number": _NUMBER + _NONE + _TINY + _HUGE,
    "share": _SHARE + _NONE,
    "share, zero included": [d for d in _SHARE + _NONE if d.name != "zero"],
    "rate": [d for d in [*_SHARE, *_NONE] if d.name != "zero"],
    "confidence or none": [*_SHARE, _is("one", 1.0)],
    "confidence": [*_SHARE, *_NONE, _is("one", 1.0)],
    "count": [*_WHOLE, *_NONE, _is("zero", 0)],
    "count or zero": [*_WHOLE, *_NONE],
    "count, zero or none": _WHOLE,
    "share or zero": [d for d in [*_SHARE, *_NONE, _is("one", 1.0)] if d.name != "zero"],
    "density values": [d for d in SAMPLE_WEIGHTS if d.name != "all_zero"],
    "labels or none": [d for d in LABELS if d.name != "none"],
    "labels or values": [
        d for d in LABELS if d.name not in ("two_columns", "fractions", "indicators")
    ],
    "count or none": [*_WHOLE, _is("zero", 0)],
    "iterations": [*_WHOLE[:-2], *_NONE, _is("zero", 0)],
    "memory": [
        *_NOT_NUMBERS,
        *_NOT_FINITE[:3],
        *_NONE,
        _is("zero", 0),
        _is("negative", -1),
        _is("negative_text", "-1GB"),
        _is("other_unit", "1 XB"),
        _is("empty", ""),
        _is("one_byte", 1, "either", r"1 B|memory = 1 is|budget|needs"),
    ],
    "random state": [
        _is("text", "word"),
        _is("negative", -1),
        _is("fraction", 1.5),
        _is("list", [1.5]),
        _is("object", Thing()),
        _is("complex", 1j),
        _is("nan", np.nan),
    ],
    "flag": [_is("text", "word"), _is("number", 2.5), _is("nan", np.nan), _is("list", [1]), *_NONE],
    "choice or none": [_is("other", "nonsense"), _is("number", 1), _is("object", Thing())],
    "choice": [
        _is("other", "nonsense"),
        _is("number", 1),
        _is("object", Thing()),
        _is("list", ["a"], shows=r"\['a|list|str"),
        *_NONE,
    ],
    "identifier": [
        _is("number", 1),
        _is("words", "two words"),
        _is("digit", "1a"),
        _is("empty", "", shows="''"),
        *_NONE,
    ],
    "kernel": _KERNELS,
    "kernel or none": [d for d in _KERNELS if d.name != "none"],
    "class weight": [
        _is("other", "nonsense"),
        _is("unknown_class", {99: 1.0}, shows="99"),
        _is("negative", {0: -1.0}, shows="-1"),
        _is("nan", {0: np.nan}, shows="nan"),
        _is("inf", {0: np.inf}, shows="inf"),
        _is("number", 3),
        _is("list", [1, 1]),
        _is("word_as_weight", {0: "a"}, shows="'a'|\"a\""),
        _is("object", Thing()),
        _is("complex", {0: 1j}, shows="1j"),
        _is("zero", {0: 0.0}, "either", "0"),
    ],
    "expansion": [
        *_NONE,
        _is("number", 3.5),
        _is("text", "word"),
        _is("list", [1]),
        _is("array", np.ones((3, 2)), shows="ndarray|array"),
        _UNFITTED,
        _is("object", Thing()),
        Defect("kernel", lambda _: data.KERNEL, shows="Gaussian"),
    ],
    "model": [*_MODEL, _is("text", "word", shows="word|str|line")],
    "function": [_is("number", 3), _is("text", "word"), _is("list", [1])],
    "transforms": [
        *_NONE,
        _is("number", 3),
        _is("text", "word", shows="str"),
        _is("list", [1], shows="1 of type int"),
        _is("empty", []),
        _is("fewer_rows", lambda X, t: X[1:], shows=r"\(\d+, 3\)"),
        _is("fewer_columns", lambda X, t: X[:, 1:] + t, shows=r"\(\d+, 2\)"),
        _is("nan", lambda X, t: X + (np.nan if t else 0.0), shows="nan"),
        _is("still", lambda X, t: X, shows="are 0"),
        _is("moved_at_0", lambda X, t: X + t + 1.0, shows="differ by 1"),
        _is("complex", lambda X, t: X + 1j * t, shows="complex"),
    ],
    "moves": [
        *_NONE,
        _is("number", 3),
        _is("text", "word"),
        _is("list", [1], shows="1 of type int"),
        _is("empty", []),
        _is("fewer_rows", data.fewer_rows, "either", shows=r"\(\d+, 3\)"),
        _is("fewer_columns", data.fewer_columns, "either", shows=r"\(\d+, 2\)"),
        _is("nan", data.no_numbers, "either", shows="NaN"),
    ],
    "tangents": [
        *_NONE,
        _is("number", 3),
        _is("text", "word"),
        Defect("two_dimensions", lambda v: v[:, 0], shows=r"\(7, 3\)"),
        Defect("fewer_points", lambda v: v[1:], shows=r"\(6, 2, 3\)"),
        Defect("fewer_columns", lambda v: v[:, :, 1:], shows=r"\(7, 2, 2\)"),
        Defect("nan", _at(np.nan), shows="nan"),
        Defect("huge", lambda v: v * 1e300, "either", "overflow|scale"),
    ],
    "shares": [
        *_NONE,
        _is("number", 0.5, shows="float"),
        Defect("above_1", lambda v: 2 * v, shows="2.0"),
        Defect("below_0", lambda v: -v, shows="-0.5"),
        Defect("nan", lambda v: v * np.nan, shows="nan"),
        Defect("one_too_few", lambda v: v[1:], shows=r"\(2,\)"),
    ],
    "shape of images": [
        *_NONE,
        _is("number", 3),
        _is("text", "word"),
        _is("zero", (0, 3), shows="0"),
        _is("negative", (-1, -3), shows="-1"),
        _is("floating", (1.0, 3.0), shows="1.0"),
        _is("other", (2, 3), shows=r"\(2, 3\)"),
        _is("three", (1, 3, 1), shows=r"\(1, 3, 1\)"),
    ],
    "path": [
        *_NONE,
        _is("number", 3.5),
        _is("list", ["a"]),
        _is("empty", "", shows="''|empty|name|No such"),
        _is("folder", "/tmp", shows="/tmp"),
        _is("missing_folder", "/nonexistent/folder/file", shows="nonexistent"),
        _is("zero_byte", "a\0b", shows="null|x00"),
    ],
    # any number of values, of which some may be equal
    "list of values": [d for d in VALUES if d.name not in ("one_too_few", "one_too_many")],
    # values on a grid of any shape
    "grid": [
        d for d in VALUES if d.name not in ("one_too_few", "one_too_many", "three_dimensions")
    ],
    "values": VALUES,
    "value or values": [d for d in VALUES if d.name != "number"],
    "matrix or factors": [
        d for d in ROWS if not d.name.startswith(("csr", "frame", "one_dimension"))
    ],
    # labels of data that a model is tested on, which may be of one class
    "known labels or none": [d for d in LABELS if d.name not in ("one_class", "none")],
    "support vector machine": [d for d in _MODEL if d.name not in ("another_library", "unfitted")],
    "estimator": [d for d in _MODEL if d.name != "another_library"],
    "matrix": [d for d in ROWS if not d.name.startswith(("csr", "frame"))],
}
