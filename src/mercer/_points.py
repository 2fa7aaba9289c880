"""Points are whatever a kernel takes: rows of numbers, rows of a sparse matrix, row indices, or a list of objects.

Everything above the kernels needs only three verbs of them: how many, some of them, and one container after another.
"""

import math

import array_api_compat
import numpy as np
import scipy.sparse as sp


def count(points):
    """Return the number of points.

    Parameters
    ----------
    points : array (n, d), sparse matrix (n, d), array (n,) or sequence of length n

    Returns
    -------
    int
    """
    return points.shape[0] if hasattr(points, "shape") else len(points)


def take(points, rows):
    """Return some of the points, in the same kind of container.

    Parameters
    ----------
    points : container of n points
    rows : slice or integer array

    Returns
    -------
    container of the chosen points
    """
    if isinstance(points, np.ndarray) or sp.issparse(points):
        return points[rows]
    if hasattr(points, "shape"):
        if isinstance(rows, slice):
            return points[rows, ...]
        xp = array_api_compat.array_namespace(points)
        return xp.take(points, xp.asarray(rows, device=array_api_compat.device(points)), axis=0)
    return points[rows] if isinstance(rows, slice) else [points[i] for i in rows]


def concatenate(parts):
    """Join containers of points of one kind.

    Parameters
    ----------
    parts : list of containers

    Returns
    -------
    container of all points, in order
    """
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    if hasattr(parts[0], "shape"):
        return array_api_compat.array_namespace(*parts).concat(parts)
    return [point for part in parts for point in part]


def rows(X, name="X", dtype=None):
    """Validate rows of numbers: two dimensions, real, finite, float32 or float64.

    Parameters
    ----------
    X : array-like or sparse matrix (n, d)
        Integers and booleans become float64; a sparse matrix becomes CSR with sorted indices; arrays of another
        array library (torch, CuPy) stay what they are.
    name : str
        How error messages call it.
    dtype : dtype, optional
        Floating type to convert to.

    Returns
    -------
    array or CSR matrix (n, d)

    Raises
    ------
    ValueError
        Wrong number of dimensions, no rows or columns, or a value that is not finite; the first one is named.
    TypeError
        Complex numbers or objects.
    """
    if sp.issparse(X):
        # sum_duplicates works in place: the user's matrix stays as it is
        X = sp.csr_matrix(X, copy=not X.has_canonical_format if hasattr(X, "has_canonical_format") else True)
        X.sum_duplicates()
    elif isinstance(X, np.ndarray) or not array_api_compat.is_array_api_obj(X):
        X = _as_numpy(X, name)
    if len(X.shape) != 2:
        raise ValueError(
            f"{name} must have two dimensions (points, features), got shape {tuple(X.shape)}; "
            "one point is a row: X.reshape(1, -1)."
        )
    if 0 in tuple(X.shape):
        raise ValueError(f"{name} must have at least one row and one column, got shape {tuple(X.shape)}.")
    X = _floating(X, name, dtype)
    _refuse_nonfinite(X, name)
    return X


def _as_numpy(X, name):
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise TypeError(f"{name} is a masked array; fill or drop its {int(X.mask.sum())} masked entries first.")
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError(f"{name} must be a table of numbers, one row per point: {error}") from error


def _floating(X, name, dtype):
    if not (sp.issparse(X) or isinstance(X, np.ndarray)):
        return _floating_elsewhere(X, name, dtype)
    if X.dtype.kind in "OUS":
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name} must hold real numbers, got dtype {X.dtype}; kernels on strings or other objects "
                "take a list of them."
            ) from error
    if X.dtype.kind not in "fiub":
        # the last words are those that scikit-learn looks for
        ending = "; Complex data not supported." if X.dtype.kind == "c" else "."
        raise TypeError(f"{name} must hold real numbers, got dtype {X.dtype}{ending}")
    if dtype is None:
        # other byte orders are other types to NumPy
        dtype = np.float32 if X.dtype.newbyteorder("=") == np.float32 else np.float64
    # a long double may be infinite in float64, which is found below
    with np.errstate(over="ignore"):
        return X if X.dtype == dtype else X.astype(dtype)


def _floating_elsewhere(X, name, dtype):
    xp = array_api_compat.array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise TypeError(f"{name} must hold real numbers, got dtype {X.dtype}; Complex data not supported.")
    if dtype is None:
        dtype = X.dtype if X.dtype in (xp.float32, xp.float64) else xp.float64
    return X if X.dtype == dtype else xp.astype(X, dtype)


def _refuse_nonfinite(X, name):
    values = X.data if sp.issparse(X) else X
    xp = array_api_compat.array_namespace(values)
    # a finite sum proves every entry finite and needs no temporary of the size of X
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(float(xp.sum(values))):
            return
    finite = xp.isfinite(values)
    if bool(xp.all(finite)):
        return
    first = tuple(int(index[0]) for index in xp.nonzero(~finite))
    value = "NaN" if bool(xp.isnan(values[first])) else "infinity"
    if sp.issparse(X):
        first = int(np.searchsorted(X.indptr, first[0], side="right") - 1), int(X.indices[first[0]])
    raise ValueError(f"Input {name} contains {value} at {first}; remove or impute such rows first.")


def common_dtype(*arrays):
    """Return the floating type that holds all of the arrays (float32 only if all are)."""
    xp = np if any(sp.issparse(a) for a in arrays) else array_api_compat.array_namespace(*arrays)
    return xp.float64 if any(a.dtype == xp.float64 for a in arrays) else xp.float32
