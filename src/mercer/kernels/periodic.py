"""Periodic, a Gaussian kernel of phases: for seasons, angles and other quantities that repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer._common import Array, check_positive, shown
from mercer._compute.points import Points, as_vector
from mercer.kernels.base import Kernel, brief
from mercer.kernels.mapped import like
from mercer.kernels.radial import Gaussian

if TYPE_CHECKING:
    from mercer._compute.tile import Tile


@dataclass(frozen=True, eq=False)
class Periodic(Kernel):
    r"""Periodic kernel, a product over columns with one period each.

    .. math:: k(x, z) = \exp\Bigl(-\frac2{l^2} \sum_c \sin^2 \frac{\pi (x_c - z_c)}{p_c}\Bigr)

    It is the Gaussian kernel of the points (cos, sin)(2 pi x_c / p_c) of circles, and therefore positive semidefinite
    in any dimension; the same function of the Euclidean distance is not, beyond one dimension.

    Parameters
    ----------
    period : float or array (d,)
        p, above 0: of all columns, or of each.
    length : float
        l, above 0. Small lengths let the function vary much within a period.

    References
    ----------
    MacKay, *Introduction to Gaussian processes*, in Bishop (ed.), Neural networks and machine learning (1998),
    section 5.4.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.Periodic(24.0)(np.array([[1.0], [13.0], [25.0]]))[0].round(3)
    array([1.   , 0.135, 1.   ])
    """

    positive_semidefinite: ClassVar[bool | None] = True

    period: Any = 1.0
    length: float = 1.0

    def __post_init__(self) -> None:
        check_positive("length", self.length)
        if not math.isfinite(0.5 / self.length / self.length) or not 0.5 / self.length / self.length:
            raise ValueError(f"length = {shown(self.length)} must be between 1e-150 and 1e150; scale the columns.")
        if np.ndim(self.period) == 0:
            check_positive("period", self.period)
            return
        periods = as_vector(self.period, "period")
        if not len(periods):
            raise ValueError("period = [] must hold one number above 0 for each feature.")
        bad = np.flatnonzero(~(periods > 0))
        if len(bad):
            raise ValueError(f"period[{bad[0]}] = {periods[bad[0]]} must be above 0.")
        object.__setattr__(self, "period", periods)

    def __repr__(self) -> str:
        return f"Periodic(period={brief(self.period) if np.ndim(self.period) else self.period}, length={self.length})"

    @cached_property
    def _gaussian(self):
        return Gaussian(0.5 / self.length / self.length)

    def admit(self, points: Array, name: str) -> Any:
        points = super().admit(points, name)
        if np.ndim(self.period) and len(self.period) != points.shape[1]:
            raise ValueError(
                f"period = {brief(self.period)} must have {points.shape[1]} numbers, one for each feature of {name}."
            )
        return points

    def evaluate(self, tile: Tile) -> Array:
        return self._gaussian.evaluate(self._circles_of(tile))

    def diagonal(self, points: Any) -> Array:
        return self._gaussian.diagonal(self._circles(points))

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self._pull_back(self._gaussian.gradient(self._circles_of(tile), W), tile.X)

    def diagonal_gradient(self, points: Any, w: Array) -> Array:
        return points.xp.zeros_like(points.container) * w[:, None]

    def _circles_of(self, tile):
        return type(tile)(self._circles(tile.X), self._circles(tile.Z), tile.offset)

    def _circles(self, points):
        """Return the points (cos, sin) of the phases, n rows of 2 d, computed once."""
        return points.memo((self, "circles"), lambda: Points(points.xp.concat(self._waves(points), axis=1)))

    def _waves(self, points):
        xp, dtype = points.xp, points.container.dtype
        X = xp.astype(points.container, xp.float64, copy=False)
        period = like(np.broadcast_to(self.period, X.shape[1]), X, X.dtype)
        # whole periods are left out exactly, in float64 since a rounded period shifts the phases of large numbers
        phases = (2 * math.pi) * (xp.remainder(X, period) / period)
        return [xp.astype(wave(phases), dtype, copy=False) for wave in (xp.cos, xp.sin)]

    def _pull_back(self, G, points):
        cosines, sines = self._waves(points)
        d = points.container.shape[1]
        rates = 2 * math.pi / like(np.broadcast_to(self.period, d), G, G.dtype)
        return rates * (G[:, d:] * cosines - G[:, :d] * sines)
