"""Duals of all machines over points whose classes and targets are given, and ways to solve and to check them."""

import numpy as np
from tests.solvers.svm import oracle

import mercer as mc
from mercer.solvers.svm import Dual, Options, rows_of, solve_dual
from mercer.solvers.svm.dual import SharedCallback


def classifier(sign, C=1.0, points=None, **options):
    """Return the dual of a classifier; C may be one number a point."""
    sign = np.asarray(sign, float)
    bound = np.where(sign > 0, C, -np.asarray(C, float))
    points = np.arange(len(sign)) if points is None else points
    return Dual(
        sign, np.minimum(bound, 0), np.maximum(bound, 0), np.zeros(len(sign)), points, **options
    )


def regression(target, C=1.0, epsilon=0.1, **options):
    """Return the dual of a regression."""
    target = np.asarray(target, float)
    bound = np.broadcast_to(np.asarray(C, float), target.shape).copy()
    return Dual(
        target, -bound, bound, np.zeros(len(target)), np.arange(len(target)), epsilon, **options
    )


def sum_of_one(target, upper, **options):
    """Return the dual of a one-class model or a ball: coefficients of sum 1."""
    upper = np.broadcast_to(np.asarray(upper, float), target.shape).copy()
    start = np.clip(1.0 - (np.cumsum(upper) - upper), 0, upper)
    lower, points = np.zeros(len(upper)), np.arange(len(upper))
    return Dual(np.asarray(target, float), lower, upper, start, points, **options)


def noisy_classes(seed, n, d=3, noise=0.3):
    """Return points and the signs of two classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(np.sin(2 * X[:, 0]) + noise * rng.standard_normal(n) > 0.1, 1.0, -1.0)


def noisy_curve(seed, n, d=2, noise=0.3):
    """Return points and the values of a curve with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + noise * rng.standard_normal(n)


def options_of(tol, max_iter=-1, memory="1GB", callback=None):
    """Return the options of the solver for "1GB" or a number of bytes, and for a callback of one thread."""
    callback = None if callback is None else SharedCallback(callback)
    return Options(tol, max_iter, 10**9 if memory == "1GB" else memory, callback)


def solved(kernel, points, dual, tol=1e-8, accuracy=0.0, **options):
    """Return the solution of a dual; ``accuracy`` 0 asks for kernel values in float64, infinity for float32."""
    rows = rows_of(kernel, points, accuracy, dual.ridge)
    return solve_dual(rows, dual, options_of(tol, **options))


def undivided(dual, found):
    """Return the margin of a nu-classifier, 1 for other machines, and the coefficients times it, within the bounds."""
    unit = 1.0 if dual.total is None or np.isnan(found.margin) else found.margin
    coef = unit * found.coef
    np.testing.assert_allclose(np.clip(coef, dual.lower, dual.upper), coef, rtol=1e-14)
    for bound in (dual.lower, dual.upper):
        near = np.isfinite(bound) & (np.abs(coef - bound) <= 1e-14 * np.abs(coef))
        coef = np.where(near, bound, coef)
    return unit, coef


def assert_feasible(dual, coef):
    """Check bounds and sum to rounding."""
    assert (coef >= dual.lower).all()
    assert (coef <= dual.upper).all()
    size = max(np.abs(coef).sum(), abs(dual.coef.sum()), np.finfo(float).tiny)
    assert abs(coef.sum() - dual.coef.sum()) <= 1e-12 * size


def assert_optimal(dual, found, K, tol, rounding=0.0):
    """Check a solution by the conditions of optimality in extended precision, and its numbers by their definitions."""
    assert_feasible(dual, found.coef)
    gradient = dual.target - oracle.matrix_of(dual, K) @ found.coef.astype(oracle.LONG)
    scale = max(1.0, float(np.abs(gradient).max()))
    np.testing.assert_allclose(
        found.gradient, gradient.astype(float), rtol=0, atol=rounding + 1e-12 * scale
    )
    low, high = oracle.interval(dual, found.coef, gradient)
    assert low - high <= tol
    assert min(low, high) - tol <= found.bias <= max(low, high) + tol
    assert found.violation <= tol
    primal = oracle.loss_of(dual, found.coef, K, found.bias)
    assert (
        abs(found.certificate.primal - primal)
        <= 1e-9 * max(1, abs(primal)) + rounding * np.abs(found.coef).sum()
    )


GAUSSIAN = mc.Gaussian(0.5)
