"""Preconditioner for K + ridge I from a low-rank factor of K."""

import numpy as np

from mercer._common import check_positive


def low_rank_plus_ridge(factor, ridge):
    r"""Return the function R -> (F F' + ridge I)^{-1} R for a factor F (n, r) and a positive ridge.

    .. math:: (F F' + \rho I)^{-1} R = U (s^2 + \rho)^{-1} U'R + (R - U U'R) / \rho, \qquad F = U diag(s) V',

    Woodbury's formula without its cancellation at a small ridge. O(n r^2) once, O(n r) per right-hand side.
    Diaz, Epperly, Frangella, Tropp, Webber, *Robust, randomized preconditioning for kernel ridge regression* (2023).
    """
    check_positive("ridge", ridge)
    U, s, _ = np.linalg.svd(np.asarray(factor, np.float64), full_matrices=False)
    shrink = 1 / (s[:, None] ** 2 + ridge) - 1 / ridge

    def inverse(R):
        return U @ (shrink * (U.T @ R)) + R / ridge

    return inverse
