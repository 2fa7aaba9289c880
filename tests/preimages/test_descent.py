"""Every point descends on its own objective, restarts where its vector is invalid, and ends at its lowest value."""

import numpy as np
import pytest

import mercer as mc
from mercer.preimages.descent import Descent, Iterative, Restarts, nearest, row_dot


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
    return (
        2 * ((z - columns[:, None]) ** 2).sum(axis=1),
        4 * (z - columns[:, None]),
        np.ones(len(z), bool),
    )


def test_each_point_reaches_the_minimum_of_its_own_objective():
    found = Descent(bowls, Downhill(), np.full((3, 1), 9.0), np.full(3, 1e-9), no_restart).run(100)
    np.testing.assert_allclose(found.points[:, 0], [0, 1, 2], atol=1e-9)
    assert found.converged.all()
    assert found.reasons == ("", "", "")


def test_too_few_iterations_are_reported_and_no_point_is_above_its_start():
    found = Descent(
        lambda z, j: bowls(z / 10, j),
        Downhill(),
        np.full((3, 1), 9.0),
        np.full(3, 1e-9),
        no_restart,
    )
    found = found.run(2)
    assert not found.converged.any()
    assert set(found.reasons) == {"max_iter = 2 reached"}
    assert (
        bowls(found.points / 10, np.arange(3))[0] <= bowls(np.full((3, 1), 0.9), np.arange(3))[0]
    ).all()


def test_a_direction_without_lower_values_ends_the_descent():
    found = Descent(
        lambda z, _: (z[:, 0] ** 2, -2 * z, z[:, 0] > -99),
        Downhill(),
        np.ones((1, 1)),
        np.full(1, 1e-9),
        no_restart,
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
    # all points share a coordinate with the start
    X = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    psi = mc.features(mc.Gaussian(0.5), X) @ np.eye(4)[:, [0, 3]]
    restart = Restarts(psi, X[[0, 0]], restarts=2)
    assert restart(np.array([0, 1]), np.array([1, 1]))[0].tolist() == [[1, 7], [4, 7]]
    assert restart(np.array([0, 1]), np.array([2, 2]))[0].tolist() == [[2, 7], [2, 7]]
    assert restart(np.array([0, 1]), np.array([3, 3]))[1].tolist() == [False, False]


def test_nearest_orders_by_distance_in_feature_space():
    X = np.random.default_rng(0).normal(size=(9, 2))
    phi = mc.features(mc.Polynomial(3), X)
    psi = phi @ np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_array_equal(nearest(psi, psi(X), 9), np.argsort(mc.sqdist(phi, psi), axis=0))


class Scripted:
    """Propose given points one after another, and record the arguments of every call."""

    def __init__(self, trials, demand=0.0):
        self.trials, self.demand, self.calls, self.forgotten = list(trials), demand, [], []

    def propose(self, rows, z, v, failures):
        self.calls.append(int(failures[0]))
        return np.full((1, 1), self.trials.pop(0)), self.demand

    def accept(self, rows, moved, before, after):
        self.calls.append((*moved.ravel(), *before.ravel(), *after.ravel()))

    def forget(self, rows):
        self.forgotten.append(rows.tolist())


def described(trials, start, values, vectors, restart=no_restart, valid=(), demand=0.0):
    """Run a descent over points whose values and vectors are looked up."""
    rule = Scripted(trials, demand)

    def evaluate(z, _columns):
        keys = [float(x) for x in z[:, 0]]
        return (
            np.array([values[x] for x in keys]),
            np.array([[vectors[x]] for x in keys]),
            np.array([valid == () or x in valid for x in keys]),
        )

    found = Descent(evaluate, rule, np.array([[start]]), np.full(1, 1e-3), restart).run(len(trials))
    return found, rule


def test_failures_are_counted_from_the_last_accepted_trial_and_steps_are_reported_to_the_rule():
    values = {0.0: 9.0, 1.0: 10.0, 2.0: 11.0, 3.0: 5.0, 4.0: 6.0, 5.0: 2.0}
    vectors = {key: 8.0 - key for key in values}
    found, rule = described([1.0, 2.0, 3.0, 4.0, 5.0], 0.0, values, vectors)
    moves = [call for call in rule.calls if isinstance(call, tuple) and call]
    assert [call for call in rule.calls if isinstance(call, int)] == [0, 1, 2, 0, 1]
    # the step, and the vectors before and after it
    assert moves == [(3.0, 8.0, 5.0), (2.0, 5.0, 3.0)]
    assert found.points == 5.0
    assert found.n_iter == 5


def test_a_trial_is_accepted_for_the_required_decrease_or_for_a_shorter_vector_at_the_same_value():
    for value, vector, demand, accepted in (
        (0.5, 9.0, 0.1, True),
        (0.95, 0.5, 0.1, True),
        (0.95, 9.0, 0.1, False),
        (1.0, 0.5, 0.0, True),
        (1.0 + 5e-15, 0.5, 0.0, True),
        (1.0 + 1e-12, 0.5, 0.0, False),
        (1.0, 1.0, 0.0, False),
    ):
        found, rule = described(
            [1.0], 0.0, {0.0: 1.0, 1.0: value}, {0.0: 1.0, 1.0: vector}, demand=demand
        )
        assert any(isinstance(call, tuple) and call for call in rule.calls) == accepted, (
            value,
            vector,
        )


def test_a_point_converges_where_its_vector_is_at_most_the_tolerance():
    for vector, converged in ((1e-3, True), (1.1e-3, False)):
        found, _ = described([1.0], 0.0, {0.0: 1.0, 1.0: 0.5}, {0.0: 1.0, 1.0: vector})
        assert found.converged.tolist() == [converged]


def test_restarts_are_numbered_and_the_rule_forgets_the_earlier_steps():
    attempts = []

    def restart(_columns, attempt):
        attempts.append(attempt.tolist())
        return np.full((1, 1), float(attempt[0])), attempt < 3

    values, vectors = (
        {0.0: 1.0, 1.0: 2.0, 2.0: 3.0, 5.0: 0.5},
        {0.0: 1.0, 1.0: 1.0, 2.0: 1.0, 5.0: 0.0},
    )
    found, rule = described([5.0], 0.0, values, vectors, restart, valid=(2.0, 5.0))
    assert attempts == [[1], [2]]
    assert rule.forgotten == [[0], [0]]
    assert rule.calls[0] == 0
    assert (found.points, found.converged, found.reasons) == (5.0, True, ("",))


def test_a_direction_is_halved_forty_times_before_it_is_given_up():
    found, rule = described([1.0] * 60, 0.0, {0.0: 1.0, 1.0: 2.0}, {0.0: 1.0, 1.0: 1.0})
    assert found.n_iter == 41
    assert found.reasons == ("no step along the direction lowers the objective further",)


def test_row_dot_is_the_inner_product_of_rows():
    a, b = np.random.default_rng(0).normal(size=(2, 4, 3))
    np.testing.assert_allclose(row_dot(a, b), (a @ b.T).diagonal())


@pytest.mark.parametrize(
    "wrong", [{"max_iter": 0}, {"tol": 0.0}, {"restarts": -1}, {"pull": -0.1}, {"pull": "x"}]
)
def test_options_out_of_range_are_refused_by_name(wrong):
    Iterative(max_iter=1, tol=1e-9, restarts=0, pull=0.0)
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
        Iterative(**wrong)
