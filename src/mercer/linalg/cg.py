"""Preconditioned conjugate gradients for several right-hand sides, and a preconditioner."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import Array, as_float64
from mercer._compute.saved import Saved
from mercer._compute.threads import threaded_blas
from mercer._progress import notify
from mercer.linalg.operators import INACCURATE, Operator

# Steps that are typical; data decide them.
TYPICAL = 30
_STATE = "X", "R", "P", "rz", "active", "steps"


def solve(
    operator: Operator,
    B: Array,
    precondition: Callable[[Array], Array],
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> tuple[Any, ...]:
    r"""Solve A X = B for a symmetric positive definite operator in float64, one product for all columns per step.

    .. math:: x_{t+1} = x_t + a p_t, \quad r_{t+1} = r_t - a A p_t, \quad p_{t+1} = M^{-1} r_{t+1} + b p_t

    with a = r'z / p'Ap, b the ratio of successive r'z, z = M^{-1} r = ``precondition(r)``, for each column of B (n, p)
    separately. A column stops where |r| <= tol |b|, or where A is not positive definite along p. Returns X and the
    number of products of A with a block; callers recompute the residual. Callbacks hear the largest |r| / |b| of each
    step, and True ends the steps. `checkpoint` saves the state.
    Hestenes, Stiefel, *Methods of conjugate gradients for solving linear systems* (1952).
    """
    B = as_float64(B)
    norms = _norms(B)
    target = tol * norms
    saved = Saved(f"conjugate gradients of order {len(B)}")
    # computed when a file needs them
    images = cache(partial(_images, operator, precondition, len(B)))
    start = _start(B, precondition, target)
    X, R, P, rz, active, steps = (
        start if saved.state is None else _resumed(saved, operator, B, images(), start)
    )
    stopped = False
    while len(active) and steps < max_iter and not stopped:
        steps += 1
        AP = as_float64(operator @ P[:, active])
        curvature = _dots(P[:, active], AP)
        # a step along a direction of nonpositive curvature increases the error
        definite = (curvature > 0) & (rz[active] > 0)
        active = active[definite]
        AP = AP[:, definite]
        curvature = curvature[definite]
        step = rz[active] / curvature
        X[:, active] += step * P[:, active]
        R[:, active] -= step * AP
        left = _norms(R)
        active = active[left[active] > target[active]]
        Z = precondition(R[:, active])
        new = _dots(R[:, active], Z)
        P[:, active] = Z + new / rz[active] * P[:, active]
        rz[active] = new
        residual = float(np.max(left / np.where(norms > 0, norms, 1.0)))
        stopped = notify("conjugate gradients", unsolved=len(active), residual=residual)
        if saved.due:
            state = X, R, P, rz, active, np.array(steps)
            saved.write(dict(zip(_STATE, state, strict=True)) | {"B": B, "images": images()})
    if not stopped:
        saved.end()
    return X, steps


def _start(B, precondition, target):
    R = B.copy()
    # the identity returns R itself, which steps overwrite
    P = np.array(precondition(R))
    return np.zeros_like(B), R, P, _dots(R, P), np.flatnonzero(_norms(R) > target), 0


def _images(operator, precondition, n):
    """Return the images (n, 2) of a random vector under an operator and a preconditioner."""
    v = np.random.default_rng(0).standard_normal((n, 1))
    return np.hstack([operator @ v, precondition(v)])


def _resumed(saved, operator, B, images, start):
    """Return a saved state of the system: another machine or number of threads changes only the last digits."""
    with saved.resuming():
        state = [saved.state[name] for name in _STATE]
        for found, own in zip(state, map(np.asarray, start), strict=True):
            saved.require(
                found.dtype == own.dtype
                and found.ndim == own.ndim
                and bool(np.isfinite(found).all())
            )
        X, R, P, rz, active, steps = state
        saved.require(X.shape == R.shape == P.shape == B.shape and rz.shape == B.shape[1:])
        saved.require(bool(np.isin(active, np.arange(len(rz))).all()))
        # an operator without a type may have values in float32
        exact = "float64" in str(getattr(operator, "dtype", None))
        rounding = np.finfo(np.float64 if exact else np.float32).eps ** 0.5
        # the inverse in a preconditioner multiplies rounding
        for name, own, same in (("B", B, rounding), ("images", images, [rounding, INACCURATE])):
            saved.require(bool((_norms(saved.state[name] - own) <= same * _norms(own)).all()))
        return X, R, P, rz, active, int(steps)


def _dots(A, B):
    return np.einsum("ij,ij->j", A, B)


def _norms(A):
    return np.sqrt(_dots(A, A))


def low_rank_plus_ridge(factor: Array, ridge: float) -> Callable[[Array], Array]:
    r"""Return the function R -> (F F' + ridge I)^{-1} R for a factor F (n, r) and a positive ridge.

    .. math:: (F F' + \rho I)^{-1} R = Q (T'T)^{-1} Q'R + (R - Q Q'R) / \rho, \qquad F = Q C, \quad T'T = C C' + \rho I,

    Woodbury's formula without its cancellation at a small ridge: T is the triangle of a QR factorisation of C' above
    sqrt(rho) I. A factor in Fortran order is overwritten by Q. O(n r^2) once, O(n r) per right-hand side.
    Diaz, Epperly, Frangella, Tropp, Webber, *Robust, randomized preconditioning for kernel ridge regression* (2023).
    """
    factor = as_float64(factor)
    with threaded_blas(2 * factor.size * factor.shape[1]):
        Q, C = scipy.linalg.qr(factor, mode="economic", overwrite_a=True, check_finite=False)  # pyright: ignore[reportAssignmentType]
    k, r = C.shape
    stacked = np.zeros((r + k, k), order="F")
    stacked[:r] = C.T
    np.fill_diagonal(stacked[r:], ridge**0.5)
    del C
    # singular vectors of C would take twice the memory
    with threaded_blas(2 * stacked.size * k):
        _, T = scipy.linalg.qr(stacked, mode="raw", overwrite_a=True, check_finite=False)  # pyright: ignore[reportAssignmentType]

    def inverse(R):
        along = Q.T @ R
        return (
            Q @ (scipy.linalg.cho_solve((T, False), along, check_finite=False) - along / ridge)
            + R / ridge
        )

    return inverse
