"""Rounding of kernel values of nearly equal points."""

import numpy as np
from tests.reference.inside import close_share_of


def error_of_distances(X, rows, dtype):
    """Return how much rounding may change the distances (r, n) of some rows and all points, about.

    Squared distances s below a share of S = |x|^2 + |z|^2 are computed from differences, whose coordinates are rounded;
    others are |x|^2 + |z|^2 - 2 <x, z>, with an error of a few eps S, which may also place them on the wrong side.
    """
    eps, X = np.finfo(dtype).eps, X.astype(np.longdouble)
    s = ((X[rows, None] - X) ** 2).sum(axis=2)
    norms = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    S = norms[rows, None] + norms
    share = close_share_of(dtype)
    near = s < (share - 4 * eps) * S
    return 2 * eps * np.where(near, np.sqrt(S), S / np.sqrt(np.maximum(s, share / 4 * S)))
