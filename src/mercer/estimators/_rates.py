"""Rates of this machine: seconds of kernel values, of operations of products, and of eigenproblems."""

import functools
import time
import tracemalloc
from dataclasses import dataclass, replace

import numpy as np

from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.linalg import eigh

# Orders of the calibration.
_POINTS = 1024
_FEATURES = 2048
# A smaller eigenproblem takes more time for each n^3.
_ORDER = 640


@dataclass(frozen=True)
class Rates:
    """Seconds per kernel value in a product, operation of a product, and n^3 of an eigenproblem.

    ``tiles`` are the tiles of kernel values in memory at a time, where these do not run in fused loops.
    """

    value: float
    flop: float
    cube: float
    tiles: float


def rates(kernel: Kernel, d: int) -> Rates:
    """Return the rates for a kernel on rows of d features.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.estimators._rates import rates
    >>> 0 < rates(mc.Gaussian(1.0), 2).value < 1e-3
    True
    """
    few = min(d, _FEATURES)
    # a map of all columns takes no fewer
    few = few if _takes(kernel, few) else d
    found = measured(kernel, few)
    # beyond many features the time of a value is proportional to them
    return replace(found, value=found.value * (d / few))


def _takes(kernel, d):
    if kernel.tags.points == "indices":
        return True
    try:
        kernel.admit(np.ones((1, d)), "X")
    except ValueError:
        return False
    return True


@functools.lru_cache(maxsize=64)
def measured(kernel: Kernel, d: int) -> Rates:
    """Return `rates` as measured on points of d features; the process keeps them."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((_ORDER, _ORDER))
    S = A + A.T
    flop = _shortest(lambda: A @ A) / (2.0 * _ORDER**3)
    cube = _shortest(lambda: eigh.dense(S, _ORDER)) / _ORDER**3
    if kernel.tags.points == "indices":
        return Rates(flop, flop, cube, 0.0)
    X = np.abs(rng.standard_normal((_POINTS, d)))
    V = rng.standard_normal((_POINTS, 16))
    # other points: a product with a symmetric matrix evaluates half of it
    gram = Gram(kernel.resolve(X), X, X.copy())
    value = _shortest(lambda: gram @ V) / _POINTS**2
    return Rates(value, flop, cube, 0.0 if kernel.scalar else _tiles(gram, V))


def _tiles(gram, V):
    """Return the tiles in memory in a product, the one that a dense matrix is copied from included."""
    tracemalloc.start()
    _ = gram @ V
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * _POINTS**2) + 1


def _shortest(call):
    """Return the seconds of the fastest of three calls; the first one may compile, others wait for other processes."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        before = time.process_time()
        call()
        waited = time.perf_counter() - start
        # coarse clocks show no time
        times.append(min(waited, time.process_time() - before or waited))
    return min(times)
