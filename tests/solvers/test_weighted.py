"""Weighted inner products: the matrix they stand for, whichever way it is asked for."""

import numpy as np
import pytest

import mercer as mc
from mercer.factor import InnerProducts
from mercer.solvers.weighted import Centred, Weighted, weighted

rng = np.random.default_rng(0)
X, WEIGHTS = rng.standard_normal((30, 3)), rng.integers(0, 4, 30).astype(float)
PHI = mc.features(mc.Gaussian(0.4), X)


SHARES = WEIGHTS / WEIGHTS.sum()
H = np.eye(30) - SHARES
CASES = [
    (weighted(PHI, WEIGHTS)[0], np.sqrt(np.outer(WEIGHTS, WEIGHTS)) * mc.Gaussian(0.4)(X)),
    (Centred(InnerProducts(PHI), SHARES), H @ mc.Gaussian(0.4)(X) @ H.T),
]


@pytest.mark.parametrize(("inner", "expected"), CASES, ids=["weighted", "centred"])
def test_every_way_to_ask_gives_the_same_matrix(inner, expected):
    V, rows = rng.standard_normal((30, 2)), np.array([3, 1, 7])
    np.testing.assert_allclose(inner.dense("1MB"), expected, atol=1e-15)
    np.testing.assert_allclose(inner @ V, expected @ V, atol=1e-13)
    np.testing.assert_allclose(inner.diagonal(), expected.diagonal(), atol=1e-15)
    np.testing.assert_allclose(inner[rows, :5], expected[rows][:, :5], atol=1e-15)


def test_the_kernel_matrix_itself_is_left_alone():
    K = mc.Gaussian(0.4)(X)
    given = mc.features(mc.Precomputed().resolve(K), np.arange(30))
    Weighted(InnerProducts(given), np.full(30, 2.0)).dense("1MB")
    np.testing.assert_array_equal(K, mc.Gaussian(0.4)(X))


def test_without_weights_nothing_is_scaled():
    inner, root = weighted(PHI, None)
    assert isinstance(inner, InnerProducts)
    np.testing.assert_array_equal(root, np.ones((30, 1)))


@pytest.mark.parametrize("bad", [np.ones(29), -WEIGHTS, WEIGHTS * 0, np.full(30, np.inf)])
def test_weights_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="weights must"):
        weighted(PHI, bad)
