"""ray: the multiple of some phi(z) that is nearest to a vector, one point of a reduced set."""

from dataclasses import dataclass

import numpy as np

from mercer.kernels.radial import Radial
from mercer.preimages._preimage import checked_start, explain, widened
from mercer.preimages.descent import dense_rows
from mercer.preimages.fixed_point import FixedPoint
from mercer.preimages.gradient import Gradient
from mercer.preimages.objective import Quotient, paired_values


@dataclass(frozen=True)
class Ray:
    """Points whose features point towards the vectors asked for, or away from them, with the certificate.

    Attributes
    ----------
    points : array (m, d)
        In the type of the expansion's points.
    scale : array (m,)
        <psi_j, phi(z_j)> / k(z_j, z_j), float64: the best multiple, negative where phi(z_j) points away.
    sqdist : array (m,)
        |psi_j - scale_j phi(z_j)|^2 of these very points, recomputed in float64.
    converged : array of bool (m,)
    n_iter : array of int (m,)
    method : FixedPoint or Gradient
        The record that was used.
    reason : str
        Why this method, and why points did not converge, if some did not.
    """

    points: np.ndarray
    scale: np.ndarray
    sqdist: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray
    method: FixedPoint | Gradient
    reason: str


def ray(psi, start=None, method="auto"):
    """Return for every vector the point z whose ray {b phi(z)} is nearest: the largest <psi_j, phi(z)>^2 / k(z, z).

    Then |psi - b phi(z)|^2 = |psi|^2 - <psi, phi(z)>^2 / k(z, z) at b = <psi, phi(z)> / k(z, z).

    Parameters
    ----------
    psi : Expansion
        m vectors over n rows of numbers, dense or sparse; taken exactly as they are.
    start : array (m, d), optional
        The point of psi with the largest quotient when left out.
    method : str, FixedPoint or Gradient
        "auto" is "fixed_point" for radial kernels and "gradient" for others; ``pull`` and ``normalise`` do not apply.

    Returns
    -------
    Ray
        Points, multiples, the squared distances recomputed in float64, what converged, and why what did not.

    Raises
    ------
    TypeError
        When the points are no rows of numbers, or the kernel does not fit the method.
    ValueError
        For another string, a ``pull``, or a start of another shape or not finite.

    Notes
    -----
    O(n^2 (d + m)) for norms and starts, then O(n d) per iteration and vector. Only steps that raise the quotient are
    taken. Under a radial kernel k(z, z) is constant: z is the pre-image of psi or -psi, whichever the start is near.

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
    wide = widened(psi)
    method, why = _choose(method, psi.kernel)
    method.require(psi.kernel)
    values = wide(wide.points)
    start = _steepest(wide, values) if start is None else checked_start(wide, start)
    found = _find(wide, method, start)
    points = found.points.astype(psi.points.dtype)
    return _certified(wide, values, points, found, method, explain(why, found))


def _choose(method, kernel):
    if isinstance(method, (FixedPoint, Gradient)):
        if method.pull:
            raise ValueError(f"pull = {method.pull!r} must be 0: a ray has no distance for it to be weighed against.")
        return method, f"{type(method).__name__} was asked for"
    if method == "auto":
        radial = isinstance(kernel, Radial)
        why = "radial, which the fixed point is for" if radial else "not radial: a gradient is needed"
        return FixedPoint() if radial else Gradient(), f"{type(kernel).__name__} is {why}"
    if method not in ("fixed_point", "gradient"):
        raise ValueError(f"method = {method!r} must be 'auto', 'fixed_point', 'gradient', or a record of these two.")
    return (FixedPoint() if method == "fixed_point" else Gradient()), f"method {method!r} was asked for"


def _find(psi, method, start):
    if isinstance(method, Gradient):
        return method.minimise(Quotient(psi), psi, start)
    # steps that only raise <psi, phi(z)>^2 keep the sign that the start gives to <psi, phi(z)>
    sign = np.where(paired_values(psi, start) < 0, -1.0, 1.0)
    return method.find(psi * sign, start)


def _steepest(psi, values):
    """Return the points of psi with the largest <psi_j, phi(x)>^2 / k(x, x)."""
    squares = psi.kernel.diag(psi.points)[:, None]
    quotient = np.where(squares > 0, values**2, 0) / np.where(squares > 0, squares, 1)
    return dense_rows(psi, np.argmax(quotient, axis=0))


def _certified(psi, values, points, found, method, reason):
    """Return the record with multiples and distances of the points as they are returned."""
    wide = points.astype(np.float64)
    inner = paired_values(psi, wide)
    own = psi.kernel.diag(wide)
    scale = np.where(own > 0, inner, 0) / np.where(own > 0, own, 1)
    norms = np.diagonal(values) if psi.coef is None else np.einsum("ij,ij->j", psi.coef, values)
    sqdist = np.maximum(norms - scale * inner, 0)
    return Ray(points, scale, sqdist, found.converged, found.n_iter, method, reason)
