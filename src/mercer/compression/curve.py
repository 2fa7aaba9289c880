"""Several sizes of one compression: smaller models from larger ones, and the fewest vectors within a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.points import take_points
from mercer.compression import families
from mercer.compression.report import measure

if TYPE_CHECKING:
    from mercer._common import Array
    from mercer.compression.task import Task
    from mercer.expansion import Expansion
    from mercer.solvers.few_vectors.noise import Choice

# Folds of which one at a time is held out, and rows held out that are enough.
_FOLDS, _ENOUGH = 3, 2000
# Ratio of two sizes that are compared.
_RATIO = 1.2


@dataclass(frozen=True)
class Fitted:
    """Fitted vectors and intercepts, and the choice of what they were fitted to, if there was one."""

    expansion: Expansion
    intercept: Array
    choice: Choice | None = None


class Curve:
    """Models of fewer vectors than a fit: each starts from the smallest larger one of n, n / 2, n / 4, ... vectors.

    The result does not depend on the sizes that were asked for before. Reduced sets need no start.
    """

    def __init__(self, task: Task, largest: Fitted | None = None) -> None:
        self.task = task
        self._path = [largest] if largest is not None and task.vectors.method is None else []

    def at(self, known: Any, n_vectors: float) -> Any:
        """Return the model with a number or a share of the vectors of the original one, or a known one with no more."""
        size = self.task.vectors.number(n_vectors)
        if size >= self.task.vectors.count(known.expansion_):
            return known
        if not self._path:
            return self.task.answer(n_vectors, None)
        found = self._shrunk(size)
        return self.task.small(found, f"n_vectors = {n_vectors}, from a larger fit", self)

    def _shrunk(self, size):
        i = 0
        while (half := self._path[i].expansion.shape[0] // 2) > size:
            if i + 1 == len(self._path):
                self._path.append(self.task.shrunk(self._path[i], half, self.task.rows))
            i += 1
        return self.task.shrunk(self._path[i], size, self.task.rows)


def fewest(task: Task, max_loss: float, most: int) -> int | None:
    """Return the fewest vectors, at most ``most``, that lose at most a share of the score on held-out rows, or None.

    Numbers are doubled from 1 until one suffices; smaller ones follow from its fits by shorter descents.
    """
    folds, size = _folds(task), 1
    while True:
        fits = [task.fitted(size, rows, 1.0) for rows, _ in folds]
        if _loss(task, fits, folds) <= max_loss:
            break
        if size >= most:
            return None
        size = min(2 * size, most)
    enough, least = size, size // 2
    while (size := min(int(size / _RATIO), size - 1)) > least:
        fits = [_smaller(task, fit, size, rows) for fit, (rows, _) in zip(fits, folds, strict=True)]
        if _loss(task, fits, folds) > max_loss:
            break
        enough = size
    return enough


def _smaller(task, found, size, rows):
    if task.vectors.method is not None:
        return task.fitted(size, rows)
    return task.shrunk(found, size, rows, 1.0)


def _folds(task):
    """Return the rows that are fitted and those that are held out, in as many folds as give enough of the latter."""
    n = len(task.rows)
    number = np.random.default_rng(task.seed).permutation(n) % min(_FOLDS, n)
    used = min(number.max() + 1, -(-_ENOUGH * _FOLDS // n))
    return [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(used)]


def _loss(task, fits, folds):
    """Return the share of the score that is lost on the held-out rows of all folds."""
    lost, kept = 0.0, 0.0
    for found, (_, out) in zip(fits, folds, strict=True):
        small = families.with_vectors(task.model, found.expansion, found.intercept)
        y = None if task.y is None else task.y[out]
        seen = measure(task.model, small, take_points(task.blocks[0], out), y)
        lost, kept = lost + seen.loss, kept + seen.score_before
    return lost / max(abs(kept), np.finfo(float).tiny)
