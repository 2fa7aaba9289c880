"""Merge: reduced set construction that replaces pairs of points by the best point on the line between them."""

import numpy as np
import scipy.optimize

from mercer._common import Array, as_float64, check_integer, record, shown
from mercer._compute.costs import TILE
from mercer._compute.memory import blocks, parse_memory, require_memory
from mercer._compute.points import Points, sum_squares
from mercer._compute.tile import Tile
from mercer.kernels.forms import evaluate_form, flat_kernel, flatten, form_of
from mercer.preimages.descent import dense_rows
from mercer.reduction.base import Method, Stage, Target, require_new_points

# Largest ratio of the sizes of successive stages: the error of each stage costs the cube of its size.
_RATIO = 0.93


@record
class Merge(Method):
    r"""Reduced set construction (RSC): replace the pair of points with the smallest loss by one point, repeatedly.

    With :math:`a_i, a_j` the coefficients of the pair (m columns) and :math:`z = h x_i + (1 - h) x_j` a point of the
    line between them, the squared norm of the projection of :math:`a_i \phi(x_i) + a_j \phi(x_j)` on phi(z) is

    .. math:: \frac{1}{k(z, z)} \sum_c \left( a_{ic} k(x_i, z) + a_{jc} k(x_j, z) \right)^2,

    which for a radial kernel depends only on h and the distance of the pair. It is cheaper than ``Construct`` for large
    reduced sets: the search has one dimension.

    Parameters
    ----------
    steps : int
        Values of h tried for every pair; h is optimised for the pair that is merged.
    memory : str or int
        Memory limit for two n x n matrices.

    Notes
    -----
    O(n^2 (d + steps)) operations and 16 n^2 bytes: distances to merged points follow from those to the pair. The stages
    have sizes that decrease by at least a fourteenth.

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

    def __post_init__(self) -> None:
        check_integer("steps", self.steps, least=3, most=10_000)
        parse_memory(self.memory)

    def require(self, psi):
        """Raise a TypeError unless psi is over rows of numbers and its kernel is radial."""
        require_new_points(self, psi)
        if form_of(flat_kernel(psi.kernel)) != "radial":
            raise TypeError(
                f"Merge needs a Radial kernel, such as Gaussian; got {shown(psi.kernel)}. Use 'construct'."
            )

    def find(self, target, n_vectors, tol):
        """Yield the sets before further merges, the smallest first."""
        n = len(target.coef)
        require_memory(
            16 * n * n,
            self.memory,
            f"distances and losses of the pairs of {n} points",
            "Construct(), or a larger memory= of Merge",
        )
        pairs = _Pairs(target, self.steps)
        sets = []
        wanted = n_vectors
        while True:
            left = pairs.remaining()
            if len(left) <= wanted:
                sets.append(left)
                wanted = int(_RATIO * len(left))
            if len(left) == 1:
                break
            pairs.merge()
        for rows in reversed(sets):
            yield Stage(pairs.points, rows)


class _Pairs:
    """The remaining terms, one per slot, and for each the partner with which its merge has the smallest loss."""

    def __init__(self, target: Target, steps: int) -> None:
        n = len(target.coef)
        rows = dense_rows(target.psi, np.arange(n))
        # a point of the line between two rows is mapped to the line between the mapped rows
        self.kernel, mapped = flatten(target.kernel, rows)
        self.top = evaluate_form(self.kernel, np.zeros(1))[0]
        self.h = np.linspace(0, 1, steps)
        self.points = np.empty((2 * n - 1, target.points.shape[1]))
        self.points[:n] = rows
        self.coef = target.coef.copy()
        points = Points(mapped)
        self.sqdist = Tile(points, points, 0).sqdist
        # the point in each slot, and whether the slot is in use
        self.slots = np.arange(n)
        self.alive = np.ones(n, bool)
        # the number of points so far
        self.used = n
        self.loss = np.empty((n, n))
        # temporary arrays stay in cache
        for part in blocks(n, 8 * n, TILE):
            self.loss[part] = self._losses(np.arange(n)[part])
        self.partner = self.loss.argmin(axis=1)
        self.least = self.loss.min(axis=1)

    def remaining(self) -> Array:
        """Return the indices of the remaining points."""
        return self.slots[self.alive]

    def merge(self) -> None:
        """Replace the pair with the smallest loss by one point in the slot of the first."""
        i = int(np.argmin(self.least))
        j = int(self.partner[i])
        s = float(self.sqdist[i, j])
        h = self._best(i, j, s)
        near, far = self._ends(h, s)
        self.points[self.used] = (
            h * self.points[self.slots[i]] + (1 - h) * self.points[self.slots[j]]
        )
        self.coef[i] = (near * self.coef[i] + far * self.coef[j]) / self.top
        # distances to a point of a line from those to its ends (Stewart's theorem)
        moved = np.maximum(h * self.sqdist[i] + (1 - h) * self.sqdist[j] - h * (1 - h) * s, 0)
        self.sqdist[i] = self.sqdist[:, i] = moved
        self.slots[i] = self.used
        self.used += 1
        self.alive[j] = False
        self.least[j] = np.inf
        self.loss[j] = self.loss[:, j] = np.inf
        self.loss[i] = self.loss[:, i] = self._losses(np.array([i]))[0]
        changed = self.alive & ((self.partner == i) | (self.partner == j))
        changed[i] = True
        self.partner[changed] = self.loss[changed].argmin(axis=1)
        self.least[changed] = self.loss[changed].min(axis=1)
        nearer = self.alive & (self.loss[i] < self.least)
        self.partner[nearer] = i
        self.least[nearer] = self.loss[i, nearer]

    def _losses(self, rows):
        """Return the losses of merging some slots with every other (r, n), infinite for empty slots."""
        s = self.sqdist[rows]
        own, theirs = (sum_squares(coef) for coef in (self.coef[rows], self.coef))
        both = self.coef[rows] @ self.coef.T
        kept = np.full(s.shape, -np.inf)
        for h in self.h:
            np.maximum(kept, self._kept(h, s, own[:, None], both, theirs), out=kept)
        loss = (own[:, None] + theirs) * self.top + 2 * both * self._profile(s) - kept / self.top
        loss[:, ~self.alive] = np.inf
        loss[np.arange(len(rows)), rows] = np.inf
        return loss

    def _kept(self, h, s, own, both, theirs):
        """Return the squared norm, times k(0), that points at shares h keep of pairs with given products."""
        near, far = self._ends(h, s)
        return own * near**2 + 2 * both * near * far + theirs * far**2

    def _best(self, i, j, s):
        """Return the share h of point i, optimised between the neighbours of the best value tried."""
        a, b, both = (float(self.coef[p] @ self.coef[q]) for p, q in ((i, i), (j, j), (i, j)))
        tried = -self._kept(self.h, s, a, both, b)
        k = int(np.argmin(tried))
        around = (self.h[max(k - 1, 0)], self.h[min(k + 1, len(self.h) - 1)])
        fine = scipy.optimize.minimize_scalar(
            lambda h: -self._kept(np.array(h), s, a, both, b), bounds=around, method="bounded"
        )
        return float(fine.x) if fine.fun < tried[k] else float(self.h[k])

    def _ends(self, h, s):
        """Return the kernel values between points at shares h of pairs and their ends."""
        return self._profile((1 - h) ** 2 * s), self._profile(h**2 * s)

    def _profile(self, s):
        return evaluate_form(self.kernel, as_float64(s))
