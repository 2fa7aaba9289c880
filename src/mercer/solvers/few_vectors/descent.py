"""Descents of objectives in float32 by L-BFGS with a limited number of evaluations."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from mercer._common import Array


class _Spent(Exception):
    """All evaluations of a descent are used, or a step leaves the range of float32."""


def joined(*parts: Array) -> Array:
    """Return the numbers of several arrays, one after the other."""
    return np.concatenate([part.ravel() for part in parts])


def reach(start: Array) -> Array:
    """Return how far from 0 numbers may go, of which a line search, as over few rows, leaves the range of float32."""
    # far beyond what a descent needs, and in range
    return np.full(start.shape, 1e6 * max(1.0, np.abs(start).max()))


def descend(
    objective: Callable[[Array], tuple[float, Array, Any]],
    start: Array,
    passes: int,
    callback: Callable[[], Any] | None = None,
    most: Any = np.inf,
    least: Any = None,
) -> Any:
    """Return the third result of an objective at the lowest value that L-BFGS finds; None without ``passes``.

    ``objective(v)``, evaluated as often at most, returns a value, its gradient, and a third result. ``callback()`` is
    called after every evaluation. It ends where a number is ``most`` (k,) or more from 0; ``least`` (k,) are lower
    bounds.
    """
    left = iter(range(passes))
    best = np.inf
    found = None

    def watched(v):
        nonlocal best, found
        # a line search of scipy may go beyond its own limit, or beyond all numbers
        if next(left, None) is None or not (np.abs(v) < most).all():
            raise _Spent
        try:
            value, gradient, result = objective(v)
        except ValueError:
            if found is None:
                raise
            # a line search has left the points at which the kernel has finite values
            raise _Spent from None
        if value < best:
            best = value
            found = result
        if callback is not None:
            callback()
        return value, gradient

    options = {
        "maxiter": passes,
        "maxfun": passes,
        "maxcor": 20,
        # sums in float32 tell no smaller decrease
        "ftol": 1e-6,
        "gtol": 0.0,
    }
    bounds = None if least is None else Bounds(least, np.inf)
    with contextlib.suppress(_Spent):
        minimize(watched, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return found
