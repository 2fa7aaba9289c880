"""Intercepts on rows: no other has a smaller loss, in each family."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import mercer as mc
from mercer.compression.task import fitted_intercepts, hinge_intercept


@pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0, 4.0])
def test_no_other_constant_has_a_smaller_squared_hinge_loss(overlap, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    signs = np.where(rng.random(200) < 0.2, 1.0, -1.0)
    signs[rng.random(200) < 0.2] = 0
    values = rng.normal(size=200) * overlap + 2 * (signs > 0)

    def loss(constant):
        return np.sum(np.maximum(0, 1 - signs * (values + constant))[signs != 0] ** 2)

    best = minimize_scalar(loss, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}).fun
    assert loss(hinge_intercept(values, signs)) == pytest.approx(best, rel=1e-12, abs=1e-25)


def test_separated_classes_get_the_middle_and_one_class_the_nearest_constant():
    signs = np.array([-1.0, -1.0, 1.0, 0.0])
    assert hinge_intercept(np.array([-7.0, -3.0, 5.0, 99.0]), signs) == -1.0
    assert hinge_intercept(np.array([0.25, 3.0]), np.ones(2)) == 0.75
    assert hinge_intercept(np.array([2.0, 3.0]), np.ones(2)) == 0.0
    assert hinge_intercept(np.ones(3), np.zeros(3)) == 0.0


def test_each_binary_classifier_has_its_own_rows(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    values, signs = rng.normal(size=(60, 3)), rng.integers(-1, 2, size=(60, 3)).astype(float)
    found = fitted_intercepts(mc.SVC(), values, None, None, signs)
    for j in range(3):
        rows = signs[:, j] != 0
        assert found[j] == hinge_intercept(values[rows, j], signs[rows, j])


def test_a_regressor_has_no_mean_residual_and_other_models_no_mean_difference(global_random_seed):
    values, outputs, y = np.random.default_rng(global_random_seed).normal(size=(3, 50, 2))
    for model, truth in [(mc.KernelRidge(), y), (mc.KernelPCA(2), outputs)]:
        b = fitted_intercepts(model, values, outputs, y)
        np.testing.assert_allclose((truth - values - b).mean(axis=0), 0, atol=1e-14)
    b = fitted_intercepts(mc.KernelRidge(), values, outputs)
    np.testing.assert_allclose((outputs - values - b).mean(axis=0), 0, atol=1e-14)


@pytest.mark.parametrize("outside", [0, 1, 7, 39, 40])
def test_an_outlier_detector_rejects_as_many_rows_as_the_model(outside, global_random_seed):
    values = np.random.default_rng(global_random_seed).normal(size=(40, 1))
    outputs = np.where(np.arange(40) < outside, -1.0, 1.0)[:, None]
    b = fitted_intercepts(mc.OneClassSVM(), values, outputs)
    assert np.sum(values[:, 0] + b < 0) == outside
    assert np.sum(values[:, 0].astype(np.float32) + b.astype(np.float32) < 0) == outside


@pytest.mark.parametrize("quantile", [0.1, [0.1, 0.8]])
@pytest.mark.parametrize("method", ["greedy", None])
def test_compressed_quantiles_have_as_many_targets_below(quantile, method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + (1 + X[:, 1] ** 2) * rng.exponential(size=300)
    model = mc.QuantileSVR(quantile, kernel=mc.Gaussian(0.3)).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=20, method=method, random_state=0)
    below = y[:, None] < small.predict(X).reshape(300, -1)
    np.testing.assert_allclose(below.mean(axis=0), quantile, atol=0.05)
    assert small.report_.score == "D^2"
    np.testing.assert_allclose(
        [small.report_.measured.score_before, small.report_.measured.score_after],
        [model.score(X, y), small.score(X, y)],
        rtol=1e-9,
    )
