"""Pre-images under radial kernels by the fixed-point iteration of a weighted mean."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_integer, check_number, check_positive
from mercer._compute.array import tiles
from mercer._compute.points import Points
from mercer._compute.tile import evaluate_profile
from mercer.kernels.radial import Radial
from mercer.preimages.descent import Descent, Elsewhere
from mercer.preimages.objective import spread, weights

# A denominator below this share of the sum of absolute weights is rounding, and the mean it divides is noise.
_CANCELLED = 1e-8
# Points this near to a point of psi, against the spread squared, are at it where the kernel has a kink there.
_TOUCHING = 1e-12


@dataclass(frozen=True)
class FixedPoint:
    r"""Fixed-point iteration for radial kernels k(x, z) = k(|x - z|^2).

    Where |psi - phi(z)|^2 is stationary, z is a weighted mean of the points of psi,

    .. math:: z = \frac{\sum_i c_i k'(|z - x_i|^2) x_i}{\sum_i c_i k'(|z - x_i|^2)},

    whose denominator is proportional to <psi, phi(z)> for the Gaussian kernel. Steps are extrapolated by the secant
    rule of Aitken and Anderson, taken plain where that does not lower the distance, halved where that does not either.

    Parameters
    ----------
    max_iter : int
        Trials per point, restarts included.
    tol : float
        A point has converged when the plain step is at most ``tol`` times the spread of the points of psi.
    restarts : int
        Points of psi to start from when the denominator is near zero or negative, nearest in feature space first.
    pull : float
        Weight lambda of lambda |z - start|^2 added to the objective, at least 0.
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

    max_iter: int = 500
    tol: float = 1e-6
    restarts: int = 3
    pull: float = 0.0
    normalise: bool = False

    def __post_init__(self):
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_integer("restarts", self.restarts, least=0)
        check_number("pull", self.pull)
        if self.pull < 0:
            raise ValueError(f"pull = {self.pull!r} must be at least 0.")

    def require(self, kernel):
        """Raise a TypeError unless the kernel is radial."""
        if not isinstance(kernel, Radial):
            raise TypeError(
                f"FixedPoint needs a Radial kernel, such as Gaussian or Matern; got {kernel!r}. Use method='gradient'."
            )

    def find(self, psi, start):
        """Return a point for every vector; O(n d) per trial and point."""
        scale = spread(psi)
        if self.normalise:
            psi = normalised(psi)
        return self.follow(_WeightedMean(psi, self.pull, start, scale), psi, start, scale)

    def follow(self, mean, psi, start, scale):
        """Return points that a weighted mean maps to themselves.

        Parameters
        ----------
        mean : callable
            ``mean(z, columns)`` returns values to be lowered, the steps from z to the mean, and whether these can be
            followed.
        psi : Expansion
            Whose points are started from anew where a step cannot be followed.
        start : array (m, d)
        scale : float
            The spread of the points.

        Returns
        -------
        Found
        """
        threshold = np.full(len(start), self.tol * scale)
        elsewhere = Elsewhere(psi, start, self.restarts)
        return Descent(mean, _Secant(start.shape, scale), start, threshold, elsewhere).run(self.max_iter)


def normalised(psi):
    """Return vectors of a radial kernel scaled to the norm of its features; a vector 0 stays what it is.

    Parameters
    ----------
    psi : Expansion

    Returns
    -------
    Expansion
    """
    norms = psi.norms()
    return psi * (np.sqrt(psi.kernel.diag(psi.points[:1])) / np.where(norms > 0, norms, 1))


class _WeightedMean:
    """Objective k(0) - 2 <psi, phi(z)> + pull |z - anchor|^2 and the step from z to the weighted mean."""

    def __init__(self, psi, pull, anchor, scale):
        self.psi, self.pull, self.anchor = psi, pull, anchor
        self.profile, self.numbers = psi.kernel.profile, psi.kernel.numbers()
        self.touching = _TOUCHING * scale**2
        # k falls as kink |x - z| at x = z; 0 for the smooth kernels, whose derivative in |x - z|^2 is finite there
        near = np.array([0.0, 1e-8 * self.touching])
        slope = evaluate_profile(self.profile, near, self.numbers, order=1)
        self.kink = 0.0 if np.isfinite(slope[0]) else 2 * np.sqrt(near[1]) * abs(slope[1])
        self.top = evaluate_profile(self.profile, np.zeros(1), self.numbers)[0]

    def __call__(self, z, columns):
        parts = [self._tile(tile, z[rows], columns[rows]) for rows, tile in tiles(Points(z), self.psi.prepared)]
        return tuple(np.concatenate(each) for each in zip(*parts, strict=True))

    def _tile(self, tile, z, columns):
        W = weights(self.psi, columns)
        inner = np.einsum("ij,ij->i", W, tile.radial(self.profile, self.numbers))
        Q = tile.radial(self.profile, self.numbers, order=1)
        grip = self._grip(tile, W, Q)
        Q *= W
        X, Z = tile.centred
        total = Q.sum(axis=1)
        apart = z - self.anchor[columns]
        # minus half the gradient, and the denominator of the weighted mean
        force = 2 * (total[:, None] * X - Q @ Z) - self.pull * apart
        denominator = self.pull - 2 * total
        weight = self.pull + 2 * np.abs(Q, out=Q).sum(axis=1)
        value = self.top - 2 * inner + self.pull * np.einsum("ij,ij->i", apart, apart)
        return value, *steps(force, denominator, weight, grip)

    def _grip(self, tile, W, Q):
        """Take the pairs at a kink out of Q, and return how steeply the objective rises from it on all sides (r,)."""
        if not self.kink:
            return np.zeros(len(Q))
        touching = tile.sqdist <= self.touching
        Q[touching] = 0
        return self.kink * np.einsum("ij,ij->i", touching, W)


def steps(force, denominator, weight, grip):
    """Return the steps to weighted means (r, d), and whether these are more than rounding (r,).

    Parameters
    ----------
    force : array (r, d)
        Minus half the gradient of the objective.
    denominator, weight : array (r,)
        Sum of the weights of the mean, and of their absolute values.
    grip : array (r,)
        How steeply the objective rises on all sides of a kink at z; 0 elsewhere.

    Returns
    -------
    array (r, d), array of bool (r,)
    """
    strength = np.linalg.norm(force, axis=1)
    at_kink = grip > 0
    held = at_kink & (strength <= grip)
    near_zero = (denominator <= _CANCELLED * weight) | (denominator < np.finfo(float).tiny)
    # away from a kink any short step serves, since the point that held it soon rules the mean again
    denominator = np.where(near_zero, np.where(at_kink & (weight > 0), weight, np.inf), denominator)
    share = np.where(held, 0, 1 - np.where(at_kink, grip, 0) / np.where(held | (strength == 0), 1, strength))
    return force * (share / denominator)[:, None], held | np.isfinite(denominator)


class _Secant:
    """Propose z + v, extrapolated by the last two steps at first, and halved after each failure."""

    def __init__(self, shape, scale):
        self.moved, self.before = np.zeros(shape), np.zeros(shape)
        self.known = np.zeros(shape[0], bool)
        self.farthest = scale / 2

    def propose(self, rows, z, v, level):
        known = self.known[rows]
        step = v * 0.5 ** np.maximum(level - known, 0)[:, None]
        first = np.flatnonzero(known & (level == 0))
        step[first] = self._extrapolated(rows[first], v[first])
        return z + step, 0.0

    def _extrapolated(self, rows, v):
        change = v - self.before[rows]
        share = _dot(v, change) / np.maximum(_dot(change, change), np.finfo(float).tiny)
        step = v - share[:, None] * (self.moved[rows] + change)
        length, plain = np.linalg.norm(step, axis=1), np.linalg.norm(v, axis=1)
        step *= np.minimum(1, np.maximum(self.farthest, plain) / np.maximum(length, np.finfo(float).tiny))[:, None]
        return np.where((_dot(step, v) > 0)[:, None], step, v)

    def accept(self, rows, moved, before, after):
        self.moved[rows], self.before[rows], self.known[rows] = moved, before, True

    def forget(self, rows):
        self.known[rows] = False


def _dot(a, b):
    return np.einsum("ij,ij->i", a, b)
