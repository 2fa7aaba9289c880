"""Conditionally positive definite kernels, functions of distances: PowerDistance, Multiquadric, ThinPlate."""

from typing import Any

from mercer._common import Array, check_positive, shown
from mercer.kernels.base import storable_kernel
from mercer.kernels.radial import LEAST_EXPONENT, Radial

# Largest c of Multiquadric, whose square is a number of float32.
_MOST_C = 1e18


@storable_kernel
class PowerDistance(Radial):
    r"""Minus a power of the distance, -|x - z|^beta with 0 < beta <= 2.

    It is conditionally positive definite of order 1: c'Kc >= 0 for all coefficients c of sum 0, as support vector
    machines, `KernelPCA` and `KernelMap` use them. Feature vectors have the squared distances 2 |x - z|^beta.

    Parameters
    ----------
    beta : float
        Above 0 and at most 2, the linear kernel.

    References
    ----------
    Schoelkopf, *The kernel trick for distances*, NIPS 13 (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.kernels.PowerDistance(1.0)(np.array([[0.0], [2.0]]))[0, 1]
    np.float64(-2.0)
    """

    _tagged = {"sparse": True, "conditional": 1}

    beta: float = 1.0

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)
        if self.beta > 2:
            raise ValueError(
                f"beta = {shown(self.beta)} must be at most 2; no larger power is a kernel."
            )
        if self.beta < LEAST_EXPONENT:
            raise ValueError(
                f"beta = {shown(self.beta)} must be at least {LEAST_EXPONENT}: below, all powers round to 1."
            )

    @staticmethod
    def profile(xp: Any, s: Array, beta: float, order: int = 0) -> Array:
        """Return -(beta / 2) ... (beta / 2 - order + 1) s^(beta / 2 - order)."""
        half = xp.const(s, 0.5) * beta
        factor = -xp.const(s, 1.0)
        for j in range(order):
            factor = (half - xp.const(s, j)) * factor
        # a factor of 0 multiplies a finite power
        left = half - xp.const(s, order)
        return factor * xp.power(s, left if abs(factor) > 0 else half - half)


@storable_kernel
class Multiquadric(Radial):
    r"""Multiquadric kernel, -sqrt(c^2 + |x - z|^2), conditionally positive definite of order 1.

    Parameters
    ----------
    c : float
        Positive; a smooth form of the distance beyond c.

    References
    ----------
    Micchelli, *Interpolation of scattered data: distance matrices and conditionally positive definite functions*,
    Constructive Approximation 2 (1986).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.kernels.Multiquadric(3.0)(np.array([[0.0], [4.0]]))[0, 1]
    np.float64(-5.0)
    """

    _tagged = {"sparse": True, "conditional": 1}

    c: float = 1.0

    def __post_init__(self) -> None:
        check_positive("c", self.c)
        if self.c > _MOST_C:
            raise ValueError(
                f"c = {shown(self.c)} must be at most {_MOST_C}: its square overflows float32; scale X and c."
            )

    @staticmethod
    def profile(xp: Any, s: Array, c: float, order: int = 0) -> Array:
        """Return -(1/2) (1/2 - 1) ... (1/2 - order + 1) (c^2 + s)^(1/2 - order)."""
        base = c * c + s
        value = -xp.sqrt(base)
        for j in range(order):
            value = xp.const(s, 0.5 - j) * value / base
        return value


@storable_kernel
class ThinPlate(Radial):
    r"""Thin plate spline, |x - z|^2 log |x - z|, conditionally positive definite of order 2.

    c'Kc >= 0 for all c with sum_i c_i = 0 and sum_i c_i x_i = 0. `KernelRidge` with ``free="linear"`` has such
    coefficients; other models refuse the kernel.

    References
    ----------
    Duchon, *Splines minimizing rotation-invariant semi-norms in Sobolev spaces*, Lecture Notes in Mathematics 571
    (1977); Wahba, *Spline models for observational data* (1990), section 2.4.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> model = mc.KernelRidge(1e-9, kernel=mc.kernels.ThinPlate(), free="linear").fit(X, [0, 0, 0, 1])
    >>> model.predict(np.array([[0.5, 0.5]])).round(6)
    array([0.25])
    """

    _tagged = {"sparse": True, "conditional": 2}

    @staticmethod
    def profile(xp: Any, s: Array, order: int = 0) -> Array:
        """Return s log(s) / 2, or its derivatives (log(s) + 1) / 2, 1 / (2 s), -1 / (2 s^2), ..."""
        half = xp.const(s, 0.5)
        one = xp.const(s, 1.0)
        if order == 0:
            return half * s * xp.log(xp.where(s > xp.const(s, 0.0), s, one))
        if order == 1:
            return half * (xp.log(s) + one)
        value = half / s
        for j in range(order - 2):
            value = -xp.const(s, j + 1) * value / s
        return value
