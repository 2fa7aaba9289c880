"""Compiled loops against extended precision: values, products, gradients, threads, kinks, empty blocks."""

import numpy as np
import pytest

from mercer._compute import loops
from mercer._compute.distances import CLOSE_SHARES
from mercer._compute.loops import mirror
from mercer._compute.threads import limit_threads

FLOATS = [np.float32, np.float64]
# on both sides of the changes from differences to matrix products, and to those without copies, and of a row of four
DIMENSIONS = [1, 3, 8, 9, 50, 600]


def tile(*formula, order=0):
    return loops.tile(loops.Formula(*formula), order)


def matmul(profile, kind, parameters, X, Z, V, pieces=None):
    plan = loops.Plan(loops.Formula(profile, kind, parameters, X, Z))
    return loops.products(plan, V, pieces)


def gradient(profile, kind, parameters, X, Z, W):
    return loops.gradient(loops.Formula(profile, kind, parameters, X, Z), W)


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


def gaussian(xp, s, gamma, order=0):
    value = xp.exp(-gamma * s)
    return value if order == 0 else (-gamma) ** order * value


def exponential(xp, s, length, order=0):
    """Matern of smoothness 1/2, whose slope is infinite at 0."""
    u = xp.sqrt(s) / length
    return xp.exp(-u) if order == 0 else -xp.exp(-u) / (xp.const(s, 2.0) * length * length * u)


def plateau(xp, s, gamma, order=0):
    """A profile with the slope 0 at 0."""
    value = xp.exp(-gamma * s * s)
    return value if order == 0 else -xp.const(s, 2.0) * gamma * s * value


def cubic(xp, s, gamma, coef0, order=0):
    base = gamma * s + coef0
    return xp.power(base, xp.const(s, 3)) if order == 0 else xp.const(s, 3) * gamma * base * base


def points(dtype, d, rng, n=70, m=1100):
    """Rows of norm about 1: fewer than a tile against more than two."""
    return ((rng.normal(size=(k, d)) / np.sqrt(d)).astype(dtype) for k in (n, m))


def sqdist(X, Z):
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    return sum((X[:, k][:, None] - Z[:, k][None, :]) ** 2 for k in range(X.shape[1]))


def bound(dtype, gamma, *points):
    """The error promised for a Gaussian kernel: by the type, and by cancellation in distances."""
    largest = max(float(np.max(np.sum(p.astype(float) ** 2, axis=1))) for p in points)
    return (1e-6 if dtype == np.float32 else 1e-12) + 4 * np.finfo(dtype).eps * gamma * largest


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("gamma", [1e-3, 0.7, 50.0])
def test_gaussian_values_agree_with_extended_precision(dtype, d, gamma, rng):
    X, Z = points(dtype, d, rng)
    K = tile(gaussian, "radial", (gamma,), X, Z)
    exact = np.exp(-np.longdouble(dtype(gamma)) * sqdist(X, Z))
    assert K.dtype == dtype
    assert np.max(np.abs(K - exact)) <= bound(dtype, gamma, X, Z)
    assert K.min() >= 0
    assert K.max() <= 1


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_dot_product_values_agree_with_extended_precision(dtype, d, rng):
    X, Z = points(dtype, d, rng)
    K = tile(cubic, "dot", (0.5, 1.0), X, Z)
    size = np.abs(X.astype(np.longdouble)) @ np.abs(Z.astype(np.longdouble)).T
    exact = (0.5 * (X.astype(np.longdouble) @ Z.astype(np.longdouble).T) + 1) ** 3
    assert np.all(np.abs(K - exact) <= 8 * np.finfo(dtype).eps * (1 + size) ** 3)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("p", [1, 3])
def test_a_product_is_that_of_the_dense_block(dtype, d, p, rng):
    X, Z = points(dtype, d, rng)
    V = rng.normal(size=(len(Z), p)).astype(dtype)
    product = matmul(gaussian, "radial", (0.7,), X, Z, V)
    K = tile(gaussian, "radial", (0.7,), X, Z).astype(np.float64)
    assert product.dtype == dtype
    assert np.all(np.abs(product - K @ V) <= 16 * np.finfo(dtype).eps * (K @ np.abs(V)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("d", "n_outputs"), [(3, 40), (50, 3), (200, 40), (600, 3)])
@pytest.mark.parametrize("kind", ["radial", "dot"])
def test_one_row_has_the_values_and_the_products_that_it_has_among_many(
    kind, d, n_outputs, dtype, rng
):
    X, Z = points(dtype, d, rng)
    V = rng.normal(size=(len(Z), n_outputs)).astype(dtype)
    given = {"radial": (gaussian, "radial", (0.7,)), "dot": (cubic, "dot", (0.5, 1.0))}[kind]
    error = 40 * np.finfo(dtype).eps
    np.testing.assert_allclose(tile(*given, X[:1], Z), tile(*given, X, Z)[:1], rtol=error)
    one, all_rows = matmul(*given, X[:1], Z, V), matmul(*given, X, Z, V)
    np.testing.assert_allclose(one, all_rows[:1], atol=error * np.abs(V).sum(axis=0).max())


def test_sums_across_tiles_do_not_lose_float32_digits(rng):
    # a float32 running sum of 200 000 ones and halves loses three digits
    X, Z = np.zeros((1, 2), np.float32), np.zeros((200_000, 2), np.float32)
    V = rng.choice([1.0, 1.5], size=(200_000, 1)).astype(np.float32)
    product = matmul(gaussian, "radial", (1.0,), X, Z, V)[0, 0]
    assert abs(product / V.sum(dtype=float) - 1) <= np.finfo(np.float32).eps


@pytest.mark.parametrize("d", [3, 50, 600])
@pytest.mark.parametrize("kind", ["radial", "dot"])
def test_results_are_the_same_bit_for_bit_on_any_number_of_threads(d, kind, rng):
    X, Z = points(np.float32, d, rng, 700, 1100)
    V, W = rng.normal(size=(1100, 2)), rng.normal(size=(700, 1100))
    results = []
    for threads in (1, 2, 4):
        with limit_threads(threads):
            block = (gaussian, kind, (0.7,), X, Z)
            parts = tile(*block), matmul(*block, V), gradient(*block, W)
            results.append([part.tobytes() for part in parts])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", [3, 50, 600])
def test_a_block_of_points_with_themselves_is_symmetric_with_an_exact_diagonal(dtype, d, rng):
    X = (rng.normal(size=(1100, d)) + 10).astype(dtype)
    K = tile(exponential, "radial", (1.0,), X, X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1)
    np.testing.assert_array_equal(
        matmul(exponential, "radial", (1e-6,), X, X, np.eye(1100, 1)), np.eye(1100, 1)
    )
    P = tile(cubic, "dot", (0.1, 1.0), X, X)
    np.testing.assert_array_equal(P, P.T)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("kind", ["radial", "dot"])
def test_a_gradient_is_the_sum_of_its_pairs(dtype, d, kind, rng):
    X, Z = points(dtype, d, rng, 40, 1100)
    W = rng.normal(size=(40, 1100))
    G = gradient(gaussian, kind, (0.7,), X, Z, W)
    Xl, Zl = X.astype(np.longdouble), Z.astype(np.longdouble)
    s = sqdist(X, Z) if kind == "radial" else Xl @ Zl.T
    Q = -np.longdouble(dtype(0.7)) * np.exp(-np.longdouble(dtype(0.7)) * s) * W
    exact = 2 * (Q.sum(1)[:, None] * Xl - Q @ Zl) if kind == "radial" else Q @ Zl
    size = np.max(np.abs(Q) @ (1 + np.abs(Zl)))
    assert G.dtype == dtype
    assert np.max(np.abs(G - exact)) <= 16 * np.finfo(dtype).eps * size
    np.testing.assert_array_equal(G, gradient(gaussian, kind, (0.7,), X, Z, lambda rows: W[rows]))


@pytest.mark.parametrize("d", [3, 50])
def test_a_gradient_agrees_with_differences_of_the_product(d, rng):
    X, Z = points(np.float64, d, rng, 5, 600)
    w = rng.normal(size=(600, 1))
    G = gradient(gaussian, "radial", (0.7,), X, Z, np.broadcast_to(w.T, (5, 600)))
    direction = rng.normal(size=X.shape)
    step = 1e-5
    ahead, behind = (
        matmul(gaussian, "radial", (0.7,), X + h * direction, Z, w) for h in (step, -step)
    )
    np.testing.assert_allclose(
        (G * direction).sum(1), (ahead - behind)[:, 0] / (2 * step), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("d", [3, 50])
def test_a_kink_adds_nothing_to_a_gradient(d, rng):
    X = rng.normal(size=(30, d))
    alone = gradient(exponential, "radial", (1.0,), X, X, np.eye(30))
    np.testing.assert_array_equal(alone, np.zeros((30, d)))
    assert np.isfinite(gradient(exponential, "radial", (1.0,), X, X, np.ones((30, 30)))).all()


def test_values_that_are_not_finite_stay_in_their_row(rng):
    X, Z = points(np.float64, 20, rng)
    X[3, 4], X[5, 6] = np.nan, np.inf
    clean = np.delete(np.arange(len(X)), [3, 5])
    K = tile(gaussian, "radial", (0.7,), X, Z)
    assert np.isnan(K[3]).all()
    np.testing.assert_array_equal(K[clean], tile(gaussian, "radial", (0.7,), X, Z)[clean])
    assert np.isfinite(K[clean]).all()


@pytest.mark.parametrize(("n", "m", "d"), [(0, 5, 2), (5, 0, 2), (3, 4, 0), (0, 0, 30), (1, 1, 1)])
@pytest.mark.parametrize("kind", ["radial", "dot"])
def test_empty_blocks_have_their_shape(n, m, d, kind):
    X, Z = np.ones((n, d)), np.ones((m, d))
    block = (gaussian, kind, (0.7,), X, Z)
    s = 0.0 if kind == "radial" else float(d)
    np.testing.assert_allclose(tile(*block), np.full((n, m), np.exp(-0.7 * s)))
    np.testing.assert_allclose(
        matmul(*block, np.ones((m, 2))), np.full((n, 2), m * np.exp(-0.7 * s))
    )
    assert gradient(*block, np.ones((n, m))).shape == (n, d)


@pytest.mark.parametrize("cuts", [(0, 100), (0, 31, 33, 100), (0, 64, 100)])
def test_pieces_mirror_the_lower_triangle(cuts):
    K = np.random.default_rng(0).random((100, 100))
    mirrored = K.copy()
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        mirror(mirrored, start, stop)
    np.testing.assert_array_equal(mirrored, np.tril(K) + np.tril(K, -1).T)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", [9, 50, 600])
def test_nearly_equal_points_keep_their_digits_under_a_profile_with_a_kink(dtype, d, rng):
    eps = float(np.finfo(dtype).eps)
    X = rng.normal(size=(40, d)).astype(dtype)
    # |x - z|^2 from eps^2 up to a share of |x|^2 + |z|^2, less what rounding may add to it before it is compared
    largest = 0.95 * np.sqrt(CLOSE_SHARES[np.finfo(dtype).bits] - 6 * eps)
    size = np.sqrt(2 * (X.astype(float) ** 2).sum(axis=1, keepdims=True))
    step = rng.normal(size=X.shape)
    step *= (
        size * np.geomspace(eps, largest, 40)[:, None] / np.linalg.norm(step, axis=1, keepdims=True)
    )
    Z = (X + step).astype(dtype)
    u = np.sqrt(sqdist(X, Z).diagonal()) * 100
    K = tile(exponential, "radial", (0.01,), X, Z).diagonal()
    np.testing.assert_allclose(
        K, np.exp(-u).astype(float), rtol=8 * eps * d, atol=np.finfo(dtype).tiny
    )


@pytest.mark.parametrize(("dtype", "distance"), [(np.float32, 1e3), (np.float64, 1e6)])
@pytest.mark.parametrize("d", [9, 50, 600])
@pytest.mark.parametrize("profile", [gaussian, exponential, plateau])
def test_values_within_clusters_far_apart_keep_their_digits(profile, d, dtype, distance, rng):
    X, Z = points(dtype, d, rng)
    X[::2] += dtype(distance)
    Z[::2] += dtype(distance)
    centre = Z.mean(axis=0, dtype=np.float64)
    X, Z = (X - centre).astype(dtype), (Z - centre).astype(dtype)
    exact = profile(np, sqdist(X, Z), 0.5)
    error = {np.float32: 1e-5, np.float64: 1e-9}[dtype]
    assert np.abs(tile(profile, "radial", (0.5,), X, Z) - exact).max() <= error
    product = matmul(profile, "radial", (0.5,), X, Z, np.ones((len(Z), 1), dtype))
    np.testing.assert_allclose(product[:, 0], exact.sum(axis=1).astype(float), rtol=error)


def test_squared_distances_a_little_below_0_are_0(rng):
    X = rng.normal(size=(200, 40)).astype(np.float32)
    Z = np.nextafter(X, np.float32(np.inf))
    assert tile(gaussian, "radial", (1e3,), X, Z).max() <= 1


@pytest.mark.parametrize("kind", ["radial", "dot"])
@pytest.mark.parametrize("cuts", [(0, 1100), (0, 3, 515, 1100), (0, 512, 512, 1100)])
def test_products_of_pieces_stand_side_by_side(kind, cuts, rng):
    X, Z = points(np.float64, 12, rng, 20)
    V = rng.normal(size=(1100, 2))
    pieces = [slice(start, stop) for start, stop in zip(cuts[:-1], cuts[1:], strict=True)]
    K = tile(gaussian, kind, (0.7,), X, Z)
    found = matmul(gaussian, kind, (0.7,), X, Z, V, pieces)
    np.testing.assert_allclose(
        found, np.hstack([K[:, piece] @ V[piece] for piece in pieces]), rtol=1e-10, atol=1e-12
    )


def test_the_copy_of_z_is_kept_by_kind_and_serves_all_pieces(rng):
    X, Z = points(np.float64, 12, rng, 20)
    V, kept = rng.normal(size=(1100, 1)), {}

    def keep(key, function):
        if key not in kept:
            kept[key] = function()
        return kept[key]

    for _ in range(2):
        for kind in ("radial", "dot"):
            for pieces in (None, [slice(0, 7), slice(7, 1100)]):
                expected = matmul(gaussian, kind, (0.7,), X, Z, V, pieces)
                plan = loops.Plan(loops.Formula(gaussian, kind, (0.7,), X, Z), keep=keep)
                np.testing.assert_array_equal(loops.products(plan, V, pieces), expected)
    assert len(kept) == 2
