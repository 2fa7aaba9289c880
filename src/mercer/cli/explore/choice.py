"""Choice: what a person set on the page, checked; it gives the kernel as an object and as code."""

import functools
import operator
from collections.abc import Sequence

import mercer as mc
from mercer._common import record
from mercer.cli.failure import Failure

# The parameter of each kernel on the page, and its bounds.
FAMILIES: dict[str, tuple[str | None, float, float]] = {
    "Gaussian": ("gamma", 1e-3, 1e3),
    "Laplacian": ("gamma", 1e-3, 1e3),
    "Cauchy": ("gamma", 1e-3, 1e3),
    "Matern": ("length", 1e-3, 1e3),
    "RationalQuadratic": ("length", 1e-3, 1e3),
    "Polynomial": ("degree", 1, 6),
    "Linear": (None, 0, 0),
}
OPERATIONS = {"alone": "", "sum": " + ", "product": " * "}
# Numbers of components and of vectors that the page offers.
SIZES = (4, 8, 16, 32, 64)


@record
class Choice:
    """A view of a table in a plane, one or two kernels and how they are combined, C and a size."""

    view: str
    table: str
    plane: str
    parts: tuple[mc.Kernel, ...]
    operation: str
    C: float
    size: int

    @property
    def code(self) -> str:
        """The kernel as an expression of Python."""
        return OPERATIONS[self.operation].join(f"mc.{part!r}" for part in self.parts)

    def kernel(self) -> mc.Kernel:
        """Return the kernel: one part, or the sum or product of two."""
        combine = operator.mul if self.operation == "product" else operator.add
        return functools.reduce(combine, self.parts)


def read(
    view: str,
    table: str,
    plane: str,
    operation: str,
    parts: Sequence[tuple[str, float, int]],
    exponent: float,
    size: int,
) -> Choice:
    """Return the Choice of the values of a form; a Failure names a value that is not allowed.

    ``parts`` holds (family, decimal logarithm of the parameter, degree) of both kernels, ``exponent`` is that of C.
    """
    for name, value in {"view": view, "table": table, "plane": plane}.items():
        if not isinstance(value, str):
            raise Failure(f"{name} = {str(value)[:40]!r} must be a text; choose one of the page.")
    _one_of("combination", operation, OPERATIONS)
    _one_of("size", size, SIZES)
    chosen = tuple(_part(*each) for each in parts[: 1 if operation == "alone" else 2])
    return Choice(view, table, plane, chosen, operation, power("C", exponent, 1e-3, 1e4), size)


def _part(family, exponent, degree):
    """Return a kernel with one parameter: a number above 0, or a degree, or nothing for the linear kernel."""
    _one_of("kernel", family, FAMILIES)
    name, low, high = FAMILIES[family]
    # two derivatives at 0 are needed for the geometry
    options = {"nu": 2.5} if family == "Matern" else {}
    if name == "degree":
        _one_of(name, degree, range(int(low), int(high) + 1))
        options[name] = int(degree)
    elif name is not None:
        options[name] = power(name, exponent, low, high)
    return getattr(mc, family)(**options)


def power(name: str, exponent: float, low: float, high: float) -> float:
    """Return 10^exponent to two digits, between two bounds; the code of the page shows this number."""
    try:
        value = float(f"{10.0 ** float(exponent):.2g}")
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not low <= value <= high:
        raise Failure(
            f"{name} = 10^{str(exponent)[:20]} must be from {low:g} to {high:g}; move its slider."
        )
    return value


def _one_of(name, value, allowed):
    if not isinstance(value, (str, int)) or value not in allowed:
        raise Failure(
            f"{name} = {str(value)[:40]!r} must be one of {', '.join(map(str, allowed))}."
        )
