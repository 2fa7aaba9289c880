"""mercer warmup: it compiles what first calls would compile, tells its steps, and keeps the level of the logger."""

import logging

import pytest
from numba.core import event

import mercer as mc
from mercer.cli import main, warmup


@pytest.fixture
def small(monkeypatch):
    # what other tests compile too
    for name, value in {"KERNELS": (mc.Gaussian(0.5),), "DTYPES": ("float64",)}.items():
        monkeypatch.setattr(warmup, name, value)


@pytest.mark.usefixtures("small")
def test_the_calls_are_told_and_leave_nothing_to_compile(capsys):
    assert main(["warmup"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("3 calls in ")
    for text in (
        "searches over C, float64",
        "machines, Gaussian, float64",
        "components and pre-images, Gaussian",
    ):
        assert text in told.err
    X, y = warmup._data(250, 8, "float64")
    with event.install_recorder("numba:compile") as compiled:
        model = mc.SVC(kernel=mc.Gaussian(0.7)).fit(X, y)
        assert model.score(X, y) > 0.5
        assert model.predict(X[:1])[0] in model.classes_
    assert compiled.buffer == []


@pytest.mark.usefixtures("small")
def test_the_notice_on_compilation_is_silent_meanwhile_and_after_an_interrupt_no_longer(
    monkeypatch,
):
    log, levels = logging.getLogger("mercer"), []

    def step():
        levels.append(log.level)
        raise KeyboardInterrupt

    monkeypatch.setattr(warmup, "steps", lambda *_: [("one", step)])
    before = log.level
    assert main(["warmup"]) == 130
    assert levels == [logging.ERROR]
    assert log.level == before


def test_all_common_kernels_are_among_the_steps_in_both_types():
    told = [text for text, _ in warmup.steps()]
    for kernel in ("Gaussian", "Linear", "Polynomial", "Sigmoid", "Laplacian"):
        assert sum(kernel in text for text in told) == 4
