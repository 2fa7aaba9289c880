"""A kernel with a ridge on its diagonal: the dual of a quadratic loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import take_points
from mercer.kernels.base import Kernel, Tags

if TYPE_CHECKING:
    from mercer._compute.points import Points
    from mercer._compute.tile import Tile


@dataclass(frozen=True, eq=False)
class Ridged(Kernel):
    """k(x_i, x_j) + ridge_i [i = j] on indices of points: equal points have separate ridges.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> Ridged(mc.Linear(), np.array([[2.0], [2.0]]), np.full(2, 0.5))(np.arange(2))
    array([[4.5, 4. ],
           [4. , 4.5]])
    """

    kernel: Kernel
    points: Any
    ridge: np.ndarray

    @property
    def tags(self) -> Tags:
        """Definiteness is not known; no gradient."""
        return Tags(positive_semidefinite=None, points="indices", differentiable=False)

    def admit(self, points: Array, name: str) -> Array:
        return points

    def evaluate(self, tile: Tile) -> Array:
        own, other = np.asarray(tile.X.container), np.asarray(tile.Z.container)
        values = self.kernel(take_points(self.points, own), take_points(self.points, other)).astype(np.float64)
        i, j = np.nonzero(own[:, None] == other)
        values[i, j] += self.ridge[own[i]]
        return values

    def diagonal(self, points: Points) -> Array:
        own = np.asarray(points.container)
        return self.kernel.diag(take_points(self.points, own)).astype(np.float64) + self.ridge[own]
