"""The sets of points of a run of `reduce` with their errors, and the expansion over each set."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer._common import Array, as_float64
from mercer._compute.points import take_points
from mercer.expansion import Expansion
from mercer.reduction.base import Stage, Target
from mercer.reduction.span import Span


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

    def __init__(self, target: Target) -> None:
        self.target = target
        self.stages = []
        self.residuals = []
        self._span = Span(target)
        self._latest = None

    def __getstate__(self) -> Any:
        # the span serves only to extend the run
        return {"target": self.target, "stages": self.stages, "residuals": self.residuals}

    def __setstate__(self, state: Any) -> None:
        self.__dict__ |= state | {"_span": Span(state["target"]), "_latest": None}

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
        callback: Callable[..., Any] | None = None,
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
        grown = (
            latest is not None
            and latest.points is stage.points
            and np.array_equal(latest.rows, stage.rows[: len(latest.rows)])
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
