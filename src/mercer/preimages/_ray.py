"""ray: the one-term reduced set, that is the multiple of some phi(z) that is nearest to a vector."""

from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from mercer._common import ArrayLike, array_record, shown
from mercer._compute.devices import anywhere
from mercer.expansion import Expansion
from mercer.kernels.base import refuse_conditional
from mercer.preimages._preimage import (
    checked_start,
    explain,
    own_values,
    without_negative,
    without_rounding,
)
from mercer.preimages.descent import (
    Quotient,
    best_of,
    dense_rows,
    paired_values,
    quotients,
    squared_norms,
)
from mercer.preimages.fixed_point import FixedPoint
from mercer.preimages.gradient import Gradient
from mercer.preimages.methods import checked_psi, method_for

_NAMES = {"auto": NoneType, "fixed_point": FixedPoint, "gradient": Gradient}


@array_record
class Ray:
    """One-term reduced sets: points with their multiples, and the distances that remain.

    Attributes
    ----------
    points : array (m, d)
        In the type of the expansion's points.
    scale : array (m,)
        <psi_j, phi(z_j)> / k(z_j, z_j), float64: the best multiple, negative where phi(z_j) points away from psi_j.
    sqdist : array (m,)
        |psi_j - scale_j phi(z_j)|^2 of the returned points, recomputed in float64. Those of an indefinite kernel may be
        negative.
    converged : array of bool (m,)
        Whether the method's criterion was met.
    n_iter : array of int (m,)
        Iterations per point.
    method : FixedPoint or Gradient
        The method that was used, with all its options.
    reason : str
        Why this method was used, and why points did not converge, if some did not.
    """

    points: np.ndarray
    scale: np.ndarray
    sqdist: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray
    method: FixedPoint | Gradient
    reason: str


@anywhere
def ray(psi: Expansion, start: ArrayLike | None = None, method: Any = "auto") -> Ray:
    """Return the one-term reduced set of every vector: the multiple b phi(z) that is nearest to it.

    z maximises <psi_j, phi(z)>^2 / k(z, z). The best multiple is b = <psi, phi(z)> / k(z, z), and then
    |psi - b phi(z)|^2 = |psi|^2 - <psi, phi(z)>^2 / k(z, z).

    Parameters
    ----------
    psi : Expansion
        m vectors over n rows of numbers, dense or sparse; used exactly as given.
    start : array (m, d), optional
        Starting points. Default: the points of psi with the largest quotients, as many as ``method.starts``.
    method : str, FixedPoint or Gradient
        "auto" is "fixed_point" for radial kernels and "gradient" for others; ``pull`` and ``normalise`` do not apply.

    Returns
    -------
    Ray
        Points, multiples, squared distances recomputed in float64, which points converged, and why the others did not.

    Raises
    ------
    TypeError
        If the points are not rows of numbers, or the method is another record or does not apply to the kernel.
    ValueError
        For a conditionally positive definite kernel, an unknown string, a ``pull``, or a start of the wrong shape or
        not finite.

    Notes
    -----
    O(n^2 (d + m)) for norms and starts, then O(n d) per iteration and vector. Only steps that raise the quotient are
    accepted. Under a radial kernel k(z, z) is constant: z is the pre-image of psi or of -psi, whichever is nearer to
    the start.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-A.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages import ray
    >>> phi = mc.features(mc.Gaussian(1.0), np.array([[0.0, 1.0], [4.0, 4.0]]))
    >>> answer = ray(phi @ np.array([[0.5], [-3.0]]))
    >>> answer.points.round(3), answer.scale.round(3)
    (array([[4., 4.]]), array([-3.]))
    """
    psi64 = checked_psi(psi)
    refuse_conditional(psi.kernel, "rays", "take a kernel such as mercer.Matern")
    method, why = method_for(psi.kernel, method, _NAMES, FixedPoint | Gradient)
    if method.pull:
        raise ValueError(
            f"pull = {shown(method.pull)} must be 0: the objective of a ray contains no distance to pull on."
        )
    values = own_values(psi64)
    squares = squared_norms(psi64, values)

    def multiples(points):
        inner = paired_values(psi64, points)
        own = psi.kernel.diag(points)
        scale = quotients(inner, own)
        return scale, squares - scale * inner

    if start is not None:
        starts = [checked_start(psi64, start)]
    else:
        # the points of psi with the largest <psi_j, phi(x)>^2 / k(x, x)
        captured = quotients(values**2, psi64.kernel.diag(psi64.points)[:, None])
        order = np.argsort(-captured, axis=0, kind="stable")
        starts = [dense_rows(psi64, rows) for rows in order[: method.starts]]
    find = partial(_find, psi64, method)
    found, _ = best_of(find, starts, lambda points: np.maximum(multiples(points)[1], 0), squares)
    points = found.points.astype(psi.points.dtype)
    scale, sqdist = multiples(points.astype(np.float64))
    sqdist = without_rounding(sqdist, abs(squares) + abs(squares - sqdist))
    found = without_negative(found, sqdist, psi.kernel)
    return Ray(points, scale, sqdist, found.converged, found.n_iter, method, explain(why, found))


def _find(psi, method, start):
    if isinstance(method, Gradient):
        return method.minimise(Quotient(psi), psi, start)
    # steps that only raise <psi, phi(z)>^2 keep the sign that <psi, phi(z)> has at the start
    sign = np.where(paired_values(psi, start) < 0, -1.0, 1.0)
    return method.find(psi * sign, start)
