"""Pre-images under any differentiable kernel by quasi-Newton descent of many points at once."""

import numpy as np

from mercer._common import EPS, TINY, AnyFunction, Array, check_integer, record
from mercer._compute.register import storable
from mercer.expansion import Expansion, rows_of
from mercer.kernels.base import Kernel, require_gradient
from mercer.kernels.direct_sum import kernel_of_data
from mercer.preimages.base import Found
from mercer.preimages.descent import Descent, Distance, Iterative, Restarts, row_dot

# Sufficient decrease of Armijo's rule.
_ARMIJO = 1e-4


@storable
@record
class Gradient(Iterative):
    """Limited-memory quasi-Newton descent (L-BFGS) of |psi - phi(z)|^2 = k(z, z) - 2 <psi, phi(z)> + |psi|^2.

    Every point has its own memory and backtracking line search; all points are evaluated together. For kernels on
    non-negative data, such as histograms, coordinates are bounded below by 0 (projected steps and gradients).

    Parameters
    ----------
    max_iter : int
        Trials per point, including those after restarts.
    tol : float
        A point has converged when the gradient times the spread of the points of psi is at most ``tol`` times
        |psi| max(|psi|, |phi(start)|), or |psi| |phi(start)| where k(z, z) is constant; for a ray, |psi|^2.
    restarts : int
        Number of new starts, at the nearest points of psi in feature space, where the objective is flat.
    pull : float
        Weight lambda of the term lambda |z - start|^2 added to the objective; at least 0.
    starts : int
        Number of points of psi, the nearest in feature space, to start from where `preimage` gets no ``start``; the
        result of the smallest distance is returned.
    memory : int
        Steps stored per point.

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

    memory: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("memory", self.memory)

    def require(self, kernel: Kernel) -> None:
        """Raise a TypeError unless the kernel has a gradient."""
        require_gradient(kernel_of_data(kernel), "Gradient", "use method='learned'")

    def find(self, psi: Expansion, start: Array) -> Found:
        """Return a point for every vector; O(n d) per trial and point, with 2 m d memory numbers stored."""
        return self.minimise(Distance(psi, self.pull, start), psi, start)

    def minimise(self, objective: AnyFunction, psi: Expansion, start: Array) -> Found:
        """Return points where an objective is stationary.

        Parameters
        ----------
        objective : callable
            ``objective(z, columns)`` returns values, gradients, and whether psi has an influence there; ``width`` is
            the spread of the points and ``size(start)`` the size of the values.
        psi : Expansion
        start : array (m, d)

        Returns
        -------
        Found
        """
        width = objective.width
        tolerance = self.tol * objective.size(start) / objective.width
        floor = 0.0 if psi.kernel.tags.nonnegative else -np.inf
        rule = _LimitedMemory(
            start,
            min(self.memory, self.max_iter),
            width,
            rows_of(psi).mean(axis=0),
            floor,
        )

        def bounded(z, columns):
            values, gradient, valid = objective(z, columns)
            return values, np.where((z <= floor) & (gradient > 0), 0.0, gradient), valid

        return Descent(bounded, rule, start, tolerance, Restarts(psi, start, self.restarts)).run(
            self.max_iter
        )


class _LimitedMemory:
    """Step rule z + t p, with p the L-BFGS direction (two-loop recursion) and t halved after each failure.

    Steps are cut so that no coordinate falls below the floor.
    """

    def __init__(
        self, start: Array, memory: int, width: float, centre: Array, floor: float
    ) -> None:
        self.steps, self.changes = (np.zeros((memory, *start.shape)) for _ in range(2))
        self.inverse = np.zeros((memory, len(start)))
        self.scale = np.zeros(len(start))
        self.width = width
        self.centre = np.asarray(centre).ravel()
        self.floor = floor

    def propose(self, rows: Array, z: Array, v: Array, failures: Array) -> tuple[Array, Array]:
        direction = self._direction(rows, v)
        direction[(z <= self.floor) & (direction < 0)] = 0
        slope = row_dot(direction, v)
        uphill = ~(slope < 0)
        direction[uphill] = -v[uphill]
        # longer steps than the spread of the data, or the distance to their mean, may overflow
        farthest = np.maximum(self.width, np.linalg.norm(z - self.centre, axis=1))
        length = np.maximum(np.linalg.norm(direction, axis=1), TINY)
        t = np.minimum(1, farthest / length) * 0.5**failures
        full = t[:, None] * direction
        step = np.maximum(full, self.floor - z)
        # the curvature changes where a coordinate reaches the floor
        self.forget(rows[(step > full).any(axis=1)])
        return z + step, np.maximum(0, -_ARMIJO * row_dot(step, v))

    def _direction(self, rows, gradient):
        steps = self.steps[:, rows]
        changes = self.changes[:, rows]
        inverse = self.inverse[:, rows]
        q = gradient.copy()
        shares = np.zeros(inverse.shape)
        for i in reversed(range(len(steps))):
            shares[i] = inverse[i] * row_dot(steps[i], q)
            q -= shares[i][:, None] * changes[i]
        first = 0.1 * self.width / np.maximum(np.linalg.norm(gradient, axis=1), TINY)
        q *= np.where(self.scale[rows] > 0, self.scale[rows], first)[:, None]
        for i in range(len(steps)):
            q += (shares[i] - inverse[i] * row_dot(changes[i], q))[:, None] * steps[i]
        return -q

    def accept(self, rows: Array, moved: Array, before: Array, after: Array) -> None:
        change = after - before
        curvature = row_dot(moved, change)
        size = row_dot(change, change)
        # a pair whose curvature is rounding is not stored
        useful = curvature > EPS * np.sqrt(size * row_dot(moved, moved))
        rows = rows[useful]
        moved = moved[useful]
        change = change[useful]
        curvature = curvature[useful]
        for memory, latest in (
            (self.steps, moved),
            (self.changes, change),
            (self.inverse, 1 / curvature),
        ):
            memory[:-1, rows] = memory[1:, rows]
            memory[-1, rows] = latest
        self.scale[rows] = curvature / size[useful]

    def forget(self, rows: Array) -> None:
        self.inverse[:, rows] = 0
        self.scale[rows] = 0
