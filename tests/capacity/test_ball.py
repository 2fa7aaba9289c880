import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.capacity import smallest_ball


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).normal(size=(80, 3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.Linear(), mc.Polynomial(2)], ids=["gauss", "linear", "poly"]
)
def test_the_ball_holds_all_points_and_none_is_smaller(points, kernel, dtype):
    X = points.astype(dtype)
    ball = smallest_ball(kernel, X)
    distances = np.sqrt(mc.sqdist(mc.features(kernel, X), ball.centre)[:, 0])
    slack = 1e-9 if dtype == np.float64 else 1e-4
    assert distances.max() <= ball.radius * (1 + slack)
    assert ball.least <= ball.radius <= ball.least * (1 + 1e-5 + slack)


def test_it_is_that_of_the_estimator(points):
    model = mc.SVDD(np.inf, kernel=mc.Gaussian(0.3), tol=1e-8).fit(points)
    ball = smallest_ball(mc.Gaussian(0.3), points)
    assert np.isclose(ball.radius, model.radius_, rtol=1e-6)
    assert mc.sqdist(ball.centre, model.centre_)[0, 0] < 1e-8


def test_three_points_on_a_line_have_the_ball_of_the_ends():
    ball = smallest_ball(mc.Linear(), np.array([[-1.0], [0.0], [5.0]]), tol=1e-9)
    assert ball.radius == pytest.approx(3, rel=1e-7)
    assert ball.least == pytest.approx(3, rel=1e-7)
    assert ball.centre(np.array([[1.0]]))[0, 0] == pytest.approx(2, rel=1e-7)


def test_a_coarse_tolerance_still_brackets_the_radius(points):
    exact = smallest_ball(mc.Gaussian(0.3), points, tol=1e-10)
    for tol in (0.3, 0.03):
        ball = smallest_ball(mc.Gaussian(0.3), points, tol=tol)
        assert ball.least * (1 - 1e-9) <= exact.radius <= ball.radius * (1 + 1e-9)


def test_orthogonal_points_lie_on_a_known_sphere():
    # a narrow Gaussian maps n points to n orthonormal vectors: R^2 = 1 - 1/n
    X = 100.0 * np.arange(10)[:, None]
    assert np.isclose(smallest_ball(mc.Gaussian(1.0), X).radius, np.sqrt(0.9))


def test_it_is_no_larger_than_the_ball_around_the_mean(points):
    phi = mc.features(mc.Gaussian(0.3), points)
    assert smallest_ball(mc.Gaussian(0.3), points).radius <= np.sqrt(
        mc.sqdist(phi, mc.mean(phi)).max()
    )


def test_the_points_of_a_given_matrix_are_its_rows(points):
    given = smallest_ball(mc.Precomputed(), mc.Gaussian(0.3)(points))
    assert np.isclose(given.radius, smallest_ball(mc.Gaussian(0.3), points).radius)


def test_one_point_is_its_own_ball():
    ball = smallest_ball(mc.Gaussian(1.0), np.zeros((1, 2)))
    assert (ball.radius, ball.least) == (0.0, 0.0)


def test_rounding_of_points_far_from_the_origin_is_part_of_the_bracket(global_random_seed):
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5]]) + np.random.default_rng(
        global_random_seed
    ).integers(0, 9, 2)
    for place in (2.0**20, 2.0**28, 2.0**33):
        with pytest.warns(ConvergenceWarning, match="accurate to .* only, the rounding of"):
            ball = smallest_ball(mc.Linear(), X + place)
        assert ball.least <= 1 <= ball.radius
    near = smallest_ball(mc.Linear(), X)
    assert near.least <= 1 <= near.radius <= 1 + 1e-6


@pytest.mark.parametrize("tol", [-1.0, 0.0, np.nan])
def test_a_tolerance_is_positive(tol):
    with pytest.raises(ValueError, match=f"tol = {tol} must be"):
        smallest_ball(mc.Linear(), np.eye(3), tol=tol)
