"""Backward elimination: the vectors of a fit that its outputs on rows need most."""

import numpy as np
import scipy.linalg

from mercer._common import Array

# Ridge as a share of the mean squared value, so that equal vectors have an inverse.
_RIDGE = 1e-6


def most_needed(values: Array, coef: Array, size: int) -> Array:
    r"""Return the places (size,) of the vectors that stay when the others are removed one by one.

    With kernel values K (n, p) on rows and coefficients B (p, m), the next one removed is that with the smallest sum of
    :math:`B_{ij}^2 / (C^{-1})_{ii}`, where C is the covariance of the columns of K: by so much the squared differences
    of the outputs grow if the other coefficients and the intercepts adapt (Hassibi, Stork, *Second order derivatives
    for network pruning: Optimal brain surgeon*, NIPS 5, 1993).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.few_vectors.elimination import most_needed
    >>> values = np.array([[1.0, 1.1, 0.0], [2.0, 1.9, 0.0], [0.0, 0.0, 1.0]])
    >>> most_needed(values, np.array([[1.0], [0.1], [2.0]]), 2)
    array([0, 2])
    """
    K = np.asarray(values, np.float64)
    K = K - K.mean(axis=0)
    C = K.T @ K / len(K)
    p = len(C)
    C[np.diag_indices(p)] += max(_RIDGE * np.trace(C) / p, np.finfo(np.float64).tiny)
    H, B, left = scipy.linalg.pinvh(C), np.array(coef, np.float64), np.ones(p, bool)
    for _ in range(p - size):
        growth = np.where(left, np.sum(B * B, axis=1) / np.where(left, np.diag(H), 1.0), np.inf)
        i = int(np.argmin(growth))
        share = H[:, i] / H[i, i]
        B -= np.outer(share, B[i])
        H -= np.outer(share, H[i])
        left[i] = False
    return np.flatnonzero(left)
