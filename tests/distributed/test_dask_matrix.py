"""Gram of Dask arrays: its lazy products, blocks and diagonal are those of the matrix in memory, run after run."""

import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.distributed import dask_arrays

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
rng = np.random.default_rng(0)
X, Z, V, W = (rng.standard_normal(shape) for shape in [(900, 3), (70, 3), (70, 2), (900, 2)])
KERNELS = [mc.Gaussian(0.3), mc.Laplacian(0.3), mc.Polynomial(2), mc.Linear()]
K = KERNELS[0]


def lazy(rows, n):
    return da.from_array(rows, chunks=(n, *rows.shape[1:]))


@pytest.fixture(params=["rows", "columns", "both"])
def sides(request):
    return {
        "rows": lambda X, Z: (lazy(X, 250), Z),
        "columns": lambda X, Z: (X, lazy(Z, 30)),
        "both": lambda X, Z: (lazy(X, 250), lazy(Z, 30)),
    }[request.param]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_blocks_and_transpose_are_those_of_the_matrix(sides, kernel, dtype):
    left, right = X.astype(dtype), Z.astype(dtype)
    G, exact = mc.Gram(kernel, *sides(left, right)), kernel(left.astype(float), right.astype(float))
    error = 50 * np.finfo(dtype).eps * np.abs(exact).sum(axis=1).max()
    assert G.shape == exact.shape
    assert G.dtype == dtype
    for found, expected in [
        (G @ V, exact @ V),
        (G @ V[:, 0], exact @ V[:, 0]),
        (G @ da.from_array(V, chunks=(20, 1)), exact @ V),
        (G @ lazy(V[:, 0], 33), exact @ V[:, 0]),
        (G.T @ W, exact.T @ W),
        (W.T @ G, W.T @ exact),
        (lazy(W[:, 0], 100) @ G, W[:, 0] @ exact),
        (G.dense(), exact),
        (G[5:400, [1, 69]], exact[5:400, [1, 69]]),
        (G[3, :], exact[3:4]),
    ]:
        assert isinstance(found, da.Array)
        assert found.dtype == dtype
        computed = found.compute()
        assert computed.shape == found.shape
        assert computed.dtype == dtype
        np.testing.assert_allclose(computed, expected, atol=5 * error)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_the_matrix_of_one_dask_array_is_symmetric_to_the_bit(kernel):
    G, exact = mc.Gram(kernel, lazy(X, 250)), kernel(X, X)
    dense = G.dense().compute()
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_allclose(dense, exact, atol=1e-12 * np.abs(exact).max())
    np.testing.assert_allclose(G.diagonal().compute(), exact.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(
        (G @ W).compute(), exact @ W, atol=1e-12 * np.abs(exact).sum(axis=1).max()
    )
    assert G.T is G


def test_a_kernel_that_is_not_symmetric_is_transposed():
    skew = mc.FunctionKernel(lambda x, z: x @ np.triu(np.ones((3, 3))) @ z.T)
    G = mc.Gram(skew, lazy(X, 250))
    np.testing.assert_allclose(
        (G.T @ W).compute(), (X @ np.tril(np.ones((3, 3))) @ X.T) @ W, atol=1e-9
    )


def test_many_blocks_of_both_sides_are_merged():
    found = mc.Gram(K, lazy(X, 9)) @ W
    # as many blocks of equal size as the limit allows
    assert max(found.chunks[0]) == -(-len(X) // dask_arrays._MOST)
    assert len(dict(found.__dask_graph__())) < 10_000
    np.testing.assert_allclose(found.compute(), K(X, X) @ W, atol=1e-11)


def test_products_are_equal_to_the_bit_run_after_run_and_on_every_scheduler():
    G = mc.Gram(K, lazy(X, 40), lazy(X[::-1], 50))
    expected = (G @ W).compute(scheduler="synchronous")
    for _ in range(3):
        np.testing.assert_array_equal((G @ W).compute(scheduler="threads"), expected)


@pytest.mark.slow
def test_a_killed_worker_changes_no_bit_of_a_product(tmp_path):
    distributed = pytest.importorskip("distributed")
    flag = tmp_path / "killed"

    def killing(block):
        if len(block) and block[0, 0] == X[600, 0] and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    expected = (mc.Gram(K, lazy(X, 100)) @ W).compute(scheduler="synchronous")
    rows = lazy(X, 100).map_blocks(killing, meta=np.empty((0, 3)))
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "processes": True,
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        found = (mc.Gram(K, rows) @ W).compute()
    assert flag.exists()
    np.testing.assert_array_equal(found, expected)


def test_tables_of_dask_are_rows():
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    table = frames.from_pandas(pandas.DataFrame(X), npartitions=3)
    np.testing.assert_allclose((mc.Gram(K, table, Z) @ V).compute(), K(X, Z) @ V, atol=1e-12)


def unknown(rows):
    return rows[rows[:, 0] > 0]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: mc.Gram(K, da.from_array(X, chunks=(90, 1)), Z), ValueError, r"X has 3 chunks of columns"),
    (lambda: mc.Gram(K, X, da.from_array(Z, chunks=(90, 1))), ValueError, r"Z has 3 chunks.*Z.rechunk"),
    (lambda: mc.Gram(K, unknown(lazy(X, 90))), ValueError, r"call X.compute_chunk_sizes\(\)"),
    (lambda: mc.Gram(K, lazy(X, 90)[:, 0]), ValueError, "2 dimensions"),
    (lambda: mc.Gram(K, lazy(X, 90), Z[:, :2]), ValueError, "X has 3 features, but Z has 2"),
    (lambda: mc.Gram(mc.Gaussian("median"), lazy(X, 90)), ValueError, "not resolved"),
    (lambda: mc.Gram(mc.Precomputed(np.eye(3)), lazy(X, 90)), TypeError, r"not be of Dask.*X.compute\(\)"),
    (lambda: mc.Gram(K, lazy(X, 90), Z) @ W, ValueError, r"V must have shape \(70,\)"),
    (lambda: mc.Gram(K, lazy(X, 90), Z) @ (V * np.nan), ValueError, r"V\[0, 0\] = nan must be finite"),
    (lambda: mc.Gram(K, lazy(X, 90), memory="1MB").dense(), MemoryError, "900 x 900.*6.5 MB.*1.0 MB; use Gram"),
    (lambda: mc.Gram(K, lazy(X, 90), Z).diagonal(), ValueError, "Z must be X"),
])  # fmt: skip
def test_what_a_gram_of_dask_arrays_cannot_do_is_refused_before_anything_is_computed(
    call, error, message
):
    with (
        dask.config.set(scheduler=lambda *_, **__: pytest.fail("computed")),
        pytest.raises(error, match=message),
    ):
        call()


def test_entries_that_are_not_finite_name_their_block():
    bad = X.copy()
    bad[500, 1] = np.inf
    with pytest.raises(ValueError, match=r"X\[500:750\] contains infinity at \(0, 1\)"):
        (mc.Gram(K, lazy(bad, 250), Z) @ V).compute()


@pytest.mark.parametrize(
    ("dtype", "message"), [(complex, "Complex data"), ("M8[D]", "dates or durations")]
)
def test_rows_that_are_no_real_numbers_are_refused(dtype, message):
    rows = da.from_array((10 * np.ones((30, 2))).astype(dtype), chunks=(10, 2))
    with pytest.raises((TypeError, ValueError), match=message):
        (mc.Gram(mc.Gaussian(1.0), rows, np.ones((3, 2))) @ np.ones(3)).compute()
    with pytest.raises((TypeError, ValueError), match=message):
        mc.Gram(mc.Gaussian(1.0), np.ones((3, 2)), rows).dense().compute()


def test_sparse_rows_in_memory_are_a_side_of_the_matrix():
    for rows, columns, exact in (
        (lazy(X, 250), sp.csr_array(Z), K(X, Z)),
        (sp.csr_array(Z), lazy(X, 250), K(Z, X)),
    ):
        G = mc.Gram(K, rows, columns)
        np.testing.assert_allclose((G @ exact[0]).compute(), exact @ exact[0], atol=1e-10)
        np.testing.assert_allclose(G.dense().compute(), exact, atol=1e-12)
