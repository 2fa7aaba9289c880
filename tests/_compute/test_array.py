# Every use takes a kernel, points and coefficients, whether it needs them or not.
# ruff: noqa: ARG005
"""The reference backend: tiles of any size give what one block gives, exactly symmetric, summed in float64."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.instances import ROWS

import mercer as mc
from mercer._compute import array
from mercer._compute.devices import moved
from mercer._compute.points import Points
from mercer.kernels.base import admit_pair

X = np.random.default_rng(0).random((45, 3))
Z = np.random.default_rng(1).random((30, 3))


@pytest.fixture
def small_tiles(costs):
    """Tiles of eight rows."""
    costs(BLOCK=1)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("name", ROWS)
def test_small_tiles_give_the_values_of_one_block(name):
    kernel = ROWS[name]
    points, other = admit_pair(kernel, X, Z)
    V, W = np.cos(np.arange(60.0)).reshape(30, 2), np.sin(np.arange(45.0 * 30)).reshape(45, 30)
    whole = kernel(X, Z)
    np.testing.assert_allclose(array.dense(kernel, points, other), whole, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        array.matmul(kernel, points, other, V), whole @ V, rtol=1e-10, atol=1e-12
    )
    if kernel.tags.differentiable:
        gradient = array.vjp(kernel, points, other, W.__getitem__)
        np.testing.assert_allclose(gradient, kernel.vjp(X, Z, W), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ROWS)
def test_tiles_of_one_set_of_points_make_a_symmetric_block(name, dtype):
    points = Points(X.astype(dtype))
    K = array.dense(ROWS[name], points, points)
    assert K.dtype == dtype
    assert (K == K.T).all()


@pytest.mark.usefixtures("small_tiles")
def test_sparse_rows_come_in_tiles_too():
    kernel = mc.Gaussian(2.0) + mc.Linear()
    S = sp.csr_array(X * (X > 0.5))
    K = array.dense(kernel, *admit_pair(kernel, S, S))
    np.testing.assert_allclose(K, kernel(S.toarray()), rtol=1e-12)


def test_products_of_many_columns_keep_digits_that_float32_sums_lose():
    K = np.full((1, 2**20), 1.0, np.float32)
    V = np.full((2**20, 1), 0.1, np.float32)
    exact = 2**20 * float(np.float32(0.1))
    assert abs(float(array.product(K, V, np.float32)[0, 0]) / exact - 1) < 1e-6


def test_mirroring_copies_the_lower_triangle_of_large_blocks():
    K = np.random.default_rng(2).random((1100, 1100))
    mirrored = K.copy()
    array.mirror(mirrored, 0, len(K))
    np.testing.assert_array_equal(np.tril(mirrored), np.tril(K))
    np.testing.assert_array_equal(mirrored, mirrored.T)


def test_rows_of_a_tile_depend_on_the_shape_alone():
    assert array.row_step(10**9) == 8
    assert array.row_step(1000) % 8 == 0
    assert array.row_step(1000) * 1000 * 8 <= 8 * array.BLOCK


# --- arrays of other libraries ---------------------------------------------------------------------------------------

# one of each kind; the laws of test_testing.py hold every kernel to the values of NumPy
PORTABLE = ["gaussian", "matern12", "poly3", "intersection", "normalized_linear", "mixed_columns"]
COEF = np.cos(np.arange(90.0)).reshape(45, 2)
USES = {
    "G.dense": lambda k, A, B, C: mc.Gram(k, A, B).dense(),
    "G @ V": lambda k, A, B, C: mc.Gram(k, B, A) @ C,
    "G @ v": lambda k, A, B, C: mc.Gram(k, B, A) @ C[:, 0],
    "G[I, J]": lambda k, A, B, C: mc.Gram(k, A, B)[1:3, [0, 2]],
    "G.diagonal": lambda k, A, B, C: mc.Gram(k, A).diagonal(),
    "psi(X)": lambda k, A, B, C: mc.Expansion(k, A, C)(B),
    "psi.inner": lambda k, A, B, C: mc.Expansion(k, A, C).inner(mc.features(k, B)),
    "psi.norms": lambda k, A, B, C: mc.Expansion(k, A, C).norms(),
    "psi + chi": lambda k, A, B, C: (mc.Expansion(k, A, C) + mc.features(k, B)[:, 0])(B),
    "psi[:, j]": lambda k, A, B, C: mc.Expansion(k, A, C)[:, 1](B),
    "mean": lambda k, A, B, C: mc.mean(mc.features(k, A))(B),
    "sqdist": lambda k, A, B, C: mc.sqdist(mc.features(k, A), mc.features(k, B)),
    "sqdist paired": lambda k, A, B, C: mc.sqdist(
        mc.features(k, B), mc.features(k, A[:30, :]), paired=True
    ),
    "gradient": lambda k, A, B, C: mc.Expansion(k, A, C).gradient(B),
}


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("name", PORTABLE)
def test_grams_and_expansions_of_other_libraries_equal_those_of_numpy(name, library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    # an array on this device cannot become one of NumPy without a word
    device = xp.Device("device1") if library == "array_api_strict" else None
    kernel = ROWS[name]
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 1e-4)):
        here = [array.astype(dtype) for array in (X, Z, COEF)]
        there = [xp.asarray(array, device=device) for array in here]
        for use, function in USES.items():
            expected, result = function(kernel, *here), function(kernel, *there)
            assert type(result) is type(there[0]), use
            assert result.device == there[0].device, use
            result = moved(result, None)
            assert result.dtype == dtype, use
            size = max(float(abs(expected).max()), 1.0)
            np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance * size, err_msg=use)


def test_float32_products_are_those_of_the_columns_of_each_piece():
    K = np.random.default_rng(3).random((4, 1200)).astype(np.float32)
    V = np.random.default_rng(4).random((1200, 3)).astype(np.float32)
    expected = K.astype(float) @ V.astype(float)
    np.testing.assert_allclose(array.product(K, V, np.float32), expected, rtol=1e-6)
    assert array.product(K, V, np.float32).dtype == np.float32
    pieces = [slice(0, 500), slice(500, 1200)]
    parts = np.hstack([K[:, piece].astype(float) @ V[piece].astype(float) for piece in pieces])
    np.testing.assert_allclose(array.product(K, V, np.float32, pieces), parts, rtol=1e-6)


def test_float32_values_of_indices_are_multiplied_by_float64_coefficients_to_the_last_digits():
    K = np.random.default_rng(5).random((700, 700)).astype(np.float32)
    kernel = mc.Precomputed(K + K.T)
    V = 1e4 * np.random.default_rng(6).standard_normal((700, 2))
    found = mc.Gram(kernel, np.arange(700)) @ V
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, (K + K.T).astype(float) @ V, atol=1e-7)


def test_a_dense_matrix_is_a_new_array():
    K = np.ones((3, 3))
    K.flags.writeable = False
    found = mc.Gram(mc.FunctionKernel(lambda X, Z: K), X[:3]).dense()
    found[0, 0] = 2.0
    np.testing.assert_array_equal(K, 1.0)


def test_tiles_of_one_set_know_their_rows():
    points = Points(X)
    found = list(array.tiles(points, points))
    assert [rows for rows, _ in found] == [slice(0, 45)]
    assert found[0][1].offset == 0
    assert next(array.tiles(points, Points(Z)))[1].offset is None


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("n", [1, 8, 9, 16, 17])
def test_any_number_of_tiles_makes_one_block(n):
    points = Points(X[:n])
    assert array.dense(mc.Gaussian(1.0), points, Points(Z)).shape == (n, 30)
    np.testing.assert_allclose(
        array.dense(mc.Gaussian(1.0), points, points), mc.Gaussian(1.0)(X[:n]), rtol=1e-12
    )


def test_float32_values_of_a_given_matrix_meet_float64_coefficients_as_they_are():
    K = (X @ X.T).astype(np.float32)
    V = 1e7 * np.linalg.qr(K.astype(np.float64))[0][:, -1:]
    psi = mc.Expansion(mc.Precomputed(K), np.arange(len(K)), V)
    exact = K.astype(np.float64) @ V
    # the sums cancel all but the last digits of float32
    assert np.abs(exact).max() < 1e-4 * np.abs(V).max()
    np.testing.assert_allclose(psi(K), exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max())
    assert psi(K).dtype == np.float32
