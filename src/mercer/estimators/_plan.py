"""plan: the route, the memory and about the time of a fit, before anything is allocated, from rates of this machine."""

import functools
import math
import time
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import MaybeNone, PointsLike, check_integer, record, shown
from mercer._compute import html
from mercer._compute.array import row_step
from mercer._compute.costs import BLOCK, ROWS
from mercer._compute.memory import Size, Work, first_that_fits, human_bytes, parse_memory
from mercer.estimators.base import count_rows
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Matern
from mercer.kernels.shorthand import kernel_of
from mercer.linalg import eigh

# A smaller eigenproblem takes more time for each n^3.
_ORDER = 640
# Kernel values, of each of a given matrix, in whose time it is copied, checked and read by a solver.
_PASSES = 10
_PLANNED = (
    "KernelPCA, KernelRidge, KernelFisher, KernelMap, Nystroem, SVC, NuSVC, SVR, NuSVR, QuantileSVR, "
    "OneClassSVM, SVDD, SVCCV, SVRCV, TableRegressor, TableClassifier"
)


@record
class Plan:
    """What a fit takes.

    Attributes
    ----------
    seconds : float
        About the processor time of this machine, in wall-clock seconds without other processes.
    bytes : int
        Largest memory beside the interpreter and the points, with the copy of a matrix that is given.
    at_most : bool
        Whether ``bytes`` are those of all kernel rows of a support vector machine, whose data may need few of them.
    route : str
        "dense": a matrix and its factorisation; "stored": a matrix and products with it; "lazy": kernel values are
        evaluated where they are needed; "landmarks": nothing of size n x n.
    reason : str
        Why this route, and how sure the numbers are; for a fit that ``memory`` does not hold, the error that it raises.
    """

    seconds: float
    bytes: int
    at_most: bool
    route: str
    reason: str

    def __str__(self) -> str:
        return f"{_time(self.seconds)}, {self._memory()}, route {self.route}: {self.reason}"

    def _repr_html_(self):
        facts = [
            ("time", _time(self.seconds)),
            ("memory", self._memory()),
            ("route", self.route),
            ("reason", self.reason),
        ]
        return html.table("Plan", facts)

    def _memory(self):
        return f"{'at most ' * self.at_most}{human_bytes(self.bytes)}"


def plan(estimator: Any, n: int | PointsLike, d: int | MaybeNone = None) -> Plan:
    """Return the route, the memory and about the time of the fit of an estimator to n points of d features, or to X.

    Parameters
    ----------
    estimator : KernelPCA, KernelRidge, KernelFisher, KernelMap, Nystroem, a table model or a support vector machine
        Not fitted; its parameters decide, ``memory`` among them. SVC, NuSVC, SVR, NuSVR, QuantileSVR, OneClassSVM,
        SVDD, or SVCCV and SVRCV, of all whose fits ``seconds`` are.
    n : int, or rows (n, d)
        Number of points, in float64; or the points, which are not read.
    d : int, optional
        Number of their features, with a number of points.

    Returns
    -------
    Plan
        With ``seconds``, ``bytes``, ``route`` and ``reason``. Nothing of the size of the problem is allocated.

    Raises
    ------
    TypeError
        For other estimators, and for kernels on points that are not rows, or that take no sparse ones.

    Notes
    -----
    The first call for a kernel and a d measures kernel values, a matrix product and an eigenproblem, less than a
    second; the process keeps the results. The number of steps of iterative solvers depends on the data: ``reason``
    says where ``seconds`` assumes one. The bytes are those that a MemoryError of ``fit`` names; ``reason`` then starts
    with "fit raises MemoryError:" and continues with the text of this error. Those of a support vector machine are for
    all kernel rows in float32, or twice as many where its rounding exceeds ``tol``; the data decide how many it needs,
    often a tenth. It takes up to 160 MB more where up to 2 000 coefficients are between their bounds, which it solves
    for in float64, and a tenth of ``memory`` for copies.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> found = mc.plan(mc.KernelPCA(16, kernel=mc.Gaussian(0.1)), 10_000, 20)
    >>> found.route, round(found.bytes / 1e6)
    ('stored', 470)
    >>> mc.plan(mc.KernelPCA(16, kernel=mc.Gaussian(0.1), memory="300MB"), 10_000, 20).route
    'lazy'
    >>> print(mc.plan(mc.SVC(kernel=mc.Gaussian(0.1)), 10_000, 20))  # doctest: +ELLIPSIS
    about ..., at most 400.0 MB, route stored: all kernel values fit memory = 1.0 GB; seconds assume half of the ...
    >>> print(mc.plan(mc.KernelPCA(16, kernel=mc.Gaussian(0.1)), np.zeros((10_000, 20))))  # doctest: +ELLIPSIS
    about ..., 470.1 MB, route stored: half of the matrix fits memory = 1.0 GB; seconds assume 16 products
    """
    itemsize = 8
    density = None
    if d is None:
        if hasattr(n, "nnz"):
            density = n.nnz / max(1, math.prod(n.shape))
        n, d, itemsize = _sizes_of(n)
    elif not np.isscalar(n):
        raise TypeError(
            f"n = {shown(n)} must be a number of points beside d; for rows X give plan(estimator, X)."
        )
    check_integer("n", n)
    check_integer("d", d)
    if isinstance(estimator, type) or not hasattr(estimator, "_routes"):
        raise TypeError(
            f"estimator must be one of {_PLANNED}, got {shown(estimator)}; give an object, such as mercer.SVC()."
        )
    # products of integers of NumPy overflow
    size = Size(int(n), parse_memory(estimator.memory), itemsize, d=int(d))
    routes = estimator._routes(size)  # noqa: SLF001 - the fit has the same list
    # tables have kernels of their own
    kernel = kernel_of(estimator) if hasattr(estimator, "kernel") else Matern()
    route = first_that_fits(routes, size.budget)
    if kernel.tags.points in ("objects", "tables"):
        raise TypeError(
            f"plan needs a kernel on rows of d features, got {type(kernel).__name__}; time a fit on a part of the data."
        )
    rate = rates(kernel, size.d, density)
    work = route.work
    given = kernel.tags.points == "indices"
    if given:
        work += Work(_PASSES * float(size.n) ** 2)
    seconds = work.values * rate.value + work.flops * rate.flop + work.cubes * rate.cube
    refused = route.refusal(size.budget, f"{type(estimator).__name__} of {size.n} points")
    assumed = f"; seconds assume {work.assumed}" if work.assumed else ""
    reason = (
        route.reason_for(size.budget) + assumed
        if refused is None
        else f"fit raises MemoryError: {refused}"
    )
    rows, columns = route.block
    beside = int(rate.tiles * itemsize * min(rows, row_step(columns)) * columns)
    n_bytes = route.bytes + beside
    if route.name == "dense":
        # tiles fill the matrix before a solver takes others
        n_bytes = max(route.bytes, 8 * size.n**2 + beside)
        # a matrix that is given has a copy in its own type, and in float64
        n_bytes += given * 8 * size.n**2
    elif given:
        # a fit copies a given matrix, and stores it no second time
        stored = route.limited if route.name == "stored" else 0
        n_bytes += max(0, itemsize * size.n**2 - stored)
    return Plan(float(seconds), n_bytes, route.at_most, route.name, reason)


def _sizes_of(X):
    """Return the numbers of rows and columns of points, and the bytes of a number."""
    if np.isscalar(X):
        raise TypeError(
            f"d = None must be a number of features with n = {shown(X)}; give both, or X."
        )
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2:
        raise ValueError(
            f"X must have two dimensions (points, features), got shape {tuple(shape)}; or give n and d."
        )
    # a table has types of its columns
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X[:0]).dtype
    return count_rows(X), shape[1], 4 if "float32" in str(dtype) else 8


def _time(seconds):
    """Return seconds as a text."""
    if seconds < 1:
        return f"about {max(1, round(1000 * seconds))} ms"
    if seconds < 100:
        return f"about {seconds:.2g} s"
    return (
        f"about {seconds / 60:.0f} minutes"
        if seconds < 7200
        else f"about {seconds / 3600:.1f} hours"
    )


@record
class Rates:
    """Seconds per kernel value in a product, operation of a product, and n^3 of an eigenproblem.

    ``tiles`` are the tiles of kernel values in memory at a time, where these do not run in fused loops.
    """

    value: float
    flop: float
    cube: float
    tiles: float


def rates(kernel: Kernel, d: int, density: float | None = None) -> Rates:
    """Return the rates for a kernel on rows of d features, of which sparse ones have a share ``density`` of entries.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.estimators._plan import rates
    >>> 0 < rates(mc.Gaussian(1.0), 2).value < 1e-3
    True
    """
    if kernel.tags.points == "indices":
        return measured(kernel, 1)
    few = min(d, BLOCK // ROWS)
    try:
        kernel.admit(np.ones((1, few)), "X")
    except ValueError:
        # a map of all columns takes no fewer
        few = d
    found = measured(kernel, few, density)
    # beyond many features the time of a value is proportional to them
    return replace(found, value=found.value * (d / few))


@functools.lru_cache(maxsize=64)
def measured(kernel: Kernel, d: int, density: float | None = None) -> Rates:
    """Return `rates` as measured on points of d features; the process keeps them."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((_ORDER, _ORDER))
    S = A + A.T
    flop = _shortest(lambda: A @ A) / (2.0 * _ORDER**3)
    cube = _shortest(lambda: eigh.dense(S, _ORDER)) / _ORDER**3
    given = kernel.tags.points == "indices"
    # a given matrix exceeds the cache
    n = 2 * ROWS if given else ROWS
    X = np.abs(rng.standard_normal((n, d)))
    sparse = density is not None
    if sparse:
        X = sp.csr_array(X * (rng.random(X.shape) < density))
    V = rng.standard_normal((n, 16))
    if given:
        kernel = kernel.resolve(X @ X.T)
        X = np.arange(n)
    # other points: a product with a symmetric matrix evaluates half of it
    gram = Gram(kernel.resolve(X), X, X.copy())
    value = _shortest(lambda: gram @ V) / n**2
    return Rates(value, flop, cube, _tiles(gram, V) if sparse or not kernel.scalar else 0.0)


def _tiles(gram, V):
    """Return the tiles in memory in a product, the one that a dense matrix is copied from included."""
    tracemalloc.start()
    _ = gram @ V
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * ROWS**2) + 1


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
