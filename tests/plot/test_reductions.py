import numpy as np
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import ReductionDisplay


@pytest.fixture(scope="module")
def reductions():
    X = np.random.default_rng(0).normal(size=(40, 2))
    psi = mc.mean(mc.features(mc.Gaussian(0.5), X))
    return [mc.reduce(psi, 6, method=method) for method in ("greedy", "pivoted")]


def test_the_curve_is_the_history_of_the_run(reductions):
    display = ReductionDisplay.from_reduction(reductions[0], ax=Figure().subplots())
    assert np.array_equal(display.line_.get_xdata(), reductions[0].sizes)
    assert np.array_equal(display.line_.get_ydata(), reductions[0].history)
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "log")


def test_several_runs_share_the_axes_and_the_legend_tells_them_apart(reductions):
    first = ReductionDisplay.from_reduction(reductions[0], ax=Figure().subplots())
    second = ReductionDisplay.from_reduction(reductions[1], name="other", ax=first.ax_, color="k")
    assert second.figure_ is first.figure_
    assert [text.get_text() for text in first.ax_.get_legend().get_texts()] == ["Greedy", "other"]
    assert second.line_.get_color() == "k"


def test_errors_of_compressed_models_stand_over_their_vectors_in_order():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    full = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X[:60], y[:60])
    small = [mc.compress(full, X[:60], y[:60], n_vectors=n, random_state=0) for n in (8, 2, 4)]
    display = ReductionDisplay.from_estimators(
        small, X[60:], y[60:], full=full, ax=Figure().subplots()
    )
    assert display.line_.get_xdata().tolist() == [2, 4, 8]
    assert display.errors[1] == pytest.approx(np.mean(small[2].predict(X[60:]) != y[60:]))
    assert display.reference_.get_ydata()[0] == pytest.approx(
        np.mean(full.predict(X[60:]) != y[60:])
    )
    assert display.ax_.get_ylim()[0] == 0


def test_models_of_one_size_share_a_mean_and_a_band_from_the_smallest_to_the_largest_error():
    X = np.random.default_rng(1).normal(size=(120, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    full = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X[:60], y[:60])
    small = [
        mc.compress(full, X[:60], y[:60], n_vectors=n, random_state=s)
        for n in (2, 3)
        for s in (0, 1)
    ]
    display = ReductionDisplay.from_estimators(small, X[60:], y[60:], ax=Figure().subplots())
    errors = np.array([np.mean(model.predict(X[60:]) != y[60:]) for model in small]).reshape(2, 2)
    np.testing.assert_allclose(display.errors, errors.mean(axis=1))
    np.testing.assert_allclose(display.spread, [errors.min(axis=1), errors.max(axis=1)])
    assert display.band_ is not None


def test_errors_that_are_all_zero_are_drawn():
    display = ReductionDisplay(np.array([1, 2]), np.zeros(2)).plot(Figure().subplots())
    display.figure_.canvas.draw()
    assert display.ax_.get_yscale() == "linear"
    assert display.ax_.get_legend() is None
