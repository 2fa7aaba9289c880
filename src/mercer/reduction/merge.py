"""Merging: two points of an expansion replaced by the best one on the line between them, again and again."""

from dataclasses import dataclass

import numpy as np
import scipy.optimize

from mercer._common import check_integer
from mercer._compute.memory import parse_memory, require_memory
from mercer._compute.points import Points
from mercer._compute.profile import evaluate_profile
from mercer._compute.threads import serial_blas
from mercer._compute.tile import Tile
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

    .. math:: \frac{1}{k(z, z)} \sum_c \left( a_{ic} k(x_i, z) + a_{jc} k(x_j, z) \right)^2,

    a function of h and the distance of the pair alone when the kernel is radial. A cheap alternative to ``Construct``
    where many vectors are to be left: no ascent, one dimension to search.

    Parameters
    ----------
    steps : int
        Values of h tried for every pair; the best one is made precise for the pair that is merged.
    memory : str or int
        Bytes for two n x n matrices.

    Notes
    -----
    O(n^2 (d + steps)) operations and 16 n^2 bytes: distances to merged points follow from those to the pair. Sets are
    looked at whose sizes fall by at least a fourteenth.

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
    memory: str | int = "1GB"

    def __post_init__(self):
        check_integer("steps", self.steps, least=3)
        parse_memory(self.memory)

    def require(self, psi):
        """Raise a TypeError unless psi is over rows of numbers and its kernel is radial."""
        require_gradient(self, psi)
        if not isinstance(psi.kernel, Radial):
            raise TypeError(f"Merge needs a Radial kernel, such as Gaussian; got {psi.kernel!r}. Use 'construct'.")

    def find(self, target, n_vectors, tol):  # noqa: ARG002
        """Yield sets from one point up, each what was left before more were merged."""
        n = len(target.coef)
        require_memory(
            16 * n * n,
            self.memory,
            f"distances and costs of the pairs of {n} points",
            "Construct(), or a larger memory= of Merge",
        )
        pairs = _Pairs(target, self.steps)
        sets, wanted = [], n_vectors
        while True:
            if pairs.count <= wanted:
                sets.append(pairs.left())
                wanted = min(pairs.count - 1, int(_RATIO * pairs.count))
            if pairs.count == 1:
                break
            with serial_blas():
                pairs.merge()
        for rows in reversed(sets):
            yield Stage(pairs.points, rows)


class _Pairs:
    """Terms that are left, one to a slot, and for each of them the one that it merges with at least cost."""

    def __init__(self, target, steps):
        n = len(target.coef)
        self.kernel = target.kernel
        self.top = evaluate_profile(self.kernel, np.zeros(1))[0]
        self.h = np.linspace(0, 1, steps)
        self.points = np.empty((2 * n - 1, target.points.shape[1]))
        self.points[:n], self.coef = dense_rows(target.psi, np.arange(n)), target.coef.copy()
        side = Points(self.points[:n])
        self.sqdist = Tile(side, side, 0).sqdist
        # which of the points each slot holds, and what merging it with each other slot costs
        self.slots, self.alive, self.count, self.used = np.arange(n), np.ones(n, bool), n, n
        self.cost = np.empty((n, n))
        for start in range(0, n, _ROWS):
            rows = np.arange(start, min(start + _ROWS, n))
            self.cost[rows] = self._costs(rows)
        self.partner = self.cost.argmin(axis=1)
        self.least = self.cost.min(axis=1)

    def left(self):
        """Return which points are left."""
        return self.slots[self.alive]

    def merge(self):
        """Replace the pair that costs least by one point, which takes the slot of the first of them."""
        i = int(np.argmin(self.least))
        j = int(self.partner[i])
        s = float(self.sqdist[i, j])
        h = self._best(i, j, s)
        near, far = self._profile((1 - h) ** 2 * s), self._profile(h**2 * s)
        self.points[self.used] = h * self.points[self.slots[i]] + (1 - h) * self.points[self.slots[j]]
        self.coef[i] = (near * self.coef[i] + far * self.coef[j]) / self.top
        # the distance to a point of a line follows from those to its ends (Stewart's theorem)
        moved = np.maximum(h * self.sqdist[i] + (1 - h) * self.sqdist[j] - h * (1 - h) * s, 0)
        moved[i] = 0
        self.sqdist[i] = self.sqdist[:, i] = moved
        self.slots[i], self.used, self.count = self.used, self.used + 1, self.count - 1
        self.alive[j], self.least[j] = False, np.inf
        self.cost[j] = self.cost[:, j] = np.inf
        self.cost[i] = self.cost[:, i] = self._costs(np.array([i]))[0]
        lost = self.alive & ((self.partner == i) | (self.partner == j))
        lost[i] = True
        self.partner[lost], self.least[lost] = self.cost[lost].argmin(axis=1), self.cost[lost].min(axis=1)
        nearer = self.alive & (self.cost[i] < self.least)
        self.partner[nearer], self.least[nearer] = i, self.cost[i, nearer]

    def _costs(self, rows):
        """Return what merging some slots with every other costs (r, n), infinite for those that are empty."""
        s = self.sqdist[rows]
        own, theirs = (np.einsum("ij,ij->i", coef, coef) for coef in (self.coef[rows], self.coef))
        both = self.coef[rows] @ self.coef.T
        kept = np.full(s.shape, -np.inf)
        for h in self.h:
            near, far = self._profile((1 - h) ** 2 * s), self._profile(h**2 * s)
            np.maximum(kept, own[:, None] * near**2 + 2 * both * near * far + theirs * far**2, out=kept)
        cost = (own[:, None] + theirs) * self.top + 2 * both * self._profile(s) - kept / self.top
        cost[:, ~self.alive] = np.inf
        cost[np.arange(len(rows)), rows] = np.inf
        return cost

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
        return evaluate_profile(self.kernel, np.asarray(s, np.float64))
