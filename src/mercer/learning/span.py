"""Span rule of a support vector machine with squared loss, smoothed, and its gradient in the points."""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from mercer._common import Array, as_float64
from mercer._compute.threads import threaded_blas
from mercer.kernels.base import Kernel
from mercer.learning.centred import beside_first
from mercer.linalg import lapack
from mercer.solvers.svm import Options, solve_dual
from mercer.solvers.svm.multiclass import subproblems

# Slope of the smoothed step.
_SLOPE = 5.0


def span_and_gradient(kernel: Kernel, X: Array, counts: Array, C: float) -> tuple[float, Array]:
    r"""Return the smoothed span rule of all pairs of classes, and its gradient in the log scales of the columns (d,).

    X is sorted by class. Without x_p the classifier of a squared loss has the margin

    .. math:: m_p = 1 - y_p b_p / B_{pp}, \qquad B = \tilde K^{-1} - \frac{uu'}{1'u},\ u = \tilde K^{-1} 1,\ b = B y

    over the support vectors, with K~ = K + I / C, if the others stay support vectors: the span S_p^2 is 1 / B_pp.
    The rule is the mean of expit(-5 m_p) - expit(-5) over all points of a pair, 0 where x_p is not a support vector.
    Chapelle, Vapnik, Bousquet, Mukherjee, *Choosing multiple parameters for support vector machines* (2002), eq. (11),
    section 5.
    """
    value = 0.0
    gradient = np.zeros(X.shape[1])
    duals = subproblems(counts, "ovo").duals(np.full(len(X), np.inf))
    for dual in duals:
        own = X[dual.points]
        n = len(own)
        loss, W, support = _pair(
            kernel, own, replace(dual, points=np.arange(n), ridge=np.full(n, 1 / C))
        )
        V = own[support]
        gradient += 2 * np.sum(as_float64(kernel.vjp(V, V, W)) * V, axis=0)
        value += loss
    return value / len(duals), gradient / len(duals)


def _pair(kernel, points, dual):
    """Return the smoothed span rule of a pair, its gradient in the kernel values of the support vectors, and those."""
    options = Options(1e-5)
    n = len(points)
    found = solve_dual(options.rows(kernel, points, dual), dual, options)
    support = np.flatnonzero(found.coef)
    K = beside_first(as_float64(kernel(points[support]))) + np.diag(dual.ridge[support])
    inverse = K.T
    lapack.factorise(inverse)
    lapack.invert_factored(inverse)
    u = inverse.sum(axis=1)
    B = inverse - np.outer(u, u) / u.sum()
    y = dual.target[support]
    b = B @ y
    own = B.diagonal()
    step = expit(-_SLOPE * (1 - y * b / own))
    h = _SLOPE * step * (1 - step) * y / n
    # dB = -B dK B
    with threaded_blas(2 * len(support) ** 3):
        W = -np.outer(B @ (h / own), b) + (B * (h * b / own**2)) @ B
    return float(np.sum(step - expit(-_SLOPE))) / n, (W + W.T) / 2, support
