"""Necessary conditions on scalar kernels: signs of the derivatives of f(<x, z>) and of f(|x - z|^2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import Points
from mercer._compute.profile import evaluate_profile
from mercer.definiteness.report import Statement

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

# Number of derivatives of a profile, of orders 0 to 4.
_ORDERS = 5
# Grid points over the range of the argument.
_GRID = 200
# Negative values above this share of the largest count as rounding.
_ROUNDING = 1e-12


def examine(kernel: Kernel, X: Array | None) -> list[Any]:
    """Return statements on a kernel f(<x, z>) or f(|x - z|^2) over the range of X; an empty list for other kernels.

    f(<x, z>) needs nonnegative Taylor coefficients at 0, and f, f', f' + r^2 f'' >= 0 at r^2 = |x|^2 (Burges 1999);
    f(|x - z|^2) must be completely monotone, (-1)^j f^(j) >= 0 (Schoenberg 1938).
    """
    return {"dot": _dot, "radial": _radial}.get(kernel.scalar, lambda *_: [])(kernel, X)


def _dot(kernel, X):
    coefficients = np.array([_derivative(kernel, np.zeros(1), order)[0] for order in range(_ORDERS)])
    refuted = "the Taylor coefficient of order {at} of f(<x, z>) has the sign of {value:.4g}"
    kept = f"the Taylor coefficients of f(<x, z>) of orders 0 to {_ORDERS - 1} are not negative"
    found = [_signs(range(_ORDERS), coefficients, "all sets with a neighbourhood of 0", refuted, kept)]
    if X is None:
        return found
    squares = np.asarray(Points(X).sqnorms(), np.float64)
    s = np.linspace(squares.min(), squares.max(), _GRID)
    value, first, second = (_derivative(kernel, s, order) for order in range(3))
    r = np.sqrt(s)
    where = f"neighbourhoods of points of length {r[0]:.4g} to {r[-1]:.4g}"
    # the last two are the eigenvalues of the metric
    for name, values in {"f": value, "f'": first, "f' + r^2 f''": first + s * second}.items():
        refuted, kept = name + " = {value:.4g} at r = |x| = {at:.4g}", f"{name} >= 0 over the range of |x|"
        found.append(_signs(r, values, where, refuted, kept))
    return found


def _radial(kernel, X):
    reach = 1.0
    if X is not None:
        centred = Points(X)
        # a distance is at most twice the largest distance to the centre; sparse rows have no centre
        reach = 4 * float(np.max(np.asarray(centred.sqnorms(centred.centre))))
    s = np.linspace(reach / _GRID, max(reach, np.finfo(float).tiny), _GRID)
    signs = np.stack([(-1) ** order * _derivative(kernel, s, order) for order in range(_ORDERS)])
    scales = np.abs(signs).max(axis=1, keepdims=True)
    worst = (signs / np.where(scales > 0, scales, 1)).min(axis=1)
    refuted = "f(|x - z|^2) is not completely monotone: (-1)^{at} times its derivative of order {at} is negative"
    kept = f"(-1)^j times the j-th derivative of f(|x - z|^2) is not negative for j = 0 to {_ORDERS - 1}"
    return [_signs(range(_ORDERS), worst, "rows of every length", refuted, kept)]


def _signs(at, values, where, refuted, kept):
    """Return the statement "refuted" at the first value negative beyond rounding, otherwise "not refuted"."""
    negative = np.flatnonzero(values < -_ROUNDING * max(np.abs(values).max(), np.finfo(float).tiny))
    if len(negative):
        j = negative[0]
        return Statement("refuted", where, refuted.format(at=at[j], value=values[j]))
    return Statement("not refuted", where, kept)


def _derivative(kernel, s, order):
    return np.asarray(evaluate_profile(kernel, s, order=order), np.float64)
