"""Pre-images under radial kernels by a fixed-point iteration on weighted means (Mika et al. 1999)."""

from typing import Any

import numpy as np

from mercer._common import EPS, ROUNDING, TINY, AnyFunction, Array, record, shown
from mercer._compute.array import tiles
from mercer._compute.points import Points
from mercer._compute.register import storable
from mercer._compute.tile import Tile
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.forms import evaluate_form, flat_kernel, form_of
from mercer.preimages.base import Found, behind_maps
from mercer.preimages.descent import Descent, Iterative, Restarts, row_dot, spread, weights


@storable
@record
class FixedPoint(Iterative):
    r"""Fixed-point iteration for radial kernels k(x, z) = k(|x - z|^2).

    Where |psi - phi(z)|^2 is stationary, z is a weighted mean of the points of psi,

    .. math:: z = \frac{\sum_i c_i k'(|z - x_i|^2) x_i}{\sum_i c_i k'(|z - x_i|^2)},

    whose denominator is proportional to <psi, phi(z)> for the Gaussian kernel. Steps are extrapolated by the secant
    rule of Aitken and Anderson; a step that does not lower the distance is replaced by the plain step, and then
    halved.

    Parameters
    ----------
    max_iter : int
        Trials per point, including those after restarts.
    tol : float
        A point has converged when the plain step is at most ``tol`` times the spread of the points of psi.
    restarts : int
        Number of new starts, at the nearest points of psi in feature space, where the denominator is near zero or
        negative.
    pull : float
        Weight lambda of the term lambda |z - start|^2 added to the objective; at least 0.
    starts : int
        Number of points of psi, the nearest in feature space, to start from where `preimage` gets no ``start``; the
        result of the smallest distance is returned.
    normalise : bool
        Scale psi to the sphere of the features, |psi|^2 = k(z, z), first; without ``pull`` this changes no minimum.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch, *Kernel PCA and de-noising in feature spaces*, NIPS 11 (1999),
    eq. (10);
    Arias, Randall, Sapiro, *Connecting the out-of-sample and pre-image problems in kernel methods*, CVPR 2007;
    Abrahamsen, Hansen, *Input space regularization stabilizes pre-images for kernel PCA de-noising*, MLSP 2009;
    Vardi, Zhang, *The multivariate L1-median and associated data depth*, PNAS 97 (2000), for kernels with a kink.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.fixed_point import FixedPoint
    >>> phi = mc.features(mc.Gaussian(0.25), np.array([[-1.0], [1.0]]))
    >>> found = FixedPoint().find(mc.mean(phi), np.array([[0.6]]))
    >>> np.abs(found.points).max() < 1e-3
    np.True_
    """

    normalise: bool = False

    def require(self, kernel: Kernel) -> None:
        """Raise a TypeError unless the kernel is radial, or radial behind a linear map."""
        if form_of(flat_kernel(kernel)) != "radial":
            raise TypeError(
                f"FixedPoint needs a Radial kernel, such as Gaussian or Matern, or a multiple, power, sum or product "
                f"of Radial kernels; got {shown(kernel)}. Use method='gradient'."
            )

    @behind_maps
    def find(self, psi: Expansion, start: Array) -> Found:
        """Return a point for every vector; O(n d) per trial and point."""
        scale = spread(psi)
        if self.normalise:
            psi = normalised(psi)
        return self.follow(_WeightedMean(psi, self.pull, start, scale), psi, start, scale)

    def follow(self, mean: AnyFunction, psi: Expansion, start: Array, scale: float) -> Found:
        """Return fixed points of a weighted mean.

        Parameters
        ----------
        mean : callable
            ``mean(z, columns)`` returns values to minimise, the steps from z to the mean, and whether these are valid.
        psi : Expansion
            Its points are the new starts where a step is not valid.
        start : array (m, d)
        scale : float
            The spread of the points.

        Returns
        -------
        Found
        """
        tolerance = np.full(len(start), self.tol * scale)
        restart = Restarts(psi, start, self.restarts)
        return Descent(mean, _Secant(start.shape, scale), start, tolerance, restart).run(
            self.max_iter
        )


def normalised(psi: Expansion) -> Any:
    """Return vectors of a radial kernel scaled to the norm of its features; a vector 0 stays 0."""
    norms = psi.norms()
    return psi * (np.sqrt(psi.kernel.diag(psi.points[:1])) / np.where(norms > 0, norms, 1))


class _WeightedMean:
    """Objective k(0) - 2 <psi, phi(z)> + pull |z - anchor|^2 and the step from z to the weighted mean."""

    def __init__(self, psi: Expansion, pull: float, anchor: Array, scale: float) -> None:
        self.psi = psi
        self.pull = pull
        self.anchor = anchor
        # pairs with such a squared distance coincide, for kernels with a kink
        self.touching = ROUNDING * scale**2
        # k decreases as kink |x - z| at x = z; 0 for smooth kernels, whose derivative in |x - z|^2 is finite there
        near = np.array([0.0, 1e-8 * self.touching])
        slope = evaluate_form(self.psi.kernel, near, order=1)
        self.kink = 0.0 if np.isfinite(slope[0]) else 2 * np.sqrt(near[1]) * abs(slope[1])
        self.top = evaluate_form(self.psi.kernel, np.zeros(1))[0]

    def __call__(self, z: Array, columns: Array) -> tuple[Array, ...]:
        parts = [
            self._tile(tile, z[rows], columns[rows])
            for rows, tile in tiles(Points(z), self.psi.prepared)
        ]
        return tuple(np.concatenate(each) for each in zip(*parts, strict=True))

    def _tile(self, tile, z, columns):
        W = weights(self.psi, columns)
        inner = row_dot(W, evaluate_form(self.psi.kernel, tile.sqdist))
        Q = evaluate_form(self.psi.kernel, tile.sqdist, order=1)
        barrier = self._barrier(tile, W, Q)
        Q *= W
        pulled, total, size = weighted_sums(tile, Q)
        offset = z - self.anchor[columns]
        # minus half the gradient, and the denominator of the weighted mean
        force = 2 * pulled - self.pull * offset
        denominator = self.pull - 2 * total
        weight = self.pull + 2 * size
        value = self.top - 2 * inner + self.pull * row_dot(offset, offset)
        return value, *steps(force, denominator, weight, barrier)

    def _barrier(self, tile, W, Q):
        """Set pairs at a kink to 0 in Q, and return the slope of the objective away from the kink (r,)."""
        if not self.kink:
            return np.zeros(len(Q))
        touching = tile.sqdist <= self.touching
        Q[touching] = 0
        return self.kink * row_dot(touching, W)


def weighted_sums(tile: Tile, Q: Array) -> tuple[Array, Array, Array]:
    """Return the sums over j of Q_ij (x_i - z_j), of Q_ij, and of its absolute values, which overwrite it."""
    X, Z = tile.centred
    total = Q.sum(axis=1)
    return total[:, None] * X - Q @ Z, total, np.abs(Q, out=Q).sum(axis=1)


def steps(force: Array, denominator: Array, weight: Array, barrier: Array) -> tuple[Array, Array]:
    """Return the steps to weighted means (r, d), and whether these are more than rounding (r,).

    ``force`` is minus half the gradient, ``denominator`` and ``weight`` are the sums of the weights and of their
    absolute values, ``barrier`` is the slope of the objective away from a kink at z, 0 elsewhere.
    """
    strength = np.linalg.norm(force, axis=1)
    at_kink = barrier > 0
    held = at_kink & (strength <= barrier)
    # below this share of the sum of absolute weights it is rounding
    near_zero = (denominator <= EPS**0.5 * weight) | (denominator < TINY)
    # any short step away from a kink is enough: the weight of that point is finite again afterwards
    denominator = np.where(near_zero, np.where(at_kink & (weight > 0), weight, np.inf), denominator)
    # 0 where the kink holds z
    share = 1 - np.maximum(barrier, 0) / np.maximum(np.maximum(strength, barrier), TINY)
    return force * (share / denominator)[:, None], held | np.isfinite(denominator)


class _Secant:
    """Step rule z + v, first extrapolated by the last two steps, then plain, then halved after each failure."""

    def __init__(self, shape: tuple[int, int], scale: float) -> None:
        self.moved = np.zeros(shape)
        self.before = np.zeros(shape)
        self.known = np.zeros(shape[0], bool)
        self.farthest = scale / 2

    def propose(self, rows: Array, z: Array, v: Array, failures: Array) -> tuple[Array, float]:
        known = self.known[rows]
        step = v * 0.5 ** np.maximum(failures - known, 0)[:, None]
        first = np.flatnonzero(known & (failures == 0))
        step[first] = self._extrapolated(rows[first], v[first])
        return z + step, 0.0

    def _extrapolated(self, rows, v):
        change = v - self.before[rows]
        share = row_dot(v, change) / np.maximum(row_dot(change, change), TINY)
        step = v - share[:, None] * (self.moved[rows] + change)
        length = np.linalg.norm(step, axis=1)
        plain = np.linalg.norm(v, axis=1)
        step *= np.minimum(1, np.maximum(self.farthest, plain) / np.maximum(length, TINY))[:, None]
        return np.where((row_dot(step, v) > 0)[:, None], step, v)

    def accept(self, rows: Array, moved: Array, before: Array, after: Array) -> None:
        self.moved[rows] = moved
        self.before[rows] = before
        self.known[rows] = True

    def forget(self, rows: Any) -> None:
        self.known[rows] = False
