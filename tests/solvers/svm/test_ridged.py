"""Kernels with a ridge on the diagonal."""

import numpy as np
from mercer.solvers.svm.ridged import Ridged

import mercer as mc


def test_a_ridge_is_added_where_a_point_meets_itself_and_not_its_copy(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, ridge = rng.standard_normal((6, 2)), rng.random(6)
    X[3] = X[0]
    ridged = Ridged(mc.Gaussian(0.5), X, ridge)
    expected = mc.Gaussian(0.5)(X) + np.diag(ridge)
    np.testing.assert_allclose(ridged(np.arange(6)), expected, atol=1e-15)
    np.testing.assert_allclose(
        ridged(np.array([4, 0]), np.array([0, 1, 4])), expected[[4, 0]][:, [0, 1, 4]], atol=1e-15
    )
    np.testing.assert_allclose(ridged.diag(np.arange(6)), np.diag(expected), atol=1e-15)
