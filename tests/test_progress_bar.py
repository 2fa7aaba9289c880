"""ProgressBar: what it draws by rich and without it, and that nothing changes by it."""

import io
import re
import sys
from contextlib import redirect_stderr

import numpy as np
import pytest

import mercer as mc

X = np.random.default_rng(0).standard_normal((30, 2))
PSI = mc.Expansion(mc.Gaussian(0.5), X, np.random.default_rng(1).standard_normal((30, 2)))


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(params=["rich", "plain"])
def terminal(request, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    if request.param == "rich":
        pytest.importorskip("rich")
    else:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    return Terminal()


def test_a_call_shows_its_name_and_the_steps_of_all_and_returns_what_it_does_without(terminal):
    with redirect_stderr(terminal), mc.ProgressBar("shrinking", most=4) as bar:
        watched = mc.reduce(PSI, 4, method="pivoted", callback=bar)
    assert "shrinking" in terminal.getvalue()
    assert "4 of 4" in terminal.getvalue()
    np.testing.assert_array_equal(
        watched.expansion.coef, mc.reduce(PSI, 4, method="pivoted").expansion.coef
    )


@pytest.mark.skipif(
    not hasattr(mc.KernelRidge, "set_callbacks"), reason="scikit-learn before 1.9 has none"
)
def test_a_fit_shows_its_last_stage_and_ends_the_bar_also_when_it_fails(terminal):
    bar = mc.ProgressBar()
    with redirect_stderr(terminal):
        watched = (
            mc.KernelRidge(kernel="rbf", landmarks=9, random_state=0)
            .set_callbacks(bar)
            .fit(X, X[:, 0])
        )
    assert "KernelRidge: eigenvectors" in terminal.getvalue()
    alone = mc.KernelRidge(kernel="rbf", landmarks=9, random_state=0).fit(X, X[:, 0])
    np.testing.assert_array_equal(watched.expansion_.coef, alone.expansion_.coef)
    with pytest.raises(ValueError, match="NaN"):
        watched.fit(X * np.nan, X[:, 0])
    assert bar._bar is None


@pytest.mark.skipif(not hasattr(mc.SVC, "set_callbacks"), reason="scikit-learn before 1.9 has none")
def test_a_fit_of_a_support_vector_machine_shows_a_violation_that_falls_to_the_tolerance(terminal):
    rows = np.random.default_rng(0).standard_normal((400, 2))
    model = mc.SVC(1e4, kernel=mc.Gaussian(2.0), tol=1e-6).set_callbacks(mc.ProgressBar())
    with redirect_stderr(terminal):
        model.fit(rows, rows[:, 0] * rows[:, 1] > 0)
    drawn = re.findall(r"violation ([\d.]+e[-+]\d+), tol 1e-06", terminal.getvalue())
    assert 0 <= float(drawn[-1]) <= float(drawn[0]) < np.inf


@pytest.mark.parametrize(("text", "name"), [("", "compress"), ("small", "small")])
def test_compress_names_a_bar_that_has_no_name(terminal, text, name):
    labels = X[:, 0] * X[:, 1] > 0
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, labels)
    with redirect_stderr(terminal), mc.ProgressBar(text) as bar:
        mc.compress(model, X, labels, n_vectors=3, random_state=0, callback=bar)
    assert name in terminal.getvalue()
    assert ("compress" in terminal.getvalue()) == (name == "compress")


def test_nothing_is_drawn_into_files(capsys):
    with mc.ProgressBar("shrinking") as bar:
        bar(1, 2)
    assert "[" not in "".join(capsys.readouterr())


def test_the_number_of_steps_is_whole():
    with pytest.raises(ValueError, match="most = 0 must be at least 1"):
        mc.ProgressBar(most=0)
