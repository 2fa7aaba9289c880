"""Monotone descent of many points at once, each on an objective of its own and at its own pace.

Every active point has one trial pending, all trials are evaluated together, and a point moves only if its value falls.
A rule proposes the trials: fixed-point steps, or directions of limited memory.
"""

import numpy as np

from mercer.preimages.base import Found

# Halvings after which a direction holds no lower value that rounding can see.
_HALVINGS = 40
# Differences of values below this share of a value are rounding.
_ROUNDING = 1e-14


class Descent:
    """The state of m points on their way down.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(z, columns)`` returns values (r,), the vectors (r, d) that rule and stopping are about (steps or
        gradients), and whether these can be followed (r,).
    rule : object
        ``propose(rows, z, v, level)`` returns trials and the decreases asked of them, ``level`` counting the failed
        trials; ``accept(rows, moved, before, after)`` and ``forget(rows)`` keep its memory.
    start : array (m, d)
    threshold : array (m,)
        A point with |v| at most this is stationary.
    elsewhere : callable
        ``elsewhere(columns, attempt)`` returns other points to start from, and whether there are any.
    """

    def __init__(self, evaluate, rule, start, threshold, elsewhere):
        m = len(start)
        self.evaluate, self.rule, self.threshold, self.elsewhere = evaluate, rule, threshold, elsewhere
        self.z = start.copy()
        self.value, self.v, self.sound = evaluate(self.z, np.arange(m))
        self.level, self.attempt, self.n_iter = (np.zeros(m, int) for _ in range(3))
        self.active = np.ones(m, bool)
        self.best, self.lowest = start.copy(), np.full(m, np.inf)
        self.converged, self.reasons = np.zeros(m, bool), [""] * m

    def run(self, max_iter):
        """Go down until every point has stopped, or for max_iter trials.

        Parameters
        ----------
        max_iter : int

        Returns
        -------
        Found
            The lowest point of every descent; its value is never above that of the start.
        """
        self._settle(np.arange(len(self.z)))
        for _ in range(max_iter):
            rows = np.flatnonzero(self.active)
            if not len(rows):
                break
            self._advance(rows)
            self._settle(rows)
        self._stop(np.flatnonzero(self.active), False, f"max_iter = {max_iter} reached")
        return Found(self.best, self.converged, self.n_iter, tuple(self.reasons))

    def _advance(self, rows):
        trial, demand = self.rule.propose(rows, self.z[rows], self.v[rows], self.level[rows])
        value, v, sound = self.evaluate(trial, rows)
        self.n_iter[rows] += 1
        lower = self._lower(rows, value, v, demand)
        self.level[rows[~lower]] += 1
        moved = rows[lower]
        self.rule.accept(moved, trial[lower] - self.z[moved], self.v[moved], v[lower])
        self.z[moved], self.value[moved], self.level[moved] = trial[lower], value[lower], 0
        self.v[moved], self.sound[moved] = v[lower], sound[lower]

    def _lower(self, rows, value, v, demand):
        """Return which trials go down: by the decrease asked for or, where rounding hides that, to a shorter v."""
        old = self.value[rows]
        same = value <= old + _ROUNDING * np.abs(old)
        shorter = np.linalg.norm(v, axis=1) < np.linalg.norm(self.v[rows], axis=1)
        return (value < old - demand) | (same & shorter)

    def _settle(self, rows):
        """Stop points that are stationary or stuck; send those that lost psi elsewhere, until none of them is lost."""
        while len(rows):
            sound, length = self.sound[rows], np.linalg.norm(self.v[rows], axis=1)
            stationary = sound & (length <= self.threshold[rows])
            self._stop(rows[stationary], True, "")
            stuck = sound & ~stationary & (self.level[rows] > _HALVINGS)
            self._stop(rows[stuck], False, "no step along the direction lowers the objective further")
            rows = self._restart(rows[~sound])

    def _restart(self, rows):
        if not len(rows):
            return rows
        self._stop(rows, False, "the denominator is near zero: phi(z) is nearly orthogonal to psi or on its far side")
        self.attempt[rows] += 1
        points, there = self.elsewhere(rows, self.attempt[rows])
        rows = rows[there]
        self.rule.forget(rows)
        self.z[rows], self.level[rows], self.active[rows] = points[there], 0, True
        if len(rows):
            self.value[rows], self.v[rows], self.sound[rows] = self.evaluate(self.z[rows], rows)
        return rows

    def _stop(self, rows, converged, reason):
        self.active[rows] = False
        rows = rows[self.value[rows] < self.lowest[rows]]
        self.best[rows], self.lowest[rows], self.converged[rows] = self.z[rows], self.value[rows], converged
        for row in rows:
            self.reasons[row] = reason


class Elsewhere:
    """The points of an expansion in the order in which they fit each vector, looked up only when a start fails.

    Parameters
    ----------
    psi : Expansion
        m vectors, float64.
    start : array (m, d)
        What was tried first, and is not offered again.
    restarts : int
        Points offered to a vector at most.
    """

    def __init__(self, psi, start, restarts):
        self.psi, self.start, self.restarts = psi, start, restarts
        self.order = {}

    def __call__(self, columns, attempt):
        """Return points (r, d) for the given attempts, and whether there are that many (r,)."""
        missing = [j for j in columns if j not in self.order]
        if missing and self.restarts:
            self.order |= dict(zip(missing, self._ranked(np.array(missing)), strict=True))
        chosen = [self.order.get(j, [])[k - 1 : k] for j, k in zip(columns, attempt, strict=True)]
        there = np.array([len(rows) > 0 for rows in chosen])
        return dense_rows(self.psi, np.array([rows[0] if len(rows) else 0 for rows in chosen])), there

    def _ranked(self, columns):
        order = nearest(self.psi, self.psi[:, columns](self.psi.points), self.restarts + 1)
        for j, rows in zip(columns, order.T, strict=True):
            yield [i for i in rows if (dense_rows(self.psi, [i])[0] != self.start[j]).any()][: self.restarts]


def nearest(psi, values, count):
    """Return the points of an expansion nearest to each vector in feature space.

    Parameters
    ----------
    psi : Expansion
        Over n points.
    values : array (n, m)
        <phi(x_i), psi_j>.
    count : int
        How many points.

    Returns
    -------
    integer array (min(count, n), m)
        Nearest first.
    """
    squares = psi.kernel.diag(psi.points)[:, None] - 2 * values
    return np.argsort(squares, axis=0, kind="stable")[:count]


def dense_rows(psi, rows):
    """Return some points of an expansion as a dense float64 array."""
    points = psi.prepared.container[rows]
    return np.asarray(points.toarray() if psi.prepared.sparse else points, np.float64)
