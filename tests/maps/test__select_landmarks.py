"""Landmarks by rule, or as given."""

import numpy as np
import pytest

import mercer as mc
from mercer import landmarks
from mercer.maps import chosen, landmarks_for


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((50, 3))


def test_rules_are_the_functions_of_their_names(points):
    kernel = mc.Gaussian(0.5)
    np.testing.assert_array_equal(chosen(kernel, points, 7, "uniform", 3), points[landmarks.uniform(points, 7, 3)])
    np.testing.assert_array_equal(chosen(kernel, points, 7, "k_means", 3), landmarks.k_means(points, 7, 3))
    np.testing.assert_array_equal(chosen(kernel, points, 7, "pivoted"), points[landmarks.pivoted(kernel, points, 7)])
    np.testing.assert_array_equal(
        chosen(kernel, points, 7, "randomly_pivoted", 3), points[landmarks.randomly_pivoted(kernel, points, 7, 3)]
    )


def test_points_of_any_kind_are_chosen(points):
    words = ["a", "ab", "abc", "abcd"]
    kernel = mc.FunctionKernel(lambda A, B: np.array([[float(len(a) * len(b)) for b in B] for a in A]))
    assert set(chosen(kernel, words, 2, "uniform")) < set(words)
    assert chosen(kernel, words, 1, "pivoted") == ["abcd"]
    assert landmarks_for(kernel, words, ("x", "y"), None) == ["x", "y"]
    given = mc.Precomputed().resolve(points @ points.T)
    assert chosen(given, np.arange(50), 5, "uniform").shape == (5,)
    np.testing.assert_array_equal(landmarks_for(given, np.arange(50), [3, 4], None), [3, 4])


def test_given_points_are_copied_in_the_type_of_the_data(points):
    mine = points[:4].copy()
    taken = landmarks_for(mc.Linear(), points.astype(np.float32), mine, None)
    mine[:] = 0
    np.testing.assert_array_equal(taken, points[:4].astype(np.float32))
    assert taken.dtype == np.float32


def test_more_than_all_are_all(points):
    assert len(chosen(mc.Linear(), points, 80, "uniform")) == 50


@pytest.mark.parametrize(
    ("wanted", "rule", "message"),
    [
        (5, "best", "'best' for choosing landmarks is none of"),
        (5, None, "rule None for choosing"),
        (0, "uniform", "number of landmarks = 0"),
        (np.ones((2, 5)), None, "landmarks have 5 features, but X has 3"),
        (np.full((2, 3), np.nan), None, "landmarks contains NaN"),
    ],
)
def test_bad_choices_are_named(points, wanted, rule, message):
    with pytest.raises(ValueError, match=message):
        landmarks_for(mc.Linear(), points, wanted, rule)
