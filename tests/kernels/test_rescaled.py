"""Rescaled kernels: factors of every shape and type, an identity, gradients against differences, refusals."""

import array_api_strict
import numpy as np
import pytest
from tests.reference.arrays import as_numpy
from tests.reference.derivatives import assert_gradients

import mercer as mc

X = np.random.default_rng(0).standard_normal((8, 3))
G = mc.Gaussian(0.5)


def test_a_factor_of_one_over_the_norm_normalises():
    kernel = mc.Polynomial(2)
    conformal = mc.Rescaled(kernel, lambda Y: kernel.diag(Y) ** -0.5)
    np.testing.assert_allclose(conformal(X), mc.Normalized(kernel)(X), rtol=1e-13)
    np.testing.assert_allclose(conformal.diag(X), 1, rtol=1e-13)


def test_a_gradient_needs_a_factor_with_a_gradient():
    assert not mc.Rescaled(G, lambda Y: Y[:, 0]).tags.differentiable
    assert mc.Rescaled(G, mc.Expansion(G, X, np.ones(8))).tags.differentiable


def test_a_conformal_factor_may_be_a_column_and_keeps_single_precision():
    flat = mc.Rescaled(G, lambda Y: Y[:, 0] + 5)
    column = mc.Rescaled(G, lambda Y: Y[:, :1].astype(np.float64) + 5)
    np.testing.assert_array_equal(flat(X), column(X))
    assert column(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "make", [lambda c: c.astype(int), lambda c: c.astype(object), lambda c: c.tolist()]
)
def test_a_conformal_factor_may_be_whole_numbers_and_a_list(make):
    c = np.arange(1.0, 9.0)
    np.testing.assert_allclose(
        mc.Rescaled(G, lambda _: make(c))(X), np.outer(c, c) * G(X), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("c", "message"),
    [
        (lambda Y: Y, r"c must return one value per point, \(8,\), got shape \(8, 3\)"),
        (lambda Y: Y[:, 0] * np.nan, r"c\(X\)\[0\] = nan must be finite"),
        (lambda Y: Y[:, 0] + 1j, r"c\(X\) must hold real numbers, got dtype complex128"),
        (lambda Y: np.full(len(Y), "ab"), r"c\(X\)\[0\] of type str must be a number"),
    ],
    ids=["shape", "NaN", "complex", "text"],
)
def test_a_bad_conformal_factor_is_refused(c, message):
    with pytest.raises(ValueError, match=message):
        mc.Rescaled(G, c)(X)


def test_other_factors_than_functions_are_refused():
    with pytest.raises(TypeError, match="c must be a function of points, got 2.0"):
        mc.Rescaled(G, 2.0)
    # the matrix of one point has the shape of a factor
    with pytest.raises(TypeError, match=r"c must be a function of points, got the kernel Gaussian"):
        mc.Rescaled(G, G)
    with pytest.raises(TypeError, match="kernel of Rescaled must be a Kernel, got 'rbf'"):
        mc.Rescaled("rbf", np.sum)


class Factor:
    """c(x) = 1 / (1 + |x|^2) with its gradient."""

    def __call__(self, Y):
        return 1 / (1 + (Y**2).sum(axis=1))

    def gradient(self, Y):
        return -2 * Y / (1 + (Y**2).sum(axis=1, keepdims=True)) ** 2


@pytest.mark.parametrize(
    "kernel", [mc.Polynomial(2), mc.Matern(1.5, nu=2.5), mc.Normalized(mc.Polynomial(2))], ids=repr
)
@pytest.mark.parametrize(
    "c", [Factor(), mc.Expansion(G, X[:4], np.arange(1.0, 5.0))], ids=["function", "expansion"]
)
def test_gradients_are_those_of_differences(kernel, c, global_random_seed):
    assert_gradients(mc.Rescaled(kernel, c), X, X[:5, ::-1] + 0.1, global_random_seed)


def test_values_are_the_kernel_times_both_factors():
    c = Factor()
    np.testing.assert_allclose(
        mc.Rescaled(G, c)(X, X[:3] + 1), c(X)[:, None] * G(X, X[:3] + 1) * c(X[:3] + 1), rtol=1e-14
    )
    np.testing.assert_allclose(
        mc.Rescaled(mc.Linear(), c).diag(X), c(X) ** 2 * (X**2).sum(axis=1), rtol=1e-14
    )


def test_sparse_rows_are_refused():
    assert not mc.Rescaled(mc.Linear(), Factor()).tags.sparse


def test_a_factor_over_numpy_rows_is_evaluated_where_the_points_are():
    device = array_api_strict.Device("device1")
    X = np.random.default_rng(0).random((12, 2))
    kernel = mc.Rescaled(mc.Gaussian(0.5), mc.Expansion(mc.Gaussian(1.0), X[:3], np.ones((3, 1))))
    points, labels = (
        array_api_strict.asarray(each, device=device) for each in (X, np.arange(12) % 2)
    )
    np.testing.assert_allclose(as_numpy(kernel(points)), kernel(X), rtol=1e-13)
    gradient = kernel.vjp(points, points, np.ones((12, 12)))
    np.testing.assert_allclose(
        as_numpy(gradient), kernel.vjp(X, X, np.ones((12, 12))), rtol=1e-11, atol=1e-13
    )
    found = mc.SVC(kernel=kernel).fit(points, labels).decision_function(points)
    expected = mc.SVC(kernel=kernel).fit(X, np.arange(12) % 2).decision_function(X)
    np.testing.assert_allclose(as_numpy(found), expected, rtol=1e-10, atol=1e-10)
