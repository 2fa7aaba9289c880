"""Model files: a checksum, a JSON header and raw arrays in one file; nothing in it is executed.

The layout, version 1, numbers little-endian:

    8 bytes     the magic number of model files
    32 bytes    SHA-256 of everything that follows
    8 bytes     length h of the header
    h bytes     the header: JSON in ASCII, {"format", "version", "mercer", "arrays", "model"}
    zeros       up to a multiple of 64
    arrays      in the order of the header, each followed by zeros up to a multiple of 64

``arrays`` states dtype, shape and order in memory of each array; its place follows from these, and the last array ends
the file. ``model`` is a tree of nodes (`mercer.formats.codec`) that refers to the arrays by number.
"""

import hashlib
import importlib.metadata
import json
import math
import os
import re
import stat
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, Memory, shown
from mercer._compute.memory import human_bytes, require_memory
from mercer._compute.points import point_keys
from mercer.expansion import Expansion
from mercer.formats.codec import Decoder, Encoder, shape_of
from mercer.formats.files import ModelFileError, as_path, replacing
from mercer.formats.fitted_expansion import FittedExpansion
from mercer.kernels.base import Kernel

MAGIC = b"\x93MERCER\n"
VERSION = 1
_START = len(MAGIC) + 32 + 8
_ALIGNED = 64
_LONGEST_HEADER = 2**26
# Other files by their first bytes, and what to do with them.
_OTHER_FILES = (
    (
        b"\x80",
        "it looks like a pickle, which Mercer never loads: joblib or pickle reads it, and runs code in it",
    ),
    (b"svm_type", "it looks like a model of LIBSVM: use mercer.as_expansion(path)"),
)
_NO_MODEL = "give a file that mercer.save wrote"
_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[48]|<U[1-9]\d{0,5}")
_TOP = (BaseEstimator, Pipeline, Kernel, Expansion, FittedExpansion)
# Errors that constructors and lookups raise for parts that do not fit.
_INVALID = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
)


def save(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that holds only data and can be read without executing anything.

    Parameters
    ----------
    model : estimator, Pipeline, Kernel, Expansion or FittedExpansion
        A fitted estimator of Mercer, a pipeline of scikit-learn's scalers and such an estimator, or a ``Kernelized``
        around a linear model of scikit-learn.
    path : path
        An existing file is replaced when everything is written: an interruption or a full disk keeps the old file. A
        symbolic link is replaced, not followed.

    Raises
    ------
    NotFittedError
        For an estimator that is not fitted.
    TypeError
        For other objects, and for models that contain Python functions or objects that are code: function kernels,
        random number generators, splitters. The message names the attribute.

    Notes
    -----
    Numbers, arrays (dtype and order in memory), labels and parameters are kept to the last bit, including NaN and
    infinity in attributes that no prediction uses. ``scorer_`` of searches is a function and is left out. The file
    holds everything that the model holds, training rows included (`mercer.formats.model_card` counts them). At most one
    copy of the arrays is made. The same model gives the same bytes.

    Examples
    --------
    >>> import tempfile, os
    >>> import numpy as np, mercer as mc
    >>> model = mc.SVC(kernel=mc.Gaussian(0.5)).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> mc.save(model, path)
    >>> bool((mc.load(path).decision_function([[1.2]]) == model.decision_function([[1.2]])).all())
    True
    """
    if str(path).endswith(".onnx"):
        raise ValueError(
            f"path = {shown(path)} must not end in .onnx, since save writes Mercer's own format; write "
            "onnx.save(mercer.formats.to_onnx(model), path)."
        )
    pieces = _pieces(model)
    with replacing(path) as file:
        for piece in pieces:
            file.write(piece)


def load(path: str | os.PathLike[str], memory: Memory = "1GB") -> Any:
    """Read a model file that ``save`` wrote.

    Parameters
    ----------
    path : path
    memory : str or int
        A larger file is refused before it is read. Memory is allocated by the length of the file, never by sizes that
        the file states.

    Returns
    -------
    estimator, Pipeline, Kernel, Expansion or FittedExpansion
        Fitted, with the same parameters. With the same versions and threads, predictions on rows are equal to the last
        bit, and on objects up to rounding: the order of their features depends on the objects beside them.

    Raises
    ------
    ModelFileError
        For a file that is not a model file, differs from what was written in any bit, comes from a newer version, names
        a class that is not allowed, or contradicts itself.
    MemoryError
        For a file larger than ``memory``.
    OSError
        For a file that cannot be read.

    Notes
    -----
    Nothing in a file is executed, imported by name or unpickled. The checksum detects damage, not malice: the author of
    a file decides what its model predicts, so load files from sources that you trust to be honest. Files of every
    released version stay readable.

    Examples
    --------
    >>> import tempfile, os
    >>> import mercer as mc
    >>> path = os.path.join(tempfile.mkdtemp(), "kernel.mercer")
    >>> mc.save(mc.Gaussian(0.5) + 1, path)
    >>> mc.load(path)
    Gaussian(gamma=0.5) + 1.0
    """
    path = as_path(path)
    # opening a pipe would block
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"path = {str(path)!r} must be a regular file.")
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        require_memory(
            size, memory, f"the model file {path.name}", f'load(path, memory="{human_bytes(size)}")'
        )
        content = np.fromfile(file, np.uint8, size)
    if len(content) < size:
        raise ModelFileError(f"{path} became shorter while it was read.")
    # nobody writes to it, so that models share its arrays instead of copying them
    content.flags.writeable = False
    return parse(content)


def model_card(model: object) -> dict[str, object]:
    """Return the contents of a model, and how many training rows it reveals.

    Parameters
    ----------
    model : estimator, Pipeline, Kernel, Expansion or FittedExpansion
        Anything that ``save`` takes.

    Returns
    -------
    dict
        ``model`` and ``kernel``, names; ``features``, input columns; ``rows_stored``, distinct rows of input space
        (support vectors and landmarks are training rows, constructed vectors are points near them); ``values``, the
        number of numbers in all arrays; ``bytes``, their size.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats import model_card
    >>> ridge = mc.KernelRidge(kernel=mc.Gaussian(1.0)).fit(np.eye(3), np.arange(3.0))
    >>> model_card(ridge)["rows_stored"]
    3
    """
    last = _last_of(model)
    encoder = Encoder()
    encoder.node(model, type(model).__name__)
    kernel = getattr(last, "kernel_", getattr(getattr(last, "expansion", last), "kernel", None))
    return {
        "model": type(last).__name__,
        "kernel": None if kernel is None else repr(kernel),
        "features": getattr(model, "n_features_in_", None),
        "rows_stored": _count_distinct(encoder.points),
        "values": sum(array.size for array in encoder.arrays),
        "bytes": sum(array.nbytes for array in encoder.arrays),
    }


def _count_distinct(containers):
    """Return the number of distinct points in some containers."""
    once = {id(points): points for points in containers}.values()
    return len(set().union(*map(point_keys, once)))


# --- writing ---------------------------------------------------------------------------------------------------------


def _last_of(model):
    """Return the last step of a pipeline, or the model, or raise unless an object is a model that a file may hold."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(last, Pipeline):
        raise TypeError(
            "model must be a pipeline that ends in a model, got one that ends in a Pipeline; join their steps."
        )
    foreign = isinstance(last, BaseEstimator) and not type(last).__module__.startswith("mercer.")
    if isinstance(last, type) or foreign or not isinstance(last, _TOP):
        raise TypeError(
            f"model must be a fitted estimator of Mercer, a kernel or an expansion, got {type(last).__name__} of "
            f"{type(last).__module__}; write mercer.save(model, 'model.mercer'), of a search its best_estimator_, "
            "alone or after scalers in a pipeline, or mercer.as_expansion(model) of a kernel model of scikit-learn."
        )
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    return last


def _pieces(model):
    """Return the bytes of a model file as a list of buffers."""
    _last_of(model)
    encoder = Encoder()
    root = encoder.node(model, type(model).__name__)
    header = {
        "format": "mercer model",
        "version": VERSION,
        "mercer": importlib.metadata.version("mercer"),
        "arrays": [
            [each.dtype.str, list(each.shape), "C" if each.flags.c_contiguous else "F"]
            for each in encoder.arrays
        ],
        "model": root,
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"the header needs {len(text)} bytes; the limit is {_LONGEST_HEADER}. Lists and strings go there, so store "
            "points as arrays."
        )
    # a file that could not be loaded is not written
    _model(json.loads(text), encoder.arrays)
    pieces = [len(text).to_bytes(8, "little"), text, _zeros(_START + len(text))]
    for array in encoder.arrays:
        if array.size:
            pieces += [memoryview(array.ravel(order="K").view(np.uint8)), _zeros(array.nbytes)]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return [MAGIC, digest.digest(), *pieces]


def _zeros(length):
    return bytes(-length % _ALIGNED)


# --- reading ---------------------------------------------------------------------------------------------------------


def parse(content: Array) -> Any:
    """Return the model in the bytes of a model file (uint8 array); its arrays are views of them."""
    start = content[:_START].tobytes()
    if start[: len(MAGIC)] != MAGIC:
        remedy = next((text for mark, text in _OTHER_FILES if start.startswith(mark)), _NO_MODEL)
        raise ModelFileError(
            f"the file is not a Mercer model file: it starts with {start[:8]!r}, not {MAGIC!r}; {remedy}."
        )
    if len(start) < _START:
        raise ModelFileError(
            f"the file has {len(start)} bytes; a model file has at least {_START}."
        )
    if (
        hashlib.sha256(memoryview(content)[len(MAGIC) + 32 :]).digest()
        != start[len(MAGIC) : len(MAGIC) + 32]
    ):
        raise ModelFileError(
            "the checksum does not match, so the file was damaged or changed; copy it again."
        )
    length = int.from_bytes(start[-8:], "little")
    if length > min(_LONGEST_HEADER, len(content) - _START):
        raise ModelFileError(f"the header claims {length} bytes, the file has {len(content)}.")
    try:
        header = _header(content[_START : _START + length].tobytes())
        arrays = _arrays(content, _START + length, header["arrays"])
        return _model(header, arrays)
    except ModelFileError:
        raise
    except _INVALID as error:
        raise ModelFileError(f"the file holds no valid model: {error}") from error


def _header(text):
    header = json.loads(
        text.decode("ascii"),
        object_pairs_hook=_named,
        parse_int=_integer,
        parse_float=_finite,
        parse_constant=_finite,
    )
    if not isinstance(header, dict) or header.get("format") != "mercer model":
        raise ModelFileError("the header is not that of a model file.")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelFileError(
            f"the file has format version {shown(version)}, written by Mercer {shown(header.get('mercer'))}; this "
            f"Mercer reads versions 1 to {VERSION}; install a newer one."
        )
    if header.keys() != {"format", "version", "mercer", "arrays", "model"}:
        raise ModelFileError(f"the header has the keys {sorted(header)[:8]}.")
    return header


def _arrays(content, start, entries):
    """Return the arrays as views of the file, after their sizes were compared with its length."""
    if not isinstance(entries, list):
        raise ValueError("arrays must be a list.")
    places = []
    end = start + -start % _ALIGNED
    for entry in entries:
        dtype, shape, order = entry
        if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype) and order in ("C", "F")):
            raise ValueError(
                f"an array has dtype {shown(dtype)} and order {shown(order)}, which are not allowed."
            )
        dtype = np.dtype(dtype)
        shape = shape_of(shape)
        size = dtype.itemsize * math.prod(shape)
        places.append((end, size, dtype, shape, order))
        end += size + -size % _ALIGNED
    if end != len(content):
        raise ModelFileError(f"arrays end at byte {end}, the file at byte {len(content)}.")
    for place in [start, *(begin + size for begin, size, *_ in places)]:
        if content[place : place + -place % _ALIGNED].any():
            raise ModelFileError(f"the padding after byte {place} is not zero.")
    return [_view(content[begin : begin + size], *rest) for begin, size, *rest in places]


def _view(content, dtype, shape, order):
    array = content.view(dtype).reshape(shape, order=order)
    if dtype.kind == "U" and array.size and content.view("<u4").max() > 0x10FFFF:
        raise ValueError("a string contains characters that do not exist in Unicode.")
    if dtype.kind == "b" and array.size and content.max() > 1:
        raise ValueError("a truth value must be 0 or 1.")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _model(header, arrays):
    model = Decoder(arrays).value(header["model"])
    if not isinstance(model, _TOP):
        raise ValueError(f"the file holds a {type(model).__name__}, which is not a model")
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    return model


# --- JSON ------------------------------------------------------------------------------------------------------------


def _named(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is given twice")
    return dict(pairs)


def _integer(digits):
    value = int(digits) if len(digits) <= 20 else 2**64
    if not -(2**63) <= value < 2**64:
        raise ValueError("an integer has more than 64 bits")
    return value


def _finite(digits):
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:30]} is not a finite number")
    return value
