"""Composite kernels: sums, products, multiples, powers and exponentials."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer._common import Array, check_integer, check_number, check_positive, shown
from mercer._compute.namespace import namespace_of
from mercer._compute.objects import Shared, as_objects
from mercer._compute.points import as_rows
from mercer._compute.table import as_table
from mercer.kernels.base import MOST_DEGREE, Kernel, Tags, inner_kernels, refuse_infinite
from mercer.kernels.common_form import common_form, common_kind, common_table

if TYPE_CHECKING:
    from mercer._compute.points import Points
    from mercer._compute.tile import Tile

# Most levels of kernels within kernels: Python's stack takes no deeper recursion in all functions of kernels, and files
# take no deeper values than 100. Sums and products of many kernels are grouped from fewer levels on.
_MOST_LEVELS, _GROUPED = 200, 64
# Kind of points -> function that reads what the user gave, unless it is that of every kernel.
_READERS = {"rows": as_rows, "tables": as_table, "any": lambda points, _: points, "indices": lambda points, _: points}


@dataclass(frozen=True, eq=False)
class Composite(Kernel):
    """Base class of kernels with inner kernels, the fields of the type Kernel."""

    def __post_init__(self) -> None:
        for field in fields(self):
            part = getattr(self, field.name)
            if field.type in (Kernel, "Kernel") and not isinstance(part, Kernel):
                raise TypeError(f"{field.name} of {type(self).__name__} must be a Kernel, got {shown(part)}.")
        if self._levels > _MOST_LEVELS:
            raise ValueError(f"kernels must have at most {_MOST_LEVELS} levels of kernels within kernels; write fewer.")

    @cached_property
    def _levels(self) -> int:
        """Number of levels of kernels within this kernel."""
        return 1 + max(map(_levels, inner_kernels(self).values()), default=0)

    @property
    def tags(self) -> Tags:
        """A property holds if all inner kernels have it; coordinates are nonnegative if one inner kernel needs it."""
        return self._common_tags

    @cached_property
    def _common_tags(self) -> Tags:
        # each level of a composition would ask all levels below again
        tags = [part.tags for part in inner_kernels(self).values()]
        return Tags(
            positive_semidefinite=True if all(tag.positive_semidefinite for tag in tags) else None,
            points=common_kind([tag.points for tag in tags]),
            sparse=all(tag.sparse for tag in tags),
            differentiable=all(tag.differentiable for tag in tags),
            nonnegative=any(tag.nonnegative for tag in tags),
            symmetric=all(tag.symmetric for tag in tags),
        )

    def admit(self, points: Any, name: str) -> Any:
        kind = self.tags.points
        points = _READERS[kind](points, name) if kind in _READERS else Kernel.admit(self, points, name)
        if kind == "tables":
            return common_table(self, points, name)
        return common_form(points, self._forms(points, name))

    def _forms(self, points, name):
        """Return the points in the form of each part, except for constants, which take any form."""
        parts = list(inner_kernels(self).values())
        own = [part for part in parts if part.tags.points != "any"]
        return [part.admit(points, name) for part in own or parts]


def _within(kernel, *kinds):
    """Return the formula of a kernel, in parentheses if it is of one of the kinds."""
    return f"({kernel!r})" if isinstance(kernel, kinds) else repr(kernel)


def _terms(kernel):
    """Yield the terms of nested sums, from left to right."""
    if isinstance(kernel, Sum):
        yield from _terms(kernel.left)
        yield from _terms(kernel.right)
    else:
        yield kernel


@dataclass(frozen=True, eq=False)
class _Function(Composite):
    """Base class of kernels f(k1(x, z), ...) of their inner kernels, with f in ``_combine``."""

    def evaluate(self, tile: Tile) -> Array:
        return self._combined(lambda part: part.evaluate(tile))

    def diagonal(self, points: Points) -> Array:
        return self._combined(lambda part: part.diagonal(points))

    def _combined(self, evaluate):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, self._combine(*map(evaluate, inner_kernels(self).values())))


@dataclass(frozen=True, eq=False)
class _Pair(_Function):
    """Base class of kernels f(k1(x, z), k2(x, z))."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = {name: part.tags.points for name, part in inner_kernels(self).items()}
        if common_kind(kinds.values()) is None:
            raise ValueError(
                f"left and right of {type(self).__name__} must take the same kind of points, got {kinds}; "
                "mercer.on_columns combines kernels of several columns of a table."
            )


@dataclass(frozen=True, eq=False)
class _Transformed(_Function):
    """Base class of kernels f(k(x, z)), with the derivative of f in ``_slope``."""

    kernel: Kernel

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self.kernel.gradient(tile, W * self._slope(self.kernel.evaluate(tile)))

    def diagonal_gradient(self, points: Any, w: Array) -> Array:
        return self.kernel.diagonal_gradient(points, w * self._slope(self.kernel.diagonal(points)))


@dataclass(frozen=True, eq=False)
class Constant(Kernel):
    """Constant kernel, k(x, z) = c, with one constant feature.

    Parameters
    ----------
    value : float
        At least 0.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (mc.Linear() + 1.0)(np.array([[2.0]]))
    array([[5.]])
    """

    value: float = 1.0
    explicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("value", self.value)
        if self.value < 0:
            raise ValueError(f"value = {shown(self.value)} must be at least 0; add a constant of at least 0.")

    @property
    def tags(self) -> Tags:
        """Positive semidefinite, on any points."""
        return Tags(positive_semidefinite=True, points="any", sparse=True)

    def admit(self, points: Any, name: str) -> Any:
        if hasattr(points, "tocsr"):
            # some sparse formats cannot be indexed by rows
            return points.tocsr()
        if isinstance(points, Shared) or hasattr(points, "dtype"):
            return points
        # a table has a shape and no type
        return np.asarray(points) if hasattr(points, "shape") else as_objects(points, name)

    def evaluate(self, tile: Tile) -> Array:
        return tile.X.full((len(tile.X), len(tile.Z)), self.value)

    def diagonal(self, points: Points) -> Array:
        return points.full((len(points),), self.value)

    def multiply(self, X: Any, Z: Any, V: Array) -> Array:
        return X.full((len(X), 1), self.value) * X.xp.sum(V, axis=0, dtype=X.xp.float64)

    def gradient(self, tile: Tile, W: Any) -> Array:
        return tile.X.zeros()

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return points.zeros()


@dataclass(frozen=True, eq=False)
class Sum(_Pair):
    """Sum of two kernels, k1(x, z) + k2(x, z); its feature vectors are those of both kernels, concatenated.

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (mc.Linear() + mc.Gaussian(1.0))(np.array([[1.0]]))
    array([[2.]])
    """

    def __repr__(self) -> str:
        constant = isinstance(self.right, Constant) and self.right.value
        return f"{self.left!r} + {repr(float(constant)) if constant else _within(self.right, Sum)}"

    @property
    def explicit(self) -> bool:
        """Whether both kernels have explicit features."""
        return self.left.explicit and self.right.explicit

    def multiply(self, X: Any, Z: Any, V: Array) -> Array:
        return self.left.multiply(X, Z, V) + self.right.multiply(X, Z, V)

    @staticmethod
    def _combine(left, right):
        return left + right

    def evaluate(self, tile: Tile) -> Array:
        # one check and one array for a sum of many terms
        with np.errstate(over="ignore", invalid="ignore"):
            values = (part.evaluate(tile) for part in _terms(self))
            total = next(values) + next(values)
            for each in values:
                if each.dtype == total.dtype:
                    total += each
                else:
                    total = total + each
            return refuse_infinite(self, total)

    def gradient(self, tile: Tile, W: Any) -> Array:
        return self.left.gradient(tile, W) + self.right.gradient(tile, W)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return self.left.diagonal_gradient(points, w) + self.right.diagonal_gradient(points, w)


@dataclass(frozen=True, eq=False)
class Product(_Pair):
    """Product of two kernels, k1(x, z) k2(x, z); its features are all products of their features.

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (mc.Linear() * mc.Gaussian(1.0))(np.array([[2.0]]))
    array([[4.]])
    """

    def __repr__(self) -> str:
        return f"{_within(self.left, Sum)} * {_within(self.right, Sum, Product, Scaled)}"

    @staticmethod
    def _combine(left, right):
        return left * right

    def gradient(self, tile: Tile, W: Any) -> Array:
        left, right = self.left.evaluate(tile), self.right.evaluate(tile)
        return self.left.gradient(tile, W * right) + self.right.gradient(tile, W * left)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        left, right = self.left.diagonal(points), self.right.diagonal(points)
        return self.left.diagonal_gradient(points, w * right) + self.right.diagonal_gradient(points, w * left)


@dataclass(frozen=True, eq=False)
class Scaled(_Transformed):
    """Positive multiple of a kernel, factor k(x, z).

    Parameters
    ----------
    kernel : Kernel
    factor : float
        Positive.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (3 * mc.Gaussian(1.0))(np.array([[2.0]]))
    array([[3.]])
    """

    factor: float = 1.0

    def __repr__(self) -> str:
        return f"{float(self.factor)!r} * {_within(self.kernel, Sum, Product, Scaled)}"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("factor", self.factor)

    @property
    def explicit(self) -> bool:
        """Whether the kernel has explicit features."""
        return self.kernel.explicit

    def multiply(self, X: Any, Z: Any, V: Array) -> Array:
        return self.factor * self.kernel.multiply(X, Z, V)

    def _combine(self, values):
        return self.factor * values

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self.factor * self.kernel.gradient(tile, W)

    def diagonal_gradient(self, points: Any, w: Array) -> Array:
        return self.factor * self.kernel.diagonal_gradient(points, w)


@dataclass(frozen=True, eq=False)
class Power(_Transformed):
    """Power of a kernel, k(x, z)^degree; its features are products of ``degree`` features.

    Parameters
    ----------
    kernel : Kernel
    degree : int
        At least 1.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (mc.Linear() ** 3)(np.array([[2.0]]))
    array([[64.]])
    """

    degree: int = 2

    def __repr__(self) -> str:
        return f"{_within(self.kernel, Sum, Product, Scaled, Power)} ** {self.degree}"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("degree", self.degree, most=MOST_DEGREE)

    def _combine(self, values):
        return values**self.degree

    def _slope(self, values):
        return self.degree * values ** (self.degree - 1)


@dataclass(frozen=True, eq=False)
class Exp(_Transformed):
    """Exponential of a kernel, exp(k(x, z)), the sum of its powers k(x, z)^j / j!.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Exp(mc.Linear())(np.array([[1.0]])).round(4)
    array([[2.7183]])
    """

    def _combine(self, values):
        return namespace_of(values).exp(values)

    def _slope(self, values):
        return refuse_infinite(self, self._combine(values))


def _add(left, right):
    """Return a sum of kernels, or a kernel plus a number of at least 0."""
    if isinstance(right, Real) and not isinstance(right, bool):
        check_number("value", right)
        return left if right == 0 else _joined(Sum, left, Constant(float(right)))
    return _joined(Sum, left, right) if isinstance(right, Kernel) else NotImplemented


def _multiply(left, right):
    """Return a product of kernels, or a kernel times a positive number."""
    if isinstance(right, Real) and not isinstance(right, bool):
        check_number("factor", right)
        return Scaled(left, float(right))
    return _joined(Product, left, right) if isinstance(right, Kernel) else NotImplemented


def _joined(kind, left, right):
    """Return the sum or product of two kernels; one more term of a long one joins its last terms."""
    if isinstance(left, kind) and _levels(left) >= _GROUPED and _levels(left.left) > _levels(left.right):
        return kind(left.left, _joined(kind, left.right, right))
    return kind(left, right)


def _levels(kernel):
    """Return the number of levels of kernels within a kernel."""
    return getattr(kernel, "_levels", 0)


def _raise(kernel, degree):
    return Power(kernel, degree)


# the operators of Kernel; they are set here because their results are subclasses of it
Kernel.__add__ = Kernel.__radd__ = _add
Kernel.__mul__ = Kernel.__rmul__ = _multiply
Kernel.__pow__ = _raise
