"""Landmarks are selected by the rule that is named, or validated where they are given."""

import numpy as np
import pytest

import mercer as mc
from mercer import landmarks
from mercer.maps import select_landmarks


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((50, 3))


def test_rules_are_the_functions_of_their_names(points):
    kernel = mc.Gaussian(0.5)
    np.testing.assert_array_equal(
        select_landmarks(kernel, points, 7, "uniform", 3), points[landmarks.uniform(points, 7, 3)]
    )
    np.testing.assert_array_equal(
        select_landmarks(kernel, points, 7, "k_means", 3), landmarks.k_means(points, 7, 3)
    )
    np.testing.assert_array_equal(
        select_landmarks(kernel, points, 7, "greedy"), points[landmarks.greedy(kernel, points, 7)]
    )
    np.testing.assert_array_equal(
        select_landmarks(kernel, points, 7, "leverage", 3),
        points[landmarks.leverage(kernel, points, 7, 3)],
    )
    # the name of earlier model files
    np.testing.assert_array_equal(
        select_landmarks(kernel, points, 7, "pivoted"),
        select_landmarks(kernel, points, 7, "greedy"),
    )
    np.testing.assert_array_equal(
        select_landmarks(kernel, points, 7, "randomly_pivoted", 3),
        points[landmarks.randomly_pivoted(kernel, points, 7, 3)],
    )


def test_points_of_any_kind_are_select_landmarks(points):
    words = ["a", "ab", "abc", "abcd"]
    kernel = mc.FunctionKernel(
        lambda A, B: np.array([[float(len(a) * len(b)) for b in B] for a in A])
    )
    assert set(select_landmarks(kernel, words, 2, "uniform")) < set(words)
    assert select_landmarks(kernel, words, 1, "greedy") == ["abcd"]
    assert select_landmarks(kernel, words, ("x", "y")) == ["x", "y"]
    assert set(select_landmarks(kernel, words, 2, "leverage", 0)) <= set(words)
    given = mc.Precomputed().resolve(points @ points.T)
    assert select_landmarks(given, np.arange(50), 5, "uniform").shape == (5,)
    np.testing.assert_array_equal(select_landmarks(given, np.arange(50), [3, 4]), [3, 4])


def test_given_points_are_copied_in_the_type_of_the_data(points):
    mine = points[:4].copy()
    taken = select_landmarks(mc.Linear(), points.astype(np.float32), mine)
    mine[:] = 0
    np.testing.assert_array_equal(taken, points[:4].astype(np.float32))
    assert taken.dtype == np.float32


def test_more_landmarks_than_points_are_all_points(points):
    assert len(select_landmarks(mc.Linear(), points, 80, "uniform")) == 50


@pytest.mark.parametrize(
    ("wanted", "rule", "message"),
    [
        (5, "best", "rule = 'best' must be"),
        (5, None, "rule = None must be"),
        (5, np.ones(2), r"rule = array\(\[1., 1.\]\) must be"),
        (0, "uniform", "landmarks = 0"),
        (np.ones((2, 5)), None, "landmarks have 5 features, but X has 3"),
        (np.full((2, 3), np.nan), None, "landmarks contains NaN"),
    ],
)
def test_invalid_landmarks_and_rules_are_refused(points, wanted, rule, message):
    with pytest.raises(ValueError, match=message):
        select_landmarks(mc.Linear(), points, wanted, rule)


def test_a_number_that_is_not_whole_and_centres_of_objects_are_refused(points):
    with pytest.raises(TypeError, match="landmarks must be a whole number"):
        select_landmarks(mc.Linear(), points, 2.5)
    words = mc.FunctionKernel(
        lambda A, B: np.array([[float(len(a) * len(b)) for b in B] for a in A])
    )
    with pytest.raises(TypeError, match="rule = 'k_means' needs rows of numbers"):
        select_landmarks(words, ["a", "ab"], 1, "k_means")


def test_given_indices_of_a_precomputed_kernel_are_copied():
    kernel, rows = mc.Precomputed().resolve(np.eye(5)), np.array([3, 4])
    selected = select_landmarks(kernel, np.arange(5), rows)
    rows[:] = 0
    np.testing.assert_array_equal(selected, [3, 4])


@pytest.mark.parametrize("rule", ["randomly_pivoted", "greedy", "leverage"])
def test_points_whose_features_are_all_zero_are_refused(rule):
    with pytest.raises(
        ValueError, match=r"no landmarks: k\(x, x\) of all 13 points is 0 .* the kernel Linear\(\)"
    ):
        select_landmarks(mc.Linear(), np.zeros((13, 1)), 5, rule, 0)


@pytest.mark.parametrize("rule", ["randomly_pivoted", "greedy", "leverage", "uniform"])
def test_rows_of_kernel_values_are_no_points_to_select_from(rule):
    K = mc.Gaussian(0.5)(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(ValueError, match=r"give the row numbers .* np\.arange\(n\)"):
        select_landmarks(mc.Precomputed(K), K, 5, rule, 0)
