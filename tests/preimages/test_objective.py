"""Objectives equal distances of expansions, and their gradients equal differences of their values."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.preimages.objective import Distance, Quotient, paired, spread

KERNELS = [mc.Gaussian(0.7), mc.Polynomial(3), mc.Normalized(mc.Polynomial(2)), mc.Gaussian(1.0) + 0.5 * mc.Linear()]
DATA = np.random.default_rng(0).normal(size=(12, 3))
Z = np.random.default_rng(1).normal(size=(4, 3))
COLUMNS = np.array([0, 2, 1, 2])


def block(kernel, X=DATA):
    return mc.features(kernel, X) @ np.random.default_rng(2).normal(size=(12, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_paired_values_and_gradients_are_those_of_the_expansion(kernel):
    psi = block(kernel)
    values, gradient = paired(psi, Z, COLUMNS)
    np.testing.assert_allclose(values, psi(Z)[np.arange(4), COLUMNS], rtol=1e-12)
    np.testing.assert_allclose(gradient, psi.gradient(Z)[np.arange(4), COLUMNS], rtol=1e-12, atol=1e-12)


def test_features_equal_their_product_with_the_identity():
    phi = mc.features(mc.Gaussian(0.7), DATA)
    for left, right in zip(paired(phi, Z, COLUMNS), paired(phi @ np.eye(12), Z, COLUMNS), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("make", [lambda psi: Distance(psi, 0.3, Z[[1, 0, 3]]), Quotient], ids=["distance", "quotient"])
def test_gradients_agree_with_central_differences(kernel, make):
    objective, h = make(block(kernel)), 1e-6
    differences = np.stack(
        [(objective(Z + h * e, COLUMNS)[0] - objective(Z - h * e, COLUMNS)[0]) / (2 * h) for e in np.eye(3)], axis=1
    )
    np.testing.assert_allclose(objective(Z, COLUMNS)[1], differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_distance_and_quotient_are_squared_distances_minus_the_squared_norm(kernel):
    psi = block(kernel)[:, COLUMNS]
    phi, pairs = mc.features(kernel, Z), np.arange(4)
    np.testing.assert_allclose(
        Distance(psi, 0.0, Z)(Z, pairs)[0] + psi.norms() ** 2, mc.sqdist(psi, phi, paired=True), rtol=1e-9
    )
    best = phi @ np.diag(psi(Z).diagonal() / kernel.diag(Z))
    np.testing.assert_allclose(
        Quotient(psi)(Z, pairs)[0] + psi.norms() ** 2, mc.sqdist(psi, best, paired=True), rtol=1e-9, atol=1e-9
    )


def test_points_where_psi_has_no_influence_are_recognised():
    psi = block(mc.Gaussian(1.0))
    influence = Distance(psi, 0.0, Z)(np.array([DATA[0], [50.0, 0.0, 0.0]]), np.array([0, 0]))[2]
    assert influence.tolist() == [True, False]


def test_spread_does_not_depend_on_the_mean_and_is_the_same_for_sparse_rows():
    there = spread(mc.features(mc.Gaussian(1.0), DATA))
    np.testing.assert_allclose(there, np.sqrt(((DATA - DATA.mean(axis=0)) ** 2).sum(axis=1).mean()), rtol=1e-12)
    np.testing.assert_allclose(spread(mc.features(mc.Gaussian(1.0), DATA + 100)), there, rtol=1e-9)
    np.testing.assert_allclose(spread(mc.features(mc.Gaussian(1.0), sp.csr_matrix(DATA))), there, rtol=1e-9)
    assert spread(mc.features(mc.Gaussian(1.0), np.ones((3, 2)))) == 1.0
