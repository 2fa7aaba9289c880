"""Data that a command is given: rows of numbers with a label each, from four kinds of files."""

import zipfile
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mercer.cli.failure import Failure, naming

KINDS = (
    ".npz (arrays X and, with labels, y), .npy (rows of features), .csv (rows of features with the label in the last "
    "column, a first line of names is skipped), anything else is LIBSVM's text (label index:value ..., from index 1)"
)


@dataclass(frozen=True)
class Table:
    """Rows of data.

    Attributes
    ----------
    X : array (n, d), or sparse
    y : array (n,) or (n, m), or None
        Labels as the file has them, text from a table of text.
    """

    X: object
    y: np.ndarray | None


def table(path, n_features, at_least=False):
    r"""Read rows of data.

    Parameters
    ----------
    path : Path
        Its ending says what it is: see `KINDS`.
    n_features : int
        Of the model. A .csv with exactly as many columns has no labels.
    at_least : bool
        Whether data may have more: text models of LIBSVM do not know how many there are.

    Returns
    -------
    Table

    Raises
    ------
    Failure
        With the name of the file, what is wrong and where.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.cli.tables import table
    >>> path = Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("width,height,kind\n1,2,yes\n3,4,no\n")
    >>> table(path, 2)
    Table(X=array([[1., 2.],
           [3., 4.]]), y=array(['yes', 'no'], dtype='<U3'))
    """
    if path.is_dir():
        raise Failure(f"{path}: this is a folder; name a file of data: {KINDS}.")
    read = {".npz": _npz, ".npy": _npy, ".csv": _csv}.get(path.suffix.lower(), _libsvm)
    found = read(path, n_features, at_least)
    n, d = found.X.shape
    if n == 0:
        raise Failure(f"{path}: there are no rows of data in it.")
    if d != n_features and not (at_least and d > n_features):
        raise Failure(f"{path}: rows have {d} features, the model has {n_features}; give data like those it learned.")
    if found.y is not None and len(found.y) != n:
        raise Failure(f"{path}: there are {n} rows and {len(found.y)} labels; give one label for each row.")
    values = found.X.data if sp.issparse(found.X) else found.X
    if not np.isfinite(values).all():
        raise Failure(f"{path}: some features are NaN or infinite; leave those rows out.")
    return found


def _npz(path, _n_features, _at_least):
    with naming(path, "an .npz file must hold an array X, and y with labels"):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                names = list(arrays) if hasattr(arrays, "files") else []
                if "X" not in names:
                    raise ValueError(f"there is no array X among {names}")
                return Table(_matrix(arrays["X"], path), arrays["y"] if "y" in names else None)
        except (zipfile.BadZipFile, EOFError, AttributeError) as error:
            raise ValueError("this is no .npz file") from error


def _npy(path, _n_features, _at_least):
    with naming(path, "an .npy file must hold one array of rows"):
        try:
            return Table(_matrix(np.load(path, allow_pickle=False), path), None)
        except (zipfile.BadZipFile, EOFError, AttributeError) as error:
            raise ValueError("this is no .npy file") from error


def _matrix(X, path):
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise Failure(f"{path}: X has shape {X.shape} and type {X.dtype}; it must be rows of numbers, (n, d).")
    return X


def _csv(path, n_features, at_least):
    with naming(path, "a .csv file must be text with commas"):
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    counts = np.array([line.count(",") + 1 for line in lines])
    skip = int(bool(lines) and not _is_number(lines[0].split(",")[0]))
    if len(lines) == skip:
        raise Failure(f"{path}: there are no rows of data in it.")
    width = int(counts[skip])
    odd = np.flatnonzero(counts != width)
    if len(odd):
        raise Failure(f"{path}: row {odd[0] + 1} has {counts[odd[0]]} columns, row {skip + 1} has {width}.")
    # a text model may know fewer features than there are: there the last column is always the label
    d = width if width == n_features and not at_least else width - 1
    if d == 0:
        raise Failure(f"{path}: there is one column; put commas between features, and the label last.")
    with naming(path, f"the first {d} columns must be numbers"):
        X = np.loadtxt(lines[skip:], delimiter=",", usecols=range(d), ndmin=2, comments=None)
    if d == width:
        return Table(X, None)
    return Table(X, np.array([line.rpartition(",")[2].strip().strip('"') for line in lines[skip:]]))


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


def _libsvm(path, n_features, _at_least):
    from sklearn.datasets import load_svmlight_file

    with naming(
        path, f"rows of LIBSVM's text are: label index:value ...; other files must end in what they are: {KINDS}"
    ):
        X, y = load_svmlight_file(str(path), zero_based=False)
        if X.shape[1] < n_features:
            # trailing zeros are not written
            X = sp.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], n_features))
    return Table(X, y)


def labels(y, classes, path):
    """Return labels as the classes of a model that they mean: 3, 3.0 and "3" are one.

    Parameters
    ----------
    y : array (n,)
    classes : array (c,)
    path : path
        The file, for messages.

    Returns
    -------
    array (n,)

    Raises
    ------
    Failure
        For labels that are no classes of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cli.tables import labels
    >>> labels(np.array(["2.0", "1"]), np.array([1, 2]), "data.csv")
    array([2, 1])
    """
    if np.ndim(y) != 1:
        raise Failure(f"{path}: labels have shape {np.shape(y)}; a classifier needs one for each row.")
    known = {str(each): i for i, each in enumerate(classes)}
    if classes.dtype.kind in "iufb":
        known |= {float(each): i for i, each in enumerate(classes)}
    found, places = np.unique(y, return_inverse=True)
    codes = [known.get(str(each), known.get(float(each)) if _is_number(each) else None) for each in found]
    strange = [str(each) for each, code in zip(found, codes, strict=True) if code is None]
    if strange:
        raise Failure(
            f"{path}: the label {strange[0]!r} is no class of the model, {listed(classes)}; give data like those it "
            "learned."
        )
    return classes[np.array(codes)[places]]


def targets(y, path):
    """Return what a regression is to predict as numbers.

    Parameters
    ----------
    y : array (n,) or (n, m)
    path : path
        The file, for messages.

    Returns
    -------
    float array

    Raises
    ------
    Failure
        For a target that is no finite number.
    """
    with naming(path, "the model predicts numbers"):
        y = np.asarray(y).astype(np.float64)
    if not np.isfinite(y).all():
        raise Failure(f"{path}: some targets are NaN or infinite; leave those rows out.")
    return y


def listed(classes, most=8):
    """Return classes as words, the first few where there are many.

    Parameters
    ----------
    classes : array (c,)
    most : int

    Returns
    -------
    str
    """
    words = [repr(each) for each in np.asarray(classes).tolist()]
    return ", ".join(words if len(words) <= most else [*words[: most - 1], f"... {words[-1]}"])
