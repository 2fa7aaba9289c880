"""Model files: one file of a checksum, a JSON header and raw arrays; data only, nothing in it is executed.

The layout, version 1, numbers little-endian:

    8 bytes     the mark of a model file
    32 bytes    SHA-256 of everything that follows
    8 bytes     length h of the header
    h bytes     the header: JSON in ASCII, {"format", "version", "mercer", "arrays", "model"}
    zeros       up to a multiple of 64
    arrays      one after the other in the order of the header, zeros after each up to a multiple of 64

``arrays`` tells dtype, shape and order of each array; where it lies follows from that, and the last ends the file.
``model`` is a tree of nodes (`mercer.formats.codec`) that refers to the arrays by their number.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import math
import os
import re
import secrets
import stat
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._compute.memory import human_bytes, require_memory
from mercer._compute.points import count_points
from mercer.expansion import Expansion
from mercer.formats._as_expansion import FittedScores, ModelFileError
from mercer.formats.codec import Decoder, Encoder, shape_of
from mercer.kernels.base import Kernel

MARK = b"\x93MERCER\n"
VERSION = 1
_START = len(MARK) + 32 + 8
_ALIGNED = 64
_LONGEST_HEADER = 2**26
_CHUNK = 2**20
_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[48]|<U[1-9]\d{0,5}")
_TOP = (BaseEstimator, Pipeline, Kernel, Expansion, FittedScores)
# What constructors and lookups raise for parts that do not fit.
_WRONG = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, NotImplementedError)


def save(model, path):
    """Write a fitted model to a file that holds data only and is read back without executing anything.

    Parameters
    ----------
    model : estimator, Pipeline, Kernel, Expansion or FittedScores
        A fitted estimator of Mercer; of scikit-learn's estimators scalers, linear models inside ``Kernelized``, and
        pipelines of all these.
    path : path
        A file there is replaced, at once and only when all is written: an interruption or a full disk leaves the old
        one as it was. A symbolic link is replaced, not followed.

    Raises
    ------
    NotFittedError
        For an estimator that is not fitted.
    TypeError
        For what is no such model, or holds Python functions or objects that are code: kernels that are functions,
        generators of random numbers, splitters. The attribute is named.

    Notes
    -----
    Numbers, arrays (dtype, and order in memory), labels and parameters are kept to the last bit, NaN and infinity too
    where a fit leaves them; what predictions are made of must be finite. ``scorer_`` of ``SVCCV``, a function, is left
    out. The file holds what the model holds, training rows included (`mercer.formats.model_card` counts them). One copy
    of the arrays at most is made. The same model gives the same bytes.

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
    pieces = _pieces(model)
    path = Path(os.fspath(path))
    mode = 0o666
    with contextlib.suppress(OSError):
        # what others may read stays so
        mode = stat.S_IMODE(os.lstat(path).st_mode) if path.is_file() and not path.is_symlink() else mode
    temporary = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}")
    try:
        # no file of that name is followed or written over
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with open(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def load(path, memory="1GB"):
    """Read a model file that ``save`` wrote, or refuse it.

    Parameters
    ----------
    path : path
    memory : str or int
        A larger file is refused before it is read; what is allocated follows the length of the file, never what the
        file says.

    Returns
    -------
    estimator, Pipeline, Kernel, Expansion or FittedScores
        Fitted, with the same parameters, and predictions equal to the last bit under the same versions and threads.

    Raises
    ------
    ModelFileError
        For a file that is no model file, is damaged in a single bit, was written by a newer version, names anything
        that Mercer does not know, or whose parts contradict each other.
    MemoryError
        For a file beyond the budget.
    OSError
        Where there is no file to read.

    Notes
    -----
    Nothing in a file is executed, imported by its name or unpickled. The checksum tells damage, not malice: whoever
    writes a file chooses what its model predicts, so load models whose origin you trust to be honest. Files of every
    released version stay readable.

    Examples
    --------
    >>> import tempfile, os
    >>> import mercer as mc
    >>> path = os.path.join(tempfile.mkdtemp(), "kernel.mercer")
    >>> mc.save(mc.Gaussian(0.5) + 1, path)
    >>> mc.load(path)
    Sum(left=Gaussian(gamma=0.5), right=Constant(value=1.0))
    """
    path = Path(os.fspath(path))
    # opening a pipe would wait for its other end
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{path} is no regular file.")
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        require_memory(size, memory, f"the model file {path.name}", f'load(path, memory="{human_bytes(size)}")')
        content = np.empty(size, np.uint8)
        read = 0
        while read < size and (count := file.readinto(memoryview(content)[read : read + _CHUNK])):
            read += count
    if read < size:
        raise ModelFileError(f"{path} became shorter while it was read.")
    return parse(content)


def model_card(model):
    """Return what a model consists of, and how much of the training data it gives away.

    Parameters
    ----------
    model : estimator, Pipeline, Kernel, Expansion or FittedScores
        What ``save`` takes.

    Returns
    -------
    dict
        ``model`` and ``kernel``, their names; ``features``, columns of the input; ``rows_stored``, distinct rows of
        input space (support vectors, landmarks, constructed vectors: training rows as they are, or points near them);
        ``values``, numbers in all arrays; ``bytes``, their size.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats import model_card
    >>> ridge = mc.KernelRidge(kernel=mc.Gaussian(1.0)).fit(np.eye(3), np.arange(3.0))
    >>> model_card(ridge)["rows_stored"]
    3
    """
    encoder = Encoder()
    encoder.node(model, type(model).__name__)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    kernel = getattr(last, "kernel_", getattr(getattr(last, "expansion", last), "kernel", None))
    return {
        "model": type(last).__name__,
        "kernel": None if kernel is None else repr(kernel),
        "features": getattr(first, "n_features_in_", None),
        "rows_stored": _count_rows(encoder.points),
        "values": sum(array.size for array in encoder.arrays),
        "bytes": sum(array.nbytes for array in encoder.arrays),
    }


def _count_rows(containers):
    """Return how many distinct points some containers hold; of a given matrix its rows are meant."""
    found = set()
    for points in {id(points): points for points in containers}.values():
        dense = isinstance(points, np.ndarray)
        for i in range(count_points(points)):
            if dense:
                found.add(points[i].tobytes())
            elif sp.issparse(points):
                row = points[[i]]
                found.add((row.indices.tobytes(), row.data.tobytes()))
            else:
                found.add(repr(points[i]))
    return len(found)


# --- writing ---------------------------------------------------------------------------------------------------------


def _pieces(model):
    """Return the bytes of a model file as a list of buffers."""
    if not isinstance(model, _TOP):
        raise TypeError(f"save takes a fitted estimator, a kernel or an expansion, got {type(model).__name__}.")
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    encoder = Encoder()
    root = encoder.node(model, type(model).__name__)
    header = {
        "format": "mercer model",
        "version": VERSION,
        "mercer": importlib.metadata.version("mercer"),
        "arrays": [[array.dtype.str, list(array.shape), _order(array)] for array in encoder.arrays],
        "model": root,
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > _LONGEST_HEADER:
        raise ValueError(f"what is no array takes {len(text)} bytes; model files have room for {_LONGEST_HEADER}.")
    # what could not be read again is not written
    _model(json.loads(text), encoder.arrays)
    pieces = [len(text).to_bytes(8, "little"), text, _zeros(_START + len(text))]
    for array in encoder.arrays:
        if array.size:
            pieces += [memoryview(array.ravel(order="K").view(np.uint8)), _zeros(array.nbytes)]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return [MARK, digest.digest(), *pieces]


def _order(array):
    return "C" if array.flags.c_contiguous else "F"


def _zeros(length):
    return bytes(-length % _ALIGNED)


def _sync_folder(folder):
    """Make the new name last through a loss of power, where folders can be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# --- reading ---------------------------------------------------------------------------------------------------------


def parse(content):
    """Return the model that the bytes of a model file tell; its arrays are views of them.

    Parameters
    ----------
    content : uint8 array

    Raises
    ------
    ModelFileError
    """
    start = content[:_START].tobytes()
    if start[: len(MARK)] != MARK:
        hint = " It looks like a pickle, which Mercer never loads." if start[:1] == b"\x80" else ""
        raise ModelFileError(f"this is no model file of Mercer: it starts with {start[:8]!r}, not {MARK!r}.{hint}")
    if len(start) < _START:
        raise ModelFileError(f"the file ends after {len(start)} bytes, inside of what every model file starts with.")
    if hashlib.sha256(memoryview(content)[len(MARK) + 32 :]).digest() != start[len(MARK) : len(MARK) + 32]:
        raise ModelFileError("the checksum does not match: the file was damaged or changed; copy it once more.")
    length = int.from_bytes(start[-8:], "little")
    if length > min(_LONGEST_HEADER, len(content) - _START):
        raise ModelFileError(f"the header is said to have {length} bytes, the file has {len(content)}.")
    try:
        header = _header(content[_START : _START + length].tobytes())
        arrays = _arrays(content, _START + length, header["arrays"])
        return _model(header, arrays)
    except ModelFileError:
        raise
    except _WRONG as error:
        raise ModelFileError(f"this is no valid model: {error}") from error


def _header(text):
    header = json.loads(
        text.decode("ascii"),
        object_pairs_hook=_named,
        parse_int=_whole,
        parse_float=_finite,
        parse_constant=_refuse,
    )
    if not isinstance(header, dict) or header.get("format") != "mercer model":
        raise ModelFileError("the header is not that of a model file.")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelFileError(
            f"the file has version {version!r} of the format, written by Mercer {header.get('mercer')!r}; this Mercer "
            f"reads versions 1 to {VERSION}: install a newer one."
        )
    if header.keys() != {"format", "version", "mercer", "arrays", "model"}:
        raise ModelFileError(f"the header has the keys {sorted(header)[:8]}.")
    return header


def _arrays(content, start, entries):
    """Return the arrays as views of the file; sizes are added up before any is made."""
    if not isinstance(entries, list):
        raise ValueError("arrays must be a list.")
    places, end = [], start + -start % _ALIGNED
    for entry in entries:
        dtype, shape, order = entry
        if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype) and order in ("C", "F")):
            raise ValueError(f"an array is said to have dtype {dtype!r:.30} and order {order!r:.30}.")
        dtype, shape = np.dtype(dtype), shape_of(shape)
        size = dtype.itemsize * math.prod(shape)
        places.append((end, size, dtype, shape, order))
        end += size + -size % _ALIGNED
    if end != len(content):
        raise ModelFileError(f"arrays end at byte {end}, the file at byte {len(content)}.")
    filled = [start, *(place[0] + place[1] for place in places)]
    for place in filled:
        if content[place : place + -place % _ALIGNED].any():
            raise ModelFileError(f"after byte {place}, between two arrays, there is something.")
    return [_view(content[place : place + size], *rest) for place, size, *rest in places]


def _view(content, dtype, shape, order):
    array = content.view(dtype).reshape(shape, order=order)
    if dtype.kind == "U" and array.size and content.view("<u4").max() > 0x10FFFF:
        raise ValueError("a text has characters that there are none of.")
    if dtype.kind == "b" and array.size and content.max() > 1:
        raise ValueError("a truth value is neither 0 nor 1.")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _model(header, arrays):
    model = Decoder(arrays).value(header["model"])
    if not isinstance(model, _TOP):
        raise ValueError(f"the file holds a {type(model).__name__}, which is no model")
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    return model


def _named(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is given twice")
    return dict(pairs)


def _whole(digits):
    value = int(digits) if len(digits) <= 20 else 2**64
    if not -(2**63) <= value < 2**64:
        raise ValueError("a whole number has more than 64 bits")
    return value


def _finite(digits):
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:30]} is no finite number")
    return value


def _refuse(word):
    raise ValueError(f"{word} is no number of JSON")
