"""Row-sparse least squares in feature space: a penalty on the largest coefficient of each point, with a lower bound."""

from bisect import bisect_left

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._common import EPS, Array, array_record, warn
from mercer._compute.compile import compiled

# Passes of coordinate descent between two Newton steps: the fewest, and the most while Newton steps are short.
_PASSES = (10, 320)
# Largest number of point sets, and of Newton steps for each.
_MOST = 60


@array_record
class Minimum:
    """An approximate minimiser of a `RowSparse` problem with its lower bound.

    Attributes
    ----------
    coef : array (n, m)
        B; rows of 0 belong to points that are not kept.
    dual : array (n, m)
        Coefficients over the same points of vectors theta_j with 2 sum_j |<theta_j, phi(x_i)>| <= lambda c_i for all i.
    primal : float
        The objective at B.
    bound : float
        sum_j 2 <theta_j, psi_j> - |theta_j|^2, a lower bound of the objective for all B.
    gap : float
        (primal - bound) / primal.
    """

    coef: np.ndarray
    dual: np.ndarray
    primal: float
    bound: float
    gap: float


class RowSparse:
    r"""Least squares with a penalty on the largest coefficient of each point; with one column it is the Lasso.

    .. math:: \min_B \; \sum_{j=1}^m \left|\psi_j - \sum_{i=1}^n B_{ij}\,\phi(x_i)\right|^2
              + \lambda \sum_{i=1}^n c_i \max_j |B_{ij}|

    The dual is a projection onto a polytope; the residuals psi_j - psi'_j, scaled to be feasible, give a lower bound:

    .. math:: \max_\theta \; \sum_j 2\langle\theta_j, \psi_j\rangle - |\theta_j|^2
              \quad\text{subject to}\quad 2 \sum_j |\langle\theta_j, \phi(x_i)\rangle| \le \lambda c_i .

    Parameters
    ----------
    K : array (n, n)
        Positive semidefinite, with a positive diagonal, float64.
    coef : array (n, m)
        psi_j = sum_i coef[i, j] phi(x_i).
    weights : array (n,)
        c, positive; points of infinite weight are not used.

    Notes
    -----
    Working sets of points grow by those with the largest violation. On a set, passes of exact minimisation over one row
    at a time give the pattern of the solution: rows that are 0, coefficients tied to the maximum of their row, and free
    ones. For a fixed pattern the problem is a linear system, and a Newton step solves it in O(m s^3) for s points; the
    step is accepted if it and two passes lower the objective. With the right pattern the gap falls to rounding in one
    step. If many passes do not find the pattern, because K is ill-conditioned, Newton steps are followed from one
    change of pattern to the next, as in feature-sign search.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), sections V-C.2 and V-C.3.
    Turlach, Venables, Wright, *Simultaneous variable selection*, Technometrics 47 (2005).
    Lee, Battle, Raina, Ng, *Efficient sparse coding algorithms*, NIPS 19 (2006), algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.row_sparse import RowSparse
    >>> problem = RowSparse(np.eye(2), np.array([[3.0, -2.0], [0.1, 0.5]]), np.ones(2))
    >>> problem.largest
    10.0
    >>> found = problem.solve(2.0)
    >>> found.coef.round(6), bool(found.gap < 1e-4)
    (array([[ 2., -2.],
           [ 0.,  0.]]), True)
    """

    coef: Array
    weights: Array

    def __init__(self, K: Array, coef: Array, weights: Array) -> None:
        self.K = K
        self.coef = coef
        self.weights = weights
        self._values = K @ coef
        self._square = float(np.einsum("ij,ij->", coef, self._values))
        usable = K.diagonal() > len(K) * EPS * K.diagonal().max(initial=0)
        self._usable = np.flatnonzero(usable & np.isfinite(weights))

    @property
    def largest(self) -> float:
        """The smallest lambda at which B = 0 is the minimiser."""
        return float(self.entering.max(initial=0))

    @property
    def entering(self) -> Array:
        """The lambda (n,) below which B = 0 violates the constraint of a point."""
        found = np.zeros(len(self.weights))
        rows = self._usable
        found[rows] = 2 * np.abs(self._values[rows]).sum(axis=1) / self.weights[rows]
        return found

    def terms(self, coef: Array) -> Array:
        """Return the terms c_i max_j |B_ij| of the penalty (n,); 0 for points that are not kept."""
        heights = np.abs(coef).max(axis=1)
        return np.where(heights > 0, self.weights, 0) * heights

    def solve(self, penalty: float, gap: float = 1e-4, start: Array | None = None) -> Minimum:
        """Return the `Minimum` for lambda = ``penalty`` to a relative duality gap; ``start`` (n, m) may be near it.

        A ConvergenceWarning gives the gap if it stays larger.
        """
        penalties = penalty * self.weights
        B = np.zeros_like(self.coef) if start is None else start
        found, violation = self._bounded(B, penalties)
        for _ in range(_MOST):
            if found.gap <= gap:
                return found
            kept = np.flatnonzero(B.any(axis=1))
            more = self._usable[violation[self._usable] > 1]
            more = np.setdiff1d(more, kept)
            more = more[np.argsort(-violation[more], kind="stable")[: max(100, len(kept))]]
            block = np.sort(np.concatenate([kept, more]))
            before = found
            B = np.zeros_like(B)
            B[block] = self._on_block(
                block, found.coef[block], penalties[block], max(0.3 * gap, 0.01 * found.gap)
            )
            found, violation = self._bounded(B, penalties)
            if found.primal > before.primal * (1 - 1e-12) and found.gap > before.gap / 2:
                # rounding prevents further progress
                break
        if found.gap > gap:
            warn(
                f"row-sparse selection at lambda = {penalty:.3g} ended at a relative duality gap of {found.gap:.1e}, "
                f"above gap = {gap:.0e}; use a larger gap or a better conditioned kernel.",
                ConvergenceWarning,
            )
        return found

    def _bounded(self, B, penalties):
        """Return B with its lower bound, and the ratios (n,) of constraints to penalties."""
        kept = np.flatnonzero(B.any(axis=1))
        left = self._values - self.K[:, kept] @ B[kept]
        error = max(float(np.einsum("ij,ij->", self.coef - B, left)), 0.0)
        primal = error + float(penalties[kept] @ np.abs(B[kept]).max(axis=1, initial=0))
        violation = np.zeros(len(B))
        rows = self._usable
        violation[rows] = 2 * np.abs(left[rows]).sum(axis=1) / penalties[rows]
        scale, bound = _bound(
            float(np.einsum("ij,ij->", self.coef, left)), error, violation.max(initial=0)
        )
        gap = (primal - bound) / primal if primal > 0 else 0.0
        return Minimum(B, scale * (self.coef - B), primal, float(bound), float(gap)), violation

    def _on_block(self, rows, B, penalties, gap):
        """Return the minimiser over the coefficients of some points."""
        K = np.ascontiguousarray(self.K[np.ix_(rows, rows)])
        values = np.ascontiguousarray(self._values[rows].T)
        B = np.ascontiguousarray(B)
        passes = _PASSES[0]

        def error(B, left):
            return self._square - float(np.einsum("ij,ji->", B, values + left))

        def objective(B, left):
            return error(B, left) + penalties @ np.abs(B).max(axis=1)

        for _ in range(_MOST):
            # recomputed, since updates of small residuals lose digits
            left = values - (K @ B).T
            _descend(K, left, B, penalties, passes)
            primal = objective(B, left)
            violation = (2 * np.abs(left).sum(axis=0) / penalties).max()
            _, bound = _bound(error(B, 0.0), error(B, left), violation)
            if primal - bound <= gap * primal:
                break
            step = _newton(K, left, B, penalties)
            down = (K @ step).T
            length = 1.0
            for length in 0.5 ** np.arange(7):
                tried = B + length * step
                its_left = left - length * down
                _descend(K, its_left, tried, penalties, 2)
                if objective(tried, its_left) < primal:
                    B = tried
                    break
            if length < 0.2 and passes == _PASSES[1]:
                # passes do not find the pattern: follow Newton steps from one change of it to the next
                B = _followed(K, values, B, penalties)
            passes = _PASSES[0] if length > 0.2 else min(2 * passes, _PASSES[1])
        return B


def _followed(K, values, B, penalties):
    """Return coefficients after Newton steps to successive changes of the pattern, up to the first full step."""
    for _ in range(20):
        left = values - (K @ B).T
        B, whole = _to_change(K, left, B, _newton(K, left, B, penalties), penalties)
        if whole:
            break
    return B


def _to_change(K, left, B, step, penalties):
    """Return B moved along a step to the best change of pattern, and whether that was the full step.

    A pattern changes where a row becomes 0, or a free coefficient reaches the maximum of its row, the height.
    """
    height = np.abs(B).max(axis=1, keepdims=True)
    rise = np.sign(B) * step
    rise = np.take_along_axis(rise, np.abs(B).argmax(axis=1)[:, None], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # where h + t h' = 0, and where it is b + t b' or -(b + t b')
        times = np.hstack(
            [-height / rise, (height - B) / (step - rise), -(height + B) / (step + rise)]
        )
    times = np.where(np.isfinite(times) & (times > 1e-12) & (times < 1), times, 1.0)
    down = (K @ step).T
    lengths = np.unique(times)

    def change(length):
        moved = B + length * step
        # the quadratic part of the objective along the step, and the penalty
        smooth = length * np.einsum("ij,ji->", step, length * down - 2 * left)
        return smooth + penalties @ np.abs(moved).max(axis=1)

    def rises(i):
        return change(lengths[i]) <= change(lengths[i + 1])

    # the objective is convex along the step
    length = lengths[bisect_left(range(len(lengths) - 1), True, key=rises)]
    if change(length) >= change(0.0):
        return B, True
    found = B + length * step
    if length == 1:
        return found, True
    hit = times == length
    height = np.abs(height + length * rise)
    m = B.shape[1]
    found = np.where(hit[:, 1 : m + 1], height, np.where(hit[:, m + 1 :], -height, found))
    found[hit[:, 0]] = 0
    return found, False


def _bound(inner, square, violation):
    """Return the best feasible multiple of residuals with squared norm ``square``, and the dual objective there.

    ``inner`` is sum <residual, psi>, ``violation`` the largest ratio of a constraint to its penalty.
    """
    # at most 1, the value at the minimum: larger multiples would amplify the rounding of a tiny square
    scale = 1 / max(violation, 1.0)
    if 0 < inner < scale * square:
        scale = inner / square
    return scale, scale * (2 * inner - scale * square)


def point_weights(coef: Array, weighted: bool) -> Array:
    """Return the weights c (n,) of points: 1, or the mean nonzero |coef| over the largest of the point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.row_sparse import point_weights
    >>> point_weights(np.array([[4.0, 0.0], [-1.0, 1.0]]), True)
    array([0.5, 2. ])
    """
    sizes = np.abs(coef)
    if not weighted:
        return np.ones(len(coef))
    mean = sizes.sum() / max(np.count_nonzero(sizes), 1)
    with np.errstate(divide="ignore"):
        return mean / sizes.max(axis=1)


@compiled
def shrink(row, weight):
    """Replace a row by the minimiser b of |b - row|^2 / 2 + weight max |b|: the row minus its 1-norm ball projection.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.row_sparse import shrink
    >>> row = np.array([5.0, -4.0, 1.0])
    >>> shrink(row, 3.0)
    >>> row
    array([ 3., -3.,  1.])
    """
    total = 0.0
    above = len(row)
    before = len(row) + 1
    for value in row:
        total += abs(value)
    if total <= weight:
        row[:] = 0.0
        return
    # entries at or below the height are removed from the sum until none is left (Michelot)
    height = (total - weight) / above
    # rounding can raise their number again
    while above < before:
        before = above
        total = 0.0
        above = 0
        for value in row:
            if abs(value) > height:
                total += abs(value)
                above += 1
        if above == 0:
            # a weight below rounding changes nothing
            break
        height = (total - weight) / above
    for j in range(len(row)):
        row[j] = min(max(row[j], -height), height)


@compiled
def _descend(K, left, B, penalties, passes):
    """Minimise over one row of B after the other; ``left`` (m, n) are <residual_j, phi(x_i)>, updated with B."""
    m = B.shape[1]
    row = np.empty(m)
    for _ in range(passes):
        for i in range(len(K)):
            for j in range(m):
                row[j] = B[i, j] + left[j, i] / K[i, i]
            shrink(row, penalties[i] / (2 * K[i, i]))
            for j in range(m):
                step = row[j] - B[i, j]
                if step != 0.0:
                    B[i, j] = row[j]
                    for l in range(len(K)):  # noqa: E741
                        left[j, l] -= step * K[i, l]


def _newton(K, left, B, penalties):
    """Return the step to the minimiser with the pattern of B: the same rows, ties and signs."""
    rows = np.flatnonzero(B.any(axis=1))
    K = K[np.ix_(rows, rows)]
    left = left[:, rows]
    part = B[rows]
    # a ridge above rounding, for repeated points; it only shortens the step
    ridge = 1e-12 * len(rows) * K.diagonal().max(initial=0)
    tied = np.abs(part) == np.abs(part).max(axis=1, keepdims=True)
    heights = ridge * np.eye(len(rows))
    right = -penalties[rows] / 2
    columns = []
    for j in range(B.shape[1]):
        T = np.flatnonzero(tied[:, j])
        F = np.flatnonzero(~tied[:, j])
        sign = np.sign(part[T, j])
        factor = scipy.linalg.cholesky(
            K[np.ix_(F, F)] + ridge * np.eye(len(F)), lower=True, check_finite=False
        )
        across = scipy.linalg.solve_triangular(
            factor, K[np.ix_(F, T)] * sign, lower=True, check_finite=False
        )
        own = scipy.linalg.solve_triangular(factor, left[j, F], lower=True, check_finite=False)
        heights[np.ix_(T, T)] += sign[:, None] * K[np.ix_(T, T)] * sign - across.T @ across
        right[T] += sign * left[j, T] - across.T @ own
        columns.append((T, F, sign, factor, across, own))
    rise = np.linalg.solve(heights, right)
    step = np.zeros_like(B)
    for j, (T, F, sign, factor, across, own) in enumerate(columns):
        step[rows[T], j] = sign * rise[T]
        own = own - across @ rise[T]
        step[rows[F], j] = scipy.linalg.solve_triangular(
            factor, own, lower=True, trans="T", check_finite=False
        )
    return step
