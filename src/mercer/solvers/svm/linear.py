r"""Duals of linear kernels and of kernel matrices of low rank, by semismooth Newton steps on the normal and the biases.

The method of multipliers adds -|b - b_k|^2 / (2 sigma) to the dual objective and maximises it in rounds, each with a
larger sigma, over the normal w (d,) and the bias c_g of each group g of variables, which keeps its sum s_g:

.. math:: \min_{w, c} \tfrac12 |w|^2 + \sum_g s_g c_g + \sum_i \max_{l_i \le a \le u_i}
    a r_i - \epsilon |a| - \tfrac12 \rho_i a^2 - \tfrac1{2\sigma} (a - b_{k,i})^2,\quad r_i = t_i - w'x_i - c_{g(i)}

The maximisers a are the next b. The function is convex, smooth and quadratic in pieces, and its curvature is that of
the few points between their bounds.

Yan, Li, *An efficient augmented Lagrangian method for support vector machine*, Optimization Methods and Software 35
(2020); here with free biases, an epsilon and a ridge.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from mercer._common import Array
from mercer._compute.points import dense, take_points, widened
from mercer._compute.threads import check_cancelled, threaded_blas
from mercer.gram import Gram
from mercer.kernels.dot import Linear
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.engine import COARSE
from mercer.solvers.svm.verify import certificate, measured, objective

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.options import Limits
    from mercer.solvers.svm.rows import Rows

# Time that may be spent on steps over pairs, as a share of that of Newton steps. Both in multiplications: of all Newton
# steps, for each and for each entry of X, of a step over pairs, beside one for each variable, and of a kernel value.
_TRIED, _OVERHEAD_OF_NEWTON, _ENTRY, _OVERHEAD_OF_STEP, _VALUE = 0.25, 8e7, 900, 1000, 20
# Rounds multiply sigma by the first number; this many without a violation lower by the share are the last.
_GROWTH, _VAIN, _FALL = 3.0, 3, 0.1
# The first sigma times the mean square of the rows is at most this: bounds far above the coefficients stay out of it.
_FIRST = 100.0
# A round ends when its error is this share of the change of coefficients over sigma, and of the tolerance, and its sums
# have this accuracy, after which the free coefficients share the rest up to its rounding.
_INNER, _EXACT, _ROUNDED = 0.1, 1e-6, 1e-14
# Most Newton steps of a round, and of a solution.
_STEPS, _MOST_STEPS = 100, 1000
# A line search ends at this share of the first slope, or after so many slopes.
_FLATTER, _SLOPES = 0.1, 50
# Curvature of a bias that is added to its own, as a share: the matrix of a Newton step is then positive definite.
_ADDED = 1e-9
# Share of coefficients up to which those that changed are summed alone.
_CHANGED = 0.25
# Operations of a solution for each entry of X, about: products with X repeat at once.
_OPERATIONS = 200
# Largest number of variables near the margin that are solved for to the last digits.
_NEAR = 500
# Unknowns up to which a system is solved by factorisation, in free variables or columns, and up to which where it takes
# no longer than products with the rows: entries of these count so many times, since memory delivers them.
_DIRECT, _MOST, _SLOWER = 1000, 2000, 10
# Relative residual of conjugate gradients, and their most products.
_RELATIVE, _PRODUCTS = 1e-2, 200
# Largest rank, and as a share of the number of variables; roundings of the largest diagonal entry that are no rank.
_RANK, _PART, _ROUNDINGS = 600, 0.6, 8
_EPS = float(np.finfo(np.float64).eps)


def steps_before_newton(rows: Rows, dual: Dual) -> float:
    """Return how many steps over pairs take a part of the time of Newton steps on the normal of a linear kernel.

    Easy problems end before. None does where kernel rows alone take longer; other kernels are not limited.
    """
    X = _linear_points(rows, dual)
    if X is None:
        return np.inf
    n = len(dual.coef)
    width = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
    allowed = _TRIED * (_OVERHEAD_OF_NEWTON + _ENTRY * n * width)
    return allowed // (n + _OVERHEAD_OF_STEP) if n * n * (width + _VALUE) <= 3 * allowed else 0


def _linear_points(rows, dual):
    """Return the rows X of a linear kernel for which Newton steps on the normal pay, None otherwise.

    Kernel values between dense rows that are no more than their columns take no more memory than the rows, and less
    time than Newton steps.
    """
    kernel, points = _without_ridge(rows, dual)
    if not isinstance(kernel, Linear) or (dual.unbounded and dual.ridge is None):
        return None
    tall = isinstance(points, np.ndarray) and len(dual.coef) > points.shape[1]
    return points if tall or sp.issparse(points) else None


def _without_ridge(rows, dual):
    """Return the kernel and the points of rows, without the ridge of a dual."""
    kernel = rows.kernel
    return (kernel.kernel, kernel.points) if dual.ridge is not None else (kernel, rows.points)


def solve_linear(X: Any, dual: Dual, limits: Limits) -> Solution:
    """Return the solution of a dual of the linear kernel on rows X, with the bias of the first group.

    ``n_iter`` counts Newton steps: a step costs two products with X, and O(m^2 (d + m)) for the smaller m of the number
    of columns and of free variables; conjugate gradients solve for more than 1 000 to 2 000.
    """
    X = widened(take_points(X, dual.points))
    centre = np.zeros(X.shape[1])
    if isinstance(X, np.ndarray):
        # the biases take up the mean of the rows, whose rounding would hide their differences
        centre = X.mean(axis=0)
        X -= centre
    total = float(dual.coef.sum())
    centred = replace(dual, target=dual.target - total * (X @ centre))
    with threaded_blas(_OPERATIONS * (X.nnz if sp.issparse(X) else X.size)):
        found = _State(X, centred).solve(limits)
    shift = float(centre @ (X.T @ found.coef + total * centre))
    return replace(found, gradient=found.gradient - shift, bias=found.bias - shift, noise=0.0)


@dataclass(frozen=True)
class _Round:
    """The problem of one round as a function of the residuals, with a curvature where coefficients are free."""

    dual: Dual
    base: np.ndarray
    curvature: np.ndarray

    def coefficients(self, residual: Array) -> Array:
        """Return the maximisers a at a residual."""
        pull = residual + self.base
        if self.dual.epsilon > 0:
            pull -= np.clip(pull, -self.dual.epsilon, self.dual.epsilon)
        pull *= self.curvature
        return np.clip(pull, self.dual.lower, self.dual.upper, out=pull)

    def free(self, coef: Array) -> Array:
        """Return whether each coefficient is between its bounds, and moves with its residual."""
        inside = (coef > self.dual.lower) & (coef < self.dual.upper)
        return inside & (coef != 0) if self.dual.epsilon > 0 else inside


class _State:
    """The point that the method has reached: coefficients, gradient, and u: biases in units of ``unit``, and normal.

    A has a column for each bias beside those of X: residuals are t - A u.
    """

    def __init__(self, X: Any, dual: Dual) -> None:
        self.dual = dual
        self.groups = groups = [slice(*pair) for pair in itertools.pairwise(dual.groups.tolist())]
        squares = X.multiply(X).sum() if sp.issparse(X) else np.einsum("ij,ij->", X, X)
        # columns as large as rows
        self.unit = float(np.sqrt(squares / len(dual.coef))) or 1.0
        biases = np.zeros((len(dual.coef), len(groups)))
        for g, own in enumerate(groups):
            biases[own, g] = self.unit
        self.A = sp.hstack([biases, X], format="csr") if sp.issparse(X) else np.hstack([biases, X])
        self._products = _Products(self.A)
        # of the parts of the function that are quadratic and linear in u
        self._curved = np.repeat([0.0, 1.0], [len(groups), X.shape[1]])
        self._sums = (1 - self._curved) * (self.A.T @ dual.coef)
        self.n_iter = 0
        self.u = np.zeros(len(self._curved))
        self._place(dual.coef)
        self.u[: len(groups)] = self._biases() / self.unit

    def _place(self, coef):
        """Move to some coefficients; the biases stay."""
        self.coef = coef
        normal = self._curved * (self.A.T @ coef)
        self.u = (1 - self._curved) * self.u + normal
        ridge = 0.0 if self.dual.ridge is None else self.dual.ridge * coef
        self.gradient = self.dual.target - self.A @ normal - ridge

    def _biases(self):
        return measured(self.gradient, self.coef, self.dual)[0]

    def _found(self):
        return _found_at(self.dual, self.coef, self.gradient)

    def solve(self, limits: Limits) -> Solution:
        """Take rounds until the violation is within the tolerance and the gap a small share of the objective."""
        dual = self.dual
        # how far a coefficient can move, or a residual of 1 moves it; at ``full`` it does where residuals cross theirs
        size = float(np.mean(1 / dual.ridge if dual.ridge is not None else dual.upper - dual.lower))
        spread = float(np.std(dual.target)) or 1.0
        tol, best, least = limits.tol, self._found(), np.inf
        sigma = min(size / min(spread, best.violation), _FIRST / self.unit**2 / min(1.0, best.violation))
        vain, value = 0, -np.inf
        while best.violation > tol and self.n_iter < limits.max_iter:
            self.maximise(sigma, tol, limits.max_iter)
            found, before = self._found(), value
            value = objective(dual, found.coef, found.gradient)
            # at a small sigma errors of this size do not move coefficients across their range yet, and need not fall
            reached = sigma * min(spread, found.violation) >= size
            vain = vain + 1 if reached and found.violation >= (1 - _FALL) * least else 0
            if found.violation <= least:
                best = found
                least = found.violation
            if limits.callback is not None and limits.callback(found.violation):
                break
            if vain >= _VAIN:
                best = replace(best, gain=(value - before) / max(abs(value), np.finfo(float).tiny))
                break
            share = self._gap_share(found) if found.violation <= tol else 0.0
            if share > COARSE:
                tol = found.violation * 0.5 * COARSE / share
            sigma *= _GROWTH
        return replace(best, n_iter=self.n_iter)

    def _gap_share(self, found):
        """Return the gap of a solution as a share of the norm and the losses, which a shift of the targets leaves."""
        level = self.A[:, : len(self.groups)] @ (self._biases() / self.unit)
        dual = replace(self.dual, target=self.dual.target - level, split=None)
        parts = certificate(dual, found.coef, found.gradient - level, 0.0)
        return parts.gap / parts.primal if parts.primal > 0 else 0.0

    def maximise(self, sigma: float, tol: float, max_iter: int) -> None:
        """Take the Newton steps of a round, and move to its maximisers."""
        ridge = 0.0 if self.dual.ridge is None else self.dual.ridge
        part = _Round(self.dual, self.coef / sigma, 1 / (ridge + np.full(len(self.coef), 1 / sigma)))
        residual = self.dual.target - self.A @ self.u
        coef = part.coefficients(residual)
        image = self.A.T @ coef
        for _ in range(_STEPS):
            check_cancelled()
            fixed = self._curved * self.u + self._sums
            pull = fixed - image
            if self._is_exact(coef, pull, sigma, tol) or self.n_iter >= max_iter:
                break
            self.n_iter += 1
            change = self._direction(part, np.flatnonzero(part.free(coef)), pull)
            moved = self.A @ change
            step = _line_search(part, residual, moved, float(fixed @ change), float(change @ (self._curved * change)))
            if step == 0:
                break
            self.u = self.u + step * change
            residual -= step * moved
            before = coef
            coef = part.coefficients(residual)
            image = self._updated(image, before, coef)
        self._place(self._with_sums(coef, part.free(coef)))

    def _is_exact(self, coef, pull, sigma, tol):
        """Whether a round has converged: its error is below the change of the coefficients, or the tolerance."""
        moved = float(np.abs(coef - self.coef).max()) / sigma
        missing = np.abs(pull[: len(self.groups)]).max() / self.unit
        error = self.unit * np.linalg.norm(pull)
        return error <= _INNER * max(tol, min(1.0, moved)) and missing <= _EXACT * np.abs(coef).sum()

    def _direction(self, part, free, pull):
        """Return the Newton direction d: (E + A'DA) d = -pull for the free variables."""
        A = self.A[free]
        roots = np.sqrt(part.curvature[free])
        # a group without a free variable has the curvature of one
        own = np.square(A[:, : len(self.groups)].T @ roots)
        E = self._curved.copy()
        E[: len(self.groups)] = np.where(own > 0, _ADDED * own, part.curvature.mean() * self.unit**2)
        entries = A.nnz if sp.issparse(A) else A.size
        unknowns = min(A.shape)
        if unknowns > _DIRECT and (unknowns > _MOST or unknowns**3 > _SLOWER * _PRODUCTS * entries):
            return _solve_by_steps(A, roots, E, pull)
        if unknowns == len(free):
            return _solve_in_variables(A, self._products.of(free), roots, E, pull)
        Z = sp.diags(roots) @ A if sp.issparse(A) else roots[:, None] * A
        return -cho_solve(_factor(dense(Z.T @ Z), E), pull)

    def _updated(self, image, before, coef):
        """Return A' coef from A' before, by the rows of the coefficients that changed."""
        moved = np.flatnonzero(coef != before)
        if len(moved) > _CHANGED * len(coef):
            return self.A.T @ coef
        return image + self.A[moved].T @ (coef[moved] - before[moved])

    def _with_sums(self, coef, free):
        """Return coefficients of the prescribed sums: the free ones share the difference, or all of them must."""
        for own, total in zip(self.groups, self._sums.tolist(), strict=False):
            for chosen in (own.start + np.flatnonzero(free[own]), np.arange(own.start, own.stop)):
                missing = total / self.unit - float(coef[own].sum())
                if abs(missing) > _ROUNDED * np.abs(coef[own]).sum() and len(chosen):
                    coef[chosen] = shifted(coef[chosen], missing, self.dual.lower[chosen], self.dual.upper[chosen])
        return coef


class _Products:
    """Inner products of the rows of A that have been free, each computed once while there are not too many."""

    def __init__(self, A: Any) -> None:
        self._A = A
        self._known = np.empty(0, int)
        self._values = np.empty((0, 0))

    def of(self, free: Array) -> Array:
        """Return the inner products between some rows (k, k)."""
        new = np.setdiff1d(free, self._known)
        if len(self._known) + len(new) > 2 * _MOST:
            self._known = np.empty(0, int)
            new = free
        if len(new):
            m = len(self._known)
            self._known = np.concatenate([self._known, new])
            values = np.empty((len(self._known), len(self._known)))
            values[:m, :m] = self._values[:m, :m]
            values[m:] = dense(self._A[new] @ self._A[self._known].T)
            values[:m, m:] = values[m:, :m].T
            self._values = values
        order = np.argsort(self._known)
        places = order[np.searchsorted(self._known, free, sorter=order)]
        return self._values[np.ix_(places, places)]


def shifted(coef: Array, missing: float, lower: Array, upper: Array) -> Array:
    """Return coefficients plus a constant, within their bounds, whose sum is larger by ``missing``."""
    total = float(coef.sum()) + missing
    reach = float(np.max(upper - lower))
    low, high = (0.0, reach) if missing > 0 else (-reach, 0.0)
    while (shift := 0.5 * (low + high)) not in (low, high):
        if float(np.clip(coef + shift, lower, upper).sum()) > total:
            high = shift
        else:
            low = shift
    return np.clip(coef + low, lower, upper)


def _line_search(part, residual, change, slope, curvature):
    """Return the step along a direction where the slope of a round's function is nearly 0; 0 if it does not fall.

    ``slope`` and ``curvature`` are those of the part that is quadratic.
    """

    def slope_at(step):
        return slope + step * curvature - float(part.coefficients(residual - step * change) @ change)

    step, low, high, above = 1.0, 0.0, np.inf, np.inf
    below = slope_at(low)
    if not below < 0:
        return 0.0
    goal = _FLATTER * abs(below)
    for _ in range(_SLOPES):
        value = slope_at(step)
        if abs(value) <= goal:
            break
        if value < 0:
            low = step
            below = value
        else:
            high = step
            above = value
        # the root of the chord, kept away from the ends
        step = low + (high - low) * min(max(below / (below - above), 0.05), 0.95) if high < np.inf else 4 * low
    return step


def _solve_in_variables(A, K, roots, E, pull):
    """Return the direction from the inner products K of rows of A: one unknown for each free variable."""
    g = np.flatnonzero(E != 1)
    biases = dense(A[:, g])
    K += biases * (1 / E[g] - 1) @ biases.T
    K *= roots[:, None] * roots
    values = roots * cho_solve(_factor(K, np.ones(len(K))), roots * (A @ (pull / E)))
    return (A.T @ values - pull) / E


def _factor(G, added):
    """Return the Cholesky factor of G plus a diagonal; G is overwritten."""
    # rounding may make a sum of squares negative
    diagonal, jitter = added + np.maximum(np.diagonal(G), 0), 0.0
    while True:
        np.fill_diagonal(G, diagonal * (1 + jitter))
        try:
            return cho_factor(G, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter = max(10 * jitter, 1e-14)


def _solve_by_steps(A, roots, E, pull):
    """Return about the direction, by conjugate gradients."""
    squares = A.multiply(A) if sp.issparse(A) else np.square(A)
    scale = E + squares.T @ np.square(roots)
    shape = (len(E), len(E))
    operator = LinearOperator(shape, lambda v: E * v + A.T @ (roots * (roots * (A @ v))), dtype=float)
    inverse = LinearOperator(shape, lambda v: v / scale, dtype=float)
    return cg(operator, -pull, rtol=_RELATIVE, maxiter=_PRODUCTS, M=inverse)[0]


# --- kernels of low rank ---------------------------------------------------------------------------------------------


def solve_factored(rows: Rows, dual: Dual, limits: Limits) -> Solution | None:
    """Return the solution of `solve_linear` on the rows of a linear kernel, or of a factor of low rank of the matrix.

    None if K has too many eigenvalues above rounding. K = L L' of r columns by pivoted Cholesky takes O(n r^2). Newton
    steps on L do not suffer from the range of the eigenvalues, where steps over pairs need millions. The gradient is
    that of the kernel values, unless Newton steps on the normal are the first: where its rounding exceeds ``tol`` a
    violation remains, and ``gain`` is 0.
    """
    X = _linear_points(rows, dual)
    own = dual
    if X is None:
        distinct, places = np.unique(dual.points, return_inverse=True)
        X = _low_rank_factor(*_without_ridge(rows, dual), distinct)
        own = replace(dual, points=places)
    if X is None:
        return None
    found = solve_linear(X, own, replace(limits, max_iter=min(limits.max_iter, _MOST_STEPS)))
    if steps_before_newton(rows, dual) == 0:
        return found
    used = np.flatnonzero(found.coef)
    gradient = dual.target - rows.exact_product(dual.points, dual.points[used], found.coef[used])
    exact = _found_at(dual, found.coef, gradient)
    noise = _EPS * float(np.abs(rows.diagonal).max()) * float(np.linalg.norm(found.coef))
    return replace(exact, n_iter=found.n_iter, noise=0.0, gain=0.0 if exact.violation <= noise else np.inf)


def _found_at(dual, coef, gradient):
    """Return a point as a solution."""
    bias, violation = measured(gradient, coef, dual)
    return Solution(coef, gradient, float(bias[0]), violation, 0, epsilon=dual.epsilon)


def _low_rank_factor(kernel, points, places):
    """Return L (n, r) with K = L L' up to rounding by pivoted Cholesky; None if r is too large."""
    # `mercer.linalg.cholesky.pivoted` ends sooner, at n roundings of the largest entry
    gram = Gram(kernel, take_points(widened(points), places))
    remainder = np.array(gram.diagonal(), np.float64)
    floor = _ROUNDINGS * _EPS * remainder.max()
    rank = int(min(_RANK, _PART * len(remainder)))
    L = np.zeros((len(remainder), rank))
    for r in range(rank):
        check_cancelled()
        pivot = int(np.argmax(remainder))
        if not remainder[pivot] > floor:
            return L[:, :r]
        column = np.asarray(gram[:, [pivot]], np.float64)[:, 0] - L[:, :r] @ L[pivot, :r]
        L[:, r] = column / np.sqrt(remainder[pivot])
        remainder -= np.square(L[:, r])
        remainder[pivot] = 0
    return L if remainder.max() <= floor else None
