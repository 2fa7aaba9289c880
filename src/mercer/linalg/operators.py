"""Lazy symmetric operators: inner products of vectors; weighted, projected and shifted operators.

Operators have this protocol; so has a ``Gram`` of one set of points, whose matrix is in the type of the points.

    shape          (n, n)
    dtype          type of the values
    A @ V          product with a block of columns (n, p)
    A.diagonal()   (n,)
    A[I, J]        block of rows I and columns J
    A.dense()      the matrix in float64, or a MemoryError where it exceeds the memory limit

Lanczos and conjugate gradients use ``shape``, ``dtype`` and ``@`` alone, so they take arrays as well. ``Shifted`` has
only these.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mercer._common import Array, Memory, as_float64
from mercer._compute import pick_backend
from mercer._compute.costs import TILE
from mercer._compute.loops import mirror
from mercer._compute.memory import blocks, parse_memory, require_memory
from mercer._compute.points import positions, widened
from mercer._compute.symmetric import count_values

# Rounding error of an inner product in eps max k(x, x): n times that of centred ones, n^(1/2) times that of sums.
NOISE = 8
# Rounding errors, for each term of a sum, up to which values count as equal.
ROUNDINGS = 32
# Rounding above this share of a result is warned of, and above this one of values of a model.
INACCURATE = 1e-4
LARGEST_ERROR = 1e-3
# Share of the largest eigenvalue above which others are clear of rounding, whatever their number.
CLEAR = 1e-9
# Negative squared lengths above this share of their scale show an indefinite kernel; smaller ones are rounding, which
# values of a given matrix may have from float32 in any type.
NEGATIVE = float(np.finfo(np.float32).eps) ** 0.5


class Operator(Protocol):
    """A symmetric matrix, or what has its products with blocks."""

    shape: tuple[int, int]
    dtype: Any

    def __matmul__(self, V: Array, /) -> Array:
        """Return the product with a block (n, p)."""
        ...


def in_float64(phi: Any) -> Any:
    """Return the vectors of an expansion with points and coefficients in float64, the type of kernel values then.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.linalg.operators import in_float64
    >>> in_float64(mc.features(mc.Linear(), np.ones((2, 1), np.float32))).points.dtype
    dtype('float64')
    """
    return type(phi)(phi.kernel, widened(phi.points), widened(phi.coef))


class InnerProducts:
    """The matrix <psi_i, psi_j> of a block of m vectors of the feature space, an Expansion."""

    __array_ufunc__ = None

    def __init__(self, phi: Any, memory: Memory = "1GB") -> None:
        self.vectors: Any = phi
        self._memory = memory
        m = len(phi)
        self.shape: tuple[Any, ...] = (m, m)
        single = "float32" in str(getattr(phi.prepared.container, "dtype", None))
        wide = "float64" in str(getattr(phi.coef, "dtype", None))
        self.dtype: Any = np.float32 if single and not wide else np.float64

    def __matmul__(self, V: Array) -> Array:
        return self.vectors.inner(self.vectors @ V)

    def diagonal(self) -> Array:
        """Return the squared norms (m,)."""
        return self.vectors.norms() ** 2

    def __getitem__(self, index: tuple[Any, ...]) -> Array:
        rows, columns = (positions(each, len(self.vectors)) for each in index)
        return self.vectors[:, rows].inner(self.vectors[:, columns])

    def stored(self) -> Operator:
        """Return these inner products in memory, half of them, where this fits the limit and saves kernel values.

        Not for coefficients, features, or a matrix that is given.
        """
        phi = self.vectors
        lazy = phi.coef is not None or phi.kernel.explicit or phi.kernel.tags.points == "indices"
        needed = count_values(len(phi)) * np.dtype(self.dtype).itemsize
        if lazy or needed > parse_memory(self._memory):
            return self
        X = phi.prepared
        return pick_backend(phi.kernel, X, X).stored(phi.kernel, X)

    def held(self) -> Held:
        """Return these inner products in memory in float64, or raise a MemoryError."""
        return Held(self.dense(), self.dtype)

    def dense(self) -> Array:
        """Return the matrix in float64, a new array, symmetric to the last bit."""
        m = self.shape[0]
        require_memory(
            8 * m * m,
            self._memory,
            f"the matrix of inner products of {m} vectors",
            "fewer vectors or components (below an eighth of the vectors no matrix is stored), or a larger memory=",
        )
        phi = self.vectors
        if self.dtype == np.float32:
            # a small ridge multiplies the rounding of float32 values
            phi = in_float64(phi)
        M = as_float64(phi.inner(phi))
        # features give a symmetric matrix; coefficients leave rounding
        return M if phi.coef is None else (M + M.T) / 2


class Held:
    """A matrix of inner products in memory, with the type of its points; ``dense`` gives it away."""

    __array_ufunc__ = None

    def __init__(self, matrix: Array, dtype: Any) -> None:
        self._matrix: Any = matrix
        self.shape: tuple[int, int] = matrix.shape
        self.dtype: Any = dtype

    def __matmul__(self, V: Array) -> Array:
        return self._matrix @ V

    def diagonal(self) -> Array:
        """Return the squared norms (m,), without negative ones of rounding."""
        return self._matrix.diagonal()

    def dense(self) -> Array:
        """Return the matrix, which this operator loses."""
        matrix = self._matrix
        self._matrix = None
        return matrix


class _Derived:
    """An operator made of another one, of its shape and type."""

    __array_ufunc__ = None

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.shape: tuple[int, int] = operator.shape
        self.dtype: Any = operator.dtype

    def __getitem__(self, index: tuple[Any, ...]) -> Array:
        return self._block(*(positions(each, self.shape[0]) for each in index))

    def _block(self, rows, columns):
        """Return the entries of some rows and columns."""
        raise NotImplementedError


class Weighted(_Derived):
    """The operator S A S with S = diag(scale): inner products of vectors that are multiplied by numbers."""

    def __init__(self, operator: Operator, scale: Array) -> None:
        super().__init__(operator)
        self.scale: Array = scale

    def __matmul__(self, V: Array) -> Array:
        return self.scale[:, None] * as_float64(self._operator @ (self.scale[:, None] * V))

    def diagonal(self) -> Array:
        """Return the squared norms of the multiplied vectors (n,)."""
        return self.scale**2 * as_float64(self._operator.diagonal())

    def _block(self, rows, columns):
        return self.scale[rows, None] * self._operator[rows, columns] * self.scale[columns]

    def dense(self) -> Array:
        """Return the matrix in float64."""
        M = self._operator.dense()
        M *= self.scale[:, None]
        M *= self.scale
        return M


class Projected(_Derived):
    """The operator H A H, H = I - Q Q', for orthonormal columns Q (n, q) of numbers.

    For the unit vector of roots of weights and `Weighted` inner products these are those about the weighted mean.
    """

    def __init__(self, operator: Operator, Q: Array) -> None:
        super().__init__(operator)
        self._Q: Array = Q

    @cached_property
    def image(self) -> Array:
        """The product A Q (n, q)."""
        return as_float64(self._operator @ self._Q)

    @cached_property
    def _factors(self):
        """Two factors (n, 2 q) of A - H A H = T Q' + Q T'."""
        Q = self._Q
        T = self.image - Q @ (Q.T @ self.image) / 2
        return np.hstack([T, Q]), np.hstack([Q, T])

    def __matmul__(self, V: Array) -> Array:
        return without(self._Q, as_float64(self._operator @ without(self._Q, V)))

    def diagonal(self) -> Array:
        """Return the diagonal (n,)."""
        left, right = self._factors
        return _squares(self._operator, np.sum(left * right, axis=1))

    def _block(self, rows, columns):
        left, right = self._factors
        return self._operator[rows, columns] - left[rows] @ right[columns].T

    def dense(self) -> Array:
        """Return the matrix in float64, symmetric to the last bit."""
        M = self._operator.dense()
        # its values are computed once, and in float64
        self.image = M @ self._Q
        left, right = self._factors
        for rows in _strips(M):
            M[rows] -= left[rows] @ right.T
        mirror(M, 0, len(M))
        return M


class Centred(Projected):
    """The operator H A H with H = I - 11'/n: inner products about the mean."""

    def __init__(self, operator: Operator) -> None:
        n = operator.shape[0]
        super().__init__(operator, np.full((n, 1), n**-0.5))

    def dense(self) -> Array:
        """Return the matrix in float64, symmetric to the last bit."""
        # means have the last digit of each value, which a product with a rounded unit vector loses
        return _centre(self._operator.dense())


def without(Q: Array | None, V: Array) -> Array:
    """Return the part of columns (n, p) that is orthogonal to orthonormal columns Q (n, q), all for None."""
    return V if Q is None else V - Q @ (Q.T @ V)


class Shifted(_Derived):
    """The operator factor A + shift I; with the factor -1 its largest eigenvalues are the smallest of A."""

    def __init__(self, operator: Operator, shift: float, factor: float = 1.0) -> None:
        super().__init__(operator)
        self._shift = shift
        self._factor = factor

    def __matmul__(self, V: Array) -> Array:
        return self._factor * as_float64(self._operator @ V) + self._shift * V


def centred(K: Array) -> Array:
    """Return H K H, H = I - 11'/n, of a symmetric array: a new array in float64, symmetric to the last bit.

    >>> import numpy as np
    >>> from mercer.linalg.operators import centred
    >>> centred(np.diag([2.0, 0.0]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    return _centre(np.array(K, np.float64))


def _centre(K):
    """Return H K H in place of a symmetric array."""
    # one sum of the two means keeps the matrix symmetric to the last bit; centring rows and columns in turn does not
    means = K.mean(axis=0)
    means = means - means.mean() / 2
    for rows in _strips(K):
        K[rows] -= means[rows, None] + means
    return K


def _strips(K):
    """Return slices of the rows of a matrix: with a temporary array of its size each is a tile."""
    return blocks(len(K), 16 * len(K), TILE)


def _squares(operator, rest):
    """Return the diagonal of an operator minus ``rest`` (n,), 0 where only rounding makes a difference negative."""
    own = as_float64(operator.diagonal())
    noise = len(own) * epsilon(operator) * float((np.abs(own) + np.abs(rest)).max())
    left = own - rest
    return np.where(left < -noise, left, left.clip(0))


def epsilon(values: Any) -> float:
    """Return eps of the type of an operator, array or objects, float64 for types that are not floating."""
    narrow = "float32" in str(getattr(values, "dtype", None))
    return float(np.finfo(np.float32 if narrow else np.float64).eps)
