"""to_c: fitted models as one C99 file without memory allocation, for any C compiler, down to microcontrollers."""

import os
import re
import textwrap
from dataclasses import dataclass

import numpy as np

from mercer._common import MaybeNone, PointsLike, shown
from mercer._compute.symbols import INFIX, folded, ordered
from mercer.formats.files import replacing
from mercer.formats.portable import Portable, view_of
from mercer.formats.quantised import (
    CODED,
    PARTS,
    VALUE,
    Quantised,
    accuracy,
    checked,
    quantise,
    rounded,
    uncoded,
)

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
# The types of tables and of arrays on the stack, as those of NumPy; pointers have four bytes on microcontrollers.
_DTYPES = {
    f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in ("8", "16", "32")
}
_DTYPES |= {
    "double": "double",
    "float": "single",
    "int": "int32",
    "long long": "int64",
    "char *const": "uint32",
}
_ANY_TYPE = "|".join(map(re.escape, _DTYPES))
_TABLE = re.compile(
    rf"^(?:static const|\w+_table|const) ({_ANY_TYPE}) \w+\[(\d+)\] = ", re.MULTILINE
)
_ARRAY = re.compile(rf"^ +({_ANY_TYPE}) \w+\[(\d+)\]", re.MULTILINE)


@dataclass(frozen=True)
class Exported:
    """Size and accuracy of an exported model.

    Attributes
    ----------
    flash : int
        Bytes of the tables: vectors, coefficients, labels. The machine code adds some kB.
    ram : int
        Bytes of the arrays on the stack during a call.
    max_error : float or None
        Largest error of a score at the points X by the operations of the file, with an exact exponential function;
        that of the file has a relative error of 1e-5.
    label_agreement : float or None
        Share of the points X whose label is that of the model; None without labels.
    """

    flash: int
    ram: int
    max_error: float | MaybeNone = None
    label_agreement: float | MaybeNone = None


def to_c(
    model: object,
    path: str | os.PathLike[str],
    dtype: str = "float64",
    prefix: str = "model",
    X: PointsLike | None = None,
) -> Exported:
    r"""Write a fitted model as one C99 file that needs only the mathematics library and allocates no memory.

    .. math:: \text{scores}_j(x) = \sum_i A_{ij} k(x, z_i) + b_j

    Parameters
    ----------
    model : estimator, FittedExpansion, str or path
        Anything that `mercer.as_expansion` reads or `mercer.compress` returns: models of Mercer and scikit-learn, text
        models of LIBSVM; also a pipeline that scales columns before such a model. Kernels of inner products and
        Euclidean distances, their sums, products, multiples, powers, exponentials and normalised forms, also on
        linearly mapped inputs.
    path : path
        An existing file is replaced when everything is written.
    dtype : {"float64", "float32", "float16", "int8"}
        ``double`` or ``float``, for input, arithmetic and scores; the sum over the vectors is ``double``. "float16" and
        "int8" compute in ``float`` and store the vectors in 16 or 8 bits, the coefficients in 16.
    prefix : str
        Every name in the file starts with this prefix and an underscore. It must be a letter followed by letters,
        digits and underscores, at most 64 characters.
    X : rows (n, d), optional
        Points at which the error is measured; required for "float16" and "int8", whose coefficients are refitted to the
        scores at X. Give training points, and measure the accuracy on others.

    Returns
    -------
    Exported
        With ``.flash`` and ``.ram`` in bytes, ``.max_error`` and ``.label_agreement`` at X.

    Raises
    ------
    TypeError
        For a model or kernel that cannot be exported.
    ValueError
        For another dtype or prefix, a dtype that needs X without it, numbers out of range of the dtype, labels that are
        neither integers nor strings, ``break_ties``, or several quantiles with ``crossing="sort"``.
    MemoryError
        Above 1 GB of numbers.

    Warns
    -----
    UserWarning
        For the probabilities of LIBSVM (``probability=True`` of scikit-learn's SVC), which are left out.

    Notes
    -----
    With the prefix "model" the file defines ``void model_scores(const double *x, double *out)``, which writes the m
    scores of one point: decision values, predictions of a regressor or coordinates. For SVC, NuSVC and one-class models
    it also defines ``int model_predict(const double *x)``, which returns an index into the table ``model_labels`` of
    type ``long long`` or ``char *`` (UTF-8). Where ``decision_function`` turns the values of pairs into classes, ``void
    model_decision(const double *x, double *out)`` writes its c values; ``void model_probabilities(const double *x,
    double *out)`` writes those of ``predict_proba`` of an `SVCCV` with ``calibration``, of a `TableClassifier`, and of
    scikit-learn's ``CalibratedClassifierCV`` with ``ensemble=False``. The comment at the top of the file states all
    sizes. One point costs n_vectors kernel values and n_vectors (d + m) products, n_vectors (d + c - 1) for votes of
    pairs of c classes, whose coefficients are stored as they are trained. Functions keep no state, so threads may share
    them. Distances are sums of squared differences; with "int8", each column has a scale, inner products and the sum
    over the vectors are sums of integers of 32 bits, and distances follow from them. On AVR the tables of coded models
    stay in flash memory. Scores have an error of about 1e-5 of their scale in float32 and 1e-12 in float64.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats import to_c
    >>> model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(np.array([[0.0], [1.0]]), ["no", "yes"])
    >>> path = Path(tempfile.mkdtemp(), "model.c")
    >>> to_c(model, path).flash
    55
    >>> "int model_predict(const double *x)" in path.read_text()
    True
    """
    if not (isinstance(prefix, str) and _PREFIX.fullmatch(prefix)):
        raise ValueError(
            f"prefix = {shown(prefix)} must be a letter followed by letters, digits and underscores, at most 64 "
            "characters."
        )
    exported, X, expected = checked(model, dtype, X)
    if dtype in CODED:
        stored = quantise(exported, CODED[dtype], X, expected)
        text = _SOURCES[dtype](stored, prefix).text()
    else:
        exported = rounded(exported)
        stored = uncoded(exported, dtype)
        text = _Source(exported, prefix).text()
    with replacing(path) as file:
        file.write(text.encode("ascii"))
    return Exported(*_sizes(text, exported.labels), *accuracy(stored, X, expected))


def _sizes(text, labels):
    """Return the bytes of the tables and of the arrays on the stack in a source."""
    flash, ram = (
        sum(np.dtype(_DTYPES[kind]).itemsize * int(n) for kind, n in found.findall(text))
        for found in (_TABLE, _ARRAY)
    )
    return flash + sum(
        len(each.encode()) + 1 for each in labels or () if isinstance(each, str)
    ), ram


# --- the source: tables of numbers or of codes, and functions for scores and labels -----------------------------------


# Operations in C, apart from functions of the same name; {f} is "f" for functions of float.
_FORMS = INFIX | {
    "Pow": "pow{f}({}, {})",
    "Max": "fmax{f}({}, {})",
    "Min": "fmin{f}({}, {})",
    "Abs": "fabs{f}({})",
    "Where": "{} ? {} : {}",
}
_TRUTHS = ("Greater", "GreaterOrEqual")
_TYPES = {"float32": "float", "float64": "double"}
# Types of codes of vectors and coefficients.
_CODES = {"int8": "int8_t", "int16": "int16_t", "uint16": "uint16_t"}
_HEAD = """\
/*
{title}
 *
 * void {name}_scores(const {real} *x, {real} *out);
 *     x: one point, {d} numbers. out: memory for its {m} scores.
{more} *
 * C99; link with -lm. The functions allocate no memory and keep no state. Written by Mercer.
 */"""
_PREDICT_HEAD = """\
 * int {name}_predict(const {real} *x);
 *     Returns the index of the predicted label in {name}_labels, from 0.
 * extern {labels};
"""
_DECISION_HEAD = """\
 * void {name}_decision(const {real} *x, {real} *out);
 *     out: memory for {c} numbers, one for each class, from the scores of pairs.
"""
_PROBABILITIES_HEAD = """\
 * void {name}_probabilities(const {real} *x, {real} *out);
 *     out: memory for the probabilities of the {c} classes.
"""
_PROBABILITIES = """
void {name}_probabilities(const {real} *x, {real} *out)
{{
    {real} value[{width}];
    {real} total = 0;
    int j;
    {name}_{values}(x, value);
{shares}
    for (j = 0; j < {c}; j++)
        total += out[j];
    for (j = 0; j < {c}; j++)
        out[j] = total > 0 ? out[j] / total : 1 / ({real}){c};
}}"""
# The lines above for the shares of the classes.
_SOFTMAX = """\
    {real} largest = value[0];
    for (j = 1; j < {c}; j++)
        largest = fmax{f}(largest, value[j]);
    for (j = 0; j < {c}; j++)
        out[j] = exp{f}({factor} * (value[j] - largest));"""
_CURVES = """\
    for (j = 0; j < {q}; j++) {{
        {read} {real} *curve = {name}_curves + 2 * {k} * j;
        out[j] = {share};
    }}"""
_SIGMOID = "1 / (1 + exp{f}(curve[0] * value[j] + curve[1]))"
_ISOTONIC = "{name}_place(value[j], curve, curve + {k}, {k})"
# Two classes have the curve of the second.
_OF_TWO = """
    out[1] = out[0];
    out[0] = 1 - out[1];"""
_PREDICT = """
int {name}_predict(const {real} *x)
{{
    {real} score[{size}];
{answer}
}}"""
# The end of the function above for each rule of a label.
_ANSWERS = {
    "sign": """\
    {name}_scores(x, score);
    return score[0] > 0;""",
    "inlier": """\
    {name}_scores(x, score);
    return score[0] >= 0;""",
    "largest": """\
    int j, best = 0;
    {name}_{source}(x, score);
    for (j = 1; j < {c}; j++)
        if (score[j] > score[best])
            best = j;
    return best;""",
    "votes": """\
    int votes[{c}] = {{0}};
    int i, j, k = 0, best = 0;
    {name}_scores(x, score);
    for (i = 0; i < {c}; i++)
        for (j = i + 1; j < {c}; j++)
            votes[score[k++] > 0 ? i : j]++;
    for (j = 1; j < {c}; j++)
        if (votes[j] > votes[best])
            best = j;
    return best;""",
}
_DECISION = """
void {name}_decision(const {real} *x, {real} *out)
{{
    {real} score[{m}];
    {real} sum[{c}];
    int i, j, k = 0;
    {name}_scores(x, score);
    for (i = 0; i < {c}; i++)
        out[i] = sum[i] = 0;
    for (i = 0; i < {c}; i++)
        for (j = i + 1; j < {c}; j++) {{
            out[score[k] >= 0 ? i : j] += 1;
            sum[i] += score[k];
            sum[j] -= score[k++];
        }}
    for (i = 0; i < {c}; i++)
        out[i] += sum[i] / (3 * (fabs{f}(sum[i]) + 1));
}}"""
# Piecewise linear function: scale of a column of a table, isotonic regression.
_PLACE = """\
static {1} {0}_place({1} x, {2} {1} *knots, {2} {1} *places, int n)
{{
    int i = 1;
    if (!(x > knots[0]))
        return places[0];
    while (i < n && x > knots[i])
        i++;
    if (i == n)
        return places[n - 1];
    return places[i - 1] + (x - knots[i - 1]) * ((places[i] - places[i - 1]) / (knots[i] - knots[i - 1]));
}}
"""


class _Source:
    """The C source of a Portable model."""

    # the type of the sum over the vectors, and the words before the type of a table and of a pointer into it
    _sum = "double"
    _table_of = "static const"
    _read = "const"
    _forms = _FORMS

    def __init__(self, exported: Portable, prefix: str) -> None:
        self._exported = exported
        self._prefix = prefix
        self._real = _TYPES[exported.dtype.name]
        self._f = "f" if self._real == "float" else ""
        self._x = "x" if exported.scaling is None and exported.columns is None else "scaled"
        self._m = len(exported.intercept)
        # points of each curve, more than one of isotonic regression
        self._k = 0 if exported.curves is None else exported.curves.shape[2]
        # names that belong to a view end with its number
        self._views = list(enumerate(exported.views.values()))

    def text(self) -> str:
        """Return the whole file."""
        exported = self._exported
        names = {
            "name": self._prefix,
            "real": self._real,
            "f": self._f,
            "m": self._m,
            "d": exported.n_features,
        }
        names["title"] = _comment(exported.title)
        more = ""
        ends = []
        if exported.labels is not None:
            labels = list(map(_literal, exported.labels))
            kind = "const char *const" if isinstance(exported.labels[0], str) else "const long long"
            names |= {"c": len(labels), "labels": f"{kind} {self._prefix}_labels[{len(labels)}]"}
            more = _PREDICT_HEAD
            rule = exported.answer
            names |= {"source": "scores", "size": self._m}
            if exported.per_class:
                more += _DECISION_HEAD
                ends.append(_DECISION.format(**names))
            if exported.has_probabilities:
                more += _PROBABILITIES_HEAD
                ends.append(self._probabilities(names))
            if rule == "probable":
                rule = "largest"
                names |= {"source": "probabilities", "size": len(labels)}
            table = "".join(f"    {each},\n" for each in labels)
            answer = _ANSWERS[rule].format(**names)
            ends.append(
                f"\n{names['labels']} = {{\n{table}}};\n{_PREDICT.format(answer=answer, **names)}\n"
            )
        head = _HEAD.format(more=more.format(**names), **names)
        return "\n".join([head, *self._includes(), *self._tables(), *self._scores(), *ends])

    def _includes(self):
        return ["#include <math.h>", ""]

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _tables(self):
        exported = self._exported
        tables = {}
        for k, view in self._views:
            if view.inputs - {"sqnorm_x"}:
                tables |= {f"{name}{k}": each for name, each in self._vectors(k, view).items()}
            tables |= {f"map{k}_{j}": A for j, A in enumerate(view.maps)}
        if exported.scaling is not None:
            tables["shift"], tables["factor"] = exported.scaling
        if exported.counts is not None:
            tables["ends"] = np.cumsum(exported.counts)
        if exported.columns is not None:
            for name in ("knots", "places"):
                tables[name] = np.concatenate([getattr(each, name) for each in exported.columns])
        if self._k:
            tables["curves"] = exported.curves.reshape(-1, self._k)
        tables |= self._coefficients() | {"intercept": exported.intercept}
        return [line for name, values in tables.items() for line in self._table(name, values)]

    def _vectors(self, _k, view):
        """Return the tables of the vectors of a view, by name."""
        return {"points": view.points}

    def _coefficients(self):
        """Return the tables of the coefficients, by name."""
        return {"coef": self._exported.coef}

    def _table(self, name, values):
        kind = self._real if values.dtype.kind == "f" else _CODES.get(values.dtype.name, "int")
        lines = [f"{self._table_of} {kind} {self._prefix}_{name}[{values.size}] = {{"]
        for row in np.atleast_2d(values):
            lines += [f"    {line}" for line in _wrapped(", ".join(map(self._number, row)) + ",")]
        return [*lines, "};", ""]

    def _number(self, value):
        # enough digits to read back the same number
        return (
            f"{self._exported.constant(value)!s}{self._f}"
            if isinstance(value, float)
            else str(value)
        )

    # --- scores ------------------------------------------------------------------------------------------------------

    def _scores(self):
        lines = [f"{self._sum} sum[{self._m}];", "int i, j;"]
        if self._exported.scaling is not None:
            d = self._exported.n_features
            lines += [f"{self._real} scaled[{d}];"]
            lines += _loop(
                "j", d, f"scaled[j] = (x[j] - {self._prefix}_shift[j]) * {self._prefix}_factor[j];"
            )
        if self._exported.columns is not None:
            lines += self._encoded(self._exported.columns)
        for k, view in self._views:
            lines += self._before(k, view)
        lines += self._summed(
            [(term, *self._value(part, term)) for part, term in enumerate(self._exported.terms)]
        )
        head = f"void {self._prefix}_scores(const {self._real} *x, {self._real} *out)"
        function = [head, "{", *_indented(lines), "}"]
        if self._exported.columns is None and self._k < 2:
            return function
        return [*_PLACE.format(self._prefix, self._real, self._read).split("\n"), *function]

    def _probabilities(self, names):
        """Return the function that turns decision values into probabilities."""
        exported = self._exported
        c = names["c"]
        names |= {"k": self._k, "read": self._read}
        if exported.curves is None:
            shares = _SOFTMAX.format(factor=self._number(exported.inverse_temperature), **names)
        else:
            share = (_SIGMOID if self._k == 1 else _ISOTONIC).format(**names)
            shares = _CURVES.format(share=share, q=len(exported.curves), **names)
        if c == 2:
            shares += _OF_TWO
        values, width = ("decision", c) if exported.per_class else ("scores", self._m)
        return _PROBABILITIES.format(values=values, width=width, shares=shares, **names)

    def _encoded(self, columns):
        """Return the lines that make the scaled columns of a table."""
        name = self._prefix
        lines = [f"{self._real} scaled[{len(columns)}];"]
        start = 0
        for k, column in enumerate(columns):
            x = f"x[{column.source}]"
            equal = [
                f"{x} == {self._number(float(each))}" for each in column.levels if each is not None
            ]
            equal += [f"isnan({x})"] * (None in column.levels or column.kind == "missing")
            value = (
                f"isnan({x}) ? {self._number(column.fill)} : {x}"
                if column.kind == "number"
                else " || ".join(equal)
            )
            n = len(column.knots)
            lines.append(
                f"scaled[{k}] = {name}_place({value}, {name}_knots + {start}, {name}_places + {start}, {n});"
            )
            start += n
        return lines

    def _summed(self, terms):
        """Return the lines that sum over the vectors of terms, with lines that compute a variable for vector i."""
        width = self._exported.coef.shape[1]
        lines = _loop("j", self._m, self._start())
        for term, inner, value in terms:
            added = self._added(
                f"({self._sum}){value} * {self._prefix}_coef[{width} * {_place_of_vector(term)} + j]"
            )
            lines += self._over_vectors(term.last - term.first, *inner, *added)
        return [*lines, *_loop("j", self._m, self._end())]

    def _over_vectors(self, n, *body):
        """Return the loop over n vectors i; ``own`` is the class of the vector if coefficients are packed."""
        if self._exported.counts is None:
            return _loop("i", n, *body)
        return [
            "int own = 0;",
            *_loop("i", n, f"while (i == {self._prefix}_ends[own])", "    own++;", *body),
        ]

    def _added(self, term):
        """Return the lines that add the terms of a vector, with its coefficient j, to the sums."""
        width = self._exported.coef.shape[1]
        if self._exported.counts is None:
            return _loop("j", width, f"sum[j] += {term};")
        # the pairs of the vector's class with those before it, then with those after it
        before = _loop("j", "own", f"sum[k] += {term};", f"k += {width - 1} - j;")
        return [
            "int k = own - 1;",
            *before,
            "k++;",
            *_loop("j", width, f"sum[k++] += {term};", start="own"),
        ]

    def _start(self):
        """Return the line that starts the sum over the vectors, and ``_end`` that which writes a score."""
        return f"sum[j] = {self._prefix}_intercept[j];"

    def _end(self):
        return f"out[j] = ({self._real})sum[j];"

    def _before(self, k, view):
        """Return the lines that map x and compute its squared norm, before the loop over vectors."""
        lines = []
        x = self._x
        for j, A in enumerate(view.maps):
            table = f"{self._prefix}_map{k}_{j}"
            out = f"x{k}_{j}"
            if A.ndim == 2:
                product = f"{out}[i] += {table}[{A.shape[1]} * i + j] * {x}[j];"
                body = [f"{out}[i] = 0;", *_loop("j", A.shape[1], product)]
            else:
                body = [
                    f"{out}[i] = "
                    + (f"{table}[i] * {x}[i];" if A.dtype.kind == "f" else f"{x}[{table}[i]];")
                ]
            lines += [f"{self._real} {out}[{len(A)}];", *_loop("i", len(A), *body)]
            x = out
        if "sqnorm_x" in view.inputs:
            square = f"sqnorm_x{k} += {x}[j] * {x}[j];"
            lines += [f"{self._real} sqnorm_x{k} = 0;", *_loop("j", view.points.shape[1], square)]
        return lines

    def _pair(self, k, view):
        """Return the lines that sum over the features of x and vector i."""
        q = view.points.shape[1]
        wanted = sorted(view.inputs - {"sqnorm_x"})
        if not wanted:
            return []
        x = self._mapped(k, view)
        kind, number = self._coordinate(k)
        sums = {"dot": f"{x}[j] * z", "sqdist": "difference * difference", "sqnorm_z": "z * z"}
        sums["absdist"] = f"fabs{self._f}(difference)"
        lines = [f"{self._read} {kind} *z{k} = {self._prefix}_points{k} + {q} * i;"]
        lines += [f"{self._real} {name}{k} = 0;" for name in wanted]
        body = [f"const {self._real} z = {number};"]
        body += (
            [f"const {self._real} difference = {x}[j] - z;"]
            if {"sqdist", "absdist"} & view.inputs
            else []
        )
        return [*lines, *_loop("j", q, *body, *(f"{name}{k} += {sums[name]};" for name in wanted))]

    def _mapped(self, k, view):
        """Return the name of the point after the maps of view k."""
        return f"x{k}_{len(view.maps) - 1}" if view.maps else self._x

    def _coordinate(self, k):
        """Return the type of the vectors in their table, and the expression of coordinate j of a vector."""
        return self._real, f"z{k}[j]"

    def _value(self, part, term):
        """Return the lines that compute the kernel value of a term for its vector i, and the name of its variable."""
        numbers = {key: k for k, key in enumerate(self._exported.views)}
        own = [self._views[k] for key, k in numbers.items() if key[0] == part]
        lines = [line for k, view in own for line in self._pair(k, view)]

        def written(each, operands):
            if each.is_input:
                return f"{each.operation}{numbers[view_of(each)]}"
            if each.operation == "constant":
                return self._number(each.value)
            name = f"t{len(lines)}"
            kind = "int" if each.operation in _TRUTHS else self._real
            # two minus signs in a row would be the operator --
            operands = [f"({text})" if text.startswith("-") else text for text in operands]
            form = self._forms.get(each.operation, each.operation.lower() + "{f}({})")
            lines.append(f"const {kind} {name} = {form.format(*operands, f=self._f)};")
            return name

        value = folded(term.expression, written)
        return lines, value


def _place_of_vector(term):
    """Return the row of the coefficients of vector i of a term."""
    return f"(i + {term.first})" if term.first else "i"


def _loop(i, n, *body, start=0):
    """Return the lines of a for loop over i = start, ..., n - 1."""
    head = f"for ({i} = {start}; {i} < {n}; {i}++)"
    return [head, *_indented(body)] if len(body) == 1 else [head + " {", *_indented(body), "}"]


def _indented(lines):
    return [f"    {line}" for line in lines]


def _wrapped(text):
    return textwrap.wrap(text, 100, break_on_hyphens=False)


def _comment(title):
    """Return a title as lines of a comment, which no sign in it ends."""
    title = title.encode("ascii", "backslashreplace").decode()
    for mark in ("*/", "/*", "??"):
        title = title.replace(mark, " ".join(mark))
    return "\n".join(f" * {line}" for line in _wrapped(title))


def _literal(label):
    """Return a label as a C literal."""
    if not isinstance(label, str):
        # C has no literal for the smallest long long
        return f"{label}LL" if label > -(2**63) else f"{label + 1}LL - 1"
    if "\0" in label:
        raise ValueError(
            f"label {shown(label)} must not contain the character 0, which ends strings in C."
        )
    # octal escapes have at most three digits, so no digit that follows joins them; question marks could form trigraphs
    plain = set(range(32, 127)) - set(b'"\\?')
    return (
        '"'
        + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in label.encode())
        + '"'
    )


# --- vectors in 8 or 16 bits -----------------------------------------------------------------------------------------


# AVR keeps tables in flash memory only in an address space with its own name.
_MEMORY = """\
#ifdef __AVR__
#define {0}_table static const __flash
#define {0}_read const __flash
#else
#define {0}_table static const
#define {0}_read const
#endif
#ifdef __GNUC__
#define {0}_apart static __attribute__((noinline))
#else
#define {0}_apart static
#endif
"""
# Exponential, with a relative error below 1e-5. Of t / log(2) in steps of 2^-20 four bits select a power of 2 from a
# table, in steps of 2^-23, and the 16 bits of r give 2^r - 1, in steps of 2^-20, by a polynomial of degree 2. Their sum
# becomes the bits of an IEEE float.
_EXP = """\
{0}_table uint32_t {0}_powers[16] = {{
    8388608, 8760003, 9147842, 9552851, 9975793, 10417459, 10878679, 11360319,
    11863283, 12388515, 12937001, 13509770, 14107898, 14732507, 15384770, 16065911
}};

static float {0}_exp(float t)
{{
    uint32_t place, power;
    uint16_t rest;
    union {{
        uint32_t bits;
        float number;
    }} found;
    if (!(fabsf(t) <= 87.0f))
        return t < 0 ? 0.0f : t > 0 ? 6.0760302e37f : t;
    place = (uint32_t)((int32_t)(t * 1512775.4f) + 134217728);
    rest = (uint16_t)place;
    power = {0}_powers[(place >> 16) & 15];
    rest = (uint16_t)(((uint32_t)rest * 45427u >> 16) + (((uint32_t)rest * rest >> 16) * 998u >> 16));
    power += (uint32_t)(uint16_t)(power >> 8) * rest >> 12;
    found.bits = ((place & 0xfff00000u) << 3) + power - 16777216u;
    return found.number;
}}
"""
# Number from its half precision.
_HALF = """\
static float {0}_half(uint16_t h)
{{
    const int exponent = (h >> 10) & 31, fraction = h & 1023;
    const float size = exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    return h >> 15 ? -size : size;
}}
"""
# Codes of numbers of parts, 0 for NaN, and sums of products of codes. AVR multiplies 8 bits at a time; loops in
# separate functions keep their sums in registers.
_BYTES = """\
static int16_t {0}_code(float t)
{{
    return (int16_t)(((int32_t)(fabsf(t) < 8388608.0f ? t : 0.0f) + 128) >> 8);
}}

{0}_apart void {0}_codes(const float *scaled, float inverse, int8_t *high, uint8_t *low, int n)
{{
    for (; n > 0; n--) {{
        const int16_t code = {0}_code(*scaled++ * inverse);
        *high++ = (int8_t)(code >> 8);
        *low++ = (uint8_t)code;
    }}
}}

{0}_apart int32_t {0}_product(const int8_t *high, const uint8_t *low, {0}_read int8_t *z, int n)
{{
    int32_t upper = 0;
    uint32_t lower = 0;
    for (; n > 0; n--) {{
        const int8_t code = *z++;
        const int32_t part = (int16_t)(*low++ * code);
        upper += (int16_t)(*high++ * code);
        lower += (uint32_t)part;
    }}
    return (int32_t)((uint32_t)upper * 256u + lower);
}}

{0}_apart void {0}_add(int16_t value, {0}_read int16_t *coef, int32_t *sum{1})
{{
    int j;
{2}
}}
"""
# The lines that turn a point into codes: its size, and sums over its coordinates t from the centre.
_POINT = """\
int8_t high{k}[{q}];
uint8_t low{k}[{q}];
float scaled{k}[{q}];
float step{k} = 1e-30f;
for (j = 0; j < {q}; j++) {{
    const float t = {x}[j] - {name}_centre{k}[j];
    scaled{k}[j] = t * {name}_scale{k}[j];
    if (fabsf(scaled{k}[j]) > step{k})
        step{k} = fabsf(scaled{k}[j]);
{added}}}
{name}_codes(scaled{k}, {parts}.0f / step{k}, high{k}, low{k}, {q});
step{k} /= {limit}.0f;
"""
# The name and the terms of the sum that an input of the kernel needs.
_SUMS = {"sqdist": ("square", "t * t"), "dot": ("along", "t * {name}_centre{k}[j]")}


class _QuantisedSource(_Source):
    """The C source of a Quantised model with codes of vectors; a class for each type of codes has its functions."""

    _functions = ""

    def __init__(self, model: Quantised, prefix: str) -> None:
        super().__init__(model.exported, prefix)
        self._model = model
        self._codes = list(model.vectors.values())
        self._table_of = f"{prefix}_table"
        self._read = f"{prefix}_read"
        self._forms = self._forms | {"Exp": f"{prefix}_exp({{}})"}

    def _includes(self):
        used = {
            each.operation for term in self._exported.terms for each in ordered(term.expression)
        }
        parts = [_MEMORY, *([_EXP] if "Exp" in used else []), self._functions]
        own = "" if self._exported.counts is None else ", int own"
        added = self._added(f"(int32_t)value * coef[j] / {self._model.divisor}")
        body = "\n".join(f"    {line}" for line in added)
        parts = [part.format(self._prefix, own, body) for part in parts]
        return ["#include <math.h>", "#include <stdint.h>", "", *parts]

    def _coefficients(self):
        return {"coef": self._model.coef_codes, "coef_scale": self._model.coef_scale}

    def _start(self):
        return "sum[j] = 0;"

    def _end(self, total="sum[j]"):
        return f"out[j] = {total} * {self._prefix}_coef_scale[j] + {self._prefix}_intercept[j];"


class _HalvesSource(_QuantisedSource):
    """The C source of a model with vectors in half precision."""

    _sum = "float"
    _functions = _HALF

    def _vectors(self, k, view):
        return {"points": self._codes[k].codes.view("uint16"), "centre": self._codes[k].centre}

    def _coordinate(self, k):
        return "uint16_t", f"{self._prefix}_centre{k}[j] + {self._prefix}_half(z{k}[j])"


class _BytesSource(_QuantisedSource):
    """The C source of a model with vectors in 8 bits, whose products are sums of integers."""

    _sum = "int32_t"
    _functions = _BYTES

    def _vectors(self, k, view):
        vectors = self._codes[k]
        tables = {"points": vectors.codes, "scale": vectors.scale, "centre": vectors.centre}
        tables |= {"norm": vectors.norms} if "sqdist" in view.inputs else {}
        tables |= {"shift": vectors.shifts} if "dot" in view.inputs else {}
        tables |= {"sqnorm_z": (vectors.points**2).sum(axis=1)} if "sqnorm_z" in view.inputs else {}
        return tables

    def _summed(self, terms):
        name = self._prefix
        n, width = self._exported.coef.shape
        lines = [f"float values[{n}];", "float largest = 1e-30f;"]
        for term, inner, value in terms:
            place = f"values[{_place_of_vector(term)}]"
            kept = [
                f"{place} = {value};",
                f"if (fabsf({place}) > largest)",
                f"    largest = fabsf({place});",
            ]
            lines += _loop("i", term.last - term.first, *inner, *kept)
        lines += [
            *_loop("j", self._m, self._start()),
            f"const float inverse = {VALUE * PARTS}.0f / largest;",
        ]
        own = "" if self._exported.counts is None else ", own"
        added = (
            f"{name}_add({name}_code(values[i] * inverse), {name}_coef + {width} * i, sum{own});"
        )
        lines += [*self._over_vectors(n, added), f"largest *= {self._model.divisor / VALUE!r}f;"]
        return [*lines, *_loop("j", self._m, self._end("(float)sum[j] * largest"))]

    def _before(self, k, view):
        lines = super()._before(k, view)
        if not view.inputs & {"dot", "sqdist"}:
            return lines
        names = {
            "k": k,
            "name": self._prefix,
            "x": self._mapped(k, view),
            "q": view.points.shape[1],
        }
        limit = self._codes[k].limit
        used = [_SUMS[each] for each in ("sqdist", "dot") if each in view.inputs]
        added = "".join(f"    {name}{{k}} += {term};\n" for name, term in used).format(**names)
        source = "".join(f"float {name}{k} = 0;\n" for name, _ in used)
        source += _POINT.format(added=added, limit=limit, parts=limit * PARTS, **names)
        source += f"const float twice{k} = 2 * step{k};\n" if "sqdist" in view.inputs else ""
        return lines + source.splitlines()

    def _pair(self, k, view):
        name = self._prefix
        values = {
            "dot": f"step{k} * whole{k} + along{k} + {name}_shift{k}[i]",
            "sqdist": f"fmaxf(square{k} + {name}_norm{k}[i] - twice{k} * whole{k}, 0)",
            "sqnorm_z": f"{name}_sqnorm_z{k}[i]",
        }
        q = view.points.shape[1]
        whole = f"const float whole{k} = (float){name}_product(high{k}, low{k}, {name}_points{k} + {q} * i, {q});"
        lines = [whole] if view.inputs & {"dot", "sqdist"} else []
        return lines + [
            f"const float {each}{k} = {text};"
            for each, text in values.items()
            if each in view.inputs
        ]


# The source of each type of codes.
_SOURCES: dict[str, type[_QuantisedSource]] = {"float16": _HalvesSource, "int8": _BytesSource}
