"""Estimators over landmarks on rows that are not in memory: the models of the same rows in memory."""

import tracemalloc

import numpy as np
import pytest

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
def small_blocks(monkeypatch):
    monkeypatch.setattr("mercer.distributed.blocks._BLOCK", 1 << 17)


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


def test_a_sample_gives_bandwidth_and_landmarks(stored, monkeypatch):
    monkeypatch.setattr("mercer.estimators._blocks._SAMPLE", 300)
    model = KernelRidge(1e-3, kernel="rbf", landmarks=25).fit(stored, Y)
    assert model.kernel_.gamma == pytest.approx(1 / 4, rel=0.3)
    assert model.kernel_.gamma != KernelRidge(1e-3, kernel="rbf", landmarks=25).fit(X, Y).kernel_.gamma
    assert (model.expansion_.points[:, None] == X).all(axis=2).any(axis=1).all()
    # all rows count: the normal equations of the model are those of all of them
    assert mc.certify(model, X, Y).residuals.max() < 1e-8


def test_fewer_rows_than_landmarks_are_all_landmarks(stored):
    rows = stored[:30]
    model = KernelRidge(1e-3, kernel=K, landmarks=50).fit(rows, Y[:30])
    np.testing.assert_allclose(model.predict(X), KernelRidge(1e-3, kernel=K).fit(X[:30], Y[:30]).predict(X), atol=1e-8)


def test_fits_and_predictions_hold_no_copy_of_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.estimators._blocks._SAMPLE", 1000)
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


def test_a_failed_fit_leaves_the_model(stored):
    model = KernelRidge(1e-3, kernel=K, landmarks=X[:40]).fit(X, Y)
    before = model.predict(X)
    stored[5500, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(stored, Y)
    np.testing.assert_array_equal(model.predict(X), before)
