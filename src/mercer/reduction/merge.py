"""Merging: two points of an expansion replaced by the best one on the line between them, again and again."""

from dataclasses import dataclass

import numpy as np
import scipy.optimize

from mercer import _threads, _validate
from mercer._tiles import Side, Tile, evaluate
from mercer.kernels.radial import Radial
from mercer.preimages.descent import dense_rows
from mercer.reduction.base import Stage
from mercer.reduction.construct import require_gradient

# Sizes of the sets that are looked at fall by this factor at least: the error of each costs the cube of its size.
_RATIO = 0.93
_ROWS = 64


@dataclass(frozen=True)
class Merge:
    r"""Replace the pair of points that costs least by one point on the line between them, until few are left.

    With :math:`a_i, a_j` the coefficients of the pair (m columns) and :math:`z = h x_i + (1 - h) x_j`, the part of
    :math:`a_i \phi(x_i) + a_j \phi(x_j)` that a multiple of phi(z) keeps is

    .. math:: \frac{1}{k(z, z)} \sum_c \big( a_{ic} k(x_i, z) + a_{jc} k(x_j, z) \big)^2,

    a function of h and the distance of the pair alone when the kernel is radial. A cheap alternative to ``Construct``
    where many vectors are to be left: no ascent, one dimension to search.

    Parameters
    ----------
    steps : int
        Values of h tried for every pair; the best one is made precise for the pair that is merged.

    Notes
    -----
    O(n^2 (d + steps)) and O(n) memory. Sets are looked at whose sizes fall by at least a fourteenth.

    References
    ----------
    Nguyen, Ho, *A bottom-up method for simplifying support vector solutions*, IEEE TNN 17 (2006);
    Wang, Crammer, Vucetic, *Breaking the curse of kernelization*, JMLR 13 (2012), section 5.3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[0.0], [0.1], [3.0], [3.1]])
    >>> answer = mc.reduce(mc.mean(mc.features(mc.Gaussian(1.0), X)), 2, method=mc.Merge())
    >>> np.sort(answer.expansion.points, axis=0).round(3).ravel()
    array([0.05, 3.05])
    """

    steps: int = 9

    def __post_init__(self):
        _validate.integer("steps", self.steps, least=3)

    def require(self, psi):
        """Raise a TypeError unless psi is over rows of numbers and its kernel is radial."""
        require_gradient(self, psi)
        if not isinstance(psi.kernel, Radial):
            raise TypeError(f"Merge needs a Radial kernel, such as Gaussian; got {psi.kernel!r}. Use 'construct'.")

    def find(self, target, n_vectors, tol):  # noqa: ARG002
        """Yield sets from one point up, each what was left before more were merged."""
        pairs = _Pairs(target, self.steps)
        sets, wanted = [], n_vectors
        while True:
            if pairs.count <= wanted:
                sets.append(np.flatnonzero(pairs.alive))
                wanted = min(pairs.count - 1, int(_RATIO * pairs.count))
            if pairs.count == 1:
                break
            with _threads.serial_blas():
                pairs.merge()
        for rows in reversed(sets):
            yield Stage(pairs.points, rows)


class _Pairs:
    """Points that are left, and for each of them the earlier one that it merges with at least cost."""

    def __init__(self, target, steps):
        n, m = target.coef.shape
        self.profile, self.numbers = target.kernel.profile, target.kernel._numbers()
        self.top = evaluate(self.profile, np.zeros(1), self.numbers)[0]
        self.h = np.linspace(0, 1, steps)
        self.points, self.coef = np.empty((2 * n - 1, target.points.shape[1])), np.empty((2 * n - 1, m))
        self.points[:n], self.coef[:n] = dense_rows(target.psi, np.arange(n)), target.coef
        self.alive = np.arange(2 * n - 1) < n
        self.count, self.used = n, n
        self.cost, self.partner = np.full(2 * n - 1, np.inf), np.full(2 * n - 1, -1)
        for start in range(0, n, _ROWS):
            self._seek(np.arange(start, min(start + _ROWS, n)))

    def merge(self):
        """Replace the pair that costs least by one point."""
        i = int(np.argmin(self.cost))
        # without its partner a point costs no less than with it: it looks for another when its turn comes
        while not self.alive[self.partner[i]]:
            self._seek(np.array([i]))
            i = int(np.argmin(self.cost))
        j, new = int(self.partner[i]), self.used
        s = float(Tile(Side(self.points[[i]]), Side(self.points[[j]])).sqdist[0, 0])
        h = self._best(i, j, s)
        near, far = self._profile((1 - h) ** 2 * s), self._profile(h**2 * s)
        self.points[new] = h * self.points[i] + (1 - h) * self.points[j]
        self.coef[new] = (near * self.coef[i] + far * self.coef[j]) / self.top
        self.alive[[i, j]], self.alive[new] = False, True
        self.cost[[i, j]] = np.inf
        self.used, self.count = new + 1, self.count - 1
        self._seek(np.array([new]))

    def _seek(self, rows):
        """Find the earlier point with which each of some points merges at least cost."""
        others = np.flatnonzero(self.alive[: rows[-1]])
        if not len(others):
            self.cost[rows] = np.inf
            return
        s = Tile(Side(self.points[rows]), Side(self.points[others])).sqdist
        own, theirs = (np.einsum("ij,ij->i", self.coef[part], self.coef[part]) for part in (rows, others))
        both = self.coef[rows] @ self.coef[others].T
        kept = np.full(s.shape, -np.inf)
        for h in self.h:
            near, far = self._profile((1 - h) ** 2 * s), self._profile(h**2 * s)
            np.maximum(kept, own[:, None] * near**2 + 2 * both * near * far + theirs * far**2, out=kept)
        cost = (own[:, None] + theirs) * self.top + 2 * both * self._profile(s) - kept / self.top
        cost[others >= rows[:, None]] = np.inf
        best = np.argmin(cost, axis=1)
        self.cost[rows], self.partner[rows] = cost[np.arange(len(rows)), best], others[best]

    def _best(self, i, j, s):
        """Return the share h of point i, made precise between the two neighbours of the best one tried."""
        a, b, both = (float(self.coef[p] @ self.coef[q]) for p, q in ((i, i), (j, j), (i, j)))

        def lost(h):
            near, far = self._profile((1 - h) ** 2 * s), self._profile(h**2 * s)
            return -(a * near**2 + 2 * both * near * far + b * far**2)

        tried = lost(self.h)
        k = int(np.argmin(tried))
        around = (self.h[max(k - 1, 0)], self.h[min(k + 1, len(self.h) - 1)])
        fine = scipy.optimize.minimize_scalar(lambda h: lost(np.array(h)), bounds=around, method="bounded")
        return float(fine.x) if fine.fun < tried[k] else float(self.h[k])

    def _profile(self, s):
        return evaluate(self.profile, np.asarray(s, np.float64), self.numbers)
