"""Kernel: an immutable value that states k(x, z), its diagonal and its gradient, and combines with other kernels."""

import math
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from mercer._compute.namespace import namespace_of
from mercer._compute.points import Points, as_rows, common_dtype
from mercer._compute.tile import Tile

# Numbers of an array that the repr of a kernel shows.
_SHOWN = 8


@dataclass(frozen=True)
class Tags:
    """What is known of a kernel without looking at data.

    Attributes
    ----------
    positive_semidefinite : bool or None
        True when proved for all points, False when refuted, None when it depends.
    points : {"rows", "objects", "indices"}
        Rows of numbers, any sequence, or row indices of a given matrix.
    sparse : bool
        Whether rows may come as a sparse matrix.
    differentiable : bool
        Whether ``vjp`` is there.
    nonnegative : bool
        Whether no coordinate of a row may be negative.
    """

    positive_semidefinite: bool | None = True
    points: str = "rows"
    sparse: bool = False
    differentiable: bool = True
    nonnegative: bool = False


@dataclass(frozen=True, eq=False)
class Kernel:
    """Base of all kernels; subclasses are frozen dataclasses of numbers, arrays and other kernels.

    A subclass states four things of a tile (rows of X against rows of Z), and everything else follows:
    ``evaluate(tile)`` the values, ``diagonal(points)`` the values k(x, x), ``gradient(tile, W)`` and
    ``diagonal_gradient(points, w)`` the gradients in x of sum_ij W_ij k(x_i, z_j) and of sum_i w_i k(x_i, x_i).

    Kernels are equal when their type and the content of their fields are equal, and hash accordingly.

    Examples
    --------
    >>> import mercer as mc
    >>> kernel = 2 * mc.Gaussian(0.5) + mc.Linear()
    >>> isinstance(kernel, mc.Kernel), kernel == 2 * mc.Gaussian(0.5) + mc.Linear()
    (True, True)
    >>> kernel.get_params()["left__kernel__gamma"]
    0.5
    """

    __array_ufunc__ = None
    # parameters that may be a bandwidth rule, with the function that turns rule and data into a number
    rules: ClassVar = {}
    # "radial" or "dot" where the kernel is a profile of that one scalar
    scalar: ClassVar = None

    # --- evaluation ------------------------------------------------------------------------------------------------

    def __call__(self, X, Z=None):
        """Return the block of kernel values.

        Parameters
        ----------
        X : points (n)
        Z : points (m), optional
            X itself when left out: the block is then exactly symmetric with an exact diagonal.

        Returns
        -------
        array (n, m)
            float32 when all points are float32, else float64.
        """
        X, Z = admit_pair(self, X, X if Z is None else Z)
        return self.evaluate(Tile(X, Z, 0 if X is Z else None))

    def diag(self, X):
        """Return k(x, x) for every point.

        Parameters
        ----------
        X : points (n)

        Returns
        -------
        array (n,)
        """
        return self.diagonal(admit_pair(self, X, X)[0])

    def vjp(self, X, Z, W):
        """Return the gradient of sum_ij W_ij k(x_i, z_j) in every x_i, computed in float64.

        Parameters
        ----------
        X : rows (n, d)
        Z : rows (m, d)
        W : array (n, m)

        Returns
        -------
        array (n, d)
            In the type of X. Where k has a kink (Matern 1/2 at x = z) the pair contributes 0.

        Raises
        ------
        TypeError
            When the kernel has no gradient.
        """
        require_gradient(self)
        X, Z = admit_pair(self, X, Z)
        xp = X.xp
        wide = [Points(as_rows(points.container, dtype=xp.float64)) for points in (X, Z)]
        W = xp.astype(xp.asarray(W), xp.float64, copy=False)
        if tuple(W.shape) != (len(X), len(Z)):
            raise ValueError(f"W must have shape {(len(X), len(Z))}, one weight per pair, got {tuple(W.shape)}.")
        gradient = self.gradient(Tile(wide[0], wide[1]), W)
        return xp.astype(gradient, X.container.dtype, copy=False)

    def resolve(self, X, sample_weight=None):
        """Return the kernel with rules such as ``gamma="scale"`` replaced by the numbers they give on X.

        Parameters
        ----------
        X : points (n)
        sample_weight : array (n,), optional

        Returns
        -------
        Kernel
            ``self`` where there is nothing to resolve.
        """
        if self.unresolved() is None:
            return self
        values = {name: part.resolve(X, sample_weight) for name, part in inner_kernels(self).items()}
        values |= {name: rule(getattr(self, name), X, sample_weight) for name, rule in self.rules.items()}
        return replace(self, **values)

    @property
    def tags(self):
        """What is known of the kernel without looking at data: a ``Tags``."""
        return Tags()

    def get_params(self, deep=True):
        """Return the fields by name; with ``deep`` those of inner kernels too, as ``left__gamma``.

        Parameters
        ----------
        deep : bool

        Returns
        -------
        dict
        """
        params = {field.name: getattr(self, field.name) for field in fields(self)}
        if deep:
            for name, part in inner_kernels(self).items():
                params |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return params

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self._content() == other._content())

    def __hash__(self):
        return hash((type(self), self._content()))

    # --- what subclasses state -------------------------------------------------------------------------------------

    def evaluate(self, tile):
        raise NotImplementedError

    def diagonal(self, points):
        raise NotImplementedError

    def gradient(self, tile, W):
        raise TypeError(f"{type(self).__name__} has no gradient in its points.")

    def diagonal_gradient(self, points, w):
        raise TypeError(f"{type(self).__name__} has no gradient in its points.")

    def admit(self, points, name):
        """Validate points of this kernel's kind; families other than rows of numbers override it."""
        points = as_rows(points, name)
        if not self.tags.sparse and hasattr(points, "tocsr"):
            raise TypeError(
                f"{type(self).__name__} does not take sparse rows; pass {name}.toarray(), or use a kernel of inner "
                "products or Euclidean distances (Linear, Polynomial, Gaussian, ...)."
            )
        return points

    def unresolved(self):
        """Return the path and the value of a parameter that ``resolve`` replaces, or None."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                return field.name, value
            if isinstance(value, Kernel) and (inner := value.unresolved()):
                return f"{field.name}.{inner[0]}", inner[1]
        return None

    def _content(self):
        return tuple(_hashable(getattr(self, field.name)) for field in fields(self))


def inner_kernels(kernel):
    """Return the fields of a kernel that are kernels, by name."""
    values = {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    return {name: value for name, value in values.items() if isinstance(value, Kernel)}


def admit_pair(kernel, X, Z):
    """Validate two containers and return them as ``Points``, the same object twice where X is Z."""
    require_resolved(kernel)
    if X is Z:
        points = Points(kernel.admit(X, "X"))
        return points, points
    X = kernel.admit(X, "X")
    return _matched(kernel, X, Points(kernel.admit(Z, "Z")))


def admit_beside(kernel, X, Z):
    """Validate a container next to known ``Points`` Z; return both as ``Points`` of one floating type."""
    require_resolved(kernel)
    return _matched(kernel, kernel.admit(X, "X"), Z)


def _matched(kernel, X, Z):
    if kernel.tags.points != "rows":
        return Points(X), Z
    if X.shape[1] != Z.container.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but Z has {Z.container.shape[1]} features; they must be equal.")
    dtype = common_dtype(X, Z.container)
    if Z.container.dtype != dtype:
        Z = Z.memo(dtype, lambda: Points(as_rows(Z.container, "Z", dtype)))
    return Points(X if X.dtype == dtype else as_rows(X, "X", dtype)), Z


def require_resolved(kernel):
    """Raise a ValueError while a parameter is still a rule."""
    if rule := kernel.unresolved():
        raise ValueError(
            f"{type(kernel).__name__} is not resolved, {rule[0]} = {rule[1]!r}: "
            "call kernel.resolve(X) with the training points first (estimators do)."
        )


def require_gradient(kernel, caller="this operation", remedy="use a method that needs kernel values only"):
    """Raise a TypeError that names the caller and a remedy unless the kernel has a gradient in its points."""
    if not kernel.tags.differentiable:
        raise TypeError(f"{caller} needs a gradient, but {kernel!r} has no gradient in its points; {remedy}.")


def require_kernel(kernel):
    """Raise a TypeError unless given a kernel, with a word on the names that estimators take."""
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"kernel must be a Kernel, such as mercer.Gaussian(0.5), got {kernel!r} of type {type(kernel).__name__}; "
            'names such as "rbf" are for estimators, and a function of two blocks goes into mercer.FunctionKernel.'
        )


def refuse_infinite(kernel, values):
    """Return the values of a kernel, or raise a ValueError when one of them overflowed."""
    xp = namespace_of(values)
    if not (math.isfinite(float(xp.max(values))) and math.isfinite(float(xp.min(values)))):
        raise ValueError(f"{kernel!r} overflows {values.dtype}; scale X (StandardScaler) first.")
    return values


def brief(array):
    """Return what the repr of a kernel shows of an array: few numbers, else its shape, for messages quote kernels."""
    return repr(array) if np.size(array) <= _SHOWN else f"<array of shape {np.shape(array)}>"


def _hashable(value):
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(item) for item in value)
    return value


def with_params(kernel, params):
    """Return a kernel with some parameters replaced, ``left__gamma`` reaching into inner kernels.

    Kernels are immutable, so this takes the place of ``set_params``.

    Parameters
    ----------
    kernel : Kernel
    params : dict of str to value

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        For a name the kernel does not have.
    """
    own = {name: value for name, value in params.items() if "__" not in name}
    nested = {}
    for path, value in params.items():
        if "__" in path:
            name, rest = path.split("__", 1)
            nested.setdefault(name, {})[rest] = value
    known = {field.name for field in fields(kernel)}
    inside = {**inner_kernels(kernel), **{name: part for name, part in own.items() if isinstance(part, Kernel)}}
    for name in [*own, *nested]:
        if name not in known or (name in nested and name not in inside):
            raise ValueError(
                f"Invalid parameter {name!r} for kernel {kernel!r}. "
                f"Valid parameters are: {sorted(kernel.get_params())}."
            )
    inner = {name: with_params(inside[name], rest) for name, rest in nested.items()}
    return replace(kernel, **{**own, **inner})
