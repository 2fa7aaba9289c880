"""Kernel rows for a solver: their protocol, rows of any kernel on any points, and kernel values that are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.costs import BLOCK, COLUMNS
from mercer._compute.memory import cut
from mercer._compute.points import count_points, take_points, widened
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.precomputed import Precomputed
from mercer.solvers.svm.on_demand import RawRows


class Rows:
    """Kernel rows of points. R and J are the numbers of points, int arrays.

    Attributes
    ----------
    kernel : Kernel
    points : points (n)
    dtype : dtype
        Of the values.
    diagonal : float64 array (n,)
        k(x, x), and the ridge of a dual, which products do not contain.
    width : int
        Multiplications for a kernel value, if known; otherwise 1.
    error : float
        Root mean square error of a value, 0 in float64.
    held : int
        Bytes of stored kernel values.
    in_call : bool
        Whether compiled code computes or copies rows where a step needs them, by ``raw`` rows.
    """

    kernel: Kernel
    points: Any
    dtype: Any
    diagonal: Array
    width: int = 1
    error: float = 0.0
    held: int = 0
    in_call: bool = False

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J, gathered once."""
        raise NotImplementedError

    def square(self, J: Array) -> Array:
        """Return the kernel values between points J, exactly symmetric, in a new array."""
        values = np.empty((len(J), len(J)), self.dtype)
        self.columns(J)(J, values)
        return values

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, summed in float64 over tiles; K is never stored."""
        total = np.zeros((len(R), *weights.shape[1:]))
        for left in range(0, len(J), COLUMNS):
            some = J[left : left + COLUMNS]
            write = self.columns(some)
            own = weights[left : left + COLUMNS].astype(self.dtype)
            step = max(1, BLOCK // len(some))
            for top in range(0, len(R), step):
                block = np.empty((len(R[top : top + step]), len(some)), self.dtype)
                write(R[top : top + step], block)
                total[top : top + step] += block @ own
        return total

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values of the points as given; K is never stored."""
        own = widened(take_points(self.points, R))
        total = np.zeros((len(R), *weights.shape[1:]))
        # copies in float64 of some points at a time
        for part in cut(len(J), max(COLUMNS, BLOCK // max(1, self.width))):
            other = widened(take_points(self.points, J[part]))
            total += Gram(self.kernel, own, other) @ weights[part]
        return total

    def raw(self, exact: bool = False) -> RawRows:
        """Return the points as compiled code computes rows from them: with ``exact`` in float64, to the last digits."""
        raise NotImplementedError

    def exact_square(self, J: Array) -> Array:
        """Return the float64 kernel values between points J as given, exactly symmetric."""
        own = widened(take_points(self.points, J))
        return np.asarray(Gram(self.kernel, own, memory=2**62).dense(), np.float64)


class PlainRows(Rows):
    """Kernel rows of any kernel on any points."""

    def __init__(self, kernel: Kernel, points: Any) -> None:
        self._gram = Gram(kernel, points)
        self.kernel = kernel
        self.points = points
        self.dtype = np.dtype(self._gram.dtype)
        self.diagonal = np.asarray(self._gram.diagonal(), np.float64)
        if self.dtype == np.float32:
            # that of rounding the largest value
            self.error = float(np.finfo(np.float32).eps * np.abs(self.diagonal).max())

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J."""

        def write(R, out):
            out[:] = self._gram[R, J]

        return write

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, in float64; K is never stored."""
        own = take_points(self.points, R)
        other = take_points(self.points, J)
        return np.asarray(Gram(self.kernel, own, other) @ weights.astype(self.dtype), np.float64)


class KnownRows(Rows):
    """Kernel rows of points whose kernel values (n, n) are all known.

    ``exact`` are rows in float64, where values have an error.
    """

    in_call = True

    def __init__(
        self,
        kernel: Any,
        points: Any,
        values: Array,
        error: float = 0.0,
        exact: RawRows | None = None,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self.values = values
        self.dtype = values.dtype
        # no multiplications for a value
        self.width = 0
        self.diagonal = values.diagonal().astype(np.float64)
        self.error = error
        self.held = values.nbytes
        self._exact = exact

    @classmethod
    def of(cls, rows: Rows) -> KnownRows:
        """Return the rows with all their values: in float64, those of a given matrix, if no loop is compiled."""
        everything = np.arange(count_points(rows.points))
        exact = None
        if rows.in_call:
            values = rows.square(everything)
            exact = rows.raw(exact=True)
        elif isinstance(rows.kernel, Precomputed) and np.array_equal(rows.points, everything):
            values = np.asarray(rows.kernel.matrix, np.float64)
        else:
            values = rows.exact_square(everything)
        return cls(rows.kernel, rows.points, values, rows.error if rows.in_call else 0.0, exact)

    def raw(self, exact: bool = False) -> RawRows:
        """Return the values as compiled code copies rows from them; with ``exact`` rows in float64, if any."""
        if exact and self._exact is not None:
            return self._exact
        known = not exact or self.dtype == np.float64
        values = self.values if known else np.empty((0, 0))
        return RawRows.without_points(values, self.diagonal)

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``."""
        chosen = consecutive(J)

        def write(R, out):
            # a few columns are gathered one by one, or whole rows would be copied first
            places = R if isinstance(chosen, slice) else R[:, None]
            out[:] = self.values[places, chosen]

        return write

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values, those that are known if they have no error."""
        return (
            self.product(R, J, weights) if self.error == 0 else super().exact_product(R, J, weights)
        )

    def exact_square(self, J: Array) -> Array:
        """Return the float64 kernel values between points J, those that are known if they have no error."""
        return np.array(self.square(J), np.float64) if self.error == 0 else super().exact_square(J)


def consecutive(J: Array) -> Array | slice:
    """Return consecutive indices as a slice, which copies nothing; others unchanged."""
    if len(J) and J[-1] - J[0] == len(J) - 1 and (np.diff(J) == 1).all():
        return slice(int(J[0]), int(J[-1]) + 1)
    return J
