"""Transposed: a function of two points with its arguments exchanged."""

from dataclasses import dataclass

from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel


@dataclass(frozen=True, eq=False)
class Transposed(Composite):
    """k(z, x) for a function k(x, z) that is not known to be symmetric."""

    kernel: Kernel

    def evaluate(self, tile):
        return self.kernel.evaluate(Tile(tile.Z, tile.X)).T

    def diagonal(self, points):
        return self.kernel.diagonal(points)
