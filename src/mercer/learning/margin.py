"""Weights of kernels by the margin: Newton steps on the objective of a support vector machine (multiple kernels)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from mercer._common import TINY, Array, as_float64, record
from mercer._compute.costs import TILE
from mercer._compute.points import count_points, take_points, widened
from mercer._compute.threads import run_on_rows, threaded_blas
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.learning.candidates import weighted_sum
from mercer.learning.centred import beside_first, variance
from mercer.solvers.svm import Dual, Solution, solve_dual
from mercer.solvers.svm.dual import Options
from mercer.solvers.svm.multiclass import Subproblems, subproblems
from mercer.solvers.svm.rows import KnownRows, PlainRows


@record
class Point:
    """Shares of the kernels, and the solution of the support vector machine with their sum.

    Attributes
    ----------
    shares : float64 array (p,)
    primal : float
        Objective, an upper bound of the optimum over all shares.
    slope : float64 array (p,)
        Derivative of the objective in the shares, -b'K_k b / 2.
    duals : Dual
    solutions : Solution
    products : float64 array (p, n, m)
        K_k b.
    rows : PlainRows or KnownRows
    """

    shares: np.ndarray
    primal: float
    slope: np.ndarray
    duals: Dual
    solutions: Solution
    products: np.ndarray
    rows: Any


class Objective:
    """Sum of the objectives of all pairs of classes as a function of the shares of kernels scaled to variance 1.

    The matrices of the kernels are in memory if they and two more fit, otherwise never stored.

    Attributes
    ----------
    scales : float64 array (p,)
        Variances of the points in feature space; kernels of variance 0 are left out.
    count : int
        Number of evaluations.
    lower : float
        Lower bound of the optimum over all shares, the largest t'b - max_k b'K_k b / 2 of all evaluations.
    """

    def __init__(
        self, kernels: Sequence[Kernel], points: Any, codes: Array, C: float, options: Options
    ) -> None:
        n = len(codes)
        self.binary: Subproblems = subproblems(np.bincount(codes), "ovo")
        self.C = C
        self.count: int = 0
        self.lower: float = -np.inf
        self.start: Dual = self.binary.duals(np.full(n, C))
        self._options = options
        self._points = take_points(points, np.argsort(codes, kind="stable"))
        self._stored = 8 * (len(kernels) + 2) * n * n <= options.budget
        grams = [Gram(kernel, self._points, memory=2**62) for kernel in kernels]
        matrices = [as_float64(gram.dense()) for gram in grams] if self._stored else grams
        self.scales: Array = np.array(
            [variance(gram, K) for gram, K in zip(grams, matrices, strict=True)]
        )
        used = np.flatnonzero(self.scales)
        self._matrices = [matrices[k] for k in used]
        self._factors = 1 / self.scales[used]
        self._kernels = [kernels[k] for k in used]

    def __call__(self, shares: Array, duals: Dual) -> Point:
        """Return the point of some shares; the solver starts from the coefficients of the duals."""
        self.count += 1
        rows = self._rows(shares)
        solutions = solve_dual(rows, duals, self._options)
        B = np.zeros((count_points(self._points), len(solutions)))
        B[duals.points, duals.number] = solutions.coef
        pairs = zip(self._factors, self._matrices, strict=True)
        with threaded_blas(2 * len(self._matrices) * len(B) ** 2 * B.shape[1]):
            products = np.stack([factor * as_float64(matrix @ B) for factor, matrix in pairs])
        squares = np.sum(products * B, axis=(1, 2))
        linear = float(duals.target @ solutions.coef)
        duals = replace(duals, coef=solutions.coef)
        primal = float(solutions.primal.sum())
        self.lower = max(self.lower, linear - float(squares.max()) / 2)
        return Point(shares, primal, -squares / 2, duals, solutions, products, rows)

    def _rows(self, shares):
        """Return the kernel rows of the weighted sum."""
        weights = shares * self._factors
        kernel = weighted_sum(self._kernels, weights)
        if not self._stored:
            return PlainRows(kernel, self._points)
        K = np.zeros(self._matrices[0].shape)
        used = np.flatnonzero(weights)

        def add(rows):
            part = K[rows]
            terms = np.empty_like(part)
            for k in used:
                part += np.multiply(self._matrices[k][rows], weights[k], out=terms)

        # few enough to stay in cache
        run_on_rows(add, len(K), max(1, TILE // K[0].nbytes))
        # these values are the problem, they need not be computed again: their error is 0
        return KnownRows(kernel, widened(self._points), K)

    def hessian(self, point: Point) -> Array:
        """Return the second derivatives of the objective in the shares (p, p), with the same free variables."""
        H = np.zeros((len(point.shares),) * 2)
        for m, (each, found) in enumerate(zip(self.binary, point.solutions, strict=True)):
            size = np.abs(found.coef)
            free = each.points[(size > 0) & (size < self.C)]
            if len(free) < 2:
                continue
            V = point.products[:, free, m].T
            K = beside_first(point.rows.square(free))
            # a small share of the mean diagonal: free points may be equal
            K = K + 1e-10 * max(float(np.mean(K.diagonal())), TINY) * np.eye(len(K))
            with threaded_blas(len(K) ** 3 / 3):
                solved = scipy.linalg.cho_solve(
                    scipy.linalg.cho_factor(K), np.column_stack([V, np.ones(len(free))])
                )
            u = solved[:, -1]
            H += V.T @ (solved[:, :-1] - np.outer(u, u @ V) / u.sum())
        return (H + H.T) / 2


def margin_weights(objective: Objective, p: int, tol: float, max_iter: int) -> Point:
    r"""Return the point whose shares of p kernels minimise the objective J.

    .. math:: \min_{d \ge 0,\, \sum_k d_k = 1} J(d), \quad
        J(d) = \max_b \sum_m \left(t'b_m - \tfrac12 \sum_k d_k b_m'K_k b_m\right)

    J is convex. Steps minimise its second-order model on the simplex (Chapelle, Rakotomamonjy, *Second order
    optimization of kernel parameters*, 2008), and end at a gap of ``tol`` times the objective.
    """
    point = objective(np.full(p, 1 / p), objective.start)
    for _ in range(max_iter):
        # a step that was refused may have given the lower bound
        if point.primal - objective.lower <= tol * point.primal:
            break
        following = _step(objective, point)
        if following is None:
            break
        point = following
    return point


def _step(objective, point):
    """Return the point of a shortened Newton step with a lower objective, or None."""
    target = _model_minimum(
        objective.hessian(point) / point.primal, point.slope / point.primal, point.shares
    )
    change = target - point.shares
    gain = float(point.slope @ change)
    length = 1.0
    # a step is shortened until it gains a share of what the slope promises, or is too short
    while length >= 1e-3:
        shares = point.shares + length * change
        # smaller ones count as 0
        shares = np.where(shares < 1e-6, 0, shares)
        found = objective(shares / shares.sum(), point.duals)
        if found.primal <= point.primal + 1e-2 * length * gain and found.primal < point.primal:
            return found
        length /= 3
    return None


def _model_minimum(H, slope, shares):
    """Return the shares on the simplex that minimise slope's + s'Hs / 2, s the change of shares."""
    ridge = 1e-8 * (np.trace(H) / len(H) + np.abs(slope).max())
    values, vectors = scipy.linalg.eigh(H)
    roots = np.sqrt(np.maximum(values, 0) + ridge)
    A = roots[:, None] * vectors.T
    b = A @ shares - vectors.T @ slope / roots
    # the weight of the constraint that shares sum to 1
    heavy = 1e3 * np.abs(A).max()
    found, _ = nnls(np.vstack([A, np.full(len(H), heavy)]), np.append(b, heavy))
    return found / found.sum()
