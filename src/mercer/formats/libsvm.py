"""Reader of LIBSVM text models; every line is checked before a model is built."""

import os
import re

import numpy as np
import scipy.sparse as sp

from mercer._common import shown
from mercer.expansion import Expansion
from mercer.formats.files import WIDEST, ModelFileError, as_path
from mercer.formats.fitted_expansion import FittedExpansion, PairClassifier, PrecomputedColumns
from mercer.kernels import FunctionKernel, Gaussian, Kernel, Linear, Polynomial, Sigmoid

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_INTEGER = re.compile(r"[+-]?\d{1,10}")
_CLASSIFIERS = ("c_svc", "nu_svc")
_SINGLE = ("one_class", "epsilon_svr", "nu_svr")
# The class of each kernel type and the header lines that it needs.
KERNELS: dict[str, tuple[type[Kernel] | None, tuple[str, ...]]] = {
    "linear": (Linear, ()),
    "polynomial": (Polynomial, ("degree", "gamma", "coef0")),
    "rbf": (Gaussian, ("gamma",)),
    "sigmoid": (Sigmoid, ("gamma", "coef0")),
    "precomputed": (None, ()),
}


_LOADED = (
    "for a file of joblib write mercer.compress(joblib.load(path), ...), "
    "and mercer.load(path) for one of mercer.save"
)


def text_of(source: str | os.PathLike[str]) -> str:
    """Return the text of a LIBSVM model given by its content (a string with a line break) or its path."""
    if isinstance(source, str) and "\n" in source:
        return source
    try:
        return as_path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise type(error)(
            error.errno,
            f"{error.strerror}; a path in the place of a model must be that of a LIBSVM text model; {_LOADED}",
            str(source),
        ) from None
    except UnicodeDecodeError:
        raise ModelFileError(f"{source}: this must be a LIBSVM text model; {_LOADED}") from None


def read_model(text: str, n_features: int | None = None) -> FittedExpansion:
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
    found = read_text(text, n_features)
    return found.unpacked() if isinstance(found, PairClassifier) else found


def read_text(text: str, n_features: int | None = None) -> FittedExpansion | PairClassifier:
    """Return what `read_model` does, with packed coefficients for more than two classes."""
    lines = _lines(text)
    header = _header(lines)
    coef, rows = _vectors(lines, header)
    points = (
        _serials(rows) if header.kernel_type == "precomputed" else _matrix(rows, n_features, header)
    )
    # without support vectors one point with coefficient 0 carries the kernel
    psi = Expansion(header.kernel, points, coef if len(coef) else np.zeros((1, 1)))
    intercept = -np.array(header.rho)
    labels = np.array(header.labels)
    if len(labels) > 2:
        return PairClassifier(psi, np.array(header.sizes), intercept, labels)
    return FittedExpansion(psi, intercept, labels[::-1] if header.classifies else None)


def svm_type(text: str) -> str:
    r"""Return the ``svm_type`` of a LIBSVM text model.

    Examples
    --------
    >>> from mercer.formats.libsvm import svm_type
    >>> svm_type("svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n2 1:3\n")
    'epsilon_svr'
    """
    return _header(_lines(text)).svm_type


def _lines(text):
    """Return the lines; ``splitlines`` would also break them at form feeds, which LIBSVM reads as spaces."""
    return text.split("\n")


# --- the header ------------------------------------------------------------------------------------------------------


# How many values each header line holds.
_SIZES = {
    **dict.fromkeys(
        ("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv"), "one"
    ),
    **dict.fromkeys(("rho", "probA", "probB"), "pairs"),
    **dict.fromkeys(("label", "nr_sv"), "classes"),
    "prob_density_marks": "ten",
}


def _header(lines):
    """Return the lines before SV."""
    words = {}
    for number, line in enumerate(lines, 1):
        key, *values = line.split() or [""]
        if key == "SV" and not values:
            return _Header(words)
        if key not in _SIZES:
            raise ModelFileError(
                f"line {number}: {shown(line)} is not a LIBSVM header line; it must start with one of "
                f"{sorted(_SIZES)} or be SV."
            )
        if key in words:
            raise ModelFileError(
                f"line {number}: {key} is given twice, first on line {[*words].index(key) + 1}."
            )
        words[key] = values
    raise ModelFileError(
        f"line {len(lines) + 1}: the text ends before a line 'SV'; it is not a LIBSVM model."
    )


class _Header:
    """The lines before SV, checked against each other: the words of each line by its key; ``end`` is the line of SV."""

    def __init__(self, words: dict[str, list[str]]) -> None:
        self._words = words
        self._places = {key: number for number, key in enumerate(words, 1)}
        self.end = len(words) + 1
        self.svm_type = self._one("svm_type", _name, _CLASSIFIERS + _SINGLE)
        self.kernel_type = self._one("kernel_type", _name, tuple(KERNELS))
        self.classifies = self.svm_type in _CLASSIFIERS
        self.n_classes = self._one("nr_class", _integer)
        self.total = self._one("total_sv", _integer)
        self._require_sizes()
        self.kernel = self._kernel()
        self.labels = self._all("label", _integer) if self.classifies else []
        self._require(
            len(set(self.labels)) == len(self.labels), "label", f"labels {self.labels} repeat."
        )
        self.sizes = self._all("nr_sv", _integer) if self.classifies else []
        add_up = not self.classifies or (min(self.sizes) >= 0 and sum(self.sizes) == self.total)
        sizes = f"nr_sv {shown(self.sizes)} must be numbers of at least 0 that add up to total_sv {self.total}."
        self._require(add_up, "nr_sv", sizes)
        self.rho = self._all("rho", _number)

    def _all(self, key, read, allowed=None):
        """Return the values of a line, each converted by ``read(word, line, name or allowed)``."""
        if key not in self._words:
            raise ModelFileError(f"line {self.end}: the header has no line {key!r}.")
        return [read(word, self._places[key], allowed or key) for word in self._words[key]]

    def _one(self, key, read, allowed=None):
        """Return the value of a line that must have exactly one."""
        values = self._all(key, read, allowed)
        self._require(len(values) == 1, key, f"{key} has {len(values)} values; it must have 1.")
        return values[0]

    def _require(self, true, key, message):
        """Raise an error that names the line of a key unless a condition is true."""
        if not true:
            raise ModelFileError(f"line {self._places[key]}: {message}")

    def _require_sizes(self):
        n = self.n_classes
        allowed = "at least 2" if self.classifies else "2"
        possible = n == 2 or (n > 2 and self.classifies)
        self._require(
            possible, "nr_class", f"nr_class is {n}; for {self.svm_type} it must be {allowed}."
        )
        counts = {"one": 1, "ten": 10, "classes": n, "pairs": n * (n - 1) // 2}
        for key, words in self._words.items():
            message = f"{key} has {len(words)} values; for nr_class {n} it must have {counts[_SIZES[key]]}."
            self._require(len(words) == counts[_SIZES[key]], key, message)

    def _kernel(self):
        kind, names = KERNELS[self.kernel_type]
        numbers = {key: self._one(key, _integer if key == "degree" else _number) for key in names}
        gamma = numbers.get("gamma", 1)
        degree = numbers.get("degree", 1)
        self._require(gamma > 0, "gamma", f"gamma is {gamma}; it must be above 0.")
        self._require(
            1 <= degree <= 1000, "degree", f"degree is {degree}; it must be between 1 and 1000."
        )
        return FunctionKernel(PrecomputedColumns()) if kind is None else kind(**numbers)


def _name(word, line, allowed):
    if word not in allowed:
        raise ModelFileError(f"line {line}: {shown(word)} must be one of {allowed}.")
    return word


def _integer(word, line, name):
    if not _INTEGER.fullmatch(word):
        raise ModelFileError(
            f"line {line}: {name} {shown(word)} must be an integer of at most ten digits."
        )
    return int(word)


def _number(word, line, name):
    # float() would also accept NaN, infinity and underscores
    value = (
        float(word) if len(word) < 400 and word.isascii() and _NUMBER.fullmatch(word) else np.inf
    )
    if not np.isfinite(value):
        raise ModelFileError(f"line {line}: {name} {shown(word)} must be a finite number.")
    return value


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
    coef = np.empty((len(body), width if len(body) else 1))
    rows = []
    for i, line in enumerate(body):
        number = header.end + 1 + i
        words = line.split()
        if len(words) < width or any(":" in word for word in words[:width]):
            raise ModelFileError(
                f"line {number}: a support vector must start with {width} coefficients."
            )
        coef[i] = [_number(word, number, "coefficient") for word in words[:width]]
        rows.append((number, *_entries(words[width:], number, header.kernel_type == "precomputed")))
    return coef, rows


def _entries(words, line, precomputed):
    """Return the indices and values of one support vector."""
    indices = []
    values = []
    least = 0 if precomputed else 1
    for word in words:
        index, colon, value = word.partition(":")
        if not colon:
            raise ModelFileError(f"line {line}: {shown(word)} must be a pair index:value.")
        index = _integer(index, line, "index")
        if not least <= index <= WIDEST:
            raise ModelFileError(
                f"line {line}: index {index} must be between {least} and {WIDEST}."
            )
        if indices and index <= indices[-1]:
            raise ModelFileError(
                f"line {line}: index {index} follows {indices[-1]}; indices must ascend."
            )
        indices.append(index)
        values.append(_number(value, line, "value"))
    return indices, values


def _serials(rows):
    """Return the training points, counted from 0, that are the support vectors of a precomputed kernel."""
    serials = []
    for line, indices, values in rows:
        serial = values[0] if indices == [0] else 0
        if serial != int(serial) or not 1 <= serial <= WIDEST:
            raise ModelFileError(
                f"line {line}: with a precomputed kernel a support vector must be 0:serial, serial an integer from 1."
            )
        serials.append(int(serial) - 1)
    return np.array(serials or [0])


def _matrix(rows, n_features, header):
    """Return the support vectors, at least one row, dense if few of their entries are zero."""
    widest = max(
        ((indices[-1], line) for line, indices, _ in rows if indices), default=(1, header.end)
    )
    if n_features is not None and widest[0] > n_features:
        raise ModelFileError(
            f"line {widest[1]}: index {widest[0]} exceeds n_features = {n_features}."
        )
    lengths = [len(indices) for _, indices, _ in rows] or [0]
    columns = np.array([index - 1 for _, indices, _ in rows for index in indices], np.int64)
    entries = np.array([value for _, _, values in rows for value in values], np.float64)
    shape = len(lengths), n_features or widest[0]
    points = sp.csr_matrix((entries, columns, np.cumsum([0, *lengths])), shape)
    # dense products are faster, and memory is at most three times as large
    return points.toarray() if 4 * points.nnz >= shape[0] * shape[1] else points
