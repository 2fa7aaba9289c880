"""Variables of a dual that are solved for by compiled steps, and sweeps over the few of them near the margin."""

from dataclasses import dataclass

import numpy as np

from mercer import _threads
from mercer.solvers.working_set import LANES, gather, optimise, subtract

# Variables times steps between two looks at the world, an overhead of a step counted in variables: a tenth of a second.
_WORK = 100_000_000
_OVERHEAD = 1000
# Things a thread takes at a time, and kernel values below which one thread is as fast as several.
_SLICE, _THREADED = 1024, 1 << 22
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
    """

    diagonal: np.ndarray
    scores: np.ndarray
    coef: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def padded(cls, *arrays):
        """Return variables from arrays of any equal length, which are copied."""
        return cls(*(np.pad(values, (0, -len(values) % LANES)) for values in arrays))

    def __len__(self):
        return len(self.coef)

    def take(self, places):
        """Return copies of some variables."""
        return Variables.padded(
            *(each[places] for each in (self.diagonal, self.scores, self.coef, self.lower, self.upper))
        )

    def bounds(self):
        """Return the largest score of what may rise and the smallest of what may fall."""
        return extremes(self.scores, self.coef, self.lower, self.upper)

    def violation(self):
        """Return the largest score of what may rise minus the smallest of what may fall."""
        top, bottom = self.bounds()
        return top - bottom

    def middle(self):
        """Return the score between what may rise and what may fall, where they violate most."""
        return 0.5 * sum(self.bounds())

    def free(self):
        """Return the places of variables inside their bounds."""
        return np.flatnonzero((self.coef > self.lower) & (self.coef < self.upper))

    def near(self):
        """Return the places of variables that are free, violate, or would if the threshold moved by the violation."""
        top, bottom = self.bounds()
        middle, violation = 0.5 * (top + bottom), top - bottom
        rise, fall = self.coef < self.upper, self.coef > self.lower
        close = (rise & (self.scores > middle - violation)) | (fall & (self.scores < middle + violation))
        return np.flatnonzero(close | (rise & fall))

    def steps(self, values, slots, tol, max_iter):
        """Take steps for a tenth of a second at most; return their number, the row that is missing, the violation."""
        limit = min(max_iter, max(1, _WORK // (len(self) + _OVERHEAD)))
        groups = np.array([0, len(self)])
        arrays = self.diagonal, self.scores, self.coef, self.lower, self.upper
        return optimise(values, slots, *arrays, groups, tol, limit)


def extremes(scores, coef, lower, upper):
    """Return the largest score of what may rise and the smallest of what may fall; infinite where nothing may.

    Parameters
    ----------
    scores, coef, lower, upper : float64 array (n,)

    Returns
    -------
    top, bottom : float
    """
    top = np.max(scores, where=coef < upper, initial=-np.inf)
    bottom = np.min(scores, where=coef > lower, initial=np.inf)
    return float(top), float(bottom)


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
    if work < _THREADED:
        function(slice(0, n))
        return
    _threads.run(lambda k: function(slice(k * _SLICE, min(n, (k + 1) * _SLICE))), -(-n // _SLICE))


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
        _threads.checkpoint()
        steps, _, violation = variables.steps(values, slots, tol, max_iter - n_iter)
        n_iter += steps
        stopped = report is not None and report(violation)
    return n_iter, stopped
