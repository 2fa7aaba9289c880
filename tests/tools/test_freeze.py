"""Records of fits: which numbers are kept, and which differences are reported."""

import numpy as np
from tools.freeze import data, differences, fits, numbers

import mercer as mc


def test_more_than_fifty_fits_have_names_of_their_own():
    names = [name for name, *_ in fits()]
    assert len(names) == len(set(names)) > 50


def test_fitted_attributes_and_outputs_of_a_model_are_recorded():
    X, y, *_ = data()
    found = numbers(mc.SVC(kernel=mc.Gaussian(2.0)).fit(X, y), X[:3])
    assert {"dual_coef_", "intercept_", "predict", "decision_function"} <= set(found)
    assert found["decision_function"].shape == (3,)


def test_outputs_that_need_values_of_new_points_are_left_out_for_a_given_matrix():
    X, *_ = data()
    K = mc.Gaussian(2.0)(X)
    found = numbers(mc.KernelPCA(2, kernel="precomputed").fit(K), K[:3])
    assert found["transform"].shape == (3, 2)
    assert "score_samples" not in found


def test_differences_beyond_rounding_are_reported():
    before = {"a": np.array([1.0, 2.0]), "b": np.array([1, 2]), "c": np.ones(2, np.float32), "d": np.ones(1)}
    same = {"a": before["a"] + 1e-13, "b": before["b"], "c": before["c"] + np.float32(1e-7), "d": before["d"]}
    assert differences(before, same) == []
    other = {"a": before["a"] + 1e-11, "b": np.array([1, 3]), "c": np.ones(2)}
    assert [line.partition(":")[0] for line in differences(before, other)] == ["missing", "a", "b", "c"]
