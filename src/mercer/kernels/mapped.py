"""Mapped, the kernel k(A x, A z) of linearly mapped inputs: length scales, a linear map, or some columns."""

from dataclasses import dataclass, replace

import array_api_compat
import numpy as np

from mercer._compute.namespace import namespace_of
from mercer._compute.points import Points
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, brief


@dataclass(frozen=True, eq=False)
class Mapped(Composite):
    """Kernel of linearly mapped inputs, k(A x, A z).

    Parameters
    ----------
    kernel : Kernel
    A : array
        Floating (d,): a factor for each feature, one over its length scale. Floating (q, d): a linear map. Integer
        (q,): the columns to keep.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[1.0, 100.0], [1.0, 200.0]])
    >>> mc.Mapped(mc.Gaussian(1.0), np.array([0]))(X)
    array([[1., 1.],
           [1., 1.]])
    """

    kernel: Kernel
    A: np.ndarray

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.A, np.ndarray) or self.A.ndim not in (1, 2) or self.A.dtype.kind not in "fiu":
            raise TypeError(f"A must be a NumPy array of one or two dimensions, floating or integer, got {self.A!r}.")
        if self.A.dtype.kind == "f" and not np.isfinite(self.A).all():
            raise ValueError("A must be finite; it contains NaN or infinity.")
        if self.A.dtype.kind != "f" and self.A.ndim == 2:
            raise TypeError("A must be floating if it is a linear map; an integer A is a list of columns.")

    def __repr__(self):
        return f"Mapped(kernel={self.kernel!r}, A={brief(self.A)})"

    @property
    def tags(self):
        """Properties of the inner kernel, on dense rows; only the mapped points must be nonnegative."""
        return replace(super().tags, sparse=False, nonnegative=False)

    def resolve(self, X, sample_weight=None):
        """Return the kernel with the rules of the inner kernel resolved on the mapped points."""
        if self.unresolved() is None:
            return self
        return replace(self, kernel=self.kernel.resolve(map_rows(self.A, self.admit(X, "X")), sample_weight))

    def admit(self, points, name):
        points = Kernel.admit(self, points, name)
        d = points.shape[1]
        if self.A.dtype.kind != "f":
            if len(self.A) and not (-d <= self.A.min() and self.A.max() < d):
                raise ValueError(f"A = {self.A.tolist()} must be columns of {name}, which has {d} features.")
        elif self.A.shape[-1] != d:
            raise ValueError(f"A must have {d} columns, one for each feature of {name}, got shape {self.A.shape}.")
        # the inner kernel checks the mapped points
        self.kernel.admit(map_rows(self.A, points), f"mapped {name}")
        return points

    def evaluate(self, tile):
        return self.kernel.evaluate(self._map_tile(tile))

    def diagonal(self, points):
        return self.kernel.diagonal(self._map_points(points))

    def gradient(self, tile, W):
        return pull_back(self.A, self.kernel.gradient(self._map_tile(tile), W), tile.X.container.shape[1])

    def diagonal_gradient(self, points, w):
        gradient = self.kernel.diagonal_gradient(self._map_points(points), w)
        return pull_back(self.A, gradient, points.container.shape[1])

    def _map_tile(self, tile):
        return tile.through(self, lambda X: map_rows(self.A, X))

    def _map_points(self, points):
        return points.memo(self, lambda: Points(map_rows(self.A, points.container)))


def map_rows(A, X):
    """Return the rows A x."""
    if A.dtype.kind != "f":
        # columns counted from the end are not in the standard of array libraries
        A = A % X.shape[1]
        return X[:, A] if isinstance(X, np.ndarray) else namespace_of(X).take(X, like(A, X, None), axis=1)
    A = A.astype(X.dtype, copy=False) if isinstance(X, np.ndarray) else like(A, X, X.dtype)
    return X * A if A.ndim == 1 else X @ A.T


def pull_back(A, G, d):
    """Return gradients in x, of d features, from gradients G in A x: the rows A' g."""
    if A.dtype.kind != "f":
        A = np.eye(d)[A % d]
    A = A if isinstance(G, np.ndarray) else like(A, G, G.dtype)
    return G * A if A.ndim == 1 else G @ A


def like(A, X, dtype):
    """Return an array in the library and on the device of X."""
    return namespace_of(X).asarray(A.tolist(), dtype=dtype, device=array_api_compat.device(X))
