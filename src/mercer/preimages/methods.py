"""Methods of `preimage` by name, the method for a kernel, and the vectors that methods apply to."""

from types import NoneType
from typing import Any

import numpy as np

from mercer._common import refuse_large, shown
from mercer._compute.objects import Objects, type_name
from mercer.expansion import Expansion, require_symmetric
from mercer.kernels.base import Kernel
from mercer.kernels.direct_sum import kernel_of_data
from mercer.kernels.forms import flat_kernel, form_of
from mercer.linalg.operators import in_float64
from mercer.preimages.base import Method, choose_method
from mercer.preimages.descent import over_rows
from mercer.preimages.fixed_point import FixedPoint
from mercer.preimages.gradient import Gradient
from mercer.preimages.inverse import Distances, Exact
from mercer.preimages.learned import Learned
from mercer.preimages.search import Search

NAMES = {
    "auto": NoneType,
    "fixed_point": FixedPoint,
    "gradient": Gradient,
    "distances": Distances,
    "learned": Learned,
    "exact": Exact,
    "search": Search,
}


def check_method(name: str, method: Any) -> None:
    """Raise unless a parameter is "auto", the name of a method, or a record."""
    choose_method(method, NAMES, Method, "FixedPoint()", name)


def method_for(
    kernel: Kernel, method: Any, names: dict[Any, Any], protocol: Any
) -> tuple[Any, ...]:
    """Return the method for a kernel, given by name or as a record, and why it is used, or raise a TypeError."""
    method = choose_method(method, names, protocol, "FixedPoint()")
    if method is None:
        return _automatic(kernel)
    method.require(kernel)
    return method, f"{type(method).__name__} was requested"


def _automatic(kernel):
    name = type(kernel).__name__
    if form_of(flat_kernel(kernel)) == "radial":
        return FixedPoint(), f"{name} is radial: the fixed-point iteration applies"
    if kernel_of_data(kernel).tags.differentiable:
        return Gradient(), f"{name} is not radial, but has a gradient"
    raise TypeError(
        f"{shown(kernel)} is neither radial nor has a gradient in its points; use method='learned'."
    )


def with_regression(method: Any, psi: Expansion) -> Any:
    """Return a learned method with its regression on the points of psi, other methods as they are."""
    learned = Learned() if isinstance(method, str) and method == "learned" else method
    if not isinstance(learned, Learned) or isinstance(psi.points, Objects):
        return method
    return learned.fitted(checked_psi(psi))


def checked_psi(psi: Expansion) -> Expansion:
    """Return an expansion over rows of numbers in float64, or raise a TypeError."""
    require_symmetric("psi", psi)
    if psi.kernel.tags.points == "indices":
        raise TypeError(
            f"pre-images need input points, and {type(psi.kernel).__name__} has only indices; use a kernel on rows of "
            "numbers."
        )
    points = psi.points
    if not over_rows(psi):
        raise TypeError(
            f"pre-images are rows of numbers, but psi is over points in a {type_name(points)}; "
            "mercer.reduce(psi[:, j], 1, method='greedy') selects one of these points for vector j."
        )
    if psi.coef is not None:
        refuse_large("coef", psi.coef)
    return psi if points.dtype == np.float64 else in_float64(psi)
