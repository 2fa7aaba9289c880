"""Preconditioners for K + ridge I."""

import numpy as np

from mercer._common import check_positive


def low_rank_plus_ridge(factor, ridge):
    """Return the inverse of F F' + ridge I as a function of right-hand sides.

    From the singular value decomposition F = U diag(s) V',

    .. math:: (F F' + r I)^{-1} R = U (s^2 + r)^{-1} U'R + (R - U U'R) / r,

    which is Woodbury's formula without its cancellation at a small ridge. O(n r^2) once, O(n r) per right-hand side.

    Parameters
    ----------
    factor : array (n, r)
        Usually of a randomly pivoted partial Cholesky.
    ridge : float
        Above 0.

    Returns
    -------
    callable
        R (n, p) -> array (n, p)

    References
    ----------
    Diaz, Epperly, Frangella, Tropp, Webber, *Robust, randomized preconditioning for kernel ridge regression* (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.precondition import low_rank_plus_ridge
    >>> low_rank_plus_ridge(np.array([[1.0], [0.0]]), 1.0)(np.eye(2))
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    check_positive("ridge", ridge)
    U, s, _ = np.linalg.svd(np.asarray(factor, np.float64), full_matrices=False)
    shrink = 1 / (s[:, None] ** 2 + ridge) - 1 / ridge

    def inverse(R):
        return U @ (shrink * (U.T @ R)) + R / ridge

    return inverse
