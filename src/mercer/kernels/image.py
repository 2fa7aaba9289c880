"""Image, the base class of kernels k(g(x), g(z)) of other points that a function of the points returns."""

from mercer._common import Array
from mercer._compute.points import Points, count_points
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, kernel_class


@kernel_class
class Behind(Kernel):
    """Base class of kernels k(g(x), g(z)) of a kernel k, ``_inner``; subclasses state g of a container, ``_image``."""

    # name of the images in errors
    _images = "images of points"

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        return self._inner.multiply(self._image_points(X), self._image_points(Z), V)

    def _image(self, points):
        """Return the images of a container of points, which the inner kernel takes."""
        raise NotImplementedError

    def evaluate(self, tile: Tile) -> Array:
        return self._inner.evaluate(tile.mapped(self._image_points))

    def diagonal(self, points: Points) -> Array:
        return self._inner.diagonal(self._image_points(points))

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self._pull_back(self._inner.gradient(tile.mapped(self._image_points), W), tile.X)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return self._pull_back(self._inner.diagonal_gradient(self._image_points(points), w), points)

    def _pull_back(self, G, points):
        """Return gradients in x from gradients G in g(x)."""
        raise TypeError(f"{type(self).__name__} has no gradient in its points.")

    def _image_points(self, points):
        """Return the images of ``Points``, computed once for a block and the points taken from it."""
        return points.memo((self, "image"), lambda: Points(points.per_point(self, self._admitted)))

    def _admitted(self, points, name=None):
        image = self._inner.admit(self._image(points.container), name or self._images)
        if count_points(image) != len(points):
            raise ValueError(
                f"the function must return one image for each of {len(points)} points, got {count_points(image)}."
            )
        return image


@kernel_class
class Image(Behind, Composite):
    """Base class of kernels k(g(x), g(z)) of any kernel k, whose rules are resolved on the images."""

    kernel: Kernel

    @property
    def _inner(self):
        return self.kernel

    def _resolved(self, X, sample_weight):
        return {"kernel": self.kernel.resolve(self._image(self.admit(X, "X")), sample_weight)}
