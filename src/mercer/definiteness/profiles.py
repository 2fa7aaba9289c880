"""Necessary conditions on scalar kernels: signs of the derivatives of f(<x, z>) and of f(|x - z|^2)."""

from typing import Any

import numpy as np

from mercer._common import STEP, TINY, Array, as_float64
from mercer._compute.points import Points
from mercer._compute.profile import evaluate_profile
from mercer.definiteness.report import Statement
from mercer.kernels.base import ORDERS, Kernel, inner_kernels
from mercer.linalg.operators import LARGEST_ERROR

# Where a profile that is not completely monotone is refuted; fewer columns stay open.
ENOUGH_COLUMNS = "rows with enough columns"
# Grid points over the range of the argument.
_GRID = 200
# Share of grid points at which a derivative may differ: kinks of a profile.
_KINKS = 0.02
# Negative values above this share of the largest count as rounding.
_ROUNDING = 1e-12


def examine(kernel: Kernel, X: Array | None) -> list[Any]:
    """Return statements on a kernel f(<x, z>) or f(|x - z|^2) over the range of X; an empty list for other kernels.

    f(<x, z>) needs nonnegative Taylor coefficients at 0, and f, f' + r^2 f'' >= 0 at r^2 = |x|^2, and f' >= 0 there for
    rows of several columns (Burges 1999);
    f(|x - z|^2) needs |f| <= f(0), and for rows of any number of columns must be completely monotone,
    (-1)^j f^(j) >= 0 (Schoenberg 1938). Nothing is concluded from derivatives that differ from differences.
    """
    wrong = [] if (found := disagreement(kernel, X)) is None else [found]
    if kernel.scalar == "radial":
        s = _grid(kernel, X)
        return [*_bounded(kernel, s), *(wrong or [_monotone(kernel, s)])]
    return wrong or (_dot(kernel, X) if kernel.scalar == "dot" else [])


def disagreement(kernel: Kernel, X: Array | None) -> Statement | None:
    """Return the statement that derivatives of a profile differ from differences, also of a part, or None."""
    if (
        kernel.scalar in ("dot", "radial")
        and (order := _wrong_order(kernel, _grid(kernel, X))) is not None
    ):
        reason = (
            f"the derivative of order {order} of {type(kernel).__name__}.profile differs from differences, so that "
            "derivatives tell nothing; run mercer.testing.check_kernel_implementation"
        )
        return Statement("open", "all rows", reason)
    X = X if kernel.tags.points == "rows" else None
    return next(
        filter(None, (disagreement(part, X) for part in inner_kernels(kernel).values())), None
    )


def _grid(kernel, X):
    """Return arguments of the profile over the range of X, or up to 1."""
    reach = 1.0
    if X is not None:
        points = Points(X)
        # a distance is at most twice the largest distance to the centre; sparse rows have no centre
        factor, centre = (4, points.centre) if kernel.scalar == "radial" else (1, None)
        reach = factor * float(np.max(np.asarray(points.sqnorms(centre))))
    return np.linspace(reach / _GRID, max(reach, TINY), _GRID)


def _wrong_order(kernel, s):
    """Return the first order of derivatives that differ from differences of the order below, or None."""
    below = _derivative(kernel, s, 0)
    for order in range(1, ORDERS):
        stated = _derivative(kernel, s, order)
        size = np.abs(below).max()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            rate = np.abs(stated).max() / size if size > 0 else 0.0
            # shares of s and of f / f'
            h = STEP * np.minimum(s, 1 / max(rate, TINY))
            above = s + h
            under = s - h
            slope = (
                _derivative(kernel, above, order - 1) - _derivative(kernel, under, order - 1)
            ) / (above - under)
            rounding = (_ROUNDING * np.abs(below) + TINY) / h
            wrong = (
                np.abs(stated - slope)
                > LARGEST_ERROR * np.maximum(np.abs(stated), np.abs(slope)) + rounding
            )
        if wrong.mean() > _KINKS:
            return order
        below = stated
    return None


def _dot(kernel, X):
    coefficients = np.array([_derivative(kernel, np.zeros(1), order)[0] for order in range(ORDERS)])
    refuted = "the Taylor coefficient of order {at} of f(<x, z>) has the sign of {value:.4g}"
    kept = f"the Taylor coefficients of f(<x, z>) of orders 0 to {ORDERS - 1} are not negative"
    found = [
        _signs(range(ORDERS), coefficients, "all sets with a neighbourhood of 0", refuted, kept)
    ]
    if X is None:
        return found
    squares = as_float64(Points(X).sqnorms())
    s = np.linspace(squares.min(), squares.max(), _GRID)
    value, first, second = (_derivative(kernel, s, order) for order in range(3))
    r = np.sqrt(s)
    where = f"neighbourhoods of points of length {r[0]:.4g} to {r[-1]:.4g}"
    # the eigenvalues of the metric across x, which one column does not have, and along x
    across = {"f'": first} if X.shape[1] > 1 else {}
    for name, values in ({"f": value} | across | {"f' + r^2 f''": first + s * second}).items():
        refuted = name + " = {value:.4g} at r = |x| = {at:.4g}"
        kept = f"{name} >= 0 over the range of |x|"
        found.append(_signs(r, values, where, refuted, kept))
    return found


def _bounded(kernel, s):
    """Return a list of at most one statement: two rows with |f(s)| > f(0) violate the Cauchy-Schwarz inequality."""
    values = np.abs(_derivative(kernel, s, 0))
    own = float(_derivative(kernel, np.zeros(1), 0)[0])
    worst = int(np.argmax(values))
    if not values[worst] > own + _ROUNDING * values[worst]:
        return []
    where = f"every two rows at a distance of {s[worst] ** 0.5:.4g}"
    reason = f"|k(x, z)| = {values[worst]:.4g} is larger than k(x, x) = {own:.4g} (Cauchy-Schwarz)"
    return [Statement("refuted", where, reason)]


def _monotone(kernel, s):
    """Return the statement on complete monotonicity: without it, f is not a kernel from some number of columns on."""
    signs = np.stack([(-1) ** order * _derivative(kernel, s, order) for order in range(ORDERS)])
    scales = np.abs(signs).max(axis=1, keepdims=True)
    worst = (signs / np.where(scales > 0, scales, 1)).min(axis=1)
    refuted = (
        "f(|x - z|^2) is not completely monotone: (-1)^{at} times its derivative of order {at} is negative; "
        "for few columns this says nothing (Schoenberg 1938)"
    )
    kept = f"(-1)^j times the j-th derivative of f(|x - z|^2) is not negative for j = 0 to {ORDERS - 1}"
    return _signs(range(ORDERS), worst, ENOUGH_COLUMNS, refuted, kept)


def _signs(at, values, where, refuted, kept):
    """Return the statement "refuted" at the first value negative beyond rounding, otherwise "not refuted"."""
    negative = np.flatnonzero(values < -_ROUNDING * max(np.abs(values).max(), TINY))
    if len(negative):
        j = negative[0]
        return Statement("refuted", where, refuted.format(at=at[j], value=values[j]))
    return Statement("not refuted", where, kept)


def _derivative(kernel, s, order):
    return as_float64(evaluate_profile(kernel, s, order=order))
