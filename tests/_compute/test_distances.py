"""One rule for squared distances: close pairs from differences, in rows, transposed points and tiles."""

import numpy as np
import pytest

from mercer._compute.compile import compiled
from mercer._compute.distances import CLOSE_SHARES, recompute_close, recompute_row
from mercer._compute.points import Points
from mercer._compute.tile import Tile


@compiled
def by_columns(x, tile, norm, norms, share, scale, out):
    recompute_row(x, tile.T, norm, norms, share, scale, out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 9, 40])
def test_rows_and_transposed_points_recompute_exactly_the_pairs_below_the_share(
    dtype, d, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    share = dtype(CLOSE_SHARES[np.finfo(dtype).bits])
    X = (10 + rng.normal(size=(6, d))).astype(dtype)
    Z = np.concatenate([X + dtype(share) * rng.normal(size=X.shape).astype(dtype), -X])
    norms, others = np.sum(X**2, axis=1), np.sum(Z**2, axis=1)
    # not the distances of any pair: it shows which were recomputed
    given = np.where(rng.uniform(size=(6, 12)) < 0.5, 0, norms[:, None] + others).astype(dtype)
    exact = np.sum((X[:, None].astype(float) - Z) ** 2, axis=2)
    expected = np.where(given < share * (norms[:, None] + others), exact, given)
    block = np.concatenate([np.full((6, 2), -1, dtype), given], axis=1)
    recompute_close(X, Z, norms, others, block, 2, share)
    np.testing.assert_allclose(block[:, 2:], expected, rtol=1e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_array_equal(block[:, :2], -1)
    for i, x in enumerate(X):
        out, tile = given[i].copy(), np.ascontiguousarray(-2 * Z.T)
        by_columns(-2 * x, tile, norms[i], others, share, dtype(0.25), out)
        np.testing.assert_allclose(out, expected[i], rtol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tile_has_the_same_rule(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    share = CLOSE_SHARES[np.finfo(dtype).bits]
    X = np.concatenate([rng.normal(size=(5, 9)), 40 + rng.normal(size=(5, 9))]).astype(dtype)
    Z = X + np.concatenate([np.full(5, share), np.ones(5)])[:, None].astype(dtype)
    exact = np.sum((X[:, None].astype(np.longdouble) - Z) ** 2, axis=2)
    found = Tile(Points(X), Points(Z)).sqdist
    np.testing.assert_allclose(
        found, exact.astype(dtype), rtol=3e-4 if dtype == np.float32 else 1e-9
    )
