"""Cross-validation of a classifier over C: all folds and all C share one set of kernel values."""

from dataclasses import dataclass

import numpy as np

from mercer._compute.threads import count_threads, run_tasks
from mercer.solvers.svm.one_vs_one import in_one_thread
from mercer.solvers.svm.path import StoredValues, solve_path, with_values


@dataclass(frozen=True)
class Fold:
    """A fold: which points it trains on, how much they weigh, and which are held out.

    Attributes
    ----------
    weight : float64 array (n,)
        Factor of C of each point, 0 for those that are held out.
    held_out : int array (t,)
    """

    weight: np.ndarray
    held_out: np.ndarray


class FoldSolutions:
    """Solutions of one fold for k values of C and m binary classifiers.

    Attributes
    ----------
    coef : list of float64 array (points, k)
    bias : float64 array (m, k)
    values : float64 array (k, t, m)
        Decision values of the points held out.
    violation : float
        The largest.
    n_iter : int array (k,)
    """

    def __init__(self, parts):
        self.coef, bias, values, violations, n_iter = zip(*parts, strict=True)
        self.bias, self.values = np.array(bias), np.stack(values, axis=2)
        self.violation, self.n_iter = max(violations), np.sum(n_iter, axis=0)


def cross_validate(rows, problems, folds, Cs, options):
    """Return the solutions of each fold for ascending ``Cs``, computed on all threads if kernel values are stored."""
    found = [[None] * len(problems) for _ in folds]

    def solve(m, problem, values):
        def train(i):
            found[i][m] = _solve_fold(rows, problem, values, folds[i], Cs, options)

        if isinstance(values, StoredValues):
            run_tasks(lambda i: in_one_thread(train, i), len(folds))
        else:
            for i in range(len(folds)):
                train(i)

    with_values(rows, problems, options, np.float32, solve, min(count_threads(), len(folds)))
    return [FoldSolutions(parts) for parts in found]


def _solve_fold(rows, problem, values, fold, Cs, options):
    """Return the coefficients, biases, decision values (k, t), violation and steps of a fold."""
    path = solve_path(values, problem.sign, problem.points, fold.weight[problem.points], Cs, options)
    coef, bias = np.column_stack([each.coef for each in path]), np.array([each.bias for each in path])
    products = _held_out_products(rows, problem, values, fold, coef)
    violation = max(each.violation for each in path)
    return coef, bias, (products + bias).T, violation, [each.n_iter for each in path]


def _held_out_products(rows, problem, values, fold, coef):
    """Return K[held_out, points] @ coef, from stored values for points of the classifier."""
    place = np.full(len(fold.weight), -1)
    place[problem.points] = np.arange(len(problem.points))
    place = place[fold.held_out]
    products = np.zeros((len(place), coef.shape[1]))
    products[place >= 0] = values.product(place[place >= 0], coef)
    others, used = fold.held_out[place < 0], np.flatnonzero(coef.any(axis=1))
    if len(others) and len(used):
        products[place < 0] = rows.product(others, problem.points[used], coef[used])
    return products
