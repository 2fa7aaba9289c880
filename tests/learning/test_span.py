"""The smooth span rule is that of leave-one-out fits, and its gradient is that of differences."""

import numpy as np
import pytest
from scipy.special import expit

import mercer as mc
from mercer.learning.span import span_and_gradient
from mercer.solvers.svm import Dual, Options, rows_of, solve_dual


def problem(seed, n=30, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [0.0, 0.6][: classes - 1])
    order = np.argsort(y, kind="stable")
    return X[order], y[order], np.bincount(y)


def left_out_margin(kernel, X, sign, C, p):
    """Return y f(x) of a point after a fit of the squared loss without it."""
    rest = np.delete(np.arange(len(X)), p)
    t = sign[rest]
    bounds = np.where(t < 0, -np.inf, 0), np.where(t > 0, np.inf, 0)
    dual = Dual(t, *bounds, np.zeros(len(t)), np.arange(len(t)), ridge=np.full(len(t), 1 / C))
    found = solve_dual(rows_of(kernel, X[rest], 0.0, dual.ridge), dual, Options(1e-10))
    return sign[p] * (kernel(X[[p]], X[rest])[0] @ found.coef + found.bias)


def test_the_rule_is_that_of_leave_one_out_fits_while_support_vectors_stay(global_random_seed):
    # a small C makes all points support vectors
    X, y, counts = problem(global_random_seed)
    sign, kernel, C = np.where(y == 1, 1.0, -1.0), mc.Gaussian(0.3), 0.05
    margins = np.array([left_out_margin(kernel, X, sign, C, p) for p in range(len(X))])
    value, _ = span_and_gradient(kernel, X, counts, C)
    assert value == pytest.approx(np.mean(expit(-5 * margins) - expit(-5)), rel=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.3), mc.Matern(2.0, nu=0.5), mc.Polynomial(2)])
def test_the_gradient_is_that_of_differences(kernel, classes, global_random_seed):
    X, _, counts = problem(global_random_seed, classes=classes)
    C, h = 0.1, 1e-5
    _, gradient = span_and_gradient(kernel, X, counts, C)
    for c in range(3):
        up, down = np.ones(3), np.ones(3)
        up[c], down[c] = np.exp(h), np.exp(-h)
        values = [span_and_gradient(kernel, X * scales, counts, C)[0] for scales in (up, down)]
        assert gradient[c] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-4, abs=1e-6)


def test_the_rule_of_several_classes_is_the_mean_of_that_of_all_pairs(global_random_seed):
    X, y, counts = problem(global_random_seed, classes=3)
    pairs = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        own = (y == i) | (y == j)
        pairs.append(span_and_gradient(mc.Gaussian(0.3), X[own], counts[[i, j]], 0.1))
    value, gradient = span_and_gradient(mc.Gaussian(0.3), X, counts, 0.1)
    assert value == pytest.approx(np.mean([each[0] for each in pairs]), rel=1e-6)
    np.testing.assert_allclose(
        gradient, np.mean([each[1] for each in pairs], axis=0), rtol=1e-5, atol=1e-8
    )
