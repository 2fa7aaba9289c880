"""Members of a stack for tables: ridge regressions with learned metrics, chosen by leave-one-out errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from mercer._common import Array, record
from mercer._compute import pick_backend
from mercer._compute.memory import Work
from mercer._compute.points import Points
from mercer._progress import notify
from mercer.expansion import Expansion
from mercer.kernels import Laplacian, Mapped, Matern
from mercer.kernels.base import Kernel
from mercer.kernels.mapped import map_rows
from mercer.learning.tuning import Scales, Tuning, likely_scales
from mercer.linalg.cholesky import leave_one_out

# Kernels of members, as functions of distances in a metric.
KERNELS = (Matern(1.0, 0.5), Laplacian(1.0), Matern(1.0, 1.5))
# Rows that a search takes, and the share of them that metrics are learned from at first: leave-one-out errors are
# optimistic for the rows that a metric has seen, and the other rows judge.
_SEARCHED = 2000
_FEW = 0.45
# Rows on which members are compared, if no more rows judge, at which gradients are taken, and whose mean distance is a
# unit.
COMPARED = 1000
# Fewest rows that metrics are learned from.
LEAST_FEW = 8
# First bandwidths, in units of the inverse mean distance, and ridges.
_SCALES = (0.2, 0.5, 1.25)
RIDGES = (3e-3, 3e-2, 0.3)
# Searches for scales from few rows, and from more.
_TUNING = Tuning(max_steps=25, prior=0.1)
_LAST = Tuning(max_steps=3, prior=0.1)
# Gradient metrics in turn.
_ITERATIONS = 2
# Most members of a stack.
_MEMBERS = 5
# Factors of the ridge and of the bandwidth in a pattern search, and their bounds.
_FACTORS = np.log([4.0, 2.0])
_BOUNDS = np.log([[1e-6, 1e3], [1e-4, 1e4]])
_error = attrgetter("error")


class Rows(NamedTuple):
    """Scaled rows X (n, q), targets Y (n, p) of mean 0 and variance 1, and weights (n,) of mean 1."""

    X: Array
    Y: Array
    weights: Array

    def take(self, places: Any) -> Rows:
        """Return some of the rows."""
        return Rows(*(each[places] for each in self))


@record
class Member:
    """A kernel of A x, x some columns of the rows, A a scale for each of them or a matrix, and its ridge.

    The kind says how A was found; the curvature is that of a search for scales.
    """

    kernel: Kernel
    columns: Array
    metric: Array
    ridge: float
    kind: str = "plain"
    curvature: Array | None = None

    def image(self, X: Array) -> Array:
        """Return the images A x (n, r) of rows X (n, q)."""
        return map_rows(self.metric, X[:, self.columns])

    def over(self, columns: Array) -> Mapped:
        """Return the kernel of rows of some columns, those of the member among them; both ascend."""
        if len(columns) == len(self.columns):
            return Mapped(self.kernel, self.metric)
        own = np.diag(self.metric) if self.metric.ndim == 1 else self.metric
        metric = np.zeros((len(own), len(columns)))
        metric[:, np.searchsorted(columns, self.columns)] = own
        return Mapped(self.kernel, metric)


class Fitted(NamedTuple):
    """A member, its mean squared leave-one-out error and residuals of the judged rows, and coefficients of all rows."""

    member: Member
    error: float
    residuals: Array
    coef: Array


class Stack(NamedTuple):
    """Members and their weights, and the leave-one-out predictions of the judged rows, slices of all."""

    members: list[Member]
    weights: Array
    predictions: Array
    judged: slice


def _best_plain(kernel, columns, rows):
    """Return the member with one scale for some columns that has the smallest leave-one-out error."""
    unit = 1 / _mean_distance(kernel, rows.X[:, columns])
    found = []
    for scale in _SCALES:
        first = Member(kernel, columns, np.full(len(columns), unit * scale), 1.0)
        K = _matrix(first, rows.X)
        found += [_fitted(replace(first, ridge=ridge), rows, K=K) for ridge in RIDGES]
    return min(found, key=_error)


def work(n: int) -> Work:
    """Return about the work of the searches on n rows."""
    compared = float(min(n, COMPARED))
    searched = float(min(n, _SEARCHED))
    searches = 1 + (n <= COMPARED)
    return Work(
        60 * searches * searched**2,
        22 * searches * compared**3 + 10 * (searched**3 - compared**3),
        assumed="typical searches",
    )


def plain_members(rows: Rows, scalings: Sequence[Array]) -> list[Fitted]:
    """Return the best member with one scale of each kernel, on the rows that metrics are learned from at first.

    Members have the columns of one of one or two ``scalings``. If all have the same, the best with the other follows.
    """
    few = rows.take(slice(_n_few(rows) or COMPARED))
    tried = [[_best_plain(kernel, columns, few) for columns in scalings] for kernel in KERNELS]
    chosen = [min(range(len(own)), key=lambda i, own=own: own[i].error) for own in tried]
    found = [own[i] for own, i in zip(tried, chosen, strict=True)]
    if len(scalings) == 2 and len(set(chosen)) == 1:
        found.append(min((own[1 - chosen[0]] for own in tried), key=_error))
    return found


def _n_few(rows):
    """Return the number of rows that metrics are learned from at first, which judge none; 0 if all rows judge."""
    n = int(_FEW * min(len(rows.X), _SEARCHED))
    return n if n >= LEAST_FEW and rows.Y[:_SEARCHED].any() else 0


def search(rows: Rows, plain: Sequence[Fitted], rng: Any) -> Stack:
    """Return the stack of members with metrics from few rows, judged on others, then learned again from more rows.

    The rows are in random order; ``plain`` are their `plain_members`. Of at most 1 000 rows it is the mean of two
    searches, with metrics from the first and from the last rows: chance decides less.
    """
    known = rows.take(slice(_SEARCHED))
    stack = _search(known, plain)
    if len(known.X) <= COMPARED and _n_few(known):
        stack = _mean(stack, _search(known.take(slice(None, None, -1)), plain))
    members = [_relearned(each, known, rng) for each in stack.members]
    return stack._replace(members=members)


def _mean(*stacks):
    """Return the mean of stacks; members of one kind become one, with the mean of their metrics."""
    found = {}
    for stack in stacks:
        for member, weight in zip(stack.members, stack.weights / len(stacks), strict=True):
            kind = (member.kernel, member.kind, tuple(member.columns))
            first, before = found.get(kind, (member, 0.0))
            if before:
                member = _between(first, member, weight / (before + weight))
            found[kind] = member, before + weight
    members, weights = zip(*found.values(), strict=True)
    return stacks[0]._replace(members=list(members), weights=np.array(weights))


def _between(member, other, share):
    """Return a member between two of one kind: the mean logarithm of scales and ridges, or the mean of A'A."""
    ridge = member.ridge ** (1 - share) * other.ridge**share
    if member.metric.ndim == 1:
        metric = member.metric ** (1 - share) * other.metric**share
    else:
        values, axes = np.linalg.eigh(
            (1 - share) * member.metric.T @ member.metric + share * other.metric.T @ other.metric
        )
        metric = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    return replace(member, metric=metric, ridge=ridge)


def _search(known, plain):
    """Return the stack of a search that learns metrics from the first rows."""
    n_few = _n_few(known)
    few = known.take(slice(n_few or None))
    start = max(0, min(n_few, len(known.X) - COMPARED))
    compared = known.take(slice(start, None))
    n_seen = n_few - start
    candidates = []
    for each in plain:
        for member in _candidates(_fitted(each.member, few), few):
            candidates.append(_fitted(member, compared, n_seen))
        notify("table", kernel=repr(each.member.kernel), error=candidates[-1].error)
    candidates.sort(key=_error)
    # the best of each kernel, then the best of the others
    firsts = [
        next(each for each in candidates if each.member.kernel == kernel) for kernel in KERNELS
    ]
    others = [each for each in candidates if all(each is not first for first in firsts)]
    several = (firsts + others)[:_MEMBERS]
    kept = _stacked(several, compared, n_seen).members
    best = [
        _refined(each.member, compared, 2, n_seen, each)
        for each in several
        if any(each.member is member for member in kept)
    ]
    return _stacked(best, compared, n_seen)._replace(judged=slice(n_few, len(known.X)))


def _candidates(plain, few) -> Iterator[Member]:
    """Yield a member with one scale, and members of its kernel with metrics learned from few rows."""
    kernel = plain.member.kernel
    yield plain.member
    if len(few.X) < LEAST_FEW or not few.Y.any():
        return
    scaled = _scaled(plain.member, few, _TUNING)
    yield scaled
    if isinstance(kernel, Laplacian):
        # distances along the columns have no rotation
        return
    start = min(plain, _fitted(scaled, few), key=_error)
    chain = [start]
    for _ in range(_ITERATIONS):
        chain.append(_refined(_turned(chain[-1], few, slice(None)), few, 1))
    yield min(chain[1:], key=_error).member


def _scaled(member, rows, tuning):
    """Return a member with a likely scale for each column, by steps from those of a member."""
    own = rows._replace(X=np.ascontiguousarray(rows.X[:, member.columns]))
    found = likely_scales(
        member.kernel, own, Scales(member.metric, member.ridge, member.curvature), tuning
    )
    return replace(
        member, metric=found.scales, ridge=found.ridge, kind="scales", curvature=found.curvature
    )


def _relearned(member, rows, rng):
    """Return a member with its metric learned again from all rows."""
    if member.kind == "scales":
        return _scaled(member, rows, _LAST)
    if member.kind == "matrix":
        return _turned(_fitted(member, rows), rows, rng.permutation(len(rows.X))[:COMPARED])
    return member


def _stacked(members, rows, first):
    """Return the stack with the nonnegative weights of least squares on the leave-one-out predictions."""
    judged = slice(first, len(rows.X))
    Y = rows.Y[judged]
    weights = stack_weights([each.residuals for each in members], Y, rows.weights[judged])
    # where no predictions help, the stack is near the mean of the targets
    kept = np.flatnonzero(weights) if weights.any() else [0]
    predictions = sum(w * (Y - each.residuals) for w, each in zip(weights, members, strict=True))
    return Stack([members[i].member for i in kept], weights[kept], predictions, judged)


def stack_weights(residuals: Sequence[Array], Y: Array, weights: Array) -> Array:
    """Return the nonnegative weights of predictions of Y (n, p), given their residuals, by least squares."""
    root = np.sqrt(weights)[:, None]
    P = np.stack([(root * (Y - each)).ravel() for each in residuals], axis=1)
    targets = (root * Y).ravel()
    # predictions of almost 0 would have huge weights
    ridge = np.sqrt(1e-3 * (targets @ targets)) * np.eye(len(residuals))
    return nnls(np.vstack([P, ridge]), np.append(targets, np.zeros(len(residuals))))[0]


def _refined(member, rows, moves, first=0, start=None):
    """Return a member with the ridge and bandwidth of small leave-one-out error, by a pattern search from ``start``."""
    matrices = {}

    def tried(place):
        moved = replace(
            member, ridge=float(np.exp(place[0])), metric=member.metric * np.exp(place[1])
        )
        key = round(place[1], 6)
        if key not in matrices:
            matrices[key] = _matrix(moved, rows.X)
        return _fitted(moved, rows, first, matrices[key])

    place = [np.log(member.ridge), 0.0]
    return least(tried, place, start or tried(place), moves)


def least(tried: Callable[[Array], Any], start: Sequence[float], best: Any, moves: int) -> Any:
    """Return what ``tried`` makes of the logarithms of a ridge, or of a ridge and a bandwidth, with a small ``error``.

    A pattern search: ``moves`` times along each coordinate, by half the steps where none was better. ``best`` is what
    ``tried`` makes of the start.
    """
    known = {_key(start): best}

    def at(place):
        key = _key(place)
        if key not in known:
            known[key] = tried(place)
        return known[key]

    p = len(start)
    lower, upper = _BOUNDS[:p].T
    steps = np.diag(_FACTORS)[:p, :p]
    place = np.array(start)
    for _ in range(moves):
        before = best
        for step in (sign * step for step in steps for sign in (1, -1)):
            while np.all((lower < place + step) & (place + step < upper)):
                found = at(place + step)
                if found.error >= best.error:
                    break
                place, best = place + step, found
        if best is before:
            steps = steps / 2
    return best


def _key(place):
    return tuple(np.round(place, 6))


def _turned(fitted, rows, places):
    """Return a member whose metric is the root of the average outer product of gradients at some rows."""
    member = fitted.member
    U = member.image(rows.X)
    psi = Expansion(member.kernel, U, fitted.coef)
    # gradients g in A x are A' g in x
    G = psi.gradient(U[places]).reshape(-1, U.shape[1])
    G = G * member.metric if member.metric.ndim == 1 else G @ member.metric
    values, axes = np.linalg.eigh(G.T @ G)
    if not values[-1] > 0:
        # constant predictions have no direction
        return member
    # all directions have a small share
    root = (axes * np.sqrt(np.maximum(values, 0) / values[-1] + 1e-10)) @ axes.T
    turned = replace(member, metric=root, kind="matrix", curvature=None)
    before, after = (_mean_distance(each.kernel, each.image(rows.X)) for each in (member, turned))
    return replace(turned, metric=root * (before / after))


def _fitted(member, rows, first=0, K=None):
    """Return a member judged on the rows from ``first`` on; the error is infinite where its matrix is not definite."""
    K = _matrix(member, rows.X) if K is None else K
    try:
        residuals, coef = leave_one_out(K, member.ridge / rows.weights, rows.Y, first)
    except np.linalg.LinAlgError:
        # predictions of 0, which no stack takes
        return Fitted(member, np.inf, rows.Y[first:], np.zeros_like(rows.Y))
    weights = rows.weights[first:]
    error = float(weights @ np.mean(residuals**2, axis=1) / weights.sum())
    return Fitted(member, error, residuals, coef)


def _matrix(member, X):
    points = Points(np.ascontiguousarray(member.image(X)))
    return pick_backend(member.kernel, points).dense(member.kernel, points, points)


def _mean_distance(kernel, X):
    """Return the mean distance of some rows, along the columns for kernels of such distances; 1 for equal rows."""
    distances = cdist(
        X[:COMPARED], X[:COMPARED], "cityblock" if isinstance(kernel, Laplacian) else "euclidean"
    )
    return float(distances.mean()) or 1.0
