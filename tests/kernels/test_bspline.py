"""B-spline kernels: sums of powers, convolutions, gradients and supports; Bhattacharyya's inner product."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.reference.derivatives import assert_gradients

import mercer as mc
from mercer import kernels as ks


@np.vectorize
def spline(order, t):
    """The sum of truncated powers, in exact fractions."""
    order = int(order)
    degree = 2 * order + 1
    t = abs(Fraction(float(t)))
    parts = [
        (-1) ** j * math.comb(degree + 1, j) * max(order + 1 - t - j, 0) ** degree
        for j in range(order + 1)
    ]
    return float(sum(parts) / math.factorial(degree))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_values_are_products_of_sums_of_truncated_powers(order, dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.normal(size=(30, 3)).astype(dtype), rng.normal(size=(20, 3)).astype(dtype)
    differences = X[:, None].astype(np.float64) - Z[None]
    expected = np.prod(spline(order, differences), axis=2)
    found = ks.BSpline(order)(X, Z)
    assert found.dtype == dtype
    tolerance = 2.0**order * np.finfo(dtype).eps * 20
    assert abs(found - expected).max() <= tolerance * expected.max()
    assert (np.diagonal(ks.BSpline(order)(X)) == ks.BSpline(order).diag(X)).all()
    assert (found[(abs(differences) >= order + 1).any(axis=2)] == 0).all()


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_spline_is_the_convolution_of_indicators(order):
    # the indicator of [-1/2, 1/2], convolved 2 order + 1 times with itself on a grid
    step = 1 / 500
    box = np.ones(500)
    found = box
    for _ in range(2 * order + 1):
        found = np.convolve(found, box) * step
    t = (np.arange(len(found)) - (len(found) - 1) / 2) * step
    values = ks.BSpline(order)(t[:, None], np.zeros((1, 1)))[:, 0]
    assert abs(values - found).max() < 3 * step


@pytest.mark.parametrize("order", [1, 2, 3])
def test_gradients_are_those_of_differences(order, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)) + 0.31
    kernel = ks.BSpline(order)
    W = rng.normal(size=(6, 5))
    step = 1e-6
    slopes = np.stack(
        [
            (W * (kernel(X + step * e, Z) - kernel(X - step * e, Z))).sum(axis=1) / (2 * step)
            for e in np.eye(3)
        ],
        axis=1,
    )
    np.testing.assert_allclose(kernel.vjp(X, Z, W), slopes, atol=1e-8)


def test_machines_with_splines_are_those_of_their_matrix(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(60, 2))
    t = np.sin(X[:, 0])
    kernel = mc.Mapped(ks.BSpline(1), np.array([0.5, 0.5]))
    model = mc.KernelRidge(0.1, kernel=kernel).fit(X, t)
    expected = np.linalg.solve(kernel(X) + 0.1 * np.eye(60), t)
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-9)


@pytest.mark.parametrize("bad", [-1, 1.5])
def test_an_order_must_be_a_whole_number(bad):
    with pytest.raises((ValueError, TypeError), match="order"):
        ks.BSpline(bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bhattacharyya_is_the_inner_product_of_square_roots(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.dirichlet(np.ones(6), 20), rng.dirichlet(np.ones(6), 10)
    X[0] = [0, 0, 0, 0.2, 0.3, 0.5]
    kernel = ks.Bhattacharyya()
    found = kernel(X.astype(dtype), Z.astype(dtype))
    np.testing.assert_allclose(found, np.sqrt(X) @ np.sqrt(Z).T, rtol=30 * np.finfo(dtype).eps)
    np.testing.assert_allclose(kernel.diag(X), np.ones(20), rtol=1e-14)
    assert np.isfinite(kernel.vjp(X, Z, np.ones((20, 10)))).all()
    assert_gradients(kernel, 1 + X, 1 + Z, global_random_seed)
    with pytest.raises(ValueError, match="must be at least 0"):
        kernel(-X)


@pytest.mark.parametrize(
    ("dtype", "order"), [(np.float32, 10), (np.float64, 20), (np.float64, 100)]
)
def test_splines_of_high_orders_lose_no_digits(dtype, order, global_random_seed):
    t = np.random.default_rng(global_random_seed).uniform(-3, 3, 20).astype(dtype)
    degree = 2 * order + 1
    expected = spline(order, t)
    found = ks.BSpline(order)(t[:, None], np.zeros((1, 1), dtype))[:, 0]
    np.testing.assert_allclose(found, expected, rtol=4 * degree * np.finfo(dtype).eps)


def test_an_order_that_takes_too_long_is_refused():
    with pytest.raises(ValueError, match=r"order = 1000000000000 must be at most 100"):
        ks.BSpline(10**12)


def test_pairs_at_the_kinks_of_a_hat_have_no_gradient():
    X = np.array([[0.0], [1.0], [0.5]])
    found = ks.BSpline(0).vjp(X, np.zeros((1, 1)), np.ones((3, 1)))
    np.testing.assert_array_equal(found[:, 0], [0.0, 0.0, -1.0])
