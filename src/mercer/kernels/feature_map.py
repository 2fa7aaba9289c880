"""FeatureMap, the kernel <phi(x), phi(z)> of an explicit feature map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, shown
from mercer._compute.namespace import namespace_of
from mercer._compute.objects import Objects, plain
from mercer._compute.points import as_rows
from mercer.kernels.base import Kernel, Tags, refuse_infinite

if TYPE_CHECKING:
    from mercer._compute.points import Points
    from mercer._compute.tile import Tile


@dataclass(frozen=True, eq=False)
class FeatureMap(Kernel):
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
    explicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("phi", "jacobian"):
            value = getattr(self, name)
            if not (callable(value) or (name == "jacobian" and value is None)):
                raise TypeError(f"{name} must be a function of points, got {shown(value)}.")

    @property
    def tags(self) -> Tags:
        """Positive semidefinite, on rows or objects."""
        return Tags(True, points="rows or objects", sparse=True, differentiable=self.jacobian is not None)

    def evaluate(self, tile: Tile) -> Array:
        X = evaluate_features(self, tile.X)
        Z = X if tile.Z is tile.X else evaluate_features(self, tile.Z)
        with np.errstate(over="ignore", invalid="ignore"):
            values = X @ Z.T
        return refuse_infinite(self, values.toarray() if sp.issparse(values) else values)

    def diagonal(self, points: Points) -> Array:
        features = evaluate_features(self, points)
        with np.errstate(over="ignore"):
            squares = features * features
            own = squares.sum(axis=1) if sp.issparse(squares) else namespace_of(squares).sum(squares, axis=1)
        return refuse_infinite(self, own)

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        F = evaluate_features(self, Z)
        # sums over points in float64
        wide = F.astype(np.float64) if sp.issparse(F) else Z.xp.astype(F, Z.xp.float64, copy=False)
        weights = wide.T @ Z.xp.astype(V, Z.xp.float64, copy=False)
        F = evaluate_features(self, X)
        return F @ Z.xp.astype(weights, F.dtype, copy=False)

    def gradient(self, tile: Tile, W: Array) -> Array:
        self._require_jacobian()
        slopes = W @ evaluate_features(self, tile.Z)
        return (slopes[:, None, :] @ self.jacobian(tile.X.container))[:, 0, :]

    def diagonal_gradient(self, points: Any, w: Array) -> Array:
        self._require_jacobian()
        slopes = 2 * w[:, None] * evaluate_features(self, points)
        return (slopes[:, None, :] @ self.jacobian(points.container))[:, 0, :]

    def _require_jacobian(self):
        if self.jacobian is None:
            raise TypeError("FeatureMap has no gradient; give jacobian=, a function X -> (n, D, d).")


def evaluate_features(kernel: Kernel, points: Points) -> Array:
    """Return the features phi(x) (n, D) of ``Points``, computed once for a block and the points taken from it."""
    return points.per_point(kernel, lambda block: _checked(_mapped(kernel.phi, block.container), len(block)))


def _mapped(phi, points):
    try:
        return phi(plain(points))
    except Exception as error:
        if isinstance(points, Objects):
            error.add_note("phi got a list of objects, because the points are one; pass an array for rows of numbers.")
        raise


def _checked(features, n):
    """Return features in float32 or float64, or raise unless they are real and finite, one row for each point."""
    shape = tuple(getattr(features, "shape", ()))
    if len(shape) != 2 or shape[0] != n:
        raise ValueError(
            f"phi must return one row of features per point: expected ({n}, D), got {shape or type(features).__name__}."
        )
    features = as_rows(features, "phi(X)")
    # products of sparse arrays with vectors are arrays, those of sparse matrices are matrices
    return sp.csr_array(features) if sp.issparse(features) else features
