"""Mapped: a kernel of linearly mapped inputs, such as length scales or chosen columns."""

from dataclasses import dataclass, replace

import array_api_compat
import numpy as np

from mercer._compute.points import Points
from mercer.kernels.algebra import Composite, require_kernels
from mercer.kernels.base import Kernel, brief


@dataclass(frozen=True, eq=False)
class Mapped(Composite):
    """Kernel of linearly mapped inputs, k(A x, A z).

    Parameters
    ----------
    kernel : Kernel
    A : array
        Floating (d,): a factor per feature, one over its length scale. Floating (q, d): a linear map. Integer (q,):
        the columns to keep.

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
        require_kernels(self, "kernel")
        if not isinstance(self.A, np.ndarray) or self.A.ndim not in (1, 2) or self.A.dtype.kind not in "fiu":
            raise TypeError(f"A must be a NumPy array of one or two dimensions, floating or integer, got {self.A!r}.")
        if self.A.dtype.kind == "f" and not np.isfinite(self.A).all():
            raise ValueError("A must be finite.")
        if self.A.dtype.kind != "f" and self.A.ndim == 2:
            raise TypeError("A linear map A must be floating; an integer A is a list of columns.")

    def __repr__(self):
        return f"Mapped(kernel={self.kernel!r}, A={brief(self.A)})"

    @property
    def tags(self):
        """Those of the inner kernel, on dense rows; what must not be negative are the mapped points."""
        return replace(super().tags, sparse=False, nonnegative=False)

    def resolve(self, X, sample_weight=None):
        """Return the kernel with inner rules resolved on the mapped points."""
        if self.unresolved() is None:
            return self
        return replace(self, kernel=self.kernel.resolve(map_rows(self.A, self.admit(X, "X")), sample_weight))

    def admit(self, points, name):
        points = Kernel.admit(self, points, name)
        d = points.shape[1]
        if self.A.dtype.kind != "f":
            if len(self.A) and not (-d <= self.A.min() and self.A.max() < d):
                raise ValueError(f"A names columns {self.A.tolist()}, but {name} has {d} features.")
        elif self.A.shape[-1] != d:
            raise ValueError(f"A has shape {self.A.shape}, but {name} has {d} features; the last number must be that.")
        # what the inner kernel asks of its points is asked of the mapped ones
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
        return X[:, A] if isinstance(X, np.ndarray) else _columns(X, A)
    A = A.astype(X.dtype, copy=False) if isinstance(X, np.ndarray) else _like(A, X)
    return X * A if A.ndim == 1 else X @ A.T


def pull_back(A, G, d):
    """Return gradients in x, of d features, from gradients G in A x: the rows A' g."""
    if A.dtype.kind != "f":
        A = np.eye(d)[A % d]
    A = A if isinstance(G, np.ndarray) else _like(A, G)
    return G * A if A.ndim == 1 else G @ A


def _like(A, X):
    xp = array_api_compat.array_namespace(X)
    return xp.asarray(A.tolist(), dtype=X.dtype, device=array_api_compat.device(X))


def _columns(X, columns):
    xp = array_api_compat.array_namespace(X)
    return xp.take(X, xp.asarray(columns.tolist(), device=array_api_compat.device(X)), axis=1)
