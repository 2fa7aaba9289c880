"""Tiles: one computation of products and distances, accurate wherever the data lie, exact where points coincide."""

import importlib
import pickle

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference import naive

import mercer as mc
from mercer._compute import tile as tiles
from mercer._compute import windows as patches
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer._compute.windows import Windows

CONTAINERS = {"dense": np.asarray, "sparse": sp.csr_array}


def _points(n, d, offset=0.0, dtype=np.float64, seed=0):
    return (np.random.default_rng(seed).standard_normal((n, d)) + offset).astype(dtype)


def _exact(X, Z):
    return ((X.astype(naive.Real)[:, None, :] - Z.astype(naive.Real)[None, :, :]) ** 2).sum(axis=2)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("offset", [0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_distances_are_accurate_at_every_offset(dtype, offset, container):
    X, Z = _points(30, 20, offset, dtype), _points(10, 20, offset, dtype, seed=1)
    make, exact = CONTAINERS[container], _exact(X, Z)
    s = Tile(Points(make(X)), Points(make(Z))).sqdist
    # rows are centred in float64 and rounded once: the error is that of their norms
    assert abs(s - exact).max() <= 32 * np.finfo(dtype).eps * max(
        1, naive.radius(np.vstack([X, Z])) ** 2
    )


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_coincident_points_in_two_arrays_are_zero(dtype, container):
    X = _points(50, 40, 3.0, dtype)
    make = CONTAINERS[container]
    s = Tile(Points(make(X)), Points(make(X[:20].copy()))).sqdist
    assert (np.diagonal(s) == 0).all()
    assert (s >= 0).all()


def test_nearly_coincident_points_keep_their_distance():
    X = _points(5, 30)
    Z = X + 1e-7 * _points(5, 30, seed=2)
    s = np.diagonal(Tile(Points(X), Points(Z)).sqdist)
    np.testing.assert_allclose(s, np.diagonal(_exact(X, Z)).astype(float), rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_points_to_themselves_are_symmetric_to_the_last_bit(dtype):
    points = Points(_points(40, 7, 1e4, dtype))
    s = Tile(points, points, 0).sqdist
    assert (s == s.T).all()
    assert (np.diagonal(s) == 0).all()


def test_a_tile_of_rows_knows_which_of_its_columns_they_are():
    points = Points(_points(9, 3))
    s = Tile(points.take(slice(4, 7)), points, 4).sqdist
    assert (s[np.arange(3), np.arange(4, 7)] == 0).all()
    np.testing.assert_allclose(s, Tile(points, points, 0).sqdist[4:7], atol=1e-14)


def test_a_row_of_a_tile_does_not_depend_on_the_others():
    Z = Points(_points(20, 6, 1e5))
    X = _points(8, 6, 1e5, seed=3)
    alone = [Tile(Points(X[i : i + 1]), Z).sqdist[0] for i in range(8)]
    together = Tile(Points(np.vstack([X, X + 1e3])), Z).sqdist[:8]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_norms_that_overflow_are_refused_with_the_largest_entry():
    for points in (np.array([[1e200, 0.0]]), sp.csr_array([[0.0, 1e200]])):
        with pytest.raises(
            ValueError,
            match=r"overflow float64: a row of X or Z has entries up to 1e\+200; scale X",
        ):
            Points(points).sqnorms()
    with pytest.raises(ValueError, match="overflow float32"):
        Points(np.array([[1e20]], np.float32)).sqnorms()


def test_what_points_have_worked_out_is_worked_out_once_and_is_not_pickled():
    points, calls = Points(_points(3, 2)), []
    assert [points.memo("key", lambda: calls.append(1) or 7) for _ in range(3)] == [7, 7, 7]
    assert len(calls) == 1
    assert pickle.loads(pickle.dumps(points))._memo == {}
    assert points.take(slice(0, 2))._memo == {}


def test_coordinatewise_sums_equal_a_loop_over_coordinates():
    X, Z = _points(6, 4), _points(5, 4, seed=1)
    sums = abs(X[:, None] - Z[None]).sum(axis=2)
    np.testing.assert_allclose(mc.Laplacian(0.3)(X, Z), np.exp(-0.3 * sums), rtol=1e-14)


@pytest.mark.parametrize("d", [2, 20, 300])
@pytest.mark.parametrize("distance", [30, 1000])
@pytest.mark.parametrize("shares", [(1, 1), (1, 40)])
def test_float32_distances_within_clusters_far_apart_keep_three_digits(
    d, distance, shares, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    # with a tenth of the rows of Z in the other cluster most pairs are close, with few of them some are
    X, Z = (_points(n, d, 0.0, np.float32, rng) for n in (60, 80))
    Z[:: sum(shares)] += np.float32(distance)
    X[1::20] += np.float32(distance)
    s, exact = Tile(Points(X), Points(Z)).sqdist, _exact(X, Z).astype(float)
    assert s.dtype == np.float32
    np.testing.assert_allclose(np.sqrt(s), np.sqrt(exact), rtol=1e-3)


@pytest.mark.parametrize("container", CONTAINERS)
def test_exactly_the_distances_below_a_share_of_the_norms_are_recomputed(container):
    share = {"dense": 1e-6, "sparse": 1e-3}[container]
    X = _points(6, 5, 0.3)
    # from 1/100 to 100 times the share
    steps = (
        np.sqrt(share) * 10.0 ** np.linspace(-1, 1, 60)[:, None] * (X**2).sum(axis=1).mean() ** 0.5
    )
    Z = np.vstack([X, X[np.arange(60) % 6] + steps * np.array([[1.0, 0, 0, 0, 0]])])
    tile = Tile(Points(CONTAINERS[container](X)), Points(CONTAINERS[container](Z)))
    A, B = (X - Z.mean(axis=0), Z - Z.mean(axis=0)) if container == "dense" else (X, Z)
    size = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)
    direct = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    recomputed = tile.sqdist == direct
    assert recomputed[direct < 0.99 * share * size].mean() > 0.9
    error = np.abs(tile.sqdist / np.where(direct > 0, direct, 1) - 1)[direct > 0]
    assert error.max() <= 8 * np.finfo(float).eps / share
    # rounding of the expanded formula shows for most of the others
    assert recomputed[direct > 1.01 * share * size].mean() < 0.7


def test_recomputed_pairs_may_be_many(costs):
    costs(BLOCK=7)
    X = _points(9, 4)
    Z = np.repeat(X, 3, axis=0) + 1e-9
    for make in CONTAINERS.values():
        s = Tile(Points(make(X)), Points(make(Z))).sqdist
        np.testing.assert_allclose(s, _exact(X, Z).astype(float), rtol=1e-6)


def test_profiles_of_a_tile_are_those_of_its_scalars_and_an_overflow_is_refused():
    tile = Tile(Points(_points(6, 4)), Points(_points(5, 4, seed=1)))
    np.testing.assert_allclose(tile.radial(mc.Gaussian(0.3)), np.exp(-0.3 * tile.sqdist))
    np.testing.assert_allclose(
        tile.radial(mc.Gaussian(0.3), order=1), -0.3 * np.exp(-0.3 * tile.sqdist)
    )
    np.testing.assert_allclose(tile.dot(mc.Polynomial(2)), (tile.products + 1) ** 2)
    np.testing.assert_allclose(tile.dot(mc.Polynomial(2), order=1), 2 * (tile.products + 1))
    for sides in ((1.0, 1e200), (1e200, 1.0)):
        large = Tile(*(Points(np.full((1, 2), value)) for value in sides))
        with pytest.raises(ValueError, match="overflow"):
            large.dot(mc.Polynomial(2))


def test_sparse_rows_have_the_distance_0_to_themselves():
    points = Points(sp.csr_array(_points(9, 3)))
    s = Tile(points.take(slice(4, 7)), points, 4).sqdist
    assert (s[np.arange(3), np.arange(4, 7)] == 0).all()
    assert (Tile(points, points, 0).sqdist.diagonal() == 0).all()


def test_sparse_rows_beside_dense_ones_are_not_centred():
    rows, others = _points(5, 3), _points(4, 3) + 7
    for X, Z in ((sp.csr_array(rows), others), (rows, sp.csr_array(others))):
        left, right = Tile(Points(X), Points(Z)).centred
        np.testing.assert_array_equal(left.toarray() if sp.issparse(left) else left, rows)
        np.testing.assert_array_equal(right.toarray() if sp.issparse(right) else right, others)


@pytest.mark.parametrize(("dtype", "value"), [(np.float32, 1e8), (np.float64, 1e30)])
@pytest.mark.parametrize("d", [1, 20])
def test_a_row_far_away_leaves_the_distances_of_the_others(d, dtype, value):
    X = _points(300, d, dtype=dtype)
    X[7, 0] = value
    s, exact = Tile(Points(X[:20]), Points(X)).sqdist, _exact(X[:20], X)
    np.testing.assert_allclose(s, exact.astype(dtype), rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_distances_of_sparse_rows_of_a_million_columns_need_no_dense_rows(monkeypatch):
    monkeypatch.setattr(tiles, "dense", lambda _rows: pytest.fail("a dense copy of rows"))
    X = sp.random(40, 1 << 20, 1e-5, format="csr", random_state=0)
    Z = sp.vstack([X[:20], X[20:] * (1 + 1e-7)]).tocsr()
    s = Tile(Points(X), Points(Z)).sqdist
    expected = 1e-14 * X[20:].power(2).sum(axis=1).A1
    np.testing.assert_allclose(s.diagonal(), np.concatenate([np.zeros(20), expected]), rtol=1e-7)


def test_sums_over_many_coordinates_keep_float32_digits():
    X = np.full((2, 20_000), 0.1, np.float32)
    np.testing.assert_allclose(mc.Intersection()(X), 20_000 * float(X[0, 0]), rtol=2e-5)


@pytest.mark.parametrize("library", ["numpy", "array_api_strict"])
def test_patches_of_images_far_apart_keep_the_digits_of_the_rows_as_given(library):
    xp, windows = importlib.import_module(library), Windows((2, 3), 3)
    X = _points(20, 6, dtype=np.float32)
    X[::2] += np.float32(1e6)
    differences = (X.astype(float)[:, None] - X.astype(float)) ** 2
    points = Points(xp.asarray(X))
    found = np.asarray(Tile(points, points, 0).local_mean(mc.Gaussian(0.5), windows))
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, np.exp(-0.5 * differences @ windows.matrix).mean(axis=2), atol=1e-6
    )


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Polynomial(2)], ids=repr)
def test_patches_of_few_images_at_a_time_have_the_values_and_gradients_of_all(kernel, costs):
    costs(BLOCK=100)
    X, Z, windows = _points(9, 6), _points(5, 6, seed=1), Windows((2, 3), 3)
    here = Tile(Points(X), Points(Z))
    there = Tile(*(Points(array_api_strict.asarray(each)) for each in (X, Z)))
    W = _points(9, 5, seed=2)
    np.testing.assert_allclose(
        np.asarray(there.local_mean(kernel, windows)), here.local_mean(kernel, windows), rtol=1e-13
    )
    found = there.local_gradient(kernel, windows, array_api_strict.asarray(W))
    np.testing.assert_allclose(
        np.asarray(found), here.local_gradient(kernel, windows, W), rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("kernel", [mc.Polynomial(3, 0.5, 1.0), mc.Gaussian(0.7)], ids=repr)
def test_patches_of_points_of_one_array_are_compared_once_with_the_same_values(kernel, monkeypatch):
    X = _points(43, 12)
    computed = []
    loop = patches._mean_loop(kernel.profile, 0, kernel.scalar)

    def counted(rows, blocks, *others):
        computed.append(len(rows) * len(blocks))
        loop(rows, blocks, *others)

    points = Points(X)
    expected = Tile(points, Points(X.copy())).local_mean(kernel, Windows((3, 4), 3))
    monkeypatch.setattr(patches, "_mean_loop", lambda *_: counted)
    np.testing.assert_array_equal(
        Tile(points, points).local_mean(kernel, Windows((3, 4), 3)), expected
    )
    # blocks of 16 columns: 1 for the first 16 rows, 2 for the next ones, 3 for the last 11
    assert sum(computed) == 16 * 1 + 16 * 2 + 11 * 3
