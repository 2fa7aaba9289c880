"""Containers as users give them: refused unless they hold rows of real numbers, and read into memory if of Dask."""

from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp

from mercer._common import ArrayLike, Memory, PointsLike, shown
from mercer._compute.memory import require_memory

# What to do with texts and other objects: a list of them, and those in a table.
_LIST = "make numbers of texts (TfidfVectorizer), or use a kernel of objects, such as kernel=mercer.strings.Spectrum(3)"
_TABLE = (
    "mercer.TableClassifier and mercer.TableRegressor take tables with texts and categories; encode categories "
    "(OneHotEncoder) and texts (TfidfVectorizer) as numbers, or use a kernel of objects, such as "
    "mercer.strings.Spectrum(3), beside one of numbers by mercer.on_columns"
)

# What takes missing entries.
TABLES = ", or use mercer.TableClassifier or TableRegressor, which take missing values"

# What to do with an object in place of points, by an attribute that it has.
_REMEDIES = {
    "casefold": "; give [X] for one text, columns of pandas.read_csv(path) for a file; formulas are not read",
    "coef": "; give points, of which kernel(X, Z) are the inner products of features",
    "collect": "; give X.collect()",
    "__next__": "; give a list, of pairs X, y = zip(*pairs)",
    "__code__": "; give a function as kernel=",
}


def refuse_unreadable(X, name):
    """Raise unless X can be rows of real numbers; a plain array of numbers costs nothing.

    Sparse matrices must have consistent indices, since compiled loops do not check them.
    """
    if (
        isinstance(X, np.ndarray)
        and X.dtype.kind in "fiub"
        and not isinstance(X, np.ma.MaskedArray)
    ):
        return
    if sp.issparse(X):
        _check_indices(X, name)
        _check_type(X.dtype, name)
    elif hasattr(type(X), "columns") and hasattr(type(X), "dtypes") and _sized(X):
        for column, dtype in zip(X.columns, X.dtypes, strict=True):
            if hasattr(dtype, "kind"):
                _check_type(dtype, f"column {shown(column)} of {name}")
            else:
                # only the array of one column shows the type: NumPy makes numbers of dates beside numbers
                _check_array(X[column], f"column {shown(column)} of {name}")
        _check_entries(np.asarray(X), name, X.columns)
    elif isinstance(X, np.ndarray) or not array_api_compat.is_array_api_obj(X):
        _check_array(X, name)
    elif "sparse" in str(getattr(X, "layout", "")):
        raise TypeError(
            f"{name} must be a dense tensor, got layout {X.layout}; give {name}.to_dense(), or a matrix of SciPy."
        )


def _check_array(X, name):
    """Raise unless a list or an array, or what NumPy makes of it, holds numbers."""
    refuse_container(X, name)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise TypeError(
            f"{name} must not be a masked array; fill or drop its {int(X.mask.sum())} masked entries first."
        )
    try:
        array = np.asarray(X)
    except ValueError:
        lengths = [f"{len(row)} entries" if _sized(row) else "no length" for row in X]
        first = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
        found = f", row {first} has {lengths[first]} and row 0 has {lengths[0]}" if first else ""
        raise ValueError(
            f"{name} must have rows of equal length: setting an array element with a sequence{found}; objects of any "
            "length need a kernel of objects: sequences of numbers kernel=mercer.sequences.GlobalAlignment(1.0), of "
            "symbols kernel=mercer.strings.Spectrum(2), graphs kernel=mercer.graphs.WeisfeilerLehman()."
        ) from None
    _check_type(array.dtype, name)
    _check_entries(array, name)


def refuse_container(X, name):
    """Raise unless X may hold one row or object per point, in order."""
    if type(X) is np.ndarray and X.ndim:
        return
    # a graph of networkx has as many items as nodes
    one = (
        hasattr(X, "nodes")
        or hasattr(X, "coef")
        or isinstance(X, (dict, set, frozenset, str, bytes))
    )
    if not sp.issparse(X) and (one or not _sized(X)):
        kind = "None" if X is None else type(X).__name__
        remedy = next((each for has, each in _REMEDIES.items() if hasattr(X, has)), "")
        raise TypeError(
            f"{name} must be a list or an array, with one row or number per point; got {kind}{remedy}."
        )


def _check_type(dtype, name):
    """Raise for dates, complex numbers and records, which NumPy would convert."""
    kind = getattr(dtype, "kind", "O")
    if kind == "c":
        raise ValueError(
            f"{name} must hold real numbers, got dtype {dtype}: Complex data not supported; give X.real."
        )
    if kind in "mMV":
        what = "records" if kind == "V" else "dates or durations"
        days = (
            "" if kind == "V" else ", dates t such as by (t - t.min()) / numpy.timedelta64(1, 'D')"
        )
        raise TypeError(
            f"{name} must hold real numbers, got {what}, dtype {dtype}; convert them to numbers first{days}."
        )


def _check_entries(array, name, columns=()):
    """Raise for the first entry of an array of objects or texts that is not a number; the data are not shown.

    Errors show the names of ``columns``.
    """
    if array.dtype.kind not in "OUS":
        return
    encode = _TABLE if array.ndim == 2 else _LIST
    for place, value in np.ndenumerate(array):
        value = value.item() if isinstance(value, np.generic) else value
        if is_missing(value):
            raise ValueError(
                f"Input {name} contains NaN at {place}; remove or impute such rows first{TABLES}."
            )
        column = f", column {shown(columns[place[1]])}," if len(columns) else ""
        where = f"{name}[{', '.join(map(str, place))}]{column} of type {type(value).__name__}"
        if isinstance(value, complex):
            raise ValueError(
                f"{where} must be a real number: Complex data not supported; give its real part."
            )
        try:
            float(value)
        except TypeError as error:
            raise TypeError(f"{where} must be a number: {error}; {encode}.") from None
        except OverflowError:
            raise ValueError(
                f"{where} must be at most 1.8e308, the largest float64; scale {name}."
            ) from None
        except ValueError:
            raise ValueError(
                f"{where} must be a number: could not convert string to float; {encode}."
            ) from None


def is_missing(value):
    """Return whether an entry is the missing one of Python or of tables, which need not be installed."""
    return type(value).__name__ in ("NoneType", "NAType")


def _check_indices(X, name):
    """Raise unless a sparse array is a matrix, and its indices lie inside it."""
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions (points, features), got shape {X.shape}; pass one feature as a column, "
            f"{name}.reshape(-1, 1)."
        )
    if X.format not in ("csr", "csc"):
        X = X.tocoo()
        parts = zip(
            X.coords if hasattr(X, "coords") else (X.row, X.col),
            X.shape,
            ("row", "column"),
            strict=True,
        )
        for indices, size, what in parts:
            _check_range(indices, size, what, name)
        return
    kinds = ("row", "column") if X.format == "csr" else ("column", "row")
    n, m = X.shape if X.format == "csr" else X.shape[::-1]
    pointers = X.indptr
    if (
        len(pointers) != n + 1
        or pointers[0] != 0
        or (np.diff(pointers) < 0).any()
        or pointers[-1] > len(X.indices)
    ):
        raise ValueError(
            f"{name}.indptr must rise from 0 to {len(X.indices)}, the number of stored values, in {n + 1} entries, got "
            f"{np.array2string(pointers, threshold=6)}; build the matrix again from (values, ({', '.join(kinds)}))."
        )
    if len(X.data) < pointers[-1]:
        raise ValueError(
            f"{name}.data has {len(X.data)} values, but {name}.indptr ends at {pointers[-1]}; build it again."
        )
    _check_range(X.indices[: pointers[-1]], m, kinds[1], name)


def _check_range(indices, size, what, name):
    if len(indices) and not (indices.min() >= 0 and indices.max() < size):
        bad = indices.min() if indices.min() < 0 else indices.max()
        raise ValueError(
            f"{name} has a {what} index {bad}, which must be from 0 to {size - 1}; build the sparse matrix again "
            "with a larger shape."
        )


def _sized(value):
    try:
        len(value)
    except TypeError:
        # an array on a device cannot be read here
        shape = getattr(value, "shape", None)
        if shape is None and hasattr(value, "__array__"):
            shape = np.asarray(value).shape
        return bool(shape)
    return True


def is_dask(value: object) -> bool:
    """Return whether a value is an array or a table of Dask."""
    return hasattr(value, "__dask_graph__")


def known_rows(values: ArrayLike, name: str) -> ArrayLike:
    """Return a Dask array of known size, of a Dask table by a pass over it; or raise."""
    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array(lengths=True)
    if np.isnan(values.shape).any():
        raise ValueError(
            f"{name} has chunks of unknown size; call {name}.compute_chunk_sizes() first."
        )
    return values


def decoded(table: Any) -> Any:
    """Return a pyarrow Table without dictionaries, of which NumPy reads a missing entry as the last value."""
    schema = table.schema
    coded = [i for i, kind in enumerate(schema.types) if hasattr(kind, "index_type")]
    for i in coded:
        field = schema.field(i)
        schema = schema.set(i, field.with_type(field.type.value_type))
    # a cast that changes nothing takes as long as the prediction of a row
    return table.cast(schema) if coded else table


def computed(X: PointsLike, name: str, memory: Memory = "1GB") -> PointsLike:
    """Return a Dask array or table in memory, or raise before it is computed if it exceeds a limit.

    A pyarrow Table is returned without dictionaries, all others as they are.
    """
    if hasattr(X, "unify_dictionaries"):
        return decoded(X)
    if not is_dask(X):
        return X
    rows = known_rows(X, name)
    what = f"{name} of shape {rows.shape}, a Dask array that is read into memory here,"
    instead = f"an estimator over landmarks, a larger memory=, or {name}.compute() if this machine has the memory"
    require_memory(rows.nbytes, memory, what, instead)
    return X.compute()
