"""Projection onto a polygon is the nearest point of its edges, and a principal curve finds a half circle."""

import numpy as np
from experiments._principal_curve import nearest, principal_curve

from experiments import principal_curves as curves


def test_the_nearest_point_of_a_polygon_is_nearest_among_many():
    rng = np.random.default_rng(0)
    polygon, X = rng.normal(size=(6, 2)), rng.normal(size=(30, 2))
    feet, lengths = nearest(polygon, X)
    t = np.linspace(0, 5, 50_001)
    dense = np.column_stack([np.interp(t, np.arange(6), axis) for axis in polygon.T])
    best = np.linalg.norm(X[:, None] - dense, axis=2).min(axis=1)
    np.testing.assert_allclose(np.linalg.norm(X - feet, axis=1), best, atol=1e-4)
    total = np.linalg.norm(np.diff(polygon, axis=0), axis=1)
    along = np.column_stack(
        [np.interp(lengths, [0, *np.cumsum(total)], axis) for axis in polygon.T]
    )
    np.testing.assert_allclose(along, feet, atol=1e-12)


def test_a_principal_curve_of_a_noisy_half_circle_is_near_it(global_random_seed):
    X, _ = curves.points(curves.half_circle, np.random.default_rng(global_random_seed))
    polygon = principal_curve(X, 0.08)
    assert np.abs(np.linalg.norm(polygon, axis=1) - 1).mean() < 0.05
