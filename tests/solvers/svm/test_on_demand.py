"""Kernel rows in compiled loops: tiles of points, rows of some points with all, rows that are computed together."""

import numpy as np
import pytest
from tests.reference.inside import close_share_of, parameters_of, profile_address
from tests.solvers.svm.rounding import error_of_distances

import mercer as mc
from mercer.solvers.svm.on_demand import (
    TOGETHER,
    Terms,
    Tiles,
    add_rows,
    fill_rows,
    tiles_of,
    wanted_rows,
)

KERNELS = [mc.Gaussian(0.3), mc.Matern(0.7, 2.5), mc.Polynomial(3, 0.5, 1.0), mc.Sigmoid(0.1, -0.5)]


def _points(kernel, X, dtype, m, *, kinked=False):
    """Return the arguments of the loops for all points, padded to m."""
    radial, n = kernel.scalar == "radial", len(X)
    rows = np.ascontiguousarray(X - X.mean(axis=0) if radial else X, dtype)
    squares, diagonal = np.zeros(m, dtype), np.zeros(m, dtype)
    squares[:n] = (rows**2).sum(axis=1) if radial else 0
    diagonal[:n] = kernel.diag(X)
    numbers = np.array(parameters_of(kernel), dtype)
    loop = profile_address(
        kernel.profile, "clamped" if radial else "plain", np.dtype(dtype), len(numbers)
    )
    coordinates = (-2 if radial else 1) * rows
    tiles = tiles_of(coordinates, np.zeros(X.shape[1]), np.arange(n), np.empty((1, m), dtype))
    share = dtype(close_share_of(dtype) if kinked else 0)
    return Tiles(
        Terms(np.array([loop]), np.array([1, 0], dtype), numbers[None]),
        tiles,
        squares,
        dtype(-0.5 if radial else 1),
        share,
        diagonal,
        np.empty((0, 0), dtype),
        np.arange(n),
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float32, 2e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize(("d", "m"), [(1, 128), (8, 320), (19, 128), (40, 576), (5000, 192)])
def test_rows_hold_the_kernel_values_of_some_points_with_all(
    kernel, dtype, accuracy, d, m, global_random_seed
):
    n = m - 58
    X = np.random.default_rng(global_random_seed).normal(5.0, 1.0, size=(n, d)) / np.sqrt(d)
    out, wanted = np.empty((3, m), dtype), np.array([33, n - 1, 0])
    fill_rows(_points(kernel, X, dtype, m), wanted, out, 0)
    np.testing.assert_allclose(out[:, :n], kernel(X)[wanted], rtol=accuracy, atol=accuracy)


@pytest.mark.parametrize(("d", "width"), [(3, 256), (1024, 256), (2048, 128), (9000, 16)])
def test_tiles_are_the_chosen_points_in_order_and_padding_is_0(d, width):
    rows = np.random.default_rng(0).normal(size=(400, d)).astype(np.float32)
    chosen = np.random.default_rng(1).permutation(400)[:300]
    wider = np.pad(rows, ((0, 0), (0, 2)), constant_values=np.nan)
    tiles = tiles_of(wider, np.zeros(d), chosen, np.empty((1, 320), np.float32))
    assert tiles.shape == (-(-320 // width), d, width)
    np.testing.assert_array_equal(np.concatenate([tile.T for tile in tiles])[:300], rows[chosen])
    assert not np.concatenate([tile.T for tile in tiles])[300:].any()


def test_added_rows_have_an_exact_diagonal_and_the_next_slots():
    n, rng = 50, np.random.default_rng(0)
    points = _points(mc.Gaussian(0.3), rng.normal(size=(n, 2)) * 40, np.float32, 64)
    K, slots = np.zeros((16, 64), np.float32), np.full(64, -1)
    wanted = np.array([17, 3, 44, 0, 1, 2, 40, 41, 42, 43])
    assert len(wanted) > TOGETHER
    assert add_rows(points, K, slots, 2, wanted) == 12
    np.testing.assert_array_equal(slots[wanted], np.arange(2, 12))
    assert (K[np.arange(2, 12), wanted] == 1).all()
    assert not K[:2].any()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_rows_that_come_in_parts_hold_the_same_values_as_rows_that_come_at_once(
    kernel, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    points = _points(kernel, rng.normal(size=(128, 5)), np.float64, 128)
    at_once = np.empty((128, 128))
    fill_rows(points, np.arange(128), at_once, 0)
    np.testing.assert_array_equal(at_once, at_once.T)
    at_once[np.diag_indices(128)] = points.diagonal
    K, slots = np.full((128, 128), np.nan), np.full(128, -1)
    used = 0
    # leading rows first, so that columns of the others are known
    for part in np.split(np.append(np.arange(70), 70 + rng.permutation(58)), [3, 50, 90]):
        used = add_rows(points, K, slots, used, part)
    np.testing.assert_array_equal(K[slots], at_once)


def test_known_rows_are_copied_in_the_order_of_the_points():
    values, own = (
        np.random.default_rng(0).normal(size=(60, 60)),
        np.random.default_rng(1).permutation(60)[:50],
    )
    K, slots = np.full((16, 64), np.nan), np.full(64, -1)
    np.fill_diagonal(values, 1)
    unused = _points(mc.Gaussian(0.3), np.zeros((50, 1)), np.float64, 64)
    points = unused._replace(values=values, own=own)
    wanted = np.array([17, 3, 44, 0, 1, 2, 40, 41, 42, 43])
    assert add_rows(points, K, slots, 2, wanted) == 12
    expected = values[np.ix_(own[wanted], own)]
    np.testing.assert_array_equal(K[2:12, :50], expected)
    assert not K[2:12, 50:].any()
    np.testing.assert_array_equal(slots[wanted], np.arange(2, 12))


def test_rows_of_many_coordinates_come_with_those_of_the_variables_that_violate_most(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    # two groups, each about a middle of its own
    groups, rising, falling = np.array([0, 96, 192]), rng.normal(size=192), rng.normal(size=192)
    slots, middle = np.where(rng.random(192) < 0.3, 5, -1), rng.normal(size=2)
    slots[7] = -1
    excess = np.maximum(rising - middle.repeat(96), falling + middle.repeat(96))
    excess[slots >= 0] = -np.inf
    order = np.argsort(-excess)
    order = order[excess[order] > 0.5 * excess.max()]
    first = [7, *order[order != 7]]
    for missing, size, expected in ((7, 1, first), (7, TOGETHER, first), (-1, TOGETHER, order)):
        wanted = np.empty(size, int)
        count = wanted_rows(groups, middle, rising, falling, slots, missing, wanted)
        np.testing.assert_array_equal(wanted[:count], expected[:size])


def test_rows_of_variables_that_hardly_violate_are_not_computed():
    # 1 and 2 violate; 0 is within the bounds of the bias, 3 has its row, 4 violates by less than half of the most
    rising, falling = np.array([-0.4, 1.0, -np.inf, 0.9, 0.4]), np.array([-0.6, -2.0, 0.8, -1, -1])
    slots, wanted = np.array([-1, -1, -1, 0, -1]), np.empty(TOGETHER, int)
    arguments = np.array([0, 5]), np.zeros(1), rising, falling, slots
    assert wanted_rows(*arguments, 1, wanted) == 2
    assert wanted[:2].tolist() == [1, 2]
    assert wanted_rows(*arguments, -1, wanted) == 2
    assert wanted[:2].tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 5, 19])
def test_kernels_with_a_kink_are_exact_for_nearly_equal_points(dtype, d, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(20, d)).astype(dtype)
    X = np.concatenate(
        [X, *(X + (10.0**-k * rng.normal(size=X.shape)).astype(dtype) for k in (2, 4, 6))]
    )
    X = np.concatenate([X, X * (1 + np.finfo(dtype).eps)])
    out, wanted = np.empty((3, 192), dtype), np.array([33, 159, 0])
    fill_rows(_points(mc.Matern(2.0, 0.5), X, dtype, 192, kinked=True), wanted, out, 0)
    distances = np.sqrt(((X[wanted, None].astype(np.longdouble) - X) ** 2).sum(axis=2))
    error = np.abs(out[:, :160] - np.exp(-distances / 2))
    # the slope of the kernel is at most 1/2, and its values are at most 1
    assert (error <= error_of_distances(X, wanted, dtype) / 2 + 4 * np.finfo(dtype).eps).all()
