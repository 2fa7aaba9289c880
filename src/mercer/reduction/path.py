"""L1 and MaxNorm: reduced set selection by the regularisation path of a sparse problem, in sets of every size."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._common import AnyFunction, Array, as_float64, check_fraction, check_positive, record
from mercer._compute.memory import parse_memory
from mercer.reduction.base import Selection, Stage, Target
from mercer.reduction.row_sparse import RowSparse, point_weights
from mercer.reduction.subset import gram

# Ratio of successive penalties.
_STEP = 0.7
# Ratio of the last penalty to the first.
_LAST = 1e-7


class Joint:
    """Several `RowSparse` problems with one lambda, solved to a relative duality gap; each solution starts the next."""

    def __init__(self, problems: list[RowSparse], gap: float) -> None:
        self.problems = problems
        self._gap = gap
        self._coefs = [None] * len(problems)
        self.largest: float = max(problem.largest for problem in problems)

    def solve(self, penalty: float) -> Array:
        """Return the largest penalty term of each point (n,) over the problems."""
        terms = []
        for i, problem in enumerate(self.problems):
            self._coefs[i] = problem.solve(penalty, self._gap, self._coefs[i]).coef
            terms.append(problem.terms(self._coefs[i]))
        return np.max(terms, axis=0)

    def solve_at(self, penalty: float) -> Array:
        """Return the terms (n,) for one penalty, by decreasing penalties; one below the end of the path is its end."""
        penalty = max(penalty, _LAST * self.largest)
        steps = max(1, math.ceil(math.log(max(self.largest / penalty, 1), 1 / _STEP)))
        for each in np.geomspace(max(penalty, self.largest), penalty, steps + 1)[1:]:
            terms = self.solve(each)
        return terms


def path(target: Target, largest: float, solve: AnyFunction, n_vectors: int) -> Iterator[Any]:
    """Yield the supports of a sparse problem for decreasing penalties, and sets of every size between them.

    ``largest`` is the smallest penalty that keeps no point; ``solve(penalty)`` returns the penalty term of each point
    (n,), 0 for points that are not kept. Between two supports, points enter in the order of their terms. When a support
    is larger than ``n_vectors``, bisection finds the largest one that is not, and the points that enter next fill it.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.path import path
    >>> target = Target(mc.features(mc.Linear(), np.eye(3)))
    >>> stages = path(target, 4.0, lambda penalty: np.maximum([4.0, 2.0, 1.0] - penalty * np.ones(3), 0), 3)
    >>> [stage.rows.tolist() for stage in stages]
    [[0], [0, 1], [0, 1, 2]]
    """
    before = np.empty(0, dtype=np.intp)
    penalty = largest
    while penalty > _LAST * largest:
        smaller = _STEP * penalty
        terms = solve(smaller)
        beyond = None
        if np.count_nonzero(terms) > n_vectors:
            terms, beyond = _bisected(solve, penalty, smaller, terms, n_vectors)
        if np.count_nonzero(terms) > len(before):
            for stage in growing(target, before, terms):
                before = stage.rows
                yield stage
        if beyond is not None:
            yield from (
                stage for stage in growing(target, before, beyond) if len(stage.rows) <= n_vectors
            )
            return
        penalty = smaller


def _bisected(solve, penalty, smaller, beyond, n_vectors):
    """Return the terms just above and just below the penalty at which the support exceeds ``n_vectors``."""
    inside = np.zeros_like(beyond)
    while penalty > (1 + 1e-5) * smaller and np.count_nonzero(inside) < n_vectors:
        middle = np.sqrt(penalty * smaller)
        terms = solve(middle)
        if np.count_nonzero(terms) > n_vectors:
            smaller = middle
            beyond = terms
        else:
            penalty = middle
            inside = terms
    return inside, beyond


def growing(target: Target, before: Array, terms: Array) -> Iterator[Any]:
    """Yield sets that grow from one support to another, which comes last; the largest term enters first."""
    new = np.setdiff1d(np.flatnonzero(terms), before)
    rows = np.concatenate([before, new[np.argsort(-terms[new], kind="stable")]])
    last = rows[terms[rows] > 0]
    for size in range(len(before) + 1, len(last)):
        yield Stage(target.points, rows[:size])
    yield Stage(target.points, last)


@record
class SparsePath(Selection):
    """Reduced set selection by the path of the `RowSparse` ``problems(K, coef)`` of its subclass."""

    weighted: bool = True
    gap: float = 1e-4
    memory: str | int = "1GB"

    def __post_init__(self) -> None:
        check_fraction("gap", self.gap)
        parse_memory(self.memory)

    def find(self, target, n_vectors, tol):
        """Yield the supports along the path."""
        joint = self.joint(target)
        yield from path(target, joint.largest, joint.solve, n_vectors)

    def joint(self, target: Target) -> Joint:
        """Return the problems of a target over its Gram matrix in float64."""
        K = as_float64(gram(target, self.memory, 4))
        return Joint(self.problems(K, target.coef), self.gap)


@record
class L1(SparsePath):
    r"""Reduced set selection (RSS): the points with coefficients in the solutions of one Lasso problem per column.

    .. math:: \min_b \; \left|\psi_j - \sum_i b_i\,\phi(x_i)\right|^2 + \lambda \sum_i c_{ij} |b_i|

    over the points at which psi_j has coefficients. One lambda for all columns decreases along a path until the union
    of the supports has the requested size, or it is given; the coefficients of each set are re-optimised.

    Parameters
    ----------
    weighted : bool
        If True, c_ij = mean_i |coef_ij| / |coef_ij|, with the mean over nonzero coefficients, so that small terms are
        penalised more; otherwise c_ij = 1.
    gap : float
        Relative duality gap to which each problem is solved.
    memory : str or int
        Memory limit for four n x n matrices.
    penalty : float, optional
        lambda. ``reduce`` then needs neither ``n_vectors`` nor ``tol``: the set is the support of the solution, or the
        first point of the path if that is empty. A lambda below 1e-7 of the least one that keeps no point counts as
        that share. Smaller sets of the history keep the largest terms of the penalty.

    Notes
    -----
    With one column the sets are those of the Lasso path (scikit-learn's ``lars_path_gram`` gives the same), and
    ``MaxNorm`` gives the same sets. With several columns the problems are independent: only ``MaxNorm`` favours points
    that columns share. O(s^3) for each column and each of 20 to 40 penalties.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C.2.
    Tibshirani, *Regression shrinkage and selection via the Lasso*, JRSS B 58 (1996).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction import L1, reduce
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0], [0.2], [0.5]]))
    >>> reduce(psi, 2, method=L1()).expansion.points.ravel().tolist()
    [0.0, 3.0]
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.penalty is not None:
            check_positive("penalty", self.penalty)

    @property
    def fixes_size(self) -> bool:
        """Whether the penalty determines the number of points."""
        return self.penalty is not None

    def find(self, target, n_vectors, tol):
        """Yield the supports along the path, or the sets up to the support for a given penalty."""
        if self.penalty is None:
            yield from super().find(target, n_vectors, tol)
            return
        joint = self.joint(target)
        terms = joint.solve_at(float(self.penalty))
        if not terms.any():
            terms[np.argmax(np.max([each.entering for each in joint.problems], axis=0))] = 1.0
        yield from growing(target, np.empty(0, np.intp), terms)

    def problems(self, K: Array, coef: Array) -> list[RowSparse]:
        """Return a problem for each column."""
        columns = [column[:, None] for column in coef.T if column.any()]
        weights = [
            np.where(column[:, 0] != 0, point_weights(column, self.weighted), np.inf)
            for column in columns
        ]
        return [RowSparse(K, column, c) for column, c in zip(columns, weights, strict=True)]


class MaxNorm(SparsePath):
    r"""Reduced set selection (RSS): the points with coefficients in the solution of one problem for all columns.

    .. math:: \min_B \; \sum_j \left|\psi_j - \sum_i B_{ij}\,\phi(x_i)\right|^2 + \lambda \sum_i c_i \max_j |B_{ij}|

    The penalty lambda decreases along a path until the support has the requested size; the coefficients of each set are
    re-optimised. Only the largest coefficient of a point is penalised, so points that several columns share are
    favoured, unlike in a sum of Lasso problems.

    Parameters
    ----------
    weighted : bool
        If True, c_i = mean |coef| / max_j |coef_ij|, with the mean over nonzero coefficients, so that small terms are
        penalised more; otherwise c_i = 1.
    gap : float
        Relative duality gap to which each problem is solved.
    memory : str or int
        Memory limit for four n x n matrices.

    Notes
    -----
    The sets of the path need not be nested; between two solutions points enter one by one, the largest penalty term
    first. O(m s^3) for each of 20 to 40 penalties. ``mercer.reduction.row_sparse.RowSparse`` solves the problem for one
    lambda, with a lower bound.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C.3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction import MaxNorm, reduce
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0, 0.0], [0.2, 0.2], [0.0, 1.0]]))
    >>> reduce(psi, 2, method=MaxNorm()).expansion.points.ravel().tolist()
    [0.0, 3.0]
    """

    def problems(self, K: Array, coef: Array) -> list[RowSparse]:
        """Return one problem for all columns."""
        return [RowSparse(K, coef, point_weights(coef, self.weighted))]
