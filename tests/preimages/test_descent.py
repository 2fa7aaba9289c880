"""Descent moves every point down at its own pace, and leaves those that cannot move where they were lowest."""

import numpy as np

import mercer as mc
from mercer.preimages.descent import Descent, Elsewhere, nearest


class Downhill:
    """Steepest descent with halving."""

    def propose(self, rows, z, v, level):
        return z - v * 0.5 ** level[:, None], 0.0

    def accept(self, rows, moved, before, after):
        pass

    def forget(self, rows):
        pass


def nowhere(columns, _):
    return np.zeros((len(columns), 1)), np.zeros(len(columns), bool)


def bowls(z, columns):
    """Return |z - j|^2, too steep for full steps, never lost."""
    return 2 * ((z - columns[:, None]) ** 2).sum(axis=1), 4 * (z - columns[:, None]), np.ones(len(z), bool)


def test_each_point_reaches_the_minimum_of_its_own_objective():
    found = Descent(bowls, Downhill(), np.full((3, 1), 9.0), np.full(3, 1e-9), nowhere).run(100)
    np.testing.assert_allclose(found.points[:, 0], [0, 1, 2], atol=1e-9)
    assert found.converged.all()
    assert found.reasons == ("", "", "")


def test_a_budget_that_ends_too_soon_is_reported_and_nothing_is_worse_than_the_start():
    found = Descent(lambda z, j: bowls(z / 10, j), Downhill(), np.full((3, 1), 9.0), np.full(3, 1e-9), nowhere).run(2)
    assert not found.converged.any()
    assert set(found.reasons) == {"max_iter = 2 reached"}
    assert (bowls(found.points / 10, np.arange(3))[0] <= bowls(np.full((3, 1), 0.9), np.arange(3))[0]).all()


def test_a_direction_without_lower_values_is_given_up():
    found = Descent(
        lambda z, _: (z[:, 0] ** 2, -2 * z, z[:, 0] > -99), Downhill(), np.ones((1, 1)), np.full(1, 1e-9), nowhere
    )
    found = found.run(99)
    assert found.points == 1
    assert found.reasons == ("no step along the direction lowers the objective further",)


def test_a_lost_point_starts_elsewhere_and_the_lowest_of_all_is_kept():
    def plain_beyond_five(z, columns):
        values, v, _ = bowls(z, columns)
        return np.where(np.abs(z[:, 0]) > 5, columns * 100.0 - 50, values), v, np.abs(z[:, 0]) <= 5

    found = Descent(
        plain_beyond_five,
        Downhill(),
        np.full((2, 1), 9.0),
        np.full(2, 1e-9),
        lambda j, k: (np.full((len(j), 1), 2.0), k < 3),
    )
    found = found.run(99)
    # vector 0 is lower on the plain than in its bowl, and stays there with the reason; vector 1 finds its bowl
    np.testing.assert_allclose(found.points[:, 0], [9, 1], atol=1e-9)
    assert found.converged.tolist() == [False, True]
    assert "near zero" in found.reasons[0]


def test_elsewhere_offers_the_points_of_psi_nearest_in_feature_space_but_not_the_start():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    psi = mc.features(mc.Gaussian(0.5), X) @ np.eye(4)[:, [0, 3]]
    elsewhere = Elsewhere(psi, X[[0, 0]], restarts=2)
    assert elsewhere(np.array([0, 1]), np.array([1, 1]))[0].tolist() == [[1], [4]]
    assert elsewhere(np.array([0, 1]), np.array([2, 2]))[0].tolist() == [[2], [2]]
    assert elsewhere(np.array([0, 1]), np.array([3, 3]))[1].tolist() == [False, False]


def test_nearest_orders_by_distance_in_feature_space():
    X = np.random.default_rng(0).normal(size=(9, 2))
    phi = mc.features(mc.Polynomial(3), X)
    psi = phi @ np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_array_equal(nearest(psi, psi(X), 9), np.argsort(mc.sqdist(phi, psi), axis=0))
