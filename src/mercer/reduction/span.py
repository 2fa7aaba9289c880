"""The span of some features: best coefficients of vectors in it, and their residuals, as it grows."""

from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import Array, as_float64
from mercer._compute.costs import PIVOTS
from mercer._compute.memory import cut
from mercer._compute.points import count_points, join_points, take_points
from mercer.reduction.base import Target


class Span:
    r"""The span of phi(z_1), ..., phi(z_s), in an orthonormal basis by a Cholesky factor of their Gram matrix.

    With :math:`K_{zz} = L L'` the coordinates of psi are :math:`Y = L^{-1} K_{zx} C`, the squared residuals
    :math:`|\psi_j|^2 - \sum_i Y_{ij}^2`, and the best coefficients :math:`A = K_{zz}^+ K_{zx} C = L'^{-1} Y`.

    A feature whose squared distance to the span of those before it is below ``s eps`` of the largest square (or
    negative, under an indefinite kernel) is skipped and gets the coefficient 0. Adding one point costs
    O(s^2 + s d + n d); the squared residuals have an error of about s eps |psi_j|^2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.span import Span
    >>> span = Span(Target(mc.features(mc.Linear(), np.array([[3.0, 4.0]]))))
    >>> span.add(np.array([[1.0, 0.0], [2.0, 0.0]]))
    >>> span.coefficients(), span.residuals
    (array([[3.],
           [0.]]), array([16.]))
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.points = None
        self.kept = np.empty(0, dtype=np.intp)
        self._L = np.empty((0, 0))
        self._Y = np.empty((0, len(target.psi)))
        self._top = 0.0
        # squared residuals (m,); negative ones come from rounding or an indefinite kernel
        self.residuals = target.squares.copy()

    def __len__(self) -> int:
        return 0 if self.points is None else count_points(self.points)

    @property
    def coordinates(self) -> Array:
        """Y (r, m), one row per feature that is not skipped."""
        return self._Y[: len(self.kept)]

    @property
    def factor(self) -> Array:
        """L (r, r), lower triangular."""
        r = len(self.kept)
        return self._L[:r, :r]

    def coefficients(self) -> Array:
        """Return the best coefficients (s, m)."""
        A = np.zeros((len(self), self._Y.shape[1]))
        A[self.kept] = scipy.linalg.solve_triangular(
            self.factor, self.coordinates, lower=True, trans="T"
        )
        return A

    def project(self, points: Array) -> tuple[Array, Array]:
        """Return T = L^-1 K_z,new (r, p), the coordinates of new features, and their residuals' Gram matrix (p, p)."""
        corner = as_float64(self.target.kernel(points))
        if not len(self.kept):
            return np.empty((0, len(corner))), corner
        across = as_float64(self.target.kernel(take_points(self.points, self.kept), points))
        T = scipy.linalg.solve_triangular(self.factor, across, lower=True)
        return T, corner - T.T @ T

    def add(self, points: Array, values: Array | None = None) -> None:
        """Add the features of one or more points in order; ``values`` (p, m) are <phi(z), psi_j> if known."""
        values = self.target.psi(points) if values is None else values
        # within a block points are eliminated one by one
        for rows in cut(len(values), PIVOTS):
            self._add(take_points(points, rows), values[rows])

    def _add(self, points, values):
        T, S = self.project(points)
        own = np.abs(S.diagonal() + np.einsum("ij,ij->j", T, T))
        self._top = max(self._top, own.max())
        before = len(self)
        floor = (before + len(own)) * self.target.eps * self._top
        self.points: Any = points if before == 0 else join_points([self.points, points])
        values = values - T.T @ self.coordinates
        self._reserve(len(self.kept) + len(own))
        for j in range(len(own)):
            if not S[j, j] > floor:
                continue
            pivot = np.sqrt(S[j, j])
            r = len(self.kept)
            column = S[:, j] / pivot
            y = values[j] / pivot
            self._L[r, :r], self._L[r, r], self._Y[r] = T[:, j], pivot, y
            # the later rows of the block are projected on the new basis vector
            T = np.vstack([T, column])
            S = S - np.outer(column, column)
            values = values - column[:, None] * y
            self.kept: Array = np.append(self.kept, before + j)
            self.residuals: Any = self.residuals - y**2

    def _reserve(self, size):
        have = len(self._L)
        if size > have:
            more = max(size, 2 * have, 64) - have
            self._L = np.pad(self._L, (0, more))
            self._Y = np.pad(self._Y, ((0, more), (0, 0)))
