"""Gram: the lazy matrix of kernel values K(X, Z), with products that never store it."""

from typing import Any, ClassVar

import array_api_compat
import numpy as np

from mercer._common import Array, ArrayLike, Memory, PointsLike, as_float64, shown
from mercer._compute import html, pick_backend
from mercer._compute.devices import in_main_memory, place_of, refuse_mixed
from mercer._compute.memory import human_bytes, parse_memory, require_memory, reusing
from mercer._compute.points import (
    Points,
    as_columns,
    evenly_spaced,
    owned,
    owned_each,
    positions,
    refuse_overflow,
)
from mercer._compute.readable import is_dask
from mercer._elsewhere import explain_class
from mercer.distributed import as_blocks, as_matrix
from mercer.kernels.algebra import Transposed
from mercer.kernels.base import Kernel, matched, require_kernel, require_resolved, validated


@explain_class
class Gram:
    """The lazy matrix of kernel values K(X, Z).

    Parameters
    ----------
    kernel : Kernel
        Resolved: with numbers for its bandwidths.
    X : points (n)
        Rows of a Dask array too, see Notes. Other points are copied unless they are read-only, ``X.flags.writeable =
        False``, apart from objects and arrays of other libraries: the matrix is that of the points at this time.
    Z : points (m), optional
        X by default.
    memory : str or int
        Memory limit of ``dense``. Products ``G @ V`` never store the matrix.

    Raises
    ------
    ValueError
        When the kernel does not take the points or is not resolved.
    TypeError
        When ``kernel`` is not a Kernel.

    Notes
    -----
    Every product ``G @ V`` evaluates n m kernel values, one tile in memory at a time, or none if the kernel has
    features, F (F' V), such as counts of substrings. Where Z is X and the kernel a function of distances or of inner
    products, half of them are evaluated: a tile serves as its transpose too. ``G[I, J]`` evaluates that block only.
    Solvers of SciPy take ``LinearOperator(G.shape, G.__matmul__, matmat=G.__matmul__, dtype=G.dtype)``.

    Where X or Z are rows of a Dask array, products, blocks and the diagonal are Dask arrays, computed when you ask for
    them: a task for each block of rows, or pair of blocks where both are Dask arrays, added in a fixed order.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> G = mc.Gram(mc.Gaussian(1.0), np.linspace(0, 1, 5).reshape(-1, 1))
    >>> G.shape, np.allclose(G @ np.ones(5), G.dense().sum(axis=1))
    ((5, 5), True)
    """

    __array_ufunc__: ClassVar[None] = None
    # loops would ask for G[0] and end at once
    __iter__: ClassVar[None] = None

    def __init__(
        self, kernel: Kernel, X: PointsLike, Z: PointsLike | None = None, memory: Memory = "1GB"
    ) -> None:
        require_kernel(kernel)
        self._kernel = kernel
        rows = owned_each(X)
        self._X, self._Z = _admitted(kernel, rows, rows if Z is None or Z is X else owned_each(Z))
        self._memory = parse_memory(memory)
        self._backend = pick_backend(kernel, self._X, self._Z)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns (n, m)."""
        return len(self._X), len(self._Z)

    @property
    def dtype(self) -> np.dtype:
        """Type of the values: the type of the points, float64 for points that are not numbers."""
        return self._X.dtype

    @property
    def T(self) -> Any:
        """The transposed matrix K(Z, X), also lazy."""
        kernel = self._kernel
        if self._X is self._Z and kernel.tags.symmetric:
            return self
        transposed = object.__new__(Gram)
        kernel = kernel if kernel.tags.symmetric else Transposed(kernel)
        transposed.__dict__ |= self.__dict__ | {"_kernel": kernel, "_X": self._Z, "_Z": self._X}
        return transposed

    def diagonal(self) -> Array:
        """Return k(x_i, x_i) (n,).

        Raises
        ------
        ValueError
            When the columns are other points than the rows.
        """
        if self._X is not self._Z:
            raise ValueError("Z must be X for a diagonal; this Gram has two sets of points.")
        X = as_blocks(self._X.container) if self._tasks else None
        return self._kernel.diagonal(self._X) if X is None else X.apply(Kernel.diag, self._kernel)

    def dense(self) -> Array:
        """Return the matrix (n, m).

        Raises
        ------
        MemoryError
            When the matrix exceeds the memory limit; nothing is computed.
        """
        n, m = self.shape
        needed = n * m * (4 if "float32" in str(self.dtype) else 8)
        require_memory(
            needed,
            self._memory,
            f"K(X, Z) of {n} x {m} values of {self.dtype}",
            "Gram(...) @ V, which never stores it, or a larger memory=",
        )
        if self._tasks:
            return self._tasks.values(_block, self._kernel, self._kernel.tags.symmetric)
        return self._backend.dense(self._kernel, self._X, self._Z)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        raise TypeError(
            "a Gram is not stored, so that it is not an array; give G.dense(), or use products G @ V."
        )

    def __matmul__(self, V: ArrayLike) -> Array:
        """Return K(X, Z) @ V for a vector (m,) or a block (m, p), without storing K."""
        V = V if self._tasks and is_dask(V) else as_columns(V, "V")
        refuse_mixed([place_of(V), place_of(self._X.container)])
        m = self.shape[1]
        if V.ndim not in (1, 2) or V.shape[0] != m:
            raise ValueError(
                f"V must have shape ({m},) or ({m}, p) in G @ V; got shape {tuple(V.shape)}."
            )
        if self._tasks:
            return self._tasks.product(_product, self._kernel, V)
        block = V[:, None] if V.ndim == 1 else V
        with np.errstate(over="ignore", invalid="ignore"):
            product = refuse_overflow(
                self._backend.matmul(self._kernel, self._X, self._Z, block), "V", V
            )
        return product[:, 0] if V.ndim == 1 else product

    def __rmatmul__(self, V: ArrayLike) -> Array:
        """Return V @ K(X, Z) for a vector (n,) or a block (p, n)."""
        V = V if array_api_compat.is_array_api_obj(V) else np.asarray(V)
        return self.T @ V if V.ndim == 1 else (self.T @ V.T).T

    def __getitem__(self, index: tuple[Any, Any]) -> Array:
        """Return the block of rows I and columns J; each a slice, an integer, an array, or from ``np.ix_``."""
        if not isinstance(index, tuple) or len(index) != 2:
            raise IndexError("a Gram must be indexed by rows and columns, G[I, J].")
        places = zip(map(in_main_memory, index), self.shape, strict=True)
        rows, columns = (i if isinstance(i, slice) else positions(i, n) for i, n in places)
        if self._tasks:
            return _block(self._kernel, self._X.container[rows], self._Z.container[columns])
        X = self._X.take(rows)
        # a kernel may compute each value between points of one object once
        own = self._X is self._Z and index[0] is index[1]
        Z = X if own else self._Z.take(columns)
        return (
            self._backend.dense(self._kernel, X, Z)
            if len(X) and len(Z)
            else X.full((len(X), len(Z)), 0)
        )

    @property
    def _tasks(self):
        """The matrix of Dask arrays, None where all points are in memory."""
        return as_matrix(self._X.container, self._Z.container)

    def __repr__(self) -> str:
        return f"Gram({self._kernel!r}, shape={self.shape})"

    def _repr_html_(self):
        facts = [
            ("shape", self.shape),
            ("type", self.dtype),
            ("memory limit of dense()", human_bytes(self._memory)),
        ]
        return html.table(f"Gram({self._kernel!r})", facts, self._picture())

    def _picture(self):
        """Return the picture of at most 30 evenly spaced rows and columns, for arrays of numbers."""
        if not all(self.shape) or not all(
            isinstance(points.container, np.ndarray) for points in (self._X, self._Z)
        ):
            return ""
        rows, columns = (evenly_spaced(n, html.CELLS) for n in self.shape)
        return html.heat_map(
            self[rows, columns], f"K(X, Z) at {len(rows)} rows and {len(columns)} columns"
        )


def _admitted(kernel, X, Z):
    """Return two containers as ``Points`` of one type, one object for both if X is Z."""
    require_resolved(kernel)
    if not (is_dask(X) or is_dask(Z)):
        own = owned(kernel.admit(X, "X"))
        if X is Z:
            own = Points(own)
            return own, own
        return matched(kernel, own, Points(owned(kernel.admit(Z, "Z"))))
    if kernel.tags.points in ("indices", "objects", "tables"):
        raise TypeError(
            f"X and Z must not be of Dask for {shown(kernel)}, which takes {kernel.tags.points}; give X.compute()."
        )
    found = as_matrix(X, Z)
    X = Points(found.X)
    return X, X if found.X is found.Z else Points(found.Z)


# --- tasks of Dask ----------------------------------------------------------------------------------------------------


def _product(kernel, X, Z, V):
    with reusing():
        return as_float64(Gram(kernel, X, Z) @ V)


def _block(kernel, X, Z):
    return Gram(kernel, X, Z, memory=2**62).dense()


def kept_product(
    kernel: Kernel, X: PointsLike, Z: Points, V: Array, pieces: list[slice] | None = None
) -> Array:
    """Return K(X, Z) @ V (n, p) for points X that a model has validated, and its points Z.

    They keep what is computed of them for the next call.

    With ``pieces``, q slices of Z: the products K(X, Z[piece]) @ V[piece] side by side (n, q p).
    """
    X, Z = matched(kernel, validated(kernel, X), Z)
    return pick_backend(kernel, X, Z).matmul(kernel, X, Z, V, pieces)
