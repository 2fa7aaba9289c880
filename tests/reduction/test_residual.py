"""Objectives of construction: values against a naive oracle, gradients against differences in extended precision."""

import numpy as np
import pytest
from tests.reference import naive
from tests.reference.tall import Tall

import mercer as mc
from mercer.reduction.construct import Residual, ResidualMean, smooth

RNG = np.random.default_rng(0)
X, Z, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3))
C, A = RNG.normal(size=(12, 2)), RNG.normal(size=(3, 2))
KERNELS = [
    mc.Gaussian(0.4),
    mc.Cauchy(0.6),
    mc.Matern(1.3, 2.5),
    mc.Polynomial(3, 0.5, 1.0),
    mc.Sigmoid(0.1, 0.5),
]


def _residual(kernel, objective=Residual):
    psi, chi = mc.Expansion(kernel, X, C), mc.Expansion(kernel, Z, A)
    return objective(psi, chi, float((psi.norms() ** 2).sum()))


def _value(kernel, z):
    """The objective, one pair after the other, in long doubles."""
    rho = naive.gram(kernel, z, X) @ C - naive.gram(kernel, z, Z) @ A
    own = np.array([naive.value(kernel, row, row) for row in z.astype(np.longdouble)])
    return -(rho**2).sum(axis=1) / own


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_and_gradients_are_those_of_the_formula(kernel):
    values, gradient, valid = _residual(kernel)(NEW, np.arange(4))
    np.testing.assert_allclose(values, _value(kernel, NEW).astype(float), rtol=1e-11)
    assert valid.all()
    wide, step = NEW.astype(np.longdouble), np.longdouble(1e-6)
    for k in range(3):
        apart = step * np.eye(3, dtype=np.longdouble)[k]
        slope = (_value(kernel, wide + apart) - _value(kernel, wide - apart)) / (2 * step)
        np.testing.assert_allclose(gradient[:, k], slope.astype(float), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", [*KERNELS[:3], Tall(0.4)], ids=repr)
def test_steps_to_the_weighted_mean_point_down_the_gradient(kernel):
    values, gradient, _ = _residual(kernel)(NEW, np.arange(4))
    lowered, steps, valid = _residual(kernel, ResidualMean)(NEW, np.arange(4))
    np.testing.assert_allclose(lowered, values, rtol=1e-12)
    cosines = (
        (steps * gradient).sum(axis=1)
        / np.linalg.norm(steps, axis=1)
        / np.linalg.norm(gradient, axis=1)
    )
    np.testing.assert_allclose(cosines[valid], -1, atol=1e-12)


def test_the_weighted_mean_of_a_gaussian_is_the_published_one():
    kernel = KERNELS[0]
    _, steps, valid = _residual(kernel, ResidualMean)(NEW, np.arange(4))
    points, coef = np.concatenate([X, Z]), np.concatenate([C, -A])
    K = kernel(NEW, points)
    weights = (K @ coef) @ coef.T * K
    np.testing.assert_allclose(
        NEW + steps, weights @ points / weights.sum(axis=1)[:, None], rtol=1e-9
    )
    assert valid.all()


def test_where_the_residual_is_0_no_point_is_valid():
    psi = mc.Expansion(KERNELS[0], X, C)
    total = float((psi.norms() ** 2).sum())
    for objective in (Residual, ResidualMean):
        assert not objective(psi, psi, total)(NEW, np.arange(4))[2].any()


def test_kernels_with_a_kink_are_not_smooth():
    assert smooth(mc.Gaussian(1.0))
    assert smooth(mc.Matern(1.0, 1.5))
    assert not smooth(mc.Matern(1.0, 0.5))


def test_the_inner_products_are_those_of_the_difference():
    objective = _residual(KERNELS[0])
    expected = mc.Expansion(KERNELS[0], X, C)(NEW) - mc.Expansion(KERNELS[0], Z, A)(NEW)
    np.testing.assert_allclose(objective.inner(NEW), expected, rtol=1e-12)
    alone = Residual(mc.features(KERNELS[0], X), None, 1.0)
    np.testing.assert_allclose(alone.inner(NEW), KERNELS[0](NEW, X), rtol=1e-12)
    np.testing.assert_array_equal(alone.size(NEW), 1)
    np.testing.assert_allclose(alone.width, np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))


@pytest.mark.parametrize("objective", [Residual, ResidualMean])
def test_a_value_is_valid_above_1e_14_of_the_squares_of_all_vectors(objective):
    kernel = mc.Gaussian(1.0)
    psi = mc.features(kernel, np.zeros((1, 1)))
    z = np.array([[3.9], [4.1]])
    value = np.exp(-2 * z[:, 0] ** 2)
    assert value[0] > 1e-14 > value[1]
    np.testing.assert_array_equal(objective(psi, None, 1.0)(z, None)[2], [True, False])
    np.testing.assert_array_equal(objective(psi, None, 0.1)(z, None)[2], [True, True])


def test_points_where_phi_is_0_are_not_valid():
    values, gradient, valid = Residual(mc.features(mc.Linear(), X), None, 1.0)(
        np.zeros((1, 3)), None
    )
    assert (values.tolist(), valid.tolist()) == ([0.0], [False])
    np.testing.assert_array_equal(gradient, 0)
