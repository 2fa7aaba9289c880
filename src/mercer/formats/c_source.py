"""The C99 source of an exported model: tables of numbers, and functions for scores and labels."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import shown
from mercer._compute.symbols import INFIX, NORMS, PAIRS, folded
from mercer.formats.portable import view_of

if TYPE_CHECKING:
    from mercer.formats.portable import Portable

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
_WIDTH = 100


class Source:
    """The C source of a Portable model."""

    def __init__(self, exported: Portable, prefix: str) -> None:
        self._exported, self._prefix = exported, prefix
        self._real = _TYPES[exported.dtype.name]
        self._f = "f" if self._real == "float" else ""
        # the type of the sum over the vectors, and the words before the type of a table and of a pointer into it
        self._sum, self._table_of, self._read = "double", "static const", "const"
        self._forms = _FORMS
        self._x = "x" if exported.shift is None else "scaled"
        # names that belong to a view end with its number
        self._views = [(f"{k}", key, view) for k, (key, view) in enumerate(exported.views.items())]

    def text(self) -> str:
        """Return the whole file."""
        parts = [self._head(), *self._includes(), *self._tables(), *self._scores()]
        if self._exported.labels is not None:
            parts += ["", *self._labels(), "", *self._predict()]
        if self._exported.per_class:
            parts += ["", *self._decision()]
        return "\n".join(parts) + "\n"

    def _head(self):
        exported, name, real = self._exported, self._prefix, self._real
        title = exported.title.encode("ascii", "backslashreplace").decode()
        for mark in ("*/", "/*", "??"):
            title = title.replace(mark, " ".join(mark))
        lines = [
            *textwrap.wrap(title, _WIDTH),
            "",
            f"void {name}_scores(const {real} *x, {real} *out);",
            f"    x: one point, {exported.n_features} numbers. out: memory for its {len(exported.intercept)} scores.",
        ]
        if exported.labels is not None:
            lines += [
                f"int {name}_predict(const {real} *x);",
                f"    Returns the index of the predicted label in {name}_labels, from 0.",
                f"extern {self._table_of_labels()};",
            ]
        if exported.per_class:
            lines += [
                f"void {name}_decision(const {real} *x, {real} *out);",
                f"    out: memory for {len(exported.labels)} numbers, one for each class, from the scores of pairs.",
            ]
        lines += ["", "C99; link with -lm. The functions allocate no memory and keep no state. Written by Mercer."]
        return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])

    def _includes(self):
        return ["#include <math.h>", ""]

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _tables(self):
        lines = []
        for k, key, view in self._views:
            lines += self._vectors(k, key, view) if view.inputs - {"sqnorm_x"} else []
            for j, A in enumerate(view.maps):
                lines += self._table(f"map{k}_{j}", A)
        for name in ("shift", "factor") if self._exported.shift is not None else ():
            lines += self._table(name, getattr(self._exported, name))
        counts = self._exported.counts
        lines += [] if counts is None else self._table("ends", np.cumsum(counts))
        return [*lines, *self._coefficients(), *self._table("intercept", self._exported.intercept)]

    def _vectors(self, k, _key, view):
        """Return the tables of the vectors of a view."""
        return self._table(f"points{k}", view.points)

    def _coefficients(self):
        """Return the tables of the coefficients."""
        return self._table("coef", self._exported.coef)

    def _table(self, name, values):
        kind = self._real if values.dtype.kind == "f" else _CODES.get(values.dtype.name, "int")
        lines = [f"{self._table_of} {kind} {self._prefix}_{name}[{values.size}] = {{"]
        for row in np.atleast_2d(values):
            written = ", ".join(map(self._number, row)) + ","
            lines += [f"    {line}" for line in textwrap.wrap(written, _WIDTH, break_on_hyphens=False)]
        return [*lines, "};", ""]

    def _number(self, value):
        # enough digits to read back the same number
        return f"{self._exported.constant(value)!s}{self._f}" if isinstance(value, float) else str(value)

    # --- scores ------------------------------------------------------------------------------------------------------

    def _scores(self):
        name, real = self._prefix, self._real
        lines = [f"{self._sum} sum[{len(self._exported.intercept)}];", "int i, j;"]
        if self._exported.shift is not None:
            d = self._exported.n_features
            lines += [f"{real} scaled[{d}];"]
            lines += loop("j", d, f"scaled[j] = (x[j] - {name}_shift[j]) * {name}_factor[j];")
        for k, _, view in self._views:
            lines += self._before(k, view)
        lines += self._summed([(term, *self._value(part, term)) for part, term in enumerate(self._exported.terms)])
        return [f"void {name}_scores(const {real} *x, {real} *out)", "{", *_indented(lines), "}"]

    def _summed(self, terms):
        """Return the lines that sum over the vectors of terms, with lines that compute a variable for vector i."""
        width = self._exported.coef.shape[1]
        m = len(self._exported.intercept)
        lines = loop("j", m, self._start())
        for term, inner, value in terms:
            added = self._added(f"({self._sum}){value} * {self._prefix}_coef[{width} * {place_of_vector(term)} + j]")
            lines += self._over_vectors(term.last - term.first, *inner, *added)
        return [*lines, *loop("j", m, self._end())]

    def _over_vectors(self, n, *body):
        """Return the loop over n vectors i; ``own`` is the class of the vector if coefficients are packed."""
        if self._exported.counts is None:
            return loop("i", n, *body)
        return ["int own = 0;", *loop("i", n, f"while (i == {self._prefix}_ends[own])", "    own++;", *body)]

    def _added(self, term):
        """Return the lines that add the terms of a vector, with its coefficient j, to the sums."""
        width = self._exported.coef.shape[1]
        if self._exported.counts is None:
            return loop("j", width, f"sum[j] += {term};")
        # the pairs of the vector's class with those before it, then with those after it
        before = loop("j", "own", f"sum[k] += {term};", f"k += {width - 1} - j;")
        return ["int k = own - 1;", *before, "k++;", *loop("j", width, f"sum[k++] += {term};", start="own")]

    def _start(self):
        """Return the line that starts the sum over the vectors, and ``_end`` that which writes a score."""
        return f"sum[j] = {self._prefix}_intercept[j];"

    def _end(self):
        return f"out[j] = ({self._real})sum[j];"

    def _before(self, k, view):
        """Return the lines that map x and compute its squared norm, before the loop over vectors."""
        lines, x, real = [], self._x, self._real
        for j, A in enumerate(view.maps):
            table, out = f"{self._prefix}_map{k}_{j}", f"x{k}_{j}"
            if A.ndim == 2:
                product = f"{out}[i] += {table}[{A.shape[1]} * i + j] * {x}[j];"
                body = [f"{out}[i] = 0;", *loop("j", A.shape[1], product)]
            else:
                body = [f"{out}[i] = " + (f"{table}[i] * {x}[i];" if A.dtype.kind == "f" else f"{x}[{table}[i]];")]
            lines += [f"{real} {out}[{len(A)}];", *loop("i", len(A), *body)]
            x = out
        if "sqnorm_x" in view.inputs:
            square = f"sqnorm_x{k} += {x}[j] * {x}[j];"
            lines += [f"{real} sqnorm_x{k} = 0;", *loop("j", view.points.shape[1], square)]
        return lines

    def _pair(self, k, view):
        """Return the lines that sum over the features of x and vector i."""
        q = view.points.shape[1]
        wanted = sorted(view.inputs - {"sqnorm_x"})
        if not wanted:
            return []
        x, (kind, number) = self._mapped(k, view), self._coordinate(k)
        sums = {"dot": f"{x}[j] * z", "sqdist": "difference * difference", "sqnorm_z": "z * z"}
        sums["absdist"] = f"fabs{self._f}(difference)"
        lines = [f"{self._read} {kind} *z{k} = {self._prefix}_points{k} + {q} * i;"]
        lines += [f"{self._real} {name}{k} = 0;" for name in wanted]
        body = [f"const {self._real} z = {number};"]
        body += [f"const {self._real} difference = {x}[j] - z;"] if {"sqdist", "absdist"} & set(wanted) else []
        return [*lines, *loop("j", q, *body, *(f"{name}{k} += {sums[name]};" for name in wanted))]

    def _mapped(self, k, view):
        """Return the name of the point after the maps of view k."""
        return f"x{k}_{len(view.maps) - 1}" if view.maps else self._x

    def _coordinate(self, k):
        """Return the type of the vectors in their table, and the expression of coordinate j of a vector."""
        return self._real, f"z{k}[j]"

    def _value(self, part, term):
        """Return the lines that compute the kernel value of a term for its vector i, and the name of its variable."""
        numbers = {key: k for k, key, _ in self._views}
        lines = [line for k, key, view in self._views if key[0] == part for line in self._pair(k, view)]

        def written(each, operands):
            if each.operation in PAIRS + NORMS:
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

    # --- answers -----------------------------------------------------------------------------------------------------

    def _table_of_labels(self):
        labels = self._exported.labels
        kind = "const char *const" if isinstance(labels[0], str) else "const long long"
        return f"{kind} {self._prefix}_labels[{len(labels)}]"

    def _labels(self):
        return [
            f"{self._table_of_labels()} = {{",
            *(f"    {_literal(each)}," for each in self._exported.labels or ()),
            "};",
        ]

    def _predict(self):
        name = self._prefix
        m = len(self._exported.intercept)
        c = len(self._exported.labels)
        answer, call = self._exported.answer, f"{name}_scores(x, score);"
        if answer in ("sign", "inlier"):
            lines = [call, f"return score[0] {'>' if answer == 'sign' else '>='} 0;"]
        elif answer == "largest":
            lines = ["int j, best = 0;", call, *_best("score", c)]
        else:
            vote = loop("j", c, "votes[score[k++] > 0 ? i : j]++;", start="i + 1")
            lines = [f"int votes[{c}] = {{0}};", "int i, j, k = 0, best = 0;", call, *loop("i", c, *vote)]
            lines += _best("votes", c)
        lines = [f"{self._real} score[{m}];", *lines]
        return [f"int {name}_predict(const {self._real} *x)", "{", *_indented(lines), "}"]

    def _decision(self):
        name = self._prefix
        real = self._real
        m = len(self._exported.intercept)
        c = len(self._exported.labels)
        pair = ["out[score[k] >= 0 ? i : j] += 1;", "sum[i] += score[k];", "sum[j] -= score[k++];"]
        lines = [f"{real} score[{m}];", f"{real} sum[{c}];", "int i, j, k = 0;", f"{name}_scores(x, score);"]
        lines += loop("i", c, "out[i] = sum[i] = 0;")
        lines += loop("i", c, *loop("j", c, *pair, start="i + 1"))
        lines += loop("i", c, f"out[i] += sum[i] / (3 * (fabs{self._f}(sum[i]) + 1));")
        return [f"void {name}_decision(const {real} *x, {real} *out)", "{", *_indented(lines), "}"]


def place_of_vector(term):
    """Return the row of the coefficients of vector i of a term."""
    return f"(i + {term.first})" if term.first else "i"


def loop(i: str, n: int | str, *body: Any, start: int | str = 0) -> list[str]:
    """Return the lines of a for loop over i = start, ..., n - 1."""
    head = f"for ({i} = {start}; {i} < {n}; {i}++)"
    return [head, *_indented(body)] if len(body) == 1 else [head + " {", *_indented(body), "}"]


def _best(values, n):
    """Return the lines that return the index of the first largest value."""
    return [*loop("j", n, f"if ({values}[j] > {values}[best])", "    best = j;", start=1), "return best;"]


def _indented(lines):
    return [f"    {line}" for line in lines]


def _literal(label):
    """Return a label as a C literal."""
    if not isinstance(label, str):
        # C has no literal for the smallest long long
        return f"{label}LL" if label > -(2**63) else f"{label + 1}LL - 1"
    if "\0" in label:
        raise ValueError(f"label {shown(label)} must not contain the character 0, which ends strings in C.")
    # octal escapes have at most three digits, so no digit that follows joins them; question marks could form trigraphs
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in label.encode()) + '"'
