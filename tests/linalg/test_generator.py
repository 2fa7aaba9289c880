"""Random numbers come from the seed or generator that is given."""

import numpy as np
import pytest

from mercer.linalg.generator import generator, sorted_sample


def test_seeds_and_generators_are_used_and_the_global_state_is_not():
    before = np.random.get_state()[1].copy()
    own = np.random.default_rng(3)
    assert generator(own) is own
    state = np.random.RandomState(3)
    assert generator(state) is state
    assert generator(7).uniform() == generator(7).uniform() != generator(8).uniform()
    assert generator(None).uniform() == generator(0).uniform()
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("seed", ["x", -1, 1.5, 2**32])
def test_what_is_no_seed_is_named(seed):
    with pytest.raises(ValueError, match=f"random_state = {seed!r} must be a whole number"):
        generator(seed)


@pytest.mark.parametrize("state", [None, 3, np.random.RandomState(0), np.random.default_rng(0)])
def test_a_sample_has_distinct_sorted_numbers_and_without_a_seed_is_always_the_same(state):
    found = sorted_sample(1000, 200, state)
    assert found.shape == (200,)
    assert (np.diff(found) > 0).all()
    assert found.min() >= 0
    assert found.max() < 1000
    # the mean of 200 numbers below 1000 has a standard deviation of 18
    assert abs(found.mean() - 500) < 90
    np.testing.assert_array_equal(sorted_sample(1000, 200, None), sorted_sample(1000, 200, 0))


def test_samples_of_one_generator_differ():
    state = np.random.default_rng(0)
    assert len({tuple(sorted_sample(10**9, 2, state)) for _ in range(200)}) == 200
