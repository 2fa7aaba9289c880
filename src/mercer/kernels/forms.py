"""Kernels that are one function of |x - z|^2 or of <x, z>, composite ones included, and kernels behind linear maps."""

from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from mercer._common import AnyFunction, Array
from mercer._compute.profile import evaluate_profile, namespace_of, parameters
from mercer.kernels.algebra import Constant, Function, Scaled, Sum
from mercer.kernels.base import Kernel, inner_kernels
from mercer.kernels.dot import Linear
from mercer.kernels.mapped import Mapped, map_rows
from mercer.kernels.rescaled import Normalized, unit_rows

_FUNCTIONS = (Function, Normalized)
_COSINE = Normalized(Linear())


def form_of(kernel: Kernel) -> str | None:
    """Return "radial" for k(x, z) = f(|x - z|^2), "dot" for k(x, z) = f(<x, z>), "constant", or None for other kernels.

    Multiples, powers, exponentials, sums and products of kernels of one form have it, and so does a normalised radial
    kernel.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.kernels.forms import form_of
    >>> form_of(2 * mc.Gaussian(1.0) ** 2 + 1.0), form_of(mc.Linear() + mc.Gaussian(1.0))
    ('radial', None)
    """
    if isinstance(kernel, Constant):
        return "constant"
    if not isinstance(kernel, _FUNCTIONS):
        return kernel.scalar
    forms = {form_of(part) for part in inner_kernels(kernel).values()}
    forms = forms - {"constant"} or forms
    form = forms.pop() if len(forms) == 1 else None
    return None if form == "dot" and isinstance(kernel, Normalized) else form


class Term(NamedTuple):
    """A profile of a scalar times a factor."""

    factor: float
    profile: AnyFunction
    parameters: tuple[float, ...]


class Combination(NamedTuple):
    """A constant, and terms of one scalar, "radial" or "dot": their sum is a kernel."""

    scalar: str
    constant: float
    terms: tuple[Term, ...]


def combination_of(kernel: Kernel) -> Combination:
    """Return a kernel that is a sum of profiles of one scalar.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.kernels.forms import combination_of
    >>> combination_of(2 * (mc.Gaussian(1.0) + 3.0)).constant
    6.0
    """
    # most kernels are one profile
    constant, parts = (0.0, [(1.0, kernel)]) if kernel.scalar else _parts(kernel)
    terms = tuple(Term(factor, part.profile, parameters(part)) for factor, part in parts)
    return Combination(parts[0][1].scalar, constant, terms)


def is_combination(kernel: Kernel) -> bool:
    """Whether a kernel is a sum of profiles of one scalar."""
    if kernel.scalar is not None:
        return True
    scalars = {part.scalar for _, part in _parts(kernel)[1]}
    return len(scalars) == 1 and None not in scalars


def _parts(kernel):
    """Return the constant of a sum, and its other terms as pairs of a factor and a kernel."""
    constant = 0.0
    parts = []
    left = [(1.0, kernel)]
    while left:
        factor, part = left.pop()
        if isinstance(part, Constant):
            constant += factor * part.value
        elif isinstance(part, Scaled):
            left.append((factor * part.factor, part.kernel))
        elif isinstance(part, Sum):
            left += (factor, part.right), (factor, part.left)
        else:
            parts.append((factor, part))
    return constant, parts


def evaluate_form(kernel: Kernel, s: Array, order: int = 0) -> Array:
    """Return the values of a kernel's function at an array s, or for ``order`` 1 its slopes."""
    with np.errstate(all="ignore"):
        return _evaluate(kernel, s, order)


@singledispatch
def _evaluate(kernel, s, order):
    return evaluate_profile(kernel, s, order)


@_evaluate.register
def _(kernel: Constant, s, order):
    return namespace_of(s).full_like(s, 0.0 if order else kernel.value)


@_evaluate.register
def _(kernel: Function, s, order):
    def value(part):
        return _evaluate(part, s, 0)

    if order == 0:
        return kernel._compose(value)  # noqa: SLF001
    # an infinite slope at a kink times the slope of a constant, 0, is not a number
    slopes = (
        slope * _evaluate(part, s, 1)
        for part, slope in kernel._derivatives(value)  # noqa: SLF001
        if form_of(part) != "constant"
    )
    return sum(slopes, namespace_of(s).zeros_like(s))


@_evaluate.register
def _(kernel: Normalized, s, order):
    xp = namespace_of(s)
    zero = xp.zeros(1, dtype=s.dtype, device=getattr(s, "device", None))
    return _evaluate(kernel.kernel, s, order) / _evaluate(kernel.kernel, zero, 0)[0]


def unmapped(kernel: Kernel) -> tuple[Any, ...]:
    """Return the kernel of mapped rows A x, and A, where all parts of a kernel are behind one linear map A; else None.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.kernels.forms import unmapped
    >>> unmapped(2 * mc.Mapped(mc.Gaussian(1.0), np.array([3.0])))
    (2.0 * Gaussian(gamma=1.0), array([3.]))
    """
    if isinstance(kernel, Mapped) and not callable(kernel.A):
        return kernel.kernel, kernel.A
    if not isinstance(kernel, _FUNCTIONS):
        return kernel, None
    parts = {name: unmapped(part) for name, part in inner_kernels(kernel).items()}
    maps = [A for name, (_, A) in parts.items() if form_of(getattr(kernel, name)) != "constant"]
    if not maps or any(A is None or not _same_map(A, maps[0]) for A in maps):
        return kernel, None
    return replace(kernel, **{name: part for name, (part, _) in parts.items()}), maps[0]


def _same_map(A, B):
    return A.dtype.kind == B.dtype.kind and np.array_equal(A, B)


def flat_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel behind all linear maps of a kernel."""
    inner, A = unmapped(kernel)
    return kernel if A is None else flat_kernel(inner)


def is_flat_combination(kernel: Kernel) -> bool:
    """Return whether the kernel of `flatten` is a combination, see `combination_of`."""
    flat = flat_kernel(kernel)
    return is_combination(flat) or flat == _COSINE


def flatten(kernel: Kernel, rows: Array) -> tuple[Kernel, Array]:
    """Return the kernel behind all linear maps of a kernel, and the rows mapped by them.

    Cosines are inner products of rows of length 1.
    """
    inner, A = unmapped(kernel)
    if A is not None:
        return flatten(inner, map_rows(A, rows))
    return (kernel.kernel, unit_rows(kernel, rows)) if kernel == _COSINE else (kernel, rows)


def pull_rows(A: Array, mapped: Array, rows: Array) -> Array:
    """Return the rows z nearest to ``rows`` with A z nearest to ``mapped``."""
    if A.dtype.kind == "f" and A.ndim == 1:
        return np.where(A != 0, mapped / np.where(A != 0, A, 1), rows)
    matrix = A if A.dtype.kind == "f" else np.eye(rows.shape[1])[A % rows.shape[1]]
    return rows + (mapped - map_rows(A, rows)) @ np.linalg.pinv(matrix).T
