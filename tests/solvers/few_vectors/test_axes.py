import numpy as np
import pytest
from scipy.spatial.distance import cdist

import mercer as mc
from mercer.solvers.few_vectors import refit as module
from mercer.solvers.few_vectors.objective import Fit, Objective, Rows
from mercer.solvers.few_vectors.refit import leading_axes


def flat(seed, n=200, d=12, wide=3, height=0.01):
    """Rows that vary along some directions by 1 and along the others by a small height, turned and shifted."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * np.where(
        np.arange(d) < wide, 1.0, height
    ) @ turn + 3 * rng.normal(size=d)


@pytest.mark.parametrize("n", [9, 200])
@pytest.mark.parametrize("seed", range(3))
def test_distances_to_points_of_the_subspace_are_those_of_the_coordinates(seed, n):
    X = flat(seed, n)
    axes = leading_axes(mc.Gaussian(0.5), X)
    Y = axes.nearest(X[:5] + 0.1)
    np.testing.assert_allclose(cdist(axes.rows(X), Y), cdist(X, axes.points(Y)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_nearest_points_are_orthogonal_projections(seed):
    X = flat(seed)
    axes = leading_axes(mc.Gaussian(0.5), X)
    Z = np.random.default_rng(seed).normal(size=(7, 12))
    near = axes.points(axes.nearest(Z))
    np.testing.assert_allclose((Z - near) @ axes.axes, 0, atol=1e-12)
    np.testing.assert_allclose(axes.points(axes.nearest(near)), near, atol=1e-12)


def test_axes_of_more_columns_than_rows_are_those_of_the_covariance():
    X = flat(1, 7)
    found = leading_axes(mc.Gaussian(0.5), X)
    shifted = X - X.mean(axis=0)
    variances, vectors = np.linalg.eigh(shifted.T @ shifted / len(X))
    expected = vectors[:, variances >= 0.05**2]
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found.axes @ found.axes.T, expected @ expected.T, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 4.0, 2000.0, 4000.0])
def test_rows_vary_along_other_directions_by_less_than_a_twentieth_of_the_width(gamma):
    # deviations of 1 and 0.01; the width is 1 / sqrt(2 gamma)
    X = flat(0)
    found = leading_axes(mc.Gaussian(gamma), X)
    if 0.01 * np.sqrt(2 * gamma) > 0.06:
        assert found is None
        return
    assert found.axes.shape == (12, 3)
    rest = (X - X.mean(axis=0)) @ (np.eye(12) - found.axes @ found.axes.T)
    assert np.linalg.norm(rest, 2) / np.sqrt(len(X)) * np.sqrt(2 * gamma) < 0.05


def test_only_gaussian_kernels_on_rows_with_few_directions_have_axes():
    X, round_rows = flat(0), np.random.default_rng(0).normal(size=(200, 12))
    assert leading_axes(mc.Laplacian(0.5), X) is None
    assert leading_axes(mc.Gaussian(0.5), round_rows) is None
    assert leading_axes(mc.Gaussian(0.5), X[:, :1]) is None
    # equal rows have no directions
    assert leading_axes(mc.Gaussian(0.5), np.ones((5, 4))) is None


def test_points_are_fitted_in_the_subspace_as_well_as_without_it(monkeypatch):
    rng, kernel = np.random.default_rng(0), mc.Gaussian(0.3)
    X = flat(0, n=400)
    F = kernel(X, X[:4]) @ rng.normal(size=(4, 2))
    start = X[10:15]
    found = module.refit(kernel, start, Rows(X, F))
    axes = leading_axes(kernel, X)
    np.testing.assert_allclose(axes.points(axes.nearest(found.points)), found.points, atol=1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(module, "leading_axes", lambda *_: None)
        other = module.refit(kernel, start, Rows(X, F))
    losses = [Objective(kernel, Rows(X, F)).loss(fit, 1.0) for fit in (found, other)]
    assert losses[0] < 1.5 * losses[1] + 1e-4 * np.mean(F**2)


def test_a_coordinate_that_is_still_has_no_slope_and_others_have_that_of_all():
    rng = np.random.default_rng(0)
    X, Z, B, b = (
        rng.normal(size=(30, 4)),
        rng.normal(size=(3, 4)),
        rng.normal(size=(3, 2)),
        rng.normal(size=2),
    )
    F, U = rng.normal(size=(30, 2)), np.sign(rng.normal(size=(30, 2)))
    free, held = (
        Objective(mc.Gaussian(0.2), Rows(X, F, labels=U), still=still) for still in (0, 1)
    )
    given = np.concatenate([Z, B, b], axis=None), np.ones((3, 1)), np.eye(3), 0.1, 0.0
    for slope, other in (
        (free.margins(*given)[1], held.margins(*given)[1]),
        (free.least_squares(Z, 1e-3)[1], held.least_squares(Z, 1e-3)[1]),
    ):
        moving, still = (each[:12].reshape(3, 4) for each in (slope, other))
        np.testing.assert_array_equal(moving[:, :3], still[:, :3])
        assert not still[:, 3].any()
    end = held.fit_margins(Fit(Z, B, b), 0.1, 10).points
    np.testing.assert_allclose(end[:, 3], Z[:, 3], rtol=1e-12)
    assert np.abs(end[:, :3] - Z[:, :3]).max() > 1e-3
