"""Principal axes of rows, along which few vectors move where a Gaussian kernel hardly varies in other directions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer import landmarks
from mercer._common import Array, Seed
from mercer.kernels import Gaussian
from mercer.kernels.base import Kernel
from mercer.solvers.few_vectors.rows import MANY

# Rows for each column that the axes are computed from.
_ROWS_EACH = 8


@dataclass(frozen=True)
class Axes:
    """The subspace of points c + V y: a centre c (d,) and orthonormal axes V (d, q)."""

    centre: np.ndarray
    axes: np.ndarray

    def rows(self, X: Array) -> Array:
        """Return q coordinates of rows (n, d) and their distance from the subspace, (n, q + 1).

        Distances to points of the subspace, whose last coordinate is 0, are those of the rows.
        """
        shifted = X - self.centre
        inside = shifted @ self.axes
        beyond = np.sum(shifted * shifted, axis=1) - np.sum(inside * inside, axis=1)
        return np.column_stack([inside, np.sqrt(np.maximum(beyond, 0))])

    def nearest(self, Z: Array) -> Array:
        """Return the coordinates (p, q + 1) of the nearest points of the subspace."""
        return np.column_stack([(Z - self.centre) @ self.axes, np.zeros(len(Z))])

    def points(self, Y: Array) -> Array:
        """Return the points (p, d) of coordinates (p, q + 1)."""
        return self.centre + Y[:, :-1] @ self.axes.T


def leading_axes(kernel: Kernel, X: Any, random_state: Seed = None) -> Axes | None:
    """Return the principal axes along which rows X (n, d) vary by a twentieth of a Gaussian kernel's width or more.

    None for other kernels, and if these are more than half of the columns.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.few_vectors.axes import leading_axes
    >>> X = np.array([[0.0, 1.0, 1.0], [2.0, 1.0, 1.01], [4.0, 1.0, 0.99]])
    >>> found = leading_axes(mc.Gaussian(0.5), X)
    >>> np.abs(found.axes.T).round(2)
    array([[1., 0., 0.]])
    """
    n, d = X.shape
    if type(kernel) is not Gaussian or d == 1 or min(n, d) > MANY:
        return None
    some = _ROWS_EACH * d
    rows = X if n <= some else X[landmarks.uniform(X, some, random_state)]
    centre = rows.mean(axis=0, dtype=np.float64)
    rows = rows - centre
    # the smaller one of the two products has the same nonzero eigenvalues
    wide = len(rows) < d
    products = rows @ rows.T if wide else rows.T @ rows
    variances, vectors = scipy.linalg.eigh(products / len(rows), check_finite=False)
    # the width is 1 / sqrt(2 gamma)
    kept = 2 * kernel.gamma * variances >= 0.05**2
    axes = vectors[:, kept]
    if wide:
        axes = rows.T @ (axes / np.sqrt(len(rows) * variances[kept]))
    return Axes(centre, axes) if 0 < axes.shape[1] <= d / 2 else None
