"""preimage: check the arguments, run a pre-image method, and recompute the distances of its points."""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer._common import (
    EPS,
    AnyFunction,
    Array,
    ArrayLike,
    as_float64,
    check_function,
    refuse_large,
    warn,
)
from mercer._compute.devices import anywhere
from mercer._compute.objects import Objects, as_objects
from mercer._compute.points import as_rows, dense, take_points
from mercer._progress import counting
from mercer.expansion import Expansion, require_symmetric, rows_of
from mercer.kernels.base import Kernel
from mercer.kernels.direct_sum import kernel_of_data
from mercer.preimages.base import Found, Method, PreImage, choose_method
from mercer.preimages.descent import best_of, dense_rows, nearest, paired_values, squared_norms
from mercer.preimages.methods import NAMES, checked_psi, method_for
from mercer.preimages.search import Search


@anywhere
def preimage(
    psi: Expansion,
    method: Any = "auto",
    start: ArrayLike | None = None,
    *,
    callback: AnyFunction | None = None,
) -> PreImage:
    """Return points z_j whose features are near the vectors of a block: small |psi_j - phi(z_j)|^2.

    Most vectors of a feature space are not phi(z) for any z, so an approximate pre-image is computed. psi is used
    exactly as given, be it a denoised point, an eigenvector, a normal or a residual: no mean is added.

    Parameters
    ----------
    psi : Expansion
        m vectors over n rows of numbers, dense or sparse, or over n objects.
    method : str or Method
        "fixed_point", "gradient", "distances", "learned", "exact", "search", or a record of one of these with options,
        such as ``FixedPoint(pull=0.1)``. "auto" is the fixed-point iteration for radial kernels, the gradient method
        for other kernels of rows, and the search for objects.
    start : array (m, d) or list of m objects, optional
        Starting points. Default: for every vector the points of psi that are nearest to it in feature space, as many
        as ``method.starts``; an objective may have several minima.
    callback : callable, optional
        ``callback(done, m)`` is called after every step of an iterative method, with the number of points that moved
        for the last time; if it returns True the run ends, and the other points have not converged.

    Returns
    -------
    PreImage
        Points, which of them converged, why the others did not, and squared distances, computed in float64 when read.

    Raises
    ------
    TypeError
        If the points are neither rows of numbers nor objects, or the method does not apply to the kernel; the message
        names a method that does.
    ValueError
        For an unknown string, or a start of the wrong shape or not finite.

    Notes
    -----
    O(n^2 (d + m)) for a start that is not given and for the distances, plus the cost of the method: O(n d) per
    iteration and vector for iterative methods. These only accept steps that lower their objective, so the result is
    never farther from psi than the start. A point whose kernel values overflow is replaced by its start, and has not
    converged; nor has one of negative squared distance, which a kernel that is not positive semidefinite may have, and
    of which a warning tells.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), sections IV and V.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages import preimage
    >>> X = np.array([[0.0, 0.0], [0.1, 0.0], [3.0, 3.0]])
    >>> answer = preimage(mc.mean(mc.features(mc.Gaussian(1.0), X)))
    >>> answer.points.round(2), answer.sqdist.round(3), answer.converged
    (array([[0.05, 0.  ]]), array([0.223]), array([ True]))
    """
    check_function("callback", callback)
    if isinstance(psi, Expansion) and isinstance(psi.points, Objects):
        with counting(callback, "points"):
            return _search(psi, method, start)
    return _among_rows(psi, method, start, callback)


def _among_rows(psi, method, start, callback):
    """Return pre-images among rows of numbers."""
    psi64 = checked_psi(psi)
    method, why = method_for(psi.kernel, method, NAMES, Method)

    values = None
    if start is not None:
        starts = [checked_start(psi64, start)]
    else:
        values = own_values(psi64)
        starts = [
            dense_rows(psi64, rows) for rows in nearest(psi64, values, getattr(method, "starts", 1))
        ]
    runs = iter(range(len(starts)))

    def find(start):
        k = next(runs)

        def heard(done, m):
            return callback((k * m + done) // len(starts), m)

        with counting(callback and heard, "points"):
            return _with_features(psi64.kernel, method.find(psi64, start), start, psi.points.dtype)

    squares = None if values is None else squared_norms(psi64, values)
    found, agreed = best_of(
        find, starts, lambda z: _distances(psi64, as_float64(z), values), squares
    )
    distances = partial(_distances, psi64, as_float64(found.points), values)
    if psi64.kernel.tags.positive_semidefinite is not True:
        known = distances()
        distances = partial(np.copy, known)
        found = without_negative(found, known, psi64.kernel)
    return PreImage(
        found.points, found.converged, found.n_iter, method, explain(why, found), agreed, distances
    )


def _with_features(kernel, found, start, dtype):
    """Return the points in a type, with the start in place of each whose kernel values overflow."""
    with np.errstate(over="ignore"):
        points = found.points.astype(dtype)
    wide = as_float64(points)
    if not _overflow(kernel, wide):
        return replace(found, points=points)
    overflows = [_overflow(kernel, wide[j : j + 1]) for j in range(len(wide))]
    far = np.array([bool(message) for message in overflows], dtype=bool)
    points[far] = start[far]
    reasons = tuple(
        message or reason for message, reason in zip(overflows, found.reasons, strict=True)
    )
    return replace(found, points=points, converged=found.converged & ~far, reasons=reasons)


def _overflow(kernel, points):
    """Return the error of the kernel for points whose squares or kernel values overflow, an empty text for others."""
    try:
        refuse_large("points", points)
        kernel.diag(points)
    except ValueError as error:
        return str(error)
    return ""


def _distances(psi, z, values):
    """Return |psi_j - phi(z_j)|^2 (m,) for points z; ``values`` = psi(psi.points), or None if they are unknown."""
    values = own_values(psi) if values is None else values
    squares = squared_norms(psi, values)
    own = psi.kernel.diag(z)
    found = squares + own - 2 * paired_values(psi, z)
    return without_rounding(found, abs(squares) + abs(own))


def without_rounding(distances: Array, scale: Array) -> Array:
    """Return squared distances, with 0 for negative ones that are rounding; an indefinite kernel has others."""
    return np.where(distances < -(EPS**0.5) * scale, distances, np.maximum(distances, 0))


def without_negative(found: Found, distances: Array, kernel: Kernel) -> Found:
    """Return what was found, of which points with a negative squared distance did not converge, and warn of these."""
    below = distances < 0
    if not below.any():
        return found
    reason = f"its squared distance is negative, as {type(kernel).__name__} is indefinite"
    warn(
        f"{below.sum()} of {len(below)} pre-images have negative squared distances, down to {distances.min():.3g}: "
        f"{type(kernel).__name__} is indefinite there, and they may be anywhere; use a positive semidefinite "
        "kernel, or a method that stays near the points, such as 'learned'."
    )
    reasons = tuple(
        reason if low else given for low, given in zip(below, found.reasons, strict=True)
    )
    return replace(found, converged=found.converged & ~below, reasons=reasons)


def _search(psi, method, start):
    """Return pre-images among objects."""
    method = choose_method(method, NAMES, Method, "Search()") or Search()
    if not isinstance(method, Search):
        raise TypeError(
            f"{type(method).__name__} makes rows of numbers, but psi is over points in a list; use method='search'."
        )
    method.require(psi.kernel)
    require_symmetric("psi", psi)
    values = psi(psi.points)
    if start is None:
        start = take_points(psi.points, nearest(psi, values, 1)[0])
    else:
        start = psi.kernel.admit(as_objects(start, "start"), "start")
    if len(start) != len(psi):
        raise ValueError(
            f"start must have {len(psi)} objects, one for each vector, got {len(start)}."
        )
    found = method.find(psi, start)
    why = explain("objects are searched among their neighbours", found)
    distances = partial(
        _distances, psi, psi.kernel.admit(as_objects(found.points), "points"), values
    )
    return PreImage(
        found.points, found.converged, found.n_iter, method, why, np.ones(len(psi), int), distances
    )


def own_values(psi: Expansion) -> Any:
    """Return psi(psi.points), or raise a ValueError if squared distances would overflow."""
    values = psi(psi.points)
    refuse_large("psi(points)", values)
    return values


def checked_start(psi: Expansion, start: Any) -> Array:
    """Return the starting points as a float64 array (m, d), or raise a ValueError."""
    kernel = kernel_of_data(psi.kernel)
    start = kernel.admit(as_rows(start, "start", np.float64), "start")
    start = dense(start)
    refuse_large("start", start)
    expected = (len(psi), rows_of(psi).shape[1])
    if start.shape != expected:
        raise ValueError(
            f"start has shape {start.shape}, but must have shape {expected}: one point per vector."
        )
    return start


def explain(why: str, found: Found) -> str:
    """Return a sentence on the method, and the reasons of the points that did not converge with their counts."""
    failures = Counter(
        reason for reason, good in zip(found.reasons, found.converged, strict=True) if not good
    )
    if not failures:
        return why
    parts = "; ".join(f"{count}: {reason}" for reason, count in failures.most_common(5))
    return f"{why}. {sum(failures.values())} of {len(found.converged)} did not converge: {parts}"
