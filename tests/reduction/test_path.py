"""path: a set of every size up to the requested one."""

import numpy as np
import pytest

import mercer as mc
from mercer.reduction.base import Target
from mercer.reduction.path import path

TARGET = Target(mc.features(mc.Linear(), np.eye(30)))


def soft(weights):
    """Return the penalty terms of points that are kept for penalties below their weight."""
    return lambda penalty: np.maximum(weights - penalty, 0)


@pytest.mark.parametrize("n_vectors", [1, 7, 29, 30])
@pytest.mark.parametrize("seed", range(3))
def test_every_size_up_to_the_requested_one_is_there_in_the_order_of_entry(n_vectors, seed):
    weights = np.random.default_rng(seed).permutation(30) + 1.0
    stages = list(path(TARGET, weights.max(), soft(weights), n_vectors))
    assert [len(stage.rows) for stage in stages] == list(range(1, n_vectors + 1))
    np.testing.assert_array_equal(stages[-1].rows, np.argsort(-weights)[:n_vectors])
    for before, after in zip(stages, stages[1:], strict=False):
        np.testing.assert_array_equal(after.rows[: len(before.rows)], before.rows)


def test_points_that_enter_together_fill_the_last_set():
    weights = np.repeat([3.0, 2.0, 1.0], 10) + np.arange(30) * 1e-12
    stages = list(path(TARGET, weights.max(), soft(weights), 14))
    assert [len(stage.rows) for stage in stages] == list(range(1, 15))
    assert set(stages[-1].rows) >= set(range(10))
    assert set(stages[-1].rows) <= set(range(20))


def test_a_point_that_leaves_is_gone_from_the_next_support():
    def solve(penalty):
        terms = np.zeros(30)
        terms[0] = penalty > 1
        terms[1:4] = penalty <= 1
        return terms

    stages = list(path(TARGET, 2.0, solve, 3))
    assert stages[0].rows.tolist() == [0]
    assert sorted(stages[-1].rows) == [1, 2, 3]
    assert [len(stage.rows) for stage in stages] == [1, 2, 3]


def test_a_path_ends_when_no_further_point_enters():
    stages = list(path(TARGET, 1.0, lambda penalty: np.eye(30)[0] * (penalty < 1), 10))
    assert [stage.rows.tolist() for stage in stages] == [[0]]
