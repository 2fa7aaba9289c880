import numpy as np
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import KernelPCAContoursDisplay


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(40, 2))


@pytest.fixture(scope="module")
def pca(points):
    return mc.KernelPCA(3, kernel=mc.Gaussian(0.5)).fit(points)


def on_grid(pca, region, n_grid):
    return KernelPCAContoursDisplay.from_estimator(
        pca, np.zeros((1, 2)), region=region, n_grid=n_grid, ax=Figure().subplots()
    )


def test_the_grid_holds_the_scores_of_its_points(pca):
    display = on_grid(pca, (-1.0, 1.0, -0.5, 2.0), 7)
    x, y, scores = display.x, display.y, display.scores
    assert scores.shape == (3, 7, 7)
    assert np.allclose(scores[:, 5, 2], pca.transform([[x[2], y[5]]])[0])
    assert (x[0], x[-1], y[0], y[-1]) == (-1.0, 1.0, -0.5, 2.0)


def test_there_is_a_panel_per_component_and_the_rest_is_empty(pca, points):
    figure = Figure()
    display = KernelPCAContoursDisplay.from_estimator(
        pca, points, n_grid=9, ax=figure.subplots(), n_columns=2
    )
    assert len(display.contours_) == 3
    assert [panel.axison for panel in display.axes_.ravel()] == [True, True, True, False]
    assert display.figure_ is figure


def test_colours_are_symmetric_about_zero(pca, points):
    display = KernelPCAContoursDisplay.from_estimator(pca, points, n_grid=9, ax=Figure().subplots())
    for contours, scores in zip(display.contours_, display.scores, strict=True):
        assert contours.levels[-1] == pytest.approx(np.abs(scores).max())
        assert np.allclose(contours.levels, -contours.levels[::-1])


def test_a_display_draws_again_from_its_data(pca):
    drawn = on_grid(pca, (-1, 1, -1, 1), 9)
    display = KernelPCAContoursDisplay(drawn.x, drawn.y, drawn.scores, titles=["a", "b", "c"])
    panels = display.plot(ax=Figure().subplots(1, 3)).axes_.ravel()
    assert [panel.get_title() for panel in panels] == ["a", "b", "c"]
    display.titles = None
    panels = display.plot(ax=Figure().subplots(1, 3)).axes_.ravel()
    assert [panel.get_title() for panel in panels] == ["1", "2", "3"]


def test_a_component_that_vanishes_is_drawn():
    flat = KernelPCAContoursDisplay(np.arange(3.0), np.arange(3.0), np.zeros((1, 3, 3)))
    assert len(flat.plot(ax=Figure().subplots()).contours_) == 1


def test_points_of_space_are_refused(pca):
    with pytest.raises(ValueError, match=r"X has shape \(5, 3\)"):
        KernelPCAContoursDisplay.from_estimator(pca, np.zeros((5, 3)))
