import numpy as np
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import PreImagePathsDisplay
from mercer.preimages import Gradient


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(40, 2))


@pytest.mark.parametrize("method", ["auto", Gradient()])
def test_no_step_leads_away_from_the_vector(points, method):
    psi = mc.mean(mc.features(mc.Gaussian(0.5), points))
    display = PreImagePathsDisplay.from_expansion(
        psi, points[:1] + 1, method, n_steps=6, ax=Figure().subplots()
    )
    distances = [mc.sqdist(psi, mc.features(psi.kernel, step))[0, 0] for step in display.paths]
    assert np.all(np.diff(distances) <= 1e-12)
    assert distances[1] < distances[0]


def test_points_of_several_widths_are_drawn_without_their_marks(points):
    psi = mc.mean(mc.features(mc.Gaussian(0.5), points))
    small = mc.reduce(psi, 4, method=mc.reduction.VariableWidths()).expansion
    display = PreImagePathsDisplay.from_expansion(
        small, points[:1], n_steps=2, ax=Figure().subplots()
    )
    np.testing.assert_array_equal(display.points, small.points[:, :2])


def test_paths_run_from_the_noisy_points_to_the_denoised_ones(points):
    pca = mc.KernelPCA(3, kernel=mc.Gaussian(0.5)).fit(points)
    display = PreImagePathsDisplay.from_estimator(
        pca, points[:4] + 0.3, n_steps=2, ax=Figure().subplots()
    )
    assert np.array_equal(display.paths[0], points[:4] + 0.3)
    np.testing.assert_allclose(display.paths[-1], pca.denoise(points[:4] + 0.3), atol=1e-8)
    assert len(display.lines_) == 4
    assert np.array_equal(np.column_stack(display.ends_.get_data()), display.paths[-1])


def test_given_points_are_drawn_behind_the_paths(points):
    paths = np.stack([points[:2], points[2:4]])
    alone = PreImagePathsDisplay(paths).plot(Figure().subplots())
    assert list(alone.ax_.lines) == [*alone.lines_, alone.ends_]
    behind = PreImagePathsDisplay(paths, points=points).plot(Figure().subplots())
    assert np.array_equal(np.column_stack(behind.ax_.lines[0].get_data()), points)
    assert len(behind.ax_.lines) == len(alone.ax_.lines) + 1


def test_a_method_without_iterations_is_refused(points):
    psi = mc.features(mc.Polynomial(3), points[:2])
    with pytest.raises(TypeError, match="Exact has no iterations"):
        PreImagePathsDisplay.from_expansion(psi, points[:2], "exact")
