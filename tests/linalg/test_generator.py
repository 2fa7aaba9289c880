"""Random numbers come from the seed or generator that is given."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("seed", ["x", -1, 1.5, 2**32])
def test_what_is_no_seed_is_named(seed):
    with pytest.raises(ValueError, match=f"random_state = {seed!r} must be a whole number"):
        generator(seed)
