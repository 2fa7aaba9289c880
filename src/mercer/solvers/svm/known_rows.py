"""Kernel values that are known: between all points, or in diagonal blocks that several solvers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import widened
from mercer.gram import Gram
from mercer.kernels.precomputed import Precomputed
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.rows import consecutive

# Rows of a product that are copied at a time.
_ROWS = 64


class KnownRows(PlainRows):
    """Kernel rows of points whose kernel values are all known: those of row ``places[i]`` of ``values`` are point i's.

    Attributes
    ----------
    values : array (n, n)
    places : array of int, optional
        The points' places in ``values``; by default they have its order.
    """

    def __init__(
        self,
        kernel: Any,
        points: Any,
        values: Array,
        diagonal: Array,
        error: float = np.nan,
        places: Array | None = None,
    ) -> None:
        self.kernel, self.points, self.values = kernel, points, values
        self.places: Array = np.arange(len(values)) if places is None else places
        self.dtype = values.dtype
        # no multiplications for a value
        self.width = 0
        self.diagonal = diagonal
        self.error = error
        self.held: int = values.nbytes

    @classmethod
    def of(cls, kernel: Any, points: Any) -> KnownRows:
        """Return the rows of a kernel with all its values in float64, those of a given matrix where they are."""
        if isinstance(kernel, Precomputed):
            values = np.asarray(kernel.matrix, np.float64)
            places = points % len(kernel.matrix)
            return cls(kernel, points, values, values.diagonal()[places], 0.0, places)
        values = np.asarray(Gram(kernel, widened(points), memory=2**62).dense(), np.float64)
        return cls(kernel, points, values, values.diagonal().copy(), error=0.0)

    def compiled_rows(self, coordinates: bool = True) -> tuple[Any, ...]:
        """Return what stands in compiled loops for points from which rows are computed: none is."""
        n, one = len(self.values), self.dtype.type(1)
        nothing = np.empty(0, self.dtype)
        diagonal = self.values.diagonal().astype(np.float64)
        return 0, np.empty((n, 0), self.dtype), 0, np.zeros(n, self.dtype), one, 0 * one, nothing, diagonal

    def compiled_exact_rows(self) -> tuple[Any, ...]:
        """Return the same in float64, with the values."""
        values = np.asarray(self.values, np.float64)
        return 0, np.empty((len(values), 0)), False, np.empty(0), values.diagonal().copy(), values

    def compiled_points(self, points: Array) -> Array:
        """Return the numbers of points in compiled loops, their places."""
        return self.places[points]

    def columns(self, J: Array) -> Callable[..., Any]:
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``."""
        chosen = consecutive(self.places[J])

        def write(R, out):
            # whole rows are copied faster than single values
            own = self.places[R]
            out[:] = self.values[own][:, chosen] if isinstance(chosen, slice) else self.values[np.ix_(own, chosen)]

        return write

    def square(self, J: Array | slice) -> Array:
        """Return the kernel values between points J, exactly symmetric."""
        J = consecutive(self.places[J])
        return self.values[J, J] if isinstance(J, slice) else self.values[np.ix_(J, J)]

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, summed in float64."""
        total = np.empty((len(R), *weights.shape[1:]))
        rows = self.places[R]
        columns = self.places[J]
        for start in range(0, len(R), _ROWS):
            part = slice(start, start + _ROWS)
            # whole rows first: they are contiguous
            total[part] = self.values[rows[part]].take(columns, axis=1).astype(np.float64) @ weights
        return total

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values, those that are known if they have no error."""
        return self.product(R, J, weights) if self.error == 0 else super().exact_product(R, J, weights)


def shared_blocks(rows: Any, pieces: list[slice], budget: int) -> dict[Any, Any]:
    """Return kernel values between the points of each piece (slice), by (start, stop); nothing if beyond the budget."""
    needed = sum((piece.stop - piece.start) ** 2 for piece in pieces) * rows.dtype.itemsize
    return {(piece.start, piece.stop): rows.square(piece) for piece in pieces} if needed <= budget else {}
