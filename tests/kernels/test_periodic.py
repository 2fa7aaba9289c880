"""Periodic: scikit-learn's values in one dimension, a product over columns, gradients, definite in any dimension."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ExpSineSquared
from tests.reference.derivatives import assert_gradients

import mercer as mc

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(12, 3)) * 5, RNG.normal(size=(7, 3)) * 5
PERIODS = np.array([4.0, 7.0, 11.0])


@pytest.mark.parametrize(("period", "length"), [(2.0, 1.0), (0.3, 2.5), (24.0, 0.2)])
def test_values_of_one_column_are_those_of_scikit_learn(period, length):
    expected = ExpSineSquared(length_scale=length, periodicity=period)(X[:, :1], Z[:, :1])
    np.testing.assert_allclose(
        mc.Periodic(period, length)(X[:, :1], Z[:, :1]), expected, atol=1e-12
    )


def test_several_columns_multiply():
    whole = mc.Periodic(PERIODS, 0.8)(X, Z)
    parts = [mc.Periodic(PERIODS[c], 0.8)(X[:, [c]], Z[:, [c]]) for c in range(3)]
    np.testing.assert_allclose(whole, np.prod(parts, axis=0), atol=1e-12)
    np.testing.assert_array_equal(mc.Periodic(2.0)(X, Z), mc.Periodic(np.full(3, 2.0))(X, Z))


def test_a_shift_by_whole_periods_changes_nothing():
    kernel = mc.Periodic(PERIODS)
    np.testing.assert_allclose(kernel(X + 1000 * PERIODS, Z), kernel(X, Z), atol=1e-9)
    np.testing.assert_array_equal(kernel.diag(X), 1)


@pytest.mark.parametrize("period", [5.0, PERIODS])
def test_gradients_are_those_of_differences(period, global_random_seed):
    assert_gradients(mc.Periodic(period, 0.9), X, Z, global_random_seed)


def test_it_is_definite_where_the_function_of_the_distance_is_not():
    points = np.random.default_rng(3).uniform(0, 1, (150, 2))
    K = mc.Periodic(1.0, 0.5)(points)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    distances = np.sqrt(np.sum((points[:, None] - points) ** 2, axis=2))
    assert np.linalg.eigvalsh(np.exp(-8 * np.sin(np.pi * distances) ** 2)).min() < -0.1
    assert mc.check_kernel(mc.Periodic(1.0)).positive_semidefinite


def test_float32_stays_float32_and_keeps_its_digits():
    kernel = mc.Periodic(2.0)
    single = kernel(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(
        single,
        kernel(X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float)),
        atol=3e-6,
    )


@pytest.mark.parametrize("period", [0.1, np.pi, 1e39, 1e-30])
def test_float32_has_the_phases_of_its_numbers_with_the_period_as_given(period):
    single = np.array([[0.0], [777777.0], [-1.0], [1e30], [0.05]], np.float32)
    expected = mc.Periodic(period)(single.astype(np.float64))
    np.testing.assert_allclose(mc.Periodic(period)(single), expected, atol=1e-6)


def test_a_season_is_continued_beyond_the_data(tmp_path):
    t = np.arange(120.0)[:, None]
    y = np.sin(2 * np.pi * t[:, 0] / 12) + 0.3 * np.cos(4 * np.pi * t[:, 0] / 12)
    model = mc.KernelRidge(1e-3, kernel=mc.Periodic(12.0)).fit(t[:60], y[:60])
    np.testing.assert_allclose(model.predict(t[60:]), y[60:], atol=1e-3)
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict(t), model.predict(t))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mc.Periodic(0.0), "period = 0.0 must be above 0"),
        (lambda: mc.Periodic([1.0, -2.0]), r"period\[1\] = -2.0 must be above 0"),
        (lambda: mc.Periodic([]), r"period = \[\] must hold one number"),
        (lambda: mc.Periodic(1.0, 1e-200), "length = 1e-200 must be between"),
        (lambda: mc.Periodic([1.0, 2.0])(X), "must have 3 numbers, one for each feature of X"),
    ],
)
def test_errors_name_the_parameter(make, message):
    with pytest.raises(ValueError, match=message):
        make()
