"""What machines with one column of scores share."""

import numpy as np
import pytest
from sklearn.svm import SVR

import mercer as mc


@pytest.mark.parametrize(
    "estimator", [mc.SVR(), mc.OneClassSVM(), mc.NuSVR(), mc.SVDD()], ids=lambda e: type(e).__name__
)
def test_rows_of_weight_zero_are_as_good_as_absent(estimator, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((40, 2))
    y, weight = X[:, 0] + 0.1 * rng.standard_normal(40), np.repeat([1.0, 0.0], 20)
    estimator.set_params(kernel=mc.Gaussian(0.5))
    whole, part = (type(estimator)(**estimator.get_params(deep=False)) for _ in range(2))
    scores = whole.fit(X, y, sample_weight=weight).expansion_(X)
    np.testing.assert_allclose(part.fit(X[:20], y[:20]).expansion_(X), scores, atol=1e-8)
    assert whole.support_.max() < 20


@pytest.mark.parametrize("estimator", [mc.SVR(tol=0.0), mc.OneClassSVM(max_iter=0), mc.SVDD(memory="much")])
def test_parameters_of_the_solver_are_checked(estimator):
    with pytest.raises(ValueError, match="tol|max_iter|memory"):
        estimator.fit(np.eye(4), np.arange(4.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tube_that_holds_all_points_predicts_the_constant_of_scikit_learn(dtype):
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(dtype)
    y = X[:, 0] / 10
    machine = mc.SVR(epsilon=5.0).fit(X, y)
    assert machine.support_.shape == (0,)
    np.testing.assert_allclose(machine.predict(X), SVR(epsilon=5.0).fit(X, y).predict(X), rtol=1e-5)
