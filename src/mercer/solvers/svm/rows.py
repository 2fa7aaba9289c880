"""Kernel rows for a solver: their protocol, rows of any kernel on any points, and kernel values that are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.costs import BLOCK, COLUMNS, ROWS_PRODUCT
from mercer._compute.memory import cut
from mercer._compute.points import take_points, widened
from mercer.gram import Gram
from mercer.kernels.base import Kernel, Tags
from mercer.kernels.precomputed import Precomputed
from mercer.solvers.svm.on_demand import ExactRows, RawRows

if TYPE_CHECKING:
    from mercer._compute.points import Points
    from mercer._compute.tile import Tile


class Rows:
    """Kernel rows of points. R and J are the numbers of points, int arrays.

    Attributes
    ----------
    kernel : Kernel
    points : points (n)
    dtype : dtype
        Of the values.
    diagonal : float64 array (n,)
    width : int
        Multiplications for a kernel value, if known; otherwise 1.
    error : float
        Root mean square error of a value, 0 in float64.
    held : int
        Bytes of stored kernel values.
    in_call : bool
        Whether compiled code computes rows where a step needs them, by ``raw`` and ``exact`` rows.
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
            step = max(1, ROWS_PRODUCT // len(some))
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

    def exact_square(self, J: Array) -> Array:
        """Return the float64 kernel values between points J as given, exactly symmetric."""
        own = widened(take_points(self.points, J))
        return np.asarray(Gram(self.kernel, own, memory=2**62).dense(), np.float64)

    def places_of(self, points: Array) -> Array:
        """Return the numbers of points in compiled code."""
        return points


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
    """Kernel rows of points whose kernel values are all known: row ``places[i]`` of ``values`` (n, n) is point i's.

    ``places`` (int array) are by default in the order of the points.
    """

    in_call = True

    def __init__(
        self,
        kernel: Any,
        points: Any,
        values: Array,
        error: float = 0.0,
        places: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self.values = values
        self.places = np.arange(len(values)) if places is None else places
        self.dtype = values.dtype
        # no multiplications for a value
        self.width = 0
        self.diagonal = values.diagonal()[self.places].astype(np.float64)
        self.error = error
        self.held = values.nbytes

    @classmethod
    def of(cls, kernel: Any, points: Any) -> KnownRows:
        """Return the rows of a kernel with all its values in float64, those of a given matrix where they are."""
        if isinstance(kernel, Precomputed):
            values = np.asarray(kernel.matrix, np.float64)
            return cls(kernel, points, values, places=points % len(values))
        values = np.asarray(Gram(kernel, widened(points), memory=2**62).dense(), np.float64)
        return cls(kernel, points, values)

    def raw(self, coordinates: bool) -> RawRows:
        """Return what stands in compiled code for points from which rows are computed: none is."""
        n = len(self.values)
        one = self.dtype.type(1)
        nothing = np.empty(0, self.dtype)
        diagonal = self.values.diagonal().astype(np.float64)
        return RawRows(
            0, np.empty((n, 0), self.dtype), 0, np.zeros(n, self.dtype), one, 0 * one, nothing, diagonal
        )  # fmt: skip

    def exact(self) -> ExactRows:
        """Return the same in float64, with the values if they are."""
        values = self.values if self.dtype == np.float64 else np.empty((0, 0))
        diagonal = self.values.diagonal().astype(np.float64)
        return ExactRows(0, np.empty((len(diagonal), 0)), False, np.empty(0), diagonal, values)

    def places_of(self, points: Array) -> Array:
        """Return the places of points in the values."""
        return self.places[points]

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``."""
        chosen = consecutive(self.places[J])

        def write(R, out):
            # whole rows are copied faster than single values
            own = self.places[R]
            out[:] = (
                self.values[own][:, chosen]
                if isinstance(chosen, slice)
                else self.values[np.ix_(own, chosen)]
            )

        return write

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values, those that are known if they have no error."""
        return (
            self.product(R, J, weights) if self.error == 0 else super().exact_product(R, J, weights)
        )

    def exact_square(self, J: Array) -> Array:
        """Return the float64 kernel values between points J, those that are known if they have no error."""
        return np.array(self.square(J), np.float64) if self.error == 0 else super().exact_square(J)


@dataclass(frozen=True, eq=False)
class Ridged(Kernel):
    """k(x_i, x_j) + ridge_i [i = j] on indices of points: equal points have separate ridges.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> Ridged(mc.Linear(), np.array([[2.0], [2.0]]), np.full(2, 0.5))(np.arange(2))
    array([[4.5, 4. ],
           [4. , 4.5]])
    """

    kernel: Kernel
    points: Any
    ridge: np.ndarray

    @property
    def tags(self) -> Tags:
        """Definiteness is not known; no gradient."""
        return Tags(positive_semidefinite=None, points="indices", differentiable=False)

    def admit(self, points: Array, name: str) -> Array:
        return points

    def evaluate(self, tile: Tile) -> Array:
        own = np.asarray(tile.X.container)
        other = np.asarray(tile.Z.container)
        values = self.kernel(take_points(self.points, own), take_points(self.points, other)).astype(
            np.float64
        )
        i, j = np.nonzero(own[:, None] == other)
        values[i, j] += self.ridge[own[i]]
        return values

    def diagonal(self, points: Points) -> Array:
        own = np.asarray(points.container)
        return self.kernel.diag(take_points(self.points, own)).astype(np.float64) + self.ridge[own]


def consecutive(J: Array) -> Array | slice:
    """Return consecutive indices as a slice, which copies nothing; others unchanged."""
    if len(J) and J[-1] - J[0] == len(J) - 1 and (np.diff(J) == 1).all():
        return slice(int(J[0]), int(J[-1]) + 1)
    return J
