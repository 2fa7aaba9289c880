"""Cross-validation over C and kernels: folds share kernel values, and cells of points are solved apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._common import Array, record
from mercer._compute.costs import LANES
from mercer._compute.points import count_points, take_points
from mercer._compute.threads import run_in_single_threads
from mercer.kernels.base import Kernel
from mercer.solvers.svm.bounded import coordinates, split
from mercer.solvers.svm.dual import AT_A_TIME, Dual, Options, copied_values, gradient_range
from mercer.solvers.svm.path import solve_path, with_known_rows
from mercer.solvers.svm.rows import FusedRows, Rows, SharedRows, rows_of

# Largest kernel value of which any sum is a number of float32.
_SMALL = 1e30
# Squares of a cell's size: distances, kernel values in two types, and copies.
_SQUARES = 4
# Tolerance that slopes in float32 reach.
_COARSE = 1e-5
# Rounding of decision values that changes no score by much, if all coefficients are at the largest bound.
_ROUNDED = 0.2
# Multiples to which products with held-out points are rounded: those of equal points, which differ by rounding, are
# equal then, and count as ties of scores of ranks and of isotonic regression.
_GRID = 2.0**-34
# The same for the rounding of a gradient near 1, which grows with C where a path starts from multiples of its
# solutions; and as a share of the tolerance, a thousandth of which is the most that it grows to.
_GRID_OF_PATH = 2.0**-42
_SHARE_OF_TOL = 2.0**-5
# Products of less multiples than this are computed again, and rounded relative to the largest.
_LEAST_MULTIPLES = 2.0**12
# A sum with so many times a number is rounded to multiples of about that number.
_INTEGERS = 1.5 * 2.0**52


@record
class Fold:
    """A fold: which points it trains on, and which are held out.

    Attributes
    ----------
    times : float64 array (n,)
        How often each point is trained on, 0 for those that are held out.
    held_out : int array (t,)
    """

    times: np.ndarray
    held_out: np.ndarray


@record
class FoldSolutions:
    """Solutions of one fold for k values of C and m duals, or for those of each cell, without coefficients.

    Attributes
    ----------
    coef : list of float64 array (points, k)
    bias : float64 array (m, k)
    values : float64 array (k, t, m)
        Decision values of the points held out, rounded such that equal points have equal ones.
    violation : float
        The largest of the solutions that are not accurate, 0 if all are.
    n_iter : int array (k,)
    largest : float
        Largest norm of the coefficients of a solution.
    """

    coef: list[Any]
    bias: np.ndarray
    values: np.ndarray
    violation: float
    n_iter: np.ndarray
    largest: float

    @classmethod
    def joined(cls, parts: Sequence[FoldSolutions]) -> FoldSolutions:
        """Return the solutions of a fold from those of its duals, or of its cells."""
        return cls(
            [coef for each in parts for coef in each.coef],
            np.concatenate([each.bias for each in parts]),
            np.concatenate([each.values for each in parts], axis=2),
            max(each.violation for each in parts),
            sum(each.n_iter for each in parts),
            max(each.largest for each in parts),
        )

    def in_units(self, centre: float, scale: float) -> FoldSolutions:
        """Return the solutions for targets times ``scale`` plus ``centre``, see `Solution.in_units`."""
        if (centre, scale) == (0, 1):
            # those of many classes are large
            return self
        coef = [scale * each for each in self.coef]
        bias = scale * self.bias + centre
        values = scale * self.values + centre
        return FoldSolutions(
            coef, bias, values, scale * self.violation, self.n_iter, scale * self.largest
        )


def shared_bytes(n_kernels: int, n: int, itemsize: int, budget: int) -> int:
    """Return the bytes of squared distances or inner products that several kernels over n points share, or 0.

    They are kept if three squares of their size fit into the memory: one for them, one for kernel values, one for
    copies.
    """
    kept = n**2 * itemsize
    return kept if n_kernels > 1 and 3 * kept <= budget else 0


def cross_validate_kernels(
    kernels: list[Kernel],
    points: Array,
    duals: Sequence[Dual],
    folds: list[Fold],
    Cs: Array,
    options: Options,
) -> Iterator[Any]:
    """Yield what `cross_validate` returns for each of several kernels of one class over the same points."""
    shared = None
    left = options
    for kernel in kernels:
        rows = rows_of(kernel, points, _accuracy(duals, Cs))
        kept = shared_bytes(len(kernels), count_points(points), rows.dtype.itemsize, options.budget)
        if shared is None and isinstance(rows, FusedRows) and kept:
            shared = rows.all_scalars()
            left = options._replace(budget=options.budget - kept)
        # the parameters of a kernel may need another type
        if shared is not None and shared.dtype == rows.dtype:
            rows = SharedRows(rows.kernel, rows.points, shared)
        yield cross_validate(rows, duals, folds, Cs, left)


def cross_validate(
    rows: Rows,
    duals: Sequence[Dual],
    folds: list[Fold],
    Cs: Array,
    options: Options,
) -> list[FoldSolutions]:
    """Return the solutions of each fold for the bounds of each dual times ascending ``Cs``.

    Folds run on all threads if kernel values are stored.
    """
    found = [[None] * len(duals) for _ in folds]

    def solve(m, dual, known):
        def train(i):
            found[i][m] = _solve_fold(rows, dual, known, folds[i], Cs, options)

        workers = 1
        if known is not None:
            copies = copied_values(len(known.values)) * known.dtype.itemsize
            workers = (options.budget - known.held) // copies
        run_in_single_threads(train, len(folds), workers)

    # sums of kernel values are in range, and their rounding moves no decision value by much
    largest = float(np.abs(rows.diagonal).max())
    small = largest < _SMALL and np.finfo(np.float32).eps * largest <= _accuracy(duals, Cs)
    dtype = np.float32 if options.tol >= _COARSE and small else np.float64
    with_known_rows(rows, duals, options, dtype, solve)
    return [FoldSolutions.joined(parts) for parts in found]


def _accuracy(duals, Cs):
    """Return the error of independent kernel values that moves no decision value by more than is allowed."""
    return _ROUNDED / max(gradient_range(dual, float(Cs[-1])) for dual in duals)


def _solve_fold(rows, dual, known, fold, Cs, options):
    """Return the solutions of a dual in a fold."""
    times = fold.times[dual.points]
    unit = replace(dual, lower=times * dual.lower, upper=times * dual.upper)
    path = solve_path(rows, unit, Cs, options, known)
    coef = path.coef.reshape(len(Cs), -1).T
    images = dual.target[:, None] - path.gradient.reshape(len(Cs), -1).T
    products = _held_out_products(rows, dual.points, fold, coef, images)
    grid = np.maximum(_GRID, np.minimum(_GRID_OF_PATH * Cs / Cs[0], _SHARE_OF_TOL * options.tol))
    size = np.abs(products).max(axis=0, initial=0.0)
    small = (size > 0) & (size < _LEAST_MULTIPLES * grid)
    if small.any():
        products[:, small] = rows.exact_product(fold.held_out, dual.points, coef[:, small])
        grid[small] = _GRID * size[small]
    grid *= _INTEGERS
    violation = path.violation.max()
    violation = float(violation) if violation > options.tol else 0.0
    values = (products + grid - grid + path.bias).T[:, :, None]
    largest = float(np.linalg.norm(coef, axis=0).max())
    return FoldSolutions([coef], path.bias[None], values, violation, path.n_iter, largest)


def _held_out_products(rows, points, fold, coef, images):
    """Return K[held_out, points] @ coef, from the images K @ coef of the points of the dual."""
    place = np.full(len(fold.times), -1)
    place[points] = np.arange(len(points))
    place = place[fold.held_out]
    known = place >= 0
    used = np.flatnonzero(coef.any(axis=1))
    products = np.zeros((len(place), coef.shape[1]))
    products[known] = images[place[known]]
    if len(used) and not known.all():
        products[~known] = rows.product(fold.held_out[~known], points[used], coef[used])
    return products


# --- cells -----------------------------------------------------------------------------------------------------------


def cross_validate_cells(
    kernels: list[Kernel],
    points: Any,
    duals: Sequence[Dual],
    folds: list[Fold],
    Cs: Array,
    options: Options,
    *,
    size: int,
) -> Iterator[Any]:
    """Yield what `cross_validate_kernels` yields, with decision values of the cell in which a held-out point lies.

    Cells have at most ``size`` points and are solved in parallel. Solutions of a fold hold no coefficients. The cost is
    n times ``size`` kernel values for each kernel, the memory ``options.budget`` over the workers.

    Bottou, Vapnik, *Local learning algorithms*, Neural Computation 4 (1992); Thomann, Blaschzyk, Meister, Steinwart,
    *Spatial decompositions for large scale SVMs*, AISTATS 2017.
    """
    n = count_points(points)
    near = coordinates(kernels[0], points, options.budget)
    cells = [np.sort(part) for part in split(near, np.arange(n), size)]
    cell = np.empty(n, int)
    place = np.empty(n, int)
    for c, part in enumerate(cells):
        cell[part] = c
        place[part] = np.arange(len(part))
    variables = [_groups(cell[dual.points], len(cells)) for dual in duals]
    held_out = [_groups(cell[fold.held_out], len(cells)) for fold in folds]
    # what a cell needs, or a share of the memory that does not depend on threads, or they would decide what is stored
    needed = _SQUARES * (max(map(len, cells)) + 4 * LANES) ** 2 * np.dtype(np.float64).itemsize
    each = max(1, min(needed, options.budget // min(len(cells), AT_A_TIME)))
    limits = options._replace(budget=each)

    for kernel in kernels:
        values = [np.empty((len(Cs), len(fold.held_out), len(duals))) for fold in folds]
        parts = [None] * len(cells)

        def train(c, kernel=kernel, values=values, parts=parts):
            # points of a cell are numbered from 0
            own = [
                dual.take(each[c], points=place[dual.points[each[c]]])
                for dual, each in zip(duals, variables, strict=True)
            ]
            inner = [
                Fold(fold.times[cells[c]], place[fold.held_out[each[c]]])
                for fold, each in zip(folds, held_out, strict=True)
            ]
            rows = rows_of(kernel, take_points(points, cells[c]), _accuracy(own, Cs))
            parts[c] = cross_validate(rows, own, inner, Cs, limits)
            for i, found in enumerate(parts[c]):
                values[i][:, held_out[i][c]] = found.values
                # all cells together would take much memory
                parts[c][i] = replace(found, coef=[], values=found.values[:, :0])

        run_in_single_threads(train, len(cells), options.budget // each)
        yield [
            replace(FoldSolutions.joined(each), values=own)
            for own, *each in zip(values, *parts, strict=True)
        ]


def _groups(cell, k):
    """Return the places of each of k cells in an array of cells (int array)."""
    order = np.argsort(cell, kind="stable")
    return np.split(order, np.searchsorted(cell[order], np.arange(1, k)))
