"""Refine and VariableWidths: reduced set construction that moves all points at once, the coefficients eliminated."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

from mercer._common import TINY, Array, as_float64, check_fraction, check_integer, record, shown
from mercer._compute import pick_backend
from mercer._compute.points import Points, dense, take_points
from mercer.expansion import Expansion
from mercer.kernels import Gaussian, VariableWidthGaussian
from mercer.kernels.direct_sum import plain_rows
from mercer.linalg.cholesky import RIDGE
from mercer.preimages.descent import spread
from mercer.reduction.base import Method, Target, require_new_points, whole
from mercer.reduction.construct import Construct
from mercer.reduction.subset import Greedy
from mercer.reduction.trace import Trace, best

# Bounds of u = log(2 a^2 / s^2 - 1), which is 0 for the width of the kernel: from 0.74 to 22 times that width.
_WIDTHS = (-2.3, 6.9)


@record
class Refinement(Method):
    """The options of methods that move the points of a start by quasi-Newton steps."""

    start: Method = field(default_factory=Construct)
    max_iter: int = 100
    tol: float = 1e-9

    def __post_init__(self) -> None:
        if isinstance(self.start, type) or not isinstance(self.start, Method):
            raise TypeError(f"start = {shown(self.start)} must be a record such as Construct().")
        check_integer("max_iter", self.max_iter)
        check_fraction("tol", self.tol)


@record
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

    def require(self, psi):
        """Raise a TypeError unless the start applies to psi and new points can be constructed."""
        self.start.require(psi)
        require_new_points(self, psi)

    def find(self, target, n_vectors, tol):
        """Yield the sets of the start, the last of them refined."""
        trace = Trace(target)
        for stage in self.start.find(target, n_vectors, tol):
            if len(stage.rows) > n_vectors:
                break
            trace.record(stage)
            if trace.reached(tol) or len(stage.rows) == n_vectors:
                break
            yield stage
        if not trace.stages:
            return
        stage = trace.stages[-1]
        points = dense(take_points(stage.points, stage.rows))
        scale = spread(target.psi) / _term_sizes(target, points)
        least = 0.0 if target.kernel.tags.nonnegative else -np.inf
        bounds = np.full(points.shape, least), np.full(points.shape, np.inf)
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
        A = _solve_symmetric(K, B)
        backend = pick_backend(kernel, points, shared)
        gradient = backend.vjp(kernel, points, points, lambda rows: A[rows] @ A.T)
        gradient -= backend.vjp(kernel, points, shared, lambda rows: A[rows] @ self.coef)
        return -np.einsum("ij,ij->", A, B), 2 * gradient


def _solve_symmetric(K, B):
    """Solve a symmetric system, by Cholesky unless the kernel is indefinite."""
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(K), B)
    except np.linalg.LinAlgError:
        return scipy.linalg.solve(K, B, assume_a="sym")


def _term_sizes(target, points):
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
    bounds: tuple[Array, Array]
    value: float = np.inf

    def run(self, max_iter: int, tol: float) -> None:
        """Lower the objective until a step lowers it by less than ``tol`` times the total."""
        scipy.optimize.minimize(
            self._evaluate,
            (self.points / self.scale).ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=scipy.optimize.Bounds(*(np.ravel(each / self.scale) for each in self.bounds)),
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


@record
class VariableWidths(Refinement):
    r"""Reduced set construction (RSC) with a width for each point: points, widths and coefficients are optimised.

    .. math:: \psi'_j(x) = \sum_{i=1}^{s} A_{ij} \exp\Big(-\frac{|x - z_i|^2}{2 a_i^2}\Big),
              \qquad \min_{z, a, A} \sum_j |\psi_j - \psi'_j|^2

    in the feature space of the Gaussian kernel of psi, in which functions of other widths have the inner products of
    ``VariableWidthGaussian``. The reduced set is an expansion over this kernel: its points have their width in one more
    column, and it is evaluated at points without.

    Parameters
    ----------
    start : Method
        The method that gives the starting points, and all smaller sets of the history. Of vectors that have several
        widths `Greedy` selects them.
    max_iter : int
        Quasi-Newton steps, with one width and then with all.
    tol : float
        Stop when a step lowers the squared error by less than ``tol`` times the sum of all |psi_j|^2.

    Notes
    -----
    The start is refined with one width, by ``Refine``; then limited-memory quasi-Newton steps with exact gradients move
    points and widths, with the coefficients eliminated and features of length 1. The error is never larger than that of
    ``Refine`` from the same start. O(s n (d + m) + s^2 (d + s)) per step, and a few arrays of s n numbers.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section VII.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> psi = mc.Expansion(mc.Gaussian(8.0), X, np.exp(-2 * X**2))          # a wide function of narrow ones
    >>> one, several = (mc.reduce(psi, 2, method=method) for method in (mc.Refine(), mc.VariableWidths()))
    >>> bool(several.relative_error < 0.1 * one.relative_error), several.expansion.points.shape
    (True, (2, 2))
    """

    max_iter: int = 200

    def require(self, psi):
        """Raise a TypeError unless psi has widths, or is over rows and a Gaussian kernel to which the start applies."""
        if type(psi.kernel) is VariableWidthGaussian:
            return
        if type(psi.kernel) is not Gaussian:
            raise TypeError(
                f"VariableWidths needs a Gaussian kernel, got {shown(psi.kernel)}; use method='refine'."
            )
        require_new_points(self, psi)
        self.start.require(psi)

    def embed(self, psi: Expansion) -> Expansion:
        """Return psi over the kernel of the reduced set."""
        if type(psi.kernel) is VariableWidthGaussian:
            return psi
        points = dense(psi.points)
        return Expansion(VariableWidthGaussian(psi.kernel.gamma, points.shape[1]), points, psi.coef)

    def find(self, target, n_vectors, tol):
        """Yield the sets of the refined start, or of points of psi that has widths, then the last with other widths."""
        kernel = target.kernel
        start = (
            self.start
            if isinstance(self.start, Refine)
            else Refine(self.start, self.max_iter, self.tol)
        )
        from_set = target
        if plain_rows(kernel, target.psi.prepared) is None:
            start = Greedy()
        else:
            rows = target.points[:, :-1]
            from_set = Target(Expansion(Gaussian(kernel.gamma), rows, target.coef))
        last = None
        for stage in start.find(from_set, n_vectors, tol):
            points = kernel.admit(np.asarray(take_points(stage.points, stage.rows)), "points")
            last = whole(points)
            yield last
        if last is not None:
            descent = _descent(target, last.points)
            try:
                descent.run(self.max_iter, self.tol)
            finally:
                # also the best so far when interrupted
                widths = np.sqrt(0.25 / kernel.gamma * (1 + np.exp(descent.points[:, -1:])))
                last = whole(np.hstack([descent.points[:, :-1], widths]))
            yield last


def _descent(target, points):
    """Return the descent over points and the logarithms u of their widths."""
    square = 0.5 / target.kernel.gamma
    coef = target.coef * np.sqrt(target.kernel.diag(target.points))[:, None]
    captured = CapturedByWidths(target.points, coef, square)

    def objective(moved):
        rise = square / 2 * np.exp(moved[:, -1])
        value, in_points, in_squares = captured(moved[:, :-1], square / 2 + rise)
        return value, np.column_stack([in_points, in_squares * rise])

    # the square of a feature is cosh(u / 2)^d: beside large ones, small ones count as dependent
    largest = np.clip(1e-3 / (len(points) * target.eps), 2, 1e6)
    most = 2 * np.arccosh(largest ** (1 / target.kernel.n_features))
    bounds = np.full((2, *points.shape), np.inf) * [[[-1.0]], [[1.0]]]
    bounds[:, :, -1] = [[max(_WIDTHS[0], -most)], [min(_WIDTHS[1], most)]]
    logs = np.log(2 * points[:, -1] ** 2 / square - 1).clip(*bounds[:, 0, -1])
    scale = np.append(np.full(points.shape[1] - 1, square**0.5), 1.0) / _term_sizes(target, points)
    start = np.column_stack([points[:, :-1], logs])
    return Descent(objective, start, scale, target.squares.sum(), tuple(bounds))


class CapturedByWidths:
    r"""Minus the squared norm of the projection of psi onto Gaussian functions of squared widths A, scaled to length 1.

    So are those of the points of psi, with their widths in the last column; ``coef`` are the coefficients of these.

    The inner products of scaled functions are
    :math:`((2 A - v)(2 B - v))^{d/4} \, t^{-d/2} \exp(-|x - z|^2 / (2 t))`, with t = A + B - v and the squared width v
    of the space: they are at most 1, in any dimension.
    """

    points: Array
    coef: Array
    v: float

    def __init__(self, points: Array, coef: Array, square: float) -> None:
        self.points = points[:, :-1]
        self.coef = as_float64(coef)
        self.v = square
        self.own: Array = points[:, -1] ** 2

    def __call__(self, Z: Array, A: Array) -> tuple[float, Array, Array]:
        """Return the value and its gradients in points Z (s, d) and squared widths A (s,)."""
        K, inner = self._values(Z, A, Z, A)
        P, across = self._values(Z, A, self.points, self.own)
        K[np.diag_indices_from(K)] = 1 + RIDGE
        B = P @ self.coef
        C = _solve_symmetric(K, B)
        K[np.diag_indices_from(K)] = 1
        first = self._gradient(Z, A, self.points, P * (C @ self.coef.T), across)
        second = self._gradient(Z, A, Z, K * (C @ C.T), inner)
        return -np.einsum("ij,ij->", C, B), *(
            2 * (q - p) for p, q in zip(first, second, strict=True)
        )

    def _values(self, Z, A, X, B):
        """Return the inner products (s, n), with t and the squared distances."""
        d = Z.shape[1]
        v = self.v
        t = A[:, None] + B - v
        centre = self.points.mean(axis=0)
        Z = Z - centre
        X = X - centre
        s = np.maximum(np.sum(Z * Z, axis=1)[:, None] + np.sum(X * X, axis=1) - 2 * (Z @ X.T), 0)
        logs = (
            d / 4 * (np.log(2 * A - v)[:, None] + np.log(2 * B - v))
            - d / 2 * np.log(t)
            - s / (2 * t)
        )
        return np.exp(logs), (t, s)

    def _gradient(self, Z, A, X, Q, parts):
        """Return the gradients in Z and A of the sum of weights times inner products, whose products are Q."""
        t, s = parts
        d = Z.shape[1]
        R = Q / t
        in_points = R @ X - R.sum(axis=1)[:, None] * Z
        in_squares = np.sum(
            Q * (d / 2 * (1 / (2 * A - self.v)[:, None] - 1 / t) + s / (2 * t * t)), axis=1
        )
        return in_points, in_squares
