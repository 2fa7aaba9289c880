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

import functools
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from mercer._common import EPS, HALVINGS, Array, record
from mercer._compute.costs import (
    ENTRY,
    FACTORED_UNKNOWNS,
    KERNEL_VALUE,
    LINEAR_NEWTON,
    LINEAR_NEWTON_PER_ENTRY,
    NEWTON_VARIABLES,
    STEP_OVERHEAD,
)
from mercer._compute.points import (
    PROBES,
    dense,
    evenly_spaced,
    take_points,
    widened,
    without_empty_columns,
)
from mercer._compute.threads import check_cancelled, threaded_blas
from mercer._progress import listening
from mercer.gram import Gram
from mercer.kernels.dot import Linear
from mercer.linalg.cholesky import Partial
from mercer.linalg.operators import NOISE
from mercer.solvers.svm.certificates import DRIFT, Point, exact_gradient
from mercer.solvers.svm.dual import Dual, Limits
from mercer.solvers.svm.newton import NEWTON_STEPS, PATIENCE
from mercer.solvers.svm.rows import Rows

# Steps over pairs for each variable where a coefficient times the mean square of the rows moves residuals across their
# range, and times two signs in regression; kernel rows that they need as a share of all. About, over ten sets.
_PER_VARIABLE = 0.5
ROWS_NEEDED = 0.3
# Both where all targets are equal: nu-classification, one class.
_EQUAL = 0.05
# Up to so many variables, steps over pairs are tried for this share of the time of Newton steps.
_FEW = 1000
_TRIED = 0.15
# Factor of sigma between rounds, and share by which each is to lower the violation.
_GROWTH = 3.0
FALL = 0.1
# The first sigma times the mean square of the rows is at most this: bounds far above the coefficients stay out of it.
_FIRST = 100.0
# A line search ends at this share of the first slope. A round ends when its error is this share of the change of
# coefficients over sigma, and of the tolerance, and its sums have the second accuracy, after which the free
# coefficients share the rest.
_INNER = 0.1
_EXACT = 1e-6
# Most Newton steps of a solution.
_MOST_STEPS = 1000
# Curvature that is added to that of a bias, as a share of it: the matrix of a Newton step is then positive definite.
# And that of a bias without a free variable, in those of one.
_ADDED = 1e-9
_FREED = 10.0
# Operations of a solution for each entry of X, about: products with X repeat at once.
_OPERATIONS = 200
# Relative residual of conjugate gradients, and their most products.
_RELATIVE = 1e-2
_PRODUCTS = 200
# Largest rank of a factor that is tried before more steps over pairs.
RANK = 600


def steps_before_newton(rows: Rows, duals: Dual) -> float:
    """Return how many steps over pairs to take in the largest dual before Newton steps on a normal of a linear kernel.

    None where a rough count says that Newton steps take less time; other kernels are not limited.
    """
    X = _linear_points(rows, duals)
    if X is None:
        return np.inf
    if duals.ridge is not None:
        return 0
    dual = duals[int(duals.sizes.argmax())]
    n = duals.largest
    width = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
    newton = LINEAR_NEWTON + LINEAR_NEWTON_PER_ENTRY * n * width
    spread = float(np.std(dual.target))
    steps = vectors = _EQUAL * n
    if spread > 0:
        across = _range(dual) * _mean_square(X, dual.points[evenly_spaced(n, PROBES)]) / spread
        steps = _PER_VARIABLE * n * across * (1 if dual.one_sided else 2)
        vectors = ROWS_NEEDED * n
    pairs = steps * (n + STEP_OVERHEAD) + vectors * n * (width + KERNEL_VALUE)
    share = 1.0 if pairs <= newton else _TRIED if n < _FEW else 0.0
    return share * newton // (n + STEP_OVERHEAD)


def _range(dual):
    """Return how far coefficients can move, or a residual of 1 moves them."""
    return float(np.mean(1 / dual.ridge if dual.ridge is not None else dual.upper - dual.lower))


def _mean_square(X, points):
    """Return the mean square of some rows, dense ones about their mean."""
    rows = X[points]
    return float(
        rows.multiply(rows).sum() / rows.shape[0] if sp.issparse(rows) else rows.var(axis=0).sum()
    )


def _linear_points(rows, dual):
    """Return the rows X of a linear kernel for which Newton steps on the normal pay, None otherwise.

    Kernel values between dense rows that are no more than their columns take no more memory than the rows, and less
    time than Newton steps.
    """
    points = rows.points
    if not isinstance(rows.kernel, Linear) or (dual.unbounded and dual.ridge is None):
        return None
    if sp.issparse(points):
        return without_empty_columns(points)[0]
    tall = isinstance(points, np.ndarray) and dual.largest > points.shape[1]
    return points if tall else None


def solve_linear(X: Any, dual: Dual, limits: Limits) -> Point:
    """Return the solution of a dual of the linear kernel on rows X.

    ``n_iter`` counts Newton steps: a step costs two products with X, and O(m^2 (d + m)) for the smaller m of the number
    of columns and of free variables; conjugate gradients solve for more than 1 000 to 2 000.
    """
    # columns of biases are as large as rows
    unit = float(np.sqrt(_mean_square(X, dual.points))) or 1.0
    (groups,) = dual.groups
    n_groups = len(groups) - 1
    biases = unit * (
        np.repeat(np.arange(n_groups), np.diff(groups))[:, None] == np.arange(n_groups)
    )
    stack = functools.partial(sp.hstack, format="csr") if sp.issparse(X) else np.hstack
    A = stack([biases, take_points(X, dual.points)])
    centre = np.zeros(A.shape[1])
    if isinstance(A, np.ndarray):
        # the biases take up the mean of the rows, whose rounding would hide their differences
        centre[n_groups:] = A[:, n_groups:].mean(axis=0)
        A -= centre
    moved = float(dual.coef.sum()) * centre
    with threaded_blas(_OPERATIONS * (A.nnz if sp.issparse(A) else A.size)):
        found = _State(A, unit, replace(dual, target=dual.target - A @ moved)).solve(limits)
    shift = float(centre @ (A.T @ found.coef + moved))
    found.gradient -= shift
    found.bias -= shift
    return found


@record
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

    A has a column for each bias before those of X: residuals are t - A u.
    """

    def __init__(self, A: Any, unit: float, dual: Dual) -> None:
        self.A = A
        self.unit = unit
        self.dual = dual
        self._n_groups = len(dual.groups[0]) - 1
        self._products = _Products(A)
        # of the parts of the function that are quadratic and linear in u
        self._curved = (np.arange(A.shape[1]) >= self._n_groups).astype(float)
        self._sums = (1 - self._curved) * (A.T @ dual.coef)
        self.n_iter = 0
        self.u = np.zeros(A.shape[1])
        self._place(dual.coef)
        self.u[: self._n_groups] = self.found.bias / unit

    def _place(self, coef):
        """Move to some coefficients; the biases stay."""
        normal = self._curved * (self.A.T @ coef)
        self.u = (1 - self._curved) * self.u + normal
        ridge = 0.0 if self.dual.ridge is None else self.dual.ridge * coef
        self.found = Point(self.dual, coef, self.dual.target - self.A @ normal - ridge)

    def solve(self, limits: Limits) -> Point:
        """Take rounds until the violation is within the tolerance."""
        # squares of large numbers overflow
        largest = float(np.abs(self.found.gradient).max()) or 1.0
        spread = largest * float(np.std(self.found.gradient / largest)) or 1.0
        full = _range(self.dual)
        tol = limits.tol
        best = self.found
        least = np.inf
        vain = 0
        # a start near the solution needs no small sigma
        start = max(best.violation, tol)
        sigma = min(full / min(spread, start), _FIRST / self.unit**2 / min(1.0, start))
        while best.violation > tol and self.n_iter < limits.max_iter:
            self._maximise(sigma, tol, limits.max_iter)
            violation = self.found.violation
            # at a small sigma errors of this size do not move coefficients across their range yet, and need not fall
            vain = (
                vain + 1
                if sigma * min(spread, violation) >= full and violation >= (1 - FALL) * least
                else 0
            )
            if violation <= least:
                best = self.found
                least = violation
            if limits.callback is not None and limits.callback(violation):
                break
            if vain >= PATIENCE:
                best.gain = 0.0
                break
            sigma *= _GROWTH
        best.n_iter = self.n_iter
        return best

    def _maximise(self, sigma, tol, max_iter):
        """Take the Newton steps of a round, and move to its maximisers."""
        start = self.found.coef
        ridge = 0.0 if self.dual.ridge is None else self.dual.ridge
        part = _Round(self.dual, start / sigma, 1 / (ridge + np.full(len(start), 1 / sigma)))
        residual = self.dual.target - self.A @ self.u
        coef = part.coefficients(residual)
        for _ in range(NEWTON_STEPS):
            check_cancelled()
            fixed = self._curved * self.u + self._sums
            pull = fixed - self.A.T @ coef
            change_of_residuals = float(np.abs(coef - start).max()) / sigma
            if (
                self._is_exact(coef, pull, max(tol, min(1.0, change_of_residuals)))
                or self.n_iter >= max_iter
            ):
                break
            self.n_iter += 1
            change = self._direction(part, np.flatnonzero(part.free(coef)), pull)
            moved = self.A @ change
            step = _line_search(
                part,
                residual,
                moved,
                float(fixed @ change),
                float(change @ (self._curved * change)),
            )
            if step == 0:
                break
            self.u = self.u + step * change
            residual -= step * moved
            coef = part.coefficients(residual)
        self._place(self._with_sums(coef, part.free(coef)))

    def _is_exact(self, coef, pull, scale):
        """Whether the error of a round is a small share of a change of residuals, and its sums are about right."""
        missing = np.abs(pull[: self._n_groups]).sum() / self.unit
        return (
            self.unit * np.linalg.norm(pull) <= _INNER * scale
            and missing <= _EXACT * np.abs(coef).sum()
        )

    def _direction(self, part, free, pull):
        """Return the Newton direction d: (E + A'DA) d = -pull for the free variables."""
        A = self.A[free]
        roots = np.sqrt(part.curvature[free])
        own = np.square(A[:, : self._n_groups].T @ roots)
        E = self._curved.copy()
        E[: self._n_groups] = np.where(
            own > 0, _ADDED * own, _FREED * part.curvature.mean() * self.unit**2
        )
        entries = A.nnz if sp.issparse(A) else A.size
        unknowns = min(A.shape)
        if unknowns > FACTORED_UNKNOWNS and (
            unknowns > NEWTON_VARIABLES or unknowns**3 > ENTRY * _PRODUCTS * entries
        ):
            return _solve_by_steps(A, roots, E, pull)
        if unknowns == len(free):
            # K = A A' / E: one unknown for each free variable
            biases = dense(A[:, : self._n_groups])
            K = self._products.of(free) + biases * (1 / E[: self._n_groups] - 1) @ biases.T
            K *= roots[:, None] * roots
            factor = _factor(K, np.ones(len(K)))
            values = roots * cho_solve(factor, roots * (A @ (pull / E)))
            return (A.T @ values - pull) / E
        Z = sp.diags(roots) @ A if sp.issparse(A) else roots[:, None] * A
        return -cho_solve(_factor(dense(Z.T @ Z), E), pull)

    def _with_sums(self, coef, free):
        """Return coefficients of the prescribed sums: the free ones share the difference, or all of them must."""
        for own, total in zip(
            itertools.pairwise(self.dual.groups[0]), self._sums.tolist(), strict=False
        ):
            places = np.arange(*own)
            for chosen in (places[free[places]], places):
                missing = total / self.unit - float(coef[places].sum())
                if abs(missing) > DRIFT * np.abs(coef[places]).sum() and len(chosen):
                    coef[chosen] = shifted(
                        coef[chosen], missing, self.dual.lower[chosen], self.dual.upper[chosen]
                    )
        return coef


class _Products:
    """Inner products of the rows of A that have been free, each computed once while there are not too many."""

    def __init__(self, A: Any) -> None:
        self._A = A
        self._known = np.empty(0, int)
        self._values = np.empty((0, 0))

    def of(self, free: Array) -> Array:
        """Return the inner products between some rows (k, k)."""
        new = free[~np.isin(free, self._known)]
        if len(self._known) + len(new) > 2 * NEWTON_VARIABLES:
            self._known = self._known[:0]
            self._values = self._values[:0, :0]
            new = free
        if len(new):
            m = len(self._known)
            self._known = np.concatenate([self._known, new])
            below = dense(self._A[new] @ self._A[self._known].T)
            self._values = np.vstack([np.hstack([self._values, below[:, :m].T]), below])
        order = self._known.argsort()
        places = order[self._known.searchsorted(free, sorter=order)]
        return self._values[np.ix_(places, places)]


def shifted(coef: Array, missing: float, lower: Array, upper: Array) -> Array:
    """Return coefficients plus a constant, within their bounds, whose sum is larger by ``missing``."""
    total = float(coef.sum()) + missing
    shift = 0.0
    before = np.inf
    while True:
        found = np.clip(coef + shift, lower, upper)
        # those that have met their bound leave the rest to the others
        room = np.count_nonzero(found < upper if missing > 0 else found > lower)
        # the rest is rounding if no further one has, which huge coefficients may never leave
        if room == 0 or room >= before:
            return found
        before = room
        shift += (total - float(found.sum())) / room


def _line_search(part, residual, change, slope, curvature):
    """Return the step along a direction where the slope of a round's function is nearly 0; 0 if it does not fall.

    ``slope`` and ``curvature`` are those of the part that is quadratic.
    """

    def slope_at(step):
        return (
            slope + step * curvature - float(part.coefficients(residual - step * change) @ change)
        )

    step = 1.0
    low = 0.0
    high = np.inf
    below = slope_at(low)
    above = np.inf
    if not below < 0:
        return 0.0
    goal = _INNER * abs(below)
    for _ in range(HALVINGS):
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
        step = (
            low + (high - low) * min(max(below / (below - above), 0.05), 0.95)
            if high < np.inf
            else 4 * low
        )
    return step


def _factor(G, added):
    """Return the Cholesky factor of G plus a diagonal; G is overwritten."""
    # rounding may make a sum of squares negative
    diagonal = added + np.maximum(np.diagonal(G), 0)
    jitter = 0.0
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
    operator = LinearOperator(
        shape, lambda v: E * v + A.T @ (roots * (roots * (A @ v))), dtype=float
    )
    inverse = LinearOperator(shape, lambda v: v / scale, dtype=float)
    return cg(operator, -pull, rtol=_RELATIVE, maxiter=_PRODUCTS, M=inverse)[0]


# --- kernels of low rank ---------------------------------------------------------------------------------------------


def solve_factored(rows: Rows, dual: Dual, limits: Limits, rank: int = RANK) -> Point | None:
    """Return the solution of `solve_linear` on the rows of a linear kernel, or of a factor of the matrix up to a rank.

    None if K has more eigenvalues above rounding. K = L L' of r columns by pivoted Cholesky takes O(n r^2). Newton
    steps on L do not suffer from the range of the eigenvalues, where steps over pairs need millions. The gradient is
    that of the kernel values, unless Newton steps on the normal are the first: where its rounding exceeds ``tol`` a
    violation remains, and ``gain`` is 0.
    """
    X = _linear_points(rows, dual)
    own = dual
    if X is None:
        distinct, places = np.unique(dual.points, return_inverse=True)
        X = _factor_of(rows, distinct, rank)
        own = replace(dual, points=places)
    if X is None:
        return None
    found = solve_linear(X, own, limits._replace(max_iter=min(limits.max_iter, _MOST_STEPS)))
    if steps_before_newton(rows, dual) == 0:
        return found
    exact = Point(dual, found.coef, exact_gradient(rows, dual, found.coef), found.n_iter)
    noise = EPS * float(np.abs(rows.diagonal).max()) * float(np.linalg.norm(found.coef))
    exact.gain = 0.0 if exact.violation <= noise else np.inf
    return exact


def _factor_of(rows, places, rank):
    """Return L (n, r) with K = L L' up to rounding by pivoted Cholesky; None if r is above ``rank``."""
    gram = Gram(rows.kernel, take_points(widened(rows.points), places))
    # n roundings, at which other factors end, are too many
    partial = Partial(gram, gram.diagonal(), min(rank, len(places)), None, NOISE)
    # callbacks of a fit follow its violation
    with listening(None):
        while partial.open:
            check_cancelled()
            partial.add_one(np.argmax(partial.diagonal))
    return None if partial.diagonal.max() > 0 else partial.factor
