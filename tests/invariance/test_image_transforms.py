"""Transformations of images move them as their names say, form groups, and have exact derivatives."""

import pickle

import numpy as np
import pytest
from scipy.ndimage import affine_transform, shift

import mercer as mc
from mercer.invariance import image_transforms, tangents

SHAPE = (20, 22)


def blobs(n=4, seed=0, shape=SHAPE):
    """Return smooth images (n, d) that are near 0 at the border."""
    rng = np.random.default_rng(seed)
    r, c = np.indices(shape)
    middle = np.array(shape)[:, None] / 2 - 0.5
    rows = []
    for _ in range(n):
        a, b = middle + rng.uniform(-1.5, 1.5, (2, 1))
        rows.append(np.exp(-((r - a) ** 2 / 9 + (c - b) ** 2 / 7)).ravel())
    return np.array(rows)


@pytest.mark.parametrize(("name", "axis"), [("down", 0), ("right", 1)])
@pytest.mark.parametrize("t", [1, -2, 0])
def test_translations_by_whole_pixels_are_exact(name, axis, t):
    X = np.random.default_rng(0).normal(size=(3, 440))
    move = [0, 0, 0]
    move[axis + 1] = t
    expected = shift(X.reshape(-1, *SHAPE), move, order=0, cval=-1.0).reshape(3, -1)
    np.testing.assert_allclose(
        image_transforms(SHAPE, background=-1.0)[name](X, t), expected, atol=1e-12
    )


def test_values_between_pixels_are_those_of_cubic_convolution():
    g, pixel = image_transforms((1, 9))["right"], np.eye(9)[4:5]
    np.testing.assert_allclose(g(pixel, 0.5)[0, 2:8] * 16, [0, -1, 9, 9, -1, 0], atol=1e-13)
    np.testing.assert_allclose(g(pixel, 0.25)[0, 2:8] * 128, [0, -9, 111, 29, -3, 0], atol=1e-12)


@pytest.mark.parametrize("name", ["down", "right", "rotation", "scaling", "shear", "stretch"])
def test_flows_are_one_parameter_groups_up_to_interpolation(name):
    g, X = image_transforms(SHAPE)[name], blobs()
    np.testing.assert_array_equal(g(X, 0.0), X)
    np.testing.assert_allclose(g(g(X, 0.4), 0.5), g(X, 0.9), atol=0.03)
    np.testing.assert_allclose(g(g(X, 0.7), -0.7), X, atol=0.03)
    assert abs(g(X, 1.4) - X).max() > 0.08


def test_rotation_turns_by_t_pixels_at_the_longest_edge_and_scaling_enlarges():
    X, g = blobs(), image_transforms(SHAPE)
    angle = 1.5 / 10.5
    centre = (np.array(SHAPE) - 1) / 2
    for name, matrix in {
        "rotation": np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]),
        "scaling": np.exp(-angle) * np.eye(2),
        "stretch": np.diag([np.exp(-angle), np.exp(angle)]),
        "shear": np.array([[1.0, 0.0], [angle, 1.0]]),
    }.items():
        expected = [
            affine_transform(x.reshape(SHAPE), matrix, centre - matrix @ centre, order=3).ravel()
            for x in X
        ]
        np.testing.assert_allclose(g[name](X, 1.5), expected, atol=0.03, err_msg=name)


@pytest.mark.parametrize(("shape", "edge"), [((1, 1), 0.5), ((2, 2), 0.5), ((3, 8), 3.5)])
def test_linear_maps_move_the_middle_of_the_longest_edge_by_a_pixel(shape, edge):
    speed = [
        np.abs(g.velocity).max()
        for name, g in image_transforms(shape).items()
        if name != "thickness"
    ]
    np.testing.assert_allclose(speed, [1, 1] + 4 * [1 / edge])


def test_thickness_widens_edges():
    X = blobs()
    thick, thin = (image_transforms(SHAPE)["thickness"](X, t) for t in (0.5, -0.5))
    assert (thick >= X).all()
    assert (thin <= X).all()
    np.testing.assert_allclose(thick + thin, 2 * X)
    # along one axis it is the absolute slope
    flat = np.array([[0.0, 1.0, 3.0, 0.0]])
    np.testing.assert_allclose(
        image_transforms((1, 4))["thickness"].derivative(flat), [[0.5, 1.5, 0.5, 1.5]]
    )


@pytest.mark.parametrize("background", [0.0, -1.0])
def test_derivatives_are_those_of_differences(background):
    X = np.random.default_rng(1).normal(size=(3, 30))
    transforms = image_transforms((5, 6), background=background)
    exact, differences = tangents(X, transforms), tangents(X, transforms, step=1e-5)
    # the second derivative of the interpolation jumps at pixels
    np.testing.assert_allclose(exact, differences, atol=1e-3)
    assert abs(exact).min(axis=2).shape == (3, 7)


def test_the_sign_of_translations_is_down_and_right():
    X = np.zeros((1, 25))
    X[0, 12] = 1.0
    found = tangents(X, {name: image_transforms((5, 5))[name] for name in ("down", "right")})[
        0
    ].reshape(2, 5, 5)
    assert found[0, 3, 2] == 0.5 == -found[0, 1, 2]
    assert found[1, 2, 3] == 0.5 == -found[1, 2, 1]


def test_a_background_adds_to_both_sides():
    X, g = blobs(), image_transforms(SHAPE, background=-3.0)
    for name, plain in image_transforms(SHAPE).items():
        np.testing.assert_allclose(g[name](X - 3, 0.7), plain(X, 0.7) - 3, atol=1e-12)
        np.testing.assert_allclose(g[name].derivative(X - 3), plain.derivative(X), atol=1e-12)


def test_float32_images_stay_float32_and_records_are_values():
    for name, g in image_transforms(SHAPE).items():
        X = blobs().astype(np.float32)
        assert g(X, 0.3).dtype == g.derivative(X).dtype == np.float32, name
        assert pickle.loads(pickle.dumps(g)) == g
        assert mc.formats.allowlist.record(type(g).__name__) is type(g)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        (16, ValueError, "shape = 16 must be a pair"),
        ((4, 0), ValueError, r"shape\[1\] = 0 must be at least 1"),
        ((4.0, 4), TypeError, r"shape\[0\] must be a whole number"),
        ((4, 4, 3), ValueError, r"shape = \(4, 4, 3\) must be a pair"),
    ],
)
def test_shapes_that_are_not_those_of_images_are_refused(shape, error, message):
    with pytest.raises(error, match=message):
        image_transforms(shape)


def test_images_of_another_size_and_other_amounts_are_refused():
    g = image_transforms((4, 4))
    for transform in g.values():
        with pytest.raises(
            ValueError, match=r"X has 15 columns, but shape = \(4, 4\) must have as many pixels"
        ):
            transform(np.ones((2, 15)), 1.0)
        with pytest.raises(ValueError, match="t = nan must be finite"):
            transform(np.ones((2, 16)), np.nan)
        with pytest.raises(ValueError, match=r"t = -10000000.0 must be at most 1e\+06 in size"):
            transform(np.ones((2, 16)), -1e7)
    with pytest.raises(TypeError, match="background must be a number"):
        image_transforms((4, 4), background="white")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["scaling", "stretch", "rotation", "shear"])
def test_the_centre_stays_whatever_the_amount(name):
    X = np.arange(1.0, 26.0)[None]
    for t in (-1e6, -2e3, 2e3, 1e6):
        moved = image_transforms((5, 5))[name](X, t)
        assert np.isfinite(moved).all()
        assert moved[0, 12] == pytest.approx(13.0, rel=1e-6)


@pytest.mark.parametrize("shape", [(3, 9), (9, 3), (1, 6), (5, 5)])
def test_an_amount_of_1_moves_the_middles_of_edges_by_at_most_about_a_pixel(shape):
    middles = np.array([[(shape[0] - 1) / 2, 0.0, 1.0], [0.0, (shape[1] - 1) / 2, 1.0]]).T
    flows = {
        name: g
        for name, g in image_transforms(shape).items()
        if name not in ("down", "right", "thickness")
    }
    distances = [
        np.linalg.norm(np.asarray(g.velocity) @ middles, axis=0).max() for g in flows.values()
    ]
    assert max(distances) == pytest.approx(1)
