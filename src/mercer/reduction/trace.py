"""The sets of points of a run of `reduce` with their errors, the expansion over each, and the span of its features."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import AnyFunction, Array, as_float64
from mercer._compute.costs import PIVOTS
from mercer._compute.memory import cut
from mercer._compute.points import count_points, join_points, take_points
from mercer.expansion import Expansion
from mercer.reduction.base import Stage, Target


class Trace:
    """Sets of points of growing size with the errors of their best coefficients.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Stage, Target
    >>> from mercer.reduction.trace import Trace
    >>> target = Target(mc.features(mc.Linear(), np.array([[3.0, 4.0]])))
    >>> trace = Trace(target)
    >>> trace.record(Stage(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0]))).round(2)
    array([0.8])
    >>> trace.sizes, trace.history.round(2)
    (array([1]), array([0.8]))
    """

    target: Target
    stages: list[Any]
    residuals: list[Any]
    # the span of the last set
    _span: Any = None
    _latest: Any = Stage(None, np.empty(0))

    def __init__(self, target: Target) -> None:
        self.target = target
        self.stages = []
        self.residuals = []

    def __getstate__(self) -> Any:
        # the span serves only to extend the run
        return {"target": self.target, "stages": self.stages, "residuals": self.residuals}

    @property
    def sizes(self) -> Array:
        """Numbers of vectors (h,)."""
        return np.array([len(stage.rows) for stage in self.stages], dtype=np.intp)

    @property
    def history(self) -> Array:
        """Relative errors (h,) of all columns together."""
        total = self.target.squares.sum()
        left = np.array([np.abs(residuals).sum() for residuals in self.residuals])
        return np.sqrt(left / total) if total > 0 else np.zeros(len(left))

    def reached(self, tol: float) -> bool:
        """Return whether the relative error of the last set is at most ``tol`` in every column."""
        return bool(self.stages) and float(self.target.relative(self.residuals[-1]).max()) <= tol

    def record(self, stage: Stage) -> Array:
        """Record a set and return its relative error (m,); one as large as the last set replaces it only if better."""
        residuals = self._residuals(stage)
        if self.stages and len(stage.rows) <= len(self.stages[-1].rows):
            if np.abs(residuals).sum() < np.abs(self.residuals[-1]).sum():
                self.stages[-1] = stage
                self.residuals[-1] = residuals
        else:
            self.stages.append(stage)
            self.residuals.append(residuals)
        return self.target.relative(self.residuals[-1])

    def run(
        self,
        stages: Iterator[Any],
        n_vectors: int,
        tol: float,
        callback: AnyFunction | None = None,
    ) -> str:
        """Record sets until one has ``n_vectors`` points or the error ``tol``, or there are no more; return why."""
        for stage in stages:
            if len(stage.rows) > n_vectors:
                break
            worst = float(self.record(stage).max())
            if callback is not None and callback(len(stage.rows), worst):
                return f"the callback ended the run at {len(stage.rows)} vectors"
            if worst <= tol:
                return f"tol = {tol:.3g} reached with {len(stage.rows)} vectors"
        if self.stages and len(self.stages[-1].rows) >= n_vectors:
            return f"n_vectors = {n_vectors} reached"
        return "the method found no further vector that lowers the error"

    def result(self, index: int) -> tuple[Expansion, Array]:
        """Return the expansion over one of the sets in the type of psi, and its relative error (m,)."""
        stage = self.stages[index]
        points = take_points(stage.points, stage.rows)
        if hasattr(points, "astype"):
            points = points.astype(getattr(self.target.original.points, "dtype", None))
        # rounded points have other best coefficients
        return best(self.target, points)

    def _residuals(self, stage):
        latest = self._latest
        grown = latest.points is stage.points and np.array_equal(
            latest.rows, stage.rows[: len(latest.rows)]
        )
        if not grown:
            self._span = Span(self.target)
        fresh = stage.rows[len(latest.rows) if grown else 0 :]
        if len(fresh):
            self._span.add(take_points(stage.points, fresh))
        self._latest = stage
        return self._span.residuals


def best(target: Target, points: Array) -> tuple[Expansion, Array]:
    """Return psi with the best coefficients over ``points``, in the type of psi, and its relative error (m,).

    The error is recomputed in float64 from the points and the coefficients of the expansion.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.trace import best
    >>> target = Target(mc.features(mc.Linear(), np.array([[3.0, 4.0]])))
    >>> best(target, np.array([[0.0, 2.0]]))
    (Expansion(Linear(), 1 vector over 1 point), array([0.6]))
    """
    narrow = getattr(points, "dtype", None) == np.float32
    points64 = points.astype(np.float64) if narrow else points
    span = Span(target)
    span.add(points64)
    A = span.coefficients()
    coef = target.original.coef
    if narrow and (coef is None or coef.dtype == np.float32):
        A = A.astype(np.float32)
    return Expansion(target.kernel, points, A), error(target, points64, A.astype(np.float64))


def error(target: Target, points: Array, coef: Array) -> Array:
    """Return the relative errors (m,) of any expansion: |psi|^2 - 2 <psi, psi'> + |psi'|^2, in float64."""
    values = as_float64(target.kernel(points)) @ coef - 2 * target.psi(points)
    return target.relative(target.squares + np.einsum("ij,ij->j", coef, values))


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
    >>> from mercer.reduction.trace import Span
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
