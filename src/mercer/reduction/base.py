"""The protocol of reduced-set methods (`Method`, `Target`, `Stage`) and the result of `reduce` (`Reduction`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mercer._common import EPS, LARGEST, Array, ArrayLike, array_record, check_integer, shown
from mercer._compute import html
from mercer._compute.objects import type_name
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel, require_gradient
from mercer.linalg.operators import epsilon, in_float64
from mercer.preimages.descent import over_rows, quotients, squared_norms


class Target:
    """The m vectors to approximate, over n points, in float64, with the values that every method needs.

    Parameters
    ----------
    psi : Expansion
        Over NumPy or sparse rows, indices of a given matrix, or a list of objects.

    Raises
    ------
    TypeError
        If psi is not an Expansion, or is over arrays of another library.
    ValueError
        If psi has a negative squared norm under an indefinite kernel: distances are then not defined.

    Notes
    -----
    O(n^2 (d + m)) at the first use of the values, which all methods share.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> target = Target(mc.mean(mc.features(mc.Linear(), np.array([[1.0], [3.0]]))))
    >>> target.values, target.squares
    (array([[2.],
           [6.]]), array([4.]))
    """

    def __init__(self, psi: Expansion) -> None:
        if not isinstance(psi, Expansion):
            raise TypeError(
                f"psi must be an Expansion, such as svc.expansion_; got {type(psi).__name__}."
            )
        self.original: Expansion = psi
        if psi.kernel.tags.points == "rows" and not over_rows(psi):
            raise TypeError(
                f"psi is over a {type(psi.points).__name__}; convert its points to a NumPy array first."
            )
        # points that are not rows of numbers are unchanged
        self.psi: Expansion = in_float64(psi)

    @property
    def kernel(self) -> Kernel:
        """The kernel of psi."""
        return self.psi.kernel

    @property
    def points(self) -> Any:
        """The n points of psi: rows of numbers in float64, other points unchanged."""
        return self.psi.points

    @property
    def coef(self) -> Array:
        """The coefficients (n, m) in float64, with the identity written out."""
        return self.psi.dense_coef()

    @property
    def eps(self) -> float:
        """The precision of the type of psi: that of float32 for float32 points, else of float64."""
        return epsilon(self.original.points)

    @cached_property
    def values(self) -> Array:
        """<phi(x_i), psi_j> (n, m), which is K coef."""
        return self.psi(self.points)

    @cached_property
    def squares(self) -> Array:
        """|psi_j|^2 (m,)."""
        squares = squared_norms(self.psi, self.values)
        size = np.einsum("ij,ij->j", np.abs(self.coef), np.abs(self.values))
        # values that cancel have the rounding error of their terms
        terms = np.square(np.sqrt(np.abs(self.kernel.diag(self.points))) @ np.abs(self.coef))
        rounding = len(self.coef) * EPS * terms
        negative = np.flatnonzero(squares < -np.maximum(1e-10 * size, rounding))
        if len(negative):
            j = negative[0]
            raise ValueError(
                f"vector {j} of psi has the negative squared norm {squares[j]:.3g} under the indefinite kernel "
                f"{shown(self.kernel)}, so its distance to a reduced set is not defined; use a positive semidefinite "
                "kernel."
            )
        if squares.max(initial=0) > LARGEST:
            raise ValueError(
                f"psi has the squared norm {squares.max():.3g}, which must be at most {LARGEST:.0e}, since methods "
                "square it; divide coef by a constant."
            )
        return np.maximum(squares, 0)

    def relative(self, residuals: ArrayLike) -> Array:
        """Return |residual| / |psi| from squared residuals; 0 for a vector 0, never NaN.

        Parameters
        ----------
        residuals : array (..., m)
            |psi_j - psi'_j|^2. Of a negative one, from rounding or an indefinite kernel, the absolute value is used.

        Returns
        -------
        array (..., m)
        """
        return np.sqrt(quotients(np.abs(residuals), self.squares))


class Stage(NamedTuple):
    """A set of points, one candidate for the reduced set.

    Attributes
    ----------
    points : container of points
        A pool that the stages of one run share: ``target.points`` for a selection, or rows (p, d) of new points in
        float64. Rows of a yielded stage must not change afterwards.
    rows : integer array (s,)
        The rows of the pool that are in the set, each once. If the set grows, its first rows should be those of the
        stage before it: the error then costs O(s^2) instead of O(s^3).
    """

    points: Any
    rows: np.ndarray


def whole(points: Any) -> Stage:
    """Return the set of all rows of a pool."""
    return Stage(points, np.arange(len(points)))


# its methods are typed here, once: type checkers take the types of those of its classes from these
@runtime_checkable
class Method(Protocol):
    """A reduced-set method: a frozen dataclass of options with the methods `require` and `find`.

    A method only proposes sets of points. `reduce` computes the best coefficients and the error of every set, stops at
    the requested size or error, stores the history and calls the callback.

    A method whose reduced sets are over another kernel also has ``embed(psi)``, which returns psi over that kernel; it
    is the target of ``find``. A method whose options alone may decide the size has the attribute ``fixes_size``, True
    where they do; `reduce` then asks for neither a size nor a tolerance. A method whose sets are points of the target
    has ``selects``, True; it takes ``candidates``.
    """

    def require(self, psi: Expansion) -> None:
        """Raise a TypeError unless the method applies to the expansion; the message names a method that does.

        Parameters
        ----------
        psi : Expansion
            As the user passed it.
        """

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Stage]:
        """Yield sets of points, the smallest first.

        Parameters
        ----------
        target : Target
            m vectors over n points, each with at least one coefficient that is not 0.
        n_vectors : int
            From 1 to n - 1; a larger set ends the run.
        tol : float
            0, or the relative error requested of every column. The run ends at the first set that reaches it; a method
            that needs the final size in advance can use it.

        Yields
        ------
        Stage
            Sizes do not decrease; a set of the same size as the one before replaces it if its error is smaller. A
            generator that ends early has found no further set.
        """
        ...


class Selection(Method):
    """A method that selects points of the target."""

    # every expansion is accepted; `find` refuses an indefinite Gram matrix where it needs a definite one
    selects: ClassVar[bool] = True


@array_record
class Reduction:
    """A reduced set with its error, and the errors of the smaller sets of the same run.

    Attributes
    ----------
    expansion : Expansion
        The reduced set with its best coefficients, in the type of psi.
    relative_error : array (m,)
        |psi_j - psi'_j| / |psi_j| of ``expansion``, recomputed in float64 from its points and coefficients. Values
        below about 1e-7 times sum_i |coef_ij| |phi(x_i)| / |psi_j|, of psi or of the reduced set, are rounding errors,
        and below 3e-4 in float32; 0 for a vector 0. Under an indefinite kernel the absolute value of a negative square
        is used.
    sizes : integer array (h,)
        Numbers of vectors of the sets of the run, increasing.
    history : array (h,)
        (sum_j |psi_j - psi'_j|^2 / sum_j |psi_j|^2)^(1/2) with ``sizes[i]`` vectors, in float64.
    method : Method or None
        The method that was used; None where psi is returned unchanged.
    reason : str
        Why the run ended.
    """

    expansion: Expansion
    relative_error: np.ndarray
    sizes: np.ndarray
    history: np.ndarray
    method: Method | None
    reason: str
    trace: Any = field(repr=False, default=None)

    def _repr_html_(self) -> str:
        error = np.max(self.relative_error, initial=0.0)
        facts = [
            ("expansion", self.expansion),
            ("relative error", f"{error:.4g} at most"),
            ("method", self.method),
        ]
        drawn = len(self.sizes) > 1 and np.isfinite(self.history).all()
        picture = (
            html.curve(self.sizes, self.history, "relative error by number of vectors")
            if drawn
            else ""
        )
        return html.table("Reduction", [*facts, ("reason", self.reason)], picture)

    def at(self, n_vectors: int) -> Reduction:
        """Return the result of this run for a smaller number of vectors; only coefficients are computed anew.

        Parameters
        ----------
        n_vectors : int
            At least the smallest of ``sizes``; above the largest, the result itself is returned.

        Returns
        -------
        Reduction
            The largest set of the run with at most ``n_vectors`` points, and the history up to it.

        Raises
        ------
        TypeError
            If ``n_vectors`` is not a whole number.
        ValueError
            If the run has no set as small.
        """
        check_integer("n_vectors", n_vectors)
        if not len(self.sizes) or n_vectors >= self.sizes[-1]:
            return self
        index = np.searchsorted(self.sizes, n_vectors, side="right")
        if not index:
            raise ValueError(
                f"n_vectors = {n_vectors} must be at least {self.sizes[0]}, the smallest set of this run."
            )
        expansion, relative_error = self.trace.result(index - 1)
        return replace(
            self,
            expansion=expansion,
            relative_error=relative_error,
            sizes=self.sizes[:index],
            history=self.history[:index],
            reason=f"the set of {self.sizes[index - 1]} vectors of a longer run",
        )


def require_new_points(method: Any, psi: Expansion) -> None:
    """Raise a TypeError unless new points can be constructed: rows of numbers, and a kernel with a gradient."""
    name = type(method).__name__
    remedy = "use a method that selects points of psi, such as method='greedy'"
    if not over_rows(psi):
        indices = psi.kernel.tags.points == "indices"
        kind = "indices of a given matrix" if indices else f"a {type_name(psi.points)}"
        raise TypeError(
            f"{name} makes new points, which are rows of numbers, but psi is over {kind}; {remedy}."
        )
    require_gradient(psi.kernel, name, remedy)
