"""Nonnegative weights: of several kernels, by their alignment, and of several predictions."""

import functools
import operator
from collections.abc import Sequence

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from mercer._common import Array
from mercer.kernels.base import Kernel


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


def stack_weights(residuals: Sequence[Array], Y: Array, weights: Array) -> Array:
    """Return the nonnegative weights of predictions of Y (n, p), given their residuals, by least squares."""
    root = np.sqrt(weights)[:, None]
    P = np.stack([(root * (Y - each)).ravel() for each in residuals], axis=1)
    targets = (root * Y).ravel()
    # predictions of almost 0 would have huge weights
    ridge = np.sqrt(1e-3 * (targets @ targets)) * np.eye(len(residuals))
    return nnls(np.vstack([P, ridge]), np.append(targets, np.zeros(len(residuals))))[0]
