"""The protocol of pre-image methods (`Method`, `Found`) and the result of `preimage` (`PreImage`)."""

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property, wraps
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from mercer._common import Array, array_record, check_flags, shown
from mercer._compute import html
from mercer._compute.devices import computing_on, moved, place_of
from mercer._elsewhere import explain_class
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.forms import pull_rows, unmapped
from mercer.kernels.mapped import map_rows


@array_record
class Found:
    """The points that a pre-image method returns to `preimage`.

    Attributes
    ----------
    points : array (m, d)
        One point of input space per vector, finite, float64.
    converged : array of bool (m,)
        Whether the method's criterion was met.
    n_iter : array of int (m,)
        Iterations per point; 0 where the method does not iterate.
    reasons : tuple of str (m,)
        Why a point did not converge; empty where it did.
    """

    points: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray
    reasons: tuple[str, ...]


@runtime_checkable
class Method(Protocol):
    """A pre-image method: a frozen dataclass of options with the methods `require` and `find`.

    `preimage` calls `require` before it computes anything, passes validated float64 data to `find`, casts the points
    that `find` returns to the type of the data, replaces those whose kernel values overflow by their start, and
    recomputes the distances. A method neither validates its input nor computes the distances of its answer.
    """

    def require(self, kernel: Kernel) -> None:
        """Raise a TypeError unless the method applies to the kernel; the message names a method that does.

        Parameters
        ----------
        kernel : Kernel
            Resolved, on rows of numbers.
        """

    def find(self, psi: Expansion, start: np.ndarray) -> Found:
        """Return a point for every vector.

        Parameters
        ----------
        psi : Expansion
            m vectors over n points, both in float64; no mean is added.
        start : array (m, d)
            Starting points in float64; methods that do not iterate may ignore them.

        Returns
        -------
        Found
            Without NaN: a point that cannot be improved stays at its start, with a reason.
        """
        ...


@explain_class
@array_record
class PreImage:
    """Points whose features are near the given vectors, with their distances.

    Attributes
    ----------
    points : array (m, d)
        In the type of the expansion's points.
    converged : array of bool (m,)
        Whether the method's criterion was met, by a point whose kernel values are finite.
    n_iter : array of int (m,)
        Iterations per point.
    method : Method
        The method that was used, with all its options.
    reason : str
        Why this method was used, and why points did not converge, if some did not.
    agreed : array of int (m,)
        How many starts ended at the smallest distance, which is that of a point; 1 where there was one start. A number
        below ``method.starts`` says that there are other minima.
    """

    points: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray
    method: Method
    reason: str
    agreed: np.ndarray
    # a function, because distances in feature space may take longer than the points
    _distances: Callable[[], np.ndarray] = field(repr=False)

    def __array__(self, *_values: object, **_options: object) -> NoReturn:
        raise TypeError("a PreImage is not an array; its attribute points is one.")

    __getitem__ = __array__

    @cached_property
    def sqdist(self) -> np.ndarray:
        """|psi_j - phi(z_j)|^2 (m,) of the returned points, computed in float64 at the first access in O(n (n + m) d).

        Values below about 1e-14 |psi_j|^2 are rounding errors. Those of an indefinite kernel may be negative.
        """
        place = place_of(self.points)
        with computing_on(place):
            return moved(self._distances(), place)

    def _repr_html_(self):
        facts = [("method", self.method), ("points", len(self.converged))]
        if len(self.converged):
            middle = np.median(self.sqdist)
            largest = np.max(self.sqdist)
            facts += [("squared distance", f"{middle:.4g} in the median, {largest:.4g} at most")]
        facts += [("starts that agreed", f"{np.min(self.agreed, initial=1)} or more")]
        facts += [
            ("converged", f"{np.sum(self.converged)} of {len(self.converged)}"),
            ("reason", self.reason),
        ]
        return html.table("PreImage", facts)


def choose_method(
    method: Any, names: dict[Any, Any], protocol: type[Any], example: str, name: str = "method"
) -> Any:
    """Return the method for a string or a record, None for "auto", or raise an error that lists the strings."""
    if isinstance(method, str):
        if method not in names:
            raise ValueError(
                f"{name} = {shown(method)} must be one of {list(names)}, or a record such as {example}."
            )
        return names[method]()
    if isinstance(method, type) or not isinstance(method, protocol):
        raise TypeError(f"{name} = {shown(method)} must be a string or a record such as {example}.")
    check_flags(method)
    return method


def behind_maps(find: Callable[[Any, Expansion, Array], Found]) -> Callable[..., Found]:
    """Let the method ``find`` compute on mapped rows where the kernel is behind a linear map.

    Points are mapped back by the pseudo-inverse. Coordinates that the map drops stay those of the start.
    """

    @wraps(find)
    def mapped_find(self: Any, psi: Expansion, start: Array) -> Found:
        kernel, A = unmapped(psi.kernel)
        if A is None:
            return find(self, psi, start)
        mapped = Expansion(kernel, map_rows(A, psi.points), psi.coef)
        found = mapped_find(self, mapped, map_rows(A, start))
        return replace(found, points=pull_rows(A, found.points, start))

    return mapped_find
