"""Operators: every part of the protocol gives the same matrix, the one that a dense product gives."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg.operators import (
    Centred,
    InnerProducts,
    Projected,
    Shifted,
    Weighted,
    centred,
    epsilon,
)

rng = np.random.default_rng(0)
X, SCALE = rng.standard_normal((30, 3)), rng.integers(0, 4, 30).astype(float)
W = SCALE / SCALE.sum()
KERNEL = mc.Gaussian(0.4)
K, PHI = KERNEL(X), mc.features(KERNEL, X)
COEF = rng.standard_normal((30, 20))
H, UNIFORM = np.eye(30) - W, np.eye(30) - 1 / 30
ROOT = np.sqrt(W)[:, None]
CASES = {
    "features": (InnerProducts(PHI), K),
    "combinations": (InnerProducts(PHI @ COEF), COEF.T @ K @ COEF),
    "weighted": (Weighted(InnerProducts(PHI), SCALE), np.diag(SCALE) @ K @ np.diag(SCALE)),
    "weighted combinations": (
        Weighted(InnerProducts(PHI @ COEF), 2 + SCALE[:20]),
        np.diag(2 + SCALE[:20]) @ COEF.T @ K @ COEF @ np.diag(2 + SCALE[:20]),
    ),
    "stored": (InnerProducts(PHI).stored(), K),
    "centred stored": (Centred(InnerProducts(PHI).stored()), UNIFORM @ K @ UNIFORM),
    "centred": (Centred(InnerProducts(PHI)), UNIFORM @ K @ UNIFORM),
    "centred with weights": (
        Projected(Weighted(InnerProducts(PHI), ROOT[:, 0]), ROOT),
        ROOT * (H @ K @ H.T) * ROOT.T,
    ),
    "centred Gram": (Centred(mc.Gram(KERNEL, X)), UNIFORM @ K @ UNIFORM),
}


@pytest.mark.parametrize("name", CASES)
def test_every_part_of_the_protocol_gives_the_same_matrix(name):
    operator, expected = CASES[name]
    n, scale = len(expected), np.abs(expected).max()
    V, rows = rng.standard_normal((n, 2)), np.array([3, 1, 7])
    assert operator.shape == (n, n)
    assert operator.dtype == np.float64
    np.testing.assert_allclose(operator.dense(), expected, atol=1e-14 * scale)
    np.testing.assert_allclose(operator @ V, expected @ V, atol=1e-13 * scale)
    np.testing.assert_allclose(operator.diagonal(), expected.diagonal(), atol=1e-14 * scale)
    np.testing.assert_allclose(
        operator[np.ix_(rows, [2, 0])], expected[np.ix_(rows, [2, 0])], atol=1e-14 * scale
    )
    np.testing.assert_allclose(operator[rows, :5], expected[rows, :5], atol=1e-14 * scale)


@pytest.mark.parametrize("name", ["features", "combinations", "centred", "centred with weights"])
def test_stored_matrices_are_symmetric_to_the_last_bit(name):
    M = CASES[name][0].dense()
    np.testing.assert_array_equal(M, M.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_centred_product_is_summed_in_float64(dtype):
    G = mc.Gram(KERNEL, X.astype(dtype))
    product = Centred(G) @ rng.standard_normal((30, 4))
    assert Centred(G).dtype == dtype
    assert product.dtype == np.float64
    np.testing.assert_allclose(product.sum(axis=0), 0, atol=1e-13)


def test_centring_costs_one_product_with_a_block_of_equal_width():
    class Counted:
        shape, dtype, widths = (30, 30), np.float64, []

        def __matmul__(self, V):
            self.widths.append(V.shape)
            return K @ V

    operator = Counted()
    Centred(operator) @ np.ones((30, 4))
    Projected(operator, ROOT) @ np.ones((30, 4))
    assert operator.widths == [(30, 4), (30, 4)]


def test_the_image_holds_the_products_with_the_mean():
    image = CASES["centred"][0].image[:, 0]
    np.testing.assert_allclose(image / 30**0.5, K.mean(axis=0), atol=1e-14)
    image = CASES["centred with weights"][0].image[:, 0]
    np.testing.assert_allclose(image, ROOT[:, 0] * (K @ W), atol=1e-14)


def test_shifted_and_negated_operators_are_sums_and_opposites():
    V = rng.standard_normal((30, 2))
    np.testing.assert_allclose(Shifted(InnerProducts(PHI), 0.5) @ V, K @ V + 0.5 * V, atol=1e-13)
    np.testing.assert_allclose(Shifted(InnerProducts(PHI), 0.0, -1.0) @ V, -K @ V, atol=1e-13)
    single = InnerProducts(mc.features(KERNEL, X.astype(np.float32)))
    assert (Shifted(single, 1.0) @ V).dtype == np.float64
    assert Shifted(single, 1.0).dtype == np.float32


def test_the_type_of_inner_products_is_the_wider_one_of_points_and_coefficients():
    narrow = mc.features(KERNEL, X.astype(np.float32))
    assert InnerProducts(narrow).dtype == np.float32
    assert InnerProducts(narrow @ COEF.astype(np.float32)).dtype == np.float32
    assert InnerProducts(mc.Expansion(KERNEL, X, COEF.astype(np.float32))).dtype == np.float64
    assert InnerProducts(narrow).dense().dtype == np.float64


def test_a_stored_matrix_keeps_to_the_budget_of_memory():
    assert InnerProducts(PHI, 8 * 30 * 30).dense().shape == (30, 30)
    with pytest.raises(MemoryError, match=r"inner products of 30 vectors needs 7\.200 kB"):
        Weighted(InnerProducts(PHI, 8 * 30 * 30 - 1), SCALE).dense()


def test_the_matrix_of_a_precomputed_kernel_is_left_alone():
    given = K.copy()
    operator = InnerProducts(mc.features(mc.Precomputed().resolve(given), np.arange(30)))
    Weighted(operator, SCALE).dense()
    Centred(operator).dense()
    np.testing.assert_array_equal(given, K)


def test_a_centred_matrix_is_symmetric_to_the_bit_and_leaves_its_argument_alone():
    before = K.copy()
    C = centred(K)
    np.testing.assert_array_equal(C, C.T)
    np.testing.assert_allclose(C, UNIFORM @ K @ UNIFORM, atol=1e-15)
    np.testing.assert_array_equal(K, before)


def test_centring_forgets_where_the_data_lie():
    shifted = centred(mc.Linear()(X + 100.0))
    np.testing.assert_allclose(shifted, centred(mc.Linear()(X)), atol=1e-10)


@pytest.mark.parametrize(
    ("dtype", "expected"), [(np.float32, 2.0**-23), (np.float64, 2.0**-52), (np.int64, 2.0**-52)]
)
def test_epsilon_is_that_of_the_type_of_the_values(dtype, expected):
    assert epsilon(np.zeros(2, dtype)) == expected


def test_the_matrix_of_float32_points_is_that_of_the_same_numbers_in_float64():
    points = np.random.default_rng(8).standard_normal((40, 3)).astype(np.float32)
    for coef in (None, np.random.default_rng(9).standard_normal((40, 5)).astype(np.float32)):
        narrow, wide = (
            mc.Expansion(mc.Gaussian(0.3), points, coef),
            None if coef is None else coef.astype(float),
        )
        exact = InnerProducts(mc.Expansion(mc.Gaussian(0.3), points.astype(float), wide)).dense()
        found = InnerProducts(narrow)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.dense(), exact, atol=1e-14 * abs(exact).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_is_stored_where_it_fits_and_saves_kernel_values(dtype):
    phi = mc.features(KERNEL, X.astype(dtype))
    n_bytes = 900 * np.dtype(dtype).itemsize
    inner, lazy = InnerProducts(phi, n_bytes), InnerProducts(phi, n_bytes - 1)
    stored = inner.stored()
    assert stored is not inner
    assert lazy.stored() is lazy
    assert stored.dtype == dtype
    V = rng.standard_normal((30, 3))
    np.testing.assert_allclose(stored @ V, K @ V, atol=1e-13 if dtype == np.float64 else 1e-5)
    given = mc.features(mc.Precomputed().resolve(K), np.arange(30))
    counts = mc.features(mc.strings.Spectrum(2), ["abab", "bcbc"])
    for other in (mc.features(KERNEL, X) @ COEF, given, counts):
        inner = InnerProducts(other)
        assert inner.stored() is inner
