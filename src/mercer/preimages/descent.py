"""Monotone descent of many points at once, each with its own step length and stopping time, and their objectives.

Every active point has one trial per iteration, all trials are evaluated together, and a point moves only if its value
falls. A step rule proposes the trials: fixed-point steps or quasi-Newton directions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import (
    ROUNDING,
    AnyFunction,
    Array,
    ArrayLike,
    as_float64,
    check_integer,
    check_nonnegative,
    check_positive,
    record,
    shown,
)
from mercer._compute.array import tiles
from mercer._compute.points import PROBES, Points, dense, evenly_spaced
from mercer._progress import notify
from mercer.expansion import Expansion, rows_of, summands
from mercer.kernels.direct_sum import Marked, kernel_of_data
from mercer.preimages.base import Found

# Halvings of a step after which no lower value can be told from rounding; those of a number take up to a third more
# steps at kinks, and gain nothing.
_HALVINGS = 40
# Largest weight of the distance in input space, whose square times those of distances is a number.
_LARGEST_PULL = 1e100
# Squared distances that differ by at most this share of |psi|^2 are those of one minimum.
_ONE_MINIMUM = 1e-9
# phi(z) counts as orthogonal to psi where value and slope of psi are below this share of |psi| |phi(z)|.
_ORTHOGONAL = 1e-6


@record
class Iterative:
    """The options that the iterative methods share; ``starts`` are those of `preimage` and `ray` without ``start``."""

    max_iter: int = 500
    tol: float = 1e-6
    restarts: int = 3
    pull: float = 0.0
    starts: int = field(default=4, kw_only=True)

    def __post_init__(self) -> None:
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_integer("restarts", self.restarts, least=0)
        check_integer("starts", self.starts)
        check_nonnegative("pull", self.pull)
        if self.pull > _LARGEST_PULL:
            raise ValueError(
                f"pull = {shown(self.pull)} must be at most {_LARGEST_PULL:g}, or its squares overflow; scale X."
            )


def row_dot(a: Array, b: Array) -> Array:
    """Return the inner products of the rows of two arrays."""
    return np.einsum("ij,ij->i", a, b)


def best_of(
    find: Callable[[Array], Found],
    starts: list[Array],
    measure: Callable[[Array], Array],
    squares: Array | None,
) -> Any:
    """Return the result of lowest measure of each vector among s starts (m, d), and how many ended there.

    ``measure(points)`` are the squared distances (m,) to vectors of squared norms ``squares`` (m,), which one start
    needs neither of; the first of one minimum counts. ``n_iter`` is that of all starts.
    """
    runs = [find(start) for start in starts]
    if len(runs) == 1:
        return runs[0], np.ones(len(starts[0]), int)
    heights = np.array([measure(run.points) for run in runs])
    heights[np.isnan(heights)] = np.inf
    columns = np.arange(heights.shape[1])
    lowest = heights <= heights.min(axis=0) + _ONE_MINIMUM * squares
    best = lowest.argmax(axis=0)
    found = Found(
        np.array([run.points for run in runs])[best, columns],
        np.array([run.converged for run in runs])[best, columns],
        np.sum([run.n_iter for run in runs], axis=0),
        tuple(runs[k].reasons[j] for j, k in enumerate(best)),
    )
    return found, np.count_nonzero(lowest, axis=0)


@dataclass(eq=False)
class Descent:
    """The state of m points during their descent.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(z, columns)`` returns values (r,), vectors (r, d) (steps or gradients) from which the rule makes
        trials, and whether these vectors are valid (r,).
    rule : object
        ``propose(rows, z, v, failures)`` returns trials and the required decreases, with ``failures`` the number of
        rejected trials; ``accept(rows, moved, before, after)`` and ``forget(rows)`` update its memory.
    start : array (m, d)
    tolerance : array (m,)
        A point with |v| at most this has converged.
    restart : callable
        ``restart(columns, attempt)`` returns new starting points, and whether there are any.
    """

    evaluate: AnyFunction
    rule: Any
    start: Array
    tolerance: Array
    restart: AnyFunction

    def __post_init__(self) -> None:
        m = len(self.start)
        self._z = self.start.copy()
        self._value, self._v, self._valid = self.evaluate(self._z, np.arange(m))
        self._failures, self._attempt, self._n_iter = (np.zeros(m, int) for _ in range(3))
        self._active = np.ones(m, bool)
        self._best = self.start.copy()
        self._lowest = np.full(m, np.inf)
        self._converged = np.zeros(m, bool)
        self._reasons = [""] * m

    def run(self, max_iter: int) -> Found:
        """Return the lowest point of every descent, after ``max_iter`` trials at most; none is above its start."""
        self._stop_or_restart(np.arange(len(self._z)))
        for _ in range(max_iter):
            rows = np.flatnonzero(self._active)
            if not len(rows):
                break
            self._advance(rows)
            self._stop_or_restart(rows)
            if notify("points", done=int((~self._active).sum()), most=len(self._active)):
                self._stop(np.flatnonzero(self._active), False, "the callback ended the run")
        self._stop(np.flatnonzero(self._active), False, f"max_iter = {max_iter} reached")
        return Found(self._best, self._converged, self._n_iter, tuple(self._reasons))

    def _advance(self, rows):
        trial, demand = self.rule.propose(rows, self._z[rows], self._v[rows], self._failures[rows])
        value, v, valid = self.evaluate(trial, rows)
        self._n_iter[rows] += 1
        lower = self._lower(rows, value, v, demand)
        self._failures[rows[~lower]] += 1
        moved = rows[lower]
        self.rule.accept(moved, trial[lower] - self._z[moved], self._v[moved], v[lower])
        self._z[moved] = trial[lower]
        self._value[moved] = value[lower]
        self._failures[moved] = 0
        self._v[moved] = v[lower]
        self._valid[moved] = valid[lower]

    def _lower(self, rows, value, v, demand):
        """Return which trials have the required decrease or, where rounding hides it, a shorter v."""
        old = self._value[rows]
        same = value <= old + ROUNDING * np.abs(old)
        shorter = np.linalg.norm(v, axis=1) < np.linalg.norm(self._v[rows], axis=1)
        return (value < old - demand) | (same & shorter)

    def _stop_or_restart(self, rows):
        """Stop points that have converged or cannot move; restart those with an invalid v until all are valid."""
        while len(rows):
            valid = self._valid[rows]
            length = np.linalg.norm(self._v[rows], axis=1)
            stationary = valid & (length <= self.tolerance[rows])
            self._stop(rows[stationary], True, "")
            stuck = valid & ~stationary & (self._failures[rows] > _HALVINGS)
            self._stop(
                rows[stuck], False, "no step along the direction lowers the objective further"
            )
            rows = self._restarted(rows[~valid])

    def _restarted(self, rows):
        if not len(rows):
            return rows
        self._stop(
            rows, False, "the denominator is near zero: <psi, phi(z)> is nearly 0 or negative"
        )
        self._attempt[rows] += 1
        points, there = self.restart(rows, self._attempt[rows])
        rows = rows[there]
        self.rule.forget(rows)
        self._z[rows] = points[there]
        self._failures[rows] = 0
        self._active[rows] = True
        if len(rows):
            self._value[rows], self._v[rows], self._valid[rows] = self.evaluate(self._z[rows], rows)
        return rows

    def _stop(self, rows, converged, reason):
        self._active[rows] = False
        rows = rows[self._value[rows] < self._lowest[rows]]
        self._best[rows] = self._z[rows]
        self._lowest[rows] = self._value[rows]
        self._converged[rows] = converged
        for row in rows:
            self._reasons[row] = reason


@dataclass
class Restarts:
    """New starting points: the points of psi nearest to each vector, without ``start``, at most ``restarts`` of them.

    The order of the points is computed only for vectors whose start fails.
    """

    psi: Expansion
    start: Array
    restarts: int
    order: dict[int, Array] = field(default_factory=dict)

    def __call__(self, columns: Array, attempt: Any) -> tuple[Any, ...]:
        """Return the points (r, d) for the given attempts, and whether there are that many (r,)."""
        missing = [j for j in columns if j not in self.order]
        if missing and self.restarts:
            self.order |= dict(zip(missing, self._ranked(np.array(missing)), strict=True))
        rows = [self.order.get(j, [])[k - 1 : k] for j, k in zip(columns, attempt, strict=True)]
        there = np.array([len(each) > 0 for each in rows])
        return dense_rows(self.psi, np.array([each[0] if len(each) else 0 for each in rows])), there

    def _ranked(self, columns):
        order = nearest(self.psi, self.psi[:, columns](self.psi.points), self.restarts + 1)
        for j, rows in zip(columns, order.T, strict=True):
            yield [i for i in rows if (dense_rows(self.psi, [i])[0] != self.start[j]).any()][
                : self.restarts
            ]


def nearest(psi: Expansion, values: Array, count: int) -> Array:
    """Return which points are nearest to each vector in feature space (count, m), from ``values`` = psi(points)."""
    squares = psi.kernel.diag(psi.points)[:, None] - 2 * values
    return np.argsort(squares, axis=0, kind="stable")[:count]


def dense_rows(psi: Expansion, rows: ArrayLike) -> Array:
    """Return some points of an expansion as a dense float64 array."""
    return as_float64(dense(rows_of(psi)[rows]))


def over_rows(psi: Expansion) -> bool:
    """Return whether an expansion is over NumPy or sparse rows of numbers."""
    points = psi.points
    array = isinstance(points, np.ndarray) or sp.issparse(points)
    return (
        array
        and psi.kernel.tags.points != "indices"
        and points.ndim == 2
        and points.dtype.kind == "f"
    )


# --- objectives over points of input space, one vector per point: distances and quotients, with their gradients -------


def quotients(a: Array, b: Array) -> Array:
    """Return a / b, 0 where b is not above 0."""
    positive = b > 0
    return np.where(positive, a, 0) / np.where(positive, b, 1)


def squared_norms(psi: Expansion, values: Array) -> Array:
    """Return |psi_j|^2 (m,) from ``values`` = psi(psi.points)."""
    return np.diagonal(values) if psi.coef is None else np.einsum("ij,ij->j", psi.coef, values)


def paired_values(psi: Expansion, z: Array) -> Array:
    """Return <psi_j, phi(z_j)> for every vector and its point (m,), without gradients.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.descent import paired_values
    >>> paired_values(mc.features(mc.Linear(), np.array([[1.0], [2.0]])), np.array([[3.0], [4.0]]))
    array([3., 8.])
    """
    values = np.zeros(len(z))
    for rows, kernel, tile, W in _summed(psi, z, np.arange(len(z))):
        values[rows] += row_dot(W, kernel.evaluate(tile))
    return values


def paired(psi: Expansion, z: Array, columns: Array) -> tuple[Array, Array]:
    """Return <psi_j, phi(z_r)> (r,) and its gradient in z_r (r, d), where j = columns[r].

    Values and gradients share the tiles, so distances are computed once; no array (r, n, d) is formed.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.descent import paired
    >>> phi = mc.features(mc.Linear(), np.array([[1.0], [2.0]]))
    >>> paired(phi, np.array([[3.0], [4.0]]), np.array([0, 1]))
    (array([3., 8.]), array([[1.],
           [2.]]))
    """
    values = np.zeros(len(z))
    gradient = np.zeros(z.shape)
    for rows, kernel, tile, W in _summed(psi, z, columns):
        values[rows] += row_dot(W, kernel.evaluate(tile))
        gradient[rows] += kernel.gradient(tile, W)
    return values, gradient


def _summed(psi, z, columns):
    """Yield rows of points z, and a kernel, a tile and weights (r, n) of each sum in which psi has values there."""
    for part in summands(psi):
        for rows, tile in tiles(Points(z), part.prepared):
            yield rows, part.kernel, tile, weights(part, columns[rows])


def weights(psi: Expansion, columns: Array) -> Array:
    """Return the coefficients of some vectors as rows (r, n)."""
    if psi.coef is None:
        W = np.zeros((len(columns), len(psi.prepared)))
        W[np.arange(len(columns)), columns] = 1
        return W
    return psi.coef.T[columns]


class _OfVectors:
    """Vectors psi_j of an objective, their norms, and the spread of their points."""

    def __init__(self, psi: Expansion) -> None:
        self.psi: Expansion = psi
        self.kernel: Any = kernel_of_data(psi.kernel)
        self.norms: Array = psi.norms()
        self.width: float = spread(psi)

    def _has_influence(self, columns, inner, gradient, squares):
        """Return whether value or slope exceeds rounding; where psi is flat, every point would be stationary."""
        negligible = _ORTHOGONAL * (self.norms[columns] * np.sqrt(np.abs(squares)))
        steep = np.linalg.norm(gradient, axis=1) * self.width > negligible
        return (np.abs(inner) > negligible) | steep


class Distance(_OfVectors):
    """f_j(z) = k(z, z) - 2 <psi_j, phi(z)> + pull |z - anchor_j|^2: the squared distance without |psi_j|^2.

    ``pull`` is the weight of the distance in input space (Abrahamsen and Hansen 2009).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.descent import Distance
    >>> z = np.array([[2.0]])
    >>> f, gradient, valid = Distance(mc.features(mc.Linear(), z), 0.0, z)(z, np.array([0]))
    >>> f, gradient
    (array([-4.]), array([[0.]]))
    """

    def __init__(self, psi: Expansion, pull: float, anchor: Array) -> None:
        super().__init__(psi)
        self.pull: float = pull
        self.anchor: Array = anchor

    def size(self, start: Array) -> Array:
        """Return the size of the values (m,), positive also where psi = 0.

        |psi| max(|psi|, |phi(start)|): phi(z) grows as long as psi, but where k(z, z) is constant.
        """
        rows = dense_rows(self.psi, evenly_spaced(self.psi.prepared.n, PROBES))
        grows = self.kernel.diagonal_gradient(Points(rows), np.ones(len(rows))).any()
        top = np.sqrt(np.abs(self.psi.kernel.diag(start)))
        longest = np.maximum(self.norms, top) if grows else top
        return np.maximum(self.norms, _ORTHOGONAL**2 * top) * longest

    def __call__(self, z: Array, columns: Array) -> tuple[Array, Array, Array]:
        """Return values (r,), gradients (r, d), and whether psi has an influence at each point (r,)."""
        points = Points(z)
        inner, slope = paired(self.psi, z, columns)
        offset = z - self.anchor[columns]
        squares = self.kernel.diagonal(points)
        values = squares - 2 * inner + self.pull * row_dot(offset, offset)
        own = self.kernel.diagonal_gradient(points, np.ones(len(z)))
        gradient = own - 2 * slope + 2 * self.pull * offset
        return values, gradient, self._has_influence(columns, inner, gradient, squares)


class Quotient(_OfVectors):
    """f_j(z) = -<psi_j, phi(z)>^2 / k(z, z): the squared distance of psi_j to the line of phi(z), without |psi_j|^2.

    See section V-A of Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 1999.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.descent import Quotient
    >>> phi = mc.features(mc.Linear(), np.array([[3.0, 4.0]]))
    >>> Quotient(phi)(np.array([[6.0, 8.0]]), np.array([0]))[0]
    array([-25.])
    """

    def size(self, start: Array) -> Any:
        """Return the size of the values (m,), |psi|^2."""
        return self.norms**2

    def __call__(self, z: Array, columns: Array) -> tuple[Array, Array, Array]:
        """Return values (r,), gradients (r, d), and whether psi has an influence at each point (r,)."""
        points = Points(z)
        inner, slope = paired(self.psi, z, columns)
        squares = self.kernel.diagonal(points)
        # phi(z) has no direction where k(z, z) <= 0
        scale = quotients(inner, squares)
        gradient = self.kernel.diagonal_gradient(points, scale**2) - 2 * scale[:, None] * slope
        valid = (squares > 0) & self._has_influence(columns, inner, slope, squares)
        return -scale * inner, gradient, valid


def spread(psi: Expansion) -> float:
    """Return the root mean squared distance of the points from their mean, the unit of tolerances; 1 if it is 0."""
    points = Points(rows_of(psi)) if isinstance(psi.kernel, Marked) else psi.prepared
    # sparse rows are not centred: the squared norm of their mean is subtracted
    mean = np.asarray(points.container.mean(axis=0)).ravel() if points.sparse else np.zeros(1)
    total = float(np.mean(points.sqnorms(points.centre)) - mean @ mean)
    return total**0.5 if total > 0 else 1.0
