"""Cross-validation on cells: groups of points that lie together, each of which is solved for alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import count_points, take_points
from mercer._compute.threads import count_threads, limit_threads, run_in_single_threads
from mercer.solvers.svm.cross_validation import Fold, FoldSolutions, cross_validate
from mercer.solvers.svm.divide_and_conquer import coordinates, split
from mercer.solvers.svm.rows import rows_of

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.workspace import Options


def cross_validate_cells(
    kernels: list[Kernel],
    points: Any,
    duals: list[Dual],
    folds: list[Fold],
    Cs: Array,
    options: Options,
    gap: float = 0.0,
    *,
    size: int,
) -> Iterator[Any]:
    """Yield what `cross_validate_kernels` yields, with decision values of the cell in which a held-out point lies.

    Cells have at most ``size`` points and are solved in parallel. Solutions of a fold hold no coefficients. The cost is
    n times ``size`` kernel values for each kernel, the memory ``options.memory`` over the workers.

    Bottou, Vapnik, *Local learning algorithms*, Neural Computation 4 (1992); Thomann, Blaschzyk, Meister, Steinwart,
    *Spatial decompositions for large scale SVMs*, AISTATS 2017.
    """
    cells = [np.sort(part) for part in _split(kernels[0], points, size, options.budget)]
    cell, place = np.empty(count_points(points), int), np.empty(count_points(points), int)
    for c, part in enumerate(cells):
        cell[part], place[part] = c, np.arange(len(part))
    variables = [_groups(cell[dual.points], len(cells)) for dual in duals]
    held_out = [_groups(cell[fold.held_out], len(cells)) for fold in folds]
    workers = min(count_threads(), len(cells))
    limits = replace(options, memory=max(1, options.budget // workers))

    def solve(kernel, c):
        """Return the solutions of each fold in a cell, whose points are numbered from 0."""
        rows = rows_of(kernel, take_points(points, cells[c]), np.inf)
        chosen = [each[c] for each in variables]
        own = [dual.take(each, points=place[dual.points[each]]) for dual, each in zip(duals, chosen, strict=True)]
        tests = [place[fold.held_out[each[c]]] for fold, each in zip(folds, held_out, strict=True)]
        inner = [Fold(fold.times[cells[c]], test) for fold, test in zip(folds, tests, strict=True)]
        return cross_validate(rows, own, inner, Cs, limits, gap)

    for kernel in kernels:
        values = [np.empty((len(Cs), len(fold.held_out), len(duals))) for fold in folds]
        parts = [None] * len(cells)

        def train(c, kernel=kernel, values=values, parts=parts):
            parts[c] = solve(kernel, c)
            for i, found in enumerate(parts[c]):
                values[i][:, held_out[i][c]] = found.values
                # all cells together would take much memory
                parts[c][i] = replace(found, coef=[], values=found.values[:, :0])

        with limit_threads(workers):
            run_in_single_threads(train, len(cells))
        yield [_pooled(own, each) for own, *each in zip(values, *parts, strict=True)]


def _split(kernel, points, size, budget):
    """Return the points of each cell: all in one if they are few."""
    everything = np.arange(count_points(points))
    return [everything] if len(everything) <= size else split(coordinates(kernel, points, budget), everything, size)


def _groups(cell, k):
    """Return the places of each of k cells in an array of cells (int array)."""
    order = np.argsort(cell, kind="stable")
    return np.split(order, np.searchsorted(cell[order], np.arange(1, k)))


def _pooled(values, parts):
    """Return the solutions of a fold: decision values of all cells, and the worst of their figures."""
    violation, largest = (max(getattr(part, name) for part in parts) for name in ("violation", "largest"))
    return FoldSolutions([], np.empty(0), values, violation, sum(part.n_iter for part in parts), largest)
