"""Landmarks: distinct rows, repeatable from the seed, whose features span most of the others."""

import numpy as np
import pytest
import threadpoolctl

import mercer as mc
from mercer import landmarks
from mercer.maps import select_landmarks
from mercer.projection import project

X = np.random.default_rng(0).standard_normal((200, 2))
KERNEL = mc.Gaussian(1.0)
RULES = {
    "uniform": lambda m, seed: landmarks.uniform(X, m, seed),
    "greedy": lambda m, _: landmarks.greedy(KERNEL, X, m),
    "randomly pivoted": lambda m, seed: landmarks.randomly_pivoted(KERNEL, X, m, seed),
    "leverage": lambda m, seed: landmarks.leverage(KERNEL, X, m, seed),
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


@pytest.mark.parametrize("rule", ["uniform", "randomly pivoted", "leverage"])
def test_another_seed_gives_other_rows(rule):
    assert set(RULES[rule](20, 3)) != set(RULES[rule](20, 4))


def test_each_greedy_pivot_is_the_farthest_from_the_span_of_those_before():
    rows = landmarks.greedy(KERNEL, X, 20)
    assert [int(remainders(rows[:j]).argmax()) for j in range(1, 20)] == rows[1:].tolist()


def test_greedy_pivots_end_at_the_numerical_rank():
    rows = landmarks.greedy(KERNEL, X, 200)
    assert len(rows) < 200
    assert remainders(rows).max() <= 1e-10


def test_pivots_span_more_of_the_data_than_uniform_landmarks():
    chance = [remainders(landmarks.uniform(X, 25, seed)) for seed in range(5)]
    drawn = [remainders(landmarks.randomly_pivoted(KERNEL, X, 25, seed)) for seed in range(5)]
    assert np.sum(drawn) < 0.9 * np.sum(chance)
    # greedy pivots reduce the largest distance, not the sum
    assert remainders(landmarks.greedy(KERNEL, X, 25)).max() < np.min(
        [each.max() for each in chance]
    )


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-9), (np.float32, 1e-3)])
@pytest.mark.parametrize("k", [1, 10, 30])
def test_leverage_scores_over_all_points_are_those_of_the_kernel_matrix(
    dtype, error, k, global_random_seed
):
    points = np.random.default_rng(global_random_seed).standard_normal((60, 2)).astype(dtype)
    gram, K = mc.Gram(KERNEL, points), KERNEL(points.astype(np.float64))
    ridge = np.linalg.eigvalsh(K)[:-k].sum() / k
    expected = np.diagonal(np.linalg.solve(K + ridge * np.eye(60), K))
    scores = landmarks.ridge_leverage(gram, np.arange(60), np.arange(60), np.ones(60), k)
    np.testing.assert_allclose(scores, expected, rtol=error, atol=error)
    np.testing.assert_allclose(landmarks.ridge_leverage(gram, np.arange(60)[7:9], np.arange(60), np.ones(60), k),
                               expected[7:9], rtol=error, atol=error)  # fmt: skip


def test_a_weight_of_a_sample_counts_as_a_repeated_point(costs):
    repeated = np.vstack([X[:20], X[:5], X[:5]])
    weights = np.where(np.arange(20) < 5, 3.0, 1.0)
    rows = np.arange(30)
    expected = landmarks.ridge_leverage(mc.Gram(KERNEL, repeated), rows, rows, np.ones(30), 4)
    costs(BLOCK=7 * 20)
    scores = landmarks.ridge_leverage(mc.Gram(KERNEL, repeated), rows, np.arange(20), weights, 4)
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_few_points_far_from_a_cluster_are_drawn_by_leverage_and_missed_by_chance(
    global_random_seed,
):
    """Fifteen outliers among 1 500 points of one cluster: each is as much of the kernel matrix as the whole cluster."""
    rng = np.random.default_rng(global_random_seed)
    far = np.arange(15) * 100.0 + 50.0
    points = np.concatenate([1e-3 * rng.standard_normal(1500), far])[:, None]
    # a sample without the cluster, which happens, gives its points too large scores
    drawn = [np.sum(landmarks.leverage(KERNEL, points, 60, seed) >= 1500) for seed in range(9)]
    assert np.median(drawn) >= 13
    assert (
        np.median([np.sum(landmarks.uniform(points, 60, seed) >= 1500) for seed in range(9)]) <= 5
    )


def test_leverage_finds_no_more_rows_than_have_a_score():
    points = np.zeros((40, 1))
    points[:3, 0] = [1.0, 2.0, 3.0]
    rows = landmarks.leverage(mc.Linear(), points, 10, 0)
    assert set(rows) <= {0, 1, 2}
    assert len(landmarks.leverage(mc.Linear(), np.zeros((40, 1)), 10, 0)) == 0
    np.testing.assert_array_equal(landmarks.leverage(KERNEL, X, 200, 0), np.arange(200))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [mc.Linear(), mc.Polynomial(2), mc.Gaussian(1e-6)], ids=repr)
def test_leverage_spans_features_of_a_rank_far_below_the_number_of_landmarks(dtype, kernel):
    points = X.astype(dtype)
    rows = landmarks.leverage(kernel, points, 90, 0)
    assert len(rows) >= 10
    phi = mc.features(kernel, X)
    outside = (phi - project(phi, phi[:, rows])).norms() ** 2
    assert outside.max() < 1e-6 * kernel.diag(X).max()


def test_centres_of_k_means_repeat_with_a_generator_too():
    one, other, third = (landmarks.k_means(X, 8, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third)


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
    rows = landmarks.greedy(precomputed, np.arange(200), 15)
    np.testing.assert_array_equal(rows, landmarks.greedy(KERNEL, X, 15))


@pytest.mark.parametrize("rule", ["uniform", "greedy", "randomly_pivoted", "leverage", "k_means"])
def test_no_landmarks_are_refused_and_more_than_points_are_as_many_as_these(rule):
    with pytest.raises(ValueError, match="landmarks = 0 must be at least 1"):
        select_landmarks(KERNEL, X, 0, rule)
    np.testing.assert_array_equal(
        select_landmarks(KERNEL, X[:6], 7, rule, 0),
        select_landmarks(KERNEL, X[:6], 6, rule, 0),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_centres_do_not_depend_on_the_number_of_threads(dtype):
    X = np.random.default_rng(0).normal(size=(5000, 4)).astype(dtype)
    found = landmarks.k_means(X, 40, 0)
    with threadpoolctl.threadpool_limits(1):
        np.testing.assert_array_equal(landmarks.k_means(X, 40, 0), found)
