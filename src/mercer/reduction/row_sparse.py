"""The programme of sparse rows: least squares in feature space, with a price on the largest coefficient of a point."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._common import warn
from mercer._compute.compile import compiled

# Passes of coordinate descent between two Newton steps: the fewest, and the most where Newton steps are short.
_PASSES = (10, 320)
# Sets of points, and Newton steps for each, after which the gap is reported as it is.
_SETS, _STEPS = 30, 60
# Changes of pattern that Newton steps are followed through before coordinate descent looks at all rows again.
_LANDINGS = 20


@dataclass(frozen=True)
class Minimum:
    """An approximate minimiser of the programme with the lower bound that certifies it.

    Attributes
    ----------
    coef : array (n, m)
        B; the points that the programme keeps have rows that are not 0.
    dual : array (n, m)
        Coefficients over the same points of vectors theta_j with 2 sum_j |<theta_j, phi(x_i)>| <= price_i for all i.
    primal : float
        The objective at B.
    bound : float
        sum_j 2 <theta_j, psi_j> - |theta_j|^2, which no B is below.
    gap : float
        (primal - bound) / primal.
    """

    coef: np.ndarray
    dual: np.ndarray
    primal: float
    bound: float
    gap: float


class Programme:
    r"""The quadratic programme, for any number of columns; with one column it is the Lasso.

    .. math:: \min_B \; \sum_{j=1}^m \left|\psi_j - \sum_{i=1}^n B_{ij}\,\phi(x_i)\right|^2
              + \lambda \sum_{i=1}^n c_i \max_j |B_{ij}|

    Only the largest coefficient of a point costs anything, so that what one column uses is free for the others. The
    dual is a projection onto a polytope,

    .. math:: \max_\theta \; \sum_j 2\langle\theta_j, \psi_j\rangle - |\theta_j|^2
              \quad\text{subject to}\quad 2 \sum_j |\langle\theta_j, \phi(x_i)\rangle| \le \lambda c_i ,

    and the residuals psi_j - psi'_j, scaled until they are feasible, bound the minimum from below.

    Parameters
    ----------
    K : array (n, n)
        Positive semidefinite, with a positive diagonal, float64.
    coef : array (n, m)
        psi_j = sum_i coef[i, j] phi(x_i).
    cost : array (n,)
        c, positive; a point of infinite cost is not used.

    Notes
    -----
    Blocks of points grow by those whose constraint is violated most. On a block, passes over the rows minimise exactly
    over one row at a time (its shrunk row is the row minus a projection onto a 1-norm ball), and give the pattern of
    the solution: rows that are 0, coefficients tied to the height of their row, and free ones. For a pattern the
    programme is a linear system, of which free coefficients are eliminated column by column: O(m s^3) per Newton step
    on s points, which is kept where it and two passes lower the objective. With the right pattern the gap falls to
    rounding in one step. Where many passes do not find the pattern, beside an ill-conditioned matrix, Newton steps are
    followed from one change of it to the next, as in a search over feature signs.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), sections V-C.2 and V-C.3.
    Turlach, Venables, Wright, *Simultaneous variable selection*, Technometrics 47 (2005).
    Lee, Battle, Raina, Ng, *Efficient sparse coding algorithms*, NIPS 19 (2006), algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.row_sparse import Programme
    >>> programme = Programme(np.eye(2), np.array([[3.0, -2.0], [0.1, 0.5]]), np.ones(2))
    >>> programme.largest
    10.0
    >>> found = programme.solve(2.0)
    >>> found.coef.round(6), bool(found.gap < 1e-4)
    (array([[ 2., -2.],
           [ 0.,  0.]]), True)
    """

    def __init__(self, K, coef, cost):
        self.K, self.coef, self.cost = K, coef, cost
        self._values = K @ coef
        self._square = float(np.einsum("ij,ij->", coef, self._values))
        usable = K.diagonal() > len(K) * np.finfo(float).eps * K.diagonal().max(initial=0)
        self._usable = np.flatnonzero(usable & np.isfinite(cost))

    @property
    def largest(self):
        """The least lambda at which B = 0 is the minimiser."""
        rows = self._usable
        return float((2 * np.abs(self._values[rows]).sum(axis=1) / self.cost[rows]).max(initial=0))

    def solve(self, penalty, gap=1e-4, start=None):
        """Return the minimiser for one lambda, to a relative duality gap.

        Parameters
        ----------
        penalty : float
            lambda, above 0.
        gap : float
            (primal - bound) / primal at which to stop.
        start : array (n, m), optional
            Coefficients near the answer, such as those for a similar lambda.

        Returns
        -------
        Minimum

        Warns
        -----
        ConvergenceWarning
            When the gap stays above ``gap``, with the number.
        """
        price = penalty * self.cost
        B = np.zeros_like(self.coef) if start is None else start
        kept = np.flatnonzero(B.any(axis=1))
        found, excess = self._certified(B, kept, price)
        for _ in range(_SETS):
            if found.gap <= gap:
                return found
            more = self._usable[excess[self._usable] > 1]
            more = np.setdiff1d(more, kept)
            more = more[np.argsort(-excess[more], kind="stable")[: max(100, len(kept))]]
            block, before = np.sort(np.concatenate([kept, more])), found
            B = np.zeros_like(B)
            B[block] = self._on_block(block, found.coef[block], price[block], max(0.3 * gap, 0.01 * found.gap))
            kept = np.flatnonzero(B.any(axis=1))
            found, excess = self._certified(B, kept, price)
            if found.primal > before.primal * (1 - 1e-12) and found.gap > before.gap / 2:
                # rounding has the last word
                break
        if found.gap > gap:
            warn(
                f"the programme at lambda = {penalty:.3g} was left at a relative duality gap of {found.gap:.1e}, "
                f"{gap:.0e} was asked for.",
                ConvergenceWarning,
            )
        return found

    def _certified(self, B, kept, price):
        """Return B with its bound from all constraints, and the ratios (n,) of constraints to prices."""
        left = self._values - self.K[:, kept] @ B[kept]
        error = max(float(np.einsum("ij,ij->", self.coef - B, left)), 0.0)
        primal = error + float(price[kept] @ np.abs(B[kept]).max(axis=1, initial=0))
        excess = np.zeros(len(B))
        rows = self._usable
        excess[rows] = 2 * np.abs(left[rows]).sum(axis=1) / price[rows]
        scale, bound = _bound(float(np.einsum("ij,ij->", self.coef, left)), error, excess.max(initial=0))
        gap = (primal - bound) / primal if primal > 0 else 0.0
        return Minimum(B, scale * (self.coef - B), primal, float(bound), float(gap)), excess

    def _on_block(self, rows, B, price, gap):
        """Return the minimiser over the coefficients of some points."""
        K, values = np.ascontiguousarray(self.K[np.ix_(rows, rows)]), np.ascontiguousarray(self._values[rows].T)
        B, passes = np.ascontiguousarray(B), _PASSES[0]
        left = values - (K @ B).T

        def objective(B, left):
            return self._square - float(np.einsum("ij,ji->", B, values + left)) + price @ np.abs(B).max(axis=1)

        for _ in range(_STEPS):
            # small residuals lose their digits to the large numbers they are updated from
            left = values - (K @ B).T
            _descend(K, left, B, price, passes)
            primal = objective(B, left)
            error = self._square - float(np.einsum("ij,ji->", B, values + left))
            excess = (2 * np.abs(left).sum(axis=0) / price).max()
            _, bound = _bound(self._square - float(np.einsum("ij,ji->", B, values)), error, excess)
            if primal - bound <= gap * primal:
                break
            step = _newton(K, left, B, price)
            down, length = (K @ step).T, 1.0
            for length in 0.5 ** np.arange(7):
                tried, its_left = B + length * step, left - length * down
                _descend(K, its_left, tried, price, 2)
                if objective(tried, its_left) < primal:
                    B = tried
                    break
            if length < 0.2 and passes == _PASSES[1]:
                # no number of passes finds the pattern: follow Newton steps from one change of it to the next
                B = _followed(K, values, B, price)
            passes = _PASSES[0] if length > 0.2 else min(2 * passes, _PASSES[1])
        return B


def _followed(K, values, B, price):
    """Return coefficients after Newton steps that end where the pattern changes, until one does not."""
    for _ in range(_LANDINGS):
        left = values - (K @ B).T
        B, whole = _landed(K, left, B, _newton(K, left, B, price), price)
        if whole:
            break
    return B


def _landed(K, left, B, step, price):
    """Go along a step to the change of pattern at which the objective is least, and change the pattern there.

    The objective is convex along the step and quadratic between changes: rows that become 0, and free coefficients that
    reach the height of their row. Returns the coefficients, and whether the whole step was taken.
    """
    height, rise = np.abs(B).max(axis=1, keepdims=True), np.sign(B) * step
    rise = np.take_along_axis(rise, np.abs(B).argmax(axis=1)[:, None], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # where h + t h' = 0, and where it is b + t b' or -(b + t b')
        times = np.hstack([-height / rise, (height - B) / (step - rise), -(height + B) / (step + rise)])
    times = np.where(np.isfinite(times) & (times > 1e-12) & (times < 1), times, 1.0)
    down, lengths = (K @ step).T, np.unique(times)

    def change(length):
        moved = B + length * step
        # the quadratic part of the objective along the step, and the price
        smooth = length * np.einsum("ij,ji->", step, length * down - 2 * left)
        return smooth + price @ np.abs(moved).max(axis=1)

    low, high = 0, len(lengths) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if change(lengths[middle]) <= change(lengths[middle + 1]) else (middle + 1, high)
    length = lengths[low]
    if change(length) >= change(0.0):
        return B, True
    found = B + length * step
    if length == 1:
        return found, True
    hit = times == length
    found[hit[:, 0]] = 0
    height = np.abs(height + length * rise)
    m = B.shape[1]
    found = np.where(hit[:, 1 : m + 1], height, np.where(hit[:, m + 1 :], -height, found))
    found[hit[:, 0]] = 0
    return found, False


def _bound(inner, square, excess):
    """Return the best feasible multiple of the residuals and the dual objective there.

    ``inner`` is sum <residual, psi>, ``square`` that of the residuals, ``excess`` the largest constraint over its
    price.
    """
    # at the minimum the scale is 1: a larger one never helps there, and would magnify the rounding of a tiny square
    scale = 1 / max(excess, 1.0)
    if 0 < inner < scale * square:
        scale = inner / square
    return scale, scale * (2 * inner - scale * square)


@compiled
def shrink(row, weight):
    """Turn a row into the minimiser b of |b - row|^2 / 2 + weight max |b|, in place.

    What is cut off the largest entries sums to the weight: b is the row minus its projection onto the 1-norm ball.

    Parameters
    ----------
    row : array (m,)
    weight : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.row_sparse import shrink
    >>> row = np.array([5.0, -4.0, 1.0])
    >>> shrink(row, 3.0)
    >>> row
    array([ 3., -3.,  1.])
    """
    total, above, before = 0.0, len(row), 0
    for value in row:
        total += abs(value)
    if total <= weight:
        row[:] = 0.0
        return
    # entries at or below the height leave the sum until none does (Michelot)
    height = (total - weight) / above
    while above != before:
        before = above
        total, above = 0.0, 0
        for value in row:
            if abs(value) > height:
                total += abs(value)
                above += 1
        height = (total - weight) / above
    for j in range(len(row)):
        row[j] = min(max(row[j], -height), height)


@compiled
def _descend(K, left, B, price, passes):
    """Minimise over one row of B after the other; ``left`` (m, n) are the inner products with the residuals."""
    m = B.shape[1]
    row = np.empty(m)
    for _ in range(passes):
        for i in range(len(K)):
            for j in range(m):
                row[j] = B[i, j] + left[j, i] / K[i, i]
            shrink(row, price[i] / (2 * K[i, i]))
            for j in range(m):
                step = row[j] - B[i, j]
                if step != 0.0:
                    B[i, j] = row[j]
                    for l in range(len(K)):  # noqa: E741
                        left[j, l] -= step * K[i, l]


def _newton(K, left, B, price):
    """Return the step to the minimiser with the pattern of B: the same rows, ties and signs."""
    rows = np.flatnonzero(B.any(axis=1))
    K, left, part = K[np.ix_(rows, rows)], left[:, rows], B[rows]
    # a little more than rounding keeps repeated points apart, and only shortens the step
    ridge = 1e-12 * len(rows) * K.diagonal().max(initial=0)
    tied = np.abs(part) == np.abs(part).max(axis=1, keepdims=True)
    heights, right = ridge * np.eye(len(rows)), -price[rows] / 2
    columns = []
    for j in range(B.shape[1]):
        T, F = np.flatnonzero(tied[:, j]), np.flatnonzero(~tied[:, j])
        sign = np.sign(part[T, j])
        across, own = np.empty((0, len(T))), np.empty(0)
        factor = np.empty((0, 0))
        if len(F):
            factor = scipy.linalg.cholesky(K[np.ix_(F, F)] + ridge * np.eye(len(F)), lower=True, check_finite=False)
            across = scipy.linalg.solve_triangular(factor, K[np.ix_(F, T)] * sign, lower=True, check_finite=False)
            own = scipy.linalg.solve_triangular(factor, left[j, F], lower=True, check_finite=False)
        heights[np.ix_(T, T)] += sign[:, None] * K[np.ix_(T, T)] * sign - across.T @ across
        right[T] += sign * left[j, T] - across.T @ own
        columns.append((T, F, sign, factor, across, own))
    rise = np.linalg.solve(heights, right)
    step = np.zeros_like(B)
    for j, (T, F, sign, factor, across, own) in enumerate(columns):
        step[rows[T], j] = sign * rise[T]
        if len(F):
            own = own - across @ rise[T]
            step[rows[F], j] = scipy.linalg.solve_triangular(factor, own, lower=True, trans="T", check_finite=False)
    return step
