"""Preconditioned conjugate gradients for several right-hand sides."""

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
        Whether the residual is at most twice ``tol``; it differs by rounding from the recursive one that stops.
    n_iter : int
        Products of the operator with a block.
    """

    x: np.ndarray
    residuals: np.ndarray
    converged: np.ndarray
    n_iter: int


def solve(operator, B, precondition=None, *, tol=1e-10, max_iter=1000):
    r"""Solve A X = B for a symmetric positive definite operator in float64, one product for all columns per step.

    .. math:: x_{t+1} = x_t + a p_t, \quad r_{t+1} = r_t - a A p_t, \quad p_{t+1} = M^{-1} r_{t+1} + b p_t

    with a = r'z / p'Ap, b the ratio of successive r'z, z = M^{-1} r = ``precondition(r)``, for each column of B (n, p)
    separately. A column stops where |r| <= tol |b|, or where A is not positive definite along p.
    Hestenes, Stiefel, *Methods of conjugate gradients for solving linear systems* (1952).
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
        # a step along a direction of nonpositive curvature increases the error
        definite = (curvature > 0) & (rz[active] > 0)
        active, AP, curvature = active[definite], AP[:, definite], curvature[definite]
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
    norms = _norms(B)
    residuals = _norms(B - np.asarray(operator @ X, np.float64)) / np.where(norms > 0, norms, 1)
    logger.info("conjugate gradients: %d products, largest relative residual %.1e", steps, residuals.max(initial=0))
    return Solution(X, residuals, residuals <= 2 * tol, steps)


def _identity(R):
    return R.copy()


def _dots(A, B):
    return np.einsum("ij,ij->j", A, B)


def _norms(A):
    return np.sqrt(_dots(A, A))
