"""The path gives a set of every size, ends at the size that is wanted, and never beyond it."""

import numpy as np
import pytest

import mercer as mc
from mercer.reduction.base import Target
from mercer.reduction.path import path

TARGET = Target(mc.features(mc.Linear(), np.eye(30)))


def soft(weights):
    """Return what is paid where a point is kept for penalties below its weight."""
    return lambda penalty: np.maximum(weights - penalty, 0)


@pytest.mark.parametrize("n_vectors", [1, 7, 29, 30])
@pytest.mark.parametrize("seed", range(3))
def test_every_size_up_to_the_one_wanted_is_there_in_the_order_of_entry(n_vectors, seed):
    weights = np.random.default_rng(seed).permutation(30) + 1.0
    stages = list(path(TARGET, weights.max(), soft(weights), n_vectors))
    assert [len(stage.rows) for stage in stages] == list(range(1, n_vectors + 1))
    np.testing.assert_array_equal(stages[-1].rows, np.argsort(-weights)[:n_vectors])
    for before, after in zip(stages, stages[1:], strict=False):
        np.testing.assert_array_equal(after.rows[: len(before.rows)], before.rows)


def test_points_that_enter_together_fill_what_is_left():
    weights = np.repeat([3.0, 2.0, 1.0], 10) + np.arange(30) * 1e-12
    stages = list(path(TARGET, weights.max(), soft(weights), 14))
    assert [len(stage.rows) for stage in stages] == list(range(1, 15))
    assert set(stages[-1].rows) >= set(range(10))
    assert set(stages[-1].rows) <= set(range(20))


def test_a_point_that_leaves_is_gone_from_the_next_support():
    def solve(penalty):
        paid = np.zeros(30)
        paid[0] = penalty > 1
        paid[1:4] = penalty <= 1
        return paid

    stages = list(path(TARGET, 2.0, solve, 3))
    assert stages[0].rows.tolist() == [0]
    assert sorted(stages[-1].rows) == [1, 2, 3]
    assert [len(stage.rows) for stage in stages] == [1, 2, 3]


def test_a_path_that_keeps_nothing_more_ends():
    stages = list(path(TARGET, 1.0, lambda penalty: np.eye(30)[0] * (penalty < 1), 10))
    assert [stage.rows.tolist() for stage in stages] == [[0]]
