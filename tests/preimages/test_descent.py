"""Every point descends on its own objective, restarts where its vector is invalid, and ends at its lowest value."""

import numpy as np

import mercer as mc
from mercer.preimages.descent import Descent, Restarts, nearest


class Downhill:
    """Steepest descent with halving."""

    def propose(self, rows, z, v, failures):
        return z - v * 0.5 ** failures[:, None], 0.0

    def accept(self, rows, moved, before, after):
        pass

    def forget(self, rows):
        pass


def no_restart(columns, _):
    return np.zeros((len(columns), 1)), np.zeros(len(columns), bool)


def bowls(z, columns):
    """Return 2 |z - j|^2, too steep for full steps, with valid gradients everywhere."""
    return 2 * ((z - columns[:, None]) ** 2).sum(axis=1), 4 * (z - columns[:, None]), np.ones(len(z), bool)


def test_each_point_reaches_the_minimum_of_its_own_objective():
    found = Descent(bowls, Downhill(), np.full((3, 1), 9.0), np.full(3, 1e-9), no_restart).run(100)
    np.testing.assert_allclose(found.points[:, 0], [0, 1, 2], atol=1e-9)
    assert found.converged.all()
    assert found.reasons == ("", "", "")


def test_too_few_iterations_are_reported_and_no_point_is_above_its_start():
    found = Descent(lambda z, j: bowls(z / 10, j), Downhill(), np.full((3, 1), 9.0), np.full(3, 1e-9), no_restart)
    found = found.run(2)
    assert not found.converged.any()
    assert set(found.reasons) == {"max_iter = 2 reached"}
    assert (bowls(found.points / 10, np.arange(3))[0] <= bowls(np.full((3, 1), 0.9), np.arange(3))[0]).all()


def test_a_direction_without_lower_values_ends_the_descent():
    found = Descent(
        lambda z, _: (z[:, 0] ** 2, -2 * z, z[:, 0] > -99), Downhill(), np.ones((1, 1)), np.full(1, 1e-9), no_restart
    )
    found = found.run(99)
    assert found.points == 1
    assert found.reasons == ("no step along the direction lowers the objective further",)


def test_a_point_with_an_invalid_vector_restarts_and_the_lowest_value_is_kept():
    def flat_beyond_five(z, columns):
        values, v, _ = bowls(z, columns)
        return np.where(np.abs(z[:, 0]) > 5, columns * 100.0 - 50, values), v, np.abs(z[:, 0]) <= 5

    found = Descent(
        flat_beyond_five,
        Downhill(),
        np.full((2, 1), 9.0),
        np.full(2, 1e-9),
        lambda j, k: (np.full((len(j), 1), 2.0), k < 3),
    )
    found = found.run(99)
    # vector 0 is lower in the flat region than in its bowl, and stays there with the reason; vector 1 finds its bowl
    np.testing.assert_allclose(found.points[:, 0], [9, 1], atol=1e-9)
    assert found.converged.tolist() == [False, True]
    assert "near zero" in found.reasons[0]


def test_restarts_are_the_points_of_psi_nearest_in_feature_space_but_not_the_start():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    psi = mc.features(mc.Gaussian(0.5), X) @ np.eye(4)[:, [0, 3]]
    restart = Restarts(psi, X[[0, 0]], restarts=2)
    assert restart(np.array([0, 1]), np.array([1, 1]))[0].tolist() == [[1], [4]]
    assert restart(np.array([0, 1]), np.array([2, 2]))[0].tolist() == [[2], [2]]
    assert restart(np.array([0, 1]), np.array([3, 3]))[1].tolist() == [False, False]


def test_nearest_orders_by_distance_in_feature_space():
    X = np.random.default_rng(0).normal(size=(9, 2))
    phi = mc.features(mc.Polynomial(3), X)
    psi = phi @ np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_array_equal(nearest(psi, psi(X), 9), np.argsort(mc.sqdist(phi, psi), axis=0))
