"""Transposed: a function of two points with its arguments exchanged."""

from typing import Any

from mercer._common import Array
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, kernel_class


@kernel_class
class Transposed(Composite):
    """k(z, x) for a function k(x, z) that is not known to be symmetric."""

    kernel: Kernel

    def evaluate(self, tile: Tile) -> Array:
        return self.kernel.evaluate(Tile(tile.Z, tile.X)).T

    def diagonal(self, points: Any) -> Array:
        return self.kernel.diagonal(points)
