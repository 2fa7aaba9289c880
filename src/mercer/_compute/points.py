"""Points are whatever a kernel takes: rows of numbers, rows of a sparse matrix, row indices, or a list of objects.

Everything above the kernels needs only three verbs of them: how many, some of them, and one container after another.
"""

import math
import weakref
from functools import cached_property

import array_api_compat
import numpy as np
import scipy.sparse as sp

from mercer._compute.compile import compiled, wide
from mercer._compute.namespace import NUMPY, namespace_of

# Rows of a kept array that are compared to find out whether it was changed in place.
_COMPARED = 8
# By the id of an array: a weak reference to it, those rows, and what was computed of it.
_kept = {}


def count_points(points):
    """Return the number of points.

    Parameters
    ----------
    points : array (n, d), sparse matrix (n, d), array (n,) or sequence of length n

    Returns
    -------
    int
    """
    return points.shape[0] if hasattr(points, "shape") else len(points)


def take_points(points, rows):
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


def join_points(parts):
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


def as_rows(X, name="X", dtype=None):
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


@compiled
def subtract_centre(X, centre, out):
    """Write the rows of X minus a centre, subtracted in float64."""
    wide()
    for i in range(len(X)):
        for k in range(X.shape[1]):
            out[i, k] = np.float64(X[i, k]) - centre[k]


@compiled
def _sum_squares(X, out):
    """Write the squared norms of rows, summed in float64."""
    wide()
    for i in range(len(X)):
        total = 0.0
        for k in range(X.shape[1]):
            total += np.float64(X[i, k]) * np.float64(X[i, k])
        out[i] = total


class Points:
    """Points on one side of a block, with what has been computed of them.

    Parameters
    ----------
    points : container of n points
    memo : dict, optional
        What was worked out of these points before.
    """

    def __init__(self, points, memo=None):
        self.container = points
        self._memo = {} if memo is None else memo

    def __len__(self):
        return count_points(self.container)

    def __getstate__(self):
        # what was computed can be computed again: a pickle carries the points alone
        return {"container": self.container, "_memo": {}}

    def take(self, rows):
        """Return the side of some of the points; nothing computed is carried over."""
        return Points(take_points(self.container, rows))

    def memo(self, key, compute):
        """Return ``compute()``, worked out once per side and key."""
        if key not in self._memo:
            self._memo[key] = compute()
        return self._memo[key]

    @property
    def xp(self):
        """Array namespace of the points (NumPy for sparse rows and for objects)."""
        return namespace_of(self.container)

    @property
    def dtype(self):
        """Floating type of kernel values at the points: float32 for float32 rows, else float64."""
        xp, dtype = self.xp, getattr(self.container, "dtype", None)
        narrow, wide = (np.dtype(xp.float32), np.dtype(xp.float64)) if xp is NUMPY else (xp.float32, xp.float64)
        return narrow if dtype == narrow else wide

    @property
    def sparse(self):
        """Whether the points are rows of a sparse matrix."""
        return sp.issparse(self.container)

    @property
    def centre(self):
        """Mean row in float64, about which distances are computed; None for sparse rows."""
        return None if self.sparse else self.memo("centre", self._centre)

    def _centre(self):
        return self.xp.mean(self.container, axis=0, dtype=self.xp.float64) if self.xp is NUMPY else self._mean()

    def _mean(self):
        return self.xp.mean(self.xp.astype(self.container, self.xp.float64), axis=0)

    @cached_property
    def contiguous(self):
        """The rows as a C-contiguous array."""
        return np.ascontiguousarray(self.container)

    def about(self, centre):
        """Return the rows minus a centre, in the type of the rows; subtracted in float64."""
        if centre is None:
            return self.container
        # the centre is kept with the result, so that its id cannot come to mean another array
        return self.memo(("about", id(centre)), lambda: (centre, self._about(centre)))[1]

    def _about(self, centre):
        xp, points = self.xp, self.container
        if xp is NUMPY:
            rows = np.empty(points.shape, points.dtype)
            subtract_centre(points, centre, rows)
            return rows
        return xp.astype(xp.astype(points, xp.float64) - centre, points.dtype)

    def sqnorms(self, centre=None):
        """Return |x - centre|^2 for every row, summed in float64; overflow is an error.

        Raises
        ------
        ValueError
            When a squared norm is too large for the floating type.
        """
        return self.memo(("sqnorms", id(centre)), lambda: (centre, self._sqnorms(centre)))[1]

    def _sqnorms(self, centre):
        xp, rows = self.xp, self.about(centre)
        if self.sparse:
            wide = rows.astype(np.float64)
            with np.errstate(over="ignore"):
                norms = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        elif xp is NUMPY:
            norms = np.empty(len(rows))
            _sum_squares(rows, norms)
        else:
            wide = xp.astype(rows, xp.float64)
            norms = xp.sum(wide * wide, axis=1)
        largest = float(xp.max(norms))
        # 4 |x|^2 bounds every squared distance between two rows
        if not 4 * largest <= float(xp.finfo(self.container.dtype).max):
            raise ValueError(
                f"Squared norms and distances overflow {self.container.dtype}: a row has entries up to "
                f"{self._largest():.3g}; scale X (StandardScaler) first."
            )
        return xp.astype(norms, self.container.dtype)

    def _largest(self):
        return float(abs(self.container).max()) if self.sparse else float(self.xp.max(self.xp.abs(self.container)))


def keep_points(array, admit):
    """Return ``Points`` of an array that share what was computed of it before, after ``admit(array)`` the first time.

    Computed values are kept as long as the array lives; none of them may hold a reference to it.
    """
    key, rows = id(array), array[:: -(-len(array) // _COMPARED)].tobytes()
    owner, seen, memo = _kept.get(key, (None, None, None))
    if owner is None or owner() is not array or seen != rows:
        admit(array)
        memo = {}
        _kept[key] = weakref.ref(array, lambda _: _kept.pop(key, None)), rows, memo
    return Points(array, memo)
