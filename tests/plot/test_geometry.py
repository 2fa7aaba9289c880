import numpy as np
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import MetricDisplay, SurfaceDisplay

PLANE = (-1.0, 1.0, -0.5, 1.5)


def test_steps_to_the_rim_of_an_ellipse_have_one_length_in_feature_space():
    kernel = mc.Polynomial(3)
    display = MetricDisplay.from_kernel(kernel, PLANE, n_grid=5, radius=0.3, ax=Figure().subplots())
    for centre, g, outline in zip(
        display.centres, display.metric, display.ellipses_.get_paths(), strict=True
    ):
        steps = outline.vertices - centre
        lengths = np.sqrt(np.einsum("ta,ab,tb->t", steps, g, steps))
        np.testing.assert_allclose(lengths, 0.3, rtol=1e-10)
        # all around, not to and fro
        assert np.linalg.matrix_rank(steps) == 2


def test_the_radius_is_chosen_so_that_most_ellipses_fit_between_centres():
    display = MetricDisplay.from_kernel(mc.Polynomial(3), PLANE, n_grid=11, ax=Figure().subplots())
    longest = [np.ptp(path.vertices, axis=0).max() for path in display.ellipses_.get_paths()]
    assert 0.85 < np.mean(np.array(longest) <= 0.2 * (1 + 1e-9)) < 1
    isotropic = MetricDisplay.from_kernel(mc.Gaussian(2.0), PLANE, n_grid=5, ax=Figure().subplots())
    # 2 gamma = 4: half of a spacing of 1/2 is as long in feature space as 1/2
    assert isotropic.radius_ == pytest.approx(0.5)


def test_a_singular_point_has_no_ellipse_and_no_curvature():
    kernel = mc.Polynomial(2, coef0=0.0)
    ellipses = MetricDisplay.from_kernel(kernel, (-1, 1, -1, 1), n_grid=3, ax=Figure().subplots())
    assert len(ellipses.ellipses_.get_paths()) == 8
    surface = SurfaceDisplay.from_kernel(kernel, (-1, 1, -1, 1), n_grid=3, ax=Figure().subplots())
    assert surface.log_volume[1, 1] == -np.inf
    assert np.isnan(surface.curvature[1, 1])
    for image in surface.images_:
        assert image.get_array().mask.reshape(3, 3).tolist() == [
            [False] * 3,
            [False, True, False],
            [False] * 3,
        ]


def test_images_hold_the_geometry_of_their_points():
    kernel = mc.Polynomial(2)
    figure = Figure()
    display = SurfaceDisplay.from_kernel(
        kernel, PLANE, n_grid=6, points=np.zeros((1, 2)), ax=figure.subplots()
    )
    at = np.array([[display.x[4], display.y[1]]])
    volume, curvature = (image.get_array().reshape(6, 6) for image in display.images_)
    assert 10 ** volume[1, 4] == pytest.approx(mc.manifold.volume_element(kernel, at)[0])
    assert curvature[1, 4] == pytest.approx(mc.manifold.scalar_curvature(kernel, at)[0])
    assert display.figure_ is figure


def test_colours_of_curvature_are_symmetric_about_zero_and_rounding_stays_pale():
    display = SurfaceDisplay.from_kernel(mc.Polynomial(2), PLANE, n_grid=6, ax=Figure().subplots())
    low, high = display.images_[1].get_clim()
    assert -low == high == np.abs(display.curvature).max()
    flat = SurfaceDisplay.from_kernel(
        mc.Polynomial(2, coef0=0.0), (0.5, 1, 0.5, 1), n_grid=6, ax=Figure().subplots()
    )
    norm = flat.images_[1].norm
    assert np.abs(np.asarray(norm(flat.curvature)) - 0.5).max() < 1e-3


def test_a_display_draws_again_from_its_data():
    display = MetricDisplay(np.zeros((1, 2)), np.eye(2)[None], points=np.ones((3, 2)))
    figure = Figure()
    assert display.plot(figure.subplots()).figure_ is figure
    assert len(display.ellipses_.get_paths()) == 1


def test_kernels_of_space_are_drawn_in_the_plane_only():
    with pytest.raises(ValueError, match="A must have 2 columns"):
        MetricDisplay.from_kernel(
            mc.Mapped(mc.Gaussian(1.0), np.ones(3)), PLANE, ax=Figure().subplots()
        )
