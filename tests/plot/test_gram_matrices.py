import numpy as np
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import GramDisplay


def test_the_image_is_the_kernel_matrix_sorted_by_class():
    X, y = np.random.default_rng(0).normal(size=(7, 2)), np.array([1, 0, 2, 0, 1, 1, 2])
    kernel = mc.Gaussian(0.5)
    display = GramDisplay.from_kernel(kernel, X, y, ax=Figure().subplots())
    order = [1, 3, 0, 4, 5, 2, 6]
    np.testing.assert_allclose(display.image_.get_array(), kernel(X[order]))
    assert [line.get_ydata()[0] for line in display.lines_[::2]] == [1.5, 4.5]


def test_rules_are_resolved_and_strings_are_drawn():
    words = ["gatta", "cat", "attac"]
    display = GramDisplay.from_kernel(mc.strings.Spectrum(2), words, ax=Figure().subplots())
    assert display.image_.get_array().tolist() == [[4, 1, 3], [1, 2, 1], [3, 1, 4]]
    X = np.random.default_rng(0).normal(size=(9, 2))
    values = GramDisplay.from_kernel(mc.Gaussian("median"), X, ax=Figure().subplots()).values
    np.testing.assert_allclose(values, mc.Gaussian("median").resolve(X)(X))


def test_a_given_matrix_is_drawn():
    X = np.random.default_rng(0).normal(size=(5, 2))
    display = GramDisplay.from_kernel(
        mc.Precomputed(), X @ X.T, [1, 0, 1, 0, 0], ax=Figure().subplots()
    )
    order = [1, 3, 4, 0, 2]
    np.testing.assert_allclose(display.image_.get_array(), (X @ X.T)[np.ix_(order, order)])


def test_a_name_is_refused_as_kernel():
    with pytest.raises(TypeError, match="kernel must be a Kernel, such as .* got 'rbf'"):
        GramDisplay.from_kernel("rbf", np.eye(3))
