"""leave_one_out: residuals are those of fits without each point."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg.cholesky import leave_one_out


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_residuals_are_those_of_fits_without_each_point(ridge, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Y, w = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), rng.uniform(0.5, 2, 30)
    K = mc.Matern(1.0, 1.5)(X)
    found = leave_one_out(K, ridge / w, Y)
    np.testing.assert_allclose((K + np.diag(ridge / w)) @ found.coef, Y, atol=1e-9)
    last = leave_one_out(K, ridge / w, Y, first=12)
    np.testing.assert_allclose(last.residuals, found.residuals[12:], rtol=1e-9)
    np.testing.assert_array_equal(last.coef, found.coef)
    for i in range(30):
        others = np.delete(np.arange(30), i)
        own = K[np.ix_(others, others)] + np.diag(ridge / w[others])
        expected = Y[i] - K[i, others] @ np.linalg.solve(own, Y[others])
        np.testing.assert_allclose(found.residuals[i], expected, rtol=1e-7, atol=1e-9)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        leave_one_out(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.1, np.ones((2, 1)))
