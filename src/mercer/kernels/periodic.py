"""Periodic, a Gaussian kernel of phases: for seasons, angles and other quantities that repeat."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from mercer._common import Array, PointsLike, check_positive, shown
from mercer._compute.points import Points, as_vector, owned
from mercer._compute.profile import namespace_of
from mercer.kernels.base import brief, storable_kernel
from mercer.kernels.mapped import Behind, like
from mercer.kernels.radial import Gaussian


@storable_kernel
class Periodic(Behind):
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

    positive_semidefinite = True

    period: Any = 1.0
    length: float = 1.0

    def __post_init__(self) -> None:
        check_positive("length", self.length)
        if not 0 < 0.5 / self.length / self.length < math.inf:
            raise ValueError(
                f"length = {shown(self.length)} must be between 1e-150 and 1e150; scale the columns."
            )
        if np.ndim(self.period) == 0:
            check_positive("period", self.period)
            return
        periods = as_vector(self.period, "period")
        if not len(periods):
            raise ValueError("period = [] must hold one number above 0 for each feature.")
        bad = np.flatnonzero(~(periods > 0))
        if len(bad):
            raise ValueError(f"period[{bad[0]}] = {periods[bad[0]]} must be above 0.")
        object.__setattr__(self, "period", owned(periods))

    def __repr__(self) -> str:
        return f"Periodic(period={brief(self.period) if np.ndim(self.period) else self.period}, length={self.length})"

    @cached_property
    def _inner(self):
        return Gaussian(0.5 / self.length / self.length)

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        points = super().admit(points, name)
        if np.ndim(self.period) and len(self.period) != points.shape[1]:
            raise ValueError(
                f"period = {brief(self.period)} must have {points.shape[1]} numbers, one for each feature of {name}."
            )
        return points

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return points.zeros()

    def _image(self, points):
        """Return the points (cos, sin) of the phases, n rows of 2 d."""
        xp = namespace_of(points)
        X = xp.astype(points, xp.float64, copy=False)
        period = like(np.broadcast_to(self.period, X.shape[1]), X)
        # whole periods are left out exactly, in float64 since a rounded period shifts the phases of large numbers
        phases = (2 * math.pi) * (xp.remainder(X, period) / period)
        waves = xp.concat([xp.cos(phases), xp.sin(phases)], axis=1)
        return xp.astype(waves, points.dtype, copy=False)

    def _pull_back(self, G, points):
        d = points.container.shape[1]
        waves = self._image_points(points).container
        rates = 2 * math.pi / like(np.broadcast_to(self.period, d), G)
        return rates * (G[:, d:] * waves[:, :d] - G[:, :d] * waves[:, d:])
