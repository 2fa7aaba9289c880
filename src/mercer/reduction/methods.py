"""Methods of `reduce` by name, the method for a kernel, and the limits that end a run."""

from typing import Any

from mercer._common import check_integer, check_number, shown
from mercer.kernels import Kernel, VariableWidthGaussian
from mercer.preimages.base import choose_method
from mercer.reduction.base import Method
from mercer.reduction.construct import Construct
from mercer.reduction.merge import Merge
from mercer.reduction.path import L1, MaxNorm
from mercer.reduction.refine import Refine, VariableWidths
from mercer.reduction.subset import Eigenvector, Exhaustive, Greedy, Pivoted

_NAMES = {
    "construct": Construct,
    "merge": Merge,
    "refine": Refine,
    "variable_widths": VariableWidths,
    "eigenvector": Eigenvector,
    "exhaustive": Exhaustive,
    "greedy": Greedy,
    "l1": L1,
    "max_norm": MaxNorm,
    "pivoted": Pivoted,
}


def by_default(kernel: Kernel) -> Any:
    """Return the method for vectors over a kernel."""
    if type(kernel) is VariableWidthGaussian:
        return VariableWidths()
    return Construct() if kernel.tags.differentiable else Greedy()


def check_reduction(method: Any) -> Any:
    """Return the method for a string or a record, None for None, or raise an error that lists the strings."""
    return None if method is None else choose_method(method, _NAMES, Method, "Construct()")


def check_limits(
    n_vectors: float | None, name: str, value: float | None, method: Any = None
) -> None:
    """Raise unless the number of vectors, or a share in [0, 1) of the error or score, or a method with one is given."""
    if n_vectors is None and value is None and not getattr(method, "fixes_size", False):
        raise ValueError(f"n_vectors and {name} are both None; give at least one of them.")
    if n_vectors is not None:
        check_integer("n_vectors", n_vectors)
    if value is not None:
        check_number(name, value)
        if not 0 <= value < 1:
            raise ValueError(f"{name} = {shown(value)} must be at least 0 and below 1.")
