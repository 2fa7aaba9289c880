import numpy as np
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import SpectrumDisplay


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(50, 2))


def test_curves_hold_the_numbers_of_the_spectrum(points):
    found = mc.capacity.spectrum(mc.Gaussian(0.5), points, 12)
    display = SpectrumDisplay(found).plot(Figure().subplots())
    assert np.allclose(display.eigenvalues_.get_ydata(), found.values / 50)
    assert np.allclose(display.sides_[0].get_ydata(), found.sides)
    assert np.allclose(display.sides_[1].get_ydata(), found.mercer_sides(found.suprema.max()))


def test_the_assumed_box_is_drawn_around_that_of_the_points(points):
    display = SpectrumDisplay.from_kernel(
        mc.Gaussian(0.5), points, 12, ax=Figure().subplots(1, 2), centre=False
    )
    assert np.all(display.sides_[0].get_ydata() <= display.sides_[1].get_ydata() * (1 + 1e-9))
    assert "centred" not in display.axes_[0, 0].get_title()
