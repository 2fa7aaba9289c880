"""path: a set of every size up to the requested one."""

from types import SimpleNamespace

import numpy as np
import pytest

import mercer as mc
from mercer.reduction.base import Target
from mercer.reduction.path import Joint, path

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


def test_the_support_is_the_union_over_the_problems_at_one_penalty():
    a, b = np.zeros(30), np.zeros(30)
    a[[0, 1, 2]], b[[2, 3]] = [4.0, 2.0, 1.0], [1.5, 3.0]
    starts = []

    class Soft:
        def __init__(self, weights):
            self.weights, self.largest = weights, weights.max()

        def solve(self, penalty, gap, start):
            assert gap == 0.125
            starts.append(start)
            return SimpleNamespace(coef=np.maximum(self.weights - penalty, 0))

        def terms(self, coef):
            return 2 * coef

    joint = Joint([Soft(a), Soft(b)], 0.125)
    stages = list(path(TARGET, joint.largest, joint.solve, 4))
    assert [stage.rows.tolist() for stage in stages] == [[0], [0, 3], [0, 3, 1], [0, 3, 1, 2]]
    # the first solution of each problem starts anywhere, the others from the one before
    assert [start is None for start in starts] == [True, True] + [False] * (len(starts) - 2)


def test_the_path_ends_at_a_ten_millionth_of_the_largest_penalty():
    penalties = []

    def solve(penalty):
        penalties.append(penalty)
        return np.zeros(30)

    assert list(path(TARGET, 1.0, solve, 3)) == []
    np.testing.assert_allclose(penalties[:2], [0.7, 0.49])
    assert penalties[-2] > 1e-7 >= penalties[-1]


def test_a_point_whose_term_falls_to_0_leaves_the_order():
    stages = list(
        path(
            TARGET,
            8.0,
            lambda t: np.r_[np.maximum(t - 2, 0) * (t < 8), t < 4, t < 3, np.zeros(27)],
            2,
        )
    )
    assert [stage.rows.tolist() for stage in stages] == [[0], [0, 1]] or stages[
        -1
    ].rows.tolist() == [1, 2]


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_bisection_ends_at_a_ratio_of_penalties_where_points_enter_together(size):
    penalties = []

    def solve(penalty):
        penalties.append(penalty)
        assert len(penalties) < 100
        return np.maximum(np.full(30, size) - penalty, 0)

    stages = list(path(TARGET, 2 * size, solve, 4))
    assert [len(stage.rows) for stage in stages] == [1, 2, 3, 4]
    # two steps of the path, then 16 halvings of log(1 / 0.7) to 1e-5
    assert len(penalties) == 2 + 16
    assert abs(penalties[-1] / size - 1) < 1e-5
