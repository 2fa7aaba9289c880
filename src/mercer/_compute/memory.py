"""Memory: limits in bytes, arrays page by page, and routes: the ways of a computation, of which memory holds some."""

from __future__ import annotations

import functools
import math
import mmap
import re
import sys
import weakref
from collections.abc import Sequence
from contextvars import ContextVar
from decimal import Decimal
from numbers import Real

import numpy as np

from mercer._common import AnyFunction, record, setting, shown
from mercer._compute.costs import BLOCK

_PREFIXES = ("", "k", "M", "G", "T", "P")
_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgtp]?)(i?)b\s*", re.IGNORECASE)
# Bytes below which the C library reuses freed memory and does not ask the system for new pages.
_LARGE = 1 << 25
# Bytes from which the C library takes new pages for each array, unless it raises the limit itself.
_PAGES = 1 << 17
# A smaller number was not meant as bytes.
_LEAST = 64
# Bytes of tiles and columns that no limit forbids.
SMALL_MEMORY = 1 << 24
# Memory of a `reusing` block, with the arrays that it was given to; None outside of them.
_kept: ContextVar = ContextVar("mercer_memory", default=None)


def parse_memory(size):
    """Return a number of bytes, given as a number or as text such as "1GB" or "1.5 MiB" (1024 per step with an i)."""
    if isinstance(size, str):
        value = _parse_text(size)
    elif isinstance(size, Real) and not isinstance(size, bool):
        if 0 < size < _LEAST:
            raise ValueError(
                f"memory = {shown(size)} is a number of bytes; write '{size} GB' for gigabytes."
            )
        value = size
    else:
        raise TypeError(
            f"memory = {shown(size)} must be a number of bytes or text such as '1GB', got {type(size).__name__}."
        )
    if not 1 <= value < math.inf:
        raise ValueError(
            f"memory = {shown(size)} must be at least one byte and finite; write '1GB', for example."
        )
    # no memory has more bytes than can be addressed
    return min(int(value), sys.maxsize)


@functools.lru_cache(maxsize=64)
def _parse_text(size):
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(
            f"memory = {shown(size)} must be a number and a unit; write '1GB' or '512 MiB', for example."
        )
    number, prefix, binary = match.groups()
    power = [p.lower() for p in _PREFIXES].index(prefix.lower())
    # decimal arithmetic: 1.001 kB is 1001 bytes, but 1.001 * 1000 is less in binary
    return Decimal(number) * (1024 if binary else 1000) ** power


@functools.lru_cache(maxsize=64)
def cut(n, step):
    """Return the slices of n points, ``step`` each."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def blocks(n, width, size=None):
    """Return the slices of n rows, as many as are one temporary array; its ``size`` is in the unit of ``width``."""
    return cut(n, max(1, (BLOCK if size is None else size) // max(1, width)))


def human_bytes(n_bytes, digits=1):
    """Return a number of bytes as text in powers of 1000, such as "80.0 GB"."""
    if n_bytes < 1000:
        return f"{int(n_bytes)} B"
    if n_bytes >= 10**24:
        # no prefix is so large
        return f"{Decimal(n_bytes):.{digits}E} B"
    power = min(int(math.log10(n_bytes) / 3), len(_PREFIXES) - 1)
    return f"{n_bytes / 1000**power:.{digits}f} {_PREFIXES[power]}B"


def refusal(needed, budget, what, instead):
    """Return "<what> needs ..., the memory budget is ..." if ``needed`` bytes exceed the limit, otherwise None.

    The text shows as many digits of the two sizes as distinguish them.
    """
    limit = parse_memory(budget)
    if needed <= limit:
        return None
    texts = ((human_bytes(needed, digits), human_bytes(limit, digits)) for digits in range(1, 17))
    need, have = next((pair for pair in texts if pair[0] != pair[1]), (f"{needed} B", f"{limit} B"))
    return f"{what} needs {need}, the memory budget is {have}; use {instead}."


def require_memory(needed, budget, what, instead):
    """Raise a MemoryError with the text of ``refusal`` if ``needed`` bytes exceed the limit."""
    if isinstance(budget, int) and budget >= max(needed, _LEAST):
        return
    text = refusal(needed, budget, what, instead)
    if text is not None:
        raise MemoryError(text)


def allocate(shape, dtype):
    """Return an uninitialised C-contiguous array whose pages of 4 kB are taken when they are first written.

    NumPy asks for huge pages: on a virtual machine that returned its free memory, a first write then waits for 2 MiB
    at a time (2.7 s per GB, against 0.9 s here). Where the memory is present, huge pages are faster by 0.2 s per GB.
    """
    dtype = np.dtype(dtype)
    kept = _kept.get()
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    n_bytes = size * dtype.itemsize
    if n_bytes < (_LARGE if kept is None else _PAGES):
        return np.empty(shape, dtype)
    memory = None if kept is None else _unused(kept, n_bytes)
    if memory is None:
        # a private mapping, freed with the last array on it
        memory = mmap.mmap(-1, n_bytes, access=mmap.ACCESS_COPY)
    array = np.frombuffer(memory, dtype, size)
    if kept is not None and n_bytes < _LARGE:
        # views keep this array alive
        kept.append((weakref.ref(array), memory))
    return array.reshape(shape)


def reusing():
    """Let ``allocate`` give memory of up to 32 MB again once its array is gone, in this thread in the ``with`` block.

    Where the C library returns freed memory at once, as in workers of Dask, new pages take as long as kernel values.
    """
    return setting(_kept, [])


def _unused(kept, n_bytes):
    """Return memory of at least so many bytes whose array is gone, no longer kept, or None."""
    for i, (array, memory) in enumerate(kept):
        if array() is None and len(memory) >= n_bytes:
            return kept.pop(i)[1]
    return None


# --- routes: the ways of a computation as values, in order of preference ----------------------------------------------


@record
class Work:
    """Kernel ``values``, operations of products (``flops``), and n^3 of eigenproblems (``cubes``).

    ``assumed`` is a number of steps that depends on the data.
    """

    values: float = 0.0
    flops: float = 0.0
    cubes: float = 0.0
    assumed: str = ""

    def __add__(self, other: Work) -> Work:
        assumed = self.assumed or other.assumed
        return Work(
            self.values + other.values, self.flops + other.flops, self.cubes + other.cubes, assumed
        )

    def __mul__(self, times: float) -> Work:
        return Work(times * self.values, times * self.flops, times * self.cubes, self.assumed)


@record
class Size:
    """The size of a problem: n points of d features, the memory limit in bytes, and the bytes of a kernel value.

    ``whole`` is whether all points may span a model: they are in memory.
    """

    n: int
    budget: int
    itemsize: int = 8
    whole: bool = True
    d: int = 1


@record
class Route:
    """One way of a computation.

    Attributes
    ----------
    name : str
    reason : str
        When it is taken; ``{memory}`` stands for the memory limit.
    bytes : int
        The largest memory beside the points.
    work : Work
    run : callable
        The computation.
    limited : int, optional
        The part of the bytes that the memory must hold, all of them by default.
    block : tuple of int
        Points of which kernel values are in memory at a time.
    instead : str
        Remedies that take less memory.
    task : str, optional
        The computation in errors, the fit of the model by default.
    at_most : bool
        Whether the data decide how many of the bytes are needed.
    """

    name: str
    reason: str
    bytes: int
    work: Work
    run: AnyFunction
    limited: int | None = None
    block: tuple[int, int] = (0, 0)
    instead: str = "landmarks=, or a larger memory="
    task: str | None = None
    at_most: bool = False

    def fits(self, budget: int) -> bool:
        """Return whether the memory holds the computation."""
        return (self.bytes if self.limited is None else self.limited) <= budget

    def refusal(self, budget: int, what: str) -> str | None:
        """Return the text of the MemoryError of a computation beyond the memory, None for one that it holds."""
        if self.fits(budget):
            return None
        what = f"{what} ({self.reason_for(budget)})" if self.task is None else self.task
        return refusal(self.bytes, budget, what, self.instead)

    def reason_for(self, budget: int) -> str:
        """Return the reason with the memory limit."""
        return self.reason.format(memory=human_bytes(budget))


def first_that_fits(routes: Sequence[Route], budget: int) -> Route:
    """Return the first route that the memory holds, the last one where it holds none."""
    for route in routes[:-1]:
        if route.fits(budget):
            return route
    return routes[-1]


def required(routes: Sequence[Route], size: Size, name: str) -> Route:
    """Return the first route that the memory holds, or raise a MemoryError that names the model."""
    for route in routes:
        if route.fits(size.budget):
            return route
    raise MemoryError(routes[-1].refusal(size.budget, f"{name} of {size.n} points"))


def beyond_tiles(n_bytes: int) -> int:
    """Return a number of bytes, 0 for those that no limit forbids."""
    return n_bytes if n_bytes > SMALL_MEMORY else 0
