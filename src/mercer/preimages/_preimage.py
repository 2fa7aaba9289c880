"""preimage: the one door to all ways back to input space; it validates, starts, and certifies."""

from collections import Counter

import numpy as np
import scipy.sparse as sp

from mercer._compute.points import as_rows
from mercer.expansion import Expansion
from mercer.kernels.radial import Radial
from mercer.preimages.base import Method, PreImage
from mercer.preimages.descent import dense_rows, nearest
from mercer.preimages.distances import Distances
from mercer.preimages.exact import Exact
from mercer.preimages.fixed_point import FixedPoint
from mercer.preimages.gradient import Gradient
from mercer.preimages.learned import Learned
from mercer.preimages.objective import paired_values

_NAMES = {
    "fixed_point": FixedPoint,
    "gradient": Gradient,
    "distances": Distances,
    "learned": Learned,
    "exact": Exact,
}


def preimage(psi, method="auto", start=None):
    """Return points z_j whose features are near the vectors of a block: small |psi_j - phi(z_j)|^2.

    Most vectors of a feature space are no phi(z) (section IV of the paper), so that a near one is sought. psi is taken
    exactly as it is: a denoised point, an eigenvector, a normal or a residual; no mean is added.

    Parameters
    ----------
    psi : Expansion
        m vectors over n rows of numbers, dense or sparse.
    method : str or Method
        "fixed_point", "gradient", "distances", "learned", "exact", or a record of one of these with its options, such
        as ``FixedPoint(pull=0.1)``. "auto" is the fixed point for radial kernels, the gradient for others.
    start : array (m, d), optional
        Where to start: for every vector the point of psi nearest to it in feature space when left out.

    Returns
    -------
    PreImage
        Points, the squared distances recomputed in float64, what converged, and why what did not.

    Raises
    ------
    TypeError
        When the points are no rows of numbers, or the kernel does not fit the method; the message says which does.
    ValueError
        For another string, or a start of another shape or not finite.

    Notes
    -----
    O(n^2 (d + m)) for the norms and the start, then what the method costs: O(n d) per iteration and vector for those
    that iterate. They only take steps that lower their objective, so that no result is farther from psi than the start.

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
    wide = widened(psi)
    method, why = _choose(method, psi.kernel)
    method.require(psi.kernel)
    values = wide(wide.points)
    start = dense_rows(wide, nearest(wide, values, 1)[0]) if start is None else checked_start(wide, start)
    found = method.find(wide, start)
    points = found.points.astype(psi.points.dtype)
    sqdist = _certificate(wide, values, points.astype(np.float64))
    return PreImage(points, sqdist, found.converged, found.n_iter, method, explain(why, found))


def widened(psi):
    """Return an expansion over rows of numbers in float64, or raise a TypeError that says what is wrong.

    Parameters
    ----------
    psi : Expansion

    Returns
    -------
    Expansion
    """
    if not isinstance(psi, Expansion):
        raise TypeError(f"psi must be an Expansion, such as features(kernel, X) @ coef; got {type(psi).__name__}.")
    if psi.kernel.tags.points == "indices":
        raise TypeError(f"{type(psi.kernel).__name__} knows indices, and no points that there were a way back to.")
    points = psi.points
    if not (isinstance(points, np.ndarray) or sp.issparse(points)) or points.ndim != 2 or points.dtype.kind != "f":
        raise TypeError(
            f"pre-images are rows of numbers, and psi is over points in a {type(points).__name__}; NumPy arrays (n, d) "
            "and SciPy sparse rows have a way back."
        )
    coef = None if psi.coef is None else psi.coef.astype(np.float64)
    return Expansion(psi.kernel, points.astype(np.float64), coef)


def checked_start(psi, start):
    """Return starting points as a float64 array (m, d), or raise a ValueError.

    Parameters
    ----------
    psi : Expansion
        m vectors over rows of d numbers.
    start : array-like

    Returns
    -------
    array (m, d)
    """
    start = psi.kernel.admit(as_rows(start, "start", np.float64), "start")
    start = start.toarray() if sp.issparse(start) else start
    expected = (len(psi), psi.points.shape[1])
    if start.shape != expected:
        raise ValueError(f"start has shape {start.shape}, but {expected} is needed: a point for every vector.")
    return start


def explain(why, found):
    """Return one sentence on the method, and one on the points that did not converge, with how many of each kind.

    Parameters
    ----------
    why : str
    found : Found

    Returns
    -------
    str
    """
    failures = Counter(reason for reason, good in zip(found.reasons, found.converged, strict=True) if not good)
    if not failures:
        return why
    parts = "; ".join(f"{count}: {reason}" for reason, count in failures.most_common(5))
    return f"{why}. {sum(failures.values())} of {len(found.converged)} did not converge: {parts}"


def _choose(method, kernel):
    if isinstance(method, str) and method == "auto":
        return _automatic(kernel)
    if isinstance(method, str):
        if method not in _NAMES:
            raise ValueError(f"method = {method!r} is none of {['auto', *_NAMES]}; options come with a record.")
        return _NAMES[method](), f"method {method!r} was asked for"
    if isinstance(method, type) or not isinstance(method, Method):
        raise TypeError(f"method must be a string or a record such as FixedPoint(), got {method!r}.")
    return method, f"{type(method).__name__} was asked for"


def _automatic(kernel):
    name = type(kernel).__name__
    if isinstance(kernel, Radial):
        return FixedPoint(), f"{name} is radial, which the fixed point is for"
    if kernel.tags.differentiable:
        return Gradient(), f"{name} is not radial, but has a gradient"
    raise TypeError(f"{kernel!r} is neither radial nor has a gradient in its points. Use method='learned'.")


def _certificate(psi, values, points):
    """Return |psi_j - phi(z_j)|^2, at least 0."""
    squares = np.diagonal(values) if psi.coef is None else np.einsum("ij,ij->j", psi.coef, values)
    inner = paired_values(psi, points)
    return np.maximum(squares + psi.kernel.diag(points) - 2 * inner, 0)
