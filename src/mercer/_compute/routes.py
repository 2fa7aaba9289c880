"""Routes: the ways of a computation as values, in order of preference, each with its memory, its work, and its call."""

from __future__ import annotations

from collections.abc import Sequence

from mercer._common import AnyFunction, record
from mercer._compute.memory import human_bytes, refusal

# Bytes of tiles and columns that no limit forbids.
SMALL_MEMORY = 1 << 24


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
