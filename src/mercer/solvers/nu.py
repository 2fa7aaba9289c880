"""Machines whose number of support vectors is prescribed: the price of a second sum, found by a line search."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

# Duals solved at most within a bracket.
_SOLVES = 100
# Relative distance of the sum from what is wanted.
_ACCURACY = 1e-10
# Below this share of the first guess the price counts as 0.
_VANISHED = 1e-9


def priced(optimum, direction, total, guess, coef):
    r"""Find the price m of a sum d'b at which the optimum of a dual has the sum that is wanted.

    .. math:: b(m) = \arg\min_b \tfrac12 b'Kb - (t + m d)'b, \qquad d'b(m) = s

    d'b(m) never falls with m and is linear between changes of the active set. Each optimum starts from the one before.

    Parameters
    ----------
    optimum : callable (m, coef) -> Solution
        The solved dual at a price, from where to start.
    direction : float64 array (n,)
    total : float
        s, not 0.
    guess : float
        Above 0.
    coef : float64 array (n,)
        Where to start.

    Returns
    -------
    solution : Solution
        With the steps of all optima.
    price : float
        0 when the sum is larger than wanted at every price above 0; where the sum jumps, the nearer end.

    Notes
    -----
    The second equality constraint of Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural
    Computation 12 (2000), moved into the objective.
    """
    tried, best, n_iter = {}, None, 0

    def excess(price):
        nonlocal coef, best, n_iter
        if price not in tried:
            solution = optimum(price, coef)
            coef, n_iter = solution.coef, n_iter + solution.n_iter
            beyond = float(direction @ coef) - total
            tried[price] = 0.0 if abs(beyond) <= _ACCURACY * abs(total) else beyond
            if best is None or abs(beyond) <= best[0]:
                best = abs(beyond), solution, price
        return tried[price]

    low = high = guess
    while excess(high) < 0 and high < np.finfo(float).max / 4:
        low, high = high, 4 * high
    while low and excess(low) > 0:
        low, high = low / 4 if low > _VANISHED * guess else 0.0, low
    if low < high and excess(low) < 0 < excess(high):
        brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=_SOLVES, disp=False)
    return replace(best[1], n_iter=n_iter), best[2]


class KeptRows:
    """Rows of a kernel that are computed once and read by several duals, or by two variables to a point.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    square : Square
        Of all points, in their order.
    points : int array (m,)
        Those that variables may have, ascending.
    """

    def __init__(self, rows, square, points):
        self.dtype, self.diagonal = rows.dtype, rows.diagonal
        self.square, self.product = rows.square, rows.product
        self._kept = square
        self._place = np.full(len(rows.diagonal), -1)
        self._place[points] = np.arange(len(points))

    def columns(self, J):
        """Return a function (wanted, out) that writes their kernel values with points J to ``out``."""
        columns = self._place[J]

        def write(wanted, out):
            own = self._place[wanted]
            self._kept.ensure(np.unique(own))
            out[:] = self._kept.values[self._kept.slot[own]][:, columns]

        return write
