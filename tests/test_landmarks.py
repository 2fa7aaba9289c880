"""Landmarks: distinct rows, repeatable from the seed, whose features span most of the others."""

import numpy as np
import pytest

import mercer as mc
from mercer import landmarks
from mercer.projection import project

X = np.random.default_rng(0).standard_normal((200, 2))
KERNEL = mc.Gaussian(1.0)
RULES = {
    "uniform": lambda m, seed: landmarks.uniform(X, m, seed),
    "pivoted": lambda m, _: landmarks.pivoted(KERNEL, X, m),
    "randomly pivoted": lambda m, seed: landmarks.randomly_pivoted(KERNEL, X, m, seed),
}


def remainders(rows):
    """Return squared distances of all points to the span of the landmarks."""
    phi = mc.features(KERNEL, X)
    return (phi - project(phi, phi[:, rows])).norms() ** 2


@pytest.mark.parametrize("rule", RULES)
def test_rows_are_distinct_and_repeat_with_the_seed(rule):
    rows = RULES[rule](20, 3)
    assert len(set(rows.tolist())) == 20
    assert 0 <= rows.min() <= rows.max() < 200
    np.testing.assert_array_equal(rows, RULES[rule](20, 3))


@pytest.mark.parametrize("rule", ["uniform", "randomly pivoted"])
def test_another_seed_gives_other_rows(rule):
    assert set(RULES[rule](20, 3)) != set(RULES[rule](20, 4))


def test_greedy_pivots_leave_no_point_far_from_their_span():
    tol = 1e-3
    rows = landmarks.pivoted(KERNEL, X, 200, tol)
    assert len(rows) < 200
    assert remainders(rows).max() <= 1.01 * tol


def test_pivots_span_more_of_the_data_than_uniform_landmarks():
    chance = [remainders(landmarks.uniform(X, 25, seed)) for seed in range(5)]
    drawn = [remainders(landmarks.randomly_pivoted(KERNEL, X, 25, seed)) for seed in range(5)]
    assert np.sum(drawn) < 0.9 * np.sum(chance)
    # greedy pivots reduce the largest distance, not the sum
    assert remainders(landmarks.pivoted(KERNEL, X, 25)).max() < np.min([each.max() for each in chance])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_of_k_means_are_means_of_their_points(dtype):
    points = X.astype(dtype)
    centres = landmarks.k_means(points, 8, 0)
    assert centres.dtype == dtype
    nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([points[nearest == j].mean(axis=0) for j in range(8)])
    np.testing.assert_allclose(centres, means, atol=1e-5)


def test_objects_without_coordinates_have_landmarks_too():
    K = KERNEL(X)
    precomputed = mc.Precomputed().resolve(K)
    rows = landmarks.pivoted(precomputed, np.arange(200), 15)
    np.testing.assert_array_equal(rows, landmarks.pivoted(KERNEL, X, 15))


@pytest.mark.parametrize("m", [0, 201])
def test_an_impossible_number_is_refused(m):
    for rule in RULES.values():
        with pytest.raises(ValueError, match=f"m = {m}"):
            rule(m, 0)
    with pytest.raises(ValueError, match=f"m = {m}"):
        landmarks.k_means(X, m)
