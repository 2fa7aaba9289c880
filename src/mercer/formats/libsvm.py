"""Reader of LIBSVM's text models: every line is checked before anything is made of it."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mercer.estimators._svm import unpack
from mercer.expansion import Expansion
from mercer.formats._as_expansion import FittedScores, GivenValues, ModelFileError, as_expansion
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.function import FunctionKernel
from mercer.kernels.radial import Gaussian

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_WHOLE = re.compile(r"[+-]?\d{1,10}")
# Classifiers, then machines of one column.
_CLASSIFIERS = ("c_svc", "nu_svc")
_OTHERS = ("one_class", "epsilon_svr", "nu_svr")
# With the lines that each needs.
_KERNELS = {
    "linear": (Linear, ()),
    "polynomial": (Polynomial, ("degree", "gamma", "coef0")),
    "rbf": (Gaussian, ("gamma",)),
    "sigmoid": (Sigmoid, ("gamma", "coef0")),
    "precomputed": (None, ()),
}
# The mean of rows with more columns would take more than half a gigabyte.
_LARGEST_INDEX = 2**26
# Rows with at least this share of their entries are kept dense: products are faster, and memory at most threefold.
_DENSE = 0.25


@as_expansion.register
def _of_path(path: os.PathLike):
    return read_model(Path(path).read_text(encoding="utf-8"))


@as_expansion.register
def _of_text(text: str):
    return read_model(text) if "\n" in text else _of_path(Path(text))


def read_model(text, n_features=None):
    r"""Return the scores of a text model of LIBSVM.

    Parameters
    ----------
    text : str
        What ``svm-train`` or ``svm_save_model`` wrote.
    n_features : int, optional
        Features of points to come; the largest index in the model when left out.

    Returns
    -------
    FittedScores
        Scores are LIBSVM's decision values. Classes are in LIBSVM's order, the two of a binary model swapped, so that
        positive scores mean the second.

    Raises
    ------
    ModelFileError
        With the number of the first line that is wrong.

    Notes
    -----
    Nothing is allocated by what the header announces: sizes follow the lines that are there, and the header must agree.

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
        kernel = FunctionKernel(GivenValues())
        points = _serials(rows)
    else:
        kernel, points = header.kernel, _matrix(rows, n_features, header)
    if not len(coef):
        # a regression within epsilon everywhere: one point of no weight carries the kernel
        coef = np.zeros((1, 1))
    classes = None
    if header.classifies:
        classes = np.array(header.labels[::-1] if len(header.labels) == 2 else header.labels)
        if len(classes) > 2:
            coef = unpack(coef, np.repeat(np.arange(len(classes)), header.sizes), len(classes))
    return FittedScores(Expansion(kernel, points, coef), -np.array(header.rho), classes)


def machine_type(text):
    r"""Return what kind of machine a text model of LIBSVM is.

    Parameters
    ----------
    text : str

    Returns
    -------
    {"c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class"}

    Raises
    ------
    ModelFileError

    Examples
    --------
    >>> from mercer.formats.libsvm import machine_type
    >>> machine_type("svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n2 1:3\n")
    'epsilon_svr'
    """
    return _header(text.splitlines()).svm_type


# --- the header ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    """What the lines before SV say, in agreement with each other."""

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
        kind, names = _KERNELS[self.kernel_type]
        return kind(**{name: self.numbers[name] for name in names})


# How many values each line has.
_SIZES = dict.fromkeys(("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv"), "one")
_SIZES |= dict.fromkeys(("rho", "probA", "probB"), "pairs") | dict.fromkeys(("label", "nr_sv"), "classes")
_SIZES |= {"prob_density_marks": "ten"}


def _header(lines):
    found, places = {}, {}
    for number, line in enumerate(lines, 1):
        key, *values = line.split() or [""]
        if key == "SV" and not values:
            return _checked(found, places, number)
        if key not in _SIZES:
            raise ModelFileError(
                f"line {number}: {_cut(line)!r} is no line of a LIBSVM header, {sorted(_SIZES)} or SV."
            )
        if key in found:
            raise ModelFileError(f"line {number}: {key} is given a second time, first on line {places[key]}.")
        found[key], places[key] = values, number
    raise ModelFileError(f"line {len(lines) + 1}: the text ends before a line 'SV'; it is no model of LIBSVM.")


def _checked(found, places, end):
    """Return the header, or raise for a line that is missing or contradicts another."""

    def values(key, read, among=None):
        if key not in found:
            raise ModelFileError(f"line {end}: the header has no line {key!r}.")
        return [read(word, places[key], among or key) for word in found[key]]

    def one(key, read, among=None):
        words = values(key, read, among)
        if len(words) != 1:
            raise ModelFileError(f"line {places[key]}: {key} must have one value, got {len(words)}.")
        return words[0]

    svm_type = one("svm_type", _name, _CLASSIFIERS + _OTHERS)
    kernel_type = one("kernel_type", _name, tuple(_KERNELS))
    n_classes, total = one("nr_class", _whole), one("total_sv", _whole)
    classifies = svm_type in _CLASSIFIERS
    if n_classes < 2 or (n_classes > 2 and not classifies):
        raise ModelFileError(f"line {places['nr_class']}: nr_class is {n_classes}; {svm_type} has two classes or more"
                             f"{'' if classifies else ', LIBSVM writes 2'}.")  # fmt: skip
    counts = {"one": 1, "ten": 10, "classes": n_classes, "pairs": n_classes * (n_classes - 1) // 2}
    for key, words in found.items():
        expected = counts[_SIZES[key]]
        if len(words) != expected:
            raise ModelFileError(
                f"line {places[key]}: {key} has {len(words)} values; for nr_class {n_classes} it must have {expected}."
            )
    numbers = {key: one(key, _number) for key in _KERNELS[kernel_type][1]}
    if "gamma" in numbers and not numbers["gamma"] > 0:
        raise ModelFileError(f"line {places['gamma']}: gamma is {numbers['gamma']}; it must be above 0.")
    if "degree" in numbers:
        numbers["degree"] = one("degree", _whole)
        if not 1 <= numbers["degree"] <= 1000:
            raise ModelFileError(f"line {places['degree']}: degree {numbers['degree']} must be between 1 and 1000.")
    labels = values("label", _whole) if classifies else []
    sizes = values("nr_sv", _whole) if classifies else []
    if len(set(labels)) != len(labels):
        raise ModelFileError(f"line {places['label']}: labels {labels} repeat.")
    if classifies and (min(sizes) < 0 or sum(sizes) != total):
        raise ModelFileError(
            f"line {places['nr_sv']}: nr_sv {_cut(str(sizes))} must be at least 0 and add up to total_sv {total}."
        )
    return _Header(svm_type, kernel_type, numbers, values("rho", _number), labels, sizes, total, n_classes, end)


def _name(word, line, known):
    if word not in known:
        raise ModelFileError(f"line {line}: {_cut(word)!r} must be one of {known}.")
    return word


def _whole(word, line, name):
    if not _WHOLE.fullmatch(word):
        raise ModelFileError(f"line {line}: {name} {_cut(word)!r} is no whole number of at most ten digits.")
    return int(word)


def _number(word, line, name):
    # no NaN, no infinity, no hexadecimals, no underscores, which float() would take
    value = float(word) if len(word) < 400 and word.isascii() and _NUMBER.fullmatch(word) else np.inf
    if not np.isfinite(value):
        raise ModelFileError(f"line {line}: {name} {_cut(word)!r} is no finite number.")
    return value


def _cut(text):
    return text if len(text) <= 60 else text[:60] + "..."


# --- the support vectors ---------------------------------------------------------------------------------------------


def _vectors(lines, header):
    """Return coefficients (n, m) and, for each support vector, its line, indices and values."""
    body = lines[header.end :]
    while body and not body[-1].strip():
        body.pop()
    if len(body) != header.total:
        raise ModelFileError(
            f"line {header.end + len(body)}: {len(body)} support vectors follow SV, total_sv is {header.total}."
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
    indices, entries = [], []
    least = 0 if precomputed else 1
    for word in words:
        index, colon, value = word.partition(":")
        if not colon:
            raise ModelFileError(f"line {line}: {_cut(word)!r} is no pair index:value.")
        index = _whole(index, line, "index")
        if not least <= index <= _LARGEST_INDEX:
            raise ModelFileError(f"line {line}: index {index} must be between {least} and {_LARGEST_INDEX}.")
        if indices and index <= indices[-1]:
            raise ModelFileError(f"line {line}: index {index} follows {indices[-1]}; indices must ascend.")
        indices.append(index)
        entries.append(_number(value, line, "value"))
    return indices, entries


def _serials(rows):
    """Return which training points the support vectors of a precomputed kernel are, from 0."""
    serials = []
    for line, indices, entries in rows:
        serial = entries[0] if indices == [0] else 0
        if serial != int(serial) or not 1 <= serial <= _LARGEST_INDEX:
            raise ModelFileError(f"line {line}: with a precomputed kernel a support vector is 0:serial, serial from 1.")
        serials.append(int(serial) - 1)
    return np.array(serials or [0])


def _matrix(rows, n_features, header):
    """Return the support vectors, at least one row: dense where they are nearly so."""
    widest = max(((indices[-1], line) for line, indices, _ in rows if indices), default=(1, header.end))
    if n_features is not None and widest[0] > n_features:
        raise ModelFileError(f"line {widest[1]}: index {widest[0]} exceeds n_features = {n_features}.")
    lengths = [len(indices) for _, indices, _ in rows] or [0]
    indices = np.array([index - 1 for _, row, _ in rows for index in row], np.int64)
    entries = np.array([entry for _, _, row in rows for entry in row], np.float64)
    shape = len(lengths), n_features or widest[0]
    points = sp.csr_matrix((entries, indices, np.concatenate([[0], np.cumsum(lengths)])), shape)
    return points.toarray() if points.nnz >= _DENSE * shape[0] * shape[1] else points
