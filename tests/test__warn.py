"""Warnings point to the line of the user: through any number of frames of the package, and from all its layers."""

import warnings

import numpy as np
import pytest

import mercer as mc
from mercer._warn import warn


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_frames_of_the_package_are_passed_over(depth):
    inside = {"__name__": "mercer.anything", "warn": warn}
    exec("def fall(k):\n    return fall(k - 1) if k else warn('look out', RuntimeWarning)", inside)
    with pytest.warns(RuntimeWarning, match="look out") as caught:
        inside["fall"](depth)
    assert [each.filename for each in caught] == [__file__]


ROWS = np.random.default_rng(0).standard_normal((30, 3))
LAYERS = {
    "bandwidth rule": lambda: mc.SVR().fit(np.ones((4, 2)), np.arange(4.0)),
    "kernel too narrow": lambda: mc.OneClassSVM(kernel=mc.Gaussian(1e9)).fit(ROWS),
    "rank": lambda: mc.KernelPCA(10).fit(ROWS),
    "indefinite kernel": lambda: mc.KernelPCA(2, kernel=mc.Sigmoid(1.0, -1.0)).fit(ROWS),
    "matrix of distances": lambda: mc.Precomputed().resolve(1.0 - np.eye(3)),
    "fixed point": lambda: mc.PCAL1(1, max_iter=1).fit(ROWS),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_warnings_of_all_layers_name_the_line_of_the_user(layer):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LAYERS[layer]()
    assert {each.filename for each in caught} == {__file__}
