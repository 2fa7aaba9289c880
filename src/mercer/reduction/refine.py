"""Refine: reduced set construction that optimises all points at once, with the coefficients eliminated."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

from mercer._common import TINY, Array, check_fraction, check_integer
from mercer._compute import pick_backend
from mercer._compute.points import Points, dense, take_points
from mercer.expansion import Expansion
from mercer.linalg.cholesky import RIDGE
from mercer.preimages.objective import spread
from mercer.reduction.base import Method, Target, check_start, require_new_points, whole
from mercer.reduction.construct import Construct
from mercer.reduction.trace import Trace, best


@dataclass(frozen=True)
class Refinement:
    """The options of methods that move the points of a start by quasi-Newton steps."""

    start: Method = field(default_factory=Construct)
    max_iter: int = 100
    tol: float = 1e-9

    def __post_init__(self) -> None:
        check_start(self.start)
        check_integer("max_iter", self.max_iter)
        check_fraction("tol", self.tol)


@dataclass(frozen=True)
class Refine(Refinement):
    r"""Reduced set construction (RSC): start from the points of another method and optimise all of them at once.

    The best coefficients are functions of the points (variable projection), so the objective is

    .. math:: \min_Z \; \sum_j |\psi_j|^2 - \mathrm{tr}\, B' K_{zz}^{-1} B, \qquad B = K_{zx} C,\; A = K_{zz}^{-1} B

    with the gradient :math:`-2 \nabla_Z \mathrm{tr}\, A' K_{zx} C + \nabla_Z \mathrm{tr}\, A' K_{zz} A` at fixed A, by
    limited-memory quasi-Newton steps. The points are shared by all columns.

    Parameters
    ----------
    start : Method
        The method that gives the starting points, and all smaller sets of the history.
    max_iter : int
        Quasi-Newton steps.
    tol : float
        Stop when a step lowers the squared error by less than ``tol`` times the sum of all |psi_j|^2.

    Notes
    -----
    O(s n (d + m) + s^2 (d + s)) per step. With a ``tol`` of ``reduce``, the number of points is that of the start, and
    the refined points have a smaller error. Steps that overflow or give an indefinite matrix are shortened by the line
    search; the result is never worse than the start.

    References
    ----------
    Burges, *Simplified support vector decision rules*, ICML 1996, phase 2;
    Golub, Pereyra, *Separable nonlinear least squares: the variable projection method and its applications*, Inverse
    Problems 19 (2003).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> psi = mc.Expansion(mc.Gaussian(2.0), X, np.sin(9 * X))
    >>> mc.reduce(psi, 3, method=mc.Refine()).history[-1] < 0.7 * mc.reduce(psi, 3).history[-1]
    np.True_
    """

    def require(self, psi: Expansion) -> None:
        """Raise a TypeError unless the start applies to psi and new points can be constructed."""
        self.start.require(psi)
        require_new_points(self, psi)

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Any]:
        """Yield the sets of the start, the last of them refined."""
        trace = Trace(target)
        for stage in self.start.find(target, n_vectors, tol):
            if len(stage.rows) > n_vectors:
                break
            trace.record(stage)
            if trace.reached(tol) or len(stage.rows) == n_vectors:
                break
            yield stage
        if trace.stages:
            yield from self._refined(target, trace)

    def _refined(self, target, trace):
        stage = trace.stages[-1]
        points = dense(take_points(stage.points, stage.rows))
        scale = spread(target.psi) / term_sizes(target, points)
        bounds = (
            (np.zeros(points.shape), np.full(points.shape, np.inf))
            if target.kernel.tags.nonnegative
            else None
        )
        descent = Descent(Captured(target), points, scale, target.squares.sum(), bounds)
        try:
            descent.run(self.max_iter, self.tol)
        except KeyboardInterrupt:
            yield whole(descent.points)
            raise
        # the start, if the ridge of the descent hides that its error is smaller
        trace.record(whole(descent.points))
        yield trace.stages[-1]


class Captured:
    """-tr B' (K_zz + ridge)^-1 B over the points of a reduced set: minus the squared norm of the projection of psi."""

    def __init__(self, target: Target) -> None:
        self.target: Target = target
        self.coef: Array = np.ascontiguousarray(target.coef.T)

    def __call__(self, Z: Any) -> Any:
        """Return the value and its gradient (s, d) at points Z (s, d)."""
        kernel = self.target.kernel
        points = Points(Z)
        shared = self.target.psi.prepared
        K = kernel(Z)
        K[np.diag_indices_from(K)] += RIDGE * np.trace(K) / len(K)
        B = self.target.psi(Z)
        A = solve_symmetric(K, B)
        backend = pick_backend(kernel, points, shared)
        gradient = backend.vjp(kernel, points, points, lambda rows: A[rows] @ A.T)
        gradient -= backend.vjp(kernel, points, shared, lambda rows: A[rows] @ self.coef)
        return -np.einsum("ij,ij->", A, B), 2 * gradient


def solve_symmetric(K: Array, B: Array) -> Array:
    """Solve a symmetric system, by Cholesky unless the kernel is indefinite."""
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(K), B)
    except np.linalg.LinAlgError:
        return scipy.linalg.solve(K, B, assume_a="sym")


def term_sizes(target: Target, points: Array) -> Array:
    """Return the roots (s, 1) of the sizes of the best coefficients of points, relative to the largest one.

    The curvature along a point grows with the square of its coefficients; these scales remove half of the difference.
    """
    sizes = np.linalg.norm(best(target, points)[0].coef.astype(np.float64), axis=1)
    return np.sqrt(np.maximum(sizes / max(sizes.max(), TINY), 1e-2))[:, None]


@dataclass
class Descent:
    """L-BFGS over all points at once, in units of ``scale``; keeps the best points so far."""

    objective: Callable[[Array], Any]
    points: Array
    scale: Array
    total: float
    # the least and the largest points, arrays or numbers
    bounds: Any = None
    value: float = np.inf

    def run(self, max_iter: int, tol: float) -> None:
        """Lower the objective until a step lowers it by less than ``tol`` times the total."""
        scipy.optimize.minimize(
            self._evaluate,
            (self.points / self.scale).ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=self.bounds
            and scipy.optimize.Bounds(*(np.ravel(each / self.scale) for each in self.bounds)),
            options={
                "maxiter": max_iter,
                "maxfun": 2 * max_iter,
                "maxcor": 20,
                "ftol": tol,
                "gtol": 0.0,
            },
        )

    def _evaluate(self, flat):
        points = flat.reshape(self.points.shape) * self.scale
        value, gradient = self.objective(points)
        if value < self.value:
            self.value = value
            self.points = points
        # a share of the total, whose growth L-BFGS-B compares with ftol
        return value / self.total, (self.scale * gradient).ravel() / self.total
