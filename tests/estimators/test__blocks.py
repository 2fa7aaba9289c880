"""Estimators over landmarks on rows that are not in memory: the models of the same rows in memory."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mercer as mc
from mercer.estimators import KernelMap, KernelRidge, Nystroem

X = np.random.default_rng(0).standard_normal((6000, 4))
Y = np.sin(X[:, 0]) + X[:, 1]
K = mc.Gaussian(0.3)


@pytest.fixture
def stored(tmp_path):
    rows = np.memmap(tmp_path / "rows", "float64", "w+", shape=X.shape)
    rows[:] = X
    return rows


@pytest.fixture(autouse=True)
def small_blocks(limits):
    limits(disk_rows=4096)


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (lambda: KernelRidge(1e-3, kernel=K, landmarks=X[:40]), "predict"),
        (lambda: KernelRidge(1e-3, kernel=K, landmarks=30, random_state=3), "variance"),
        (lambda: mc.KernelPCA(4, kernel="rbf", landmarks=X[:40]), "transform"),
        (lambda: mc.KernelPCA(4, kernel=K, landmarks=30, rule="uniform"), "score_samples"),
        (lambda: KernelMap("rbf", landmarks=20, rule="k_means"), "transform"),
        (lambda: KernelMap(K, landmarks=X[:40]), "residual"),
        (lambda: Nystroem(K, n_components=20, landmarks="greedy"), "transform"),
    ],
)
def test_models_are_those_of_rows_in_memory(stored, make, method):
    """The sample is the whole here, so that bandwidths and landmarks are equal too."""
    found, expected = make().fit(stored, Y), make().fit(X, Y)
    assert found._n_rows == expected._n_rows == 6000
    assert found.n_features_in_ == 4
    values, expected = getattr(found, method)(stored), getattr(expected, method)(X)
    # axes have a sign
    np.testing.assert_allclose(np.abs(values), np.abs(expected), atol=1e-7)


CLASSIFIERS = [
    mc.SVC(),
    mc.SVCCV(Cs=[1.0], cv=2, calibration="sigmoid"),
    mc.KernelFisher(kernel="rbf"),
]
CLASSIFIERS += [mc.KernelPerceptron(max_iter=1, averaged=True)]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore:the last of 1 passes")
def test_predictions_of_a_classifier_for_dask_arrays_are_dask_arrays(model):
    array = pytest.importorskip("dask.array")
    rows, labels = X[:300], np.arange(300) % 3
    model = clone(model).fit(rows, labels)
    methods = ("predict", "decision_function", "predict_proba", "predict_log_proba")
    for name in [name for name in methods if hasattr(model, name)]:
        found = getattr(model, name)(array.from_array(rows, chunks=(70, 4)))
        assert isinstance(found, array.Array)
        np.testing.assert_allclose(found.compute(), getattr(model, name)(rows), atol=1e-10)


def test_a_sample_gives_bandwidth_and_landmarks(stored, limits):
    limits(sample_rows=300)
    model = KernelRidge(1e-3, kernel=mc.Gaussian("scale"), landmarks=25)
    of_all = clone(model).fit(X, Y).kernel_.gamma
    assert model.fit(stored, Y).kernel_.gamma == pytest.approx(1 / 4, rel=0.3)
    assert model.kernel_.gamma != of_all
    assert (model.expansion_.points[:, None] == X).all(axis=2).any(axis=1).all()
    # all rows count: the normal equations of the model are those of all of them
    assert mc.certify(model, X, Y).residuals.max() < 1e-8


def test_fewer_rows_than_landmarks_are_all_landmarks(stored):
    rows = stored[:30]
    model = KernelRidge(1e-3, kernel=K, landmarks=50).fit(rows, Y[:30])
    np.testing.assert_allclose(
        model.predict(X), KernelRidge(1e-3, kernel=K).fit(X[:30], Y[:30]).predict(X), atol=1e-8
    )


def test_fits_and_predictions_hold_no_copy_of_the_rows(tmp_path, limits):
    limits(sample_rows=1000)
    rows = np.memmap(tmp_path / "wide", "float32", "w+", shape=(40_000, 400))
    rows[:] = np.random.default_rng(1).standard_normal(rows.shape[1], dtype=np.float32)
    rows[:, 0] = np.linspace(0, 1, 40_000)
    model = KernelRidge(1e-3, kernel=mc.Gaussian(0.01), landmarks=np.array(rows[::4000]))
    tracemalloc.start()
    try:
        model.fit(rows, np.zeros(40_000)).predict(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * rows.nbytes


def test_loo_residuals_need_rows_in_memory(stored):
    model = KernelRidge(1e-3, kernel=K, landmarks=X[:40]).fit(stored, Y)
    assert not hasattr(model, "loo_residuals_")


def test_targets_of_another_length_are_refused(stored):
    with pytest.raises(ValueError, match="X has 6000 rows, y has 5999"):
        KernelRidge(1e-3, kernel=K, landmarks=40).fit(stored, Y[:-1])
    with pytest.raises(ValueError, match="X has 6000 rows, sample_weight has 10"):
        KernelRidge(1e-3, kernel=K, landmarks=40).fit(stored, Y, np.ones(10))


def test_targets_and_weights_of_rows_on_disk_may_be_dask_arrays(stored):
    array, weights = pytest.importorskip("dask.array"), np.arange(6000.0) % 3
    model = KernelRidge(1e-3, kernel=K, landmarks=X[:40])
    expected = clone(model).fit(stored, Y, weights).predict(X)
    model.fit(stored, array.from_array(Y, chunks=700), array.from_array(weights, chunks=900))
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("make", [KernelRidge, mc.KernelPCA, KernelMap])
def test_a_precomputed_matrix_on_disk_is_that_in_memory(make, tmp_path):
    matrix = K(X[:200])
    on_disk = np.memmap(tmp_path / "matrix", "float64", "w+", shape=matrix.shape)
    on_disk[:] = matrix
    model = make(kernel="precomputed", landmarks=20, random_state=0)
    method = "predict" if make is KernelRidge else "transform"
    expected = getattr(clone(model).fit(matrix, Y[:200]), method)(matrix)
    np.testing.assert_array_equal(getattr(model.fit(on_disk, Y[:200]), method)(on_disk), expected)


def test_a_failed_fit_leaves_the_model(stored):
    model = KernelRidge(1e-3, kernel=K, landmarks=X[:40]).fit(X, Y)
    before = model.predict(X)
    stored[5500, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(stored, Y)
    np.testing.assert_array_equal(model.predict(X), before)


def tables(columns=("a", "b", "c", "d")):
    """Return a table in memory, and tables of the same rows that are read in blocks, with columns in a given order."""
    pyarrow, dataframe = (pytest.importorskip(name) for name in ("pyarrow", "dask.dataframe"))
    table = pd.DataFrame(X, columns=list("abcd"))[list(columns)]
    return table, pyarrow.table(dict(table)), dataframe.from_pandas(table, npartitions=2)


NAMED = {
    "KernelRidge": (KernelRidge(1e-3, kernel=K, landmarks=20, random_state=0), "predict"),
    "KernelPCA": (mc.KernelPCA(4, kernel=K, landmarks=20, random_state=0), "transform"),
    "KernelMap": (KernelMap(K, landmarks=20, random_state=0), "transform"),
    "Nystroem": (Nystroem(K, n_components=20, random_state=0), "transform"),
}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.filterwarnings("error")
def test_names_of_columns_are_those_of_the_fit_in_every_kind_of_table(name):
    model, method = NAMED[name]
    for table in tables():
        fitted = clone(model).fit(table, Y)
        assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        values = [np.asarray(getattr(fitted, method)(new)) for new in tables()]
        np.testing.assert_array_equal(values[1:], np.stack(values[:1] * 2))
        for new in tables(("b", "a", "c", "d")):
            with pytest.raises(ValueError, match="feature names should match"):
                getattr(fitted, method)(new)


@pytest.mark.filterwarnings("error")
def test_a_classifier_of_a_dask_table_has_its_names_and_its_certificate():
    lazy, labels = tables()[2], X[:, 0] > 0
    model = mc.SVC(kernel=K).fit(lazy, labels)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert mc.certify(model, lazy, labels).kkt < 1e-3
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(tables(("b", "a", "c", "d"))[2])


def test_rows_without_names_warn_once_where_the_fit_had_names(stored):
    model = KernelRidge(1e-3, kernel=K, landmarks=20, random_state=0).fit(tables()[1], Y)
    with pytest.warns(UserWarning, match="does not have valid feature names") as caught:
        model.predict(stored)
    assert len(caught) == 1
    assert model.fit(stored, Y).predict(stored).shape == Y.shape
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.filterwarnings("error")
def test_sums_over_parts_need_the_names_of_the_first_part():
    model = mc.KernelPCA(4, kernel=K, landmarks=pd.DataFrame(X[:20], columns=list("abcd")))
    first, second = tables()[1:]
    assert model.partial_fit(first).partial_fit(second).n_samples_ == 2 * len(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(tables(("b", "a", "c", "d"))[1])


@pytest.mark.parametrize("landmarks", [None, 10])
def test_kernels_of_columns_take_tables_of_every_kind(landmarks):
    kernel = mc.on_columns(mc.strings.Words(), "text") + mc.on_columns(mc.Gaussian(1.0), ["a"])
    pyarrow, dataframe = (pytest.importorskip(name) for name in ("pyarrow", "dask.dataframe"))
    table = pd.DataFrame(
        {"text": np.where(X[:200, 1] > 0, "good text", "bad text"), "a": X[:200, 0]}
    )
    kinds = [table, pyarrow.table(dict(table)), dataframe.from_pandas(table, npartitions=2)]
    labels = (X[:200, 0] > 0) ^ (X[:200, 1] > 0)
    values = []
    for each in kinds:
        model = mc.SVC(10.0, kernel=kernel, landmarks=landmarks, random_state=0).fit(each, labels)
        values += [model.decision_function(new) for new in kinds]
    np.testing.assert_array_equal(values, np.stack(values[:1] * 9))


def test_kernels_of_numbered_columns_read_rows_on_disk_in_blocks(stored, listening):
    kernel = mc.on_columns(K, [0, 1])
    read = []
    with listening(lambda stage, done=0, **_: stage == "rows" and read.append(done)):
        model = KernelRidge(1e-3, kernel=kernel, landmarks=X[:40]).fit(stored, Y)
    # a block of 4096 rows, then the others
    assert read[3] == 4096 > read[5]
    near = KernelRidge(1e-3, kernel=kernel, landmarks=X[:40]).fit(X, Y).predict(X)
    np.testing.assert_allclose(model.predict(stored), near, atol=1e-8)


def test_an_error_in_a_block_of_targets_or_weights_says_where_the_block_is():
    array, model = pytest.importorskip("dask.array"), KernelRidge(kernel=K, landmarks=X[:40])
    rows, bad = array.from_array(X, chunks=(1000, 4)), np.ones(6000)
    bad[2345] = np.nan
    for name, given in (("y", [bad]), ("sample_weight", [Y, bad])):
        with pytest.raises(ValueError, match=rf"{name}\[45\] = nan") as error:
            model.fit(rows, *(array.from_array(each, chunks=100) for each in given))
        assert error.value.__notes__ == [
            f"The place is that in a block of Dask, {name}[2300:2400]."
        ]


@pytest.mark.parametrize("lazy", [False, True])
def test_rows_of_weight_0_give_neither_bandwidth_nor_landmarks(stored, lazy):
    weights = np.repeat([0.0, 2.0], 3000)
    stored[:3000] += 50
    model = KernelRidge(1e-3, kernel=mc.Gaussian("scale"), landmarks=30, random_state=0)
    expected = clone(model).fit(X[3000:], Y[3000:]).kernel_.gamma
    if lazy:
        array = pytest.importorskip("dask.array")
        model.fit(
            array.from_array(stored, chunks=(700, 4)), Y, array.from_array(weights, chunks=900)
        )
    else:
        model.fit(stored, Y, weights)
    assert model.kernel_.gamma == pytest.approx(expected)
    assert abs(model.expansion_.points).max() < 10


def test_a_sample_of_rows_of_weight_0_is_taken_where_it_has_no_others(stored):
    weights = np.zeros(6000)
    weights[7] = 1.0
    model = KernelRidge(1e-3, kernel=K, landmarks=X[:40]).fit(stored, Y, weights)
    assert model.predict(X[7:8]) == pytest.approx(Y[7], abs=0.01)


def test_expansions_over_kernels_of_columns_take_tables_of_every_kind():
    pyarrow, dataframe = (pytest.importorskip(name) for name in ("pyarrow", "dask.dataframe"))
    table = pd.DataFrame({"text": ["good text", "bad", "text"], "a": [0.0, 1.0, 2.0]})
    psi = mc.features(mc.on_columns(mc.strings.Words(), "text") + mc.on_columns(K, ["a"]), table)
    for new in (pyarrow.table(dict(table)), dataframe.from_pandas(table, npartitions=2)):
        np.testing.assert_array_equal(psi(new), psi(table))
