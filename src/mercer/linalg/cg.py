"""Preconditioned conjugate gradients for many right-hand sides."""

import logging
from dataclasses import dataclass

import numpy as np

from mercer._common import check_integer, check_positive

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Solution:
    """Solutions of A x = b with a certificate for each.

    Attributes
    ----------
    x : array (n, p)
    residuals : array (p,)
        |b - A x| / |b|, recomputed at the end with one more product.
    converged : boolean array (p,)
        Whether the residual is at most twice ``tol``: the one that stops the iteration and the true one differ by
        rounding.
    n_iter : int
        Products of the operator with a block.
    """

    x: np.ndarray
    residuals: np.ndarray
    converged: np.ndarray
    n_iter: int


def solve(operator, B, precondition=None, *, tol=1e-10, max_iter=1000):
    r"""Solve A X = B for a symmetric positive definite operator, all right-hand sides in one product per step.

    .. math:: x_{t+1} = x_t + a p_t, \quad r_{t+1} = r_t - a A p_t, \quad p_{t+1} = M^{-1} r_{t+1} + b p_t

    with a = r'z / p'Ap and b the ratio of successive r'z, z = M^{-1} r, for each column by itself; a column that has
    converged, or on which A shows itself not positive definite, is left as it is. Float64 throughout.

    Parameters
    ----------
    operator : symmetric operator (n, n)
    B : array (n, p)
    precondition : callable, optional
        R -> M^{-1} R, symmetric positive definite; the identity when left out.
    tol : float
        Residual |b - A x| / |b| to reach.
    max_iter : int

    Returns
    -------
    Solution

    References
    ----------
    Hestenes, Stiefel, *Methods of conjugate gradients for solving linear systems* (1952).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import cg
    >>> cg.solve(np.diag([1.0, 2.0]), np.array([[1.0], [1.0]])).x
    array([[1. ],
           [0.5]])
    """
    check_positive("tol", tol)
    check_integer("max_iter", max_iter)
    B = np.asarray(B, np.float64)
    precondition = precondition or _identity
    target = tol * _norms(B)
    X, R = np.zeros_like(B), B.copy()
    P = Z = precondition(R)
    rz = _dots(R, Z)
    active, steps = np.flatnonzero(_norms(R) > target), 0
    while len(active) and steps < max_iter:
        steps += 1
        AP = np.asarray(operator @ P[:, active], np.float64)
        curvature = _dots(P[:, active], AP)
        # no step along a direction in which A is not positive definite: it would lead away
        sound = (curvature > 0) & (rz[active] > 0)
        active, AP, curvature = active[sound], AP[:, sound], curvature[sound]
        step = rz[active] / curvature
        X[:, active] += step * P[:, active]
        R[:, active] -= step * AP
        active = active[_norms(R[:, active]) > target[active]]
        Z = precondition(R[:, active])
        new = _dots(R[:, active], Z)
        P[:, active] = Z + new / rz[active] * P[:, active]
        rz[active] = new
    return _certified(operator, B, X, tol, steps)


def _certified(operator, B, X, tol, steps):
    size = _norms(B)
    residuals = _norms(B - np.asarray(operator @ X, np.float64)) / np.where(size > 0, size, 1)
    logger.info("conjugate gradients: %d products, largest relative residual %.1e", steps, residuals.max(initial=0))
    return Solution(X, residuals, residuals <= 2 * tol, steps)


def _identity(R):
    return R.copy()


def _dots(A, B):
    return np.einsum("ij,ij->j", A, B)


def _norms(A):
    return np.sqrt(_dots(A, A))
