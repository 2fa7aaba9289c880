"""Coordinatewise kernels, functions of a sum over coordinates: Laplacian, Chi2, Intersection and their base class."""

from abc import abstractmethod
from typing import Any

from mercer._common import Array, PointsLike
from mercer._compute.points import Points
from mercer._compute.profile import Namespace, evaluate_profile, namespace_of
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, Profiled, finite, kernel_class, storable_kernel
from mercer.kernels.dot import Linear
from mercer.kernels.mapped import Behind
from mercer.kernels.radial import Gaussian, InverseSquaredWidth


@kernel_class
class Coordinatewise(Profiled):
    """Base class of kernels k(x, z) = profile(sum_k term(x_k, z_k)).

    A subclass is a frozen dataclass with the static methods ``term`` and ``profile``.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> issubclass(mc.Laplacian, mc.Coordinatewise)
    True
    >>> float(mc.Laplacian.term(np, np.float64(3.0), np.float64(1.0)))
    2.0
    """

    @staticmethod
    @abstractmethod
    def term(xp: Any, x: Array, z: Array, order: int = 0) -> Array:
        """Return the term of a coordinate, or for order 1 its derivative in x."""

    # of dense rows
    _tagged = {}

    def multiplications(self, d: int) -> int:
        # measured in float32 with 256 columns: terms are computed column by column
        return 90 * d

    @finite
    def evaluate(self, tile: Tile) -> Array:
        return tile.coordinatewise(self)

    @finite
    def diagonal(self, points: Points) -> Array:
        own = self.term(Namespace(points.xp), points.container, points.container)
        return evaluate_profile(self, points.xp.sum(own, axis=1))

    def gradient(self, tile: Tile, W: Array) -> Array:
        return tile.coordinatewise_gradient(self.term, W * tile.coordinatewise(self, order=1))

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        # both arguments move: twice the derivative in the first argument
        math = Namespace(points.xp)
        X = points.container
        total = points.xp.sum(self.term(math, X, X), axis=1)
        slope = evaluate_profile(self, total, order=1)
        return 2 * (w * slope)[:, None] * self.term(math, X, X, order=1)


@kernel_class
class _Histogram(Kernel):
    """Base class of kernels on rows without negative numbers."""

    _tagged = {"nonnegative": True}

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        points = super().admit(points, name)
        xp = namespace_of(points)
        if float(xp.min(points)) < 0:
            i, j = (int(index[0]) for index in xp.nonzero(points < 0))
            raise ValueError(
                f"{name}[{i}, {j}] = {float(points[i, j]):.6g} must be at least 0 for {type(self).__name__}, a kernel "
                "of histograms; shift or clip it, or use Laplacian."
            )
        return points


@storable_kernel
class Laplacian(InverseSquaredWidth, Coordinatewise):
    """Laplacian kernel, exp(-gamma |x - z|_1).

    Parameters
    ----------
    gamma : float or {"scale", "auto", "median"}
        Positive; the rules are those of ``Gaussian``.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Laplacian(1.0)(np.array([[0.0, 0.0], [0.5, -0.5]]))[0, 1].round(4)
    np.float64(0.3679)
    """

    positive_semidefinite = True

    @staticmethod
    def term(xp: Any, x: Array, z: Array, order: int = 0) -> Array:
        """Return |x - z|, or the sign of x - z (0 at the kink)."""
        if order == 0:
            return xp.abs(x - z)
        # arrays of the shape of x, since not every library has `where` for two numbers
        zero = xp.const(x, 0.0) * x
        one = zero + xp.const(x, 1.0)
        return xp.where(x > z, one, zero) - xp.where(x < z, one, zero)

    # exp(-gamma s)
    profile = staticmethod(Gaussian.profile)


@storable_kernel
class Chi2(InverseSquaredWidth, _Histogram, Coordinatewise):
    """Chi-squared kernel, exp(-gamma sum_k (x_k - z_k)^2 / (x_k + z_k)) with 0 / 0 = 0, for histograms.

    Parameters
    ----------
    gamma : float or {"scale", "auto", "median"}
        Positive.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Chi2(1.0)(np.array([[1.0, 0.0], [0.0, 1.0]]))[0, 1].round(4)
    np.float64(0.1353)
    """

    positive_semidefinite = True

    gamma: float | str = 1.0

    @staticmethod
    def term(xp: Any, x: Array, z: Array, order: int = 0) -> Array:
        """Return (x - z)^2 / (x + z), or its derivative 1 - 4 z^2 / (x + z)^2."""
        zero = xp.const(x, 0.0)
        one = xp.const(x, 1.0)
        half = xp.const(x, 0.5)
        # half the sum, since x + z may overflow
        mean = half * x + half * z
        safe = xp.where(mean > zero, mean, one)
        if order == 0:
            # |x - z| <= x + z, so that the ratio cannot overflow
            return xp.where(mean > zero, (x - z) * (half * (x - z) / safe), zero)
        ratio = z / safe
        return xp.where(mean > zero, one - ratio * ratio, zero)

    # exp(-gamma s)
    profile = staticmethod(Gaussian.profile)


@storable_kernel
class AdditiveChi2(_Histogram, Coordinatewise):
    """Additive chi-squared kernel, -sum_k (x_k - z_k)^2 / (x_k + z_k) with 0 / 0 = 0, for histograms.

    It is conditionally positive definite of order 1: positive semidefinite on coefficients of sum 0, as in support
    vector machines, and not on others.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.AdditiveChi2()(np.array([[1.0, 0.0], [0.0, 1.0]]))[0, 1]
    np.float64(-2.0)
    """

    positive_semidefinite = False
    _tagged = {"nonnegative": True, "conditional": 1}

    term = staticmethod(Chi2.term)

    @staticmethod
    def profile(xp: Any, s: Array, order: int = 0) -> Array:
        """Return -s, -1, 0, 0, ..."""
        if order == 0:
            return -s
        return s * xp.const(s, 0.0) - xp.const(s, 1.0 if order == 1 else 0.0)


@storable_kernel
class Intersection(_Histogram, Coordinatewise):
    """Histogram intersection kernel, sum_k min(x_k, z_k), for nonnegative rows.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Intersection()(np.array([[1.0, 2.0]]), np.array([[2.0, 0.5]]))
    array([[1.5]])
    """

    positive_semidefinite = True

    @staticmethod
    def term(xp: Any, x: Array, z: Array, order: int = 0) -> Array:
        """Return min(x, z), or its derivative: 1 below z, 0 above, 1/2 at the kink."""
        if order == 0:
            return xp.where(x < z, x, z)
        zero = xp.const(x, 0.0) * x
        one = zero + xp.const(x, 1.0)
        half = zero + xp.const(x, 0.5)
        return xp.where(x < z, one, xp.where(x > z, zero, half))

    # s
    profile = staticmethod(Linear.profile)


@storable_kernel
class Bhattacharyya(_Histogram, Behind):
    """Bhattacharyya kernel, sum_k sqrt(x_k z_k), for nonnegative rows; of histograms of sum 1 it is at most 1.

    References
    ----------
    Jebara, Kondor, *Bhattacharyya and expected likelihood kernels*, COLT (2003).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.kernels.Bhattacharyya()(np.array([[0.5, 0.5]]), np.array([[0.08, 0.92]])).round(4)
    array([[0.8782]])
    """

    positive_semidefinite = True

    # of the square roots
    _inner = Linear()

    def _image(self, points):
        return namespace_of(points).sqrt(points)

    def _pull_back(self, G, points):
        # infinite derivatives at 0 count as 0
        roots = self._image_points(points).container
        positive = roots > 0
        xp = points.xp
        return xp.where(positive, G / (2 * xp.where(positive, roots, 1.0)), 0.0)
