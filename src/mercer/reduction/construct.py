"""Construct: reduced set construction, one new point after another, each a one-term reduced set of the residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._common import EPS, ROUNDING, Array, Memory, check_integer, check_positive, record
from mercer._compute.array import tiles
from mercer._compute.memory import parse_memory, require_memory
from mercer._compute.points import Points, sum_squares
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.forms import evaluate_form, form_of
from mercer.preimages.descent import dense_rows, quotients, row_dot, spread
from mercer.preimages.fixed_point import FixedPoint, steps, weighted_sums
from mercer.preimages.gradient import Gradient
from mercer.reduction.base import Method, Stage, Target, require_new_points
from mercer.reduction.trace import Span


@record
class Construct(Method):
    r"""Reduced set construction (RSC): new points one at a time, with the best coefficients after each.

    Each point is the one-term reduced set of the residuals of all columns,

    .. math:: z_{s+1} = \arg\max_z \sum_j \frac{\langle \psi_j - \psi'_j, \phi(z) \rangle^2}{k(z, z)}

    found by ascent from the points of psi with the largest quotient: by the fixed-point iteration for smooth radial
    kernels, by quasi-Newton steps for other kernels with a gradient. Only steps that raise the quotient are accepted,
    so every new vector lowers the error. Of the points found from all starts, the one that lowers the error most is
    used.

    Parameters
    ----------
    starts : int
        Number of points of psi to start from, for every new vector.
    max_iter : int
        Trials per start.
    tol : float
        A point has converged when the step (for quasi-Newton steps, the scaled gradient) is at most ``tol`` times the
        spread of the points of psi.
    memory : str or int
        Memory limit for n s numbers in float32, from which the starts are determined.

    Notes
    -----
    O(n (d + m)) per trial and start and O(n s) per vector.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-D;
    Burges, *Simplified support vector decision rules*, ICML 1996.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[0.0], [0.1], [3.0], [3.1]])
    >>> answer = mc.reduce(mc.mean(mc.features(mc.Gaussian(1.0), X)), 2, method=mc.Construct(starts=2))
    >>> np.sort(answer.expansion.points, axis=0).round(2).ravel(), answer.relative_error < 1e-2
    (array([0.05, 3.05]), array([ True]))
    """

    starts: int = 4
    max_iter: int = 50
    tol: float = 1e-2
    memory: str | int = "1GB"

    def __post_init__(self) -> None:
        check_integer("starts", self.starts)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        parse_memory(self.memory)

    def require(self, psi):
        """Raise a TypeError unless psi is over rows of numbers and its kernel has a gradient."""
        require_new_points(self, psi)

    def find(self, target, n_vectors, tol):
        """Yield sets that grow by one point."""
        psi = target.psi
        total = target.squares.sum()
        run = _Growth(target, n_vectors, self.memory)
        radial = form_of(psi.kernel) == "radial" and smooth(psi.kernel)
        options = {"max_iter": self.max_iter, "tol": self.tol, "restarts": 0}
        for size in range(n_vectors):
            start = dense_rows(psi, run.best_starts(self.starts))
            chi = run.approximation()
            if radial:
                residual = ResidualMean(psi, chi, total)
                found = FixedPoint(**options).follow(residual, psi, start, residual.width)
            else:
                residual = Residual(psi, chi, total)
                found = Gradient(**options).minimise(residual, psi, start)
            if not run.add(residual, found.points):
                return
            yield Stage(run.pool, np.arange(size + 1))


class _Growth:
    """A set of new points with their span, and the residuals at all points of psi."""

    def __init__(self, target: Target, n_vectors: int | float, memory: Memory) -> None:
        self.target = target
        self.span = Span(target)
        self.pool = np.empty((n_vectors, target.points.shape[1]))
        self.left = target.values.copy()
        self.squares = target.kernel.diag(target.points)
        # the orthonormal basis of the span, evaluated at the points of psi; its precision matters little
        self.basis = np.empty((0, len(self.left)), np.float32)
        self.memory = memory
        self.size = 0

    def approximation(self) -> Expansion | None:
        """Return psi' as an expansion, None before the first point."""
        if not self.size:
            return None
        return Expansion(self.target.kernel, self.pool[: self.size], self.span.coefficients())

    def best_starts(self, count: int) -> Array:
        """Return the points of psi with the largest sum_j <rho_j, phi(x)>^2 / k(x, x), the largest first."""
        captured = quotients(sum_squares(self.left), self.squares)
        return np.argsort(-captured, kind="stable")[:count]

    def add(self, residual: Residual, points: Array) -> bool:
        """Add the point that lowers the error most; return False if none does."""
        T, S = self.span.project(points)
        distance = S.diagonal()
        own = np.einsum("ij,ij->j", T, T) + distance
        # at a smaller squared distance to the span of the others, a feature is a duplicate
        new = (own > 0) & (distance > EPS**0.5 * own)
        captured = (
            np.where(new[:, None], residual.inner(points) ** 2, 0)
            / np.where(new, distance, 1)[:, None]
        )
        left = self.span.residuals
        # under an indefinite kernel the difference may be negative
        gain = np.abs(left).sum() - np.abs(left - captured).sum(axis=1)
        best = int(np.argmax(gain))
        if not gain[best] > EPS * residual.squares:
            return False
        z = points[best : best + 1]
        self.span.add(z)
        if len(self.span.kept) == self.size:
            return False
        self.pool[self.size] = z
        have, n = self.basis.shape
        if self.size == have:
            size = min(len(self.pool), max(64, 2 * have))
            require_memory(
                4 * size * n,
                self.memory,
                f"the basis of {size} vectors at {n} points",
                "Pivoted(), fewer n_vectors, or a larger memory= of Construct",
            )
            self.basis = np.pad(self.basis, ((0, size - have), (0, 0)))
        pivot = self.span.factor[-1, -1]
        column = self.target.kernel(z, self.target.points)[0] - T[:, best] @ self.basis[: self.size]
        self.basis[self.size] = column / pivot
        self.left -= self.basis[self.size][:, None] * self.span.coordinates[-1]
        self.size += 1
        return True


# --- objectives over one point: the part of the residuals that a feature captures -------------------------------------


class Residual:
    r"""f(z) = -sum_j <rho_j, phi(z)>^2 / k(z, z) of the residuals rho_j = psi_j - psi'_j, and its gradient in z.

    It is the sum of squared distances of the residuals to the line of phi(z), minus a constant (Schoelkopf et al.
    1999, sections V-A and V-D). ``chi`` is the approximation of psi or None, ``squares`` is sum_j |psi_j|^2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.construct import Residual
    >>> phi = mc.features(mc.Linear(), np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> Residual(phi, None, 26.0)(np.array([[0.0, 2.0]]), np.array([0]))[0]
    array([-17.])
    """

    kernel: Kernel
    squares: float

    def __init__(self, psi: Expansion, chi: Expansion | None, squares: float) -> None:
        self.kernel = psi.kernel
        self.squares = squares
        self.parts: list[Any] = [(psi.prepared, psi.dense_coef())]
        if chi is not None:
            self.parts.append((chi.prepared, -chi.coef))
        self.width: float = spread(psi)

    def size(self, start: Array) -> Array:
        """Return the size of the values (r,) for starts (r, d)."""
        return np.full(len(start), self.squares)

    def inner(self, z: Array) -> Any:
        """Return <rho_j, phi(z)> (r, m)."""
        return self._inner(self._tiles(Points(z)))

    def __call__(self, z: Array, columns: Array) -> tuple[Array, Array, Array]:  # noqa: ARG002
        """Return values (r,), gradients (r, d), and whether the value exceeds rounding (r,)."""
        kernel = self.kernel
        points = Points(z)
        parts = self._tiles(points)
        inner = self._inner(parts)
        squares = kernel.diagonal(points)
        # phi(z) has no direction where k(z, z) <= 0
        scale = quotients(inner, squares[:, None])
        values = row_dot(scale, inner)
        gradient = kernel.diagonal_gradient(points, sum_squares(scale))
        for tile, coef in parts:
            gradient -= 2 * kernel.gradient(tile, scale @ coef.T)
        return -values, gradient, (squares > 0) & (values > ROUNDING * self.squares)

    def _tiles(self, points):
        # one tile each, for the points are few
        return [(next(tiles(points, part))[1], coef) for part, coef in self.parts]

    def _inner(self, parts):
        return sum(self.kernel.evaluate(tile) @ coef for tile, coef in parts)


class ResidualMean(Residual):
    r"""The same objective for smooth radial kernels, with steps to the weighted mean instead of gradients.

    .. math:: z = \frac{\sum_i w_i k'(|z - x_i|^2) x_i}{\sum_i w_i k'(|z - x_i|^2)},
              \qquad w_i = \sum_j \langle \rho_j, \phi(z) \rangle C_{ij}

    over the points of psi and of its approximation. For the Gaussian kernel the denominator is proportional to the
    objective, so its sign is always right.
    """

    def __call__(self, z, columns):  # noqa: ARG002
        """Return values (r,), steps (r, d), and whether they are valid (r,)."""
        parts = self._tiles(Points(z))
        inner = self._inner(parts)
        values = sum_squares(inner)
        sums = []
        for tile, coef in parts:
            Q = evaluate_form(self.kernel, tile.sqdist, order=1)
            Q *= inner @ coef.T
            sums.append(weighted_sums(tile, Q))
        force, total, weight = map(sum, zip(*sums, strict=True))
        step, valid = steps(force, -total, weight, np.zeros(len(z)))
        top = evaluate_form(self.kernel, np.zeros(1))[0]
        return -values / top, step, valid & (values > ROUNDING * top * self.squares)


def smooth(kernel: Kernel) -> bool:
    """Return whether a radial kernel has a finite slope in |x - z|^2 at 0, as weighted means need."""
    return bool(np.isfinite(evaluate_form(kernel, np.zeros(1), order=1)[0]))
