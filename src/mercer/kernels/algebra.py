"""Composite kernels: sums, products, multiples, powers and exponentials."""

import copy
import functools
from abc import abstractmethod
from dataclasses import fields, replace
from functools import cached_property
from numbers import Real
from operator import add, is_, methodcaller
from typing import Any, ClassVar

import numpy as np

from mercer._common import Array, PointsLike, check_integer, check_number, check_positive, shown
from mercer._compute.objects import Objects, Shared, Table, as_objects, as_table
from mercer._compute.points import Points, as_rows
from mercer._compute.profile import namespace_of
from mercer._compute.tile import Tile
from mercer.kernels.base import (
    MOST_DEGREE,
    Kernel,
    Tags,
    finite,
    inner_kernels,
    kernel_class,
    storable_kernel,
)

# Most levels of kernels within kernels: Python's stack takes no deeper recursion in all functions of kernels, and files
# take no deeper values than 100. Sums and products of many kernels are grouped from fewer levels on.
_MOST_LEVELS = 200
_GROUPED = 64
# Key of the value of each point that marks a copy.
_COPIED = "copied"


# --- the form in which a composite kernel keeps points: that of its parts if they agree, else that of the user --------


def _common_kind(kinds):
    """Return the kind of points that all kinds of ``Tags.points`` admit, or None."""
    # of several, that of a kernel of any points says nothing
    found = set(kinds) - {"any"} or {"any"}
    if len(found) > 1 and found <= {"rows or objects", "rows", "objects"}:
        found = found - {"rows or objects"}
    return found.pop() if len(found) == 1 else None


def common_form(points: PointsLike, forms: list[Any]) -> PointsLike:
    """Return the form of points that all parts compute with, or the points, which each part then converts itself."""
    first = forms[0]
    if all(form is first or _kind(form) == _kind(first) for form in forms):
        return next((form for form in forms if form is not points), points)
    return _kept(points)


def _kind(points):
    """Return what distinguishes forms of the same points: types, shapes and types of numbers."""
    if isinstance(points, Objects):
        return list(map(_kind, points))
    return type(points), getattr(points, "shape", None), getattr(points, "dtype", None)


def _kept(points):
    """Return a copy of objects, since the user may change them, or the copy that they are; rows as they are."""
    if not isinstance(points, Objects) or _COPIED in points.values:
        return points
    points = copy.deepcopy(points)
    points.values[_COPIED] = np.ones(len(points), bool)
    return points


def common_table(kernel: Kernel, table: Table, name: str) -> Table:
    """Return a table whose columns have the form that the parts of a kernel which read them compute with."""
    forms = [(_columns(part, table), part.admit(table, name).columns) for part in _readers(kernel)]
    columns = [
        common_form(column, [form[j] for read, form in forms if j in read] or [column])
        for j, column in enumerate(table.columns)
    ]
    return table if all(map(is_, columns, table.columns)) else Table(columns, table.names)


def _readers(kernel):
    """Return the kernels of columns, and other kernels of tables, in a composite kernel."""
    parts = inner_kernels(kernel).values()
    if hasattr(kernel, "columns") or not parts:
        return [kernel]
    # not constants, which take any points, nor kernels of feature vectors
    return [reader for part in parts if part.tags.points == "tables" for reader in _readers(part)]


def _columns(kernel, table):
    """Return the positions of the columns that a kernel reads, all if it does not tell."""
    return [table.position(each) for each in getattr(kernel, "columns", ())] or range(
        len(table.columns)
    )


# --- composite kernels ------------------------------------------------------------------------------------------------


@kernel_class
class Composite(Kernel):
    """Base class of kernels with inner kernels, the fields of the type Kernel."""

    # largest order of conditionally positive definite parts that the composition has too
    _most_order: ClassVar[int] = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            part = getattr(self, field.name)
            if field.type in (Kernel, "Kernel") and not isinstance(part, Kernel):
                raise TypeError(
                    f"{field.name} of {type(self).__name__} must be a Kernel, got {shown(part)}; write "
                    "an object, such as mercer.Gaussian(0.5)."
                )
        if self._levels > _MOST_LEVELS:
            raise ValueError(
                f"kernels must have at most {_MOST_LEVELS} levels of kernels within kernels; write fewer."
            )

    @cached_property
    def _levels(self) -> int:
        """Number of levels of kernels within this kernel."""
        return 1 + max(map(_levels, inner_kernels(self).values()), default=0)

    @cached_property
    def tags(self) -> Tags:
        """A property holds if all inner kernels have it; coordinates are nonnegative if one inner kernel needs it."""
        # kept: each level of a composition would ask all levels below again
        tags = [part.tags for part in inner_kernels(self).values()]
        orders = [tag.order for tag in tags]
        order = None if None in orders else max(orders, default=0)
        common = Tags(
            positive_semidefinite=True if order == 0 else None,
            points=_common_kind([tag.points for tag in tags]),
            sparse=all(tag.sparse for tag in tags),
            differentiable=all(tag.differentiable for tag in tags),
            nonnegative=any(tag.nonnegative for tag in tags),
            symmetric=all(tag.symmetric for tag in tags),
            conditional=order if order and order <= self._most_order else None,
        )
        return replace(common, **self._tagged)

    @cached_property
    def explicit(self) -> bool:
        """Whether all inner kernels have explicit features, which ``multiply`` combines."""
        parts = inner_kernels(self).values()
        return type(self).multiply is not Kernel.multiply and all(part.explicit for part in parts)

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        kind = self.tags.points
        if kind == "tables":
            return common_table(self, as_table(points, name), name)
        if kind == "rows":
            points = as_rows(points, name)
        elif kind not in ("any", "indices"):
            points = Kernel.admit(self, points, name)
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


@kernel_class
class Function(Composite):
    """Base class of kernels f(k1(x, z), ...) of their inner kernels; f takes values of any kind, such as symbols."""

    @abstractmethod
    def _compose(self, value) -> Any:
        """Return f of the values of the inner kernels, ``value(kernel)``."""

    @abstractmethod
    def _derivatives(self, value) -> Any:
        """Return the inner kernels with the derivatives of f in their values."""

    @finite
    def evaluate(self, tile: Tile) -> Array:
        return self._compose(methodcaller("evaluate", tile))

    @finite
    def diagonal(self, points: Points) -> Array:
        return self._compose(methodcaller("diagonal", points))

    def gradient(self, tile: Tile, W: Array) -> Array:
        slopes = self._derivatives(methodcaller("evaluate", tile))
        return _pull_back(slopes, "gradient", tile, W)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        slopes = self._derivatives(methodcaller("diagonal", points))
        return _pull_back(slopes, "diagonal_gradient", points, w)


def _pull_back(slopes, gradient, points, W):
    """Return the sum of the gradients of inner kernels, by the name of their method, times slopes."""
    terms = []
    for part, slope in slopes:
        pulled = getattr(part, gradient)
        # a number multiplies the gradient, which has fewer entries than W
        terms.append(
            slope * pulled(points, W) if isinstance(slope, Real) else pulled(points, W * slope)
        )
    return functools.reduce(add, terms)


@kernel_class
class _Linear(Function):
    """Base class of linear functions of kernels, of which products with vectors are the same functions."""

    _most_order = 2

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        return self._compose(methodcaller("multiply", X, Z, V))


@kernel_class
class _Pair(Function):
    """Base class of kernels f(k1(x, z), k2(x, z))."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = {name: part.tags.points for name, part in inner_kernels(self).items()}
        if _common_kind(kinds.values()) is None:
            raise ValueError(
                f"left and right of {type(self).__name__} must take the same kind of points, got {kinds}; "
                "mercer.on_columns(kernel, columns) makes kernels of a table of those of rows and of objects."
            )


@storable_kernel
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

    positive_semidefinite = True
    explicit = True
    _tagged = {"points": "any", "sparse": True}

    value: float = 1.0

    def __post_init__(self) -> None:
        check_number("value", self.value)
        if self.value < 0:
            raise ValueError(
                f"value = {shown(self.value)} must be at least 0; add a constant of at least 0."
            )

    def admit(self, points: PointsLike, name: str) -> PointsLike:
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

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        return X.full((len(X), 1), self.value) * X.xp.sum(V, axis=0, dtype=X.xp.float64)

    def gradient(self, tile: Tile, W: Array) -> Array:
        return tile.X.zeros()

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return points.zeros()


@storable_kernel
class Sum(_Linear, _Pair):
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

    def _compose(self, value):
        return value(self.left) + value(self.right)

    def _derivatives(self, value):
        return (self.left, 1.0), (self.right, 1.0)

    @finite
    def evaluate(self, tile: Tile) -> Array:
        # one check and one array for a sum of many terms
        values = (part.evaluate(tile) for part in _terms(self))
        total = next(values) + next(values)
        for each in values:
            if each.dtype == total.dtype:
                total += each
            else:
                total = total + each
        return total


@storable_kernel
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

    def _compose(self, value):
        return value(self.left) * value(self.right)

    def _derivatives(self, value):
        return (self.left, value(self.right)), (self.right, value(self.left))


@storable_kernel
class Scaled(_Linear):
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

    kernel: Kernel
    factor: float = 1.0

    def __repr__(self) -> str:
        return f"{float(self.factor)!r} * {_within(self.kernel, Sum, Product, Scaled)}"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("factor", self.factor)

    def _compose(self, value):
        return self.factor * value(self.kernel)

    def _derivatives(self, value):
        return ((self.kernel, self.factor),)


@storable_kernel
class Power(Function):
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

    kernel: Kernel
    degree: int = 2

    def __repr__(self) -> str:
        return f"{_within(self.kernel, Sum, Product, Scaled, Power)} ** {self.degree}"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("degree", self.degree, most=MOST_DEGREE)

    def _compose(self, value):
        return value(self.kernel) ** self.degree

    def _derivatives(self, value):
        return ((self.kernel, self.degree * value(self.kernel) ** (self.degree - 1)),)


@storable_kernel
class Exp(Function):
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

    kernel: Kernel

    def _compose(self, value):
        values = value(self.kernel)
        return namespace_of(values).exp(values)

    def _derivatives(self, value):
        # slopes are values of this kernel, which must not overflow
        return ((self.kernel, value(self)),)


@kernel_class
class Transposed(Composite):
    """k(z, x) for a function k(x, z) that is not known to be symmetric."""

    kernel: Kernel

    def evaluate(self, tile: Tile) -> Array:
        return self.kernel.evaluate(Tile(tile.Z, tile.X)).T

    def diagonal(self, points: Points) -> Array:
        return self.kernel.diagonal(points)


def _add(left, right):
    """Return a sum of kernels, or a kernel plus a number of at least 0."""
    if _is_number(right):
        check_number("value", right)
        return left if right == 0 else _joined(Sum, left, Constant(float(right)))
    return _joined(Sum, left, right)


def _multiply(left, right):
    """Return a product of kernels, or a kernel times a positive number."""
    if _is_number(right):
        check_number("factor", right)
        return Scaled(left, float(right))
    return _joined(Product, left, right)


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _joined(kind, left, right):
    """Return the sum or product of two kernels; one more term of a long one joins its last terms."""
    if isinstance(right, (str, type)):
        raise TypeError(
            f"kernels are combined with kernels and numbers, got {getattr(right, '__name__', right)!r}; write "
            "objects, as in mercer.Gaussian(0.5) + mercer.Linear()."
        )
    if not isinstance(right, Kernel):
        # Python asks other objects for the operator
        return NotImplemented
    if (
        isinstance(left, kind)
        and _levels(left) >= _GROUPED
        and _levels(left.left) > _levels(left.right)
    ):
        return kind(left.left, _joined(kind, left.right, right))
    return kind(left, right)


def _levels(kernel):
    """Return the number of levels of kernels within a kernel."""
    return getattr(kernel, "_levels", 0)


def _refuse(*_kernels):
    """Raise a TypeError for an operator that kernels do not have."""
    raise TypeError(
        "a difference or quotient of kernels need not be a kernel; combine them by +, * and **, and by positive "
        "factors, as in 0.5 * kernel."
    )


# the operators of Kernel; they are set here because their results are subclasses of it
Kernel.__add__ = Kernel.__radd__ = _add
Kernel.__mul__ = Kernel.__rmul__ = _multiply
for _operator in ("sub", "rsub", "neg", "truediv", "rtruediv"):
    setattr(Kernel, f"__{_operator}__", _refuse)
Kernel.__pow__ = lambda kernel, degree: Power(kernel, degree)
