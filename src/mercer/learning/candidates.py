"""Sums of kernels that leave-one-out errors of ridge regression choose among: equal, single, mean, aligned, stacked."""

import functools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from mercer._common import Array, as_float64
from mercer._compute.points import count_points, take_points
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.learning.centred import beside_first, rounding
from mercer.learning.members import COMPARED, RIDGES, least, stack_weights
from mercer.linalg.cholesky import leave_one_out
from mercer.linalg.convexity import convexity


def weighted_sum(kernels: Sequence[Kernel], weights: Array) -> Kernel:
    """Return sum_k weights[k] kernels[k] as a kernel, without the kernels of weight 0."""
    pairs = zip(kernels, weights, strict=True)
    return functools.reduce(
        operator.add, [float(weight) * kernel for kernel, weight in pairs if weight > 0]
    )


def aligned_weights(M: Array, a: Array) -> Array:
    r"""Return nonnegative weights (p,) whose kernel has the largest alignment, up to their common factor.

    The programme over kernels of norm 1, with <K_k, K_l> in M (p, p) and <K_k, Y Y'> in a (p,), is

    .. math:: \min_{v \ge 0} v'Mv - 2 v'a

    Cortes, Mohri, Rostamizadeh (2012), proposition 9; `nnls` solves it exactly.
    """
    norms = np.sqrt(M.diagonal())
    M = M / np.outer(norms, norms)
    values, vectors = scipy.linalg.eigh(M)
    # the diagonal is 1; equal kernels share their weight
    roots = np.sqrt(np.maximum(values, 1e-9))
    weights, _ = nnls(roots[:, None] * vectors.T, vectors.T @ (a / norms) / roots)
    return weights / norms


class Ridged(NamedTuple):
    """Sum of the squared leave-one-out residuals of a ridge regression, its ridge, and these residuals (n, p)."""

    error: float
    ridge: float
    residuals: Array

    @property
    def losses(self) -> Array:
        """Distances of the predictions and the targets (n,)."""
        return np.linalg.norm(self.residuals, axis=1)


def drawn(n: int) -> Array:
    """Return the rows that candidates are compared on, in random order: all, or some of many."""
    return np.random.default_rng(0).permutation(n)[:COMPARED]


def chosen_shares(
    kernels: Sequence[Kernel], aligned: Array, points: Any, columns: Array
) -> tuple[Array, dict[str, float]]:
    """Return the shares of kernels of variance 1 with the smallest leave-one-out error, and the errors of all.

    Errors are mean distances of predictions and targets as a share of that of the mean. ``aligned`` are the shares of
    the largest alignment. A stack has the sum of v_k f_k, f_k the ridge regression with kernel k and ridge r_k, and so
    the kernel with shares v_k / r_k. Equal shares, the best kernel and their mean have no weights that were fitted to
    the labels, and come first. The mean hedges: the squared norm of a function for it is at most twice that for either.
    """
    equal = np.ones(len(kernels))
    rows = drawn(count_points(points))
    rows = rows[_firsts(weighted_sum(kernels, equal), take_points(points, rows))]
    points = take_points(points, rows)
    Y = columns[rows]
    singles = [ridged(kernel, points, Y) for kernel in kernels]
    best = np.argmin([each.error for each in singles])
    stacked = stack_weights([each.residuals for each in singles], Y, np.ones(len(Y)))
    stacked /= [each.ridge for each in singles]
    single = np.eye(len(kernels))[best]
    shares = {
        "sum": equal,
        "best": single,
        "mean": equal / len(kernels) + single,
        "alignment": aligned,
        "stacking": stacked,
    }
    shares = {name: each / each.sum() for name, each in shares.items() if each.any()}
    losses = {
        name: ridged(weighted_sum(kernels, each), points, Y).losses for name, each in shares.items()
    }
    chosen = "mean"
    # the sum and the best are compared with each other, fitted weights with the one chosen before
    for name, other in {"sum": "best", "best": "sum", "alignment": "", "stacking": ""}.items():
        if name in losses and surely_less(losses[name], losses[other or chosen]):
            chosen = name
    # compared rows may all have the mean
    spread = np.linalg.norm(Y, axis=1).sum() or 1.0
    return shares[chosen], {name: float(each.sum() / spread) for name, each in losses.items()}


def surely_less(losses: Array, others: Array) -> bool:
    """Return whether losses (n,) of held-out rows are less than others by over two standard errors of the difference.

    Losses are distances, not their squares, of which a few rows would decide.
    """
    gains = others - losses
    return bool(gains.sum() > 2 * np.sqrt(len(gains)) * gains.std())


def _firsts(kernel, points):
    """Return the places of different points: one that is left out would be known from its copies."""
    gram = Gram(kernel, points)
    K = as_float64(gram.dense())
    diagonal = K.diagonal()
    equal = diagonal[:, None] + diagonal - 2 * K <= rounding(gram)
    return np.flatnonzero(equal.argmax(axis=1) == np.arange(len(K)))


def ridged(kernel: Kernel, points: Any, Y: Array) -> Ridged:
    """Return the ridge regression of Y (n, p) with the ridge of small leave-one-out error."""
    K = as_float64(Gram(kernel, points).dense())
    if convexity(kernel, points, centre=False).evidence:
        # centred values would not do: with targets of mean 0, they tell the one that is left out
        K = beside_first(K)

    def tried(place):
        ridge = float(np.exp(place[0]))
        try:
            residuals = leave_one_out(K, ridge, Y).residuals
        except np.linalg.LinAlgError:
            # predictions of 0
            return Ridged(np.inf, ridge, Y)
        return Ridged(float(np.sum(residuals**2)), ridge, residuals)

    # the middle one, for kernels of variance 1
    place = [np.log(RIDGES[1])]
    return least(tried, place, tried(place), moves=3)
