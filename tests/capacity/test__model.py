import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import mercer as mc
from mercer import capacity
from mercer.capacity._model import augmented


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    y = np.arange(60) % 3
    return rng.normal(size=(60, 2)) + 2 * np.eye(3)[y][:, :2], y


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_outputs_are_the_scores_of_the_model(sample, multi_class, dtype):
    X, y = sample[0].astype(dtype), sample[1]
    model = mc.SVC(multi_class=multi_class, decision_function_shape=multi_class).fit(X, y)
    scores = model.decision_function(X)
    for j, each in enumerate(capacity.models(model, X, y)):
        assert np.allclose(each.outputs, scores[each.rows, j], atol=1e-5 if dtype == np.float32 else 1e-12)
        assert np.allclose(each.outputs, each.kernel(each.points) @ each.coef + each.bias, atol=1e-9)
        assert set(each.targets) == {-1.0, 1.0}


def test_coefficients_obey_their_upper_bounds_and_the_certificate(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    model = mc.SVC(C=2.0, class_weight={0: 1.0, 1: 3.0}, kernel=mc.Gaussian(0.5)).fit(X, y)
    weights = np.linspace(0.5, 2, 60)
    for fit, given in ((model, None), (mc.SVC(C=2.0, kernel=mc.Gaussian(0.5)).fit(X, y, weights), weights)):
        own = capacity.model(fit, X, y, given)
        assert np.all(np.abs(own.coef) <= own.upper_bounds * (1 + 1e-9))
        primal = 0.5 * own.norm**2 + own.upper_bounds @ np.maximum(0, 1 - own.margins)
        assert np.isclose(primal, mc.certify(fit, X, y, given).primal, rtol=1e-9)


def test_upper_bounds_of_nu_svc_are_its_largest_coefficients(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    own = capacity.model(mc.NuSVC(nu=0.4, kernel=mc.Gaussian(0.5)).fit(X, y), X, y)
    bound = np.abs(own.coef) > own.upper_bounds * (1 - 1e-6)
    assert bound.sum() > 5
    assert np.all(own.margins[~bound] > 1 - 1e-3)


def test_a_given_matrix_and_sparse_rows_are_read_as_dense_ones(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    dense = capacity.model(mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y), X, y)
    K = mc.Gaussian(0.5)(X)
    given = capacity.model(mc.SVC(kernel="precomputed").fit(K, y), K, y)
    sparse = capacity.model(mc.SVC(kernel=mc.Gaussian(0.5)).fit(sp.csr_matrix(X), y), sp.csr_matrix(X), y)
    for other in (given, sparse):
        assert np.allclose(other.coef, dense.coef, atol=1e-8)
        assert np.allclose(other.outputs, dense.outputs, atol=1e-8)


def test_a_bias_is_a_further_feature(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    own = capacity.model(mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y), X, y)
    wide = augmented(own)
    assert wide.bias == 0
    assert np.all(np.abs(own.outputs) <= wide.norm * np.sqrt(wide.diagonal))


def test_other_points_than_those_of_the_fit_are_refused(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    model = mc.SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"Resubstitution"):
        capacity.model(model, X[::-1], y)
    with pytest.raises(ValueError, match=r"Resubstitution"):
        capacity.model(model, X[:3], y[:3])
    with pytest.raises(ValueError, match="60 points, y has 3"):
        capacity.model(model, X, y[:3])
    with pytest.raises(ValueError, match="label 7"):
        capacity.model(model, X, np.where(y == 1, 7, y))


def test_models_that_bounds_do_not_know_are_named(sample):
    X, y = sample
    with pytest.raises(ValueError, match="3 binary classifiers"):
        capacity.model(mc.SVC().fit(X, y), X, y)
    with pytest.raises(TypeError, match="LogisticRegression has no expansion_"):
        capacity.model(LogisticRegression().fit(X, y), X, y)


def test_a_perceptron_has_outputs(sample):
    y = (sample[1] == 0).astype(int)
    X = sample[0] + 6 * y[:, None]
    model = mc.KernelPerceptron(kernel=mc.Gaussian(0.5)).fit(X, y)
    own = capacity.model(model, X, y)
    assert np.array_equal(own.outputs > 0, model.predict(X) == 1)
    with pytest.raises(TypeError, match="squared_spans needs a support vector machine"):
        mc.capacity.squared_spans(own)
