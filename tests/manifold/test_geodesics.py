"""Geodesics and lengths: straight lines, great circles, cones, and distances in feature space."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.manifold.test__metric import COMPOSITE

import mercer as mc
from mercer import manifold

SPHERE = mc.Normalized(mc.Linear() + 1)


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


def angle(x, z):
    x, z = np.append(x, 1), np.append(z, 1)
    return np.arccos(x @ z / np.linalg.norm(x) / np.linalg.norm(z))


def test_lengths_are_the_limit_of_chords_in_feature_space(rng):
    kernel, ends = COMPOSITE["product"], rng.normal(size=(2, 3))
    t = np.linspace(0, 1, 401)[:, None]
    line = (1 - t) * ends[0] + t * ends[1]
    chords = []
    for corners in (line[::2], line):
        pairs = mc.features(kernel, corners[1:]), mc.features(kernel, corners[:-1])
        chords.append(np.sqrt(mc.sqdist(*pairs, paired=True)).sum())
    extrapolated = (4 * chords[1] - chords[0]) / 3
    assert manifold.length(kernel, ends) == pytest.approx(extrapolated, rel=1e-7)
    assert manifold.length(kernel, line) == pytest.approx(manifold.length(kernel, ends), rel=1e-9)


def test_great_circles_are_straight_lines_seen_from_the_centre(rng):
    x, z = rng.normal(size=(2, 2))
    assert manifold.length(SPHERE, np.array([x, z])) == pytest.approx(angle(x, z), rel=1e-9)
    path = manifold.geodesic_between(SPHERE, x, z)
    assert path.length == pytest.approx(angle(x, z), rel=1e-7)
    assert path.residual < 1e-6
    across = (path.points - x) @ np.array([z[1] - x[1], x[0] - z[0]])
    assert np.abs(across).max() < 1e-6
    np.testing.assert_allclose(path.points[[0, -1]], [x, z], atol=1e-9)


def test_a_homogeneous_polynomial_makes_a_cone_of_the_plane():
    # with rho = r^p the surface is the plane with all angles sqrt(p) times as large
    p, x, z = 2, np.array([1.0, 0.0]), np.array([0.8, 0.9])
    path = manifold.geodesic_between(mc.Polynomial(p, coef0=0.0), x, z)
    turn = np.sqrt(p) * np.arctan2(0.9, 0.8)
    rho = np.linalg.norm(x) ** p, np.linalg.norm(z) ** p
    expected = np.sqrt(rho[0] ** 2 + rho[1] ** 2 - 2 * rho[0] * rho[1] * np.cos(turn))
    assert path.length == pytest.approx(expected, rel=1e-7)
    assert path.length < manifold.length(mc.Polynomial(p, coef0=0.0), np.array([x, z]))


@pytest.mark.parametrize("name", ["sum", "conformal", "nested"])
def test_there_and_back(name, rng):
    kernel, start, velocity = COMPOSITE[name], 0.5 * rng.normal(size=3), 0.5 * rng.normal(size=3)
    path = manifold.geodesic(kernel, start, velocity, time=0.8, n_points=11)
    assert path.residual < 1e-8
    back = manifold.geodesic(kernel, path.points[-1], -path.velocities[-1], time=0.8, n_points=11)
    np.testing.assert_allclose(back.points[::-1], path.points, atol=1e-7)
    # along the way its length is that of the polygon of its points, up to the corners that the polygon cuts
    fine = manifold.geodesic(kernel, start, velocity, time=0.8, n_points=201)
    assert manifold.length(kernel, fine.points) == pytest.approx(path.length, rel=1e-4)


def test_a_geodesic_between_its_ends_is_the_one_from_its_start(rng):
    kernel, start, end = COMPOSITE["sum"], 0.3 * rng.normal(size=3), 0.3 * rng.normal(size=3)
    between = manifold.geodesic_between(kernel, start, end, n_points=7)
    shot = manifold.geodesic(kernel, start, between.velocities[0], n_points=7)
    np.testing.assert_allclose(shot.points, between.points, atol=1e-6)
    assert between.length <= manifold.length(kernel, np.array([start, end])) * (1 + 1e-9)
    # no shorter than the chord in feature space
    chord = mc.sqdist(*(mc.features(kernel, x[None]) for x in (start, end)))[0, 0] ** 0.5
    assert chord <= between.length


def test_radial_kernels_have_straight_geodesics(rng):
    x, z = rng.normal(size=(2, 4))
    path = manifold.geodesic_between(mc.Gaussian(0.5), x, z, n_points=5)
    np.testing.assert_allclose(path.points, np.linspace(x, z, 5), atol=1e-10)
    assert path.length == pytest.approx(np.linalg.norm(x - z), rel=1e-10)
    still = manifold.geodesic(mc.Gaussian(0.5), x, np.zeros(4))
    assert (still.length, still.residual) == (0, 0)


def test_a_great_circle_that_leaves_the_plane_is_reported(limits):
    # a quarter of a circle from the pole goes to infinity
    limits(geodesic_steps=80)
    with pytest.warns(ConvergenceWarning, match="ends at time 1.5.* of 2 after 80 steps"):
        path = manifold.geodesic(SPHERE, np.zeros(2), np.array([1.0, 0.0]), time=2.0)
    assert 1.5 < path.times[-1] < np.pi / 2
    np.testing.assert_allclose(path.points[:, 0], np.tan(path.times), rtol=1e-6)


def test_a_geodesic_into_a_tip_is_refused_or_reported():
    with pytest.raises(ValueError, match="singular"):
        manifold.geodesic_between(
            mc.Polynomial(2, coef0=0.0), np.array([1.0, 0.0]), np.array([-1.0, 0.0])
        )


def test_a_search_without_success_gives_its_residual(limits):
    limits(geodesic_nodes=11)
    with pytest.warns(ConvergenceWarning, match="relative residual .* with 1. nodes, above 1e-08"):
        manifold.geodesic_between(SPHERE, np.array([-3.0, 0.1]), np.array([3.0, 0.0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: manifold.length(k, np.zeros((1, 2))), "points must hold at least 2 rows"),
        (
            lambda k: manifold.geodesic(k, np.zeros((1, 2)), np.zeros(2)),
            r"start must have one dimension, got shape \(1, 2\)",
        ),
        (
            lambda k: manifold.geodesic(k, np.zeros(2), np.zeros(3)),
            "start has 2 features, but velocity has 3",
        ),
        (
            lambda k: manifold.geodesic(k, np.zeros(2), np.ones(2), time=0.0),
            "time = 0.0 must be above 0",
        ),
        (
            lambda k: manifold.geodesic_between(k, np.zeros(2), np.ones(3)),
            "start has 2 features, but end has 3",
        ),
        (
            lambda k: manifold.geodesic_between(k, np.zeros(2), np.ones(2), n_points=1),
            "n_points = 1 must be at least 2",
        ),
    ],
)
def test_invalid_curves_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(mc.Gaussian(1.0))


def test_a_direction_of_negative_length_is_refused():
    with pytest.raises(ValueError, match="squared length .* < 0: it is not positive semidefinite"):
        manifold.length(mc.Sigmoid(1.0), np.array([[1.0, 0.0], [3.0, 0.0]]))


def test_equal_vertices_have_length_0_and_huge_ones_are_refused():
    assert mc.manifold.length(mc.Gaussian(0.5), np.zeros((4, 3))) == 0
    with pytest.raises(ValueError, match="overflow"):
        mc.manifold.length(mc.Linear(), np.array([[-1e308, 0.0], [1e308, 0.0]]))


def test_masked_points_are_refused():
    X = np.ma.masked_equal(np.array([[0.0, 1.0], [2.0, 3.0]]), 3.0)
    for call in (mc.manifold.metric, mc.manifold.ricci, mc.manifold.determinant):
        with pytest.raises(TypeError, match="X must not be a masked array"):
            call(mc.Gaussian(0.5), X)


@pytest.mark.parametrize("name", ["geodesic", "geodesic_between"])
def test_points_and_their_number_have_bounds(name):
    call, other = getattr(manifold, name), "velocity" if name == "geodesic" else "end"
    with pytest.raises(ValueError, match="n_points = 1000001 must be at most 1000000"):
        call(mc.Linear(), np.zeros(2), np.ones(2), n_points=10**6 + 1)
    for place, argument in enumerate(("start", other)):
        points = [np.zeros(2), np.ones(2)]
        points[place] = np.array([1.0, 1e151])
        with pytest.raises(
            ValueError, match=rf"{argument}\[1\] = 1e\+151 must be at most 1e\+150 in size"
        ):
            call(mc.Linear(), *points)
        points[place] = np.ones((1, 2))
        with pytest.raises(
            ValueError, match=rf"{argument} must have one dimension, got shape \(1, 2\)"
        ):
            call(mc.Linear(), *points)


@pytest.mark.parametrize("units", [[1e-9, 1e-9], [1e6, 1e6], [1e-5, 1e5]], ids=str)
def test_geodesics_do_not_depend_on_the_units_of_the_features(units):
    kernel, x, v, u = mc.Polynomial(3), np.array([0.5, -0.3]), np.array([1.0, 0.7]), np.array(units)
    scaled = mc.Mapped(kernel, 1 / u)
    path, found = (
        manifold.geodesic(*each, n_points=5) for each in ((kernel, x, v), (scaled, x * u, v * u))
    )
    np.testing.assert_allclose(found.points / u, path.points, atol=1e-9)
    np.testing.assert_allclose(found.velocities / u, path.velocities, atol=1e-9)
    z = path.points[-1]
    between = [
        manifold.geodesic_between(*each, n_points=5)
        for each in ((kernel, x, z), (scaled, x * u, z * u))
    ]
    for each, unit in zip(between, (1, u), strict=True):
        np.testing.assert_allclose(each.points / unit, path.points, atol=1e-9)
        assert each.residual < 1e-9


@pytest.mark.parametrize("place", [0.0, 1e6])
def test_geodesics_do_not_depend_on_the_place_of_the_points(place):
    centres = np.random.default_rng(0).normal(size=(5, 2))
    factor = mc.Expansion(mc.Gaussian(0.5), centres + place, np.ones((5, 1)))
    kernel, x, v = mc.Rescaled(mc.Gaussian(0.3), factor), np.full(2, place), np.array([1.0, 0.7])
    path = manifold.geodesic(kernel, x, v, n_points=5)
    assert path.residual < 1e-8
    between = manifold.geodesic_between(kernel, x, path.points[-1], n_points=5)
    np.testing.assert_allclose(between.points, path.points, rtol=0, atol=2e-9)


@pytest.mark.parametrize("time", [1e-6, 1e6])
def test_the_unit_of_time_does_not_matter(time):
    kernel, x, v = mc.Polynomial(3), np.array([0.5, -0.3]), np.array([1.0, 0.7])
    path, found = manifold.geodesic(kernel, x, v), manifold.geodesic(kernel, x, v / time, time)
    np.testing.assert_allclose(found.points, path.points, rtol=1e-13)
    np.testing.assert_allclose(found.velocities * time, path.velocities, rtol=1e-12)
    np.testing.assert_allclose(found.times, path.times * time)
    assert found.length == pytest.approx(path.length, rel=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-100, 1e100, 1e149])
def test_lengths_of_tiny_and_huge_steps_neither_underflow_nor_overflow(size):
    points = size * np.array([[0.0, 0.0], [3.0, 4.0]])
    assert manifold.length(mc.Linear(), points) == pytest.approx(5 * size)
    assert manifold.length(mc.Gaussian(0.5), points) == pytest.approx(5 * size)
