"""Objectives equal distances of expansions, and their gradients equal differences of their values."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.preimages.descent import (
    Distance,
    Quotient,
    paired,
    paired_values,
    spread,
    squared_norms,
    weights,
)

KERNELS = [
    mc.Gaussian(0.7),
    mc.Polynomial(3),
    mc.Normalized(mc.Polynomial(2)),
    mc.Gaussian(1.0) + 0.5 * mc.Linear(),
]
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
    np.testing.assert_allclose(
        gradient, psi.gradient(Z)[np.arange(4), COLUMNS], rtol=1e-12, atol=1e-12
    )


def test_features_equal_their_product_with_the_identity():
    phi = mc.features(mc.Gaussian(0.7), DATA)
    for left, right in zip(
        paired(phi, Z, COLUMNS), paired(phi @ np.eye(12), Z, COLUMNS), strict=True
    ):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize(
    "make", [lambda psi: Distance(psi, 0.3, Z[[1, 0, 3]]), Quotient], ids=["distance", "quotient"]
)
def test_gradients_agree_with_central_differences(kernel, make):
    objective, h = make(block(kernel)), 1e-6
    differences = np.stack(
        [
            (objective(Z + h * e, COLUMNS)[0] - objective(Z - h * e, COLUMNS)[0]) / (2 * h)
            for e in np.eye(3)
        ],
        axis=1,
    )
    np.testing.assert_allclose(objective(Z, COLUMNS)[1], differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_distance_and_quotient_are_squared_distances_minus_the_squared_norm(kernel):
    psi = block(kernel)[:, COLUMNS]
    phi, pairs = mc.features(kernel, Z), np.arange(4)
    np.testing.assert_allclose(
        Distance(psi, 0.0, Z)(Z, pairs)[0] + psi.norms() ** 2,
        mc.sqdist(psi, phi, paired=True),
        rtol=1e-9,
    )
    best = phi @ np.diag(psi(Z).diagonal() / kernel.diag(Z))
    np.testing.assert_allclose(
        Quotient(psi)(Z, pairs)[0] + psi.norms() ** 2,
        mc.sqdist(psi, best, paired=True),
        rtol=1e-9,
        atol=1e-9,
    )


def test_a_pull_adds_the_squared_distance_from_the_anchor_of_the_vector():
    psi, anchor = block(mc.Gaussian(0.7)), Z[[1, 0, 3]]
    with_pull, without = (Distance(psi, pull, anchor)(Z, COLUMNS)[0] for pull in (0.3, 0.0))
    np.testing.assert_allclose(
        with_pull - without, 0.3 * ((Z - anchor[COLUMNS]) ** 2).sum(axis=1), atol=1e-12
    )


def test_points_where_psi_has_no_influence_are_recognised():
    psi = block(mc.Gaussian(1.0))
    influence = Distance(psi, 0.0, Z)(np.array([DATA[0], [50.0, 0.0, 0.0]]), np.array([0, 0]))[2]
    assert influence.tolist() == [True, False]


def test_spread_does_not_depend_on_the_mean_and_is_the_same_for_sparse_rows():
    there = spread(mc.features(mc.Gaussian(1.0), DATA))
    np.testing.assert_allclose(
        there, np.sqrt(((DATA - DATA.mean(axis=0)) ** 2).sum(axis=1).mean()), rtol=1e-12
    )
    np.testing.assert_allclose(spread(mc.features(mc.Gaussian(1.0), DATA + 100)), there, rtol=1e-9)
    np.testing.assert_allclose(
        spread(mc.features(mc.Gaussian(1.0), sp.csr_matrix(DATA))), there, rtol=1e-9
    )
    assert spread(mc.features(mc.Gaussian(1.0), np.ones((3, 2)))) == 1.0


@pytest.mark.parametrize(
    "coef", [None, np.random.default_rng(4).normal(size=(12, 3))], ids=["features", "block"]
)
def test_squared_norms_paired_values_and_weights_are_those_of_the_expansion(coef):
    psi = mc.Expansion(mc.Polynomial(2), DATA, coef)
    np.testing.assert_allclose(squared_norms(psi, psi(DATA)), psi.norms() ** 2, rtol=1e-10)
    z = np.random.default_rng(5).normal(size=(len(psi), 3))
    np.testing.assert_allclose(paired_values(psi, z), psi(z).diagonal(), rtol=1e-10)
    np.testing.assert_array_equal(weights(psi, np.array([2, 0, 2])), psi.dense_coef().T[[2, 0, 2]])


def test_sizes_are_products_of_norms_and_positive_for_a_vector_0():
    psi = mc.features(mc.Linear(), np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]))
    start = np.array([[0.0, 2.0]] * 3)
    # |psi| = 5, 0.5 and 0 against |phi(start)| = 2
    np.testing.assert_allclose(Distance(psi, 0.0, start).size(start), [25, 1, 1e-12 * 2 * 2])
    np.testing.assert_allclose(Quotient(psi).size(start), [25, 0.25, 0])


@pytest.mark.parametrize(
    "make",
    [lambda psi: Distance(psi, 0.0, np.zeros((1, 1))), Quotient],
    ids=["distance", "quotient"],
)
def test_psi_has_an_influence_where_its_value_or_slope_exceeds_a_millionth_of_the_norms(make):
    kernel = 100.0 * mc.Gaussian(1.0)
    psi = mc.features(kernel, np.array([[0.0]]))
    z = np.linspace(3, 5, 41)[:, None]
    inner, slope, size = psi(z)[:, 0], psi.gradient(z)[:, 0, 0], 100.0
    factor = 2 if isinstance(make(psi), Distance) else 1
    # |psi| |phi(z)| = 100, and the spread of a single point is taken as 1
    expected = (np.abs(inner) > 1e-6 * size) | (np.abs(factor * slope) > 1e-6 * size)
    np.testing.assert_array_equal(make(psi)(z, np.zeros(41, int))[2], expected)
    assert expected.any()
    assert not expected.all()


def test_a_quotient_has_no_influence_where_phi_is_0():
    values, gradient, valid = Quotient(mc.features(mc.Linear(), np.ones((1, 2))))(
        np.zeros((1, 2)), np.array([0])
    )
    assert (values.tolist(), valid.tolist()) == ([0.0], [False])
    assert np.isfinite(gradient).all()
