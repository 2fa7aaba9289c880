"""Weights of kernels by alignment: a quadratic programme over nonnegative weights."""

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from mercer._common import Array

# Least eigenvalue of the programme, whose diagonal is 1, so that equal kernels share their weight.
_RIDGE = 1e-9


def aligned_weights(M: Array, a: Array) -> Array:
    r"""Return nonnegative weights (p,) whose kernel has the largest alignment, up to their common factor.

    The programme over kernels of norm 1, with <K_k, K_l> in M (p, p) and <K_k, Y Y'> in a (p,), is

    .. math:: \min_{v \ge 0} v'Mv - 2 v'a

    Cortes, Mohri, Rostamizadeh (2012), proposition 9; `nnls` solves it exactly.
    """
    norms = np.sqrt(M.diagonal())
    M = M / np.outer(norms, norms)
    values, vectors = scipy.linalg.eigh(M)
    roots = np.sqrt(np.maximum(values, _RIDGE))
    weights, _ = nnls(roots[:, None] * vectors.T, vectors.T @ (a / norms) / roots)
    return weights / norms
