"""Necessary conditions on kernels of one scalar: signs of the derivatives of f(<x, z>) and of f(|x - z|^2)."""

import numpy as np

from mercer._compute.points import Points
from mercer._compute.profile import evaluate_profile
from mercer.definiteness.report import Statement

# Orders of derivatives that a profile states.
_ORDERS = 5
# Places of the range that are looked at.
_GRID = 200
# A sign counts beyond this share of the largest value.
_ROUNDING = 1e-12


def examine(kernel, X):
    r"""Return statements on a kernel of inner products or distances over the range of some points.

    For k(x, z) = f(<x, z>): near 0 no Taylor coefficient of f may be negative (the first five are looked at), and
    near points with ``|x|`` = r

    .. math:: f(r^2) \ge 0, \qquad f'(r^2) \ge 0, \qquad f'(r^2) + r^2 f''(r^2) \ge 0,

    the last two being the eigenvalues of the metric. For k(x, z) = ``f(|x - z|^2)``: f is a kernel on rows of every
    length if and only if it is completely monotone, (-1)^j f^(j) >= 0 (Schoenberg); j = 0 to 4 are looked at.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : rows (n, d) or None
        Without points only what holds near 0 is looked at.

    Returns
    -------
    list of Statement
        Empty for other kernels.

    References
    ----------
    Burges, *Geometry and invariance in kernel based methods*, Advances in Kernel Methods (1999).
    """
    return {"dot": _dot, "radial": _radial}.get(kernel.scalar, lambda *_: [])(kernel, X)


def _dot(kernel, X):
    coefficients = np.array([_derivative(kernel, np.zeros(1), order)[0] for order in range(_ORDERS)])
    said = [
        _signs(
            coefficients,
            "all sets with a neighbourhood of 0",
            lambda j: f"the Taylor coefficient of order {j} of f(<x, z>) has the sign of {coefficients[j]:.4g}",
            f"the Taylor coefficients of f(<x, z>) of orders 0 to {_ORDERS - 1} are not negative",
        )
    ]
    if X is None:
        return said
    squares = np.asarray(Points(X).sqnorms(), np.float64)
    s = np.linspace(squares.min(), squares.max(), _GRID)
    value, slope, bend = (_derivative(kernel, s, order) for order in range(3))
    where = f"neighbourhoods of points of length {np.sqrt(s[0]):.4g} to {np.sqrt(s[-1]):.4g}"
    for name, values in {"f": value, "f'": slope, "f' + r^2 f''": slope + s * bend}.items():
        said.append(
            _signs(
                values,
                where,
                lambda j, name=name, values=values: f"{name} = {values[j]:.4g} at r = |x| = {np.sqrt(s[j]):.4g}",
                f"{name} >= 0 over the range of |x|",
            )
        )
    return said


def _radial(kernel, X):
    reach = 1.0
    if X is not None:
        centred = Points(X)
        # no pair is farther apart than twice the largest distance to the centre
        reach = 4 * float(np.max(np.asarray(centred.sqnorms(None if centred.sparse else centred.centre))))
    s = np.linspace(reach / _GRID, max(reach, np.finfo(float).tiny), _GRID)
    signs = np.stack([(-1) ** order * _derivative(kernel, s, order) for order in range(_ORDERS)])
    scales = np.abs(signs).max(axis=1, keepdims=True)
    worst = (signs / np.where(scales > 0, scales, 1)).min(axis=1)
    return [
        _signs(
            worst,
            "rows of every length",
            lambda j: (
                f"f(|x - z|^2) is not completely monotone: (-1)^{j} times its derivative of order {j} is negative"
            ),
            f"(-1)^j times the j-th derivative of f(|x - z|^2) is not negative for j = 0 to {_ORDERS - 1}",
        )
    ]


def _signs(values, where, refuted, kept):
    """Return a statement: refuted at the first value below 0 by more than rounding."""
    negative = np.flatnonzero(values < -_ROUNDING * max(np.abs(values).max(), np.finfo(float).tiny))
    if len(negative):
        return Statement("refuted", where, refuted(negative[0]))
    return Statement("not refuted", where, kept)


def _derivative(kernel, s, order):
    return np.asarray(evaluate_profile(kernel, s, order=order), np.float64)
