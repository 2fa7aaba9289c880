"""Dot-product kernels, functions of s = <x, z>: Linear, Polynomial, Sigmoid and their base class."""

from typing import Any

from mercer._common import Array, check_integer, check_number
from mercer._compute.points import Points
from mercer._compute.profile import check_range, evaluate_profile
from mercer._compute.tile import Tile
from mercer.kernels import bandwidth
from mercer.kernels.base import MOST_DEGREE, Profiled, kernel_class, storable_kernel


@kernel_class
class Dot(Profiled):
    """Base class of kernels k(x, z) = profile(<x, z>).

    A subclass is a frozen dataclass with one static method, ``profile``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np, mercer as mc
    >>> @dataclass(frozen=True, eq=False)
    ... class Squared(mc.Dot):
    ...     @staticmethod
    ...     def profile(xp, s, order=0):
    ...         return (s * s, 2 * s, 0 * s + 2)[order] if order < 3 else 0 * s
    >>> Squared()(np.array([[3.0]]))
    array([[81.]])
    """

    scalar = "dot"

    def evaluate(self, tile: Tile) -> Array:
        return tile.dot(self)

    def diagonal(self, points: Points) -> Array:
        check_range(self, points)
        return evaluate_profile(self, points.sqnorms())

    def gradient(self, tile: Tile, W: Array) -> Array:
        # d/dx k = k'(s) z
        Z = tile.Z.container
        Q = W * tile.dot(self, order=1)
        return Q @ Z

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        slope = evaluate_profile(self, points.sqnorms(), order=1)
        X = points.container.toarray() if points.sparse else points.container
        return 2 * (w * slope)[:, None] * X


@storable_kernel
class Linear(Dot):
    """Linear kernel, <x, z>; its feature space is the input space.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    positive_semidefinite = True

    @staticmethod
    def profile(xp: Any, s: Array, order: int = 0) -> Array:
        """Return s, 1, 0, 0, ..."""
        if order == 0:
            return s
        return s * xp.const(s, 0.0) + xp.const(s, 1.0 if order == 1 else 0.0)


@storable_kernel
class Polynomial(Dot):
    """Polynomial kernel, (gamma <x, z> + coef0)^degree, with all monomials up to the degree (of it, if coef0 = 0).

    Parameters
    ----------
    degree : int
        At least 1.
    gamma : float or {"scale", "auto", "median"}
        Positive.
    coef0 : float
        At least 0 for a positive semidefinite kernel.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Polynomial(degree=2)(np.array([[1.0, 1.0]]))
    array([[9.]])
    """

    degree: int = 3
    gamma: float | str = 1.0
    coef0: float = 1.0
    rules = {"gamma": bandwidth.gamma}

    def __post_init__(self) -> None:
        check_integer("degree", self.degree, most=MOST_DEGREE)
        bandwidth.check("gamma", self.gamma)
        check_number("coef0", self.coef0)

    @property
    def positive_semidefinite(self) -> bool | None:
        """True for coef0 >= 0, unknown otherwise."""
        return True if self.coef0 >= 0 else None

    @staticmethod
    def profile(
        xp: Any, s: Array, degree: int, gamma: float | str, coef0: float, order: int = 0
    ) -> Array:
        """Return degree! / (degree - order)! gamma^order (gamma s + coef0)^(degree - order)."""
        left = degree - xp.const(s, order)
        # for orders above the degree the falling factorial is 0; the power must be finite
        value = xp.power(gamma * s + coef0, left if left > 0 else degree - degree)
        for j in range(order):
            value = (degree - xp.const(s, j)) * gamma * value
        return value


@storable_kernel
class Sigmoid(Dot):
    """Sigmoid kernel, tanh(gamma <x, z> + coef0), which is not positive semidefinite for any parameters.

    Methods use the positive part of its spectrum and warn about the rest.

    Parameters
    ----------
    gamma : float or {"scale", "auto", "median"}
        Positive.
    coef0 : float

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Sigmoid(gamma=1.0)(np.array([[1.0]])).round(4)
    array([[0.7616]])
    """

    positive_semidefinite = False

    gamma: float | str = 1.0
    coef0: float = 0.0
    rules = {"gamma": bandwidth.gamma}

    def __post_init__(self) -> None:
        bandwidth.check("gamma", self.gamma)
        check_number("coef0", self.coef0)

    @staticmethod
    def profile(xp: Any, s: Array, gamma: float | str, coef0: float, order: int = 0) -> Array:
        """Return the order-th derivative (up to 4) of tanh(gamma s + coef0), a polynomial in the tanh."""
        one = xp.const(s, 1.0)
        t = xp.tanh(gamma * s + coef0)
        slope = one - t * t
        value = t
        if order == 1:
            value = slope
        elif order == 2:
            value = -xp.const(s, 2.0) * t * slope
        elif order == 3:
            value = slope * (xp.const(s, 6.0) * t * t - xp.const(s, 2.0))
        elif order == 4:
            value = slope * t * (xp.const(s, 16.0) - xp.const(s, 24.0) * t * t)
        for _ in range(order):
            value = gamma * value
        return value
