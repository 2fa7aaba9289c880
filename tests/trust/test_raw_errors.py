"""Inputs at the edge of numbers and types get an error that names them, or a result, and no raw error or warning."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import mercer as mc

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > 0
WEIGHTS = np.where(np.arange(40) == 3, 5e-324, 1.0)
PSI = mc.mean(mc.features(mc.Gaussian(1.0), X))
REFUSED = {
    "rows that are rounded": (
        lambda: mc.PCAL1(2).fit(X + 1e15),
        ValueError,
        "no dispersion beyond rounding.*1e.15",
    ),
    "a weight of nearly 0 in a squared loss": (
        lambda: mc.SVR(loss="squared_epsilon").fit(X, X[:, 0], WEIGHTS),
        ValueError,
        "times the weights 4.94e-324, must be at least 1e-290",
    ),
    "a weight of nearly 0 in Huber's loss": (
        lambda: mc.SVR(loss="huber").fit(X, X[:, 0], WEIGHTS),
        ValueError,
        "must be at least 1e-290",
    ),
    "a class weight that overflows": (
        lambda: mc.SVC(10.0, class_weight={False: 1e308, True: 1.0}).fit(X, Y),
        ValueError,
        "C = 10, times the weights inf, must be at most 1e.300",
    ),
    "class weights that overflow together": (
        lambda: mc.NuSVC(0.2, class_weight={False: 1e308, True: 1e308}).fit(X, Y),
        ValueError,
        "must be at most 1e.300",
    ),
    "a vector times a text": (lambda: PSI * "a", TypeError, "Expansion"),
    "a text times a vector": (lambda: "a" * PSI, TypeError, "Expansion"),
    "a vector times nothing": (lambda: PSI * None, TypeError, "unsupported operand"),
    "a sparse vector": (
        lambda: mc.SVC().fit(sp.coo_array(X[:, 0]), Y),
        ValueError,
        r"X must have two dimensions .* got shape \(40,\)",
    ),
    "kernel values whose norm overflows": (
        lambda: mc.KernelPCA(2).fit(X * 1e100),
        ValueError,
        r"kernel values of X has entries up to .*e\+200, .*must not overflow; scale X",
    ),
    "a quantile of nearly 0": (
        lambda: mc.QuantileSVR(1e-300).fit(X, X[:, 0]),
        ValueError,
        "quantile = 1e-300 must be at least 1e-150",
    ),
    "a C of nearly 0 of a combination": (
        lambda: mc.learning.combination([mc.Linear()], X, Y, method="svm", C=5e-324),
        ValueError,
        "C = 5e-324 must be from 1e-150 to 1e.150",
    ),
    "time stamps as labels": (
        lambda: mc.SVC().fit(X, np.where(Y, "2020-01-01", "2020-01-02").astype("datetime64[D]")),
        TypeError,
        "y must hold labels or numbers, got dtype datetime64",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_error_names_the_number_or_the_type(name):
    call, error, text = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=text):
            call()


def test_weights_of_nearly_0_count_as_none_in_a_loss_between_bounds():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mc.SVR().fit(X, X[:, 0], WEIGHTS)
        rest = mc.SVR().fit(np.delete(X, 3, axis=0), np.delete(X[:, 0], 3))
    np.testing.assert_allclose(model.predict(X), rest.set_params().predict(X), atol=0.05)


@pytest.mark.parametrize(
    "model", [mc.SVC(), mc.NuSVC(0.3), mc.SVR(), mc.NuSVR(), mc.OneClassSVM(0.3), mc.SVDD()]
)
def test_a_fit_of_two_steps_says_that_it_stopped(model):
    y = Y if hasattr(model, "class_weight") else X[:, 1]
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        model.set_params(max_iter=2).fit(X, y)


def test_strings_of_pyarrow_are_labels():
    pyarrow = pytest.importorskip("pyarrow")
    for labels in (
        pyarrow.array(np.where(Y, "a", "b")),
        pyarrow.chunked_array([np.where(Y, "a", "b")]),
    ):
        for model in (mc.SVC(), mc.KernelFisher()):
            assert model.fit(X, labels).score(X, np.where(Y, "a", "b")) > 0.9


def test_a_best_parameter_at_the_edge_of_the_grid_is_mentioned(caplog):
    y = X[:, 0] + np.random.default_rng(1).normal(size=40) > 0
    for Cs in ([1e-6, 1e-5, 1e-4], np.logspace(-6, 6, 30)):
        caplog.clear()
        best = mc.SVCCV(Cs=Cs, cv=3).fit(X, y).C_
        text = " ".join(record.getMessage() for record in caplog.records)
        assert ("the best C" in text) == (best in (min(Cs), max(Cs)))
    caplog.clear()
    mc.SVRCV(Cs=3, gammas=[10.0, 20.0, 40.0], cv=3).fit(X, X[:, 0])
    assert any("the best gamma" in record.getMessage() for record in caplog.records)


def test_a_checkpoint_that_expands_is_refused_before_it_takes_memory(tmp_path):
    path = tmp_path / "state.npz"
    np.savez_compressed(path, solve=np.array("cg"), x=np.zeros(10**6))
    with (
        pytest.raises(
            ValueError,
            match="is not a checkpoint .its arrays take 8000264 bytes, more than the file",
        ),
        mc.checkpoint(path),
    ):
        pass


@pytest.mark.parametrize(
    "make",
    [
        lambda m: mc.KernelPCA(m, kernel="rbf"),
        lambda m: mc.KernelRidge(landmarks=m, kernel="rbf"),
        lambda m: mc.KernelMap("rbf", landmarks=m),
        lambda m: mc.TableRegressor(n_landmarks=m),
    ],
)
def test_numpy_integers_of_few_bits_count_as_those_of_python(make):
    rows = np.random.default_rng(1).normal(size=(140, 3))
    found, expected = (make(m).fit(rows, rows[:, 0]) for m in (np.int8(100), 100))
    name = "transform" if hasattr(found, "transform") else "predict"
    assert (getattr(found, name)(rows) == getattr(expected, name)(rows)).all()


def test_a_large_ridge_does_not_overflow():
    model = mc.KernelRidge(1e308, kernel="rbf").fit(X, X[:, 0])
    expected = mc.Gaussian(model.kernel_.gamma)(X) @ (X[:, 0] / 1e308)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
