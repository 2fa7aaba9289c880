"""Failures of other libraries do not occur here: floating point (A), bandwidth rules (B), input (D), state (E)."""

import os
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference import naive
from tests.reference.instances import KERNELS, ROWS

import mercer as mc

RNG = np.random.default_rng(7)
BASE = RNG.standard_normal((40, 3))
X = RNG.random((20, 3))
RADIAL = [mc.Gaussian(0.8), mc.Matern(1.2, nu=2.5), mc.RationalQuadratic(1.1), mc.Cauchy(0.7)]
# all computations of a block, which must agree with the same oracle
ROUTES = {
    "k(X, Z)": lambda k, A, B: k(A, B),
    "Gram.dense": lambda k, A, B: mc.Gram(k, A, B).dense(),
    "Gram @ I": lambda k, A, B: mc.Gram(k, A, B) @ np.eye(len(B)),
    "features(X)": lambda k, A, B: mc.features(k, B)(A),
    "sparse": lambda k, A, B: k(sp.csr_array(A), sp.csr_array(B)),
    "sparse and dense": lambda k, A, B: k(sp.csr_array(A), B),
}


def _bound(kernel_gamma, points):
    eps = np.finfo(points.dtype).eps
    least = 1e-12 if points.dtype == np.float64 else 1e-6
    return least + 4 * eps * kernel_gamma * naive.radius(points) ** 2


# --- A1 to A6: distances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("offset", [0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a1_kernels_of_distances_are_accurate_at_every_offset(dtype, offset, route):
    points = (BASE + offset).astype(dtype)
    A, B = points[:25], points[15:]
    for kernel in RADIAL:
        error = abs(ROUTES[route](kernel, A, B) - naive.gram(kernel, A, B)).max()
        assert error <= _bound(1.0, points)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("gamma", [1.0, 10.0, 100.0])
def test_a2_map_coordinates_give_the_kernel_of_their_differences(gamma, route):
    points = np.array([5e5, 5.4e6]) + RNG.random((60, 2))
    kernel = mc.Gaussian(gamma)
    error = abs(
        ROUTES[route](kernel, points[:40], points[20:])
        - naive.gram(kernel, points[:40], points[20:])
    ).max()
    assert error <= _bound(gamma, points)
    assert np.linalg.eigvalsh(kernel(points)).min() > -1e-12


@pytest.mark.parametrize("route", ROUTES)
def test_a2_unix_times_give_the_kernel_of_their_differences(route):
    times = 1.7e9 + np.sort(RNG.random(50) * 60).reshape(-1, 1)
    kernel = mc.Gaussian(0.01)
    error = abs(
        ROUTES[route](kernel, times[:30], times[10:]) - naive.gram(kernel, times[:30], times[10:])
    ).max()
    assert error <= _bound(0.01, times)
    np.testing.assert_allclose(mc.Gaussian(1.0)([[1e9]], [[1e9 + 1]]), [[np.exp(-1)]], rtol=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_a3_training_and_prediction_compute_the_same_kernel(name):
    kernel = ROWS[name]
    coef = np.cos(np.arange(20.0))
    psi = mc.Expansion(kernel, X, coef)
    at_fit = mc.Gram(kernel, X).dense() @ coef
    np.testing.assert_allclose(psi(X.copy())[:, 0], at_fit, atol=1e-12 * abs(at_fit).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a4_kernels_of_distances_lie_between_zero_and_one(dtype):
    points = (1e3 * RNG.standard_normal((100, 5)) + 1e6).astype(dtype)
    for kernel in [*RADIAL, mc.Laplacian(1e-3)]:
        for K in (kernel(points), mc.Gram(kernel, points, points[::-1]).dense()):
            assert K.min() >= 0
            assert K.max() <= 1


@pytest.mark.parametrize("name", KERNELS)
def test_a5_a6_diagonals_are_exact_and_blocks_symmetric_to_the_last_bit(name):
    kernel = KERNELS[name]
    for points in (X, X.astype(np.float32), np.vstack([X, X])):
        for K in (kernel(points), mc.Gram(kernel, points).dense()):
            assert (K == K.T).all()
        tolerance = 64 * np.finfo(K.dtype).eps
        np.testing.assert_allclose(np.diagonal(K), kernel.diag(points), rtol=tolerance)


def test_a5_results_do_not_depend_on_the_number_of_threads():
    from threadpoolctl import threadpool_limits

    points, V = RNG.standard_normal((300, 40)), RNG.standard_normal((300, 2))
    results = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            G = mc.Gram(mc.Gaussian(0.02), points)
            results.append((G.dense(), G @ V))
    for K, product in results[1:]:
        np.testing.assert_allclose(K, results[0][0], rtol=0, atol=1e-15)
        np.testing.assert_allclose(product, results[0][1], rtol=1e-12, atol=1e-12)


# --- A7 to A16: overflow, bandwidths, zeros, definiteness ------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e30, 1e100, 1e150, 1e200, 1e300])
def test_a7_huge_and_tiny_rows_give_finite_values_or_an_error_with_a_remedy(name, scale):
    kernel, points = ROWS[name], X * scale
    for use in (
        lambda: kernel(points),
        lambda: kernel.diag(points),
        lambda: mc.Gram(kernel, points) @ np.ones(20),
    ):
        try:
            values = use()
        except ValueError as error:
            values = np.zeros(1) if "scale X" in str(error) else np.array([np.nan])
        assert np.isfinite(values).all()


def test_a9_extreme_bandwidths_underflow_to_zero_and_one_never_to_nan():
    for gamma in (1e-300, 1e-30, 1e30, 1e300):
        K = mc.Gaussian(gamma)(X)
        assert np.isfinite(K).all()
        assert (np.diagonal(K) == 1).all()


def test_a11_scale_does_not_depend_on_the_storage_of_rows():
    for offset in (0, 1e4, 1e8, 1e9):
        dense, sparse = (
            mc.Gaussian().resolve(make(BASE + offset)).gamma for make in (np.asarray, sp.csr_array)
        )
        assert sparse == pytest.approx(dense, rel=1e-12)


def test_a12_zero_rows_have_no_direction():
    K = mc.Normalized(mc.Linear())(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(K, [[0, 0], [0, 1]])


@pytest.mark.parametrize("name", [name for name in ROWS if ROWS[name].tags.positive_semidefinite])
def test_a14_repeated_rows_leave_no_eigenvalue_below_rounding(name):
    repeated = np.repeat(X[:7], 4, axis=0)
    eigenvalues = np.linalg.eigvalsh(ROWS[name](repeated))
    assert eigenvalues[0] >= -len(repeated) * np.finfo(float).eps * eigenvalues[-1]


def test_a15_no_floating_point_warning_escapes():
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for kernel in ROWS.values():
            kernel(np.vstack([X, 0 * X]))
            mc.Gram(kernel, np.vstack([X, 0 * X])) @ np.ones(40)


# --- B17 --------------------------------------------------------------------------------------------------------------


def test_b17_a_rule_is_resolved_once_and_equals_the_number_it_gave_to_the_last_bit():
    resolved = mc.Gaussian().resolve(X)
    assert resolved == mc.Gaussian(resolved.gamma)
    assert (resolved(X) == mc.Gaussian(1 / (3 * X.var()))(X)).all() or resolved.gamma != 1 / (
        3 * X.var()
    )
    assert resolved.resolve(100 * X) is resolved


# --- D: input ---------------------------------------------------------------------------------------------------------

CONTAINERS = {
    "Fortran": np.asfortranarray,
    "reversed twice": lambda A: A[::-1, ::-1].copy()[::-1, ::-1],
    "every second": lambda A: np.repeat(A, 2, axis=0)[::2],
    "big-endian": lambda A: A.astype(A.dtype.newbyteorder(">")),
    "unaligned": lambda A: (
        np.frombuffer(b"x" + A.tobytes(), np.uint8)[1:].view(A.dtype).reshape(A.shape)
    ),
    "list": lambda A: A.tolist(),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", ROWS)
def test_d9_d10_layout_and_byte_order_change_no_value(name, container):
    kernel, other = ROWS[name], CONTAINERS[container](X)
    np.testing.assert_allclose(kernel(other), kernel(X), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(
        mc.Gram(kernel, other) @ np.ones(20), mc.Gram(kernel, X) @ np.ones(20), rtol=1e-13
    )


def test_d9_read_only_and_mapped_rows_are_accepted_and_never_changed(tmp_path):
    np.save(tmp_path / "X.npy", X)
    frozen = X.copy()
    frozen.flags.writeable = False
    for points in (frozen, np.load(tmp_path / "X.npy", mmap_mode="r")):
        for kernel in ROWS.values():
            kernel(points)
            kernel.diag(points)
            mc.Expansion(kernel, points, np.ones(20))(points)
        np.testing.assert_array_equal(points, X)


@pytest.mark.parametrize("name", [name for name in ROWS if ROWS[name].tags.sparse])
def test_d11_d12_sparse_rows_of_every_kind_give_the_dense_values(name):
    kernel, Z = ROWS[name], X * (X > 0.4)
    wide = sp.csr_array(Z)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    rows, columns = np.nonzero(Z)
    halves = sp.coo_array(
        (np.tile(Z[rows, columns] / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))), Z.shape
    )
    zeros = sp.csr_array(X)
    zeros.data[X.ravel() <= 0.4] = 0
    for S in (wide, halves, zeros, sp.csc_matrix(Z), sp.bsr_array(Z)):
        np.testing.assert_allclose(kernel(S, X), kernel(Z, X), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(
            mc.Expansion(kernel, X, np.ones(20))(S), kernel(Z, X).sum(1)[:, None], rtol=1e-11
        )
        np.testing.assert_allclose(
            mc.Expansion(kernel, S, np.ones(20))(X), kernel(X, Z).sum(1)[:, None], rtol=1e-11
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda k, bad: k(bad),
        lambda k, bad: k(X, bad),
        lambda k, bad: k.diag(bad),
        lambda k, bad: mc.Gram(k, bad),
        lambda k, bad: mc.features(k, bad),
        lambda k, bad: mc.features(k, X)(bad),
        lambda k, bad: mc.features(k, X).gradient(bad),
        lambda _, bad: mc.Gaussian().resolve(bad),
    ],
    ids=["k(X)", "k(X, Z)", "diag", "Gram", "features", "psi(X)", "gradient", "resolve"],
)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda A: np.where(np.arange(3) == 1, np.nan, A), r"NaN at \(0, 1\)"),
        (lambda A: np.where(np.arange(3) == 2, np.inf, A), r"infinity at \(0, 2\)"),
        (lambda A: A[0], r"two dimensions .* got shape \(3,\)"),
        (lambda A: A[:0], r"at least one row and one column, got shape \(0, 3\)"),
    ],
    ids=["NaN", "inf", "1-D", "empty"],
)
def test_d1_d15_bad_rows_raise_an_error_with_their_place_in_every_function(make, damage, message):
    with pytest.raises(ValueError, match=message):
        make(mc.Gaussian(1.0), damage(X))


def test_d8_kernels_and_expansions_keep_their_arrays_unchanged():
    weights = np.array([1.0, 2.0, 3.0])
    kernel = mc.Mapped(mc.Gaussian(1.0), weights)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    psi = mc.features(kernel, X)
    with pytest.raises(ValueError, match="read-only"):
        psi.points[0, 0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        (psi @ np.ones((20, 1))).coef[0, 0] = 5.0


def test_d13_errors_show_one_value_and_no_rows():
    secret = X.copy()
    secret[3, 1] = np.nan
    for bad in (secret, secret.astype(complex), np.array([["secret word"]]), -X):
        with pytest.raises((ValueError, TypeError)) as caught:
            mc.Chi2(1.0)(bad)
        assert "secret word" not in str(caught.value)
        assert sum(f"{number:.4f}"[:6] in str(caught.value) for number in X.ravel()) <= 1


def test_d18_repeated_rows_are_one_point_of_feature_space():
    repeated = np.repeat(X[:5], 100, axis=0)
    phi = mc.features(mc.Gaussian(1.0), repeated)
    assert np.linalg.matrix_rank(mc.Gram(mc.Gaussian(1.0), repeated).dense(), tol=1e-10) == 5
    assert mc.mmd(phi, mc.features(mc.Gaussian(1.0), X[:5])) < 1e-7


# --- E: processes and memory ------------------------------------------------------------------------------------------


def test_e9_a_block_beyond_the_limit_raises_an_error_before_it_is_computed():
    points = np.zeros((200_000, 1))
    with pytest.raises(
        MemoryError,
        match=r"200000 x 200000 values of float64 needs 320.* budget is 1.*Gram\(...\) @ V",
    ):
        mc.Gram(mc.Gaussian(1.0), points).dense()
    assert mc.Gram(mc.Gaussian(1.0), points[:10], memory=800).dense().nbytes == 800
    with pytest.raises(MemoryError):
        mc.Gram(mc.Gaussian(1.0), points[:10], memory=799).dense()


def test_e10_products_of_long_blocks_keep_no_block():
    import tracemalloc

    points = RNG.standard_normal((6000, 3))
    G = mc.Gram(mc.Gaussian(1.0), points)
    G @ np.ones(6000)
    tracemalloc.start()
    G @ np.ones(6000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * 8 * 6000**2


def test_e17_e18_e19_evaluation_leaves_random_state_warnings_and_environment_alone():
    state, filters, errors, environment = (
        np.random.get_state(),
        warnings.filters[:],
        np.geterr(),
        dict(os.environ),
    )
    for kernel in ROWS.values():
        mc.features(kernel, X)(X)
        mc.Gram(kernel, X) @ np.ones(20)
    assert all(np.array_equal(a, b) for a, b in zip(state, np.random.get_state(), strict=True))
    assert (warnings.filters, np.geterr(), dict(os.environ)) == (filters, errors, environment)


def test_e17_the_same_call_gives_the_same_bits():
    for kernel in ROWS.values():
        first, second = (mc.Gram(kernel, X.copy()) @ np.eye(20) for _ in range(2))
        assert (first == second).all()
