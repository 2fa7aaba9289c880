"""Compiled blocks agree with the reference, whatever the kernel, the type and the cut into tiles."""

import tracemalloc

import numpy as np
import pytest

import mercer as mc
from mercer._compute import array, fused
from mercer._compute.points import Points
from mercer._compute.threads import limit_threads

KERNELS = [
    mc.Gaussian(0.7),
    mc.Matern(1.3, 0.5),
    mc.Polynomial(3, 0.5, 1.0),
    mc.Gaussian(1.0) * mc.Polynomial(2) + 0.5,
    mc.Normalized(mc.Matern(2.0, 2.5) + mc.Linear()),
    mc.Mapped(mc.Gaussian(1.0), np.array([0, 2])),
    mc.Laplacian(0.7),
]


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def blocks(request, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    return Points(rng.random((70, 12)).astype(request.param)), Points(
        rng.random((55, 12)).astype(request.param)
    )


@pytest.fixture(params=[None, 9 * 12], ids=["one tile", "many tiles"])
def cut(request, costs):
    if request.param:
        costs(BLOCK=request.param)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_values_products_and_gradients_are_those_of_the_reference(
    kernel, blocks, global_random_seed
):
    X, Z = blocks
    rng = np.random.default_rng(global_random_seed + 1)
    V, W = rng.standard_normal((55, 3)).astype(X.container.dtype), rng.standard_normal((70, 55))
    eps = float(np.finfo(X.container.dtype).eps)
    for ours, expected in [
        (fused.dense(kernel, X, Z), array.dense(kernel, X, Z)),
        (fused.dense(kernel, X, X), array.dense(kernel, X, X)),
        (fused.matmul(kernel, X, Z, V), array.matmul(kernel, X, Z, V)),
        (fused.vjp(kernel, X, Z, W.__getitem__), array.vjp(kernel, X, Z, W.__getitem__)),
    ]:
        # tens of roundings a value, and the slope of the kernel's scalar
        np.testing.assert_allclose(ours, expected, atol=200 * eps * abs(expected).max())


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_a_gram_matrix_is_symmetric_to_the_bit_with_an_exact_diagonal(kernel, blocks):
    X = blocks[0]
    K = fused.dense(kernel, X, X)
    assert (K == K.T).all()
    if isinstance(kernel, (mc.Gaussian, mc.Matern, mc.Laplacian, mc.Normalized)):
        assert (np.diag(K) == 1).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_results_do_not_depend_on_the_number_of_threads(kernel, blocks):
    X, Z = blocks
    V = np.linspace(-1, 1, 55).reshape(-1, 1).astype(X.container.dtype)
    results = []
    for threads in (1, 2, 4):
        with limit_threads(threads):
            results.append((fused.dense(kernel, X, X), fused.matmul(kernel, X, Z, V)))
    for dense, product in results[1:]:
        assert (dense == results[0][0]).all()
        assert (product == results[0][1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_that_nearly_coincide_keep_their_digits_under_a_kernel_with_a_kink(
    dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    eps = float(np.finfo(dtype).eps)
    X = rng.random((60, 40)).astype(dtype)
    Z = np.concatenate([X[:20] + 1e3 * eps * rng.random((20, 40)).astype(dtype), X[20:40]])
    distance = np.sqrt(((X[:, None].astype(np.longdouble) - Z[None]) ** 2).sum(axis=-1))
    # the slope of the kernel in the distance is 10
    np.testing.assert_allclose(
        mc.Gram(mc.Matern(0.1, 0.5), X, Z).dense(), np.exp(-10 * distance), atol=50 * eps
    )


def test_a_bandwidth_beyond_float32_gives_numbers():
    X = np.linspace(0, 1, 60, dtype=np.float32).reshape(5, 12)
    assert (mc.Gram(mc.Gaussian(1e300), X).dense() == np.eye(5, dtype=np.float32)).all()


@pytest.mark.parametrize(("dtype", "value"), [(np.float32, 1e8), (np.float64, 1e30)])
@pytest.mark.parametrize("d", [3, 20, 600])
def test_a_row_far_away_leaves_the_values_of_the_others(d, dtype, value, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    rows = rng.standard_normal((60, d)) / d**0.5
    rows[7, 0] = value
    X, kernel, eps = Points(rows.astype(dtype)), mc.Gaussian(1.0), float(np.finfo(dtype).eps)
    difference = X.container[:, None].astype(np.longdouble) - X.container
    exact = np.exp(-(difference**2).sum(axis=2))
    np.testing.assert_allclose(fused.dense(kernel, X, X), exact.astype(float), atol=8 * eps)
    np.testing.assert_allclose(
        fused.dense(kernel, X.take(slice(0, 9)), X), exact[:9].astype(float), atol=8 * eps
    )
    np.testing.assert_allclose(fused.stored(kernel, X).dense(), exact.astype(float), atol=8 * eps)
    product = fused.matmul(kernel, X, X, np.ones((60, 1), dtype))
    np.testing.assert_allclose(product[:, 0], exact.sum(axis=1).astype(float), rtol=32 * eps)


@pytest.mark.parametrize(
    "kernel", [mc.Matern(3e3, 1.5), mc.Matern(3e3, 2.5), mc.Gaussian(1e-7)], ids=repr
)
def test_float32_gradients_of_close_points_in_clusters_far_apart_keep_three_digits(
    kernel, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    Z = rng.standard_normal((60, 20)).astype(np.float32)
    Z[::2] += np.float32(1000)
    X = Z + (1e-4 * rng.standard_normal(Z.shape)).astype(np.float32)
    G = fused.vjp(kernel, Points(X), Points(Z), np.eye(60).__getitem__)
    expected = kernel.vjp(X.astype(float), Z.astype(float), np.eye(60))
    errors = np.linalg.norm(G - expected, axis=1) / np.linalg.norm(expected, axis=1)
    # the slope of Matern(nu=1.5) changes with the distance, of which 3 digits are left
    assert errors.max() <= 2e-3


def test_products_with_many_rows_keep_one_centred_part_of_them_in_memory():
    X, Z = Points(np.ones((20_000, 400))), Points(np.zeros((2, 400)))
    fused.matmul(mc.Gaussian(1.0), Points(X.container[:9000]), Z, np.ones((2, 1)))
    tracemalloc.start()
    try:
        fused.matmul(mc.Gaussian(1.0), X, Z, np.ones((2, 1)))
        assert tracemalloc.get_traced_memory()[1] < 0.6 * X.container.nbytes
    finally:
        tracemalloc.stop()
