"""Kernel, the base class of all kernels: the public verbs, the protocol of subclasses, checks and parameters."""

from __future__ import annotations

import functools
import inspect
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

import numpy as np

from mercer._common import AnyFunction, Array, ArrayLike, PointsLike, T, array_record, record, shown
from mercer._compute import html
from mercer._compute.devices import Place, place_of, refuse_mixed
from mercer._compute.memory import cut
from mercer._compute.objects import Objects, as_objects, holds_rows, plain
from mercer._compute.points import (
    Points,
    as_rows,
    common_dtype,
    count_points,
    evenly_spaced,
    join_points,
    refuse_overflow,
    take_points,
)
from mercer._compute.profile import field_names, namespace_of
from mercer._compute.register import storable
from mercer._compute.tile import Tile
from mercer._elsewhere import explained, refuse_attribute, refuse_call

# Largest degree of a polynomial or power: float32 holds all smaller whole numbers.
MOST_DEGREE = 2**24
# Number of derivatives that a profile states, of orders 0 to 4.
ORDERS = 5
# Points whose values with each other give k(x, x): so many times the values, and a share of the calls.
_TOGETHER = 8
# Members that state the values of a kernel.
_FORMULA = frozenset({"profile", "term", "evaluate", "diagonal", "multiply"})
_DECORATOR = "@dataclass(frozen=True, eq=False)"
# Arguments of the members of the protocol, after self.
PROTOCOL = {
    "evaluate": ("tile",),
    "diagonal": ("points",),
    "gradient": ("tile", "W"),
    "diagonal_gradient": ("points", "w"),
}


@record
class Tags:
    """Properties of a kernel that are known without data.

    Attributes
    ----------
    positive_semidefinite : bool or None
        True if proved for all points, False if refuted, None if it depends on the points.
    points : {"rows", "objects", "rows or objects", "tables", "indices", "any"}
        Rows of numbers, a list of any objects, rows if given an array of numbers and objects otherwise, tables of
        columns, row indices of a given matrix, or any of these.
    sparse : bool
        Whether the rows may be a sparse matrix.
    differentiable : bool
        Whether the kernel has gradients.
    nonnegative : bool
        Whether all coordinates of a row must be at least 0.
    symmetric : bool
        Whether k(x, z) = k(z, x) by its formula; a function of the user may differ.
    conditional : int or None
        Proved order m of a conditionally positive definite kernel: c'Kc >= 0 for all c with sum_i c_i p(x_i) = 0 for
        all polynomials p of degree below m.
    """

    positive_semidefinite: bool | None = None
    points: str | None = "rows"
    sparse: bool = False
    differentiable: bool = True
    nonnegative: bool = False
    symmetric: bool = True
    conditional: int | None = None

    @property
    def order(self) -> int | None:
        """0 if proved positive semidefinite, or the order of a conditionally positive definite kernel, or None."""
        return 0 if self.positive_semidefinite else self.conditional


@dataclass_transform(eq_default=False, frozen_default=True)
def kernel_class(cls: type[T]) -> type[T]:
    """Make an immutable dataclass of a class of kernels, which ``Kernel`` compares by content."""
    made = array_record(cls)
    if any(each.default is MISSING for each in fields(made)):
        # a call without a parameter that has no default
        made.__init__ = explained(made.__init__)
    return made


@dataclass_transform(eq_default=False, frozen_default=True)
def storable_kernel(cls: type[T]) -> type[T]:
    """Make a class of kernels as ``kernel_class`` does, and allow it in model files, under its name."""
    return storable(kernel_class(cls))


class ByContent:
    """Mixin of immutable records that are equal if their types and the contents of their fields are."""

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self):
        # of arrays that are read-only, computed once
        return hash((type(self), self._key()))

    def _key(self):
        return tuple(_hashable(getattr(self, name)) for name in field_names(type(self)))

    def __mercer_move__(self, place: Place | None) -> Self:
        # such records put their parameters where the points are
        return self

    def __getstate__(self) -> dict[str, Any]:
        # properties are found again: equal kernels have equal pickles and hashes
        own = type(self)
        found = vars(self).items()
        return {
            name: value
            for name, value in found
            if not isinstance(getattr(own, name, None), cached_property)
        }


@kernel_class
class Kernel(ByContent):
    """Base class of kernels: immutable dataclasses of numbers, arrays and other kernels.

    Users call a kernel, ``kernel(X, Z)``, and ``diag``, ``vjp``, ``resolve``, ``tags`` and ``get_params``; they combine
    kernels by ``+``, ``*`` and ``**``. Kernels are equal if their types and the contents of their fields are equal.

    Attributes
    ----------
    rules : dict of str to function, class attribute
        Parameters that may be a rule such as ``"scale"``, with ``function(value, X, sample_weight)``, which returns the
        number; for example ``{"gamma": bandwidth.gamma}``.
    positive_semidefinite : bool or None, class attribute
        True if proved for all points and parameters; ``tags`` tell it. None, unproved, is the default: support vector
        machines and kernel PCA then look for negative eigenvalues on the training points.
    scalar : {"radial", "dot"} or None, class attribute
        "radial" if k(x, z) = profile(|x - z|^2), "dot" if k(x, z) = profile(<x, z>); blocks then run in fused loops.
    explicit : bool
        Whether the kernel computes features with k(x, z) = <phi(x), phi(z)>; ``multiply`` then uses them.

    Notes
    -----
    Subclasses state this protocol; ``Radial``, ``Dot`` and ``Coordinatewise`` derive it from one formula.

    - ``evaluate(tile)`` and ``diagonal(points)`` return values, ``gradient(tile, W)`` and
      ``diagonal_gradient(points, w)`` return gradients.
    - ``multiply(X, Z, V)`` returns K(X, Z) @ V from the features of an ``explicit`` kernel.
    - ``admit(points, name)`` validates points; ``unresolved()`` finds a parameter that still needs data.
    - ``multiplications(d)`` limits the work of searches, such as that of ``compress``.

    ``points`` (and ``tile.X``, ``tile.Z``) are ``Points``: ``points.container`` is the array or list that ``admit``
    returned, ``len(points)`` their number, ``points.xp`` the array namespace, and ``points.memo(key, compute)`` calls a
    function once. A tile also has ``tile.products`` <x, z> and ``tile.sqdist`` |x - z|^2, both (n, m).

    Examples
    --------
    >>> import mercer as mc
    >>> kernel = 2 * mc.Gaussian(0.5) + mc.Linear()
    >>> isinstance(kernel, mc.Kernel), kernel == 2 * mc.Gaussian(0.5) + mc.Linear()
    (True, True)
    >>> kernel.get_params()["left__kernel__gamma"]
    0.5
    """

    __array_ufunc__: ClassVar[None] = None
    rules: ClassVar[dict[str, Callable[..., float]]] = {}
    scalar: ClassVar[str | None] = None
    explicit: ClassVar[bool] = False
    positive_semidefinite: ClassVar[bool | None] = None
    # what to do where values overflow, for errors
    _overflow_remedy: ClassVar[str] = "scale X (StandardScaler) first"
    # fields of ``tags`` that differ from those of a kernel on dense rows
    _tagged: ClassVar[dict[str, Any]] = {}

    if TYPE_CHECKING:
        # the module of the algebra defines the operators, which return kernels of its classes
        def __add__(self, other: Kernel | float) -> Kernel: ...
        def __radd__(self, other: Kernel | float) -> Kernel: ...
        def __mul__(self, other: Kernel | float) -> Kernel: ...
        def __rmul__(self, other: Kernel | float) -> Kernel: ...
        def __pow__(self, exponent: int) -> Kernel: ...

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_class(cls)
        # compiled code runs the profile alone, and features are those of the base
        if cls.scalar and _place(cls, PROTOCOL.keys()) < _place(cls, {"profile", "scalar"}):
            cls.scalar = None
            cls.explicit = False
        if "__post_init__" in vars(cls):
            cls.__post_init__ = _after_numbers(cls.__post_init__)

    def __new__(cls, *values: Any, **named: Any) -> Self:
        check_use(cls, values, named)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        # sums and products with scalars of NumPy are in their type, which may be narrow, or wider than that of the rows
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                number = float(value) if isinstance(value, np.floating) else value.item()
                object.__setattr__(self, name, number)

    def __getattr__(self, name: str) -> Any:
        refuse_attribute(self, name)

    # --- for users --------------------------------------------------------------------------------------------------

    def __call__(self, X: PointsLike, Z: PointsLike | None = None) -> Array:
        """Return the kernel values k(x_i, z_j).

        Parameters
        ----------
        X : points (n)
        Z : points (m), optional
            X by default; the values are then exactly symmetric, with an exact diagonal.

        Returns
        -------
        array (n, m)
            float32 if all points are float32, else float64.
        """
        X, Z = admit_pair(self, X, X if Z is None else Z)
        return self.evaluate(Tile(X, Z, 0 if X is Z else None))

    def diag(self, X: PointsLike) -> Array:
        """Return k(x, x) for every point.

        Parameters
        ----------
        X : points (n)

        Returns
        -------
        array (n,)
        """
        return self.diagonal(admit_pair(self, X, X)[0])

    def vjp(self, X: PointsLike, Z: PointsLike, W: ArrayLike) -> Array:
        """Return the gradient of sum_ij W_ij k(x_i, z_j) in every x_i, computed in float64.

        Parameters
        ----------
        X : rows (n, d)
        Z : rows (m, d)
        W : array (n, m)

        Returns
        -------
        array (n, d)
            In the type of X. A pair at a kink of k (Matern 1/2 at x = z) contributes 0.

        Raises
        ------
        TypeError
            If the kernel has no gradient.
        ValueError
            If the gradient overflows.
        """
        require_gradient(self)
        X, Z = admit_pair(self, X, Z)
        xp = X.xp
        wide = [Points(as_rows(points.container, dtype=xp.float64)) for points in (X, Z)]
        W = xp.astype(xp.asarray(as_rows(W, "W"), device=X.device), xp.float64, copy=False)
        if tuple(W.shape) != (len(X), len(Z)):
            raise ValueError(
                f"W must have shape {(len(X), len(Z))}, one weight per pair, got {tuple(W.shape)}."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = xp.astype(self.gradient(Tile(*wide), W), X.container.dtype, copy=False)
        return refuse_overflow(gradient, "W", W)

    def resolve(self, X: PointsLike, sample_weight: ArrayLike | None = None) -> Self:
        """Return the kernel with each rule, such as ``gamma="scale"``, replaced by its number on X.

        Parameters
        ----------
        X : points (n)
        sample_weight : array (n,), optional

        Returns
        -------
        Kernel
            ``self`` if no parameter is a rule.
        """
        if self.unresolved() is None:
            return self
        return replace(self, **self._resolved(X, sample_weight))

    def _resolved(self, X, sample_weight):
        """Return the fields that points determine, by name."""
        values = {
            name: part.resolve(X, sample_weight) for name, part in inner_kernels(self).items()
        }
        return values | {
            name: rule(getattr(self, name), X, sample_weight) for name, rule in self.rules.items()
        }

    @cached_property
    def tags(self) -> Tags:
        """Properties known without data, a ``Tags``."""
        known = {"differentiable": type(self).gradient is not Kernel.gradient} | self._tagged
        return Tags(self.positive_semidefinite, **known)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the fields by name; with ``deep`` also the fields of inner kernels, as ``left__gamma``.

        Parameters
        ----------
        deep : bool

        Returns
        -------
        dict
        """
        params = {name: getattr(self, name) for name in field_names(type(self))}
        if deep:
            for name, part in inner_kernels(self).items():
                params |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return params

    def __sklearn_clone__(self) -> Self:
        # a value: nobody changes it
        return self

    # --- protocol of subclasses -------------------------------------------------------------------------------------

    def evaluate(self, tile: Tile) -> Array:
        """Return the values k(x_i, z_j) of a tile.

        Parameters
        ----------
        tile : Tile
            n points ``tile.X`` against m points ``tile.Z``.

        Returns
        -------
        array (n, m)
            In the type of the points, with an overflow refused by a ValueError.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define evaluate(tile), its values on a tile; a kernel with a profile alone "
            "must subclass mercer.Radial or mercer.Dot."
        )

    def diagonal(self, points: Points) -> Array:
        """Return k(x_i, x_i).

        Parameters
        ----------
        points : Points (n)

        Returns
        -------
        array (n,)
        """
        # subclasses know faster formulas
        few = [points.take(part) for part in cut(len(points), _TOGETHER)]
        values = [self.evaluate(Tile(own, own)) for own in few]
        return join_points([namespace_of(each).linalg.diagonal(each) for each in values])

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        """Return K(X, Z) @ V from features of the points, without kernel values; for ``explicit`` kernels.

        Parameters
        ----------
        X : Points (n)
        Z : Points (m)
        V : array (m, p)

        Returns
        -------
        array (n, p)
        """
        raise NotImplementedError(f"{type(self).__name__} has no explicit features.")

    def gradient(self, tile: Tile, W: Array) -> Array:
        """Return the gradient of sum_ij W_ij k(x_i, z_j) in every x_i, with the z_j fixed.

        Parameters
        ----------
        tile : Tile
            n float64 rows ``tile.X`` against m rows ``tile.Z``.
        W : float64 array (n, m)

        Returns
        -------
        array (n, d)
            Row i is sum_j W_ij dk(x_i, z_j)/dx_i; pairs at a kink contribute 0.

        Raises
        ------
        TypeError
            If the kernel has no gradient.
        """
        raise TypeError(f"{type(self).__name__} has no gradient in its points.")

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        """Return the gradient of sum_i w_i k(x_i, x_i) in every x_i.

        Parameters
        ----------
        points : Points (n)
            Float64 rows.
        w : float64 array (n,)

        Returns
        -------
        array (n, d)
            Row i is w_i dk(x_i, x_i)/dx_i with both arguments moved.

        Raises
        ------
        TypeError
            If the kernel has no gradient.
        """
        raise TypeError(f"{type(self).__name__} has no gradient in its points.")

    def multiplications(self, d: int) -> int:
        """Return how many multiplications of a matrix product take about as long as a value, or as its gradient.

        Parameters
        ----------
        d : int
            Columns of the rows.

        Returns
        -------
        int
            By default those of its inner kernels, or d, as for an inner product.
        """
        return sum(part.multiplications(d) for part in inner_kernels(self).values()) or d

    def admit(self, points: PointsLike, name: str) -> Any:
        """Return validated points, by default those of the kind ``tags.points``: finite rows of numbers, or objects.

        Parameters
        ----------
        points : container of n points
        name : str
            Name of the points in errors.

        Returns
        -------
        container of n points
            For rows a float32 or float64 array (n, d), or a CSR matrix; for objects a list.

        Raises
        ------
        ValueError, TypeError
            If the kernel does not take the points.
        """
        kind = self.tags.points
        if kind == "objects" or (kind == "rows or objects" and not holds_rows(points)):
            return as_objects(points, name)
        if kind == "rows or objects" and len(points.shape) == 1:
            # numbers, which are separate objects
            return points
        points = as_rows(points, name)
        if not self.tags.sparse and hasattr(points, "tocsr"):
            raise TypeError(
                f"{type(self).__name__} does not take sparse rows; pass {name}.toarray(), or use a kernel of inner "
                "products or Euclidean distances (Linear, Polynomial, Gaussian, ...)."
            )
        return points

    def unresolved(self) -> tuple[str, Any] | None:
        """Return the first parameter that ``resolve`` replaces: its path, such as "left.gamma", and its value; or None.

        Returns
        -------
        tuple of str and object, or None
        """
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, str):
                return name, value
            if isinstance(value, Kernel) and (inner := value.unresolved()):
                return f"{name}.{inner[0]}", inner[1]
        return None

    def _repr_html_(self):
        tags = self.tags
        rule = self.unresolved()
        proved = {True: "yes", False: "no", None: "not proved"}[tags.positive_semidefinite]
        facts = [
            *self.get_params(deep=False).items(),
            ("points", tags.points),
            ("positive semidefinite", proved),
        ]
        return html.table(self, facts if rule is None else [*facts, ("needs data for", rule[0])])


def _after_numbers(check):
    """Return the ``__post_init__`` of a subclass, which gets the numbers of Python in place of scalars of NumPy."""

    @functools.wraps(check)
    def checked(kernel: Kernel, *given: Any) -> None:
        Kernel.__post_init__(kernel)
        check(kernel, *given)

    return checked


def size_of_values(kernel: Kernel, points: PointsLike, diagonal: Array) -> float:
    """Return the largest |k(x, x)|, or |k(x, x_0)| of a kernel that is not proved to have smaller ones."""
    largest = float(np.abs(diagonal).max())
    if kernel.tags.order == 0:
        return largest
    return max(largest, float(np.abs(kernel(take_points(points, [0]), points)).max()))


# --- checks of new classes: what one lacks is named where it is defined, or where it is first used --------------------


def check_class(new: type) -> None:
    """Raise a TypeError for a class that defines what ``Kernel`` or the dataclass defines, or has a wrong member."""
    name = new.__name__
    own = vars(new)
    if "__call__" in own:
        raise TypeError(
            f"{name} must not define __call__, which validates points; define evaluate(tile), or profile in a subclass "
            "of Radial or Dot, or give your function of two blocks to mercer.FunctionKernel."
        )
    if "__init__" in own:
        raise TypeError(
            f"{name} must not define __init__; declare parameters as fields of a {_DECORATOR} class."
        )
    for member, arguments in PROTOCOL.items():
        if inspect.isfunction(own.get(member)) and not _takes(own[member], "self", *arguments):
            blocks = (
                "; tile.X and tile.Z are the two blocks of points" if "tile" in arguments else ""
            )
            raise TypeError(
                f"{name}.{member} takes {_listed(own[member])}, but is called as {member}({', '.join(arguments)}); "
                f"define {member}(self, {', '.join(arguments)}){blocks}."
            )
    if "profile" in own and getattr(new, "scalar", None) is not None:
        _check_profile(f"{name}.profile", own["profile"])


def _check_profile(name, profile):
    if not isinstance(profile, staticmethod):
        raise TypeError(
            f"{name} must be a static method, profile(xp, s, *parameters, order=0); add @staticmethod."
        )
    signature = inspect.signature(profile.__func__)
    try:
        signature.bind_partial(order=0)
    except TypeError:
        raise TypeError(
            f"{name} must take order=0 as its last argument, and return the derivative of that order at s, up to 4; "
            f"it takes {', '.join(signature.parameters)}."
        ) from None


def check_use(kernel_class: type, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise a TypeError where a class cannot be used, or where a value is given for a field that lacks a type."""
    _check_complete(kernel_class)
    fields = _fields(kernel_class)
    if len(values) > len(fields) or any(name not in fields for name in named):
        hint = _hint(kernel_class)
        if hint:
            raise TypeError(
                f"{kernel_class.__name__} has the parameters ({', '.join(fields)}); {hint}."
            )
        if not fields and values:
            raise TypeError(
                f"{kernel_class.__name__} has no parameters; values are kernel(X, Z) of an object; "
                "kernels with parameters are mercer.Gaussian(0.1), ..."
            )
        refuse_call(kernel_class, values, named)


@functools.lru_cache(maxsize=256)
def _check_complete(kernel_class):
    """Raise a TypeError for a class with parameters that is not itself a dataclass, or has no or a wrong profile."""
    name = kernel_class.__name__
    hints = vars(kernel_class).get("__annotations__", {})
    parameters = [field for field, hint in hints.items() if "ClassVar" not in str(hint)]
    if parameters and "__dataclass_fields__" not in vars(kernel_class):
        raise TypeError(
            f"{name} declares {', '.join(parameters)}, but is not a dataclass; write {_DECORATOR} above the class."
        )
    for member in ("term", "profile"):
        if getattr(getattr(kernel_class, member, None), "__isabstractmethod__", False):
            raise TypeError(
                f"{name} must define {member}, a static method with the formula of the kernel."
            )
    if getattr(kernel_class, "scalar", None) is None or not inspect.isfunction(
        getattr(kernel_class, "profile", None)
    ):
        return
    fields = _fields(kernel_class)
    if not _takes(kernel_class.profile, "xp", "s", *fields, order=0):
        hint = _hint(kernel_class)
        expected = ", ".join(("xp", "s", *fields))
        raise TypeError(
            f"{name}.profile takes {_listed(kernel_class.profile)}, but must take {expected} and order=0: the "
            f"functions, the argument, one parameter per field, the order{hint and '; ' + hint}."
        )


def _fields(kernel_class):
    """Return the names of the parameters of a dataclass, in order."""
    return getattr(kernel_class, "__match_args__", ())


def _hint(kernel_class):
    """Return how to make fields of the numbers that a class defines without a type; empty if it has none."""
    own = vars(kernel_class)
    bare = [
        f"{name}: {type(value).__name__} = {value!r}"
        for name, value in own.items()
        if type(value) in (int, float)
        and not name.startswith("_")
        and name not in own.get("__annotations__", {})
    ]
    return f"a field needs a type: write {', '.join(bare)}" if bare else ""


def _takes(function, *values, **named):
    """Return whether a function can be called with some arguments."""
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError:
        return False
    return True


def _listed(function):
    return ", ".join(inspect.signature(function).parameters)


# --- kernels of one function of a scalar ------------------------------------------------------------------------------


@kernel_class
class Profiled(Kernel):
    """Base class of kernels that are one function, ``profile``, of a number for each pair of rows."""

    @staticmethod
    @abstractmethod
    def profile(xp: Any, s: Array, *params: Any, **order: Any) -> Array:
        """Return the order-th derivative at s, with the functions of ``xp``: for arrays and in compiled code."""

    _tagged = {"sparse": True}


def inner_kernels(kernel: Kernel) -> dict[str, Any]:
    """Return the fields of a kernel that are kernels, as a dict."""
    return {
        name: value
        for name in field_names(type(kernel))
        if isinstance(value := getattr(kernel, name), Kernel)
    }


def admit_pair(kernel: Kernel, X: PointsLike, Z: PointsLike) -> tuple[Points, Points]:
    """Return two validated containers as ``Points`` of one floating type, one object for both if X is Z."""
    require_resolved(kernel)
    if X is Z:
        points = Points(kernel.admit(X, "X"))
        return points, points
    X = kernel.admit(X, "X")
    return matched(kernel, X, Points(kernel.admit(Z, "Z")))


def validated(kernel: Kernel, X: PointsLike) -> PointsLike:
    """Return points that a model has validated in the form of a kernel, most of which take finite rows as they are."""
    plain = type(X) is np.ndarray and type(kernel).admit is Kernel.admit
    return X if plain else kernel.admit(X, "X")


def matched(kernel: Kernel, X: PointsLike, Z: Points) -> tuple[Points, Points]:
    """Return a validated container X and ``Points`` Z as ``Points`` of one kind and type, for any kernel."""
    known = Z.container
    if (
        type(X) is type(known) is np.ndarray
        and X.dtype == known.dtype
        and X.shape[1:] == known.shape[1:]
    ):
        return Points(X), Z
    X = _alike(kernel, X, known)
    refuse_mixed([place_of(X), place_of(known)])
    if (
        len(getattr(X, "shape", ())) != 2
        or len(getattr(known, "shape", ())) != 2
        or kernel.tags.points == "indices"
    ):
        return Points(X), Z
    if X.shape[1] != known.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but Z has {known.shape[1]} features; they must be equal."
        )
    dtype = common_dtype(X, known)
    if known.dtype != dtype:
        Z = Z.memo(dtype, lambda: Points(as_rows(Z.container, "Z", dtype)))
    return Points(X if X.dtype == dtype else as_rows(X, "X", dtype)), Z


def _alike(kernel, X, Z):
    """Return rows as objects if Z are objects, and objects as rows if Z are rows."""
    if kernel.tags.points != "rows or objects" or isinstance(X, Objects) == isinstance(Z, Objects):
        return X
    return as_objects(X, "X") if isinstance(Z, Objects) else as_rows(X, "X")


def require_resolved(kernel: Kernel) -> None:
    """Raise a ValueError if a parameter is a rule."""
    if rule := kernel.unresolved():
        raise ValueError(
            f"{type(kernel).__name__} is not resolved, {rule[0]} = {shown(rule[1])}; "
            "call kernel.resolve(X) with the training points first, as estimators do."
        )


def require_gradient(
    kernel: Kernel,
    caller: str = "this operation",
    remedy: str = "use a method that needs kernel values only",
) -> None:
    """Raise a TypeError that names the caller and a remedy unless the kernel has a gradient in its points."""
    if not kernel.tags.differentiable:
        raise TypeError(
            f"{caller} needs a gradient, but {shown(kernel)} has no gradient in its points; {remedy}."
        )


def require_rows(kernel: Any) -> None:
    """Raise a ValueError unless the inner kernel of a kernel is one on rows."""
    if kernel.kernel.tags.points != "rows":
        raise ValueError(
            f"kernel of {type(kernel).__name__} must be a kernel on rows of numbers, got {shown(kernel.kernel)}."
        )


def require_kernel(kernel: Kernel) -> None:
    """Raise a TypeError unless ``kernel`` is a Kernel; the message tells what to use for names and functions."""
    if not isinstance(kernel, Kernel):
        shape = getattr(kernel, "shape", None)
        found = shown(kernel) if shape is None else f"an array of shape {tuple(shape)}"
        raise TypeError(
            f"kernel must be a Kernel, such as mercer.Gaussian(0.5), got {found} of type {type(kernel).__name__}; it "
            'stands before points; names such as "rbf" are for estimators and tests; wrap a function of two blocks in '
            "mercer.FunctionKernel, and a matrix K of kernel values in mercer.Precomputed(K)."
        )


def refuse_infinite(kernel: Kernel, values: Array) -> Array:
    """Return the values of a kernel, or raise a ValueError if one of them is not finite."""
    xp = namespace_of(values)
    if not (math.isfinite(float(xp.max(values))) and math.isfinite(float(xp.min(values)))):
        remedy = kernel._overflow_remedy  # noqa: SLF001
        raise ValueError(f"{shown(kernel)} overflows {values.dtype}; {remedy}.")
    return values


def _place(cls, names):
    """Return the place, among a class and its bases, of the first one that states a member of some names."""
    return next(i for i, each in enumerate(cls.__mro__) if names & vars(each).keys())


def finite(method: Callable[[Any, T], Array]) -> Callable[[Any, T], Array]:
    """Make a method that computes values of a kernel refuse those that are not finite, in place of warnings."""

    @functools.wraps(method)
    def checked(kernel: Kernel, points: T) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_infinite(kernel, method(kernel, points))

    return checked


def brief(array: Array) -> str:
    """Return the text of an array in the repr of a kernel: up to eight numbers, otherwise only the shape."""
    return repr(array) if np.size(array) <= 8 else f"<array of shape {np.shape(array)}>"


def _hashable(value):
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if hasattr(value, "tocsr"):
        return value.shape, *map(_hashable, (value.data, value.indices, value.indptr))
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(item) for item in value)
    return value


def rule_of(rules: Any, kernel: Kernel) -> AnyFunction:
    """Return the rule that a function of ``singledispatch`` has for a kernel, the default one for another formula."""
    # a subclass with another formula is another kernel
    kinds = (
        kind
        for kind in type(kernel).__mro__
        if kind in rules.registry or not _FORMULA.isdisjoint(vars(kind))
    )
    return rules.registry.get(next(kinds), rules.registry[object])


def with_params(kernel: Kernel, params: dict[str, Any]) -> Kernel:
    """Return a kernel with some parameters replaced; ``left__gamma`` names a parameter of an inner kernel."""
    groups = {}
    for path, value in params.items():
        name, *rest = path.split("__", 1)
        groups.setdefault(name, {})[*rest] = value
    values = kernel.get_params(deep=False)
    for name, group in groups.items():
        value = group.pop((), values.get(name))
        if name not in values or (group and not isinstance(value, Kernel)):
            text = f"Invalid parameter {shown(name)} for kernel {shown(kernel)}. "
            try:
                type(kernel)(**inner_kernels(kernel) | {name: value})
            except TypeError as error:
                text = f"{text}{error} "
            raise ValueError(f"{text}Valid parameters are: {sorted(kernel.get_params())}.")
        values[name] = (
            with_params(value, {rest: inner for (rest,), inner in group.items()})
            if group
            else value
        )
    return replace(kernel, **values)


def refuse_conditional(kernel: Kernel, name: str, remedy: str) -> None:
    """Raise for a conditionally positive definite kernel, whose features have no squared lengths of at least 0."""
    if kernel.tags.order:
        raise ValueError(
            f"{name} need a positive semidefinite kernel, but {shown(kernel)} is conditionally positive definite of "
            f"order {kernel.tags.order}: features of few points span no space where lengths are at least 0; {remedy}."
        )


def check_pairwise(kernel: Kernel, points: PointsLike) -> None:
    """Raise a ValueError unless values on a sample are symmetric and do not depend on the other points of a block.

    Only kernels with a function of the user, or not proved positive semidefinite, are tried: others have a formula.
    """
    tags = kernel.tags
    n = count_points(points)
    if (
        tags.points == "indices"
        or n < 2
        or (tags.positive_semidefinite and not has_function(kernel))
    ):
        return
    rows = evenly_spaced(n, 12)
    # plain copies share no values of the whole block
    few = plain(take_points(points, rows))
    K = np.asarray(kernel(few))
    size = float(np.abs(K).max())
    # a part in float32 rounds to float32, although a function may return float64
    narrow = "float32" in str(getattr(few, "dtype", ""))
    tolerance = float(np.sqrt(np.finfo(np.float32 if narrow else K.dtype).eps)) * size
    cut = max(1, len(rows) // 3)
    part = np.asarray(kernel(take_points(few, slice(0, cut)), take_points(few, slice(cut, None))))
    difference = np.abs(part - K[:cut, cut:])
    i, j = np.unravel_index(np.argmax(difference), difference.shape)
    if difference[i, j] > tolerance:
        raise ValueError(
            f"k(x, z) must depend on x and z only: for rows x = {rows[i]} and z = {rows[cut + j]} it is "
            f"{K[i, cut + j]:.6g} in a block of {len(rows)} x {len(rows)} points and {part[i, j]:.6g} in one of "
            f"{part.shape[0]} x {part.shape[1]}. Compute statistics of the data, such as means, before, not inside the "
            "function."
        )
    i, j = np.unravel_index(np.argmax(np.abs(K - K.T)), K.shape)
    if abs(K[i, j] - K[j, i]) > tolerance:
        raise ValueError(
            f"the kernel must be symmetric: k(x, z) = {K[i, j]:.6g} and k(z, x) = {K[j, i]:.6g} for rows x = {rows[i]} "
            f"and z = {rows[j]}; symmetrise it, for example (k(x, z) + k(z, x)) / 2."
        )


def has_function(kernel: Kernel) -> bool:
    """Return whether a field of a kernel, or of its inner kernels, is a function."""
    for name in field_names(type(kernel)):
        value = getattr(kernel, name)
        if has_function(value) if isinstance(value, Kernel) else callable(value):
            return True
    return False
