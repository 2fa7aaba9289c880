"""Local, the mean of a kernel of small patches over all places of an image."""

from typing import Any

from mercer._common import Array, PointsLike, check_integer, shown
from mercer._compute.points import Points
from mercer._compute.profile import evaluate_profile
from mercer._compute.tile import Tile
from mercer._compute.windows import Windows
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, finite, storable_kernel
from mercer.kernels.mapped import like


@storable_kernel
class Local(Composite):
    r"""Local (pyramidal) kernel of images: the mean over all pixels of a kernel of the patches around them.

    .. math:: k(x, z) = \frac{1}{d} \sum_{p = 1}^d f\Big(\sum_i v_{pi}\, x_i z_i\Big)
       \quad\text{or}\quad \frac{1}{d} \sum_{p = 1}^d f\Big(\sum_i v_{pi}\, (x_i - z_i)^2\Big)

    for an inner kernel f of inner products or of squared distances. The weights v_pi fall linearly from the centre p of
    a patch in both directions, as a pyramid, and sum to 1 for a whole patch. Features are products of near pixels only.
    ``Local(Polynomial(d1), shape, width) ** d2`` is the kernel of degrees d1 inside of patches and d2 between them.

    Parameters
    ----------
    kernel : Kernel
        Inner kernel: ``Polynomial``, ``Gaussian``, or another kernel of inner products or distances. Bandwidth rules
        are resolved on x / sqrt(d), whose distances are means over pixels as those of patches are.
    shape : tuple of int
        Rows and columns of an image, whose pixels are the columns of X, row by row.
    width : int
        Side of a patch, an odd number of pixels.

    Raises
    ------
    ValueError
        When the width is even, or X has another number of columns than the image has pixels.
    TypeError
        When the inner kernel is not a function of an inner product or of a distance.

    Notes
    -----
    A value takes about 2 d (width + 2) operations, in one compiled pass that keeps the image in the cache.

    References
    ----------
    Schoelkopf, Simard, Smola, Vapnik, *Prior knowledge in support vector kernels*, NIPS 10 (1998), section 4.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> k = mc.Local(mc.Polynomial(2, coef0=0.0), shape=(2, 2), width=1)
    >>> k(np.array([[1.0, 2.0, 0.0, 1.0]]))     # (1 + 16 + 0 + 1) / 4
    array([[4.5]])
    >>> (mc.Local(mc.Gaussian(1.0), (2, 2), 3) ** 2)(np.eye(4)).shape
    (4, 4)
    """

    _tagged = {"points": "rows", "sparse": False}

    kernel: Kernel
    shape: tuple[Any, ...]
    width: int = 9

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel.scalar not in ("dot", "radial"):
            raise TypeError(
                "kernel must be a function of an inner product or of a distance, such as Polynomial(2) or Gaussian(1), "
                f"got {shown(self.kernel)}; combine local kernels by + and * instead."
            )
        if not (isinstance(self.shape, tuple) and len(self.shape) == 2):
            raise ValueError(
                f"shape = {shown(self.shape)} must be a tuple of the numbers of rows and columns of an image."
            )
        for axis, size in enumerate(self.shape):
            check_integer(f"shape[{axis}]", size)
        check_integer("width", self.width)
        if self.width % 2 == 0:
            raise ValueError(
                f"width = {shown(self.width)} must be odd, so that a patch has a centre."
            )

    def _resolved(self, X, sample_weight):
        X = self.admit(X, "X")
        return {"kernel": self.kernel.resolve(X / X.shape[1] ** 0.5, sample_weight)}

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        points = self.kernel.admit(Kernel.admit(self, points, name), name)
        pixels = self.shape[0] * self.shape[1]
        if points.shape[1] != pixels:
            raise ValueError(
                f"{name} has {points.shape[1]} features, but shape = {self.shape} must have as many pixels, and has "
                f"{pixels}; give the shape of the images in {name}."
            )
        return points

    @property
    def _windows(self):
        return Windows(self.shape, self.width)

    def multiplications(self, d: int) -> int:
        # measured for widths of 3 to 9 on 16 x 16 pixels, in float32
        return d * (30 + 2 * self.width)

    @finite
    def evaluate(self, tile: Tile) -> Array:
        values = tile.local_mean(self.kernel, self._windows)
        return values if tile.offset is None else tile.fill_diagonal(values, self.diagonal(tile.X))

    @finite
    def diagonal(self, points: Points) -> Array:
        if self.kernel.scalar == "radial":
            return self.kernel.diagonal(points)
        return points.xp.mean(evaluate_profile(self.kernel, self._own(points)), axis=1)

    def gradient(self, tile: Tile, W: Array) -> Array:
        return tile.local_gradient(self.kernel, self._windows, W)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        if self.kernel.scalar == "radial":
            return self.kernel.diagonal_gradient(points, w)
        slopes = evaluate_profile(self.kernel, self._own(points), order=1) @ self._weights(points)
        return 2 * w[:, None] * slopes * points.container / slopes.shape[1]

    def _own(self, points):
        """Return the weighted squared norms (n, d) of all patches."""
        return (points.container * points.container) @ self._weights(points)

    def _weights(self, points):
        return like(self._windows.matrix, points.container)
