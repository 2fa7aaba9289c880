"""Newton steps on the free variables of a small dual with an explicit kernel matrix: an active-set method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._common import Array
from mercer._compute.threads import check_cancelled, threaded_blas
from mercer.solvers.svm.bias import slopes

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual

# Limits on the operations of factorisations and on the number of steps.
_OPERATIONS, _STEPS = 1e10, 100
# Number of steps without a smaller residual after which the second accuracy suffices: rounding prevents the first.
_PATIENCE = 3
_ROUNDING, _NOISE = 1e-12, 1e-9
# Number of variables held at a bound before the others are factorised again.
_HELD = 64
# Least divisor.
_LEAST = 1e-300


def solve_active_set(K: Array, gradient: Array, dual: Dual, bias: float, total: float | None) -> tuple[Array, float]:
    """Return the coefficients and the epsilon after Newton steps from ``dual.coef``; ``gradient`` changes in place.

    Steps keep the sum of coefficients. With ``total``, epsilon changes so that the sum of sizes becomes ``total``.
    """
    state = _ActiveSet(K, gradient, dual, bias, total)
    while state.free.any() and state.spent < _OPERATIONS and state.count < _STEPS:
        check_cancelled()
        if state.inverse is None:
            state.factorise()
        if state.step() and state.finished():
            break
    return state.coef, state.dual.epsilon


def violators(gradient: Array, coef: Array, dual: Dual, bias: float) -> Array:
    """Return which variables violate the optimality conditions at a bias by more than rounding."""
    rounding = _ROUNDING * max(1.0, np.abs(gradient).max())
    rising, falling = slopes(gradient, coef, dual)
    return (rising > bias + rounding) | (falling < bias - rounding)


class _ActiveSet:
    """The point that Newton steps have reached, and which variables are free."""

    def __init__(self, K: Array, gradient: Array, dual: Dual, bias: float, total: float | None) -> None:
        self.dual, self.coef = dual, dual.coef.copy()
        self._K, self._gradient, self._bias, self._total = K, gradient, bias, total
        self._scale = max(1.0, np.abs(gradient).max())
        self.free = np.equal(*slopes(gradient, self.coef, dual))
        self.free |= not self.free.any() and violators(gradient, self.coef, dual, bias)
        self.spent, self.count, self.inverse = 0.0, 0, None
        self._vain, self._least = 0, np.inf

    def factorise(self) -> None:
        """Factorise the kernel matrix of the free variables."""
        F = self._places = np.flatnonzero(self.free)
        self._held = np.zeros(len(F), bool)
        # a copy of many columns would take the memory of K again
        self._columns = self._K[:, F] if 2 * len(F) < len(self._K) else None
        self.inverse = _inverse(self._K[np.ix_(F, F)])
        self.spent += len(F) ** 3 / 3

    def step(self) -> bool:
        """Take a step as far as the bounds allow, and hold what meets one; return whether it was a whole step."""
        F, held = self._places, self._held
        self.count, self.spent = self.count + 1, self.spent + len(F) ** 2 * held.sum() + 1e6
        lower, upper, self._sign = _piece(self._gradient[F], self.coef[F], self.dual, F, self._bias)
        direction = self._direction()
        room = np.where(direction > 0, upper - self.coef[F], self.coef[F] - lower)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            limits = np.where(direction != 0, room / np.abs(direction), np.inf)
        size = min(1.0, limits.min())
        before = self.coef[F].copy()
        self.coef[F] += size * direction
        met = limits <= size
        self.coef[F[met]] = np.where(direction[met] > 0, upper[met], lower[met])
        self.coef[F] = np.clip(self.coef[F], np.minimum(lower, before), np.maximum(upper, before))
        held |= met
        self.free[F[met]] = False
        self._gradient -= self._image(self.coef[F] - before)
        if held.sum() > _HELD or held.all():
            self.inverse = None
        return size == 1

    def _image(self, change):
        """Return the product of K and a change of the free variables."""
        if self._columns is not None:
            return self._columns @ change
        whole = np.zeros(len(self._K))
        whole[self._places] = change
        return self._K @ whole

    def _direction(self):
        """Return the Newton direction; the bias, and epsilon if it is not fixed, become those of the step."""
        F, held, epsilon = self._places, self._held, self.dual.epsilon
        if self._total is None:
            sums, missing = np.ones((len(F), 1)), [0]
            gradient = self._gradient[F] - epsilon * self._sign
            direction, (self._bias,) = _constrained(self.inverse, gradient, held, sums, missing)
            return direction
        sums = np.column_stack([np.ones(len(F)), self._sign])
        missing = [0, self._total - np.abs(self.coef).sum()]
        direction, (self._bias, epsilon) = _constrained(self.inverse, self._gradient[F], held, sums, missing)
        self.dual = replace(self.dual, epsilon=max(0.0, float(epsilon)))
        return direction

    def finished(self) -> bool:
        """Whether the point is optimal to rounding after a whole step; otherwise free what violates."""
        F, held = self._places, self._held
        residual = np.abs(self._gradient[F] - self.dual.epsilon * self._sign - self._bias)[~held].max(initial=0.0)
        wrong = ~self.free & violators(self._gradient, self.coef, self.dual, self._bias)
        self._vain, self._least = (0, residual) if residual < self._least else (self._vain + 1, self._least)
        accuracy = _ROUNDING if self._vain < _PATIENCE else _NOISE
        if not wrong.any() and residual <= accuracy * self._scale:
            return True
        if held.any() or wrong.any():
            self.inverse, self._least = None, np.inf
        self.free |= wrong
        return False


def _piece(gradient, coef, dual, F, bias):
    """Return the bounds of variables F between which the objective is smooth, and their sign there."""
    lower, upper = dual.lower[F], dual.upper[F]
    if dual.epsilon == 0:
        return lower, upper, np.sign(coef)
    # a variable at 0 moves in the direction for which it was freed
    above = (coef > 0) | ((coef == 0) & (gradient > bias))
    return np.where(above, 0, lower), np.where(above, upper, 0), np.where(above, 1.0, -1.0)


def _inverse(K):
    """Return a function that multiplies columns by about the inverse of K, which is overwritten."""
    # a constant added to K changes no step of sum 0; it makes K definite if K is so on such vectors
    K += np.trace(K) / len(K)
    diagonal = np.diagonal(K).copy()
    # the inverse of a kernel of value 0 is finite
    jitter = max(1e-13 * float(np.trace(K)), _LEAST)
    for _ in range(6):
        try:
            np.fill_diagonal(K, diagonal + jitter)
            with threaded_blas(len(K) ** 3 / 3):
                factor = cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter *= 100
            # the factor overwrites the upper triangle only
            lower = np.tril(K, -1)
            K[:] = lower + lower.T
        else:
            return lambda columns: cho_solve(factor, columns, check_finite=False)
    # an indefinite kernel: a gradient step
    scale = max(float(np.abs(diagonal).max()), _LEAST)
    return lambda columns: columns / scale


def _constrained(inverse, gradient, held, sums, missing):
    """Return d, 0 where held, with sums' d = missing and K d + sums m = gradient elsewhere; and the multipliers m."""
    fixed = np.flatnonzero(held)
    bars = np.zeros((len(gradient), len(fixed)))
    bars[fixed, np.arange(len(fixed))] = 1
    bars = np.column_stack([sums, bars])
    solved = inverse(np.column_stack([gradient, bars]))
    inner = bars.T @ solved
    inner[: len(missing), 0] -= missing
    size = np.sqrt(np.maximum(np.diagonal(inner[:, 1:]), _LEAST))
    multipliers = np.linalg.lstsq(inner[:, 1:] / (size[:, None] * size), inner[:, 0] / size, rcond=None)[0] / size
    direction = solved[:, 0] - solved[:, 1:] @ multipliers
    direction[~held] -= direction[~held].mean()
    direction[held] = 0
    return direction, multipliers[: len(missing)]
