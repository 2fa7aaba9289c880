"""SVC of Dask arrays: the classifier of all rows, certified over them, whatever the blocks."""

import os
import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer as mc

da = pytest.importorskip("dask.array")
rng = np.random.default_rng(0)
X = rng.standard_normal((1200, 3))
NOISE = 0.4 * rng.standard_normal(1200)
Y = np.where(X[:, 0] * X[:, 1] + NOISE > 0, "up", "down")
THREE = np.digitize(X[:, 0] + NOISE, [-0.5, 0.6])
WEIGHTS = rng.integers(0, 3, 1200).astype(float)
K = mc.Gaussian(0.3)


def lazily(rows, size=250):
    return da.from_array(rows, chunks=(size, *rows.shape[1:]))


CASES = {
    "two classes": (mc.SVC(2.0, kernel=K), Y, None),
    "pairs": (mc.SVC(2.0, kernel=K), THREE, None),
    "classes against the rest": (mc.SVC(2.0, kernel=K, multi_class="ovr"), THREE, None),
    "weights": (mc.SVC(2.0, kernel=K, class_weight="balanced"), THREE, WEIGHTS),
    "a bandwidth rule, from all rows": (mc.SVC(kernel="rbf"), Y, None),
    "blocks of one class": (mc.SVC(2.0, kernel=K), np.sort(Y), None),
    "a linear kernel": (mc.SVC(0.5, kernel="linear"), THREE, None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_classifier_is_that_of_all_rows(name):
    model, y, weights = CASES[name]
    lazy = None if weights is None else lazily(weights)
    whole = mc.SVC(**model.get_params(deep=False)).fit(X, y, weights)
    model.fit(lazily(X), lazily(y), lazy)
    found, expected = model.certificate_, mc.certify(whole, X, y, weights)
    # rows are not used twice, and the optimum is between the objectives of both
    assert found.kkt <= model.tol
    assert found.dual <= expected.primal * (1 + 1e-9)
    assert expected.dual <= found.primal * (1 + 1e-9)
    assert found.gap < 1e-3 * found.primal
    # the certificate of a block is that of its rows in memory
    over_blocks, in_memory = (mc.certify(model, rows, y, weights) for rows in (lazily(X, 333), X))
    assert over_blocks.primal == pytest.approx(in_memory.primal, rel=1e-9)
    assert over_blocks.dual == pytest.approx(in_memory.dual, rel=1e-9)
    assert in_memory.kkt <= over_blocks.kkt + 1e-9 <= model.tol + 1e-9
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert set(y[model.support_]) == set(model.classes_)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=0.02)
    assert model.n_features_in_ == 3


def test_a_certificate_of_other_labels_is_no_optimum():
    model = mc.SVC(2.0, kernel=K).fit(lazily(X), Y)
    row, changed = np.setdiff1d(np.arange(1200), model.support_)[0], Y.copy()
    changed[row] = "up" if Y[row] == "down" else "down"
    assert mc.certify(model, lazily(X), changed).kkt > 100 * model.tol


# Blocks of rows in this order see a part of the space.
ORDER = np.argsort(X[:, 2])


def test_violating_rows_of_other_blocks_join_the_vectors(listening, limits):
    passes = []
    limits(added_rows=20)
    with listening(lambda stage, **numbers: passes.append(numbers) if stage == "passes" else None):
        model = mc.SVC(10.0, kernel=mc.Gaussian(0.1)).fit(lazily(X[ORDER], 100), Y[ORDER])
    assert len(passes) > 1
    assert passes[0]["violating"] > 0 == passes[-1]["violating"]
    assert mc.certify(model, X[ORDER], Y[ORDER]).kkt <= model.tol


def test_a_callback_stops_after_a_pass_and_the_certificate_shows_it(listening):
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.1))
    with pytest.warns(ConvergenceWarning, match="ended with a violation of .*, above tol = 0.001; let callbacks not"), \
            listening(lambda stage, **_numbers: stage == "passes"):  # fmt: skip
        model.fit(lazily(X[ORDER], 100), Y[ORDER])
    found = mc.certify(model, X[ORDER], Y[ORDER])
    assert model.tol < found.kkt <= model.certificate_.kkt
    assert found.gap == pytest.approx(model.certificate_.gap, rel=0.01)


def test_an_interrupted_fit_goes_on_with_its_rows(tmp_path, listening):
    model, stages = mc.SVC(2.0, kernel=K), []
    expected = model.fit(lazily(X), Y).dual_coef_

    def interrupt(stage, **_numbers):
        stages.append(stage)
        if stage == "passes" and stages.count("passes") == 1:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        listening(interrupt),
        mc.checkpoint(tmp_path / "state", every=0),
    ):
        model.fit(lazily(X), Y)
    np.testing.assert_array_equal(model.dual_coef_, expected)
    with mc.checkpoint(tmp_path / "state", every=0):
        np.testing.assert_array_equal(model.fit(lazily(X), Y).dual_coef_, expected)
    assert not (tmp_path / "state").exists()


def test_a_state_without_rows_of_a_class_is_that_of_another_problem(tmp_path):
    rows = np.flatnonzero(THREE < 2)[:50]
    np.savez(tmp_path / "state.npz", solve=f"SVC of {len(X)} rows in blocks", rows=rows)
    model = mc.SVC(2.0, kernel=K)
    with pytest.raises(ValueError, match="another problem"), mc.checkpoint(tmp_path / "state.npz"):
        model.fit(lazily(X), THREE)
    with pytest.raises(ValueError, match="another problem"), mc.checkpoint(tmp_path / "state.npz"):
        model.fit(lazily(X), np.isin(np.arange(len(X)), rows))
    # labels of which the rows have all are taken
    with mc.checkpoint(tmp_path / "state.npz"):
        np.testing.assert_allclose(
            model.fit(lazily(X), THREE > 0).decision_function(X), mc.SVC(2.0, kernel=K).fit(X, THREE > 0)
            .decision_function(X), atol=0.01)  # fmt: skip


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (mc.SVC(np.inf, kernel=K), Y, "C = inf must be finite for a Dask array"),
        (mc.SVC(kernel=K), Y[:-1], "1200 rows, y has 1199"),
        (mc.SVC(kernel=K), np.zeros(1200), "SVC needs at least two classes, got one class, 0"),
    ],
)
def test_what_blocks_cannot_solve_is_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(lazily(X), y)


def test_another_number_of_rows_is_not_certified():
    model = mc.SVC(kernel=K).fit(lazily(X), Y)
    with pytest.raises(ValueError, match="X has 1000 rows, but SVC was fitted on 1200"):
        mc.certify(model, lazily(X[:1000]), Y[:1000])


@pytest.mark.slow
def test_a_killed_worker_changes_no_bit(tmp_path):
    distributed = pytest.importorskip("distributed")
    flag = tmp_path / "killed"

    def rows(block):
        if block[0, 0] == X[1000, 0] and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    model, array = mc.SVC(2.0, kernel=K), lazily(X)
    expected = model.fit(array, Y).dual_coef_
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "processes": True,
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        found = model.fit(array.map_blocks(rows, meta=np.empty((0, 3))), Y).dual_coef_
    assert flag.exists()
    np.testing.assert_array_equal(found, expected)


def test_a_precomputed_matrix_of_dask_is_read_as_a_whole():
    rows = np.random.default_rng(1).standard_normal((1500, 3))
    matrix, labels = mc.Gaussian(0.3)(rows), rows[:, 0] > 0
    lazy, model = da.from_array(matrix, chunks=(300, 1500)), mc.SVC(100.0, kernel="precomputed")
    whole = mc.SVC(100.0, kernel="precomputed").fit(matrix, labels)
    np.testing.assert_array_equal(model.fit(lazy, labels).support_, whole.support_)
    np.testing.assert_allclose(
        model.decision_function(lazy), whole.decision_function(matrix), atol=1e-9
    )
    assert mc.certify(model, lazy, labels).kkt < 1e-3


def test_an_array_without_rows_is_refused_as_in_memory():
    empty, labels = lazily(X)[:0], np.zeros(0)
    for call in (
        mc.SVC(kernel=K).fit,
        lambda *given: mc.certify(mc.SVC(kernel=K).fit(X, Y), *given),
    ):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            call(empty, labels)


@pytest.mark.filterwarnings("ignore:SVC of blocks ended with a violation")
def test_support_vectors_are_the_rows_of_their_numbers_where_the_passes_run_out(limits):
    limits(added_rows=20)
    limits(passes=1)
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.1)).fit(lazily(X[ORDER], 100), Y[ORDER])
    assert model.certificate_.kkt > model.tol
    np.testing.assert_array_equal(model.support_vectors_, X[ORDER][model.support_])


def test_bandwidth_rules_count_weights_as_in_memory_and_rows_of_weight_0_not_at_all():
    far = np.where(WEIGHTS[:, None] > 0, X, X + 50)
    for gamma in ("scale", "median"):
        whole = mc.SVC(kernel=mc.Gaussian(gamma)).fit(far, Y, WEIGHTS)
        found = mc.SVC(kernel=mc.Gaussian(gamma)).fit(lazily(far), Y, lazily(WEIGHTS))
        assert found.kernel_.gamma == pytest.approx(whole.kernel_.gamma, rel=0.05)
