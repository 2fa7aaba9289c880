"""Variables of a dual that are solved for by compiled steps, and sweeps over the few of them near the margin."""

from dataclasses import dataclass

import numpy as np

from mercer._compute.threads import check_cancelled
from mercer.solvers.svm.rows import run
from mercer.solvers.svm.working_set import LANES, gather, optimise, subtract

# Variables times steps between two looks at the world, an overhead of a step counted in variables: a tenth of a second.
_WORK = 100_000_000
_OVERHEAD = 1000
# Things a thread takes at a time.
_SLICE = 1024
# Variables above which some are solved for although many are near the margin, and how many.
_WIDE, _BLOCK = 8192, 4096
# Times that a step takes for a variable, for copying a kernel value.
_COPY = 4
# Share of the variables beyond which setting the others aside saves nothing.
_PART = 0.6
# A sweep over a part reduces the violation by this factor before it looks at the rest again.
_REDUCTION = 0.1


@dataclass(frozen=True)
class Variables:
    """Variables in whole lanes; those that fill up have bounds 0. Steps change ``scores`` and ``coef`` in place.

    Parameters
    ----------
    diagonal, scores, coef, lower, upper : float64 array (m,)
        m a multiple of ``LANES``.
    tube : float
        Price of |coef|.
    """

    diagonal: np.ndarray
    scores: np.ndarray
    coef: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    tube: float = 0.0

    @classmethod
    def padded(cls, *arrays, tube=0.0):
        """Return variables from arrays of any equal length, which are copied."""
        return cls(*(np.pad(values, (0, -len(values) % LANES)) for values in arrays), tube)

    def __len__(self):
        return len(self.coef)

    def take(self, places):
        """Return copies of some variables."""
        return Variables.padded(
            *(each[places] for each in (self.diagonal, self.scores, self.coef, self.lower, self.upper)),
            tube=self.tube,
        )

    def sides(self):
        """Return the scores at which variables rise and fall, see `sides`."""
        return sides(self.scores, self.coef, self)

    def bounds(self):
        """Return the largest score of what may rise and the smallest of what may fall."""
        rising, falling = self.sides()
        return float(rising.max()), float(falling.min())

    def violation(self):
        """Return the largest score of what may rise minus the smallest of what may fall."""
        top, bottom = self.bounds()
        return top - bottom

    def middle(self):
        """Return the score between what may rise and what may fall, where they violate most."""
        return 0.5 * sum(self.bounds())

    def free(self):
        """Return the places of variables inside their bounds and off 0 where the tube is open."""
        rising, falling = self.sides()
        return np.flatnonzero(rising == falling)

    def near(self):
        """Return the places of variables that are free, violate, or would if the threshold moved by the violation."""
        rising, falling = self.sides()
        top, bottom = rising.max(), falling.min()
        middle, violation = 0.5 * (top + bottom), top - bottom
        close = (rising > middle - violation) | (falling < middle + violation)
        return np.flatnonzero(close | (rising == falling))

    def steps(self, values, slots, tol, max_iter):
        """Take steps for a tenth of a second at most; return their number, the row that is missing, the violation."""
        limit = min(max_iter, max(1, _WORK // (len(self) + _OVERHEAD)))
        groups = np.array([0, len(self)])
        arrays = self.diagonal, self.scores, self.coef, self.lower, self.upper
        return optimise(values, slots, *arrays, self.tube, groups, tol, limit)


def sides(scores, coef, box):
    r"""Return the scores at which variables rise and at which they fall.

    .. math:: f_i - \epsilon\ (b_i \ge 0),\ f_i + \epsilon\ (b_i < 0);\qquad
        f_i - \epsilon\ (b_i > 0),\ f_i + \epsilon\ (b_i \le 0)

    for a tube of half width epsilon: the derivatives of -b'Kb / 2 + t'b - epsilon \|b\|_1 to the right and, from the
    left, of its negative. At the optimum no score of the first kind is above one of the second.

    Parameters
    ----------
    scores, coef : float64 array (n,)
    box : Dual or Variables
        ``lower`` and ``upper`` (n,), and ``tube``.

    Returns
    -------
    rising, falling : float64 array (n,)
        -inf and inf for variables at that bound. Both are the same for free variables, and for these only.
    """
    rising = np.where(coef < box.upper, scores + np.where(coef < 0, box.tube, -box.tube), -np.inf)
    falling = np.where(coef > box.lower, scores + np.where(coef > 0, -box.tube, box.tube), np.inf)
    return rising, falling


def wrongness(rising, falling, middle):
    """Return how far variables are on the wrong side of the threshold, below 0 for those that rest where they are.

    Parameters
    ----------
    rising, falling : float64 array (n,)
        See `sides`.
    middle : float

    Returns
    -------
    float64 array (n,)
    """
    return np.maximum(rising - middle, middle - falling)


def concerned(variables):
    """Return the places of variables near the margin, of very many those that violate most, and whether all are there.

    Parameters
    ----------
    variables : Variables

    Returns
    -------
    near : int array
        Ascending.
    all_of_them : bool
    """
    near = variables.near()
    if len(variables) <= _WIDE or len(near) <= _BLOCK:
        return near, True
    rising, falling = variables.sides()
    wrong = wrongness(rising[near], falling[near], variables.middle())
    return np.sort(near[np.argpartition(-wrong, _BLOCK)[:_BLOCK]]), False


def pays(variables, near, steps):
    """Whether so many steps over some variables were worth copying their kernel values, next to steps over all."""
    return steps * len(variables) >= _COPY * len(near) ** 2


def few(variables, near):
    """Whether solving for the variables near the margin alone costs much less than for all."""
    return len(near) <= _PART * len(variables)


def solve_near(values, slots, variables, near, tol, max_iter, report):
    """Solve for the variables near the margin, whose kernel values fit into a cache, changing ``variables`` in place.

    Parameters
    ----------
    values : array (rows, m)
        Kernel rows, those of ``near`` among them.
    slots : int array (m,)
        Which row of ``values`` belongs to a variable.
    variables : Variables
        m of them.
    near : int array
        Places, ascending.
    tol : float
        Of all variables: the violation among these is reduced to a tenth, or half of ``tol`` where that is more.
    max_iter : int
    report : callable (violation) or None

    Returns
    -------
    n_iter : int
    stopped : bool
        By ``report``.
    """
    inner = variables.take(near)
    block = np.empty((len(near), len(inner)), values.dtype)
    _apart(lambda own: gather(values, slots[near[own]], near, block[own]), len(near), block.size)
    own = np.where(np.arange(len(inner)) < len(near), np.arange(len(inner)), -1)
    aim = max(0.5 * tol, _REDUCTION * inner.violation())
    n_iter, stopped = solve_all(block, own, inner, aim, max_iter, report)
    change = inner.coef[: len(near)] - variables.coef[near]
    variables.coef[near] = inner.coef[: len(near)]
    moved = np.flatnonzero(change)
    used, weights = slots[near[moved]], change[moved]
    _apart(
        lambda own: subtract(values[:, own], used, weights, variables.scores[own]),
        len(variables),
        len(moved) * len(variables),
    )
    return n_iter, stopped


def _apart(function, n, work):
    """Call ``function`` on slices that together are all of n things, on several threads where there is work enough."""
    run(lambda k: function(slice(k * _SLICE, min(n, (k + 1) * _SLICE))), -(-n // _SLICE), work)


def solve_all(values, slots, variables, tol, max_iter, report):
    """Take steps over all variables, whose rows are all there, until ``tol`` or ``max_iter``.

    Parameters
    ----------
    values, slots, variables, tol, max_iter, report
        As for ``solve_near``.

    Returns
    -------
    n_iter : int
    stopped : bool
    """
    n_iter, violation, stopped = 0, np.inf, False
    while violation > tol and n_iter < max_iter and not stopped:
        check_cancelled()
        steps, _, violation = variables.steps(values, slots, tol, max_iter - n_iter)
        n_iter += steps
        stopped = report is not None and report(violation)
    return n_iter, stopped
