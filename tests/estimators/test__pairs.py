import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.estimators import _pairs, _svm


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.3), mc.Polynomial(2), mc.Gaussian(0.3) + mc.Linear()], ids=repr)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_packed_coefficients_score_as_unpacked_ones_do(kernel, dtype, container, rng):
    # a class of several tiles, one of a single vector, one without any
    counts = np.array([700, 1, 0, 40])
    X, vectors = rng.standard_normal((60, 12)).astype(dtype), rng.standard_normal((741, 12)).astype(dtype)
    packed = rng.standard_normal((741, 3)).astype(dtype)
    unpacked = _svm.unpack(packed, np.repeat(np.arange(4), counts), 4).astype(np.float64)
    exact = kernel(X.astype(np.float64), vectors.astype(np.float64)) @ unpacked
    scores = _pairs.scores(kernel, container(X), container(vectors), packed, counts)
    assert scores.dtype == dtype
    assert scores.shape == (60, 6)
    bound = 1e2 * np.finfo(dtype).eps * np.abs(kernel(X, vectors)).max() * np.abs(unpacked).sum(axis=0).max()
    np.testing.assert_allclose(scores, exact, rtol=0, atol=bound)
