"""Mapped, the kernel k(A x, A z) of mapped inputs (length scales, a linear map, any function), and its base classes."""

from typing import Any

import numpy as np

from mercer._common import Array, PointsLike, shown
from mercer._compute.devices import moved, place_of
from mercer._compute.objects import plain
from mercer._compute.points import Points, as_columns, count_points, owned
from mercer._compute.profile import namespace_of
from mercer._compute.readable import refuse_unreadable
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, brief, kernel_class, storable_kernel


@kernel_class
class Behind(Kernel):
    """Base class of kernels k(g(x), g(z)) of a kernel k, ``_inner``; subclasses state g of a container, ``_image``."""

    # name of the images in errors
    _images = "images of points"

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        return self._inner.multiply(self._image_points(X), self._image_points(Z), V)

    def _image(self, points):
        """Return the images of a container of points, which the inner kernel takes."""
        raise NotImplementedError

    def evaluate(self, tile: Tile) -> Array:
        return self._inner.evaluate(tile.mapped(self._image_points))

    def diagonal(self, points: Points) -> Array:
        return self._inner.diagonal(self._image_points(points))

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self._pull_back(self._inner.gradient(tile.mapped(self._image_points), W), tile.X)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return self._pull_back(self._inner.diagonal_gradient(self._image_points(points), w), points)

    def _pull_back(self, G, points):
        """Return gradients in x from gradients G in g(x)."""
        raise TypeError(f"{type(self).__name__} has no gradient in its points.")

    def _image_points(self, points):
        """Return the images of ``Points``, computed once for a block and the points taken from it."""
        return points.memo((self, "image"), lambda: Points(points.per_point(self, self._admitted)))

    def _admitted(self, points, name=None):
        image = self._inner.admit(self._image(points.container), name or self._images)
        if count_points(image) != len(points):
            raise ValueError(
                f"the function must return one image for each of {len(points)} points, got {count_points(image)}."
            )
        return image


@kernel_class
class Image(Behind, Composite):
    """Base class of kernels k(g(x), g(z)) of any kernel k, whose rules are resolved on the images."""

    kernel: Kernel

    @property
    def _inner(self):
        return self.kernel

    def _resolved(self, X, sample_weight):
        return {"kernel": self.kernel.resolve(self._image(self.admit(X, "X")), sample_weight)}


@storable_kernel
class Mapped(Image):
    """Kernel of mapped inputs, k(A x, A z) for a linear map, or k(g(x), g(z)) for a function.

    Parameters
    ----------
    kernel : Kernel
    A : array
        Floating (d,): a factor for each feature, one over its length scale. Floating (q, d): a linear map. Integer
        (q,): the columns to keep.
        A function g of points (n), given as rows or as a list as for ``FeatureMap``, returns n points of the inner
        kernel; g of a point does not depend on the other points.
    jacobian : callable, optional
        For a function g: function of rows (n, d) that returns its derivatives (n, q, d); without it the kernel has no
        gradient.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[1.0, 100.0], [1.0, 200.0]])
    >>> mc.Mapped(mc.Gaussian(1.0), np.array([0]))(X)
    array([[1., 1.],
           [1., 1.]])
    >>> mc.Mapped(mc.Linear(), lambda words: np.array([[len(word)] for word in words]))(["ab", "abc"])
    array([[4., 6.],
           [6., 9.]])
    """

    _images = "images of points by A"

    A: Any
    jacobian: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jacobian is not None and not (callable(self.jacobian) and callable(self.A)):
            raise TypeError(
                f"jacobian must be a function of points, beside a function A, got {shown(self.jacobian)}."
            )
        if isinstance(self.A, Kernel):
            raise TypeError(
                f"A must be a function or an array, got the kernel {shown(self.A)}; use OnFeatures(kernel, A)."
            )
        if callable(self.A):
            return
        refuse_unreadable(self.A, "A")
        A = np.asarray(self.A)
        A = A if A.dtype.kind in "iub" else as_columns(A, "A")
        if A.ndim not in (1, 2) or A.dtype.kind == "b" or not A.size:
            raise TypeError(
                "A must be a function, or an array of one or two dimensions, floating or integer, got shape "
                f"{A.shape} of {A.dtype}."
            )
        if A.dtype.kind != "f" and A.ndim == 2:
            raise TypeError(
                "A must be floating if it is a linear map; an integer A is a list of columns."
            )
        object.__setattr__(self, "A", owned(A))

    def __repr__(self) -> str:
        return f"Mapped(kernel={self.kernel!r}, A={self.A.__name__ if callable(self.A) else brief(self.A)})"

    @property
    def _tagged(self):
        if not callable(self.A):
            return {"points": "rows", "sparse": False, "nonnegative": False}
        smooth = self.kernel.tags.differentiable and self.jacobian is not None
        of_function = {"points": "rows or objects", "sparse": True, "nonnegative": False}
        return of_function | {"differentiable": smooth}

    @property
    def _most_order(self):
        # a function does not keep polynomials
        return 1 if callable(self.A) else 2

    def _image(self, points):
        return self.A(plain(points)) if callable(self.A) else map_rows(self.A, points)

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        points = Kernel.admit(self, points, name)
        if callable(self.A):
            return points
        d = points.shape[1]
        if self.A.dtype.kind != "f":
            if not (-d <= self.A.min() and self.A.max() < d):
                raise ValueError(
                    f"A = {self.A.tolist()} must be columns of {name}, which has {d} features."
                )
        elif self.A.shape[-1] != d:
            raise ValueError(
                f"A must have {d} columns, one for each feature of {name}, got shape {self.A.shape}."
            )
        # the inner kernel checks the mapped points
        self.kernel.admit(map_rows(self.A, points), f"A-mapped {name}")
        return points

    def evaluate(self, tile: Tile) -> Array:
        try:
            return super().evaluate(tile)
        except ValueError as error:
            error.add_note("The points are images by A of Mapped.")
            raise

    def _pull_back(self, G, points):
        return (
            pull_through(self, G, points, "q")
            if callable(self.A)
            else pull_back(self.A, G, points.container.shape[1])
        )


def pull_through(kernel: Kernel, G: Array, points: Points, size: str) -> Array:
    """Return gradients in x from gradients G in the values of a function, by its ``jacobian`` (n, size, d)."""
    if kernel.jacobian is None:
        raise TypeError(
            f"{type(kernel).__name__} has no gradient; give jacobian=, a function X -> (n, {size}, d)."
        )
    return (G[:, None, :] @ kernel.jacobian(points.container))[:, 0, :]


def map_rows(A: Any, X: Array) -> Array:
    """Return the rows A x; a TypeError where A is a function."""
    if callable(A):
        raise TypeError(
            "this needs a linear map, but Mapped has a function; map X by it before, and use its kernel."
        )
    if A.dtype.kind != "f":
        # columns counted from the end are not in the standard of array libraries
        return namespace_of(X).take(X, moved(A % X.shape[1], place_of(X)), axis=1)
    A = like(A, X)
    return X * A if A.ndim == 1 else X @ A.T


def pull_back(A: Array, G: Array, d: int) -> Array:
    """Return gradients in x, of d features, from gradients G in A x: the rows A' g."""
    if A.dtype.kind != "f":
        A = np.eye(d)[A % d]
    A = like(A, G)
    return G * A if A.ndim == 1 else G @ A


def like(A: Array, X: Array) -> Array:
    """Return an array of NumPy in the library, on the device and in the type of X."""
    return namespace_of(X).astype(moved(A, place_of(X)), X.dtype, copy=False)
