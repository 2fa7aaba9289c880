"""Construction of new points, one after the other, each the ray pre-image of what is left."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_integer, check_positive
from mercer._compute.memory import parse_memory, require_memory
from mercer._compute.threads import serial_blas
from mercer.expansion import Expansion
from mercer.kernels.radial import Radial
from mercer.preimages.descent import dense_rows
from mercer.preimages.fixed_point import FixedPoint
from mercer.preimages.gradient import Gradient
from mercer.reduction.base import Stage, over_rows
from mercer.reduction.residual import Residual, ResidualMean, smooth
from mercer.reduction.span import Span

# A feature that lies in the span of the others up to this share of its square is one of them over again.
_DUPLICATE = 1e-8
# A gain below this share of all squares is rounding.
_NOTHING = 1e-15


@dataclass(frozen=True)
class Construct:
    r"""New points one at a time, each where the residuals have the nearest ray, all coefficients made best again.

    .. math:: z_{s+1} = \arg\max_z \sum_j \frac{\langle \psi_j - \psi'_j, \phi(z) \rangle^2}{k(z, z)}

    by ascent from the points of psi with the largest such quotient: by fixed point for smooth radial kernels, by
    quasi-Newton steps for other kernels with a gradient. Only steps that raise the quotient are taken, so that every
    new vector lowers the error. Of the points found, that one is taken which lowers the error most.

    Parameters
    ----------
    starts : int
        Points of psi to start from, for every new vector.
    max_iter : int
        Trials per start.
    tol : float
        A point has converged when the step, or the gradient where that is followed, is at most ``tol`` times the spread
        of the points of psi.
    memory : str or int
        Bytes for n s numbers in float32, which rank the points of psi as starts.

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

    def __post_init__(self):
        check_integer("starts", self.starts)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        parse_memory(self.memory)

    def require(self, psi):
        """Raise a TypeError unless psi is over rows of numbers and its kernel has a gradient."""
        require_gradient(self, psi)

    def find(self, target, n_vectors, tol):  # noqa: ARG002
        """Yield sets that grow by one point; the cost is stated above."""
        psi, total, run = target.psi, target.squares.sum(), _Growth(target, n_vectors, self.memory)
        radial = isinstance(psi.kernel, Radial) and smooth(psi.kernel)
        options = {"max_iter": self.max_iter, "tol": self.tol, "restarts": 0}
        for size in range(n_vectors):
            with serial_blas():
                start, chi = dense_rows(psi, run.steepest(self.starts)), run.approximation()
                if radial:
                    residual = ResidualMean(psi, chi, total)
                    found = FixedPoint(**options).follow(residual, psi, start, residual.width)
                else:
                    residual = Residual(psi, chi, total)
                    found = Gradient(**options).minimise(residual, psi, start)
                if not run.add(residual, found.points):
                    return
            yield Stage(run.pool, run.rows[: size + 1])


class _Growth:
    """A set of new points with their span, and the residuals at all points of psi."""

    def __init__(self, target, n_vectors, memory):
        self.target, self.span = target, Span(target)
        self.pool, self.rows = np.empty((n_vectors, target.points.shape[1])), np.arange(n_vectors)
        self.left = target.values.copy()
        self.squares = target.kernel.diag(target.points)
        # the basis at the points of psi serves only to rank them
        self.basis, self.memory = np.empty((0, len(self.left)), np.float32), memory
        self.size = 0

    def approximation(self):
        """Return psi' as an expansion, None while there is no point."""
        if not self.size:
            return None
        return Expansion(self.target.kernel, self.pool[: self.size], self.span.coefficients())

    def steepest(self, count):
        """Return the points of psi with the largest sum_j <rho_j, phi(x)>^2 / k(x, x), the largest first."""
        quotient = np.einsum("ij,ij->i", self.left, self.left) / np.where(self.squares > 0, self.squares, np.inf)
        return np.argsort(-quotient, kind="stable")[:count]

    def add(self, residual, points):
        """Add the point that lowers the error most; return False if none of them does."""
        T, S = self.span.project(points)
        own, apart = np.einsum("ij,ij->j", T, T) + S.diagonal(), S.diagonal()
        new = (own > 0) & (apart > _DUPLICATE * own)
        taken = np.where(new[:, None], residual.inner(points) ** 2, 0) / np.where(new, apart, 1)[:, None]
        left = self.span.residuals()
        # under an indefinite kernel more can be taken away than there is
        gain = np.abs(left).sum() - np.abs(left - taken).sum(axis=1)
        best = int(np.argmax(gain))
        if not gain[best] > _NOTHING * residual.squares:
            return False
        z = points[best : best + 1]
        before = len(self.span.kept)
        self.span.add(z)
        if len(self.span.kept) == before:
            return False
        self.pool[self.size] = z
        self._reserve()
        pivot = self.span.factor[-1, -1]
        column = self.target.kernel(z, self.target.points)[0] - T[:, best] @ self.basis[: self.size]
        self.basis[self.size] = column / pivot
        self.left -= self.basis[self.size][:, None] * self.span.coordinates[-1]
        self.size += 1
        return True

    def _reserve(self):
        """Make room for one more row of the basis."""
        have, n = self.basis.shape
        if self.size < have:
            return
        size = min(len(self.pool), max(64, 2 * have))
        require_memory(
            4 * size * n,
            self.memory,
            f"the basis of {size} vectors at {n} points",
            "Pivoted(), fewer n_vectors, or a larger memory= of Construct",
        )
        basis = np.empty((size, n), np.float32)
        basis[:have], self.basis = self.basis, basis


def require_gradient(method, psi):
    """Raise a TypeError unless new points can be looked for: rows of numbers, and a kernel with a gradient.

    Parameters
    ----------
    method : Method
        Named in the message.
    psi : Expansion
    """
    name, kernel = type(method).__name__, psi.kernel
    if not over_rows(psi):
        kind = "indices of a given matrix" if kernel.tags.points == "indices" else f"a {type(psi.points).__name__}"
        raise TypeError(
            f"{name} makes new rows of numbers, and psi is over {kind}; a selection, such as method='greedy', keeps "
            "some of the points of psi."
        )
    if not kernel.tags.differentiable:
        raise TypeError(
            f"{name} needs a kernel with a gradient, got {kernel!r}; a selection, such as method='greedy', needs none."
        )
