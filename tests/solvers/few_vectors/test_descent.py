"""Descents: the lowest value found counts, evaluations are as many as asked for, and numbers stay in their range."""

import numpy as np
import pytest

from mercer.solvers.few_vectors.objective import descend, reach


def test_descend_finds_the_bottom_of_a_bowl():
    found = descend(lambda v: (float(v @ v), 2 * v, v.copy()), np.array([3.0, -4.0]), 20)
    np.testing.assert_allclose(found, 0, atol=1e-6)


@pytest.mark.parametrize("passes", [0, 1, 7])
def test_descend_evaluates_no_more_often_than_it_may(passes):
    calls, found = [], []

    def rosenbrock(v):
        found.append(100 * (v[1] - v[0] ** 2) ** 2 + (1 - v[0]) ** 2)
        slope = np.array(
            [-400 * v[0] * (v[1] - v[0] ** 2) - 2 * (1 - v[0]), 200 * (v[1] - v[0] ** 2)]
        )
        return found[-1], slope, v.copy()

    best = descend(rosenbrock, np.array([-1.2, 1.0]), passes, lambda: calls.append(1))
    assert len(found) == len(calls) == passes
    assert (best is None) == (passes == 0)
    assert not passes or rosenbrock(best)[0] == min(found)


def test_descend_ends_where_the_kernel_overflows_and_raises_the_errors_of_the_start():
    seen = []

    def steep(v):
        if abs(v[0]) > 2:
            raise ValueError("overflows")
        seen.append(v[0])
        return -float(v[0]), np.array([-1.0]), float(v[0])

    assert descend(steep, np.zeros(1), 20) == max(seen)
    with pytest.raises(ValueError, match="overflows"):
        descend(steep, np.full(1, 3.0), 20)


def test_a_descent_ends_where_a_number_leaves_its_range():
    seen = []

    def slope(v):
        seen.append(np.abs(v).max())
        return -float(v.sum()) * 1e9, np.full(2, -1e9), v.copy()

    start = np.array([1.0, -3.0])
    descend(slope, start, 50, most=reach(start))
    assert max(seen) < 3e6
    assert descend(slope, start, 50, most=1.0) is None


def test_lower_bounds_are_kept():
    found = descend(
        lambda v: (float(v @ v), 2 * v, v.copy()),
        np.array([3.0, 4.0]),
        20,
        least=np.array([1.0, -np.inf]),
    )
    np.testing.assert_allclose(found, [1.0, 0.0], atol=1e-6)
