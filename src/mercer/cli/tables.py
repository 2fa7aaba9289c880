"""Tables of data that a command reads: rows of numbers with labels, from four kinds of files."""

import codecs
import csv
import math
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, ArrayLike, record, shown
from mercer._compute.memory import human_bytes
from mercer.cli.failure import Failure, naming

# Bytes that a file may have, and the arrays in it.
BUDGET = 10**9
KINDS = (
    ".npz (arrays X and, with labels, y), .npy (rows of features), .csv (rows of features and the label in the last "
    "column; a first line of names is skipped); any other file must be LIBSVM text (label index:value ..., from "
    "index 1)"
)


@record
class Table:
    """Rows X (n, d), dense or sparse, labels y (n,) or (n, m) as the file has them, or None, and lines of names."""

    X: Any
    y: np.ndarray | None
    names: int = 0


def read_table(path: Path, n_features: int, at_least: bool = False) -> Table:
    r"""Return the Table in a file, whose suffix states its kind (`KINDS`), or raise a Failure that names the file.

    A .csv with exactly ``n_features`` columns has no labels. With ``at_least`` the rows may have more features, because
    LIBSVM text models do not state how many there are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.cli.tables import read_table
    >>> path = Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("width,height,kind\n1,2,yes\n3,4,no\n")
    >>> read_table(path, 2)
    Table(X=array([[1., 2.],
           [3., 4.]]), y=array(['yes', 'no'], dtype='<U3'), names=1)
    """
    with naming(path):
        require_file(path, f"a data file: {KINDS}")
    read = {".npz": _numpy, ".npy": _numpy, ".csv": _csv}.get(path.suffix.lower(), _libsvm)
    found = read(path, n_features, at_least)
    n, d = found.X.shape
    if n == 0:
        raise Failure(f"{path}: the file has no rows; give at least one row of data.")
    if d != n_features and not (at_least and d > n_features):
        raise Failure(
            f"{path}: rows have {d} features, the model has {n_features}; give data like its training data."
        )
    if found.y is not None and len(found.y) != n:
        raise Failure(
            f"{path}: the file has {n} rows and {len(found.y)} labels; give one label per row."
        )
    _require_finite(path, found.X)
    return found


def _require_finite(path, X):
    """Raise a Failure that names the place of the first feature that is not finite."""
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        table = sp.coo_array(X)
        first = np.flatnonzero(~np.isfinite(table.data))[0]
        raise Failure(
            f"{path}: row {table.row[first] + 1} of the data has {table.data[first]} in column {table.col[first] + 1}; "
            "features must be finite: remove rows with NaN, infinity or numbers beyond 1.8e308."
        )


def _numpy(path, *_):
    with naming(
        path,
        "an .npz file must hold an array X and, with labels, an array y; an .npy file one array of rows",
    ):
        try:
            require_arrays(path)
            loaded = np.load(path, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return Table(_matrix(loaded, path), None)
            with loaded as arrays:
                if "X" not in arrays:
                    raise ValueError(f"the file has the arrays {list(arrays)}")
                return Table(_matrix(arrays["X"], path), _column(arrays.get("y"), path))
        except (zipfile.BadZipFile, EOFError) as error:
            raise ValueError("this is not a file of NumPy arrays") from error


def _matrix(X, path):
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise Failure(
            f"{path}: X has shape {X.shape} and type {X.dtype}; it must be rows of numbers, (n, d)."
        )
    return X


def _column(y, path):
    if y is not None and (y.ndim not in (1, 2) or y.dtype.kind not in "fiubUS"):
        raise Failure(
            f"{path}: y has shape {y.shape} and type {y.dtype}; it must be numbers or texts, one per row."
        )
    return y


def _csv(path, n_features, at_least):
    with naming(path, "a .csv file must be text with columns separated by commas"):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        rows = [_cells(line) for line in lines if line.strip()]
    counts = np.array(list(map(len, rows)))
    # names are no numbers; a row of data whose first value is missing has other numbers
    skip = int(bool(rows) and not any(map(_is_number, rows[0])))
    if len(rows) == skip:
        raise Failure(f"{path}: the file has no rows; give at least one row of data.")
    width = counts[skip]
    unequal = np.flatnonzero(counts != width)
    if len(unequal):
        i = unequal[0]
        raise Failure(
            f"{path}: row {i + 1} has {counts[i]} columns, row {skip + 1} has {width}; separate columns by commas."
        )
    # a text model may know fewer features than the data have; then the last column is always the label
    d = width if width == n_features and not at_least else width - 1
    if d == 0:
        raise Failure(
            f"{path}: rows have one column; separate features by commas and put the label last."
        )
    try:
        X = np.array([row[:d] for row in rows[skip:]], np.float64)
    except ValueError as error:
        raise Failure(
            f"{path}: {_no_number(rows[skip:], d, skip)}the first {d} columns must be numbers."
        ) from error
    if d == width:
        return Table(X, None, skip)
    return Table(X, np.array([row[-1] for row in rows[skip:]]), skip)


def _cells(line):
    """Return the values in a line, without spaces and quotation marks around them."""
    return [word.strip() for word in next(csv.reader([line], skipinitialspace=True))]


def _no_number(rows, d, skip):
    """Return which of the first d values in rows is not a number, for a message."""
    cells = ((i, j, word) for i, row in enumerate(rows) for j, word in enumerate(row[:d]))
    found = next((cell for cell in cells if not _is_number(cell[2])), None)
    return (
        ""
        if found is None
        else f"row {found[0] + skip + 1}, column {found[1] + 1} is {found[2][:40]!r}; "
    )


def _is_number(word):
    """Return whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _libsvm(path, n_features, _at_least):
    from sklearn.datasets import load_svmlight_file

    with naming(
        path,
        f"rows of LIBSVM text must be label index:value ...; the suffix states other kinds: {KINDS}",
    ):
        # of a name with the suffix .gz or .bz2 the content would be read, of whatever size
        with path.open("rb") as file:
            if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            X, y = load_svmlight_file(file, zero_based=False)
        # files do not contain trailing zeros
        X.resize(X.shape[0], max(X.shape[1], n_features))
    return Table(X, y)


def labels(y: Array, classes: Array, path: Path) -> Array:
    """Return labels y (n,) as classes of a model, where 3, 3.0 and "3" mean the same class; errors name ``path``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cli.tables import labels
    >>> labels(np.array(["2.0", "1"]), np.array([1, 2]), "data.csv")
    array([2, 1])
    """
    if np.ndim(y) != 1:
        raise Failure(
            f"{path}: labels have shape {np.shape(y)}; a classifier needs one label per row."
        )
    known = {str(each): i for i, each in enumerate(classes)}
    known |= {float(each): i for i, each in enumerate(classes) if _is_number(each)}
    found, places = np.unique(y, return_inverse=True)
    codes = [
        known.get(str(each), known.get(float(each)) if _is_number(each) else None) for each in found
    ]
    unknown = [str(each) for each, code in zip(found, codes, strict=True) if code is None]
    if unknown:
        raise Failure(
            f"{path}: the label {shown(unknown[0])} must be a class of the model, {listed(classes)}; give data like "
            "its training data, with the label in the last column of a .csv."
        )
    return classes[np.array(codes)[places]]


def targets(y: ArrayLike, path: Path) -> Array:
    """Return regression targets y (n,) or (n, m) as finite floats; errors name ``path``."""
    with naming(path, "targets must be numbers"):
        y = np.asarray(y).astype(np.float64)
    if not np.isfinite(y).all():
        raise Failure(f"{path}: targets must be finite; remove rows with NaN or infinity.")
    return y


def listed(classes: Array) -> str:
    """Return the classes as text, at most eight of them."""
    words = list(map(repr, np.asarray(classes).tolist()))
    return ", ".join(words if len(words) <= 8 else [*words[:7], f"... {words[-1]}"])


# --- files before they are read: regular files, whose content fits into memory ----------------------------------------


def require_file(path: Path, kind: str) -> None:
    """Raise a Failure unless a path is a regular file of at most `BUDGET` bytes; ``kind`` says what to name instead.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mercer.cli.tables import require_file
    >>> require_file(Path("/dev/null"), "a data file")
    Traceback (most recent call last):
    mercer.cli.failure.Failure: /dev/null: this is not a regular file; name a data file.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        found = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise Failure(f"{path}: this is {found}; name {kind}.")
    _require_budget(path, "the file", status.st_size)


def require_arrays(path: Path) -> None:
    """Raise unless the arrays of an .npz or .npy file are as large as the file says and take at most `BUDGET` bytes."""
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            _require_array(path, "the array", file, path.stat().st_size)
            return
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if entry.filename in ("X.npy", "y.npy"):
                    # what is read later is at most the size that is stated here
                    _require_budget(path, entry.filename, entry.file_size)
                    with archive.open(entry) as member:
                        _require_array(path, entry.filename, member, entry.file_size)


def _require_array(path, name, file, size):
    """Raise unless an open .npy file of ``size`` bytes holds the array that its header states."""
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(file)
    except ValueError as error:
        raise ValueError("this is not a file of NumPy arrays") from error
    if version not in readers:
        raise ValueError(f"{name} has version {version} of the format, which is for records")
    shape, _, dtype = readers[version](file)
    needed = math.prod(shape) * dtype.itemsize
    _require_budget(path, name, needed)
    if not dtype.hasobject and needed != size - file.tell():
        raise ValueError(
            f"{name} states {needed} bytes, shape {shape} of {dtype}, but holds {size - file.tell()}"
        )


def _require_budget(path, name, size):
    if size > BUDGET:
        raise Failure(
            f"{path}: {name} has {human_bytes(size)}, commands read at most {human_bytes(BUDGET)}; give fewer rows, or "
            "use mercer in Python."
        )
