"""Feature maps: inner products of features, gradients against differences, invalid features."""

import numpy as np
import pytest

import mercer as mc

X = np.random.default_rng(0).standard_normal((8, 3))
G = mc.Gaussian(0.5)


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (lambda Y: Y * np.nan, "phi must return finite features, got NaN"),
        (lambda Y: Y[0], r"phi must return one row of features per point: expected \(8, D\), got \(3,\)"),
        (lambda Y: Y.tolist(), r"expected \(8, D\), got list"),
    ],
    ids=["NaN", "shape", "list"],
)
def test_bad_features_are_refused(phi, message):
    with pytest.raises(ValueError, match=message):
        mc.FeatureMap(phi)(X)


def test_a_feature_map_of_objects_is_the_inner_product_of_their_features():
    words = ["ab", "b", "aab"]
    kernel = mc.FeatureMap(lambda ws: np.array([[w.count("a"), w.count("b")] for w in ws], float))
    np.testing.assert_array_equal(kernel(words), [[2, 1, 3], [1, 1, 1], [3, 1, 5]])
    np.testing.assert_array_equal(kernel.diag(words), [2, 1, 5])


def test_features_are_functions():
    with pytest.raises(TypeError, match="phi must be a function of points, got 3"):
        mc.FeatureMap(3)
    with pytest.raises(TypeError, match="jacobian must be a function of points, got 3"):
        mc.FeatureMap(np.abs, 3)
