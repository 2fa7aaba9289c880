"""Kernels from kernels: sums, products, multiples, powers, exponentials and normalised ones.

Each states its value, diagonal and gradients by the rules of calculus, so expressions close under everything else.
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from mercer._common import check_integer, check_number, check_positive
from mercer.kernels.base import Kernel, Tags, inner_kernels, refuse_infinite


@dataclass(frozen=True, eq=False)
class Composite(Kernel):
    """A kernel made of others: what holds of all its parts holds of it."""

    @property
    def tags(self):
        """Proved, sparse rows and gradients where every part has them; no negative numbers where one takes none."""
        tags = [part.tags for part in inner_kernels(self).values()]
        kinds = {tag.points for tag in tags}
        return Tags(
            positive_semidefinite=True if all(tag.positive_semidefinite for tag in tags) else None,
            points=kinds.pop(),
            sparse=all(tag.sparse for tag in tags),
            differentiable=all(tag.differentiable for tag in tags),
            nonnegative=any(tag.nonnegative for tag in tags),
        )

    def admit(self, points, name):
        for part in inner_kernels(self).values():
            points = part.admit(points, name)
        return points


def require_kernels(kernel, *names):
    """Raise a TypeError unless the fields of these names are kernels."""
    for name in names:
        part = getattr(kernel, name)
        if not isinstance(part, Kernel):
            raise TypeError(f"{name} of {type(kernel).__name__} must be a Kernel, got {part!r}.")


def _require_same_points(kernel):
    require_kernels(kernel, "left", "right")
    kinds = {name: part.tags.points for name, part in inner_kernels(kernel).items()}
    if len(set(kinds.values())) > 1:
        raise ValueError(f"{type(kernel).__name__} joins kernels on different kinds of points: {kinds}.")


@dataclass(frozen=True, eq=False)
class Constant(Kernel):
    """Constant kernel, c for every pair: one constant feature.

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

    def __post_init__(self):
        check_number("value", self.value)
        if self.value < 0:
            raise ValueError(f"a kernel plus {self.value!r} need not be a kernel: the constant must be at least 0.")

    @property
    def tags(self):
        """Positive semidefinite."""
        return Tags(sparse=True)

    def evaluate(self, tile):
        shape, like = (len(tile.X), len(tile.Z)), tile.X.container
        return tile.xp.full(shape, self.value, dtype=like.dtype, device=getattr(like, "device", None))

    def diagonal(self, points):
        like = points.container
        return points.xp.full((len(points),), self.value, dtype=like.dtype, device=getattr(like, "device", None))

    def gradient(self, tile, W):
        return tile.xp.zeros(tuple(tile.X.container.shape), dtype=tile.xp.float64)

    def diagonal_gradient(self, points, w):
        return points.xp.zeros(tuple(points.container.shape), dtype=points.xp.float64)


@dataclass(frozen=True, eq=False)
class Sum(Composite):
    """Sum of two kernels: their feature vectors side by side.

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (mc.Linear() + mc.Gaussian(1.0))(np.array([[1.0]]))
    array([[2.]])
    """

    left: Kernel
    right: Kernel

    def __post_init__(self):
        _require_same_points(self)

    def evaluate(self, tile):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, self.left.evaluate(tile) + self.right.evaluate(tile))

    def diagonal(self, points):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, self.left.diagonal(points) + self.right.diagonal(points))

    def gradient(self, tile, W):
        return self.left.gradient(tile, W) + self.right.gradient(tile, W)

    def diagonal_gradient(self, points, w):
        return self.left.diagonal_gradient(points, w) + self.right.diagonal_gradient(points, w)


@dataclass(frozen=True, eq=False)
class Product(Composite):
    """Product of two kernels: all products of their features.

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (mc.Linear() * mc.Gaussian(1.0))(np.array([[2.0]]))
    array([[4.]])
    """

    left: Kernel
    right: Kernel

    def __post_init__(self):
        _require_same_points(self)

    def evaluate(self, tile):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, self.left.evaluate(tile) * self.right.evaluate(tile))

    def diagonal(self, points):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, self.left.diagonal(points) * self.right.diagonal(points))

    def gradient(self, tile, W):
        left, right = self.left.evaluate(tile), self.right.evaluate(tile)
        return self.left.gradient(tile, W * right) + self.right.gradient(tile, W * left)

    def diagonal_gradient(self, points, w):
        left, right = self.left.diagonal(points), self.right.diagonal(points)
        return self.left.diagonal_gradient(points, w * right) + self.right.diagonal_gradient(points, w * left)


@dataclass(frozen=True, eq=False)
class Scaled(Composite):
    """Positive multiple of a kernel, factor * k.

    Parameters
    ----------
    kernel : Kernel
    factor : float
        Above 0.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> (3 * mc.Gaussian(1.0))(np.array([[2.0]]))
    array([[3.]])
    """

    kernel: Kernel
    factor: float = 1.0

    def __post_init__(self):
        require_kernels(self, "kernel")
        check_positive("factor", self.factor)

    def evaluate(self, tile):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, self.factor * self.kernel.evaluate(tile))

    def diagonal(self, points):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, self.factor * self.kernel.diagonal(points))

    def gradient(self, tile, W):
        return self.factor * self.kernel.gradient(tile, W)

    def diagonal_gradient(self, points, w):
        return self.factor * self.kernel.diagonal_gradient(points, w)


@dataclass(frozen=True, eq=False)
class Power(Composite):
    """Power of a kernel, k^degree: products of ``degree`` features.

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

    def __post_init__(self):
        require_kernels(self, "kernel")
        check_integer("degree", self.degree)

    def evaluate(self, tile):
        return self._raise(self.kernel.evaluate(tile))

    def diagonal(self, points):
        return self._raise(self.kernel.diagonal(points))

    def _raise(self, values):
        with np.errstate(over="ignore"):
            return refuse_infinite(self, values**self.degree)

    def gradient(self, tile, W):
        return self.kernel.gradient(tile, W * self.degree * self.kernel.evaluate(tile) ** (self.degree - 1))

    def diagonal_gradient(self, points, w):
        return self.kernel.diagonal_gradient(
            points, w * self.degree * self.kernel.diagonal(points) ** (self.degree - 1)
        )


@dataclass(frozen=True, eq=False)
class Exp(Composite):
    """Exponential of a kernel, exp(k(x, z)): all its powers, the degree-j one weighted 1 / j!.

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

    def __post_init__(self):
        require_kernels(self, "kernel")

    def evaluate(self, tile):
        return refuse_infinite(self, _exp(tile.xp, self.kernel.evaluate(tile)))

    def diagonal(self, points):
        return refuse_infinite(self, _exp(points.xp, self.kernel.diagonal(points)))

    def gradient(self, tile, W):
        return self.kernel.gradient(tile, W * self.evaluate(tile))

    def diagonal_gradient(self, points, w):
        return self.kernel.diagonal_gradient(points, w * self.diagonal(points))


def _exp(xp, values):
    with np.errstate(over="ignore"):
        return xp.exp(values)


@dataclass(frozen=True, eq=False)
class Normalized(Composite):
    """Normalised kernel, k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space; 0 where a norm is 0.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Normalized(mc.Linear())(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """

    kernel: Kernel

    def __post_init__(self):
        require_kernels(self, "kernel")

    def _inverse_norms(self, points):
        return points.memo((self, "inverse norms"), lambda: self._compute_inverse_norms(points))

    def _compute_inverse_norms(self, points):
        xp, squares = points.xp, self.kernel.diagonal(points)
        least = float(xp.min(squares))
        if least < 0:
            raise ValueError(f"{self!r} has no norms to divide by: k(x, x) = {least:.3g} is negative for some x.")
        positive = squares > 0
        roots = xp.sqrt(xp.where(positive, squares, xp.ones_like(squares)))
        return xp.where(positive, 1 / roots, xp.zeros_like(squares))

    def evaluate(self, tile):
        X, Z = self._inverse_norms(tile.X), self._inverse_norms(tile.Z)
        values = self.kernel.evaluate(tile) * (X[:, None] * Z[None, :])
        # k(x, x) / k(x, x) is 1 whatever rounding said
        return tile.fill_diagonal(values, tile.xp.where(X > 0, tile.xp.ones_like(X), X))

    def diagonal(self, points):
        inverse = self._inverse_norms(points)
        return points.xp.where(inverse > 0, points.xp.ones_like(inverse), inverse)

    def gradient(self, tile, W):
        X, Z = self._inverse_norms(tile.X), self._inverse_norms(tile.Z)
        through_norm = tile.xp.sum(W * self.kernel.evaluate(tile) * X[:, None] * Z[None, :], axis=1) * X**2 / 2
        direct = self.kernel.gradient(tile, W * X[:, None] * Z[None, :])
        return direct - self.kernel.diagonal_gradient(tile.X, through_norm)

    def diagonal_gradient(self, points, w):
        return points.xp.zeros(tuple(points.container.shape), dtype=points.xp.float64)


def _add(left, right):
    """Return ``left + right``: a sum of kernels, or a kernel plus a constant of at least 0 (0 changes nothing)."""
    if isinstance(right, Real) and not isinstance(right, bool):
        return left if right == 0 else Sum(left, Constant(float(right)))
    return Sum(left, right) if isinstance(right, Kernel) else NotImplemented


def _multiply(left, right):
    """Return ``left * right``: a product of kernels, or a positive multiple."""
    if isinstance(right, Real) and not isinstance(right, bool):
        return Scaled(left, float(right))
    return Product(left, right) if isinstance(right, Kernel) else NotImplemented


def _raise(kernel, degree):
    return Power(kernel, degree)


# set here, since the results are subclasses of Kernel
Kernel.__add__ = Kernel.__radd__ = _add
Kernel.__mul__ = Kernel.__rmul__ = _multiply
Kernel.__pow__ = _raise
