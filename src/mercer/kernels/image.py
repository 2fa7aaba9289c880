"""Image, the base class of kernels k(g(x), g(z)) of other points that a function of the points returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from mercer._common import Array
from mercer._compute.points import Points, count_points
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel

if TYPE_CHECKING:
    from mercer._compute.tile import Tile


@dataclass(frozen=True, eq=False)
class Image(Composite):
    """Base class of kernels k(g(x), g(z)); subclasses state ``image``, which returns g of a container of points."""

    # name of the images in errors
    _images: ClassVar = "images of points"

    kernel: Kernel

    def resolve(self, X: Array, sample_weight: Any = None) -> Kernel:
        """Return the kernel with the rules of the inner kernel resolved on the images of the points."""
        if self.unresolved() is None:
            return self
        return replace(self, kernel=self.kernel.resolve(self._image(self.admit(X, "X")), sample_weight))

    @property
    def explicit(self) -> bool:
        """Whether the inner kernel has explicit features."""
        return self.kernel.explicit

    def multiply(self, X: Any, Z: Any, V: Array) -> Array:
        return self.kernel.multiply(self._image_points(X), self._image_points(Z), V)

    def _image(self, points):
        """Return the images of a container of points, which the inner kernel takes."""
        raise NotImplementedError

    def evaluate(self, tile: Tile) -> Array:
        return self.kernel.evaluate(self._image_tile(tile))

    def diagonal(self, points: Points) -> Array:
        return self.kernel.diagonal(self._image_points(points))

    def _image_tile(self, tile):
        return type(tile)(self._image_points(tile.X), self._image_points(tile.Z), tile.offset)

    def _image_points(self, points):
        """Return the images of ``Points``, computed once for a block and the points taken from it."""
        return points.memo((self, "image"), lambda: Points(points.per_point(self, self._admitted)))

    def _admitted(self, points, name=None):
        image = self.kernel.admit(self._image(points.container), name or self._images)
        if count_points(image) != len(points):
            raise ValueError(
                f"the function must return one image for each of {len(points)} points, got {count_points(image)}."
            )
        return image
