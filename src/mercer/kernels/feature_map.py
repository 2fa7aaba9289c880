"""Kernels <phi(x), phi(z)> of features that a function computes, FeatureMap, or a kernel, EmpiricalMap."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, shown
from mercer._compute.objects import Objects, plain
from mercer._compute.points import (
    Points,
    as_dense_rows,
    as_rows,
    count_points,
    owned,
    owned_each,
)
from mercer._compute.profile import namespace_of
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, brief, finite, kernel_class, matched, storable_kernel
from mercer.kernels.mapped import like, pull_through


@kernel_class
class Featured(Kernel):
    """Base class of kernels <f(x), f(z)>; subclasses state ``_features``, and ``_pull_back`` for gradients."""

    @finite
    def evaluate(self, tile: Tile) -> Array:
        X = self._features(tile.X)
        values = X @ (X if tile.Z is tile.X else self._features(tile.Z)).T
        return values.toarray() if sp.issparse(values) else values

    @finite
    def diagonal(self, points: Points) -> Array:
        features = self._features(points)
        squares = features * features
        return (
            squares.sum(axis=1)
            if sp.issparse(squares)
            else namespace_of(squares).sum(squares, axis=1)
        )

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self._pull_back(W @ self._features(tile.Z), tile.X)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        return self._pull_back(2 * w[:, None] * self._features(points), points)

    def _features(self, points):
        """Return the features (n, D) of ``Points``, computed once."""
        raise NotImplementedError

    def _pull_back(self, G, points):
        """Return the gradients (n, d) of sum_k G_ik f_k(x_i) in x_i."""
        raise NotImplementedError


@kernel_class
class FeatureMap(Featured):
    """Kernel of an explicit feature map, <phi(x), phi(z)>, positive semidefinite for every phi.

    Parameters
    ----------
    phi : callable
        Function of points (n) that returns features (n, D), an array, a table or a sparse matrix of real numbers, which
        become float64 unless they are float32. Row i is a function of point i only. An array of numbers (n, d), a table
        or a sparse matrix reaches phi as rows of numbers; a list, a Series or an array of another kind reaches it as a
        list of objects.
    jacobian : callable, optional
        Function of rows (n, d) that returns the derivatives (n, D, d); without it the kernel has no gradient.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> k = mc.FeatureMap(lambda X: np.column_stack([X[:, 0], X[:, 0] ** 2]))
    >>> k(np.array([[2.0]]))
    array([[20.]])
    """

    phi: Any
    jacobian: Any = None
    positive_semidefinite = True
    explicit = True

    def __post_init__(self) -> None:
        for name in ("phi", "jacobian"):
            value = getattr(self, name)
            if not (callable(value) or (name == "jacobian" and value is None)):
                raise TypeError(f"{name} must be a function of points, got {shown(value)}.")

    @property
    def _tagged(self):
        smooth = self.jacobian is not None
        return {"points": "rows or objects", "sparse": True, "differentiable": smooth}

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        F = self._features(Z)
        # sums over points in float64
        wide = F.astype(np.float64) if sp.issparse(F) else Z.xp.astype(F, Z.xp.float64, copy=False)
        weights = wide.T @ Z.xp.astype(V, Z.xp.float64, copy=False)
        F = self._features(X)
        return F @ Z.xp.astype(weights, F.dtype, copy=False)

    def _features(self, points):
        return points.per_point(self, lambda block: _computed(self.phi, block))

    def _pull_back(self, G, points):
        return pull_through(self, G, points, "D")


def _computed(phi, points):
    """Return features in float32 or float64, or raise unless they are real and finite, one row for each point."""
    n = len(points)
    try:
        features = phi(plain(points.container))
    except Exception as error:
        if isinstance(points.container, Objects):
            error.add_note(
                "phi got a list of objects, because the points are one; pass an array for rows of numbers."
            )
        raise
    shape = tuple(getattr(features, "shape", ()))
    if len(shape) != 2 or shape[0] != n:
        raise ValueError(
            f"phi must return one row of features per point: expected ({n}, D), got {shape or type(features).__name__}."
        )
    features = as_rows(features, "phi(X)")
    # products of sparse arrays with vectors are arrays, those of sparse matrices are matrices
    return sp.csr_array(features) if sp.issparse(features) else features


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
