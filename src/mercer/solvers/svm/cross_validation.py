"""Cross-validation over C: all folds and all C share one set of kernel values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.threads import count_threads, run_in_single_threads
from mercer.solvers.svm.path import StoredValues, solve_path, with_values
from mercer.solvers.svm.shared_rows import rows_of_kernels

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.rows import FusedRows
    from mercer.solvers.svm.workspace import Options

# Tolerance that slopes in float32 reach.
_COARSE = 1e-5


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class FoldSolutions:
    """Solutions of one fold for k values of C and m duals, or for those of each cell, without coefficients.

    Attributes
    ----------
    coef : list of float64 array (points, k)
    bias : float64 array (m, k)
    values : float64 array (k, t, m)
        Decision values of the points held out.
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
    def joined(cls, parts: list[Any]) -> FoldSolutions:
        """Return the solutions of a fold from the results of each dual."""
        coef, bias, values, violations, n_iter = zip(*parts, strict=True)
        largest = max(float(np.linalg.norm(each, axis=0).max()) for each in coef)
        return cls(coef, np.array(bias), np.stack(values, axis=2), max(violations), np.sum(n_iter, axis=0), largest)

    def in_units(self, centre: float, scale: float) -> FoldSolutions:
        """Return the solutions for targets times ``scale`` plus ``centre``, see `Solution.in_units`."""
        coef = [scale * each for each in self.coef]
        bias, values = scale * self.bias + centre, scale * self.values + centre
        return FoldSolutions(coef, bias, values, scale * self.violation, self.n_iter, scale * self.largest)


def cross_validate_kernels(
    kernels: list[Kernel],
    points: Array,
    duals: list[Dual],
    folds: list[Fold],
    Cs: Array,
    options: Options,
    gap: float = 0.0,
) -> Iterator[Any]:
    """Yield what `cross_validate` returns for each of several kernels of one class over the same points."""
    for rows, left in rows_of_kernels(kernels, points, options):
        yield cross_validate(rows, duals, folds, Cs, left, gap)


def cross_validate(
    rows: FusedRows, duals: list[Dual], folds: list[Fold], Cs: Array, options: Options, gap: float = 0.0
) -> list[FoldSolutions]:
    """Return the solutions of each fold for the bounds of each dual times ascending ``Cs``.

    Solutions end at the tolerance, or at a relative ``gap``. Folds run on all threads if kernel values are stored.
    """
    found = [[None] * len(duals) for _ in folds]

    def solve(m, dual, values):
        def train(i):
            found[i][m] = _solve_fold(rows, dual, values, folds[i], Cs, options, gap)

        if isinstance(values, StoredValues):
            run_in_single_threads(train, len(folds))
        else:
            for i in range(len(folds)):
                train(i)

    dtype = np.float32 if options.tol >= _COARSE else np.float64
    with_values(rows, duals, options, dtype, solve, min(count_threads(), len(folds)))
    return [FoldSolutions.joined(parts) for parts in found]


def _solve_fold(rows, dual, values, fold, Cs, options, gap):
    """Return the coefficients, biases, decision values (k, t), violation and steps of a fold."""
    times = fold.times[dual.points]
    unit = replace(dual, lower=times * dual.lower, upper=times * dual.upper)
    path = solve_path(values, unit, Cs, options, gap)
    coef, bias = np.column_stack([each.coef for each in path]), np.array([each.bias for each in path])
    images = np.column_stack([dual.target - each.gradient for each in path])
    products = _held_out_products(rows, dual.points, fold, coef, images)
    violation = max((each.violation for each in path if each.violation > options.tol), default=0.0)
    return coef, bias, (products + bias).T, violation, [each.n_iter for each in path]


def _held_out_products(rows, points, fold, coef, images):
    """Return K[held_out, points] @ coef, from the images K @ coef of the points of the dual."""
    place = np.full(len(fold.times), -1)
    place[points] = np.arange(len(points))
    place = place[fold.held_out]
    known, used = place >= 0, np.flatnonzero(coef.any(axis=1))
    products = np.zeros((len(place), coef.shape[1]))
    products[known] = images[place[known]]
    if len(used) and not known.all():
        products[~known] = rows.product(fold.held_out[~known], points[used], coef[used])
    return products
