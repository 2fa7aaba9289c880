"""Pre-images under any differentiable kernel by quasi-Newton descent of many points at once."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_integer, check_number, check_positive
from mercer.preimages.descent import Descent, Elsewhere
from mercer.preimages.objective import Distance

# Sufficient decrease of Armijo's rule, and the curvature below which a pair of steps is not remembered.
_ARMIJO, _CURVATURE = 1e-4, 1e-10


@dataclass(frozen=True)
class Gradient:
    """Limited-memory quasi-Newton descent (L-BFGS) of |psi - phi(z)|^2 = k(z, z) - 2 <psi, phi(z)> + |psi|^2.

    Every point has its own memory and its own backtracking line search, and all are evaluated together. Where the
    kernel takes no negative numbers, as those of histograms, steps end at 0, and what counts is the gradient without
    the coordinates that it would push below.

    Parameters
    ----------
    max_iter : int
        Trials per point, restarts included.
    tol : float
        A point has converged when the gradient times the spread of the points of psi is at most ``tol`` times
        |psi| max(|psi|, |phi(start)|); for a ray, |psi|^2.
    restarts : int
        Points of psi to start from where the objective is flat and psi out of reach, nearest in feature space first.
    pull : float
        Weight lambda of lambda |z - start|^2 added to the objective, at least 0.
    memory : int
        Steps remembered per point.

    References
    ----------
    Nocedal, Wright, *Numerical optimization*, 2nd edition (2006), algorithm 7.4;
    Abrahamsen, Hansen, *Input space regularization stabilizes pre-images for kernel PCA de-noising*, MLSP 2009.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.gradient import Gradient
    >>> phi = mc.features(mc.Polynomial(2), np.array([[1.0, 2.0]]))
    >>> Gradient().find(phi, np.array([[0.5, 0.5]])).points.round(4)
    array([[1., 2.]])
    """

    max_iter: int = 500
    tol: float = 1e-6
    restarts: int = 3
    pull: float = 0.0
    memory: int = 8

    def __post_init__(self):
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_integer("restarts", self.restarts, least=0)
        check_number("pull", self.pull)
        check_integer("memory", self.memory)
        if self.pull < 0:
            raise ValueError(f"pull = {self.pull!r} must be at least 0.")

    def require(self, kernel):
        """Raise a TypeError unless the kernel has a gradient."""
        if not kernel.tags.differentiable:
            raise TypeError(f"Gradient needs a kernel with a gradient, got {kernel!r}. Use method='learned'.")

    def find(self, psi, start):
        """Return a point for every vector; O(n d) per trial and point, m d (2 memory) numbers kept."""
        return self.minimise(Distance(psi, self.pull, start), psi, start)

    def minimise(self, objective, psi, start):
        """Return points where an objective of psi and z is stationary.

        Parameters
        ----------
        objective : callable
            ``objective(z, columns)`` returns values, gradients, and whether psi is felt there; ``width`` is the spread
            of the points and ``size(start)`` that of the values.
        psi : Expansion
        start : array (m, d)

        Returns
        -------
        Found
        """
        width, threshold = objective.width, self.tol * objective.size(start) / objective.width
        floor = 0.0 if psi.kernel.tags.nonnegative else -np.inf
        rule = _LimitedMemory(start, self.memory, width, psi.prepared.container.mean(axis=0), floor)
        elsewhere = Elsewhere(psi, start, self.restarts)

        def bounded(z, columns):
            values, gradient, felt = objective(z, columns)
            return values, np.where((z <= floor) & (gradient > 0), 0.0, gradient), felt

        return Descent(bounded, rule, start, threshold, elsewhere).run(self.max_iter)


class _LimitedMemory:
    """Propose z + t p, p the quasi-Newton direction by the two-loop recursion, t halved after each failure.

    No coordinate goes below the floor: the step is cut off there.
    """

    def __init__(self, start, memory, width, centre, floor):
        self.steps, self.changes = (np.zeros((memory, *start.shape)) for _ in range(2))
        self.inverse = np.zeros((memory, len(start)))
        self.scale = np.zeros(len(start))
        self.width, self.centre, self.floor = width, np.asarray(centre).ravel(), floor

    def propose(self, rows, z, v, level):
        direction = self._direction(rows, v)
        direction[(z <= self.floor) & (direction < 0)] = 0
        slope = _dot(direction, v)
        uphill = ~(slope < 0)
        direction[uphill] = -v[uphill]
        # no farther than the data are wide, or the point is from them: beyond, values may overflow
        farthest = np.maximum(self.width, np.linalg.norm(z - self.centre, axis=1))
        length = np.maximum(np.linalg.norm(direction, axis=1), np.finfo(float).tiny)
        t = np.minimum(1, farthest / length) * 0.5**level
        full = t[:, None] * direction
        step = np.maximum(full, self.floor - z)
        # what was learned off the floor misleads on it
        self.forget(rows[(step > full).any(axis=1)])
        return z + step, np.maximum(0, -_ARMIJO * _dot(step, v))

    def _direction(self, rows, gradient):
        steps, changes, inverse = self.steps[:, rows], self.changes[:, rows], self.inverse[:, rows]
        q, shares = gradient.copy(), np.zeros(inverse.shape)
        for i in reversed(range(len(steps))):
            shares[i] = inverse[i] * _dot(steps[i], q)
            q -= shares[i][:, None] * changes[i]
        first = 0.1 * self.width / np.maximum(np.linalg.norm(gradient, axis=1), np.finfo(float).tiny)
        q *= np.where(self.scale[rows] > 0, self.scale[rows], first)[:, None]
        for i in range(len(steps)):
            q += (shares[i] - inverse[i] * _dot(changes[i], q))[:, None] * steps[i]
        return -q

    def accept(self, rows, moved, before, after):
        change = after - before
        curvature, size = _dot(moved, change), _dot(change, change)
        useful = curvature > _CURVATURE * np.sqrt(size * _dot(moved, moved))
        rows, moved, change, curvature = rows[useful], moved[useful], change[useful], curvature[useful]
        for memory, latest in ((self.steps, moved), (self.changes, change), (self.inverse, 1 / curvature)):
            memory[:-1, rows] = memory[1:, rows]
            memory[-1, rows] = latest
        self.scale[rows] = curvature / size[useful]

    def forget(self, rows):
        self.inverse[:, rows], self.scale[rows] = 0, 0


def _dot(a, b):
    return np.einsum("ij,ij->i", a, b)
