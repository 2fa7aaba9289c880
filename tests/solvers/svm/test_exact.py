import numpy as np

import mercer as mc
from mercer.solvers.svm.exact import exact_columns, near_first


def test_variables_within_reach_of_the_bias_come_first_then_others_that_are_not_0():
    gradient = np.array([0.5, 0.9, 2.0, -3.0, 0.0])
    coef, lower, upper = np.array([0.5, 0.0, 1.0, 0.0, 0.0]), np.zeros(5), np.ones(5)
    order = np.empty(5, int)
    near, count = near_first(gradient, coef, lower, upper, 0.0, 1.0, 0.2, order)
    # free: 0; may rise above 0.8: 1; at its upper bound and far above the bias: 2
    assert (near, count) == (2, 3)
    assert order[:3].tolist() == [0, 1, 2]


def test_columns_are_centred_in_float64_whatever_the_type_of_the_points():
    X = (np.random.default_rng(0).normal(size=(6, 3)) + 1e3).astype(np.float32)
    centre = X.mean(axis=0, dtype=np.float64)
    columns, squares = exact_columns(X, np.array([5, 1, 0]), np.array([2, 0]), centre, -2.0)
    exact = X[[0, 5]].astype(np.float64) - centre
    np.testing.assert_allclose(columns, -2 * exact.T, rtol=1e-14)
    np.testing.assert_allclose(squares, (exact**2).sum(axis=1), rtol=1e-14)


def test_small_classifiers_are_exact_from_raw_points_though_rows_are_float32(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(400, 2)) + 50
    y = X[:, 0] + 0.05 * rng.normal(size=400) > 50
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.5)).fit(X, y)
    assert mc.certify(model, X, y).kkt < 1e-9
