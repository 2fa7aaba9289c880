"""Radial kernels, functions of s = |x - z|^2: Gaussian, Matern, RationalQuadratic, Cauchy and their base class."""

from typing import Any

from mercer._common import TINY, Array, check_number, check_positive, shown
from mercer._compute.points import Points
from mercer._compute.profile import at_zero
from mercer._compute.tile import Tile
from mercer.kernels import bandwidth
from mercer.kernels.base import Kernel, Profiled, kernel_class, storable_kernel

# Smallest exponent; a smaller one gives 1 up to rounding.
LEAST_EXPONENT = 1e-30


@kernel_class
class Radial(Profiled):
    """Base class of kernels k(x, z) = profile(|x - z|^2).

    A subclass is a frozen dataclass with one static method, ``profile``. It takes the squared distance, because the
    derivatives of a smooth kernel in the squared distance are finite at 0.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np, mercer as mc
    >>> @dataclass(frozen=True, eq=False)
    ... class InverseMultiquadric(mc.Radial):
    ...     @staticmethod
    ...     def profile(xp, s, order=0):
    ...         base = xp.const(s, 1.0) + s
    ...         value = xp.const(s, 1.0) / xp.sqrt(base)
    ...         for j in range(order):
    ...             value = -xp.const(s, 0.5 + j) * value / base
    ...         return value
    >>> InverseMultiquadric()(np.array([[0.0], [3.0**0.5]])).round(2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    scalar = "radial"

    def evaluate(self, tile: Tile) -> Array:
        return tile.radial(self)

    def diagonal(self, points: Points) -> Array:
        return points.full((len(points),), at_zero(self))

    def gradient(self, tile: Tile, W: Array) -> Array:
        # d/dx k = 2 k'(s) (x - z); an infinite k' at a kink, x = z, counts as 0
        xp = tile.xp
        slope = tile.radial(self, order=1)
        Q = W * xp.where(xp.isfinite(slope), slope, xp.zeros_like(slope))
        X, Z = tile.centred
        if tile.X.sparse:
            X = X.toarray()
        return 2 * (xp.sum(Q, axis=1)[:, None] * X - Q @ Z)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return points.zeros()


@kernel_class
class InverseSquaredWidth(Kernel):
    """Base class of kernels whose parameter is gamma, an inverse squared width."""

    gamma: float | str = "scale"
    rules = {"gamma": bandwidth.gamma}

    def __post_init__(self) -> None:
        bandwidth.check("gamma", self.gamma)


@storable_kernel
class Gaussian(InverseSquaredWidth, Radial):
    """Gaussian kernel, exp(-gamma |x - z|^2).

    Parameters
    ----------
    gamma : float or {"scale", "auto", "median"}
        Inverse squared width, positive; ``1 / (2 sigma^2)`` for a standard deviation sigma. A rule is computed from the
        training rows: "scale" is 1 / (d var X), for d columns and the variance of all entries, "auto" is 1 / d,
        and "median" is 1 / median |x - z|^2 over pairs of rows. A ``sample_weight`` w counts as w equal rows.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Gaussian(0.5)(np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    positive_semidefinite = True

    @staticmethod
    def profile(xp: Any, s: Array, gamma: float | str, order: int = 0) -> Array:
        """Return (-gamma)^order exp(-gamma s)."""
        value = xp.exp(-gamma * s)
        for _ in range(order):
            value = -gamma * value
        return value


@kernel_class
class _Length(Radial):
    """Base class of kernels whose first parameter is a length scale."""

    positive_semidefinite = True

    length: float | str = 1.0
    rules = {"length": bandwidth.length}

    def __post_init__(self) -> None:
        bandwidth.check("length", self.length)
        least = TINY**0.5
        if not isinstance(self.length, str) and float(self.length) < least:
            raise ValueError(
                f"length = {shown(self.length)} must be at least {least:.2g}, so that its square is not 0; scale X and "
                "length."
            )


@storable_kernel
class Matern(_Length):
    """Matern kernel of smoothness nu = 1/2, 3/2 or 5/2 on the Euclidean distance.

    With u = sqrt(2 nu) |x - z| / length: exp(-u), (1 + u) exp(-u), (1 + u + u^2 / 3) exp(-u).

    Parameters
    ----------
    length : float or {"scale", "auto", "median"}
        Length scale, positive; a rule is gamma^(-1/2) with that gamma of `Gaussian`.
    nu : {0.5, 1.5, 2.5}

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Matern(length=2.0, nu=0.5)(np.array([[0.0], [2.0]]))[0, 1].round(4)
    np.float64(0.3679)
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("nu", self.nu)
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(
                f"nu = {shown(self.nu)} must be 0.5, 1.5 or 2.5; for large nu use Gaussian(1 / (2 length^2)), the "
                "limit."
            )

    @staticmethod
    def profile(xp: Any, s: Array, length: float, nu: float, order: int = 0) -> Array:
        """Return (-a / 2)^order c_nu u^p K_p(u) sqrt(2 / pi), a = 2 nu / length^2, u = sqrt(a s), p = nu - order."""
        one = xp.const(s, 1.0)
        two = xp.const(s, 2.0)
        three = xp.const(s, 3.0)
        zero = xp.const(s, 0.0)
        fifteen = xp.const(s, 15.0)
        inverse = one / length
        # exp(-u) is 0 beyond, and u^3 is finite; 0 at s = 0
        u = xp.minimum(xp.sqrt(two * nu * s) * inverse, xp.const(s, 1e4))
        u = xp.where(s > zero, u, s)
        p = nu - xp.const(s, order)
        size = xp.abs(p)
        # u^|p| K_|p|(u) sqrt(2 / pi) = exp(-u) (c0 + c1 u + c2 u^2 + c3 u^3), with numbers known before loops over s
        c0 = one
        c1 = zero
        c2 = zero
        c3 = zero
        if size > one:
            c1 = one
        if size > two:
            c0 = three
            c1 = three
            c2 = one
        if size > three:
            c0 = fifteen
            c1 = fifteen
            c2 = xp.const(s, 6.0)
            c3 = one
        value = xp.exp(-u) * (c0 + u * (c1 + u * (c2 + u * c3)))
        # the factors 1 / length^2 apart, so that no float32 overflows before the product does
        for _ in range(order):
            value = -nu * inverse * value
        if order and p < zero:
            # u^p K_p = u^(2 p) u^-p K_p, infinite at 0
            value = value / u
            if size > one:
                value = value / (u * u)
            if size > two:
                value = value / (u * u)
            if size > three:
                value = value / (u * u)
        for _ in range(order):
            value = inverse * value
        return value / three if nu > two else value


@storable_kernel
class RationalQuadratic(_Length):
    """Rational quadratic kernel, (1 + |x - z|^2 / (2 alpha length^2))^-alpha, a mixture of Gaussian kernels.

    Parameters
    ----------
    length : float or {"scale", "auto", "median"}
        Length scale, positive; a rule is gamma^(-1/2) with that gamma of `Gaussian`.
    alpha : float
        Positive; small values mix many widths, and the limit of large values is a Gaussian kernel.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.RationalQuadratic(length=1.0, alpha=1.0)(np.array([[0.0], [2.0]]))[0, 1].round(4)
    np.float64(0.3333)
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("alpha", self.alpha)
        if self.alpha < LEAST_EXPONENT:
            raise ValueError(
                f"alpha = {shown(self.alpha)} must be at least {LEAST_EXPONENT}: below, all values round to 1."
            )

    @staticmethod
    def profile(xp: Any, s: Array, length: float, alpha: float, order: int = 0) -> Array:
        """Return the order-th derivative of (1 + b s)^-alpha, b = 1 / (2 alpha length^2)."""
        one = xp.const(s, 1.0)
        half = xp.const(s, 0.5)
        inverse = one / length
        # the inverse of a tiny length may be infinite
        t = xp.where(s > xp.const(s, 0.0), half * s * inverse * inverse / alpha, s)
        far = t > xp.const(s, 1e16)
        least = xp.minimum(t, one)
        # log(1 + t): the rounding of 1 + t is added, and log t does not overflow where t does
        rest = xp.where(
            far, -xp.log(alpha) - xp.const(s, 2.0) * xp.log(length), least - ((one + least) - one)
        )
        value = xp.exp(-alpha * (xp.log(xp.where(far, half * s, one + t)) + rest))
        for j in range(order):
            share = one + xp.const(s, j) / alpha
            value = -xp.where(
                far, alpha * share * value / s, half * share * value / (one + t) * inverse * inverse
            )
        return value


@storable_kernel
class Cauchy(InverseSquaredWidth, Radial):
    """Cauchy kernel, 1 / (1 + gamma |x - z|^2).

    Parameters
    ----------
    gamma : float or {"scale", "auto", "median"}
        Inverse squared width, positive; rules as for `Gaussian`.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Cauchy(1.0)(np.array([[0.0], [1.0]]))[0, 1]
    np.float64(0.5)
    """

    positive_semidefinite = True

    @staticmethod
    def profile(xp: Any, s: Array, gamma: float | str, order: int = 0) -> Array:
        """Return order! (-gamma)^order (1 + gamma s)^-(order + 1)."""
        one = xp.const(s, 1.0)
        inverse = one / (one + gamma * s)
        value = inverse
        for j in range(order):
            value = -gamma * xp.const(s, j + 1) * inverse * value
        return value
