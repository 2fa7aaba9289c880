"""Dask arrays as blocks: lazy values, and sums that are bit-equal after a worker is killed."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.distributed import as_blocks
from mercer.estimators import KernelMap, KernelRidge, Nystroem

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
rng = np.random.default_rng(0)
X = rng.standard_normal((900, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
K = mc.Gaussian(0.3)


@pytest.fixture
def rows_heard(listening):
    """Return a function of a fit that returns the numbers of rows that it counts, and those that it has."""

    def rows_of(fit):
        heard = []
        with listening(
            lambda stage, done=0, most=0, **_: stage == "rows" and heard.append((done, most))
        ):
            fit()
        return heard

    return rows_of


def test_blocks_of_a_dask_array_are_its_rows():
    blocks = as_blocks(da.from_array(X, chunks=(200, 3)))
    wanted = np.array([0, 199, 200, 201, 899])
    np.testing.assert_array_equal(blocks.take(wanted), X[wanted])
    column = np.arange(900.0)
    for given in (column, da.from_array(column, chunks=77)):
        found = blocks.total(lambda shared, rows, c: shared * rows.T @ c, 2.0, given)
        np.testing.assert_allclose(found, 2 * X.T @ column, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (lambda: KernelRidge(1e-3, kernel=K, landmarks=X[:40]), "predict"),
        (lambda: KernelRidge(1e-3, kernel=K, landmarks=X[:40]), "variance"),
        (lambda: mc.KernelPCA(4, kernel=K, landmarks=X[:40]), "transform"),
        (lambda: mc.KernelPCA(4, kernel=K, landmarks=X[:40]), "score_samples"),
        (lambda: KernelMap(K, landmarks=X[:40]), "residual"),
        (lambda: Nystroem(K, landmarks=X[:40]), "transform"),
    ],
)
def test_estimators_of_dask_arrays_equal_those_of_rows_in_memory(make, method):
    rows, targets = da.from_array(X, chunks=(250, 3)), da.from_array(Y, chunks=(300, 2))
    found, expected = make().fit(rows, targets), make().fit(X, Y)
    values = getattr(found, method)(rows)
    assert isinstance(values, da.Array)
    expected = getattr(expected, method)(X)
    assert values.shape == expected.shape
    assert values.dtype == expected.dtype
    # axes have a sign
    np.testing.assert_allclose(np.abs(values.compute()), np.abs(expected), atol=1e-6)


def test_a_kernel_that_is_not_proved_definite_is_not_refuted_by_a_sum_of_certificates():
    def gaussian(A, B):
        return np.exp(-0.5 * ((A[:, None, :] - B[None]) ** 2).sum(axis=-1))

    rows = rng.standard_normal((3000, 3))
    labels = (rows[:, 0] + 0.8 * rng.standard_normal(3000) > 0).astype(int)
    lazy = da.from_array(rows, chunks=(1500, 3)), da.from_array(labels, chunks=1500)
    whole, chunks = (mc.SVC(kernel=gaussian).fit(*data) for data in ((rows, labels), lazy))
    assert (whole.certificate_.convex, chunks.certificate_.convex) == (None, None)
    np.testing.assert_allclose(chunks.margin_, whole.margin_, rtol=1e-2)


def test_empty_chunks_that_a_selection_leaves_change_nothing():
    kept = np.arange(900) >= 300
    rows = da.from_array(X, chunks=(300, 3))[da.from_array(kept, chunks=300)]
    rows.compute_chunk_sizes()
    assert rows.chunks[0] == (0, 300, 300)
    expected = KernelRidge(kernel=K, landmarks=X[:40]).fit(X[kept], Y[kept])
    found = KernelRidge(kernel=K, landmarks=X[:40]).fit(rows, Y[kept])
    np.testing.assert_allclose(found.predict(rows), expected.predict(X[kept]), atol=1e-10)
    np.testing.assert_allclose(mc.Gram(K, rows) @ np.ones(600), mc.Gram(K, X[kept]) @ np.ones(600))


@pytest.mark.parametrize("matrix", [sp.csr_matrix, sp.csr_array])
def test_sparse_chunks_are_rows(matrix):
    rows, dense = da.from_array(X, chunks=(250, 3)).map_blocks(matrix), X
    expected = mc.KernelPCA(4, kernel=K, landmarks=X[:40]).fit(dense)
    found = mc.KernelPCA(4, kernel=K, landmarks=X[:40]).fit(rows)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_)
    np.testing.assert_allclose(found.transform(rows), found.transform(dense), atol=1e-10)
    np.testing.assert_allclose(
        mc.Gram(K, rows, X[:5]) @ np.ones(5), mc.Gram(K, X, X[:5]) @ np.ones(5)
    )


def test_masked_chunks_are_refused_where_they_are_read():
    rows, model = (
        da.ma.masked_greater(da.from_array(X, chunks=(250, 3)), 1.0),
        KernelMap(K, landmarks=X[:9]).fit(X),
    )
    for call in (KernelMap(K, landmarks=X[:9]).fit, lambda rows: model.transform(rows).compute()):
        with pytest.raises(
            TypeError, match=r"(X\[\d+:\d+\]|a block of X) must not be a masked array"
        ):
            call(rows)


@pytest.mark.parametrize(
    "weights", [np.zeros(900), da.zeros(900, chunks=100)], ids=["array", "dask"]
)
def test_weights_that_are_all_zero_are_refused(weights):
    with pytest.raises(ValueError, match="sample_weight must not all be zero"):
        KernelRidge(kernel=K, landmarks=X[:40]).fit(
            da.from_array(X, chunks=(250, 3)), Y, sample_weight=weights
        )


def test_parts_of_dask_arrays_add_up_to_one_fit():
    rows, model = da.from_array(X, chunks=(250, 3)), mc.KernelPCA(4, kernel=K, landmarks=X[:40])
    expected = mc.KernelPCA(4, kernel=K, landmarks=X[:40]).fit(rows)
    model.partial_fit(rows[:500]).partial_fit(X[500:600]).partial_fit(rows[600:])
    assert model.n_samples_ == 900
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(expected.transform(X)), atol=1e-9)
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(rows[:, :2].rechunk({1: -1}))


def test_labels_of_dask_arrays_are_lazy_too():
    labels = np.where(X[:, 0] > 0, "right", "left")
    model = mc.SVC(kernel=K).fit(X, labels)
    found = model.predict(da.from_array(X, chunks=(250, 3)))
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), model.predict(X))


def test_weights_may_be_dask_arrays():
    weights = rng.integers(0, 3, 900).astype(float)
    make = lambda: KernelRidge(1e-2, kernel=K, landmarks=X[:30])  # noqa: E731
    rows = da.from_array(X, chunks=(250, 3))
    found = make().fit(rows, Y[:, 0], da.from_array(weights, chunks=100))
    np.testing.assert_allclose(
        found.predict(X), make().fit(X, Y[:, 0], weights).predict(X), atol=1e-9
    )


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (da.from_array(X, chunks=(250, 2)), r"2 chunks of columns.*rechunk"),
        (da.from_array(X[:, 0], chunks=250), r"2 dimensions.*\(900,\)"),
        (
            da.from_array(X, chunks=(250, 3))[da.from_array(X[:, 0] > 0, chunks=250)],
            "compute_chunk_sizes",
        ),
    ],
)
def test_other_chunks_are_refused_before_anything_is_computed(X, message):
    with pytest.raises(ValueError, match=message):
        mc.KernelPCA(2, kernel=K, landmarks=5).fit(X)


@pytest.mark.parametrize("call", [
    lambda rows: KernelRidge(kernel=K, landmarks=9).fit(rows, Y),
    lambda rows: mc.SVC(kernel=K).fit(rows, Y[:, 0] > 0),
    lambda rows: Nystroem(K, n_components=9).fit(rows),
    lambda rows: mc.KernelPCA(2, kernel=K, landmarks=9).fit(X).transform(rows),
    lambda rows: mc.Expansion(K, X[:5], Y[:5])(rows),
])  # fmt: skip
def test_chunks_are_refused_by_all_that_read_blocks(call):
    with pytest.raises(
        ValueError,
        match=r"X has 3 chunks of columns, which must be one; use X.rechunk\(\{1: -1\}\)",
    ):
        call(da.from_array(X, chunks=(300, 1)))
    unknown = da.from_array(X, chunks=(300, 3))
    with pytest.raises(
        ValueError, match=r"X has chunks of unknown size; call X.compute_chunk_sizes\(\) first"
    ):
        call(unknown[unknown[:, 0] > 0])


def test_entries_that_are_not_finite_name_their_block():
    bad = X.copy()
    bad[500, 1] = np.inf
    with pytest.raises(ValueError, match=r"X\[500:750\] contains infinity at \(0, 1\)"):
        KernelRidge(kernel=K, landmarks=X[:5]).fit(da.from_array(bad, chunks=(250, 3)), Y)


def test_lazy_values_name_no_rows_that_are_not_those_of_the_entry():
    rows = X.copy()
    rows[600, 1] = np.inf
    model = KernelRidge(kernel=K, landmarks=X[:40]).fit(X, Y)
    with pytest.raises(ValueError, match=r"a block of X contains infinity at \(100, 1\)"):
        model.predict(da.from_array(rows, chunks=(250, 3))).compute()


def test_targets_of_another_length_are_refused():
    with pytest.raises(ValueError, match="X has 900 rows, y has 899"):
        KernelRidge(kernel=K, landmarks=X[:5]).fit(da.from_array(X, chunks=(250, 3)), Y[:-1])


FEW = X[:200]


@pytest.mark.parametrize("value", [
    lambda rows: K(rows, X[:5]),
    lambda rows: mc.mean(mc.features(K, rows)).coef,
    lambda rows: mc.features(K, rows)(X[:5]),
    lambda rows: (mc.features(K, FEW) @ rows[:, :2]).norms(),
    lambda rows: mc.KernelPCA(2, kernel=K).fit(rows).eigenvalues_,
    lambda rows: mc.SVR(kernel=K).fit(rows, Y[:200, 0]).dual_coef_,
    lambda rows: mc.KernelFisher(kernel=K, landmarks=9, random_state=0).fit(rows, Y[:200, 0] > 0).expansion_.coef,
])  # fmt: skip
def test_what_does_not_sum_over_blocks_reads_dask_arrays_into_memory(value):
    np.testing.assert_array_equal(value(da.from_array(FEW, chunks=(70, 3))), value(FEW))


def test_values_of_vectors_at_a_dask_array_are_lazy():
    psi = mc.Expansion(K, X[:40], Y[:40])
    found = psi(da.from_array(X, chunks=(250, 3)))
    assert isinstance(found, da.Array)
    assert found.chunks == ((250, 250, 250, 150), (2,))
    np.testing.assert_allclose(found.compute(), psi(X), atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_lazy_values_state_the_type_that_they_have(dtype):
    rows = (10 * X).astype(dtype)
    psi = mc.Expansion(K, rows[:40], Y[:40].astype(np.float32 if dtype == np.float32 else float))
    found = psi(da.from_array(rows, chunks=(250, 3)))
    assert found.dtype == found.compute().dtype == psi(rows).dtype


def test_targets_in_chunks_of_columns_are_all_fitted():
    rows, model = da.from_array(X, chunks=(250, 3)), KernelRidge(1e-3, kernel=K, landmarks=X[:40])
    expected = model.fit(rows, Y).dual_coef_
    np.testing.assert_array_equal(
        model.fit(rows, da.from_array(Y, chunks=(300, 1))).dual_coef_, expected
    )


def test_targets_and_weights_of_unknown_size_are_refused_with_the_remedy():
    rows, column = da.from_array(X, chunks=(250, 3)), da.from_array(Y[:, 0], chunks=250)
    column = column[column > -9]
    model = KernelRidge(kernel=K, landmarks=X[:5])
    with pytest.raises(
        ValueError, match=r"y has chunks of unknown size; call y.compute_chunk_sizes\(\) first"
    ):
        model.fit(rows, column)
    with pytest.raises(
        ValueError, match=r"sample_weight has chunks.*sample_weight.compute_chunk_sizes"
    ):
        model.fit(rows, Y[:, 0], column)


def test_functions_that_standardise_each_row_have_lazy_values():
    standardised = mc.Mapped(
        K, lambda rows: (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    )
    model = KernelRidge(1e-3, kernel=standardised, landmarks=X[:40]).fit(X, Y)
    np.testing.assert_allclose(
        model.predict(da.from_array(X, chunks=(250, 3))).compute(), model.predict(X), atol=1e-9
    )


LARGE = da.zeros((2_000_000, 100), chunks=(100_000, 100))


@pytest.mark.parametrize("call", [
    lambda: mc.KernelPCA(2, kernel=K).fit(LARGE),
    lambda: KernelRidge(kernel=K).fit(LARGE, np.zeros(2_000_000)),
    lambda: mc.KernelFisher(kernel=K, landmarks=9).fit(LARGE, np.arange(2_000_000) % 2),
    lambda: mc.SVR(kernel=K).fit(LARGE, np.zeros(2_000_000)),
    lambda: mc.SVC(kernel=K, landmarks=9).fit(LARGE, np.arange(2_000_000) % 2),
    lambda: mc.SVCCV(kernel="rbf").fit(LARGE, np.arange(2_000_000) % 2),
    lambda: mc.OneClassSVM(kernel=K).fit(LARGE),
    lambda: mc.KernelPerceptron(kernel=K).fit(LARGE, np.arange(2_000_000) % 2),
    lambda: mc.PCAL1(2).fit(LARGE),
    lambda: mc.features(K, LARGE),
    lambda: K(LARGE, X),
])  # fmt: skip
def test_nothing_beyond_the_memory_limit_is_read_into_memory(call):
    message = r"X of shape \(2000000, 100\).*needs 1.6 GB, the memory budget is 1.0 GB; use .* X.compute\(\)"
    fails = lambda *_, **__: pytest.fail("computed")  # noqa: E731
    with dask.config.set(scheduler=fails), pytest.raises(MemoryError, match=message):
        call()


def test_the_memory_limit_is_that_of_the_estimator():
    model = mc.KernelPCA(2, kernel=K, memory="10kB")
    with pytest.raises(MemoryError, match=r"needs 21.6 kB, the memory budget is 10.0 kB"):
        model.fit(da.from_array(X, chunks=(250, 3)))
    rows = da.from_array(X, chunks=(250, 3))
    with pytest.raises(
        ValueError, match=r"X has chunks of unknown size; call X.compute_chunk_sizes\(\) first"
    ):
        model.fit(rows[rows[:, 0] > 0])


def test_sums_on_threads_count_the_rows_of_whole_blocks(rows_heard):
    rows = da.from_array(X, chunks=(100, 3))
    heard = rows_heard(lambda: KernelRidge(1e-3, kernel=K, landmarks=X[:40]).fit(rows, Y))
    assert heard == [(done, 900) for done in range(100, 1000, 100)]


@pytest.mark.slow
@pytest.mark.parametrize("heard", [False, True], ids=["unheard", "heard"])
@pytest.mark.parametrize("lost", ["client", "cluster"])
def test_a_lost_client_or_scheduler_is_named_and_leaves_the_model(lost, heard, rows_heard):
    distributed = pytest.importorskip("distributed")
    model = mc.KernelPCA(2, kernel=K, landmarks=X[:40]).fit(X)
    before, started = model.eigenvalues_, threading.Event()

    def late(block):
        time.sleep(0.5)
        return block

    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "processes": True,
    }
    rows = da.from_array(X, chunks=(20, 3)).map_blocks(late, meta=np.empty((0, 3)))
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        closed = {"client": client, "cluster": cluster}[lost]
        timer = threading.Timer(2, lambda: (started.set(), closed.close()))
        timer.start()
        with pytest.raises(
            RuntimeError, match="client or its scheduler was closed.*run the fit again"
        ):
            rows_heard(lambda: model.fit(rows)) if heard else model.fit(rows)
    assert started.is_set()
    assert model.eigenvalues_ is before


def test_a_killed_worker_changes_no_bit_and_rows_are_counted_once(tmp_path, rows_heard):
    distributed = pytest.importorskip("distributed")
    flag = tmp_path / "killed"

    def rows(block):
        # the first task that sees the row 700 kills its worker
        if block[0, 0] == X[700, 0] and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    model = KernelRidge(1e-3, kernel=K, landmarks=X[:40])
    array = da.from_array(X, chunks=(100, 3))
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "processes": True,
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        undisturbed = model.fit(array, Y).dual_coef_
        assert not flag.exists()
        heard = rows_heard(lambda: model.fit(array.map_blocks(rows, meta=np.empty((0, 3))), Y))
        disturbed = model.dual_coef_
    assert flag.exists()
    assert heard == [(done, 900) for done in range(100, 1000, 100)]
    np.testing.assert_array_equal(undisturbed, disturbed)


ON_CLUSTER = {
    "ridge over landmarks": lambda rows: (
        KernelRidge(1e-3, kernel=K, landmarks=X[:40]).fit(rows, Y).dual_coef_
    ),
    "KernelPCA": lambda rows: mc.KernelPCA(4, kernel=K, landmarks=X[:40]).fit(rows).expansion_.coef,
    "kernel mean": lambda rows: mc.KernelPCA(4, kernel=K, landmarks=X[:40]).fit(rows).mean_.coef,
    "KernelMap": lambda rows: KernelMap(K, landmarks=X[:40]).fit(rows).coordinates_.basis.coef,
    "Nystroem": lambda rows: Nystroem(K, landmarks=X[:40]).fit(rows).transform(rows).compute(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_CLUSTER)
def test_workers_killed_at_ten_random_times_change_no_bit(name):
    distributed = pytest.importorskip("distributed")
    rows, times, fit = da.from_array(X, chunks=(25, 3)), np.random.default_rng(1), ON_CLUSTER[name]
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "processes": True,
    }

    def kill(cluster, killed):
        while len(killed) < 10:
            time.sleep(times.uniform(0.05, 0.5))
            running = [worker.pid for worker in cluster.workers.values() if worker.pid]
            if running:
                os.kill(running[times.integers(len(running))], signal.SIGKILL)
                killed.append(running)

    # a task may be lost with each of them
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
    ):
        undisturbed, killed = fit(rows), []
        killer = threading.Thread(target=kill, args=(cluster, killed))
        killer.start()
        fits = [fit(rows)]
        while killer.is_alive():
            fits.append(fit(rows))
    assert len(killed) == 10
    for found in fits:
        np.testing.assert_array_equal(found, undisturbed)


@pytest.mark.slow
def test_a_fit_goes_on_in_a_new_cluster_with_the_same_bits(tmp_path, listening):
    distributed = pytest.importorskip("distributed")
    rows = np.random.default_rng(2).standard_normal((12_000, 3))
    array, target = da.from_array(rows, chunks=(3000, 3)), np.sin(rows[:, 0])
    # this limit forbids the direct solution
    model = KernelRidge(0.1, kernel=mc.Gaussian(20.0), landmarks=rows[:1000], memory="59MB")
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "processes": True,
    }
    expected, steps = model.fit(array, target).dual_coef_, []

    def interrupt(stage, **_numbers):
        if stage == "conjugate gradients":
            steps.append(stage)
            if len(steps) == 4:
                raise KeyboardInterrupt

    for _ in range(2):
        with (
            distributed.LocalCluster(**options) as cluster,
            distributed.Client(cluster),
            listening(interrupt),
            pytest.raises(KeyboardInterrupt),
            mc.checkpoint(tmp_path / "state", every=0),
        ):
            model.fit(array, target)
        steps.clear()
    with mc.checkpoint(tmp_path / "state"):
        found = model.fit(array, target)
    np.testing.assert_array_equal(found.dual_coef_, expected)
    assert found.residual_ < 1e-6
