"""Stops: callbacks, limits of steps, Ctrl-C; pauses change no solution."""

import _thread
import sys
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.solvers.svm.duals import (
    GAUSSIAN,
    assert_feasible,
    assert_optimal,
    classifier,
    noisy_classes,
    noisy_curve,
    regression,
    solved,
)

import mercer as mc

MEMORY = pytest.mark.parametrize("memory", ["1GB", 250_000], ids=["all rows", "some rows"])


def problem(kind, n=400):
    """Return points and a dual that takes many steps."""
    X, y = noisy_curve(1, n, d=3, noise=1.0)
    return X, {
        "classifier": lambda: classifier(np.sign(y), 1e3),
        "regression": lambda: regression(y, 1e3, 0.01),
        "squared loss": lambda: regression(y, np.inf, 0.01, ridge=np.full(n, 1e-4)),
        "nu classifier": lambda: classifier(np.sign(y), 1.0, total=0.3 * n),
        "nu regression": lambda: regression(y, 300.0, 0.0, total=100.0 * n),
        "hard tube": lambda: regression(np.sin(X[:, 0]), np.inf, 1e-3),
    }[kind]()


KINDS = ["classifier", "regression", "squared loss", "nu classifier", "nu regression", "hard tube"]


@MEMORY
@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_that_returns_true_ends_the_training(kind, memory):
    X, dual = problem(kind)
    seen = []

    def stop(violation):
        seen.append(violation)
        return True

    found = solved(GAUSSIAN, X, dual, 1e-9, np.inf, memory=memory, callback=stop)
    assert np.isfinite(found.coef).all()
    # all rows of so few variables may be solved for before the first question
    assert found.violation > 1e-9 or memory == "1GB"
    # a machine of several problems asks once for each
    assert 1 <= len(seen) <= 20


@MEMORY
def test_a_callback_hears_falling_violations_and_changes_nothing(memory):
    # more steps than a compiled call takes
    X, dual = problem("regression", 1200 if memory == "1GB" else 250)
    seen = []
    watched = solved(GAUSSIAN, X, dual, 1e-6, memory=memory, callback=seen.append)
    alone = solved(GAUSSIAN, X, dual, 1e-6, memory=memory)
    np.testing.assert_array_equal(watched.coef, alone.coef)
    assert watched.n_iter == alone.n_iter
    assert len(seen) >= 2
    assert min(seen) < 0.1 * max(seen)


def test_pauses_of_a_long_training_change_nothing():
    # more steps than a compiled call takes at a time
    X, sign = noisy_classes(1, 1200, noise=1.0)
    dual, seen = classifier(sign, 1e3), []
    found = solved(GAUSSIAN, X, dual, 1e-3, callback=seen.append)
    assert len(seen) > 1
    assert_optimal(dual, found, GAUSSIAN(X), 1e-3, rounding=1e-7)


def test_a_long_computation_of_rows_pauses_between_few_steps(listening):
    # most steps need another row, of many coordinates
    X = np.random.default_rng(0).standard_normal((1500, 4000)).astype(np.float32)
    y = np.arange(1500) % 2
    heard = []
    with listening(lambda _stage, **numbers: heard.append(numbers)):
        model = mc.SVC(kernel=mc.Gaussian(1 / 8000), memory="18MB").fit(X, y)
    assert model.n_iter_ < 10_000
    assert len(heard) >= 2
    assert model.certificate_.kkt <= 1e-3


@MEMORY
@pytest.mark.parametrize("kind", ["classifier", "regression", "squared loss"])
@pytest.mark.parametrize("limit", [1, 50])
def test_the_limit_of_steps_is_kept_to_the_step(limit, kind, memory):
    X, dual = problem(kind)
    found = solved(GAUSSIAN, X, dual, 1e-9, memory=memory, max_iter=limit)
    assert found.n_iter == limit
    assert found.violation > 1e-9
    if kind != "squared loss":
        assert_feasible(dual, found.coef)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("memory", ["1GB", 140_000], ids=["all rows", "some rows"])
def test_one_answer_stops_all_classifiers(multi_class, memory, listening):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 2)), rng.integers(0, 4, 400)
    model = mc.SVC(1e3, kernel=mc.Gaussian(5.0), multi_class=multi_class, memory=memory, tol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        heard = []

        def stop(_stage, **numbers):
            heard.append(numbers)
            return True

        with listening(stop):
            model.fit(X, y)
    assert heard
    assert len(heard) <= 6
    # all rows of so few variables may be solved for before the first question
    assert model.certificate_.kkt > 1e-3 or memory == "1GB"
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows delivers Ctrl-C to waiting code late")
@pytest.mark.parametrize(
    ("kind", "memory"),
    [
        ("classifier", "1GB"),
        ("classifier", 2_000_000),
        ("nu regression", "1GB"),
        ("several", "1GB"),
        ("path", "1GB"),
    ],
)
def test_ctrl_c_ends_a_fit(kind, memory):
    X, y = noisy_curve(0, 1500, d=3, noise=3.0)
    labels, kernel, options = (
        (np.digitize(y, [-1.0, 1.0])),
        mc.Gaussian(0.1),
        {"tol": 1e-12, "memory": memory},
    )
    # minutes of steps
    fit = {
        "classifier": lambda: mc.SVC(1e7, kernel=kernel, **options).fit(X, labels > 0),
        "nu regression": lambda: mc.NuSVR(0.5, C=1e7, kernel=kernel, **options).fit(X, y),
        "several": lambda: mc.SVC(1e7, kernel=kernel, **options).fit(X, labels),
        "path": lambda: mc.svc_path(X, labels > 0, [1e6, 1e7], kernel=kernel, **options),
    }[kind]
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fit()
    timer.join()
    # the next fit is not disturbed
    model = mc.SVC(1.0, kernel=kernel).fit(X[:200], labels[:200] > 0)
    assert model.certificate_.kkt <= 1e-3
