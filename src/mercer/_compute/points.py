"""Points of a kernel: containers of points, their validation, and ``Points``, a container with values computed of it.

A container is an array of rows, a sparse matrix, an array of row indices, ``Objects`` (a list) or a ``Table``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import array_api_compat
import numpy as np
import scipy.sparse as sp

from mercer._common import Array, ArrayLike, PointsLike, T
from mercer._compute.memory import allocate
from mercer._compute.objects import Objects, Shared, Table
from mercer._compute.profile import NUMPY, namespace_of
from mercer._compute.readable import TABLES, computed, refuse_unreadable

P = TypeVar("P", bound=PointsLike)
# Types of numbers that rows have.
_FLOATING = (np.dtype(np.float64), np.dtype(np.float32))


# Points that show the spread of all, at which functions are compared, and all pairs of which are.
SAMPLE = 1000
PROBES = 100
PAIRED = 64
# Entries of vectors whose product starts no threads of BLAS; OpenBLAS has them from 10 000 on.
_FEW = 4096


def count_points(points: PointsLike) -> int:
    """Return the number of points in a container."""
    return points.shape[0] if hasattr(points, "shape") else len(points)


def take_points(points: PointsLike, rows: slice | Array) -> Any:
    """Return the points of a slice or of an integer array, in the same kind of container."""
    if isinstance(points, np.ndarray) or sp.issparse(points):
        return points[rows]
    if hasattr(points, "take_rows"):
        # features of objects in their own form
        return points.take_rows(rows)
    if hasattr(points, "shape"):
        if isinstance(rows, slice):
            return points[rows, ...]
        xp = array_api_compat.array_namespace(points)
        return xp.take(points, xp.asarray(rows, device=array_api_compat.device(points)), axis=0)
    if isinstance(points, Table):
        return Table(
            [take_points(column, rows) for column in points.columns], points.names, (points, rows)
        )
    taken = points[rows] if isinstance(rows, slice) else [points[i] for i in rows]
    if not isinstance(points, Objects):
        return taken
    return Objects(
        taken,
        (points, rows),
        {key: take_points(value, rows) for key, value in points.values.items()},
    )


def positions(index: ArrayLike, n: int) -> Array:
    """Return the places among n points that a number, a slice, a list, an array or a mask selects."""
    # NumPy takes an empty list as numbers, and an array of it as fractions
    return np.ravel(np.arange(n)[index if isinstance(index, (list, slice)) else np.asarray(index)])


def consecutive(J: Array) -> Array | slice:
    """Return consecutive indices from 0 or more on as a slice, which copies nothing; others unchanged."""
    if len(J) and J[0] >= 0 and int(J[-1]) - int(J[0]) == len(J) - 1 and (np.diff(J) == 1).all():
        return slice(int(J[0]), int(J[-1]) + 1)
    return J


def evenly_spaced(n: int, most: int) -> Array:
    """Return n places, or ``most`` of them from the first to the last where there are more (int array)."""
    if n <= most:
        return np.arange(n)
    # steps of at least 1: the numbers differ
    return np.arange(most) * (n - 1) // max(most - 1, 1)


def dense(points: ArrayLike) -> Array:
    """Return rows as a dense array, the array itself where they are one."""
    return points.toarray() if sp.issparse(points) else np.asarray(points)


def join_points(parts: Sequence[PointsLike]) -> Any:
    """Return one container with the points of a list of containers, in order."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    if all(hasattr(part, "shape") for part in parts):
        return array_api_compat.array_namespace(*parts).concat(parts)
    if isinstance(parts[0], Table):
        columns = zip(*(part.columns for part in parts), strict=True)
        return Table([join_points(list(column)) for column in columns], parts[0].names)
    joined = [point for part in parts for point in part]
    return Objects(joined) if isinstance(parts[0], Objects) else joined


def same_points(left: PointsLike, right: PointsLike) -> bool:
    """Return whether two containers, of NumPy, sparse or lists, hold the same points, bit for bit or as objects."""
    if left is right:
        return True
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_points, left, right))
    if sp.issparse(left) and sp.issparse(right):
        return left.shape == right.shape and left.dtype == right.dtype and (left != right).nnz == 0
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
    return arrays and left.dtype == right.dtype and np.array_equal(left, right)


def point_keys(points: PointsLike) -> list[Any]:
    """Return one value for each point of a container, equal for equal points, also of rows with stored zeros."""
    if sp.issparse(points):
        rows = sp.csr_matrix(points, copy=True)
        rows.eliminate_zeros()
        parts = [np.split(part, rows.indptr[1:-1]) for part in (rows.indices, rows.data)]
        return [(indices.tobytes(), data.tobytes()) for indices, data in zip(*parts, strict=True)]
    if isinstance(points, np.ndarray):
        # adding 0 makes -0 equal to 0
        return [(row + 0).tobytes() for row in points]
    if isinstance(points, Table):
        return list(zip(*(map(_key, column) for column in points.columns), strict=True))
    return list(map(_key, points))


def _key(point):
    """Return a value that is equal for equal objects, or their identity if they cannot be hashed."""
    match point:
        case np.ndarray():
            return _key(point.tolist())
        case list() | tuple():
            return tuple(map(_key, point))
        case set():
            return frozenset(point)
        case dict():
            return dict, frozenset((name, _key(value)) for name, value in point.items())
    try:
        hash(point)
    except TypeError:
        return (id(point),)
    return point


def are_others(points: PointsLike, known: PointsLike) -> bool:
    """Return whether points are others than known ones, of any floating type; False where objects do not show it."""
    if isinstance(points, (list, tuple)):
        return len(points) != len(known) or any(map(are_others, points, known))
    if sp.issparse(points) or sp.issparse(known):
        points = sp.csr_matrix(points)
        known = sp.csr_matrix(known)
    numeric = sp.issparse(points) or isinstance(points, np.ndarray)
    return (
        not same_points(widened(points), widened(known))
        if numeric
        else isinstance(points, str) and points != known
    )


def owned(points: P) -> P:
    """Return points that nobody else changes: read-only arrays as they are, read-only copies of others.

    Values computed of points are kept, and belong to the points of that time. Arrays of other libraries are not copied.
    """
    if isinstance(points, np.ndarray) and not _is_constant(points):
        points = np.array(points)
        points.flags.writeable = False
    elif sp.issparse(points) and not _is_constant(points.data):
        points = points.copy()
        for array in (points.data, points.indices, points.indptr):
            _freeze(array)
    return points


def owned_each(points: PointsLike) -> PointsLike:
    """Return a list of points with ``owned`` arrays; other containers as they are."""
    return [owned(each) for each in points] if type(points) is list else points


def _freeze(array):
    """Make an array of ours read-only, and the memory that it is a view of, as the parts of sparse rows are."""
    while isinstance(array, np.ndarray):
        array.flags.writeable = False
        array = array.base


def _is_constant(array):
    """Return whether nobody may write to the memory of an array; files may change on disk."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable or isinstance(array, np.memmap):
            return False
        array = array.base
    return array is None


def widened(points: P) -> P:
    """Return rows of numbers in float64; other points unchanged."""
    if getattr(getattr(points, "dtype", None), "kind", "") == "f":
        return points.astype(np.float64)
    return points


def as_rows(X: Any, name: str = "X", dtype: np.dtype | type | None = None) -> Array:
    """Return rows of numbers as a finite float32 or float64 array (n, d), or as CSR with sorted indices.

    Other types become float64, or ``dtype``; arrays of other libraries stay on their device. Errors show ``name``.
    """
    if are_valid(X) and (dtype is None or X.dtype == dtype):
        return X
    refuse_unreadable(X := computed(X, name), name)
    if sp.issparse(X):
        X = sp.csr_matrix(X)
        # a new matrix over the same arrays: flags of the user's matrix may be wrong after changes of its arrays
        X = sp.csr_matrix((X.data, X.indices, X.indptr), X.shape)
        if not X.has_canonical_format:
            # sum_duplicates changes its matrix, so copy the user's matrix first
            X = X.copy()
            X.sum_duplicates()
    elif _becomes_array(X):
        X = np.asarray(X)
    if len(X.shape) != 2:
        # some names are words, not variables
        x = name if name.isidentifier() else "X"
        rows = (
            f"make a row of each point, {x}.reshape(len({x}), -1)"
            if len(X.shape) > 2
            else f"pass one feature as a column, {x}.reshape(-1, 1), or one point as a row, {x}.reshape(1, -1), "
            "and if y is given, X comes before y"
        )
        # the last words are those that scikit-learn's checks look for
        raise ValueError(
            f"{name} must have two dimensions (points, features), got shape {tuple(X.shape)}; {rows}: Reshape your "
            "data."
        )
    if 0 in tuple(X.shape):
        raise ValueError(
            f"{name} must have at least one row and one column, got shape {tuple(X.shape)}."
        )
    X = _floating(X, name, dtype)
    _refuse_nonfinite(X, name)
    return X


def as_block(rows: Any, start: int) -> Any:
    """Return a block of rows in float32 or float64, or raise an error that says where the block starts."""
    return as_rows(rows, f"X[{start}:{start + count_points(rows)}]")


def are_valid(X: Any) -> bool:
    """Return whether X are rows that need no change: other checks take longer than a small product or prediction."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.size > 0
        and X.dtype in _FLOATING
        and has_finite_sum(X)
    )


def _becomes_array(X):
    """Return whether X is read into an array of NumPy: all but arrays of other libraries."""
    return isinstance(X, np.ndarray) or not array_api_compat.is_array_api_obj(X)


def as_dense_rows(X: PointsLike, name: str) -> Array:
    """Return rows as ``as_rows`` does, sparse ones as an array."""
    X = as_rows(X, name)
    return X.toarray() if sp.issparse(X) else X


def as_columns(values: Any, name: str) -> Array:
    """Return finite real numbers, such as coefficients, as a float32 or float64 array, also of another library."""
    if type(values) is np.ndarray and values.dtype in _FLOATING and has_finite_sum(values):
        return values
    refuse_unreadable(values := computed(values, name), name)
    if sp.issparse(values):
        raise TypeError(
            f"{name} must be a dense array of numbers, got a sparse matrix; give {name}.toarray()."
        )
    values = _floating(np.asarray(values) if _becomes_array(values) else values, name, None)
    refuse_nonfinite(values, name)
    return values


def as_vector(values: ArrayLike, name: str) -> Array:
    """Return finite numbers as a float64 array (n,), or raise."""
    values = np.asarray(as_columns(values, name), np.float64)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, got shape {values.shape}; pass a list of numbers."
        )
    return values


def refuse_nonfinite(values: Array, name: str) -> None:
    """Raise unless all entries of an array are finite; the message gives the first that is not."""
    if (first := _first_nonfinite(values)) is not None:
        place = ", ".join(map(str, first))
        raise ValueError(
            f"{name}[{place}] = {float(values[first])} must be finite; remove or replace missing and infinite entries."
        )


def refuse_overflow(values: Array, name: str, factor: Array) -> Array:
    """Return values computed of a finite factor, or raise a ValueError that names it if one of them overflows."""
    if not has_finite_sum(values) and _first_nonfinite(values) is not None:
        raise ValueError(
            f"{name} has entries up to {_largest(factor):.3g}, with which values overflow {values.dtype}; divide "
            f"{name} by a constant, or scale X."
        )
    return values


def _floating(X, name, dtype):
    if not (sp.issparse(X) or isinstance(X, np.ndarray)):
        return _floating_elsewhere(X, name, dtype)
    if dtype is None:
        # NumPy counts another byte order as another type
        dtype = np.float32 if X.dtype.newbyteorder("=") == np.float32 else np.float64
    # a long double may become infinite in float64; _refuse_nonfinite finds it
    with np.errstate(over="ignore"):
        return X if X.dtype == dtype else X.astype(dtype)


def _floating_elsewhere(X, name, dtype):
    xp = array_api_compat.array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise TypeError(
            f"{name} must hold real numbers, got dtype {X.dtype}; Complex data not supported."
        )
    if dtype is None:
        dtype = X.dtype if X.dtype in (xp.float32, xp.float64) else xp.float64
    # gradients of PyTorch do not pass through
    X = X.detach() if hasattr(X, "detach") else X
    return X if X.dtype == dtype else xp.astype(X, dtype)


def _refuse_nonfinite(X, name):
    values = X.data if sp.issparse(X) else X
    if has_finite_sum(values) or (first := _first_nonfinite(values)) is None:
        return
    value = "NaN" if math.isnan(float(values[first])) else "infinity"
    if sp.issparse(X):
        first = int(np.searchsorted(X.indptr, first[0], side="right") - 1), int(X.indices[first[0]])
    raise ValueError(
        f"Input {name} contains {value} at {first}; remove or impute such rows first"
        f"{TABLES if value == 'NaN' else ''}."
    )


def _first_nonfinite(values):
    """Return the place of the first entry that is not finite, or None."""
    xp = namespace_of(values)
    finite = xp.isfinite(values)
    return None if bool(xp.all(finite)) else tuple(int(index[0]) for index in xp.nonzero(~finite))


def has_finite_sum(values: Array) -> bool:
    """Return whether a sum is finite, which proves without a temporary array that every entry is finite.

    For few entries of NumPy it is that of squares, by a function that warns of nothing: the context takes longer.
    """
    if type(values) is np.ndarray and values.size <= _FEW and values.flags.forc:
        flat = values.ravel(order="K")
        return math.isfinite(np.vdot(flat, flat))
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum() if type(values) is np.ndarray else namespace_of(values).sum(values)
    return math.isfinite(float(total))


def common_dtype(*arrays: Array) -> type:
    """Return float64 if one of the arrays is float64, else float32."""
    xp = np if any(map(sp.issparse, arrays)) else namespace_of(*arrays)
    return xp.float64 if xp.float64 in [array.dtype for array in arrays] else xp.float32


def subtract_centre(X: Array, centre: Array, out: Array) -> Array:
    """Write the rows x - centre, subtracted in float64, to ``out``, and return it."""
    return np.subtract(X, centre, out=out, dtype=np.float64, casting="same_kind")


def sum_squares(X: Array) -> Array:
    """Return the squared norms of rows, summed in float64."""
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def without_empty_columns(*rows: Any) -> list[Any]:
    """Return CSR rows without columns that are 0 in all of them, if these are most: a product takes memory for each."""
    ends = np.cumsum([len(each.indices) for each in rows])
    if ends[-1] >= rows[0].shape[1]:
        return list(rows)
    used, places = np.unique(np.concatenate([each.indices for each in rows]), return_inverse=True)
    parts = np.split(places, ends[:-1])
    return [
        type(each)((each.data, part, each.indptr), (each.shape[0], len(used)))
        for each, part in zip(rows, parts, strict=True)
    ]


class Points:
    """Points in a container, with the values computed of them: centre, norms, and any value that a kernel memoises.

    Parameters
    ----------
    container : array (n, d), sparse matrix (n, d), array (n,), Objects (n) or Table (n)
        ``Objects`` and tables keep the values computed of them.
    block : tuple of Points and rows, optional
        The points that these were taken from, and their places; not kept alive.
    """

    def __init__(
        self,
        container: PointsLike,
        block: tuple[Points, Any] | None = None,
    ) -> None:
        # kernels may admit points as a plain list
        self.container: Any = Objects(container) if type(container) is list else container
        shared = container if isinstance(container, Shared) else Shared(block)
        self._memo: dict[Hashable, Any] = shared.memo
        self.values: dict[Hashable, Any] = shared.values
        self.block: tuple | None = shared.block
        # array namespace of the container; NumPy for sparse rows and objects
        plain = type(container) is np.ndarray
        self.xp: Any = NUMPY if plain else namespace_of(self.container)
        self.sparse: bool = not plain and sp.issparse(self.container)
        self.n: int = (
            self.container.shape[0] if hasattr(self.container, "shape") else len(self.container)
        )

    def __len__(self) -> int:
        return self.n

    def __getstate__(self) -> dict[str, PointsLike]:
        # a pickle holds the container only; computed values are computed again
        return {"container": self.container}

    def __setstate__(self, state: dict[str, PointsLike]) -> None:
        Points.__init__(self, state["container"])

    def take(self, rows: slice | Array) -> Points:
        """Return the points of a slice or of an integer array; they share values of each point, see ``per_point``."""
        return Points(take_points(self.container, rows), block=(self, rows))

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return ``compute()``, called once for each key."""
        if key not in self._memo:
            self._memo[key] = compute()
        return self._memo[key]

    def per_point(self, key: Hashable, compute: Callable[[Points], Any]) -> Any:
        """Return ``compute(points)``, one value or row for each point, which does not depend on the other points.

        It is called once for a block of points; points taken from the block get their rows of the values.
        """
        if key not in self.values:
            block = self.block and self.block[0]()
            if block is None:
                self.values[key] = compute(self)
            else:
                block = block if isinstance(block, Points) else Points(block)
                self.values[key] = take_points(block.per_point(key, compute), self.block[1])
        return self.values[key]

    @property
    def dtype(self) -> np.dtype:
        """Floating type of kernel values at the points: float32 for float32 rows, else float64."""
        xp = self.xp
        single = getattr(self.container, "dtype", None) == xp.float32
        found = xp.float32 if single else xp.float64
        return np.dtype(found) if xp is NUMPY else found

    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """Return an array of one value in the type and on the device of the points."""
        return self.xp.full(shape, value, dtype=self.dtype, device=self.device)

    def zeros(self) -> Array:
        """Return a gradient (n, d) of zeros, in float64 on the device of the points."""
        return self.xp.zeros(tuple(self.container.shape), dtype=self.xp.float64, device=self.device)

    @property
    def device(self) -> object:
        """The device of an array; None for other containers."""
        return getattr(self.container, "device", None)

    @property
    def centre(self) -> Array | None:
        """Mean row in float64, which distances subtract; None for sparse rows."""
        if not self.sparse and "centre" not in self._memo:
            xp = self.xp
            self._memo["centre"] = (
                xp.mean(self.container, axis=0, dtype=xp.float64)
                if xp is NUMPY
                else xp.mean(xp.astype(self.container, xp.float64), axis=0)
            )
        return self._memo.get("centre")

    @cached_property
    def about_centre(self) -> tuple[Array | None, Array, Array]:
        """The rows minus their own centre, as ``centred`` returns them."""
        return self.centred(self.centre)

    @cached_property
    def contiguous(self) -> Array:
        """The NumPy rows as a C-contiguous array."""
        return np.ascontiguousarray(self.container)

    def about(self, centre: Array | None) -> Array:
        """Return the rows x - centre, subtracted in float64, in the type of the rows."""
        return self.container if centre is None else self.centred(centre)[1]

    def sqnorms(self, centre: Array | None = None) -> Array:
        """Return |x - centre|^2 (n,), summed in float64; a ValueError if squared distances may overflow the type."""
        return self.centred(centre)[2]

    def centred(self, centre: Array | None) -> tuple[Array | None, Array, Array]:
        """Return the centre, the rows of ``about`` and the squares of ``sqnorms``."""
        # the memo holds the centre too, so that its id is not reused
        key = "centred", id(centre)
        if key not in self._memo:
            self._memo[key] = self._centred(centre)
        return self._memo[key]

    def _centred(self, centre):
        xp = self.xp
        rows = self.container
        if centre is not None:
            rows = (
                subtract_centre(rows, centre, allocate(rows.shape, rows.dtype))
                if xp is NUMPY
                else xp.astype(xp.astype(rows, xp.float64) - centre, rows.dtype)
            )
        if self.sparse:
            wide = rows.astype(np.float64)
            with np.errstate(over="ignore"):
                norms = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        elif xp is NUMPY:
            norms = sum_squares(rows)
        else:
            wide = xp.astype(rows, xp.float64)
            norms = xp.sum(wide * wide, axis=1)
        largest = float(norms.max() if xp is NUMPY else xp.max(norms))
        # |x - z|^2 <= 4 max |x|^2
        if not 4 * largest <= float(xp.finfo(self.container.dtype).max):
            # points of a user who told scikit-learn that they are finite
            _refuse_nonfinite(self.container, "X or Z")
            raise ValueError(
                f"Squared norms and distances overflow {self.container.dtype}: a row of X or Z has entries up "
                f"to {_largest(rows):.3g}; scale X (StandardScaler) first."
            )
        return centre, rows, xp.astype(norms, self.container.dtype)


def _largest(rows):
    """Return the largest absolute value of rows."""
    return float(abs(rows).max()) if sp.issparse(rows) else float(namespace_of(rows).max(abs(rows)))
