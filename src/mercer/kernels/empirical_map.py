"""EmpiricalMap, the inner product of kernel values with given points: the empirical kernel map of a kernel."""

from typing import Any

import numpy as np

from mercer._compute.points import Points, as_dense_rows, count_points, owned, owned_each
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, brief, matched, storable_kernel
from mercer.kernels.feature_map import Featured
from mercer.kernels.mapped import like


@storable_kernel
class EmpiricalMap(Featured, Composite):
    r"""Kernel of the empirical kernel map of another kernel, positive semidefinite whatever that kernel is.

    .. math:: k'(x, z) = \langle f(x), f(z) \rangle, \qquad f(x) = (k(x, p_1), \dots, k(x, p_m))\, F

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : points (m)
    F : array (m, r)
        Columns that combine the kernel values.
    free : int
        Number of functions that `mercer.regularisation.with_penalty` left out because they have no penalty; classifiers
        and regression refuse the kernel then, except `KernelRidge` with ``free=``.

    References
    ----------
    Schölkopf et al., *Input space versus feature space in kernel-based methods*, IEEE Transactions on Neural Networks
    10 (1999), section II-C, definition of the empirical kernel map.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> P = np.array([[0.0], [1.0]])
    >>> mc.EmpiricalMap(mc.Linear(), P, np.eye(2))(np.array([[2.0]]))
    array([[4.]])
    """

    _tagged = {"positive_semidefinite": True, "symmetric": True}

    kernel: Kernel
    points: Any
    F: np.ndarray
    free: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        points = self.kernel.admit(self.points, "points")
        F = np.asarray(as_dense_rows(self.F, "F"))
        if len(F) != count_points(points):
            raise ValueError(
                f"F must have a row for each of {count_points(points)} points, got shape {F.shape}."
            )
        object.__setattr__(self, "points", owned(owned_each(points)))
        object.__setattr__(self, "F", owned(F))

    def __repr__(self) -> str:
        return f"EmpiricalMap(kernel={self.kernel!r}, {len(self.F)} points, F={brief(self.F)})"

    def _features(self, points):
        return points.memo(self, lambda: self._values(points))

    def _values(self, points):
        values = self.kernel.evaluate(self._beside(points))
        with np.errstate(over="ignore", invalid="ignore"):
            return values @ like(self.F, values)

    def _pull_back(self, G, points):
        return self.kernel.gradient(self._beside(points), G @ like(self.F, G).T)

    def _beside(self, points):
        """Return the tile of points with those of the map, in their type."""
        own = self.points
        X = points.container
        if isinstance(own, np.ndarray) and own.dtype.kind == "f" and not hasattr(X, "tocsr"):
            own = like(own, X)
        return Tile(*matched(self.kernel, self.kernel.admit(X, "X"), Points(own)))
