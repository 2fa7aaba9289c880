"""What a way to fewer vectors takes and gives: the target, the stages of a run, the protocol of methods, the answer."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from mercer.expansion import Expansion


class Target:
    """The m vectors to be approximated, over n points, in float64, with what every method needs of them.

    Parameters
    ----------
    psi : Expansion
        Over NumPy or sparse rows, indices of a given matrix, or a list of objects.

    Raises
    ------
    TypeError
        When psi is no expansion, or over arrays of another library.
    ValueError
        When psi has a negative square under an indefinite kernel: there is no distance then.

    Notes
    -----
    O(n^2 (d + m)), once: all methods share the values.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> target = Target(mc.mean(mc.features(mc.Linear(), np.array([[1.0], [3.0]]))))
    >>> target.values, target.squares
    (array([[2.],
           [6.]]), array([4.]))
    """

    def __init__(self, psi):
        if not isinstance(psi, Expansion):
            raise TypeError(f"psi must be an Expansion, such as svc.expansion_; got {type(psi).__name__}.")
        self.original, self.psi = psi, _wide(psi)

    @property
    def kernel(self):
        """The kernel of psi."""
        return self.psi.kernel

    @property
    def points(self):
        """The n points of psi: rows of numbers in float64, other points as they are."""
        return self.psi.points

    @property
    def coef(self):
        """The coefficients (n, m) in float64, the identity written out."""
        return np.eye(len(self.psi)) if self.psi.coef is None else self.psi.coef

    @property
    def eps(self):
        """The precision of psi's own type: that of float32 for float32 points, else of float64."""
        narrow = getattr(self.original.points, "dtype", None) == np.float32
        return float(np.finfo(np.float32 if narrow else np.float64).eps)

    @cached_property
    def values(self):
        """<phi(x_i), psi_j> (n, m), which is K coef."""
        return self.psi(self.points)

    @cached_property
    def squares(self):
        """|psi_j|^2 (m,)."""
        squares = np.einsum("ij,ij->j", self.coef, self.values)
        size = np.einsum("ij,ij->j", np.abs(self.coef), np.abs(self.values))
        negative = np.flatnonzero(squares < -1e-10 * size)
        if len(negative):
            j = negative[0]
            raise ValueError(
                f"vector {j} of psi has the square {squares[j]:.3g} under the indefinite kernel {self.kernel!r}, and "
                "so no distance that could be made small; use a positive semidefinite kernel."
            )
        return np.maximum(squares, 0)

    def relative(self, residuals):
        """Return |residual| / |psi| from squared residuals (..., m): 0 for a vector 0, and never a NaN.

        Parameters
        ----------
        residuals : array (..., m)
            |psi_j - psi'_j|^2. A negative one, from rounding or an indefinite kernel, counts as its absolute value.

        Returns
        -------
        array (..., m)
        """
        residuals = np.where(self.squares > 0, np.abs(residuals), 0)
        return np.sqrt(residuals / np.where(self.squares > 0, self.squares, 1))


class Stage(NamedTuple):
    """One candidate for the answer: a set of points.

    Attributes
    ----------
    points : container of points
        A pool that stages of one run share: ``target.points`` for a selection, or rows (p, d) of new points in
        float64. Rows that were handed over are never changed again.
    rows : integer array (s,)
        Which of the pool are in the set, no row twice. Where the set grows, a stage begins with the rows of the stage
        before it, so that its error costs O(s^2) rather than O(s^3).
    """

    points: Any
    rows: np.ndarray


@runtime_checkable
class Method(Protocol):
    """A way to fewer vectors: a frozen dataclass of options with these two methods.

    A method proposes sets of points and nothing else. ``reduce`` computes the best coefficients and the errors of every
    set, ends the run when it is small or large enough, keeps the history, and reports progress.
    """

    def require(self, psi: Expansion) -> None:
        """Raise a TypeError unless the method can take the expansion: what is missing, and what works instead.

        Parameters
        ----------
        psi : Expansion
            As the user gave it.
        """

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Stage]:
        """Yield sets of points, the smallest first.

        Parameters
        ----------
        target : Target
            m vectors over n points, none of which has only zero coefficients.
        n_vectors : int
            From 1 to n - 1; larger sets are not looked at, and end the run.
        tol : float
            0 or the relative error to be reached by every column. The run ends at the first set that has it; a method
            that must know beforehand how large its answer will be can look at it.

        Yields
        ------
        Stage
            Sizes never fall; a set of the same size as the one before it takes its place if it is better. A generator
            that ends early has found no way to go on.
        """
        ...


@dataclass(frozen=True)
class Reduction:
    """An expansion over fewer points, with the error that it costs, for every size on the way.

    Attributes
    ----------
    expansion : Expansion
        The best coefficients over the points found, in the type of psi.
    relative_error : array (m,)
        |psi_j - psi'_j| / |psi_j| of this very expansion, recomputed in float64 from its points and coefficients.
        Below about 1e-7 (3e-4 in float32) it is rounding; 0 for a vector 0. Under an indefinite kernel squares may be
        negative, and count as their absolute values.
    sizes : integer array (h,)
        Numbers of vectors on the way, increasing.
    history : array (h,)
        (sum_j |psi_j - psi'_j|^2 / sum_j |psi_j|^2)^(1/2) with ``sizes[i]`` vectors, in float64.
    method : Method or None
        The record that was used; None where psi itself is the answer.
    reason : str
        Why the run ended.
    """

    expansion: Expansion
    relative_error: np.ndarray
    sizes: np.ndarray
    history: np.ndarray
    method: Method | None
    reason: str
    trace: Any = field(repr=False, compare=False, default=None)

    def at(self, n_vectors):
        """Return the answer of this run with at most some number of vectors, at the cost of its coefficients.

        Parameters
        ----------
        n_vectors : int
            At least the smallest of ``sizes``; beyond the largest this very answer comes back.

        Returns
        -------
        Reduction
            The largest set on the way that is not larger, with the history up to it.

        Raises
        ------
        ValueError
            When no set was as small.
        """
        if not len(self.sizes) or n_vectors >= self.sizes[-1]:
            return self
        index = np.searchsorted(self.sizes, n_vectors, side="right")
        if not index:
            raise ValueError(f"n_vectors = {n_vectors} must be at least {self.sizes[0]}, the smallest set of this run.")
        expansion, relative_error = self.trace.answer(index - 1)
        return replace(
            self,
            expansion=expansion,
            relative_error=relative_error,
            sizes=self.sizes[:index],
            history=self.history[:index],
            reason=f"the set of {self.sizes[index - 1]} vectors on the way",
        )


def over_rows(psi):
    """Return whether an expansion is over NumPy or sparse rows of numbers, among which there could be new ones.

    Parameters
    ----------
    psi : Expansion

    Returns
    -------
    bool
    """
    points = psi.points
    array = isinstance(points, np.ndarray) or sp.issparse(points)
    return array and psi.kernel.tags.points != "indices" and points.ndim == 2 and points.dtype.kind == "f"


def _wide(psi):
    """Return an expansion with rows of numbers and coefficients in float64; other points stay what they are."""
    points, coef = psi.points, psi.coef
    if over_rows(psi):
        points = points.astype(np.float64, copy=False)
    elif psi.kernel.tags.points == "rows":
        raise TypeError(f"psi is over a {type(points).__name__}; move its points to a NumPy array first.")
    return Expansion(psi.kernel, points, None if coef is None else coef.astype(np.float64))
