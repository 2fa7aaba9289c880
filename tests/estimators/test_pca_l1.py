"""PCAL1: robustness against outliers, scores and their inverse, and the checks of scikit-learn."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.pca_l1 import PCAL1

SETTINGS = [
    PCAL1(),
    PCAL1(2, n_init=3),
    PCAL1(2, greedy=False, random_state=0),
    PCAL1(1, n_init=1, max_iter=500),
]


@parametrize_with_checks(SETTINGS)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((60, 4)) * [4.0, 2.0, 1.0, 0.5]


def angle(model, direction):
    """Return the angle in degrees between the first component and a unit vector."""
    return np.degrees(np.arccos(min(1.0, abs(model.components_[0] @ direction))))


def test_outliers_turn_pca_further_than_pca_l1():
    """Twenty samples of 100 points along an axis and 5 outliers across it: angles between the axis and the result."""
    angles = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        inliers = rng.standard_normal((100, 10)) * [3.0, *[0.5] * 9]
        outliers = rng.standard_normal((5, 10)) + np.where(np.arange(10) == 1, 20.0, 0.0)
        X = np.vstack([inliers, outliers])
        angles.append([angle(model.fit(X), np.eye(10)[0]) for model in (PCAL1(1), PCA(1))])
    l1, l2 = np.transpose(angles)
    assert (l1 < l2).sum() == 20
    # the medians are 27 and 88 degrees
    assert np.median(l1) < 30
    assert np.median(l2) > 85


def test_the_first_direction_has_at_least_the_dispersion_of_every_principal_component(points):
    ours = PCAL1(1).fit(points)
    scores = PCA().fit_transform(points)
    assert ours.dispersions_[0] >= np.abs(scores).sum(axis=0).max() * (1 - 1e-12)


@pytest.mark.parametrize("greedy", [True, False])
def test_the_inverse_transform_of_all_scores_is_exact(points, greedy):
    pca = PCAL1(greedy=greedy).fit(points)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(points)), points, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(pca.transform(points)).sum(axis=0), pca.dispersions_, rtol=1e-12
    )


def test_scores_do_not_depend_on_rotation_offset_or_scale(points, global_random_seed):
    Q = np.linalg.qr(np.random.default_rng(global_random_seed).standard_normal((4, 4)))[0]
    expected = PCAL1(2, random_state=0).fit_transform(points)
    scores = PCAL1(2, random_state=0).fit_transform(1e3 * (points @ Q) + 1e4) / 1e3
    np.testing.assert_allclose(np.abs(scores), np.abs(expected), atol=1e-9)


def test_float32_stays_float32_and_agrees_with_float64(points):
    wide, narrow = (PCAL1(2).fit(points.astype(t)) for t in (np.float64, np.float32))
    scores = narrow.transform(points.astype(np.float32))
    assert scores.dtype == narrow.components_.dtype == np.float32
    np.testing.assert_allclose(scores, wide.transform(points), atol=1e-4)


def test_a_mean_that_float32_rounds_is_warned_of_and_in_the_certificate(points):
    far = (points + 1e6).astype(np.float32)
    with pytest.warns(
        ConvergenceWarning, match="shifted by a share of .*: mean_ is rounded to float32"
    ):
        model = PCAL1(2).fit(far)
    assert mc.certify(model, far).residuals.max() > 1e-3
    assert (
        mc.certify(PCAL1(2).fit(far.astype(np.float64)), far.astype(np.float64)).residuals.max()
        < 1e-9
    )


def test_huge_and_tiny_entries_give_the_same_directions(points):
    expected = PCAL1(2).fit(points).components_
    for factor in (1e-200, 1e200):
        np.testing.assert_allclose(PCAL1(2).fit(factor * points).components_, expected, atol=1e-12)


def test_attributes_describe_the_searches(points):
    pca = PCAL1(2, n_init=3).fit(points)
    assert [len(pca.history_), pca.residuals_.shape, pca.n_ties_] == [2, (2,), 0]
    assert pca.n_iter_ == max(len(objective) for objective in pca.history_)
    assert pca.residuals_.max() < 1e-14
    np.testing.assert_allclose(pca.mean_, points.mean(axis=0), atol=1e-15)


def test_more_directions_than_the_rank_are_cut_with_a_warning(points):
    flat = points[:, :2] @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    for greedy in (True, False):
        with pytest.warns(UserWarning, match="n_components = 3 exceeds the rank 2"):
            assert PCAL1(3, greedy=greedy).fit(flat).n_components_ == 2


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components = 0 must be at least 1"),
        ({"n_components": 5}, ValueError, "n_components = 5 must be at most 4"),
        ({"n_init": 0}, ValueError, "n_init = 0 must be at least 1"),
        ({"max_iter": 1.5}, TypeError, "max_iter must be a whole number"),
    ],
)
def test_bad_parameters_are_named(points, parameters, error, message):
    with pytest.raises(error, match=message):
        PCAL1(**parameters).fit(points)


def test_constant_points_are_an_error():
    with pytest.raises(ValueError, match="no dispersion"):
        PCAL1(1).fit(np.ones((5, 3)))


def test_wrong_scores_are_refused(points):
    with pytest.raises(ValueError, match=r"\(m, 2\)"):
        PCAL1(2).fit(points).inverse_transform(np.ones((3, 5)))


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("whole", [False, True])
def test_its_certificate_is_the_distance_to_a_fixed_point(global_random_seed, greedy, dtype, whole):
    X = np.random.default_rng(global_random_seed).standard_normal((50, 4)) * [1, 2, 3, 4]
    # whole numbers have scores of 0
    X = (X.round() if whole else X).astype(dtype)
    model = mc.PCAL1(3, greedy=greedy, random_state=0).fit(X)
    assert mc.certify(model, X).residuals.max() < 100 * np.finfo(dtype).eps
    mean, model.mean_ = model.mean_, model.mean_ + model.components_[1]
    assert mc.certify(model, X).residuals[1] > 0.1
    model.mean_, model.components_ = mean, model.components_[[1, 0, 2]] + 0
    if greedy:
        assert mc.certify(model, X).residuals.max() > 1e-3
    model.components_ = model.components_ + np.array(
        [[0.1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype
    )
    assert mc.certify(model, X).residuals.max() > 0.01
    model.components_ = np.zeros_like(model.components_)
    assert np.isinf(mc.certify(model, X).residuals).all()


def test_its_certificate_of_one_direction_is_its_formula(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((50, 4))
    model = mc.PCAL1(1, random_state=0).fit(X)
    model.components_ = model.components_ + [[0.1, -0.2, 0.0, 0.0]]
    step = (X - model.mean_).T @ np.sign(model.transform(X)[:, 0])
    expected = np.linalg.norm(model.components_[0] - step / np.linalg.norm(step))
    np.testing.assert_allclose(mc.certify(model, X).residuals, [expected], rtol=1e-9)


def test_its_certificate_lets_scores_of_zero_have_any_sign():
    X = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])
    model = mc.PCAL1(1).fit(X)
    model.components_ = np.array([[1.0, 0.0]])
    assert mc.certify(model, X).residuals < 1e-12


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_rows_far_from_the_origin_gives_no_direction(greedy, dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    two = (1e3 + rng.standard_normal((2, 3))).astype(dtype)
    X = two[np.arange(11) % 2]
    model = PCAL1(greedy=greedy, random_state=0).fit(X)
    assert model.n_components_ == 1
    line = (two[1] - two[0]).astype(float)
    assert abs(model.components_[0] @ line) == pytest.approx(np.linalg.norm(line), rel=1e-6)
    with pytest.raises(
        ValueError, match="no dispersion: all 7 centred rows are 0; the points must not be constant"
    ):
        PCAL1(greedy=greedy).fit(np.full((7, 3), 0.1) + two[0])


def test_the_rounding_of_a_mean_far_from_the_origin_is_no_direction(global_random_seed):
    X = np.full((3000, 2), 1e3 / 3)
    X[:, 1] += 1e-6 * np.random.default_rng(global_random_seed).standard_normal(3000)
    model = mc.PCAL1().fit(X)
    assert model.components_.shape == (1, 2)
    assert mc.certify(model, X).residuals.max() < 1e-3


def _from_start(X, w):
    """Return the direction that algorithm 2 of Kwak (2013) finds from w(0), for scores that are never 0."""
    w = w / np.linalg.norm(w)
    while True:
        moved = np.where(X @ w < 0, -1.0, 1.0) @ X
        moved /= np.linalg.norm(moved)
        if np.array_equal(moved, w):
            return w
        w = moved


def test_a_given_start_is_that_of_the_printed_algorithm(points, global_random_seed):
    start = np.random.default_rng(global_random_seed + 1).standard_normal((3, 4))
    found = PCAL1(3, n_init=1, start=start).fit(points)
    X = points - points.mean(axis=0)
    for k in range(3):
        w = _from_start(X, start[k])
        np.testing.assert_allclose(abs(found.components_[k] @ w), 1, rtol=1e-12)
        X -= np.outer(X @ w, w)
    first = PCAL1(1, n_init=1, start=start[0]).fit(points)
    np.testing.assert_array_equal(first.components_[0], found.components_[0])
    # further starts are random, and a start never lowers the best of them
    more = PCAL1(3, start=start, random_state=0).fit(points)
    assert more.dispersions_[0] >= found.dispersions_[0] * (1 - 1e-12)
    # a maximum is found from itself, one direction after another or all together
    for greedy in (True, False):
        best = PCAL1(2, greedy=greedy, random_state=0).fit(points)
        again = PCAL1(2, greedy=greedy, n_init=1, start=best.components_).fit(points)
        np.testing.assert_allclose(again.dispersions_, best.dispersions_, rtol=1e-12)


@pytest.mark.parametrize("start", [np.ones((2, 4)), np.eye(4)[:1], np.eye(3), np.zeros((2, 4))])
def test_starts_that_are_no_independent_rows_are_refused(points, start):
    with pytest.raises(ValueError, match="must be 2 linearly independent rows of 4 numbers"):
        PCAL1(2, start=start).fit(points)
