import gc
import pickle

import numpy as np
import pytest

import mercer as mc
from mercer.estimators import _vectors
from mercer.estimators._vectors import products

KERNELS = [mc.Gaussian(0.3), mc.Linear(), mc.Laplacian(0.5), mc.Gaussian(0.3) + mc.Linear()]


def _problem(seed, d=9, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape).astype(dtype) for shape in ((20, d), (700, d), (700, 3)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 9])
def test_products_are_those_of_the_matrix_at_every_call_and_for_every_kernel(kernel, dtype, d, global_random_seed):
    X, Z, coef = _problem(global_random_seed, d, dtype)
    products(mc.Gaussian(1.0), X, Z, coef)
    expected, rtol = kernel(X.astype(float), Z.astype(float)) @ coef, 2000 * np.finfo(dtype).eps
    for _ in range(2):
        np.testing.assert_allclose(products(kernel, X, Z, coef), expected, rtol=rtol, atol=rtol)
        pieces = [slice(0, 100), slice(100, 700)]
        np.testing.assert_allclose(
            products(kernel, X, Z, coef, pieces) @ np.vstack([np.eye(3)] * 2), expected, rtol=rtol, atol=rtol
        )


def test_rows_of_another_precision_meet_the_vectors_in_the_wider_one(global_random_seed):
    X, Z, coef = _problem(global_random_seed, dtype=np.float32)
    for _ in range(2):
        found = products(mc.Gaussian(0.3), X.astype(np.float64), Z, coef)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, mc.Gaussian(0.3)(X.astype(float), Z.astype(float)) @ coef, atol=1e-12)


def test_vectors_that_change_in_place_are_seen_anew(global_random_seed):
    X, Z, coef = _problem(global_random_seed)
    products(mc.Gaussian(0.3), X, Z, coef)
    Z *= 2
    np.testing.assert_allclose(products(mc.Gaussian(0.3), X, Z, coef), mc.Gaussian(0.3)(X, Z) @ coef, rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 9])
def test_nothing_outlives_the_vectors(kernel, d, global_random_seed):
    X, Z, coef = _problem(global_random_seed, d)
    gc.collect()
    before = len(_vectors._known)
    products(kernel, X, Z, coef)
    products(kernel, X.astype(np.float32), Z, coef)
    del Z
    gc.collect()
    assert len(_vectors._known) == before


def test_a_model_that_has_predicted_is_as_small_a_file_and_predicts_the_same(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((500, 4))
    model = mc.SVC(kernel=mc.Gaussian(0.3)).fit(X, X[:, 0] > X[:, 1] ** 2)
    fresh = pickle.dumps(model)
    scores = model.decision_function(X)
    assert len(pickle.dumps(model)) == len(fresh)
    np.testing.assert_array_equal(pickle.loads(fresh).decision_function(X), scores)


def test_vectors_with_numbers_that_are_none_are_refused(global_random_seed):
    X, Z, coef = _problem(global_random_seed)
    Z[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        products(mc.Gaussian(0.3), X, Z, coef)
    with pytest.raises(ValueError, match="has 8 features, but Z has 9 features"):
        products(mc.Gaussian(0.3), X[:, :8], np.nan_to_num(Z), coef)
