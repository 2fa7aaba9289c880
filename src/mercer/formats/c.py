"""to_c: fitted models as one C99 file without memory allocation, for any C compiler, down to microcontrollers."""

import os
import re
import string
import textwrap

import numpy as np

from mercer._common import MaybeNone, PointsLike, record, shown
from mercer._compute.symbols import INFIX, folded, ordered
from mercer.formats.files import as_path, replacing
from mercer.formats.portable import view_of
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
# Bytes of the types of tables and of arrays on the stack; pointers are those of microcontrollers.
_WIDTHS = {"double": 8, "float": 4, "int": 4, "long long": 8, "char *const": 4}
_WIDTHS |= {f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32)}
# Tables, and, with spaces before them, arrays on the stack.
_ARRAY = re.compile(
    rf"^( *)(?:static const |\w+_table |const )?({'|'.join(map(re.escape, _WIDTHS))}) \w+\[(\d+)\]",
    re.MULTILINE,
)


@record
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
        For another dtype or prefix, the suffix of another format, a dtype that needs X without it, numbers out of range
        of the dtype, labels that are neither integers nor strings, ``break_ties``, or several quantiles with
        ``crossing="sort"``.
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
    if as_path(path).suffix in (".mercer", ".model", ".onnx"):
        raise ValueError(
            f"path = {shown(path)} must not have the suffix of another format; name a file of C, such as model.c."
        )
    stored = (
        quantise(exported, CODED[dtype], X, expected)
        if dtype in CODED
        else uncoded(rounded(exported), dtype)
    )
    text = _SOURCES.get(dtype, _Source)(stored, prefix).text()
    with replacing(path) as file:
        file.write(text.encode("ascii"))
    return Exported(*_sizes(text, exported.labels), **accuracy(stored, X, expected))


def _sizes(text, labels):
    """Return the bytes of the tables and of the arrays on the stack in a source."""
    flash = sum(len(each.encode()) + 1 for each in labels or () if isinstance(each, str))
    ram = 0
    for indent, kind, n in _ARRAY.findall(text):
        size = _WIDTHS[kind] * int(n)
        if indent:
            ram += size
        else:
            flash += size
    return flash, ram


# --- the source: tables of numbers or of codes, and functions for scores and labels -----------------------------------


class _Template(string.Template):
    """Source with names after a dollar sign, which end before an underscore, as in ``$name_scores``."""

    idpattern = "[a-z]+"


# Operations in C, apart from functions of the same name; $f is "f" for functions of float.
_FORMS = INFIX | {
    "Pow": "pow$f({}, {})",
    "Max": "fmax$f({}, {})",
    "Min": "fmin$f({}, {})",
    "Abs": "fabs$f({})",
    "Where": "{} ? {} : {}",
}
_TRUTHS = ("Greater", "GreaterOrEqual")
_HEAD = """\
/*
$title
 *
 * void $name_scores(const $real *x, $real *out);
 *     x: one point, $d numbers. out: memory for its $m scores."""
_PREDICT_HEAD = """\
 * int $name_predict(const $real *x);
 *     Returns the index of the predicted label in $name_labels, from 0.
 * extern $kind $name_labels[$c];"""
_DECISION_HEAD = """\
 * void $name_decision(const $real *x, $real *out);
 *     out: memory for $c numbers, one for each class, from the scores of pairs."""
_PROBABILITIES_HEAD = """\
 * void $name_probabilities(const $real *x, $real *out);
 *     out: memory for the probabilities of the $c classes."""
_END_OF_HEAD = """\
 *
 * C99; link with -lm. The functions allocate no memory and keep no state. Written by Mercer.
 */"""
_PROBABILITIES = """
void $name_probabilities(const $real *x, $real *out)
{
    $real value[$width];
    $real total = 0;
    int j;
    $name_$values(x, value);
$shares
    for (j = 0; j < $c; j++)
        total += out[j];
    for (j = 0; j < $c; j++)
        out[j] = total > 0 ? out[j] / total : 1 / ($real)$c;
}"""
# The lines above for the shares of the classes.
_SOFTMAX = """\
    $real largest = value[0];
    for (j = 1; j < $c; j++)
        largest = fmax$f(largest, value[j]);
    for (j = 0; j < $c; j++)
        out[j] = exp$f($factor * (value[j] - largest));"""
_CURVES = """\
    for (j = 0; j < $q; j++) {
        $read $real *curve = $name_curves + 2 * $k * j;
        out[j] = $probability;
    }"""
_SIGMOID = "1 / (1 + exp$f(curve[0] * value[j] + curve[1]))"
_ISOTONIC = "$name_place(value[j], curve, curve + $k, $k)"
# Two classes have the curve of the second.
_OF_TWO = """
    out[1] = out[0];
    out[0] = 1 - out[1];"""
_PREDICT = """
$kind $name_labels[$c] = {
$entries};

int $name_predict(const $real *x)
{
    $real score[$size];
$answer
}
"""
_LARGEST = """\
    int j, best = 0;
    $name_$source(x, score);
    for (j = 1; j < $c; j++)
        if (score[j] > score[best])
            best = j;
    return best;"""
# The end of the function above for each rule of a label.
_ANSWERS = {
    "sign": """\
    $name_scores(x, score);
    return score[0] > 0;""",
    "inlier": """\
    $name_scores(x, score);
    return score[0] >= 0;""",
    "largest": _LARGEST,
    "probable": _LARGEST,
    "votes": """\
    int votes[$c] = {0};
    int i, j, k = 0, best = 0;
    $name_scores(x, score);
    for (i = 0; i < $c; i++)
        for (j = i + 1; j < $c; j++)
            votes[score[k++] > 0 ? i : j]++;
    for (j = 1; j < $c; j++)
        if (votes[j] > votes[best])
            best = j;
    return best;""",
}
_DECISION = """
void $name_decision(const $real *x, $real *out)
{
    $real score[$m];
    $real sum[$c];
    int i, j, k = 0;
    $name_scores(x, score);
    for (i = 0; i < $c; i++)
        out[i] = sum[i] = 0;
    for (i = 0; i < $c; i++)
        for (j = i + 1; j < $c; j++) {
            out[score[k] >= 0 ? i : j] += 1;
            sum[i] += score[k];
            sum[j] -= score[k++];
        }
    for (i = 0; i < $c; i++)
        out[i] += sum[i] / (3 * (fabs$f(sum[i]) + 1));
}"""
# Piecewise linear function: scale of a column of a table, isotonic regression.
_PLACE = """\
static $real $name_place($real x, $read $real *knots, $read $real *places, int n)
{
    int i = 1;
    if (!(x > knots[0]))
        return places[0];
    while (i < n && x > knots[i])
        i++;
    if (i == n)
        return places[n - 1];
    return places[i - 1] + (x - knots[i - 1]) * ((places[i] - places[i - 1]) / (knots[i] - knots[i - 1]));
}
"""


class _Source:
    """The C source of a model with vectors as numbers of its dtype."""

    # the sum over the vectors: its type, and the lines that start it and write a score
    _sum = "double"
    _start = "sum[j] = $name_intercept[j];"
    _end = "out[j] = ($real)sum[j];"
    _forms = _FORMS

    def __init__(self, stored: Quantised, prefix: str) -> None:
        exported = stored.exported
        self._stored = stored
        self._exported = exported
        self._x = "x" if exported.scaling is None and exported.columns is None else "scaled"
        # points of each curve, more than one of isotonic regression
        self._k = 0 if exported.curves is None else exported.curves.shape[2]
        # names that belong to a view end with its number
        self._views = {key: (k, view) for k, (key, view) in enumerate(exported.views.items())}
        self._f = "f" if exported.dtype == np.float32 else ""
        # the names of `_Template`; "table" and "read" are the words before the type of a table and of a pointer into it
        self._names = {
            "name": prefix,
            "real": "float" if self._f else "double",
            "f": self._f,
            "m": len(exported.intercept),
            "sum": self._sum,
            "d": exported.n_features,
            "title": _comment(exported.title),
            "table": "static const",
            "read": "const",
        }

    def text(self) -> str:
        """Return the whole file."""
        exported = self._exported
        heads = [_HEAD]
        ends = []
        if exported.labels is not None:
            c = len(exported.labels)
            probable = exported.answer == "probable"
            self._names |= {
                "c": c,
                "kind": f"const {'char *const' if isinstance(exported.labels[0], str) else 'long long'}",
                "entries": "".join(f"    {_literal(each)},\n" for each in exported.labels),
                "source": "probabilities" if probable else "scores",
                "size": c if probable else self._names["m"],
            }
            heads.append(_PREDICT_HEAD)
            if exported.per_class:
                heads.append(_DECISION_HEAD)
                ends.append(_DECISION)
            if exported.has_probabilities:
                heads.append(_PROBABILITIES_HEAD)
                ends.append(self._probabilities(c))
            ends.append(_PREDICT.replace("$answer", _ANSWERS[exported.answer]))
        heads.append(_END_OF_HEAD)
        parts = [*heads, *self._includes(), *self._tables(), *self._scores(), *ends]
        return _Template("\n".join(parts)).substitute(self._names)

    def _includes(self):
        return ["#include <math.h>", ""]

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _tables(self):
        exported = self._exported
        tables = {}
        for k, view in self._views.values():
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
        # integers are codes of 8 or 16 bits, or numbers of columns and of vectors
        integer = f"{values.dtype}_t" if values.itemsize < 4 else "int"
        kind = "$real" if values.dtype.kind == "f" else integer
        lines = [f"$table {kind} $name_{name}[{values.size}] = {{"]
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
        lines = ["$sum sum[$m];", "int i, j;"]
        if self._exported.scaling is not None:
            d = self._exported.n_features
            lines += [f"$real scaled[{d}];"]
            lines += _loop("j", d, "scaled[j] = (x[j] - $name_shift[j]) * $name_factor[j];")
        if self._exported.columns is not None:
            lines += self._encoded(self._exported.columns)
        for k, view in self._views.values():
            lines += self._before(k, view)
        lines += self._summed(
            [(term, *self._value(part, term)) for part, term in enumerate(self._exported.terms)]
        )
        head = "void $name_scores(const $real *x, $real *out)"
        place = [] if self._exported.columns is None and self._k < 2 else [_PLACE]
        return [*place, head, "{", *_indented(lines), "}"]

    def _probabilities(self, c):
        """Return the function that turns decision values into the probabilities of c classes."""
        exported = self._exported
        values, width = ("decision", c) if exported.per_class else ("scores", self._names["m"])
        self._names |= {"values": values, "width": width, "k": self._k}
        if exported.curves is None:
            self._names["factor"] = self._number(exported.inverse_temperature)
            shares = _SOFTMAX
        else:
            self._names["q"] = len(exported.curves)
            shares = _CURVES.replace("$probability", _SIGMOID if self._k == 1 else _ISOTONIC)
        if c == 2:
            shares += _OF_TWO
        return _PROBABILITIES.replace("$shares", shares)

    def _encoded(self, columns):
        """Return the lines that make the scaled columns of a table."""
        lines = [f"$real scaled[{len(columns)}];"]
        start = 0
        for k, column in enumerate(columns):
            x = f"x[{column.source}]"
            value = (
                f"isnan({x}) ? {self._number(column.fill)} : {x}"
                if column.kind == "number"
                else " || ".join(
                    f"isnan({x})" if each is None else f"{x} == {self._number(float(each))}"
                    for each in column.marked
                )
            )
            n = len(column.knots)
            lines.append(
                f"scaled[{k}] = $name_place({value}, $name_knots + {start}, $name_places + {start}, {n});"
            )
            start += n
        return lines

    def _summed(self, terms):
        """Return the lines that sum over the vectors of terms, with lines that compute a variable for vector i."""
        width = self._exported.coef.shape[1]
        lines = _loop("j", "$m", self._start)
        for term, inner, value in terms:
            added = self._added(
                f"($sum){value} * $name_coef[{width} * {_place_of_vector(term)} + j]"
            )
            lines += self._over_vectors(term.last - term.first, *inner, *added)
        return [*lines, *_loop("j", "$m", self._end)]

    def _over_vectors(self, n, *body):
        """Return the loop over n vectors i; ``own`` is the class of the vector if coefficients are packed."""
        if self._exported.counts is None:
            return _loop("i", n, *body)
        return [
            "int own = 0;",
            *_loop("i", n, "while (i == $name_ends[own])", "    own++;", *body),
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

    def _before(self, k, view):
        """Return the lines that map x and compute its squared norm, before the loop over vectors."""
        lines = []
        x = self._x
        for j, A in enumerate(view.maps):
            table = f"$name_map{k}_{j}"
            out = f"x{k}_{j}"
            if A.ndim == 2:
                product = f"{out}[i] += {table}[{A.shape[1]} * i + j] * {x}[j];"
                body = [f"{out}[i] = 0;", *_loop("j", A.shape[1], product)]
            else:
                body = [
                    f"{out}[i] = "
                    + (f"{table}[i] * {x}[i];" if A.dtype.kind == "f" else f"{x}[{table}[i]];")
                ]
            lines += [f"$real {out}[{len(A)}];", *_loop("i", len(A), *body)]
            x = out
        if "sqnorm_x" in view.inputs:
            square = f"sqnorm_x{k} += {x}[j] * {x}[j];"
            lines += [f"$real sqnorm_x{k} = 0;", *_loop("j", view.points.shape[1], square)]
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
        sums["absdist"] = "fabs$f(difference)"
        lines = [f"$read {kind} *z{k} = $name_points{k} + {q} * i;"]
        lines += [f"$real {name}{k} = 0;" for name in wanted]
        body = [f"const $real z = {number};"]
        body += (
            [f"const $real difference = {x}[j] - z;"] if {"sqdist", "absdist"} & view.inputs else []
        )
        return [*lines, *_loop("j", q, *body, *(f"{name}{k} += {sums[name]};" for name in wanted))]

    def _mapped(self, k, view):
        """Return the name of the point after the maps of view k."""
        return f"x{k}_{len(view.maps) - 1}" if view.maps else self._x

    def _coordinate(self, k):
        """Return the type of the vectors in their table, and the expression of coordinate j of a vector."""
        return "$real", f"z{k}[j]"

    def _value(self, part, term):
        """Return the lines that compute the kernel value of a term for its vector i, and the name of its variable."""
        own = [each for key, each in self._views.items() if key[0] == part]
        lines = [line for each in own for line in self._pair(*each)]

        def written(each, operands):
            if each.is_input:
                return f"{each.operation}{self._views[view_of(each)][0]}"
            if each.operation == "constant":
                return self._number(each.value)
            name = f"t{len(lines)}"
            kind = "int" if each.operation in _TRUTHS else "$real"
            # two minus signs in a row would be the operator --
            operands = [f"({text})" if text.startswith("-") else text for text in operands]
            form = self._forms.get(each.operation, each.operation.lower() + "$f({})")
            lines.append(f"const {kind} {name} = {form.format(*operands)};")
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
#define $name_table static const __flash
#define $name_read const __flash
#else
#define $name_table static const
#define $name_read const
#endif
#ifdef __GNUC__
#define $name_apart static __attribute__((noinline))
#else
#define $name_apart static
#endif
"""
# Exponential, with a relative error below 1e-5. Of t / log(2) in steps of 2^-20 four bits select a power of 2 from a
# table, in steps of 2^-23, and the 16 bits of r give 2^r - 1, in steps of 2^-20, by a polynomial of degree 2. Their sum
# becomes the bits of an IEEE float.
_EXP = """\
$name_table uint32_t $name_powers[16] = {
    8388608, 8760003, 9147842, 9552851, 9975793, 10417459, 10878679, 11360319,
    11863283, 12388515, 12937001, 13509770, 14107898, 14732507, 15384770, 16065911
};

static float $name_exp(float t)
{
    uint32_t place, power;
    uint16_t rest;
    union {
        uint32_t bits;
        float number;
    } found;
    if (!(fabsf(t) <= 87.0f))
        return t < 0 ? 0.0f : t > 0 ? 6.0760302e37f : t;
    place = (uint32_t)((int32_t)(t * 1512775.4f) + 134217728);
    rest = (uint16_t)place;
    power = $name_powers[(place >> 16) & 15];
    rest = (uint16_t)(((uint32_t)rest * 45427u >> 16) + (((uint32_t)rest * rest >> 16) * 998u >> 16));
    power += (uint32_t)(uint16_t)(power >> 8) * rest >> 12;
    found.bits = ((place & 0xfff00000u) << 3) + power - 16777216u;
    return found.number;
}
"""
# Number from its half precision.
_HALF = """\
static float $name_half(uint16_t h)
{
    const int exponent = (h >> 10) & 31, fraction = h & 1023;
    const float size = exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    return h >> 15 ? -size : size;
}
"""
# Codes of numbers of parts, 0 for NaN, and sums of products of codes. AVR multiplies 8 bits at a time; loops in
# separate functions keep their sums in registers.
_BYTES = """\
static int16_t $name_code(float t)
{
    return (int16_t)(((int32_t)(fabsf(t) < 8388608.0f ? t : 0.0f) + 128) >> 8);
}

$name_apart void $name_codes(const float *scaled, float inverse, int8_t *high, uint8_t *low, int n)
{
    for (; n > 0; n--) {
        const int16_t code = $name_code(*scaled++ * inverse);
        *high++ = (int8_t)(code >> 8);
        *low++ = (uint8_t)code;
    }
}

$name_apart int32_t $name_product(const int8_t *high, const uint8_t *low, $name_read int8_t *z, int n)
{
    int32_t upper = 0;
    uint32_t lower = 0;
    for (; n > 0; n--) {
        const int8_t code = *z++;
        const int32_t part = (int16_t)(*low++ * code);
        upper += (int16_t)(*high++ * code);
        lower += (uint32_t)part;
    }
    return (int32_t)((uint32_t)upper * 256u + lower);
}

$name_apart void $name_add(int16_t value, $name_read int16_t *coef, int32_t *sum$own)
{
    int j;
$body
}
"""
# The lines that turn a point into codes: its size, and sums over its coordinates t from the centre.
_POINT = """\
int8_t high{k}[{q}];
uint8_t low{k}[{q}];
float scaled{k}[{q}];
float step{k} = 1e-30f;
for (j = 0; j < {q}; j++) {{
    const float t = {x}[j] - $name_centre{k}[j];
    scaled{k}[j] = t * $name_scale{k}[j];
    if (fabsf(scaled{k}[j]) > step{k})
        step{k} = fabsf(scaled{k}[j]);
{added}}}
$name_codes(scaled{k}, {parts}.0f / step{k}, high{k}, low{k}, {q});
step{k} /= {limit}.0f;
"""
# The name and the terms of the sum that an input of the kernel needs.
_SUMS = {"sqdist": ("square", "t * t"), "dot": ("along", "t * $name_centre{k}[j]")}


class _QuantisedSource(_Source):
    """The C source of a model with codes of vectors; a class for each type of codes has its functions."""

    _start = "sum[j] = 0;"
    _end = "out[j] = sum[j] * $name_coef_scale[j] + $name_intercept[j];"
    _forms = _FORMS | {"Exp": "$name_exp({})"}
    _functions = ""

    def __init__(self, stored: Quantised, prefix: str) -> None:
        super().__init__(stored, prefix)
        self._codes = list(stored.vectors.values())
        self._names |= {"table": f"{prefix}_table", "read": f"{prefix}_read"}

    def _includes(self):
        used = {
            each.operation for term in self._exported.terms for each in ordered(term.expression)
        }
        added = self._added(f"(int32_t)value * coef[j] / {self._stored.divisor}")
        self._names |= {
            "own": "" if self._exported.counts is None else ", int own",
            "body": "\n".join(_indented(added)),
        }
        parts = [_MEMORY, *([_EXP] if "Exp" in used else []), self._functions]
        return ["#include <math.h>", "#include <stdint.h>", "", *parts]

    def _coefficients(self):
        return {"coef": self._stored.coef_codes, "coef_scale": self._stored.coef_scale}


class _HalvesSource(_QuantisedSource):
    """The C source of a model with vectors in half precision."""

    _sum = "float"
    _functions = _HALF

    def _vectors(self, k, view):
        return {"points": self._codes[k].codes.view("uint16"), "centre": self._codes[k].centre}

    def _coordinate(self, k):
        return "uint16_t", f"$name_centre{k}[j] + $name_half(z{k}[j])"


class _BytesSource(_QuantisedSource):
    """The C source of a model with vectors in 8 bits, whose products are sums of integers."""

    _sum = "int32_t"
    _end = "out[j] = (float)sum[j] * largest * $name_coef_scale[j] + $name_intercept[j];"
    _functions = _BYTES

    def _vectors(self, k, view):
        vectors = self._codes[k]
        tables = {"points": vectors.codes, "scale": vectors.scale, "centre": vectors.centre}
        tables |= {"norm": vectors.norms} if "sqdist" in view.inputs else {}
        tables |= {"shift": vectors.shifts} if "dot" in view.inputs else {}
        tables |= {"sqnorm_z": (vectors.points**2).sum(axis=1)} if "sqnorm_z" in view.inputs else {}
        return tables

    def _summed(self, terms):
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
            *_loop("j", "$m", self._start),
            f"const float inverse = {VALUE * PARTS}.0f / largest;",
        ]
        own = "" if self._exported.counts is None else ", own"
        added = f"$name_add($name_code(values[i] * inverse), $name_coef + {width} * i, sum{own});"
        lines += [*self._over_vectors(n, added), f"largest *= {self._stored.divisor / VALUE!r}f;"]
        return [*lines, *_loop("j", "$m", self._end)]

    def _before(self, k, view):
        lines = super()._before(k, view)
        if not view.inputs & {"dot", "sqdist"}:
            return lines
        names = {"k": k, "x": self._mapped(k, view), "q": view.points.shape[1]}
        limit = self._codes[k].limit
        used = [_SUMS[each] for each in ("sqdist", "dot") if each in view.inputs]
        added = "".join(f"    {name}{{k}} += {term};\n" for name, term in used).format(**names)
        source = "".join(f"float {name}{k} = 0;\n" for name, _ in used)
        source += _POINT.format(added=added, limit=limit, parts=limit * PARTS, **names)
        source += f"const float twice{k} = 2 * step{k};\n" if "sqdist" in view.inputs else ""
        return lines + source.splitlines()

    def _pair(self, k, view):
        values = {
            "dot": f"step{k} * whole{k} + along{k} + $name_shift{k}[i]",
            "sqdist": f"fmaxf(square{k} + $name_norm{k}[i] - twice{k} * whole{k}, 0)",
            "sqnorm_z": f"$name_sqnorm_z{k}[i]",
        }
        q = view.points.shape[1]
        whole = f"const float whole{k} = (float)$name_product(high{k}, low{k}, $name_points{k} + {q} * i, {q});"
        lines = [whole] if view.inputs & {"dot", "sqdist"} else []
        return lines + [
            f"const float {each}{k} = {text};"
            for each, text in values.items()
            if each in view.inputs
        ]


# The source of each type of codes.
_SOURCES: dict[str, type[_QuantisedSource]] = {"float16": _HalvesSource, "int8": _BytesSource}
