import numpy as np
import pytest
import scipy.sparse as sp
from mercer.solvers.svm.plain_rows import PlainRows
from tests.solvers.svm.rounding import error_of_distances

import mercer as mc
from mercer.solvers.svm import rows as module
from mercer.solvers.svm.rows import FusedRows, SparseRows, rows_of, run


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((50, 12))


@pytest.mark.parametrize("chosen", [np.arange(7, 40), np.arange(40, 7, -1), np.array([3, 5, 4, 6]), np.array([9])])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_consecutive_and_of_scattered_points_are_the_same_numbers(points, chosen, dtype):
    for kernel in (mc.Gaussian(0.1), mc.Polynomial(2, 0.5, 1)):
        rows, out = FusedRows(kernel, points, dtype), np.empty((50, len(chosen)), dtype)
        for _ in range(2):
            # nothing that is stored changes
            rows.columns(chosen)(np.arange(50), out)
            np.testing.assert_allclose(out, kernel(points)[:50, chosen], atol=300 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", ["columns", "arguments"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_nearly_equal_points_are_exact_where_the_kernel_has_a_kink(points, dtype, kind):
    noise = np.random.default_rng(1).standard_normal(points.shape)
    X = np.concatenate([points, points + 1e-3 * noise, points + 1e-7 * noise, points * (1 + 4e-16)]).astype(dtype)
    rows, out = FusedRows(mc.Matern(3.0, 0.5), X, dtype), np.empty((200, 200), dtype)
    assert (rows.scalar, FusedRows(mc.Matern(3.0, 1.5), X, dtype).scalar) == ("kinked", "radial")
    assert FusedRows(mc.Polynomial(2), X, dtype).scalar == "dot"
    getattr(rows, kind)(np.arange(200))(np.arange(200), out)
    if dtype == np.float64:
        np.testing.assert_allclose(
            rows_of(rows.kernel, sp.csr_matrix(X), 1.0).square(np.arange(200)), rows.kernel(X), atol=1e-12
        )
    distances = np.sqrt(((X[:, None].astype(np.longdouble) - X) ** 2).sum(axis=2))
    found = out if kind == "columns" else np.exp(-np.sqrt(np.maximum(out, 0)) / 3)
    # the slope of the kernel is at most 1/3, and its values are at most 1
    error = error_of_distances(X, np.arange(200), dtype) / 3 + 4 * np.finfo(dtype).eps
    assert (np.abs(found - np.exp(-distances / 3)) <= error).all()


def test_products_are_those_of_the_kernel_matrix(points):
    kernel, weights = mc.Gaussian(0.1), np.linspace(-1, 1, 20)
    for rows in (
        FusedRows(kernel, points, np.float64),
        PlainRows(kernel, points),
        PlainRows(kernel, sp.csr_matrix(points)),
    ):
        product = rows.product(np.arange(5, 50), np.arange(20), weights)
        np.testing.assert_allclose(product, kernel(points)[5:50, :20] @ weights, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.1), mc.Polynomial(2), mc.Matern(3.0, 0.5)], ids=repr)
def test_exact_products_of_float32_rows_are_those_of_float64_values(points, kernel, container):
    X, weights = container(points + 3), np.linspace(-1, 1, 40).reshape(20, 2)
    rows, plain = rows_of(kernel, X, np.inf), PlainRows(kernel, X)
    expected = kernel(points + 3)[5:50, :20] @ weights
    size = np.abs(expected).max()
    for each in (rows, plain, FusedRows(kernel, points + 3, np.float32)):
        for W, column in ((weights, slice(None)), (weights[:, 1], 1)):
            found = each.exact_product(np.arange(5, 50), np.arange(20), W)
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, expected[:, column], rtol=0, atol=1e-11 * size)
    # the points are not centred in place
    assert abs(container(points + 3) - X).sum() == 0


def test_rows_are_float32_only_where_they_are_many_and_their_rounding_does_not_matter(global_random_seed):
    many = np.random.default_rng(global_random_seed).standard_normal((1001, 12))
    assert rows_of(mc.Gaussian(0.1), many, 1e-5).dtype == np.float32
    assert rows_of(mc.Gaussian(0.1), many, 1e-12).dtype == np.float64
    assert rows_of(mc.Gaussian(0.1), many[:256], 1e-5).dtype == np.float64


def test_products_of_columns_are_those_of_each_column(points):
    kernel, weights = mc.Gaussian(0.1), np.random.default_rng(0).standard_normal((20, 3))
    for rows in (FusedRows(kernel, points, np.float64), PlainRows(kernel, points)):
        product = rows.product(np.arange(5, 50), np.arange(20), weights)
        assert product.shape == (45, 3)
        for column, expected in zip(weights.T, product.T, strict=True):
            found = rows.product(np.arange(5, 50), np.arange(20), column)
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_error_of_float32_is_measured_on_128_points(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((1300, 5))
    rows, sample = rows_of(mc.Gaussian(0.1), X, 1e-5), np.linspace(0, 1299, 128).astype(int)
    narrow, wide = (FusedRows(mc.Gaussian(0.1), X[sample], dtype) for dtype in (np.float32, np.float64))
    blocks = [np.empty((128, 128), each.dtype) for each in (narrow, wide)]
    for each, block in zip((narrow, wide), blocks, strict=True):
        each.columns(np.arange(128))(np.arange(128), block)
    difference = (blocks[0] - blocks[1]) * (1 - np.eye(128))
    # measured without compiled code, whose float32 exp rounds otherwise
    np.testing.assert_allclose(rows.error, np.sqrt(np.mean(difference**2)), rtol=0.5)
    # the accuracy asked for is the limit
    assert rows_of(mc.Gaussian(0.1), X, rows.error).dtype == np.float32
    assert rows_of(mc.Gaussian(0.1), X, rows.error * 0.999).dtype == np.float64


def test_the_cost_of_a_value_is_the_length_of_a_row_and_its_norm(points):
    assert FusedRows(mc.Gaussian(0.1), points, np.float64).width == 14
    assert FusedRows(mc.Polynomial(2), points, np.float64).width == 12
    assert PlainRows(mc.Laplacian(0.1), points).width == 1


def test_a_ridge_is_added_to_the_rows(points):
    rows = rows_of(mc.Gaussian(0.1), points, 0.0, np.arange(50.0))
    expected = mc.Gaussian(0.1)(points) + np.diag(np.arange(50.0))
    np.testing.assert_allclose(rows.square(np.arange(50)), expected, atol=1e-14)
    np.testing.assert_allclose(rows.diagonal, 1 + np.arange(50.0))


def test_much_work_is_done_on_several_threads(monkeypatch):
    pool, done = [], []
    monkeypatch.setattr(module, "run_tasks", lambda _, n: pool.append(n))
    run(done.append, 3, 2**22 - 1)
    assert (pool, done) == ([], [0, 1, 2])
    run(done.append, 3, 2**22)
    assert pool == [3]


def test_the_work_of_rows_is_their_number_times_the_numbers_of_the_other_points(points, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "run", lambda _, n_tasks, work: asked.append((n_tasks, work)))
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    rows.columns(np.arange(40))(np.arange(7), np.empty((7, 40)))
    assert asked == [(1, 7 * 40 * 14)]
    # tiles hold 2^16 values: 128 rows of 512 columns, or all columns of a few rows
    many = FusedRows(mc.Gaussian(0.1), np.resize(points, (1100, 12)), np.float64)
    for taken in (1, 128, 1100):
        many.columns(np.arange(1100))(np.arange(taken), np.empty((taken, 1100)))
    assert [n_tasks for n_tasks, _ in asked[1:]] == [1, 3, 3]


def _sparse(seed, n=300):
    return sp.random_array((n, 40), density=0.15, rng=np.random.default_rng(seed), format="csr")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.7), mc.Polynomial(2, 0.5, 1)])
@pytest.mark.parametrize("chosen", [np.arange(7, 280), np.array([30, 5, 4, 299])])
def test_rows_of_sparse_points_are_those_of_the_kernel(global_random_seed, dtype, kernel, chosen):
    X = _sparse(global_random_seed)
    rows, K, tolerance = SparseRows(kernel, X, dtype), kernel(X.toarray()), 100 * np.finfo(dtype).eps
    asked = np.array([3, 200, 77, *range(100, 190)])
    out = np.full((len(asked), len(chosen)), np.nan, dtype)
    rows.columns(chosen)(asked, out)
    np.testing.assert_allclose(out, K[np.ix_(asked, chosen)], atol=tolerance)
    square = rows.square(chosen)
    np.testing.assert_array_equal(square, square.T)
    np.testing.assert_allclose(square, K[np.ix_(chosen, chosen)], atol=tolerance)
    np.testing.assert_allclose(rows.diagonal, K.diagonal(), rtol=1e-12)
    assert rows.dtype == square.dtype == dtype
    for weights in (np.linspace(-1, 1, len(chosen)), np.ones((len(chosen), 2))):
        found = rows.product(asked, chosen, weights)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, K[np.ix_(asked, chosen)] @ weights, atol=30 * tolerance)


def test_products_with_sparse_points_are_cut_into_tiles(global_random_seed, monkeypatch):
    X, kernel = _sparse(global_random_seed), mc.Gaussian(0.7)
    rows, weights = SparseRows(kernel, X, np.float64), np.linspace(-1, 2, 250)
    monkeypatch.setattr(module, "_TASK_COLUMNS", 70)
    monkeypatch.setattr(module, "_PRODUCT", 900)
    found = rows.product(np.arange(300), np.arange(50, 300), weights)
    np.testing.assert_allclose(found, kernel(X)[:, 50:] @ weights, atol=1e-11)


def test_sparse_points_have_float32_rows_where_they_are_many_and_cost_their_entries_in_common(global_random_seed):
    X = _sparse(global_random_seed, 400)
    assert isinstance(rows_of(mc.Gaussian(0.7), X, 1e-5), SparseRows)
    assert [rows_of(mc.Gaussian(0.7), X[:n], a).dtype for n, a in ((400, 1e-5), (400, 0.0), (256, 1.0))] == [
        np.float32, np.float64, np.float64,
    ]  # fmt: skip
    assert isinstance(rows_of(mc.Gaussian(0.7) + mc.Gaussian(0.1), X, 1e-5), PlainRows)
    common = (X.toarray() != 0).astype(float)
    assert SparseRows(mc.Gaussian(0.7), X, np.float64).width == max(1, int((common @ common.T).mean()))


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e6), (np.float64, 1e6), (np.float64, 1e12)])
@pytest.mark.parametrize("n", [100, 300])
def test_one_row_far_from_all_others_does_not_take_their_digits(n, dtype, size, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((n, 10)).astype(dtype)
    X[7] += dtype(size)
    kernel, J = mc.Gaussian(0.1), np.arange(n)
    exact = np.exp(-0.1 * ((X[:, None].astype(np.longdouble) - X) ** 2).sum(axis=2)).astype(float)
    rows = rows_of(kernel, X, 1e-6)
    out = np.empty((n, n), rows.dtype)
    rows.columns(J)(J, out)
    # the solver has the diagonal
    np.fill_diagonal(out, rows.diagonal)
    assert abs(out - exact).max() < 1e-5
    others = np.delete(J, 7)
    assert abs(rows.exact_product(others, J, np.eye(n)) - exact[others]).max() < 1e-12
