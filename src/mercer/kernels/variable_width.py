"""VariableWidthGaussian, inner products of Gaussian functions of several widths in the space of one Gaussian kernel."""

import numpy as np

from mercer._common import Array, check_integer, check_positive
from mercer._compute.devices import in_main_memory
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, finite, storable_kernel
from mercer.kernels.marked import Marked
from mercer.kernels.radial import Gaussian


@storable_kernel
class VariableWidthGaussian(Marked):
    r"""Inner products of Gaussian functions of several widths, in the space of the Gaussian kernel of width s.

    With :math:`g_a(u) = \exp(-|u|^2 / (2 a^2))` in d variables and :math:`2 s^2 = 1 / \gamma`,

    .. math:: k((x, a), (z, b)) = \langle g_a(\cdot - x), g_b(\cdot - z) \rangle
        = \Big(\frac{a^2 b^2}{s^2 t^2}\Big)^{d/2} \exp\Big(-\frac{|x - z|^2}{2 t^2}\Big), \qquad t^2 = a^2 + b^2 - s^2

    for :math:`2 a^2 > s^2` and :math:`2 b^2 > s^2`; narrower functions are not in the space. For b = s it is
    :math:`g_a(x - z)`, so that an expansion is a sum of Gaussian functions, each with the width of its point.

    Parameters
    ----------
    gamma : float
        Inverse squared width of the space, 1 / (2 s^2).
    n_features : int
        d. Points are rows (x, a) with d + 1 columns; rows with d columns get the width s.

    Raises
    ------
    ValueError
        For a width of at most s / sqrt(2), and for another number of columns.

    Notes
    -----
    Widths are not coordinates of data: only ``reduce`` with ``VariableWidths`` moves points with their widths. At data
    an expansion is a sum over Gaussian kernels, one for each width: values, gradients, and exports to C and ONNX are
    those of the sum, and `mercer.ray` and `mercer.preimage` search among data, of the width of the space.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section VII: Gaussian functions of several widths in one reduced set.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> kernel = mc.VariableWidthGaussian(gamma=0.5, n_features=1)
    >>> wide = mc.Expansion(kernel, np.array([[0.0, 3.0]]), np.ones((1, 1)))
    >>> np.allclose(wide(np.array([[1.5]])), np.exp(-(1.5**2) / (2 * 3.0**2)))
    True
    """

    positive_semidefinite = True
    _mark = "width"

    gamma: float
    n_features: int

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_integer("n_features", self.n_features)

    @property
    def _of_data(self):
        return 0.5**0.5 / self.gamma**0.5

    def _kernels_of(self, marks):
        widths, places = np.unique(in_main_memory(marks), return_inverse=True)
        return [
            (Gaussian(0.5 / float(a) ** 2), np.flatnonzero(places == i))
            for i, a in enumerate(widths)
        ]

    def _wrong(self, marks):
        return ~((marks > 0) & (self._relative(marks) > 0.5))

    @property
    def _rule(self):
        least = 0.5 / self.gamma**0.5
        return f"widths must be above {least:.6g}, the width of the kernel over sqrt(2); give a larger one"

    @finite
    def evaluate(self, tile: Tile) -> Array:
        A, B = (self._relative(self._marks(points)) for points in (tile.X, tile.Z))
        return self._values(tile.xp, A[:, None], B[None, :], tile.mapped(self._rows).sqdist)

    @finite
    def diagonal(self, points: Points) -> Array:
        A = self._relative(self._marks(points))
        return self._values(points.xp, A, A, 0.0)

    def _values(self, xp, A, B, s):
        """Return the values of pairs of relative widths at squared distances."""
        t = (A + B) - 1
        # a^2 b^2 / (s^2 t^2) - 1, which is exact near 0
        excess = (A - 1) * (B - 1) / t
        return xp.exp(self.n_features / 2 * xp.log1p(excess) - self.gamma * s / t)

    def _relative(self, a):
        """Return a^2 / s^2, without overflow of a^2."""
        return 2 * (self.gamma**0.5 * a) ** 2


def extends(kernel: Kernel, other: Kernel) -> bool:
    """Return whether a kernel has the features of another, a Gaussian kernel, and those of other widths beside them."""
    return (
        type(kernel) is VariableWidthGaussian
        and type(other) is Gaussian
        and kernel.gamma == other.gamma
    )
