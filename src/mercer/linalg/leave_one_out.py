"""Leave-one-out residuals of ridge regression from one Cholesky factor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer._common import Array
from mercer._compute.threads import serial_blas
from mercer.linalg import lapack


class LeftOut(NamedTuple):
    """Residuals y_i - f_(-i)(x_i) (m, p) of fits without point i, and the coefficients (n, p) of the fit to all."""

    residuals: Array
    coef: Array


def leave_one_out(K: Array, ridge: float | Array, Y: Array, first: int = 0) -> LeftOut:
    r"""Return the solution A of (K + diag(ridge)) A = Y, and its leave-one-out residuals without cancellation.

    Residuals are those of the points from ``first`` on, whose part of L^-1 is the inverse of that part of L.

    .. math:: r_i = a_i / (C^{-1})_{ii}, \qquad (C^{-1})_{ii} = \sum_j (L^{-1})_{ji}^2, \qquad C = K + \rho = L L'

    (Rasmussen and Williams 2006, eq. 5.12). (n^3 + m^3) / 3 operations for m residuals, and copies of K and of their
    part. Raises a LinAlgError unless C is positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.leave_one_out import leave_one_out
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])                  # without the first point f(x) = k(x, x_2) / 2
    >>> leave_one_out(K, 1.0, np.array([[1.0], [1.0]])).residuals[0]
    array([0.75])
    """
    L = K.T.copy(order="F")
    L[np.diag_indices_from(L)] += ridge
    with serial_blas:
        lapack.factorise(L)
        coef = scipy.linalg.cho_solve((L, True), Y, check_finite=False)
        own = np.asfortranarray(L[first:, first:])
        lapack.invert(own)
    lapack.clear_upper(own)
    return LeftOut(coef[first:] / np.einsum("ij,ij->j", own, own)[:, None], coef)
