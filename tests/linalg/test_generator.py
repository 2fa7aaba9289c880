"""Random numbers come from the seed or generator that is given."""

import numpy as np

from mercer.linalg.generator import generator


def test_seeds_and_generators_are_used_and_the_global_state_is_not():
    before = np.random.get_state()[1].copy()
    own = np.random.default_rng(3)
    assert generator(own) is own
    state = np.random.RandomState(3)
    assert generator(state) is state
    assert generator(7).uniform() == generator(7).uniform() != generator(8).uniform()
    assert generator(None).uniform() == generator(0).uniform()
    np.testing.assert_array_equal(np.random.get_state()[1], before)
