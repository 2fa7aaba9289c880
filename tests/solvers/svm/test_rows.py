"""Kernel rows: values of the kernel by every method, in float32 only where its rounding does not matter."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from tests.solvers.svm import oracle
from tests.solvers.svm.rounding import error_of_distances

import mercer as mc
from mercer.solvers.svm import Dual, Options, rows_of, solve_dual
from mercer.solvers.svm.rows import KnownRows

N = 300
CONTAINERS = pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
ACCURACIES = pytest.mark.parametrize(
    ("accuracy", "dtype"), [(np.inf, np.float32), (0.0, np.float64)]
)
GAUSSIAN = mc.Gaussian(0.1)
KERNELS = [
    GAUSSIAN,
    mc.Polynomial(2, 0.5, 1),
    mc.Matern(3.0, 0.5),
    mc.Linear(),
    GAUSSIAN + mc.Linear(),
    2.0 * GAUSSIAN,
    0.5 * (GAUSSIAN + 3.0 * mc.Cauchy(0.2)) + mc.Gaussian(2.0) + 1.5,
    2.0 * mc.Linear() + 1.0,
    mc.Matern(3.0, 0.5) + GAUSSIAN,
    mc.Cauchy(0.2) * mc.Linear(),
]


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((N, 12))


def scarce(seed, n=N):
    return sp.random_array((n, 40), density=0.15, rng=np.random.default_rng(seed), format="csr")


def columns_of(rows, J, R):
    """Return the values of points R with points J as a solver asks for them."""
    out = np.full((len(R), len(J)), np.nan, rows.dtype)
    rows.columns(J)(R, out)
    return out


@CONTAINERS
@ACCURACIES
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_method_returns_the_values_of_the_kernel(kernel, wrap, accuracy, dtype, points):
    rows, K = rows_of(kernel, wrap(points), accuracy), kernel(points)
    tolerance, size = 300 * np.finfo(rows.dtype).eps, np.abs(K).max()
    if accuracy == 0:
        assert rows.dtype == dtype
    asked = np.array([3, 200, 77, *range(100, 190)])
    for chosen in (
        np.arange(7, 280),
        np.arange(240, 7, -1),
        np.array([30, 5, 4, 299]),
        np.array([9]),
    ):
        expected = K[np.ix_(asked, chosen)]
        for _ in range(2):
            # nothing that is stored changes
            np.testing.assert_allclose(
                columns_of(rows, chosen, asked), expected, atol=tolerance * size
            )
        square = rows.square(chosen)
        np.testing.assert_array_equal(square, square.T)
        np.testing.assert_allclose(square, K[np.ix_(chosen, chosen)], atol=tolerance * size)
        for weights in (
            np.linspace(-1, 1, len(chosen)),
            np.random.default_rng(0).standard_normal((len(chosen), 3)),
        ):
            for product, limit in ((rows.product, 30 * tolerance), (rows.exact_product, 1e-12)):
                found = product(asked, chosen, weights)
                assert found.dtype == np.float64
                assert found.shape == (len(asked), *weights.shape[1:])
                np.testing.assert_allclose(
                    found, expected @ weights, rtol=0, atol=limit * size * len(chosen) ** 0.5
                )
    np.testing.assert_allclose(rows.diagonal, K.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("kernel", [GAUSSIAN, mc.Polynomial(2), mc.Matern(3.0, 0.5)], ids=str)
def test_points_are_not_changed_in_place(kernel, points):
    before = points.copy()
    rows = rows_of(kernel, points, np.inf)
    rows.exact_product(np.arange(N), np.arange(N), np.ones(N))
    rows.square(np.arange(N))
    np.testing.assert_array_equal(points, before)


@pytest.mark.parametrize("kernel", [GAUSSIAN, mc.Polynomial(2, 0.5, 1), mc.Cauchy(0.3)], ids=str)
@ACCURACIES
def test_rows_of_sparse_points_are_those_of_dense_ones(kernel, accuracy, dtype, global_random_seed):
    X = scarce(global_random_seed)
    rows, K, everything = rows_of(kernel, X, accuracy), kernel(X.toarray()), np.arange(N)
    assert rows.dtype == dtype
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(columns_of(rows, everything, everything), K, atol=tolerance)
    np.testing.assert_allclose(
        rows.product(everything, everything[50:], np.ones(250)), K[:, 50:].sum(axis=1), rtol=1e-4
    )


def test_many_sparse_points_are_multiplied_in_parts():
    X = scarce(0, 2300)
    rows, weights = rows_of(GAUSSIAN, X, 0.0), np.linspace(-1, 2, 2250)
    found = rows.product(np.arange(2300), np.arange(50, 2300), weights)
    np.testing.assert_allclose(found, GAUSSIAN(X)[:, 50:] @ weights, atol=1e-9)


@pytest.mark.parametrize("kernel", [GAUSSIAN, 0.5 * GAUSSIAN + mc.Cauchy(0.2)], ids=str)
@pytest.mark.parametrize("n", [1, 128, 1100])
def test_values_do_not_depend_on_the_number_of_threads(n, kernel, using_threads):
    X, found = np.random.default_rng(0).standard_normal((1100, 12)), []
    for count in (1, 3):
        with using_threads(count):
            rows, weights = rows_of(kernel, X, 0.0), np.linspace(0, 1, n)
            values = columns_of(rows, np.arange(1100), np.arange(n))
            found.append((values, rows.product(np.arange(1100), np.arange(n), weights)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][0], kernel(X[:n], X), atol=1e-13)


# --- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda n: np.random.default_rng(1).standard_normal((n, 12)), lambda n: scarce(1, n)]
)
def test_rows_are_float32_only_where_they_are_many_and_their_rounding_does_not_matter(make):
    X = make(1001)
    assert rows_of(GAUSSIAN, X, 1e-5).dtype == np.float32
    assert rows_of(GAUSSIAN, X, 1e-12).dtype == np.float64
    assert rows_of(GAUSSIAN, X, 0.0).dtype == np.float64
    assert rows_of(GAUSSIAN, X[:256], np.inf).dtype == np.float64


def test_the_accuracy_is_the_root_mean_square_of_the_rounding(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((1300, 5))
    low, high = 1e-12, 1.0
    # the least accuracy that float32 has
    while high > 1.01 * low:
        middle = np.sqrt(low * high)
        low, high = (
            (low, middle) if rows_of(GAUSSIAN, X, middle).dtype == np.float32 else (middle, high)
        )
    some = np.arange(0, 1300, 3)
    rounding = columns_of(rows_of(GAUSSIAN, X, np.inf), some, some) - GAUSSIAN(X[some])
    np.fill_diagonal(rounding, 0)
    assert high == pytest.approx(np.sqrt(np.mean(rounding**2)), rel=0.5)


@ACCURACIES
@CONTAINERS
def test_distances_of_nearly_equal_points_are_exact_where_the_kernel_has_a_kink(
    wrap, accuracy, dtype, points
):
    noise, X = np.random.default_rng(1).standard_normal((80, 12)), points[:80]
    X = np.concatenate([X, X + 1e-3 * noise, X + 1e-7 * noise, X * (1 + 4e-16)]).astype(dtype)
    rows = rows_of(mc.Matern(3.0, 0.5), wrap(X), accuracy)
    found = columns_of(rows, np.arange(320), np.arange(320))
    distances = np.sqrt(((X[:, None].astype(np.longdouble) - X) ** 2).sum(axis=2))
    # the slope of the kernel is at most 1/3, and its values are at most 1
    error = error_of_distances(X, np.arange(320), rows.dtype) / 3 + 4 * np.finfo(rows.dtype).eps
    assert (np.abs(found - np.exp(-distances / 3)) <= error).all()


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float32, 1e6), (np.float64, 1e6), (np.float64, 1e12)]
)
@pytest.mark.parametrize("n", [100, 300])
def test_one_row_far_from_all_others_does_not_take_their_digits(n, dtype, size, global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((n, 10)).astype(dtype)
    X[7] += dtype(size)
    everything, exact = np.arange(n), oracle.gaussian(X, 0.1).astype(float)
    rows = rows_of(GAUSSIAN, X, 1e-6)
    found = columns_of(rows, everything, everything)
    # the solver has the diagonal
    np.fill_diagonal(found, rows.diagonal)
    assert abs(found - exact).max() < 1e-5
    others = np.delete(everything, 7)
    assert abs(rows.exact_product(others, everything, np.eye(n)) - exact[others]).max() < 1e-12


@pytest.mark.parametrize("gamma", [1e39, 1e300])
def test_parameters_beyond_float32_are_its_largest(gamma):
    X = np.repeat(np.random.default_rng(0).integers(9, size=(150, 4)), 2, axis=0).astype(float)
    found = columns_of(rows_of(mc.Gaussian(gamma), X, np.inf), np.arange(300), np.arange(300))
    # products round squared distances of equal rows
    different = (X[:, None] != X).any(axis=2)
    assert np.isfinite(found).all()
    assert not found[different].any()


@pytest.mark.parametrize("n", [40, 600])
@pytest.mark.parametrize(
    "kernel", [2.0 * mc.Gaussian(2e-4), mc.Gaussian(2e-4) * mc.Gaussian(1e-6)], ids=str
)
def test_float32_rows_of_a_sum_or_product_are_float64_where_distances_are_rounded(n, kernel):
    # distances just too large to be computed from differences
    places = np.linspace(-500, 500, n // 2)
    points = np.concatenate([places, places + 40.0])[:, None].astype(np.float32)
    rows = rows_of(kernel, points, 1e-7)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(
        rows.square(np.arange(n)), kernel(points.astype(np.float64)), atol=1e-12
    )
    if n > 256:
        assert rows_of(kernel, points, 1.0).dtype == np.float32


def test_rows_of_a_given_matrix_are_its_values_in_any_order(points):
    for dtype in (np.float32, np.float64):
        K, order = GAUSSIAN(points).astype(dtype), np.random.default_rng(1).permutation(N) - N
        rows, J = rows_of(mc.Precomputed(K), order, 1e-8), np.array([4, 5, 30])
        expected = K[np.ix_(order, order)]
        np.testing.assert_array_equal(rows.square(np.arange(3, 20)), expected[3:20, 3:20])
        np.testing.assert_array_equal(columns_of(rows, J, np.arange(N)), expected[:, J])
        np.testing.assert_allclose(
            rows.product(J, np.arange(N), np.ones(N)), expected[J].sum(axis=1), rtol=1e-5
        )
        np.testing.assert_array_equal(rows.diagonal, expected.diagonal())


def test_a_ridge_is_added_where_a_point_meets_itself_and_not_its_copy(points):
    points[3] = points[0]
    ridge = np.arange(1, N + 1) / 7
    expected = GAUSSIAN(points) + np.diag(ridge)
    target, bound = np.sin(np.arange(N)), np.full(N, np.inf)
    dual = Dual(target, -bound, bound, np.zeros(N), np.arange(N), 0.1, ridge)
    for kernel in (GAUSSIAN, 0.5 * GAUSSIAN + 0.5 * GAUSSIAN):
        rows = rows_of(kernel, points, np.inf, ridge)
        np.testing.assert_allclose(rows.diagonal, expected.diagonal(), atol=1e-13)
        found = solve_dual(rows, dual, Options(1e-8))
        assert found.certificate.gap < 1e-6
        np.testing.assert_allclose(found.gradient, target - expected @ found.coef, atol=1e-12)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_model_of_a_given_matrix_is_that_of_its_kernel_in_any_order_of_rows(C, points):
    X, y, new = points[:50], np.tile([2, 0, 1, 0, 1], 10), points[:5] + 0.1
    expected = mc.SVC(C, kernel=GAUSSIAN, tol=1e-8).fit(X, y).decision_function(new)
    given = mc.SVC(C, kernel="precomputed", tol=1e-8).fit(GAUSSIAN(X), y)
    np.testing.assert_allclose(given.decision_function(GAUSSIAN(new, X)), expected, atol=1e-6)


@pytest.mark.parametrize("inner", [GAUSSIAN, mc.Matern(3.0, 0.5), mc.Linear()], ids=str)
@pytest.mark.parametrize("shape", [(12,), (3, 12)])
def test_a_kernel_of_mapped_points_has_the_coefficients_of_its_inner_kernel_on_their_images(
    inner, shape, points
):
    A = np.random.default_rng(1).standard_normal(shape)
    y = np.sign(points[:, 0] + 0.3 * points[:, 1])
    mapped = mc.SVC(kernel=mc.Mapped(inner, A)).fit(points, y)
    images = points * A if A.ndim == 1 else points @ A.T
    plain = mc.SVC(kernel=inner).fit(images, y)
    np.testing.assert_array_equal(mapped.dual_coef_, plain.dual_coef_)
    np.testing.assert_allclose(
        mapped.decision_function(points), plain.decision_function(images), rtol=1e-10, atol=1e-10
    )


def test_a_few_columns_of_known_values_are_read_without_copies_of_whole_rows():
    K = GAUSSIAN(np.random.default_rng(0).standard_normal((2000, 3)))
    rows = KnownRows.of(rows_of(mc.Precomputed(K), np.arange(2000), np.inf))
    J = np.arange(3, 2000, 100)
    R = np.arange(1, 2000, 7)
    out = np.empty((len(R), len(J)))
    write = rows.columns(J)
    tracemalloc.start()
    write(R, out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(out, K[np.ix_(R, J)])
    assert peak < 5 * out.nbytes


def test_rows_of_a_sum_of_kernels_are_computed_in_tiles_that_are_a_small_part_of_them(
    using_threads,
):
    X = np.random.default_rng(0).standard_normal((20_000, 3))
    kernel = 0.5 * GAUSSIAN + mc.Cauchy(0.2)
    R = np.arange(0, 20_000, 80)
    out = np.empty((len(R), len(X)), np.float32)
    with using_threads(2):
        write = rows_of(kernel, X, np.inf).columns(np.arange(len(X)))
        write(R[:1], out[:1])
        tracemalloc.start()
        write(R, out)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    np.testing.assert_allclose(out, kernel(X[R], X), atol=1e-5)
    assert peak < out.nbytes / 5
