"""Rates of this machine: seconds of kernel values, of operations of products, and of eigenproblems."""

import functools
import time
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.linalg import eigh

# Orders of the calibration.
_POINTS, _ORDER, _FEATURES = 1024, 768, 2048
# A smaller eigenproblem takes more time for each n^3.
_SMALL = 512


def rates(kernel: Any, d: int) -> tuple[float, float, float]:
    """Return seconds per kernel value in a product, operation of a product, and n^3 of an eigenproblem.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.estimators._rates import rates
    >>> all(0 < seconds < 1e-3 for seconds in rates(mc.Gaussian(1.0), 2))
    True
    """
    few = min(d, _FEATURES)
    # a map of all columns takes no fewer
    few = few if _takes(kernel, few) else d
    per_value, per_flop, per_cube = measured(kernel, few)
    # beyond many features the time of a value is proportional to them
    return per_value * (d / few), per_flop, per_cube


def _takes(kernel, d):
    if kernel.tags.points == "indices":
        return True
    try:
        kernel.admit(np.ones((1, d)), "X")
    except ValueError:
        return False
    return True


@functools.lru_cache(maxsize=64)
def measured(kernel: Any, d: int) -> tuple[float, float, float]:
    """Return `rates` as measured on points of d features; the process keeps them."""
    rng = np.random.default_rng(0)
    A, S = rng.standard_normal((_ORDER, _ORDER)), rng.standard_normal((_SMALL, _SMALL))
    S = S + S.T
    flop = _shortest(lambda: A @ A) / (2.0 * _ORDER**3)
    cube = _shortest(lambda: eigh.dense(S, _SMALL)) / _SMALL**3
    if kernel.tags.points == "indices":
        return flop, flop, cube
    X, V = np.abs(rng.standard_normal((_POINTS, d))), rng.standard_normal((_POINTS, 16))
    # other points: a product with a symmetric matrix evaluates half of it
    gram = Gram(kernel.resolve(X), X, X.copy())
    return _shortest(lambda: gram @ V) / _POINTS**2, flop, cube


def _shortest(call):
    """Return the seconds of the fastest of three calls; the first one may compile."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
