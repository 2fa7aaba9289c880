"""The regularisation path of a sparse problem: the points it keeps as the penalty decreases, in sets of every size."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array, as_float64, check_fraction
from mercer._compute.memory import parse_memory
from mercer.reduction.base import Selection, Stage, Target
from mercer.reduction.row_sparse import RowSparse
from mercer.reduction.subset import gram

# Ratio of successive penalties.
_STEP = 0.7
# Ratio of the last penalty to the first.
_LAST = 1e-7


class Joint:
    """Several `RowSparse` problems with one lambda, solved to a relative duality gap; each solution starts the next."""

    def __init__(self, problems: list[RowSparse], gap: float) -> None:
        self._problems = problems
        self._gap = gap
        self._coefs = [None] * len(problems)
        self.largest: float = max(problem.largest for problem in problems)

    def solve(self, penalty: float) -> Array:
        """Return the largest penalty term of each point (n,) over the problems."""
        terms = []
        for i, problem in enumerate(self._problems):
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


def path(
    target: Target, largest: float, solve: Callable[..., Any], n_vectors: int
) -> Iterator[Any]:
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


@dataclass(frozen=True)
class SparsePath(Selection):
    """Reduced set selection by the path of the `RowSparse` ``problems(K, coef)`` of its subclass."""

    weighted: bool = True
    gap: float = 1e-4
    memory: str | int = "1GB"

    def __post_init__(self) -> None:
        check_fraction("gap", self.gap)
        parse_memory(self.memory)

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Any]:
        """Yield the supports along the path."""
        joint = Joint(self.problems(self.matrix(target), target.coef), self.gap)
        yield from path(target, joint.largest, joint.solve, n_vectors)

    def matrix(self, target: Target) -> Array:
        """Return the Gram matrix in float64."""
        return as_float64(gram(target, self.memory, 4))
