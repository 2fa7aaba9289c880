"""Reader of LIBSVM text models; every line is checked before a model is built."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mercer.expansion import Expansion
from mercer.formats.files import ModelFileError
from mercer.formats.fitted_expansion import FittedExpansion, PrecomputedColumns
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.function import FunctionKernel
from mercer.kernels.radial import Gaussian
from mercer.solvers.svm.one_vs_one import unpack

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_INTEGER = re.compile(r"[+-]?\d{1,10}")
_CLASSIFIERS = ("c_svc", "nu_svc")
_SINGLE = ("one_class", "epsilon_svr", "nu_svr")
# The class of each kernel type and the header lines that it needs.
KERNELS = {
    "linear": (Linear, ()),
    "polynomial": (Polynomial, ("degree", "gamma", "coef0")),
    "rbf": (Gaussian, ("gamma",)),
    "sigmoid": (Sigmoid, ("gamma", "coef0")),
    "precomputed": (None, ()),
}
# The mean of rows with more columns would take more than 512 MB.
_LARGEST_INDEX = 2**26
# Rows are stored dense from this share of nonzeros: products are faster, and memory is at most three times as large.
_DENSE = 0.25


def text_of(source):
    """Return the text of a LIBSVM model given by its content (a string with a line break) or its path."""
    if isinstance(source, str) and "\n" in source:
        return source
    return Path(os.fspath(source)).read_text(encoding="utf-8")


def read_model(text, n_features=None):
    r"""Return the FittedExpansion of a LIBSVM text model; ``n_features`` defaults to its largest index.

    Classes keep the order of LIBSVM, except that the two classes of a binary model are swapped, so that positive
    decision values mean the second. A ModelFileError names the first wrong line. Arrays are allocated by the number
    of lines, never by sizes that the header states.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.formats.libsvm import read_model
    >>> head = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n"
    >>> model = read_model(head + "2 1:3 2:1\n")
    >>> model(np.array([[1.0, 1.0]]))
    array([[7.5]])
    """
    lines = text.splitlines()
    header = _header(lines)
    coef, rows = _vectors(lines, header)
    if header.kernel_type == "precomputed":
        kernel = FunctionKernel(PrecomputedColumns())
        points = _serials(rows)
    else:
        kernel, points = header.kernel, _matrix(rows, n_features, header)
    if not len(coef):
        # no support vectors: one point with coefficient 0 carries the kernel
        coef = np.zeros((1, 1))
    classes = None
    if header.classifies:
        classes = np.array(header.labels[::-1] if len(header.labels) == 2 else header.labels)
        if len(classes) > 2:
            coef = unpack(coef, header.sizes)
    return FittedExpansion(Expansion(kernel, points, coef), -np.array(header.rho), classes)


def svm_type(text):
    r"""Return the ``svm_type`` of a LIBSVM text model.

    Examples
    --------
    >>> from mercer.formats.libsvm import svm_type
    >>> svm_type("svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n2 1:3\n")
    'epsilon_svr'
    """
    return _header(text.splitlines()).svm_type


# --- the header ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    """The lines before SV, checked against each other; ``end`` is the line number of SV."""

    svm_type: str
    kernel_type: str
    numbers: dict
    rho: list
    labels: list
    sizes: list
    total: int
    n_classes: int
    end: int

    @property
    def classifies(self):
        return self.svm_type in _CLASSIFIERS

    @property
    def kernel(self):
        """The kernel on rows."""
        kind, names = KERNELS[self.kernel_type]
        return kind(**{name: self.numbers[name] for name in names})


# How many values each header line holds.
_SIZES = dict.fromkeys(("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv"), "one")
_SIZES |= dict.fromkeys(("rho", "probA", "probB"), "pairs") | dict.fromkeys(("label", "nr_sv"), "classes")
_SIZES |= {"prob_density_marks": "ten"}


def _header(lines):
    found, places = {}, {}
    for number, line in enumerate(lines, 1):
        key, *values = line.split() or [""]
        if key == "SV" and not values:
            return _checked(_Lines(found, places, number))
        if key not in _SIZES:
            raise ModelFileError(
                f"line {number}: {_cut(line)!r} is not a LIBSVM header line; it must start with one of "
                f"{sorted(_SIZES)} or be SV."
            )
        if key in found:
            raise ModelFileError(f"line {number}: {key} is given twice, first on line {places[key]}.")
        found[key], places[key] = values, number
    raise ModelFileError(f"line {len(lines) + 1}: the text ends before a line 'SV'; it is not a LIBSVM model.")


@dataclass(frozen=True)
class _Lines:
    """The words and the line number of each header key."""

    words: dict
    places: dict
    end: int

    def values(self, key, read, allowed=None):
        """Return the values of a line, each converted by ``read(word, line, name or allowed)``."""
        if key not in self.words:
            raise ModelFileError(f"line {self.end}: the header has no line {key!r}.")
        return [read(word, self.places[key], allowed or key) for word in self.words[key]]

    def one(self, key, read, allowed=None):
        """Return the value of a line that must have exactly one."""
        values = self.values(key, read, allowed)
        if len(values) != 1:
            raise self.error(key, f"{key} has {len(values)} values; it must have 1.")
        return values[0]

    def error(self, key, message):
        """Return an error that names the line of a key."""
        return ModelFileError(f"line {self.places[key]}: {message}")


def _checked(lines):
    """Return the header, or raise for a line that is missing or contradicts another."""
    svm_type = lines.one("svm_type", _name, _CLASSIFIERS + _SINGLE)
    kernel_type = lines.one("kernel_type", _name, tuple(KERNELS))
    n_classes, total = lines.one("nr_class", _integer), lines.one("total_sv", _integer)
    classifies = svm_type in _CLASSIFIERS
    if n_classes < 2 or (n_classes > 2 and not classifies):
        allowed = "at least 2" if classifies else "2"
        raise lines.error("nr_class", f"nr_class is {n_classes}; for {svm_type} it must be {allowed}.")
    counts = {"one": 1, "ten": 10, "classes": n_classes, "pairs": n_classes * (n_classes - 1) // 2}
    for key, words in lines.words.items():
        expected = counts[_SIZES[key]]
        if len(words) != expected:
            raise lines.error(key, f"{key} has {len(words)} values; for nr_class {n_classes} it must have {expected}.")
    numbers = _parameters(lines, kernel_type)
    labels = lines.values("label", _integer) if classifies else []
    sizes = lines.values("nr_sv", _integer) if classifies else []
    if len(set(labels)) != len(labels):
        raise lines.error("label", f"labels {labels} repeat.")
    if classifies and (min(sizes) < 0 or sum(sizes) != total):
        raise lines.error(
            "nr_sv", f"nr_sv {_cut(str(sizes))} must be numbers of at least 0 that add up to total_sv {total}."
        )
    rho = lines.values("rho", _number)
    return _Header(svm_type, kernel_type, numbers, rho, labels, sizes, total, n_classes, lines.end)


def _parameters(lines, kernel_type):
    """Return the parameters of the kernel by name."""
    numbers = {key: lines.one(key, _number) for key in KERNELS[kernel_type][1]}
    if "gamma" in numbers and not numbers["gamma"] > 0:
        raise lines.error("gamma", f"gamma is {numbers['gamma']}; it must be above 0.")
    if "degree" in numbers:
        numbers["degree"] = lines.one("degree", _integer)
        if not 1 <= numbers["degree"] <= 1000:
            raise lines.error("degree", f"degree is {numbers['degree']}; it must be between 1 and 1000.")
    return numbers


def _name(word, line, allowed):
    if word not in allowed:
        raise ModelFileError(f"line {line}: {_cut(word)!r} must be one of {allowed}.")
    return word


def _integer(word, line, name):
    if not _INTEGER.fullmatch(word):
        raise ModelFileError(f"line {line}: {name} {_cut(word)!r} must be an integer of at most ten digits.")
    return int(word)


def _number(word, line, name):
    # float() would also accept NaN, infinity and underscores
    value = float(word) if len(word) < 400 and word.isascii() and _NUMBER.fullmatch(word) else np.inf
    if not np.isfinite(value):
        raise ModelFileError(f"line {line}: {name} {_cut(word)!r} must be a finite number.")
    return value


def _cut(text):
    return text if len(text) <= 60 else text[:60] + "..."


# --- the support vectors ---------------------------------------------------------------------------------------------


def _vectors(lines, header):
    """Return the coefficients (n, m), and the line number, indices and values of each support vector."""
    body = lines[header.end :]
    while body and not body[-1].strip():
        body.pop()
    if len(body) != header.total:
        raise ModelFileError(
            f"line {header.end + len(body)}: {len(body)} support vectors follow SV; total_sv is {header.total}."
        )
    width = header.n_classes - 1
    coef, rows = np.empty((len(body), width if len(body) else 1)), []
    for i, line in enumerate(body):
        number, words = header.end + 1 + i, line.split()
        if len(words) < width or any(":" in word for word in words[:width]):
            raise ModelFileError(f"line {number}: a support vector must start with {width} coefficients.")
        coef[i] = [_number(word, number, "coefficient") for word in words[:width]]
        rows.append((number, *_entries(words[width:], number, header.kernel_type == "precomputed")))
    return coef, rows


def _entries(words, line, precomputed):
    """Return the indices and values of one support vector."""
    indices, values = [], []
    least = 0 if precomputed else 1
    for word in words:
        index, colon, value = word.partition(":")
        if not colon:
            raise ModelFileError(f"line {line}: {_cut(word)!r} must be a pair index:value.")
        index = _integer(index, line, "index")
        if not least <= index <= _LARGEST_INDEX:
            raise ModelFileError(f"line {line}: index {index} must be between {least} and {_LARGEST_INDEX}.")
        if indices and index <= indices[-1]:
            raise ModelFileError(f"line {line}: index {index} follows {indices[-1]}; indices must ascend.")
        indices.append(index)
        values.append(_number(value, line, "value"))
    return indices, values


def _serials(rows):
    """Return the training points, counted from 0, that are the support vectors of a precomputed kernel."""
    serials = []
    for line, indices, values in rows:
        serial = values[0] if indices == [0] else 0
        if serial != int(serial) or not 1 <= serial <= _LARGEST_INDEX:
            raise ModelFileError(
                f"line {line}: with a precomputed kernel a support vector must be 0:serial, serial an integer from 1."
            )
        serials.append(int(serial) - 1)
    return np.array(serials or [0])


def _matrix(rows, n_features, header):
    """Return the support vectors, at least one row, dense if few of their entries are zero."""
    widest = max(((indices[-1], line) for line, indices, _ in rows if indices), default=(1, header.end))
    if n_features is not None and widest[0] > n_features:
        raise ModelFileError(f"line {widest[1]}: index {widest[0]} exceeds n_features = {n_features}.")
    lengths = [len(indices) for _, indices, _ in rows] or [0]
    columns = np.array([index - 1 for _, indices, _ in rows for index in indices], np.int64)
    entries = np.array([value for _, _, values in rows for value in values], np.float64)
    shape = len(lengths), n_features or widest[0]
    points = sp.csr_matrix((entries, columns, np.concatenate([[0], np.cumsum(lengths)])), shape)
    return points.toarray() if points.nnz >= _DENSE * shape[0] * shape[1] else points
